package gale

import "github.com/galehttp/gale/internal/pool"

// bodyQueue is a queue of buffers with the bytes of a body of HTTP/2 that have arrived and
// were not read. Its memory grows with what has arrived, and bytes never move when more
// arrive.
type bodyQueue struct {
	first *pool.Buf   // the oldest bytes, from at on
	more  []*pool.Buf // the bytes after those, in order
	at    int
	n     int // bytes in all
}

// The sizes of buffers of a queue. The first one may be larger, for a body that is
// collected.
const (
	minH2Chunk = 4 << 10
	maxH2Chunk = 64 << 10
)

// put appends b. expected is the length of the whole body, negative if it isn't known.
func (q *bodyQueue) put(b []byte, expected int64) {
	if q.first == nil {
		q.first = pool.Get(bodyRoom(0, len(b), expected))
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
		q.more = append(q.more, pool.Get(min(max(q.n, len(b), minH2Chunk), maxH2Chunk)))
	}
}

// bodyRoom returns the capacity, in bytes, for the buffer of a body that has has bytes,
// when more bytes come. expected is as in put.
func bodyRoom(has, more int, expected int64) int {
	n := has + more
	switch {
	case expected >= 0:
		return max(n, bodyCap(n, minH2Chunk, expected))
	case 4*n > maxH2Chunk:
		return n
	}
	return max(4*n, minH2Chunk)
}

// take moves bytes from the queue to p and returns how many.
func (q *bodyQueue) take(p []byte) (n int) {
	for n < len(p) && q.n > 0 {
		m := copy(p[n:], q.first.B[q.at:])
		n += m
		q.n -= m
		if q.at += m; q.at == len(q.first.B) {
			q.pop()
		}
	}
	return n
}

// pop gives the first buffer back.
func (q *bodyQueue) pop() {
	pool.Put(q.first)
	q.first, q.at = nil, 0
	if n := len(q.more); n > 0 {
		q.first = q.more[0]
		copy(q.more, q.more[1:])
		q.more[n-1] = nil
		q.more = q.more[:n-1]
	}
}

// drop discards all bytes and gives the buffers back.
func (q *bodyQueue) drop() {
	for q.first != nil {
		q.pop()
	}
	q.n = 0
}
