package server

import (
	"bytes"
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/galehttp/gale"
	"github.com/galehttp/gale/internal/door"
	"github.com/galehttp/gale/tests/harness"
	"github.com/galehttp/gale/tests/harness/peers"
)

type (
	ctxKey  struct{ n int }
	ctxName string
)

// Context has the user values of the moment of its call. A later call returns the newer
// ones, and the same context if nothing has changed.
func TestContextHasUserValues(t *testing.T) {
	peers.UsedAgain(t)
	peers.OnEngines(t, func(t *testing.T, e gale.Engine) {
		type taken struct {
			c    context.Context
			want map[any]any
		}
		var all []taken
		base := func(ctx context.Context, _ net.Conn) context.Context {
			return context.WithValue(context.WithValue(ctx, ctxKey{9}, "conn"), ctxKey{1}, "hidden")
		}
		ts := harness.Start(t, &gale.Server{Engine: e, ConnContext: base}, func(ctx *gale.RequestCtx) {
			if string(ctx.Path()) != "/alice" {
				ctx.SetUserValue("name", "mallet")
				ctx.SetUserValue(ctxKey{1}, "mallet")
				_ = ctx.Context()
				return
			}
			take := func(want map[any]any) context.Context {
				want[ctxKey{9}] = "conn"
				c := ctx.Context()
				if again := ctx.Context(); again != c {
					t.Errorf("two calls return %v and %v", c, again)
				}
				all = append(all, taken{c, want})
				return c
			}
			none := take(map[any]any{ctxKey{1}: "hidden", "name": nil})
			ctx.SetUserValue("name", "alice")
			first := take(map[any]any{ctxKey{1}: "hidden", "name": "alice", ctxName("name"): nil})
			ctx.SetUserValueBytes([]byte("bytes"), 1)
			ctx.SetUserValue([]byte("more"), 2)
			ctx.SetUserValue(ctxKey{1}, "shown")
			ctx.SetUserValue(7, []int{1})
			take(map[any]any{ctxKey{1}: "shown", "name": "alice", "bytes": 1, "more": 2})
			ctx.SetUserValue("name", "bob")
			take(map[any]any{"name": "bob", "bytes": 1})
			ctx.RemoveUserValue("name")
			ctx.RemoveUserValueBytes([]byte("bytes"))
			take(map[any]any{"name": nil, "bytes": nil, "more": 2})
			if c := ctx.Context(); c.Value([]byte("more")) != 2 {
				t.Errorf("a []byte key: %v", c.Value([]byte("more")))
			}
			ctx.ResetUserValues()
			last := take(map[any]any{ctxKey{1}: "hidden", "name": nil, "more": nil})
			if last != none || first == none {
				t.Errorf("contexts without values: %v %v; with one: %v", none, last, first)
			}
		})
		c := ts.Dial()
		c.Send(peers.Get("/alice") + strings.Repeat(peers.Get("/mallet"), 20))
		for range 21 {
			c.Want("GET", 200, "")
		}
		for i, at := range all {
			for key, want := range at.want {
				if got := at.c.Value(key); got != want {
					t.Errorf("%d: %#v has %v, want %v", i, key, got, want)
				}
			}
			if at.c.Err() == nil || context.Cause(at.c) != gale.ErrRequestDone {
				t.Errorf("%d: %v, cause %v", i, at.c.Err(), context.Cause(at.c))
			}
		}
	})
}

// What a service derives from Context for databases, calls and logs ends with the request,
// with its cause, knows the user values, and needs no goroutine.
func TestContextForServices(t *testing.T) {
	peers.UsedAgain(t)
	var errLate = errors.New("the connection's time is over")
	for _, tt := range []struct {
		name  string
		conn  func(ctx context.Context, _ net.Conn) context.Context // of Server.ConnContext
		end   func(ts *harness.Server, c *peers.Conn)
		cause error
		err   error
	}{
		{name: "answered", end: func(*harness.Server, *peers.Conn) {}, cause: gale.ErrRequestDone, err: context.Canceled},
		{name: "client", end: func(_ *harness.Server, c *peers.Conn) {
			c.Conn.(*net.TCPConn).SetLinger(0)
			c.Close()
		}, cause: gale.ErrClientGone, err: context.Canceled},
		{name: "shutdown", end: func(ts *harness.Server, _ *peers.Conn) { go ts.S.Shutdown() }, cause: context.Canceled, err: context.Canceled},
		{name: "deadline", conn: func(ctx context.Context, _ net.Conn) context.Context {
			ctx, cancel := context.WithTimeoutCause(ctx, 20*time.Millisecond, errLate)
			t.Cleanup(cancel)
			return ctx
		}, end: func(*harness.Server, *peers.Conn) {}, cause: errLate, err: context.DeadlineExceeded},
	} {
		t.Run(tt.name, func(t *testing.T) {
			peers.OnEngines(t, func(t *testing.T, e gale.Engine) {
				db := sql.OpenDB(&waitingDriver{})
				defer db.Close()
				var text bytes.Buffer
				logger := slog.New(&valueHandler{slog.NewTextHandler(&text, nil)})
				type result struct {
					what string
					err  error
				}
				results := make(chan result, 10)
				begun := make(chan struct{})
				kept := make(chan context.Context, 1)
				ts := harness.Start(t, &gale.Server{Engine: e, ConnContext: tt.conn}, func(ctx *gale.RequestCtx) {
					ctx.SetUserValue("user", "alice")
					before := runtime.NumGoroutine()
					c := ctx.Context()
					limited, cancel := context.WithTimeout(c, time.Hour)
					group, cancelGroup := context.WithCancelCause(context.WithValue(c, ctxKey{1}, 1)) // as errgroup.WithContext
					free := context.WithoutCancel(c)
					for range 100 {
						_, cancel := context.WithCancel(group)
						defer cancel()
					}
					// The watch of the connection may have one goroutine.
					if n := runtime.NumGoroutine() - before; n > 5 {
						t.Errorf("deriving contexts has started %d goroutines", n)
					}
					context.AfterFunc(limited, func() {
						results <- result{"AfterFunc", context.Cause(limited)}
						cancel()
					})
					ctx.SetUserValue("user", "later")
					go func() {
						_, err := db.QueryContext(limited, "wait")
						results <- result{"QueryContext", err}
					}()
					go func() {
						<-group.Done()
						results <- result{"group", context.Cause(group)}
						cancelGroup(nil)
					}()
					for _, c := range []context.Context{c, limited, group, free} {
						if c.Value("user") != "alice" {
							t.Errorf("%v: the user is %v", c, c.Value("user"))
						}
					}
					if free.Err() != nil || free.Done() != nil {
						t.Error("WithoutCancel ends")
					}
					logger.InfoContext(limited, "hello")
					kept <- c
					close(begun)
					if tt.name != "answered" {
						<-c.Done()
					}
				})
				c := ts.Dial()
				c.Send(peers.Get("/"))
				<-begun
				tt.end(ts, c)
				for range 3 {
					r := <-results
					want := tt.cause
					if r.what == "QueryContext" {
						want = tt.err
					}
					if r.err != want {
						t.Errorf("%s ended with %v, want %v", r.what, r.err, want)
					}
				}
				if c := <-kept; c.Err() != tt.err || context.Cause(c) != tt.cause || c.Value("user") != "alice" {
					t.Errorf("the context: %v, cause %v, user %v", c.Err(), context.Cause(c), c.Value("user"))
				}
				if s := text.String(); !strings.Contains(s, "msg=hello user=alice") {
					t.Errorf("the log is %q", s)
				}
			})
		})
	}
}

