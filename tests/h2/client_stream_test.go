package h2

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/net/http2"

	"github.com/galehttp/gale"
	"github.com/galehttp/gale/internal/clientconn"
	"github.com/galehttp/gale/internal/door"
	"github.com/galehttp/gale/internal/race"
	"github.com/galehttp/gale/tests/harness"
	"github.com/galehttp/gale/tests/harness/await"
	"github.com/galehttp/gale/tests/harness/gate"
	"github.com/galehttp/gale/tests/harness/peers"
)

// TestHTTP2ClientUpload proves that streams of all kinds are sent as bodies.
func TestHTTP2ClientUpload(t *testing.T) {
	large := strings.Repeat("0123456789abcdef", 1<<15)
	harness.EachH2Origin(t, func(t *testing.T, g *peers.H2Origin) {
		c := harness.OriginClient(t, g)
		for _, body := range []string{"", "body", large} {
			for name, set := range map[string]func(*gale.Request){
				"reader":       func(r *gale.Request) { r.SetBodyStream(peers.H2PlainReader{R: strings.NewReader(body)}, -1) },
				"known length": func(r *gale.Request) { r.SetBodyStream(peers.H2PlainReader{R: strings.NewReader(body)}, len(body)) },
				"writer to":    func(r *gale.Request) { r.SetBodyStream(bytes.NewReader([]byte(body)), len(body)) },
				"stream writer": func(r *gale.Request) {
					r.SetBodyStreamWriter(func(w *bufio.Writer) {
						for b := body; len(b) > 0; {
							n := min(len(b), 1000)
							_, _ = w.WriteString(b[:n])
							b = b[n:]
						}
					})
				},
				"pipe": func(r *gale.Request) {
					r.SetBodyStream(gale.NewStreamReader(func(w *bufio.Writer) { _, _ = w.WriteString(body) }), -1)
				},
			} {
				req, resp := &gale.Request{}, &gale.Response{}
				req.SetRequestURI(g.URL + "/echo")
				req.Header.SetMethod("POST")
				set(req)
				if err := c.Do(req, resp); err != nil || string(resp.Body()) != body {
					t.Errorf("%s: %d bytes, want %d: %v", name, len(resp.Body()), len(body), err)
				}
			}
		}
		if s := c.PoolStats(); s.Dials != 1 {
			t.Errorf("%+v", s)
		}
	})
}

// TestHTTP2ClientDuplex proves that both bodies are streams at the same time: each byte comes
// back before the next is sent.
func TestHTTP2ClientDuplex(t *testing.T) {
	harness.EachH2Origin(t, func(t *testing.T, g *peers.H2Origin) {
		c := harness.OriginClient(t, g)
		c.StreamResponseBody = true
		pr, pw := io.Pipe()
		req, resp := &gale.Request{}, &gale.Response{}
		req.SetRequestURI(g.URL + "/duplex")
		req.Header.SetMethod("POST")
		req.SetBodyStream(pr, -1)
		if err := c.Do(req, resp); err != nil {
			t.Fatal(err)
		}
		body := resp.BodyStream()
		for i := range 50 {
			want := strings.Repeat(string(rune('a'+i%26)), 1+gate.Rand.IntN(2000))
			go func() { _, _ = pw.Write([]byte(want)) }()
			got := make([]byte, len(want))
			if _, err := io.ReadFull(body, got); err != nil || string(got) != want {
				t.Fatalf("%q, %v", got, err)
			}
		}
		pw.Close()
		if n, err := body.Read(make([]byte, 1)); n != 0 || err != io.EOF {
			t.Errorf("at the end: %d, %v", n, err)
		}
		_ = resp.CloseBodyStream()
		await.Until(t, "the stream to end", func() bool { return c.PendingRequests() == 0 })
		if resp := harness.MustFetch(t, c, "GET", g.URL, ""); string(resp.Body()) != "hello" {
			t.Errorf("%q", resp.Body())
		}
		if s := c.PoolStats(); s.Dials != 1 {
			t.Errorf("%+v", s)
		}
	})
}

