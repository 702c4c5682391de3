//go:build !race

package gale

import (
	"bufio"
	"io"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/galehttp/gale/internal/alloctest"
	"github.com/galehttp/gale/internal/clock"
	"github.com/galehttp/gale/internal/h1"
	"github.com/galehttp/gale/tests/harness/peers"
)

// TestHelpersAllocs proves that ClientIP doesn't allocate for headers of proxies, nor for
// names and identifiers.
func TestHelpersAllocs(t *testing.T) {
	s := &Server{TrustedProxies: peers.Prefixes("10.0.0.0/8", "fd00::/8")}
	for name, ctx := range map[string]*RequestCtx{
		"a chain":      peerCtx(s, "10.0.0.1:1", "X-Forwarded-For: 1.2.3.4, [fd00::1]:80, 10.0.0.2"),
		"garbage":      peerCtx(s, "10.0.0.1:1", "X-Forwarded-For: 1.2.3.4, garbage"),
		"Forwarded":    peerCtx(s, "10.0.0.1:1", `Forwarded: for="[2001:db8::1%x]:_p";by=a, for=10.0.0.2`),
		"no field":     peerCtx(s, "10.0.0.1:1"),
		"no proxies":   peerCtx(&Server{}, "10.0.0.1:1", "X-Forwarded-For: 1.2.3.4"),
		"no auth":      peerCtx(&Server{}, "10.0.0.1:1"),
		"another auth": peerCtx(&Server{}, "10.0.0.1:1", "Authorization: Bearer abc"),
	} {
		if n := testing.AllocsPerRun(100, func() { ctx.ClientIP(); ctx.BasicAuth() }); n > 0 {
			t.Errorf("%s: %v allocations", name, n)
		}
	}
}

// A request whose URI a handler has asked for, without changing it, is handed on without allocations.
func TestSettledURIAllocs(t *testing.T) {
	var req Request
	req.SetRequestURI("/a%20b//c?x=1&y=%41&z")
	req.Header.SetHost("A.example")
	for name, ask := range map[string]func(){
		"not asked": func() {},
		"Path":      func() { req.URI().Path() },
		"QueryArgs": func() { req.URI().QueryArgs().Peek("x") },
	} {
		ask()
		req.settleURI()
		if n := alloctest.PerRun(100, func() { ask(); req.settleURI() }); n != 0 {
			t.Errorf("%s: %v allocations", name, n)
		}
		if got := string(req.Header.RequestURI()); got != "/a%20b//c?x=1&y=%41&z" {
			t.Errorf("%s: the target is %q", name, got)
		}
	}
}

// How long settleURI takes.
func BenchmarkSettleURI(b *testing.B) {
	var req Request
	req.SetRequestURI("/a/b/c?x=1&y=2&z=3")
	req.Header.SetHost("a.example")
	b.Run("not asked", func(b *testing.B) {
		for b.Loop() {
			req.settleURI()
		}
	})
	req.URI().Path()
	b.Run("Path", func(b *testing.B) {
		for b.Loop() {
			req.settleURI()
		}
	})
	req.URI().QueryArgs()
	b.Run("QueryArgs", func(b *testing.B) {
		for b.Loop() {
			req.settleURI()
		}
	})
}

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

// TestH2SessionSize proves that the session stays small. An idle connection keeps its
// session, so state that is needed only within frames and streams is not in it. One byte
// more, and it would take 1,280 bytes.
func TestH2SessionSize(t *testing.T) {
	if n := reflect.TypeFor[h2Session]().Size(); n > 1144 {
		t.Errorf("a session has %d bytes", n)
	}
}

