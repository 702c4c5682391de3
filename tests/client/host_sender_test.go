package client

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/galehttp/gale"
	"github.com/galehttp/gale/internal/door"
	"github.com/galehttp/gale/tests/harness"
	"github.com/galehttp/gale/tests/harness/await"
	"github.com/galehttp/gale/tests/harness/peers"
)

// sendEnd is a way in which a call ends while its body is being sent.
type sendEnd struct {
	name string
	// h1 and h2 do what the server does when it has the head.
	h1 func(c net.Conn)
	h2 func(p *peers.H2Actor, r *peers.H2Asked)
	do func(c *gale.HostClient, req *gale.Request, resp *gale.Response, came <-chan struct{}) error
	ok func(resp *gale.Response, err error) bool
}

func sendNothing(net.Conn)                        {}
func sendNothing2(*peers.H2Actor, *peers.H2Asked) {}

func justDo(c *gale.HostClient, req *gale.Request, resp *gale.Response, _ <-chan struct{}) error {
	return c.Do(req, resp)
}

func anyError(_ *gale.Response, err error) bool { return err != nil }

func is413(resp *gale.Response, err error) bool {
	return err == nil && resp.StatusCode() == 413 && string(resp.Body()) == "much"
}

func answer413(c net.Conn) {
	_, _ = io.WriteString(c, "HTTP/1.1 413 Content Too Large\r\nContent-Length: 4\r\n\r\nmuch")
}

var sendEnds = []sendEnd{
	{"answer", answer413, func(p *peers.H2Actor, r *peers.H2Asked) {
		p.Send(p.Head(r.ID, 0, ":status", "413"), peers.H2Wire(0, 1, r.ID, "much"))
	}, justDo, is413},
	{"cancel", sendNothing, sendNothing2, func(c *gale.HostClient, req *gale.Request, resp *gale.Response, came <-chan struct{}) error {
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		go func() { <-came; cancel() }()
		return c.DoContext(ctx, req, resp)
	}, func(_ *gale.Response, err error) bool { return err == context.Canceled }},
	{"deadline", sendNothing, sendNothing2, func(c *gale.HostClient, req *gale.Request, resp *gale.Response, _ <-chan struct{}) error {
		return c.DoTimeout(req, resp, 100*time.Millisecond)
	}, func(_ *gale.Response, err error) bool { return err == gale.ErrTimeout }},
	{"WriteTimeout", sendNothing, sendNothing2, func(c *gale.HostClient, req *gale.Request, resp *gale.Response, _ <-chan struct{}) error {
		c.WriteTimeout = 100 * time.Millisecond
		return c.Do(req, resp)
	}, func(_ *gale.Response, err error) bool { return err == gale.ErrTimeout }},
	{"close", func(c net.Conn) { _ = c.Close() }, func(p *peers.H2Actor, _ *peers.H2Asked) { _ = p.Below.Close() }, justDo, anyError},
	{"reset", resetConn, func(p *peers.H2Actor, _ *peers.H2Asked) { p.Reset() }, justDo, anyError},
	{"RST_STREAM", nil, func(p *peers.H2Actor, r *peers.H2Asked) { p.Send(peers.H2Wire(3, 0, r.ID, "\x00\x00\x00\x08")) }, justDo, anyError},
	{"answer, RST_STREAM", nil, func(p *peers.H2Actor, r *peers.H2Asked) {
		p.Send(p.Head(r.ID, 0, ":status", "413"), peers.H2Wire(0, 1, r.ID, "much"), peers.H2Wire(3, 0, r.ID, "\x00\x00\x00\x00"))
	}, justDo, is413},
	{"whole answer, RST_STREAM", nil, func(p *peers.H2Actor, r *peers.H2Asked) {
		p.Send(p.Head(r.ID, 0, ":status", "413", "content-length", "4"), peers.H2Wire(0, 1, r.ID, "much"), peers.H2Wire(3, 0, r.ID, "\x00\x00\x00\x00"))
	}, func(c *gale.HostClient, req *gale.Request, resp *gale.Response, _ <-chan struct{}) error {
		c.StreamResponseBody = true
		ctx, cancel := context.WithCancel(context.WithValue(context.Background(), door.WholeKey{}, true))
		defer cancel()
		return c.DoContext(ctx, req, resp)
	}, is413},
}

