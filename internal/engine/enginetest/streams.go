package enginetest

import (
	"encoding/binary"
	"io"
	"net"
	"sync"
	"sync/atomic"

	"github.com/galehttp/gale/internal/engine"
)

// Streams is a session that speaks as Toy does, and makes answers as a protocol with many
// requests on a connection does: in Feed, one after the other, sharing the connection
// meanwhile. So if one blocks, others are made. It checks that engines call it as they
// must.
type Streams struct {
	// Answer returns the answer to a payload. It runs in Feed and may block. By default
	// it is the payload. If it panics, the answer is "panic", unless Panics is set.
	Answer func(st *Stream, payload []byte) []byte
	Panics bool
	// Wrong is told of calls that an engine must not make.
	Wrong func(what string)
	// Deadline, if set, sets the deadline of each Share and Read.
	Deadline func(next *engine.Next)
	// Most is how many answers are made in a Feed at most; 0 means all.
	Most int

	c     engine.Conn
	waker *engine.Waker

	owners, calls atomic.Int32 // goroutines that own the session; in its methods
	closed        atomic.Bool
	// Lost is how many answers were made by goroutines that lost the connection.
	Lost atomic.Int32

	// Of the owner:
	ready [][]byte // frames to answer
	ended bool     // the peer has ended its side
	spare [][]byte

	mu      sync.Mutex
	done    []byte // answers of those who lost the connection
	running int    // answers that are being made
}

// Stream is one request, while Answer runs.
type Stream struct {
	s     *Streams
	id    uint16
	w     *engine.Work
	share *engine.Sharer
	more  bool
	lost  bool
}

func (s *Streams) wrong(what string) {
	if s.Wrong != nil {
		s.Wrong(what)
		return
	}
	panic(what)
}

// own is called when a goroutine has the session by itself, until disown.
func (s *Streams) own() {
	if s.owners.Add(1) != 1 {
		s.wrong("two goroutines have the session")
	}
	if s.closed.Load() {
		s.wrong("a method is called after Closed")
	}
}

func (s *Streams) disown() { s.owners.Add(-1) }

// Running returns how many calls of the session run.
func (s *Streams) Running() int { return int(s.calls.Load()) }

// Open begins the session.
func (s *Streams) Open(c engine.Conn, next *engine.Next) {
	s.c, s.waker = c, c.Waker()
	next.Idle = true
}

// Feed takes frames and makes answers.
func (s *Streams) Feed(w *engine.Work, next *engine.Next) {
	s.calls.Add(1)
	defer s.calls.Add(-1)
	s.own()
	for {
		b := w.Unread()
		if len(b) < 4 {
			break
		}
		n := 4 + int(binary.BigEndian.Uint16(b))
		if len(b) < n {
			break
		}
		var f []byte
		if k := len(s.spare); k > 0 {
			f, s.spare = s.spare[k-1], s.spare[:k-1]
		}
		s.ready = append(s.ready, append(f[:0], b[2:n]...))
		w.Consume(n)
	}
	s.goOn(w, next)
}

// goOn makes answers and says what comes next.
func (s *Streams) goOn(w *engine.Work, next *engine.Next) {
	for n := 0; len(s.ready) > 0; n++ {
		if s.Most > 0 && n == s.Most || len(w.Out) > 16<<10 {
			next.Op = engine.Flush
			s.disown()
			return
		}
		f := s.ready[0]
		s.ready = s.ready[:copy(s.ready, s.ready[1:])]
		if w = s.answer(w, f); w == nil {
			return
		}
		s.spare = append(s.spare, f)
	}
	idle := s.collect(w)
	if idle && (s.ended || s.c.Stopping() && len(w.Unread()) == 0) {
		next.Op = engine.Close
	} else {
		next.Idle = idle && len(w.Unread()) == 0
		if !next.Idle {
			next.Deadline = s.deadline().Deadline
		}
	}
	s.disown()
}

// collect moves the answers of those who lost the connection to the output. idle says that no
// answer is being made.
func (s *Streams) collect(w *engine.Work) (idle bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	w.Out = append(w.Out, s.done...)
	s.done = s.done[:0]
	return s.running == 0
}

func (s *Streams) deadline() (next engine.Next) {
	if s.Deadline != nil {
		s.Deadline(&next)
	}
	return next
}

// answer answers the frame f, and returns nil if the connection was lost.
func (s *Streams) answer(w *engine.Work, f []byte) *engine.Work {
	s.mu.Lock()
	s.running++
	s.mu.Unlock()
	st := Stream{s: s, id: binary.BigEndian.Uint16(f), w: w, more: len(s.ready) > 0}
	st.shares()
	p := st.run(f[2:])
	st.unshare()
	st.put(p, true)
	return st.w
}

// run calls Answer.
func (st *Stream) run(p []byte) (answer []byte) {
	if st.s.Answer == nil {
		return p
	}
	returned := false
	defer func() {
		if returned {
			return
		}
		if !st.s.Panics && recover() != nil {
			answer = []byte("panic")
			return
		}
		st.s.mu.Lock()
		st.s.running--
		st.s.mu.Unlock()
		st.s.waker.Wake()
	}()
	answer = st.s.Answer(st, p)
	returned = true
	return answer
}

func (st *Stream) shares() {
	if w := st.w; w != nil {
		st.s.collect(w) // this Feed may have taken their wake-ups, and Answer may block
		st.w = nil
		st.s.disown()
		st.share = st.s.c.Share(w, st.more, st.s.deadline().Deadline)
	}
}

func (st *Stream) unshare() {
	if st.lost {
		return
	}
	w, ok := st.s.c.Unshare(st.share)
	if st.w = w; !ok {
		st.lost = true
		st.s.Lost.Add(1)
		return
	}
	st.s.own()
}

// put appends a frame to the output: to that of the connection, or where Feed finds it.
func (st *Stream) put(p []byte, last bool) {
	s := st.s
	s.mu.Lock()
	if last {
		s.running--
	}
	if st.w != nil {
		st.w.Out = AppendFrame(st.w.Out, st.id, p)
	} else {
		s.done = AppendFrame(s.done, st.id, p)
	}
	s.mu.Unlock()
	if st.w == nil {
		s.waker.Wake()
	}
}

// Send sends a frame at once, in the middle of Answer.
func (st *Stream) Send(p []byte) (err error) {
	st.unshare()
	st.put(p, false)
	if st.w != nil {
		err = st.s.c.Flush(st.w)
		st.shares()
	}
	return err
}

// PassOn tells that Answer waits for something of the peer.
func (st *Stream) PassOn() {
	if !st.lost {
		st.s.c.PassOn(st.share)
	}
}

// Stall ends the connection, at the end of what the peer sends when all is answered.
func (s *Streams) Stall(w *engine.Work, why error, next *engine.Next) {
	s.calls.Add(1)
	defer s.calls.Add(-1)
	s.own()
	if why != io.EOF {
		next.Op = engine.Abort
		s.disown()
		return
	}
	s.ended = true
	s.goOn(w, next)
}

// Hijacked is never called.
func (s *Streams) Hijacked(c net.Conn) { c.Close() }

// Closed checks that it is called once.
func (s *Streams) Closed(error) {
	if s.closed.Swap(true) {
		s.wrong("it is closed twice")
	}
}

// IsClosed reports whether Closed was called.
func (s *Streams) IsClosed() bool { return s.closed.Load() }

// Panicked does nothing.
func (s *Streams) Panicked(any) {}
