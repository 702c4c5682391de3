package h2

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/net/http2"

	"github.com/galehttp/gale"
	"github.com/galehttp/gale/tests/harness"
	"github.com/galehttp/gale/tests/harness/await"
	"github.com/galehttp/gale/tests/harness/peers"
)

// TestHTTP2Client proves that requests with and without bodies get their responses.
func TestHTTP2Client(t *testing.T) {
	harness.EachH2Origin(t, func(t *testing.T, g *peers.H2Origin) {
		c := harness.OriginClient(t, g)
		large := strings.Repeat("0123456789abcdef", 1<<16)
		for _, tc := range []struct{ method, path, body, want string }{
			{"GET", "/", "", "hello"},
			{"HEAD", "/", "", ""},
			{"GET", "/large", "", large},
			{"POST", "/echo", "a body", "a body"},
			{"POST", "/echo", "", ""},
			{"PUT", "/echo", large, large},
			{"GET", "/204", "", ""},
			{"GET", "/early", "", "hello"},
			{"GET", "/trailers", "", "body"},
		} {
			resp := harness.MustFetch(t, c, tc.method, g.URL+tc.path, tc.body)
			if string(resp.Body()) != tc.want {
				t.Errorf("%s %s: %d bytes, want %d", tc.method, tc.path, len(resp.Body()), len(tc.want))
			}
			if want := map[string]int{"/204": 204}[tc.path]; want != 0 && resp.StatusCode() != want {
				t.Errorf("%s: status %d", tc.path, resp.StatusCode())
			}
			if tc.path == "/echo" && string(resp.Header.Peek("X-Method")) != tc.method {
				t.Errorf("the server got the method %q", resp.Header.Peek("X-Method"))
			}
			if tc.path == "/trailers" && string(resp.Header.Peek("X-Sum")) != "42" {
				t.Errorf("the trailer is %q", resp.Header.Peek("X-Sum"))
			}
			if resp.RemoteAddr() == nil || resp.RemoteAddr().String() != g.Host {
				t.Errorf("RemoteAddr is %v", resp.RemoteAddr())
			}
		}
		await.Until(t, "the connection to be idle", func() bool { return c.PoolStats().Idle == 1 })
		if s := c.PoolStats(); s.Open != 1 || s.Dials != 1 || s.Idle != 1 || s.Reuses != 8 {
			t.Errorf("%+v", s)
		}
	})
}

// TestHTTP2ClientALPN proves which protocol is spoken for each setting of client and server.
func TestHTTP2ClientALPN(t *testing.T) {
	handler := func(ctx *gale.RequestCtx) { ctx.Write(ctx.Request.Header.Protocol()) }
	for _, tc := range []struct {
		mode   gale.HTTP2Mode
		names  []string // NextProtos of the client
		server gale.HTTP2Mode
		want   string // or "" for an error
	}{
		{gale.HTTP2Auto, nil, gale.HTTP2On, "HTTP/2.0"},
		{gale.HTTP2Auto, nil, gale.HTTP2Off, "HTTP/1.1"},
		{gale.HTTP2Auto, []string{"http/1.1"}, gale.HTTP2On, "HTTP/1.1"},
		{gale.HTTP2Auto, []string{"h2"}, gale.HTTP2On, "HTTP/2.0"},
		{gale.HTTP2On, []string{"http/1.1"}, gale.HTTP2On, "HTTP/2.0"},
		{gale.HTTP2Off, nil, gale.HTTP2On, "HTTP/1.1"},
		{gale.HTTP2Off, []string{"h2", "http/1.1"}, gale.HTTP2On, "HTTP/1.1"},
		{gale.HTTP2Only, nil, gale.HTTP2Only, "HTTP/2.0"},
		{gale.HTTP2Only, nil, gale.HTTP2Off, ""},
	} {
		t.Run(fmt.Sprint(tc), func(t *testing.T) {
			hs := harness.H2Way{Engine: gale.EngineBlock, TLS: true}.Start(t, &gale.Server{Handler: handler, HTTP2: gale.HTTP2Config{Mode: tc.server}})
			c := &gale.Client{HTTP2: tc.mode, TLSConfig: &tls.Config{InsecureSkipVerify: true, NextProtos: tc.names}}
			defer c.CloseIdleConnections()
			for range 2 {
				status, body, err := c.Get(nil, hs.URL("/"))
				switch {
				case tc.want == "" && err == nil:
					t.Error("no error")
				case tc.want == "" && !strings.Contains(err.Error(), "HTTP2Only"):
					t.Error(err)
				case tc.want != "" && (err != nil || status != 200 || string(body) != tc.want):
					t.Errorf("%d %q %v", status, body, err)
				}
			}
			if n := c.ConnsCount(); tc.want != "" && n != 1 {
				t.Errorf("%d connections", n)
			}
		})
	}
}

