package galeutil

import (
	"context"
	"net"
	"sync"
)

// InmemoryListener is a net.Listener in memory, with methods to dial it.
// NewInmemoryListener makes one. All methods may be called from several goroutines.
type InmemoryListener struct {
	dials  chan net.Conn // unbuffered: a send ends when the connection is accepted
	closed chan struct{}

	mu    sync.Mutex
	done  bool // closed is closed
	local net.Addr
}

// NewInmemoryListener returns a new listener.
func NewInmemoryListener() *InmemoryListener {
	return &InmemoryListener{dials: make(chan net.Conn), closed: make(chan struct{})}
}

// Accept waits for a Dial and returns the server's end of its connection, or
// ErrInmemoryListenerClosed when the listener was closed.
func (ln *InmemoryListener) Accept() (net.Conn, error) {
	select {
	case c := <-ln.dials:
		return c, nil
	case <-ln.closed:
		return nil, ErrInmemoryListenerClosed
	}
}

// Close makes Accept and Dial fail, also calls that wait. Connections stay open. A second
// call returns ErrInmemoryListenerClosed.
func (ln *InmemoryListener) Close() error {
	ln.mu.Lock()
	defer ln.mu.Unlock()
	if ln.done {
		return ErrInmemoryListenerClosed
	}
	ln.done = true
	close(ln.closed)
	return nil
}

// SetLocalAddr sets the address that Addr returns. Connections that are dialed afterwards
// have it as the address of the server.
func (ln *InmemoryListener) SetLocalAddr(localAddr net.Addr) {
	ln.mu.Lock()
	defer ln.mu.Unlock()
	ln.local = localAddr
}

// Addr returns the address that SetLocalAddr has set. Without one, it returns an address
// whose network is "inmemory" and whose text is "InmemoryListener".
func (ln *InmemoryListener) Addr() net.Addr {
	ln.mu.Lock()
	defer ln.mu.Unlock()
	if ln.local == nil {
		return listenerAddr{}
	}
	return ln.local
}

// Dial connects to the listener and returns the client's end. It waits until the
// connection is accepted. Its only error is ErrInmemoryListenerClosed.
func (ln *InmemoryListener) Dial() (net.Conn, error) {
	return ln.dial(context.Background(), nil)
}

// DialWithLocalAddr is Dial with local as the address of the client. If local is nil, the
// address has the network and the text "pipe".
func (ln *InmemoryListener) DialWithLocalAddr(local net.Addr) (net.Conn, error) {
	return ln.dial(context.Background(), local)
}

// DialContext is Dial that stops waiting when ctx is done, and then returns the cause. It
// ignores network and addr: they are there so that the method can be the DialContext of
// an http.Transport and the like. Not in fasthttputil.
func (ln *InmemoryListener) DialContext(ctx context.Context, network, addr string) (net.Conn, error) {
	return ln.dial(ctx, nil)
}

func (ln *InmemoryListener) dial(ctx context.Context, local net.Addr) (net.Conn, error) {
	select {
	case <-ln.closed: // even if a goroutine is still in Accept
		return nil, ErrInmemoryListenerClosed
	default:
	}
	pc, server := NewPipeConns(), ln.Addr()
	pc.SetAddresses(local, server, server, local)
	select {
	case ln.dials <- pc.Conn2():
		return pc.Conn1(), nil
	case <-ln.closed:
		return nil, ErrInmemoryListenerClosed
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

type listenerAddr struct{}

func (listenerAddr) Network() string { return "inmemory" }
func (listenerAddr) String() string  { return "InmemoryListener" }
