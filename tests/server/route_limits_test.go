package server

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/textproto"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/galehttp/gale"
	"github.com/galehttp/gale/router"
	"github.com/galehttp/gale/tests/harness"
	"github.com/galehttp/gale/tests/harness/await"
	"github.com/galehttp/gale/tests/harness/peers"
)

// limitedServer is a server with the routes of r, and a client of net/http with one version of HTTP.
type limitedServer struct {
	*harness.Server
	tr    *http.Transport
	ended *atomic.Value // a chan struct{} that gets something when a request has ended that began after it was set
}

// stuck returns a body that begins with text, and ends when the request that comes next has ended.
func (ls *limitedServer) stuck(text string) io.Reader {
	ended := make(chan struct{}, 1)
	ls.ended.Store(ended)
	pr, pw := io.Pipe()
	go func() { <-ended; _ = pw.Close() }()
	return io.MultiReader(strings.NewReader(text), pr)
}

// onLimitedServers calls f for servers that prepare has attached a router to, on each engine, by each protocol,
// with bodies that are streamed and with others.
func onLimitedServers(t *testing.T, prepare func(t *testing.T, s *gale.Server), f func(t *testing.T, ls *limitedServer, streamed bool)) {
	for _, e := range peers.Engines[gale.Engine]() {
		for version := 1; version <= 2; version++ {
			for _, streamed := range []bool{false, true} {
				t.Run(fmt.Sprintf("%v/HTTP%d/streamed=%v", e, version, streamed), func(t *testing.T) {
					s := &gale.Server{Engine: e, StreamRequestBody: streamed}
					s.HTTP2.H2C = true
					prepare(t, s)
					now, hook := &atomic.Value{}, s.RequestStarted
					now.Store(make(chan struct{}, 1))
					s.RequestStarted = func(ctx *gale.RequestCtx) gale.RequestConfig {
						ended := now.Load().(chan struct{})
						ctx.AfterSend(func(int64, error) {
							select {
							case ended <- struct{}{}:
							default:
							}
						})
						return hook(ctx)
					}
					tr := &http.Transport{ExpectContinueTimeout: time.Minute, Protocols: peers.Protocols(version)}
					t.Cleanup(tr.CloseIdleConnections)
					f(t, &limitedServer{harness.Start(t, s, nil), tr, now}, streamed)
				})
			}
		}
	}
}

// attach attaches r to s.
func attach(t *testing.T, r *router.Router, s *gale.Server) {
	t.Helper()
	if err := r.Attach(s); err != nil {
		t.Fatalf("Attach: %v", err)
	}
}

// ask sends a request, with a body of unknown length unless it is a *strings.Reader. It returns the status,
// 0 without a response, the header, and whether the client was asked for the body.
func (ls *limitedServer) ask(ctx context.Context, method, path string, body io.Reader, fields ...string) (status int, h http.Header, text string, asked bool) {
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		Got1xxResponse: func(int, textproto.MIMEHeader) error { asked = true; return nil },
	})
	req, err := http.NewRequestWithContext(ctx, method, "http://"+ls.Addr+path, body)
	if err != nil {
		ls.T.Errorf("a request: %v", err)
		return 0, nil, "", false
	}
	for i := 0; i < len(fields); i += 2 {
		req.Header.Set(fields[i], fields[i+1])
	}
	resp, err := ls.tr.RoundTrip(req)
	if err != nil {
		return 0, nil, "", asked
	}
	defer resp.Body.Close()
	b, _ := io.ReadAll(resp.Body)
	return resp.StatusCode, resp.Header, string(b), asked
}

