package timelimits

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/galehttp/gale"
)

// place is what a call waits for: a peer that never goes on, or a setting.
type place struct {
	name  string
	https bool
	http2 gale.HTTP2Mode
	proxy bool // the peer is the proxy of the request
	body  int  // size of the request's body in bytes
	// reads says that the request's body is a stream that has no byte until the test ends.
	reads bool
	// expects says that the request has Expect: 100-continue.
	expects bool
	// serve plays the peer: it must return when nc is closed. at is called when the call
	// waits.
	serve func(nc net.Conn, at func())
	dial  func(ctx context.Context) (net.Conn, error) // instead of a peer
	// busy says that another call has the only connection.
	busy bool
	// streams says that the call returns and its body waits.
	streams bool
}

// hung is what connections and functions of a test wait for at their end.
type hung struct {
	over chan struct{}
	at   chan struct{} // receives when a call has come to the place
	addr string
	wg   sync.WaitGroup
	mu   sync.Mutex
	open []net.Conn
}

// start begins the peer of p. It ends with the test.
func (p *place) start(t *testing.T) *hung {
	h := &hung{over: make(chan struct{}), at: make(chan struct{}, 100)}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	h.addr = ln.Addr().String()
	h.wg.Go(func() {
		for {
			nc, err := ln.Accept()
			if err != nil {
				return
			}
			h.mu.Lock()
			h.open = append(h.open, nc)
			h.mu.Unlock()
			if p.serve != nil {
				h.wg.Go(func() { p.serve(nc, h.tell) })
			}
		}
	})
	t.Cleanup(func() {
		close(h.over)
		ln.Close()
		h.mu.Lock()
		for _, nc := range h.open {
			nc.Close()
		}
		h.mu.Unlock()
		h.wg.Wait()
	})
	return h
}

// tell says that a call has come to the place.
func (h *hung) tell() {
	select {
	case h.at <- struct{}{}:
	default:
	}
}

var (
	// SETTINGS, with ENABLE_CONNECT_PROTOCOL.
	settings    = []byte{0, 0, 6, 4, 0, 0, 0, 0, 0, 0, 8, 0, 0, 0, 1}
	noWindow    = []byte{0, 0, 12, 4, 0, 0, 0, 0, 0, 0, 8, 0, 0, 0, 1, 0, 4, 0, 0, 0, 0}
	noStreams   = []byte{0, 0, 12, 4, 0, 0, 0, 0, 0, 0, 8, 0, 0, 0, 1, 0, 3, 0, 0, 0, 0}
	largeWindow = []byte{0, 0, 6, 4, 0, 0, 0, 0, 0, 0, 4, 0x7f, 0xff, 0xff, 0xff, 0, 0, 4, 8, 0, 0, 0, 0, 0, 0x70, 0, 0, 0}
	h2Head      = []byte{0, 0, 1, 1, 4, 0, 0, 0, 1, 0x88}          // :status 200 of stream 1
	h2Part      = []byte{0, 0, 3, 0, 0, 0, 0, 0, 1, 'a', 'b', 'c'} // DATA of stream 1
)

// answers returns a peer that sends first, then reads up to a part of the request, of which
// until has the forms, sends second and reads on.
func answers(first, until, second string) func(nc net.Conn, at func()) {
	return func(nc net.Conn, at func()) {
		_, _ = io.WriteString(nc, first)
		var got []byte
		for b := make([]byte, 4096); !containsAny(got, strings.Split(until, "|")); {
			n, err := nc.Read(b)
			if got = append(got, b[:n]...); err != nil {
				return
			}
		}
		_, _ = io.WriteString(nc, second)
		at()
		_, _ = io.Copy(io.Discard, nc)
	}
}

func containsAny(b []byte, parts []string) bool {
	return slices.ContainsFunc(parts, func(part string) bool { return bytes.Contains(b, []byte(part)) })
}

// drips is answers, but sends drip again and again after second.
func drips(until, second, drip string) func(nc net.Conn, at func()) {
	return func(nc net.Conn, at func()) {
		gone, began := make(chan struct{}), make(chan struct{})
		go func() {
			defer close(gone)
			answers("", until, second)(nc, func() { close(began); at() })
		}()
		for {
			select {
			case <-gone:
				return
			case <-time.After(short / 4):
			}
			select {
			case <-began:
				_, _ = io.WriteString(nc, drip)
			default:
			}
		}
	}
}

// ignores returns a peer that sends first and reads nothing.
func ignores(first []byte) func(nc net.Conn, at func()) {
	return func(nc net.Conn, at func()) {
		_, _ = nc.Write(first)
		at()
	}
}

