package ws

import (
	"context"
	"encoding/json"
	"slices"

	"github.com/galehttp/gale/internal/pool"
	"github.com/galehttp/gale/internal/wsframe"
)

// How a Conn receives messages. The holder of reading calls these functions.

// connMessages are the messages of a Conn.
type connMessages struct {
	// held are messages that have arrived while no call wanted them, the oldest first; at
	// least one. Only the last one may be incomplete.
	held   []heldMessage
	size   int64          // of held, in bytes
	reader *messageReader // reads the first of held
	room   chan struct{}  // closed when more may be held; nil if no call waits for that
}

// heldMessage is a message, or its beginning, as it was sent.
type heldMessage struct {
	op         wsframe.Opcode
	compressed bool
	whole      bool
	size       int64     // how many bytes of it have arrived
	data       *pool.Buf // what has arrived
	read       int       // how many bytes of data a stream has delivered
}

// dropMessages drops the messages that wait.
func (c *Conn) dropMessages() {
	if c.msgs != nil {
		for _, h := range c.msgs.held {
			pool.Put(h.data)
		}
		c.msgs.held, c.msgs.size = nil, 0
		c.madeRoom()
		c.msgs = nil
	}
}

// takeHeld removes the first message.
func (c *Conn) takeHeld() heldMessage {
	m := c.msgs
	h := m.held[0]
	m.size -= int64(len(h.data.B) - h.read)
	m.reader = nil
	m.held = slices.Delete(m.held, 0, 1)
	c.madeRoom()
	if len(m.held) == 0 {
		c.msgs = nil
	}
	return h
}

// addHeld makes h the last message.
func (c *Conn) addHeld(h heldMessage) {
	if c.msgs == nil {
		c.msgs = new(connMessages)
	}
	c.msgs.held = append(c.msgs.held, h)
	c.msgs.size += int64(len(h.data.B) - h.read)
}

// maxHeld is how many messages may be held. Short ones need more memory than their bytes.
const maxHeld = 1000

// madeRoom wakes the calls that wait until more messages may be held.
func (c *Conn) madeRoom() {
	if m := c.msgs; m.room != nil && !c.heldFull() {
		close(m.room)
		m.room = nil
	}
}

// heldFull reports whether no more messages may be held.
func (c *Conn) heldFull() bool {
	m := c.msgs
	return m != nil && (len(m.held) > maxHeld || m.size > 0 && m.size >= c.set.maxMessage)
}

// Read returns the next message. The result belongs to the caller. After the peer has closed
// the WebSocket, the error is a *CloseError.
func (c *Conn) Read(ctx context.Context) (t MessageType, data []byte, err error) {
	return c.AppendRead(ctx, nil)
}

// AppendRead is Read, but appends the message to dst, which it returns also with an error.
// If dst has room, nothing is allocated; a compressed message needs more room than its size,
// up to 64 KiB. The result belongs to the caller.
func (c *Conn) AppendRead(ctx context.Context, dst []byte) (t MessageType, data []byte, err error) {
	if err := c.lockReading(ctx); err != nil {
		return 0, dst, err
	}
	if err = c.skipReader(); err == nil {
		t, data, err = c.receive(dst)
	}
	c.unlockReading()
	if err != nil {
		return 0, dst, err
	}
	return t, data, nil
}

// ReadJSON reads the next message, of either type, and decodes it as JSON into v. After an
// error of encoding/json, the Conn can be used further.
func (c *Conn) ReadJSON(ctx context.Context, v any) error {
	_, data, err := c.Read(ctx)
	if err != nil {
		return err
	}
	return json.Unmarshal(data, v)
}