func resetConn(c net.Conn) {
	if tc, ok := c.(*tls.Conn); ok {
		c = tc.NetConn()
	}
	_ = c.(*net.TCPConn).SetLinger(0)
	_ = c.Close()
}

// sendServer starts a server that reads the head of a request and then calls what end says. came
// gets a value when the head is there.
func (end *sendEnd) server(t *testing.T, proto string) (c *gale.HostClient, came chan struct{}) {
	came = make(chan struct{}, 100)
	if proto == "HTTP/2" {
		s := peers.ScriptedH2(t, false, func(p *peers.H2Actor) {
			p.Stingy = true
			if !p.Greet() {
				return
			}
			if r := p.Asked(); r != nil {
				came <- struct{}{}
				end.h2(p, r)
				for p.Next() != nil {
				}
			}
		})
		return harness.ScriptClient(s), came
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	c = &gale.HostClient{Addr: ln.Addr().String()}
	if proto == "TLS" {
		conf := peers.H2TestTLS(t).Clone()
		conf.NextProtos = nil
		ln = tls.NewListener(ln, conf)
		c.IsTLS, c.TLSConfig = true, &tls.Config{InsecureSkipVerify: true}
	}
	var served sync.WaitGroup
	var conns sync.Map
	served.Go(func() {
		for {
			nc, err := ln.Accept()
			if err != nil {
				return
			}
			conns.Store(nc, nil)
			served.Go(func() {
				br := bufio.NewReader(nc)
				for {
					line, err := br.ReadString('\n')
					if err != nil {
						return
					}
					if line == "\r\n" {
						break
					}
				}
				came <- struct{}{}
				end.h1(nc)
			})
		}
	})
	t.Cleanup(func() {
		_ = ln.Close()
		conns.Range(func(nc, _ any) bool { _ = nc.(net.Conn).Close(); return true })
		served.Wait()
	})
	return c, came
}

// sentBodies are the bodies of TestSendEnds. Each is set in req. after is called when the call has
// returned, and waits until the body is over.
var sentBodies = []struct {
	name   string
	stalls bool
	set    func(t *testing.T, req *gale.Request) (after func())
}{
	{"lent", false, setLent(false)},
	{"lent, stalls", true, setLent(true)},
	{"own", false, setOwn(false, -1)},
	{"own, stalls", true, setOwn(true, -1)},
	{"own of known length", false, setOwn(false, 1<<30)},
	{"own of known length, stalls", true, setOwn(true, 1<<30)},
	{"pipe", false, func(t *testing.T, req *gale.Request) func() {
		pr, pw := io.Pipe()
		done := make(chan error)
		go func() {
			var err error
			for b := make([]byte, 5000); err == nil; {
				_, err = pw.Write(b)
			}
			done <- err
		}()
		req.SetBodyStream(pr, -1)
		return func() {
			<-done
		}
	}},
	{"pipe, stalls", true, func(t *testing.T, req *gale.Request) func() {
		pr, pw := io.Pipe()
		req.SetBodyStream(pr, -1)
		return func() {
			if _, err := pw.Write([]byte("late")); err == nil {
				t.Error("the pipe isn't closed")
			}
		}
	}},
	{"writer", false, func(t *testing.T, req *gale.Request) func() {
		done := make(chan struct{})
		var called atomic.Bool
		req.SetBodyStreamWriter(func(w *bufio.Writer) {
			called.Store(true)
			defer close(done)
			for err := error(nil); err == nil; {
				_, err = w.Write(make([]byte, 5000))
			}
		})
		return func() {
			if called.Load() { // the call may have ended before the connection was there
				<-done
			}
		}
	}},
	{"writer, stalls", true, func(t *testing.T, req *gale.Request) func() {
		release, done := make(chan struct{}), make(chan struct{})
		var called atomic.Bool
		req.SetBodyStreamWriter(func(w *bufio.Writer) {
			called.Store(true)
			defer close(done)
			_, _ = w.WriteString("first")
			_ = w.Flush()
			<-release
			_, _ = w.WriteString("late")
			if w.Flush() == nil {
				t.Error("a writer could write after the call had returned")
			}
		})
		return func() {
			close(release)
			if called.Load() {
				<-done
			}
		}
	}},
	{"memory", false, func(t *testing.T, req *gale.Request) func() {
		body := make([]byte, 16<<20)
		req.SetBodyRaw(body)
		return func() { clear(body) } // the race detector sees who still reads it
	}},
}

func setLent(stalls bool) func(*testing.T, *gale.Request) func() {
	return func(t *testing.T, req *gale.Request) func() {
		b := &peers.LentBody{Ended: make(chan struct{})}
		b.T, b.Stalls = t, stalls
		req.SetBodyStream(b, -1)
		return func() {
			b.Returned.Store(true)
			b.Mu.Lock()
			if b.Used && !b.Revoked {
				t.Error("the stream isn't revoked")
			}
			b.Mu.Unlock()
			// A sender that has ended by itself may be about to close, which has no effect any more.
			await.Until(t, "the stream to be closed", func() bool { return b.Closed.Load() == 1 })
		}
	}
}

func setOwn(stalls bool, length int) func(*testing.T, *gale.Request) func() {
	return func(t *testing.T, req *gale.Request) func() {
		b := &peers.SentBody{T: t, Stalls: stalls, Release: make(chan struct{})}
		req.SetBodyStream(b, length)
		return func() {
			close(b.Release)
			await.Until(t, "the stream to be closed", func() bool { return b.Closed.Load() == 1 && b.Reads.Load() == 0 })
		}
	}
}

// TestSendEnds proves that a call whose body is being sent ends when the server answers or breaks
// off and when its time is over, also while the body waits. Then its stream is closed
// once, nothing of the call is touched, and the connection of HTTP/1.1 isn't kept.
func TestSendEnds(t *testing.T) {
	for _, proto := range []string{"HTTP/1.1", "TLS", "HTTP/2"} {
		for _, end := range sendEnds {
			for _, body := range sentBodies {
				if proto != "HTTP/2" && end.h1 == nil {
					continue
				}
				t.Run(proto+"/"+end.name+"/"+body.name, func(t *testing.T) {
					t.Parallel()
					c, came := end.server(t, proto)
					defer c.CloseIdleConnections()
					req, resp := &gale.Request{}, &gale.Response{}
					scheme := "http://"
					if c.IsTLS {
						scheme = "https://"
					}
					req.SetRequestURI(scheme + "a.test/upload")
					req.Header.SetMethod("PUT")
					c.MaxIdemponentCallAttempts = 1
					after := body.set(t, req)
					var err error
					peers.Within(t, "the call", func() { err = end.do(c, req, resp, came) })
					if !end.ok(resp, err) {
						t.Errorf("%v, status %d, body %q", err, resp.StatusCode(), resp.Body())
					}
					if req.IsBodyStream() {
						t.Error("the request has the stream still")
					}
					req.Reset()
					resp.Reset()
					req.Header.Set("Canary", "a")
					resp.SetBodyString("canary")
					peers.Within(t, "the end of the body", after)
					if n := c.ConnsCount(); proto != "HTTP/2" && n != 0 {
						t.Errorf("%d connections are kept", n)
					}
					if req.Header.Len() != 1 || string(resp.Body()) != "canary" {
						t.Errorf("the messages of the caller were changed: %s %s", &req.Header, resp.Body())
					}
				})
			}
		}
	}
}

// ownMethods is a stream of a program that has methods with the names of package door's.
type ownMethods struct{ io.Reader }

func (ownMethods) Trailers() any { panic("Trailers is the program's") }
func (ownMethods) Revoke()       { panic("Revoke is the program's") }

// TestSendOwnMethods proves that only the library's own streams are asked for trailer fields, and
// revoked.
func TestSendOwnMethods(t *testing.T) {
	for _, mode := range []gale.HTTP2Mode{gale.HTTP2Off, gale.HTTP2Only} {
		hs := harness.H2Way{Engine: gale.EngineBlock, TLS: false}.Start(t, &gale.Server{Handler: harness.H2OriginHandler, StreamRequestBody: true})
		c := &gale.HostClient{Addr: hs.Addr, HTTP2: mode}
		req, resp := &gale.Request{}, &gale.Response{}
		req.SetRequestURI(hs.URL("/echo"))
		req.Header.SetMethod("POST")
		req.SetBodyStream(ownMethods{strings.NewReader("body")}, -1)
		if err := c.Do(req, resp); err != nil || string(resp.Body()) != "body" {
			t.Errorf("%v: %q, %v", mode, resp.Body(), err)
		}
		c.CloseIdleConnections()
	}
}

// TestSendKeepsConnection proves that a connection of HTTP/1.1 is used again after a body that was
// sent by a goroutine of its own, with time limits and without.
func TestSendKeepsConnection(t *testing.T) {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		_, _ = w.Write(b)
	}))
	defer srv.Close()
	for _, c := range []*gale.HostClient{{}, {ReadTimeout: time.Minute, WriteTimeout: time.Minute, ResponseHeaderTimeout: time.Minute}, {Trace: &gale.ClientTrace{}}} {
		c.Addr = srv.Listener.Addr().String()
		for i := range 300 {
			want := strings.Repeat("x", i*i)
			req, resp := &gale.Request{}, &gale.Response{}
			req.SetRequestURI(srv.URL)
			req.Header.SetMethod("POST")
			switch i % 3 {
			case 0:
				req.SetBodyStream(peers.H2PlainReader{R: strings.NewReader(want)}, -1)
			case 1:
				req.SetBodyStream(peers.H2PlainReader{R: strings.NewReader(want)}, len(want))
			case 2:
				req.SetBodyStreamWriter(func(w *bufio.Writer) { _, _ = w.WriteString(want) })
			}
			if err := c.Do(req, resp); err != nil || string(resp.Body()) != want {
				t.Fatalf("%d: %v, %d bytes", i, err, len(resp.Body()))
			}
		}
		if s := c.PoolStats(); s.Dials != 1 || s.Idle != 1 {
			t.Errorf("%+v", s)
		}
		c.CloseIdleConnections()
	}
}

