package gale

import (
	"context"
	"errors"
	"net"
	"net/url"
	"runtime"
	"strings"
	"testing"
	"time"
)

// ender is a body whose reading ends the goroutine.
type ender struct{}

func (ender) Read([]byte) (int, error) { runtime.Goexit(); return 0, nil }

// If a user's function panics or ends its goroutine, the call fails, but the pool doesn't
// lose a place for a connection.
func TestClientHooksThatDontReturn(t *testing.T) {
	s := scripted(t, answering(okAnswer("good")))
	for what, end := range map[string]func(){"panic": func() { panic("hook") }, "Goexit": runtime.Goexit} {
		for name, set := range map[string]func(c *HostClient, req *Request){
			"GotConn": func(c *HostClient, _ *Request) {
				c.Trace = &ClientTrace{GotConn: func(*Request, net.Conn, bool, time.Duration) { end() }}
			},
			"Dialed": func(c *HostClient, _ *Request) {
				c.Trace = &ClientTrace{Dialed: func(string, net.Conn, time.Duration, error) { end() }}
			},
			"Wrote":     func(c *HostClient, _ *Request) { c.Trace = &ClientTrace{Wrote: func(*Request, error) { end() }} },
			"FirstByte": func(c *HostClient, _ *Request) { c.Trace = &ClientTrace{FirstByte: func(*Request) { end() }} },
			"Dial": func(c *HostClient, _ *Request) {
				c.Dial = func(string) (net.Conn, error) { end(); return nil, nil }
			},
			"Dial with a limit": func(c *HostClient, req *Request) {
				req.SetTimeout(time.Minute)
				c.Dial = func(string) (net.Conn, error) { end(); return nil, nil }
			},
			"RetryIfErr": func(c *HostClient, _ *Request) {
				c.RetryIfErr = func(*Request, int, error) (bool, bool) { end(); return false, false }
				c.Dial = func(string) (net.Conn, error) { a, b := net.Pipe(); b.Close(); return a, nil }
			},
			"body": func(_ *HostClient, req *Request) { req.SetBodyStream(ender{}, -1) },
		} {
			c := &HostClient{Addr: s.addr()}
			req := &Request{}
			req.SetRequestURI(s.url())
			set(c, req)
			done := make(chan struct{})
			go func() {
				defer close(done)
				defer func() { _ = recover() }()
				_ = c.Do(req, &Response{})
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

// If a server closes each connection or sends bytes before the request, the call fails.
// It doesn't dial forever.
func TestClientNewConnectionOfNoUse(t *testing.T) {
	for _, greeting := range []string{"", "220 ready\r\n"} {
		s := scripted(t, func(p *scriptConn, _ int) {
			if greeting != "" {
				p.write(greeting)
				p.hold()
			}
		})
		c := &HostClient{Addr: s.addr(), Dial: func(addr string) (net.Conn, error) {
			if s.accepted.Load() > 10 {
				return nil, errors.New("enough")
			}
			nc, err := net.Dial("tcp", addr)
			if err != nil {
				return nil, err
			}
			cc := newClientConn(nc, addr)
			if !cc.conn.CanCheck() {
				t.Skip("connections can't be checked here")
			}
			for cc.conn.Alive() { // until the client can see what the server did
				time.Sleep(time.Millisecond)
			}
			return nc, nil
		}}
		if _, err := getFrom(c, "GET", s.url()); err == nil {
			t.Errorf("greeting %q is a response", greeting)
		}
		if n := s.accepted.Load(); n != 1 {
			t.Errorf("greeting %q: dialed %d times", greeting, n)
		}
	}
}

// The same for Dial for a proxy and for a Resolver, which are called on goroutines of the
// client.
func TestClientHooksInGoroutines(t *testing.T) {
	for what, end := range map[string]func(){"panic": func() { panic("dial") }, "Goexit": runtime.Goexit} {
		for name, c := range map[string]*Client{
			"Dial": {
				Proxy: func(*URI) (*url.URL, error) { return url.Parse("http://proxy.example:3128") },
				Dial:  func(string) (net.Conn, error) { end(); return nil, nil },
			},
			"Resolver": {
				DialContext: (&TCPDialer{Resolver: endingResolver(end)}).DialContext,
			},
		} {
			_, _, err := c.GetTimeout(nil, "https://a.example/", time.Minute)
			if err == nil || errors.Is(err, ErrTimeout) || strings.Contains(err.Error(), "nil pointer") {
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