// TestHTTP2ClientDuplexClose proves that closing the response ends a request that is still
// being sent, that its stream is closed once, and that the request was free before.
func TestHTTP2ClientDuplexClose(t *testing.T) {
	hs := harness.H2Way{Engine: gale.EngineEvent, TLS: false}.Start(t, &gale.Server{Handler: harness.H2OriginHandler, StreamRequestBody: true})
	c := &gale.HostClient{Addr: hs.Addr, HTTP2: gale.HTTP2Only, StreamResponseBody: true}
	defer c.CloseIdleConnections()
	for range 10 {
		pr, pw := io.Pipe()
		closed := &peers.CountedCloser{Reader: pr}
		req, resp := gale.AcquireRequest(), gale.AcquireResponse()
		req.SetRequestURI(hs.URL("/duplex"))
		req.Header.SetMethod("POST")
		req.SetBodyStream(closed, -1)
		if err := c.Do(req, resp); err != nil {
			t.Fatal(err)
		}
		gale.ReleaseRequest(req)
		go pw.Write([]byte("abc"))
		if _, err := io.ReadFull(resp.BodyStream(), make([]byte, 3)); err != nil {
			t.Fatal(err)
		}
		gale.ReleaseResponse(resp)
		await.Until(t, "the stream to be reset", func() bool { return c.PendingRequests() == 0 })
		if closed.N.Load() != 0 {
			t.Error("the stream was closed during its Read")
		}
		pw.Write([]byte("more"))
		await.Until(t, "the request's stream to be closed", func() bool { return closed.N.Load() == 1 })
	}
}

// TestHTTP2ClientDownload proves that streamed responses are read completely, with their
// trailers, and that errors of the server are errors of reading.
func TestHTTP2ClientDownload(t *testing.T) {
	harness.EachH2Origin(t, func(t *testing.T, g *peers.H2Origin) {
		c := harness.OriginClient(t, g)
		for _, tc := range []struct {
			method, path string
			want         int
		}{{"GET", "/large", 16 << 16}, {"GET", "/", 5}, {"GET", "/trailers", 4}, {"HEAD", "/", 0}, {"GET", "/204", 0}} {
			req, resp := &gale.Request{}, &gale.Response{}
			req.SetRequestURI(g.URL + tc.path)
			req.Header.SetMethod(tc.method)
			resp.StreamBody = true
			if err := c.Do(req, resp); err != nil {
				t.Fatal(err)
			}
			if resp.BodyStream() == nil {
				if tc.want != 0 {
					t.Errorf("%s: no stream", tc.path)
				}
				continue
			}
			b, err := io.ReadAll(resp.BodyStream())
			if err != nil || len(b) != tc.want {
				t.Errorf("%s: %d bytes, %v", tc.path, len(b), err)
			}
			if tc.path == "/trailers" && string(resp.Header.Peek("X-Sum")) != "42" {
				t.Errorf("the trailer is %q", resp.Header.Peek("X-Sum"))
			}
			_ = resp.CloseBodyStream()
		}
		await.Until(t, "the connection to be idle", func() bool { return c.PoolStats().Idle == 1 })
		if s := c.PoolStats(); s.Dials != 1 || s.Idle != 1 {
			t.Errorf("%+v", s)
		}
	})
}

// TestHTTP2ClientStreamEnds proves how a streamed body ends that is cut off.
func TestHTTP2ClientStreamEnds(t *testing.T) {
	for name, tc := range map[string]struct {
		end func(c *peers.H2PeerConn, id uint32)
		is  func(error) bool
	}{
		"reset": {func(c *peers.H2PeerConn, id uint32) { _ = c.Fr.WriteRSTStream(id, http2.ErrCodeInternal) }, func(err error) bool {
			var e *gale.StreamResetError
			return errors.As(err, &e) && e.Code == 2 && !e.Local && !errors.Is(err, gale.ErrClientGone)
		}},
		"closed": {func(c *peers.H2PeerConn, id uint32) { c.Close() }, func(err error) bool { return err == io.ErrUnexpectedEOF || clientconn.IsReset(err) }},
		"goaway": {func(c *peers.H2PeerConn, id uint32) {
			_ = c.Fr.WriteGoAway(id, http2.ErrCodeEnhanceYourCalm, nil)
			c.Close()
		}, func(err error) bool {
			var e *gale.HTTP2ConnError
			return errors.As(err, &e) && e.Code == 11 && !e.Local
		}},
		"protocol": {func(c *peers.H2PeerConn, id uint32) { _ = c.Fr.WriteWindowUpdate(0, 1<<31-1) }, func(err error) bool {
			var e *gale.HTTP2ConnError
			return errors.As(err, &e) && e.Code == 3 && e.Local
		}},
		"too short": {func(c *peers.H2PeerConn, id uint32) { c.Data(id, "", true) }, func(err error) bool {
			var e *gale.StreamResetError
			return errors.As(err, &e) && e.Code == 1 && e.Local
		}},
	} {
		t.Run(name, func(t *testing.T) {
			p := peers.NewH2Peer(t, func(c *peers.H2PeerConn, _ int) {
				c.Hello()
				id := c.Request().StreamID
				c.Head(id, "200", false, "content-length", "10")
				c.Data(id, "half", false)
				tc.end(c, id)
				c.Hold()
			})
			c := harness.PeerClient(p)
			c.StreamResponseBody = true
			req, resp := &gale.Request{}, &gale.Response{}
			req.SetRequestURI("http://" + p.Addr)
			if err := c.Do(req, resp); err != nil {
				t.Fatal(err)
			}
			b, err := io.ReadAll(resp.BodyStream())
			if string(b) != "half" || err == nil || !tc.is(err) {
				t.Errorf("%q, %v", b, err)
			}
			_ = resp.CloseBodyStream()
		})
	}
}

