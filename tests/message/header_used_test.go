package message

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/galehttp/gale"
	"github.com/galehttp/gale/tests/harness/peers"
)

// The same for a request header, which keeps the lines that were set before.
func TestUsedRequestHeaderIsLikeNew(t *testing.T) {
	peers.WithoutEngine(t)
	keys := []string{
		"Host", "User-Agent", "X-Custom-A", "X-Custom-B", "x-custom-a", "Accept", "Content-Type", "Cache-Control",
		"Cookie", "Trailer", "Connection", "Bad name", "Transfer-Encoding", "Expect",
	}
	values := []string{"", "a", "b", "text/html", "close", "X-Custom-A", "c=d", "x\r\ny", strings.Repeat("v", 200), strings.Repeat("w", 3000)}
	targets := []string{"", "/", "/a", "/a?b=c", "/a b#c", "/\r\nx", "?d", "/" + strings.Repeat("e", 40), "*"}
	peers.CompareUsed(t, 7, describeRequest, func(rng *rand.Rand, do func(string, func(*gale.RequestHeader))) {
		switch rng.IntN(16) {
		case 0:
			do("DisableNormalizing", func(h *gale.RequestHeader) { h.DisableNormalizing() })
		case 1:
			do("DisableSpecialHeader", func(h *gale.RequestHeader) { h.DisableSpecialHeader() })
		}
		n := len(keys)
		if rng.IntN(3) > 0 {
			n = 6
		}
		for i := range rng.IntN(7) {
			key, value := keys[(i+rng.IntN(2))%n], values[rng.IntN(len(values)-1)]
			if rng.IntN(32) == 0 {
				value = values[len(values)-1]
			}
			switch rng.IntN(12) {
			case 0:
				do("Add "+key+value, func(h *gale.RequestHeader) { h.Add(key, value) })
			case 1:
				do("Del "+key, func(h *gale.RequestHeader) { h.Del(key) })
			case 2:
				do("SetCanonical "+key+value, func(h *gale.RequestHeader) { h.SetCanonical([]byte(key), []byte(value)) })
			case 3, 4:
				target := targets[rng.IntN(len(targets))]
				do("SetRequestURI "+target, func(h *gale.RequestHeader) { h.SetRequestURI(target) })
			case 5:
				method := []string{"GET", "POST", "", "BREW", "a b", "HEAD"}[rng.IntN(6)]
				do("SetMethod "+method, func(h *gale.RequestHeader) { h.SetMethod(method) })
			case 6:
				do("CopyTo", func(h *gale.RequestHeader) {
					var other gale.RequestHeader
					h.CopyTo(&other)
					other.CopyTo(h)
				})
			case 7:
				do("SetHost "+value, func(h *gale.RequestHeader) { h.SetHost(value) })
			default:
				do("Set "+key+value, func(h *gale.RequestHeader) { h.Set(key, value) })
			}
		}
		if n := []int{7, 7, 12, 1234, 0, -1, -2}[rng.IntN(7)]; n != 0 || rng.IntN(2) == 0 {
			do(fmt.Sprint("SetContentLength ", n), func(h *gale.RequestHeader) { h.SetContentLength(n) })
		}
	})
}

func describeRequest(h *gale.RequestHeader) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%q\n", h.AppendBytes(nil))
	fmt.Fprintf(&b, "%q %q %q %q %q %d %v\n", h.Method(), h.RequestURI(), h.Host(), h.UserAgent(), h.ContentType(), h.ContentLength(), h.IsGet())
	for k, v := range h.All() {
		fmt.Fprintf(&b, "%q=%q, %q %q\n", k, v, h.PeekBytes(k), h.PeekAll(string(k)))
	}
	return b.String()
}