// receive appends the next message to dst. If its context ends before the message is whole,
// what has arrived is held.
func (c *Conn) receive(dst []byte) (MessageType, []byte, error) {
	var h heldMessage
	if c.msgs != nil {
		h = c.takeHeld()
		if h.whole {
			return c.deliver(dst, h)
		}
	} else if err := c.why(); err != nil {
		return 0, nil, err
	}
	out := dst
	if h.data != nil && !h.compressed {
		out = append(out, h.data.B[h.read:]...)
		pool.Put(h.data)
		h.data = nil
	}
	for !h.whole {
		var f wsframe.Frame
		if err := c.frame(&f); err != nil {
			c.holdRest(h, out[len(dst):])
			return 0, nil, err
		}
		if f.Kind != wsframe.Piece {
			continue
		}
		h.op, h.compressed = f.Op, f.Compressed
		into := &out
		if f.Compressed {
			if h.data == nil {
				h.data = pool.Get(len(f.Payload))
			}
			into = &h.data.B
		}
		if err := c.gather(into, &h, &f); err != nil {
			c.holdRest(h, out[len(dst):])
			return 0, nil, err
		}
	}
	if h.compressed {
		return c.deliver(dst, h)
	}
	return MessageType(h.op), out, nil
}

// holdRest keeps the beginning of a message whose call ends: plain if it isn't compressed.
func (c *Conn) holdRest(h heldMessage, plain []byte) {
	if h.op == 0 || c.closing.Load() {
		pool.Put(h.data)
		return
	}
	if !h.compressed {
		h.data = pool.Get(len(plain))
		h.data.B = append(h.data.B, plain...)
	}
	c.addHeld(h)
}

// gather appends the piece f of h to *dst, and goes on with the rest of its frame as long as
// that can be read straight into it.
func (c *Conn) gather(dst *[]byte, h *heldMessage, f *wsframe.Frame) error {
	if err := c.grows(h, f); err != nil {
		return err
	}
	b := *dst
	if more := len(f.Payload) + h.more(f.Left); more > cap(b)-len(b) {
		b = slices.Grow(b, more)
	}
	b = append(b, f.Payload...)
	*dst = b
	for c.direct() {
		if cap(b)-len(b) < directRead {
			b = slices.Grow(b, h.more(c.in.left))
		}
		if cap(b)-len(b) < directRead {
			break // until more has arrived
		}
		n, err := c.readDirect(b[len(b):cap(b)], h)
		if err != nil {
			return err
		}
		b = b[:len(b)+n]
		*dst = b
	}
	return nil
}

// grows notes that the piece f belongs to h.
func (c *Conn) grows(h *heldMessage, f *wsframe.Frame) error {
	limit := c.set.maxMessage
	if f.Compressed {
		limit = c.set.maxCompressed
	}
	h.size += int64(len(f.Payload))
	if h.size > limit-f.Left {
		return c.refuse(errTooBig)
	}
	h.whole = f.Last
	return nil
}

// direct reports whether the next bytes should be read straight into the memory of a
// message: many bytes of its frame are still to come, and none was read.
func (c *Conn) direct() bool {
	return c.in.left >= directRead && len(c.in.unread()) == 0 && !c.closing.Load()
}

// readDirect reads bytes of the current frame, which belongs to h, straight into p.
func (c *Conn) readDirect(p []byte, h *heldMessage) (n int, err error) {
	n, err = c.fill(p[:min(int64(len(p)), c.in.left, maxDirect)])
	if err != nil {
		return 0, err
	}
	c.in.left -= int64(n)
	h.size += int64(n)
	if _, h.whole, err = c.parser.Landed(p[:n]); err != nil {
		return 0, c.refuse(err)
	}
	return n, nil
}

// more returns how many bytes the memory for h may grow by before they have arrived, of left
// that are announced.
func (h *heldMessage) more(left int64) int {
	have := int(min(h.size, maxDirect/4))
	return int(min(left, int64(ahead(have)-have)))
}

const (
	// minGrow is the size in bytes up to which the memory for a message is four times what
	// has arrived of it, then twice.
	minGrow = 16 << 10
	// maxDirect is the most that is read at once.
	maxDirect = 1 << 30
)

