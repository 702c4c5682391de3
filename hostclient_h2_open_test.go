package gale

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"os"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/http2"
)

// connectRequest returns an extended CONNECT for path.
func connectRequest(path string) *Request {
	req := &Request{}
	req.SetRequestURI(path)
	req.Header.SetHost("a.test")
	req.SetConnectProtocol("websocket")
	return req
}

// openClient returns a client of hs.
func (hs *h2Server) openClient() *HostClient {
	c := &HostClient{Addr: hs.addr, IsTLS: hs.way.tls, HTTP2: HTTP2Only, TLSConfig: &tls.Config{InsecureSkipVerify: true}}
	hs.t.Cleanup(c.CloseIdleConnections)
	return c
}

// TestOpenStream proves that Gale's client and server open streams, that data goes both ways,
// that either side can end first, and that nothing is left.
func TestOpenStream(t *testing.T) {
	eachH2(t, func(t *testing.T, way h2Way) {
		hs, taken := tunnelServer(t, way, &Server{})
		c := hs.openClient()
		open := func() (client, server net.Conn) {
			t.Helper()
			resp := &Response{}
			nc, err := c.OpenStream(context.Background(), connectRequest("/taken"), resp)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { nc.Close() })
			if resp.StatusCode() != 200 || string(resp.Header.Peek("X-Field")) != "v" || len(resp.Body()) != 0 {
				t.Errorf("the response is %v", resp)
			}
			return nc, getTaken(t, taken)
		}
		nc, sc := open()
		if nc.RemoteAddr().String() != hs.addr || nc.LocalAddr().String() != sc.RemoteAddr().String() {
			t.Errorf("the addresses are %v and %v", nc.LocalAddr(), nc.RemoteAddr())
		}
		if tc, ok := nc.(interface{ ConnectionState() tls.ConnectionState }); ok != way.tls || ok && tc.ConnectionState().NegotiatedProtocol != "h2" {
			t.Errorf("the stream has TLS: %v", ok)
		}
		for range 3 {
			put(t, nc, "to the server")
			want(t, sc, "to the server")
			put(t, sc, "to the client")
			want(t, nc, "to the client")
		}
		if n := c.PendingRequests(); n != 1 {
			t.Errorf("%d requests are pending", n)
		}
		put(t, nc, "last")
		check(t, nc.(interface{ CloseWrite() error }).CloseWrite())
		if _, err := nc.Write([]byte("x")); !errors.Is(err, net.ErrClosed) {
			t.Errorf("Write after CloseWrite: %v", err)
		}
		want(t, sc, "last")
		wantEOF(t, sc)
		put(t, sc, "still")
		check(t, sc.Close())
		want(t, nc, "still")
		wantEOF(t, nc)
		check(t, nc.Close())
		if err := nc.Close(); !errors.Is(err, net.ErrClosed) {
			t.Errorf("a second Close: %v", err)
		}
		hs.wantStreams(0)

		nc, sc = open() // the client closes, with bytes that it hasn't read
		put(t, sc, "unread")
		put(t, nc, "bye")
		check(t, nc.Close())
		want(t, sc, "bye")
		wantEOF(t, sc)
		check(t, sc.Close())
		hs.wantStreams(0)

		nc, sc = open() // a MiB each way at once
		big := bytes.Repeat([]byte("0123456789abcdef"), 1<<16)
		done := make(chan error, 4)
		for _, end := range []net.Conn{nc, sc} {
			go func() {
				_, err := end.Write(big)
				done <- err
			}()
			go func() {
				got := make([]byte, len(big))
				_, err := io.ReadFull(end, got)
				if err == nil && !bytes.Equal(got, big) {
					err = errors.New("the bytes differ")
				}
				done <- err
			}()
		}
		for range 4 {
			check(t, <-done)
		}
		other, peer := open() // a reader that stops holds up no other stream
		go func() {
			_, err := nc.Write(append(big, big...))
			done <- err
		}()
		put(t, other, "others go on")
		want(t, peer, "others go on")
		put(t, peer, "both ways")
		want(t, other, "both ways")
		got := make([]byte, 2*len(big))
		_, err := io.ReadFull(sc, got)
		check(t, err)
		check(t, <-done)
		for _, end := range []net.Conn{nc, sc, other, peer} {
			check(t, end.Close())
		}
		hs.wantStreams(0)

		resp := &Response{}
		if nc, err := c.OpenStream(context.Background(), connectRequest("/forbidden"), resp); nc != nil || err != ErrStreamRefused || resp.StatusCode() != 403 || string(resp.Body()) != "not you" {
			t.Errorf("a refusal: %v, %v, %v", nc, err, resp)
		}
		hs.wantStreams(0)
		req := &Request{}
		req.SetRequestURI("/plain")
		req.Header.SetHost("a.test")
		check(t, c.Do(req, resp))
		if string(resp.Body()) != `GET "" /plain a.test` {
			t.Errorf("the next request got %q", resp.Body())
		}
		if n := c.PendingRequests(); n != 0 {
			t.Errorf("%d requests are pending at the end", n)
		}
	})
}

