package gale

import (
	"bytes"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

// h2Way is one of the ways to reach an HTTP/2 server.
type h2Way struct {
	engine Engine
	tls    bool
}

func (way h2Way) String() string {
	if way.tls {
		return way.engine.String() + ",tls"
	}
	return way.engine.String()
}

// h2Ways are the ways of tests that run in each: see onlyEngine.
var h2Ways = []h2Way{{EngineBlock, false}, {EngineBlock, true}, {EngineEvent, false}, {EngineEvent, true}}

// clearWays returns those of h2Ways without TLS.
func clearWays() (ways []h2Way) {
	for _, way := range h2Ways {
		if !way.tls {
			ways = append(ways, way)
		}
	}
	return ways
}

// eachH2 runs a test for each way.
func eachH2(t *testing.T, f func(t *testing.T, way h2Way)) {
	for _, way := range h2Ways {
		t.Run(way.String(), func(t *testing.T) { f(t, way) })
	}
}

// h2Server is a server of HTTP/2 and HTTP/1.1 that ends with its test.
type h2Server struct {
	*testServer
	way h2Way
}

func (way h2Way) start(t *testing.T, s *Server) *h2Server {
	t.Helper()
	s.Engine, s.HTTP2.H2C = way.engine, true
	l := &testLog{}
	if s.Logger == nil {
		s.Logger = l
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	if way.tls {
		cert, key, err := GenerateTestCertificate("127.0.0.1")
		if err != nil {
			t.Fatal(err)
		}
		go func() { served <- s.ServeTLSEmbed(ln, cert, key) }()
	} else {
		go func() { served <- s.Serve(ln) }()
	}
	t.Cleanup(func() {
		s.Close()
		if err := <-served; err != nil {
			t.Errorf("Serve: %v", err)
		}
	})
	return &h2Server{&testServer{t: t, s: s, addr: ln.Addr().String(), log: l}, way}
}

// client returns a client of net/http that speaks one protocol: 1 or 2.
func (hs *h2Server) client(major int) *http.Client {
	p := new(http.Protocols)
	p.SetHTTP1(major == 1)
	p.SetHTTP2(major == 2 && hs.way.tls)
	p.SetUnencryptedHTTP2(major == 2 && !hs.way.tls)
	tr := &http.Transport{Protocols: p, TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, DisableCompression: true, ExpectContinueTimeout: 30 * time.Second}
	hs.t.Cleanup(tr.CloseIdleConnections)
	return &http.Client{Transport: tr, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
}

func (hs *h2Server) url(path string) string {
	if hs.way.tls {
		return "https://" + hs.addr + path
	}
	return "http://" + hs.addr + path
}

// get sends a GET by HTTP/2 and returns status and body.
func (hs *h2Server) get(c *http.Client, path string) (int, string) {
	hs.t.Helper()
	resp, err := c.Get(hs.url(path))
	if err != nil {
		hs.t.Fatalf("GET %s: %v", path, err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		hs.t.Fatalf("GET %s: %v", path, err)
	}
	return resp.StatusCode, string(b)
}

// h2Conn is a client's connection that speaks frames.
type h2Conn struct {
	net.Conn
	t    *testing.T
	fr   *http2.Framer
	head bytes.Buffer
	enc  *hpack.Encoder
	last uint32

	got []h2Frame // frames that arrived and were not asked for yet
}

// h2Frame is a frame from the server. Its kind is "103", "200" and so on for a head, and
// "data", "trailers", "end", "rst", "goaway", "settings", "ack", "ping", "window" or
// "eof" for others.
type h2Frame struct {
	kind   string
	stream uint32
	code   uint32
	fields map[string]string
	data   string
	end    bool
}

func (f h2Frame) String() string {
	return fmt.Sprintf("%s[%d] code=%d %v %.40q end=%v", f.kind, f.stream, f.code, f.fields, f.data, f.end)
}

// dialRaw opens a connection and sends nothing.
func (hs *h2Server) dialRaw() net.Conn {
	hs.t.Helper()
	if hs.way.tls {
		return hs.dialTLS([]string{"h2"})
	}
	c, err := net.Dial("tcp", hs.addr)
	if err != nil {
		hs.t.Fatal(err)
	}
	return hs.use(c)
}

// dialTLS opens a TLS connection and offers protocols by ALPN.
func (hs *h2Server) dialTLS(protocols []string) net.Conn {
	hs.t.Helper()
	c, err := tls.Dial("tcp", hs.addr, &tls.Config{InsecureSkipVerify: true, NextProtos: protocols})
	if err != nil {
		hs.t.Fatal(err)
	}
	return hs.use(c)
}

// use closes a connection at the end of the test.
func (hs *h2Server) use(c net.Conn) net.Conn {
	c.SetDeadline(time.Now().Add(time.Minute)) // which only ends a test that hangs
	hs.t.Cleanup(func() { c.Close() })
	return c
}

// dialH2 opens a connection and begins HTTP/2 with these settings.
func (hs *h2Server) dialH2(settings ...http2.Setting) *h2Conn {
	hs.t.Helper()
	return newH2Conn(hs.t, hs.dialRaw(), settings...)
}

// newH2Conn begins HTTP/2 on a connection.
func newH2Conn(t *testing.T, nc net.Conn, settings ...http2.Setting) *h2Conn {
	t.Helper()
	c := &h2Conn{Conn: nc, t: t}
	c.fr = http2.NewFramer(c, c)
	c.fr.ReadMetaHeaders = hpack.NewDecoder(4096, nil)
	c.fr.SetMaxReadFrameSize(1 << 20)
	c.enc = hpack.NewEncoder(&c.head)
	if _, err := io.WriteString(c, http2.ClientPreface); err != nil {
		c.t.Fatal(err)
	}
	c.check(c.fr.WriteSettings(settings...))
	return c
}

func (c *h2Conn) check(err error) {
	c.t.Helper()
	if err != nil {
		c.t.Fatal(err)
	}
}

// open sends a head. fields are alternating names and values that follow the
// pseudo-headers.
func (c *h2Conn) open(method, path string, end bool, fields ...string) (stream uint32) {
	c.t.Helper()
	if c.last++; c.last%2 == 0 {
		c.last++
	}
	c.check(c.fr.WriteHeaders(http2.HeadersFrameParam{StreamID: c.last, BlockFragment: c.block(method, path, fields...), EndStream: end, EndHeaders: true}))
	return c.last
}

// block encodes the head of a request.
func (c *h2Conn) block(method, path string, fields ...string) []byte {
	all := append([]string{":method", method, ":scheme", "http", ":path", path, ":authority", "h"}, fields...)
	c.head.Reset()
	for i := 0; i < len(all); i += 2 {
		_ = c.enc.WriteField(hpack.HeaderField{Name: all[i], Value: all[i+1]})
	}
	return bytes.Clone(c.head.Bytes())
}

func (c *h2Conn) data(stream uint32, data string, end bool) {
	c.t.Helper()
	c.check(c.fr.WriteData(stream, end, []byte(data)))
}

func (c *h2Conn) reset(stream uint32) {
	c.t.Helper()
	c.check(c.fr.WriteRSTStream(stream, http2.ErrCodeCancel))
}

// next reads a frame. At the end of the connection it returns "eof".
func (c *h2Conn) next() h2Frame {
	f, err := c.fr.ReadFrame()
	if err != nil {
		if ne, ok := err.(net.Error); ok && ne.Timeout() {
			c.t.Helper()
			c.t.Fatalf("nothing comes: %v", c.got)
		}
		return h2Frame{kind: "eof", data: err.Error()}
	}
	out := h2Frame{stream: f.Header().StreamID}
	switch f := f.(type) {
	case *http2.MetaHeadersFrame:
		out.kind, out.end, out.fields = "trailers", f.StreamEnded(), map[string]string{}
		for _, x := range f.Fields {
			if out.fields[x.Name] = x.Value; x.Name == ":status" {
				out.kind = x.Value
			}
		}
	case *http2.DataFrame:
		out.kind, out.data, out.end = "data", string(f.Data()), f.StreamEnded()
	case *http2.RSTStreamFrame:
		out.kind, out.code = "rst", uint32(f.ErrCode)
	case *http2.GoAwayFrame:
		out.kind, out.stream, out.code = "goaway", f.LastStreamID, uint32(f.ErrCode)
	case *http2.SettingsFrame:
		if out.kind = "settings"; f.IsAck() {
			out.kind = "ack"
		}
	case *http2.PingFrame:
		if out.kind = "ping"; f.IsAck() {
			out.kind, out.data = "pong", string(f.Data[:])
		}
	case *http2.WindowUpdateFrame:
		out.kind, out.code = "window", f.Increment
	default:
		out.kind = f.Header().Type.String()
	}
	return out
}

// await reads until a frame of one of the kinds comes on a stream, and keeps the others.
func (c *h2Conn) await(stream uint32, kinds ...string) h2Frame {
	c.t.Helper()
	wanted := func(f h2Frame) bool {
		return (f.stream == stream || f.kind == "goaway" || f.kind == "eof") && (slices.Contains(kinds, f.kind) || f.end && slices.Contains(kinds, "end"))
	}
	for i, f := range c.got {
		if wanted(f) {
			c.got = slices.Delete(c.got, i, i+1)
			return f
		}
	}
	for {
		f := c.next()
		if wanted(f) {
			return f
		}
		if f.kind == "eof" {
			c.t.Fatalf("the connection ended (%s) before %v on stream %d; got %v", f.data, kinds, stream, c.got)
		}
		c.got = append(c.got, f)
	}
}

// answer reads a whole response: status, fields and body.
func (c *h2Conn) answer(stream uint32) (status string, fields map[string]string, body string) {
	c.t.Helper()
	var calm []h2Frame // GOAWAY without an error
	defer func() { c.got = append(c.got, calm...) }()
	for {
		f := c.await(stream, "100", "103", "200", "204", "400", "403", "404", "405", "408", "413", "414", "417", "429", "431", "500", "501", "503", "data", "trailers", "rst", "goaway")
		switch {
		case f.kind == "data":
			body += f.data
		case f.kind == "goaway" && f.code == 0:
			calm = append(calm, f)
		case f.kind == "rst" || f.kind == "goaway":
			return fmt.Sprintf("%s %d", f.kind, f.code), fields, body
		case f.kind == "trailers":
		case !strings.HasPrefix(f.kind, "1"):
			status, fields = f.kind, f.fields
		}
		if f.end {
			return status, fields, body
		}
	}
}

// wantAnswer reads a whole response and checks it.
func (c *h2Conn) wantAnswer(stream uint32, status, body string) map[string]string {
	c.t.Helper()
	gotStatus, fields, gotBody := c.answer(stream)
	if gotStatus != status || gotBody != body {
		c.t.Fatalf("stream %d got %s %.200q, want %s %.200q", stream, gotStatus, gotBody, status, body)
	}
	return fields
}

// sync returns when the server has read all that was sent before.
func (c *h2Conn) sync() {
	c.t.Helper()
	c.check(c.fr.WritePing(false, [8]byte{'s', 'y', 'n', 'c'}))
	c.await(0, "pong")
}

// wantAlive checks that the connection still serves.
func (c *h2Conn) wantAlive() {
	c.t.Helper()
	if status, _, _ := c.answer(c.open("GET", "/alive", true)); status != "200" {
		c.t.Fatalf("the connection is not served on: %s", status)
	}
}
