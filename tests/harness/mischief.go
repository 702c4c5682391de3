package harness

import (
	"net"
	"sync/atomic"
	"testing"
	"time"

	"github.com/galehttp/gale"
	"github.com/galehttp/gale/tests/harness/await"
	"github.com/galehttp/gale/tests/harness/peers"
)

// Mischief is a user's function that misbehaves once after it was armed.
type Mischief struct {
	Armed atomic.Bool
	Done  chan struct{}
	how   func()

	watches atomic.Bool
	Told    atomic.Int32           // calls of what watch has set
	ends    chan (<-chan struct{}) // a Done that must be closed
}

// Watch sets two functions that must be called even if another one doesn't return.
func (m *Mischief) Watch(ctx *gale.RequestCtx) {
	if m.Armed.Load() {
		m.watches.Store(true)
		ctx.AfterSend(func(int64, error) { m.Told.Add(1) })
		ctx.SetUserValue("other", peers.CloserFunc(func() error { m.Told.Add(1); return nil }))
	}
}

// WatchDone makes the test wait for Done.
func (m *Mischief) WatchDone(ctx *gale.RequestCtx) {
	if m.Armed.Load() {
		m.ends <- ctx.Done()
	}
}

func NewMischief(how func()) *Mischief {
	return &Mischief{Done: make(chan struct{}), how: how, ends: make(chan (<-chan struct{}), 1)}
}

func (m *Mischief) Now() {
	if m.Armed.CompareAndSwap(true, false) {
		defer close(m.Done)
		m.how()
	}
}

// BadLogger is a Logger that misbehaves.
type BadLogger struct{ M *Mischief }

func (l BadLogger) Printf(string, ...any) { l.M.Now() }

// WantEnded waits until the request that is watched has ended.
func (m *Mischief) WantEnded(t *testing.T) {
	t.Helper()
	await.Until(t, "the other functions and closers", func() bool { return !m.watches.Load() || m.Told.Load() >= 2 })
	select {
	case done := <-m.ends:
		select {
		case <-done:
		case <-time.After(30 * time.Second):
			t.Error("Done isn't closed")
		}
	default:
	}
}

// BadConn is a connection one of whose methods misbehaves.
type BadConn struct {
	net.Conn
	M      *Mischief
	Method string
}

func (c *BadConn) bad(method string) {
	if c.Method == method {
		c.M.Now()
	}
}

func (c *BadConn) Read(p []byte) (int, error)  { c.bad("Read"); return c.Conn.Read(p) }
func (c *BadConn) Write(p []byte) (int, error) { c.bad("Write"); return c.Conn.Write(p) }
func (c *BadConn) Close() error {
	defer c.Conn.Close()
	c.bad("Close")
	return nil
}
func (c *BadConn) RemoteAddr() net.Addr { c.bad("RemoteAddr"); return c.Conn.RemoteAddr() }
func (c *BadConn) LocalAddr() net.Addr  { c.bad("LocalAddr"); return c.Conn.LocalAddr() }
func (c *BadConn) SetDeadline(t time.Time) error {
	c.bad("SetDeadline")
	return c.Conn.SetDeadline(t)
}
func (c *BadConn) SetReadDeadline(t time.Time) error {
	c.bad("SetReadDeadline")
	return c.Conn.SetReadDeadline(t)
}
func (c *BadConn) SetWriteDeadline(t time.Time) error {
	c.bad("SetWriteDeadline")
	return c.Conn.SetWriteDeadline(t)
}

// AfterMischief checks that the client can still be used, and leaves nothing.
func AfterMischief(t *testing.T, c *gale.HostClient) {
	t.Helper()
	var resp gale.Response
	var req gale.Request
	req.SetRequestURI("http://h/next")
	c.Transport, c.Trace = nil, nil
	if err := c.DoTimeout(&req, &resp, time.Minute); err != nil || string(resp.Body()) != "GET /next " {
		t.Errorf("the next call: %q, %v", resp.Body(), err)
	}
	if n := c.PendingRequests(); n != 0 {
		t.Errorf("%d requests are pending", n)
	}
	c.CloseIdleConnections()
	if st := c.PoolStats(); st.Open != 0 {
		t.Errorf("%d connections are left over", st.Open)
	}
}
