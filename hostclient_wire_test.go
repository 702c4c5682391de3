package gale

import (
	"context"
	"errors"
	"io"
	"net"
	"runtime"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/net/http2"

	"github.com/galehttp/gale/internal/clock"
	"github.com/galehttp/gale/internal/door"
	"github.com/galehttp/gale/tests/harness/await"
	"github.com/galehttp/gale/tests/harness/peers"
)

// toyWire is a wire of a third protocol, which two calls can share.
type toyWire struct {
	c     *HostClient
	nc    net.Conn
	taken int
	ended atomic.Bool
}

func (w *toyWire) Conn() net.Conn        { return w.nc }
func (w *toyWire) age() time.Duration    { return 0 }
func (w *toyWire) uses() int             { return 0 }
func (w *toyWire) take(*connPool)        { w.taken++ }
func (w *toyWire) giveBack(*connPool)    { w.taken-- }
func (w *toyWire) running() int          { return 0 }
func (w *toyWire) idleSince() clock.Tick { return clock.Ticks() }

func (w *toyWire) room() int {
	if w.ended.Load() {
		return 0
	}
	return 2 - w.taken
}

func (w *toyWire) retire() {
	w.ended.Store(true)
	_ = w.nc.Close()
	w.c.unshare(w)
}

func (w *toyWire) yield() bool {
	w.ended.Store(true)
	_ = w.nc.Close()
	return true
}

// TestWires proves what the pool relies on, for the wires of each protocol: room on one that was given
// to a call comes back, an idle one gives its place to a call that needs another kind, and one that
// is retired gives it back. The pool needs to know no more of a protocol: one of the wires is a toy.
func TestWires(t *testing.T) {
	hs := h2Way{Engine: EngineBlock}.start(t, &Server{Handler: func(ctx *RequestCtx) { _, _ = io.WriteString(ctx, "good") }})
	fetch := func(c *HostClient) { mustFetch(t, c, "GET", hs.URL("/"), "") }
	rows := []struct {
		name  string
		alone bool
		uses  int
		begin func(c *HostClient) // makes a wire
	}{
		{"HTTP/1.1", true, 1, func(c *HostClient) {
			fetch(c)
			c.h2.proto.Store(uint32(protoUnset)) // from now on calls may share a wire
		}},
		{"HTTP/2", false, 1, fetch},
		{"toy", false, 0, func(c *HostClient) {
			client, server := net.Pipe()
			t.Cleanup(func() { _ = server.Close() })
			c.pool.mu.Lock()
			defer c.pool.mu.Unlock()
			c.speaks()
			c.pool.open++
			c.share(nil, &toyWire{c: c, nc: client})
		}},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			defer peers.EmptyPools()
			c := &HostClient{Addr: hs.Addr, MaxConns: 1, HTTP2: HTTP2Only}
			mine, other := &c.pool.shared.line, &c.pool.line
			if row.alone {
				c.HTTP2 = HTTP2On
				mine, other = other, mine
			}
			ask := func(line *waiterList) room {
				k := newCall(context.Background(), 0)
				k.http1 = line == &c.pool.line
				got, waiter := c.reserve(&k, line)
				if waiter != nil {
					t.Fatal("a call waits while there is room")
				}
				return got
			}
			begin := func() wire {
				row.begin(c)
				await.Until(t, "an idle wire", func() bool { return c.PoolStats().Idle == 1 })
				c.pool.mu.Lock()
				defer c.pool.mu.Unlock()
				return c.pool.wires()[0]
			}
			check := func(when string, w wire, open int, pooled bool) {
				t.Helper()
				c.pool.mu.Lock()
				defer c.pool.mu.Unlock()
				if c.pool.open != open || slices.Contains(c.pool.wires(), w) != pooled || c.pool.waiting.Load() != 0 {
					t.Errorf("%s: %d places, pooled %v, %d wait", when, c.pool.open, !pooled, c.pool.waiting.Load())
				}
				if pooled && (w.running() != 0 || w.room() <= 0) {
					t.Errorf("%s: %d requests are running, room for %d", when, w.running(), w.room())
				}
			}
			ended := func(w wire) {
				t.Helper()
				await.Until(t, "the end of the wire", func() bool {
					c.pool.mu.Lock()
					defer c.pool.mu.Unlock()
					return w.room() == 0
				})
			}

			w := begin()
			check("after the first request", w, 1, true)
			if n := w.uses(); n != row.uses || w.Conn() == nil || w.age() < 0 || w.idleSince() > clock.Ticks() {
				t.Errorf("%d uses, made %v ago", n, w.age())
			}
			before := w.room()
			switch got := ask(mine); {
			case got.w != w || (got.kind == roomAlone) != row.alone:
				t.Errorf("the next call got %+v", got)
			case row.alone && w.running() != 1, !row.alone && w.room() != before-1:
				t.Errorf("the call's room isn't kept: %d running, room for %d of %d", w.running(), w.room(), before)
			default:
				c.returnRoom(got)
			}
			check("when the call has given back its room", w, 1, true)

			got := ask(other)
			if got.kind != roomDial && got.kind != roomLead {
				t.Errorf("a call that needs another kind got %+v", got)
			}
			check("when the place was yielded", w, 1, false)
			ended(w)
			c.returnRoom(got)
			check("when no call uses the place", w, 0, false)

			c.h2.proto.Store(uint32(protoNew))
			w = begin()
			c.CloseIdleConnections()
			ended(w)
			await.Until(t, "its place", func() bool { return c.PoolStats().Open == 0 })
			check("when it was retired", w, 0, false)
		})
	}
}

