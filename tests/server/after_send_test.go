package server

import (
	"bufio"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/galehttp/gale"
	"github.com/galehttp/gale/galeutil"
	"github.com/galehttp/gale/tests/harness"
	"github.com/galehttp/gale/tests/harness/await"
	"github.com/galehttp/gale/tests/harness/gate"
	"github.com/galehttp/gale/tests/harness/peers"
)

// sentCall is a call of a function of AfterSend.
type sentCall struct {
	path string
	sent int64
	err  error
}

// sentCalls collects the calls.
type sentCalls chan sentCall

// note adds a function of AfterSend to the request.
func (c sentCalls) note(ctx *gale.RequestCtx) {
	path := string(ctx.Path())
	ctx.AfterSend(func(sent int64, err error) { c <- sentCall{path, sent, err} })
}

// want waits for a call with these values.
func (c sentCalls) want(t *testing.T, path string, sent int64) {
	t.Helper()
	if got := c.next(t); got.path != path || got.sent != sent || got.err != nil {
		t.Errorf("%s: %d bytes, %v; want %s, %d", got.path, got.sent, got.err, path, sent)
	}
}

func (c sentCalls) next(t *testing.T) sentCall {
	t.Helper()
	select {
	case got := <-c:
		return got
	case <-time.After(time.Minute):
		t.Fatalf("no function of AfterSend was called\n%s", peers.AllStacks())
	}
	return sentCall{}
}

// none checks that there was no other call.
func (c sentCalls) none(t *testing.T) {
	t.Helper()
	select {
	case got := <-c:
		t.Errorf("one more call: %+v", got)
	default:
	}
}

func newSentCalls() sentCalls { return make(sentCalls, 1000) }

const sentBig = 300_000

// sentHandler answers in many ways.
func sentHandler(file string) gale.RequestHandler {
	slow := gale.TimeoutHandler(func(ctx *gale.RequestCtx) { <-ctx.Done(); ctx.WriteString("late") }, time.Millisecond, "timed out")
	return func(ctx *gale.RequestCtx) {
		switch string(ctx.Path()) {
		case "/small":
			ctx.SetBodyString("hello")
		case "/big":
			ctx.SetBody(make([]byte, sentBig))
		case "/empty":
		case "/204":
			ctx.SetStatusCode(gale.StatusNoContent)
			ctx.SetBodyString("not sent")
		case "/304":
			ctx.SetStatusCode(gale.StatusNotModified)
			ctx.Response.Header.SetContentLength(5)
		case "/file":
			ctx.SendFile(file)
		case "/sized":
			ctx.SetBodyStream(strings.NewReader(strings.Repeat("x", sentBig)), sentBig)
		case "/unsized":
			ctx.SetBodyStream(strings.NewReader(strings.Repeat("x", sentBig)), -1)
		case "/long": // more than the head says
			ctx.SetBodyStream(strings.NewReader("0123456789"), 5)
		case "/writer":
			ctx.SetBodyStreamWriter(func(w *bufio.Writer) { io.WriteString(w, "12345"); w.Flush(); io.WriteString(w, "678") })
		case "/flush":
			ctx.WriteString("one ")
			_ = ctx.Flush()
			ctx.WriteString("two")
		case "/flushstream":
			ctx.WriteString("one ")
			_ = ctx.Flush()
			ctx.SetBodyStream(strings.NewReader("two"), -1)
		case "/trailer":
			_ = ctx.Response.Header.AddTrailerValue("X-T", "1")
			ctx.SetBodyString("hello")
		case "/panic":
			panic("a bug")
		case "/timeout":
			slow(ctx)
		case "/close":
			ctx.SetBodyString("bye")
			ctx.SetConnectionClose()
		case "/broken":
			ctx.WriteString("one ")
			_ = ctx.Flush()
			panic("a bug")
		case "/short":
			ctx.SetBodyStream(strings.NewReader("12345"), 10)
		case "/abort":
			panic(gale.ErrAbortHandler)
		default:
			ctx.NotFound()
		}
	}
}

