package server

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/galehttp/gale"
	"github.com/galehttp/gale/tests/harness"
	"github.com/galehttp/gale/tests/harness/peers"
)

// Functions run in the reverse order in which they were added, the one of the server
// last. They run once for each request of a connection, also when its context is used
// again.
func TestBeforeSendOrder(t *testing.T) {
	peers.OnEngines(t, func(t *testing.T, e gale.Engine) {
		s := &gale.Server{Engine: e, BeforeSend: harness.AppendHook("s")}
		ts := harness.Start(t, s, func(ctx *gale.RequestCtx) {
			for _, name := range string(ctx.Path()[1:]) {
				ctx.BeforeSend(harness.AppendHook(string(name)))
			}
			ctx.BeforeSend(nil)
		})
		c := ts.Dial()
		for path, want := range map[string]string{"/abc": "cbas", "/": "s", "/x": "xs"} {
			c.Send(peers.Get(path))
			if a := c.Answer("GET"); a.Header.Get("X-Order") != want {
				t.Errorf("%s: ran in the order %q, want %q", path, a.Header.Get("X-Order"), want)
			}
		}
	})
}

// A function may change everything in the response: the status, and the body, also from
// bytes to a stream or back.
func TestBeforeSendChangesResponse(t *testing.T) {
	peers.OnEngines(t, func(t *testing.T, e gale.Engine) {
		var closed atomic.Int32
		ts := harness.Start(t, &gale.Server{Engine: e, StreamRequestBody: true}, func(ctx *gale.RequestCtx) {
			switch string(ctx.Path()) {
			case "/bytes":
				ctx.SetBodyString("old")
				ctx.BeforeSend(func(ctx *gale.RequestCtx) {
					ctx.SetStatusCode(gale.StatusTeapot)
					ctx.SetBodyString(string(ctx.Response.Body()) + " new")
				})
			case "/tostream":
				ctx.BeforeSend(func(ctx *gale.RequestCtx) {
					ctx.SetBodyStreamWriter(func(w *bufio.Writer) { io.WriteString(w, "stream") })
				})
			case "/fromstream":
				ctx.SetBodyStream(peers.CountedClose{Reader: strings.NewReader("old"), N: &closed}, -1)
				ctx.BeforeSend(func(ctx *gale.RequestCtx) { ctx.SetBodyString("bytes") })
			}
		})
		c := ts.Dial()
		c.Send(peers.Get("/bytes") + peers.Get("/tostream") + peers.Get("/fromstream"))
		c.Want("GET", gale.StatusTeapot, "old new")
		c.Want("GET", 200, "stream")
		c.Want("GET", 200, "bytes")
		if closed.Load() != 1 {
			t.Errorf("the stream was closed %d times", closed.Load())
		}
		c.WantOpen()
	})
}

// With Flush the functions run before the head is sent, and not again.
func TestBeforeSendFlush(t *testing.T) {
	peers.OnEngines(t, func(t *testing.T, e gale.Engine) {
		ran := make(chan string, 10)
		late := make(chan struct{}, 1)
		ts := harness.Start(t, &gale.Server{Engine: e}, func(ctx *gale.RequestCtx) {
			ctx.BeforeSend(func(ctx *gale.RequestCtx) {
				ran <- string(ctx.Response.Body())
				ctx.Response.Header.Set("X-Hook", "1")
			})
			if err := ctx.EarlyHints(); err != nil {
				t.Error(err)
			}
			ctx.WriteString("one ")
			if err := ctx.Flush(); err != nil {
				t.Error(err)
			}
			ctx.BeforeSend(func(ctx *gale.RequestCtx) { late <- struct{}{} })
			ctx.WriteString("two")
			if err := ctx.Flush(); err != nil {
				t.Error(err)
			}
		})
		c := ts.Dial()
		c.Send(peers.Get("/"))
		if a := c.Want("GET", 200, "one two"); a.Header.Get("X-Hook") != "1" {
			t.Error("the head that was flushed lacks the field")
		}
		c.Send(peers.Get("/"))
		c.Answer("GET") // earlier requests have ended
		if got := <-ran; got != "one " {
			t.Errorf("the function found the body %q", got)
		}
		if len(ran) != 1 || len(late) > 0 {
			t.Errorf("functions ran again: %d, %d", len(ran), len(late))
		}
	})
}