// TestHTTP2ClientStreamContext proves that the end of the context ends a streamed body, whether
// a goroutine reads or not.
func TestHTTP2ClientStreamContext(t *testing.T) {
	p := peers.NewH2Peer(t, func(c *peers.H2PeerConn, _ int) {
		c.Hello()
		for f := c.Request(); f != nil; f = c.Request() {
			c.Head(f.StreamID, "200", false)
			c.Data(f.StreamID, "x", false)
		}
	})
	c := harness.PeerClient(p)
	c.StreamResponseBody = true
	for _, reads := range []bool{false, true} {
		ctx, cancel := context.WithCancel(t.Context())
		req, resp := &gale.Request{}, &gale.Response{}
		req.SetRequestURI("http://" + p.Addr)
		if err := c.DoContext(ctx, req, resp); err != nil {
			t.Fatal(err)
		}
		if _, err := resp.BodyStream().Read(make([]byte, 10)); err != nil {
			t.Fatal(err)
		}
		if reads {
			time.AfterFunc(time.Millisecond, cancel) // most likely the Read waits by then
		} else {
			cancel()
			await.Until(t, "the stream to be reset", func() bool { return c.PendingRequests() == 0 })
		}
		if n, err := resp.BodyStream().Read(make([]byte, 10)); n != 0 || err != context.Canceled {
			t.Errorf("%d, %v", n, err)
		}
	}
	peers.WithMoreTime(t, 200*time.Millisecond, func(limit time.Duration) error {
		req, resp := &gale.Request{}, &gale.Response{}
		req.SetRequestURI("http://" + p.Addr)
		if err := c.DoTimeout(req, resp, limit); err != nil {
			return fmt.Errorf("the begin of a response: %w", err)
		}
		if _, err := io.ReadAll(resp.BodyStream()); err != gale.ErrTimeout {
			t.Error("reading the body when the time is over:", err)
		}
		return nil
	})
	await.Until(t, "the connection to be idle", func() bool { return c.PoolStats().Idle == 1 })
	if s := c.PoolStats(); s.Dials != 1 || s.Idle != 1 {
		t.Errorf("%+v", s)
	}
}

// TestHTTP2ClientLentBody proves that a request belongs to its caller when a streamed response
// has begun, even if its body wasn't sent yet.
func TestHTTP2ClientLentBody(t *testing.T) {
	more := make(chan struct{})
	p := peers.NewH2Peer(t, func(c *peers.H2PeerConn, _ int) {
		c.Hello(http2.Setting{ID: http2.SettingInitialWindowSize, Val: 10})
		var body []byte
		id := c.Request().StreamID
		c.Head(id, "200", false)
		<-more
		for len(body) < 100_000 {
			switch f := c.Next().(type) {
			case nil:
				return
			case *http2.DataFrame:
				body = append(body, f.Data()...)
				_ = c.Fr.WriteWindowUpdate(id, 30_000)
				_ = c.Fr.WriteWindowUpdate(0, 30_000)
			}
		}
		if n := bytes.Count(body, []byte("x")); n != 100_000 {
			t.Errorf("%d good bytes came", n)
		}
		c.Data(id, "good", true)
		c.Hold()
	})
	c := harness.PeerClient(p)
	c.StreamResponseBody = true
	req, resp := &gale.Request{}, &gale.Response{}
	req.SetRequestURI("http://" + p.Addr)
	req.Header.SetMethod("POST")
	req.SetBodyString(strings.Repeat("x", 100_000))
	if err := c.Do(req, resp); err != nil {
		t.Fatal(err)
	}
	for i, b := 0, req.Body(); i < len(b); i++ {
		b[i] = 'y'
	}
	close(more)
	if b, err := io.ReadAll(resp.BodyStream()); string(b) != "good" || err != nil {
		t.Errorf("%q, %v", b, err)
	}
}

