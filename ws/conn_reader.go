package ws

import (
	"context"
	"errors"
	"io"
	"slices"

	"github.com/galehttp/gale/internal/pool"
)

// Reader waits for the next message and returns a stream of it, which ends with io.EOF.
// The next call of Reader or Read skips the rest of it. ctx applies to all calls of the
// stream, too. A compressed message is inflated when all of it has arrived. The result
// belongs to the caller.
func (c *Conn) Reader(ctx context.Context) (t MessageType, r io.Reader, err error) {
	if err := c.lockReading(ctx); err != nil {
		return 0, nil, err
	}
	defer c.unlockReading()
	if err := c.skipReader(); err != nil {
		return 0, nil, err
	}
	if c.msgs == nil {
		if err := c.why(); err != nil {
			return 0, nil, err
		}
	}
	for c.msgs == nil {
		if err := c.hold(false); err != nil {
			return 0, nil, err
		}
	}
	if c.msgs.held[0].compressed {
		if err := c.inflateFirst(); err != nil {
			return 0, nil, err
		}
	}
	mr := &messageReader{c: c, ctx: ctx}
	c.msgs.reader = mr
	return MessageType(c.msgs.held[0].op), mr, nil
}

// inflateFirst replaces the first message with its inflated form.
func (c *Conn) inflateFirst() error {
	for !c.msgs.held[0].whole {
		if err := c.hold(true); err != nil {
			return err
		}
	}
	h := c.takeHeld()
	plain := pool.Get(2 * len(h.data.B))
	err := c.inflate(plain, h)
	pool.Put(h.data)
	if err != nil {
		pool.Put(plain)
		return err
	}
	h.data, h.compressed = plain, false
	if c.msgs == nil {
		c.addHeld(h)
		return nil
	}
	c.msgs.held = slices.Insert(c.msgs.held, 0, h)
	c.msgs.size += int64(len(plain.B))
	return nil
}

// messageReader reads one message.
type messageReader struct {
	c   *Conn
	ctx context.Context
	err error // io.EOF after the message
}

var errNotCurrent = errors.New("ws: another message is being read already")

// Read reads from the message.
func (r *messageReader) Read(p []byte) (n int, err error) {
	if len(p) == 0 {
		return 0, nil
	}
	c := r.c
	if err := c.lockReading(r.ctx); err != nil {
		return 0, err
	}
	defer c.unlockReading()
	switch {
	case r.err != nil:
		return 0, r.err
	case c.msgs == nil || c.msgs.reader != r:
		if err := c.why(); err != nil {
			return 0, err
		}
		if c.closing.Load() {
			return 0, ErrClosed
		}
		return 0, errNotCurrent
	}
	n, err = c.readHeld(p)
	if err != nil && (err == io.EOF || c.why() != nil) {
		r.err = err
	}
	return n, err
}

// readHeld reads from the first message, of which more may be still to come.
func (c *Conn) readHeld(p []byte) (n int, err error) {
	for {
		h := &c.msgs.held[0]
		if len(h.data.B) > 0 {
			n := c.msgs.take(p)
			c.madeRoom()
			return n, nil
		}
		if h.whole {
			pool.Put(c.takeHeld().data)
			return 0, io.EOF
		}
		if c.direct() && len(p) >= directRead {
			return c.readDirect(p, h)
		}
		if err := c.hold(false); err != nil {
			return 0, err
		}
	}
}

// take reads from the data of the first message.
func (m *connMessages) take(p []byte) int {
	h := &m.held[0]
	n := copy(p, h.data.B[h.read:])
	h.read += n
	m.size -= int64(n)
	if h.read == len(h.data.B) {
		h.data.B, h.read = h.data.B[:0], 0
	}
	return n
}

// skipReader drops what is left of the message that a stream reads.
func (c *Conn) skipReader() error {
	if c.msgs == nil || c.msgs.reader == nil {
		return nil
	}
	for {
		m := c.msgs
		h := &m.held[0]
		m.size -= int64(len(h.data.B) - h.read)
		h.data.B, h.read = h.data.B[:0], 0
		c.madeRoom()
		if h.whole {
			pool.Put(c.takeHeld().data)
			return nil
		}
		if err := c.hold(true); err != nil {
			return err
		}
	}
}
