package gale

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"
)

// lateCheck is a handler that overruns: it uses its context until it is told to stop.
type lateCheck struct {
	proceed chan struct{}
	result  chan error
}

func (l *lateCheck) serve(ctx *RequestCtx) {
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
	if cause := context.Cause(ctx); err == nil && cause != ErrTimeout {
		err = fmt.Errorf("the cause is %v", cause)
	}
	if ferr := ctx.Flush(); err == nil && ferr != ErrNilConnection {
		err = fmt.Errorf("Flush: %v", ferr)
	}
	l.result <- err
	if ctx.QueryArgs().Has("panic") {
		panic("late on purpose")
	}
}

func lateLook(ctx *RequestCtx) string {
	return fmt.Sprintf("%s %s %s %s %v", ctx.Path(), ctx.QueryArgs().Peek("user"), ctx.Request.Header.Peek("X-User"), ctx.PostBody(), ctx.UserValue("user"))
}

// A handler that has overrun its time never sees its context used for another request,
// whether the next requests are served or refused, and whatever the protocol is.
func TestLateHandlerKeepsItsContext(t *testing.T) {
	usedAgain(t)
	for _, way := range h2Ways {
		if way == (h2Way{EngineBlock, true}) {
			continue
		}
		for _, major := range []int{1, 2} {
			for _, query := range []string{"", "&panic"} {
				t.Run(fmt.Sprintf("%v/HTTP%d/%s", way, major, query), func(t *testing.T) {
					l := &lateCheck{make(chan struct{}), make(chan error, 1)}
					limited := TimeoutHandler(l.serve, 5*time.Millisecond, "late")
					never := TimeoutHandler(func(ctx *RequestCtx) { ctx.WriteString("served") }, time.Hour, "busy")
					hs := way.start(t, &Server{Handler: func(ctx *RequestCtx) {
						switch string(ctx.Path()) {
						case "/alice0001":
							limited(ctx)
						case "/limited":
							never(ctx)
						default:
							ctx.Write(ctx.Path())
						}
					}})
					c := hs.client(major)
					ask := func(path, user string) (int, string) {
						r, err := http.NewRequest("POST", hs.url(path+"?user="+user+query), strings.NewReader(user))
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
					await(t, "the handler to end", func() bool { return hs.s.run.timed.Load() == 0 })
					await(t, "the panic to be logged", func() bool {
						return query == "" || strings.Contains(hs.log.String(), "late on purpose")
					})
				})
			}
		}
	}
}

// While late handlers take all places, requests are refused with 429. Their contexts are
// used again, those of the late handlers are not.
func TestLateHandlersTakePlaces(t *testing.T) {
	usedAgain(t)
	onEngines(t, func(t *testing.T, e Engine) {
		l := &lateCheck{make(chan struct{}), make(chan error, 2)}
		limited := TimeoutHandler(l.serve, 5*time.Millisecond, "late")
		ts := startServer(t, &Server{Engine: e, Concurrency: 2}, limited)
		c := ts.dial()
		for range 2 {
			c.send("POST /alice0001?user=alice0001 HTTP/1.1\r\nHost: h\r\nX-User: alice0001\r\nContent-Length: 9\r\n\r\nalice0001")
			c.want("POST", 408, "late")
		}
		for range 50 {
			c.send("POST /mallet999?user=mallet999 HTTP/1.1\r\nHost: h\r\nX-User: mallet999\r\nContent-Length: 9\r\n\r\nmallet999")
			c.want("POST", 429, "late")
		}
		close(l.proceed)
		for range 2 {
			if err := <-l.result; err != nil && !errors.Is(err, ErrTimeout) {
				t.Error(err)
			}
		}
		await(t, "places to be free", func() bool { return ts.s.run.timed.Load() == 0 })
	})
}