// TestHTTP2ClientWhole proves that a body which has come with its head is no stream if the
// context asks for that.
func TestHTTP2ClientWhole(t *testing.T) {
	hs := harness.H2Way{Engine: gale.EngineEvent, TLS: false}.Start(t, &gale.Server{Handler: harness.H2OriginHandler})
	c := &gale.HostClient{Addr: hs.Addr, HTTP2: gale.HTTP2Only, StreamResponseBody: true}
	defer c.CloseIdleConnections()
	ctx := context.WithValue(t.Context(), door.WholeKey{}, true)
	whole := 0
	for range 20 {
		req, resp := &gale.Request{}, &gale.Response{}
		req.SetRequestURI(hs.URL("/"))
		if err := c.DoContext(ctx, req, resp); err != nil {
			t.Fatal(err)
		}
		if !resp.IsBodyStream() {
			whole++
		}
		if string(resp.Body()) != "hello" {
			t.Errorf("%q", resp.Body())
		}
	}
	if whole == 0 {
		t.Error("all bodies are streams")
	}
}

// TestHTTP2ClientConcurrentClose closes bodies while they are read.
func TestHTTP2ClientConcurrentClose(t *testing.T) {
	hs := harness.H2Way{Engine: gale.EngineEvent, TLS: false}.Start(t, &gale.Server{Handler: harness.H2OriginHandler})
	c := &gale.HostClient{Addr: hs.Addr, HTTP2: gale.HTTP2Only, StreamResponseBody: true}
	defer c.CloseIdleConnections()
	var read atomic.Int64
	for range race.Fewer(200) {
		req, resp := &gale.Request{}, &gale.Response{}
		req.SetRequestURI(hs.URL("/large"))
		if err := c.Do(req, resp); err != nil {
			t.Fatal(err)
		}
		r := resp.BodyStream().(io.ReadCloser)
		var wg sync.WaitGroup
		wg.Go(func() {
			n, err := io.Copy(io.Discard, r)
			read.Add(n)
			if err != nil && err != io.ErrClosedPipe {
				t.Error(err)
			}
		})
		for range 2 {
			wg.Go(func() {
				time.Sleep(time.Duration(gate.Rand.IntN(500)) * time.Microsecond) // some time during the read
				_ = r.Close()
			})
		}
		wg.Wait()
	}
	await.Until(t, "the connection to be idle", func() bool { return c.PoolStats().Idle == 1 })
	if s := c.PoolStats(); s.Dials != 1 || s.Idle != 1 {
		t.Errorf("%+v", s)
	}
}

// TestHTTP2ClientUploadErrors proves that a stream which fails, panics, or has the wrong
// length fails its request, and that the connection stays.
func TestHTTP2ClientUploadErrors(t *testing.T) {
	hs := harness.H2Way{Engine: gale.EngineBlock}.Start(t, &gale.Server{Handler: harness.H2OriginHandler, StreamRequestBody: true})
	c := &gale.HostClient{Addr: hs.Addr, HTTP2: gale.HTTP2Only}
	defer c.CloseIdleConnections()
	own := errors.New("own")
	var short int
	for name, tc := range map[string]struct {
		set func(*gale.Request)
		is  func(error) bool
	}{
		"error": {func(r *gale.Request) { r.SetBodyStream(peers.H2ReaderFunc(func() (int, error) { return 0, own }), -1) }, func(err error) bool { return errors.Is(err, own) }},
		"panic": {func(r *gale.Request) { r.SetBodyStream(peers.H2ReaderFunc(func() (int, error) { panic("boo") }), -1) }, isWritePanic},
		"goexit": {func(r *gale.Request) {
			r.SetBodyStream(peers.H2ReaderFunc(func() (int, error) { runtime.Goexit(); return 0, nil }), -1)
		}, func(err error) bool { return peers.HasError(err, bodyEnded) }},
		"writer": {func(r *gale.Request) { r.SetBodyStreamWriter(func(*bufio.Writer) { panic("boo") }) }, isWritePanic},
		"short": {func(r *gale.Request) { r.SetBodyStream(strings.NewReader("1234"), 5) }, func(err error) bool {
			n, _ := fmt.Sscanf(strings.TrimPrefix(err.Error(), "gale: "), "copied %d bytes", &short)
			return n == 1 && short == 4
		}},
		"closer": {func(r *gale.Request) { r.SetBodyStream(h2FailingCloser{strings.NewReader("body"), own}, -1) }, func(err error) bool { return errors.Is(err, own) }},
	} {
		req, resp := &gale.Request{}, &gale.Response{}
		req.SetRequestURI(hs.URL("/echo"))
		req.Header.SetMethod("POST")
		tc.set(req)
		if err := c.Do(req, resp); err == nil || !tc.is(err) {
			t.Errorf("%s: %v", name, err)
		}
		if resp := harness.MustFetch(t, c, "POST", hs.URL("/echo"), "good"); string(resp.Body()) != "good" {
			t.Errorf("%s: then %q", name, resp.Body())
		}
	}
	if s := c.PoolStats(); s.Dials != 1 {
		t.Errorf("%+v", s)
	}
}

