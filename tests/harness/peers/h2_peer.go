package peers

import (
	"bytes"
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

// H2Peer is a server of HTTP/2 whose frames a test writes.
type H2Peer struct {
	T    *testing.T
	Addr string
	ln   net.Listener
}

// NewH2Peer starts a server that runs serve for each connection, with its number from 0.
func NewH2Peer(t *testing.T, serve func(c *H2PeerConn, n int)) *H2Peer {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { ln.Close() })
	p := &H2Peer{T: t, Addr: ln.Addr().String(), ln: ln}
	go func() {
		for n := 0; ; n++ {
			nc, err := ln.Accept()
			if err != nil {
				return
			}
			go func() {
				defer nc.Close()
				if c := NewH2PeerConn(nc); c != nil {
					serve(c, n)
				}
			}()
		}
	}()
	return p
}

// H2PeerConn is the server's end of a connection.
type H2PeerConn struct {
	net.Conn
	W      sync.Mutex // held to write, where several goroutines do
	Fr     *http2.Framer
	block  bytes.Buffer
	enc    *hpack.Encoder
	Last   uint32      // of the last request
	resets chan uint32 // if not nil, gets the streams that the client resets
}

// NewH2PeerConn reads the preface. It returns nil if that doesn't come.
func NewH2PeerConn(nc net.Conn) *H2PeerConn {
	preface := make([]byte, len(http2.ClientPreface))
	if _, err := io.ReadFull(nc, preface); err != nil || string(preface) != http2.ClientPreface {
		return nil
	}
	c := &H2PeerConn{Conn: nc}
	c.Fr = http2.NewFramer(nc, nc)
	c.Fr.ReadMetaHeaders = hpack.NewDecoder(4096, nil)
	c.Fr.SetMaxReadFrameSize(1 << 20)
	c.enc = hpack.NewEncoder(&c.block)
	return c
}

// Hello sends SETTINGS.
func (c *H2PeerConn) Hello(settings ...http2.Setting) { _ = c.Fr.WriteSettings(settings...) }

// Next returns the next frame, after it has answered SETTINGS and PING. It is nil at the end.
func (c *H2PeerConn) Next() http2.Frame {
	f, err := c.Fr.ReadFrame()
	if err != nil {
		return nil
	}
	switch f := f.(type) {
	case *http2.SettingsFrame:
		if !f.IsAck() {
			c.W.Lock()
			_ = c.Fr.WriteSettingsAck()
			c.W.Unlock()
		}
	case *http2.PingFrame:
		if !f.IsAck() {
			c.W.Lock()
			_ = c.Fr.WritePing(true, f.Data)
			c.W.Unlock()
		}
	case *http2.RSTStreamFrame:
		if c.resets != nil {
			c.resets <- f.StreamID
		}
	}
	return f
}

// Request returns the next request, nil at the end. It skips other frames.
func (c *H2PeerConn) Request() *http2.MetaHeadersFrame {
	for {
		switch f := c.Next().(type) {
		case nil:
			return nil
		case *http2.MetaHeadersFrame:
			c.Last = f.StreamID
			return f
		}
	}
}

// Hold reads until the client closes.
func (c *H2PeerConn) Hold() {
	for c.Next() != nil {
	}
}

// Head sends a head. fields are alternating names and values.
func (c *H2PeerConn) Head(stream uint32, status string, end bool, fields ...string) {
	c.W.Lock()
	defer c.W.Unlock()
	c.block.Reset()
	_ = c.enc.WriteField(hpack.HeaderField{Name: ":status", Value: status})
	c.fields(stream, end, fields...)
}

// Trailers sends a trailer section.
func (c *H2PeerConn) Trailers(stream uint32, fields ...string) {
	c.W.Lock()
	defer c.W.Unlock()
	c.block.Reset()
	c.fields(stream, true, fields...)
}

func (c *H2PeerConn) fields(stream uint32, end bool, fields ...string) {
	for i := 0; i < len(fields); i += 2 {
		_ = c.enc.WriteField(hpack.HeaderField{Name: fields[i], Value: fields[i+1]})
	}
	_ = c.Fr.WriteHeaders(http2.HeadersFrameParam{StreamID: stream, BlockFragment: c.block.Bytes(), EndStream: end, EndHeaders: true})
}

func (c *H2PeerConn) Data(stream uint32, data string, end bool) {
	c.W.Lock()
	defer c.W.Unlock()
	_ = c.Fr.WriteData(stream, end, []byte(data))
}

// Answer sends a whole response.
func (c *H2PeerConn) Answer(stream uint32, body string) {
	c.Head(stream, "200", false)
	c.Data(stream, body, true)
}

// H2Origin is a server that the tests of the client use.
type H2Origin struct {
	Name string
	URL  string
	TLS  bool
	Host string
}

// NetHTTPOrigin starts a server of net/http.
func NetHTTPOrigin(t *testing.T, secure bool) *H2Origin {
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
	g := &H2Origin{"nethttp", "http://" + ln.Addr().String(), secure, ln.Addr().String()}
	served := make(chan error, 1)
	if secure {
		g.URL = "https://" + g.Host
		s.TLSConfig = &tls.Config{Certificates: []tls.Certificate{H2TestPair()}}
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

type CountedCloser struct {
	io.Reader
	N atomic.Int32
}

func (c *CountedCloser) Close() error {
	c.N.Add(1)
	return nil
}
