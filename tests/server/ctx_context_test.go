package server

import (
	"bufio"
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/galehttp/gale"
	"github.com/galehttp/gale/internal/race"
	"github.com/galehttp/gale/tests/harness"
	"github.com/galehttp/gale/tests/harness/await"
	"github.com/galehttp/gale/tests/harness/peers"
)

// A derivation is a way to derive a context from that of a request.
type derivation struct {
	name   string
	derive func(ctx *gale.RequestCtx) (context.Context, func())
	// detached contexts don't end with the request. bare ones don't have its user values.
	// blind ones don't even know why it ended.
	detached, bare, blind bool
}

// embedding is the context of a framework that has its own values and no others.
type embedding struct {
	*gale.RequestCtx
	values map[any]any
}

func (c *embedding) Value(key any) any { return c.values[key] }

// wrapping is the context of a framework that looks up values in the user values.
type wrapping struct{ ctx *gale.RequestCtx }

func (c wrapping) Deadline() (time.Time, bool) { return c.ctx.Deadline() }
func (c wrapping) Done() <-chan struct{}       { return c.ctx.Done() }
func (c wrapping) Err() error                  { return c.ctx.Err() }
func (c wrapping) Value(key any) any           { return c.ctx.UserValue(key) }

var derivations = []derivation{
	{name: "itself", derive: func(ctx *gale.RequestCtx) (context.Context, func()) { _ = ctx.Done(); return ctx, nop }},
	{name: "Context", derive: func(ctx *gale.RequestCtx) (context.Context, func()) { return ctx.Context(), nop }},
	{name: "WithCancel", derive: func(ctx *gale.RequestCtx) (context.Context, func()) {
		c, cancel := context.WithCancel(ctx)
		return c, cancel
	}},
	{name: "WithCancelCause", derive: func(ctx *gale.RequestCtx) (context.Context, func()) {
		c, cancel := context.WithCancelCause(ctx)
		return c, func() { cancel(nil) }
	}},
	{name: "WithTimeout", derive: func(ctx *gale.RequestCtx) (context.Context, func()) {
		c, cancel := context.WithTimeout(ctx, time.Hour)
		return c, cancel
	}},
	{name: "WithDeadline", derive: func(ctx *gale.RequestCtx) (context.Context, func()) {
		c, cancel := context.WithDeadline(ctx, time.Now().Add(time.Hour))
		return c, cancel
	}},
	{name: "nested", derive: func(ctx *gale.RequestCtx) (context.Context, func()) {
		c, cancel := context.WithCancel(context.WithValue(ctx, valueKey{}, "b"))
		c, cancelOuter := context.WithTimeout(c, time.Hour)
		return c, func() { cancelOuter(); cancel() }
	}},
	{name: "WithoutCancel", detached: true, derive: func(ctx *gale.RequestCtx) (context.Context, func()) {
		return context.WithoutCancel(ctx), nop
	}},
	{name: "WithCancel of Context", derive: func(ctx *gale.RequestCtx) (context.Context, func()) {
		c, cancel := context.WithCancel(ctx.Context())
		return c, cancel
	}},
	{name: "embedded", bare: true, blind: true, derive: func(ctx *gale.RequestCtx) (context.Context, func()) {
		c, cancel := context.WithCancel(&embedding{RequestCtx: ctx})
		return c, cancel
	}},
	{name: "wrapped", derive: func(ctx *gale.RequestCtx) (context.Context, func()) {
		c, cancel := context.WithTimeout(wrapping{ctx}, time.Hour)
		return c, cancel
	}},
	{name: "group", derive: func(ctx *gale.RequestCtx) (context.Context, func()) { // as errgroup.WithContext
		c, cancel := context.WithCancelCause(ctx)
		go func() { <-c.Done() }()
		return c, func() { cancel(nil) }
	}},
}

func nop() {}

type valueKey struct{}

// kept holds contexts that were derived in a request and are used after it.
type kept struct {
	ctx    *gale.RequestCtx
	user   string
	done   <-chan struct{}
	all    []context.Context
	ran    atomic.Int32 // functions of context.AfterFunc
	cancel []func()
}