// sentCases are paths of sentHandler and the lengths of their bodies.
var sentCases = []struct {
	path string
	sent int64
	ends bool // the connection, for HTTP/1.1
}{
	{"/small", 5, false}, {"/big", sentBig, false}, {"/empty", 0, false}, {"/204", 0, false}, {"/304", 0, false},
	{"/file", sentBig, false}, {"/sized", sentBig, false}, {"/unsized", sentBig, false}, {"/long", 5, false},
	{"/writer", 8, false}, {"/flush", 7, false}, {"/flushstream", 7, false}, {"/trailer", 5, false},
	{"/small", 5, false}, {"/none", 18, false}, {"/timeout", 9, false}, {"/panic", 21, true}, {"/close", 3, true},
}

func sentFile(t *testing.T) string {
	file := filepath.Join(t.TempDir(), "file.bin")
	if err := os.WriteFile(file, make([]byte, sentBig), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// sentServer returns a server whose BeforeSend adds a function of AfterSend to each response.
func sentServer(t *testing.T, e gale.Engine) (*gale.Server, sentCalls) {
	calls := newSentCalls()
	return &gale.Server{Engine: e, Handler: sentHandler(sentFile(t)), BeforeSend: calls.note, Logger: &peers.Log{}}, calls
}

// A function runs once for each response and learns how long its body was.
func TestAfterSend(t *testing.T) {
	peers.OnEngines(t, func(t *testing.T, e gale.Engine) {
		for _, way := range []string{"TCP", "TLS", "memory"} {
			s, calls := sentServer(t, e)
			var dial func() *peers.Conn
			switch way {
			case "TCP":
				dial = harness.Start(t, s, nil).Dial
			case "TLS":
				s.HTTP2.Mode = gale.HTTP2Off
				addr := harness.StartTLS(t, s)
				dial = func() *peers.Conn {
					c, err := tls.Dial("tcp", addr, &tls.Config{InsecureSkipVerify: true})
					if err != nil {
						t.Fatal(err)
					}
					return peers.NewConn(t, c)
				}
			default:
				ln := galeutil.NewInmemoryListener()
				served := make(chan error, 1)
				go func() { served <- s.Serve(ln) }()
				t.Cleanup(func() { s.Close(); ln.Close(); <-served })
				dial = func() *peers.Conn {
					c, err := ln.Dial()
					if err != nil {
						t.Fatal(err)
					}
					return peers.NewConn(t, c)
				}
			}
			c := dial()
			for _, tc := range sentCases {
				c.Send(peers.Get(tc.path))
				if a := c.Answer("GET"); int64(len(a.Text)) != tc.sent {
					t.Errorf("%s, %s: a body of %d bytes, want %d", way, tc.path, len(a.Text), tc.sent)
				}
				calls.want(t, tc.path, tc.sent)
				if tc.ends {
					c.WantClosed()
					c = dial()
				}
			}
			for _, tc := range sentCases {
				if tc.path == "/timeout" || tc.ends {
					continue
				}
				c.Send("HEAD " + tc.path + " HTTP/1.1\r\nHost: h\r\n\r\n")
				c.Answer("HEAD")
				calls.want(t, tc.path, 0)
			}
			for _, tc := range sentCases { // a body may end with the connection
				c := dial()
				c.Send("GET " + tc.path + " HTTP/1.0\r\nHost: h\r\n\r\n")
				c.Answer("GET")
				calls.want(t, tc.path, tc.sent)
			}
			calls.none(t)
		}
	})
}

// Each of several pipelined responses has its own call, in their order, and the session
// goes on as without functions.
func TestAfterSendPipelined(t *testing.T) {
	peers.OnEngines(t, func(t *testing.T, e gale.Engine) {
		s, calls := sentServer(t, e)
		c := harness.Start(t, s, nil).Dial()
		paths := []string{"/small", "/file", "/none", "/big", "/flush", "/unsized", "/small", "/204", "/writer", "/small"}
		batch := ""
		for _, p := range paths {
			batch += peers.Get(p)
		}
		c.Send(batch + peers.Post("/small", strings.Repeat("b", 20_000)) + "GET /close HTTP/1.1\r\nHo")
		for _, p := range paths {
			a := c.Answer("GET")
			calls.want(t, p, int64(len(a.Text)))
		}
		c.Want("POST", 200, "hello")
		calls.want(t, "/small", 5)
		c.Send("st: h\r\n\r\n")
		c.Want("GET", 200, "bye")
		calls.want(t, "/close", 3)
		c.WantClosed()
		calls.none(t)
	})
}

// Server.BeforeSend adds functions to the responses to requests that no handler saw.
func TestAfterSendRefused(t *testing.T) {
	peers.OnEngines(t, func(t *testing.T, e gale.Engine) {
		s, calls := sentServer(t, e)
		s.MaxRequestBodySize, s.ReadTimeout = 100, 100*time.Millisecond
		ts := harness.Start(t, s, nil)
		for _, request := range []string{
			"BAD\r\n\r\n",
			"GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n",
			"GET / HTTP/1.1\r\nHost: a\r\nX: " + strings.Repeat("x", 1<<20) + "\r\n\r\n",
			"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1000\r\n\r\n",
			"GET / HTTP/1.1\r\nHost: a\r\n", // it times out
			"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\nabc",
		} {
			c := ts.Dial()
			c.Send(request)
			a := c.Answer("GET")
			if a.StatusCode < 400 {
				t.Errorf("%.40q: status %d", request, a.StatusCode)
			}
			if got := calls.next(t); got.sent != int64(len(a.Text)) || got.err != nil {
				t.Errorf("%.40q: %d bytes, %v; want %d", request, got.sent, got.err, len(a.Text))
			}
		}
		calls.none(t)
	})
}

// A response that is broken off by the server, or isn't there, has an error.
func TestAfterSendBroken(t *testing.T) {
	peers.OnEngines(t, func(t *testing.T, e gale.Engine) {
		calls := newSentCalls()
		h := sentHandler("")
		ts := harness.Start(t, &gale.Server{Engine: e}, func(ctx *gale.RequestCtx) {
			calls.note(ctx)
			switch string(ctx.Path()) {
			case "/writerpanic":
				ctx.SetBodyStreamWriter(func(w *bufio.Writer) { io.WriteString(w, "12345"); w.Flush(); panic("a bug") })
			case "/hijacknow":
				if nc, err := ctx.HijackNow(); err == nil {
					nc.Close()
				}
			default:
				h(ctx)
			}
		})
		for _, tc := range []struct {
			path string
			sent int64
		}{{"/broken", 4}, {"/short", 5}, {"/abort", 0}, {"/writerpanic", 5}, {"/hijacknow", 0}} {
			c := ts.Dial()
			c.Send(peers.Get(tc.path))
			if got := calls.next(t); got.path != tc.path || got.sent != tc.sent || got.err == nil {
				t.Errorf("%s: %d bytes, %v; want %d and an error", tc.path, got.sent, got.err, tc.sent)
			}
			_, _ = io.ReadAll(c.Br)
		}
		calls.none(t)
	})
}

// If the client leaves, a function learns how much was sent.
func TestAfterSendClientLeaves(t *testing.T) {
	size := gate.Form(64<<20, 16<<20) // more than the buffers of the system hold
	file := filepath.Join(t.TempDir(), "file.bin")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(file, int64(size)); err != nil {
		t.Fatal(err)
	}
	peers.OnEngines(t, func(t *testing.T, e gale.Engine) {
		calls := newSentCalls()
		s := &gale.Server{Engine: e, Logger: &peers.Log{}, Handler: func(ctx *gale.RequestCtx) {
			calls.note(ctx)
			switch string(ctx.Path()) {
			case "/file":
				ctx.SendFile(file)
			case "/stream":
				ctx.SetBodyStream(io.LimitReader(peers.Zeros{}, int64(size)), size)
			case "/memory":
				ctx.SetBody(make([]byte, size))
			case "/flush":
				for range size / 4096 {
					if _, err := ctx.Write(make([]byte, 4096)); err != nil || ctx.Flush() != nil {
						return
					}
				}
			}
		}}
		ts := harness.Start(t, s, nil)
		addr := ts.Addr
		tlsServer := &gale.Server{Engine: e, Handler: s.Handler, HTTP2: gale.HTTP2Config{Mode: gale.HTTP2Off}}
		tlsAddr := harness.StartTLS(t, tlsServer)
		for _, secure := range []bool{false, true} {
			for _, path := range []string{"/file", "/stream", "/memory", "/flush"} {
				nc, err := net.Dial("tcp", addr)
				if secure {
					nc, err = tls.Dial("tcp", tlsAddr, &tls.Config{InsecureSkipVerify: true})
				}
				if err != nil {
					t.Fatal(err)
				}
				c := peers.NewConn(t, nc)
				c.Send(peers.Get(path))
				if _, err := io.CopyN(io.Discard, c.Br, 1<<20); err != nil {
					t.Fatal(err)
				}
				c.Close()
				got := calls.next(t)
				if got.err == nil || got.sent >= int64(size) || path != "/memory" && got.sent < 1<<19 {
					t.Errorf("%s, TLS %t: %d bytes, %v", path, secure, got.sent, got.err)
				}
			}
		}
		calls.none(t)
	})
}

// Close ends a response that is being sent; the function runs.
func TestAfterSendClose(t *testing.T) {
	peers.OnEngines(t, func(t *testing.T, e gale.Engine) {
		calls := newSentCalls()
		s := &gale.Server{Engine: e, Logger: &peers.Log{}, Handler: func(ctx *gale.RequestCtx) {
			calls.note(ctx)
			ctx.SetBodyStream(peers.Zeros{}, 1<<30)
		}}
		ts := harness.Start(t, s, nil)
		c := ts.Dial()
		c.Send(peers.Get("/"))
		if _, err := io.CopyN(io.Discard, c.Br, 1<<20); err != nil {
			t.Fatal(err)
		}
		s.Close()
		if got := calls.next(t); got.err == nil || got.sent < 1<<19 {
			t.Errorf("%d bytes, %v", got.sent, got.err)
		}
		calls.none(t)
	})
}

// Before a HijackHandler the function runs when the response was sent.
func TestAfterSendHijack(t *testing.T) {
	peers.OnEngines(t, func(t *testing.T, e gale.Engine) {
		for _, quiet := range []bool{false, true} {
			calls := newSentCalls()
			ts := harness.Start(t, &gale.Server{Engine: e}, func(ctx *gale.RequestCtx) {
				calls.note(ctx)
				ctx.SetBodyString("yours")
				ctx.HijackSetNoResponse(quiet)
				ctx.Hijack(func(c net.Conn) { io.WriteString(c, "hijacked") })
			})
			c := ts.Dial()
			c.Send(peers.Get("/"))
			b, err := io.ReadAll(c.Br)
			if err != nil || !strings.HasSuffix(string(b), "hijacked") {
				t.Errorf("%q, %v", b, err)
			}
			if quiet {
				if got := calls.next(t); got.sent != 0 || got.err == nil {
					t.Errorf("no response: %d bytes, %v", got.sent, got.err)
				}
			} else {
				calls.want(t, "/", 5)
			}
			calls.none(t)
		}
	})
}

// Functions run in order, each once; one that panics or ends its goroutine stops no other
// request, and none can be added when it is too late.
func TestAfterSendFunctions(t *testing.T) {
	peers.OnEngines(t, func(t *testing.T, e gale.Engine) {
		order := make(chan string, 20)
		ts := harness.Start(t, &gale.Server{Engine: e}, func(ctx *gale.RequestCtx) {
			add := func(name string) { ctx.AfterSend(func(int64, error) { order <- name }) }
			ctx.AfterSend(nil)
			add("a")
			ctx.AfterSend(func(int64, error) { panic("in a function") })
			add("b")
			ctx.BeforeSend(func(ctx *gale.RequestCtx) { ctx.AfterSend(func(int64, error) { order <- "c" }) })
			switch string(ctx.Path()) {
			case "/late":
				ctx.SetBodyStreamWriter(func(w *bufio.Writer) { add("late") })
			case "/goexit":
				ctx.AfterSend(func(int64, error) { runtime.Goexit() })
			}
		})
		c := ts.Dial()
		c.Send(peers.Get("/"))
		c.Answer("GET")
		c.Send(peers.Get("/late"))
		c.Answer("GET")
		c.Send(peers.Get("/goexit"))
		c.Answer("GET")
		c.WantClosed()
		await.Until(t, "the functions", func() bool { return len(order) >= 9 })
		close(order)
		got := ""
		for name := range order {
			got += name
		}
		if got != "abcabcabc" { // Goexit, too, stops none
			t.Errorf("they ran in the order %q", got)
		}
		if n := strings.Count(ts.Log.String(), "in a function of AfterSend"); n != 3 {
			t.Errorf("%d panics are logged: %s", n, ts.Log)
		}
	})
}

// A function that is added while the body is sent doesn't run, even if it is the only one.
func TestAfterSendTooLate(t *testing.T) {
	var ran atomic.Int32
	h := func(ctx *gale.RequestCtx) {
		if string(ctx.Path()) == "/flush" {
			_ = ctx.Flush()
		}
		ctx.SetBodyStreamWriter(func(w *bufio.Writer) { ctx.AfterSend(func(int64, error) { ran.Add(1) }) })
	}
	peers.OnEngines(t, func(t *testing.T, e gale.Engine) {
		c := harness.Start(t, &gale.Server{Engine: e}, h).Dial()
		c.Send(peers.Get("/") + peers.Get("/flush") + peers.Get("/"))
		c.Want("GET", 200, "")
		c.Want("GET", 200, "")
		c.Want("GET", 200, "")
		c.Send("GET / HTTP/1.0\r\n\r\n")
		c.Answer("GET") // ends with the connection
	})
	peers.EachWay(t, func(t *testing.T, way harness.H2Way) {
		hs := way.Start(t, &gale.Server{Handler: h})
		hs.Get(hs.Client(2), "/")
		hs.S.Shutdown()
	})
	if n := ran.Load(); n != 0 {
		t.Errorf("%d functions ran", n)
	}
}

// A handler that timed out may add functions: those before the timeout count, as does one
// that Server.BeforeSend adds.
func TestAfterSendTimeout(t *testing.T) {
	peers.OnEngines(t, func(t *testing.T, e gale.Engine) {
		calls := newSentCalls()
		var late atomic.Int32
		go1, done := make(chan struct{}), make(chan struct{})
		h := gale.TimeoutHandler(func(ctx *gale.RequestCtx) {
			calls.note(ctx)
			<-go1
			for range 100 {
				ctx.AfterSend(func(int64, error) { late.Add(1) })
			}
			close(done)
		}, time.Millisecond, "too late")
		ts := harness.Start(t, &gale.Server{Engine: e, BeforeSend: calls.note}, h)
		c := ts.Dial()
		c.Send(peers.Get("/t"))
		c.Want("GET", gale.StatusRequestTimeout, "too late")
		calls.want(t, "/t", 8)
		calls.want(t, "/t", 8)
		close(go1)
		<-done
		calls.none(t)
		if n := late.Load(); n != 0 {
			t.Errorf("%d late functions ran", n)
		}
	})
}

// HTTP/2: DATA payload counts; a reset in the middle is an error.
func TestAfterSendHTTP2(t *testing.T) {
	peers.EachWay(t, func(t *testing.T, way harness.H2Way) {
		s, calls := sentServer(t, gale.EngineAuto)
		hs := way.Start(t, s)
		client := hs.Client(2)
		for _, tc := range sentCases {
			if tc.path == "/broken" {
				continue
			}
			if _, body := hs.Get(client, tc.path); int64(len(body)) != tc.sent {
				t.Errorf("%s: a body of %d bytes, want %d", tc.path, len(body), tc.sent)
			}
			calls.want(t, tc.path, tc.sent)
		}
		calls.none(t)
	})
}

func TestAfterSendHTTP2Reset(t *testing.T) {
	peers.EachWay(t, func(t *testing.T, way harness.H2Way) {
		calls := newSentCalls()
		begun := make(chan struct{}, 1)
		hs := way.Start(t, &gale.Server{Handler: func(ctx *gale.RequestCtx) {
			calls.note(ctx)
			switch string(ctx.Path()) {
			case "/memory":
				ctx.SetBody(make([]byte, 1<<20))
			case "/stream":
				ctx.SetBodyStream(peers.Zeros{}, -1)
			case "/abort":
				ctx.WriteString("one ")
				_ = ctx.Flush()
				panic(gale.ErrAbortHandler)
			case "/wait":
				begun <- struct{}{}
				<-ctx.Done()
			}
		}})
		c := hs.DialH2()
		for _, path := range []string{"/memory", "/stream"} { // they wait for the window, which is 65535 bytes
			id := c.Open("GET", path, true)
			c.Await(id, "data")
			c.Reset(id)
			got := calls.next(t)
			if got.path != path || got.sent <= 0 || got.sent > 65535 || got.err == nil {
				t.Errorf("%s: %d bytes, %v", got.path, got.sent, got.err)
			}
			c = hs.DialH2()
		}
		c.Open("GET", "/abort", true)
		if got := calls.next(t); got.sent != 4 || got.err == nil {
			t.Errorf("/abort: %d bytes, %v", got.sent, got.err)
		}
		id := c.Open("GET", "/wait", true)
		<-begun
		c.Reset(id)
		if got := calls.next(t); got.sent != 0 || !errors.Is(got.err, gale.ErrClientGone) {
			t.Errorf("/wait: %d bytes, %v", got.sent, got.err)
		}
		calls.none(t)
	})
}

// Clients leave at random while many requests with functions run: each request has one
// call.
func TestAfterSendOnce(t *testing.T) {
	peers.OnEngines(t, func(t *testing.T, e gale.Engine) {
		var added, ran atomic.Int64
		h := sentHandler(sentFile(t))
		s := &gale.Server{Engine: e, Logger: &peers.Log{}, Handler: func(ctx *gale.RequestCtx) {
			added.Add(1)
			ctx.AfterSend(func(int64, error) { ran.Add(1) })
			h(ctx)
		}}
		ts := harness.Start(t, s, nil)
		for i := range 60 {
			nc, err := net.Dial("tcp", ts.Addr)
			if err != nil {
				t.Fatal(err)
			}
			for j := range 8 {
				fmt.Fprint(nc, peers.Get(sentCases[(i+j)%len(sentCases)].path))
			}
			fmt.Fprint(nc, peers.Get("/close"))
			_, _ = io.CopyN(io.Discard, nc, int64(i*9973))
			nc.Close()
		}
		s.Shutdown()
		if a, r := added.Load(), ran.Load(); a != r || a == 0 {
			t.Errorf("%d functions, %d calls", a, r)
		}
	})
}

// sentLate is a body and a user value whose Close calls AfterSend.
type sentLate struct {
	ctx *gale.RequestCtx
	f   func(int64, error)
}

func (*sentLate) Read([]byte) (int, error) { return 0, io.EOF }

func (l *sentLate) Close() error { l.ctx.AfterSend(l.f); return nil }

// A function that a closer adds doesn't run, for this request or for another one.
func TestAfterSendClosers(t *testing.T) {
	var ran atomic.Int32
	h := func(ctx *gale.RequestCtx) {
		l := &sentLate{ctx, func(int64, error) { ran.Add(1) }}
		switch string(ctx.Path()) {
		case "/value":
			ctx.SetUserValue("late", l)
		case "/body":
			ctx.SetBodyStream(l, -1)
		case "/replaced":
			ctx.SetBodyStream(l, -1)
			ctx.TimeoutError("replaced")
		}
	}
	paths := []string{"/value", "/", "/body", "/", "/replaced", "/"}
	peers.OnEngines(t, func(t *testing.T, e gale.Engine) {
		s := &gale.Server{Engine: e, Logger: &peers.Log{}}
		ts := harness.Start(t, s, h)
		for _, method := range []string{"GET", "HEAD"} {
			for _, p := range paths {
				c := ts.Dial()
				for range 2 {
					c.Send(method + " " + p + " HTTP/1.1\r\nHost: h\r\n\r\n")
					c.Answer(method)
				}
			}
		}
		s.Shutdown()
		if n := ran.Swap(0); n != 0 {
			t.Errorf("%d functions ran", n)
		}
	})
	peers.EachWay(t, func(t *testing.T, way harness.H2Way) {
		hs := way.Start(t, &gale.Server{Handler: h, Logger: &peers.Log{}})
		client := hs.Client(2)
		for _, p := range paths {
			hs.Get(client, p)
			hs.Get(client, p)
		}
		hs.S.Shutdown()
		if n := ran.Swap(0); n != 0 {
			t.Errorf("HTTP/2: %d functions ran", n)
		}
	})
}