// ErrAbortHandler in a function ends the connection without an answer.
func TestBeforeSendAborts(t *testing.T) {
	peers.OnEngines(t, func(t *testing.T, e gale.Engine) {
		ts := harness.Start(t, &gale.Server{Engine: e, MaxRequestBodySize: 10, BeforeSend: func(ctx *gale.RequestCtx) {
			if string(ctx.Path()) != "/ping" {
				panic(gale.ErrAbortHandler)
			}
		}}, func(ctx *gale.RequestCtx) {
			switch string(ctx.Path()) {
			case "/flush":
				_ = ctx.Flush()
			case "/timeout":
				ctx.TimeoutError("too slow")
			}
		})
		for _, in := range []string{peers.Get("/"), peers.Get("/flush"), peers.Get("/timeout"), peers.Post("/", strings.Repeat("x", 100)), "GET\r\n\r\n"} {
			c := ts.Dial()
			c.Send(in)
			if b, _ := io.ReadAll(c.Br); len(b) > 0 {
				t.Errorf("%.30q: got %q", in, b)
			}
		}
		if strings.Contains(ts.Log.String(), "goroutine") {
			t.Errorf("logged: %s", ts.Log)
		}
		ts.Dial().WantOpen()
	})
}

// Within a function, methods that send fail, BeforeSend has no effect, and nothing
// deadlocks.
func TestBeforeSendWithin(t *testing.T) {
	peers.OnEngines(t, func(t *testing.T, e gale.Engine) {
		var ran atomic.Int32
		ts := harness.Start(t, &gale.Server{Engine: e}, func(ctx *gale.RequestCtx) {
			ctx.BeforeSend(func(ctx *gale.RequestCtx) {
				ran.Add(1)
				ctx.BeforeSend(func(*gale.RequestCtx) { t.Error("a function that was added by one ran") })
				ctx.Response.Header.Set("Link", "</a>")
				_, hijack := ctx.HijackNow()
				for i, err := range []error{ctx.Flush(), ctx.EarlyHints(), ctx.SendInterim(102, nil), hijack} {
					if err == nil {
						t.Errorf("call %d returned no error", i)
					}
				}
				fmt.Fprint(ctx, " hook")
			})
			switch string(ctx.Path()) {
			case "/flush":
				if err := ctx.Flush(); err != nil {
					t.Error(err)
				}
			case "/timeout":
				ctx.TimeoutError("")
			}
			ctx.WriteString("handler")
		})
		for path, want := range map[string]string{"/": "handler hook", "/flush": " hookhandler", "/timeout": " hook"} {
			c := ts.Dial()
			c.Send(peers.Get(path))
			if a := c.Answer("GET"); a.Text != want {
				t.Errorf("%s: got %q, want %q", path, a.Text, want)
			}
		}
		if ran.Load() != 3 {
			t.Errorf("ran %d times", ran.Load())
		}
	})
}

// Functions don't run if no head is sent.
func TestBeforeSendWithoutHead(t *testing.T) {
	peers.OnEngines(t, func(t *testing.T, e gale.Engine) {
		ts := harness.Start(t, &gale.Server{Engine: e}, func(ctx *gale.RequestCtx) {
			ctx.BeforeSend(func(ctx *gale.RequestCtx) { t.Errorf("ran for %s", ctx.Path()) })
			switch string(ctx.Path()) {
			case "/now":
				nc, err := ctx.HijackNow()
				if err != nil {
					t.Error(err)
					return
				}
				io.WriteString(nc, "now")
				nc.Close()
			case "/noresponse":
				ctx.HijackSetNoResponse(true)
				ctx.Hijack(func(c net.Conn) { io.WriteString(c, "now") })
			case "/abort":
				panic(gale.ErrAbortHandler)
			}
		})
		for path, want := range map[string]string{"/now": "now", "/noresponse": "now", "/abort": ""} {
			c := ts.Dial()
			c.Send(peers.Get(path))
			if b, _ := io.ReadAll(c.Br); string(b) != want {
				t.Errorf("%s: got %q, want %q", path, b, want)
			}
		}
	})
}