// keep derives contexts in every way. A handler calls it.
func keep(ctx *gale.RequestCtx, user string) *kept {
	k := &kept{ctx: ctx, user: user}
	ctx.SetUserValue("user", user)
	for _, d := range derivations {
		c, cancel := d.derive(ctx)
		k.all, k.cancel = append(k.all, c), append(k.cancel, cancel)
		if !d.detached {
			context.AfterFunc(c, func() { k.ran.Add(1) })
		}
	}
	k.done = ctx.Done()
	return k
}

// check calls all methods of the contexts that may be called at any time. If ended is
// true, the request has ended because of cause.
func (k *kept) check(ended bool, cause error) error {
	for i, d := range derivations {
		c := k.all[i]
		if got := c.Value("user"); !d.bare && got != k.user {
			return fmt.Errorf("%s: the user of %s is %v", d.name, k.user, got)
		}
		if _, ok := c.Deadline(); ok && !strings.Contains("WithTimeout WithDeadline nested wrapped", d.name) {
			return fmt.Errorf("%s: there is a deadline", d.name)
		}
		if d.detached {
			if c.Err() != nil || c.Done() != nil {
				return fmt.Errorf("%s: it ended: %v", d.name, c.Err())
			}
			continue
		}
		if ended && i > 0 { // package context closes their Done one after another
			select {
			case <-c.Done():
			case <-time.After(30 * time.Second):
			}
		}
		select {
		case <-c.Done():
			if c.Err() != context.Canceled {
				return fmt.Errorf("%s: Done is closed and Err is %v", d.name, c.Err())
			}
		default:
			if ended {
				return fmt.Errorf("%s: Done isn't closed", d.name)
			}
		}
		cause := cause
		if d.blind {
			cause = context.Canceled
		}
		if got := context.Cause(c); ended && got != cause {
			return fmt.Errorf("%s: the cause is %v, want %v", d.name, got, cause)
		}
		late, cancel := context.WithCancel(c)
		if ended && context.Cause(late) != cause {
			cancel()
			return fmt.Errorf("%s: the cause in what is derived late is %v, want %v", d.name, context.Cause(late), cause)
		}
		cancel()
	}
	if k.ctx.Done() != k.done || k.ctx.UserValue("user") != k.user {
		return errors.New("the context serves another request")
	}
	return nil
}

// watchKept starts goroutines that call k.check all the time. stop ends them and returns
// their errors.
func watchKept(k *kept) (stop func() error) {
	quit, errs := make(chan struct{}), make(chan error, 2)
	for range 2 {
		go func() {
			for {
				select {
				case <-quit:
					errs <- nil
					return
				default:
				}
				if err := k.check(false, nil); err != nil {
					errs <- err
					return
				}
				runtime.Gosched()
			}
		}()
	}
	return func() error {
		close(quit)
		return errors.Join(<-errs, <-errs)
	}
}

// closeCounter is a user value and a body stream.
type closeCounter struct{ n atomic.Int32 }

func (c *closeCounter) Read([]byte) (int, error) { return 0, io.EOF }
func (c *closeCounter) Close() error             { c.n.Add(1); return nil }

