package peers

import (
	"fmt"
	"net"
	"sync"
	"testing"

	"github.com/galehttp/gale/galeutil"
)

// Network is a network in memory: servers by host:port.
type Network struct {
	mu  sync.Mutex
	lns map[string]*galeutil.InmemoryListener
	Log []string // addresses that were dialed

	Servers []Service
}

func NewNetwork(t *testing.T) *Network {
	n := &Network{lns: make(map[string]*galeutil.InmemoryListener)}
	t.Cleanup(n.Close)
	return n
}

// Close stops the servers.
func (n *Network) Close() {
	for _, s := range n.Servers {
		_ = s.Shutdown()
	}
	for _, ln := range n.lns {
		_ = ln.Close()
	}
}

// Listen makes addr a host of the network.
func (n *Network) Listen(addr string) net.Listener {
	n.mu.Lock()
	defer n.mu.Unlock()
	ln := galeutil.NewInmemoryListener()
	n.lns[addr] = ln
	return ln
}

// Serve serves s at addr, with TLS if the port is 443.
func (n *Network) Serve(t *testing.T, addr string, s Service, certify Certify) {
	t.Helper()
	n.Servers = append(n.Servers, s)
	ln := n.Listen(addr)
	if _, port, _ := net.SplitHostPort(addr); port == "443" {
		cert, key, err := certify("localhost")
		if err != nil {
			t.Fatal(err)
		}
		go func() { _ = s.ServeTLSEmbed(ln, cert, key) }()
		return
	}
	go func() { _ = s.Serve(ln) }()
}

func (n *Network) Dial(addr string) (net.Conn, error) {
	n.mu.Lock()
	ln := n.lns[addr]
	n.Log = append(n.Log, addr)
	n.mu.Unlock()
	if ln == nil {
		return nil, fmt.Errorf("no host %s", addr)
	}
	return ln.Dial()
}

// SeenRequest is what a host got.
type SeenRequest struct {
	Method, Host, URI, Body string
	Head                    string
}