func wantEOF(t *testing.T, r io.Reader) {
	t.Helper()
	if n, err := r.Read(make([]byte, 9)); n != 0 || err != io.EOF {
		t.Fatalf("Read at the end: %d, %v", n, err)
	}
}

// TestOpenStreamRefused proves which errors come from servers and requests that can't open
// streams.
func TestOpenStreamRefused(t *testing.T) {
	ctx := context.Background()
	plain := h2Way{EngineBlock, true}.start(t, &Server{Handler: func(ctx *RequestCtx) {}})
	c := plain.openClient()
	if _, err := c.OpenStream(ctx, connectRequest("/"), nil); err != ErrNoExtendedConnect {
		t.Errorf("without the setting: %v", err)
	}
	c.HTTP2 = HTTP2Off
	if _, err := (&HostClient{Addr: plain.addr, IsTLS: true, HTTP2: HTTP2Off, TLSConfig: &tls.Config{InsecureSkipVerify: true}}).OpenStream(ctx, connectRequest("/"), nil); err != ErrNoExtendedConnect {
		t.Errorf("with HTTP/1.1 only: %v", err)
	}
	old := h2Way{EngineBlock, true}.start(t, &Server{Handler: func(ctx *RequestCtx) {}, HTTP2: HTTP2Config{Mode: HTTP2Off}})
	auto := &HostClient{Addr: old.addr, IsTLS: true, HTTP2: HTTP2On, TLSConfig: &tls.Config{InsecureSkipVerify: true}}
	for range 2 {
		if _, err := auto.OpenStream(ctx, connectRequest("/"), nil); err != ErrNoExtendedConnect {
			t.Errorf("a server of HTTP/1.1: %v", err)
		}
	}
	if n := auto.PendingRequests(); n != 0 {
		t.Errorf("%d requests are pending", n)
	}
	auto.CloseIdleConnections()
	if _, err := c.OpenStream(ctx, &Request{}, nil); err != errNotExtended {
		t.Errorf("without a protocol: %v", err)
	}
	if err := auto.Do(connectRequest("/"), &Response{}); err != errOpenStream {
		t.Errorf("Do: %v", err)
	}
	if err := (&PipelineClient{Addr: old.addr, IsTLS: true, TLSConfig: &tls.Config{InsecureSkipVerify: true}}).Do(connectRequest("/"), &Response{}); err != errOpenStream {
		t.Errorf("Do of a pipeline: %v", err)
	}
	if text := connectRequest("/chat").String(); !strings.HasPrefix(text, "CONNECT /chat HTTP/1.1\r\n") {
		t.Errorf("String returns %q", text)
	}
	gone, cancel := context.WithCancel(ctx)
	cancel()
	if _, err := c.OpenStream(gone, connectRequest("/"), nil); err != context.Canceled {
		t.Errorf("a context that has ended: %v", err)
	}
}

// TestConnectProtocolStored proves that the protocol is copied and forgotten with its request.
func TestConnectProtocolStored(t *testing.T) {
	req, dst := connectRequest("/a"), &Request{}
	req.CopyTo(dst)
	if dst.ConnectProtocol() != "websocket" || !dst.Header.IsConnect() {
		t.Errorf("a copy has %q", dst.ConnectProtocol())
	}
	if dst.Reset(); dst.ConnectProtocol() != "" {
		t.Errorf("after Reset it is %q", dst.ConnectProtocol())
	}
	if (&Request{}).CopyTo(req); req.ConnectProtocol() != "" {
		t.Errorf("a copy of an ordinary request has %q", req.ConnectProtocol())
	}
}

