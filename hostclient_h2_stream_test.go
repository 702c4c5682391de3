package gale

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/galehttp/gale/internal/clientconn"
	"github.com/galehttp/gale/internal/door"
	"golang.org/x/net/http2"
)

// TestHTTP2ClientUpload proves that streams of all kinds are sent as bodies.
func TestHTTP2ClientUpload(t *testing.T) {
	large := strings.Repeat("0123456789abcdef", 1<<15)
	eachH2Origin(t, func(t *testing.T, g *h2Origin) {
		c := g.client(t)
		for _, body := range []string{"", "body", large} {
			for name, set := range map[string]func(*Request){
				"reader":       func(r *Request) { r.SetBodyStream(h2PlainReader{strings.NewReader(body)}, -1) },
				"known length": func(r *Request) { r.SetBodyStream(h2PlainReader{strings.NewReader(body)}, len(body)) },
				"writer to":    func(r *Request) { r.SetBodyStream(bytes.NewReader([]byte(body)), len(body)) },
				"stream writer": func(r *Request) {
					r.SetBodyStreamWriter(func(w *bufio.Writer) {
						for b := body; len(b) > 0; {
							n := min(len(b), 1000)
							_, _ = w.WriteString(b[:n])
							b = b[n:]
						}
					})
				},
				"pipe": func(r *Request) {
					r.SetBodyStream(NewStreamReader(func(w *bufio.Writer) { _, _ = w.WriteString(body) }), -1)
				},
			} {
				req, resp := &Request{}, &Response{}
				req.SetRequestURI(g.url + "/echo")
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

// h2PlainReader hides the other methods of a reader.
type h2PlainReader struct{ r io.Reader }

func (r h2PlainReader) Read(p []byte) (int, error) { return r.r.Read(p) }

// TestHTTP2ClientUploadErrors proves that a stream which fails, panics, or has the wrong
// length fails its request, and that the connection stays.
func TestHTTP2ClientUploadErrors(t *testing.T) {
	hs := h2Way{EngineBlock, false}.start(t, &Server{Handler: h2OriginHandler, StreamRequestBody: true})
	c := &HostClient{Addr: hs.addr, HTTP2: HTTP2Only}
	defer c.CloseIdleConnections()
	own := errors.New("own")
	var short int
	for name, tc := range map[string]struct {
		set func(*Request)
		is  func(error) bool
	}{
		"error": {func(r *Request) { r.SetBodyStream(h2ReaderFunc(func() (int, error) { return 0, own }), -1) }, func(err error) bool { return errors.Is(err, own) }},
		"panic": {func(r *Request) { r.SetBodyStream(h2ReaderFunc(func() (int, error) { panic("boo") }), -1) }, isWritePanic},
		"goexit": {func(r *Request) {
			r.SetBodyStream(h2ReaderFunc(func() (int, error) { runtime.Goexit(); return 0, nil }), -1)
		}, func(err error) bool { return errors.Is(err, errBodyEnded) }},
		"writer": {func(r *Request) { r.SetBodyStreamWriter(func(*bufio.Writer) { panic("boo") }) }, isWritePanic},
		"short": {func(r *Request) { r.SetBodyStream(strings.NewReader("1234"), 5) }, func(err error) bool {
			n, _ := fmt.Sscanf(strings.TrimPrefix(err.Error(), "gale: "), "copied %d bytes", &short)
			return n == 1 && short == 4
		}},
		"closer": {func(r *Request) { r.SetBodyStream(h2FailingCloser{strings.NewReader("body"), own}, -1) }, func(err error) bool { return errors.Is(err, own) }},
	} {
		req, resp := &Request{}, &Response{}
		req.SetRequestURI(hs.url("/echo"))
		req.Header.SetMethod("POST")
		tc.set(req)
		if err := c.Do(req, resp); err == nil || !tc.is(err) {
			t.Errorf("%s: %v", name, err)
		}
		if resp := mustFetch(t, c, "POST", hs.url("/echo"), "good"); string(resp.Body()) != "good" {
			t.Errorf("%s: then %q", name, resp.Body())
		}
	}
	if s := c.PoolStats(); s.Dials != 1 {
		t.Errorf("%+v", s)
	}
}

func isWritePanic(err error) bool {
	var p *ErrBodyStreamWritePanic
	return errors.As(err, &p)
}

type h2ReaderFunc func() (int, error)

func (f h2ReaderFunc) Read([]byte) (int, error) { return f() }

type h2FailingCloser struct {
	io.Reader
	err error
}

func (c h2FailingCloser) Close() error { return c.err }

// TestHTTP2ClientDuplex proves that both bodies are streams at the same time: each byte comes
// back before the next is sent.
func TestHTTP2ClientDuplex(t *testing.T) {
	eachH2Origin(t, func(t *testing.T, g *h2Origin) {
		c := g.client(t)
		c.StreamResponseBody = true
		pr, pw := io.Pipe()
		req, resp := &Request{}, &Response{}
		req.SetRequestURI(g.url + "/duplex")
		req.Header.SetMethod("POST")
		req.SetBodyStream(pr, -1)
		if err := c.Do(req, resp); err != nil {
			t.Fatal(err)
		}
		body := resp.BodyStream()
		for i := range 50 {
			want := strings.Repeat(string(rune('a'+i%26)), 1+rand.IntN(2000))
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
		await(t, "the stream to end", func() bool { return c.PendingRequests() == 0 })
		if resp := mustFetch(t, c, "GET", g.url, ""); string(resp.Body()) != "hello" {
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
	hs := h2Way{EngineEvent, false}.start(t, &Server{Handler: h2OriginHandler, StreamRequestBody: true})
	c := &HostClient{Addr: hs.addr, HTTP2: HTTP2Only, StreamResponseBody: true}
	defer c.CloseIdleConnections()
	for range 10 {
		pr, pw := io.Pipe()
		closed := &countedCloser{Reader: pr}
		req, resp := AcquireRequest(), AcquireResponse()
		req.SetRequestURI(hs.url("/duplex"))
		req.Header.SetMethod("POST")
		req.SetBodyStream(closed, -1)
		if err := c.Do(req, resp); err != nil {
			t.Fatal(err)
		}
		ReleaseRequest(req)
		go pw.Write([]byte("abc"))
		if _, err := io.ReadFull(resp.BodyStream(), make([]byte, 3)); err != nil {
			t.Fatal(err)
		}
		ReleaseResponse(resp)
		await(t, "the stream to be reset", func() bool { return c.PendingRequests() == 0 })
		if closed.n.Load() != 0 {
			t.Error("the stream was closed during its Read")
		}
		pw.Write([]byte("more"))
		await(t, "the request's stream to be closed", func() bool { return closed.n.Load() == 1 })
	}
}

// TestHTTP2ClientDownload proves that streamed responses are read completely, with their
// trailers, and that errors of the server are errors of reading.
func TestHTTP2ClientDownload(t *testing.T) {
	eachH2Origin(t, func(t *testing.T, g *h2Origin) {
		c := g.client(t)
		for _, tc := range []struct {
			method, path string
			want         int
		}{{"GET", "/large", 16 << 16}, {"GET", "/", 5}, {"GET", "/trailers", 4}, {"HEAD", "/", 0}, {"GET", "/204", 0}} {
			req, resp := &Request{}, &Response{}
			req.SetRequestURI(g.url + tc.path)
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
		if s := c.PoolStats(); s.Dials != 1 || s.Idle != 1 {
			t.Errorf("%+v", s)
		}
	})
}

// TestHTTP2ClientStreamEnds proves how a streamed body ends that is cut off.
func TestHTTP2ClientStreamEnds(t *testing.T) {
	for name, tc := range map[string]struct {
		end func(c *h2PeerConn, id uint32)
		is  func(error) bool
	}{
		"reset": {func(c *h2PeerConn, id uint32) { _ = c.fr.WriteRSTStream(id, http2.ErrCodeInternal) }, func(err error) bool {
			var e *StreamResetError
			return errors.As(err, &e) && e.Code == 2 && !e.Local && !errors.Is(err, ErrClientGone)
		}},
		"closed": {func(c *h2PeerConn, id uint32) { c.Close() }, func(err error) bool { return err == io.ErrUnexpectedEOF || clientconn.IsReset(err) }},
		"goaway": {func(c *h2PeerConn, id uint32) {
			_ = c.fr.WriteGoAway(id, http2.ErrCodeEnhanceYourCalm, nil)
			c.Close()
		}, func(err error) bool {
			var e *HTTP2ConnError
			return errors.As(err, &e) && e.Code == 11 && !e.Local
		}},
		"protocol": {func(c *h2PeerConn, id uint32) { _ = c.fr.WriteWindowUpdate(0, 1<<31-1) }, func(err error) bool {
			var e *HTTP2ConnError
			return errors.As(err, &e) && e.Code == 3 && e.Local
		}},
		"too short": {func(c *h2PeerConn, id uint32) { c.data(id, "", true) }, func(err error) bool {
			var e *StreamResetError
			return errors.As(err, &e) && e.Code == 1 && e.Local
		}},
	} {
		t.Run(name, func(t *testing.T) {
			p := newH2Peer(t, func(c *h2PeerConn, _ int) {
				c.hello()
				id := c.request().StreamID
				c.head(id, "200", false, "content-length", "10")
				c.data(id, "half", false)
				tc.end(c, id)
				c.hold()
			})
			c := p.client()
			c.StreamResponseBody = true
			req, resp := &Request{}, &Response{}
			req.SetRequestURI("http://" + p.addr)
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
	p := newH2Peer(t, func(c *h2PeerConn, _ int) {
		c.hello()
		for f := c.request(); f != nil; f = c.request() {
			c.head(f.StreamID, "200", false)
			c.data(f.StreamID, "x", false)
		}
	})
	c := p.client()
	c.StreamResponseBody = true
	for _, reads := range []bool{false, true} {
		ctx, cancel := context.WithCancel(t.Context())
		req, resp := &Request{}, &Response{}
		req.SetRequestURI("http://" + p.addr)
		if err := c.DoContext(ctx, req, resp); err != nil {
			t.Fatal(err)
		}
		if _, err := resp.BodyStream().Read(make([]byte, 10)); err != nil {
			t.Fatal(err)
		}
		if reads {
			time.AfterFunc(time.Millisecond, cancel)
		} else {
			cancel()
			await(t, "the stream to be reset", func() bool { return c.PendingRequests() == 0 })
		}
		if n, err := resp.BodyStream().Read(make([]byte, 10)); n != 0 || err != context.Canceled {
			t.Errorf("%d, %v", n, err)
		}
	}
	req, resp := &Request{}, &Response{}
	req.SetRequestURI("http://" + p.addr)
	if err := c.DoTimeout(req, resp, 20*time.Millisecond); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadAll(resp.BodyStream()); err != ErrTimeout {
		t.Error(err)
	}
	if s := c.PoolStats(); s.Dials != 1 || s.Idle != 1 {
		t.Errorf("%+v", s)
	}
}

// TestHTTP2ClientSlowReader proves that a body that isn't read doesn't stop other streams, and
// that only a bounded part of it is taken.
func TestHTTP2ClientSlowReader(t *testing.T) {
	eachH2Origin(t, func(t *testing.T, g *h2Origin) {
		c := g.client(t)
		var slow []*Response
		for range 20 {
			req, resp := &Request{}, &Response{}
			req.SetRequestURI(g.url + "/large")
			resp.StreamBody = true
			if err := c.Do(req, resp); err != nil {
				t.Fatal(err)
			}
			slow = append(slow, resp)
		}
		for range 5 {
			if resp := mustFetch(t, c, "GET", g.url+"/large", ""); len(resp.Body()) != 16<<16 {
				t.Errorf("%d bytes", len(resp.Body()))
			}
		}
		hc := c.h2.first.Load()
		hc.mu.Lock()
		if n := hc.proto.Streams(); n != 20 {
			t.Errorf("%d streams", n)
		}
		hc.mu.Unlock()
		var wg sync.WaitGroup
		for _, resp := range slow {
			r := resp.BodyStream().(*h2Reader)
			hc.mu.Lock()
			if r.in.n > 64<<10 {
				t.Errorf("%d bytes wait", r.in.n)
			}
			hc.mu.Unlock()
			wg.Go(func() {
				if b, err := io.ReadAll(r); err != nil || len(b) != 16<<16 {
					t.Errorf("%d bytes, %v", len(b), err)
				}
			})
		}
		wg.Wait()
	})
}

// TestHTTP2ClientLentBody proves that a request belongs to its caller when a streamed response
// has begun, even if its body wasn't sent yet.
func TestHTTP2ClientLentBody(t *testing.T) {
	more := make(chan struct{})
	p := newH2Peer(t, func(c *h2PeerConn, _ int) {
		c.hello(http2.Setting{ID: http2.SettingInitialWindowSize, Val: 10})
		var body []byte
		id := c.request().StreamID
		c.head(id, "200", false)
		<-more
		for len(body) < 100_000 {
			switch f := c.next().(type) {
			case nil:
				return
			case *http2.DataFrame:
				body = append(body, f.Data()...)
				_ = c.fr.WriteWindowUpdate(id, 30_000)
				_ = c.fr.WriteWindowUpdate(0, 30_000)
			}
		}
		if n := bytes.Count(body, []byte("x")); n != 100_000 {
			t.Errorf("%d good bytes came", n)
		}
		c.data(id, "good", true)
		c.hold()
	})
	c := p.client()
	c.StreamResponseBody = true
	req, resp := &Request{}, &Response{}
	req.SetRequestURI("http://" + p.addr)
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
	hs := h2Way{EngineEvent, false}.start(t, &Server{Handler: h2OriginHandler})
	c := &HostClient{Addr: hs.addr, HTTP2: HTTP2Only, StreamResponseBody: true}
	defer c.CloseIdleConnections()
	ctx := context.WithValue(t.Context(), door.WholeKey{}, true)
	whole := 0
	for range 20 {
		req, resp := &Request{}, &Response{}
		req.SetRequestURI(hs.url("/"))
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
	hs := h2Way{EngineEvent, false}.start(t, &Server{Handler: h2OriginHandler})
	c := &HostClient{Addr: hs.addr, HTTP2: HTTP2Only, StreamResponseBody: true}
	defer c.CloseIdleConnections()
	var read atomic.Int64
	for range 200 {
		req, resp := &Request{}, &Response{}
		req.SetRequestURI(hs.url("/large"))
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
				time.Sleep(time.Duration(rand.IntN(500)) * time.Microsecond)
				_ = r.Close()
			})
		}
		wg.Wait()
	}
	if s := c.PoolStats(); s.Dials != 1 || s.Idle != 1 {
		t.Errorf("%+v", s)
	}
}
