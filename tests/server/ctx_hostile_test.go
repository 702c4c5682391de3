package server

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/galehttp/gale"
	"github.com/galehttp/gale/tests/harness"
	"github.com/galehttp/gale/tests/harness/await"
	"github.com/galehttp/gale/tests/harness/peers"
)

// A hook that answers after a panic may panic, too. That doesn't make a broken response
// complete, keeps what functions of BeforeSend have set, and may abort.
func TestPanicInAnswerToPanic(t *testing.T) {
	peers.OnEngines(t, func(t *testing.T, e gale.Engine) {
		for _, which := range []string{"PanicHandler", "ErrorHandler"} {
			answer := func(ctx *gale.RequestCtx) {
				switch string(ctx.Path()) {
				case "/flush":
					ctx.Response.ResetBody()
					ctx.WriteString("part")
					if err := ctx.Flush(); err != nil {
						t.Error(err)
					}
					panic("after Flush")
				case "/abort":
					panic(fmt.Errorf("aborts: %w", gale.ErrAbortHandler))
				case "/hooks":
					panic("after the functions have run")
				}
			}
			s := &gale.Server{Engine: e}
			if which == "PanicHandler" {
				s.PanicHandler = func(ctx *gale.RequestCtx, _ any) { answer(ctx) }
			} else {
				s.ErrorHandler = func(ctx *gale.RequestCtx, _ error) { answer(ctx) }
			}
			ts := harness.Start(t, s, func(ctx *gale.RequestCtx) {
				ctx.BeforeSend(harness.AppendHook("r"))
				if string(ctx.Path()) == "/hooks" {
					ctx.BeforeSend(func(ctx *gale.RequestCtx) { ctx.SetBodyStream(strings.NewReader("stream"), -1) })
					if ctx.Flush() == nil {
						t.Error("a stream was flushed")
					}
				}
				panic("on purpose")
			})
			for _, in := range []string{peers.Get("/flush"), "GET /flush HTTP/1.0\r\n\r\n"} {
				c := ts.Dial()
				c.Send(in)
				got, err := c.ReadAll()
				_, body, _ := strings.Cut(got, "\r\n\r\n")
				if strings.Contains(body, "Internal") || strings.HasSuffix(got, "0\r\n\r\n") || err == nil && strings.HasPrefix(in, "GET /flush HTTP/1.0") {
					t.Errorf("%s, %.20q: the response looks whole: %q, %v", which, in, got, err)
				}
			}
			c := ts.Dial()
			c.Send(peers.Get("/abort"))
			if got, _ := c.ReadAll(); got != "" {
				t.Errorf("%s: aborted, but answered with %q", which, got)
			}
			if strings.Contains(ts.Log.String(), "aborts") {
				t.Errorf("%s: logged: %s", which, ts.Log)
			}
			c = ts.Dial()
			c.Send(peers.Get("/hooks"))
			if a := c.Want("GET", 500, "Internal Server Error"); a.Header.Get("X-Order") != "r" {
				t.Errorf("%s: %v", which, a.Header)
			}
		}
	})
}

// If a function of BeforeSend aborts in Flush, that can't be undone: a handler that
// recovers can't answer.
func TestBeforeSendAbortRecovered(t *testing.T) {
	peers.OnEngines(t, func(t *testing.T, e gale.Engine) {
		ts := harness.Start(t, &gale.Server{Engine: e}, func(ctx *gale.RequestCtx) {
			if string(ctx.Path()) == "/ping" {
				return
			}
			ctx.BeforeSend(func(*gale.RequestCtx) { panic(gale.ErrAbortHandler) })
			func() {
				defer func() { _ = recover() }()
				_ = ctx.Flush()
			}()
			ctx.Error("recovered", 500)
		})
		c := ts.Dial()
		c.Send(peers.Get("/"))
		if got, _ := c.ReadAll(); got != "" {
			t.Errorf("got %q", got)
		}
		ts.Dial().WantOpen()
	})
}

