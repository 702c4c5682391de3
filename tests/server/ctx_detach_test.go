package server

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"mime/multipart"
	"net"
	"net/http"
	"os"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/galehttp/gale"
	"github.com/galehttp/gale/internal/door"
	"github.com/galehttp/gale/tests/harness"
	"github.com/galehttp/gale/tests/harness/await"
	"github.com/galehttp/gale/tests/harness/peers"
)

// look returns everything that a program can read of a request, with its response if it
// was sent.
func look(ctx *gale.RequestCtx, sent bool) string {
	var b strings.Builder
	h := &ctx.Request.Header
	fmt.Fprintf(&b, "%s %s %s %s %s\n", ctx.Method(), ctx.Path(), ctx.RequestURI(), ctx.URI().FullURI(), h.Header())
	fmt.Fprintf(&b, "%s %s %s %s\n", h.Peek("X-User"), h.Cookie("user"), ctx.QueryArgs().Peek("user"), ctx.PostArgs().Peek("user"))
	for k, v := range h.All() {
		fmt.Fprintf(&b, "%s=%s\n", k, v)
	}
	for k, v := range ctx.Trailers() {
		fmt.Fprintf(&b, "trailer %s=%s\n", k, v)
	}
	fmt.Fprintf(&b, "%v %v %v\n", ctx.UserValue("user"), ctx.Value("user"), ctx.Context().Value("user"))
	if !ctx.Request.IsBodyStream() {
		fmt.Fprintf(&b, "%s\n", ctx.PostBody())
	}
	fmt.Fprintln(&b, ctx.ConnID(), ctx.ID(), ctx.RemoteAddr(), ctx.LocalAddr(), ctx.Time().IsZero(), ctx.IsTLS())
	if sent {
		fmt.Fprintf(&b, "%d %s %s\n", ctx.Response.StatusCode(), ctx.Response.Body(), ctx.Response.Header.Peek("X-User"))
	}
	return b.String()
}

// detachWorker uses a detached context until it is told to stop.
type detachWorker struct {
	ctx        *gale.RequestCtx
	first      string
	quit, done chan struct{}
	err        error
}

// work starts a worker. The handler calls it.
func work(ctx *gale.RequestCtx) *detachWorker {
	w := &detachWorker{ctx: ctx, quit: make(chan struct{}), done: make(chan struct{})}
	w.first = look(ctx, false)
	ctx.Detach()
	go w.run()
	return w
}

func (w *detachWorker) run() {
	defer close(w.done)
	for {
		if got := look(w.ctx, false); got != w.first {
			w.err = fmt.Errorf("the request was\n%s\nand is\n%s", w.first, got)
			return
		}
		select {
		case <-w.quit:
			return
		default:
		}
	}
}

// end stops the worker and checks what it saw. The request must be over.
func (w *detachWorker) end(t *testing.T) {
	t.Helper()
	<-w.ctx.Done()
	close(w.quit)
	<-w.done
	if w.err != nil {
		t.Error(w.err)
	}
	if s := look(w.ctx, true); strings.Contains(s, "mallet") || strings.Count(s, "alice0001") < 8 {
		t.Errorf("afterwards the context has\n%s", s)
	}
}

// fill sends many other requests over other connections.
func fillWithMallet(t *testing.T, ts *harness.Server) {
	t.Helper()
	for range 4 {
		c := ts.Dial()
		for range 8 {
			c.Send(strings.ReplaceAll(aliceRequest, "alice0001", "mallet999"))
			c.Answer("POST")
		}
		c.Close()
	}
}

const aliceRequest = "POST /alice0001?user=alice0001 HTTP/1.1\r\nHost: alice0001\r\nX-User: alice0001\r\nCookie: user=alice0001\r\n" +
	"Content-Type: application/x-www-form-urlencoded\r\nContent-Length: 14\r\n\r\nuser=alice0001"

const aliceHead = "POST /alice0001?user=alice0001&a=alice0001 HTTP/1.1\r\nHost: alice0001\r\nX-User: alice0001\r\nCookie: user=alice0001\r\n"

