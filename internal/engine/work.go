package engine

import (
	"runtime"
	"sync"

	"github.com/galehttp/gale/internal/clock"
	"github.com/galehttp/gale/internal/pool"
)

// Work is a workspace: the buffers for serving a message. It belongs to the goroutine
// that runs, and no other may use it. A connection has one only while there are bytes to
// work on. Slices of it are valid until the session returns or calls Fill; those of Out
// until a flush.
//
//	0 <= r <= w <= len(in)-slack; Unread is in[r:w]
//	landed > 0 => r == w
type Work struct {
	in   []byte
	r, w int
	by   *worker // of Event: the worker that has it in a visit
	// number doesn't change; see Number.
	number uint32
	// Out is the output that must be sent.
	Out []byte
	// Now is when the last bytes were read.
	Now  clock.Tick
	held bool // the session has slices of it: it must not be given back
	full bool // the last read filled the room that it was given

	landed int // bytes that were read into another buffer, see Landed
	sock   socketWriter
	// State belongs to sessions. What a session leaves here is found by the next session
	// that is called with this workspace, of whatever type it is.
	State any
}

const (
	// inSize is the size of a fresh read buffer. It grows when a message
	// needs more, and is dropped beyond keepSize.
	inSize   = 4 << 10
	keepSize = 64 << 10
	// keepOut is the largest size of output buffers that are kept. It is as much as a
	// session gathers.
	keepOut = 4 * keepSize
	// slack bytes after the end of the read buffer let parsers load whole words at its
	// end.
	slack = 32
	// minRoom is the least room that a read gets.
	minRoom = 512
)

var workPool pool.Pool

// getWork returns an empty workspace, which the caller owns until putWork. State is what
// the last session has left in it.
func getWork() *Work {
	if w, ok := workPool.Get().(*Work); ok {
		return w
	}
	w := &Work{in: make([]byte, inSize+slack), Out: make([]byte, 0, inSize), number: workNumbers.take()}
	runtime.AddCleanup(w, workNumbers.putBack, w.number)
	return w
}

// workNumbers are the numbers of workspaces.
var workNumbers numbers

// numbers gives out small numbers, each to one user at a time.
type numbers struct {
	mu   sync.Mutex
	next uint32
	free []uint32 // all below next
}

func (n *numbers) take() uint32 {
	n.mu.Lock()
	defer n.mu.Unlock()
	if last := len(n.free) - 1; last >= 0 {
		k := n.free[last]
		n.free = n.free[:last]
		return k
	}
	n.next++
	return n.next - 1
}

func (n *numbers) putBack(k uint32) {
	n.mu.Lock()
	n.free = append(n.free, k)
	n.mu.Unlock()
}

// Number returns a number that no other workspace has at the same time, and that is
// smaller than the largest number of workspaces that there were. A processor mostly uses
// the same workspaces, so counters by this number are mostly written by one processor
// each.
func (w *Work) Number() uint32 { return w.number }

// putWork gives w back to the pool. Unread bytes and output that was not written are
// lost. The caller must not use w, or slices of it, after that.
func putWork(w *Work) {
	w.reset()
	w.by = nil
	workPool.Put(w)
}

// reset empties w, except State, and replaces buffers that have grown beyond keepSize and
// keepOut.
func (w *Work) reset() {
	w.r, w.w = 0, 0
	if len(w.in) > keepSize+slack {
		w.in = make([]byte, inSize+slack)
	}
	if cap(w.Out) > keepOut {
		w.Out = make([]byte, 0, inSize)
	}
	w.Out = w.Out[:0]
	w.held, w.full, w.landed = false, false, 0
}

// Landed returns how many bytes were read into the buffer of Conn.ReadInto; the next call
// returns 0. If it isn't 0, nothing is unread.
func (w *Work) Landed() int {
	n := w.landed
	w.landed = 0
	return n
}

// Full reports whether the last read filled the room that it was given. If so, most
// likely more has arrived.
func (w *Work) Full() bool { return w.full }

// empty reports whether nothing is unread.
func (w *Work) empty() bool { return w.r == w.w }

// took records a read of n bytes into a buffer of size bytes: the room of the workspace
// or, with elsewhere, the buffer of ReadInto.
func (w *Work) took(n, size int, elsewhere bool) {
	w.full = n == size
	if elsewhere {
		w.landed = n
		return
	}
	w.w += n
	if w.full {
		w.widen() // more may be waiting
	}
}

// Unread returns the bytes that were read and not consumed. slack bytes after their end
// may be loaded, so that a parser can look at whole words. The slice is valid until the
// session returns or calls Fill.
func (w *Work) Unread() []byte { return w.in[w.r:w.w] }

// Consume drops the first n unread bytes. They stay readable until the session
// returns or calls Fill. n <= len(w.Unread()).
func (w *Work) Consume(n int) { w.r += n }

// Unconsume makes the last n consumed bytes unread again. Fill was not called since they were
// consumed.
func (w *Work) Unconsume(n int) { w.r -= n }

// room returns a slice to read into, of at least minRoom bytes. It moves or grows the
// buffer if necessary. Slices of Unread from before aren't valid any more.
func (w *Work) room() []byte {
	if w.r == w.w {
		w.r, w.w = 0, 0
	}
	if len(w.in)-w.w < minRoom+slack {
		w.makeRoom()
	}
	return w.in[w.w : len(w.in)-slack]
}

// makeRoom moves the unread bytes to the beginning, and doubles the buffer if that is not
// enough.
func (w *Work) makeRoom() {
	end := len(w.in) - slack
	if w.r > 0 {
		w.w = copy(w.in, w.in[w.r:w.w])
		w.r = 0
	}
	if end-w.w < minRoom {
		in := make([]byte, 2*end+slack)
		copy(in, w.in[:w.w])
		w.in = in
	}
}

// maxWiden is the size up to which a read buffer grows because reads fill it.
const maxWiden = 16 << 10

// widen doubles the read buffer if it is smaller than maxWiden, for the next reads: each
// costs a system call.
func (w *Work) widen() {
	if end := len(w.in) - slack; end < maxWiden {
		w.widenTo(2 * end)
	}
}

func (w *Work) widenTo(size int) {
	in := make([]byte, size+slack)
	w.w = copy(in, w.in[w.r:w.w])
	w.r, w.in = 0, in
}

// ExpectMuch makes the read buffer as large as buffers that are kept, keepSize. It is for
// sessions that see, from the bytes that have filled the buffer, that much more will
// come, and that copy these bytes elsewhere. Slices of Unread from before aren't valid
// after it.
func (w *Work) ExpectMuch() {
	if len(w.in)-slack < keepSize {
		w.widenTo(keepSize)
	}
}

// put appends bytes as if they had been read.
func (w *Work) put(b []byte) {
	for len(b) > 0 {
		n := copy(w.room(), b)
		w.w += n
		b = b[n:]
	}
}