// After a timeout, functions get a context of their own: what the late handler does
// neither races with them nor changes that context. They see the request, its user values
// and its addresses as they were, and what they set is sent.
func TestBeforeSendTimeout(t *testing.T) {
	peers.OnEngines(t, func(t *testing.T, e gale.Engine) {
		var late sync.WaitGroup
		end := make(chan struct{})
		addr := &net.TCPAddr{IP: net.IPv4(192, 0, 2, 7), Port: 7}
		use := func(ctx *gale.RequestCtx) {
			defer late.Done()
			for done := false; !done; {
				select {
				case <-end:
					done = true
				default:
				}
				ctx.Request.Header.SetMethod("LATE")
				ctx.Request.SetRequestURI("/late")
				ctx.Request.Header.Set("X-Sent", "late")
				ctx.Request.Header.Add("X-More", "late")
				ctx.Request.SetBodyString("late")
				ctx.SetUserValue("value", "late")
				ctx.SetRemoteAddr(nil)
				ctx.Response.Header.Set("X-Late", "late")
				ctx.Response.SetBodyString("late")
				_, _, _ = ctx.URI(), ctx.PostBody(), ctx.Time()
				if ctx.LastTimeoutErrorResponse() != nil { // before the timeout these calls would have an effect
					ctx.BeforeSend(func(*gale.RequestCtx) {})
					_ = ctx.Flush()
				}
				time.Sleep(100 * time.Microsecond) // between two late uses
			}
		}
		var serverRan atomic.Int32
		s := &gale.Server{Engine: e, StreamRequestBody: true, BeforeSend: func(ctx *gale.RequestCtx) {
			serverRan.Add(1)
			ctx.Response.Header.Set("X-Server-Saw", fmt.Sprintf("%s %s %s", ctx.Method(), ctx.Request.Header.Peek("X-Sent"), ctx.Path()))
		}}
		ts := harness.Start(t, s, func(ctx *gale.RequestCtx) {
			path := string(ctx.Path())
			ctx.SetRemoteAddr(addr)
			ctx.SetUserValue("value", "early")
			if !strings.HasPrefix(path, "/server") {
				ctx.BeforeSend(func(in *gale.RequestCtx) {
					if in == ctx {
						t.Error("a function got the context of a late handler")
					}
					in.LimitRequestBody(1)
					saw := fmt.Sprintf("%s %s %s %s %s %v %d %d %v %q %q", in.Method(), in.Path(), in.Host(), in.Request.Header.Peek("X-Sent"),
						in.UserValue("value"), in.RemoteAddr(), in.ConnRequestNum(), in.Response.StatusCode(), in.LocalAddr() != nil,
						in.PostBody(), in.Response.Body())
					in.Response.Header.Set("X-Saw", saw)
					in.Response.AppendBodyString("!")
					in.SetUserValue("value", "hook")
					<-in.Done() // the request has ended
				})
			}
			late.Add(1)
			if strings.HasSuffix(path, "error") {
				go use(ctx)
				ctx.TimeoutError("slow")
				return
			}
			gale.TimeoutHandler(func(ctx *gale.RequestCtx) {
				<-ctx.Context().Done()
				use(ctx)
			}, time.Millisecond, "slow")(ctx)
		})
		defer late.Wait()
		defer close(end)
		for _, path := range []string{"/handler", "/error", "/serverhandler", "/servererror"} {
			c := ts.Dial()
			c.Send("POST " + path + " HTTP/1.1\r\nHost: h\r\nX-Sent: sent\r\nContent-Length: 4\r\n\r\nbody")
			want := "slow!"
			saw := fmt.Sprintf(`POST %s h sent early %v 1 408 true "" "slow"`, path, addr)
			if strings.HasPrefix(path, "/server") {
				want, saw = "slow", ""
			}
			a := c.Want("POST", 408, want)
			if got := a.Header.Get("X-Saw"); got != saw {
				t.Errorf("%s: the function saw %q, want %q", path, got, saw)
			}
			if got := a.Header.Get("X-Server-Saw"); got != "POST sent "+path {
				t.Errorf("%s: the server's function saw %q", path, got)
			}
			if a.Header.Get("X-Late") != "" {
				t.Errorf("%s: a field of the late handler was sent", path)
			}
		}
		if serverRan.Load() != 4 {
			t.Errorf("the server's function ran %d times", serverRan.Load())
		}
	})
}

