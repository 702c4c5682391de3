package engine

import (
	"github.com/galehttp/gale/internal/clock"
	"github.com/galehttp/gale/internal/pool"
)

// Work is a workspace: the buffers that serving a message needs. It belongs to the
// goroutine that runs and is taken only while there are bytes to work on. No other may
// use it. Slices of it are valid until the session returns, or calls Fill; those of Out
// until a flush.
//
//	0 <= r <= w <= len(in)-slack; Unread is in[r:w]
//	landed > 0 => r == w
type Work struct {
	in   []byte
	r, w int
	by   *worker // of Event: the one that has it in a visit
	// Out is what the engine must send.
	Out []byte
	// Now is when the last bytes were read.
	Now  clock.Tick
	held bool // a session has slices of it: it must not be given back
	full bool // the last read filled the room that it was given

	landed int // bytes that were read elsewhere, see Landed
	sock   socketWriter
	// State is the session's: whatever it wants to find again in the next
	// workspace that it is called with, if it is the same one.
	State any
}

const (
	// inSize is the size of a fresh read buffer. It grows when a message
	// needs more, and is dropped beyond keepSize.
	inSize   = 4 << 10
	keepSize = 64 << 10
	// keepOut is up to which size output buffers are kept: as much as a session gathers.
	keepOut = 4 * keepSize
	// slack bytes after the end of the read buffer let parsers load whole words at its
	// end.
	slack = 32
	// minRoom is the least room that a read is given.
	minRoom = 512
)

var workPool pool.Pool

// getWork returns an empty workspace, which the caller owns until putWork. State is what
// the last session has left in it.
func getWork() *Work {
	if w, ok := workPool.Get().(*Work); ok {
		return w
	}
	return &Work{in: make([]byte, inSize+slack), Out: make([]byte, 0, inSize)}
}

// putWork gives w back to the pool; what is unread or not written is lost. The caller
// must not use it, nor slices of it, any more.
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

// Landed returns how many bytes were read into what Conn.ReadInto got, and then 0.
// Nothing is unread where it isn't 0.
func (w *Work) Landed() int {
	n := w.landed
	w.landed = 0
	return n
}

// Full reports whether the last read filled the room that it was given. Most likely
// more has arrived.
func (w *Work) Full() bool { return w.full }

// empty reports whether nothing is unread.
func (w *Work) empty() bool { return w.r == w.w }

// took records a read of n bytes into room for as many as size: that of the workspace,
// or what ReadInto got.
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

// Unread returns the bytes that were read and not consumed. After their end
// there is slack, so that a parser may look at whole words. They are valid until the
// session returns or calls Fill.
func (w *Work) Unread() []byte { return w.in[w.r:w.w] }

// Consume drops the first n unread bytes. They stay readable until the session
// returns or calls Fill. n <= len(w.Unread()).
func (w *Work) Consume(n int) { w.r += n }

// room returns where to read to, at least minRoom bytes, moving or growing the
// buffer if need be. Slices of Unread from before aren't valid any more.
func (w *Work) room() []byte {
	if w.r == w.w {
		w.r, w.w = 0, 0
	}
	if len(w.in)-w.w < minRoom+slack {
		w.makeRoom()
	}
	return w.in[w.w : len(w.in)-slack]
}

// makeRoom moves what is unread to the beginning, and doubles the buffer if that is not
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

// maxWiden is up to which size a read buffer grows because reads fill it.
const maxWiden = 16 << 10

// widen makes the read buffer larger, if it is small, for the reads to come: each
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

// ExpectMuch makes the read buffer as large as buffers are kept. It is for sessions that
// see from what reads have filled it with that much more comes, and copy it elsewhere.
// Slices of Unread from before aren't valid after it.
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
