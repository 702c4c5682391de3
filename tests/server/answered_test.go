package server

import (
	"context"
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
	"github.com/galehttp/gale/tests/harness"
	"github.com/galehttp/gale/tests/harness/peers"
)

// earlyAnswer is a way to answer a request before the handler.
type earlyAnswer struct {
	name   string
	status int // 0 if the request is broken off
	set    func(s *gale.Server)
	// hook, in place of set, is what a hook of the server does that gets the context, and the status that it
	// returns; 100 for none.
	hook func(ctx *gale.RequestCtx) int
}

// contextHooks set the hooks that get the context of a request before its body is read.
var contextHooks = []struct {
	name string
	set  func(s *gale.Server, hook func(ctx *gale.RequestCtx) int)
}{
	{"ExpectHandler", func(s *gale.Server, hook func(ctx *gale.RequestCtx) int) { s.ExpectHandler = hook }},
	{"RequestStarted", func(s *gale.Server, hook func(ctx *gale.RequestCtx) int) {
		s.RequestStarted = func(ctx *gale.RequestCtx) (c gale.RequestConfig) {
			if status := hook(ctx); status != 100 {
				c.RefuseStatus = status
			}
			return c
		}
	}},
}

var earlyAnswers = []earlyAnswer{
	{name: "ContinueHandler", status: 417, set: func(s *gale.Server) {
		s.ContinueHandler = func(*gale.RequestHeader) bool { return false }
	}},
	{name: "status", status: 403, hook: func(ctx *gale.RequestCtx) int { return 403 }},
	{name: "a status that is no answer", status: 500, hook: func(ctx *gale.RequestCtx) int { return 101 }},
	{name: "TimeoutError", status: 408, hook: func(ctx *gale.RequestCtx) int { ctx.TimeoutError("late"); return 100 }},
	{name: "TimeoutError and a status", status: 408, hook: func(ctx *gale.RequestCtx) int { ctx.TimeoutError("late"); return 403 }},
	{name: "TimeoutHandler", status: 408, hook: func(ctx *gale.RequestCtx) int {
		gale.TimeoutHandler(func(ctx *gale.RequestCtx) {
			<-ctx.Done()
			for range 100 { // the server answers meanwhile
				ctx.Request.Header.Set("X", "late")
				ctx.Request.SetBodyString("late")
				ctx.Response.Header.Set("X", "late")
				ctx.Hijack(func(net.Conn) {})
				runtime.Gosched()
			}
		}, time.Millisecond, "late")(ctx)
		return 100
	}},
	{name: "panic", hook: func(*gale.RequestCtx) int { panic("on purpose") }},
	{name: "panic after TimeoutError", hook: func(ctx *gale.RequestCtx) int { ctx.TimeoutError("late"); panic("on purpose") }},
	{name: "abort", hook: func(*gale.RequestCtx) int { panic(gale.ErrAbortHandler) }},
	{name: "Goexit", hook: func(*gale.RequestCtx) int { runtime.Goexit(); return 100 }},
	{name: "Flush", status: 200, hook: func(ctx *gale.RequestCtx) int {
		ctx.SetBodyString("all")
		_ = ctx.Flush()
		return 100
	}},
	{name: "Hijack", status: 403, hook: func(ctx *gale.RequestCtx) int {
		ctx.Hijack(func(net.Conn) { panic("a refused request was handed over") })
		return 403
	}},
	{name: "Detach", status: 403, hook: func(ctx *gale.RequestCtx) int { ctx.Detach(); return 403 }},
	{name: "limit", status: 413, set: limited},
	{name: "limit and ErrorHandler", status: 418, set: refusesBy(func(ctx *gale.RequestCtx, _ error) { ctx.SetStatusCode(418) })},
	{name: "limit and an ErrorHandler that hijacks", status: 413, set: refusesBy(func(ctx *gale.RequestCtx, _ error) {
		ctx.Hijack(func(net.Conn) { panic("a refused request was handed over") })
	})},
	{name: "limit and an ErrorHandler that refuses and hijacks", status: 418, set: refusesBy(func(ctx *gale.RequestCtx, _ error) {
		ctx.SetStatusCode(418)
		ctx.Hijack(func(net.Conn) { panic("a refused request was handed over") })
	})},
	{name: "limit and an ErrorHandler that times out", status: 408, set: refusesBy(func(ctx *gale.RequestCtx, _ error) {
		gale.TimeoutHandler(func(ctx *gale.RequestCtx) {
			<-ctx.Done()
			for range 100 {
				ctx.Response.Header.Set("X", "late")
				ctx.Hijack(func(net.Conn) {})
				runtime.Gosched()
			}
		}, time.Millisecond, "late")(ctx)
	})},
	{name: "limit and an ErrorHandler that flushes", status: 418, set: refusesBy(func(ctx *gale.RequestCtx, _ error) {
		ctx.SetStatusCode(418)
		_ = ctx.Flush()
	})},
	{name: "limit and BeforeSend", status: 418, set: func(s *gale.Server) {
		limited(s)
		s.BeforeSend = func(ctx *gale.RequestCtx) {
			ctx.SetStatusCode(418)
		}
	}},
	{name: "limit and a BeforeSend that panics", status: 500, set: func(s *gale.Server) {
		limited(s)
		s.BeforeSend = func(ctx *gale.RequestCtx) { panic("on purpose") }
	}},
	{name: "the limit of RequestStarted", status: 413, set: func(s *gale.Server) {
		s.RequestStarted = func(*gale.RequestCtx) gale.RequestConfig { return gale.RequestConfig{MaxRequestBodySize: 2} }
	}},
	{name: "RefuseStatus of HeaderReceived", status: 503, set: func(s *gale.Server) {
		s.HeaderReceived = func(*gale.RequestHeader) gale.RequestConfig { return gale.RequestConfig{RefuseStatus: 503} }
	}},
	{name: "GetOnly", status: 400, set: func(s *gale.Server) { s.GetOnly = true }},
}