// The functions that the handler has added before the timeout run, and see the request as
// it was then.
func TestBeforeSendAddedInTime(t *testing.T) {
	peers.OnEngines(t, func(t *testing.T, e gale.Engine) {
		end := make(chan struct{})
		defer close(end)
		ts := harness.Start(t, &gale.Server{Engine: e}, gale.TimeoutHandler(func(ctx *gale.RequestCtx) {
			ctx.SetUserValue("id", "7")
			ctx.Request.Header.Set("X-Added", "added")
			ctx.BeforeSend(func(ctx *gale.RequestCtx) {
				ctx.Response.Header.Set("X-Id", fmt.Sprintf("%s %s %s", ctx.UserValue("id"), ctx.Request.Header.Peek("X-Added"), ctx.Path()))
			})
			ctx.SetUserValue("id", "8")
			<-end
		}, time.Millisecond*50, "slow"))
		c := ts.Dial()
		c.Send(peers.Get("/p"))
		if a := c.Want("GET", 408, "slow"); a.Header.Get("X-Id") != "7 added /p" {
			t.Errorf("got %q", a.Header.Get("X-Id"))
		}
	})
}

// A timeout while Flush runs the functions breaks the response off. They run once.
func TestBeforeSendFlushTimedOut(t *testing.T) {
	peers.OnEngines(t, func(t *testing.T, e gale.Engine) {
		var ran atomic.Int32
		var inTime atomic.Bool // it ran in Flush
		var timeout atomic.Int64
		flushed := make(chan error, 1)
		handler := func(ctx *gale.RequestCtx) {
			ctx.BeforeSend(func(ctx *gale.RequestCtx) {
				ran.Add(1)
				inTime.Store(ctx.Context().Err() == nil)
				<-ctx.Context().Done() // until the timeout
			})
			ctx.WriteString("part")
			flushed <- ctx.Flush()
		}
		ts := harness.Start(t, &gale.Server{Engine: e}, func(ctx *gale.RequestCtx) {
			gale.TimeoutHandler(handler, time.Duration(timeout.Load()), "slow")(ctx)
		})
		// If the timeout was before Flush, a longer one is needed.
		for timeout.Store(int64(time.Millisecond)); !inTime.Load(); timeout.Store(4 * timeout.Load()) {
			ran.Store(0)
			c := ts.Dial()
			c.Send(strings.Replace(peers.Get("/"), "\r\n\r\n", "\r\nConnection: close\r\n\r\n", 1))
			b, _ := io.ReadAll(c.Br)
			if err := <-flushed; err == nil {
				t.Error("Flush has succeeded")
			}
			if inTime.Load() && len(b) > 0 {
				t.Errorf("got %q", b)
			}
		}
		if ran.Load() != 1 {
			t.Errorf("the function ran %d times", ran.Load())
		}
	})
}

// A function that ends its goroutine ends the connection, as a handler would.
func TestBeforeSendGoexit(t *testing.T) {
	peers.OnEngines(t, func(t *testing.T, e gale.Engine) {
		m := harness.NewMischief(peers.Mischiefs["Goexit"])
		m.Armed.Store(true)
		ts := harness.Start(t, &gale.Server{Engine: e, BeforeSend: func(*gale.RequestCtx) { m.Now() }}, harness.Echo)
		c := ts.Dial()
		c.Send(peers.Get("/"))
		if b, _ := io.ReadAll(c.Br); len(b) > 0 {
			t.Errorf("got %q", b)
		}
		ts.Dial().WantOpen()
	})
}