// A goroutine reads everything of a detached request, at all times, however the request
// ends and whatever comes after it. It never sees anything of another request, and no part
// of the server that it could race with: the race detector checks that.
func TestDetachedRequestStays(t *testing.T) {
	peers.UsedAgain(t)
	aborts := func(ctx *gale.RequestCtx) { panic(gale.ErrAbortHandler) }
	streams := func(s *gale.Server) { s.StreamRequestBody = true }
	hooked := func(s *gale.Server) {
		s.BeforeSend = func(ctx *gale.RequestCtx) { ctx.Response.Header.SetBytesV("X-Path", ctx.Path()) }
	}
	for _, tt := range []struct {
		name    string
		send    string // aliceRequest if it is empty
		server  func(s *gale.Server)
		rest    func(ctx *gale.RequestCtx) // of the handler, after Detach
		read    func(t *testing.T, ts *harness.Server, c *peers.Conn)
		closing bool // the connection isn't used again
	}{
		{name: "plain"},
		{name: "pipelined", send: aliceRequest + strings.Repeat(peers.Get("/mallet999"), 30), read: func(t *testing.T, ts *harness.Server, c *peers.Conn) {
			for range 31 {
				c.Answer("POST")
			}
		}},
		{name: "close", rest: func(ctx *gale.RequestCtx) { ctx.SetConnectionClose() }, closing: true},
		{name: "large response", rest: func(ctx *gale.RequestCtx) { ctx.SetBody(bytes.Repeat([]byte("alice0001"), 1<<18)) }},
		{name: "stream", rest: func(ctx *gale.RequestCtx) { ctx.SetBodyStream(strings.NewReader("alice0001"), -1) }},
		{name: "stream writer", rest: func(ctx *gale.RequestCtx) {
			ctx.SetBodyStreamWriter(func(w *bufio.Writer) { w.WriteString("alice0001"); w.Flush(); w.WriteString("!") })
		}},
		{name: "flush", rest: func(ctx *gale.RequestCtx) { ctx.WriteString("a"); _ = ctx.Flush(); ctx.WriteString("b") }},
		{name: "file", rest: func(ctx *gale.RequestCtx) { ctx.SendFile("ctx_detach_test.go") }},
		{name: "hints", rest: func(ctx *gale.RequestCtx) { ctx.Response.Header.Add("Link", "</a>"); _ = ctx.EarlyHints() }, read: func(t *testing.T, ts *harness.Server, c *peers.Conn) {
			c.Answer("POST")
			c.Answer("POST")
		}},
		{name: "streamed body read", server: streams},
		{name: "streamed body unread", server: streams, rest: func(ctx *gale.RequestCtx) {},
			send: aliceHead + "Content-Length: 100000\r\n\r\n" + strings.Repeat("mallet999!", 10000)},
		{name: "chunked body unread", server: streams,
			send: aliceHead + "Transfer-Encoding: chunked\r\nTrailer: X-T\r\n\r\n" + strings.Repeat("a\r\nmallet999!\r\n", 1000) + "0\r\nX-T: mallet999\r\n\r\n"},
		{name: "too large to drain", server: streams, closing: true,
			send: aliceHead + "Content-Length: 10000000\r\n\r\n" + strings.Repeat("mallet999!", 100)},
		{name: "continue", server: streams, closing: true,
			send: aliceHead + "Expect: 100-continue\r\nContent-Length: 100\r\n\r\n"},
		{name: "panic", rest: func(ctx *gale.RequestCtx) { panic("on purpose") }, closing: true},
		{name: "panic and handler", rest: func(ctx *gale.RequestCtx) { panic("on purpose") }, closing: true,
			server: func(s *gale.Server) { s.PanicHandler = func(ctx *gale.RequestCtx, v any) { ctx.SetBody(ctx.Path()) } }},
		{name: "panic and error handler", rest: func(ctx *gale.RequestCtx) { panic("on purpose") }, closing: true,
			server: func(s *gale.Server) {
				s.ErrorHandler = func(ctx *gale.RequestCtx, err error) { ctx.SetBody(ctx.URI().FullURI()) }
			}},
		{name: "abort", rest: aborts, closing: true, read: func(t *testing.T, ts *harness.Server, c *peers.Conn) { io.ReadAll(c) }},
		{name: "reset", closing: true, rest: func(ctx *gale.RequestCtx) { <-ctx.Context().Done() }, read: func(t *testing.T, ts *harness.Server, c *peers.Conn) {
			c.Conn.(*net.TCPConn).SetLinger(0)
			c.Close()
		}},
		{name: "shutdown", closing: true, rest: func(ctx *gale.RequestCtx) { <-ctx.Context().Done() }, read: func(t *testing.T, ts *harness.Server, c *peers.Conn) {
			down := make(chan error, 1)
			go func() { down <- ts.S.Shutdown() }()
			c.Answer("POST")
			if err := <-down; err != nil {
				t.Error(err)
			}
		}},
		{name: "hijack", closing: true, rest: func(ctx *gale.RequestCtx) { ctx.Hijack(func(net.Conn) {}) }},
		{name: "hijack now", closing: true, rest: func(ctx *gale.RequestCtx) {
			if nc, err := ctx.HijackNow(); err == nil {
				io.WriteString(nc, "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n")
				nc.Close()
			}
		}},
		{name: "hooks", server: hooked,
			rest: func(ctx *gale.RequestCtx) {
				ctx.BeforeSend(func(ctx *gale.RequestCtx) { ctx.Response.Header.SetBytesV("X-User", ctx.QueryArgs().Peek("user")) })
			}},
		{name: "hooks of flush", server: hooked,
			rest: func(ctx *gale.RequestCtx) { ctx.WriteString("a"); _ = ctx.Flush() }},
		{name: "after send", rest: func(ctx *gale.RequestCtx) { ctx.AfterSend(func(int64, error) {}) }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			peers.OnEngines(t, func(t *testing.T, e gale.Engine) {
				s := gale.Server{Engine: e}
				if tt.server != nil {
					tt.server(&s)
				}
				workers := make(chan *detachWorker, 1)
				once := sync.Once{}
				ts := harness.Start(t, &s, func(ctx *gale.RequestCtx) {
					if !bytes.HasPrefix(ctx.Path(), []byte("/alice")) {
						return
					}
					once.Do(func() {
						ctx.SetUserValue("user", "alice0001")
						if tt.name == "streamed body read" {
							ctx.PostBody()
						}
						workers <- work(ctx)
					})
					ctx.Response.Header.Set("X-User", "alice0001")
					ctx.SetBodyString("alice0001")
					if tt.rest != nil {
						tt.rest(ctx)
					}
				})
				c := ts.Dial()
				if tt.send == "" {
					tt.send = aliceRequest
				}
				c.Send(tt.send)
				w := <-workers
				if tt.read != nil {
					tt.read(t, ts, c)
				} else {
					c.Answer("POST")
				}
				if !tt.closing {
					for range 20 {
						c.Send(strings.ReplaceAll(aliceRequest, "alice0001", "mallet999"))
						c.Answer("POST")
					}
				}
				if tt.name != "shutdown" {
					fillWithMallet(t, ts)
				}
				w.end(t)
				peers.WantNoWaiters(t, ts.S)
			})
		})
	}
}

