package engine

import (
	"sync"

	"github.com/galehttp/gale/internal/clock"
)

// Work is a workspace: the buffers that serving a message needs. It belongs to
// the goroutine that runs and is taken only while there are bytes to work on.
type Work struct {
	in   []byte
	r, w int
	// Out is what is to be sent.
	Out []byte
	// Now is when the last bytes were read.
	Now  clock.Tick
	held bool // a session is using it: not to be given back
	// State is the session's: whatever it wants to find again in the next
	// workspace that it is called with, if it is the same one.
	State any
}

const (
	// inSize is the size of a fresh read buffer. It grows when a message
	// needs more, and is dropped beyond keepSize.
	inSize   = 4 << 10
	keepSize = 64 << 10
	// slack bytes behind the end of the read buffer let parsers load whole
	// words at its end.
	slack = 32
	// minRoom is the least room that a read is given.
	minRoom = 512
)

var workPool sync.Pool

func getWork() *Work {
	if w, ok := workPool.Get().(*Work); ok {
		return w
	}
	return &Work{in: make([]byte, inSize+slack), Out: make([]byte, 0, inSize)}
}

// putWork returns w, whose bytes were all consumed and written.
func putWork(w *Work) {
	w.reset()
	workPool.Put(w)
}

// reset empties w.
func (w *Work) reset() {
	w.r, w.w = 0, 0
	if len(w.in) > keepSize+slack {
		w.in = make([]byte, inSize+slack)
	}
	if cap(w.Out) > keepSize {
		w.Out = make([]byte, 0, inSize)
	}
	w.Out = w.Out[:0]
}

// Unread returns the bytes that were read and not consumed. Behind their end
// there is slack, so that a parser may look at whole words.
func (w *Work) Unread() []byte { return w.in[w.r:w.w] }

// Consume drops the first n unread bytes. They stay readable until the session
// returns or fills.
func (w *Work) Consume(n int) { w.r += n }

// room returns where to read to, at least minRoom bytes, moving or growing the
// buffer if need be.
func (w *Work) room() []byte {
	if w.r == w.w {
		w.r, w.w = 0, 0
	}
	if len(w.in)-w.w < minRoom+slack {
		w.makeRoom()
	}
	return w.in[w.w : len(w.in)-slack]
}

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
		in := make([]byte, 2*end+slack)
		w.w = copy(in, w.in[w.r:w.w])
		w.r, w.in = 0, in
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
