package pool

// Ahead bounds how much more memory bytes that are being collected take than have arrived.
const Ahead = 8

// StepTo returns the capacity, in bytes, for a buffer of total bytes that a peer has
// announced, of which has bytes have arrived. An announcement alone gets no memory: the
// capacity is at most Ahead times has, or least if that is more, or twice has.
//
// A buffer grows in steps to total: from an eighth of it, which it reaches from a 64th,
// and so on. So all steps together copy a seventh of a long body.
func StepTo(total int64, has, least int) int {
	most := max(Ahead*int64(has), int64(least), 1)
	c := total
	for c > most {
		c = c/Ahead + 1
	}
	return int(max(c, min(max(2*int64(has), int64(least)), total)))
}

// The sizes of buffers of a Queue. The first one may be larger, for a body that is
// collected.
const (
	minChunk = 4 << 10
	// MaxChunk is the largest buffer that a Queue takes for bytes of which it doesn't know
	// how many follow.
	MaxChunk = 64 << 10
)

// Room returns the capacity, in bytes, for a buffer that has has bytes, when more bytes come
// of a body that comes in pieces. expected is the length of the whole body, negative if it
// isn't known.
func Room(has, more int, expected int64) int {
	n := has + more
	switch {
	case expected >= 0:
		return max(n, StepTo(expected, n, minChunk))
	case 4*n > MaxChunk:
		return n
	}
	return max(4*n, minChunk)
}

// Queue is a queue of buffers with bytes that have arrived and were not read. Its memory
// grows with what has arrived, and bytes never move when more arrive. The zero value is an
// empty queue without memory. A Queue isn't safe for concurrent use.
type Queue struct {
	first *Buf   // the oldest bytes, from at on
	more  []*Buf // the bytes after those, in order
	at    int
	n     int // bytes in all
}

// Len returns the number of bytes held.
func (q *Queue) Len() int { return q.n }

// Cap returns the capacity of all buffers, in bytes.
func (q *Queue) Cap() (n int) {
	if q.first != nil {
		n = cap(q.first.B)
	}
	for _, b := range q.more {
		n += cap(b.B)
	}
	return n
}

// Put appends b. expected is as for [Room].
func (q *Queue) Put(b []byte, expected int64) {
	if q.first == nil {
		q.first = Get(Room(0, len(b), expected))
	}
	for {
		last := q.first
		if n := len(q.more); n > 0 {
			last = q.more[n-1]
		}
		n := min(len(b), cap(last.B)-len(last.B))
		last.B = append(last.B, b[:n]...)
		q.n += n
		if b = b[n:]; len(b) == 0 {
			return
		}
		q.more = append(q.more, Get(min(max(q.n, len(b), minChunk), MaxChunk)))
	}
}

// Next returns the oldest bytes, as many as lie together; none if q is empty. They are valid
// until the next call of a method that takes bytes out.
func (q *Queue) Next() []byte {
	if q.first == nil {
		return nil
	}
	return q.first.B[q.at:]
}

// Skip takes out the oldest n bytes, at most those that Next returns.
func (q *Queue) Skip(n int) {
	q.n -= n
	if q.at += n; q.first != nil && q.at == len(q.first.B) {
		q.pop()
	}
}

// Take moves bytes from the queue to p and returns how many.
func (q *Queue) Take(p []byte) (n int) {
	for n < len(p) && q.n > 0 {
		m := copy(p[n:], q.Next())
		n += m
		q.Skip(m)
	}
	return n
}

// TakeBuf takes all bytes out in the buffer that they are in, which the caller owns then. It
// returns nil if they are in several, or if others were taken out of that buffer.
func (q *Queue) TakeBuf() *Buf {
	if len(q.more) > 0 || q.at > 0 {
		return nil
	}
	b := q.first
	q.first, q.n = nil, 0
	return b
}

// pop gives the first buffer back.
func (q *Queue) pop() {
	Put(q.first)
	q.first, q.at = nil, 0
	if n := len(q.more); n > 0 {
		q.first = q.more[0]
		copy(q.more, q.more[1:])
		q.more[n-1] = nil
		q.more = q.more[:n-1]
	}
}

// Drop discards all bytes and gives the buffers back.
func (q *Queue) Drop() {
	for q.first != nil {
		q.pop()
	}
	q.n = 0
}
