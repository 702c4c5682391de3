package adaptor

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/galehttp/gale"
	"github.com/galehttp/gale/internal/race"
	"github.com/galehttp/gale/tests/harness/await"
)

// foreign is a context of another package, which package context watches with a
// goroutine.
type foreign struct{ context.Context }

func (foreign) Value(any) any { return nil }

type valueKey struct{}

// kept are contexts that outlive their request.
type kept struct {
	user    string
	parent  context.Context
	derived []context.Context // with user values
	blind   context.Context   // made from a foreign one
	ran     atomic.Int32      // functions of context.AfterFunc
	cancel  []context.CancelFunc
}

func keep(ctx context.Context, user string) *kept {
	k := &kept{user: user, parent: ctx}
	add := func(c context.Context, cancel context.CancelFunc) {
		k.derived, k.cancel = append(k.derived, c), append(k.cancel, cancel)
		context.AfterFunc(c, func() { k.ran.Add(1) })
	}
	c, cancel := context.WithCancel(ctx)
	add(c, cancel)
	c, cancel = context.WithTimeout(ctx, time.Hour)
	add(c, cancel)
	c, cancel = context.WithCancel(context.WithValue(c, valueKey{}, "b"))
	add(c, cancel)
	k.blind, cancel = context.WithTimeout(foreign{ctx}, time.Hour)
	k.cancel = append(k.cancel, cancel)
	return k
}

// check waits until the contexts have ended, and asks them.
func (k *kept) check(cause error) error {
	<-k.blind.Done()
	if k.blind.Err() != context.Canceled {
		return fmt.Errorf("a context made from a foreign one: %v", k.blind.Err())
	}
	for i, c := range append([]context.Context{k.parent}, k.derived...) {
		<-c.Done()
		if c.Err() != context.Canceled || context.Cause(c) != cause {
			return fmt.Errorf("context %d: %v, cause %v, want %v", i, c.Err(), context.Cause(c), cause)
		}
		if v := c.Value("user"); v != k.user {
			return fmt.Errorf("context %d: the user of %s is %v", i, k.user, v)
		}
	}
	return nil
}

// ask has a goroutine ask the contexts all the time, until stop is called.
func (k *kept) ask() (stop func() error) {
	quit, err := make(chan struct{}), make(chan error, 1)
	go func() {
		for {
			select {
			case <-quit:
				err <- nil
				return
			default:
				runtime.Gosched()
			}
			for _, c := range append([]context.Context{k.parent}, k.derived...) {
				_, _ = c.Deadline()
				select {
				case <-c.Done():
					if c.Err() == nil {
						err <- errors.New("Done is closed and Err is nil")
						return
					}
				default:
				}
				if v := c.Value("user"); v != k.user {
					err <- fmt.Errorf("the user of %s is %v", k.user, v)
					return
				}
			}
		}
	}()
	return func() error { close(quit); return <-err }
}

type closeCounter struct{ n atomic.Int32 }

func (c *closeCounter) Close() error { c.n.Add(1); return nil }

// What is derived from the context of a Gale handler on a net/http server stays
// that of its request.
func TestKeptContextsOnNetHTTP(t *testing.T) {
	for _, tt := range []struct {
		name   string
		h      gale.RequestHandler
		cause  error
		leave  bool
		broken bool
	}{
		{name: "returned", cause: gale.ErrRequestDone},
		{name: "client gone", cause: context.Canceled, leave: true, broken: true, h: func(ctx *gale.RequestCtx) { <-ctx.Done() }},
		{name: "TimeoutError", cause: gale.ErrRequestDone, h: func(ctx *gale.RequestCtx) { ctx.TimeoutError("late") }},
		{name: "panic", cause: gale.ErrRequestDone, broken: true, h: func(*gale.RequestCtx) { panic(gale.ErrAbortHandler) }},
		{name: "hijack", cause: gale.ErrRequestDone, broken: true, h: func(ctx *gale.RequestCtx) { ctx.Hijack(func(net.Conn) {}) }},
		{name: "stream", cause: gale.ErrRequestDone, h: func(ctx *gale.RequestCtx) {
			ctx.SetBodyStreamWriter(func(w *bufio.Writer) { io.WriteString(w, "ab") })
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var value closeCounter
			ready := make(chan *kept, 1)
			ln := onNetHTTP(t, NewHTTPHandler(func(ctx *gale.RequestCtx) {
				if string(ctx.Path()) != "/keep" {
					ctx.SetUserValue("user", "mallory")
					return
				}
				ctx.SetUserValue("user", "alice")
				ctx.SetUserValue("closer", &value)
				ready <- keep(ctx, "alice")
				if tt.h != nil {
					tt.h(ctx)
				}
			}))
			c := dial(t, ln)
			c.send(get("/keep"))
			k := <-ready
			stop := k.ask()
			if tt.leave {
				c.Close()
			}
			if tt.broken {
				io.Copy(io.Discard, c.br)
			} else {
				c.read("GET")
			}
			other := dial(t, ln)
			for range 20 {
				other.send(get("/"))
				other.read("GET")
			}
			if err := stop(); err != nil {
				t.Error("while others were served:", err)
			}
			if err := k.check(tt.cause); err != nil {
				t.Error("after the request:", err)
			}
			await.Until(t, "functions of AfterFunc", func() bool { return k.ran.Load() == 3 })
			for _, cancel := range k.cancel {
				cancel()
			}
			if err := k.check(tt.cause); err != nil {
				t.Error("after the cancel functions:", err)
			}
			if tt.name == "TimeoutError" {
				return // its values are those of others
			}
			await.Until(t, "the user value to be closed", func() bool { return value.n.Load() > 0 })
			if n := value.n.Load(); n != 1 {
				t.Errorf("the user value was closed %d times", n)
			}
		})
	}
}