// losingTransport is a RoundTripper that panics or fails after the request was sent.
type losingTransport struct{ err error }

func (l losingTransport) RoundTrip(hc *HostClient, req *Request, resp *Response) (retry bool, err error) {
	if _, err := DefaultTransport.RoundTrip(hc, req, resp); err != nil {
		return false, err
	}
	if l.err == nil {
		panic("lost")
	}
	return false, l.err
}

// insistentTransport is a RoundTripper that sends each request twice.
type insistentTransport struct{}

func (insistentTransport) RoundTrip(hc *HostClient, req *Request, resp *Response) (retry bool, err error) {
	if retry, err := DefaultTransport.RoundTrip(hc, req, resp); err != nil {
		return retry, err
	}
	return DefaultTransport.RoundTrip(hc, req, resp)
}

// TestOpenedAndLost proves that a stream of OpenStream, and a connection that the client gives away
// after a 101, are closed if the caller doesn't get them, because a function of the program has
// panicked, ended the goroutine or failed, or because the request was sent again.
func TestOpenedAndLost(t *testing.T) {
	h1 := peers.StartScript(t, func(p *peers.ScriptConn, _ int) {
		p.Request()
		p.Say("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n")
		p.Hold()
	})
	h2 := peers.NewH2Script(t, func(p *peers.H2Actor) {
		p.Greet(uint32(http2.SettingEnableConnectProtocol), 1)
		for r := p.Asked(); r != nil; r = p.Asked() {
			p.Send(p.Ok(r.ID))
		}
	})
	t.Cleanup(h2.Stop)
	kinds := map[string]func() (*HostClient, func(req *Request) error){
		"upgrade": func() (*HostClient, func(req *Request) error) {
			c := &HostClient{Addr: h1.Addr()}
			return c, func(req *Request) error {
				req.SetRequestURI(h1.URL())
				req.Header.Set("Connection", "Upgrade")
				req.Header.Set("Upgrade", "x")
				up, err := door.Upgrade(context.Background(), c, req, &Response{})
				if err == nil {
					up.Close()
				}
				return err
			}
		},
		"OpenStream": func() (*HostClient, func(req *Request) error) {
			c := scriptClient(h2)
			return c, func(req *Request) error {
				connectRequest("/").CopyTo(req)
				stream, err := c.OpenStream(context.Background(), req, nil)
				if err == nil {
					_ = stream.(interface{ SetLinger(int) error }).SetLinger(0)
					_ = stream.Close()
				}
				return err
			}
		},
	}
	errLost := errors.New("lost")
	ways := map[string]func(c *HostClient){
		"Trace.Done panics": func(c *HostClient) {
			c.Trace = &ClientTrace{Done: func(*Request, *Response, int, error) { panic("lost") }}
		},
		"Trace.Done ends the goroutine": func(c *HostClient) {
			c.Trace = &ClientTrace{Done: func(*Request, *Response, int, error) { runtime.Goexit() }}
		},
		"a RoundTripper panics":  func(c *HostClient) { c.Transport = losingTransport{} },
		"a RoundTripper fails":   func(c *HostClient) { c.Transport = losingTransport{errLost} },
		"a RoundTripper insists": func(c *HostClient) { c.Transport = insistentTransport{} },
	}
	for kind, makes := range kinds {
		for way, loses := range ways {
			t.Run(kind+", "+way, func(t *testing.T) {
				c, open := makes()
				loses(c)
				var err error
				var p any
				done := make(chan struct{})
				go func() {
					defer close(done)
					defer func() { p = recover() }()
					err = open(&Request{})
				}()
				<-done
				if err != nil && err != errLost || p != nil && p != "lost" {
					t.Fatalf("error %v, panic %v", err, p)
				}
				c.Transport = nil
				if n := c.PendingRequests(); n != 0 {
					t.Errorf("%d requests are pending: %+v", n, c.PoolStats())
				}
				c.CloseIdleConnections()
				if !t.Failed() {
					await.Until(t, "the end of the connection", func() bool { return c.ConnsCount() == 0 })
				}
			})
		}
	}
}
