package adaptor

import (
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/galehttp/gale"
)

// doneCloser tells that it was closed, and then calls end.
type doneCloser struct {
	io.Reader
	closed chan string
	name   string
	end    func()
}

func (c doneCloser) Close() error {
	c.closed <- c.name
	if c.end != nil {
		c.end()
	}
	return nil
}

// A function of AfterSend, or a closer, that panics or ends its goroutine leaves nothing half done on
// a net/http server: Done is closed, and all that the request holds, once.
func TestUserCodeThatDoesntReturn(t *testing.T) {
	late := gale.TimeoutHandler(func(ctx *gale.RequestCtx) { <-ctx.Done() }, time.Millisecond, "late")
	for what, end := range map[string]func(){"panic": func() { panic(gale.ErrAbortHandler) }, "Goexit": runtime.Goexit} {
		for name, tt := range map[string]struct {
			closes int // how many closers are called
			handle func(ctx *gale.RequestCtx, closer func(name string, end func()) doneCloser)
		}{
			"AfterSend": {1, func(ctx *gale.RequestCtx, closer func(string, func()) doneCloser) {
				ctx.SetUserValue("a", closer("a", nil))
				ctx.AfterSend(func(int64, error) { end() })
			}},
			"AfterSend, stream": {2, func(ctx *gale.RequestCtx, closer func(string, func()) doneCloser) {
				ctx.SetUserValue("a", closer("a", nil))
				ctx.SetBodyStream(closer("stream", nil), -1)
				ctx.AfterSend(func(int64, error) { end() })
			}},
			"AfterSend, timeout": {1, func(ctx *gale.RequestCtx, closer func(string, func()) doneCloser) {
				ctx.SetUserValue("a", closer("a", nil))
				ctx.AfterSend(func(int64, error) { end() })
				late(ctx)
			}},
			"closers": {4, func(ctx *gale.RequestCtx, closer func(string, func()) doneCloser) {
				ctx.SetUserValue("a", closer("a", nil))
				ctx.SetUserValue("b", closer("b", end))
				ctx.SetUserValue("c", closer("c", nil))
				ctx.SetBodyStream(closer("stream", nil), -1)
				panic(gale.ErrAbortHandler)
			}},
			"a closed stream": {3, func(ctx *gale.RequestCtx, closer func(string, func()) doneCloser) {
				ctx.SetUserValue("a", closer("a", end))
				ctx.SetUserValue("b", closer("b", end))
				ctx.SetBodyStream(closer("stream", end), -1)
			}},
		} {
			t.Run(name+"/"+what, func(t *testing.T) {
				closed := make(chan string, 10)
				done := make(chan (<-chan struct{}), 1)
				s := httptest.NewUnstartedServer(NewHTTPHandler(func(ctx *gale.RequestCtx) {
					done <- ctx.Done()
					tt.handle(ctx, func(name string, end func()) doneCloser {
						return doneCloser{strings.NewReader("hello"), closed, name, end}
					})
				}))
				s.Config.ErrorLog = log.New(io.Discard, "", 0)
				s.Start()
				defer s.Close()
				if resp, err := (&http.Client{Timeout: time.Minute}).Get(s.URL); err == nil {
					_, _ = io.Copy(io.Discard, resp.Body)
					resp.Body.Close()
				}
				limit := time.After(time.Minute)
				select {
				case <-<-done:
				case <-limit:
					t.Fatal("Done isn't closed")
				}
				names := map[string]bool{}
				for range tt.closes {
					select {
					case name := <-closed:
						if names[name] {
							t.Errorf("%s was closed twice", name)
						}
						names[name] = true
					case <-limit:
						t.Fatalf("only %v were closed", names)
					}
				}
				s.Close() // it waits for the request
				if len(closed) > 0 {
					t.Errorf("%s was closed, too", <-closed)
				}
			})
		}
	}
}
