package gale

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/galehttp/gale/internal/modeltest"
)

// modelDialer is the dial function of a model test.
type modelDialer struct {
	*modeltest.Run

	mu      sync.Mutex
	dials   int             // that run
	blocked []chan struct{} // dials that wait
	open    int             // connections that the client has not closed
}

// connect is a dial function of the program: it may block, fail, panic or end its goroutine.
// accept makes the connection.
func (m *modelDialer) connect(ctx context.Context, accept func() net.Conn) (net.Conn, error) {
	m.mu.Lock()
	m.dials++
	m.mu.Unlock()
	defer func() {
		m.mu.Lock()
		m.dials--
		m.mu.Unlock()
	}()
	if m.Chance(30) {
		goes := make(chan struct{})
		m.mu.Lock()
		m.blocked = append(m.blocked, goes)
		m.mu.Unlock()
		select {
		case <-goes:
		case <-ctx.Done():
			m.mu.Lock()
			m.blocked = slices.DeleteFunc(m.blocked, func(c chan struct{}) bool { return c == goes })
			m.mu.Unlock()
			return nil, ctx.Err()
		}
	}
	switch {
	case m.Chance(8):
		return nil, errors.New("the dial failed")
	case m.Chance(4):
		panic("dial")
	case m.Chance(4):
		runtime.Goexit()
	}
	return accept(), nil
}

// releaseDial lets a dial go on.
func (m *modelDialer) releaseDial() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if goes, ok := modeltest.Pick(m.Run, &m.blocked); ok {
		m.Note("a dial goes on")
		close(goes)
	}
}

// modelClientConn is the client's end of a connection of a model.
type modelClientConn struct {
	net.Conn
	m      *modelDialer
	proto  string
	closed atomic.Bool
}

// ConnectionState says which protocol was chosen, as TLS does.
func (c *modelClientConn) ConnectionState() tls.ConnectionState {
	return tls.ConnectionState{Version: tls.VersionTLS13, NegotiatedProtocol: c.proto}
}

func (c *modelClientConn) Close() error {
	if !c.closed.Swap(true) {
		c.m.mu.Lock()
		c.m.open--
		c.m.mu.Unlock()
	}
	return c.Conn.Close()
}
