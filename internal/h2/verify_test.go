package h2

import "fmt"

// check reports what is wrong with c between calls of its methods.
func (c *Conn) check() error {
	n, answered, waiting, grown := 0, 0, 0, int64(0)
	var err error
	bad := func(format string, args ...any) {
		if err == nil {
			err = fmt.Errorf(format, args...)
		}
	}
	linked := map[*Stream]bool{}
	all := c.turns.rings
	if all == nil {
		all = new(rings)
	}
	for u := range all {
		for kind, first := range all[u] {
			if (first != nil) != (c.turns.some[kind]>>u&1 != 0) {
				bad("some[%d] is %b", kind, c.turns.some[kind])
			}
			last := uint32(0)
			for st := first; st != nil; {
				linked[st] = true
				if st.place.next.place.prev != st {
					bad("the ring of %d is broken", u)
				}
				if su, sk := st.prio.ring(); int(su) != u || sk != kind {
					bad("stream %d is in the ring of another priority", st.id)
				}
				if kind == 0 && st.id <= last {
					bad("stream %d comes after %d", st.id, last)
				}
				last = st.id
				if st = st.place.next; st == first {
					break
				}
			}
		}
	}
	c.streams.all(func(st *Stream) bool {
		n++
		if st.state&(peerEnded|ended) == peerEnded|ended {
			answered++
		}
		if st.Waits() {
			waiting++
		}
		grown += st.in.size - int64(c.cfg.StreamWindow)
		if c.streams.find(st.id) != st || st.id%2 == 0 || st.id > c.last {
			bad("stream %d is out of place", st.id)
		}
		want := st.place.queued && st.out.window > 0 && st.state&(wasReset|ended) == 0
		if linked[st] != want {
			bad("stream %d is in a ring: %v, want %v: %+v window %d state %b", st.id, linked[st], want, st.place, st.out.window, st.state)
		}
		delete(linked, st)
		if !c.failed && (st.out.window > maxWindow || st.in.window > maxWindow) {
			bad("stream %d has windows of %d and %d", st.id, st.out.window, st.in.window)
		}
		if c.settled && c.cfg.StreamWindow >= initialWindow && st.in.window < 0 {
			bad("stream %d has a window of %d to receive", st.id, st.in.window)
		}
		if st.in.credit < 0 {
			bad("stream %d: %+v", st.id, st.in)
		}
		return true
	})
	switch {
	case err != nil:
	case len(linked) > 0:
		bad("%d streams are in rings and not in the table", len(linked))
	case n != int(c.streams.n) || n-answered > c.cfg.Streams || n > 2*c.cfg.Streams:
		bad("%d streams, counted as %d, %d of them answered, of %d", n, c.streams.n, answered, c.cfg.Streams)
	case answered != int(c.streams.answered):
		bad("%d streams were answered, counted as %d", answered, c.streams.answered)
	case c.in.window < 0 || c.in.window > maxWindow || c.out.window < 0 || c.out.window > maxWindow:
		bad("windows of the connection: %d, %d", c.in.window, c.out.window)
	case c.in.credit < 0 || c.in.credit >= int64(c.cfg.ConnWindow)/4 && !c.failed:
		bad("credit of %d", c.in.credit)
	case waiting != int(c.waiting) || waiting > 0 && c.beyond == nil:
		bad("%d streams wait, counted as %d; beyond is %v", waiting, c.waiting, c.beyond)
	case grown != c.grown || grown > int64(c.cfg.ConnWindow) && c.beyond == nil:
		bad("windows have grown by %d, counted as %d", grown, c.grown)
	case c.control.old > c.control.held || int(c.control.held) > len(c.control.b) || c.control.held%resetLen != 0:
		bad("held frames: %d bytes, of which %d are old, of %d", c.control.held, c.control.old, len(c.control.b))
	case c.control.n > c.mostQueued()+2 || len(c.control.b)-int(c.control.held) > 32*int(c.mostQueued()+2):
		bad("%d frames of %d bytes are queued", c.control.n, len(c.control.b))
	case c.read.block.buf != nil && len(c.read.block.buf.B) > c.cfg.HeaderList+maxFrame:
		bad("a block of %d bytes", len(c.read.block.buf.B))
	case len(c.early) > maxEarly:
		bad("%d early priorities", len(c.early))
	case c.read.got >= maxSmall && !c.failed:
		bad("%d bytes of a frame are kept", c.read.got)
	}
	return err
}
