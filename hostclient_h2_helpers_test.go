package gale

import (
	"bytes"
	"context"
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

// h2Peer is a server of HTTP/2 whose frames a test writes.
type h2Peer struct {
	t    *testing.T
	addr string
	ln   net.Listener
}

// newH2Peer starts a server that runs serve for each connection, with its number from 0.
func newH2Peer(t *testing.T, serve func(c *h2PeerConn, n int)) *h2Peer {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { ln.Close() })
	p := &h2Peer{t: t, addr: ln.Addr().String(), ln: ln}
	go func() {
		for n := 0; ; n++ {
			nc, err := ln.Accept()
			if err != nil {
				return
			}
			go func() {
				defer nc.Close()
				if c := newH2PeerConn(nc); c != nil {
					serve(c, n)
				}
			}()
		}
	}()
	return p
}

// client returns a client of the server.
func (p *h2Peer) client() *HostClient {
	c := &HostClient{Addr: p.addr, HTTP2: HTTP2Only}
	p.t.Cleanup(c.CloseIdleConnections)
	return c
}

// h2PeerConn is the server's end of a connection.
type h2PeerConn struct {
	net.Conn
	w      sync.Mutex // held to write, where several goroutines do
	fr     *http2.Framer
	block  bytes.Buffer
	enc    *hpack.Encoder
	last   uint32      // of the last request
	resets chan uint32 // if not nil, gets the streams that the client resets
}

// newH2PeerConn reads the preface. It returns nil if that doesn't come.
func newH2PeerConn(nc net.Conn) *h2PeerConn {
	preface := make([]byte, len(http2.ClientPreface))
	if _, err := io.ReadFull(nc, preface); err != nil || string(preface) != http2.ClientPreface {
		return nil
	}
	c := &h2PeerConn{Conn: nc}
	c.fr = http2.NewFramer(nc, nc)
	c.fr.ReadMetaHeaders = hpack.NewDecoder(4096, nil)
	c.fr.SetMaxReadFrameSize(1 << 20)
	c.enc = hpack.NewEncoder(&c.block)
	return c
}

// hello sends SETTINGS.
func (c *h2PeerConn) hello(settings ...http2.Setting) { _ = c.fr.WriteSettings(settings...) }

// next returns the next frame, after it has answered SETTINGS and PING. It is nil at the end.
func (c *h2PeerConn) next() http2.Frame {
	f, err := c.fr.ReadFrame()
	if err != nil {
		return nil
	}
	switch f := f.(type) {
	case *http2.SettingsFrame:
		if !f.IsAck() {
			c.w.Lock()
			_ = c.fr.WriteSettingsAck()
			c.w.Unlock()
		}
	case *http2.PingFrame:
		if !f.IsAck() {
			c.w.Lock()
			_ = c.fr.WritePing(true, f.Data)
			c.w.Unlock()
		}
	case *http2.RSTStreamFrame:
		if c.resets != nil {
			c.resets <- f.StreamID
		}
	}
	return f
}

// request returns the next request, nil at the end. It skips other frames.
func (c *h2PeerConn) request() *http2.MetaHeadersFrame {
	for {
		switch f := c.next().(type) {
		case nil:
			return nil
		case *http2.MetaHeadersFrame:
			c.last = f.StreamID
			return f
		}
	}
}

// hold reads until the client closes.
func (c *h2PeerConn) hold() {
	for c.next() != nil {
	}
}

// head sends a head. fields are alternating names and values.
func (c *h2PeerConn) head(stream uint32, status string, end bool, fields ...string) {
	c.w.Lock()
	defer c.w.Unlock()
	c.block.Reset()
	_ = c.enc.WriteField(hpack.HeaderField{Name: ":status", Value: status})
	c.fields(stream, end, fields...)
}

// trailers sends a trailer section.
func (c *h2PeerConn) trailers(stream uint32, fields ...string) {
	c.w.Lock()
	defer c.w.Unlock()
	c.block.Reset()
	c.fields(stream, true, fields...)
}