// Reading a large body as a stream costs one small allocation, that of the handle which the
// program gets. A body that the library reads costs none.
func TestStreamReadAllocs(t *testing.T) {
	if size := reflect.TypeFor[bodyHandle]().Size(); size > 64 {
		t.Errorf("a handle has %d bytes", size)
	}
	p := make([]byte, 64<<10)
	peers.OnEngines(t, func(t *testing.T, e Engine) {
		for _, row := range []struct {
			path    string
			handler RequestHandler
			allocs  float64
		}{
			{"/read", func(ctx *RequestCtx) {
				for r := ctx.RequestBodyStream(); ; {
					if _, err := r.Read(p); err != nil {
						return
					}
				}
			}, 1},
			{"/copy", func(ctx *RequestCtx) {
				if _, err := io.Copy(io.Discard, ctx.RequestBodyStream()); err != nil {
					t.Error(err)
				}
			}, 1},
			{"/twice", func(ctx *RequestCtx) {
				if r := ctx.RequestBodyStream(); r != ctx.Request.BodyStream() {
					t.Error("a body has two handles")
				}
			}, 1},
			{"/write-to", func(ctx *RequestCtx) {
				if err := ctx.Request.BodyWriteTo(io.Discard); err != nil {
					t.Error(err)
				}
			}, 0},
			{"/body", func(ctx *RequestCtx) {
				if n := len(ctx.PostBody()); n != 300_000 {
					t.Errorf("%d bytes", n)
				}
			}, 0},
			{"/unread", func(ctx *RequestCtx) {
				if !ctx.Request.IsBodyStream() {
					t.Error("the body is no stream")
				}
			}, 0},
		} {
			ts := startServer(t, &Server{Engine: e, NoDefaultDate: true, StreamRequestBody: true,
				MaxRequestBodySize: 1 << 20, Logger: peers.DiscardLog{}}, row.handler)
			c := ts.Dial()
			length := 300_000
			if row.path == "/unread" || row.path == "/twice" {
				length = 3_000 // or the connection would end
			}
			request := []byte(peers.Post(row.path, peers.BodyText(length)))
			buf := make([]byte, 4<<10)
			round := func() {
				if _, err := c.Conn.Write(request); err != nil {
					t.Fatal(err)
				}
				if _, err := c.Conn.Read(buf); err != nil { // a whole response, by one write
					t.Fatal(err)
				}
			}
			for range 50 {
				round()
			}
			if allocs := alloctest.PerRun(200, round); allocs > row.allocs {
				t.Errorf("%s: %v allocations for a request, want %v", row.path, allocs, row.allocs)
			}
		}
	})
}

// Using values again doesn't allocate.
func TestValuesAllocs(t *testing.T) {
	var (
		a      Args
		u      URI
		c, d   Cookie
		buf    []byte
		host   = []byte("Example.com:8080")
		target = []byte("/a%20b/../c//d?x=y%20z&n=12#h")
		query  = []byte("a=b&foo=b%20r&n=12&d=e+f&f=1.5")
		cookie = []byte("session=0123456789; path=/; max-age=60; HttpOnly; expires=Sun, 06 Nov 1994 08:49:37 GMT")
		date   = []byte("Sun, 06 Nov 1994 08:49:37 GMT")
		params = []byte(`form-data; name="x"; filename=y`)
		now    = time.Now()
	)
	for _, tt := range []struct {
		name string
		f    func()
	}{
		{"args", func() {
			a.ParseBytes(query)
			a.Peek("foo")
			a.GetUintOrZero("n")
			a.GetUfloatOrZero("f")
			a.SetUint("x", 1234567)
			for range a.All() {
			}
			buf = a.AppendBytes(buf[:0])
			a.QueryString()
		}},
		{"uri", func() {
			if err := u.parse(host, target, true, false); err != nil {
				t.Fatal(err)
			}
			u.Path()
			u.QueryArgs().Peek("n")
			u.FullURI()
			u.RequestURI()
			u.SetPath("/x")
		}},
		{"uri update", func() { u.Update("../x?y#z") }},
		{"cookie", func() {
			if err := c.ParseBytes(cookie); err != nil {
				t.Fatal(err)
			}
			c.SetPath("/a/../b")
			d.CopyTo(&c)
			d.Cookie()
		}},
		{"pools", func() {
			ReleaseArgs(AcquireArgs())
			ReleaseURI(AcquireURI())
			ReleaseCookie(AcquireCookie())
		}},
		{"dates", func() {
			if _, err := ParseHTTPDate(date); err != nil {
				t.Fatal(err)
			}
			buf = AppendHTTPDate(buf[:0], now)
		}},
		{"params", func() {
			VisitHeaderParams(params, func(_, _ []byte) bool { return true })
		}},
	} {
		for range 3 {
			tt.f()
		}
		if n := alloctest.PerRun(100, tt.f); n != 0 {
			t.Errorf("%s: %v allocations", tt.name, n)
		}
	}
}