// TestRouteBodyLimits proves that MaxBody holds for its route alone, before the body is asked for or read, and
// for a streamed one.
func TestRouteBodyLimits(t *testing.T) {
	read := func(ctx *gale.RequestCtx) {
		if s := ctx.RequestBodyStream(); s != nil {
			most := 10
			if strings.HasSuffix(ctx.Pattern(), "large") {
				most = 100
			}
			b, err := io.ReadAll(s)
			fmt.Fprintf(ctx, "%t %v", len(b) > most, errors.Is(err, gale.ErrBodyTooLarge))
			return
		}
		fmt.Fprint(ctx, len(ctx.PostBody()))
	}
	prepare := func(t *testing.T, s *gale.Server) {
		s.MaxRequestBodySize = 50
		r := router.New()
		r.POST("/small", read).Limit(router.Limits{MaxBody: 10})
		r.POST("/large", read).Limit(router.Limits{MaxBody: 100})
		r.POST("/other", read)
		g := r.Group("/group")
		g.Limit(router.Limits{MaxBody: 10})
		g.POST("/small", read)
		g.POST("/large", read).Limit(router.Limits{MaxBody: 100})
		inner := router.New()
		inner.POST("/in", read)
		r.Mount("/mount", inner.Handler()).Limit(router.Limits{MaxBody: 10})
		attach(t, r, s)
	}
	for _, row := range []struct {
		path    string
		n       int
		unsized bool
		status  int // 200 if the body is streamed and unsized
	}{
		{"/small", 10, false, 200}, {"/small", 11, false, 413}, {"/sm%61ll", 11, false, 413}, {"/small", 11, true, 413}, {"/small", 10, true, 200},
		{"/large", 60, false, 200}, {"/large", 101, false, 413}, {"/large", 101, true, 413},
		{"/other", 50, false, 200}, {"/group/small", 11, false, 413}, {"/group/large", 60, false, 200},
		{"/mount/in", 11, false, 413}, {"/none", 11, false, 404},
	} {
		t.Run(fmt.Sprintf("%s/%d/unsized=%t", row.path, row.n, row.unsized), func(t *testing.T) {
			onLimitedServers(t, prepare, func(t *testing.T, ls *limitedServer, streamed bool) {
				body := io.Reader(strings.NewReader(strings.Repeat("x", row.n)))
				if row.unsized {
					body = io.MultiReader(body)
				}
				want, text := row.status, ""
				if streamed && row.unsized && want == 413 {
					want, text = 200, "false true"
				}
				status, _, got, asked := ls.ask(context.Background(), "POST", row.path, body, "Expect", "100-continue")
				if status != want || text != "" && got != text {
					t.Errorf("got %d %q, want %d %q", status, got, want, text)
				}
				if asked != (want == 200 || row.unsized && row.status == 413) && want != 404 {
					t.Errorf("status %d, and the client was asked for the body: %t", want, asked)
				}
			})
		})
	}
}

// TestRouteTimeouts proves that the timeouts of a route hold, in place of those of the server.
func TestRouteTimeouts(t *testing.T) {
	sent := make(chan error, 1)
	prepare := func(t *testing.T, s *gale.Server) {
		s.ReadTimeout, s.WriteTimeout, s.ReadStallTimeout, s.WriteStallTimeout = time.Hour, time.Hour, -1, -1
		r := router.New()
		r.POST("/read", func(ctx *gale.RequestCtx) { // of a stream
			_, err := io.ReadAll(ctx.RequestBodyStream())
			if !errors.Is(err, gale.ErrTimeout) {
				t.Errorf("reading: %v", err)
			}
			ctx.SetStatusCode(408)
		}).Limit(router.Limits{ReadTimeout: 20 * time.Millisecond})
		r.GET("/write", func(ctx *gale.RequestCtx) {
			ctx.AfterSend(func(_ int64, err error) { sent <- err })
			ctx.SetBodyStream(io.LimitReader(peers.Zeros{}, 1<<30), 1<<30)
		}).Limit(router.Limits{WriteTimeout: 20 * time.Millisecond})
		attach(t, r, s)
	}
	onLimitedServers(t, prepare, func(t *testing.T, ls *limitedServer, streamed bool) {
		if status, _, _, _ := ls.ask(context.Background(), "POST", "/read", ls.stuck("")); status != 408 {
			t.Errorf("a body that doesn't come: status %d, want 408", status)
		}
		resp, err := (&http.Client{Transport: ls.tr}).Get("http://" + ls.Addr + "/write")
		if err != nil {
			t.Fatalf("GET: %v", err)
		}
		defer resp.Body.Close() // nothing of it is read
		if err := <-sent; err == nil {
			t.Error("all of a response was sent that the client hasn't read")
		}
	})
}