// TimeoutHandler ends the context of a Gale handler on a net/http server.
func TestTimeoutCauseOnNetHTTP(t *testing.T) {
	for _, early := range []bool{false, true} {
		causes := make(chan error, 1)
		h := NewHTTPHandler(gale.TimeoutHandler(func(ctx *gale.RequestCtx) {
			if early {
				<-ctx.Done()
			}
			for ctx.LastTimeoutErrorResponse() == nil {
				time.Sleep(time.Millisecond) // between two looks
			}
			<-ctx.Done()
			causes <- context.Cause(ctx.Context())
		}, 5*time.Millisecond, "late"))
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest("GET", "/", nil))
		if err := <-causes; err != gale.ErrTimeout || w.Code != gale.StatusRequestTimeout {
			t.Errorf("asked early %t: the cause is %v, status %d", early, err, w.Code)
		}
	}
}

// A RequestCtx that was asked for Done or Err is not used again.
func TestContextsUsedAgainOnNetHTTP(t *testing.T) {
	if race.Enabled {
		t.Skip("with the race detector none is used again")
	}
	for name, tt := range map[string]struct {
		ask   func(ctx *gale.RequestCtx)
		again bool
	}{
		"nothing":    {func(ctx *gale.RequestCtx) { ctx.Value("a"); ctx.Deadline() }, true},
		"Context":    {func(ctx *gale.RequestCtx) { ctx.Context() }, true},
		"Done":       {func(ctx *gale.RequestCtx) { ctx.Done() }, false},
		"Err":        {func(ctx *gale.RequestCtx) { _ = ctx.Err() }, false},
		"WithCancel": {func(ctx *gale.RequestCtx) { _, cancel := context.WithCancel(ctx); cancel() }, false},
	} {
		var all []*gale.RequestCtx
		h := NewHTTPHandler(func(ctx *gale.RequestCtx) {
			all = append(all, ctx)
			tt.ask(ctx)
		})
		different := make(map[*gale.RequestCtx]bool)
		const n = 50
		for range n {
			h.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest("GET", "/", nil))
		}
		for _, ctx := range all {
			different[ctx] = true
		}
		if again := len(different) < n; again != tt.again {
			t.Errorf("%s: %d requests had %d contexts", name, n, len(different))
		}
	}
}

// onEngines serves h on each engine, over TCP.
func onEngines(t *testing.T, s func() *gale.Server, f func(t *testing.T, addr string)) {
	for _, e := range []gale.Engine{gale.EngineBlock, gale.EngineEvent} {
		if e == gale.EngineEvent && runtime.GOOS != "linux" {
			continue
		}
		t.Run(e.String(), func(t *testing.T) {
			ln, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			s := s()
			s.Engine, s.Logger = e, &quiet{}
			var wg sync.WaitGroup
			wg.Go(func() { s.Serve(ln) })
			defer wg.Wait()
			defer s.Close()
			f(t, ln.Addr().String())
		})
	}
}

