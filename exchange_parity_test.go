package gale_test

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/galehttp/gale"
	"github.com/galehttp/gale/tests/harness/gate"
)

// parityRow is a request that each bringer brings. Handlers must see the same, and clients must get
// the same as by HTTP/1.1.
type parityRow struct {
	name string
	s    *gale.Server // its settings
	h    gale.RequestHandler
	request
	want each // status and body, for bringers that can't answer as HTTP/1.1 does, and for all by ""
}

// showAll answers with everything that a handler sees of the request.
func showAll(ctx *gale.RequestCtx) {
	body := ctx.PostBody()
	scheme, uri, _ := strings.Cut(ctx.URI().String(), ":")
	fmt.Fprintf(ctx, "%s %s host=%s uri=%s path=%s query=%s len=%d body=%q tls=%v\n", ctx.Method(), ctx.RequestURI(), ctx.Host(), uri, ctx.Path(),
		ctx.QueryArgs(), ctx.Request.Header.ContentLength(), body, ctx.IsTLS() == (scheme == "https"))
	var lines []string
	for k, v := range ctx.Request.Header.All() {
		if name := string(k); !slices.Contains(ofConnection, name) && name != "Te" && name != "Trailer" && name != "Host" {
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

var huge = sync.OnceValue(func() string { return strings.Repeat("0123456789abcdef", 10<<20/16) })

// parityRows returns all rows; dir has files.
func parityRows(dir string) []parityRow {
	big := strings.Repeat("0123456789abcdef", 64<<10/16)
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
	get := func(name string, h gale.RequestHandler) parityRow {
		return parityRow{name: name, s: new(gale.Server), h: h, request: request{method: "GET", path: "/p?q=1"}}
	}
	post := func(name, body string, h gale.RequestHandler) parityRow {
		return parityRow{name: name, s: new(gale.Server), h: h, request: request{method: "POST", path: "/p", body: body}}
	}
	with := func(row parityRow, change func(*parityRow)) parityRow { change(&row); return row }
	unreadable := func(ctx *gale.RequestCtx) {
		ctx.SetBodyStream(io.MultiReader(strings.NewReader("part"), badReader{}), -1)
		ctx.Response.Body()
	}
	refine := func(ctx *gale.RequestCtx) {
		ctx.BeforeSend(func(ctx *gale.RequestCtx) { ctx.SetStatusCode(ctx.Response.StatusCode() + 1) })
	}
	wants := func(row parityRow, want each) parityRow { row.want = want; return row }
	lost := func(row parityRow) parityRow { // net/http breaks the connection off when a handler panics
		return wants(row, each{"net/http": "error"})
	}
	streamed := func(row *parityRow) { row.s.StreamRequestBody = true }
	unsized := func(row *parityRow) { row.unsized = true }
	hooked := func(row *parityRow) { row.s.BeforeSend = hook }
	small := func(row *parityRow) { row.s.MaxRequestBodySize = 100 }
	errored := func(row *parityRow) { row.s.ErrorHandler = shown }
	tens := func(*gale.RequestCtx) gale.RequestConfig { return gale.RequestConfig{MaxRequestBodySize: 10} }
	starts := func(hook func(*gale.RequestCtx) gale.RequestConfig) func(*parityRow) {
		return func(row *parityRow) { row.s.RequestStarted = hook }
	}
	expects := func(row *parityRow) { row.fields = append(row.fields, "Expect", "100-continue") }

	cases := []parityRow{
		get("get", showAll),
		with(get("fields", showAll), func(row *parityRow) {
			row.fields = []string{"X-Some", "one", "X-Some", "two", "x-lower-CASE", "v", "Accept", "text/html", "Empty", "", "Cookie", "a=1; b=2"}
		}),
		with(get("path", showAll), func(row *parityRow) {
			row.path = "/a%20b/../c//d?x=%41&y"
			row.want = each{"net/http": "400 Bad Request\n"} // see "Paths" in the comment of package adaptor
		}),
		with(get("head", showAll), func(row *parityRow) { row.method = "HEAD" }),
		with(get("head of a stream", func(ctx *gale.RequestCtx) { ctx.SetBodyStream(strings.NewReader("abc"), 3) }), func(row *parityRow) { row.method = "HEAD" }),
		with(get("head of a writer", func(ctx *gale.RequestCtx) { ctx.SetBodyStreamWriter(func(w *bufio.Writer) { w.WriteString("abc") }) }), func(row *parityRow) { row.method = "HEAD" }),
		with(get("head flushed", func(ctx *gale.RequestCtx) { ctx.WriteString("a"); ctx.Flush(); ctx.WriteString("b") }), func(row *parityRow) { row.method = "HEAD" }),
		with(get("head flushed, then a stream", func(ctx *gale.RequestCtx) { ctx.Flush(); ctx.SetBodyStream(strings.NewReader("abc"), 3) }), func(row *parityRow) { row.method = "HEAD" }),
		with(get("the handler changes the method", func(ctx *gale.RequestCtx) { ctx.Request.Header.SetMethod("HEAD"); ctx.SetBodyString("body") }), func(row *parityRow) {}),
		with(get("put", showAll), func(row *parityRow) { row.method, row.body = "PUT", "text" }),
		with(get("delete", showAll), func(row *parityRow) { row.method = "DELETE" }),
		post("post empty", "", showAll),
		with(post("form", "a=1&b=2", func(ctx *gale.RequestCtx) { fmt.Fprint(ctx, string(ctx.FormValue("b")), ctx.PostArgs()) }), func(row *parityRow) {
			row.fields = []string{"Content-Type", "application/x-www-form-urlencoded"}
		}),
		with(post("trailers of the request", "body", showAll), func(row *parityRow) { row.trailers = []string{"X-Sum", "abc", "X-More", "1"} }),
		with(post("trailers merged", "body", showAll), func(row *parityRow) { row.trailers, row.s.MergeTrailers = []string{"X-Sum", "abc"}, true }),
		with(with(post("trailers of a stream", "body", readAll), streamed), func(row *parityRow) { row.trailers = []string{"X-Sum", "abc"} }),
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
		with(with(post("ErrorHandler panics for a refused request", strings.Repeat("x", 101), showAll), small), func(row *parityRow) {
			row.s.ErrorHandler = func(*gale.RequestCtx, error) { panic("of the test") }
		}),
		with(with(post("ErrorHandler aborts a refused request", strings.Repeat("x", 101), showAll), small), func(row *parityRow) {
			row.s.ErrorHandler = func(*gale.RequestCtx, error) { panic(gale.ErrAbortHandler) }
		}),
		with(with(post("ErrorHandler times out for a refused request", strings.Repeat("x", 101), showAll), small), func(row *parityRow) {
			row.s.ErrorHandler = func(ctx *gale.RequestCtx, _ error) { ctx.TimeoutError("late") }
			row.s.BeforeSend = func(ctx *gale.RequestCtx) { ctx.Response.Header.Set("X-Path", string(ctx.Path())) }
		}),
		with(with(post("ErrorHandler flushes for a refused request", strings.Repeat("x", 101), showAll), small), func(row *parityRow) {
			row.s.ErrorHandler = func(ctx *gale.RequestCtx, _ error) { ctx.WriteString("all"); ctx.Flush() }
		}),
		with(with(post("ErrorHandler hijacks a refused request", strings.Repeat("x", 101), showAll), small), func(row *parityRow) {
			row.s.ErrorHandler = func(ctx *gale.RequestCtx, _ error) { ctx.Hijack(func(net.Conn) {}) }
		}),
		with(with(post("ErrorHandler's stream breaks", strings.Repeat("x", 101), showAll), small), func(row *parityRow) {
			row.s.ErrorHandler = func(ctx *gale.RequestCtx, _ error) { ctx.SetBodyStream(badReader{}, -1) }
		}),
		with(get("PanicHandler hijacks", func(*gale.RequestCtx) { panic("of the test") }), func(row *parityRow) {
			row.s.PanicHandler = func(ctx *gale.RequestCtx, _ any) { ctx.Hijack(func(net.Conn) {}) }
		}),
		with(get("PanicHandler panics", func(*gale.RequestCtx) { panic("of the test") }), func(row *parityRow) {
			row.s.PanicHandler = func(*gale.RequestCtx, any) { panic("again") }
		}),
		get("Goexit", func(*gale.RequestCtx) { runtime.Goexit() }),
		get("status 100", status(100)),
		get("fail after flush", func(ctx *gale.RequestCtx) { ctx.WriteString("part"); ctx.Flush(); ctx.Fail(500, fmt.Errorf("late")) }),
		lost(get("panic", func(*gale.RequestCtx) { panic("of the test") })),
		with(get("panic told", func(*gale.RequestCtx) { panic("of the test") }), func(row *parityRow) {
			row.s.PanicHandler = func(ctx *gale.RequestCtx, v any) { ctx.SetBodyString(fmt.Sprint("sorry: ", v)) }
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
			ctx.SetBodyStream(io.MultiReader(strings.NewReader("ab"), badReader{}), -1)
		}),
		lost(get("stream panics", func(ctx *gale.RequestCtx) { ctx.SetBodyStream(panickingReader{}, -1) })),
		get("writer", func(ctx *gale.RequestCtx) {
			ctx.SetBodyStreamWriter(func(w *bufio.Writer) { w.WriteString("a"); w.Flush(); w.WriteString(big) })
		}),
		get("writer panics", func(ctx *gale.RequestCtx) { ctx.SetBodyStreamWriter(func(*bufio.Writer) { panic("of the test") }) }),
		get("file", func(ctx *gale.RequestCtx) { ctx.SendFile(filepath.Join(dir, "small")) }),
		get("large file", func(ctx *gale.RequestCtx) { ctx.SendFile(filepath.Join(dir, "large")) }),
		with(get("range of a file", func(ctx *gale.RequestCtx) { gale.ServeFileBytes(ctx, []byte(filepath.Join(dir, "large"))) }), func(row *parityRow) { row.fields = []string{"Range", "bytes=5-9"} }),
		get("skip body", func(ctx *gale.RequestCtx) { ctx.SetBodyString("x"); ctx.Response.SkipBody = true }),
		get("TimeoutError", func(ctx *gale.RequestCtx) { ctx.TimeoutError("late") }),
		get("panic after TimeoutError", func(ctx *gale.RequestCtx) { ctx.TimeoutError("late"); panic("of the test") }),
		get("abort after TimeoutError", func(ctx *gale.RequestCtx) { ctx.TimeoutError("late"); panic(gale.ErrAbortHandler) }),
		get("TimeoutError after Hijack", func(ctx *gale.RequestCtx) { ctx.Hijack(func(net.Conn) {}); ctx.TimeoutError("late") }),
		get("BeforeSend after TimeoutError", func(ctx *gale.RequestCtx) { refine(ctx); ctx.TimeoutError("late") }),
		get("BeforeSend after Detach", func(ctx *gale.RequestCtx) { refine(ctx); ctx.SetBodyString("text"); ctx.Detach() }),
		wants(get("a body that can't be read", unreadable), each{"": "500 Internal Server Error"}),
		wants(get("a silent handover of it", func(ctx *gale.RequestCtx) {
			unreadable(ctx)
			ctx.HijackSetNoResponse(true)
			ctx.Hijack(func(c net.Conn) { io.WriteString(c, rawAnswer) })
		}), each{"": "500 Internal Server Error", "h2": "501 Not Implemented", "toy": "501 Not Implemented"}),
		wants(get("a handover that BeforeSend refuses", func(ctx *gale.RequestCtx) {
			ctx.Hijack(func(net.Conn) {})
			ctx.BeforeSend(func(ctx *gale.RequestCtx) { ctx.Error("no", 403) })
		}), each{"": "403 no"}),
		get("TimeoutErrorWithResponse", func(ctx *gale.RequestCtx) {
			var resp gale.Response
			resp.SetStatusCode(503)
			resp.SetBodyString("busy")
			resp.Header.Set("X-A", "b")
			ctx.TimeoutErrorWithResponse(&resp)
		}),
		get("TimeoutHandler", gale.TimeoutHandler(func(ctx *gale.RequestCtx) { <-ctx.Done() }, 20*time.Millisecond, "too late")),
		with(get("TimeoutHandler hooked", gale.TimeoutHandler(func(ctx *gale.RequestCtx) { <-ctx.Done() }, 20*time.Millisecond, "too late")), hooked),
		lost(get("panic in TimeoutHandler", gale.TimeoutHandler(func(ctx *gale.RequestCtx) { panic("of the test") }, time.Minute, "too late"))),
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
		with(get("get only", showAll), func(row *parityRow) { row.method, row.body, row.s.GetOnly = "POST", "x", true }),
		with(post("HeaderReceived", big, echoBody), func(row *parityRow) {
			row.s.HeaderReceived = func(h *gale.RequestHeader) gale.RequestConfig { return gale.RequestConfig{MaxRequestBodySize: 10} }
		}),
		with(post("HeaderReceived streams", big, readAll), func(row *parityRow) {
			row.s.HeaderReceived = func(h *gale.RequestHeader) gale.RequestConfig { return gale.RequestConfig{StreamRequestBody: true} }
		}),
		with(post("RequestStarted limits", big, echoBody), starts(tens)),
		with(with(post("RequestStarted limits a stream", big, echoStream), streamed), starts(tens)),
		with(with(with(post("RequestStarted limits a stream, unsized", big, func(ctx *gale.RequestCtx) {
			b, err := io.ReadAll(ctx.RequestBodyStream())
			fmt.Fprint(ctx, len(b) > 10, err)
		}), streamed), unsized), starts(tens)),
		with(with(with(post("RequestStarted limits a stream that is taken for a body", big, echoBody), streamed), unsized), starts(tens)),
		with(post("RequestStarted streams", big, readAll), starts(func(*gale.RequestCtx) gale.RequestConfig { return gale.RequestConfig{StreamRequestBody: true} })),
		with(post("RequestStarted refuses", big, echoBody), starts(func(*gale.RequestCtx) gale.RequestConfig { return gale.RequestConfig{RefuseStatus: 503} })),
		with(with(get("RequestStarted refuses, hooked", showAll), starts(func(*gale.RequestCtx) gale.RequestConfig { return gale.RequestConfig{RefuseStatus: 413} })), hooked),
		with(with(get("RequestStarted refuses, with an ErrorHandler", showAll), starts(func(*gale.RequestCtx) gale.RequestConfig { return gale.RequestConfig{RefuseStatus: 200} })), errored),
		with(post("RequestStarted asks for Done", big, func(ctx *gale.RequestCtx) { fmt.Fprint(ctx, ctx.Err(), ctx.UserValue("k"), len(ctx.PostBody())) }), starts(func(ctx *gale.RequestCtx) (c gale.RequestConfig) {
			_ = ctx.Done()
			ctx.SetUserValue("k", 1)
			ctx.Response.Header.Set("X-Early", "1")
			ctx.SetStatusCode(500)
			return c
		})),
		with(get("RequestStarted flushes", showAll), starts(func(ctx *gale.RequestCtx) (c gale.RequestConfig) {
			ctx.SetBodyString("early")
			_ = ctx.Flush()
			return c
		})),
		with(get("RequestStarted panics", showAll), starts(func(ctx *gale.RequestCtx) gale.RequestConfig { panic("of the test") })),
		with(with(post("expect", "text", echoBody), expects), func(*parityRow) {}),
		with(with(post("expect, streamed", "text", readAll), expects), streamed),
		with(with(post("ContinueHandler refuses", "text", echoBody), expects), func(row *parityRow) {
			row.s.ContinueHandler = func(h *gale.RequestHeader) bool { return len(h.Peek("X-Let")) > 0 }
		}),
		with(with(post("ContinueHandler lets", "text", echoBody), expects), func(row *parityRow) {
			row.fields = append(row.fields, "X-Let", "1")
			row.s.ContinueHandler = func(h *gale.RequestHeader) bool { return len(h.Peek("X-Let")) > 0 }
		}),
		with(with(post("ExpectHandler refuses", "text", echoBody), expects), func(row *parityRow) {
			row.s.ExpectHandler = func(ctx *gale.RequestCtx) int { return 403 }
		}),
		with(with(post("ExpectHandler lets", "text", echoBody), expects), func(row *parityRow) {
			row.s.ExpectHandler = func(ctx *gale.RequestCtx) int { return 100 }
		}),
		with(with(post("ExpectHandler asks for Done", "text", func(ctx *gale.RequestCtx) { fmt.Fprint(ctx, ctx.Err(), string(ctx.PostBody())) }), expects), func(row *parityRow) {
			row.s.ExpectHandler = func(ctx *gale.RequestCtx) int { ctx.Done(); return 100 }
		}),
		with(with(post("ExpectHandler times out", "text", echoBody), expects), func(row *parityRow) {
			row.s.ExpectHandler = func(ctx *gale.RequestCtx) int { ctx.TimeoutError("late"); return 100 }
			row.want = each{"": "408 late"}
		}),
		with(with(post("ExpectHandler hijacks and refuses", "text", echoBody), expects), func(row *parityRow) {
			row.s.ExpectHandler = func(ctx *gale.RequestCtx) int { ctx.Hijack(func(net.Conn) {}); return 403 }
		}),
		with(with(post("ExpectHandler panics", "text", echoBody), expects), func(row *parityRow) {
			row.s.ExpectHandler = func(ctx *gale.RequestCtx) int { panic("of the test") }
		}),
		with(with(post("other expectation", "text", echoBody), func(row *parityRow) { row.fields = []string{"Expect", "more"} }), hooked),
		with(get("long target", showAll), func(row *parityRow) { row.path = "/" + strings.Repeat("x", 40<<10) }),
		with(get("BeforeSend of the request", func(ctx *gale.RequestCtx) {
			ctx.BeforeSend(func(ctx *gale.RequestCtx) { ctx.Response.Header.Set("X-Late", "1") })
			ctx.SetBodyStream(strings.NewReader("x"), 1)
		}), hooked),
		with(get("names as they are", showAll), func(row *parityRow) { row.s.NoDefaultContentType, row.s.NoDefaultServerHeader = true, true }),
		with(get("no date", showAll), func(row *parityRow) { row.s.NoDefaultDate, row.s.Name = true, "me" }),
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
		body := huge()[:n]
		large := func(row *parityRow) { row.s.MaxRequestBodySize = 16 << 20 }
		cases = append(cases, with(post(fmt.Sprint("echo ", n), body, echoBody), large), with(with(post(fmt.Sprint("echo of a stream ", n), body, echoStream), streamed), large),
			with(with(post(fmt.Sprint("echo unsized ", n), body, echoBody), unsized), large))
	}
	return cases
}

type panickingReader struct{}

func (panickingReader) Read([]byte) (int, error) { panic("of the test") }

// TestParity proves that what a handler sees and sends is the same whatever brings the request, on both
// engines and over TLS. Three requests follow each other on each connection, so that the test notices
// what one leaves to the next. In the short form each row is sent over TLS to one engine.
func TestParity(t *testing.T) {
	dir := t.TempDir()
	for name, n := range map[string]int{"small": 100, "large": 300 << 10} {
		if err := os.WriteFile(filepath.Join(dir, name), bytes.Repeat([]byte("f"), n), 0o600); err != nil {
			t.Fatal("a file to send:", err)
		}
	}
	checkExceptions(t, parityRows(dir))
	right := make(map[string]answered) // by HTTP/1.1, for each row
	for _, b := range slices.Concat(bringers, overTLS) {
		for i, row := range parityRows(dir) {
			if b.secure && !gate.Full() && i%2 != int(b.engine)%2 || b.lacks(&row) != "" {
				continue // the other engine has it, or none
			}
			t.Run(b.name+"/"+row.name, func(t *testing.T) {
				row.s.Handler = row.h
				ask := b.start(t, row.s)
				for range b.rounds() {
					got := ask(&row.request)
					if _, ok := right[row.name]; !ok {
						right[row.name] = got
					}
					if want := row.want.of(b.name); want != "" {
						if s := got.short(); s != want {
							t.Fatalf("the answer is %q, want %q", s, want)
						}
					} else if got, want := got.text(b.compares), right[row.name].text(b.compares); got != want {
						t.Fatalf("the answer is\n%.2000s\nby HTTP/1.1 it is\n%.2000s", got, want)
					}
				}
			})
		}
	}
}
