package load

import (
	"errors"
	"net"
	"net/netip"
	"time"
)

// network is the sockets of one loop and what waits for them. Only the loop calls it,
// except for wake. A socket has the number of its connection, slot.
//
// Events come at edges: once when bytes, room or the end arrive. A read that returned fewer
// bytes than p has room for took all there was, unless the event said ended.
type network interface {
	// open begins to connect. When that has ended there is an event for slot and gen.
	// errAgain says that the server's queue is full, which only UNIX sockets tell.
	open(slot int32, gen uint32, to *endpoint, from netip.Addr) error
	// connected returns how connecting ended.
	connected(slot int32) error
	// read returns errAgain if there are no bytes, io.EOF at the end.
	read(slot int32, p []byte) (int, error)
	// write writes a and then b, as far as there is room, and returns how much that was.
	write(slot int32, a, b []byte) (int, error)
	// close closes the socket. With reset it leaves no state behind (TIME_WAIT).
	close(slot int32, reset bool)
	// wait waits for events, for d at most, and returns them. They are valid until the
	// next call.
	wait(d time.Duration) []event
	// wake ends a wait. Other goroutines may call it.
	wake()
	// end closes everything.
	end()
}

// event says what happened to a socket.
type event struct {
	slot  int32
	gen   uint32
	bytes bool // there is something to read, the end included
	ended bool // the peer has closed, or there is an error
}

// errAgain says that a call must be made again later.
var errAgain = errors.New("load: not yet")

// endpoint is an address to connect to.
type endpoint struct {
	network string // "tcp" or "unix"
	path    string
	addr    netip.AddrPort
}

// endpointOf returns the address of t.
func endpointOf(t *Target) (*endpoint, error) {
	if t.Network == "unix" {
		return &endpoint{network: t.Network, path: t.Address}, nil
	}
	addr, err := netip.ParseAddrPort(t.Address)
	if err != nil {
		return nil, refuse("%s: the address %q is not an IP address with a port", t.URL, t.Address)
	}
	return &endpoint{network: t.Network, addr: netip.AddrPortFrom(addr.Addr().Unmap(), addr.Port())}, nil
}

func (e *endpoint) netAddr() net.Addr {
	if e.network == "unix" {
		return &net.UnixAddr{Name: e.path, Net: "unix"}
	}
	return net.TCPAddrFromAddrPort(e.addr)
}
