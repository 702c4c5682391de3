package ws

import (
	"sync"

	"github.com/galehttp/gale/internal/clock"
	"github.com/galehttp/gale/internal/pool"
)

// queue has frames that wait to be sent. The mutex of its owner guards it. It comes from a
// pool when there is something to wait, and goes back when it is empty.
type queue struct {
	buf     *pool.Buf  // nil if it is empty
	head    int        // buf.B[:head] was taken
	begun   bool       // take has taken bytes since q was empty
	since   clock.Tick // when the owner was told
	waiters int        // goroutines in wait
	cond    sync.Cond
}

var queues pool.Pool

// acquireQueue returns an empty queue. mu is what guards it.
func acquireQueue(mu *sync.Mutex) *queue {
	q, _ := queues.Get().(*queue)
	if q == nil {
		q = new(queue)
	}
	q.cond.L = mu
	return q
}

// release gives q back, if no goroutine waits for it.
func (q *queue) release() {
	q.drop()
	if q.waiters == 0 {
		q.cond.L, q.since = nil, 0
		queues.Put(q)
	}
}

// drop empties q.
func (q *queue) drop() {
	pool.Put(q.buf)
	q.buf, q.head, q.begun = nil, 0, false
}

// size returns how many bytes wait.
func (q *queue) size() int {
	if q == nil || q.buf == nil {
		return 0
	}
	return len(q.buf.B) - q.head
}

// room returns the buffer with room for n bytes more.
func (q *queue) room(n int) *pool.Buf {
	if q.buf == nil {
		q.buf = pool.Get(n)
	}
	b := q.buf
	if q.head > 0 && cap(b.B)-len(b.B) < n {
		b.B = b.B[:copy(b.B, b.B[q.head:])]
		q.head = 0
	}
	b.Grow(n)
	return b
}

// take appends at most n bytes of q to dst.
func (q *queue) take(dst []byte, n int) []byte {
	n = min(n, q.size())
	if n == 0 {
		return dst
	}
	dst = append(dst, q.buf.B[q.head:q.head+n]...)
	q.begun = true
	if q.head += n; q.size() == 0 {
		q.drop()
	}
	return dst
}

// wait waits for the next call of wake. The mutex is released meanwhile.
func (q *queue) wait() {
	q.waiters++
	q.cond.Wait()
	q.waiters--
}

// wake wakes all goroutines in wait. q may be nil.
func (q *queue) wake() {
	if q != nil && q.waiters > 0 {
		q.cond.Broadcast()
	}
}