// overTLS returns the peer after the handshake for HTTP/2.
func overTLS(serve func(nc net.Conn, at func())) func(nc net.Conn, at func()) {
	return func(nc net.Conn, at func()) {
		tc := tls.Server(nc, &tls.Config{Certificates: []tls.Certificate{certificate()}, NextProtos: []string{"h2"}})
		if tc.Handshake() == nil {
			serve(tc, at)
		}
	}
}

var certificate = sync.OnceValue(func() tls.Certificate {
	cert, key, err := gale.GenerateTestCertificate("127.0.0.1")
	if err != nil {
		panic(err)
	}
	pair, err := tls.X509KeyPair(cert, key)
	if err != nil {
		panic(err)
	}
	return pair
})

const (
	endOfHead, preface = "\r\n\r\n", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
	// h2Request is the header of a HEADERS frame of stream 1.
	h2Request = "\x01\x05\x00\x00\x00\x01|\x01\x04\x00\x00\x00\x01|\x01\x25\x00\x00\x00\x01|\x01\x24\x00\x00\x00\x01"
)

// places returns all that a call of a client can wait for.
func places() []*place {
	raw := func(parts ...[]byte) string { return string(bytes.Join(parts, nil)) }
	return []*place{
		{name: "dialing", dial: func(ctx context.Context) (net.Conn, error) { <-ctx.Done(); return nil, ctx.Err() }},
		{name: "the handshake of TLS", https: true, serve: answers("", "\x16", "")},
		{name: "the proxy's answer to CONNECT", https: true, proxy: true, serve: answers("", endOfHead, "")},
		{name: "the rest of the proxy's answer", https: true, proxy: true, serve: answers("", endOfHead, "HTTP/1.1 200 OK\r\nA: ")},
		{name: "a place in the pool", busy: true, serve: answers("", endOfHead, "")},
		{name: "the socket's room", body: 64 << 20, serve: ignores(nil)},
		{name: "the head", serve: answers("", endOfHead, "")},
		{name: "the rest of the head", serve: answers("", endOfHead, "HTTP/1.1 200 OK\r\nA: ")},
		{name: "a head that comes slowly", serve: drips(endOfHead, "HTTP/1.1 200 OK\r\n", "A: b\r\n")},
		{name: "a final response", serve: answers("", endOfHead, "HTTP/1.1 103 Early Hints\r\n\r\n")},
		{name: "the body", serve: answers("", endOfHead, "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc")},
		{name: "the body's last chunk", serve: answers("", endOfHead, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n")},
		{name: "the end of the connection", serve: answers("", endOfHead, "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nabc")},
		{name: "a body that comes slowly", serve: drips(endOfHead, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", "1\r\na\r\n")},
		{name: "the program's body", reads: true, serve: answers("", endOfHead, "")},
		{name: "the program's body and the body", reads: true, serve: answers("", endOfHead, "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc")},
		{name: "the program's body and a streamed body", reads: true, streams: true, serve: answers("", endOfHead, "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc")},
		{name: "a 100 response before the body", body: 1000, expects: true, serve: answers("", endOfHead, "")},
		{name: "the body's turn after another interim response", body: 1000, expects: true, serve: answers("", endOfHead, "HTTP/1.1 103 Early Hints\r\n\r\n")},
		{name: "the body of a final response in place of the 100", body: 1000, expects: true, serve: answers("", endOfHead, "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc")},
		{name: "a streamed body in place of the 100", body: 1000, expects: true, streams: true, serve: answers("", endOfHead, "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc")},
		{name: "a streamed body", streams: true, serve: answers("", endOfHead, "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc")},

		{name: "HTTP/2: SETTINGS", http2: gale.HTTP2Only, serve: answers("", preface, "")},
		{name: "HTTP/2: a stream", http2: gale.HTTP2Only, serve: answers(string(noStreams), preface, "")},
		{name: "HTTP/2: a stream's window", http2: gale.HTTP2Only, body: 1000, serve: answers(string(noWindow), preface, "")},
		{name: "HTTP/2: the socket's room", http2: gale.HTTP2Only, body: 64 << 20, serve: ignores(largeWindow)},
		{name: "HTTP/2: the program's body", http2: gale.HTTP2Only, reads: true, serve: answers(string(settings), preface, "")},
		{name: "HTTP/2: the program's body and the body", http2: gale.HTTP2Only, reads: true, serve: answers(string(settings), h2Request, raw(h2Head, h2Part))},
		{name: "HTTP/2: the program's body and a streamed body", http2: gale.HTTP2Only, reads: true, streams: true, serve: answers(string(settings), h2Request, raw(h2Head, h2Part))},
		{name: "HTTP/2: a 100 response before the body", http2: gale.HTTP2Only, body: 1000, expects: true, serve: answers(string(settings), preface, "")},
		{name: "HTTP/2: the body of a final response in place of the 100", http2: gale.HTTP2Only, body: 1000, expects: true, serve: answers(string(settings), h2Request, raw(h2Head, h2Part))},
		{name: "HTTP/2: a streamed body in place of the 100", http2: gale.HTTP2Only, body: 1000, expects: true, streams: true, serve: answers(string(settings), h2Request, raw(h2Head, h2Part))},
		{name: "HTTP/2: the head", http2: gale.HTTP2Only, serve: answers(string(settings), preface, "")},
		{name: "HTTP/2: the body", http2: gale.HTTP2Only, serve: answers(string(settings), h2Request, raw(h2Head, h2Part))},
		{name: "HTTP/2: a streamed body", http2: gale.HTTP2Only, streams: true, serve: answers(string(settings), h2Request, raw(h2Head, h2Part))},
		{name: "HTTP/2 over TLS: the head", https: true, http2: gale.HTTP2On, serve: overTLS(answers(string(settings), preface, ""))},
		{name: "HTTP/2 over TLS: a window", https: true, http2: gale.HTTP2On, body: 1000, serve: overTLS(answers(string(noWindow), preface, ""))},
		{name: "HTTP/2 over TLS: the socket's room", https: true, http2: gale.HTTP2On, body: 64 << 20, serve: overTLS(ignores(largeWindow))},
	}
}

// silence is a body whose Read returns when the test is over, with its end.
type silence struct{ over <-chan struct{} }

func (s silence) Read([]byte) (int, error) {
	<-s.over
	return 0, io.EOF
}

// client is what the settings of all clients have in common.
type client struct {
	gale.Client
	host     *gale.HostClient
	pipeline *gale.PipelineClient
	lb       *gale.LBClient
	url      string
	over     <-chan struct{} // the end of the test
}

// client returns clients that come to the place.
func (p *place) client(t *testing.T, h *hung) *client {
	scheme := "http"
	if p.https {
		scheme = "https"
	}
	dial := func(ctx context.Context, network, _ string) (net.Conn, error) {
		var d net.Dialer
		return d.DialContext(ctx, network, h.addr)
	}
	if p.dial != nil {
		dial = func(ctx context.Context, _, _ string) (net.Conn, error) { h.tell(); return p.dial(ctx) }
	}
	tlsConfig := &tls.Config{InsecureSkipVerify: true}
	c := &client{url: scheme + "://a.test/", over: h.over}
	c.Client = gale.Client{DialContext: dial, TLSConfig: tlsConfig, HTTP2: p.http2, StreamResponseBody: p.streams,
		MaxConnsPerHost: 1, MaxConnWaitTimeout: time.Hour, ExpectContinueTimeout: time.Hour, MaxIdemponentCallAttempts: 1}
	if p.proxy {
		u := &url.URL{Scheme: "http", Host: h.addr}
		c.Proxy = func(*gale.URI) (*url.URL, error) { return u, nil }
	}
	c.host = &gale.HostClient{Addr: "a.test", IsTLS: p.https, DialContext: dial, TLSConfig: tlsConfig, HTTP2: p.http2, StreamResponseBody: p.streams,
		MaxConns: 1, MaxConnWaitTimeout: time.Hour, ExpectContinueTimeout: time.Hour, MaxIdemponentCallAttempts: 1}
	c.pipeline = &gale.PipelineClient{Addr: "a.test", IsTLS: p.https, TLSConfig: tlsConfig, MaxConns: 1,
		Dial: func(addr string) (net.Conn, error) {
			ctx, cancel := context.WithCancel(context.Background())
			go func() { <-h.over; cancel() }() // nothing else ends it
			return dial(ctx, "tcp", addr)
		}}
	c.lb = &gale.LBClient{Clients: []gale.BalancingClient{c.host}, Timeout: time.Hour}
	if p.busy {
		for _, do := range []func(*gale.Request, *gale.Response) error{c.Do, c.host.Do} {
			h.wg.Go(func() { _ = do(p.request(c), new(gale.Response)) })
			<-h.at
		}
	}
	t.Cleanup(func() {
		c.CloseIdleConnections()
		c.host.CloseIdleConnections()
	})
	return c
}

// request returns a request that comes to the place.
func (p *place) request(c *client) *gale.Request {
	req := new(gale.Request)
	req.SetRequestURI(c.url)
	if p.expects {
		req.Header.Set("Expect", "100-continue")
	}
	switch {
	case p.reads:
		req.Header.SetMethod("POST")
		req.SetBodyStream(silence{c.over}, -1)
	case p.body > 0:
		req.Header.SetMethod("POST")
		req.SetBody(make([]byte, p.body))
	}
	return req
}

var errNotStreamed = errors.New("the body is not streamed")

// drain reads a streamed body to its end.
func drain(resp *gale.Response) error {
	r := resp.BodyStream()
	if r == nil {
		return errNotStreamed
	}
	_, err := io.Copy(io.Discard, r)
	_ = resp.CloseBodyStream()
	return err
}
