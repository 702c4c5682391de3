package client

import (
	"errors"
	"net"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/galehttp/gale"
	"github.com/galehttp/gale/tests/harness"
)

// The name for TLS verification is the same for an address without a port as for one with
// a port.
func TestHostClientTLSWithoutPort(t *testing.T) {
	oh := errors.New("oh")
	for _, addr := range []string{"example.org", "example.org:443", "[::1]", "::1"} {
		c := &gale.HostClient{Addr: addr, IsTLS: true, Dial: func(string) (net.Conn, error) { return nil, oh }}
		req := &gale.Request{}
		req.SetRequestURI("https://example.org/")
		err := c.Do(req, nil)
		if want := addr != "::1"; errors.Is(err, oh) != want {
			t.Errorf("%s: got %v, dialing is %v", addr, err, want)
		}
	}
}

// A dialer that panics costs no place in the pool, nor the process.
func TestHostClientDialPanics(t *testing.T) {
	for _, timeout := range []time.Duration{0, time.Minute} {
		c := &gale.HostClient{Addr: "example.org", MaxConns: 1, Dial: func(string) (net.Conn, error) { panic("oh") }}
		for range 2 {
			req := harness.PipeReq("GET")
			req.SetTimeout(timeout)
			err := c.Do(req, nil)
			if err == nil || !strings.Contains(err.Error(), "panicked: oh") {
				t.Errorf("got %v, want the panic", err)
			}
		}
		if n := c.ConnsCount(); n != 0 {
			t.Errorf("%d connections are counted", n)
		}
	}
}

// Nor does a dialer that a tunnel uses.
func TestClientProxyDialPanics(t *testing.T) {
	c := &gale.Client{
		Dial: func(string) (net.Conn, error) { panic("oh") },
		Proxy: func(*gale.URI) (*url.URL, error) {
			return &url.URL{Scheme: "http", Host: "127.0.0.1:1"}, nil
		},
	}
	for range 2 {
		req := &gale.Request{}
		req.SetRequestURI("https://example.org/")
		if err := c.Do(req, nil); err == nil || !strings.Contains(err.Error(), "panicked: oh") {
			t.Errorf("got %v, want the panic", err)
		}
	}
}
