package gale

import (
	"context"
	"net"
	"net/netip"
	"runtime"
	"testing"

	"github.com/galehttp/gale/tests/harness/peers"
)

// If an address doesn't answer, the dial tries the next one (RFC 8305 section 5). The
// family of the one that answers is tried first after that.
func TestHappyEyeballs(t *testing.T) {
	peers.WithoutEngine(t)
	port := peers.DialTarget(t, "127.0.0.1:0")
	peers.HungTarget(t, port)
	d := &TCPDialer{Resolver: peers.ResolverFunc(func(context.Context, string) ([]net.IPAddr, error) {
		return peers.IPAddrs("::1", "127.0.0.1"), nil
	})}
	before := runtime.NumGoroutine()
	for range 3 {
		conn, err := d.DialDualStack("example.org:" + port)
		if got := peers.Dialed(t, conn, err); got != "127.0.0.1" {
			t.Fatalf("dialed %s", got)
		}
		_, found, err := d.resolve(t.Context(), "tcp", "example.org:"+port)
		if err != nil {
			t.Fatal(err)
		}
		first := found.Order([]netip.AddrPort{netip.MustParseAddrPort("[::1]:1"), netip.MustParseAddrPort("127.0.0.1:1")})[0]
		if !first.Addr().Is4() {
			t.Fatalf("%s is tried first, want the family that answered", first)
		}
	}
	peers.WantGoroutines(t, before)
}