func (c *h2PeerConn) fields(stream uint32, end bool, fields ...string) {
	for i := 0; i < len(fields); i += 2 {
		_ = c.enc.WriteField(hpack.HeaderField{Name: fields[i], Value: fields[i+1]})
	}
	_ = c.fr.WriteHeaders(http2.HeadersFrameParam{StreamID: stream, BlockFragment: c.block.Bytes(), EndStream: end, EndHeaders: true})
}

func (c *h2PeerConn) data(stream uint32, data string, end bool) {
	c.w.Lock()
	defer c.w.Unlock()
	_ = c.fr.WriteData(stream, end, []byte(data))
}

// answer sends a whole response.
func (c *h2PeerConn) answer(stream uint32, body string) {
	c.head(stream, "200", false)
	c.data(stream, body, true)
}

// h2Origin is a server that the tests of the client use.
type h2Origin struct {
	name string
	url  string
	tls  bool
	host string
}

// client returns a client that speaks only HTTP/2 to the server.
func (g *h2Origin) client(t *testing.T) *HostClient {
	c := &HostClient{Addr: g.host, IsTLS: g.tls, HTTP2: HTTP2Only, TLSConfig: &tls.Config{InsecureSkipVerify: true}}
	t.Cleanup(c.CloseIdleConnections)
	return c
}

// eachH2Origin runs a test for Gale's server on both engines, and for net/http's, with TLS and
// without. All have the same handlers.
func eachH2Origin(t *testing.T, f func(t *testing.T, g *h2Origin)) {
	for _, way := range h2Ways {
		t.Run("gale,"+way.String(), func(t *testing.T) {
			hs := way.start(t, &Server{Handler: h2OriginHandler, StreamRequestBody: true, Name: "gale"})
			f(t, &h2Origin{"gale", hs.url(""), way.tls, hs.addr})
		})
	}
	for _, secure := range []bool{false, true} {
		name := "nethttp"
		if secure {
			name += ",tls"
		}
		t.Run(name, func(t *testing.T) {
			g := netHTTPOrigin(t, secure)
			f(t, g)
		})
	}
}

// h2OriginHandler is the handler of Gale's server. The path says what it does.
func h2OriginHandler(ctx *RequestCtx) {
	switch string(ctx.Path()) {
	case "/echo": // the body of the request, when it has come
		ctx.Response.Header.Set("X-Method", string(ctx.Method()))
		if ctx.RequestBodyStream() == nil {
			return
		}
		b, err := io.ReadAll(ctx.RequestBodyStream())
		if err != nil {
			ctx.Error(err.Error(), 500)
			return
		}
		ctx.SetBody(b)
	case "/duplex": // the body of the request, as it comes
		body := ctx.RequestBodyStream()
		_ = ctx.Flush()
		buf := make([]byte, 4096)
		for {
			n, err := body.Read(buf)
			if n > 0 {
				ctx.Write(buf[:n])
				if ctx.Flush() != nil {
					return
				}
			}
			if err != nil {
				return
			}
		}
	case "/large":
		ctx.SetBodyString(strings.Repeat("0123456789abcdef", 1<<16))
	case "/trailers":
		_ = ctx.Response.Header.SetTrailer("X-Sum")
		ctx.SetBodyString("body")
		ctx.Response.Header.Set("X-Sum", "42")
	case "/wait":
		<-ctx.Done()
	case "/204":
		ctx.SetStatusCode(204)
	case "/early":
		_ = ctx.EarlyHints()
		ctx.SetBodyString("hello")
	case "/got-trailers":
		_, _ = io.Copy(io.Discard, ctx.RequestBodyStream())
		ctx.SetBody(ctx.PeekTrailer("X-Sum"))
	default:
		ctx.SetBodyString("hello")
	}
}