// An incomplete answer of ErrorHandler to a refused request never looks complete.
func TestRefusalBroken(t *testing.T) {
	peers.OnEngines(t, func(t *testing.T, e gale.Engine) {
		s := &gale.Server{Engine: e, MaxRequestBodySize: 10, ErrorHandler: func(ctx *gale.RequestCtx, err error) {
			how := string(ctx.Path())
			ctx.SetStatusCode(gale.ErrorStatus(err))
			if strings.HasPrefix(how, "/flush") {
				ctx.WriteString("part")
				if err := ctx.Flush(); err != nil {
					t.Error(err)
				}
			}
			switch strings.TrimPrefix(how, "/flush") {
			case "panic":
				panic("on purpose")
			case "fail":
				ctx.Fail(500, errors.New("too late"))
			case "broken", "/broken":
				ctx.SetBodyStream(io.MultiReader(strings.NewReader("x"), errorReader{}), -1)
				_ = ctx.Response.Body()
			}
		}}
		ts := harness.Start(t, s, harness.Echo)
		for _, how := range []string{"panic", "fail", "broken"} {
			for _, minor := range []int{0, 1} {
				c := ts.Dial()
				c.Send(fmt.Sprintf("POST /flush%s HTTP/1.%d\r\nHost: h\r\nContent-Length: 11\r\n\r\n", how, minor))
				got, err := c.ReadAll()
				if whole := minor == 1 && strings.HasSuffix(got, "0\r\n\r\n") || minor == 0 && err == nil; whole {
					t.Errorf("%s, HTTP/1.%d: the response looks whole: %q, %v", how, minor, got, err)
				}
			}
		}
		c := ts.Dial()
		c.Send("POST /broken HTTP/1.1\r\nHost: h\r\nContent-Length: 11\r\n\r\n")
		c.Want("POST", 500, "Internal Server Error")
	})
}

type errorReader struct{}

func (errorReader) Read([]byte) (int, error) { return 0, errors.New("broken on purpose") }

// An ErrorHandler may have a timeout, like any handler: the timeout's answer is sent, and
// the late ErrorHandler keeps the context for itself.
func TestErrorHandlerTimesOut(t *testing.T) {
	peers.OnEngines(t, func(t *testing.T, e gale.Engine) {
		var late sync.WaitGroup
		end := make(chan struct{})
		slow := gale.TimeoutHandler(func(ctx *gale.RequestCtx) {
			defer late.Done()
			if ctx.QueryArgs().Has("flush") {
				ctx.WriteString("part")
				_ = ctx.Flush()
			}
			for {
				select {
				case <-end:
					return
				default:
					ctx.SetStatusCode(gale.StatusTeapot)
					ctx.Response.Header.Set("X-Late", "late")
					ctx.SetBodyString("late")
					ctx.Response.SetConnectionClose()
					ctx.Request.Header.Set("X-Late", "late")
					time.Sleep(100 * time.Microsecond) // between two late uses
				}
			}
		}, 20*time.Millisecond, "slow")
		defer late.Wait()
		defer close(end)
		for _, hook := range []bool{false, true} {
			s := &gale.Server{Engine: e, MaxRequestBodySize: 10, ErrorHandler: func(ctx *gale.RequestCtx, err error) {
				late.Add(1)
				slow(ctx)
			}}
			if hook {
				s.BeforeSend = func(ctx *gale.RequestCtx) { ctx.Response.Header.Set("X-Hook", string(ctx.Path())) }
			}
			ts := harness.Start(t, s, func(ctx *gale.RequestCtx) {
				switch string(ctx.Path()) {
				case "/panic":
					panic("on purpose")
				case "/fail":
					ctx.Fail(409, errors.New("taken"))
				}
			})
			for _, in := range []string{"GET\r\n\r\n", peers.Post("/large", strings.Repeat("x", 11)), peers.Get("/panic"), peers.Get("/fail")} {
				c := ts.Dial()
				c.Send(in)
				a := c.Want("GET", 408, "slow")
				if (a.Header.Get("X-Hook") != "") != hook || a.Header.Get("X-Late") != "" {
					t.Errorf("%.20q: %v", in, a.Header)
				}
			}
			c := ts.Dial()
			c.Send(peers.Post("/large?flush", strings.Repeat("x", 11)))
			if got, _ := c.ReadAll(); !strings.HasSuffix(got, "part\r\n") {
				t.Errorf("after Flush: got %q", got)
			}
		}
	})
}