// limited makes HeaderReceived limit the body to less than the request declares.
func limited(s *gale.Server) {
	s.HeaderReceived = func(*gale.RequestHeader) gale.RequestConfig { return gale.RequestConfig{MaxRequestBodySize: 2} }
}

func refusesBy(f func(ctx *gale.RequestCtx, err error)) func(s *gale.Server) {
	return func(s *gale.Server) {
		limited(s)
		s.ErrorHandler = f
	}
}

// The handler doesn't run for a request that was answered before it, and the client isn't
// asked for the body. With -race: the server doesn't touch a request that a late function
// still uses.
func TestAnsweredBeforeTheHandler(t *testing.T) {
	for _, e := range peers.Engines[gale.Engine]() {
		for _, h2 := range []bool{false, true} {
			for _, streamed := range []bool{false, true} {
				for _, way := range earlyAnswers {
					if streamed && strings.HasPrefix(way.name, "limit") {
						continue // the handler gets the body up to the limit
					}
					name := fmt.Sprintf("%v/h2=%v/streamed=%v/%s", e, h2, streamed, way.name)
					s := func() *gale.Server {
						return &gale.Server{Engine: e, StreamRequestBody: streamed, Logger: &peers.Log{}}
					}
					if way.hook == nil {
						t.Run(name, func(t *testing.T) { testAnswered(t, s(), h2, way) })
						continue
					}
					for _, hook := range contextHooks {
						way := way
						way.set = func(s *gale.Server) { hook.set(s, way.hook) }
						t.Run(name+" by "+hook.name, func(t *testing.T) { testAnswered(t, s(), h2, way) })
					}
				}
			}
		}
	}
}

func testAnswered(t *testing.T, s *gale.Server, h2 bool, way earlyAnswer) {
	ran, sent := atomic.Int32{}, make(chan error, 1)
	way.set(s)
	if f := s.ErrorHandler; f != nil && way.status == 418 {
		s.ErrorHandler = func(ctx *gale.RequestCtx, err error) {
			ctx.AfterSend(func(_ int64, err error) { sent <- err })
			f(ctx, err)
		}
	} else {
		close(sent)
	}
	s.HTTP2.H2C = true
	ts := harness.Start(t, s, func(ctx *gale.RequestCtx) { ran.Add(1); _ = ctx.PostBody() })
	got, asked := expect(ts, h2)
	if got != way.status || asked {
		t.Errorf("got status %d, and a 100: %t; want %d", got, asked, way.status)
	}
	if err := <-sent; err != nil {
		t.Errorf("AfterSend: %v", err)
	}
	if err := s.Shutdown(); err != nil {
		t.Error(err)
	}
	if ran.Load() > 0 {
		t.Error("the handler ran")
	}
	if n := strings.Count(ts.Log.String(), "was handed over"); n > 0 {
		t.Error(ts.Log)
	}
}

