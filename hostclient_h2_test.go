package gale

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/galehttp/gale/internal/door"
	"golang.org/x/net/http2"
)

// TestHTTP2Client proves that requests with and without bodies get their responses.
func TestHTTP2Client(t *testing.T) {
	eachH2Origin(t, func(t *testing.T, g *h2Origin) {
		c := g.client(t)
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
			resp := mustFetch(t, c, tc.method, g.url+tc.path, tc.body)
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
			if resp.RemoteAddr() == nil || resp.RemoteAddr().String() != g.host {
				t.Errorf("RemoteAddr is %v", resp.RemoteAddr())
			}
		}
		if s := c.PoolStats(); s.Open != 1 || s.Dials != 1 || s.Idle != 1 || s.Reuses != 8 {
			t.Errorf("%+v", s)
		}
	})
}

// TestHTTP2ClientALPN proves which protocol is spoken for each setting of client and server.
func TestHTTP2ClientALPN(t *testing.T) {
	handler := func(ctx *RequestCtx) { ctx.Write(ctx.Request.Header.Protocol()) }
	for _, tc := range []struct {
		mode   HTTP2Mode
		names  []string // NextProtos of the client
		server HTTP2Mode
		want   string // or "" for an error
	}{
		{HTTP2Auto, nil, HTTP2On, "HTTP/2.0"},
		{HTTP2Auto, nil, HTTP2Off, "HTTP/1.1"},
		{HTTP2Auto, []string{"http/1.1"}, HTTP2On, "HTTP/1.1"},
		{HTTP2Auto, []string{"h2"}, HTTP2On, "HTTP/2.0"},
		{HTTP2On, []string{"http/1.1"}, HTTP2On, "HTTP/2.0"},
		{HTTP2Off, nil, HTTP2On, "HTTP/1.1"},
		{HTTP2Off, []string{"h2", "http/1.1"}, HTTP2On, "HTTP/1.1"},
		{HTTP2Only, nil, HTTP2Only, "HTTP/2.0"},
		{HTTP2Only, nil, HTTP2Off, ""},
	} {
		t.Run(fmt.Sprint(tc), func(t *testing.T) {
			hs := h2Way{EngineBlock, true}.start(t, &Server{Handler: handler, HTTP2: HTTP2Config{Mode: tc.server}})
			c := &Client{HTTP2: tc.mode, TLSConfig: &tls.Config{InsecureSkipVerify: true, NextProtos: tc.names}}
			defer c.CloseIdleConnections()
			for range 2 {
				status, body, err := c.Get(nil, hs.url("/"))
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
	hs := h2Way{EngineEvent, true}.start(t, &Server{Handler: func(ctx *RequestCtx) { ctx.Write(ctx.Request.Header.Protocol()) }})
	for _, offers := range []string{"h2", "http/1.1"} {
		for _, isTLS := range []bool{false, true} {
			for _, shaken := range []bool{false, true} {
				c := &HostClient{Addr: hs.addr, IsTLS: isTLS, Dial: func(addr string) (net.Conn, error) {
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
					if resp := mustFetch(t, c, "GET", scheme+hs.addr, ""); string(resp.Body()) != want {
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
	for _, mode := range []HTTP2Mode{HTTP2On, HTTP2Off} {
		hs := h2Way{EngineBlock, true}.start(t, &Server{HTTP2: HTTP2Config{Mode: mode}, Handler: func(ctx *RequestCtx) {
			time.Sleep(time.Millisecond)
			ctx.SetBodyString("hello")
		}})
		c := &HostClient{Addr: hs.addr, IsTLS: true, TLSConfig: &tls.Config{InsecureSkipVerify: true}}
		var wg sync.WaitGroup
		for range 64 {
			wg.Go(func() {
				if resp := mustFetch(t, c, "GET", hs.url("/"), ""); string(resp.Body()) != "hello" {
					t.Errorf("%q", resp.Body())
				}
			})
		}
		wg.Wait()
		s := c.PoolStats()
		if mode == HTTP2On && s.Dials != 1 || mode == HTTP2Off && s.Dials == 1 {
			t.Errorf("mode %d: %+v", mode, s)
		}
		c.CloseIdleConnections()
		await(t, "the connections to end", func() bool { return c.ConnsCount() == 0 })
	}
}

// TestHTTP2ClientStreamLimit proves that the server's limit of streams is kept: more calls
// use another connection, and beyond MaxConns they wait or fail.
func TestHTTP2ClientStreamLimit(t *testing.T) {
	var most atomic.Int32
	release := make(chan struct{})
	p := newH2Peer(t, func(c *h2PeerConn, n int) {
		c.hello(http2.Setting{ID: http2.SettingMaxConcurrentStreams, Val: 2})
		var open []uint32
		reqs := make(chan uint32, 100)
		go func() {
			defer close(reqs)
			for f := c.request(); f != nil; f = c.request() {
				reqs <- f.StreamID
			}
		}()
		for {
			select {
			case id, ok := <-reqs:
				if !ok {
					return
				}
				if string(c.RemoteAddr().String()) != "" {
					open = append(open, id)
				}
				if n := int32(len(open)); n > most.Load() {
					most.Store(n)
				}
			case <-release:
				for _, id := range open {
					c.answer(id, "done")
				}
				open = nil
			}
		}
	})
	c := p.client()
	c.MaxConns = 2
	// The first call makes the connection, so that the limit is known.
	go func() {
		await(t, "a request", func() bool { return most.Load() == 1 })
		release <- struct{}{}
	}()
	mustFetch(t, c, "GET", "http://"+p.addr, "")
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() { mustFetch(t, c, "GET", "http://"+p.addr, "") })
	}
	await(t, "four requests on two connections", func() bool {
		c.pool.mu.Lock()
		defer c.pool.mu.Unlock()
		var s PoolStats
		return c.h2.count(&s) == 4 && len(c.h2.all) == 2
	})
	req, resp := &Request{}, &Response{}
	req.SetRequestURI("http://" + p.addr)
	if err := c.Do(req, resp); err != ErrNoFreeConns {
		t.Errorf("the fifth request: %v", err)
	}
	c.MaxConnWaitTimeout = time.Minute
	wg.Go(func() { mustFetch(t, c, "GET", "http://"+p.addr, "") })
	await(t, "a waiting request", func() bool { return c.PoolStats().Waiting == 1 })
	if n := c.PendingRequests(); n != 5 {
		t.Errorf("%d pending requests", n)
	}
	done := make(chan struct{})
	go func() { wg.Wait(); close(done) }()
	for open := true; open; {
		select {
		case release <- struct{}{}:
		case <-done:
			open = false
		}
	}
	if n := most.Load(); n != 2 {
		t.Errorf("%d streams at a time", n)
	}
	if s := c.PoolStats(); s.Open != 2 || s.Idle != 2 || s.Waiting != 0 || c.h2.waiting.Load() != 0 {
		t.Errorf("%+v, %d waiting", s, c.h2.waiting.Load())
	}
}

// TestHTTP2ClientCancel proves that calls which end early reset their streams, and that the
// connection stays.
func TestHTTP2ClientCancel(t *testing.T) {
	eachH2Origin(t, func(t *testing.T, g *h2Origin) {
		c := g.client(t)
		mustFetch(t, c, "GET", g.url, "")
		for range 20 {
			ctx, cancel := context.WithCancel(t.Context())
			time.AfterFunc(time.Millisecond, cancel)
			req, resp := &Request{}, &Response{}
			req.SetRequestURI(g.url + "/wait")
			if err := c.DoContext(ctx, req, resp); err != context.Canceled {
				t.Fatalf("cancelled: %v", err)
			}
			if err := c.DoTimeout(req, resp, time.Millisecond); err != ErrTimeout {
				t.Fatalf("timed out: %v", err)
			}
		}
		for _, set := range []func(*HostClient, time.Duration){
			func(c *HostClient, d time.Duration) { c.ReadTimeout = d },
			func(c *HostClient, d time.Duration) { c.ResponseHeaderTimeout = d },
		} {
			set(c, time.Millisecond)
			req, resp := &Request{}, &Response{}
			req.SetRequestURI(g.url + "/wait")
			req.Header.SetMethod("POST")
			req.SetBodyString("body")
			if err := c.Do(req, resp); err != ErrTimeout {
				t.Errorf("a timeout of the client: %v", err)
			}
			set(c, 0)
		}
		if resp := mustFetch(t, c, "GET", g.url, ""); string(resp.Body()) != "hello" {
			t.Errorf("%q", resp.Body())
		}
		if s := c.PoolStats(); s.Dials != 1 || s.Open != 1 || s.Idle != 1 {
			t.Errorf("%+v", s)
		}
	})
}

// TestHTTP2ClientWriteTimeout proves that a request whose body the server doesn't take ends.
func TestHTTP2ClientWriteTimeout(t *testing.T) {
	p := newH2Peer(t, func(c *h2PeerConn, n int) {
		c.hello(http2.Setting{ID: http2.SettingInitialWindowSize, Val: 0})
		for f := c.request(); f != nil; f = c.request() {
			if f.StreamEnded() {
				c.answer(f.StreamID, "good")
			}
		}
	})
	c := p.client()
	mustFetch(t, c, "GET", "http://"+p.addr, "") // the settings have come
	c.WriteTimeout = 20 * time.Millisecond
	for _, streams := range []bool{false, true} {
		req, resp := &Request{}, &Response{}
		req.SetRequestURI("http://" + p.addr)
		req.Header.SetMethod("PUT")
		if req.SetBodyString("body"); streams {
			req.SetBodyStream(strings.NewReader("body"), -1)
		}
		if err := c.Do(req, resp); err != ErrTimeout {
			t.Errorf("streams: %v: %v", streams, err)
		}
	}
	if resp := mustFetch(t, c, "GET", "http://"+p.addr, ""); string(resp.Body()) != "good" {
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
				p := newH2Peer(t, func(c *h2PeerConn, n int) {
					c.hello()
					id := c.request().StreamID
					switch tc.answer {
					case "100":
						c.head(id, "103", false)
						c.head(id, "100", false)
					case "417":
						c.head(id, "417", false)
						c.data(id, "refused", true)
					}
					var body []byte
					for f := c.next(); f != nil; f = c.next() {
						switch f := f.(type) {
						case *http2.DataFrame:
							body = append(body, f.Data()...)
							if f.StreamEnded() {
								c.answer(id, "got "+string(body))
							}
						case *http2.RSTStreamFrame:
							if tc.sends {
								t.Error("the stream was reset")
							}
						}
					}
				})
				c := p.client()
				if c.ExpectContinueTimeout = time.Minute; tc.answer == "" {
					c.ExpectContinueTimeout = 10 * time.Millisecond
				}
				req, resp := &Request{}, &Response{}
				req.SetRequestURI("http://" + p.addr)
				req.Header.SetMethod("POST")
				req.Header.Set("Expect", "100-continue")
				closed := &countedCloser{Reader: strings.NewReader("body")}
				if req.SetBodyString("body"); streams {
					req.SetBodyStream(closed, -1)
				}
				if err := c.Do(req, resp); err != nil || string(resp.Body()) != tc.want {
					t.Errorf("%q, %v", resp.Body(), err)
				}
				if streams {
					await(t, "the stream to be closed", func() bool { return closed.n.Load() == 1 })
				}
			})
		}
	}
}

type countedCloser struct {
	io.Reader
	n atomic.Int32
}

func (c *countedCloser) Close() error {
	c.n.Add(1)
	return nil
}

// TestHTTP2ClientInterim proves that informational responses reach the function of the
// context, and that their number is limited.
func TestHTTP2ClientInterim(t *testing.T) {
	n := 3
	p := newH2Peer(t, func(c *h2PeerConn, _ int) {
		c.hello()
		for f := c.request(); f != nil; f = c.request() {
			for i := range n {
				c.head(f.StreamID, "103", false, "link", fmt.Sprint(i))
			}
			c.answer(f.StreamID, "good")
		}
	})
	c := p.client()
	var got []string
	ctx := context.WithValue(t.Context(), door.InterimKey{}, func(h *ResponseHeader) {
		got = append(got, fmt.Sprint(h.StatusCode(), string(h.Peek("Link"))))
	})
	req, resp := &Request{}, &Response{}
	req.SetRequestURI("http://" + p.addr)
	if err := c.DoContext(ctx, req, resp); err != nil || string(resp.Body()) != "good" || len(resp.Header.Peek("Link")) > 0 {
		t.Errorf("%v, %v", resp, err)
	}
	if want := "[103 0 103 1 103 2]"; fmt.Sprint(got) != want && fmt.Sprint(got) != "[1030 1031 1032]" {
		t.Errorf("%v, want %v", got, want)
	}
	n = 101
	err := c.Do(req, resp)
	var re *StreamResetError
	if !errors.Is(err, errTooManyInterim) || !errors.As(err, &re) || !re.Local {
		t.Errorf("101 informational responses: %v", err)
	}
	n = 100
	if resp := mustFetch(t, c, "GET", "http://"+p.addr, ""); string(resp.Body()) != "good" {
		t.Errorf("%q", resp.Body())
	}
}

// TestHTTP2ClientLimits proves that the limits of the client hold for responses, and end the
// stream only.
func TestHTTP2ClientLimits(t *testing.T) {
	p := newH2Peer(t, func(c *h2PeerConn, _ int) {
		c.hello()
		for f := c.request(); f != nil; f = c.request() {
			switch path := f.PseudoValue("path"); path {
			case "/head":
				c.head(f.StreamID, "200", true, "x", strings.Repeat("x", 3000))
			case "/length":
				c.head(f.StreamID, "200", false, "content-length", "101")
			case "/body":
				c.head(f.StreamID, "200", false)
				c.data(f.StreamID, strings.Repeat("x", 101), true)
			case "/bad":
				c.head(f.StreamID, "200", false, "connection", "close")
			default:
				c.answer(f.StreamID, "good")
			}
		}
	})
	c := p.client()
	c.ReadBufferSize, c.MaxResponseBodySize = 2000, 100
	mustFetch(t, c, "GET", "http://"+p.addr, "")
	var small *ErrSmallBuffer
	var reset *StreamResetError
	for path, is := range map[string]func(error) bool{
		"/head":   func(err error) bool { return errors.As(err, &small) && errors.Is(err, ErrSmallReadBuffer) },
		"/length": func(err error) bool { return err == ErrBodyTooLarge },
		"/body":   func(err error) bool { return err == ErrBodyTooLarge },
		"/bad":    func(err error) bool { return errors.As(err, &reset) && reset.Local && reset.Code == 1 },
	} {
		req, resp := &Request{}, &Response{}
		req.SetRequestURI("http://" + p.addr + path)
		if err := c.Do(req, resp); !is(err) {
			t.Errorf("%s: %v", path, err)
		}
		if len(resp.Body()) > 0 || resp.Header.Len() > 0 && resp.StatusCode() != 200 {
			t.Errorf("%s: a part of a response: %v", path, resp)
		}
	}
	if resp := mustFetch(t, c, "GET", "http://"+p.addr, ""); string(resp.Body()) != "good" {
		t.Errorf("%q", resp.Body())
	}
	if s := c.PoolStats(); s.Dials != 1 {
		t.Errorf("%+v", s)
	}
}

// TestHTTP2ClientSkipBody proves that a body that isn't wanted is reset, and that a response
// that can't have one ends.
func TestHTTP2ClientSkipBody(t *testing.T) {
	p := newH2Peer(t, func(c *h2PeerConn, _ int) {
		c.hello()
		for f := c.request(); f != nil; f = c.request() {
			switch f.PseudoValue("path") {
			case "/304":
				c.head(f.StreamID, "304", false, "content-length", "100")
				c.data(f.StreamID, "", true)
			case "/body":
				c.head(f.StreamID, "200", false, "content-length", "100")
			default:
				c.answer(f.StreamID, "good")
			}
		}
	})
	c := p.client()
	req, resp := &Request{}, &Response{}
	for _, streams := range []bool{false, true} {
		c.StreamResponseBody = streams
		req.SetRequestURI("http://" + p.addr + "/304")
		if err := c.Do(req, resp); err != nil || resp.StatusCode() != 304 || len(resp.Body()) != 0 {
			t.Errorf("%v, %v", resp, err)
		}
		resp.SkipBody = true
		req.SetRequestURI("http://" + p.addr + "/body")
		if err := c.Do(req, resp); err != nil || resp.StatusCode() != 200 || resp.IsBodyStream() {
			t.Errorf("%v, %v", resp, err)
		}
		resp.SkipBody = false
	}
	c.StreamResponseBody = false
	if resp := mustFetch(t, c, "GET", "http://"+p.addr, ""); string(resp.Body()) != "good" {
		t.Errorf("%q", resp.Body())
	}
}

// TestHTTP2ClientTrace proves that the functions of a trace are called.
func TestHTTP2ClientTrace(t *testing.T) {
	eachH2Origin(t, func(t *testing.T, g *h2Origin) {
		var mu sync.Mutex
		var got []string
		note := func(format string, args ...any) {
			mu.Lock()
			defer mu.Unlock()
			got = append(got, fmt.Sprintf(format, args...))
		}
		c := g.client(t)
		c.Trace = &ClientTrace{
			GotConn: func(_ *Request, _ net.Conn, reused bool, _ time.Duration) { note("conn %v", reused) },
			Dialed:  func(_ string, _ net.Conn, _ time.Duration, err error) { note("dialed %v", err) },
			TLSDone: func(_ string, s tls.ConnectionState, _ time.Duration, err error) {
				note("tls %s %v", s.NegotiatedProtocol, err)
			},
			Wrote:     func(_ *Request, err error) { note("wrote %v", err) },
			FirstByte: func(*Request) { note("first") },
			Done:      func(_ *Request, _ *Response, n int, err error) { note("done %d %v", n, err) },
		}
		mustFetch(t, c, "GET", g.url, "")
		mustFetch(t, c, "POST", g.url+"/echo", "body")
		want := "dialed <nil>, conn false, wrote <nil>, first, done 1 <nil>, conn true, wrote <nil>, first, done 1 <nil>"
		if g.tls {
			want = strings.Replace(want, ", conn false", ", tls h2 <nil>, conn false", 1)
		}
		if s := strings.Join(got, ", "); s != want {
			t.Errorf("%s\nwant %s", s, want)
		}
	})
}

// TestHTTP2ClientUpgrade proves that requests which HTTP/2 can't carry use HTTP/1.1 if that is
// allowed.
func TestHTTP2ClientUpgrade(t *testing.T) {
	hs := h2Way{EngineBlock, true}.start(t, &Server{Handler: func(ctx *RequestCtx) { ctx.Write(ctx.Request.Header.Protocol()) }})
	c := &HostClient{Addr: hs.addr, IsTLS: true, TLSConfig: &tls.Config{InsecureSkipVerify: true}}
	defer c.CloseIdleConnections()
	mustFetch(t, c, "GET", hs.url("/"), "")
	req, resp := &Request{}, &Response{}
	req.SetRequestURI(hs.url("/"))
	req.Header.Set("Connection", "Upgrade")
	req.Header.Set("Upgrade", "toy")
	if err := c.Do(req, resp); err != nil || string(resp.Body()) != "HTTP/1.1" {
		t.Errorf("%q, %v", resp.Body(), err)
	}
	c.MaxConns = 1 // whichever connection is idle, yields its place
	for range 3 {
		for _, upgrade := range []string{"toy", ""} {
			if req.Header.Set("Upgrade", upgrade); upgrade == "" {
				req.Header.Del("Upgrade")
			}
			if err := c.Do(req, resp); err != nil || string(resp.Body()) != map[bool]string{true: "HTTP/1.1", false: "HTTP/2.0"}[upgrade != ""] {
				t.Errorf("with one connection: %q, %v", resp.Body(), err)
			}
		}
	}
	req.Header.Set("Upgrade", "toy")
	only := &HostClient{Addr: hs.addr, IsTLS: true, TLSConfig: &tls.Config{InsecureSkipVerify: true}, HTTP2: HTTP2Only}
	if err := only.Do(req, resp); err != errH2Upgrade {
		t.Error(err)
	}
	if resp := mustFetch(t, c, "GET", hs.url("/"), ""); string(resp.Body()) != "HTTP/2.0" {
		t.Errorf("%q", resp.Body())
	}
}

// TestHTTP2ClientTrailers proves that the trailer section of a request is sent.
func TestHTTP2ClientTrailers(t *testing.T) {
	eachH2Origin(t, func(t *testing.T, g *h2Origin) {
		c := g.client(t)
		for _, body := range []string{"", "body", strings.Repeat("x", 200_000)} {
			for _, streams := range []bool{false, true} {
				req, resp := &Request{}, &Response{}
				req.SetRequestURI(g.url + "/got-trailers")
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
	hs := h2Way{EngineEvent, false}.start(t, &Server{Handler: func(ctx *RequestCtx) {
		fmt.Fprintf(ctx, "%s %s %s %s %s", ctx.Request.Header.Peek("Authorization"), ctx.FormValue("a"), ctx.UserAgent(), ctx.Host(), ctx.RequestURI())
	}})
	c := &HostClient{Addr: hs.addr, HTTP2: HTTP2Only, Name: "me"}
	defer c.CloseIdleConnections()
	req, resp := &Request{}, &Response{}
	req.SetRequestURI("http://user:pass@" + hs.addr + "/path?q=1#f")
	req.Header.SetMethod("POST")
	req.PostArgs().Set("a", "b")
	req.Header.SetContentType("application/x-www-form-urlencoded")
	if err := c.Do(req, resp); err != nil || string(resp.Body()) != "Basic dXNlcjpwYXNz b me "+hs.addr+" /path?q=1" {
		t.Errorf("%q, %v", resp.Body(), err)
	}
	if len(req.Header.Peek("Authorization")) != 0 {
		t.Error("the request kept the credentials")
	}
}

// TestHTTP2ClientBroken proves that a user's connection that panics or ends the goroutine
// fails the calls, and nothing else.
func TestHTTP2ClientBroken(t *testing.T) {
	hs := h2Way{EngineBlock, false}.start(t, &Server{Handler: func(ctx *RequestCtx) { ctx.SetBodyString("good") }})
	for _, method := range []string{"read", "write", "goexit read", "goexit write"} {
		var broken atomic.Bool
		broken.Store(true)
		c := &HostClient{Addr: hs.addr, HTTP2: HTTP2Only, Dial: func(addr string) (net.Conn, error) {
			nc, err := net.Dial("tcp", addr)
			if err != nil || !broken.Load() {
				return nc, err
			}
			return &brokenConn{Conn: nc, method: method}, nil
		}}
		result := make(chan error, 1)
		go func() {
			defer func() { result <- errors.New("no result") }()
			req, resp := &Request{}, &Response{}
			req.SetRequestURI("http://" + hs.addr)
			err := c.Do(req, resp)
			result <- err
		}()
		if err := <-result; err == nil {
			t.Errorf("%s: no error", method)
		}
		broken.Store(false)
		await(t, "the place of the connection", func() bool { return c.ConnsCount() == 0 })
		if resp := mustFetch(t, c, "GET", "http://"+hs.addr, ""); string(resp.Body()) != "good" {
			t.Errorf("%s: %q", method, resp.Body())
		}
		c.CloseIdleConnections()
	}
}