// TestHTTP2ClientDial proves that a connection which a dial function returns is used by what
// it has negotiated.
func TestHTTP2ClientDial(t *testing.T) {
	hs := harness.H2Way{Engine: gale.EngineEvent, TLS: true}.Start(t, &gale.Server{Handler: func(ctx *gale.RequestCtx) { ctx.Write(ctx.Request.Header.Protocol()) }})
	for _, offers := range []string{"h2", "http/1.1"} {
		for _, isTLS := range []bool{false, true} {
			for _, shaken := range []bool{false, true} {
				c := &gale.HostClient{Addr: hs.Addr, IsTLS: isTLS, Dial: func(addr string) (net.Conn, error) {
					cfg := &tls.Config{InsecureSkipVerify: true, NextProtos: []string{offers}}
					if shaken {
						return tls.Dial("tcp", addr, cfg)
					}
					nc, err := net.Dial("tcp", addr)
					if err != nil {
						return nil, err
					}
					return tls.Client(nc, cfg), nil
				}}
				want, scheme := "HTTP/1.1", "http://"
				if offers == "h2" {
					want = "HTTP/2.0"
				}
				if isTLS {
					scheme = "https://"
				}
				for range 2 {
					if resp := harness.MustFetch(t, c, "GET", scheme+hs.Addr, ""); string(resp.Body()) != want {
						t.Errorf("%s, %v, %v: %s", offers, isTLS, shaken, resp.Body())
					}
				}
				if s := c.PoolStats(); s.Dials != 1 {
					t.Errorf("%+v", s)
				}
				c.CloseIdleConnections()
			}
		}
	}
}

// TestHTTP2ClientShares proves that concurrent first calls share one connection, and that
// those of a host that turns out to speak HTTP/1.1 don't.
func TestHTTP2ClientShares(t *testing.T) {
	for _, mode := range []gale.HTTP2Mode{gale.HTTP2On, gale.HTTP2Off} {
		hs := harness.H2Way{Engine: gale.EngineBlock, TLS: true}.Start(t, &gale.Server{HTTP2: gale.HTTP2Config{Mode: mode}, Handler: func(ctx *gale.RequestCtx) {
			time.Sleep(time.Millisecond) // a slow handler: calls meet
			ctx.SetBodyString("hello")
		}})
		c := &gale.HostClient{Addr: hs.Addr, IsTLS: true, TLSConfig: &tls.Config{InsecureSkipVerify: true}}
		var wg sync.WaitGroup
		for range 48 { // half of the streams of a connection: a call counts twice while it opens its own
			wg.Go(func() {
				if resp := harness.MustFetch(t, c, "GET", hs.URL("/"), ""); string(resp.Body()) != "hello" {
					t.Errorf("%q", resp.Body())
				}
			})
		}
		wg.Wait()
		s := c.PoolStats()
		if mode == gale.HTTP2On && s.Dials != 1 || mode == gale.HTTP2Off && s.Dials == 1 {
			t.Errorf("mode %d: %+v", mode, s)
		}
		c.CloseIdleConnections()
		await.Until(t, "the connections to end", func() bool { return c.ConnsCount() == 0 })
	}
}