// expect sends a request with "Expect: 100-continue". It returns the status of the response,
// 0 if there is none, and whether the client was asked for the body.
func expect(ts *harness.Server, h2 bool) (status int, asked bool) {
	tr := &http.Transport{ExpectContinueTimeout: time.Minute, Protocols: new(http.Protocols)}
	tr.Protocols.SetHTTP1(!h2)
	tr.Protocols.SetUnencryptedHTTP2(h2)
	defer tr.CloseIdleConnections()
	ctx := httptrace.WithClientTrace(context.Background(), &httptrace.ClientTrace{
		Got1xxResponse: func(int, textproto.MIMEHeader) error { asked = true; return nil },
	})
	req, err := http.NewRequestWithContext(ctx, "POST", "http://"+ts.Addr+"/", strings.NewReader("body"))
	if err != nil {
		ts.T.Fatal(err)
	}
	req.Header.Set("Expect", "100-continue")
	resp, err := tr.RoundTrip(req)
	if err != nil {
		return 0, asked
	}
	defer resp.Body.Close()
	_, _ = io.Copy(io.Discard, resp.Body) // or Close may reset the stream before the server has sent it
	return resp.StatusCode, asked
}

// What a hook sets in the response is there for the handler, and no refusal has it. The name of the server replaces a
// Server that ExpectHandler sets, as in fasthttp.
func TestHooksSetResponse(t *testing.T) {
	for _, hook := range contextHooks {
		peers.OnEngines(t, func(t *testing.T, e gale.Engine) {
			s := &gale.Server{Engine: e, Name: "named"}
			hook.set(s, func(ctx *gale.RequestCtx) int {
				ctx.SetStatusCode(202)
				ctx.Response.Header.Set("X-Early", "1")
				ctx.Response.Header.SetServer("early")
				ctx.SetBodyString("early")
				ctx.Response.SetConnectionClose()
				if string(ctx.Path()) == "/refused" {
					return 503
				}
				return 100
			})
			s.HTTP2.H2C = true
			ts := harness.Start(t, s, func(ctx *gale.RequestCtx) {
				ctx.Response.Header.Del("Connection")
				ctx.WriteString(" and late")
			})
			name := "early"
			if hook.name == "ExpectHandler" {
				name = "named"
			}
			for _, major := range []int{1, 2} {
				client := &http.Client{Transport: &http.Transport{Protocols: peers.Protocols(major), ExpectContinueTimeout: time.Minute}}
				for path, want := range map[string]string{"/": "202 " + name + " 1", "/refused": "503 named "} {
					req, err := http.NewRequest("POST", "http://"+ts.Addr+path, strings.NewReader("body"))
					if err != nil {
						t.Fatalf("making a request: %v", err)
					}
					req.Header.Set("Expect", "100-continue")
					resp, err := client.Do(req)
					if err != nil {
						t.Fatalf("%s, HTTP/%d, %s: %v", hook.name, major, path, err)
					}
					body, err := io.ReadAll(resp.Body)
					resp.Body.Close()
					got := fmt.Sprint(resp.StatusCode, " ", resp.Header.Get("Server"), " ", resp.Header.Get("X-Early"))
					if got != want || err != nil || strings.Contains(string(body), "early") != (path == "/") {
						t.Errorf("%s, HTTP/%d, %s: %s, %q, %v; want %s", hook.name, major, path, got, body, err, want)
					}
				}
				client.CloseIdleConnections()
			}
		})
	}
}

// A function that is added after a timeout runs, and sees the request as it was noted before: by
// an earlier call of BeforeSend, or by TimeoutHandler.
func TestBeforeSendAfterTimeout(t *testing.T) {
	peers.OnEngines(t, func(t *testing.T, e gale.Engine) {
		note := func(name string) func(*gale.RequestCtx) {
			return func(ctx *gale.RequestCtx) { ctx.Response.Header.SetBytesV(name, ctx.Path()) }
		}
		late := gale.TimeoutHandler(func(ctx *gale.RequestCtx) { <-ctx.Done() }, time.Millisecond, "late")
		ts := harness.Start(t, &gale.Server{Engine: e}, func(ctx *gale.RequestCtx) {
			if string(ctx.Path()) == "/before" {
				ctx.BeforeSend(note("First"))
				ctx.TimeoutError("late")
			} else {
				late(ctx)
			}
			ctx.BeforeSend(note("Second"))
		})
		for _, path := range []string{"/", "/before"} {
			c := ts.Dial()
			c.Send(peers.Get(path))
			a := c.Want("GET", 408, "late")
			if got := a.Header.Get("Second"); got != path {
				t.Errorf("%s: the function that came late saw %q", path, got)
			}
			if got := a.Header.Get("First"); path == "/before" && got != path {
				t.Errorf("%s: the first function saw %q", path, got)
			}
		}
	})
}