// deliver appends a whole message that was held or is compressed to dst.
func (c *Conn) deliver(dst []byte, h heldMessage) (MessageType, []byte, error) {
	defer pool.Put(h.data)
	if !h.compressed {
		return MessageType(h.op), append(dst, h.data.B...), nil
	}
	out, err := c.zip.inflater.Append(dst, h.data.B, c.set.maxMessage)
	if err == nil && h.op == wsframe.Text && !isUTF8(out[len(dst):]) {
		err = errText
	}
	if err != nil {
		return 0, nil, c.refuse(err)
	}
	return MessageType(h.op), out, nil
}

// inflate appends the compressed message h to plain.
func (c *Conn) inflate(plain *pool.Buf, h heldMessage) error {
	err := c.zip.inflater.AppendTo(plain, h.data.B, c.set.maxMessage)
	if err == nil && h.op == wsframe.Text && !isUTF8(plain.B) {
		err = errText
	}
	if err != nil {
		return c.refuse(err)
	}
	return nil
}

func isUTF8(b []byte) bool {
	var u wsframe.UTF8
	return u.Write(b) && u.Done()
}

// hold receives the next piece of a message, or control frame, and holds it. The rest of
// its frame follows if all is set.
func (c *Conn) hold(all bool) error {
	var f wsframe.Frame
	if err := c.frame(&f); err != nil || f.Kind != wsframe.Piece {
		return err
	}
	if m := c.msgs; m == nil || m.held[len(m.held)-1].whole {
		c.addHeld(heldMessage{op: f.Op, compressed: f.Compressed, data: pool.Get(len(f.Payload))})
	}
	m := c.msgs
	h := &m.held[len(m.held)-1]
	before := len(h.data.B)
	var err error
	if all {
		err = c.gather(&h.data.B, h, &f)
	} else if err = c.grows(h, &f); err == nil {
		h.data.B = append(h.data.B, f.Payload...)
	}
	m.size += int64(len(h.data.B) - before)
	return err
}

// Ping sends a ping and waits for the pong. It needs no other goroutine that reads: if there
// is none, it reads itself. Messages that arrive meanwhile wait for Read, up to the largest
// size of one message together, and up to 1000 messages; then Ping waits until some are read.
func (c *Conn) Ping(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	p := &connPing{done: make(chan struct{})}
	c.mu.Lock()
	s := &c.state
	if err := s.writable(); err != nil {
		c.mu.Unlock()
		return err
	}
	s.lastPing++
	p.id = s.lastPing
	p.after, s.pings = s.pings, p
	c.mu.Unlock()
	c.writePing(p.id)
	err := c.awaitPong(ctx, p)
	c.mu.Lock()
	defer c.mu.Unlock()
	if p.answered {
		return nil
	}
	s.dropPing(p)
	if s.over {
		return s.err
	}
	return err
}

// awaitPong waits until p is done.
func (c *Conn) awaitPong(ctx context.Context, p *connPing) error {
	for {
		ready := c.reading.join()
		if ready != nil {
			select {
			case <-p.done:
				c.reading.leave(ready)
				return nil
			case <-ctx.Done():
				c.reading.leave(ready)
				return ctx.Err()
			case <-ready:
			}
		}
		err := c.readPong(ctx, p)
		var room chan struct{}
		if err == errHeldFull {
			if c.msgs.room == nil {
				c.msgs.room = make(chan struct{})
			}
			room = c.msgs.room
		}
		c.unlockReading()
		switch err {
		case errYield:
		case errHeldFull:
			select {
			case <-room:
			case <-p.done:
				return nil
			case <-ctx.Done():
				return ctx.Err()
			}
		default:
			return err
		}
	}
}

// errHeldFull says that too many messages are held to read further.
var errHeldFull = &timeoutError{"ws: too many messages wait to be read"}

// readPong reads until p is done. The holder of reading calls it.
func (c *Conn) readPong(ctx context.Context, p *connPing) error {
	c.in.ctx, c.in.yields = ctx, true
	for {
		select {
		case <-p.done:
			return nil
		default:
		}
		if c.wanted.Load() > 0 {
			return errYield
		}
		if c.heldFull() {
			return errHeldFull
		}
		if err := c.hold(true); err != nil {
			return err
		}
	}
}