// TestHTTP2ClientCancel proves that calls which end early reset their streams, and that the
// connection stays.
func TestHTTP2ClientCancel(t *testing.T) {
	harness.EachH2Origin(t, func(t *testing.T, g *peers.H2Origin) {
		c := harness.OriginClient(t, g)
		var wrote atomic.Pointer[context.CancelFunc] // called when the request was sent
		c.Trace = &gale.ClientTrace{Wrote: func(*gale.Request, error) {
			if cancel := wrote.Load(); cancel != nil {
				(*cancel)()
			}
		}}
		harness.MustFetch(t, c, "GET", g.URL, "")
		for range 20 {
			ctx, cancel := context.WithCancel(t.Context())
			wrote.Store(&cancel)
			req, resp := &gale.Request{}, &gale.Response{}
			req.SetRequestURI(g.URL + "/wait")
			if err := c.DoContext(ctx, req, resp); err != context.Canceled {
				t.Fatalf("cancelled: %v", err)
			}
			if err := c.DoTimeout(req, resp, time.Millisecond); err != gale.ErrTimeout {
				t.Fatalf("timed out: %v", err)
			}
		}
		for _, set := range []func(*gale.HostClient, time.Duration){
			func(c *gale.HostClient, d time.Duration) { c.ReadTimeout = d },
			func(c *gale.HostClient, d time.Duration) { c.ResponseHeaderTimeout = d },
		} {
			set(c, time.Millisecond)
			req, resp := &gale.Request{}, &gale.Response{}
			req.SetRequestURI(g.URL + "/wait")
			req.Header.SetMethod("POST")
			req.SetBodyString("body")
			if err := c.Do(req, resp); err != gale.ErrTimeout {
				t.Errorf("a timeout of the client: %v", err)
			}
			set(c, 0)
		}
		if resp := harness.MustFetch(t, c, "GET", g.URL, ""); string(resp.Body()) != "hello" {
			t.Errorf("%q", resp.Body())
		}
		await.Until(t, "the connection to be idle", func() bool { return c.PoolStats().Idle == 1 })
		if s := c.PoolStats(); s.Dials != 1 || s.Open != 1 {
			t.Errorf("%+v", s)
		}
	})
}

// TestHTTP2ClientWriteTimeout proves that a request whose body the server doesn't take ends.
func TestHTTP2ClientWriteTimeout(t *testing.T) {
	p := peers.NewH2Peer(t, func(c *peers.H2PeerConn, n int) {
		c.Hello(http2.Setting{ID: http2.SettingInitialWindowSize, Val: 0})
		for f := c.Request(); f != nil; f = c.Request() {
			if f.StreamEnded() {
				c.Answer(f.StreamID, "good")
			}
		}
	})
	c := harness.PeerClient(p)
	harness.MustFetch(t, c, "GET", "http://"+p.Addr, "") // the settings have come
	c.WriteTimeout = 20 * time.Millisecond
	for _, streams := range []bool{false, true} {
		req, resp := &gale.Request{}, &gale.Response{}
		req.SetRequestURI("http://" + p.Addr)
		req.Header.SetMethod("PUT")
		if req.SetBodyString("body"); streams {
			req.SetBodyStream(strings.NewReader("body"), -1)
		}
		if err := c.Do(req, resp); err != gale.ErrTimeout {
			t.Errorf("streams: %v: %v", streams, err)
		}
	}
	if resp := harness.MustFetch(t, c, "GET", "http://"+p.Addr, ""); string(resp.Body()) != "good" {
		t.Errorf("%q", resp.Body())
	}
	if s := c.PoolStats(); s.Dials != 1 {
		t.Errorf("%+v", s)
	}
}

