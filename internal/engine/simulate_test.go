package engine

import (
	"net"
	"runtime"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
)

// useSystem wraps the system of the loops that start before the test ends.
func useSystem(t testing.TB, wrap func(system) system) {
	setSystem(t, func(*Event) (system, error) {
		sys, err := newSystem()
		if err != nil {
			return nil, err
		}
		return wrap(sys), nil
	})
}

func setSystem(t testing.TB, open func(e *Event) (system, error)) {
	old := openSystem
	openSystem = open
	t.Cleanup(func() { openSystem = old })
}

// Simulation is a system for Event without sockets: its connections are numbers. With it
// the engine can have more connections than a machine has descriptors. Only one message
// arrives, again and again, and writes are only counted.
type Simulation struct {
	message []byte

	mu      sync.Mutex // guards all fields below, except written
	e       *Event     // the engine that runs on it
	cond    sync.Cond
	keys    []ready // of the connections, by number
	full    []bool  // the connections that have a message to read
	queue   []ready // edges that were not reported
	woken   bool
	written atomic.Int64 // calls of write
}

// Simulate makes the next Event that serves run on a Simulation on which message arrives.
// The Event must have one loop.
func Simulate(t testing.TB, message []byte) *Simulation {
	s := &Simulation{message: message}
	s.cond.L = &s.mu
	setSystem(t, func(e *Event) (system, error) {
		s.mu.Lock()
		s.e = e
		s.mu.Unlock()
		return s, nil
	})
	return s
}

// Connect returns a new connection, for Adopt and Start.
func (s *Simulation) Connect() net.Conn {
	return (&acceptor{addr: &net.TCPAddr{}, local: &net.TCPAddr{}}).newConn(s.number())
}

// Accept gives n new connections to the one call of Serve on the Event, and waits for
// that call.
func (s *Simulation) Accept(n int) {
	var a *acceptor
	for a == nil {
		runtime.Gosched()
		s.mu.Lock()
		if s.e != nil {
			s.e.acceptors.Range(func(k, _ any) bool { a = k.(*acceptor); return false })
		}
		s.mu.Unlock()
	}
	for range n {
		a.handle(a.newConn(s.number()))
	}
}

// number returns a new connection, with a number in place of a descriptor.
func (s *Simulation) number() accepted {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.keys = append(s.keys, ready{})
	s.full = append(s.full, false)
	return accepted{fd: firstNumber + int32(len(s.keys)-1)}
}

// firstNumber is greater than the descriptor of any listener.
const firstNumber = 1 << 24

// Arrive makes the message arrive on the connections with these numbers. Numbers begin at
// 0, in the order of Connect.
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

// Written returns the number of writes.
func (s *Simulation) Written() int64 { return s.written.Load() }

func (s *Simulation) add(fd int32, slot, gen uint32) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if fd >= firstNumber { // not a listener: nothing arrives there
		s.keys[fd-firstNumber] = ready{slot: slot, gen: gen}
	}
	return nil
}

func (s *Simulation) poll(batch []ready, block bool, _ *atomic.Bool) int {
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
	if !s.full[fd-firstNumber] {
		return -1, syscall.EAGAIN
	}
	s.full[fd-firstNumber] = false
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
