package engine

import (
	"net"
	"sync"
	"sync/atomic"
	"syscall"
)

// Simulation is a system for Event that has no sockets: its connections are
// numbers. It shows the engine with more connections than a machine has
// descriptors. All that arrives is the same message, and what is
// written is counted.
type Simulation struct {
	e       *Event
	message []byte

	mu      sync.Mutex // guards all fields below, except written
	cond    sync.Cond
	keys    []ready // of the connections, by number
	full    []bool  // those that have a message to read
	queue   []ready // edges that were not reported
	woken   bool
	written atomic.Int64 // calls of write
}

// Simulate lets e, which must not be serving, run on a Simulation on which
// message arrives, until stop is called.
func Simulate(e *Event, message []byte) (s *Simulation, stop func(), err error) {
	s = &Simulation{e: e, message: message}
	s.cond.L = &s.mu
	e.Loops = 1
	e.newSystem = func() (system, error) { return s, nil }
	if err := e.Hold(); err != nil {
		return nil, nil, err
	}
	return s, e.Unhold, nil
}

// Connect returns a new connection, for Adopt and Start.
func (s *Simulation) Connect() net.Conn {
	s.mu.Lock()
	fd := int32(len(s.keys))
	s.keys = append(s.keys, ready{})
	s.full = append(s.full, false)
	s.mu.Unlock()
	c := &eventConn{from: simulated, fd: fd}
	c.word.Store(isOwned)
	return (*eventSocket)(c)
}

var simulated = &acceptor{addr: &net.TCPAddr{}, local: &net.TCPAddr{}}

// Arrive lets the message arrive on the connections with these numbers, counted
// from 0 in the order of Connect.
func (s *Simulation) Arrive(numbers []int) {
	s.mu.Lock()
	for _, n := range numbers {
		s.full[n] = true
		edge := s.keys[n]
		edge.ev = evIn | evOut
		s.queue = append(s.queue, edge)
	}
	s.mu.Unlock()
	s.cond.Signal()
}

// Written returns how many times something was written.
func (s *Simulation) Written() int64 { return s.written.Load() }

func (s *Simulation) add(fd int32, slot, gen uint32) error {
	s.mu.Lock()
	s.keys[fd] = ready{slot: slot, gen: gen}
	s.mu.Unlock()
	return nil
}

func (s *Simulation) poll(batch []ready, block bool) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	for block && len(s.queue) == 0 && !s.woken {
		s.cond.Wait()
	}
	n := copy(batch, s.queue)
	s.queue = s.queue[:copy(s.queue, s.queue[n:])]
	if n == 0 && s.woken {
		n = -1
	}
	s.woken = false
	return n
}

func (s *Simulation) wake() {
	s.mu.Lock()
	s.woken = true
	s.mu.Unlock()
	s.cond.Signal()
}

func (s *Simulation) read(fd int32, p []byte) (int, syscall.Errno) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.full[fd] {
		return -1, syscall.EAGAIN
	}
	s.full[fd] = false
	return copy(p, s.message), 0
}

func (s *Simulation) write(_ int32, p []byte) (int, syscall.Errno) {
	s.written.Add(1)
	return len(p), 0
}

func (s *Simulation) writev(_ int32, a, b []byte) (int, syscall.Errno) {
	s.written.Add(1)
	return len(a) + len(b), 0
}

func (s *Simulation) shut()                              {}
func (s *Simulation) sendFile(int32, *File) (int, error) { return 0, errNoSendfile }
func (s *Simulation) shutdown(int32, int) error          { return nil }
func (s *Simulation) setLinger(int32, int) error         { return nil }
func (s *Simulation) localAddr(int32) (rawAddr, error)   { return rawAddr{}, nil }
func (s *Simulation) hungUp(int32) (gone, reset bool)    { return false, false }
func (s *Simulation) remove(int32)                       {}
func (s *Simulation) netConn(int32) (net.Conn, error)    { return nil, syscall.ENOTSUP }
func (s *Simulation) accept(uintptr) (accepted, syscall.Errno) {
	return accepted{fd: -1}, syscall.EAGAIN
}
func (s *Simulation) setOption(fd, level, name, value int) error { return nil }
func (s *Simulation) duplicate(uintptr) (accepted, error)        { return accepted{}, syscall.ENOTSUP }
func (s *Simulation) close(int32)                                {}
