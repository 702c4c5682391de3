package gale

import (
	"bytes"
	"crypto/tls"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	"github.com/galehttp/gale/galeutil"
)

// h2Script is a server of HTTP/2 whose every frame comes from a test.
type h2Script struct {
	t    testing.TB
	play func(p *h2Actor)
	tls  *tls.Config  // nil without TLS
	ln   net.Listener // nil if connections are pipes
	calm atomic.Bool  // connections that come now get a good server

	accepted, open atomic.Int64
	requests       atomic.Int64 // heads that arrived

	mu      sync.Mutex
	conns   map[*h2Actor]bool // nil once stopped
	goAways map[uint32]int    // the codes of the GOAWAY frames that clients sent
	resets  map[uint32]int    // and of their RST_STREAM frames
	wg      sync.WaitGroup
}

// scriptedH2 serves each connection on a loopback socket with play.
func scriptedH2(t testing.TB, secure bool, play func(p *h2Actor)) *h2Script {
	t.Helper()
	s := newH2Script(t, play)
	if secure {
		s.tls = h2TestTLS(t)
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s.ln = ln
	s.wg.Go(func() {
		for {
			nc, err := ln.Accept()
			if err != nil {
				return
			}
			s.serve(nc)
		}
	})
	t.Cleanup(s.stop)
	return s
}

// newH2Script returns a server whose connections are pipes in memory.
func newH2Script(t testing.TB, play func(p *h2Actor)) *h2Script {
	return &h2Script{t: t, play: play, conns: map[*h2Actor]bool{}, goAways: map[uint32]int{}, resets: map[uint32]int{}}
}

// h2TestPair is a certificate for tests, made once.
var h2TestPair = sync.OnceValues(func() (tls.Certificate, error) {
	cert, key, err := GenerateTestCertificate("127.0.0.1")
	if err != nil {
		return tls.Certificate{}, err
	}
	return tls.X509KeyPair(cert, key)
})

// h2TestTLS returns a configuration for servers that offer HTTP/2 only.
func h2TestTLS(t testing.TB) *tls.Config {
	t.Helper()
	pair, err := h2TestPair()
	if err != nil {
		t.Fatal(err)
	}
	return &tls.Config{Certificates: []tls.Certificate{pair}, NextProtos: []string{"h2"}}
}

// client returns a client of the server.
func (s *h2Script) client() *HostClient {
	if s.tls != nil {
		return &HostClient{Addr: "a.test:443", IsTLS: true, HTTP2: HTTP2On, TLSConfig: &tls.Config{InsecureSkipVerify: true}, Dial: s.dial}
	}
	return &HostClient{Addr: "a.test:80", HTTP2: HTTP2Only, Dial: s.dial}
}

func (s *h2Script) dial(string) (net.Conn, error) {
	if s.ln != nil {
		return net.Dial("tcp", s.ln.Addr().String())
	}
	pipe := galeutil.NewPipeConns()
	s.serve(pipe.Conn2())
	return pipe.Conn1(), nil
}

// serve starts a goroutine for a connection.
func (s *h2Script) serve(nc net.Conn) {
	p := &h2Actor{Conn: nc, below: nc, s: s, nth: int(s.accepted.Add(1)), window: 1<<16 - 1}
	s.mu.Lock()
	if s.conns == nil {
		s.mu.Unlock()
		nc.Close()
		return
	}
	s.conns[p] = true
	s.open.Add(1)
	s.wg.Add(1)
	s.mu.Unlock()
	go func() {
		defer s.wg.Done()
		defer s.open.Add(-1)
		defer func() {
			nc.Close()
			s.mu.Lock()
			delete(s.conns, p)
			s.mu.Unlock()
		}()
		if s.tls != nil {
			p.Conn = tls.Server(nc, s.tls)
		}
		p.init()
		if s.calm.Load() {
			p.greet()
			p.serveAll()
			return
		}
		s.play(p)
	}()
}

func (s *h2Script) stop() {
	if s.ln != nil {
		s.ln.Close()
	}
	s.mu.Lock()
	for p := range s.conns {
		p.below.Close()
	}
	s.conns = nil
	s.mu.Unlock()
	s.wg.Wait()
}

// codes returns the codes of the GOAWAY and RST_STREAM frames of clients.
func (s *h2Script) codes() (goAways, resets map[uint32]int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return maps.Clone(s.goAways), maps.Clone(s.resets)
}

// h2Actor is one of its connections.
type h2Actor struct {
	net.Conn          // perhaps with TLS; set by the goroutine that serves
	below    net.Conn // without TLS
	s        *h2Script
	nth      int // counts connections from 1
	fr       *http2.Framer

	enc   *hpack.Encoder
	block bytes.Buffer

	window uint32 // SETTINGS_INITIAL_WINDOW_SIZE of the client
	stingy bool   // gives no window for data that came
	mute   bool   // answers neither SETTINGS nor PING

	bodies map[uint32]*h2Asked // requests that are not complete
}

func (p *h2Actor) init() {
	p.fr = http2.NewFramer(io.Discard, p.Conn)
	p.fr.ReadMetaHeaders = hpack.NewDecoder(4096, nil)
	p.fr.SetMaxReadFrameSize(1 << 20)
	p.enc = hpack.NewEncoder(&p.block)
}

// h2Asked is a request that has arrived, perhaps without all of its body.
type h2Asked struct {
	id           uint32
	method, path string
	fields       map[string]string
	body         []byte
	whole        bool
}

// answer is the body of a good answer.
func (r *h2Asked) answer() string { return r.method + " " + r.path + " " + string(r.body) }

// reset breaks the connection off.
func (p *h2Actor) reset() {
	if c, ok := p.below.(*net.TCPConn); ok {
		_ = c.SetLinger(0)
	}
	_ = p.below.Close()
}

// send writes bytes. The reader notices the end of the connection.
func (p *h2Actor) send(parts ...string) bool {
	_, err := io.WriteString(p.Conn, strings.Join(parts, ""))
	return err == nil
}

// greet reads the preface and answers with SETTINGS, whose payload are ids and values.
func (p *h2Actor) greet(settings ...uint32) bool {
	return p.preface() && p.send(h2Settings(settings...))
}

func (p *h2Actor) preface() bool {
	b := make([]byte, len(http2.ClientPreface))
	_, err := io.ReadFull(p.Conn, b)
	if err == nil && string(b) != http2.ClientPreface {
		p.s.t.Errorf("the client begins with %q", b)
	}
	return err == nil && string(b) == http2.ClientPreface
}

// next reads a frame, and returns nil at the end of the connection. It acknowledges
// SETTINGS and PING, and opens the windows for data.
func (p *h2Actor) next() http2.Frame {
	f, err := p.fr.ReadFrame()
	if err != nil {
		var ce http2.ConnectionError
		var se http2.StreamError
		if errors.As(err, &ce) || errors.As(err, &se) {
			p.s.t.Errorf("the client sent a frame that is wrong: %v", err)
		}
		return nil
	}
	switch f := f.(type) {
	case *http2.SettingsFrame:
		if f.IsAck() {
			break
		}
		if v, ok := f.Value(http2.SettingInitialWindowSize); ok {
			p.window = v
		}
		if !p.mute {
			p.send(h2Wire(http2.FrameSettings, http2.FlagSettingsAck, 0, ""))
		}
	case *http2.PingFrame:
		if !f.IsAck() && !p.mute {
			p.send(h2Wire(http2.FramePing, http2.FlagPingAck, 0, string(f.Data[:])))
		}
	case *http2.DataFrame:
		if n := f.Length; n > 0 && !p.stingy {
			p.send(h2Window(0, n), h2Window(f.StreamID, n))
		}
	case *http2.GoAwayFrame:
		p.s.mu.Lock()
		p.s.goAways[uint32(f.ErrCode)]++
		p.s.mu.Unlock()
	case *http2.RSTStreamFrame:
		p.s.mu.Lock()
		p.s.resets[uint32(f.ErrCode)]++
		p.s.mu.Unlock()
	}
	return f
}

// asked waits for a new request, and returns nil at the end of the connection.
func (p *h2Actor) asked() *h2Asked {
	for {
		r, first := p.part()
		if r == nil || first {
			return r
		}
	}
}

// askedWhole waits until a request is complete.
func (p *h2Actor) askedWhole() *h2Asked {
	for {
		if r, _ := p.part(); r == nil || r.whole {
			return r
		}
	}
}

// part waits for a part of a request: its head (first is true), data or trailers.
func (p *h2Actor) part() (r *h2Asked, first bool) {
	for {
		f := p.next()
		if f == nil {
			return nil, false
		}
		id := f.Header().StreamID
		switch f := f.(type) {
		case *http2.MetaHeadersFrame:
			if r = p.bodies[id]; r == nil {
				p.s.requests.Add(1)
				first = true
				r = &h2Asked{id: id, method: f.PseudoValue("method"), path: f.PseudoValue("path"), fields: map[string]string{}}
				for _, x := range f.RegularFields() {
					r.fields[x.Name] = x.Value
				}
				if p.bodies == nil {
					p.bodies = map[uint32]*h2Asked{}
				}
				p.bodies[id] = r
			}
			r.whole = f.StreamEnded()
		case *http2.DataFrame:
			if r = p.bodies[id]; r == nil {
				continue
			}
			r.body = append(r.body, f.Data()...)
			r.whole = f.StreamEnded()
		case *http2.RSTStreamFrame:
			delete(p.bodies, id)
			continue
		default:
			continue
		}
		if r.whole {
			delete(p.bodies, id)
		}
		return r, first
	}
}

// serveAll answers all further requests as a good server does.
func (p *h2Actor) serveAll() {
	for r := p.askedWhole(); r != nil; r = p.askedWhole() {
		p.answer(r.id, r.answer())
	}
}

// hold reads until the client closes the connection.
func (p *h2Actor) hold() {
	for p.next() != nil {
	}
}

// flood sends the same bytes again and again until the client closes the connection.
func (p *h2Actor) flood(step func() string) {
	gone := make(chan struct{})
	go func() {
		defer close(gone)
		p.hold()
	}()
	for {
		var b strings.Builder
		for range 50 {
			b.WriteString(step())
		}
		if !p.send(b.String()) {
			<-gone
			return
		}
	}
}

// head returns the bytes of HEADERS. fields are alternating names and values.
func (p *h2Actor) head(stream uint32, flags http2.Flags, fields ...string) string {
	return h2Wire(http2.FrameHeaders, flags|http2.FlagHeadersEndHeaders, stream, p.fields(fields...))
}

// fields encodes a field block.
func (p *h2Actor) fields(fields ...string) string {
	p.block.Reset()
	for i := 0; i < len(fields); i += 2 {
		_ = p.enc.WriteField(hpack.HeaderField{Name: fields[i], Value: fields[i+1]})
	}
	return p.block.String()
}

// ok returns the head of a response that goes on.
func (p *h2Actor) ok(stream uint32, fields ...string) string {
	return p.head(stream, 0, append([]string{":status", "200"}, fields...)...)
}

// answer sends a whole response. The body must fit into the client's windows.
func (p *h2Actor) answer(stream uint32, body string) bool {
	out := []string{p.ok(stream)}
	for len(body) > 16<<10 {
		out = append(out, h2Data(stream, 0, body[:16<<10]))
		body = body[16<<10:]
	}
	return p.send(append(out, h2Data(stream, h2End, body))...)
}

// h2End is END_STREAM.
const h2End = http2.FlagDataEndStream

// h2Wire returns the bytes of a frame.
func h2Wire(typ http2.FrameType, flags http2.Flags, stream uint32, payload string) string {
	b := []byte{byte(len(payload) >> 16), byte(len(payload) >> 8), byte(len(payload)), byte(typ), byte(flags)}
	return string(binary.BigEndian.AppendUint32(b, stream)) + payload
}

func h2Data(stream uint32, flags http2.Flags, data string) string {
	return h2Wire(http2.FrameData, flags, stream, data)
}

func h2U32(n uint32) string { return string(binary.BigEndian.AppendUint32(nil, n)) }

func h2Window(stream, n uint32) string {
	return h2Wire(http2.FrameWindowUpdate, 0, stream, h2U32(n))
}

func h2Reset(stream uint32, code http2.ErrCode) string {
	return h2Wire(http2.FrameRSTStream, 0, stream, h2U32(uint32(code)))
}

func h2GoAway(last uint32, code http2.ErrCode) string {
	return h2Wire(http2.FrameGoAway, 0, 0, h2U32(last)+h2U32(uint32(code)))
}

// h2Settings returns SETTINGS with alternating ids and values.
func h2Settings(settings ...uint32) string {
	var b []byte
	for i := 0; i+1 < len(settings); i += 2 {
		b = binary.BigEndian.AppendUint16(b, uint16(settings[i]))
		b = binary.BigEndian.AppendUint32(b, settings[i+1])
	}
	return h2Wire(http2.FrameSettings, 0, 0, string(b))
}

// within calls f, which must return.
func within(t testing.TB, what string, f func()) {
	t.Helper()
	done := make(chan struct{})
	go func() {
		defer close(done)
		f()
	}()
	select {
	case <-done:
	case <-time.After(time.Minute):
		t.Fatalf("%s doesn't return\n%s", what, allStacks())
	}
}

// h2Get sends a GET and returns the body of the response.
func h2Get(c *HostClient, path string) (string, error) {
	req, resp := &Request{}, &Response{}
	req.SetRequestURI("http://a.test" + path)
	if c.IsTLS {
		req.SetRequestURI("https://a.test" + path)
	}
	err := c.Do(req, resp)
	return string(resp.Body()), err
}

// postBody makes a request a POST with a body of n bytes.
func postBody(n int) func(req *Request) {
	return func(req *Request) {
		req.Header.SetMethod("POST")
		req.SetBodyString(strings.Repeat("b", n))
	}
}

// wantServed checks that c gets a right answer.
func wantServed(t testing.TB, c *HostClient) {
	t.Helper()
	within(t, "a request to a good server", func() {
		if body, err := h2Get(c, "/good"); body != "GET /good " || err != nil {
			t.Errorf("a request to a good server: %q, %v", body, err)
		}
	})
}

// finish ends a test of c: nothing of its connections may be left.
func (s *h2Script) finish(c *HostClient) {
	s.t.Helper()
	s.calm.Store(true)
	c.CloseIdleConnections()
	wantServed(s.t, c)
	c.CloseIdleConnections()
	s.wantClosed(c)
}

// wantClosed waits until there are no connections.
func (s *h2Script) wantClosed(c *HostClient) {
	s.t.Helper()
	within(s.t, "closing the connections", func() {
		for s.open.Load() > 0 || c.ConnsCount() > 0 || c.PendingRequests() > 0 {
			time.Sleep(time.Millisecond)
		}
	})
}

func (s *h2Script) String() string {
	goAways, resets := s.codes()
	return fmt.Sprintf("%d connections, %d requests; codes of GOAWAY %v, of RST_STREAM %v", s.accepted.Load(), s.requests.Load(), goAways, resets)
}

// h2ErrorOf returns the code of an error of HTTP/2, and whether it is one of the connection.
func h2ErrorOf(err error) (ofConn bool, code uint32, known bool) {
	var conn *HTTP2ConnError
	var stream *StreamResetError
	switch {
	case errors.As(err, &conn):
		return true, conn.Code, true
	case errors.As(err, &stream):
		return false, stream.Code, true
	}
	return false, 0, false
}

// settledH2 is settled after the process has opened its first socket, which makes the
// descriptors of the poller.
func settledH2(t *testing.T) (check func()) {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ln.Close()
	return settled(t)
}