// TestKeptContexts derives contexts in every way in requests that end in every way, and
// uses them during and after the request, while others are served.
func TestKeptContexts(t *testing.T) {
	peers.UsedAgain(t)
	for _, tt := range []struct {
		name    string
		handler func(ctx *gale.RequestCtx)                    // the rest of the handler
		client  func(ts *harness.Server, c *peers.Conn)       // once the contexts are kept
		wrap    func(gale.RequestHandler) gale.RequestHandler // a wrapper around the handler
		cause   error
		broken  bool // the connection can't be used any more
		over    bool // the server has shut down
	}{
		{name: "returned", cause: gale.ErrRequestDone},
		{name: "flushed", cause: gale.ErrRequestDone, handler: func(ctx *gale.RequestCtx) {
			ctx.WriteString("a")
			ctx.Flush()
			ctx.WriteString("b")
		}},
		{name: "stream", cause: gale.ErrRequestDone, handler: func(ctx *gale.RequestCtx) {
			ctx.SetBodyStreamWriter(func(w *bufio.Writer) { w.WriteString("ab") })
		}},
		{name: "client gone", cause: gale.ErrClientGone, broken: true, handler: func(ctx *gale.RequestCtx) { <-ctx.Done() },
			client: func(ts *harness.Server, c *peers.Conn) { c.Close() }},
		{name: "reset", cause: gale.ErrClientGone, broken: true, handler: func(ctx *gale.RequestCtx) { <-ctx.Done() },
			client: func(ts *harness.Server, c *peers.Conn) {
				c.Conn.(*net.TCPConn).SetLinger(0)
				c.Close()
			}},
		{name: "timed out", cause: gale.ErrTimeout, handler: func(ctx *gale.RequestCtx) { <-ctx.Done() },
			wrap: func(h gale.RequestHandler) gale.RequestHandler {
				return gale.TimeoutHandler(h, 20*time.Millisecond, "late")
			}},
		{name: "TimeoutError", cause: gale.ErrRequestDone, handler: func(ctx *gale.RequestCtx) { ctx.TimeoutError("late") }},
		{name: "shutdown", cause: context.Canceled, broken: true, over: true, handler: func(ctx *gale.RequestCtx) { <-ctx.Done() },
			client: func(ts *harness.Server, c *peers.Conn) { go ts.S.Shutdown() }},
		{name: "panic", cause: gale.ErrRequestDone, broken: true, handler: func(ctx *gale.RequestCtx) { panic("on purpose") }},
		{name: "abort", cause: gale.ErrRequestDone, broken: true, handler: func(ctx *gale.RequestCtx) { panic(gale.ErrAbortHandler) }},
		{name: "goexit", cause: gale.ErrRequestDone, broken: true, handler: func(ctx *gale.RequestCtx) { runtime.Goexit() }},
		{name: "hijack", cause: gale.ErrRequestDone, broken: true, handler: func(ctx *gale.RequestCtx) {
			ctx.Hijack(func(c net.Conn) {})
		}},
		{name: "HijackNow", cause: gale.ErrRequestDone, broken: true, handler: func(ctx *gale.RequestCtx) {
			c, err := ctx.HijackNow()
			if err != nil {
				panic(err)
			}
			if ctx.Err() != nil {
				panic("ended while the handler runs")
			}
			c.Close()
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			peers.OnEngines(t, func(t *testing.T, e gale.Engine) {
				ready := make(chan *kept, 1)
				inner := func(ctx *gale.RequestCtx) {
					ready <- keep(ctx, "alice")
					if tt.handler != nil {
						tt.handler(ctx)
					}
				}
				var value closeCounter
				s := &gale.Server{Engine: e, Handler: func(ctx *gale.RequestCtx) {
					if string(ctx.Path()) != "/keep" {
						ctx.SetUserValue("user", "mallory")
						return
					}
					ctx.SetUserValue("closer", &value)
					h := gale.RequestHandler(inner)
					if tt.wrap != nil {
						h = tt.wrap(h)
					}
					h(ctx)
				}}
				ts := harness.Start(t, s, nil)
				c := ts.Dial()
				c.Send(peers.Get("/keep"))
				k := <-ready
				stop := watchKept(k)
				if tt.client != nil {
					tt.client(ts, c)
				}
				<-k.done
				if tt.broken {
					c.Close()
				} else if _, err := http.ReadResponse(c.Br, nil); err != nil {
					t.Fatal(err)
				}
				if !tt.over {
					other := ts.Dial()
					for range 20 { // they use the memory that the first one left
						other.Send(peers.Get("/") + peers.Get("/"))
						other.Want("GET", 200, "")
						other.Want("GET", 200, "")
					}
					other.Close()
				}
				if err := stop(); err != nil {
					t.Error("while others were served:", err)
				}
				if err := k.check(true, tt.cause); err != nil {
					t.Error("after the request:", err)
				}
				if got := context.Cause(k.ctx.Context()); got != tt.cause {
					t.Errorf("the cause is %v, want %v", got, tt.cause)
				}
				await.Until(t, "functions of AfterFunc", func() bool { return int(k.ran.Load()) == len(derivations)-1 })
				for _, cancel := range k.cancel {
					cancel()
				}
				if err := k.check(true, tt.cause); err != nil {
					t.Error("after the cancel functions:", err)
				}
				if tt.name != "TimeoutError" { // its context is left to other goroutines, with its values
					await.Until(t, "the user value to be closed", func() bool { return value.n.Load() > 0 })
				}
				peers.WantNoWaiters(t, s)
				c.Close()
				await.Until(t, "the connections to end", func() bool { return s.GetOpenConnectionsCount() == 0 })
				if n := value.n.Load(); n > 1 {
					t.Errorf("a user value was closed %d times", n)
				}
			})
		})
	}
}