// The same over HTTP/2.
func TestDetachedRequestStaysH2(t *testing.T) {
	peers.UsedAgain(t)
	for _, tt := range []struct {
		name   string
		stream bool
		rest   func(ctx *gale.RequestCtx)
		broken bool
	}{
		{name: "plain"},
		{name: "unread", stream: true},
		{name: "large response", rest: func(ctx *gale.RequestCtx) { ctx.SetBody(bytes.Repeat([]byte("alice0001"), 1<<18)) }},
		{name: "stream", rest: func(ctx *gale.RequestCtx) { ctx.SetBodyStream(strings.NewReader("alice0001"), -1) }},
		{name: "flush", rest: func(ctx *gale.RequestCtx) { ctx.WriteString("a"); _ = ctx.Flush(); ctx.WriteString("b") }},
		{name: "panic", rest: func(ctx *gale.RequestCtx) { panic("on purpose") }},
		{name: "abort", rest: func(ctx *gale.RequestCtx) { panic(gale.ErrAbortHandler) }, broken: true},
		{name: "hijack", rest: func(ctx *gale.RequestCtx) { ctx.Hijack(func(net.Conn) {}) }},
		{name: "hooks", rest: func(ctx *gale.RequestCtx) {
			ctx.BeforeSend(func(ctx *gale.RequestCtx) { ctx.Response.Header.SetBytesV("X-User", ctx.QueryArgs().Peek("user")) })
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for _, way := range []harness.H2Way{{Engine: gale.EngineBlock, TLS: false}, {Engine: gale.EngineEvent, TLS: true}} {
				t.Run(way.String(), func(t *testing.T) {
					workers := make(chan *detachWorker, 1)
					hs := way.Start(t, &gale.Server{StreamRequestBody: tt.stream, Handler: func(ctx *gale.RequestCtx) {
						if !bytes.HasPrefix(ctx.Path(), []byte("/alice")) {
							return
						}
						ctx.SetUserValue("user", "alice0001")
						workers <- work(ctx)
						ctx.Response.Header.Set("X-User", "alice0001")
						ctx.SetBodyString("alice0001")
						if tt.rest != nil {
							tt.rest(ctx)
						}
					}})
					c := hs.Client(2)
					ask := func(user string) error {
						r, err := http.NewRequest("POST", hs.URL("/"+user+"?user="+user+"&a="+user), strings.NewReader("user="+user))
						if err != nil {
							t.Fatal(err)
						}
						r.Header.Set("X-User", user)
						r.Header.Set("Cookie", "user="+user)
						r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
						resp, err := c.Do(r)
						if err != nil {
							return err
						}
						defer resp.Body.Close()
						_, err = io.ReadAll(resp.Body)
						return err
					}
					if err := ask("alice0001"); (err != nil) != tt.broken {
						t.Errorf("the answer: %v", err)
					}
					w := <-workers
					for range 30 {
						if err := ask("mallet999"); err != nil {
							t.Error(err)
						}
					}
					w.end(t)
					peers.WantNoWaiters(t, hs.S)
				})
			}
		})
	}
}

