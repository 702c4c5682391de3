package server

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/galehttp/gale"
	"github.com/galehttp/gale/internal/lifetime"
	"github.com/galehttp/gale/internal/race"
	"github.com/galehttp/gale/tests/harness"
	"github.com/galehttp/gale/tests/harness/await"
	"github.com/galehttp/gale/tests/harness/gate"
	"github.com/galehttp/gale/tests/harness/peers"
)

// After Detach, the request belongs to another goroutine and the response to the handler.
// Both grow in memory of the loan: neither gets what the other one has.
func TestGuardedDetachSharesNothing(t *testing.T) {
	peers.EachProtocol(t, func(t *testing.T, way harness.H2Way, major int) {
		done := make(chan error, 1)
		s, u := harness.Guarded(t, &gale.Server{Handler: func(ctx *gale.RequestCtx) {
			go func(ctx *gale.RequestCtx) { done <- fillRequest(ctx) }(ctx.Detach())
			for i := range 200 {
				ctx.Response.Header.Set(fmt.Sprint("X-Bob-", i), strings.Repeat("b", 100))
				ctx.WriteString(strings.Repeat("b", 100))
			}
		}})
		hs := way.Start(t, s)
		for range gate.Form(10, 3) {
			resp, err := hs.Client(major).Get(hs.URL("/?q=alice"))
			if err != nil {
				t.Fatal(err)
			}
			body, _ := io.ReadAll(resp.Body)
			resp.Body.Close()
			if string(body) != strings.Repeat("b", 200*100) {
				t.Errorf("the body is %d bytes with %q", len(body), strings.Trim(string(body), "b"))
			}
			for i := range 200 {
				if v := resp.Header.Get(fmt.Sprint("X-Bob-", i)); v != strings.Repeat("b", 100) {
					t.Fatalf("a header is %q", v)
				}
			}
			if err := <-done; err != nil {
				t.Fatal(err)
			}
		}
		if late := u.Take(); len(late) > 0 {
			gate.Unforgiven(t, "a report: %v", late[0])
		}
	})
}

// fillRequest changes the request of a detached context, and looks at what it has.
func fillRequest(ctx *gale.RequestCtx) error {
	for i := range 200 {
		ctx.Request.Header.Set(fmt.Sprint("X-Alice-", i), strings.Repeat("a", 100))
		ctx.QueryArgs().Set(fmt.Sprint("alice", i), strings.Repeat("a", 100))
		ctx.URI().FullURI()
		ctx.Request.AppendBodyString(strings.Repeat("a", 100))
	}
	for i := range 200 {
		if v := ctx.Request.Header.Peek(fmt.Sprint("X-Alice-", i)); string(v) != strings.Repeat("a", 100) {
			return fmt.Errorf("header %d is %q", i, v)
		}
		if v := ctx.QueryArgs().Peek(fmt.Sprint("alice", i)); string(v) != strings.Repeat("a", 100) {
			return fmt.Errorf("argument %d is %q", i, v)
		}
	}
	if v := ctx.Request.Body(); string(v) != strings.Repeat("a", 200*100) {
		return fmt.Errorf("the body is %q", v)
	}
	return nil
}

// Contexts that belong to the program keep their bytes, on pages too. The guard doesn't
// count what it can't end, and its pages stay below their limit.
func TestGuardedContextsThatAreLeft(t *testing.T) {
	requests, room := gate.Form(200, 50), gate.Form(2<<20, 512<<10) // of 64 requests, or 16
	peers.EachProtocol(t, func(t *testing.T, way harness.H2Way, major int) {
		u := new(harness.Uses)
		peers.KeepPools(t)
		g := &gale.LifetimeGuard{Pages: true, MaxBytes: int64(room), OnUse: u.Add}
		kept := make(chan *gale.RequestCtx, requests)
		paths := make(chan []byte, requests)
		s := &gale.Server{GuardLifetimes: g, Logger: &peers.Log{}, Handler: func(ctx *gale.RequestCtx) {
			paths <- ctx.Path()
			kept <- ctx
			switch string(ctx.QueryArgs().Peek("how")) {
			case "detach":
				ctx.Detach()
			case "panic":
				ctx.Detach()
				panic("on purpose")
			default:
				ctx.TimeoutError("late")
			}
		}}
		hs := way.Start(t, s)
		for i := range requests {
			how := []string{"detach", "panic", "timeout"}[i%3]
			resp, err := hs.Client(major).Get(hs.URL(fmt.Sprintf("/alice/%d?how=%s", i, how)))
			if err != nil {
				t.Fatal(err)
			}
			io.ReadAll(resp.Body)
			resp.Body.Close()
		}
		await.Gone(t, "memory of requests", func() bool { return s.Stats().Lifetimes.Held <= int64(room) })
		for i := range requests {
			ctx, path := <-kept, <-paths
			if want := fmt.Sprint("/alice/", i); string(path) != want || string(ctx.Path()) != want {
				t.Fatalf("request %d: the path became %q and %q", i, path, ctx.Path())
			}
		}
		if late := u.Take(); len(late) > 0 {
			gate.Unforgiven(t, "a report: %v", late[0])
		}
		t.Logf("%+v", s.Stats().Lifetimes)
	})
}

