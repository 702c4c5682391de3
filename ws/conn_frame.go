package ws

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/galehttp/gale/internal/pool"
	"github.com/galehttp/gale/internal/wsframe"
)

// errNoCloseFrame is the reason for the end of a Conn whose peer has ended the connection.
var errNoCloseFrame = fmt.Errorf("ws: the connection ended without a close frame: %w", io.ErrUnexpectedEOF)

// frame receives the next piece of a message, or the next control frame, which it handles.
// f.Payload is valid until the next call. Errors are as for fill. The holder of reading
// calls it.
func (c *Conn) frame(f *wsframe.Frame) error {
	for {
		n, err := c.parser.Next(c.in.unread(), f)
		if err != nil {
			return c.refuse(err)
		}
		c.in.at += n
		switch f.Kind {
		case wsframe.Piece:
			c.in.left = f.Left
			if c.closing.Load() {
				continue // it isn't wanted any more
			}
			if len(f.Payload) == 0 && f.FrameEnd && !(f.First && f.Last) {
				return c.count()
			}
			return nil
		case wsframe.Control:
			return c.control(f)
		}
		if _, err := c.fill(nil); err != nil {
			return err
		}
	}
}

// refuse ends the WebSocket because of an error of package wsframe.
func (c *Conn) refuse(err error) error {
	var e *wsframe.Error
	if !errors.As(err, &e) {
		return c.fail(StatusInternalError, "")
	}
	if e.Code == wsframe.CodeTooBig {
		c.set.stats.tooBig.Add(1)
	}
	return c.fail(StatusCode(e.Code), e.Reason)
}

// count counts a control frame or an empty fragment.
func (c *Conn) count() error {
	if c.meter.take(c.set.maxControl) {
		return nil
	}
	c.set.stats.controlClosed.Add(1)
	return c.fail(StatusPolicy, "too many control frames")
}

// control handles a control frame.
func (c *Conn) control(f *wsframe.Frame) error {
	if f.Op == wsframe.Close {
		code, reason, err := wsframe.ParseClose(f.Payload)
		if err != nil {
			return c.refuse(err)
		}
		return c.peerCloses(code, reason)
	}
	if err := c.count(); err != nil {
		return err
	}
	if f.Op == wsframe.Ping {
		c.sendControl(wsframe.Pong, f.Payload)
	} else {
		c.pong(f.Payload)
	}
	return nil
}

// sendControl sends a ping or a pong. It doesn't wait for the peer. After a close frame it
// does nothing.
func (c *Conn) sendControl(op wsframe.Opcode, payload []byte) {
	b := c.newFrame(op, true, false, payload)
	c.mu.Lock()
	s := &c.state
	// A peer that sends pings and reads nothing gets no more pongs.
	w := s.queue()
	if s.over || s.closeSent || len(w.control) >= maxControlQueue {
		c.mu.Unlock()
		pool.Put(b)
		return
	}
	w.control = append(w.control, queued{b: b.B, own: b})
	c.mu.Unlock()
	c.kick()
}

// maxControlQueue is how many control frames may wait to be sent.
const maxControlQueue = 16

// newFrame returns a whole frame in a buffer of the pool, masked by clients.
func (c *Conn) newFrame(op wsframe.Opcode, fin, compressed bool, payload []byte) *pool.Buf {
	b := pool.Get(len(payload) + wsframe.MaxHeader)
	if c.client {
		b.B = wsframe.AppendMasked(b.B, op, fin, compressed, newMask(), payload)
	} else {
		b.B = wsframe.AppendFrame(b.B, op, fin, compressed, payload)
	}
	return b
}

// connPing is a ping that waits for its pong.
type connPing struct {
	id       uint64
	done     chan struct{} // closed by the pong, and when the WebSocket ends
	answered bool          // guarded by mu of the Conn
	after    *connPing
}

// dropPing removes p from the list of those that wait. mu is held.
func (s *connState) dropPing(p *connPing) {
	for q := &s.pings; *q != nil; q = &(*q).after {
		if *q == p {
			*q = p.after
			return
		}
	}
}

// sendPing sends a ping. No call waits for its pong.
func (c *Conn) sendPing() {
	c.mu.Lock()
	c.state.lastPing++
	id := c.state.lastPing
	c.mu.Unlock()
	c.writePing(id)
}

func (c *Conn) writePing(id uint64) {
	var payload [8]byte
	binary.BigEndian.PutUint64(payload[:], id)
	c.sendControl(wsframe.Ping, payload[:])
}

// pong wakes the calls of Ping that wait for this pong or for earlier ones: a peer may
// answer only the last of several pings (RFC 6455 section 5.5.3).
func (c *Conn) pong(payload []byte) {
	if len(payload) != 8 {
		return
	}
	id := binary.BigEndian.Uint64(payload)
	c.mu.Lock()
	defer c.mu.Unlock()
	s := &c.state
	if id > s.lastPing {
		return // unsolicited
	}
	for p := s.pings; p != nil; p = p.after {
		if p.id <= id {
			p.answered = true
			close(p.done)
			s.dropPing(p)
		}
	}
}