// If a streamed body could not be read and the handler didn't notice, taking it for
// empty, the server sends its own answer. If the handler did notice, its answer is sent.
func TestUnreadBodyIsRefused(t *testing.T) {
	peers.OnEngines(t, func(t *testing.T, e gale.Engine) {
		var told atomic.Pointer[string]
		s := &gale.Server{Engine: e, StreamRequestBody: true, MaxStreamedFormSize: 100, ReadStallTimeout: 50 * time.Millisecond,
			BeforeSend: harness.AppendHook("s")}
		ts := harness.Start(t, s, func(ctx *gale.RequestCtx) {
			ctx.SetUserValue("x", 1)
			ctx.LimitRequestBody(1000)
			ctx.BeforeSend(harness.AppendHook("r"))
			var err error
			switch how := string(ctx.Path()[1:]); how {
			case "PostBody":
				ctx.PostBody()
			case "SwapBody":
				ctx.Request.SwapBody(nil)
			case "PostArgs":
				ctx.PostArgs()
			case "FormValue":
				ctx.FormValue("a")
			case "Hijack":
				ctx.PostBody()
				ctx.Hijack(func(net.Conn) { t.Error("hijacked") })
			case "BodyError":
				ctx.PostBody()
				err = ctx.Request.BodyError()
			case "Uncompressed":
				_, err = ctx.Request.BodyUncompressed()
			case "MultipartForm":
				ctx.FormValue("a")
				_, err = ctx.MultipartForm()
			case "FormFile":
				_, err = ctx.FormFile("a")
			case "WriteTo":
				err = ctx.Request.BodyWriteTo(io.Discard)
			case "Stream":
				_, err = io.ReadAll(ctx.RequestBodyStream())
			case "Close":
				ctx.CloseRequestBody()
				ctx.PostBody()
				err = io.EOF
			case "Flush":
				_ = ctx.Flush()
				ctx.PostBody()
			}
			if err != nil {
				ctx.SetBodyString("told")
				text := err.Error()
				told.Store(&text)
				return
			}
			ctx.Response.Header.Set("X-Handler", "1")
			ctx.SetBodyString("handler")
		})
		const urlencoded = "application/x-www-form-urlencoded"
		_, formType := peers.FormBody(1)
		for _, test := range []struct {
			how, contentType, rest string
			status                 int
		}{
			{"PostBody", urlencoded, "Content-Length: 2000\r\n\r\n" + strings.Repeat("x", 2000), 413},
			{"PostBody", urlencoded, "Transfer-Encoding: chunked\r\n\r\n1\r\nx\r\nzz\r\n", 400},
			{"PostBody", urlencoded, "Content-Length: 20\r\n\r\nx", 408},
			{"SwapBody", urlencoded, "Content-Length: 2000\r\n\r\n" + strings.Repeat("x", 2000), 413},
			{"PostArgs", urlencoded, "Content-Length: 2000\r\n\r\n" + strings.Repeat("x", 2000), 413},
			{"FormValue", urlencoded, "Content-Length: 2000\r\n\r\n" + strings.Repeat("x", 2000), 413},
			{"FormValue", formType, "Content-Length: 2000\r\n\r\n" + strings.Repeat("x", 2000), 413},
			{"Hijack", urlencoded, "Content-Length: 2000\r\n\r\n" + strings.Repeat("x", 2000), 413},
			{"BodyError", urlencoded, "Content-Length: 2000\r\n\r\n" + strings.Repeat("x", 2000), 200},
			{"Uncompressed", urlencoded, "Content-Length: 2000\r\n\r\n" + strings.Repeat("x", 2000), 200},
			{"MultipartForm", formType, "Content-Length: 2000\r\n\r\n" + strings.Repeat("x", 2000), 200},
			{"FormFile", formType, "Content-Length: 2000\r\n\r\n" + strings.Repeat("x", 2000), 200},
			{"WriteTo", urlencoded, "Content-Length: 2000\r\n\r\n" + strings.Repeat("x", 2000), 200},
			{"Stream", urlencoded, "Content-Length: 2000\r\n\r\n" + strings.Repeat("x", 2000), 200},
			{"Close", urlencoded, "Content-Length: 20\r\n\r\nx", 200},
			{"PostBody", urlencoded, "Content-Length: 4\r\n\r\nbody", 200},
		} {
			c := ts.Dial()
			c.Send("POST /" + test.how + " HTTP/1.1\r\nHost: h\r\nContent-Type: " + test.contentType + "\r\n" + test.rest)
			a := c.Answer("POST")
			if a.StatusCode != test.status {
				t.Errorf("%s: %.60q: status %d, want %d", test.how, test.rest, a.StatusCode, test.status)
			}
			if a.Header.Get("X-Order") != "rs" {
				t.Errorf("%s: the functions of BeforeSend ran as %q", test.how, a.Header.Get("X-Order"))
			}
			if refused := test.status != 200; refused && (a.Header.Get("X-Handler") != "" || !a.Close || a.Text == "handler") {
				t.Errorf("%s: got %v %q", test.how, a.Header, a.Text)
			} else if !refused && a.Text != "told" && a.Text != "handler" {
				t.Errorf("%s: got %q", test.how, a.Text)
			}
			c.Close()
		}
		// The head was already sent: the handler's answer stays.
		c := ts.Dial()
		c.Send("POST /Flush HTTP/1.1\r\nHost: h\r\nContent-Length: 2000\r\n\r\n" + strings.Repeat("x", 2000))
		c.Want("POST", 200, "handler")
	})
}

