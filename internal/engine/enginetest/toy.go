// Package enginetest has a toy protocol, for tests of the doors that engines have for
// every protocol. Only tests import it.
package enginetest

import (
	"encoding/binary"
	"io"
	"net"
	"sync"

	"github.com/galehttp/gale/internal/engine"
)

// Toy is a session that echoes frames: two bytes of length, two bytes that number the
// frame, and so many bytes as the length says. Each answer is made by a goroutine of
// its own, so that answers come in any order. What the peer sends before it ends its
// side is answered.
type Toy struct {
	// Answer returns the answer to a payload, on a goroutine of its own. By default
	// that is the payload.
	Answer func(payload []byte) []byte
	// Greeting is sent first.
	Greeting string
	// Farewell is sent once the connection must end; the session continues then. Without
	// one it ends at once, when all is answered.
	Farewell string

	c       engine.Conn
	waker   *engine.Waker
	greeted bool
	parted  bool // Farewell was sent
	ended   bool // the peer has ended its side

	mu      sync.Mutex
	ready   []byte // answers
	pending int    // answers that are being made
}

// AppendFrame appends a frame to dst.
func AppendFrame(dst []byte, id uint16, payload []byte) []byte {
	dst = binary.BigEndian.AppendUint16(dst, uint16(len(payload)))
	dst = binary.BigEndian.AppendUint16(dst, id)
	return append(dst, payload...)
}

// ReadFrame reads a frame from r.
func ReadFrame(r io.Reader) (id uint16, payload []byte, err error) {
	var head [4]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return 0, nil, err
	}
	payload = make([]byte, binary.BigEndian.Uint16(head[:]))
	_, err = io.ReadFull(r, payload)
	return binary.BigEndian.Uint16(head[2:]), payload, err
}

// Open begins the session.
func (s *Toy) Open(c engine.Conn, next *engine.Next) {
	s.c, s.waker = c, c.Waker()
	next.Idle = true
	if s.Greeting != "" {
		next.Op = engine.Flush
	}
}

// Feed takes frames and appends answers.
func (s *Toy) Feed(w *engine.Work, next *engine.Next) {
	if !s.greeted {
		s.greeted = true
		w.Out = append(w.Out, s.Greeting...)
	}
	for {
		b := w.Unread()
		if len(b) < 4 {
			break
		}
		n := 4 + int(binary.BigEndian.Uint16(b))
		if len(b) < n {
			break
		}
		s.mu.Lock()
		s.pending++
		s.mu.Unlock()
		go s.answer(binary.BigEndian.Uint16(b[2:]), append([]byte(nil), b[4:n]...))
		w.Consume(n)
	}
	s.goOn(w, next)
}

func (s *Toy) answer(id uint16, payload []byte) {
	if s.Answer != nil {
		payload = s.Answer(payload)
	}
	s.mu.Lock()
	s.ready = AppendFrame(s.ready, id, payload)
	s.pending--
	s.mu.Unlock()
	s.waker.Wake()
}

// goOn appends the answers that are ready and says what comes next.
func (s *Toy) goOn(w *engine.Work, next *engine.Next) {
	s.mu.Lock()
	w.Out = append(w.Out, s.ready...)
	s.ready = s.ready[:0]
	done := s.pending == 0
	s.mu.Unlock()
	stopping := s.c.Stopping()
	if stopping && !s.parted {
		s.parted = true
		w.Out = append(w.Out, s.Farewell...)
	}
	if done && (s.ended || stopping && s.Farewell == "" && len(w.Unread()) == 0) {
		next.Op = engine.Close
		return
	}
	next.Idle = done && len(w.Unread()) == 0
}

// Stall ends the connection, at the end of what the peer sends when all is answered.
func (s *Toy) Stall(w *engine.Work, why error, next *engine.Next) {
	if why != io.EOF {
		next.Op = engine.Abort
		return
	}
	s.ended = true
	s.goOn(w, next)
}

// Hijacked is never called.
func (s *Toy) Hijacked(c net.Conn) { c.Close() }

// Closed does nothing: answers that come later have no effect.
func (s *Toy) Closed(error) {}

// Panicked does nothing.
func (s *Toy) Panicked(any) {}
