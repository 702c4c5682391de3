package engine_test

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"math/big"
	"net"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/galehttp/gale/galeutil"
	. "github.com/galehttp/gale/internal/engine"
)

// Tests of what engines offer to every protocol, on every kind of connection.

// served is a connection that an engine serves.
type served struct {
	t        *testing.T
	client   net.Conn
	raw      net.Conn // below TLS; without TLS the same as client
	stop     func()   // Stop of the engine
	kill     func()   // EndNow
	closeAll func()   // CloseAll
	idle     func() int
	ended    chan struct{} // closed when the engine has ended the connection
	last     Session       // then
	panics   chan any      // the values of panics in user code
}

// tooLong only ends a hang.
const tooLong = time.Minute

// wait waits until the connection has ended.
func (s *served) wait() {
	s.t.Helper()
	select {
	case <-s.ended:
	case <-time.After(tooLong):
		s.t.Fatal("the engine goes on with the connection")
	}
}

// doorKinds are the kinds of connections. half: the client can end only its own side.
// waits: a test can tell bytes that were read from bytes that were not.
var doorKinds = []struct {
	name   string
	half   bool
	socket bool
	serve  func(t *testing.T, sess Session) *served
}{
	{"block/tcp", true, true, func(t *testing.T, sess Session) *served { return serveBlock(t, sess, tcpPair, false) }},
	{"block/tls", true, true, func(t *testing.T, sess Session) *served { return serveBlock(t, sess, tcpPair, true) }},
	{"block/pipe", false, false, func(t *testing.T, sess Session) *served { return serveBlock(t, sess, pipePair, false) }},
	{"block/memory", false, false, func(t *testing.T, sess Session) *served { return serveBlock(t, sess, memoryPair, false) }},
	{"event/tcp", true, true, func(t *testing.T, sess Session) *served { return serveEvent(t, sess, false) }},
	{"event/tls", true, true, func(t *testing.T, sess Session) *served { return serveEvent(t, sess, true) }},
}

// onDoors runs f for each kind of connection. The session that sess returns serves it.
func onDoors(t *testing.T, sess func(t *testing.T) Session, f func(t *testing.T, sess Session, c *served)) {
	for _, k := range doorKinds {
		t.Run(k.name, func(t *testing.T) {
			s := sess(t)
			c := k.serve(t, s)
			f(t, s, c)
			c.client.Close()
			c.wait()
		})
	}
}

func tcpPair(t *testing.T) (server, client net.Conn) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	if client, err = net.Dial("tcp", ln.Addr().String()); err != nil {
		t.Fatal(err)
	}
	if server, err = ln.Accept(); err != nil {
		t.Fatal(err)
	}
	return server, client
}

func pipePair(t *testing.T) (server, client net.Conn) {
	server, client = net.Pipe()
	q := &queueConn{Conn: client, writes: make(chan []byte, 10_000)}
	go q.run()
	return server, q
}

// queueConn is a pipe whose Write doesn't wait for its reader.
type queueConn struct {
	net.Conn
	writes chan []byte
}

func (q *queueConn) run() {
	for b := range q.writes {
		if b == nil {
			q.Conn.Close()
		}
		q.Conn.Write(b)
	}
}

// Close closes the pipe after everything that was written was read.
func (q *queueConn) Close() error {
	select {
	case q.writes <- nil:
	default:
	}
	return nil
}

func (q *queueConn) Write(b []byte) (int, error) {
	q.writes <- append(make([]byte, 0, len(b)), b...)
	return len(b), nil
}

func memoryPair(*testing.T) (server, client net.Conn) {
	pc := galeutil.NewPipeConns()
	return pc.Conn1(), pc.Conn2()
}

// serverTLS is a configuration with a certificate that no client trusts.
var serverTLS = sync.OnceValue(func() *tls.Config {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		panic(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		panic(err)
	}
	return &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}}}
})

// connect makes the client's side.
func (s *served) connect(client net.Conn, overTLS bool) {
	s.client, s.raw = client, client
	if overTLS {
		s.client = tls.Client(client, &tls.Config{InsecureSkipVerify: true})
	}
	s.client.SetDeadline(time.Now().Add(tooLong))
	s.t.Cleanup(func() { s.client.Close() })
}

