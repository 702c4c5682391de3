package gale

import (
	"fmt"
	"net"
	"sync"
	"testing"

	"github.com/galehttp/gale/galeutil"
)

// memNetwork is a network in memory: servers by host:port.
type memNetwork struct {
	mu  sync.Mutex
	lns map[string]*galeutil.InmemoryListener
	log []string // addresses that were dialed

	servers []*Server
}

func newMemNetwork(t *testing.T) *memNetwork {
	n := &memNetwork{lns: make(map[string]*galeutil.InmemoryListener)}
	t.Cleanup(n.close)
	return n
}

// close stops the servers.
func (n *memNetwork) close() {
	for _, s := range n.servers {
		_ = s.Shutdown()
	}
	for _, ln := range n.lns {
		_ = ln.Close()
	}
}

// listen makes addr a host of the network.
func (n *memNetwork) listen(addr string) net.Listener {
	n.mu.Lock()
	defer n.mu.Unlock()
	ln := galeutil.NewInmemoryListener()
	n.lns[addr] = ln
	return ln
}

// serve makes Gale serve h at addr, with TLS if the port is 443.
func (n *memNetwork) serve(t *testing.T, addr string, h RequestHandler) {
	t.Helper()
	s := &Server{Handler: h}
	n.servers = append(n.servers, s)
	ln := n.listen(addr)
	if _, port, _ := net.SplitHostPort(addr); port == "443" {
		cert, key, err := GenerateTestCertificate("localhost")
		if err != nil {
			t.Fatal(err)
		}
		go func() { _ = s.ServeTLSEmbed(ln, cert, key) }()
		return
	}
	go func() { _ = s.Serve(ln) }()
}

func (n *memNetwork) dial(addr string) (net.Conn, error) {
	n.mu.Lock()
	ln := n.lns[addr]
	n.log = append(n.log, addr)
	n.mu.Unlock()
	if ln == nil {
		return nil, fmt.Errorf("no host %s", addr)
	}
	return ln.Dial()
}

// cannedServer answers each write of a client with the same bytes.
func cannedServer(t *testing.T, answer string) *memNetwork {
	n := newMemNetwork(t)
	ln := n.listen("host.test:80")
	go func() {
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			go func() {
				b, out := make([]byte, 4096), []byte(answer)
				for {
					if _, err := c.Read(b); err != nil {
						_ = c.Close()
						return
					}
					_, _ = c.Write(out)
				}
			}()
		}
	}()
	return n
}
