package engine

import (
	"net"
	"sync/atomic"
)

// Where listeners and connections go: which loop accepts from a listener, and which one
// serves a connection.

// port is an address on which calls of Serve listen. There are several for one address if
// their sockets share it (SO_REUSEPORT): then the system spreads the connections over
// them. It does so only for TCP; of UNIX sockets with one name, the last one gets all.
type port struct {
	key    string
	spread bool          // over the listeners: it is an address of TCP
	loops  []*loop       // of the engine
	at     map[*loop]int // listeners of this address by loop; under Event.mu
	// everywhere says that each loop has a listener of this address, and gets its part of
	// the connections. So a connection can stay with the loop that accepted it.
	everywhere atomic.Bool
}

// join returns the loop for the next listener, which has the fewest listeners of that
// address. Loops with the same number take turns. The caller holds the loops and must
// call part.
func (e *Event) join(addr net.Addr) (*port, *loop) {
	key := addr.Network() + " " + addr.String()
	e.mu.Lock()
	defer e.mu.Unlock()
	p := e.ports[key]
	if p == nil {
		p = &port{key: key, loops: e.loops, at: make(map[*loop]int)}
		_, p.spread = addr.(*net.TCPAddr)
		if e.ports == nil {
			e.ports = make(map[string]*port)
		}
		e.ports[key] = p
	}
	turn := int(e.served.Add(1) - 1)
	best := e.loops[turn%len(e.loops)]
	for i := range e.loops {
		if l := e.loops[(turn+i)%len(e.loops)]; p.at[l] < p.at[best] {
			best = l
		}
	}
	p.at[best]++
	p.setEverywhere()
	return p, best
}

// part undoes join.
func (e *Event) part(p *port, l *loop) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if p.at[l]--; p.at[l] == 0 {
		delete(p.at, l)
	}
	p.setEverywhere()
	if len(p.at) == 0 {
		delete(e.ports, p.key)
	}
}

// setEverywhere is called under Event.mu.
func (p *port) setEverywhere() { p.everywhere.Store(p.spread && len(p.at) == len(p.loops)) }

// A loop keeps a connection that it accepted, if it may, unless it has more than
// crowdedBy connections more than twice those of the next loop. The system chooses a
// socket by a hash of the addresses, so few connections may be spread unevenly. With
// MaxRunning it keeps no more than may run: others would wait although the next loop has
// room.
const crowdedBy = 16

// place returns the loop for a connection that a has accepted: that of a if each loop has
// a listener, so that loops share nothing; otherwise the loop with the fewest
// connections. That is approximate: conns may change meanwhile. The loops are held.
func (e *Event) place(a *acceptor) *loop {
	if a.port == nil { // it isn't of Serve, but simulated by a test
		return fewest(e.all())
	}
	loops := a.port.loops
	if a.port.everywhere.Load() {
		next := loops[(a.l.number+1)%len(loops)]
		mine := a.l.conns.Load()
		if int(mine) < a.l.maxRunning && mine <= 2*next.conns.Load()+crowdedBy {
			return a.l
		}
	}
	return fewest(loops)
}

func fewest(loops []*loop) *loop {
	best := loops[0]
	for _, l := range loops[1:] {
		if l.conns.Load() < best.conns.Load() {
			best = l
		}
	}
	return best
}
