package peers

import (
	"bytes"
	"crypto/tls"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	"github.com/galehttp/gale/galeutil"
)

// AnswerAll sends a good answer of any length, without regard to the client's windows, which
// must be large.
func (p *H2Actor) AnswerAll(r *H2Asked) { p.Answer(r.ID, r.Answer()) }

// LongHead returns a head with a value of n bytes, in as many frames as it needs.
func (p *H2Actor) LongHead(id uint32, n int) string {
	block := p.Fields(":status", "200", "x-long", strings.Repeat("\x7e", n)) // such a byte takes 13 bits with the Huffman code
	typ, out := http2.FrameHeaders, ""
	for len(block) > 16<<10 {
		out += H2Wire(typ, 0, id, block[:16<<10])
		block, typ = block[16<<10:], http2.FrameContinuation
	}
	return out + H2Wire(typ, http2.FlagHeadersEndHeaders, id, block)
}

func WantEOF(t *testing.T, r io.Reader) {
	t.Helper()
	if n, err := r.Read(make([]byte, 9)); n != 0 || err != io.EOF {
		t.Fatalf("Read at the end: %d, %v", n, err)
	}
}

// H2Script is a server of HTTP/2 whose every frame comes from a test.
type H2Script struct {
	T    testing.TB
	Play func(p *H2Actor)
	TLS  *tls.Config  // nil without TLS
	Ln   net.Listener // nil if connections are pipes
	Calm atomic.Bool  // connections that come now get a good server

	Accepted, Open atomic.Int64
	Requests       atomic.Int64 // heads that arrived

	mu      sync.Mutex
	conns   map[*H2Actor]bool // nil once stopped
	goAways map[uint32]int    // the codes of the GOAWAY frames that clients sent
	resets  map[uint32]int    // and of their RST_STREAM frames
	Wg      sync.WaitGroup
}

