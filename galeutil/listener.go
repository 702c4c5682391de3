package galeutil

import (
	"context"
	"net"
	"sync"
)

// InmemoryListener is a net.Listener together with the way to dial it. It is
// made by NewInmemoryListener. All methods may be called from several
// goroutines.
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

// Close ends Accept and Dial, those that wait included. Connections stay as they
// are. The second call returns ErrInmemoryListenerClosed.
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

// SetLocalAddr sets what Addr returns, and what connections that are dialed
// from now on tell as the address of the server.
func (ln *InmemoryListener) SetLocalAddr(localAddr net.Addr) {
	ln.mu.Lock()
	defer ln.mu.Unlock()
	ln.local = localAddr
}

// Addr returns the address that SetLocalAddr has set, else one whose network is
// "inmemory" and whose text is "InmemoryListener".
func (ln *InmemoryListener) Addr() net.Addr {
	ln.mu.Lock()
	defer ln.mu.Unlock()
	if ln.local == nil {
		return listenerAddr{}
	}
	return ln.local
}

// Dial connects to the listener and returns the client's end. It waits until
// the connection is accepted. Its errors are ErrInmemoryListenerClosed.
func (ln *InmemoryListener) Dial() (net.Conn, error) {
	return ln.dial(context.Background(), nil)
}

// DialWithLocalAddr is Dial that makes local the address of the client; nil
// stands for one whose network and text are "pipe".
func (ln *InmemoryListener) DialWithLocalAddr(local net.Addr) (net.Conn, error) {
	return ln.dial(context.Background(), local)
}

// DialContext is Dial that stops waiting when ctx is done, and returns the cause
// then. It doesn't look at network and addr, so that it fits dialer fields such
// as that of http.Transport. Not in fasthttputil.
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
