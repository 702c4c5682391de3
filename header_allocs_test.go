//go:build !race

package gale

import (
	"bufio"
	"strings"
	"testing"

	"github.com/galehttp/gale/internal/alloctest"
	"github.com/galehttp/gale/internal/clock"
	"github.com/galehttp/gale/internal/h1"
)

const browserHead = "GET /search?q=gale HTTP/1.1\r\n" +
	"Host: www.example.com\r\n" +
	"Connection: keep-alive\r\n" +
	"sec-ch-ua: \"Chromium\";v=\"128\"\r\n" +
	"sec-ch-ua-mobile: ?0\r\n" +
	"Upgrade-Insecure-Requests: 1\r\n" +
	"User-Agent: Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36\r\n" +
	"Accept: text/html,application/xhtml+xml\r\n" +
	"Sec-Fetch-Site: none\r\n" +
	"Sec-Fetch-Mode: navigate\r\n" +
	"Sec-Fetch-User: ?1\r\n" +
	"Sec-Fetch-Dest: document\r\n" +
	"Accept-Encoding: gzip, deflate, br, zstd\r\n" +
	"Accept-Language: en-US,en;q=0.9\r\n" +
	"X-Trace: 1234567890\r\n" +
	"Cookie: a=b; session=0123456789abcdef\r\n\r\n"

func parsedRequest(t testing.TB, s string) *RequestHeader {
	h := new(RequestHeader)
	if _, err := h1.ParseRequest([]byte(s), &h.s.RequestHead, nil); err != nil {
		t.Fatal(err)
	}
	return h
}

// TestHeaderAllocs proves that header methods that every request uses don't allocate.
func TestHeaderAllocs(t *testing.T) {
	req := parsedRequest(t, browserHead)
	var resp ResponseHeader
	out := make([]byte, 0, 4096)
	server := "gale"
	src := strings.NewReader("")
	br := bufio.NewReader(src)
	var read RequestHeader
	for name, f := range map[string]func(){
		"Read": func() {
			src.Reset(browserHead)
			br.Reset(src)
			if err := read.Read(br); err != nil {
				t.Fatal(err)
			}
		},
		"Peek": func() {
			for _, key := range []string{"Host", "user-agent", "X-Trace", "Accept-Language", "X-Nope", "Connection", "Content-Length"} {
				_ = req.Peek(key)
			}
		},
		"Cookie":            func() { _ = req.Cookie("session") },
		"PeekAll":           func() { _ = req.PeekAll("Cookie") },
		"request All":       func() { count(req) },
		"HasAcceptEncoding": func() { _ = req.HasAcceptEncoding("br") },
		"plain response": func() {
			resp.Reset()
			resp.s.ContentLength = 13
			out = resp.appendHead(out[:0], server)
		},
		"response with fields": func() {
			resp.Reset()
			setFour(&resp)
			resp.s.ContentLength = 13
			out = resp.appendHead(out[:0], server)
		},
		"response with known fields": func() {
			resp.Reset()
			resp.SetContentType("text/html")
			resp.Set("cache-control", "no-cache")
			resp.SetConnectionClose()
			resp.SetContentLength(5)
			out = resp.appendHead(out[:0], server)
			_ = resp.Peek("Content-Length")
		},
	} {
		f()
		if n := alloctest.PerRun(100, f); n != 0 {
			t.Errorf("%s: %v allocations", name, n)
		}
	}
}

func count(h *RequestHeader) (n int) {
	for range h.All() {
		n++
	}
	return n
}

func setFour(h *ResponseHeader) {
	h.Set("X-Field-1", "value of field 1")
	h.Set("X-Field-2", "value of field 2")
	h.Set("X-Field-3", "value of field 3")
	h.Set("X-Field-4", "value of field 4")
}

func BenchmarkResponseHeader(b *testing.B) {
	defer clock.Start()()
	var h ResponseHeader
	out := make([]byte, 0, 4096)
	server := "gale"
	b.Run("plain", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			h.Reset()
			h.s.ContentLength = 13
			out = h.appendHead(out[:0], server)
		}
	})
	b.Run("four", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			h.Reset()
			setFour(&h)
			h.s.ContentLength = 13
			out = h.appendHead(out[:0], server)
		}
	})
	b.Run("reset", func(b *testing.B) {
		for b.Loop() {
			h.Reset()
		}
	})
}

func BenchmarkRequestHeaderPeek(b *testing.B) {
	h := parsedRequest(b, browserHead)
	for name, keys := range map[string][]string{
		"known":   {"Accept-Language"},
		"unknown": {"X-Trace"},
		"four":    {"Host", "User-Agent", "Accept", "Cookie"},
		"missing": {"X-Nothing"},
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				for _, k := range keys {
					h.Peek(k)
				}
			}
		})
	}
}
