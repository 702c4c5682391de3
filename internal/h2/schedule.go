package h2

import (
	"math/bits"

	"github.com/galehttp/gale/internal/pool"
)

// sendFlow is the window for data that this side sends on a stream.
type sendFlow struct {
	window int64 // how much data may still be sent; negative after SETTINGS that reduce it
}

// place is the state of a stream in the schedule.
type place struct {
	prev, next *Stream // in a ring, or nil
	queued     bool    // the caller has data for it: see Queue
	stalled    bool    // data was queued, but it has no window
}

// rings holds the first streams of the two rings of each urgency.
type rings [8][2]*Stream

var ringsPool = pool.Pool{New: func() any { return new(rings) }}

// schedule decides in which order streams send data (RFC 9218 section 10). For each
// urgency there are two rings: one of streams that aren't incremental, in the order
// of their ids, and one of incremental streams, which take turns. Between two calls
// a stream is in the ring of its priority if and only if it is queued and its
// window is open.
type schedule struct {
	rings *rings   // nil if there are none
	some  [2]uint8 // bit u is set if that ring of rings[u] isn't empty
	turn  uint8    // bit u is set if the incremental ring of u is next
	// stalled says that the connection's window was too small for some data.
	stalled bool
}

func (p Priority) ring() (u uint8, kind int) {
	if p.Incremental {
		kind = 1
	}
	return p.Urgency & 7, kind
}

// link puts st into its ring.
func (s *schedule) link(st *Stream) {
	if s.rings == nil {
		s.rings = ringsPool.Get().(*rings)
	}
	u, kind := st.prio.ring()
	first := s.rings[u][kind]
	if first == nil {
		st.place.prev, st.place.next = st, st
		s.rings[u][kind] = st
		s.some[kind] |= 1 << u
		return
	}
	before := first // st goes before it: before the first stream is the end of the ring
	if kind == 0 {
		for last := before.place.prev; last.id > st.id; last = before.place.prev {
			if before = last; before == first {
				s.rings[u][kind] = st
				break
			}
		}
	}
	after := before.place.prev
	st.place.prev, st.place.next = after, before
	after.place.next, before.place.prev = st, st
}

// unlink takes st out of its ring, if it is in one.
func (s *schedule) unlink(st *Stream) {
	if st.place.next == nil {
		return
	}
	u, kind := st.prio.ring()
	next := st.place.next
	if next == st {
		s.rings[u][kind] = nil
		s.some[kind] &^= 1 << u
	} else {
		next.place.prev, st.place.prev.place.next = st.place.prev, next
		if s.rings[u][kind] == st {
			s.rings[u][kind] = next
		}
	}
	st.place.prev, st.place.next = nil, nil
}

// stall removes a stream that has no window from its ring.
func (s *schedule) stall(st *Stream) {
	if st.place.queued {
		st.place.stalled = true
	}
	s.unlink(st)
}

// revive puts a stalled stream back into its ring, and reports whether it did.
func (s *schedule) revive(st *Stream) bool {
	if !st.place.stalled || st.out.window <= 0 {
		return false
	}
	st.place.stalled = false
	if st.place.queued {
		s.link(st)
	}
	return true
}

// rest gives back memory if no stream is in a ring.
func (s *schedule) rest() {
	if s.rings != nil && s.some == [2]uint8{} {
		ringsPool.Put(s.rings)
		s.rings = nil
	}
}

// leave removes a stream from the schedule.
func (s *schedule) leave(st *Stream) {
	s.unlink(st)
	st.place = place{}
}

// setPriority changes the priority of a stream, and so its place.
func (s *schedule) setPriority(st *Stream, p Priority) {
	if st.prio == p {
		return
	}
	linked := st.place.next != nil
	s.unlink(st)
	if st.prio = p; linked {
		s.link(st)
	}
}

// next returns the stream whose turn it is, or nil.
func (s *schedule) next() *Stream {
	some := s.some[0] | s.some[1]
	if some == 0 {
		return nil
	}
	u := bits.TrailingZeros8(some)
	bit := uint8(1) << u
	kind := 0
	if s.some[0]&bit == 0 || s.some[1]&bit != 0 && s.turn&bit != 0 {
		kind = 1
	}
	st := s.rings[u][kind]
	if kind == 1 {
		s.turn &^= bit
		s.rings[u][1] = st.place.next
	} else {
		s.turn |= bit
	}
	return st
}

// Queue says that the caller has data for st, so that Next returns it when it is
// its turn. A stream that can't send because it has no window waits outside of the
// rings, and comes back with a Room event.
func (c *Conn) Queue(st *Stream) {
	if st.place.queued || st.state&(wasReset|ended) != 0 {
		return
	}
	st.place.queued = true
	if st.out.window <= 0 {
		st.place.stalled = true
		return
	}
	c.turns.link(st)
}

// Unqueue undoes Queue: the caller has no more data for now. Done and resets do so
// too.
func (c *Conn) Unqueue(st *Stream) { c.turns.leave(st) }

// CanSend reports whether Next would return a stream. It doesn't take the turn.
func (c *Conn) CanSend() bool { return c.out.window > 0 && c.turns.some[0]|c.turns.some[1] != 0 }

// IsDry reports whether streams are queued that only the connection's window keeps from
// sending.
func (c *Conn) IsDry() bool { return c.out.window <= 0 && c.turns.some[0]|c.turns.some[1] != 0 }

// Next returns the stream whose turn it is to send data, or nil if none can send.
// It chooses among the queued streams with the lowest urgency value. It alternates
// between the non-incremental stream with the lowest id and the incremental
// streams, which take turns (RFC 9218 section 10). The caller sends a piece of
// data, and calls Unqueue when it has no more.
func (c *Conn) Next() *Stream {
	if c.out.window > 0 {
		return c.turns.next()
	}
	if c.turns.some[0]|c.turns.some[1] != 0 {
		c.turns.stalled = true
	}
	return nil
}
