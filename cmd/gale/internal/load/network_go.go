package load

import (
	"context"
	"io"
	"net"
	"net/netip"
	"sync"
	"time"
)

// maxQueued is how many bytes wait between a socket and the loop, in each direction.
const maxQueued = 256 << 10

// goNetwork is the network of systems without epoll: two goroutines for each socket of
// package net, and queues between them and the loop.
type goNetwork struct {
	ctx    context.Context
	cancel context.CancelFunc
	all    sync.WaitGroup
	socks  []*goSocket
	bell   chan struct{}
	timer  *time.Timer
	events []event

	mu    sync.Mutex
	ready []*goSocket // that have something to tell, each once
}

// goSocket is a socket. Its fields belong to goNetwork.mu.
type goSocket struct {
	slot   int32
	gen    uint32
	conn   net.Conn
	cancel context.CancelFunc
	err    error // of connect, or of the socket
	in     []byte
	out    []byte
	told   bool // is in ready
	full   bool // a write found no room
	closed bool
	more   sync.Cond // something changed
}

func newGoNetwork(conns int) (network, error) {
	n := &goNetwork{socks: make([]*goSocket, conns), bell: make(chan struct{}, 1), timer: time.NewTimer(0)}
	n.ctx, n.cancel = context.WithCancel(context.Background())
	return n, nil
}

func (n *goNetwork) open(slot int32, gen uint32, to *endpoint, from netip.Addr) error {
	ctx, cancel := context.WithCancel(n.ctx)
	s := &goSocket{slot: slot, gen: gen, cancel: cancel}
	s.more.L = &n.mu
	n.socks[slot] = s
	var d net.Dialer
	if from.IsValid() {
		d.LocalAddr = net.TCPAddrFromAddrPort(netip.AddrPortFrom(from, 0))
	}
	n.all.Go(func() {
		addr := to.netAddr()
		conn, err := d.DialContext(ctx, addr.Network(), addr.String())
		n.mu.Lock()
		if err == nil && s.closed {
			conn.Close()
		}
		s.conn, s.err = conn, err
		n.tell(s)
		live := err == nil && !s.closed
		n.mu.Unlock()
		if live {
			n.all.Go(func() { n.send(s) })
			n.receive(s)
		}
	})
	return nil
}

// tell makes an event for s. The caller holds mu.
func (n *goNetwork) tell(s *goSocket) {
	if s.told || s.closed {
		return
	}
	s.told = true
	n.ready = append(n.ready, s)
	n.wake()
}

// receive moves bytes from the socket to s.in.
func (n *goNetwork) receive(s *goSocket) {
	b := make([]byte, readBuffer)
	for {
		m, err := s.conn.Read(b)
		n.mu.Lock()
		s.in = append(s.in, b[:m]...)
		if err != nil && s.err == nil {
			s.err = err
		}
		if m > 0 || err != nil {
			n.tell(s)
		}
		for len(s.in) >= maxQueued && !s.closed {
			s.more.Wait()
		}
		over := err != nil || s.closed
		n.mu.Unlock()
		if over {
			return
		}
	}
}

// send moves bytes from s.out to the socket.
func (n *goNetwork) send(s *goSocket) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for {
		for len(s.out) == 0 && !s.closed {
			s.more.Wait()
		}
		if s.closed {
			return
		}
		out := s.out
		s.out = nil
		n.mu.Unlock()
		_, err := s.conn.Write(out)
		n.mu.Lock()
		if s.full {
			s.full = false
			n.tell(s)
		}
		if err != nil {
			return // a read tells it too
		}
		if s.out == nil {
			s.out = out[:0]
		}
	}
}

func (n *goNetwork) connected(slot int32) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	if s := n.socks[slot]; s.conn == nil {
		return s.err
	}
	return nil
}

func (n *goNetwork) read(slot int32, p []byte) (int, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	s := n.socks[slot]
	if len(s.in) == 0 {
		if s.err != nil {
			return 0, s.err
		}
		return 0, errAgain
	}
	m := copy(p, s.in)
	s.in = s.in[:copy(s.in, s.in[m:])]
	s.more.Broadcast()
	if len(s.in) == 0 && s.err != nil {
		n.tell(s)
	}
	return m, nil
}

func (n *goNetwork) write(slot int32, a, b []byte) (int, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	s := n.socks[slot]
	if s.err != nil && s.err != io.EOF {
		return 0, s.err
	}
	room := maxQueued - len(s.out)
	a = a[:min(len(a), room)]
	b = b[:min(len(b), room-len(a))]
	s.out = append(append(s.out, a...), b...)
	s.full = len(s.out) >= maxQueued
	s.more.Broadcast()
	return len(a) + len(b), nil
}

func (n *goNetwork) close(slot int32, reset bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	s := n.socks[slot]
	if s == nil || s.closed {
		return
	}
	s.closed = true
	s.cancel()
	s.more.Broadcast()
	if s.conn == nil {
		return
	}
	if t, ok := s.conn.(*net.TCPConn); ok && reset {
		_ = t.SetLinger(0)
	}
	s.conn.Close()
}

func (n *goNetwork) wait(d time.Duration) []event {
	if n.mu.Lock(); len(n.ready) == 0 && d > 0 {
		n.mu.Unlock()
		n.timer.Reset(d)
		select {
		case <-n.bell:
		case <-n.timer.C:
		}
		n.mu.Lock()
	}
	defer n.mu.Unlock()
	n.events = n.events[:0]
	for _, s := range n.ready {
		s.told = false
		n.events = append(n.events, event{s.slot, s.gen, len(s.in) > 0 || s.err != nil, s.err != nil})
	}
	n.ready = n.ready[:0]
	return n.events
}

func (n *goNetwork) wake() {
	select {
	case n.bell <- struct{}{}:
	default:
	}
}

func (n *goNetwork) end() {
	for slot := range n.socks {
		n.close(int32(slot), true)
	}
	n.cancel()
	n.timer.Stop()
	n.all.Wait()
}
