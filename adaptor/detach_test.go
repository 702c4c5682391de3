package adaptor

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/galehttp/gale"
)

// A detached context stays that of its request on a net/http server, however the request
// ends, while other requests are served. Another goroutine reads it at all times.
func TestDetachOnNetHTTP(t *testing.T) {
	look := func(ctx *gale.RequestCtx) string {
		return fmt.Sprintf("%s %s %s %s %v %s", ctx.Method(), ctx.RequestURI(), ctx.Request.Header.Peek("X-User"),
			ctx.QueryArgs().Peek("user"), ctx.UserValue("user"), ctx.RemoteAddr())
	}
	for name, rest := range map[string]func(ctx *gale.RequestCtx){
		"plain":  func(ctx *gale.RequestCtx) { ctx.SetBodyString("alice0001") },
		"body":   func(ctx *gale.RequestCtx) { ctx.SetBodyString("alice0001") },
		"stream": func(ctx *gale.RequestCtx) { ctx.SetBodyStream(strings.NewReader("alice0001"), -1) },
		"flush":  func(ctx *gale.RequestCtx) { ctx.WriteString("alice"); _ = ctx.Flush(); ctx.WriteString("0001") },
		"hooks": func(ctx *gale.RequestCtx) {
			ctx.BeforeSend(func(ctx *gale.RequestCtx) { ctx.Response.Header.SetBytesV("X-Path", ctx.Path()) })
		},
		"panic":   func(ctx *gale.RequestCtx) { panic(gale.ErrAbortHandler) },
		"timeout": func(ctx *gale.RequestCtx) { ctx.TimeoutError("late") },
	} {
		for _, h2 := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/h2=%v", name, h2), func(t *testing.T) {
				var detached *gale.RequestCtx
				var was string
				var value counter
				quit, looked := make(chan struct{}), make(chan error, 1)
				s := httptest.NewUnstartedServer(NewHTTPHandler(func(ctx *gale.RequestCtx) {
					if string(ctx.Path()) != "/alice0001" {
						ctx.SetUserValue("user", "mallet999")
						return
					}
					ctx.SetUserValue("user", "alice0001")
					ctx.SetUserValue("value", &value)
					if name == "body" {
						ctx.PostBody()
					}
					was = look(ctx)
					detached = ctx.Detach()
					go func() {
						for {
							if got := look(detached); got != was {
								looked <- fmt.Errorf("%q became %q", was, got)
								return
							}
							select {
							case <-quit:
								looked <- nil
								return
							default:
							}
						}
					}()
					rest(ctx)
				}))
				s.Config.ErrorLog = nil
				s.EnableHTTP2 = h2
				if h2 {
					s.StartTLS()
				} else {
					s.Start()
				}
				defer s.Close()
				ask := func(user string) (string, error) {
					r, err := http.NewRequest("POST", s.URL+"/"+user+"?user="+user, strings.NewReader("body"))
					if err != nil {
						t.Fatal(err)
					}
					r.Header.Set("X-User", user)
					resp, err := s.Client().Do(r)
					if err != nil {
						return "", err
					}
					defer resp.Body.Close()
					b, err := io.ReadAll(resp.Body)
					return string(b), err
				}
				body, err := ask("alice0001")
				if (err != nil) != (name == "panic") {
					t.Error(body, err)
				}
				for range 30 {
					if _, err := ask("mallet999"); err != nil {
						t.Error(err)
					}
				}
				<-detached.Done()
				close(quit)
				if err := <-looked; err != nil {
					t.Error(err)
				}
				if value != 0 {
					t.Errorf("the user value was closed %d times", value)
				}
				if name == "timeout" {
					return
				}
				if context.Cause(detached) != gale.ErrRequestDone {
					t.Errorf("the cause is %v", context.Cause(detached))
				}
				if err := detached.Flush(); !errors.Is(err, gale.ErrRequestDone) {
					t.Errorf("Flush: %v", err)
				}
				switch b, err := detached.PostBody(), detached.Request.BodyError(); {
				case name == "body" && (string(b) != "body" || err != nil), name != "body" && !errors.Is(err, gale.ErrRequestDone):
					t.Errorf("the body is %q, %v", b, err)
				}
			})
		}
	}
}

// counter counts how often it is closed.
type counter int

func (c *counter) Close() error { *c++; return nil }

// The request of a detached context is the program's: the server must not look at it when it asks
// for a handover. The race detector sees it.
func TestDetachedHandover(t *testing.T) {
	stop, stopped := make(chan struct{}), make(chan struct{})
	s := httptest.NewServer(NewHTTPHandler(func(ctx *gale.RequestCtx) {
		ctx.Detach()
		ctx.SetStatusCode(gale.StatusSwitchingProtocols)
		ctx.Hijack(func(net.Conn) { t.Error("the program got the connection") })
		ctx.SetStatusCode(gale.StatusForbidden)
		begun := make(chan struct{})
		go func() {
			defer close(stopped)
			for i := 0; ; i++ {
				ctx.Request.Header.SetMethod([...]string{"GET", "CONNECT"}[i%2])
				select {
				case begun <- struct{}{}:
				case <-stop:
					return
				default:
				}
			}
		}()
		<-begun
	}))
	defer s.Close()
	resp, err := http.Get(s.URL)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if resp.StatusCode != http.StatusForbidden {
		t.Errorf("the client got %d", resp.StatusCode)
	}
	close(stop)
	<-stopped
}
