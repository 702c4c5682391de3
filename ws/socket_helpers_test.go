package ws

import (
	"bufio"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"fmt"
	"io"
	"math/big"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/galehttp/gale"
	"github.com/galehttp/gale/internal/wsframe"
)

// patience limits each wait of a test for something that must happen.
const patience = 60 * time.Second

// eachWay runs f on both engines, in the clear and over TLS.
func eachWay(t *testing.T, f func(t *testing.T, w way)) {
	for _, w := range []way{{gale.EngineEvent, false}, {gale.EngineBlock, false}, {gale.EngineEvent, true}, {gale.EngineBlock, true}} {
		t.Run(w.String(), func(t *testing.T) { f(t, w) })
	}
}

// eachEngine runs f on both engines.
func eachEngine(t *testing.T, f func(t *testing.T, w way)) {
	for _, w := range []way{{gale.EngineEvent, false}, {gale.EngineBlock, false}} {
		t.Run(w.String(), func(t *testing.T) { f(t, w) })
	}
}

// way is how a server serves.
type way struct {
	engine gale.Engine
	tls    bool
}

func (w way) String() string {
	s := "event"
	if w.engine == gale.EngineBlock {
		s = "block"
	}
	if w.tls {
		s += "-tls"
	}
	return s
}

// logs collects the lines that a server logs.
type logs struct {
	mu    sync.Mutex
	lines strings.Builder
}

func (l *logs) Printf(format string, args ...any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	fmt.Fprintf(&l.lines, format+"\n", args...)
}

func (l *logs) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.lines.String()
}

// socketServer is a running server.
type socketServer struct {
	*gale.Server
	addr string
	way  way
	logs *logs
}

// serveSockets starts a server whose WebSockets h serves. It ends with the test.
func serveSockets(t testing.TB, w way, h Handler, o *Options) *socketServer {
	return serveRequests(t, w, func(ctx *gale.RequestCtx) { _ = Serve(ctx, h, o) })
}

func serveRequests(t testing.TB, w way, handler gale.RequestHandler) *socketServer {
	t.Helper()
	l := new(logs)
	s := &socketServer{Server: &gale.Server{Engine: w.engine, Handler: handler, Logger: l, EventLoops: 1}, way: w, logs: l}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s.addr = ln.Addr().String()
	done := make(chan error, 1)
	if w.tls {
		s.TLSConfig = &tls.Config{Certificates: []tls.Certificate{testCert()}}
		go func() { done <- s.ServeTLS(ln, "", "") }()
	} else {
		go func() { done <- s.Serve(ln) }()
	}
	t.Cleanup(func() {
		s.Close()
		ln.Close() // Serve may not have begun yet, and would begin after Close
		if err := <-done; err != nil {
			t.Error("Serve:", err)
		}
	})
	return s
}