// TestSendWhileReading proves that the body is sent on after a call over HTTP/1.1 has
// returned a streamed response, and that the call's memory is the caller's by then.
func TestSendWhileReading(t *testing.T) {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		rc := http.NewResponseController(w)
		_ = rc.EnableFullDuplex()
		w.WriteHeader(200)
		_ = rc.Flush()
		_, _ = io.Copy(w, r.Body)
	}))
	defer srv.Close()
	c := &gale.HostClient{Addr: srv.Listener.Addr().String(), StreamResponseBody: true}
	defer c.CloseIdleConnections()
	want := bytes.Repeat([]byte("0123456789abcdef"), 1<<20)
	for name, set := range map[string]func(*gale.Request, []byte){
		"memory": func(r *gale.Request, b []byte) { r.SetBodyRaw(b) },
		"stream": func(r *gale.Request, b []byte) { r.SetBodyStream(bytes.NewReader(bytes.Clone(b)), len(b)) },
	} {
		body := bytes.Clone(want)
		req, resp := &gale.Request{}, &gale.Response{}
		req.SetRequestURI(srv.URL)
		req.Header.SetMethod("POST")
		set(req, body)
		if err := c.Do(req, resp); err != nil {
			t.Fatal(err)
		}
		clear(body)
		req.Reset()
		got, err := io.ReadAll(resp.BodyStream())
		if err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s: %d bytes, %v", name, len(got), err)
		}
		_ = resp.CloseBodyStream()
	}
}

