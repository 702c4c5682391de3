package client

import (
	"context"
	"errors"
	"net"
	"net/url"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/galehttp/gale"
	"github.com/galehttp/gale/tests/harness/peers"
)

// ender is a body whose reading ends the goroutine.
type ender struct{}

func (ender) Read([]byte) (int, error) { runtime.Goexit(); return 0, nil }

// If a user's function panics or ends its goroutine, the call fails, but the pool doesn't
// lose a place for a connection.
func TestClientHooksThatDontReturn(t *testing.T) {
	s := peers.StartScript(t, peers.Answering(peers.OkAnswer("good")))
	for what, end := range map[string]func(){"panic": func() { panic("hook") }, "Goexit": runtime.Goexit} {
		for name, set := range map[string]func(c *gale.HostClient, req *gale.Request){
			"GotConn": func(c *gale.HostClient, _ *gale.Request) {
				c.Trace = &gale.ClientTrace{GotConn: func(*gale.Request, net.Conn, bool, time.Duration) { end() }}
			},
			"Dialed": func(c *gale.HostClient, _ *gale.Request) {
				c.Trace = &gale.ClientTrace{Dialed: func(string, net.Conn, time.Duration, error) { end() }}
			},
			"Wrote": func(c *gale.HostClient, _ *gale.Request) {
				c.Trace = &gale.ClientTrace{Wrote: func(*gale.Request, error) { end() }}
			},
			"FirstByte": func(c *gale.HostClient, _ *gale.Request) {
				c.Trace = &gale.ClientTrace{FirstByte: func(*gale.Request) { end() }}
			},
			"Dial": func(c *gale.HostClient, _ *gale.Request) {
				c.Dial = func(string) (net.Conn, error) { end(); return nil, nil }
			},
			"Dial with a limit": func(c *gale.HostClient, req *gale.Request) {
				req.SetTimeout(time.Minute)
				c.Dial = func(string) (net.Conn, error) { end(); return nil, nil }
			},
			"RetryIfErr": func(c *gale.HostClient, _ *gale.Request) {
				c.RetryIfErr = func(*gale.Request, int, error) (bool, bool) { end(); return false, false }
				c.Dial = func(string) (net.Conn, error) { a, b := net.Pipe(); b.Close(); return a, nil }
			},
			"body": func(_ *gale.HostClient, req *gale.Request) { req.SetBodyStream(ender{}, -1) },
		} {
			c := &gale.HostClient{Addr: s.Addr()}
			req := &gale.Request{}
			req.SetRequestURI(s.URL())
			set(c, req)
			done := make(chan struct{})
			go func() {
				defer close(done)
				defer func() { _ = recover() }()
				_ = c.Do(req, &gale.Response{})
			}()
			<-done
			if n := c.ConnsCount(); n != 0 {
				t.Errorf("%s, %s: %d connections are left", name, what, n)
			}
			if n := c.PendingRequests(); n != 0 {
				t.Errorf("%s, %s: %d requests are left", name, what, n)
			}
			c.CloseIdleConnections()
		}
	}
}

// The same for Dial for a proxy and for a Resolver, which are called on goroutines of the
// client.
func TestClientHooksInGoroutines(t *testing.T) {
	for what, end := range map[string]func(){"panic": func() { panic("dial") }, "Goexit": runtime.Goexit} {
		for name, c := range map[string]*gale.Client{
			"Dial": {
				Proxy: func(*gale.URI) (*url.URL, error) { return url.Parse("http://proxy.example:3128") },
				Dial:  func(string) (net.Conn, error) { end(); return nil, nil },
			},
			"Resolver": {
				DialContext: (&gale.TCPDialer{Resolver: endingResolver(end)}).DialContext,
			},
		} {
			_, _, err := c.GetTimeout(nil, "https://a.example/", time.Minute)
			if err == nil || errors.Is(err, gale.ErrTimeout) || strings.Contains(err.Error(), "nil pointer") {
				t.Errorf("%s, %s: %v", name, what, err)
			}
			if n := c.ConnsCount(); n != 0 {
				t.Errorf("%s, %s: %d connections are left", name, what, n)
			}
		}
	}
}

type endingResolver func()

func (end endingResolver) LookupIPAddr(context.Context, string) ([]net.IPAddr, error) {
	end()
	return nil, nil
}
