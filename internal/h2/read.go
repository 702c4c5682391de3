package h2

import (
	"github.com/galehttp/gale/internal/clock"
	"github.com/galehttp/gale/internal/pool"
)

// reader is the state of Read in the input.
type reader struct {
	state readState
	// got is how many bytes are in small, for things that must be complete before
	// they are handled: a frame header, the fixed part of a payload.
	got   uint8
	small *[maxSmall]byte // nil if nothing has come in parts since rest
	since clock.Tick      // when the last frame or the open field block began

	f    frameHeader
	left int // bytes of the frame's payload that were not read
	pad  int // of these, the padding at the end

	block fieldBlock
}

type readState uint8

const (
	inPreface readState = iota
	inFrameHeader
	inPadding  // before the length of the padding and the priority of HEADERS
	inData     // of DATA
	inBlock    // of HEADERS and CONTINUATION
	inSmall    // a payload that must be complete
	inSettings // of SETTINGS, a setting at a time
	inRest     // of a frame that is ignored
)

// maxSmall is the maximum length of payloads that are handled when they are
// complete. Only that of PRIORITY_UPDATE can be longer, because it has a field
// value; a longer one is ignored.
const maxSmall = 64

// inFrame reports whether a frame or the preface has come only in part.
func (r *reader) inFrame() bool {
	return r.got > 0 || r.state > inFrameHeader && !(r.state == inRest && r.left == 0)
}

// inHead reports whether a field block has come only in part.
func (r *reader) inHead() bool {
	return r.block.open || r.state == inBlock || r.state == inPadding && r.f.typ == frameHeaders
}

var smallPool = pool.Pool{New: func() any { return new([maxSmall]byte) }}

// rest gives back memory that is needed only within frames.
func (r *reader) rest() {
	if r.small != nil && r.got == 0 {
		clear(r.small[:])
		smallPool.Put(r.small)
		r.small = nil
	}
}

// drop forgets what was read.
func (r *reader) drop() {
	r.block.drop()
	*r = reader{}
}

// take returns the next need bytes, from the front of in or, if they came in parts,
// from small. It returns nil if they have not all come. used is the number of bytes
// of in that were used.
func (r *reader) take(in []byte, need int) (b []byte, used int) {
	if r.got == 0 && len(in) >= need {
		return in[:need:need], need
	}
	if r.small == nil {
		r.small = smallPool.Get().(*[maxSmall]byte)
	}
	used = copy(r.small[r.got:need], in)
	if r.got += uint8(used); int(r.got) < need {
		return nil, used
	}
	r.got = 0
	return r.small[:need:need], used
}

// readEvent does the work of Read.
func (c *Conn) readEvent(in []byte, ev *Event) (n int) {
	if c.read.block.ready {
		panic("h2: Read is called before a field block was decoded")
	}
	for !c.failed {
		used, more := c.step(in[n:], ev)
		n += used
		if ev.Kind != None && !c.failed {
			return n
		}
		if !more {
			break
		}
	}
	if c.failed {
		*ev = Event{Kind: Failed, Code: c.code}
	}
	return len(in)
}

// step reads one element of the input. more is false if all of in was used and the
// element is incomplete.
func (c *Conn) step(in []byte, ev *Event) (used int, more bool) {
	switch r := &c.read; r.state {
	case inFrameHeader:
		if r.got == 0 && !r.block.open {
			r.since = c.now
		}
		var b []byte
		if b, used = r.take(in, frameHeaderLen); b == nil {
			return used, false
		}
		r.f = parseFrameHeader(b)
		r.left, r.pad = r.f.length, 0
		c.beginFrame(ev)
		return used, true
	case inData:
		return c.stepData(in, ev)
	case inBlock:
		return c.stepBlock(in, ev)
	case inPadding:
		return c.stepPadding(in, ev)
	case inSmall:
		var b []byte
		if b, used = r.take(in, min(r.left, maxSmall)); b == nil {
			return used, false
		}
		r.left -= len(b)
		r.state = inRest
		c.smallFrame(b, ev)
		return used, true
	case inSettings:
		return c.stepSettings(in, ev)
	case inRest:
		used = min(len(in), r.left)
		if r.left -= used; r.left > 0 {
			return used, false
		}
		r.state = inFrameHeader
		return used, true
	}
	return c.stepPreface(in)
}