// While the response is being sent, Done of a detached context stays open. After that the
// response may be used, and all methods that need the client return ErrRequestDone.
func TestDetachedContextAfterTheEnd(t *testing.T) {
	for _, stream := range []bool{false, true} {
		t.Run(fmt.Sprintf("stream=%v", stream), func(t *testing.T) {
			peers.OnEngines(t, func(t *testing.T, e gale.Engine) {
				got := make(chan error, 1)
				ts := harness.Start(t, &gale.Server{Engine: e, StreamRequestBody: stream}, func(ctx *gale.RequestCtx) {
					ctx.SetBodyString("hello")
					go func(ctx *gale.RequestCtx) {
						<-ctx.Done()
						got <- func() error {
							for name, err := range map[string]error{
								"Flush":            ctx.Flush(),
								"EarlyHints":       ctx.EarlyHints(),
								"SendInterim":      ctx.SendInterim(gale.StatusProcessing, nil),
								"SetReadDeadline":  ctx.SetReadDeadline(time.Time{}),
								"SetWriteDeadline": ctx.SetWriteDeadline(time.Time{}),
								"HijackNow":        func() error { _, err := ctx.HijackNow(); return err }(),
								"Cause":            context.Cause(ctx),
							} {
								if !errors.Is(err, gale.ErrRequestDone) {
									return fmt.Errorf("%s: %v", name, err)
								}
							}
							b := ctx.PostBody()
							if stream {
								if err := ctx.Request.BodyError(); len(b) > 0 || !errors.Is(err, gale.ErrRequestDone) {
									return fmt.Errorf("the body is %q, %v", b, err)
								}
							} else if string(b) != "body" {
								return fmt.Errorf("the body is %q", b)
							}
							if string(ctx.Response.Body()) != "hello" {
								return fmt.Errorf("the response is %q", ctx.Response.Body())
							}
							return nil
						}()
					}(ctx.Detach().Detach())
				})
				c := ts.Dial()
				c.Send(peers.Post("/", "body"))
				c.Want("POST", 200, "hello")
				if err := <-got; err != nil {
					t.Error(err)
				}
				c.WantOpen()
			})
		})
	}
}