// TestHTTP2ClientContinue proves that a body waits for a 100 if the request says so.
func TestHTTP2ClientContinue(t *testing.T) {
	for _, tc := range []struct {
		answer string // what the server sends before the body
		want   string // the body of the response
		sends  bool   // the body
	}{
		{"100", "got body", true},
		{"", "got body", true}, // after ExpectContinueTimeout
		{"417", "refused", false},
	} {
		for _, streams := range []bool{false, true} {
			t.Run(fmt.Sprint(tc.answer, streams), func(t *testing.T) {
				p := peers.NewH2Peer(t, func(c *peers.H2PeerConn, n int) {
					c.Hello()
					id := c.Request().StreamID
					switch tc.answer {
					case "100":
						c.Head(id, "103", false)
						c.Head(id, "100", false)
					case "417":
						c.Head(id, "417", false)
						c.Data(id, "refused", true)
					}
					var body []byte
					for f := c.Next(); f != nil; f = c.Next() {
						switch f := f.(type) {
						case *http2.DataFrame:
							body = append(body, f.Data()...)
							if f.StreamEnded() {
								c.Answer(id, "got "+string(body))
							}
						case *http2.RSTStreamFrame:
							if tc.sends {
								t.Error("the stream was reset")
							}
						}
					}
				})
				c := harness.PeerClient(p)
				if c.ExpectContinueTimeout = time.Minute; tc.answer == "" {
					c.ExpectContinueTimeout = 10 * time.Millisecond
				}
				req, resp := &gale.Request{}, &gale.Response{}
				req.SetRequestURI("http://" + p.Addr)
				req.Header.SetMethod("POST")
				req.Header.Set("Expect", "100-continue")
				closed := &peers.CountedCloser{Reader: strings.NewReader("body")}
				if req.SetBodyString("body"); streams {
					req.SetBodyStream(closed, -1)
				}
				if err := c.Do(req, resp); err != nil || string(resp.Body()) != tc.want {
					t.Errorf("%q, %v", resp.Body(), err)
				}
				if streams {
					await.Until(t, "the stream to be closed", func() bool { return closed.N.Load() == 1 })
				}
			})
		}
	}
}

// TestHTTP2ClientLimits proves that the limits of the client hold for responses, and end the
// stream only.
func TestHTTP2ClientLimits(t *testing.T) {
	p := peers.NewH2Peer(t, func(c *peers.H2PeerConn, _ int) {
		c.Hello()
		for f := c.Request(); f != nil; f = c.Request() {
			switch path := f.PseudoValue("path"); path {
			case "/head":
				c.Head(f.StreamID, "200", true, "x", strings.Repeat("x", 3000))
			case "/length":
				c.Head(f.StreamID, "200", false, "content-length", "101")
			case "/body":
				c.Head(f.StreamID, "200", false)
				c.Data(f.StreamID, strings.Repeat("x", 101), true)
			case "/bad":
				c.Head(f.StreamID, "200", false, "connection", "close")
			default:
				c.Answer(f.StreamID, "good")
			}
		}
	})
	c := harness.PeerClient(p)
	c.ReadBufferSize, c.MaxResponseBodySize = 2000, 100
	harness.MustFetch(t, c, "GET", "http://"+p.Addr, "")
	var small *gale.ErrSmallBuffer
	var reset *gale.StreamResetError
	for path, is := range map[string]func(error) bool{
		"/head":   func(err error) bool { return errors.As(err, &small) && errors.Is(err, gale.ErrSmallReadBuffer) },
		"/length": func(err error) bool { return err == gale.ErrBodyTooLarge },
		"/body":   func(err error) bool { return err == gale.ErrBodyTooLarge },
		"/bad":    func(err error) bool { return errors.As(err, &reset) && reset.Local && reset.Code == 1 },
	} {
		req, resp := &gale.Request{}, &gale.Response{}
		req.SetRequestURI("http://" + p.Addr + path)
		if err := c.Do(req, resp); !is(err) {
			t.Errorf("%s: %v", path, err)
		}
		if len(resp.Body()) > 0 || resp.Header.Len() > 0 && resp.StatusCode() != 200 {
			t.Errorf("%s: a part of a response: %v", path, resp)
		}
	}
	if resp := harness.MustFetch(t, c, "GET", "http://"+p.Addr, ""); string(resp.Body()) != "good" {
		t.Errorf("%q", resp.Body())
	}
	if s := c.PoolStats(); s.Dials != 1 {
		t.Errorf("%+v", s)
	}
}

