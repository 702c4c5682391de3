package ws

import (
	"context"
	"fmt"
	"time"

	"github.com/galehttp/gale/internal/clock"
	"github.com/galehttp/gale/internal/pool"
	"github.com/galehttp/gale/internal/wsframe"
)

// How a Conn writes. The holder of wire calls these functions.

const (
	// copyLimit is the size in bytes up to which a payload is copied so that its frame is
	// sent by one system call.
	copyLimit = 32 << 10
	// plainChunk is how many bytes are given at once to a connection that isn't a socket.
	// WriteTimeout limits the time for each.
	plainChunk = 16 << 10
	// plainWait is how long a write to a connection that isn't a socket takes at least if it had
	// to wait for the peer. It can't be seen in another way.
	plainWait = time.Millisecond
)

// errWriteTimeout is the reason for the end of a Conn whose peer doesn't read.
var errWriteTimeout error = &timeoutError{"ws: the peer took nothing within WriteTimeout"}

// connOutput is the output of a Conn while wire is locked.
type connOutput struct {
	c       *Conn
	onWrite func(fd uintptr) bool
	cur     queued // of a queue, perhaps sent in part

	// The current write.
	ctx   context.Context
	a, b  []byte // what is left to write
	once  bool   // it doesn't wait
	full  bool   // it had to wait: what is written next is room that the peer made
	moved bool   // something was written since due was set
	wrote int    // bytes of the message
	err   error  // of the connection
	stop  error  // why the write must not wait

	due   clock.Tick // when the peer must have taken something; 0: not set
	armed clock.Tick // the deadline of the socket that is set; 0 is none
}

var outputs pool.Pool // of *connOutput

// begin makes the output for the call that has locked wire.
func (c *Conn) beginOutput() {
	o, _ := outputs.Get().(*connOutput)
	if o == nil {
		o = new(connOutput)
		o.onWrite = o.writable // made once: a method value allocates
	}
	o.c = c
	c.out = o
}

// endOutput ends the output before wire is unlocked. Nothing is being sent.
func (c *Conn) endOutput() {
	o := c.out
	c.out = nil
	*o = connOutput{onWrite: o.onWrite}
	outputs.Put(o)
}

// lockWire locks wire.
func (c *Conn) lockWire(ctx context.Context) error {
	if err := c.wire.lock(ctx); err != nil {
		// It may have been locked for this call and unlocked again: see turn.leave. What other
		// calls have queued meanwhile must be sent.
		c.kick()
		return err
	}
	c.beginOutput()
	return nil
}

// send sends a frame with the given payload. If its context ends before a byte is
// written, nothing is lost, otherwise the WebSocket ends.
func (c *Conn) send(ctx context.Context, op wsframe.Opcode, fin, compressed bool, payload []byte) error {
	c.out.wrote = 0
	if len(payload) <= copyLimit {
		b := c.newFrame(op, fin, compressed, payload)
		err := c.write(ctx, b.B, nil)
		pool.Put(b)
		return c.sent(ctx, err)
	}
	h := wsframe.Header{Fin: fin, Op: op, Length: int64(len(payload))}
	if compressed {
		h.Rsv = wsframe.Rsv1
	}
	if c.client {
		return c.sent(ctx, c.sendMasked(ctx, h, payload))
	}
	b := pool.Get(wsframe.MaxHeader)
	b.B = wsframe.AppendHeader(b.B, h)
	err := c.write(ctx, b.B, payload)
	pool.Put(b)
	return c.sent(ctx, err)
}

// sendMasked sends a large frame, masked piece by piece.
func (c *Conn) sendMasked(ctx context.Context, h wsframe.Header, payload []byte) error {
	h.Masked, h.Key = true, newMask()
	b := pool.Get(wsframe.MaxHeader + copyLimit)
	defer pool.Put(b)
	b.B = wsframe.AppendHeader(b.B, h)
	for at := 0; at < len(payload); {
		start := len(b.B)
		b.B = append(b.B, payload[at:min(at+copyLimit, len(payload))]...)
		piece := b.B[start:]
		wsframe.Mask(piece, h.Key, at)
		if err := c.write(ctx, b.B, nil); err != nil {
			return err
		}
		at += len(piece)
		b.B = b.B[:0]
	}
	return nil
}

// sent returns the error of a call for an error of write. Unless the peer got nothing, the
// WebSocket ends.
func (c *Conn) sent(ctx context.Context, err error) error {
	if err == nil {
		return nil
	}
	if end := ctx.Err(); end != nil {
		if c.out.wrote == 0 && c.raw != nil && !c.keepsSent() {
			return end
		}
		return c.end(fmt.Errorf("ws: the connection was closed, because a message was sent only in part: %w", end))
	}
	return c.lostWriting(ctx, err)
}