// TestOpenStreamScripted proves what the client makes of a server's frames.
func TestOpenStreamScripted(t *testing.T) {
	const allowed = uint32(http2.SettingEnableConnectProtocol)
	ctx := context.Background()
	var reset *StreamResetError
	for _, x := range []struct {
		name string
		play func(p *h2Actor)
		test func(t *testing.T, s *h2Script, c *HostClient)
	}{
		{"the setting is 2", func(p *h2Actor) { p.greet(allowed, 2); p.hold() }, func(t *testing.T, s *h2Script, c *HostClient) {
			var ce *HTTP2ConnError
			if _, err := c.OpenStream(ctx, connectRequest("/"), nil); !errors.As(err, &ce) || ce.Code != uint32(http2.ErrCodeProtocol) {
				t.Errorf("the error is %v", err)
			}
		}},
		{"the setting becomes 0", func(p *h2Actor) {
			p.greet(allowed, 1)
			r := p.asked()
			p.send(p.ok(r.id), h2Settings(allowed, 0))
			p.hold()
		}, func(t *testing.T, s *h2Script, c *HostClient) {
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
		{"SETTINGS come late, and the stream's head is right", func(p *h2Actor) {
			if !p.preface() {
				return
			}
			p.mute = true // SETTINGS must come before the acknowledgement
			p.next()
			p.mute = false
			p.send(h2Settings(allowed, 1))
			for {
				f := p.next()
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
				p.send(p.head(h.StreamID, 0, ":status", "103"), p.ok(h.StreamID, "content-length", "3"), h2Data(h.StreamID, 0, "longer than 3"))
				p.hold()
				return
			}
		}, func(t *testing.T, s *h2Script, c *HostClient) {
			req := connectRequest("/chat?x=1")
			req.Header.Set("X-Other", "y")
			nc, err := c.OpenStream(ctx, req, nil)
			check(t, err)
			want(t, nc, "longer than 3")
			check(t, nc.Close())
		}},
		{"a reset of the server", func(p *h2Actor) {
			p.greet(allowed, 1)
			r := p.asked()
			p.send(p.ok(r.id), h2Data(r.id, 0, "first"), h2Reset(r.id, http2.ErrCodeInternal))
			p.hold()
		}, func(t *testing.T, s *h2Script, c *HostClient) {
			nc, err := c.OpenStream(ctx, connectRequest("/"), nil)
			check(t, err)
			want(t, nc, "first")
			if _, err := nc.Read(make([]byte, 1)); !errors.As(err, &reset) || reset.Code != uint32(http2.ErrCodeInternal) || reset.Local {
				t.Errorf("Read: %v", err)
			}
			if _, err := nc.Write([]byte("x")); !errors.As(err, &reset) {
				t.Errorf("Write: %v", err)
			}
			check(t, nc.Close())
		}},
		{"a trailer section", func(p *h2Actor) {
			p.greet(allowed, 1)
			r := p.asked()
			p.send(p.ok(r.id), p.head(r.id, http2.FlagHeadersEndStream, "x", "y"))
			p.hold()
		}, func(t *testing.T, s *h2Script, c *HostClient) {
			nc, err := c.OpenStream(ctx, connectRequest("/"), nil)
			if err == nil {
				_, err = nc.Read(make([]byte, 1))
				defer nc.Close()
			}
			if !errors.As(err, &reset) || reset.Code != uint32(http2.ErrCodeProtocol) || !reset.Local {
				t.Errorf("the error is %v", err)
			}
			await(t, "a reset", func() bool { _, resets := s.codes(); return resets[uint32(http2.ErrCodeProtocol)] == 1 })
		}},
		{"the head ends the stream", func(p *h2Actor) {
			p.greet(allowed, 1)
			r := p.asked()
			p.send(p.head(r.id, http2.FlagHeadersEndStream, ":status", "200"))
			if r := p.askedWhole(); r != nil && string(r.body) != "x" {
				t.Errorf("the server got %q", r.body)
			}
			p.hold()
		}, func(t *testing.T, s *h2Script, c *HostClient) {
			nc, err := c.OpenStream(ctx, connectRequest("/"), nil)
			check(t, err)
			wantEOF(t, nc)
			put(t, nc, "x")
			check(t, nc.Close())
		}},
		{"the connection is lost", func(p *h2Actor) {
			p.greet(allowed, 1)
			r := p.asked()
			p.send(p.ok(r.id))
			p.part()
		}, func(t *testing.T, s *h2Script, c *HostClient) {
			nc, err := c.OpenStream(ctx, connectRequest("/"), nil)
			check(t, err)
			put(t, nc, "x")
			if _, err := nc.Read(make([]byte, 1)); err == nil || err == io.EOF {
				t.Errorf("Read: %v", err)
			}
			check(t, nc.Close())
		}},
		{"deadlines, and a Close during Write", func(p *h2Actor) {
			p.stingy = true
			p.greet(allowed, 1, uint32(http2.SettingInitialWindowSize), 10)
			r := p.asked()
			p.send(p.ok(r.id))
			for r := range 2 {
				a, _ := p.part()
				if a == nil {
					return
				}
				if p.send(h2Window(a.id, 100)); r == 0 {
					p.send(h2Data(a.id, 0, "on"))
				}
			}
			p.hold()
		}, func(t *testing.T, s *h2Script, c *HostClient) {
			nc, err := c.OpenStream(ctx, connectRequest("/"), nil)
			check(t, err)
			failed := make(chan error, 1)
			for _, at := range []time.Duration{-time.Hour, time.Millisecond, 20 * time.Millisecond} {
				go func() {
					_, err := nc.Read(make([]byte, 1))
					failed <- err
				}()
				check(t, nc.SetReadDeadline(time.Now().Add(time.Hour)))
				check(t, nc.SetReadDeadline(time.Now().Add(at)))
				if err := <-failed; !errors.Is(err, os.ErrDeadlineExceeded) {
					t.Errorf("Read: %v", err)
				}
			}
			check(t, nc.SetDeadline(time.Time{}))
			put(t, nc, "0123456789")
			want(t, nc, "on")
			check(t, nc.SetWriteDeadline(time.Now().Add(-time.Second)))
			if n, err := nc.Write([]byte("x")); n != 0 || !errors.Is(err, os.ErrDeadlineExceeded) {
				t.Errorf("Write: %d, %v", n, err)
			}
			check(t, nc.SetWriteDeadline(time.Time{}))
			go func() {
				_, err := nc.Write(bytes.Repeat([]byte("x"), 1000))
				failed <- err
			}()
			tun := nc.(*h2ClientTunnel)
			await(t, "a Write that waits", func() bool {
				tun.s.hc.mu.Lock()
				defer tun.s.hc.mu.Unlock()
				return tun.waits
			})
			check(t, nc.Close())
			if err := <-failed; !errors.Is(err, net.ErrClosed) {
				t.Errorf("Write during Close: %v", err)
			}
			await(t, "a reset", func() bool { _, resets := s.codes(); return resets[uint32(http2.ErrCodeCancel)] == 1 })
		}},
		{"a Close that resets", func(p *h2Actor) {
			p.greet(allowed, 1)
			r := p.asked()
			p.send(p.ok(r.id))
			p.hold()
		}, func(t *testing.T, s *h2Script, c *HostClient) {
			nc, err := c.OpenStream(ctx, connectRequest("/"), nil)
			check(t, err)
			check(t, nc.(interface{ SetLinger(int) error }).SetLinger(0))
			check(t, nc.Close())
			await(t, "a reset", func() bool { _, resets := s.codes(); return resets[uint32(http2.ErrCodeCancel)] == 1 })
		}},
		{"data after Close", func(p *h2Actor) {
			p.greet(allowed, 1)
			r := p.asked()
			p.send(p.ok(r.id))
			p.askedWhole()
			p.send(h2Data(r.id, 0, "more"))
			p.hold()
		}, func(t *testing.T, s *h2Script, c *HostClient) {
			nc, err := c.OpenStream(ctx, connectRequest("/"), nil)
			check(t, err)
			check(t, nc.Close())
			await(t, "a reset", func() bool { _, resets := s.codes(); return resets[uint32(http2.ErrCodeCancel)] == 1 })
		}},
		{"a context that ends before the head", func(p *h2Actor) {
			p.greet(allowed, 1)
			p.hold()
		}, func(t *testing.T, s *h2Script, c *HostClient) {
			ctx, cancel := context.WithCancel(ctx)
			go func() {
				await(t, "the request", func() bool { return c.PendingRequests() == 1 })
				cancel()
			}()
			if _, err := c.OpenStream(ctx, connectRequest("/"), nil); err != context.Canceled {
				t.Errorf("the error is %v", err)
			}
		}},
		{"a time limit before SETTINGS", func(p *h2Actor) {
			p.mute = true
			p.preface()
			p.hold()
		}, func(t *testing.T, s *h2Script, c *HostClient) {
			req := connectRequest("/")
			req.SetTimeout(10 * time.Millisecond)
			if _, err := c.OpenStream(ctx, req, nil); err != ErrTimeout {
				t.Errorf("the error is %v", err)
			}
		}},
	} {
		t.Run(x.name, func(t *testing.T) {
			s := newH2Script(t, x.play)
			t.Cleanup(s.stop)
			c := s.client()
			x.test(t, s, c)
			if n := c.PendingRequests(); n != 0 {
				await(t, "the end of the stream", func() bool { return c.PendingRequests() == 0 })
			}
			c.CloseIdleConnections()
		})
	}
}