func serveBlock(t *testing.T, sess Session, pair func(t *testing.T) (server, client net.Conn), overTLS bool) *served {
	e := &Block{}
	s := &served{t: t, stop: e.Stop, kill: e.EndNow, closeAll: e.CloseAll, idle: e.Idle, ended: make(chan struct{}), panics: make(chan any, 10)}
	epoch := e.Epoch()
	server, client := pair(t)
	s.connect(client, overTLS)
	go func() {
		defer close(s.ended)
		defer func() {
			if r := recover(); r != nil {
				s.panics <- r
			}
		}()
		if overTLS {
			tc := tls.Server(Pace(server), serverTLS())
			if err := tc.Handshake(); err != nil {
				t.Error(err)
			}
			server = tc
		}
		s.last, _ = e.Serve(server, overTLS, epoch, sess)
	}()
	return s
}

func serveEvent(t *testing.T, sess Session, overTLS bool) *served {
	s := &served{t: t, ended: make(chan struct{}), panics: make(chan any, 10)}
	e := &Event{
		Ended:    func(last Session, _ error) { s.last = last; close(s.ended) },
		Panicked: func(r any) { s.panics <- r },
	}
	s.stop, s.kill, s.closeAll, s.idle = e.Stop, e.EndNow, e.CloseAll, e.Idle
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	if !e.Serves(ln) {
		ln.Close()
		t.Skip("no event engine here")
	}
	over := make(chan struct{})
	go func() {
		defer close(over)
		e.Serve(ln, time.Minute, nil, func(nc net.Conn) {
			if err := e.Adopt(nc); err != nil {
				t.Error(err)
			} else if !overTLS {
				e.Start(nc, nil, 0, sess)
			} else {
				go func() {
					tc := tls.Server(nc, serverTLS())
					if err := tc.Handshake(); err != nil {
						t.Error(err)
					}
					e.Start(nc, tc, 0, sess)
				}()
			}
		}, func(err error) { t.Error(err) })
	}()
	t.Cleanup(func() { ln.Close(); <-over })
	client, err := net.Dial("tcp", ln.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	s.connect(client, overTLS)
	return s
}

// CloseAll leaves the connections of the current epoch alone.
func TestCloseAllLeavesTheEpoch(t *testing.T) {
	for _, kind := range doorKinds {
		t.Run(kind.name, func(t *testing.T) {
			s := kind.serve(t, echoStep(t, "the session"))
			echo := func() {
				s.send("line\n")
				b := make([]byte, 5)
				if _, err := io.ReadFull(s.client, b); err != nil {
					t.Fatalf("reading the answer: %v", err)
				}
			}
			echo() // the session is open
			s.closeAll()
			echo()
			s.kill()
			s.wait()
		})
	}
}

func (s *served) send(text string) {
	s.t.Helper()
	if text == "" {
		return
	}
	s.shake()
	if _, err := io.WriteString(s.client, text); err != nil {
		s.t.Fatalf("sending %.40q: %v", text, err)
	}
}

// shake does the handshake of a TLS connection.
func (s *served) shake() {
	s.t.Helper()
	if tc, ok := s.client.(*tls.Conn); ok {
		if err := tc.Handshake(); err != nil {
			s.t.Fatal(err)
		}
	}
}

func (s *served) want(text string) {
	s.t.Helper()
	b := make([]byte, len(text))
	if n, err := io.ReadFull(s.client, b); err != nil || string(b) != text {
		s.t.Fatalf("read %.80q, %v; want %.80q", b[:n], err, text)
	}
}

// closeWrite ends only the client's side.
func (s *served) closeWrite() {
	s.t.Helper()
	if err := s.client.(interface{ CloseWrite() error }).CloseWrite(); err != nil {
		s.t.Fatal(err)
	}
}

// step is a session made of functions. It checks the contract of Session: one goroutine
// at a time calls it, Open is first, Closed is called once, and nothing after that.
type step struct {
	t     *testing.T
	name  string
	open  func(c Conn, next *Next)
	feed  func(w *Work, next *Next)
	stall func(w *Work, why error, next *Next)
	ends  func(err error)

	c      Conn
	mu     sync.Mutex
	runs   bool
	opened bool
	over   bool
	feeds  int
	closed chan error // buffered
}

func newStep(t *testing.T, name string) *step {
	return &step{t: t, name: name, closed: make(chan error, 4)}
}

// enter is called when a method begins.
func (s *step) enter(method string) (leave func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.runs || s.over || s.opened == (method == "Open") {
		s.t.Errorf("%s of %s: another method runs: %v, opened: %v, closed: %v", method, s.name, s.runs, s.opened, s.over)
	}
	s.runs, s.opened, s.over = true, true, method == "Closed"
	return func() {
		s.mu.Lock()
		s.runs = false
		s.mu.Unlock()
	}
}

func (s *step) Open(c Conn, next *Next) {
	defer s.enter("Open")()
	s.c = c
	if *next != (Next{}) {
		s.t.Errorf("Open of %s got %+v", s.name, *next)
	}
	if s.open != nil {
		s.open(c, next)
	}
}

func (s *step) Feed(w *Work, next *Next) {
	defer s.enter("Feed")()
	s.mu.Lock()
	s.feeds++
	s.mu.Unlock()
	if *next != (Next{}) {
		s.t.Errorf("Feed of %s got %+v", s.name, *next)
	}
	if s.feed != nil {
		s.feed(w, next)
	}
}

func (s *step) Stall(w *Work, why error, next *Next) {
	defer s.enter("Stall")()
	if s.stall == nil {
		next.Op = Close
		return
	}
	s.stall(w, why, next)
}

func (s *step) Closed(err error) {
	defer s.enter("Closed")()
	s.closed <- err
	if s.ends != nil {
		s.ends(err)
	}
}

func (s *step) Hijacked(c net.Conn) { c.Close() }
func (s *step) Panicked(r any)      { s.t.Errorf("%s was told of a panic: %v", s.name, r) }

// wantClosed checks how the session ended.
func (s *step) wantClosed(want error) {
	s.t.Helper()
	select {
	case err := <-s.closed:
		if !errors.Is(err, want) {
			s.t.Errorf("%s was closed with %v, want %v", s.name, err, want)
		}
	case <-time.After(tooLong):
		s.t.Fatalf("%s was not closed", s.name)
	}
}

// wantUntouched checks that no method of the session was called.
func (s *step) wantUntouched() {
	s.t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.opened {
		s.t.Errorf("%s was called", s.name)
	}
}

func (s *step) fed() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.feeds
}