func (c *Conn) stepPreface(in []byte) (used int, more bool) {
	r := &c.read
	got := int(r.got)
	used = min(len(in), len(Preface)-got)
	if string(in[:used]) != Preface[got:got+used] {
		c.fail(ProtocolError)
		return used, false
	}
	if r.got += uint8(used); int(r.got) < len(Preface) {
		return used, false
	}
	r.got, r.state = 0, inFrameHeader
	return used, true
}

// sizeRule says how long the payload of a frame may be, and on which streams it may come.
type sizeRule struct {
	least, most int
	on          where
	state       readState
}

type where uint8

const (
	anywhere where = iota
	onConn
	onStream
)

// sizeRules are the rules of the known types. Frames of types without a rule are
// ignored.
var sizeRules = [...]sizeRule{
	frameData:         {0, maxFrame, onStream, inData},
	frameHeaders:      {0, maxFrame, onStream, inBlock},
	framePriority:     {0, maxFrame, onStream, inSmall},
	frameReset:        {4, 4, onStream, inSmall},
	frameSettings:     {0, maxFrame, onConn, inSettings},
	framePushPromise:  {0, maxFrame, anywhere, inRest},
	framePing:         {8, 8, onConn, inSmall},
	frameGoAway:       {8, maxFrame, onConn, inSmall},
	frameWindowUpdate: {4, 4, anywhere, inSmall},
	frameContinuation: {0, maxFrame, onStream, inBlock},

	framePriorityUpdate: {4, maxFrame, onConn, inSmall},
}

// beginFrame checks the header of a frame and decides how its payload is read.
func (c *Conn) beginFrame(ev *Event) {
	f := &c.read.f
	var rule sizeRule
	if int(f.typ) < len(sizeRules) {
		rule = sizeRules[f.typ]
	}
	known := rule.state != inPreface
	open := c.read.block.open
	switch {
	case f.length > maxFrame:
		c.fail(FrameSizeError)
	case open != (f.typ == frameContinuation), open && f.stream != c.read.block.stream:
		c.fail(ProtocolError) // RFC 9113 section 6.10
	case !c.greeted && (f.typ != frameSettings || f.flags&flagAck != 0):
		c.fail(ProtocolError) // RFC 9113 section 3.4
	case !known:
		c.read.state = inRest
		c.odd(1)
	case rule.on == onConn && f.stream != 0, rule.on == onStream && f.stream == 0:
		c.fail(ProtocolError)
	case f.length < rule.least || f.length > rule.most:
		c.fail(FrameSizeError)
	default:
		c.read.state = rule.state
		c.beginKnown(ev)
	}
}

func (c *Conn) beginKnown(ev *Event) {
	r := &c.read
	switch r.f.typ {
	case frameData:
		c.beginData(ev)
	case frameHeaders:
		c.beginHeaders()
	case frameContinuation:
		c.beginContinuation()
	case framePriority:
		if r.f.length != 5 {
			r.state = inRest
			c.blameFrame(FrameSizeError, ev)
		}
	case framePushPromise:
		c.fail(ProtocolError)
	case frameSettings:
		c.beginSettings()
	}
}

// idle reports whether stream id is idle: the client has opened neither it nor a
// higher one. Servers open none.
func (c *Conn) idle(id uint32) bool { return id > c.last || id%2 == 0 }

// fieldBlock is a field block that is being received or decoded (RFC 9113 section 4.3).
type fieldBlock struct {
	open   bool // CONTINUATION must follow
	ready  bool // the caller must decode it
	end    bool // END_STREAM
	kind   blockKind
	stream uint32
	bytes  []byte    // of a block that is ready
	buf    *pool.Buf // the bytes that have come, if they came in several pieces

	frames, empty int32 // CONTINUATION frames, and how many of them were empty
	blame         bool  // the stream will be reset with code
	code          Code
}

type blockKind uint8

const (
	blockHead blockKind = iota
	blockTrailers
	blockDropped // decoded only to update the table
)

// drop gives back the memory of a block.
func (b *fieldBlock) drop() {
	if b.buf != nil {
		pool.Put(b.buf)
	}
	*b = fieldBlock{}
}
