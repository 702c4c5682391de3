package server

import (
	"errors"
	"net"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/galehttp/gale"
	"github.com/galehttp/gale/tests/harness/peers"
)

// deafConn is a connection whose deadlines do nothing. When it is closed, a Read that
// waits returns late, if that is set.
type deafConn struct {
	net.Conn
	late string
}

func (c *deafConn) SetDeadline(time.Time) error      { return nil }
func (c *deafConn) SetReadDeadline(time.Time) error  { return nil }
func (c *deafConn) SetWriteDeadline(time.Time) error { return nil }

func (c *deafConn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	if err != nil && c.late != "" {
		n = copy(b, c.late)
		c.late = c.late[n:]
		return n, nil
	}
	return n, err
}

// Shutdown ends an idle connection whose deadlines do nothing, and serves nothing that is
// read after it has closed it. A request that comes before is served.
func TestShutdownOfDeafConnection(t *testing.T) {
	for _, test := range []struct {
		name   string
		thrift bool
		late   string // what a Read returns after Close
		comes  bool   // another request comes before that
	}{
		{name: "silent"},
		{name: "silent, ReduceMemoryUsage", thrift: true},
		{name: "late request", late: peers.Get("/late")},
		{name: "late request, ReduceMemoryUsage", thrift: true, late: peers.Get("/late")},
		{name: "request in time", comes: true},
		{name: "request in time, ReduceMemoryUsage", thrift: true, comes: true},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				log := &peers.Log{}
				handled := make(chan string, 9)
				s := &gale.Server{ReduceMemoryUsage: test.thrift, Logger: log, Handler: func(ctx *gale.RequestCtx) {
					handled <- string(ctx.Path())
				}}
				ours, theirs := net.Pipe()
				served := make(chan error, 1)
				go func() { served <- s.ServeConn(&deafConn{ours, test.late}) }()
				c := peers.NewConn(t, theirs)
				c.Send(peers.Get("/first"))
				if a := c.Answer("GET"); a.Close {
					t.Error("the first response closes the connection")
				}
				synctest.Wait() // until it is idle
				shut := make(chan error, 1)
				go func() { shut <- s.Shutdown() }()
				synctest.Wait()
				if test.comes {
					c.Send(peers.Get("/second"))
					if a := c.Answer("GET"); a.StatusCode != http.StatusOK || !a.Close {
						t.Errorf("the request in time: status %d, closes: %v", a.StatusCode, a.Close)
					}
				}
				if err := errors.Join(<-shut, <-served); err != nil {
					t.Error(err)
				}
				close(handled)
				var got []string
				for path := range handled {
					got = append(got, path)
				}
				if n := len(got); n == 0 || got[0] != "/first" || n > 1 != test.comes || n > 2 {
					t.Errorf("handled %q", got)
				}
				if text := log.String(); text != "" {
					t.Errorf("logged %q", text)
				}
			})
		})
	}
}

// A connection whose deadlines do nothing also ends if it begins during a shutdown.
func TestDeafConnectionDuringShutdown(t *testing.T) {
	for _, thrift := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			hold := make(chan bool)
			s := &gale.Server{ReduceMemoryUsage: thrift, Handler: func(*gale.RequestCtx) { <-hold }}
			serve := func(wrap func(net.Conn) net.Conn) (client *peers.Conn, served chan error) {
				ours, theirs := net.Pipe()
				served = make(chan error, 1)
				go func() { served <- s.ServeConn(wrap(ours)) }()
				return peers.NewConn(t, theirs), served
			}
			c, first := serve(func(c net.Conn) net.Conn { return c })
			c.Send(peers.Get("/"))
			synctest.Wait()
			shut := make(chan error, 1)
			go func() { shut <- s.Shutdown() }()
			synctest.Wait()
			_, second := serve(func(c net.Conn) net.Conn { return &deafConn{Conn: c} })
			if err := <-second; err != nil {
				t.Error(err)
			}
			close(hold)
			c.Answer("GET")
			if err := errors.Join(<-shut, <-first); err != nil {
				t.Error(err)
			}
		})
	}
}