// netHTTPOrigin starts a server of net/http.
func netHTTPOrigin(t *testing.T, secure bool) *h2Origin {
	mux := http.NewServeMux()
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, "hello") })
	mux.HandleFunc("/echo", func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		w.Header().Set("X-Method", r.Method)
		w.Write(b)
	})
	mux.HandleFunc("/duplex", func(w http.ResponseWriter, r *http.Request) {
		c := http.NewResponseController(w)
		c.Flush()
		buf := make([]byte, 4096)
		for {
			n, err := r.Body.Read(buf)
			w.Write(buf[:n])
			c.Flush()
			if err != nil {
				return
			}
		}
	})
	mux.HandleFunc("/large", func(w http.ResponseWriter, r *http.Request) {
		io.WriteString(w, strings.Repeat("0123456789abcdef", 1<<16))
	})
	mux.HandleFunc("/trailers", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Trailer", "X-Sum")
		io.WriteString(w, "body")
		w.Header().Set("X-Sum", "42")
	})
	mux.HandleFunc("/wait", func(w http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	mux.HandleFunc("/204", func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(204) })
	mux.HandleFunc("/early", func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(103)
		io.WriteString(w, "hello")
	})
	mux.HandleFunc("/got-trailers", func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		io.WriteString(w, r.Trailer.Get("X-Sum"))
	})
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := new(http.Protocols)
	p.SetHTTP2(secure)
	p.SetUnencryptedHTTP2(!secure)
	s := &http.Server{Handler: mux, Protocols: p}
	g := &h2Origin{"nethttp", "http://" + ln.Addr().String(), secure, ln.Addr().String()}
	served := make(chan error, 1)
	if secure {
		g.url = "https://" + g.host
		cert, key, err := GenerateTestCertificate("127.0.0.1")
		if err != nil {
			t.Fatal(err)
		}
		pair, err := tls.X509KeyPair(cert, key)
		if err != nil {
			t.Fatal(err)
		}
		s.TLSConfig = &tls.Config{Certificates: []tls.Certificate{pair}}
		go func() { served <- s.ServeTLS(ln, "", "") }()
	} else {
		go func() { served <- s.Serve(ln) }()
	}
	t.Cleanup(func() {
		s.Close()
		<-served
	})
	return g
}

// mustFetch sends a request and returns the response.
func mustFetch(t *testing.T, c *HostClient, method, url, body string) *Response {
	t.Helper()
	req := &Request{}
	req.Header.SetMethod(method)
	req.SetRequestURI(url)
	req.SetBodyString(body)
	resp := &Response{}
	if err := c.DoTimeout(req, resp, time.Minute); err != nil {
		t.Errorf("%s %s: %v", method, url, err)
	}
	return resp
}

// brokenConn is a connection of a program whose method panics, or ends the goroutine.
type brokenConn struct {
	net.Conn
	method string
}

func (c *brokenConn) fail(method string) {
	switch c.method {
	case method:
		panic("broken")
	case "goexit " + method:
		runtime.Goexit()
	}
}

func (c *brokenConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	c.fail("read")
	return n, err
}

func (c *brokenConn) Write(p []byte) (int, error) {
	c.fail("write")
	return c.Conn.Write(p)
}

// dialTo dials the address that addr holds at the time.
type dialTo struct{ addr *atomic.Value }

func (d *dialTo) dial(ctx context.Context, network, _ string) (net.Conn, error) {
	var nd net.Dialer
	return nd.DialContext(ctx, network, d.addr.Load().(string))
}

// dialFallback dials a server without TLS and says that it has chosen HTTP/2 the first time,
// and later another one with TLS and HTTP/1.1.
type dialFallback struct {
	t             *testing.T
	plain, secure string
}

type saysH2 struct{ net.Conn }

func (saysH2) ConnectionState() tls.ConnectionState {
	return tls.ConnectionState{Version: tls.VersionTLS13, NegotiatedProtocol: "h2"}
}

func (d *dialFallback) dial(ctx context.Context, network, _ string) (net.Conn, error) {
	if addr := d.plain; addr != "" {
		d.plain = ""
		var nd net.Dialer
		nc, err := nd.DialContext(ctx, network, addr)
		return saysH2{nc}, err
	}
	td := tls.Dialer{Config: &tls.Config{InsecureSkipVerify: true}}
	return td.DialContext(ctx, network, d.secure)
}