// roundEnd is a way in which a request of a route ends.
type roundEnd struct {
	name   string
	set    func(s *gale.Server)
	h      gale.RequestHandler
	method string // POST with a body if it is empty
	fields []string
	// send, in place of a request by net/http, sends one and leaves.
	send   func(ls *limitedServer)
	status int // 0 for any
}

var roundEnds = []roundEnd{
	{name: "returns", h: func(ctx *gale.RequestCtx) { _ = ctx.PostBody() }, status: 200},
	{name: "GET", method: "GET", h: func(ctx *gale.RequestCtx) {}, status: 200},
	{name: "HEAD", method: "HEAD", h: func(ctx *gale.RequestCtx) {}, status: 200},
	{name: "panics", h: func(*gale.RequestCtx) { panic("on purpose") }, status: 500},
	{name: "aborts", h: func(*gale.RequestCtx) { panic(gale.ErrAbortHandler) }},
	{name: "Goexit", h: func(*gale.RequestCtx) { runtime.Goexit() }},
	{name: "TimeoutError", h: func(ctx *gale.RequestCtx) { ctx.TimeoutError("late") }, status: 408},
	{name: "TimeoutHandler", h: gale.TimeoutHandler(func(ctx *gale.RequestCtx) { <-ctx.Done() }, time.Millisecond, "late"), status: 408},
	{name: "Detach", h: func(ctx *gale.RequestCtx) { ctx.Detach() }, status: 200},
	{name: "Detach, then a panic", h: func(ctx *gale.RequestCtx) { ctx.Detach(); panic("on purpose") }, status: 500},
	{name: "Flush", h: func(ctx *gale.RequestCtx) { ctx.WriteString("a"); _ = ctx.Flush(); ctx.WriteString("b") }, status: 200},
	{name: "Flush, then a panic", h: func(ctx *gale.RequestCtx) { ctx.WriteString("a"); _ = ctx.Flush(); panic("on purpose") }},
	{name: "streams", h: func(ctx *gale.RequestCtx) { ctx.SetBodyStream(strings.NewReader("text"), -1) }, status: 200},
	{name: "a stream that fails", h: func(ctx *gale.RequestCtx) { ctx.SetBodyStream(strings.NewReader("text"), 9) }},
	{name: "a file", h: func(ctx *gale.RequestCtx) { gale.ServeFileUncompressed(ctx, "route_limits_test.go") }, status: 200},
	{name: "Hijack", method: "GET", h: func(ctx *gale.RequestCtx) { ctx.Hijack(func(net.Conn) {}) }},
	{name: "HijackNow", method: "GET", h: func(ctx *gale.RequestCtx) {
		if c, err := ctx.HijackNow(); err == nil {
			c.Close()
		}
	}},
	{name: "Upgrade", method: "GET", h: func(ctx *gale.RequestCtx) {
		ctx.SetStatusCode(101)
		ctx.Response.Header.Set("Upgrade", "x")
		ctx.Response.Header.Set("Connection", "Upgrade")
		ctx.Upgrade(&harness.UpgradeFuncs{OnOpened: func(c *gale.UpgradedConn) { c.Close() }})
	}},
	{name: "a panic of BeforeSend", h: func(ctx *gale.RequestCtx) { ctx.BeforeSend(func(*gale.RequestCtx) { panic("on purpose") }) }, status: 500},
	{name: "a panic of AfterSend", h: func(ctx *gale.RequestCtx) { ctx.AfterSend(func(int64, error) { panic("on purpose") }) }},
	{name: "Goexit in AfterSend", h: func(ctx *gale.RequestCtx) { ctx.AfterSend(func(int64, error) { runtime.Goexit() }) }},
	{name: "too large", h: func(*gale.RequestCtx) {}, set: func(s *gale.Server) {
		hook := s.RequestStarted
		s.RequestStarted = func(ctx *gale.RequestCtx) gale.RequestConfig {
			c := hook(ctx)
			c.MaxRequestBodySize = 2
			return c
		}
	}, status: 413},
	{name: "refused by GetOnly", h: func(*gale.RequestCtx) {}, set: func(s *gale.Server) { s.GetOnly = true }, status: 400},
	{name: "refused by an expectation", h: func(*gale.RequestCtx) {}, fields: []string{"Expect", "100-continue"}, set: func(s *gale.Server) {
		s.ExpectHandler = func(*gale.RequestCtx) int { return 403 }
	}, status: 403},
	{name: "a panic of ExpectHandler", h: func(*gale.RequestCtx) {}, fields: []string{"Expect", "100-continue"}, set: func(s *gale.Server) {
		s.ExpectHandler = func(*gale.RequestCtx) int { panic("on purpose") }
	}},
	{name: "a panic of RequestStarted", h: func(*gale.RequestCtx) {}, set: afterStart(func(ctx *gale.RequestCtx) { panic("on purpose") })},
	{name: "Goexit in RequestStarted", h: func(*gale.RequestCtx) {}, set: afterStart(func(ctx *gale.RequestCtx) { runtime.Goexit() })},
	{name: "Flush in RequestStarted", h: func(*gale.RequestCtx) {}, set: afterStart(func(ctx *gale.RequestCtx) { _ = ctx.Flush() })},
	{name: "TimeoutError in RequestStarted", h: func(*gale.RequestCtx) {}, set: afterStart(func(ctx *gale.RequestCtx) { ctx.TimeoutError("late") })},
	{name: "Detach in RequestStarted", h: func(*gale.RequestCtx) {}, set: afterStart(func(ctx *gale.RequestCtx) { ctx.Detach() })},
	{name: "the client leaves in the body", h: func(ctx *gale.RequestCtx) { _ = ctx.PostBody() }, send: func(ls *limitedServer) {
		_, _, _, _ = ls.ask(context.Background(), "POST", "/limited", io.MultiReader(strings.NewReader("part"), leavingBody{}))
	}},
	{name: "the body takes too long", h: func(ctx *gale.RequestCtx) { _ = ctx.PostBody() }, set: func(s *gale.Server) { s.ReadTimeout = 20 * time.Millisecond }, send: func(ls *limitedServer) {
		_, _, _, _ = ls.ask(context.Background(), "POST", "/limited", ls.stuck("part"))
	}},
}

