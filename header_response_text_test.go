package gale

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/galehttp/gale/internal/clock"
	"github.com/galehttp/gale/internal/h1"
	"github.com/galehttp/gale/internal/head"
)

// appendSlowly writes the head of a copy that can't use the fast path: its reason-phrase
// is the usual one, but set as a special one.
func appendSlowly(dst []byte, h *ResponseHeader, by head.Sender) []byte {
	var slow ResponseHeader
	h.CopyTo(&slow)
	if len(slow.StatusMessage()) == 0 && slow.StatusCode() == StatusOK {
		slow.SetStatusMessage([]byte("OK"))
	}
	return h1.AppendResponseHead(dst, &slow.s, &slow.opening, by)
}

// The fast path for writing a response's head gives the same bytes as the general one,
// whatever was done to the header.
func TestQuickHeadIsGeneral(t *testing.T) {
	withoutEngine(t)
	defer clock.Start()()
	rng := rand.New(rand.NewPCG(1, 2))
	keys := []string{
		"Content-Type", "X-Custom", "x-other-name", "Cache-Control", "Etag", "Server", "Date", "Connection",
		"Content-Encoding", "Content-Length", "Trailer", "Set-Cookie", "Vary", "Transfer-Encoding",
	}
	values := []string{"", "a", "text/html", "close", "keep-alive", strings.Repeat("v", 70), "x\r\ny", "12"}
	var h ResponseHeader
	same := 0
	for round := range 20_000 {
		h.Reset()
		if rng.IntN(8) == 0 {
			h.DisableNormalizing()
		}
		common := round%2 == 0 // mostly headers that use the fast path
		n := len(keys)
		if common {
			n = 5
		}
		for range rng.IntN(6) {
			key, value := keys[rng.IntN(n)], values[rng.IntN(len(values))]
			switch rng.IntN(7) {
			case 0:
				h.Add(key, value)
			case 1:
				h.Del(key)
			case 2:
				h.SetContentType(value)
			default:
				h.Set(key, value)
			}
		}
		if !common {
			switch rng.IntN(6) {
			case 0:
				h.SetStatusCode([]int{100, 204, 206, 304, 404, 999}[rng.IntN(6)])
			case 1:
				h.SetStatusMessage([]byte("Fine"))
			case 2:
				h.SetProtocol([]byte("HTTP/1.0"))
			case 3:
				h.SetNoDefaultContentType(true)
			case 4:
				var to ResponseHeader
				h.CopyTo(&to)
				to.CopyTo(&h)
			}
		}
		h.SetContentLength([]int{-2, -1, 0, 7, 13, 100, 999, 1000, 1 << 30}[rng.IntN(9)])
		length := rng.IntN(2) == 0
		by := head.Sender{Server: "gale", Date: clock.Date(), ZeroLength: length}
		got := string(h1.AppendResponseHead([]byte("before"), &h.s, &h.opening, by))
		want := string(appendSlowly([]byte("before"), &h, by))
		if got != want {
			t.Fatalf("got:\n%q\nin the general way:\n%q", got, want)
		}
		if whole := h.opening.Whole(&h.s, by.Server, by.Date); whole != nil && length && "before"+string(whole) != got {
			t.Fatalf("got:\n%q\nas a whole:\n%q", got, whole)
		}
		if _, ok := h.s.Lines(); ok {
			same++
		}
	}
	if same < 5000 {
		t.Errorf("only %d heads could go the quick way", same)
	}
}