// Pipelined requests have a context each.
func TestKeptContextsOfPipelinedRequests(t *testing.T) {
	peers.UsedAgain(t)
	peers.OnEngines(t, func(t *testing.T, e gale.Engine) {
		const n = 16
		all := make(chan *kept, n)
		ts := harness.Start(t, &gale.Server{Engine: e}, func(ctx *gale.RequestCtx) {
			all <- keep(ctx, string(ctx.Path()))
			ctx.Write(ctx.Path())
		})
		c := ts.Dial()
		var b strings.Builder
		for i := range n {
			b.WriteString(peers.Get(fmt.Sprintf("/%d", i)))
		}
		c.Send(b.String())
		for i := range n {
			c.Want("GET", 200, fmt.Sprintf("/%d", i))
		}
		for i := range n {
			k := <-all
			if want := fmt.Sprintf("/%d", i); k.user != want {
				t.Errorf("got %s, want %s", k.user, want)
			}
			if err := k.check(true, gale.ErrRequestDone); err != nil {
				t.Error(err)
			}
		}
		peers.WantNoWaiters(t, ts.S)
	})
}

// If a context has a foreign type as its parent, a goroutine of package context watches
// that, and calls Done and Err when it gets to run. It panics if Done is closed and Err
// is nil.
func TestDerivedContextsUnderLoad(t *testing.T) {
	peers.UsedAgain(t)
	peers.OnEngines(t, func(t *testing.T, e gale.Engine) {
		ts := harness.Start(t, &gale.Server{Engine: e}, func(ctx *gale.RequestCtx) {
			c, cancel := context.WithTimeout(&embedding{RequestCtx: ctx}, time.Minute)
			defer cancel()
			c2, cancel := context.WithTimeout(ctx, time.Minute)
			defer cancel()
			if c.Err() != nil || c2.Err() != nil {
				ctx.SetStatusCode(503)
			}
		})
		c := ts.Dial()
		batch := strings.Repeat(peers.Get("/"), 8)
		for range race.Fewer(2000) {
			c.Send(batch)
			for range 8 {
				c.Want("GET", 200, "")
			}
		}
		peers.WantNoWaiters(t, ts.S)
	})
}

// Methods that are called for the first time after the request return a result and start
// nothing.
func TestContextAskedLate(t *testing.T) {
	peers.UsedAgain(t)
	for _, tt := range []struct {
		name    string
		handler func(ctx *gale.RequestCtx)
		cause   error
		broken  bool
	}{
		{name: "returned", cause: gale.ErrRequestDone, handler: func(*gale.RequestCtx) {}},
		{name: "panic", cause: gale.ErrRequestDone, broken: true, handler: func(*gale.RequestCtx) { panic("on purpose") }},
		{name: "TimeoutError", cause: gale.ErrRequestDone, handler: func(ctx *gale.RequestCtx) { ctx.TimeoutError("") }},
		{name: "timed out", cause: gale.ErrTimeout, handler: gale.TimeoutHandler(func(ctx *gale.RequestCtx) {
			for ctx.LastTimeoutErrorResponse() == nil {
				time.Sleep(time.Millisecond) // between two looks
			}
		}, time.Millisecond, "")},
		{name: "HijackNow", cause: gale.ErrRequestDone, broken: true, handler: func(ctx *gale.RequestCtx) {
			c, err := ctx.HijackNow()
			if err != nil {
				panic(err)
			}
			c.Close()
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			peers.OnEngines(t, func(t *testing.T, e gale.Engine) {
				var first *gale.RequestCtx
				done := make(chan struct{}, 1)
				s := &gale.Server{Engine: e, Handler: func(ctx *gale.RequestCtx) {
					if first == nil {
						first = ctx
						tt.handler(ctx)
					}
				}}
				ts := harness.Start(t, s, nil)
				c := ts.Dial()
				c.Send(peers.Get("/"))
				if tt.broken {
					io.Copy(io.Discard, c)
				} else {
					c.Answer("GET")
				}
				close(done)
				c.Close()
				await.Until(t, "the connection to end", func() bool { return s.GetOpenConnectionsCount() == 0 })
				for range 2 {
					select {
					case <-first.Done():
					default:
						t.Fatal("Done isn't closed")
					}
					if err := first.Err(); err != context.Canceled {
						t.Errorf("Err is %v", err)
					}
					if err := context.Cause(first); err != tt.cause || context.Cause(first.Context()) != tt.cause {
						t.Errorf("the cause is %v, want %v", err, tt.cause)
					}
					d, cancel := context.WithCancel(first)
					if d.Err() == nil {
						t.Error("what is derived from it goes on")
					}
					cancel()
				}
				peers.WantNoWaiters(t, s)
				ts.Dial().WantOpen()
			})
		})
	}
}