// ErrorHandler also makes the answer if the body could not be read.
func TestUnreadBodyErrorHandler(t *testing.T) {
	s := &gale.Server{StreamRequestBody: true, ErrorHandler: func(ctx *gale.RequestCtx, err error) {
		ctx.SetStatusCode(gale.ErrorStatus(err))
		fmt.Fprintf(ctx, "handled: %v %v", errors.Is(err, gale.ErrBodyTooLarge), len(ctx.PostBody()))
	}}
	ts := harness.Start(t, s, func(ctx *gale.RequestCtx) {
		ctx.LimitRequestBody(10)
		ctx.PostBody()
	})
	c := ts.Dial()
	c.Send(peers.Post("/", strings.Repeat("x", 100)))
	c.Want("POST", http.StatusRequestEntityTooLarge, "handled: true 0")
	c.WantClosed()
}

// A function that panics makes the response a 500, which keeps the headers; the other
// functions still run. In Flush such a panic leads to an error, and what the handler
// writes after it is not sent.
func TestBeforeSendPanic(t *testing.T) {
	peers.OnEngines(t, func(t *testing.T, e gale.Engine) {
		s := &gale.Server{Engine: e, BeforeSend: harness.AppendHook("s")}
		ts := harness.Start(t, s, func(ctx *gale.RequestCtx) {
			ctx.Response.Header.Set("X-Set", "1")
			ctx.SetContentType("text/html")
			ctx.BeforeSend(harness.AppendHook("a"))
			ctx.BeforeSend(func(*gale.RequestCtx) { panic("hook on purpose") })
			ctx.BeforeSend(harness.AppendHook("c"))
			switch string(ctx.Path()) {
			case "/flush":
				ctx.WriteString("part")
				for range 2 {
					if err := ctx.Flush(); fmt.Sprint(err) != "gale: a function of BeforeSend panicked: the response is a 500 that is sent after the handler" {
						t.Errorf("Flush returned %v", err)
					}
					ctx.WriteString("more")
				}
			case "/hijack":
				ctx.Hijack(func(net.Conn) { t.Error("the connection was hijacked") })
			case "/panic":
				panic("handler on purpose")
			case "/timeout":
				ctx.TimeoutError("too slow")
			}
		})
		for _, path := range []string{"/", "/flush", "/hijack", "/panic", "/timeout"} {
			c := ts.Dial()
			c.Send(peers.Get(path))
			a := c.Want("GET", 500, "Internal Server Error")
			set := a.Header.Get("X-Set") == "1" || path == "/panic" || path == "/timeout" // their responses are replaced
			if a.Header.Get("X-Order") != "cas" || !set || !strings.HasPrefix(a.Header.Get("Content-Type"), "text/plain") {
				t.Errorf("%s: %v", path, a.Header)
			}
			c.WantClosed()
		}
		if !strings.Contains(ts.Log.String(), "hook on purpose") {
			t.Errorf("logged: %s", ts.Log)
		}
	})
}