// The server closes no user values of a detached request, and its form stays until the
// program drops it.
func TestDetachedValuesAndFiles(t *testing.T) {
	peers.UsedAgain(t)
	dir := t.TempDir()
	t.Setenv("TMPDIR", dir)
	t.Setenv("TMP", dir)
	files := func() int {
		all, err := os.ReadDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		return len(all)
	}
	body, kind := fileForm(t)
	read := func(ctx *gale.RequestCtx) *multipart.FileHeader {
		form, err := ctx.MultipartForm()
		if err != nil {
			t.Error(err)
			return nil
		}
		return form.File["f"][0]
	}
	for _, tt := range []struct {
		name   string
		parse  string                                               // when the form is parsed
		handle func(ctx *gale.RequestCtx, fh *multipart.FileHeader) // when the request was answered
		drop   bool                                                 // the form is left to the garbage collector
	}{
		{"removed", "before", func(ctx *gale.RequestCtx, _ *multipart.FileHeader) { ctx.Request.RemoveMultipartFormFiles() }, false},
		{"removed later one", "after", func(ctx *gale.RequestCtx, _ *multipart.FileHeader) { ctx.Request.RemoveMultipartFormFiles() }, false},
		{"dropped", "before", nil, true},
		{"dropped later one", "after", nil, true},
		{"reset", "before", func(ctx *gale.RequestCtx, _ *multipart.FileHeader) { ctx.Request.Reset() }, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			peers.OnEngines(t, func(t *testing.T, e gale.Engine) {
				var value closeCounter
				done := make(chan func(), 1)
				ts := harness.Start(t, &gale.Server{Engine: e, MaxRequestBodySize: 64 << 20}, func(ctx *gale.RequestCtx) {
					if ctx.IsGet() {
						return
					}
					ctx.SetUserValue("a", &value)
					var fh *multipart.FileHeader
					if tt.parse == "before" {
						fh = read(ctx)
					}
					ctx.Detach()
					if tt.parse == "after" {
						fh = read(ctx)
					}
					done <- func() {
						if f, err := fh.Open(); err != nil {
							t.Error(err)
						} else {
							f.Close()
						}
						if n := value.n.Load(); n != 0 {
							t.Errorf("the user value was closed %d times", n)
						}
						if tt.handle != nil {
							tt.handle(ctx, fh)
						}
						ctx.ResetUserValues()
						if n := value.n.Load(); n != 1 {
							t.Errorf("the user value was closed %d times", n)
						}
					}
				})
				c := ts.Dial()
				c.Send("POST / HTTP/1.1\r\nHost: h\r\nContent-Type: " + kind + "\r\nContent-Length: " + harness.Itoa(len(body)) + "\r\n\r\n" + body)
				c.Want("POST", 200, "")
				c.Send(peers.Get("/"))
				c.Want("GET", 200, "") // the first request has ended
				runtime.GC()
				func() {
					check := <-done
					check()
				}()
				if !tt.drop {
					if n := files(); n != 0 {
						t.Errorf("%d files are left", n)
					}
					return
				}
				await.Gone(t, "files", func() bool { runtime.GC(); return files() == 0 })
			})
		})
	}
}

// fileForm returns a form with a file that is too large for memory.
func fileForm(t *testing.T) (body, contentType string) {
	var b strings.Builder
	mw := multipart.NewWriter(&b)
	w, err := mw.CreateFormFile("f", "f.bin")
	if err != nil {
		t.Fatal(err)
	}
	w.Write(make([]byte, door.MaxFormMemory+1<<20))
	mw.Close()
	return b.String(), mw.FormDataContentType()
}

// One header of a file is enough to keep the files of its form.
func TestDetachedFileHeaderKeepsFiles(t *testing.T) {
	body, kind := fileForm(t)
	headers := make(chan *multipart.FileHeader, 1)
	ts := harness.Start(t, &gale.Server{MaxRequestBodySize: 64 << 20}, func(ctx *gale.RequestCtx) {
		fh, err := ctx.FormFile("f")
		if err != nil {
			t.Error(err)
		}
		ctx.Detach()
		headers <- fh
	})
	c := ts.Dial()
	c.Send("POST / HTTP/1.1\r\nHost: h\r\nConnection: close\r\nContent-Type: " + kind + "\r\nContent-Length: " + harness.Itoa(len(body)) + "\r\n\r\n" + body)
	c.Want("POST", 200, "")
	fh := <-headers
	for range 5 {
		runtime.GC()
	}
	f, err := fh.Open()
	if err != nil {
		t.Fatal(err)
	}
	f.Close()
	runtime.KeepAlive(fh)
}

