package ws

import (
	"context"
	"encoding/json"
	"errors"
	"io"

	"github.com/galehttp/gale/internal/pool"
	"github.com/galehttp/gale/internal/wsframe"
)

// endedError is the error of calls that write after the end.
type endedError struct{ cause error }

func (e *endedError) Error() string   { return ErrClosed.Error() + ": " + e.cause.Error() }
func (e *endedError) Unwrap() []error { return []error{ErrClosed, e.cause} }

// writable returns why no message can be sent, or nil. mu is held.
func (s *connState) writable() error {
	switch {
	case s.over && errors.Is(s.err, ErrClosed):
		return s.err
	case s.over:
		return &endedError{s.err}
	case s.closeSent:
		return ErrClosed
	}
	return nil
}

// lockMessage takes wire when a message may be sent. of is the channel of the Writer that
// sends, or nil.
func (c *Conn) lockMessage(ctx context.Context, of chan struct{}) error {
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := c.lockWire(ctx); err != nil {
			return err
		}
		c.mu.Lock()
		err := c.state.writable()
		stream := c.state.stream
		if err == nil && stream == of {
			c.mu.Unlock()
			return nil
		}
		ended := c.endedLocked()
		c.mu.Unlock()
		c.unlockWire()
		switch {
		case err != nil:
			return err
		case of != nil:
			return ErrClosed // this Writer was closed
		}
		select {
		case <-stream:
		case <-ended: // the next round finds out why
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// Write sends a message, and returns when the operating system has taken it. data belongs to
// the caller again when it returns. Write doesn't check that text is UTF-8.
func (c *Conn) Write(ctx context.Context, t MessageType, data []byte) error {
	if t != Text && t != Binary {
		return ErrMessageType
	}
	if err := c.lockMessage(ctx, nil); err != nil {
		return err
	}
	err := c.sendMessage(ctx, t, data)
	c.unlockWire()
	return err
}

// sendMessage sends a message, compressed if that is agreed and worth it.
func (c *Conn) sendMessage(ctx context.Context, t MessageType, data []byte) error {
	if !c.compresses(len(data)) {
		return c.send(ctx, wsframe.Opcode(t), true, false, data)
	}
	b := pool.Get(len(data)/2 + 64)
	b.B = c.zip.deflater.Append(b.B, data)
	err := c.send(ctx, wsframe.Opcode(t), true, true, b.B)
	pool.Put(b)
	return err
}

// compresses reports whether messages of n bytes are compressed.
func (c *Conn) compresses(n int) bool {
	return c.set.compresses(n) && c.zip.deflater.Worth(n)
}

// WritePrepared sends p.
func (c *Conn) WritePrepared(ctx context.Context, p *Prepared) error {
	if err := c.lockMessage(ctx, nil); err != nil {
		return err
	}
	err := c.sendPrepared(ctx, p)
	c.unlockWire()
	return err
}

func (c *Conn) sendPrepared(ctx context.Context, p *Prepared) error {
	if c.keepsSent() && c.compresses(len(p.data)) {
		return c.sendMessage(ctx, p.t, p.data)
	}
	if c.client {
		payload, compressed := c.preparedPayload(p)
		return c.send(ctx, wsframe.Opcode(p.t), true, compressed, payload)
	}
	c.out.wrote = 0
	return c.sent(ctx, c.write(ctx, p.frame(c.set), nil))
}

// preparedPayload returns the payload of p for a connection that doesn't keep its window.
func (c *Conn) preparedPayload(p *Prepared) (payload []byte, compressed bool) {
	if c.set.compresses(len(p.data)) {
		if f := p.form(c.set.deflate, c.client, c.set.compression.Level); f.payload != nil {
			return f.payload, true
		}
	}
	return p.data, false
}

// publish sends p without waiting for the peer.
func (c *Conn) publish(p *Prepared) error {
	q := queued{}
	switch {
	case c.keepsSent() && c.compresses(len(p.data)):
		// It is compressed when it is sent: only the order of sending is known.
		q = queued{b: p.data, t: p.t}
	case c.client:
		payload, compressed := c.preparedPayload(p)
		q.own = c.newFrame(wsframe.Opcode(p.t), true, compressed, payload)
		q.b = q.own.B
	default:
		q.b = p.frame(c.set) // all share it
	}
	err := c.enqueue(q)
	if err != nil {
		pool.Put(q.own)
	}
	return err
}

// WriteJSON sends v, encoded as JSON, as a text message.
func (c *Conn) WriteJSON(ctx context.Context, v any) error {
	data, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return c.Write(ctx, Text, data)
}

// Writer begins a message that is sent in fragments, one for each Write, and ends with
// Close. Other messages wait until then, so it must be closed. Control frames don't wait.
// The message isn't compressed. ctx applies to all calls of the writer, too.
func (c *Conn) Writer(ctx context.Context, t MessageType) (io.WriteCloser, error) {
	if t != Text && t != Binary {
		return nil, ErrMessageType
	}
	if err := c.lockMessage(ctx, nil); err != nil {
		return nil, err
	}
	w := &messageWriter{c: c, ctx: ctx, op: wsframe.Opcode(t), done: make(chan struct{})}
	c.mu.Lock()
	c.state.stream = w.done
	c.mu.Unlock()
	c.unlockWire()
	return w, nil
}

// messageWriter sends one message in fragments.
type messageWriter struct {
	c    *Conn
	ctx  context.Context
	op   wsframe.Opcode // of the next fragment
	done chan struct{}  // closed when the message has ended
}

// Write sends p as a fragment. p belongs to the caller again when it returns. Without bytes
// it does nothing.
func (w *messageWriter) Write(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	if err := w.send(false, p); err != nil {
		return 0, err
	}
	return len(p), nil
}

// Close sends the last fragment. It returns ErrClosed at a second call. With an error, the
// WebSocket is closed, because its message can't be ended.
func (w *messageWriter) Close() error {
	err := w.send(true, nil)
	c := w.c
	c.mu.Lock()
	if c.state.stream != w.done {
		c.mu.Unlock()
		return ErrClosed
	}
	c.state.stream = nil
	close(w.done)
	c.mu.Unlock()
	if err != nil {
		_ = c.end(err)
	}
	c.kick()
	return err
}

func (w *messageWriter) send(fin bool, p []byte) error {
	c := w.c
	if err := c.lockMessage(w.ctx, w.done); err != nil {
		return err
	}
	err := c.send(w.ctx, w.op, fin, false, p)
	if err == nil {
		w.op = wsframe.Continuation
	}
	c.unlockWire()
	return err
}
