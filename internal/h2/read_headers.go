package h2

import (
	"encoding/binary"

	"github.com/galehttp/gale/internal/pool"
)

// beginHeaders decides what a HEADERS frame means on its stream (RFC 9113 sections
// 5.1 and 6.2).
func (c *Conn) beginHeaders() {
	r := &c.read
	id := r.f.stream
	r.block = fieldBlock{stream: id, end: r.f.flags&flagEndStream != 0, open: true}
	switch {
	case id%2 == 0:
		c.fail(ProtocolError)
	case id > c.last:
		c.beginStream(id)
	default:
		c.beginLater(c.streams.find(id))
	}
	if c.failed {
		return
	}
	if r.f.flags&(flagPadded|flagPriority) != 0 {
		r.state = inPadding
		return
	}
	c.read.endOpen()
}

// endOpen records whether the current frame is the last one of its block.
func (r *reader) endOpen() { r.block.open = r.f.flags&flagEndHeaders == 0 }

// beginStream opens a stream, or decides that it is refused. Only clients open streams.
func (c *Conn) beginStream(id uint32) {
	if c.client {
		c.fail(ProtocolError)
		return
	}
	c.closed.open(c.last, id)
	c.last = id
	b := &c.read.block
	switch {
	case c.goAway.sent == goAwayStop: // the peer was told that this stream is ignored
		b.kind = blockDropped
		c.closed.set(c.last, id, byUs)
		c.odd(1)
	case c.isFull():
		b.refuse(RefusedStream)
	}
}

// isFull reports whether there are as many streams as Config.Streams allows.
func (c *Conn) isFull() bool {
	t, most := &c.streams, c.cfg.Streams
	return int(t.n-t.answered) >= most || int(t.n) >= 2*most
}

// refuse marks the block as one that is dropped and whose stream is then reset.
func (b *fieldBlock) refuse(code Code) { b.kind, b.blame, b.code = blockDropped, true, code }

// beginLater decides what HEADERS mean for a stream that was opened before: trailers, or
// a response. st is nil if it is gone.
func (c *Conn) beginLater(st *Stream) {
	b := &c.read.block
	if st.isClosed() {
		b.kind = blockDropped
		switch how, known := c.closed.of(c.last, b.stream); {
		case known && how == byUs, !known && c.client:
			c.odd(1)
		case known && how == neverOpen && st == nil:
			c.fail(ProtocolError) // RFC 9113 section 5.1.1
		default:
			c.fail(StreamClosed)
		}
		return
	}
	if st.state&awaitsHead != 0 {
		b.kind = blockHead
		return
	}
	b.kind = blockTrailers
	switch {
	case st.state&peerEnded != 0:
		b.refuse(StreamClosed)
	case !b.end, st.left > 0:
		b.refuse(ProtocolError)
	}
}

func (c *Conn) beginContinuation() {
	r := &c.read
	b := &r.block
	b.frames++
	if r.left == 0 {
		b.empty++
	}
	if b.frames > maxContinuations || b.empty > maxEmptyContinuations {
		c.fail(EnhanceYourCalm)
		return
	}
	r.endOpen()
}

// stepPadding reads the length of the padding, and the priority of HEADERS.
func (c *Conn) stepPadding(in []byte, ev *Event) (used int, more bool) {
	r := &c.read
	padded, need := 0, 0
	if r.f.flags&flagPadded != 0 {
		padded, need = 1, 1
	}
	if r.f.typ == frameHeaders && r.f.flags&flagPriority != 0 {
		need += 5
	}
	if r.f.length < need {
		c.fail(FrameSizeError)
		return 0, true
	}
	b, used := r.take(in, need)
	if b == nil {
		return used, false
	}
	r.left -= need
	if padded > 0 {
		r.pad = int(b[0])
	}
	if r.pad > r.left {
		c.fail(ProtocolError)
		return used, true
	}
	if r.f.typ == frameData {
		c.paddedData(ev)
		return used, true
	}
	if need > padded && dependency(b[padded:]) == r.f.stream && r.block.kind != blockDropped {
		r.block.refuse(ProtocolError)
	}
	r.endOpen()
	r.state = inBlock
	return used, true
}

