package gale

import (
	"crypto/tls"
	"errors"
	"net"
	"net/netip"
	"sync"
	"time"
)

// perIPConns counts connections by address.
type perIPConns struct {
	mu sync.Mutex
	n  map[netip.Addr]int
}

// add counts a connection. If there are already limit connections of ip, it doesn't count
// it and returns false.
func (p *perIPConns) add(ip netip.Addr, limit int) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.n[ip] >= limit {
		return false
	}
	if p.n == nil {
		p.n = make(map[netip.Addr]int)
	}
	p.n[ip]++
	return true
}

// again counts a connection of ip without a limit.
func (p *perIPConns) again(ip netip.Addr) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.n[ip]++
}

func (p *perIPConns) remove(ip netip.Addr) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.n[ip]--; p.n[ip] <= 0 {
		delete(p.n, ip)
	}
}

// connIP returns the IP address of nc's peer, invalid if it has none.
func connIP(nc net.Conn) netip.Addr {
	if a, ok := nc.RemoteAddr().(*net.TCPAddr); ok {
		ip, _ := netip.AddrFromSlice(a.IP)
		return ip.Unmap()
	}
	return netip.Addr{}
}

// admit counts a connection against the limits. If it refuses the connection, it doesn't
// count it. The caller passes the returned address to dismiss.
func (s *Server) admit(nc net.Conn) (ip netip.Addr, err error) {
	if s.MaxConnsPerIP > 0 {
		// This check is first, so that no connection is closed to make room for one that
		// is refused.
		if ip = connIP(nc); ip.IsValid() && !s.perIP.add(ip, s.MaxConnsPerIP) {
			return ip, ErrPerIPConnLimit
		}
	}
	if limit := s.concurrency(); int(s.stats.open.Add(1)) > limit {
		// The evicted connection closes a little later; until then there is one too many.
		if s.evictIdle(1) == 0 {
			s.dismiss(ip)
			return ip, ErrConcurrencyLimit
		}
	}
	s.stats.accepted.Add(1)
	return ip, nil
}

// dismiss undoes admit when the connection has ended.
func (s *Server) dismiss(ip netip.Addr) {
	if ip.IsValid() {
		s.perIP.remove(ip)
	}
	s.leave()
}

func (s *Server) leave() {
	if s.stats.open.Add(-1) > 0 {
		return
	}
	s.run.mu.Lock()
	s.checkDrained()
	s.run.mu.Unlock()
}

// The responses to connections that are refused before anything is read.
const (
	refusedBusy = "HTTP/1.1 503 Service Unavailable\r\nConnection: close\r\nContent-Type: text/plain; charset=utf-8\r\n" +
		"Retry-After: 1\r\nContent-Length: 59\r\n\r\nThe connection cannot be served because the server is busy."
	refusedIP = "HTTP/1.1 429 Too Many Requests\r\nConnection: close\r\nContent-Type: text/plain; charset=utf-8\r\n" +
		"Content-Length: 61\r\n\r\nThe number of connections from your ip exceeds MaxConnsPerIP\n"
	refusedPlain = "HTTP/1.1 400 Bad Request\r\nConnection: close\r\nContent-Type: text/plain; charset=utf-8\r\n" +
		"Content-Length: 54\r\n\r\nHere is HTTPS only: begin the address with https://.\r\n"
)

// refusing limits the number of goroutines that refuse connections with a response.
var refusing = make(chan struct{}, 64)

// refuse answers a connection from which no request was read, and closes it.
func (s *Server) refuse(nc net.Conn, why error) {
	defer func() {
		if r := recover(); r != nil {
			s.logPanic("refusing a connection", r, stack())
		}
	}()
	defer nc.Close()
	if _, ok := nc.(*tls.Conn); ok {
		return // an answer would need a handshake
	}
	answer := refusedBusy
	if errors.Is(why, ErrPerIPConnLimit) {
		answer = refusedIP
	}
	dismissWith(nc, answer)
}

// dismissWith writes a last response and closes the writing side. It waits a moment for
// the peer to read it, because closing with unread bytes would reset the connection.
func dismissWith(nc net.Conn, answer string) {
	nc.SetDeadline(time.Now().Add(time.Second))
	if _, err := nc.Write([]byte(answer)); err != nil {
		return
	}
	cw, ok := nc.(interface{ CloseWrite() error })
	if !ok || cw.CloseWrite() != nil {
		return
	}
	select {
	case refusing <- struct{}{}:
		defer func() { <-refusing }()
	default:
		return
	}
	var b [512]byte
	for range 64 {
		if _, err := nc.Read(b[:]); err != nil {
			return
		}
	}
}

// evictIdle closes up to n idle connections, and returns how many it found.
func (s *Server) evictIdle(n int) int {
	found := s.event.EvictIdle(n)
	if found < n {
		found += s.engine.EvictIdle(n - found)
	}
	return found
}

// idleConns returns the number of idle connections. It looks at every connection.
func (s *Server) idleConns() int { return s.engine.Idle() + s.event.Idle() }