// afterStart does more when the RequestStarted of a router has let a request in.
func afterStart(more func(ctx *gale.RequestCtx)) func(s *gale.Server) {
	return func(s *gale.Server) {
		hook := s.RequestStarted
		s.RequestStarted = func(ctx *gale.RequestCtx) gale.RequestConfig {
			c := hook(ctx)
			if c.RefuseStatus == 0 && len(ctx.Request.Header.Peek("X-Hold")) == 0 {
				more(ctx)
			}
			return c
		}
	}
}

// TestRouteConcurrency proves that a full route answers 503, and that each request gives its place back once,
// however it ends.
func TestRouteConcurrency(t *testing.T) {
	for _, end := range roundEnds {
		t.Run(end.name, func(t *testing.T) {
			prepare := func(t *testing.T, s *gale.Server) {
				r := router.New()
				r.Any("/limited", func(ctx *gale.RequestCtx) {
					if hold := ctx.Request.Header.Peek("X-Hold"); len(hold) > 0 {
						_ = ctx.Flush()
						<-ctx.Done()
						return
					}
					end.h(ctx)
				}).Limit(router.Limits{MaxConcurrent: 1})
				attach(t, r, s)
				if end.set != nil {
					end.set(s)
				}
			}
			onLimitedServers(t, prepare, func(t *testing.T, ls *limitedServer, streamed bool) {
				testRoundEnd(t, ls, &end)
			})
		})
	}
}