// Done returns the same channel in a hook that gets the context and in the handler. Nothing watches the
// connection while the server reads the body.
func TestContextOfHooks(t *testing.T) {
	for _, hook := range contextHooks {
		t.Run(hook.name, func(t *testing.T) { testContextOfHook(t, hook.set) })
	}
}

func testContextOfHook(t *testing.T, set func(s *gale.Server, hook func(ctx *gale.RequestCtx) int)) {
	peers.UsedAgain(t)
	for _, stream := range []bool{false, true} {
		for _, leave := range []bool{false, true} {
			t.Run(fmt.Sprint("stream ", stream, " leave ", leave), func(t *testing.T) {
				peers.OnEngines(t, func(t *testing.T, e gale.Engine) {
					var derived, foreign context.Context
					var done <-chan struct{}
					got := make(chan error, 1)
					s := &gale.Server{Engine: e, StreamRequestBody: stream,
						Handler: func(ctx *gale.RequestCtx) {
							body := string(ctx.PostBody())
							switch {
							case ctx.Done() != done || derived.Err() != nil || foreign.Err() != nil:
								got <- errors.New("the context ended before the handler")
							case body != "abcd":
								got <- fmt.Errorf("got %q", body)
							default:
								got <- nil
							}
							if leave {
								<-ctx.Done()
							}
						}}
					set(s, func(ctx *gale.RequestCtx) int {
						done = ctx.Done()
						var cancel context.CancelFunc
						derived, cancel = context.WithCancel(ctx)
						t.Cleanup(cancel)
						foreign, cancel = context.WithCancel(&embedding{RequestCtx: ctx})
						t.Cleanup(cancel)
						return gale.StatusContinue
					})
					ts := harness.Start(t, s, nil)
					c := ts.Dial()
					c.Send("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 4\r\nExpect: 100-continue\r\n\r\n")
					line, err := c.Br.ReadString('\n')
					c.Br.ReadString('\n')
					if err != nil || !strings.Contains(line, "100") {
						t.Fatalf("got %q, %v", line, err)
					}
					c.Send("ab")
					c.Send("cd")
					if err := <-got; err != nil {
						t.Fatal(err)
					}
					cause := gale.ErrRequestDone
					if leave {
						c.Close()
						cause = gale.ErrClientGone
					} else {
						c.Want("POST", 200, "")
					}
					<-derived.Done()
					<-foreign.Done()
					if derived.Err() != context.Canceled || context.Cause(derived) != cause || foreign.Err() != context.Canceled {
						t.Errorf("%v, %v; want the cause %v", derived.Err(), context.Cause(derived), cause)
					}
					if !leave {
						c.WantOpen()
					}
					peers.WantNoWaiters(t, s)
				})
			})
		}
	}
}

// If the body never arrives, the context ends with the connection, also for later calls.
func TestContextOfHooksWithoutBody(t *testing.T) {
	for _, hook := range contextHooks {
		t.Run(hook.name, func(t *testing.T) { testContextOfHookWithoutBody(t, hook.set) })
	}
}

