package client

import (
	"context"
	"errors"
	"io"
	"net"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/galehttp/gale"
	"github.com/galehttp/gale/tests/harness/await"
	"github.com/galehttp/gale/tests/harness/peers"
)

// ownConn is a connection of the program. Its functions are called, too, unless they are nil.
type ownConn struct {
	net.Conn
	readDeadline func(t time.Time) error
	close        func()
}

func (c *ownConn) SetReadDeadline(t time.Time) error {
	if c.readDeadline != nil {
		if err := c.readDeadline(t); err != nil {
			return err
		}
	}
	return c.Conn.SetReadDeadline(t)
}

func (c *ownConn) Close() error {
	err := c.Conn.Close()
	if c.close != nil {
		c.close()
	}
	return err
}

// ownContext is a context of the program, with an AfterFunc of its own.
type ownContext struct {
	context.Context
	err  func()
	stop func()
}

func (c ownContext) Err() error {
	if c.err != nil {
		c.err()
	}
	return c.Context.Err()
}

func (c ownContext) AfterFunc(func()) (stop func() bool) {
	return func() bool {
		if c.stop != nil {
			c.stop()
		}
		return true
	}
}

// TestClientMethodsThatDontReturn proves that a call ends, and leaves no connection, if a method of
// the program's connection or context panics or ends its goroutine, also on a goroutine of the
// client that sends the body.
func TestClientMethodsThatDontReturn(t *testing.T) {
	s := peers.StartScript(t, peers.Answering(peers.OkAnswer("good")))
	early := errors.New("the body")
	for what, end := range map[string]func(){"panic": func() { panic("own") }, "Goexit": runtime.Goexit} {
		for name, tt := range map[string]struct {
			conn ownConn
			body io.Reader // nil for none
			read bool      // the response is a stream, which is read
			shut bool      // the response is a stream, which is closed
			stop bool      // the context's stop function doesn't return
		}{
			"SetReadDeadline of the sender": {conn: ownConn{readDeadline: func(at time.Time) error {
				if at.Unix() == 1 {
					end()
				}
				return nil
			}}, body: strings.NewReader("body")},
			"Close of the sender": {conn: ownConn{close: end}, body: peers.H2ReaderFunc(func() (int, error) { return 0, early })},
			"stop":                {stop: true},
			"stop, body":          {stop: true, body: strings.NewReader("body")},
			"stop, stream":        {stop: true, read: true},
			"stop, closed stream": {stop: true, shut: true},
		} {
			t.Run(name+"/"+what, func(t *testing.T) {
				c := &gale.HostClient{Addr: s.Addr(), Trace: &gale.ClientTrace{}, StreamResponseBody: tt.read || tt.shut, MaxIdemponentCallAttempts: 1}
				c.Dial = func(addr string) (net.Conn, error) {
					nc, err := net.Dial("tcp", addr)
					own := tt.conn
					own.Conn = nc
					return &own, err
				}
				ctx := ownContext{Context: t.Context()}
				if tt.stop {
					ctx.stop = end
				}
				peers.Within(t, "the call", func() {
					defer func() { _ = recover() }()
					req, resp := &gale.Request{}, &gale.Response{}
					req.SetRequestURI(s.URL())
					if tt.body != nil {
						req.Header.SetMethod("POST")
						req.SetBodyStream(peers.H2PlainReader{R: tt.body}, -1)
					}
					err := c.DoContext(ctx, req, resp)
					switch {
					case err != nil:
					case tt.read:
						_, _ = io.ReadAll(resp.BodyStream())
					case tt.shut:
						_ = resp.CloseBodyStream()
					}
				})
				await.Until(t, "the connection to be dropped", func() bool { return c.ConnsCount() == 0 && c.PendingRequests() == 0 })
			})
		}
	}
}

// TestClientDeafConnection proves that a body is sent by a goroutine, and the response read, over a
// connection that can set no read deadlines, if there is no time limit.
func TestClientDeafConnection(t *testing.T) {
	s := peers.StartScript(t, peers.Answering(peers.OkAnswer("good")))
	c := &gale.HostClient{Addr: s.Addr(), Trace: &gale.ClientTrace{}, Dial: func(addr string) (net.Conn, error) {
		nc, err := net.Dial("tcp", addr)
		return &ownConn{Conn: nc, readDeadline: func(time.Time) error { return errors.ErrUnsupported }}, err
	}}
	defer c.CloseIdleConnections()
	for range 100 {
		req, resp := &gale.Request{}, &gale.Response{}
		req.SetRequestURI(s.URL())
		req.Header.SetMethod("POST")
		req.SetBodyStream(peers.H2PlainReader{R: strings.NewReader("body")}, -1)
		if err := c.Do(req, resp); err != nil || string(resp.Body()) != "good" {
			t.Fatalf("%q, %v", resp.Body(), err)
		}
	}
}

// TestClientCallsWithoutLock proves that methods of a context may use the client, also when a dial
// has failed for which other calls wait.
func TestClientCallsWithoutLock(t *testing.T) {
	own := errors.New("own")
	for _, mode := range []gale.HTTP2Mode{gale.HTTP2Off, gale.HTTP2Only} {
		c := &gale.HostClient{Addr: "a.test", HTTP2: mode, DialContext: func(context.Context, string, string) (net.Conn, error) { return nil, own }}
		ctx := ownContext{Context: t.Context(), err: func() { c.PoolStats(); c.CloseIdleConnections() }}
		peers.Within(t, "the calls", func() {
			for range 10 {
				req, resp := &gale.Request{}, &gale.Response{}
				req.SetRequestURI("http://a.test/")
				if err := c.DoContext(ctx, req, resp); !errors.Is(err, own) {
					t.Errorf("%v: %v", mode, err)
				}
			}
		})
	}
}