// TestSendTells proves that ClientTrace.Wrote is called when a streamed body was sent, not when the
// response comes, and that ReadTimeout and ResponseHeaderTimeout begin then.
func TestSendTells(t *testing.T) {
	wrote := make(chan struct{})
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		select {
		case <-wrote:
		case <-r.Context().Done():
		}
	}))
	defer srv.Close()
	for _, c := range []*gale.HostClient{
		{Trace: &gale.ClientTrace{Wrote: func(_ *gale.Request, err error) { wrote <- struct{}{} }}},
		{ReadTimeout: 100 * time.Millisecond},
		{ResponseHeaderTimeout: 100 * time.Millisecond},
	} {
		c.Addr = srv.Listener.Addr().String()
		req, resp := &gale.Request{}, &gale.Response{}
		req.SetRequestURI(srv.URL)
		req.Header.SetMethod("POST")
		req.SetBodyStream(peers.H2PlainReader{R: strings.NewReader("body")}, -1)
		var err error
		peers.Within(t, "the call", func() { err = c.Do(req, resp) })
		if c.Trace != nil && err != nil || c.Trace == nil && err != gale.ErrTimeout {
			t.Errorf("%+v: %v", c.Trace, err)
		}
		c.CloseIdleConnections()
	}
}

// TestSendNever proves that a stream is closed once by a call that ends before anything is sent,
// with each client.
func TestSendNever(t *testing.T) {
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	fails := func(string) (net.Conn, error) { return nil, errors.New("no") }
	type calls interface {
		Do(*gale.Request, *gale.Response) error
		DoTimeout(*gale.Request, *gale.Response, time.Duration) error
		DoContext(context.Context, *gale.Request, *gale.Response) error
	}
	for name, c := range map[string]calls{
		"HostClient":     &gale.HostClient{Addr: "a.test", Dial: fails},
		"HTTP/2":         &gale.HostClient{Addr: "a.test", Dial: fails, HTTP2: gale.HTTP2Only},
		"Client":         &gale.Client{Dial: fails},
		"PipelineClient": &gale.PipelineClient{Addr: "a.test", Dial: fails, Logger: log.New(io.Discard, "", 0)},
		"LBClient":       &gale.LBClient{Clients: []gale.BalancingClient{&gale.HostClient{Addr: "a.test", Dial: fails}}, HealthCheck: nil},
		"empty LBClient": &gale.LBClient{},
	} {
		for how, do := range map[string]func(*gale.Request) error{
			"dial":     func(r *gale.Request) error { return c.Do(r, nil) },
			"timeout":  func(r *gale.Request) error { return c.DoTimeout(r, nil, -1) },
			"context":  func(r *gale.Request) error { return c.DoContext(ended, r, nil) },
			"bad host": func(r *gale.Request) error { r.SetRequestURI("http:///"); r.Header.SetHost(""); return c.Do(r, nil) },
		} {
			req := &gale.Request{}
			req.SetRequestURI("http://a.test/")
			req.Header.SetMethod("POST")
			b := &peers.CountedCloser{Reader: strings.NewReader("body")}
			req.SetBodyStream(b, -1)
			if err := do(req); err == nil || b.N.Load() != 1 || req.IsBodyStream() {
				t.Errorf("%s, %s: %v, closed %d times, has the stream: %v", name, how, err, b.N.Load(), req.IsBodyStream())
			}
		}
	}
}
