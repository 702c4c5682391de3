package client

import (
	"context"
	"errors"
	"net"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/galehttp/gale"
	"github.com/galehttp/gale/tests/harness/peers"
)

// A dial to an address that doesn't answer ends at its timeout, and so does the attempt.
func TestDialerHung(t *testing.T) {
	peers.WithoutEngine(t)
	port := peers.DialTarget(t, "127.0.0.1:0")
	peers.HungTarget(t, port)
	d := &gale.TCPDialer{Resolver: peers.ResolverFunc(func(context.Context, string) ([]net.IPAddr, error) {
		return peers.IPAddrs("::1", "::1", "::1"), nil
	})}
	before := runtime.NumGoroutine()
	for _, host := range []string{"[::1]", "example.org"} {
		_, err := d.DialDualStackTimeout(host+":"+port, 300*time.Millisecond)
		if !errors.Is(err, gale.ErrDialTimeout) || !strings.HasPrefix(err.Error(), "gale: error when dialing [::1]:"+port) {
			t.Errorf("%s: got %v, want ErrDialTimeout and the address", host, err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(30*time.Millisecond, cancel)
		if _, err = d.DialContext(ctx, "tcp", host+":"+port); !errors.Is(err, context.Canceled) {
			t.Errorf("%s: got %v, want context.Canceled", host, err)
		}
	}
	peers.WantGoroutines(t, before)
}