// What OnUse does is no danger to the server: it panics, ends its goroutine, or uses what it
// is told about.
func TestHostileOnUse(t *testing.T) {
	for name, onUse := range map[string]func(ctx *gale.RequestCtx){
		"panic":  func(*gale.RequestCtx) { panic("on purpose") },
		"Goexit": func(*gale.RequestCtx) { runtime.Goexit() },
		"use": func(ctx *gale.RequestCtx) {
			ctx.Path()
			ctx.Response.Body()
			ctx.Request.Header.Peek("X")
			_ = ctx.String()
		},
	} {
		t.Run(name, func(t *testing.T) {
			peers.EachProtocol(t, func(t *testing.T, way harness.H2Way, major int) {
				for _, pages := range []bool{false, true} {
					peers.KeepPools(t)
					var old atomic.Pointer[gale.RequestCtx]
					var kept []byte
					var calls atomic.Int64
					g := &gale.LifetimeGuard{Pages: pages, MaxBytes: 4 << 20, OnUse: func(*gale.LifetimeUse) { calls.Add(1); onUse(old.Load()) }}
					s := &gale.Server{GuardLifetimes: g, Logger: &peers.Log{}, Handler: func(ctx *gale.RequestCtx) {
						switch {
						case old.Load() == nil:
							kept = ctx.Path()
							old.Store(ctx)
						case pages && len(ctx.QueryArgs().Peek("raw")) > 0:
							ctx.SetBody(kept)
						case len(ctx.QueryArgs().Peek("late")) > 0:
							old.Load().Request.Header.Peek("X-Token")
						}
					}}
					hs := way.Start(t, s)
					ask := func(path string) {
						resp, err := hs.Client(major).Get(hs.URL(path))
						if err == nil {
							io.ReadAll(resp.Body)
							resp.Body.Close()
						}
					}
					ask("/first")
					harness.Gone(t, old.Load(), kept)
					for range 3 {
						ask("/a?late=1")
						ask("/b?raw=1")
					}
					resp, err := hs.Client(major).Get(hs.URL("/last"))
					if err != nil || resp.StatusCode != 200 {
						t.Errorf("pages %v: the server doesn't serve any more: %v", pages, err)
					} else {
						resp.Body.Close()
					}
					if calls.Load() < 3 {
						t.Errorf("pages %v: OnUse was called %d times", pages, calls.Load())
					}
				}
			})
		})
	}
}

