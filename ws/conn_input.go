package ws

import (
	"context"
	"errors"
	"io"
	"net"
	"sync"

	"github.com/galehttp/gale/internal/clock"
	"github.com/galehttp/gale/internal/pool"
)

// How a Conn waits for bytes. The holder of reading calls these functions.

const (
	// readSize is the size of the buffer that a Conn reads into.
	readSize = 4096
	// smallRead is the same for connections that wait with a buffer.
	smallRead = pool.MinSize
	// directRead is how many bytes of a payload must be missing for it to be read straight
	// into the memory of the message.
	directRead = 1024
)

// connInput is the input of a Conn.
type connInput struct {
	buf    *pool.Buf // has the unread bytes; nil if there are none and the Conn waits
	at     int       // buf.B[at:] is unread
	left   int64     // bytes of the current data frame that are still to come
	onRead func(fd uintptr) bool

	// The call that reads.
	ctx   context.Context
	until clock.Tick // when it must end; 0: never

	// The current wait.
	into   []byte // where the next bytes go, if not to buf
	n      int
	err    error      // of the connection, or, if stop is set, why the call must not wait
	since  clock.Tick // when the wait began
	armed  clock.Tick // the deadline that is set; 0 is none
	watch  *ctxWatch
	stop   bool // see err
	pinged bool // a ping was sent during the wait
	yields bool // the call ends if another one waits for reading
}

// errYield says that a call must give up reading, because another one waits for it.
var errYield = errors.New("ws: another call reads")

// errConnIdle is the reason for the end of a Conn whose peer is silent.
var errConnIdle error = &timeoutError{"ws: nothing was received within IdleTimeout"}

// timeoutError is an error whose Timeout method returns true.
type timeoutError struct{ text string }

func (e *timeoutError) Error() string { return e.text }
func (*timeoutError) Timeout() bool   { return true }
func (*timeoutError) Temporary() bool { return false }

// lockReading takes reading.
func (c *Conn) lockReading(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if c.reading.tryLock() {
		c.in.ctx = ctx
		return nil
	}
	c.wanted.Add(1)
	defer c.wanted.Add(-1)
	c.pokeReads()
	if err := c.reading.lock(ctx); err != nil {
		return err
	}
	c.in.ctx = ctx
	return nil
}

// unlockReading gives reading back.
func (c *Conn) unlockReading() {
	in := &c.in
	in.watch.end()
	in.ctx, in.until, in.yields = nil, 0, false
	if c.closing.Load() && c.why() != nil {
		c.freeInput()
	}
	c.reading.unlock()
}

// pokeReads makes the call that waits for bytes look again whether it must end. If none
// waits, the next one sets the deadline anew.
func (c *Conn) pokeReads() {
	c.poked.Add(1) // before the deadline, see fill
	_ = c.nc.SetReadDeadline(clock.LongAgo)
}

// pokeWrites is pokeReads for writes.
func (c *Conn) pokeWrites() { _ = c.nc.SetWriteDeadline(clock.LongAgo) }

// unread returns the bytes that were read from the connection and not parsed.
func (in *connInput) unread() []byte {
	if in.buf == nil {
		return nil
	}
	return in.buf.B[in.at:]
}

// rest gives the buffer back before a wait, or replaces it with a small one if that has room
// for what is unread: the beginning of a frame.
func (in *connInput) rest() {
	b := in.buf
	if b == nil {
		return
	}
	unread := b.B[in.at:]
	if len(unread) > smallRead/2 || len(unread) > 0 && cap(b.B) == smallRead {
		return
	}
	in.buf, in.at = nil, 0
	if len(unread) > 0 {
		in.buf = pool.Get(smallRead)
		in.buf.B = append(in.buf.B, unread...)
	}
	pool.Put(b)
}

// room returns where the next bytes of the connection go.
func (in *connInput) room(size int) []byte {
	b := in.buf
	switch {
	case b == nil:
		b = pool.Get(size)
		in.buf, in.at = b, 0
	case in.at > 0:
		b.B = b.B[:copy(b.B, b.B[in.at:])]
		in.at = 0
	}
	if cap(b.B)-len(b.B) < size/2 {
		b.Grow(size)
	}
	return b.B[len(b.B):cap(b.B)]
}

// fill waits until bytes have arrived and reads them: into the given memory, of which n
// bytes are filled, or into buf if that is empty. An error other than that of the call's
// context, and errYield, has ended the WebSocket.
func (c *Conn) fill(into []byte) (n int, err error) {
	in := &c.in
	in.since, in.pinged = 0, false
	strays, poked, took := 0, c.poked.Load(), c.took.Load()
	for {
		in.into, in.n, in.err, in.stop = into, 0, nil, false
		if c.raw != nil {
			err = c.raw.Read(in.onRead)
		} else {
			err = c.readPlain()
		}
		in.into = nil
		switch {
		case in.stop:
			return 0, in.err
		case err == nil:
			err = in.err
		}
		if err == nil {
			return in.n, nil
		}
		if p, t := c.poked.Load(), c.took.Load(); p != poked || t != took {
			strays, poked, took = 0, p, t // other calls explain it
		}
		if strays++; !isTimeout(err) || strays > maxStrays {
			return 0, c.lost(err)
		}
		if err := c.mayWait(true); err != nil {
			return 0, err
		}
	}
}