// echoStep returns a session that echoes what comes.
func echoStep(t *testing.T, name string) *step {
	s := newStep(t, name)
	s.feed = func(w *Work, next *Next) {
		w.Out = append(w.Out, w.Unread()...)
		w.Consume(len(w.Unread()))
		next.Idle = true
	}
	return s
}

// switching returns a session that echoes up to a "|" and then switches to s.
func switching(t *testing.T, s Session) *step {
	old := newStep(t, "the old session")
	old.feed = func(w *Work, next *Next) {
		b := w.Unread()
		i := bytes.IndexByte(b, '|')
		if i < 0 {
			w.Out = append(w.Out, b...)
			w.Consume(len(b))
			next.Idle = true
			return
		}
		w.Out = append(w.Out, b[:i]...)
		w.Consume(i + 1)
		next.Op, next.Session = Switch, s
	}
	return old
}

// The peer sees a reset as such, with TLS and without. The output is written before it. A
// session that runtime.Goexit ends gets its reset, too.
func TestAbortResets(t *testing.T) {
	for _, k := range doorKinds {
		if !k.socket {
			continue
		}
		for name, exits := range map[string]bool{"Abort": false, "Goexit": true} {
			t.Run(k.name+"/"+name, func(t *testing.T) {
				s := newStep(t, "the session")
				s.feed = func(_ *Work, next *Next) {
					if next.Op, next.Reset = Abort, true; exits {
						runtime.Goexit()
					}
				}
				c := k.serve(t, s)
				c.send("x")
				c.wait()
				s.wantClosed(map[bool]error{false: ErrAborted, true: ErrGoexit}[exits])
				b, err := io.ReadAll(c.raw)
				if err == nil {
					t.Errorf("the peer read %d bytes and the end, want a reset", len(b))
				}
			})
		}
	}
}