// ScriptedH2 serves each connection on a loopback socket with play.
func ScriptedH2(t testing.TB, secure bool, play func(p *H2Actor)) *H2Script {
	t.Helper()
	s := NewH2Script(t, play)
	if secure {
		s.TLS = H2TestTLS(t)
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s.Ln = ln
	s.Wg.Go(func() {
		for {
			nc, err := ln.Accept()
			if err != nil {
				return
			}
			s.Serve(nc)
		}
	})
	t.Cleanup(s.Stop)
	return s
}

// NewH2Script returns a server whose connections are pipes in memory.
func NewH2Script(t testing.TB, play func(p *H2Actor)) *H2Script {
	return &H2Script{T: t, Play: play, conns: map[*H2Actor]bool{}, goAways: map[uint32]int{}, resets: map[uint32]int{}}
}

// H2TestPair is a certificate for tests, made once.
var H2TestPair = sync.OnceValue(func() tls.Certificate {
	s := httptest.NewTLSServer(nil)
	defer s.Close()
	return s.TLS.Certificates[0]
})

// H2TestTLS returns a configuration for servers that offer HTTP/2 only.
func H2TestTLS(t testing.TB) *tls.Config {
	t.Helper()
	return &tls.Config{Certificates: []tls.Certificate{H2TestPair()}, NextProtos: []string{"h2"}}
}

func (s *H2Script) Dial(string) (net.Conn, error) {
	if s.Ln != nil {
		return net.Dial("tcp", s.Ln.Addr().String())
	}
	pipe := galeutil.NewPipeConns()
	s.Serve(pipe.Conn2())
	return pipe.Conn1(), nil
}

// Serve starts a goroutine for a connection.
func (s *H2Script) Serve(nc net.Conn) {
	p := &H2Actor{Conn: nc, Below: nc, S: s, Nth: int(s.Accepted.Add(1)), Window: 1<<16 - 1}
	s.mu.Lock()
	if s.conns == nil {
		s.mu.Unlock()
		nc.Close()
		return
	}
	s.conns[p] = true
	s.Open.Add(1)
	s.Wg.Add(1)
	s.mu.Unlock()
	go func() {
		defer s.Wg.Done()
		defer s.Open.Add(-1)
		defer func() {
			nc.Close()
			s.mu.Lock()
			delete(s.conns, p)
			s.mu.Unlock()
		}()
		if s.TLS != nil {
			p.Conn = tls.Server(nc, s.TLS)
		}
		p.Init()
		if s.Calm.Load() {
			p.Greet()
			p.ServeAll()
			return
		}
		s.Play(p)
	}()
}

func (s *H2Script) Stop() {
	if s.Ln != nil {
		s.Ln.Close()
	}
	s.mu.Lock()
	for p := range s.conns {
		p.Below.Close()
	}
	s.conns = nil
	s.mu.Unlock()
	s.Wg.Wait()
}

// Codes returns the codes of the GOAWAY and RST_STREAM frames of clients.
func (s *H2Script) Codes() (goAways, resets map[uint32]int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return maps.Clone(s.goAways), maps.Clone(s.resets)
}

// H2Actor is one of its connections.
type H2Actor struct {
	net.Conn          // perhaps with TLS; set by the goroutine that serves
	Below    net.Conn // without TLS
	S        *H2Script
	Nth      int // counts connections from 1
	fr       *http2.Framer

	enc   *hpack.Encoder
	block bytes.Buffer

	Window uint32 // SETTINGS_INITIAL_WINDOW_SIZE of the client
	Stingy bool   // gives no window for data that came
	Mute   bool   // answers neither SETTINGS nor PING

	Bodies map[uint32]*H2Asked // requests that are not complete
}

func (p *H2Actor) Init() {
	p.fr = http2.NewFramer(io.Discard, p.Conn)
	p.fr.ReadMetaHeaders = hpack.NewDecoder(4096, nil)
	p.fr.SetMaxReadFrameSize(1 << 20)
	p.enc = hpack.NewEncoder(&p.block)
}

// H2Asked is a request that has arrived, perhaps without all of its body.
type H2Asked struct {
	ID           uint32
	Method, Path string
	fields       map[string]string
	Body         []byte
	Whole        bool
}

// Answer is the body of a good answer.
func (r *H2Asked) Answer() string { return r.Method + " " + r.Path + " " + string(r.Body) }

// Reset breaks the connection off.
func (p *H2Actor) Reset() {
	if c, ok := p.Below.(*net.TCPConn); ok {
		_ = c.SetLinger(0)
	}
	_ = p.Below.Close()
}

// Send writes bytes. The reader notices the end of the connection.
func (p *H2Actor) Send(parts ...string) bool {
	_, err := io.WriteString(p.Conn, strings.Join(parts, ""))
	return err == nil
}

// Greet reads the preface and answers with SETTINGS, whose payload are ids and values.
func (p *H2Actor) Greet(settings ...uint32) bool {
	return p.Preface() && p.Send(H2Settings(settings...))
}

func (p *H2Actor) Preface() bool {
	b := make([]byte, len(http2.ClientPreface))
	_, err := io.ReadFull(p.Conn, b)
	if err == nil && string(b) != http2.ClientPreface {
		p.S.T.Errorf("the client begins with %q", b)
	}
	return err == nil && string(b) == http2.ClientPreface
}

// Next reads a frame, and returns nil at the end of the connection. It acknowledges
// SETTINGS and PING, and opens the windows for data.
func (p *H2Actor) Next() http2.Frame {
	f, err := p.fr.ReadFrame()
	if err != nil {
		var ce http2.ConnectionError
		var se http2.StreamError
		if errors.As(err, &ce) || errors.As(err, &se) {
			p.S.T.Errorf("the client sent a frame that is wrong: %v", err)
		}
		return nil
	}
	switch f := f.(type) {
	case *http2.SettingsFrame:
		if f.IsAck() {
			break
		}
		if v, ok := f.Value(http2.SettingInitialWindowSize); ok {
			p.Window = v
		}
		if !p.Mute {
			p.Send(H2Wire(http2.FrameSettings, http2.FlagSettingsAck, 0, ""))
		}
	case *http2.PingFrame:
		if !f.IsAck() && !p.Mute {
			p.Send(H2Wire(http2.FramePing, http2.FlagPingAck, 0, string(f.Data[:])))
		}
	case *http2.DataFrame:
		if n := f.Length; n > 0 && !p.Stingy {
			p.Send(H2Window(0, n), H2Window(f.StreamID, n))
		}
	case *http2.GoAwayFrame:
		p.S.mu.Lock()
		p.S.goAways[uint32(f.ErrCode)]++
		p.S.mu.Unlock()
	case *http2.RSTStreamFrame:
		p.S.mu.Lock()
		p.S.resets[uint32(f.ErrCode)]++
		p.S.mu.Unlock()
	}
	return f
}

// Asked waits for a new request, and returns nil at the end of the connection.
func (p *H2Actor) Asked() *H2Asked {
	for {
		r, first := p.Part()
		if r == nil || first {
			return r
		}
	}
}

// AskedWhole waits until a request is complete.
func (p *H2Actor) AskedWhole() *H2Asked {
	for {
		if r, _ := p.Part(); r == nil || r.Whole {
			return r
		}
	}
}

// Part waits for a part of a request: its head (first is true), data or trailers.
func (p *H2Actor) Part() (r *H2Asked, first bool) {
	for {
		f := p.Next()
		if f == nil {
			return nil, false
		}
		id := f.Header().StreamID
		switch f := f.(type) {
		case *http2.MetaHeadersFrame:
			if r = p.Bodies[id]; r == nil {
				p.S.Requests.Add(1)
				first = true
				r = &H2Asked{ID: id, Method: f.PseudoValue("method"), Path: f.PseudoValue("path"), fields: map[string]string{}}
				for _, x := range f.RegularFields() {
					r.fields[x.Name] = x.Value
				}
				if p.Bodies == nil {
					p.Bodies = map[uint32]*H2Asked{}
				}
				p.Bodies[id] = r
			}
			r.Whole = f.StreamEnded()
		case *http2.DataFrame:
			if r = p.Bodies[id]; r == nil {
				continue
			}
			r.Body = append(r.Body, f.Data()...)
			r.Whole = f.StreamEnded()
		case *http2.RSTStreamFrame:
			delete(p.Bodies, id)
			continue
		default:
			continue
		}
		if r.Whole {
			delete(p.Bodies, id)
		}
		return r, first
	}
}

// ServeAll answers all further requests as a good server does.
func (p *H2Actor) ServeAll() {
	for r := p.AskedWhole(); r != nil; r = p.AskedWhole() {
		p.Answer(r.ID, r.Answer())
	}
}

// Hold reads until the client closes the connection.
func (p *H2Actor) Hold() {
	for p.Next() != nil {
	}
}

// Flood sends the same bytes again and again until the client closes the connection.
func (p *H2Actor) Flood(step func() string) {
	gone := make(chan struct{})
	go func() {
		defer close(gone)
		p.Hold()
	}()
	for {
		var b strings.Builder
		for range 50 {
			b.WriteString(step())
		}
		if !p.Send(b.String()) {
			<-gone
			return
		}
	}
}

// Head returns the bytes of HEADERS. fields are alternating names and values.
func (p *H2Actor) Head(stream uint32, flags http2.Flags, fields ...string) string {
	return H2Wire(http2.FrameHeaders, flags|http2.FlagHeadersEndHeaders, stream, p.Fields(fields...))
}

// Fields encodes a field block.
func (p *H2Actor) Fields(fields ...string) string {
	p.block.Reset()
	for i := 0; i < len(fields); i += 2 {
		_ = p.enc.WriteField(hpack.HeaderField{Name: fields[i], Value: fields[i+1]})
	}
	return p.block.String()
}

// Ok returns the head of a response that goes on.
func (p *H2Actor) Ok(stream uint32, fields ...string) string {
	return p.Head(stream, 0, append([]string{":status", "200"}, fields...)...)
}

// Answer sends a whole response. The body must fit into the client's windows.
func (p *H2Actor) Answer(stream uint32, body string) bool {
	out := []string{p.Ok(stream)}
	for len(body) > 16<<10 {
		out = append(out, H2Data(stream, 0, body[:16<<10]))
		body = body[16<<10:]
	}
	return p.Send(append(out, H2Data(stream, H2End, body))...)
}

// H2End is END_STREAM.
const H2End = http2.FlagDataEndStream

// H2Wire returns the bytes of a frame.
func H2Wire(typ http2.FrameType, flags http2.Flags, stream uint32, payload string) string {
	b := []byte{byte(len(payload) >> 16), byte(len(payload) >> 8), byte(len(payload)), byte(typ), byte(flags)}
	return string(binary.BigEndian.AppendUint32(b, stream)) + payload
}

func H2Data(stream uint32, flags http2.Flags, data string) string {
	return H2Wire(http2.FrameData, flags, stream, data)
}

func H2U32(n uint32) string { return string(binary.BigEndian.AppendUint32(nil, n)) }

func H2Window(stream, n uint32) string {
	return H2Wire(http2.FrameWindowUpdate, 0, stream, H2U32(n))
}

func H2Reset(stream uint32, code http2.ErrCode) string {
	return H2Wire(http2.FrameRSTStream, 0, stream, H2U32(uint32(code)))
}

func H2GoAway(last uint32, code http2.ErrCode) string {
	return H2Wire(http2.FrameGoAway, 0, 0, H2U32(last)+H2U32(uint32(code)))
}

// H2Settings returns SETTINGS with alternating ids and values.
func H2Settings(settings ...uint32) string {
	var b []byte
	for i := 0; i+1 < len(settings); i += 2 {
		b = binary.BigEndian.AppendUint16(b, uint16(settings[i]))
		b = binary.BigEndian.AppendUint32(b, settings[i+1])
	}
	return H2Wire(http2.FrameSettings, 0, 0, string(b))
}

// Within calls f, which must return.
func Within(t testing.TB, what string, f func()) {
	t.Helper()
	done := make(chan struct{})
	go func() {
		defer close(done)
		f()
	}()
	select {
	case <-done:
	case <-time.After(time.Minute):
		t.Fatalf("%s doesn't return\n%s", what, AllStacks())
	}
}

// ScriptClosed is what WantClosed asks of a client.
type ScriptClosed interface {
	ConnsCount() int
	PendingRequests() int
}

// WantClosed waits until there are no connections.
func (s *H2Script) WantClosed(c ScriptClosed) {
	s.T.Helper()
	Within(s.T, "closing the connections", func() {
		for s.Open.Load() > 0 || c.ConnsCount() > 0 || c.PendingRequests() > 0 {
			time.Sleep(time.Millisecond) // between two looks
		}
	})
}

func (s *H2Script) String() string {
	goAways, resets := s.Codes()
	return fmt.Sprintf("%d connections, %d requests; codes of GOAWAY %v, of RST_STREAM %v", s.Accepted.Load(), s.Requests.Load(), goAways, resets)
}

// SettledH2 is settled after the process has opened its first socket, which makes the
// descriptors of the poller.
func SettledH2(t *testing.T) (check func()) {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ln.Close()
	return Settled(t)
}

// EverySecond sends something each second until the client closes the connection.
func (p *H2Actor) EverySecond(f func() string) {
	gone := make(chan struct{})
	go func() {
		defer close(gone)
		p.Hold()
	}()
	for {
		select {
		case <-gone:
			return
		case <-time.After(time.Second):
			p.Send(f())
		}
	}
}

// Drip sends bytes one at a time, a second apart.
func (p *H2Actor) Drip(s string) {
	p.EverySecond(func() (b string) {
		if s != "" {
			b, s = s[:1], s[1:]
		}
		return b
	})
}

// EmptyPools drops what is in pools: channels of a bubble can't be used outside it, nor
// the other way round.
func EmptyPools() {
	runtime.GC()
	runtime.GC()
}
