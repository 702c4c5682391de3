package h2

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/galehttp/gale"
	"github.com/galehttp/gale/internal/race"
	"github.com/galehttp/gale/tests/harness"
	"github.com/galehttp/gale/tests/harness/gate"
	"github.com/galehttp/gale/tests/harness/peers"
)

// parityCase is a request that is sent by HTTP/1.1 and by HTTP/2. Handlers must see the
// same, and clients must get the same.
type parityCase struct {
	name     string
	s        *gale.Server // its settings
	h        gale.RequestHandler
	method   string
	path     string
	body     string
	fields   []string // alternating names and values
	trailers []string // of the request
	unsized  bool     // the client doesn't send the length of the body
}

// showAll answers with everything that a handler sees of the request.
func showAll(ctx *gale.RequestCtx) {
	body := ctx.PostBody()
	fmt.Fprintf(ctx, "%s %s host=%s uri=%s path=%s query=%s len=%d body=%q tls=%v\n", ctx.Method(), ctx.RequestURI(), ctx.Host(), ctx.URI(), ctx.Path(),
		ctx.QueryArgs(), ctx.Request.Header.ContentLength(), body, ctx.IsTLS())
	var lines []string
	for k, v := range ctx.Request.Header.All() {
		if name := string(k); name != "Connection" && name != "Te" && name != "Transfer-Encoding" && name != "Trailer" && name != "Host" {
			lines = append(lines, name+": "+string(v))
		}
	}
	slices.Sort(lines)
	fmt.Fprintln(ctx, strings.Join(lines, "\n"))
	fmt.Fprintf(ctx, "cookie a=%s b=%s; ua=%s; trailers: %s", ctx.Request.Header.Cookie("a"), ctx.Request.Header.Cookie("b"), ctx.UserAgent(), showTrailers(ctx))
}

// showTrailers returns the trailer fields of a request, sorted: clients send them in any order.
func showTrailers(ctx *gale.RequestCtx) string {
	var lines []string
	for k, v := range ctx.Trailers() {
		lines = append(lines, string(k)+"="+string(v))
	}
	slices.Sort(lines)
	return strings.Join(lines, " ")
}

// unconnected are the headers that aren't compared, since only one protocol has them or
// they change.
var unconnected = []string{"Connection", "Transfer-Encoding", "Date", "Keep-Alive", "Upgrade"}

