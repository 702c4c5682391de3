package h2

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/net/http2"

	"github.com/galehttp/gale"
	"github.com/galehttp/gale/internal/door"
	"github.com/galehttp/gale/tests/harness"
	"github.com/galehttp/gale/tests/harness/await"
	"github.com/galehttp/gale/tests/harness/gate"
	"github.com/galehttp/gale/tests/harness/peers"
)

// TestHTTP2ClientRetry proves which requests are sent again, and what the errors of the others
// are.
func TestHTTP2ClientRetry(t *testing.T) {
	for _, tc := range []struct {
		name     string
		method   string
		spoil    func(c *peers.H2PeerConn, id uint32) // what the server does with the first attempts
		spoiled  int                                  // how many attempts those are
		first    bool                                 // a request was answered before
		stream   bool                                 // the body is a stream
		attempts int                                  // how many attempts the server sees
		is       func(error) bool                     // nil for success
	}{
		{"refused", "POST", refuseStream, 1, true, false, 2, nil},
		{"refused on a new connection", "POST", refuseStream, 1, false, false, 2, nil},
		{"refused again and again", "POST", refuseStream, 100, true, false, 5, isStreamReset(7)},
		{"refused stream", "POST", refuseStream, 1, true, true, 1, isStreamReset(7)},
		{"above the GOAWAY", "POST", goAwayBefore(http2.ErrCodeNo), 1, true, false, 2, nil},
		{"above an error", "POST", goAwayBefore(http2.ErrCodeEnhanceYourCalm), 1, true, false, 2, nil},
		{"above the GOAWAY again and again", "GET", goAwayBefore(http2.ErrCodeEnhanceYourCalm), 100, true, false, 5, isConn(11)},
		{"lost GET", "GET", loseConn, 1, true, false, 2, nil},
		{"lost POST", "POST", loseConn, 1, true, false, 1, isSent(gale.ErrConnectionClosed)},
		{"lost GET on a new connection", "GET", loseConn, 1, false, false, 1, func(err error) bool { return err == gale.ErrConnectionClosed }},
		{"lost after the head", "GET", loseLate, 1, true, false, 1, func(err error) bool { return err == io.ErrUnexpectedEOF }},
		{"reset GET", "GET", resetStream(http2.ErrCodeInternal), 1, true, false, 1, isStreamReset(2)},
		{"cancelled POST", "POST", resetStream(http2.ErrCodeCancel), 1, true, false, 1, isStreamReset(8)},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var attempts, acted atomic.Int32
			p := peers.NewH2Peer(t, func(c *peers.H2PeerConn, n int) {
				c.Hello()
				for f := c.Request(); f != nil; f = c.Request() {
					if f.PseudoValue("path") == "/first" {
						c.Answer(f.StreamID, "first")
						continue
					}
					if int(attempts.Add(1)) <= tc.spoiled {
						tc.spoil(c, f.StreamID)
						continue
					}
					acted.Add(1)
					c.Answer(f.StreamID, "good")
				}
			})
			c := harness.PeerClient(p)
			if tc.first {
				harness.MustFetch(t, c, "GET", "http://"+p.Addr+"/first", "")
			}
			req, resp := &gale.Request{}, &gale.Response{}
			req.SetRequestURI("http://" + p.Addr)
			req.Header.SetMethod(tc.method)
			closed := &peers.CountedCloser{Reader: strings.NewReader("body")}
			if tc.stream {
				req.SetBodyStream(closed, -1)
			}
			err := c.Do(req, resp)
			switch {
			case tc.is == nil && (err != nil || string(resp.Body()) != "good"):
				t.Errorf("%q, %v", resp.Body(), err)
			case tc.is != nil && (err == nil || !tc.is(err)):
				t.Errorf("error %v", err)
			}
			if n := int(attempts.Load()); n != tc.attempts {
				t.Errorf("%d attempts, want %d", n, tc.attempts)
			}
			if tc.stream {
				await.Until(t, "the stream to be closed", func() bool { return closed.N.Load() == 1 })
			}
		})
	}
}

func refuseStream(c *peers.H2PeerConn, id uint32) {
	_ = c.Fr.WriteRSTStream(id, http2.ErrCodeRefusedStream)
}

func resetStream(code http2.ErrCode) func(*peers.H2PeerConn, uint32) {
	return func(c *peers.H2PeerConn, id uint32) { _ = c.Fr.WriteRSTStream(id, code) }
}

func goAwayBefore(code http2.ErrCode) func(*peers.H2PeerConn, uint32) {
	return func(c *peers.H2PeerConn, id uint32) { _ = c.Fr.WriteGoAway(max(id, 2)-2, code, nil) }
}

func loseConn(c *peers.H2PeerConn, _ uint32) { c.Close() }

func loseLate(c *peers.H2PeerConn, id uint32) {
	c.Head(id, "200", false)
	c.Data(id, "half", false)
	c.Close()
}

func isStreamReset(code uint32) func(error) bool {
	return func(err error) bool {
		var e *gale.StreamResetError
		return errors.As(err, &e) && e.Code == code && !e.Local
	}
}

func isConn(code uint32) func(error) bool {
	return func(err error) bool {
		var e *gale.HTTP2ConnError
		return errors.As(err, &e) && e.Code == code && !e.Local
	}
}

func isSent(target error) func(error) bool {
	return func(err error) bool {
		var e *gale.ErrRequestSent
		return errors.As(err, &e) && errors.Is(err, target)
	}
}

