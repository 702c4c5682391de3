package h2

import "github.com/galehttp/gale/internal/pool"

// streams holds the streams that no Conn uses.
var streams = pool.Pool{New: func() any { return new(Stream) }}

// table finds streams by their ids. It has at least as many chains as there are
// streams. Consecutive ids are in different chains.
type table struct {
	chains   []*Stream // the length is a power of two, or 0
	n        int32
	answered int32 // how many of them both sides have ended
}

func (t *table) chain(id uint32) **Stream { return &t.chains[id>>1&uint32(len(t.chains)-1)] }

// find returns the stream with an id, or nil.
func (t *table) find(id uint32) *Stream {
	if t.n == 0 {
		return nil
	}
	st := *t.chain(id)
	for st != nil && st.id != id {
		st = st.next
	}
	return st
}

// add makes a stream for id, which must not have one.
func (t *table) add(id uint32) *Stream {
	if int(t.n) == len(t.chains) {
		t.grow()
	}
	st := streams.Get().(*Stream)
	st.id = id
	at := t.chain(id)
	st.next, *at = *at, st
	t.n++
	return st
}

func (t *table) grow() {
	old := t.chains
	t.chains = make([]*Stream, max(8, 2*len(old)))
	for _, st := range old {
		for st != nil {
			next := st.next
			at := t.chain(st.id)
			st.next, *at = *at, st
			st = next
		}
	}
}

// remove forgets a stream, and gives it back.
func (t *table) remove(st *Stream) {
	at := t.chain(st.id)
	for *at != st {
		at = &(*at).next
	}
	*at = st.next
	t.n--
	*st = Stream{}
	streams.Put(st)
}

// all calls f for each stream until it returns false. f may remove the stream that it gets.
func (t *table) all(f func(*Stream) bool) {
	for _, st := range t.chains {
		for st != nil {
			next := st.next
			if !f(st) {
				return
			}
			st = next
		}
	}
}

// rest gives back the memory that a table without streams doesn't need.
func (t *table) rest() {
	if len(t.chains) > 32 {
		t.chains = nil
	}
}

// drop forgets all streams. They don't go back to the pool, because the caller may
// still have them.
func (t *table) drop() { *t = table{} }

// closedStreams stores how the last streams were closed: two bits for each of the
// 512 odd ids up to the highest one. It has words only for ids that have occurred;
// missing words count as 0.
type closedStreams struct{ words []uint64 }

// closing says how a stream was closed.
type closing uint64

const (
	neverOpen   closing = iota // skipped, or still open
	byEnd                      // both sides have ended it
	byPeer                     // the peer has reset it
	byUs                       // this side has reset it: the peer may have sent frames before it knew
	closingKept = 16 * 32
)

func (c *closedStreams) place(id uint32) (word, shift uint32) {
	i := (id >> 1) % closingKept
	return i / 32, i % 32 * 2
}

// open makes room for the ids after last up to id.
func (c *closedStreams) open(last, id uint32) {
	if (id-last)/2 >= closingKept {
		c.words = nil
		return
	}
	for i, end := (last+1)>>1, id>>1; i <= end; { // last is odd, or 0
		word, clears := i%closingKept/32, uint32(1)
		if i%32 == 0 && end-i >= 31 {
			clears = 32
		}
		if int(word) < len(c.words) {
			c.words[word] &^= (1<<(2*clears) - 1) << (i % 32 * 2)
		}
		i += clears
	}
}

// set remembers how stream id was closed.
func (c *closedStreams) set(last, id uint32, how closing) {
	if (last-id)/2 < closingKept {
		word, shift := c.place(id)
		for int(word) >= len(c.words) {
			c.words = append(c.words, 0)
		}
		c.words[word] = c.words[word]&^(3<<shift) | uint64(how)<<shift
	}
}

// of returns how stream id, which is not open and no higher than last, was closed.
// known is false if that is too long ago.
func (c *closedStreams) of(last, id uint32) (how closing, known bool) {
	if (last-id)/2 >= closingKept {
		return 0, false
	}
	if word, shift := c.place(id); int(word) < len(c.words) {
		how = closing(c.words[word] >> shift & 3)
	}
	return how, true
}