// showParity describes a response for comparing.
func showParity(resp *http.Response, err error) string {
	if err != nil {
		return "error"
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	var b strings.Builder
	fmt.Fprintf(&b, "%d\n", resp.StatusCode)
	for _, k := range slices.Sorted(maps.Keys(resp.Header)) {
		if !slices.Contains(unconnected, k) {
			fmt.Fprintf(&b, "%s: %q\n", k, resp.Header[k])
		}
	}
	if err != nil {
		return b.String() + "broken off"
	}
	fmt.Fprintf(&b, "length %d\n%s\ntrailers %v", resp.ContentLength, body, resp.Trailer)
	return b.String()
}

func (pc *parityCase) request(hs *harness.H2Server) *http.Request {
	var body io.Reader
	switch {
	case pc.unsized || len(pc.trailers) > 0:
		body = io.MultiReader(strings.NewReader(pc.body))
	case pc.body != "":
		body = strings.NewReader(pc.body)
	}
	req, err := http.NewRequest(pc.method, hs.URL(pc.path), body)
	if err != nil {
		hs.T.Fatal(err)
	}
	req.Host = "example.com"
	req.Header.Set("User-Agent", "me")
	for i := 0; i < len(pc.fields); i += 2 {
		req.Header.Add(pc.fields[i], pc.fields[i+1])
	}
	if len(pc.trailers) > 0 {
		req.Trailer = http.Header{}
		for i := 0; i < len(pc.trailers); i += 2 {
			req.Trailer.Set(pc.trailers[i], pc.trailers[i+1])
		}
	}
	return req
}

// parityCases returns all cases; dir has files.
func parityCases(dir string) []parityCase {
	big := strings.Repeat("0123456789abcdef", 64<<10/16)
	huge := strings.Repeat("0123456789abcdef", 10<<20/16)
	echoBody := func(ctx *gale.RequestCtx) { ctx.SetBody(ctx.PostBody()) }
	echoStream := func(ctx *gale.RequestCtx) { ctx.SetBodyStream(ctx.RequestBodyStream(), -1) }
	readAll := func(ctx *gale.RequestCtx) {
		b, err := io.ReadAll(ctx.RequestBodyStream())
		fmt.Fprintf(ctx, "%d %v %s", len(b), err, showTrailers(ctx))
	}
	status := func(n int) gale.RequestHandler {
		return func(ctx *gale.RequestCtx) { ctx.SetStatusCode(n); ctx.SetBodyString("text") }
	}
	shown := func(ctx *gale.RequestCtx, err error) {
		ctx.Error(fmt.Sprintf("%d %v %s", gale.ErrorStatus(err), err, ctx.Method()), gale.ErrorStatus(err))
	}
	hook := func(ctx *gale.RequestCtx) { ctx.Response.Header.Set("X-Hook", fmt.Sprint(ctx.Response.StatusCode())) }
	get := func(name string, h gale.RequestHandler) parityCase {
		return parityCase{name: name, s: new(gale.Server), method: "GET", path: "/p?q=1", h: h}
	}
	post := func(name, body string, h gale.RequestHandler) parityCase {
		return parityCase{name: name, s: new(gale.Server), method: "POST", path: "/p", h: h, body: body}
	}
	with := func(pc parityCase, change func(*parityCase)) parityCase { change(&pc); return pc }
	streamed := func(pc *parityCase) { pc.s.StreamRequestBody = true }
	unsized := func(pc *parityCase) { pc.unsized = true }
	hooked := func(pc *parityCase) { pc.s.BeforeSend = hook }
	small := func(pc *parityCase) { pc.s.MaxRequestBodySize = 100 }
	errored := func(pc *parityCase) { pc.s.ErrorHandler = shown }
	expects := func(pc *parityCase) { pc.fields = append(pc.fields, "Expect", "100-continue") }

	cases := []parityCase{
		get("get", showAll),
		with(get("fields", showAll), func(pc *parityCase) {
			pc.fields = []string{"X-Some", "one", "X-Some", "two", "x-lower-CASE", "v", "Accept", "text/html", "Empty", "", "Cookie", "a=1; b=2"}
		}),
		with(get("path", showAll), func(pc *parityCase) { pc.path = "/a%20b/../c//d?x=%41&y" }),
		with(get("head", showAll), func(pc *parityCase) { pc.method = "HEAD" }),
		with(get("head of a stream", func(ctx *gale.RequestCtx) { ctx.SetBodyStream(strings.NewReader("abc"), 3) }), func(pc *parityCase) { pc.method = "HEAD" }),
		with(get("head of a writer", func(ctx *gale.RequestCtx) { ctx.SetBodyStreamWriter(func(w *bufio.Writer) { w.WriteString("abc") }) }), func(pc *parityCase) { pc.method = "HEAD" }),
		with(get("head flushed", func(ctx *gale.RequestCtx) { ctx.WriteString("a"); ctx.Flush(); ctx.WriteString("b") }), func(pc *parityCase) { pc.method = "HEAD" }),
		with(get("head flushed, then a stream", func(ctx *gale.RequestCtx) { ctx.Flush(); ctx.SetBodyStream(strings.NewReader("abc"), 3) }), func(pc *parityCase) { pc.method = "HEAD" }),
		with(get("the handler changes the method", func(ctx *gale.RequestCtx) { ctx.Request.Header.SetMethod("HEAD"); ctx.SetBodyString("body") }), func(pc *parityCase) {}),
		with(get("put", showAll), func(pc *parityCase) { pc.method, pc.body = "PUT", "text" }),
		with(get("delete", showAll), func(pc *parityCase) { pc.method = "DELETE" }),
		post("post empty", "", showAll),
		with(post("form", "a=1&b=2", func(ctx *gale.RequestCtx) { fmt.Fprint(ctx, string(ctx.FormValue("b")), ctx.PostArgs()) }), func(pc *parityCase) {
			pc.fields = []string{"Content-Type", "application/x-www-form-urlencoded"}
		}),
		with(post("trailers of the request", "body", showAll), func(pc *parityCase) { pc.trailers = []string{"X-Sum", "abc", "X-More", "1"} }),
		with(post("trailers merged", "body", showAll), func(pc *parityCase) { pc.trailers, pc.s.MergeTrailers = []string{"X-Sum", "abc"}, true }),
		with(with(post("trailers of a stream", "body", readAll), streamed), func(pc *parityCase) { pc.trailers = []string{"X-Sum", "abc"} }),
		get("trailers of the response", func(ctx *gale.RequestCtx) {
			ctx.Response.Header.SetTrailer("X-Sum")
			ctx.SetBodyStreamWriter(func(w *bufio.Writer) { w.WriteString("body"); ctx.Response.Header.Set("X-Sum", "late") })
		}),
		get("response fields", func(ctx *gale.RequestCtx) {
			h := &ctx.Response.Header
			h.Add("X-A", "1")
			h.Add("X-A", "2")
			h.Set("Connection", "X-B")
			h.Set("Keep-Alive", "timeout=1")
			h.Set("Upgrade", "no")
			h.Set("x-b", "3")
			h.SetContentType("text/x")
			var c gale.Cookie
			c.SetKey("k")
			c.SetValue("v")
			h.SetCookie(&c)
			ctx.SetBodyString("x")
		}),
		get("204", status(204)), get("205", status(205)), get("304", status(304)), get("404", status(404)), get("999", status(999)), get("bad status", status(5)),
		get("304 with a length", func(ctx *gale.RequestCtx) { ctx.SetStatusCode(304); ctx.Response.Header.Set("Content-Length", "77") }),
		get("redirect", func(ctx *gale.RequestCtx) { ctx.Redirect("/x?y", 302) }),
		get("json", func(ctx *gale.RequestCtx) { ctx.JSON(201, map[string]int{"a": 1}) }),
		get("fail", func(ctx *gale.RequestCtx) { ctx.Fail(404, fmt.Errorf("no such thing")) }),
		with(get("fail told", func(ctx *gale.RequestCtx) { ctx.Fail(404, fmt.Errorf("no such thing")) }), errored),
		with(with(post("ErrorHandler panics for a refused request", strings.Repeat("x", 101), showAll), small), func(pc *parityCase) {
			pc.s.ErrorHandler = func(*gale.RequestCtx, error) { panic("of the test") }
		}),
		with(with(post("ErrorHandler aborts a refused request", strings.Repeat("x", 101), showAll), small), func(pc *parityCase) {
			pc.s.ErrorHandler = func(*gale.RequestCtx, error) { panic(gale.ErrAbortHandler) }
		}),
		with(with(post("ErrorHandler times out for a refused request", strings.Repeat("x", 101), showAll), small), func(pc *parityCase) {
			pc.s.ErrorHandler = func(ctx *gale.RequestCtx, _ error) { ctx.TimeoutError("late") }
			pc.s.BeforeSend = func(ctx *gale.RequestCtx) { ctx.Response.Header.Set("X-Path", string(ctx.Path())) }
		}),
		get("fail after flush", func(ctx *gale.RequestCtx) { ctx.WriteString("part"); ctx.Flush(); ctx.Fail(500, fmt.Errorf("late")) }),
		get("panic", func(*gale.RequestCtx) { panic("of the test") }),
		with(get("panic told", func(*gale.RequestCtx) { panic("of the test") }), func(pc *parityCase) {
			pc.s.PanicHandler = func(ctx *gale.RequestCtx, v any) { ctx.SetBodyString(fmt.Sprint("sorry: ", v)) }
		}),
		with(get("panic told as an error", func(*gale.RequestCtx) { panic("of the test") }), errored),
		get("panic after flush", func(ctx *gale.RequestCtx) { ctx.WriteString("part"); ctx.Flush(); panic("of the test") }),
		get("abort", func(*gale.RequestCtx) { panic(gale.ErrAbortHandler) }),
		get("hook panics", func(ctx *gale.RequestCtx) { ctx.BeforeSend(func(*gale.RequestCtx) { panic("of the test") }) }),
		get("hook aborts", func(ctx *gale.RequestCtx) { ctx.BeforeSend(func(*gale.RequestCtx) { panic(gale.ErrAbortHandler) }) }),
		with(get("hook", status(200)), hooked), with(get("hook on 404", status(404)), hooked),
		with(get("hook on a panic", func(*gale.RequestCtx) { panic("of the test") }), hooked),
		with(get("hook on flush", func(ctx *gale.RequestCtx) { ctx.WriteString("a"); ctx.Flush(); ctx.WriteString("b") }), hooked),
		get("flush with a length", func(ctx *gale.RequestCtx) {
			ctx.Response.Header.SetContentLength(4)
			ctx.WriteString("ab")
			ctx.Flush()
			ctx.WriteString("cdef")
		}),
		get("flush short of the length", func(ctx *gale.RequestCtx) {
			ctx.Response.Header.SetContentLength(9)
			ctx.WriteString("ab")
			ctx.Flush()
		}),
		get("stream", func(ctx *gale.RequestCtx) { ctx.SetBodyStream(strings.NewReader(big), len(big)) }),
		get("stream of unknown length", func(ctx *gale.RequestCtx) { ctx.SetBodyStream(strings.NewReader(big), -1) }),
		get("stream too short", func(ctx *gale.RequestCtx) { ctx.SetBodyStream(strings.NewReader("ab"), 5) }),
		get("stream too long", func(ctx *gale.RequestCtx) { ctx.SetBodyStream(strings.NewReader("abcdef"), 3) }),
		get("stream fails", func(ctx *gale.RequestCtx) {
			ctx.SetBodyStream(io.MultiReader(strings.NewReader("ab"), failingReader{}), -1)
		}),
		get("stream panics", func(ctx *gale.RequestCtx) { ctx.SetBodyStream(panickingReader{}, -1) }),
		get("writer", func(ctx *gale.RequestCtx) {
			ctx.SetBodyStreamWriter(func(w *bufio.Writer) { w.WriteString("a"); w.Flush(); w.WriteString(big) })
		}),
		get("writer panics", func(ctx *gale.RequestCtx) { ctx.SetBodyStreamWriter(func(*bufio.Writer) { panic("of the test") }) }),
		get("file", func(ctx *gale.RequestCtx) { ctx.SendFile(filepath.Join(dir, "small")) }),
		get("large file", func(ctx *gale.RequestCtx) { ctx.SendFile(filepath.Join(dir, "large")) }),
		with(get("range of a file", func(ctx *gale.RequestCtx) { gale.ServeFileBytes(ctx, []byte(filepath.Join(dir, "large"))) }), func(pc *parityCase) { pc.fields = []string{"Range", "bytes=5-9"} }),
		get("skip body", func(ctx *gale.RequestCtx) { ctx.SetBodyString("x"); ctx.Response.SkipBody = true }),
		get("TimeoutError", func(ctx *gale.RequestCtx) { ctx.TimeoutError("late") }),
		get("TimeoutErrorWithResponse", func(ctx *gale.RequestCtx) {
			var resp gale.Response
			resp.SetStatusCode(503)
			resp.SetBodyString("busy")
			resp.Header.Set("X-A", "b")
			ctx.TimeoutErrorWithResponse(&resp)
		}),
		get("TimeoutHandler", gale.TimeoutHandler(func(ctx *gale.RequestCtx) { <-ctx.Done() }, 20*time.Millisecond, "too late")),
		with(get("TimeoutHandler hooked", gale.TimeoutHandler(func(ctx *gale.RequestCtx) { <-ctx.Done() }, 20*time.Millisecond, "too late")), hooked),
		get("panic in TimeoutHandler", gale.TimeoutHandler(func(ctx *gale.RequestCtx) { panic("of the test") }, time.Minute, "too late")),
		with(post("too large", big, echoBody), small),
		with(with(post("too large, unsized", big, echoBody), small), unsized),
		with(with(with(post("too large, told", big, echoBody), small), errored), hooked),
		with(with(post("limited stream", big, func(ctx *gale.RequestCtx) {
			ctx.LimitRequestBody(10)
			b, err := io.ReadAll(ctx.RequestBodyStream())
			fmt.Fprint(ctx, len(b) > 10, err)
		}), streamed), unsized),
		with(with(post("stream taken for a whole body", big, echoBody), streamed), small),
		with(post("form limit of a stream", "a="+big, func(ctx *gale.RequestCtx) { fmt.Fprint(ctx, len(ctx.FormValue("a"))) }), streamed),
		with(get("get only", showAll), func(pc *parityCase) { pc.method, pc.body, pc.s.GetOnly = "POST", "x", true }),
		with(post("HeaderReceived", big, echoBody), func(pc *parityCase) {
			pc.s.HeaderReceived = func(h *gale.RequestHeader) gale.RequestConfig { return gale.RequestConfig{MaxRequestBodySize: 10} }
		}),
		with(post("HeaderReceived streams", big, readAll), func(pc *parityCase) {
			pc.s.HeaderReceived = func(h *gale.RequestHeader) gale.RequestConfig { return gale.RequestConfig{StreamRequestBody: true} }
		}),
		with(with(post("expect", "text", echoBody), expects), func(*parityCase) {}),
		with(with(post("expect, streamed", "text", readAll), expects), streamed),
		with(with(post("ContinueHandler refuses", "text", echoBody), expects), func(pc *parityCase) {
			pc.s.ContinueHandler = func(h *gale.RequestHeader) bool { return len(h.Peek("X-Let")) > 0 }
		}),
		with(with(post("ContinueHandler lets", "text", echoBody), expects), func(pc *parityCase) {
			pc.fields = append(pc.fields, "X-Let", "1")
			pc.s.ContinueHandler = func(h *gale.RequestHeader) bool { return len(h.Peek("X-Let")) > 0 }
		}),
		with(with(post("ExpectHandler refuses", "text", echoBody), expects), func(pc *parityCase) {
			pc.s.ExpectHandler = func(ctx *gale.RequestCtx) int { return 403 }
		}),
		with(with(post("ExpectHandler lets", "text", echoBody), expects), func(pc *parityCase) {
			pc.s.ExpectHandler = func(ctx *gale.RequestCtx) int { return 100 }
		}),
		with(with(post("ExpectHandler asks for Done", "text", func(ctx *gale.RequestCtx) { fmt.Fprint(ctx, ctx.Err(), string(ctx.PostBody())) }), expects), func(pc *parityCase) {
			pc.s.ExpectHandler = func(ctx *gale.RequestCtx) int { ctx.Done(); return 100 }
		}),
		with(with(post("ExpectHandler panics", "text", echoBody), expects), func(pc *parityCase) {
			pc.s.ExpectHandler = func(ctx *gale.RequestCtx) int { panic("of the test") }
		}),
		with(with(post("other expectation", "text", echoBody), func(pc *parityCase) { pc.fields = []string{"Expect", "more"} }), hooked),
		with(get("long target", showAll), func(pc *parityCase) { pc.path = "/" + strings.Repeat("x", 40<<10) }),
		with(get("BeforeSend of the request", func(ctx *gale.RequestCtx) {
			ctx.BeforeSend(func(ctx *gale.RequestCtx) { ctx.Response.Header.Set("X-Late", "1") })
			ctx.SetBodyStream(strings.NewReader("x"), 1)
		}), hooked),
		with(get("names as they are", showAll), func(pc *parityCase) { pc.s.NoDefaultContentType, pc.s.NoDefaultServerHeader = true, true }),
		with(get("no date", showAll), func(pc *parityCase) { pc.s.NoDefaultDate, pc.s.Name = true, "me" }),
		get("early hints", func(ctx *gale.RequestCtx) {
			ctx.Response.Header.Add("Link", "</x>; rel=preload")
			fmt.Fprint(ctx, ctx.EarlyHints())
		}),
		get("user values with closers", func(ctx *gale.RequestCtx) {
			ctx.SetUserValue("k", io.NopCloser(nil))
			fmt.Fprint(ctx, ctx.UserValue("k") != nil)
		}),
		get("kept context", func(ctx *gale.RequestCtx) { fmt.Fprint(ctx, ctx.Context().Err(), ctx.Err()) }),
	}
	for _, n := range []int{0, 1, 1 << 10, 64 << 10, gate.Form(10<<20, 1<<20)} {
		body := huge[:n]
		large := func(pc *parityCase) { pc.s.MaxRequestBodySize = 16 << 20 }
		cases = append(cases, with(post(fmt.Sprint("echo ", n), body, echoBody), large), with(with(post(fmt.Sprint("echo of a stream ", n), body, echoStream), streamed), large),
			with(with(post(fmt.Sprint("echo unsized ", n), body, echoBody), unsized), large))
	}
	return cases
}

type failingReader struct{}

func (failingReader) Read([]byte) (int, error) { return 0, fmt.Errorf("of the test") }

type panickingReader struct{}

func (panickingReader) Read([]byte) (int, error) { panic("of the test") }

// TestH2Parity proves that what a handler sees and sends is the same by HTTP/1.1 and by
// HTTP/2. Three requests follow each other on each connection, so that the test notices
// what one leaves to the next. In the short form each case is sent over TLS to one engine.
func TestH2Parity(t *testing.T) {
	dir := t.TempDir()
	for name, n := range map[string]int{"small": 100, "large": 300 << 10} {
		if err := os.WriteFile(filepath.Join(dir, name), bytes.Repeat([]byte("f"), n), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	peers.EachWay(t, func(t *testing.T, way harness.H2Way) {
		for i, pc := range parityCases(dir) {
			if way.TLS && !gate.Full() && i%2 != int(way.Engine)%2 {
				continue // the other engine has it
			}
			t.Run(pc.name, func(t *testing.T) {
				pc.s.Handler = pc.h
				hs := way.Start(t, pc.s)
				c1, c2 := hs.Client(1), hs.Client(2)
				rounds := 3
				if race.Enabled {
					rounds = 2
					if way.TLS {
						rounds = 1
					}
				}
				for range rounds {
					resp2, err2 := c2.Do(pc.request(hs))
					if err2 == nil && resp2.ProtoMajor != 2 {
						t.Fatalf("answered by %s", resp2.Proto)
					}
					got := showParity(resp2, err2)
					want := showParity(c1.Do(pc.request(hs)))
					if got != want {
						t.Fatalf("HTTP/2 (error %v):\n%.2000s\nHTTP/1.1:\n%.2000s\nlog:\n%.3000s", err2, got, want, hs.Log)
					}
				}
			})
		}
	})
}