// keepsSent reports whether messages refer to earlier ones, so that none can be left out.
func (c *Conn) keepsSent() bool {
	d := &c.set.deflate
	return d.On && (c.client && !d.ClientNoTakeover || !c.client && !d.ServerNoTakeover)
}

// write writes a and then b.
func (c *Conn) write(ctx context.Context, a, b []byte) (err error) {
	o := c.out
	o.ctx = ctx
	if c.raw != nil {
		err = c.writeRaw(a, b)
	} else if err = c.writePlain(a); err == nil {
		err = c.writePlain(b)
	}
	c.writeWatch.end()
	if c.raw == nil && ctx.Err() != nil { // pokeWrites may have been called
		_ = c.nc.SetWriteDeadline(time.Time{})
		c.writeUntil = 0
	}
	o.ctx = nil
	return err
}

// writeRaw writes to a socket.
func (c *Conn) writeRaw(a, b []byte) (err error) {
	o := c.out
	o.a, o.b, o.due = a, b, 0
	defer o.forget()
	for strays := 0; ; strays++ {
		o.err, o.stop = nil, nil
		if err = c.raw.Write(o.onWrite); err == nil {
			err = o.err
		}
		switch {
		case o.stop != nil:
			err = o.stop
		case err != nil && isTimeout(err) && strays < maxStrays:
			if err = c.mayWaitToWrite(true); err == nil {
				continue
			}
		}
		break
	}
	if o.armed != 0 {
		_ = c.nc.SetWriteDeadline(time.Time{})
		o.armed = 0
	}
	return err
}

// taken notes that the peer has made room for a write that had to wait. What is still in the
// buffers of both sides may take about as long as the peer has been making room.
func (c *Conn) taken(now clock.Tick) {
	idle := c.set.idleTimeout
	if c.takes == 0 || now >= clock.Tick(c.took.Load()).Add(idle) {
		c.takes = now
	}
	c.took.Store(int64(now.Add(min(time.Duration(now-c.takes), idle))))
}

// tryRaw writes what the socket takes now. It returns how many bytes that were.
func (c *Conn) tryRaw(b []byte) (n int, err error) {
	o := c.out
	o.a, o.once = b, true
	defer o.forget()
	for range 2 {
		o.err, o.stop = nil, nil
		if err = c.raw.Write(o.onWrite); err == nil {
			err = o.err
		}
		if err == nil || !isTimeout(err) {
			break
		}
		_ = c.nc.SetWriteDeadline(time.Time{}) // an old one
	}
	return len(b) - len(o.a), err
}

func (o *connOutput) forget() { o.a, o.b, o.once, o.full = nil, nil, false, false }

// mayWaitToWrite sets the deadline of a wait for room in a socket's buffer. It returns why
// the write must not wait, if there is a reason. stale says that the deadline that is set
// has passed.
func (c *Conn) mayWaitToWrite(stale bool) error {
	o := c.out
	o.full = true
	if limit := c.set.writeTimeout; limit > 0 {
		now := clock.Ticks()
		if o.moved || o.due == 0 {
			o.moved, o.due = false, now.Add(limit)
		}
		if now >= o.due {
			return errWriteTimeout
		}
	}
	if stale || o.due != o.armed {
		_ = c.nc.SetWriteDeadline(o.due.Time())
		o.armed = o.due
	}
	c.watchWrite()
	return o.ctx.Err()
}

// watchWrite makes the end of the context end the write.
func (c *Conn) watchWrite() {
	if ctx := c.out.ctx; ctx.Done() != nil {
		watching(&c.writeWatch).begin(ctx, c, (*Conn).pokeWrites)
	}
}

// writePlain writes to a connection that isn't a socket. After a deadline has passed, such
// a connection may be useless, so none may pass by mistake.
func (c *Conn) writePlain(b []byte) error {
	o := c.out
	for len(b) > 0 {
		chunk := b[:min(len(b), plainChunk)]
		now := clock.Ticks()
		if limit := c.set.writeTimeout; limit > 0 {
			if c.writeUntil < now.Add(limit) {
				c.writeUntil = now.Add(limit).Add(limit / 2)
				_ = c.nc.SetWriteDeadline(c.writeUntil.Time())
			}
		}
		c.watchWrite()
		if err := o.ctx.Err(); err != nil {
			return err
		}
		n, err := c.nc.Write(chunk)
		o.wrote += n
		if end := clock.Ticks(); n > 0 && end >= now.Add(plainWait) {
			c.taken(end)
		}
		if err != nil {
			if isTimeout(err) && o.ctx.Err() == nil {
				err = errWriteTimeout
			}
			return err
		}
		b = b[n:]
	}
	return nil
}
