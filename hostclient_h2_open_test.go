package gale

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"os"
	"testing"
	"time"

	"golang.org/x/net/http2"

	"github.com/galehttp/gale/internal/streamconn"
	"github.com/galehttp/gale/tests/harness/await"
	"github.com/galehttp/gale/tests/harness/peers"
)

// connectRequest returns an extended CONNECT for path.
func connectRequest(path string) *Request {
	req := &Request{}
	req.SetRequestURI(path)
	req.Header.SetHost("a.test")
	req.SetConnectProtocol("websocket")
	return req
}

// TestOpenStreamScripted proves what the client makes of a server's frames.
func TestOpenStreamScripted(t *testing.T) {
	const allowed = uint32(http2.SettingEnableConnectProtocol)
	ctx := context.Background()
	var reset *StreamResetError
	for _, x := range []struct {
		name string
		play func(p *peers.H2Actor)
		test func(t *testing.T, s *peers.H2Script, c *HostClient)
	}{
		{"the setting is 2", func(p *peers.H2Actor) { p.Greet(allowed, 2); p.Hold() }, func(t *testing.T, s *peers.H2Script, c *HostClient) {
			var ce *HTTP2ConnError
			if _, err := c.OpenStream(ctx, connectRequest("/"), nil); !errors.As(err, &ce) || ce.Code != uint32(http2.ErrCodeProtocol) {
				t.Errorf("the error is %v", err)
			}
		}},
		{"the setting becomes 0", func(p *peers.H2Actor) {
			p.Greet(allowed, 1)
			r := p.Asked()
			p.Send(p.Ok(r.ID), peers.H2Settings(allowed, 0))
			p.Hold()
		}, func(t *testing.T, s *peers.H2Script, c *HostClient) {
			nc, err := c.OpenStream(ctx, connectRequest("/"), nil)
			if err == nil {
				_, err = nc.Read(make([]byte, 1))
				defer nc.Close()
			}
			var ce *HTTP2ConnError
			if !errors.As(err, &ce) || ce.Code != uint32(http2.ErrCodeProtocol) {
				t.Errorf("the error is %v", err)
			}
		}},
		{"SETTINGS come late, and the stream's head is right", func(p *peers.H2Actor) {
			if !p.Preface() {
				return
			}
			p.Mute = true // SETTINGS must come before the acknowledgement
			p.Next()
			p.Mute = false
			p.Send(peers.H2Settings(allowed, 1))
			for {
				f := p.Next()
				h, ok := f.(*http2.MetaHeadersFrame)
				if f == nil {
					return
				}
				if !ok {
					continue
				}
				if h.PseudoValue("method") != "CONNECT" || h.PseudoValue("protocol") != "websocket" || h.PseudoValue("scheme") != "http" || h.PseudoValue("path") != "/chat?x=1" || h.PseudoValue("authority") != "a.test" || h.StreamEnded() {
					t.Errorf("the head is %v", h)
				}
				for _, f := range h.RegularFields() {
					if f.Name == "content-length" || f.Name == "content-type" || f.Name == "upgrade" || f.Name == "connection" {
						t.Errorf("the head has %v", f)
					}
				}
				p.Send(p.Head(h.StreamID, 0, ":status", "103"), p.Ok(h.StreamID, "content-length", "3"), peers.H2Data(h.StreamID, http2.FlagDataEndStream, "longer than 3"))
				p.Hold()
				return
			}
		}, func(t *testing.T, s *peers.H2Script, c *HostClient) {
			req := connectRequest("/chat?x=1")
			req.Header.Set("X-Other", "y")
			nc, err := c.OpenStream(ctx, req, nil)
			peers.Check(t, err)
			peers.Want(t, nc, "longer than 3")
			peers.Check(t, nc.Close())
		}},
		{"a reset of the server", func(p *peers.H2Actor) {
			p.Greet(allowed, 1)
			r := p.Asked()
			p.Send(p.Ok(r.ID), peers.H2Data(r.ID, 0, "first"), peers.H2Reset(r.ID, http2.ErrCodeInternal))
			p.Hold()
		}, func(t *testing.T, s *peers.H2Script, c *HostClient) {
			nc, err := c.OpenStream(ctx, connectRequest("/"), nil)
			peers.Check(t, err)
			peers.Want(t, nc, "first")
			if _, err := nc.Read(make([]byte, 1)); !errors.As(err, &reset) || reset.Code != uint32(http2.ErrCodeInternal) || reset.Local {
				t.Errorf("Read: %v", err)
			}
			if _, err := nc.Write([]byte("x")); !errors.As(err, &reset) {
				t.Errorf("Write: %v", err)
			}
			peers.Check(t, nc.Close())
		}},
		{"a trailer section", func(p *peers.H2Actor) {
			p.Greet(allowed, 1)
			r := p.Asked()
			p.Send(p.Ok(r.ID), p.Head(r.ID, http2.FlagHeadersEndStream, "x", "y"))
			p.Hold()
		}, func(t *testing.T, s *peers.H2Script, c *HostClient) {
			nc, err := c.OpenStream(ctx, connectRequest("/"), nil)
			if err == nil {
				_, err = nc.Read(make([]byte, 1))
				defer nc.Close()
			}
			if !errors.As(err, &reset) || reset.Code != uint32(http2.ErrCodeProtocol) || !reset.Local {
				t.Errorf("the error is %v", err)
			}
			await.Until(t, "a reset", func() bool { _, resets := s.Codes(); return resets[uint32(http2.ErrCodeProtocol)] == 1 })
		}},
		{"the head ends the stream", func(p *peers.H2Actor) {
			p.Greet(allowed, 1)
			r := p.Asked()
			p.Send(p.Head(r.ID, http2.FlagHeadersEndStream, ":status", "200"))
			if r := p.AskedWhole(); r != nil && string(r.Body) != "x" {
				t.Errorf("the server got %q", r.Body)
			}
			p.Hold()
		}, func(t *testing.T, s *peers.H2Script, c *HostClient) {
			nc, err := c.OpenStream(ctx, connectRequest("/"), nil)
			peers.Check(t, err)
			peers.WantEOF(t, nc)
			peers.Put(t, nc, "x")
			peers.Check(t, nc.Close())
		}},
		{"the connection is lost", func(p *peers.H2Actor) {
			p.Greet(allowed, 1)
			r := p.Asked()
			p.Send(p.Ok(r.ID))
			p.Part()
		}, func(t *testing.T, s *peers.H2Script, c *HostClient) {
			nc, err := c.OpenStream(ctx, connectRequest("/"), nil)
			peers.Check(t, err)
			peers.Put(t, nc, "x")
			if _, err := nc.Read(make([]byte, 1)); err == nil || err == io.EOF {
				t.Errorf("Read: %v", err)
			}
			peers.Check(t, nc.Close())
		}},
		{"deadlines, and a Close during Write", func(p *peers.H2Actor) {
			p.Stingy = true
			p.Greet(allowed, 1, uint32(http2.SettingInitialWindowSize), 10)
			r := p.Asked()
			p.Send(p.Ok(r.ID))
			for r := range 2 {
				a, _ := p.Part()
				if a == nil {
					return
				}
				if p.Send(peers.H2Window(a.ID, 100)); r == 0 {
					p.Send(peers.H2Data(a.ID, 0, "on"))
				}
			}
			p.Hold()
		}, func(t *testing.T, s *peers.H2Script, c *HostClient) {
			nc, err := c.OpenStream(ctx, connectRequest("/"), nil)
			peers.Check(t, err)
			failed := make(chan error, 1)
			for _, at := range []time.Duration{-time.Hour, time.Millisecond, 20 * time.Millisecond} {
				go func() {
					_, err := nc.Read(make([]byte, 1))
					failed <- err
				}()
				peers.Check(t, nc.SetReadDeadline(time.Now().Add(time.Hour)))
				peers.Check(t, nc.SetReadDeadline(time.Now().Add(at)))
				if err := <-failed; !errors.Is(err, os.ErrDeadlineExceeded) {
					t.Errorf("Read: %v", err)
				}
			}
			peers.Check(t, nc.SetDeadline(time.Time{}))
			peers.Put(t, nc, "0123456789")
			peers.Want(t, nc, "on")
			peers.Check(t, nc.SetWriteDeadline(time.Now().Add(-time.Second)))
			if n, err := nc.Write([]byte("x")); n != 0 || !errors.Is(err, os.ErrDeadlineExceeded) {
				t.Errorf("Write: %d, %v", n, err)
			}
			peers.Check(t, nc.SetWriteDeadline(time.Time{}))
			go func() {
				_, err := nc.Write(bytes.Repeat([]byte("x"), 1000))
				failed <- err
			}()
			sc, tun := streamconn.Of(nc)
			await.Until(t, "a Write that waits", func() bool {
				tun.Lock()
				defer tun.Unlock()
				return sc.Waits()
			})
			peers.Check(t, nc.Close())
			if err := <-failed; !errors.Is(err, net.ErrClosed) {
				t.Errorf("Write during Close: %v", err)
			}
			await.Until(t, "a reset", func() bool { _, resets := s.Codes(); return resets[uint32(http2.ErrCodeCancel)] == 1 })
		}},
		{"a Close that resets", func(p *peers.H2Actor) {
			p.Greet(allowed, 1)
			r := p.Asked()
			p.Send(p.Ok(r.ID))
			p.Hold()
		}, func(t *testing.T, s *peers.H2Script, c *HostClient) {
			nc, err := c.OpenStream(ctx, connectRequest("/"), nil)
			peers.Check(t, err)
			peers.Check(t, nc.(interface{ SetLinger(int) error }).SetLinger(0))
			peers.Check(t, nc.Close())
			await.Until(t, "a reset", func() bool { _, resets := s.Codes(); return resets[uint32(http2.ErrCodeCancel)] == 1 })
		}},
		{"data after Close", func(p *peers.H2Actor) {
			p.Greet(allowed, 1)
			r := p.Asked()
			p.Send(p.Ok(r.ID))
			p.AskedWhole()
			p.Send(peers.H2Data(r.ID, 0, "more"))
			p.Hold()
		}, func(t *testing.T, s *peers.H2Script, c *HostClient) {
			nc, err := c.OpenStream(ctx, connectRequest("/"), nil)
			peers.Check(t, err)
			peers.Check(t, nc.Close())
			await.Until(t, "a reset", func() bool { _, resets := s.Codes(); return resets[uint32(http2.ErrCodeCancel)] == 1 })
		}},
		{"a context that ends before the head", func(p *peers.H2Actor) {
			p.Greet(allowed, 1)
			p.Hold()
		}, func(t *testing.T, s *peers.H2Script, c *HostClient) {
			ctx, cancel := context.WithCancel(ctx)
			go func() {
				await.Until(t, "the request", func() bool { return c.PendingRequests() == 1 })
				cancel()
			}()
			if _, err := c.OpenStream(ctx, connectRequest("/"), nil); err != context.Canceled {
				t.Errorf("the error is %v", err)
			}
		}},
		{"a time limit before SETTINGS", func(p *peers.H2Actor) {
			p.Mute = true
			p.Preface()
			p.Hold()
		}, func(t *testing.T, s *peers.H2Script, c *HostClient) {
			req := connectRequest("/")
			req.SetTimeout(10 * time.Millisecond)
			if _, err := c.OpenStream(ctx, req, nil); err != ErrTimeout {
				t.Errorf("the error is %v", err)
			}
		}},
	} {
		t.Run(x.name, func(t *testing.T) {
			s := peers.NewH2Script(t, x.play)
			t.Cleanup(s.Stop)
			c := scriptClient(s)
			x.test(t, s, c)
			if n := c.PendingRequests(); n != 0 {
				await.Gone(t, "a stream", func() bool { return c.PendingRequests() == 0 })
			}
			c.CloseIdleConnections()
		})
	}
}
