package server

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/http2"

	"github.com/galehttp/gale"
	"github.com/galehttp/gale/internal/door"
	"github.com/galehttp/gale/tests/harness"
	"github.com/galehttp/gale/tests/harness/await"
	"github.com/galehttp/gale/tests/harness/peers"
)

// lateCheck is a handler that overruns: it uses its context until it is told to stop.
type lateCheck struct {
	proceed chan struct{}
	result  chan error
}

func (l *lateCheck) serve(ctx *gale.RequestCtx) {
	ctx.SetUserValue("user", "alice0001")
	first := lateLook(ctx)
	<-ctx.Done()
	err := error(nil)
	for stop := false; !stop && err == nil; {
		if now := lateLook(ctx); now != first {
			err = fmt.Errorf("%q became %q", first, now)
		}
		ctx.Response.Header.Set("X-User", "alice0001")
		ctx.SetBodyString("alice0001")
		select {
		case <-l.proceed:
			stop = true
		default:
		}
	}
	if cause := context.Cause(ctx); err == nil && cause != gale.ErrTimeout {
		err = fmt.Errorf("the cause is %v", cause)
	}
	if ferr := ctx.Flush(); err == nil && ferr != gale.ErrNilConnection {
		err = fmt.Errorf("Flush: %v", ferr)
	}
	l.result <- err
	if ctx.QueryArgs().Has("panic") {
		panic("late on purpose")
	}
}

func lateLook(ctx *gale.RequestCtx) string {
	return fmt.Sprintf("%s %s %s %s %v", ctx.Path(), ctx.QueryArgs().Peek("user"), ctx.Request.Header.Peek("X-User"), ctx.PostBody(), ctx.UserValue("user"))
}

// A handler that has overrun its time never sees its context used for another request,
// whether the next requests are served or refused, and whatever the protocol is.
func TestLateHandlerKeepsItsContext(t *testing.T) {
	peers.UsedAgain(t)
	for _, way := range peers.Ways[harness.H2Way]() {
		if way == (harness.H2Way{Engine: gale.EngineBlock, TLS: true}) {
			continue
		}
		for _, major := range []int{1, 2} {
			for _, query := range []string{"", "&panic"} {
				t.Run(fmt.Sprintf("%v/HTTP%d/%s", way, major, query), func(t *testing.T) {
					l := &lateCheck{make(chan struct{}), make(chan error, 1)}
					limited := gale.TimeoutHandler(l.serve, 5*time.Millisecond, "late")
					never := gale.TimeoutHandler(func(ctx *gale.RequestCtx) { ctx.WriteString("served") }, time.Hour, "busy")
					hs := way.Start(t, &gale.Server{Handler: func(ctx *gale.RequestCtx) {
						switch string(ctx.Path()) {
						case "/alice0001":
							limited(ctx)
						case "/limited":
							never(ctx)
						default:
							ctx.Write(ctx.Path())
						}
					}})
					c := hs.Client(major)
					ask := func(path, user string) (int, string) {
						r, err := http.NewRequest("POST", hs.URL(path+"?user="+user+query), strings.NewReader(user))
						if err != nil {
							t.Fatal(err)
						}
						r.Header.Set("X-User", user)
						resp, err := c.Do(r)
						if err != nil {
							t.Fatal(err)
						}
						defer resp.Body.Close()
						b, err := io.ReadAll(resp.Body)
						if err != nil {
							t.Error(err)
						}
						return resp.StatusCode, string(b)
					}
					if status, body := ask("/alice0001", "alice0001"); status != 408 || body != "late" {
						t.Fatalf("%d %q", status, body)
					}
					for range 30 {
						if status, body := ask("/mallet999", "mallet999"); status != 200 || body != "/mallet999" {
							t.Fatalf("%d %q", status, body)
						}
						if status, body := ask("/limited", "mallet999"); status != 200 || body != "served" {
							t.Fatalf("%d %q", status, body)
						}
					}
					close(l.proceed)
					if err := <-l.result; err != nil {
						t.Error(err)
					}
					await.Until(t, "the handler to end", func() bool { return door.InsideOf(hs.S).Timed == 0 })
					await.Until(t, "the panic to be logged", func() bool {
						return query == "" || strings.Contains(hs.Log.String(), "late on purpose")
					})
				})
			}
		}
	}
}

// While late handlers take all places, requests are refused with 429. Their contexts are
// used again, those of the late handlers are not.
func TestLateHandlersTakePlaces(t *testing.T) {
	peers.UsedAgain(t)
	peers.OnEngines(t, func(t *testing.T, e gale.Engine) {
		l := &lateCheck{make(chan struct{}), make(chan error, 2)}
		limited := gale.TimeoutHandler(l.serve, 5*time.Millisecond, "late")
		ts := harness.Start(t, &gale.Server{Engine: e, Concurrency: 2}, limited)
		c := ts.Dial()
		for range 2 {
			c.Send("POST /alice0001?user=alice0001 HTTP/1.1\r\nHost: h\r\nX-User: alice0001\r\nContent-Length: 9\r\n\r\nalice0001")
			c.Want("POST", 408, "late")
		}
		for range 50 {
			c.Send("POST /mallet999?user=mallet999 HTTP/1.1\r\nHost: h\r\nX-User: mallet999\r\nContent-Length: 9\r\n\r\nmallet999")
			c.Want("POST", 429, "late")
		}
		close(l.proceed)
		for range 2 {
			if err := <-l.result; err != nil && !errors.Is(err, gale.ErrTimeout) {
				t.Error(err)
			}
		}
		await.Until(t, "places to be free", func() bool { return door.InsideOf(ts.S).Timed == 0 })
	})
}

// TestRequestIsLeftWhileAnswerWaits proves that the server doesn't look at a request that
// belongs to another goroutine while its answer waits for the client's window. The race
// detector finds it.
func TestRequestIsLeftWhileAnswerWaits(t *testing.T) {
	peers.EachWay(t, func(t *testing.T, way harness.H2Way) {
		answered := make(chan struct{})
		ended := make(chan struct{}, 2)
		use := func(ctx *gale.RequestCtx) {
			for {
				ctx.Request.SetBodyString("changed")
				select {
				case <-answered:
					ended <- struct{}{}
					return
				case <-time.After(time.Millisecond): // between two uses
				}
			}
		}
		late := gale.TimeoutHandler(use, 5*time.Millisecond, "the answer")
		hs := way.Start(t, &gale.Server{Handler: func(ctx *gale.RequestCtx) {
			if string(ctx.Path()) == "/late" {
				late(ctx)
				return
			}
			go use(ctx.Detach())
			ctx.SetBodyString("the answer")
		}})
		c := hs.DialH2(http2.Setting{ID: http2.SettingInitialWindowSize, Val: 1})
		for path, status := range map[string]string{"/late": "408", "/detached": "200"} {
			id := c.Open("POST", path, false)
			c.Data(id, "the body", true)
			f := c.Await(id, "data")
			c.Check(c.Fr.WriteWindowUpdate(id, 100))
			if rest := c.Await(id, "end"); c.Await(id, status).Kind != status || f.Data+rest.Data != "the answer" {
				t.Errorf("%s: got %v %v", path, f, rest)
			}
		}
		close(answered)
		<-ended
		<-ended
	})
}