// However requests end, their pages come back: many more requests than there are pages for
// leave none of them on other memory.
func TestGuardEndsEachLoan(t *testing.T) {
	// Each request needs a page, a streamed response one more for a moment. Of each kind there
	// are more requests than pages: 150 and 128, or 30 and 25. With half of that, handlers of
	// clients that have left may have all pages for a moment.
	requests, room := gate.Form(150, 30), gate.Form(4<<20, 800<<10)
	if race.Enabled {
		requests, room = 30, 800<<10
	}
	kinds := map[string]func(ctx *gale.RequestCtx){
		"plain":  func(ctx *gale.RequestCtx) { ctx.WriteString("a") },
		"stream": func(ctx *gale.RequestCtx) { ctx.SetBodyStream(strings.NewReader("alice"), -1) },
		"broken": func(ctx *gale.RequestCtx) {
			ctx.SetBodyStream(io.MultiReader(strings.NewReader("a"), brokenBody{}), -1)
		},
		"writer": func(ctx *gale.RequestCtx) {
			ctx.SetBodyStreamWriter(func(w *bufio.Writer) { w.WriteString("a"); w.Flush() })
		},
		"writer panics": func(ctx *gale.RequestCtx) {
			ctx.SetBodyStreamWriter(func(w *bufio.Writer) { w.WriteString("a"); w.Flush(); panic("on purpose") })
		},
		"flush":           func(ctx *gale.RequestCtx) { ctx.WriteString("a"); ctx.Flush(); ctx.WriteString("b") },
		"flush and panic": func(ctx *gale.RequestCtx) { ctx.WriteString("a"); ctx.Flush(); panic("on purpose") },
		"panic":           func(*gale.RequestCtx) { panic("on purpose") },
		"abort":           func(*gale.RequestCtx) { panic(gale.ErrAbortHandler) },
		"Goexit":          func(*gale.RequestCtx) { runtime.Goexit() },
		"TimeoutHandler":  gale.TimeoutHandler(func(ctx *gale.RequestCtx) { ctx.WriteString("a") }, time.Minute, ""),
		"TimeoutHandler and panic": gale.TimeoutHandler(func(ctx *gale.RequestCtx) {
			ctx.WriteString("a")
			panic("on purpose")
		}, time.Minute, ""),
		"held":      func(ctx *gale.RequestCtx) { ctx.Done(); ctx.WriteString("a") },
		"Hijack":    func(ctx *gale.RequestCtx) { ctx.Hijack(func(net.Conn) {}) },
		"body":      func(ctx *gale.RequestCtx) { ctx.Write(ctx.PostBody()) },
		"closer":    func(ctx *gale.RequestCtx) { ctx.SetUserValue("a", brokenCloser{}) },
		"AfterSend": func(ctx *gale.RequestCtx) { ctx.AfterSend(func(int64, error) { panic("on purpose") }) },
	}

	peers.EachProtocol(t, func(t *testing.T, way harness.H2Way, major int) {
		peers.KeepPools(t)
		for _, stream := range []bool{false, true} {
			s := &gale.Server{
				GuardLifetimes: &gale.LifetimeGuard{Pages: true, MaxBytes: int64(room)}, Logger: &peers.Log{}, StreamRequestBody: stream,
				Handler: func(ctx *gale.RequestCtx) { kinds[string(ctx.QueryArgs().Peek("kind"))](ctx) },
			}
			hs := way.Start(t, s)
			client := hs.Client(major)
			before := s.Stats().Lifetimes.Unpaged
			for kind := range kinds {
				for i := range requests {
					ctx, cancel := context.WithCancel(t.Context())
					var body io.Reader = strings.NewReader("alice")
					if i%10 == 9 { // the client leaves
						body = io.MultiReader(strings.NewReader("alice"), cancelingBody(cancel))
					}
					req, _ := http.NewRequestWithContext(ctx, "POST", hs.URL("/?kind="+url.QueryEscape(kind)), body)
					if resp, err := client.Do(req); err == nil {
						io.ReadAll(resp.Body)
						resp.Body.Close()
					}
					cancel()
				}
				if n := s.Stats().Lifetimes; n.Unpaged != before {
					t.Errorf("%s: %d requests had no pages: %+v", kind, n.Unpaged-before, n)
					before = n.Unpaged
				}
			}
		}
	})
}

type brokenBody struct{}

func (brokenBody) Read([]byte) (int, error) { panic("on purpose") }

// cancelingBody is a body that cancels its request.
type cancelingBody func()

func (cancel cancelingBody) Read([]byte) (int, error) {
	cancel()
	return 0, io.ErrUnexpectedEOF
}

// A client that gives up a call doesn't use the request and the response after that: the
// caller may release them at once.
func TestGuardedClientGivesUp(t *testing.T) {
	for _, pages := range []bool{false, true} {
		u := harness.GuardPools(t, &gale.LifetimeGuard{Pages: pages})
		stop := make(chan struct{})
		ts := harness.Start(t, &gale.Server{GuardLifetimes: &gale.LifetimeGuard{Every: 1 << 30}}, func(ctx *gale.RequestCtx) {
			if len(ctx.PostBody()) > 0 {
				<-stop
			}
			ctx.Redirect("/a", 302)
		})
		// A call that was given up may still dial when the test has ended: that is an error then.
		dial := func(string) (net.Conn, error) { return net.Dial("tcp", ts.Addr) }
		hc := &gale.HostClient{Addr: "h", Dial: dial, StreamResponseBody: pages}
		pipeline := &gale.PipelineClient{Addr: "h", Dial: dial}
		client := &gale.Client{Dial: dial}
		for name, do := range map[string]func(req *gale.Request, resp *gale.Response) error{
			"HostClient.DoTimeout": func(req *gale.Request, resp *gale.Response) error { return hc.DoTimeout(req, resp, time.Millisecond) },
			"PipelineClient.DoTimeout": func(req *gale.Request, resp *gale.Response) error {
				return pipeline.DoTimeout(req, resp, time.Millisecond)
			},
			"Client.DoTimeout": func(req *gale.Request, resp *gale.Response) error {
				return client.DoTimeout(req, resp, time.Millisecond)
			},
			"LBClient": func(req *gale.Request, resp *gale.Response) error {
				return (&gale.LBClient{Clients: []gale.BalancingClient{hc}, Timeout: time.Millisecond}).Do(req, resp)
			},
			"Client.DoRedirects": func(req *gale.Request, resp *gale.Response) error {
				req.ResetBody()
				return client.DoRedirects(req, resp, 3)
			},
			"without a response": func(req *gale.Request, _ *gale.Response) error { req.ResetBody(); return client.Do(req, nil) },
			"Client.DoContext, cancelled": func(req *gale.Request, resp *gale.Response) error {
				ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
				defer cancel()
				return client.DoContext(ctx, req, resp)
			},
		} {
			for range 30 {
				req, resp := gale.AcquireRequest(), gale.AcquireResponse()
				req.SetRequestURI("http://h/?q=alice")
				req.Header.SetMethod("POST")
				req.SetBodyString(strings.Repeat("alice", 1000))
				if err := do(req, resp); err == nil && strings.Contains(name, "Timeout") {
					t.Errorf("%s: no error", name)
				}
				gale.ReleaseRequest(req)
				gale.ReleaseResponse(resp)
			}
			if late := u.Take(); len(late) > 0 {
				gate.Unforgiven(t, "%s: a report: %v", name, late[0])
			}
		}
		close(stop)
		hc.CloseIdleConnections()
		client.CloseIdleConnections()
	}
}