func testContextOfHookWithoutBody(t *testing.T, set func(s *gale.Server, hook func(ctx *gale.RequestCtx) int)) {
	peers.UsedAgain(t) // a guard would report the late calls
	for _, late := range []bool{false, true} {
		t.Run(fmt.Sprint("late ", late), func(t *testing.T) {
			peers.OnEngines(t, func(t *testing.T, e gale.Engine) {
				asked := make(chan *gale.RequestCtx, 1)
				s := &gale.Server{Engine: e, Handler: harness.Echo}
				set(s, func(ctx *gale.RequestCtx) int {
					if !late {
						ctx.Done()
					}
					asked <- ctx
					return gale.StatusContinue
				})
				ts := harness.Start(t, s, nil)
				c := ts.Dial()
				c.Send("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 4\r\nExpect: 100-continue\r\n\r\n")
				ctx := <-asked
				c.Br.ReadString('\n') // when the handler has returned
				c.Send("a")
				c.Close()
				await.Until(t, "the connection to end", func() bool { return s.GetOpenConnectionsCount() == 0 })
				<-ctx.Done()
				if ctx.Err() == nil || context.Cause(ctx) != gale.ErrRequestDone {
					t.Errorf("%v, cause %v", ctx.Err(), context.Cause(ctx))
				}
				peers.WantNoWaiters(t, s)
			})
		})
	}
}

// toyDriver is a database whose queries return endless rows.
type toyDriver struct{}

func (toyDriver) Open(string) (driver.Conn, error)             { return toyDriver{}, nil }
func (toyDriver) Prepare(string) (driver.Stmt, error)          { return toyDriver{}, nil }
func (toyDriver) Begin() (driver.Tx, error)                    { return toyDriver{}, nil }
func (toyDriver) Commit() error                                { return nil }
func (toyDriver) Rollback() error                              { return nil }
func (toyDriver) Close() error                                 { return nil }
func (toyDriver) NumInput() int                                { return 0 }
func (toyDriver) Exec([]driver.Value) (driver.Result, error)   { return nil, driver.ErrSkip }
func (toyDriver) Query([]driver.Value) (driver.Rows, error)    { return toyDriver{}, nil }
func (toyDriver) Columns() []string                            { return []string{"n"} }
func (toyDriver) Next(dest []driver.Value) error               { dest[0] = int64(1); return nil }
func (toyDriver) Connect(context.Context) (driver.Conn, error) { return toyDriver{}, nil }
func (toyDriver) Driver() driver.Driver                        { return toyDriver{} }

// Package database/sql closes rows and ends transactions when the context with which they
// were begun ends, and returns its error.
func TestContextOfQueries(t *testing.T) {
	peers.UsedAgain(t)
	peers.OnEngines(t, func(t *testing.T, e gale.Engine) {
		db := sql.OpenDB(toyDriver{})
		defer db.Close()
		var rows []*sql.Rows
		var txs []*sql.Tx
		ts := harness.Start(t, &gale.Server{Engine: e}, func(ctx *gale.RequestCtx) {
			for range 2 {
				r, err := db.QueryContext(ctx, "")
				if err == nil && r.Next() {
					rows = append(rows, r)
				}
				tx, err2 := db.BeginTx(ctx, nil)
				txs = append(txs, tx)
				if err != nil || err2 != nil || len(rows) != len(txs) {
					t.Error(err, err2)
				}
			}
		})
		c := ts.Dial()
		const n = 20
		c.Send(strings.Repeat(peers.Get("/"), n))
		for range n {
			c.Want("GET", 200, "")
		}
		for _, r := range rows {
			for r.Next() { // until database/sql has seen the end
				runtime.Gosched()
			}
			if err := r.Err(); err != context.Canceled {
				t.Errorf("the rows ended with %v", err)
			}
			r.Close()
		}
		for _, tx := range txs {
			await.Until(t, "the transaction to end", func() bool { _, err := tx.Exec(""); return err == sql.ErrTxDone })
			if err := tx.Commit(); err != context.Canceled && err != sql.ErrTxDone {
				t.Errorf("Commit: %v", err)
			}
		}
		peers.WantNoWaiters(t, ts.S)
	})
}