// The context that a net/http handler gets stays right for all who keep it.
func TestKeptContextsOnGale(t *testing.T) {
	type key struct{}
	for _, tt := range []struct {
		name   string
		h      http.HandlerFunc
		cause  error
		leave  bool
		broken bool
		late   bool // it is asked after the handler only
		time   time.Duration
	}{
		{name: "returned", cause: gale.ErrRequestDone},
		{name: "late", cause: gale.ErrRequestDone, late: true},
		{name: "client gone", cause: gale.ErrClientGone, leave: true, broken: true,
			h: func(w http.ResponseWriter, r *http.Request) { <-r.Context().Done() }},
		{name: "panic", cause: gale.ErrRequestDone, broken: true, h: func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }},
		{name: "timed out", cause: gale.ErrTimeout, time: 10 * time.Millisecond,
			h: func(w http.ResponseWriter, r *http.Request) { <-r.Context().Done() }},
		{name: "hijacked", cause: gale.ErrRequestDone, broken: true, h: func(w http.ResponseWriter, r *http.Request) {
			c, _, err := http.NewResponseController(w).Hijack()
			if err != nil {
				panic(err)
			}
			if r.Context().Err() != nil {
				panic("it has ended while the handler runs")
			}
			c.Close()
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			ready := make(chan *kept, 1)
			h := NewFastHTTPHandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path != "/keep" {
					return
				}
				k := &kept{user: "alice", parent: r.Context()}
				if !tt.late {
					k = keep(r.Context(), "alice")
				}
				ready <- k
				if tt.h != nil {
					tt.h(w, r)
				}
			})
			if tt.time > 0 {
				h = gale.TimeoutHandler(h, tt.time, "late")
			}
			onEngines(t, func() *gale.Server {
				return &gale.Server{
					Handler: func(ctx *gale.RequestCtx) {
						user := "mallory"
						if string(ctx.Path()) == "/keep" {
							user = "alice"
						}
						ctx.SetUserValue("user", user)
						h(ctx)
					},
					ConnContext: func(ctx context.Context, c net.Conn) context.Context {
						return context.WithValue(ctx, key{}, c.RemoteAddr().String())
					},
				}
			}, func(t *testing.T, addr string) {
				connect := func() *client {
					c, err := net.Dial("tcp", addr)
					if err != nil {
						t.Fatal(err)
					}
					t.Cleanup(func() { c.Close() })
					return &client{c, t, bufio.NewReader(c)}
				}
				c := connect()
				c.send(get("/keep"))
				k := <-ready
				stop := func() error { return nil }
				if !tt.late {
					stop = k.ask()
				}
				if tt.leave {
					c.Close()
				}
				if tt.broken {
					io.Copy(io.Discard, c.br)
				} else {
					c.read("GET")
				}
				other := connect()
				for range 20 {
					other.send(get("/"))
					other.read("GET")
				}
				if err := stop(); err != nil {
					t.Error("while others were served:", err)
				}
				if tt.late {
					k = keep(k.parent, k.user)
				}
				if err := k.check(tt.cause); err != nil {
					t.Error("after the request:", err)
				}
				for _, c := range append([]context.Context{k.parent}, k.derived...) {
					if v := c.Value(key{}); v != c.Value(key{}) || v != k.parent.Value(key{}) || v == nil {
						t.Errorf("the connection's value is %v", v)
					}
					if a, ok := c.Value(http.LocalAddrContextKey).(net.Addr); !ok || a.String() != addr {
						t.Errorf("the local address is %v, want %s", a, addr)
					}
				}
				for _, cancel := range k.cancel {
					cancel()
				}
			})
		})
	}
}

// Both adapters together, with pipelined requests, under load.
func TestDerivedContextsThroughBothAdaptors(t *testing.T) {
	h := NewFastHTTPHandler(NewHTTPHandler(func(ctx *gale.RequestCtx) {
		c, cancel := context.WithTimeout(foreign{ctx}, time.Minute)
		defer cancel()
		d, cancel := context.WithTimeout(ctx, time.Minute)
		defer cancel()
		if c.Err() != nil || d.Err() != nil {
			ctx.SetStatusCode(503)
		}
	}))
	onEngines(t, func() *gale.Server { return &gale.Server{Handler: h} }, func(t *testing.T, addr string) {
		nc, err := net.Dial("tcp", addr)
		if err != nil {
			t.Fatal(err)
		}
		defer nc.Close()
		c := &client{nc, t, bufio.NewReader(nc)}
		for range race.Fewer(500) {
			for range 8 {
				c.send(get("/"))
			}
			for range 8 {
				if a := c.read("GET"); a.Status != 200 {
					t.Fatal(a)
				}
			}
		}
	})
}