func isWritePanic(err error) bool {
	var p *gale.ErrBodyStreamWritePanic
	return errors.As(err, &p)
}

type h2FailingCloser struct {
	io.Reader
	err error
}

func (c h2FailingCloser) Close() error { return c.err }

// TestSendStreamErrors proves that a stream that fails, panics, ends its goroutine or has the
// wrong length fails the call, over both protocols.
func TestSendStreamErrors(t *testing.T) {
	own := errors.New("own")
	for _, mode := range []gale.HTTP2Mode{gale.HTTP2Off, gale.HTTP2Only} {
		hs := harness.H2Way{Engine: gale.EngineBlock}.Start(t, &gale.Server{Handler: harness.H2OriginHandler, StreamRequestBody: true})
		c := &gale.HostClient{Addr: hs.Addr, HTTP2: mode}
		for name, tc := range map[string]struct {
			set func(*gale.Request)
			is  func(error) bool
		}{
			"error":       {func(r *gale.Request) { r.SetBodyStream(peers.H2ReaderFunc(func() (int, error) { return 0, own }), -1) }, func(err error) bool { return errors.Is(err, own) }},
			"fixed error": {func(r *gale.Request) { r.SetBodyStream(peers.H2ReaderFunc(func() (int, error) { return 0, own }), 9) }, func(err error) bool { return errors.Is(err, own) }},
			"panic":       {func(r *gale.Request) { r.SetBodyStream(peers.H2ReaderFunc(func() (int, error) { panic("boo") }), -1) }, isWritePanic},
			"goexit": {func(r *gale.Request) {
				r.SetBodyStream(peers.H2ReaderFunc(func() (int, error) { runtime.Goexit(); return 0, nil }), -1)
			}, func(err error) bool { return peers.HasError(err, bodyEnded) }},
			"writer":        {func(r *gale.Request) { r.SetBodyStreamWriter(func(*bufio.Writer) { panic("boo") }) }, isWritePanic},
			"writer goexit": {func(r *gale.Request) { r.SetBodyStreamWriter(func(*bufio.Writer) { runtime.Goexit() }) }, func(err error) bool { return peers.HasError(err, bodyEnded) }},
			"short":         {func(r *gale.Request) { r.SetBodyStream(strings.NewReader("1234"), 5) }, func(err error) bool { return strings.Contains(err.Error(), "copied 4 bytes") }},
			"closer":        {func(r *gale.Request) { r.SetBodyStream(h2FailingCloser{strings.NewReader("body"), own}, -1) }, func(err error) bool { return errors.Is(err, own) }},
			"fixed closer":  {func(r *gale.Request) { r.SetBodyStream(h2FailingCloser{strings.NewReader("body"), own}, 4) }, func(err error) bool { return errors.Is(err, own) }},
		} {
			req, resp := &gale.Request{}, &gale.Response{}
			req.SetRequestURI(hs.URL("/echo"))
			req.Header.SetMethod("POST")
			tc.set(req)
			if err := c.Do(req, resp); err == nil || !tc.is(err) {
				t.Errorf("%v, %s: %v", mode, name, err)
			}
			if req.IsBodyStream() {
				t.Errorf("%v, %s: the request has the stream still", mode, name)
			}
		}
		c.CloseIdleConnections()
	}
}

// bodyEnded is the text of the error of a body stream that ends its goroutine.
const bodyEnded = "gale: the body stream called runtime.Goexit"