// TestHTTP2ClientOnce proves that a request whose context forbids a second attempt is sent
// again only if the server did not process it.
func TestHTTP2ClientOnce(t *testing.T) {
	for _, tc := range []struct {
		spoil func(c *peers.H2PeerConn, id uint32)
		want  error
	}{{loseConn, gale.ErrConnectionClosed}, {refuseStream, nil}} {
		n := 0
		p := peers.NewH2Peer(t, func(c *peers.H2PeerConn, _ int) {
			c.Hello()
			for f := c.Request(); f != nil; f = c.Request() {
				if n++; n == 2 {
					tc.spoil(c, f.StreamID)
					continue
				}
				c.Answer(f.StreamID, "good")
			}
		})
		c := harness.PeerClient(p)
		harness.MustFetch(t, c, "GET", "http://"+p.Addr, "")
		req, resp := &gale.Request{}, &gale.Response{}
		req.SetRequestURI("http://" + p.Addr)
		ctx := context.WithValue(t.Context(), door.OnceKey{}, true)
		if err := c.DoContext(ctx, req, resp); err != tc.want {
			t.Errorf("%v, want %v", err, tc.want)
		}
	}
}

// TestHTTP2ClientDrain sends requests while servers go away gracefully: each is answered, and
// each POST is processed once.
func TestHTTP2ClientDrain(t *testing.T) {
	for _, way := range peers.Ways[harness.H2Way]() {
		t.Run(way.String(), func(t *testing.T) {
			var acted sync.Map
			var addr atomic.Value
			start := func(t *testing.T) *harness.H2Server {
				hs := way.Start(t, &gale.Server{Handler: func(ctx *gale.RequestCtx) {
					if n, _ := acted.LoadOrStore(string(ctx.Path()), new(atomic.Int32)); n.(*atomic.Int32).Add(1) > 1 {
						t.Errorf("%s was processed twice", ctx.Path())
					}
					ctx.Write(ctx.Path())
				}})
				addr.Store(hs.Addr)
				return hs
			}
			hs := start(t)
			c := &gale.HostClient{Addr: "any", IsTLS: way.TLS, HTTP2: gale.HTTP2Only, TLSConfig: &tls.Config{InsecureSkipVerify: true, ServerName: "any"}}
			c.DialContext = (&dialTo{&addr}).dial
			defer c.CloseIdleConnections()
			var stop atomic.Bool
			var sent, answered atomic.Int64
			var wg sync.WaitGroup
			for i := range 8 {
				wg.Go(func() {
					req, resp := &gale.Request{}, &gale.Response{}
					for n := 0; !stop.Load(); n++ {
						path := fmt.Sprintf("/%d/%d", i, n)
						req.SetRequestURI("http://any" + path)
						if way.TLS {
							req.SetRequestURI("https://any" + path)
						}
						req.Header.SetMethod("POST")
						sent.Add(1)
						if err := c.Do(req, resp); err != nil || string(resp.Body()) != path {
							t.Errorf("%s: %q, %v", path, resp.Body(), err)
							return
						}
						answered.Add(1)
					}
				})
			}
			for range 4 {
				n := answered.Load()
				await.Until(t, "requests", func() bool { return answered.Load() > n+gate.Form[int64](100, 30) || t.Failed() })
				old := hs
				hs = start(t)
				ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
				if err := old.S.ShutdownWithContext(ctx); err != nil {
					t.Error(err)
				}
				cancel()
			}
			stop.Store(true)
			wg.Wait()
			if sent.Load() != answered.Load() {
				t.Errorf("%d sent, %d answered", sent.Load(), answered.Load())
			}
		})
	}
}

// TestHTTP2ClientHTTP11Required proves that the client uses HTTP/1.1 when the server asks for
// it.
func TestHTTP2ClientHTTP11Required(t *testing.T) {
	for _, whole := range []bool{false, true} {
		secure := harness.H2Way{Engine: gale.EngineBlock, TLS: true}.Start(t, &gale.Server{Handler: func(ctx *gale.RequestCtx) { ctx.Write(ctx.Request.Header.Protocol()) }, HTTP2: gale.HTTP2Config{Mode: gale.HTTP2Off}})
		p := peers.NewH2Peer(t, func(c *peers.H2PeerConn, n int) {
			c.Hello()
			for f := c.Request(); f != nil; f = c.Request() {
				if whole {
					_ = c.Fr.WriteGoAway(0, http2.ErrCodeHTTP11Required, nil)
				} else {
					_ = c.Fr.WriteRSTStream(f.StreamID, http2.ErrCodeHTTP11Required)
				}
			}
		})
		c := &gale.HostClient{Addr: p.Addr, HTTP2: gale.HTTP2On}
		c.DialContext = (&dialFallback{t, p.Addr, secure.Addr}).dial
		for range 2 {
			if resp := harness.MustFetch(t, c, "POST", "http://"+p.Addr, "body"); string(resp.Body()) != "HTTP/1.1" {
				t.Errorf("%q", resp.Body())
			}
		}
		only := harness.PeerClient(p)
		req, resp := &gale.Request{}, &gale.Response{}
		req.SetRequestURI("http://" + p.Addr)
		if err := only.Do(req, resp); err == nil || !isStreamReset(13)(err) && !isConn(13)(err) {
			t.Errorf("HTTP2Only: %v", err)
		}
		c.CloseIdleConnections()
	}
}
