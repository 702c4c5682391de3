package h2

import "encoding/binary"

// queue holds the control frames that wait for AppendControl.
type queue struct {
	b []byte
	n int // frames
}

// take appends all frames to out and forgets them.
func (q *queue) take(out []byte) []byte {
	if q.n == 0 {
		return out
	}
	out = append(out, q.b...)
	q.b, q.n = q.b[:0], 0
	return out
}

// keepQueue is how many bytes an idle connection keeps for its queue.
const keepQueue = 64

func (q *queue) rest() {
	if q.n == 0 && cap(q.b) > keepQueue {
		q.b = nil
	}
}

// queueFrame queues a frame. It returns false if the connection has failed, because
// the peer causes answers but doesn't read them.
func (c *Conn) queueFrame(typ frameType, flags uint8, stream uint32, payload []byte) bool {
	if c.failed {
		return false
	}
	if c.control.n >= maxQueued {
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