// TestHTTP2ClientInterim proves that informational responses reach the function of the
// context, and that their number is limited.
func TestHTTP2ClientInterim(t *testing.T) {
	n := 3
	p := peers.NewH2Peer(t, func(c *peers.H2PeerConn, _ int) {
		c.Hello()
		for f := c.Request(); f != nil; f = c.Request() {
			for i := range n {
				c.Head(f.StreamID, "103", false, "link", fmt.Sprint(i))
			}
			c.Answer(f.StreamID, "good")
		}
	})
	c := harness.PeerClient(p)
	var got []string
	ctx := context.WithValue(t.Context(), door.InterimKey{}, func(h *gale.ResponseHeader) {
		got = append(got, fmt.Sprint(h.StatusCode(), string(h.Peek("Link"))))
	})
	req, resp := &gale.Request{}, &gale.Response{}
	req.SetRequestURI("http://" + p.Addr)
	if err := c.DoContext(ctx, req, resp); err != nil || string(resp.Body()) != "good" || len(resp.Header.Peek("Link")) > 0 {
		t.Errorf("%v, %v", resp, err)
	}
	if want := "[103 0 103 1 103 2]"; fmt.Sprint(got) != want && fmt.Sprint(got) != "[1030 1031 1032]" {
		t.Errorf("%v, want %v", got, want)
	}
	n = 101
	err := c.Do(req, resp)
	var re *gale.StreamResetError
	if !peers.HasError(err, "gale: too many 1xx informational responses received") || !errors.As(err, &re) || !re.Local {
		t.Errorf("101 informational responses: %v", err)
	}
	n = 100
	if resp := harness.MustFetch(t, c, "GET", "http://"+p.Addr, ""); string(resp.Body()) != "good" {
		t.Errorf("%q", resp.Body())
	}
}

// TestHTTP2ClientUpgrade proves that requests which HTTP/2 can't carry use HTTP/1.1 if that is
// allowed.
func TestHTTP2ClientUpgrade(t *testing.T) {
	hs := harness.H2Way{Engine: gale.EngineBlock, TLS: true}.Start(t, &gale.Server{Handler: func(ctx *gale.RequestCtx) { ctx.Write(ctx.Request.Header.Protocol()) }})
	c := &gale.HostClient{Addr: hs.Addr, IsTLS: true, TLSConfig: &tls.Config{InsecureSkipVerify: true}}
	defer c.CloseIdleConnections()
	harness.MustFetch(t, c, "GET", hs.URL("/"), "")
	req, resp := &gale.Request{}, &gale.Response{}
	req.SetRequestURI(hs.URL("/"))
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
	only := &gale.HostClient{Addr: hs.Addr, IsTLS: true, TLSConfig: &tls.Config{InsecureSkipVerify: true}, HTTP2: gale.HTTP2Only}
	if err := only.Do(req, resp); fmt.Sprint(err) != "gale: a CONNECT request, or one with Upgrade, can't be sent over HTTP/2: set HostClient.HTTP2 to another value than HTTP2Only" {
		t.Error(err)
	}
	if resp := harness.MustFetch(t, c, "GET", hs.URL("/"), ""); string(resp.Body()) != "HTTP/2.0" {
		t.Errorf("%q", resp.Body())
	}
}

// TestHTTP2ClientSlowReader proves that a body that isn't read doesn't stop other streams, and
// that only a bounded part of it is taken.
func TestHTTP2ClientSlowReader(t *testing.T) {
	harness.EachH2Origin(t, func(t *testing.T, g *peers.H2Origin) {
		c := harness.OriginClient(t, g)
		var slow []*gale.Response
		streams := race.Fewer(20)
		for range streams {
			req, resp := &gale.Request{}, &gale.Response{}
			req.SetRequestURI(g.URL + "/large")
			resp.StreamBody = true
			if err := c.Do(req, resp); err != nil {
				t.Fatal(err)
			}
			slow = append(slow, resp)
		}
		for range gate.Form(5, 2) {
			if resp := harness.MustFetch(t, c, "GET", g.URL+"/large", ""); len(resp.Body()) != 16<<16 {
				t.Errorf("%d bytes", len(resp.Body()))
			}
		}
		if n := door.ClientStreams(c); n != streams {
			t.Errorf("%d streams", n)
		}
		var wg sync.WaitGroup
		for _, resp := range slow {
			r := resp.BodyStream()
			if n := door.Unread(r); n > 64<<10 {
				t.Errorf("%d bytes wait", n)
			}
			wg.Go(func() {
				if b, err := io.ReadAll(r); err != nil || len(b) != 16<<16 {
					t.Errorf("%d bytes, %v", len(b), err)
				}
			})
		}
		wg.Wait()
	})
}
