package ws

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"sync"
	"time"
)

// NetConn returns a net.Conn for protocols that want a stream of bytes: each Write sends a
// message of type t, and Read reads the data of messages, one after the other. A message of
// another type closes the WebSocket with StatusUnsupportedData. A close frame with
// StatusNormal or StatusGoingAway is io.EOF. When ctx ends, all calls return its error.
//
// Close does the closing handshake with StatusNormal. Deadlines may be changed while calls
// run. When one has passed, Read can be used further; a Write of which the peer has got a
// part has closed the WebSocket. Several goroutines may read, but must not use Conn.Read and
// the like at the same time.
func (c *Conn) NetConn(ctx context.Context, t MessageType) net.Conn {
	n := &netConn{c: c, t: t, life: ctx}
	n.readEnd.life, n.writeEnd.life = ctx, ctx
	return n
}

// netConn is a Conn as a net.Conn.
type netConn struct {
	c    *Conn
	t    MessageType
	life context.Context

	readEnd, writeEnd deadline

	mu  sync.Mutex // held while a call reads
	r   io.Reader  // of the current message, or nil
	err error      // of all further reads
}

// Read reads from the messages.
func (n *netConn) Read(p []byte) (int, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for {
		if n.err != nil || len(p) == 0 {
			return 0, n.err
		}
		k, err := n.readSome(p)
		if k > 0 || err != nil {
			return k, err
		}
	}
}

// readSome reads from the current message. It returns 0 at its end.
func (n *netConn) readSome(p []byte) (int, error) {
	ctx, stop := n.readEnd.context()
	defer stop()
	if n.r == nil {
		t, r, err := n.c.Reader(ctx)
		if err != nil {
			return 0, n.failed(err)
		}
		if t != n.t {
			n.err = &CloseError{Code: StatusUnsupportedData, Reason: "unexpected type of message", Local: true}
			go n.c.Close(StatusUnsupportedData, "unexpected type of message")
			return 0, n.err
		}
		n.r = r
	}
	n.r.(*messageReader).ctx = ctx
	k, err := n.r.Read(p)
	if err == io.EOF {
		n.r, err = nil, nil
	}
	if err != nil {
		err = n.failed(err)
	}
	return k, err
}

// failed returns the error of a Read for an error of the Conn.
func (n *netConn) failed(err error) error {
	var ce *CloseError
	switch {
	case errors.As(err, &ce) && !ce.Local && (ce.Code == StatusNormal || ce.Code == StatusGoingAway):
		n.err = io.EOF
		return io.EOF
	case errors.Is(err, context.DeadlineExceeded) && n.life.Err() == nil:
		return os.ErrDeadlineExceeded
	}
	return err
}

// Write sends p as a message.
func (n *netConn) Write(p []byte) (int, error) {
	ctx, stop := n.writeEnd.context()
	defer stop()
	if err := n.c.Write(ctx, n.t, p); err != nil {
		if errors.Is(err, context.DeadlineExceeded) && n.life.Err() == nil {
			err = os.ErrDeadlineExceeded
		}
		return 0, err
	}
	return len(p), nil
}

// Close closes the WebSocket with StatusNormal.
func (n *netConn) Close() error { return n.c.Close(StatusNormal, "") }

// LocalAddr returns the address of this side.
func (n *netConn) LocalAddr() net.Addr { return n.c.LocalAddr() }

// RemoteAddr returns the address of the peer.
func (n *netConn) RemoteAddr() net.Addr { return n.c.RemoteAddr() }

// SetDeadline sets both deadlines.
func (n *netConn) SetDeadline(t time.Time) error {
	n.readEnd.set(t)
	n.writeEnd.set(t)
	return nil
}

// SetReadDeadline sets the deadline of reads.
func (n *netConn) SetReadDeadline(t time.Time) error {
	n.readEnd.set(t)
	return nil
}

// SetWriteDeadline sets the deadline of writes.
func (n *netConn) SetWriteDeadline(t time.Time) error {
	n.writeEnd.set(t)
	return nil
}

// deadline ends the contexts of calls at a time that can be changed while they run.
type deadline struct {
	life context.Context

	mu    sync.Mutex
	at    time.Time
	timer *time.Timer
	calls map[*deadlineCall]struct{} // those that run
}

// deadlineCall is the context of a call.
type deadlineCall struct {
	context.Context
	cancel context.CancelCauseFunc
}

// Err returns context.DeadlineExceeded after the deadline.
func (d *deadlineCall) Err() error {
	err := d.Context.Err()
	if err != nil && context.Cause(d.Context) == context.DeadlineExceeded {
		return context.DeadlineExceeded
	}
	return err
}

// context returns a context for a call, and what must be called at its end.
func (d *deadline) context() (ctx context.Context, stop func()) {
	c := new(deadlineCall)
	c.Context, c.cancel = context.WithCancelCause(d.life)
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.calls == nil {
		d.calls = make(map[*deadlineCall]struct{})
	}
	d.calls[c] = struct{}{}
	if !d.at.IsZero() && !time.Now().Before(d.at) {
		c.cancel(context.DeadlineExceeded)
	}
	return c, func() {
		d.mu.Lock()
		delete(d.calls, c)
		d.mu.Unlock()
		c.cancel(nil)
	}
}

// set changes the deadline.
func (d *deadline) set(t time.Time) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.at = t
	if d.timer != nil {
		d.timer.Stop()
		d.timer = nil
	}
	if t.IsZero() {
		return
	}
	if left := time.Until(t); left > 0 {
		d.timer = time.AfterFunc(left, func() { d.passed(t) })
		return
	}
	d.cancelLocked()
}

// passed ends the calls if t is still the deadline.
func (d *deadline) passed(t time.Time) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.at.Equal(t) {
		d.cancelLocked()
	}
}

func (d *deadline) cancelLocked() {
	for c := range d.calls {
		c.cancel(context.DeadlineExceeded)
	}
}