// A context whose Done or Err was called is not used again; others are.
func TestWhichContextsAreUsedAgain(t *testing.T) {
	peers.UsedAgain(t)
	for _, tt := range []struct {
		name  string
		ask   func(ctx *gale.RequestCtx)
		again bool
	}{
		{"nothing", func(ctx *gale.RequestCtx) {}, true},
		{"Value", func(ctx *gale.RequestCtx) { ctx.Value("a"); ctx.Deadline() }, true},
		{"Context", func(ctx *gale.RequestCtx) { ctx.Context() }, true},
		{"WithCancel of Context", func(ctx *gale.RequestCtx) { _, cancel := context.WithCancel(ctx.Context()); cancel() }, true},
		{"Done", func(ctx *gale.RequestCtx) { ctx.Done() }, false},
		{"Err", func(ctx *gale.RequestCtx) { ctx.Err() }, false},
		{"Context and Done", func(ctx *gale.RequestCtx) { ctx.Context(); ctx.Done() }, false},
		{"WithCancel", func(ctx *gale.RequestCtx) { _, cancel := context.WithCancel(ctx); cancel() }, false},
		{"AfterFunc", func(ctx *gale.RequestCtx) { context.AfterFunc(ctx, func() {})() }, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			peers.OnEngines(t, func(t *testing.T, e gale.Engine) {
				var ctxs []*gale.RequestCtx
				ts := harness.Start(t, &gale.Server{Engine: e}, func(ctx *gale.RequestCtx) {
					ctxs = append(ctxs, ctx)
					tt.ask(ctx)
				})
				c := ts.Dial()
				const n = 50
				c.Send(strings.Repeat(peers.Get("/"), n))
				for range n {
					c.Want("GET", 200, "")
				}
				different := make(map[*gale.RequestCtx]bool)
				for _, ctx := range ctxs {
					different[ctx] = true
				}
				if again := len(different) < n; again != tt.again {
					t.Errorf("%d requests had %d contexts", n, len(different))
				}
			})
		})
	}
}

// If a context is not used again, everything else that it holds, except memory, is still
// closed, removed or given back.
func TestHeldContextIsDisposed(t *testing.T) {
	peers.UsedAgain(t)
	peers.OnEngines(t, func(t *testing.T, e gale.Engine) {
		var value, stream closeCounter
		var file string
		ts := harness.Start(t, &gale.Server{Engine: e, StreamRequestBody: true}, func(ctx *gale.RequestCtx) {
			if ctx.IsGet() {
				return
			}
			ctx.Done()
			ctx.SetUserValue("a", &value)
			ctx.SetBodyStream(&stream, 0)
			form, err := ctx.MultipartForm()
			if err != nil {
				t.Error(err)
				return
			}
			f, err := form.File["f"][0].Open()
			if err != nil {
				t.Error(err)
				return
			}
			defer f.Close()
			disk, ok := f.(*os.File)
			if !ok {
				t.Errorf("the part is no file but a %T", f)
				return
			}
			file = disk.Name()
		})
		body := "--b\r\nContent-Disposition: form-data; name=\"f\"; filename=\"f\"\r\n\r\n" + strings.Repeat("x", 20<<20) + "\r\n--b--\r\n"
		c := ts.Dial()
		c.Send(fmt.Sprintf("POST / HTTP/1.1\r\nHost: h\r\nContent-Type: multipart/form-data; boundary=b\r\nContent-Length: %d\r\n\r\n", len(body)))
		c.Send(body)
		c.Want("POST", 200, "")
		c.Send(peers.Get("/"))
		c.Want("GET", 200, "")
		if a, b := value.n.Load(), stream.n.Load(); a != 1 || b != 1 {
			t.Errorf("a user value was closed %d times, a stream %d times", a, b)
		}
		if _, err := os.Stat(file); file == "" || !errors.Is(err, os.ErrNotExist) {
			t.Errorf("the file of a form is still there: %q, %v", file, err)
		}
	})
}