// valueHandler logs the user of the context.
type valueHandler struct{ slog.Handler }

func (h *valueHandler) Handle(ctx context.Context, r slog.Record) error {
	r.Add("user", ctx.Value("user"))
	return h.Handler.Handle(ctx, r)
}

// waitingDriver is a database whose queries last until their contexts end.
type waitingDriver struct{}

func (d *waitingDriver) Connect(context.Context) (driver.Conn, error) { return d, nil }
func (d *waitingDriver) Driver() driver.Driver                        { return nil }
func (d *waitingDriver) Prepare(string) (driver.Stmt, error)          { return nil, io.EOF }
func (d *waitingDriver) Begin() (driver.Tx, error)                    { return nil, io.EOF }
func (d *waitingDriver) Close() error                                 { return nil }

func (d *waitingDriver) QueryContext(ctx context.Context, _ string, _ []driver.NamedValue) (driver.Rows, error) {
	if ctx.Value("user") != "alice" {
		return nil, fmt.Errorf("the user is %v", ctx.Value("user"))
	}
	<-ctx.Done()
	return nil, ctx.Err()
}

// A context can be printed, whatever its values are.
func TestContextIsPrinted(t *testing.T) {
	var ctx gale.RequestCtx
	ctx.Init(nil, nil, nil)
	ctx.SetUserValue("a", func() {})
	c, cancel := context.WithCancel(ctx.Context())
	defer cancel()
	if s := fmt.Sprint(c); s != "gale.RequestCtx.Context.WithCancel" {
		t.Error(s)
	}
}

// Value only reads: it finds what the program has set, whatever the type of the key, and a call with a
// key of this module's own packages ends nothing and runs nothing.
func TestValueOnlyReads(t *testing.T) {
	type seal struct{ door.Seal }
	keys := []any{
		door.InterimKey{}, door.OnceKey{}, door.WholeKey{}, door.Seal{}, seal{}, door.HijackOf(0), door.HijackTunnel,
		http.ServerContextKey, http.LocalAddrContextKey, "name", ctxKey{1}, 7, &ctxKey{2},
	}
	base := func(ctx context.Context, _ net.Conn) context.Context {
		for _, key := range keys {
			ctx = context.WithValue(ctx, key, "of the connection")
		}
		return ctx
	}
	peers.EachProtocol(t, func(t *testing.T, way harness.H2Way, major int) {
		ran := make(chan string, 10)
		hs := way.Start(t, &gale.Server{ConnContext: base, Handler: func(ctx *gale.RequestCtx) {
			ctx.BeforeSend(func(*gale.RequestCtx) { ran <- "BeforeSend" })
			ctx.AfterSend(func(_ int64, err error) { ran <- fmt.Sprint("AfterSend ", err) })
			for _, key := range keys {
				if v := ctx.Value(key); v != "of the connection" {
					t.Errorf("Value(%T) is %v, want the connection's value", key, v)
				}
				ctx.SetUserValue(key, "own")
				if v := ctx.Value(key); v != "own" {
					t.Errorf("Value(%T) is %v, want what the handler has set", key, v)
				}
			}
			if err := ctx.Err(); err != nil || len(ran) > 0 {
				t.Errorf("after the calls of Value Err is %v, and %d functions have run", err, len(ran))
			}
			ctx.SetBodyString("whole")
		}})
		resp, err := hs.Client(major).Get(hs.URL("/"))
		if err != nil {
			t.Fatalf("the request has failed: %v", err)
		}
		defer resp.Body.Close()
		if body, err := io.ReadAll(resp.Body); resp.StatusCode != 200 || string(body) != "whole" || err != nil {
			t.Errorf("the client got %d %q, %v", resp.StatusCode, body, err)
		}
		for _, want := range []string{"BeforeSend", "AfterSend <nil>"} {
			if got := <-ran; got != want {
				t.Errorf("%s ran, want %s", got, want)
			}
		}
	})
}