// maxStrays is how many timeouts one wait of a connection may have that nothing explains. A connection of
// a program's own may have them without end.
const maxStrays = 1000

// lost ends the WebSocket because the connection is broken.
func (c *Conn) lost(err error) error {
	if err == io.EOF {
		err = errNoCloseFrame
	}
	return c.end(err)
}

// readPlain reads from a connection that isn't a socket.
func (c *Conn) readPlain() error {
	in := &c.in
	if in.err = c.mayWait(false); in.err != nil {
		in.stop = true
		return nil
	}
	room := in.into
	if len(room) == 0 {
		in.rest()
		room = in.room(smallRead)
	}
	for range 100 {
		n, err := c.nc.Read(room)
		if n > 0 {
			in.took(n)
			return nil
		}
		if err != nil {
			return err
		}
	}
	return io.ErrNoProgress
}

// took notes that n bytes were read.
func (in *connInput) took(n int) {
	in.n = n
	if len(in.into) == 0 {
		b := in.buf
		b.B = b.B[:len(b.B)+n]
	}
}

// mayWait sets the deadline of a wait. It returns why the call must not wait, if there is a
// reason. stale says that the deadline that is set has passed.
func (c *Conn) mayWait(stale bool) error {
	in := &c.in
	now := clock.Ticks()
	if in.since == 0 {
		in.since = now
	}
	due, err := c.upkeep(now)
	if err != nil {
		return err
	}
	if in.until != 0 {
		if now >= in.until {
			return context.DeadlineExceeded
		}
		due = clock.Earlier(due, in.until)
	}
	if in.ctx.Done() == nil {
		if end, ok := in.ctx.Deadline(); ok {
			end := clock.TickOf(end)
			if now >= end {
				return context.DeadlineExceeded
			}
			due = clock.Earlier(due, end)
		}
	}
	if stale || due != 0 && (in.armed == 0 || due < in.armed) {
		_ = c.nc.SetReadDeadline(due.Time())
		in.armed = due
	}
	// A context that ends now, or a call that waits now, changes the deadline: look after
	// setting it.
	if in.ctx.Done() != nil {
		watching(&in.watch).begin(in.ctx, c, (*Conn).pokeReads)
	}
	if err := in.ctx.Err(); err != nil {
		return err
	}
	if in.yields && c.wanted.Load() > 0 {
		return errYield
	}
	return nil
}

// upkeep sends a ping or ends the WebSocket if the peer has been silent for long. A peer that
// takes a message isn't idle: it may answer the ping, which is sent after the message, only after
// that. If it takes nothing, IdleTimeout and WriteTimeout count. due is when upkeep must be
// called again; 0 is never.
func (c *Conn) upkeep(now clock.Tick) (due clock.Tick, err error) {
	in := &c.in
	if idle := c.set.idleTimeout; idle > 0 {
		due = max(in.since, clock.Tick(c.took.Load())).Add(idle)
		if now >= due {
			c.set.stats.idleClosed.Add(1)
			return 0, c.end(errConnIdle)
		}
	}
	if ping := c.set.pingInterval; ping > 0 && !in.pinged {
		at := in.since.Add(ping)
		if now < at {
			return clock.Earlier(due, at), nil
		}
		in.pinged = true
		c.sendPing()
	}
	return due, nil
}

// isTimeout reports whether err says that a deadline has passed.
func isTimeout(err error) bool {
	var t net.Error
	return errors.As(err, &t) && t.Timeout()
}

// ctxWatch calls a function when the context of a call ends. If calls use the same context
// again and again, it allocates only for the first ones.
type ctxWatch struct {
	mu   sync.Mutex
	done <-chan struct{} // of the context that is watched
	on   bool            // a call runs
	stop func() bool
	last <-chan struct{} // of the context before
}

// watching returns *w, which it makes if it is nil.
func watching(w **ctxWatch) *ctxWatch {
	if *w == nil {
		*w = new(ctxWatch)
	}
	return *w
}

// begin makes the end of ctx call poke, until end is called.
func (w *ctxWatch) begin(ctx context.Context, c *Conn, poke func(*Conn)) {
	done := ctx.Done()
	if w.on && done == w.done {
		return
	}
	w.mu.Lock()
	same := done == w.done
	w.on, w.done = true, done
	w.mu.Unlock()
	if same {
		return
	}
	if w.stop != nil {
		w.stop()
	}
	w.stop = context.AfterFunc(ctx, func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		if w.on && w.done == done {
			poke(c)
		}
	})
}

// end ends the watch. When it has returned, the function isn't called and doesn't run.
func (w *ctxWatch) end() {
	if w == nil || !w.on {
		return
	}
	w.mu.Lock()
	w.on = false
	w.mu.Unlock()
	if w.done != w.last {
		w.last = w.done
		w.drop()
	}
}

// drop forgets the context.
func (w *ctxWatch) drop() {
	if w == nil || w.stop == nil {
		return
	}
	w.stop()
	w.mu.Lock()
	w.on, w.done, w.stop = false, nil, nil
	w.mu.Unlock()
}