// dependency returns the stream that the priority fields name (RFC 9113 section
// 6.3). It is only used to check that a stream doesn't depend on itself.
func dependency(b []byte) uint32 { return binary.BigEndian.Uint32(b) & maxStreamID }

// stepBlock collects a field block. A block that has come in one piece isn't
// copied.
func (c *Conn) stepBlock(in []byte, ev *Event) (used int, more bool) {
	r := &c.read
	b := &r.block
	n := r.left - r.pad
	if b.buf == nil && len(in) >= r.left && !b.open {
		used = r.left
		r.left, r.state = 0, inFrameHeader
		c.finishBlock(in[:n:n], ev)
		return used, true
	}
	used = min(len(in), n)
	if b.buf == nil {
		b.buf = pool.Get(max(used, 512))
	}
	if len(b.buf.B)+n > c.cfg.HeaderList+maxFrame {
		c.refuseLong()
		return used, true
	}
	_, _ = b.buf.Write(in[:used])
	r.left -= used
	if used < n {
		return used, false
	}
	r.state = inRest
	if !b.open {
		c.finishBlock(b.buf.B, ev)
	}
	return used, true
}

// refuseLong ends the connection because of a field block that is too long to be
// decoded. A server answers a request with 431, and its stream is the last one that is
// served.
func (c *Conn) refuseLong() {
	if b := &c.read.block; b.kind == blockHead && !c.client && c.control.n < c.mostQueued() {
		from := len(c.control.b)
		c.control.add(frameHeaders, flagEndHeaders|flagEndStream, b.stream, nil)
		c.control.b = c.coding.enc.AppendStatus(c.coding.enc.Begin(c.control.b), 431)
		length := len(c.control.b) - from - frameHeaderLen
		setFrameHeader(c.control.b[from:], length, frameHeaders, flagEndHeaders|flagEndStream, b.stream)
	}
	c.fail(EnhanceYourCalm)
}

// finishBlock is called with a complete block.
func (c *Conn) finishBlock(block []byte, ev *Event) {
	b := &c.read.block
	if b.kind == blockDropped {
		c.dropBlock(block, ev)
		return
	}
	b.bytes, b.ready = block, true
	ev.End = b.end
	if b.kind == blockHead && !c.client {
		ev.Kind, ev.Stream = Head, c.acceptStream()
		return
	}
	st := c.streams.find(b.stream)
	ev.Kind, ev.Stream = Trailers, st
	if b.kind == blockHead {
		ev.Kind = Head
	}
	if st == nil || st.state&wasReset != 0 { // reset or gone since the block began
		*ev = Event{}
		c.dropBlock(block, ev)
		return
	}
	if b.end {
		st.state |= peerEnded
		c.ends(st)
	}
}

// acceptStream makes the stream of the block that is read.
func (c *Conn) acceptStream() *Stream {
	b := &c.read.block
	st := c.addStream(b.stream)
	if p, ok := c.early.take(st.id); ok {
		st.prio = p
		st.state |= updated
	}
	if b.end {
		st.state |= peerEnded
	}
	return st
}

// addStream makes an open stream.
func (c *Conn) addStream(id uint32) *Stream {
	st := c.streams.add(id)
	st.in = streamFlow{window: c.in.initial, size: int64(c.cfg.StreamWindow)}
	st.out.window = c.out.initial
	st.left = -1
	st.prio = DefaultPriority
	c.buckets.odd.refund(giveStream)
	c.buckets.empty.refund(giveEmpty)
	return st
}

// dropBlock decodes a block only to update the table, and resets the stream if the
// block is marked so.
func (c *Conn) dropBlock(block []byte, ev *Event) {
	b := &c.read.block
	if !c.skipBlock(block) {
		return
	}
	id, blame, code := b.stream, b.blame, b.code
	b.drop()
	if blame && !c.wasClosed(id) { // the caller may have closed it since the block began
		c.blame(id, code, ev)
	}
}