// After a timeout, user values are not closed while functions of BeforeSend use them.
func TestBeforeSendTimeoutClosers(t *testing.T) {
	peers.OnEngines(t, func(t *testing.T, e gale.Engine) {
		var closed atomic.Int32
		ended := make(chan struct{})
		ts := harness.Start(t, &gale.Server{Engine: e}, gale.TimeoutHandler(func(ctx *gale.RequestCtx) {
			defer close(ended)
			ctx.SetUserValue("value", peers.CountedClose{Reader: nil, N: &closed})
			ctx.BeforeSend(func(ctx *gale.RequestCtx) {
				<-ended
				for end := time.Now().Add(50 * time.Millisecond); time.Now().Before(end) && closed.Load() == 0; {
					// The value must not be closed in this time, and no state shows that it will not be.
					time.Sleep(time.Millisecond)
				}
				ctx.Response.Header.Set("X-Closed", fmt.Sprint(closed.Load()))
			})
			<-ctx.Context().Done()
		}, 10*time.Millisecond, "slow"))
		c := ts.Dial()
		c.Send(peers.Get("/"))
		if a := c.Want("GET", 408, "slow"); a.Header.Get("X-Closed") != "0" {
			t.Errorf("closed %s times before the function has returned", a.Header.Get("X-Closed"))
		}
		await.Until(t, "the value to be closed", func() bool { return closed.Load() == 1 })
	})
}

// A body that the program has closed doesn't count as one that could not be read.
func TestClosedBodyIsNotRefused(t *testing.T) {
	peers.OnEngines(t, func(t *testing.T, e gale.Engine) {
		_, formType := peers.FormBody(1)
		ts := harness.Start(t, &gale.Server{Engine: e, StreamRequestBody: true}, func(ctx *gale.RequestCtx) {
			ctx.CloseRequestBody()
			if v := ctx.FormValue("x"); len(v) > 0 {
				t.Errorf("got %q", v)
			}
			ctx.SetBodyString("handler")
		})
		for _, contentType := range []string{"text/plain", formType, "application/x-www-form-urlencoded"} {
			c := ts.Dial()
			c.Send("POST / HTTP/1.1\r\nHost: h\r\nContent-Type: " + contentType + "\r\nContent-Length: 20\r\n\r\nx")
			c.Want("POST", 200, "handler")
		}
	})
}

// An ExpectHandler may have a timeout, too: the timeout's answer is the only one, and the
// late ExpectHandler keeps the context for itself.
func TestExpectHandlerTimesOut(t *testing.T) {
	peers.OnEngines(t, func(t *testing.T, e gale.Engine) {
		for _, stream := range []bool{false, true} {
			end, ended := make(chan struct{}), make(chan struct{})
			slow := gale.TimeoutHandler(func(ctx *gale.RequestCtx) {
				defer close(ended)
				for {
					select {
					case <-end:
						return
					default:
						ctx.Request.SetBodyString("late")
						ctx.SetStatusCode(gale.StatusTeapot)
						ctx.SetBodyString("late")
					}
				}
			}, 10*time.Millisecond, "slow")
			s := &gale.Server{Engine: e, StreamRequestBody: stream, ExpectHandler: func(ctx *gale.RequestCtx) int {
				slow(ctx)
				return gale.StatusContinue
			}}
			ts := harness.Start(t, s, func(ctx *gale.RequestCtx) { t.Error("the handler was called") })
			c := ts.Dial()
			c.Send("POST / HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\nContent-Length: 4\r\n\r\nbody")
			c.Want("POST", 408, "slow")
			c.WantClosed()
			close(end)
			<-ended
		}
	})
}