// TestHTTP2ClientSkipBody proves that a body that isn't wanted is reset, and that a response
// that can't have one ends.
func TestHTTP2ClientSkipBody(t *testing.T) {
	p := peers.NewH2Peer(t, func(c *peers.H2PeerConn, _ int) {
		c.Hello()
		for f := c.Request(); f != nil; f = c.Request() {
			switch f.PseudoValue("path") {
			case "/304":
				c.Head(f.StreamID, "304", false, "content-length", "100")
				c.Data(f.StreamID, "", true)
			case "/body":
				c.Head(f.StreamID, "200", false, "content-length", "100")
			default:
				c.Answer(f.StreamID, "good")
			}
		}
	})
	c := harness.PeerClient(p)
	req, resp := &gale.Request{}, &gale.Response{}
	for _, streams := range []bool{false, true} {
		c.StreamResponseBody = streams
		req.SetRequestURI("http://" + p.Addr + "/304")
		if err := c.Do(req, resp); err != nil || resp.StatusCode() != 304 || len(resp.Body()) != 0 {
			t.Errorf("%v, %v", resp, err)
		}
		resp.SkipBody = true
		req.SetRequestURI("http://" + p.Addr + "/body")
		if err := c.Do(req, resp); err != nil || resp.StatusCode() != 200 || resp.IsBodyStream() {
			t.Errorf("%v, %v", resp, err)
		}
		resp.SkipBody = false
	}
	c.StreamResponseBody = false
	if resp := harness.MustFetch(t, c, "GET", "http://"+p.Addr, ""); string(resp.Body()) != "good" {
		t.Errorf("%q", resp.Body())
	}
}

// TestHTTP2ClientTrace proves that the functions of a trace are called.
func TestHTTP2ClientTrace(t *testing.T) {
	harness.EachH2Origin(t, func(t *testing.T, g *peers.H2Origin) {
		var mu sync.Mutex
		var got []string
		note := func(format string, args ...any) {
			mu.Lock()
			defer mu.Unlock()
			got = append(got, fmt.Sprintf(format, args...))
		}
		c := harness.OriginClient(t, g)
		c.Trace = &gale.ClientTrace{
			GotConn: func(_ *gale.Request, _ net.Conn, reused bool, _ time.Duration) { note("conn %v", reused) },
			Dialed:  func(_ string, _ net.Conn, _ time.Duration, err error) { note("dialed %v", err) },
			TLSDone: func(_ string, s tls.ConnectionState, _ time.Duration, err error) {
				note("tls %s %v", s.NegotiatedProtocol, err)
			},
			Wrote:     func(_ *gale.Request, err error) { note("wrote %v", err) },
			FirstByte: func(*gale.Request) { note("first") },
			Done:      func(_ *gale.Request, _ *gale.Response, n int, err error) { note("done %d %v", n, err) },
		}
		harness.MustFetch(t, c, "GET", g.URL, "")
		harness.MustFetch(t, c, "POST", g.URL+"/echo", "body")
		want := "dialed <nil>, conn false, wrote <nil>, first, done 1 <nil>, conn true, wrote <nil>, first, done 1 <nil>"
		if g.TLS {
			want = strings.Replace(want, ", conn false", ", tls h2 <nil>, conn false", 1)
		}
		if s := strings.Join(got, ", "); s != want {
			t.Errorf("%s\nwant %s", s, want)
		}
	})
}

