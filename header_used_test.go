package gale

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/galehttp/gale/internal/clock"
	"github.com/galehttp/gale/internal/race"
)

// compareUsed makes the same changes to a used header and to a new one, and compares the
// results of describe. change is called again and again, and makes its changes through
// do.
func compareUsed[H any, P interface {
	*H
	Reset()
}](t *testing.T, seed uint64, describe func(P) string, change func(rng *rand.Rand, do func(what string, f func(P)))) {
	defer clock.Start()()
	rng := rand.New(rand.NewPCG(seed, seed+1))
	used := P(new(H))
	for range race.Fewer(20_000) {
		fresh := P(new(H))
		used.Reset()
		var log []string
		change(rng, func(what string, f func(P)) {
			log = append(log, what)
			f(fresh)
			f(used)
		})
		second := clock.Date()
		describe(used) // so that it has what getters leave in it
		if got, want := describe(used), describe(fresh); got != want && second == clock.Date() {
			t.Fatalf("after %q a used header is\n%s\nand a new one\n%s", log, got, want)
		}
	}
}

// A header that is used again is like a new one, for every getter and on the wire,
// although it keeps Server, Content-Type and the lines that were set before.
func TestUsedHeaderIsLikeNew(t *testing.T) {
	withoutEngine(t)
	keys := []string{
		"Server", "Content-Type", "X-Custom-A", "X-Custom-B", "x-custom-a", "Etag", "Vary", "Cache-Control", "Age",
		"Set-Cookie", "Trailer", "Date", "Bad name", "Content-Encoding",
	}
	values := []string{"", "a", "b", "text/html", "text/json", "X-Custom-A", "Server", "x\r\ny", strings.Repeat("v", 200), strings.Repeat("w", 3000)}
	compareUsed(t, 5, describe, func(rng *rand.Rand, do func(string, func(*ResponseHeader))) {
		if rng.IntN(8) == 0 {
			do("DisableNormalizing", func(h *ResponseHeader) { h.DisableNormalizing() })
		}
		n := len(keys)
		if rng.IntN(3) > 0 {
			n = 8
		}
		for i := range rng.IntN(7) {
			key, value := keys[(i+rng.IntN(2))%n], values[rng.IntN(len(values)-1)]
			if rng.IntN(32) == 0 {
				value = values[len(values)-1] // so that memory is compacted
			}
			switch rng.IntN(12) {
			case 0:
				do("Add "+key+value, func(h *ResponseHeader) { h.Add(key, value) })
			case 1:
				do("Del "+key, func(h *ResponseHeader) { h.Del(key) })
			case 2:
				do("SetCanonical "+key+value, func(h *ResponseHeader) { h.SetCanonical([]byte(key), []byte(value)) })
			case 3:
				do("SetContentType "+value, func(h *ResponseHeader) { h.SetContentType(value) })
			case 4:
				do("SetServer "+value, func(h *ResponseHeader) { h.SetServerBytes([]byte(value)) })
			case 5:
				do("SetStatusMessage", func(h *ResponseHeader) { h.SetStatusMessage([]byte(value)) })
			case 6:
				do("CopyTo", func(h *ResponseHeader) {
					var other ResponseHeader
					h.CopyTo(&other)
					other.CopyTo(h)
				})
			default:
				do("Set "+key+value, func(h *ResponseHeader) { h.Set(key, value) })
			}
		}
		switch rng.IntN(12) {
		case 0:
			do("SetStatusCode", func(h *ResponseHeader) { h.SetStatusCode(StatusNotFound) })
		case 1:
			do("SetConnectionClose", func(h *ResponseHeader) { h.SetConnectionClose() })
		case 2:
			do("SetNoDefaultContentType", func(h *ResponseHeader) { h.SetNoDefaultContentType(true) })
		case 3:
			do("SetProtocol", func(h *ResponseHeader) { h.SetProtocol([]byte("HTTP/1.0")) })
		}
		if n := []int{7, 7, 7, 12, 1234, 0, -1, -2}[rng.IntN(8)]; n != 0 || rng.IntN(2) == 0 {
			do(fmt.Sprint("SetContentLength ", n), func(h *ResponseHeader) { h.SetContentLength(n) })
		}
	})
}