// The context of a request is made from that of its connection.
func TestContextOfConnection(t *testing.T) {
	type key struct{}
	cause := errors.New("the connection's context ended")
	deadline := time.Now().Add(time.Hour)
	peers.OnEngines(t, func(t *testing.T, e gale.Engine) {
		ends := make(chan context.CancelCauseFunc, 1)
		s := &gale.Server{Engine: e, ConnContext: func(ctx context.Context, c net.Conn) context.Context {
			ctx, cancel := context.WithCancelCause(context.WithValue(ctx, key{}, "conn"))
			ends <- cancel
			ctx, stop := context.WithDeadline(ctx, deadline)
			t.Cleanup(stop)
			return ctx
		}}
		var all []context.Context
		ts := harness.Start(t, s, func(ctx *gale.RequestCtx) {
			for range 2 { // before and after Done
				if d, ok := ctx.Deadline(); !ok || !d.Equal(deadline) {
					t.Errorf("Deadline: %v %v", d, ok)
				}
				if v := ctx.Value(key{}); v != "conn" {
					t.Errorf("Value: %v", v)
				}
				ctx.Done()
			}
			if v := ctx.Context().Value(key{}); v != "conn" {
				t.Errorf("Value of Context: %v", v)
			}
			ctx.SetUserValue(key{}, "user")
			if v, w := ctx.Value(key{}), ctx.Context().Value(key{}); v != "user" || w != "user" {
				t.Errorf("Value: %v, of Context %v", v, w)
			}
			derived, cancel := context.WithTimeout(ctx, 2*time.Hour)
			t.Cleanup(cancel)
			all = append(all, ctx, ctx.Context(), derived)
			(<-ends)(cause)
			<-derived.Done()
		})
		c := ts.Dial()
		c.Send(peers.Get("/"))
		c.Want("GET", 200, "")
		for _, c := range all {
			if c.Err() != context.Canceled || context.Cause(c) != cause {
				t.Errorf("%v, cause %v", c.Err(), context.Cause(c))
			}
		}
	})
}

// Contexts without a server never end, until Init makes them contexts of other requests.
func TestContextOfInit(t *testing.T) {
	var zero gale.RequestCtx
	if zero.Err() != nil || zero.Done() == nil || zero.Value("a") != nil {
		t.Error("the zero value's has ended")
	}
	var ctx gale.RequestCtx
	ctx.Init(nil, nil, nil)
	first, cancel := context.WithCancel(&ctx)
	defer cancel()
	if first.Err() != nil {
		t.Error(first.Err())
	}
	ctx.Init(nil, nil, nil)
	if first.Err() == nil || context.Cause(first) != gale.ErrRequestDone {
		t.Errorf("%v, cause %v", first.Err(), context.Cause(first))
	}
	if ctx.Err() != nil {
		t.Error("the next request's has ended")
	}
}

// Package context looks for contexts of its own while the handler sets values.
func TestValueWhileUserValuesAreSet(t *testing.T) {
	ts := harness.Start(t, nil, func(ctx *gale.RequestCtx) {
		c, cancel := context.WithTimeout(ctx, 200*time.Microsecond) // its timer takes it out of ctx
		defer cancel()
		for after := 0; after < 100; { // until some time after the end: the timer leaves the lock before it asks ctx
			for i := range 10 {
				ctx.SetUserValue(i, after)
			}
			ctx.ResetUserValues() // the list changes, and not only its values
			if after > 0 || c.Err() != nil {
				after++
			}
		}
	})
	c := ts.Dial()
	for range 100 {
		c.Send(peers.Get("/"))
		c.Want("GET", 200, "")
	}
}

// Package context adds derived contexts to that of the request without a goroutine for
// each, also for types whose Value looks up user values.
func TestDerivedContextsHaveNoGoroutine(t *testing.T) {
	ts := harness.Start(t, nil, func(ctx *gale.RequestCtx) {
		ctx.Done() // may start a goroutine that watches the connection
		before := runtime.NumGoroutine()
		const n = 200
		for range n / 2 {
			for _, parent := range []context.Context{ctx, wrapping{ctx}} {
				c, cancel := context.WithCancel(parent)
				defer cancel()
				defer context.AfterFunc(c, func() {})()
			}
		}
		if more := runtime.NumGoroutine() - before; more > n/4 {
			t.Errorf("%d goroutines for %d contexts", more, n)
		}
	})
	c := ts.Dial()
	c.Send(peers.Get("/"))
	c.Want("GET", 200, "")
}
