package h2

import "encoding/binary"

// queue holds the control frames that wait for AppendControl, and at the beginning those
// that wait for AppendHeld.
//
//	old <= held <= len(b)
type queue struct {
	b    []byte
	n    int32  // frames, without those that are held
	held uint16 // bytes of RST_STREAM frames for AppendHeld, at the beginning of b
	old  uint16 // bytes of those that the next AppendHeld appends
}

// resetLen is the length of a RST_STREAM frame.
const resetLen = frameHeaderLen + 4

// maxHeld is how many frames are held at a time. More than DefaultStreams may end between
// two writes if Config allows more streams.
const maxHeld = 1000

// take appends all frames to out that are not held, and forgets them.
func (q *queue) take(out []byte) []byte {
	if len(q.b) == int(q.held) {
		return out
	}
	out = append(out, q.b[q.held:]...)
	q.b, q.n = q.b[:q.held], 0
	return out
}

// takeHeld appends the old held frames to out and forgets them. The others become old.
func (q *queue) takeHeld(out []byte) []byte {
	if q.held == 0 {
		return out
	}
	out = append(out, q.b[:q.old]...)
	q.b = append(q.b[:0], q.b[q.old:]...)
	q.held -= q.old
	q.old = q.held
	return out
}

// hold makes the last frame of b, a RST_STREAM, one that is held. It does nothing if
// maxHeld frames are: the frame is then one for AppendControl.
func (q *queue) hold() {
	if q.held == maxHeld*resetLen {
		return
	}
	var f [resetLen]byte
	last := len(q.b) - resetLen
	copy(f[:], q.b[last:])
	copy(q.b[q.held+resetLen:], q.b[q.held:last])
	copy(q.b[q.held:], f[:])
	q.held += resetLen
	q.n--
}

// keepQueue is how many bytes an idle connection keeps for its queue.
const keepQueue = 64

func (q *queue) rest() {
	if len(q.b) == 0 && cap(q.b) > keepQueue {
		q.b = nil
	}
}

// queueFrame queues a frame. It returns false if the connection has failed, because
// the peer causes answers but doesn't read them.
func (c *Conn) queueFrame(typ frameType, flags uint8, stream uint32, payload []byte) bool {
	if c.failed {
		return false
	}
	if c.control.n >= c.mostQueued() {
		c.fail(EnhanceYourCalm)
		return false
	}
	c.control.add(typ, flags, stream, payload)
	return true
}

func (q *queue) add(typ frameType, flags uint8, stream uint32, payload []byte) {
	q.b = appendFrameHeader(q.b, len(payload), typ, flags, stream)
	q.b = append(q.b, payload...)
	q.n++
}

func (c *Conn) queueWindowUpdate(stream uint32, n int) bool {
	var b [4]byte
	binary.BigEndian.PutUint32(b[:], uint32(n))
	return c.queueFrame(frameWindowUpdate, 0, stream, b[:])
}

func (c *Conn) queueReset(stream uint32, code Code) bool {
	var b [4]byte
	binary.BigEndian.PutUint32(b[:], uint32(code))
	return c.queueFrame(frameReset, 0, stream, b[:])
}

func (q *queue) addGoAway(last uint32, code Code) {
	var b [8]byte
	binary.BigEndian.PutUint32(b[:], last)
	binary.BigEndian.PutUint32(b[4:], uint32(code))
	q.add(frameGoAway, 0, 0, b[:])
}