// A detached request that times out: the handler keeps what it holds.
func TestDetachAndTimeout(t *testing.T) {
	peers.OnEngines(t, func(t *testing.T, e gale.Engine) {
		var value closeCounter
		ended, proceed := make(chan *gale.RequestCtx, 1), make(chan struct{})
		late := gale.TimeoutHandler(func(ctx *gale.RequestCtx) {
			ctx.SetUserValue("a", &value)
			if ctx.QueryArgs().Has("first") {
				ctx.Detach()
			}
			<-ctx.Done()
			<-proceed
			ctx.Detach()
			ended <- ctx
		}, time.Millisecond, "late")
		ts := harness.Start(t, &gale.Server{Engine: e}, func(ctx *gale.RequestCtx) {
			if string(ctx.Path()) == "/error" {
				ctx.SetUserValue("a", &value)
				ctx.Detach()
				ctx.TimeoutError("late")
				ended <- ctx
				return
			}
			late(ctx)
		})
		for _, path := range []string{"/alice?first", "/alice", "/error"} {
			c := ts.Dial()
			c.Send(peers.Get(path))
			c.Want("GET", 408, "late")
			if path != "/error" {
				proceed <- struct{}{}
			}
			ctx := <-ended
			await.Until(t, "the handler to end", func() bool { return door.InsideOf(ts.S).Timed == 0 })
			for range 3 {
				c.Send(peers.Get("/error"))
				c.Answer("GET")
				<-ended
			}
			if n := value.n.Load(); n != 0 {
				t.Errorf("%s: the user value was closed %d times", path, n)
			}
			if want, _, _ := strings.Cut(path, "?"); string(ctx.Path()) != want {
				t.Errorf("%s: the path is %q", path, ctx.Path())
			}
			if err := ctx.Flush(); err != gale.ErrNilConnection {
				t.Errorf("%s: Flush: %v", path, err)
			}
		}
	})
}

// Functions of BeforeSend and the handlers of panics get a context of their own, with the
// response that is sent.
func TestDetachedHooks(t *testing.T) {
	peers.OnEngines(t, func(t *testing.T, e gale.Engine) {
		var detached *gale.RequestCtx
		check := func(where string, ctx *gale.RequestCtx) {
			if ctx == detached {
				t.Errorf("%s: got the detached context", where)
			}
			if string(ctx.Path()) != "/a" || ctx.UserValue("a") != "b" || string(ctx.Request.Header.Peek("X-A")) != "b" {
				t.Errorf("%s: the request is %s, the value %v", where, &ctx.Request, ctx.UserValue("a"))
			}
			ctx.Response.Header.Add("X-Ran", where)
		}
		sent := make(chan error, 10)
		ts := harness.Start(t, &gale.Server{
			Engine:       e,
			BeforeSend:   func(ctx *gale.RequestCtx) { check("server", ctx) },
			PanicHandler: func(ctx *gale.RequestCtx, v any) { check("panic", ctx); ctx.SetBodyString(fmt.Sprint(v)) },
		}, func(ctx *gale.RequestCtx) {
			ctx.BeforeSend(func(ctx *gale.RequestCtx) {
				check("first", ctx)
				if string(ctx.Response.Body()) != "body" && string(ctx.Response.Body()) != "on purpose" {
					t.Errorf("the body is %q", ctx.Response.Body())
				}
				ctx.AfterSend(func(_ int64, err error) { sent <- err })
			})
			ctx.SetUserValue("a", "b")
			detached = ctx.Detach()
			ctx.SetUserValue("a", "later")
			ctx.Request.Header.Set("X-A", "later")
			ctx.BeforeSend(func(ctx *gale.RequestCtx) { check("second", ctx) })
			ctx.SetBodyString("body")
			switch string(ctx.Request.Header.Peek("X-Do")) {
			case "flush":
				if err := ctx.Flush(); err != nil {
					t.Error(err)
				}
			case "panic":
				panic("on purpose")
			}
		})
		for do, want := range map[string]string{
			"plain": "second first server", "flush": "second first server", "panic": "panic second first server",
		} {
			c := ts.Dial()
			c.Send("GET /a HTTP/1.1\r\nHost: h\r\nX-A: b\r\nX-Do: " + do + "\r\n\r\n")
			a := c.Answer("GET")
			if got := strings.Join(a.Header.Values("X-Ran"), " "); got != want {
				t.Errorf("%s: %q ran", do, got)
			}
			if do == "panic" && (a.Text != "on purpose" || a.StatusCode != 500) {
				t.Errorf("%s: the answer is %d %q", do, a.StatusCode, a.Text)
			}
			if err := <-sent; err != nil {
				t.Errorf("%s: %v", do, err)
			}
		}
	})
}
