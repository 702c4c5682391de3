package galeutil

import (
	"io"
	"sync"

	"github.com/galehttp/gale/internal/pool"
)

// A Write that finds room takes all its bytes at once, however many. There is room while
// less than maxPending bytes are unread, or while there were less than maxWrites writes
// since no bytes were unread. The second rule lets tests write a few large messages
// before a goroutine reads.
const (
	maxPending = 64 << 10
	maxWrites  = 4
)

// pipe is one direction of a connection: what one end writes, the other end
// reads.
type pipe struct {
	mu       sync.Mutex
	readable sync.Cond // readers wait here
	writable sync.Cond // writers wait here

	buf    *pool.Buf // the unread bytes are buf.B[off:]; nil while there are none
	off    int
	writes int // since buf was nil

	// A reader that waits puts its slice here, so that the next write copies to it
	// directly. taken is set while a reader uses dst; when the write is done, dst is nil.
	taken bool
	dst   []byte
	got   int

	ended  bool // the writing end was closed or half-closed: EOF comes after buf
	closed bool // the reading end was closed

	readBy, writeBy deadline
}

func (p *pipe) init() {
	p.readable.L, p.writable.L = &p.mu, &p.mu
	p.readBy.init(&p.mu, &p.readable)
	p.writeBy.init(&p.mu, &p.writable)
}

// read waits for bytes and moves them to b. It returns bytes that have arrived even if
// the deadline has passed.
func (p *pipe) read(b []byte) (int, error) {
	p.mu.Lock()
	mine := false
	for {
		switch {
		case mine && p.dst == nil:
			n := p.got
			p.taken = false
			p.mu.Unlock()
			return n, nil
		case len(b) == 0:
			return 0, p.giveUp(mine, nil)
		case p.buf != nil:
			n := p.take(b)
			return n, p.giveUp(mine, nil)
		case p.ended, p.closed:
			return 0, p.giveUp(mine, io.EOF)
		case p.readBy.passed:
			return 0, p.giveUp(mine, ErrTimeout)
		}
		if !p.taken {
			p.taken, mine = true, true
			p.dst = b
		}
		p.readable.Wait()
	}
}

// giveUp unlocks p for a reader that returns without having got bytes by dst.
func (p *pipe) giveUp(mine bool, err error) error {
	if mine {
		p.taken, p.dst = false, nil
	}
	p.mu.Unlock()
	return err
}

// take moves unread bytes to b. There must be some.
func (p *pipe) take(b []byte) int {
	n := copy(b, p.buf.B[p.off:])
	if p.off += n; p.off == len(p.buf.B) {
		p.drop()
		p.writable.Broadcast()
	} else if len(p.buf.B)-p.off < maxPending {
		p.writable.Broadcast()
	}
	return n
}

func (p *pipe) buffered() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.buf == nil {
		return 0
	}
	return len(p.buf.B) - p.off
}

// drop discards the unread bytes.
func (p *pipe) drop() {
	pool.Put(p.buf)
	p.buf, p.off, p.writes = nil, 0, 0
}

// write passes on all of b, or nothing.
func (p *pipe) write(b []byte) (int, error) {
	p.mu.Lock()
	for {
		switch {
		case p.ended, p.closed:
			p.mu.Unlock()
			return 0, ErrConnectionClosed
		case p.writeBy.passed:
			p.mu.Unlock()
			return 0, ErrTimeout
		case len(b) == 0:
			p.mu.Unlock()
			return 0, nil
		case p.buf == nil, len(p.buf.B)-p.off < maxPending, p.writes < maxWrites:
			p.put(b)
			p.mu.Unlock()
			p.readable.Broadcast()
			return len(b), nil
		}
		p.writable.Wait()
	}
}

// put copies b to the reader that waits, and the rest to the buffer.
func (p *pipe) put(b []byte) {
	if p.dst != nil {
		p.got = copy(p.dst, b)
		p.dst = nil
		if b = b[p.got:]; len(b) == 0 {
			return
		}
	}
	if p.buf == nil {
		p.buf = pool.Get(len(b))
	} else if p.off > 0 && cap(p.buf.B)-len(p.buf.B) < len(b) {
		p.buf.B = p.buf.B[:copy(p.buf.B, p.buf.B[p.off:])]
		p.off = 0
	}
	p.buf.Grow(len(b))
	p.buf.B = append(p.buf.B, b...)
	p.writes++
}

// end closes the writing side: the reader gets EOF after the bytes that were written. It
// returns false if the side was already closed.
func (p *pipe) end() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ended {
		return false
	}
	p.ended = true
	p.writeBy.stop()
	p.readable.Broadcast()
	p.writable.Broadcast()
	return true
}

// close closes the reading side: writes fail from now on.
func (p *pipe) close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return
	}
	p.closed = true
	p.readBy.stop()
	p.readable.Broadcast()
	p.writable.Broadcast()
}