// Code of the program that reads memory of a request that is over panics like any other on the
// goroutines of the server that serve no request, too: the process goes on.
func TestGuardedTakenConns(t *testing.T) {
	if g := lifetime.New(lifetime.Config{Pages: true}); !g.HasPages() {
		t.Skip(g.PagesErr())
	}
	for _, tt := range []struct {
		name, log string
		take      func(ctx *gale.RequestCtx, late func())
	}{
		{"Closed", "in an UpgradeHandler", func(ctx *gale.RequestCtx, late func()) { ctx.Upgrade(closedHandler{late}) }},
		{"leave", "in a function of HijackCounted", func(ctx *gale.RequestCtx, late func()) {
			ctx.HijackCounted(func(nc net.Conn) { _, _ = io.Copy(io.Discard, nc) }, late)
		}},
	} {
		for _, engine := range []gale.Engine{gale.EngineBlock, gale.EngineEvent} {
			t.Run(fmt.Sprintf("%s/%v", tt.name, engine), func(t *testing.T) {
				peers.KeepPools(t)
				log := &peers.Log{}
				busy, release := make(chan struct{}, 100), make(chan struct{})
				taken := make(chan *gale.RequestCtx, 1)
				var kept []byte
				s := &gale.Server{Engine: engine, EventLoops: 1, Logger: log, GuardLifetimes: &gale.LifetimeGuard{Pages: true, OnUse: func(*gale.LifetimeUse) {}}}
				s.Handler = func(ctx *gale.RequestCtx) {
					if string(ctx.Path()) == "/busy" {
						busy <- struct{}{}
						<-release
						return
					}
					kept = ctx.Path()
					ctx.SetStatusCode(gale.StatusSwitchingProtocols)
					tt.take(ctx, func() { kept[0]++ })
					taken <- ctx
				}
				ln, err := net.Listen("tcp", "127.0.0.1:0")
				if err != nil {
					t.Fatal(err)
				}
				served := make(chan error, 1)
				go func() { served <- s.Serve(ln) }()
				send := func(path string) {
					nc, err := net.Dial("tcp", ln.Addr().String())
					if err != nil {
						t.Fatal(err)
					}
					t.Cleanup(func() { nc.Close() })
					fmt.Fprintf(nc, "GET %s HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: own\r\n\r\n", path)
				}
				send("/taken")
				harness.Gone(t, <-taken, kept)
				for range 20 { // the goroutines that have served requests are busy
					send("/busy")
					<-busy
				}
				_ = s.Close()
				await.Until(t, "the panic in the log", func() bool { return strings.Contains(log.String(), tt.log) })
				close(release)
				if err := <-served; err != nil {
					t.Error(err)
				}
			})
		}
	}
}

// closedHandler calls closed at the end of the connection.
type closedHandler struct{ closed func() }

func (closedHandler) Opened(*gale.UpgradedConn)                        {}
func (closedHandler) Received(_ *gale.UpgradedConn, in []byte) (n int) { return len(in) }
func (closedHandler) Stalled(c *gale.UpgradedConn, _ error)            { c.Close() }
func (h closedHandler) Closed(*gale.UpgradedConn, error)               { h.closed() }