// describe returns the results of every way to read a header.
func describe(h *ResponseHeader) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%q\n%q\n", h.AppendBytes(nil), h.appendHead(nil, "gale"))
	fmt.Fprintf(&b, "%d %q %q %q\n", h.Len(), h.Server(), h.ContentType(), h.TrailerHeader())
	for k, v := range h.All() {
		fmt.Fprintf(&b, "%q=%q, %q %q\n", k, v, h.PeekBytes(k), h.PeekAll(string(k)))
	}
	return b.String()
}

// The same for a request header, which keeps the lines that were set before.
func TestUsedRequestHeaderIsLikeNew(t *testing.T) {
	withoutEngine(t)
	keys := []string{
		"Host", "User-Agent", "X-Custom-A", "X-Custom-B", "x-custom-a", "Accept", "Content-Type", "Cache-Control",
		"Cookie", "Trailer", "Connection", "Bad name", "Transfer-Encoding", "Expect",
	}
	values := []string{"", "a", "b", "text/html", "close", "X-Custom-A", "c=d", "x\r\ny", strings.Repeat("v", 200), strings.Repeat("w", 3000)}
	targets := []string{"", "/", "/a", "/a?b=c", "/a b#c", "/\r\nx", "?d", "/" + strings.Repeat("e", 40), "*"}
	compareUsed(t, 7, describeRequest, func(rng *rand.Rand, do func(string, func(*RequestHeader))) {
		switch rng.IntN(16) {
		case 0:
			do("DisableNormalizing", func(h *RequestHeader) { h.DisableNormalizing() })
		case 1:
			do("DisableSpecialHeader", func(h *RequestHeader) { h.DisableSpecialHeader() })
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
				do("Add "+key+value, func(h *RequestHeader) { h.Add(key, value) })
			case 1:
				do("Del "+key, func(h *RequestHeader) { h.Del(key) })
			case 2:
				do("SetCanonical "+key+value, func(h *RequestHeader) { h.SetCanonical([]byte(key), []byte(value)) })
			case 3, 4:
				target := targets[rng.IntN(len(targets))]
				do("SetRequestURI "+target, func(h *RequestHeader) { h.SetRequestURI(target) })
			case 5:
				method := []string{"GET", "POST", "", "BREW", "a b", "HEAD"}[rng.IntN(6)]
				do("SetMethod "+method, func(h *RequestHeader) { h.SetMethod(method) })
			case 6:
				do("CopyTo", func(h *RequestHeader) {
					var other RequestHeader
					h.CopyTo(&other)
					other.CopyTo(h)
				})
			case 7:
				do("SetHost "+value, func(h *RequestHeader) { h.SetHost(value) })
			default:
				do("Set "+key+value, func(h *RequestHeader) { h.Set(key, value) })
			}
		}
		if n := []int{7, 7, 12, 1234, 0, -1, -2}[rng.IntN(7)]; n != 0 || rng.IntN(2) == 0 {
			do(fmt.Sprint("SetContentLength ", n), func(h *RequestHeader) { h.SetContentLength(n) })
		}
	})
}

func describeRequest(h *RequestHeader) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%q\n", h.AppendBytes(nil))
	fmt.Fprintf(&b, "%q %q %q %q %q %d %v\n", h.Method(), h.RequestURI(), h.Host(), h.UserAgent(), h.ContentType(), h.ContentLength(), h.IsGet())
	for k, v := range h.All() {
		fmt.Fprintf(&b, "%q=%q, %q %q\n", k, v, h.PeekBytes(k), h.PeekAll(string(k)))
	}
	return b.String()
}