var testCert = sync.OnceValue(func() tls.Certificate {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		panic(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "gale.test"},
		NotAfter: time.Now().Add(time.Hour), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		panic(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
})

// rawConn is a client that sends and receives frames as a test says.
type rawConn struct {
	t      testing.TB
	nc     net.Conn
	tcp    *net.TCPConn
	r      *bufio.Reader
	head   string // of the response
	reader wsframe.Reader
	in     []byte
	used   int // in[:used] was read
}

const goodKey = "dGhlIHNhbXBsZSBub25jZQ=="

// dial opens a WebSocket. fields are more lines of the request's head.
func (s *socketServer) dial(t testing.TB, fields ...string) *rawConn {
	t.Helper()
	c := s.connect(t)
	c.write([]byte(handshakeRequest(fields...)))
	c.readHead()
	if !strings.HasPrefix(c.head, "HTTP/1.1 101 ") {
		t.Fatalf("response: %s", c.head)
	}
	return c
}

func handshakeRequest(fields ...string) string {
	lines := append([]string{
		"GET /chat HTTP/1.1", "Host: server.test", "Upgrade: websocket", "Connection: Upgrade",
		"Sec-WebSocket-Version: 13", "Sec-WebSocket-Key: " + goodKey,
	}, fields...)
	return strings.Join(lines, "\r\n") + "\r\n\r\n"
}

// connect opens a connection without a handshake.
func (s *socketServer) connect(t testing.TB) *rawConn {
	t.Helper()
	nc, err := net.Dial("tcp", s.addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { nc.Close() })
	c := &rawConn{t: t, nc: nc, tcp: nc.(*net.TCPConn)}
	if s.way.tls {
		c.nc = tls.Client(nc, &tls.Config{InsecureSkipVerify: true})
	}
	c.nc.SetDeadline(time.Now().Add(patience))
	c.r = bufio.NewReader(c.nc)
	c.reader.Init(wsframe.Config{Client: true, Deflate: true, Hold: 1 << 30})
	return c
}

func (c *rawConn) readHead() {
	c.t.Helper()
	for {
		line, err := c.r.ReadString('\n')
		if err != nil {
			c.t.Fatalf("response: %v", err)
		}
		if c.head += line; line == "\r\n" {
			return
		}
	}
}

func (c *rawConn) write(b []byte) {
	c.t.Helper()
	if _, err := c.nc.Write(b); err != nil {
		c.t.Fatalf("write: %v", err)
	}
}

var testKey = [4]byte{0xa1, 0x02, 0x73, 0xf4}

// frame returns a frame of a client.
func frame(op wsframe.Opcode, fin bool, payload string) []byte {
	return wsframe.AppendMasked(nil, op, fin, false, testKey, []byte(payload))
}

// message returns a text message of a client.
func message(payload string) []byte { return frame(wsframe.Text, true, payload) }

// closing returns a close frame of a client.
func closing(code StatusCode, reason string) []byte {
	return frame(wsframe.Close, true, string(wsframe.AppendClose(nil, uint16(code), reason)))
}

func (c *rawConn) send(frames ...[]byte) {
	c.t.Helper()
	var all []byte
	for _, f := range frames {
		all = append(all, f...)
	}
	c.write(all)
}

// next returns the next whole frame.
func (c *rawConn) next() (f wsframe.Frame, err error) {
	for {
		n, err := c.reader.Next(c.in[c.used:], &f)
		if err != nil {
			return f, err
		}
		f.Payload = append([]byte(nil), f.Payload...)
		if c.used += n; f.Kind != wsframe.More {
			return f, nil
		}
		if c.used > 0 {
			c.in = c.in[:copy(c.in, c.in[c.used:])]
			c.used = 0
		}
		c.in = slices.Grow(c.in, 64<<10)
		k, err := c.r.Read(c.in[len(c.in):cap(c.in)])
		if c.in = c.in[:len(c.in)+k]; k == 0 && err != nil {
			return f, err
		}
	}
}

// want reads a frame with this opcode and payload.
func (c *rawConn) want(op wsframe.Opcode, payload string) {
	c.t.Helper()
	f, err := c.next()
	if err != nil {
		c.t.Fatalf("want frame %d %.40q: %v", op, payload, err)
	}
	if f.Op != op || string(f.Payload) != payload {
		c.t.Fatalf("got frame %d %.100q (%d bytes), want %d %.40q (%d bytes)", f.Op, f.Payload, len(f.Payload), op, payload, len(payload))
	}
}

// wantClose reads a close frame with this code, and then the end of the connection.
func (c *rawConn) wantClose(code StatusCode) {
	c.t.Helper()
	c.wantCloseFrame(code)
	c.wantEnd()
}

func (c *rawConn) wantCloseFrame(code StatusCode) {
	c.t.Helper()
	f, err := c.next()
	if err != nil {
		c.t.Fatalf("want close frame %d: %v", code, err)
	}
	got, _, err := wsframe.ParseClose(f.Payload)
	if f.Op != wsframe.Close || err != nil || StatusCode(got) != code {
		c.t.Fatalf("got frame %d %.100q, want close %d", f.Op, f.Payload, code)
	}
}

func (c *rawConn) wantEnd() {
	c.t.Helper()
	if f, err := c.next(); err != io.EOF {
		c.t.Fatalf("got frame %d %.100q, %v; want the end of the connection", f.Op, f.Payload, err)
	}
	c.nc.Close()
}

// events is a Handler that sends what is called to a channel, after it has called the
// functions that are set.
type events struct {
	Base
	open    func(s *Socket)
	message func(s *Socket, t MessageType, data []byte)
	closed  chan error
}

func newEvents() *events { return &events{closed: make(chan error, 1000)} }

func (e *events) OnOpen(s *Socket) {
	if e.open != nil {
		e.open(s)
	}
}

func (e *events) OnMessage(s *Socket, t MessageType, data []byte) {
	if e.message != nil {
		e.message(s, t, data)
		return
	}
	_ = s.Write(t, data)
}

func (e *events) OnClose(_ *Socket, err error) { e.closed <- err }

// wantClosed waits for OnClose and checks its error.
func (e *events) wantClosed(t testing.TB, want error) {
	t.Helper()
	select {
	case err := <-e.closed:
		if ce := (*CloseError)(nil); errors.As(want, &ce) {
			got := (*CloseError)(nil)
			if !errors.As(err, &got) || got.Code != ce.Code || got.Local != ce.Local || ce.Reason != "" && got.Reason != ce.Reason {
				t.Fatalf("OnClose got %v, want %v", err, want)
			}
			return
		}
		if !errors.Is(err, want) {
			t.Fatalf("OnClose got %v, want %v", err, want)
		}
	case <-time.After(patience):
		t.Fatalf("OnClose isn't called; want %v", want)
	}
}