func testRoundEnd(t *testing.T, ls *limitedServer, end *roundEnd) {
	method, body := end.method, func() io.Reader { return nil }
	if method == "" {
		method, body = "POST", func() io.Reader { return strings.NewReader("body") }
	}
	refused := func() bool {
		status, h, _, _ := ls.ask(context.Background(), "GET", "/limited", nil)
		if status == 503 && h.Get("Retry-After") != "1" {
			t.Errorf("Retry-After is %q", h.Get("Retry-After"))
		}
		return status == 503
	}
	for range 2 {
		await.Until(t, "a place", func() bool {
			if end.send != nil {
				end.send(ls)
				return true
			}
			status, _, _, _ := ls.ask(context.Background(), method, "/limited", body(), end.fields...)
			if end.status != 0 && status != 503 && status != end.status {
				t.Errorf("status %d, want %d", status, end.status)
			}
			return status != 503
		})
	}
	// One request gets the place, and keeps it until it is over. No other one does.
	ctx, leave := context.WithCancel(context.Background())
	defer leave()
	var held *http.Response
	await.Until(t, "the place", func() bool {
		req, err := http.NewRequestWithContext(ctx, "GET", "http://"+ls.Addr+"/limited", nil)
		if err != nil {
			t.Fatalf("a request: %v", err)
		}
		req.Header.Set("X-Hold", "1")
		resp, err := ls.tr.RoundTrip(req)
		if err != nil {
			t.Fatalf("a request that stays: %v", err)
		}
		if resp.StatusCode == 503 {
			resp.Body.Close()
			return false
		}
		held = resp
		return true
	})
	defer held.Body.Close()
	if held.StatusCode != 200 || !refused() {
		t.Errorf("status %d of a request that stays, or another one got its place", held.StatusCode)
	}
	leave()
	await.Until(t, "the place to be free", func() bool { return !refused() })
}

// TestStreamedResponseCounts proves that a request counts while its response is streamed, after its handler
// has returned.
func TestStreamedResponseCounts(t *testing.T) {
	var release closedReader
	prepare := func(t *testing.T, s *gale.Server) {
		r := router.New()
		release = make(closedReader)
		r.GET("/", func(ctx *gale.RequestCtx) {
			ctx.SetBodyStream(io.MultiReader(bytes.NewReader(make([]byte, 100<<10)), release), -1)
		}).Limit(router.Limits{MaxConcurrent: 1})
		r.GET("/free", func(ctx *gale.RequestCtx) {})
		attach(t, r, s)
	}
	onLimitedServers(t, prepare, func(t *testing.T, ls *limitedServer, _ bool) {
		resp, err := (&http.Client{Transport: ls.tr}).Get("http://" + ls.Addr + "/")
		if err != nil {
			t.Fatalf("GET: %v", err)
		}
		defer resp.Body.Close()
		if _, err := io.ReadFull(resp.Body, make([]byte, 100<<10)); err != nil {
			t.Errorf("reading: %v", err)
		}
		if status, _, _, _ := ls.ask(context.Background(), "GET", "/", nil); status != 503 {
			t.Errorf("status %d while a response is streamed, want 503", status)
		}
		if status, _, _, _ := ls.ask(context.Background(), "GET", "/free", nil); status != 200 {
			t.Errorf("status %d of another route, want 200", status)
		}
		close(release)
		_, _ = io.Copy(io.Discard, resp.Body)
		await.Until(t, "the place to be free", func() bool {
			status, _, _, _ := ls.ask(context.Background(), "GET", "/", nil)
			return status == 200
		})
	})
}

// closedReader ends when the channel is closed.
type closedReader chan struct{}

func (c closedReader) Read([]byte) (int, error) { <-c; return 0, io.EOF }

// leavingBody is the end of a body of a client that leaves.
type leavingBody struct{}

func (leavingBody) Read([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }
