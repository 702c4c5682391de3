package h2

import (
	"io"
	"net"
	"sync"
	"testing"

	"github.com/galehttp/gale/tests/harness/gate"
)

// cutter is a proxy that breaks connections off.
type cutter struct {
	ln     net.Listener
	target func() string
	mu     sync.Mutex
	conns  map[*net.TCPConn]*net.TCPConn
	wg     sync.WaitGroup
}

func newCutter(t *testing.T, target func() string) *cutter {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	c := &cutter{ln: ln, target: target, conns: map[*net.TCPConn]*net.TCPConn{}}
	c.wg.Go(func() {
		for {
			nc, err := ln.Accept()
			if err != nil {
				return
			}
			c.wg.Go(func() { c.forward(nc.(*net.TCPConn)) })
		}
	})
	return c
}

func (c *cutter) forward(client *net.TCPConn) {
	defer client.Close()
	nc, err := net.Dial("tcp", c.target())
	if err != nil {
		return
	}
	server := nc.(*net.TCPConn)
	defer server.Close()
	c.mu.Lock()
	if c.conns == nil {
		c.mu.Unlock()
		return
	}
	c.conns[client] = server
	c.mu.Unlock()
	var wg sync.WaitGroup
	for _, x := range [][2]*net.TCPConn{{client, server}, {server, client}} {
		wg.Go(func() {
			if _, err := io.Copy(struct{ io.Writer }{x[0]}, struct{ io.Reader }{x[1]}); err != nil {
				cutBoth(client, server)
			}
			_ = x[0].CloseWrite()
		})
	}
	wg.Wait()
	c.mu.Lock()
	delete(c.conns, client)
	c.mu.Unlock()
}

func cutBoth(conns ...*net.TCPConn) {
	for _, c := range conns {
		_ = c.SetLinger(0)
		_ = c.Close()
	}
}

// cutSome breaks connections off, each with a probability of 1 in n.
func (c *cutter) cutSome(n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for client, server := range c.conns {
		if gate.Rand.IntN(n) == 0 {
			cutBoth(client, server)
		}
	}
}

func (c *cutter) stop() {
	_ = c.ln.Close()
	c.cutSome(1)
	c.mu.Lock()
	c.conns = nil
	c.mu.Unlock()
	c.wg.Wait()
}