// TestHTTP2ClientTrailers proves that the trailer section of a request is sent.
func TestHTTP2ClientTrailers(t *testing.T) {
	harness.EachH2Origin(t, func(t *testing.T, g *peers.H2Origin) {
		c := harness.OriginClient(t, g)
		for _, body := range []string{"", "body", strings.Repeat("x", 200_000)} {
			for _, streams := range []bool{false, true} {
				req, resp := &gale.Request{}, &gale.Response{}
				req.SetRequestURI(g.URL + "/got-trailers")
				req.Header.SetMethod("POST")
				if err := req.Header.SetTrailer("X-Sum"); err != nil {
					t.Fatal(err)
				}
				req.Header.Set("X-Sum", "42")
				if req.SetBodyString(body); streams {
					req.SetBodyStream(strings.NewReader(body), -1)
				}
				if err := c.Do(req, resp); err != nil || string(resp.Body()) != "42" {
					t.Errorf("%d bytes, %v: %q, %v", len(body), streams, resp.Body(), err)
				}
			}
		}
	})
}

// TestHTTP2ClientUser proves that credentials and forms are sent as over HTTP/1.1.
func TestHTTP2ClientUser(t *testing.T) {
	hs := harness.H2Way{Engine: gale.EngineEvent, TLS: false}.Start(t, &gale.Server{Handler: func(ctx *gale.RequestCtx) {
		fmt.Fprintf(ctx, "%s %s %s %s %s", ctx.Request.Header.Peek("Authorization"), ctx.FormValue("a"), ctx.UserAgent(), ctx.Host(), ctx.RequestURI())
	}})
	c := &gale.HostClient{Addr: hs.Addr, HTTP2: gale.HTTP2Only, Name: "me"}
	defer c.CloseIdleConnections()
	req, resp := &gale.Request{}, &gale.Response{}
	req.SetRequestURI("http://user:pass@" + hs.Addr + "/path?q=1#f")
	req.Header.SetMethod("POST")
	req.PostArgs().Set("a", "b")
	req.Header.SetContentType("application/x-www-form-urlencoded")
	if err := c.Do(req, resp); err != nil || string(resp.Body()) != "Basic dXNlcjpwYXNz b me "+hs.Addr+" /path?q=1" {
		t.Errorf("%q, %v", resp.Body(), err)
	}
	if len(req.Header.Peek("Authorization")) != 0 {
		t.Error("the request kept the credentials")
	}
}

// TestHTTP2ClientBroken proves that a user's connection that panics or ends the goroutine
// fails the calls, and nothing else.
func TestHTTP2ClientBroken(t *testing.T) {
	hs := harness.H2Way{Engine: gale.EngineBlock, TLS: false}.Start(t, &gale.Server{Handler: func(ctx *gale.RequestCtx) { ctx.SetBodyString("good") }})
	for _, method := range []string{"read", "write", "goexit read", "goexit write"} {
		var broken atomic.Bool
		broken.Store(true)
		c := &gale.HostClient{Addr: hs.Addr, HTTP2: gale.HTTP2Only, Dial: func(addr string) (net.Conn, error) {
			nc, err := net.Dial("tcp", addr)
			if err != nil || !broken.Load() {
				return nc, err
			}
			return &brokenConn{Conn: nc, method: method}, nil
		}}
		result := make(chan error, 1)
		go func() {
			defer func() { result <- errors.New("no result") }()
			req, resp := &gale.Request{}, &gale.Response{}
			req.SetRequestURI("http://" + hs.Addr)
			err := c.Do(req, resp)
			result <- err
		}()
		if err := <-result; err == nil {
			t.Errorf("%s: no error", method)
		}
		broken.Store(false)
		await.Until(t, "the place of the connection", func() bool { return c.ConnsCount() == 0 })
		if resp := harness.MustFetch(t, c, "GET", "http://"+hs.Addr, ""); string(resp.Body()) != "good" {
			t.Errorf("%s: %q", method, resp.Body())
		}
		c.CloseIdleConnections()
	}
}
