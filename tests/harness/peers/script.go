package peers

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// BrokenAnswers are responses that can't be read to their end. After each the server
// closes the connection, resets it, or sends nothing more.
var BrokenAnswers = []struct {
	Name, Answer string
	End          BrokenEnd
}{
	{"nothing", "", Closes},
	{"closed in the version", "HTTP/1", Closes},
	{"closed in the reason", "HTTP/1.1 200 O", Closes},
	{"closed after the status line", "HTTP/1.1 200 OK\r\n", Closes},
	{"closed in a name", BrokenStart + "X-", Closes},
	{"closed in a value", BrokenStart + "X-A: b", Closes},
	{"closed between fields", BrokenStart + "X-A: b\r\n", Closes},
	{"closed in the last line", BrokenStart + "X-A: b\r\n\r", Closes},
	{"reset in the head", BrokenStart + "X-A: b\r\n", Resets},
	{"silent in the head", BrokenStart + "X-A: b\r\n", Stalls},
	{"silent", "", Stalls},
	{"head too long", BrokenStart + "X-A: " + strings.Repeat("-", 4999) + "\r\nContent-Length: 2\r\n\r\nok", Closes},
	{"line without colon", BrokenStart + "bro ken\r\n\r\n", Closes},
	{"broken byte", BrokenStart + "X-A: \x00\r\n\r\n", Closes},
	{"other version", "HTTP/2.0 200 OK\r\nX-A: b\r\n\r\n", Closes},
	{"two framings", BrokenStart + "Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\nok", Closes},
	{"two lengths", BrokenStart + "Content-Length: 2\r\nContent-Length: 2\r\n\r\nok", Closes},
	{"too many interim responses", strings.Repeat("HTTP/1.1 103 Early Hints\r\nX-A: b\r\nContent-Type: a\r\n\r\n", 101), Closes},
	{"closed after an interim response", "HTTP/1.1 103 Early Hints\r\nX-A: b\r\n\r\n" + BrokenStart, Closes},
	{"silent after an interim response", "HTTP/1.1 103 Early Hints\r\nX-A: b\r\n\r\n", Stalls},
	{"body too long", BrokenStart + "Content-Length: 5000\r\n\r\n", Closes},
	{"body cut off", BrokenStart + "Content-Length: 50\r\n\r\nX-A", Closes},
	{"body silent", BrokenStart + "Content-Length: 50\r\n\r\nX-A", Stalls},
	{"body reset", BrokenStart + "\r\nX-A", Resets},
	{"chunk broken", BrokenStart + "Transfer-Encoding: chunked\r\n\r\n3\r\nX-A\r\nx", Closes},
	{"chunked body too long", BrokenStart + "Transfer-Encoding: chunked\r\n\r\n3e8\r\n" + strings.Repeat("-", 1000), Closes},
	{"trailer cut off", BrokenStart + "Transfer-Encoding: chunked\r\nTrailer: X-A\r\n\r\n0\r\nX-A: b\r\n", Closes},
	{"trailer broken", BrokenStart + "Transfer-Encoding: chunked\r\nTrailer: X-A\r\n\r\n0\r\nX-A: b\r\nHost: c\r\n\r\n", Closes},
}

const BrokenStart = "HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8; a=b\r\nSet-Cookie: X-A=b\r\n"

type BrokenEnd int

const (
	Closes BrokenEnd = iota
	Resets
	Stalls
)

// Script is a server whose every byte comes from a test.
type Script struct {
	t        *testing.T
	ln       net.Listener
	Accepted atomic.Int64
	Requests atomic.Int64 // complete requests that arrived

	mu    sync.Mutex
	conns map[net.Conn]bool // nil once stopped
	wg    sync.WaitGroup
}

// StartScript serves each connection with script; nth counts connections from 1.
func StartScript(t *testing.T, script func(p *ScriptConn, nth int)) *Script {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &Script{t: t, ln: ln, conns: map[net.Conn]bool{}}
	s.wg.Add(1)
	go s.accept(script)
	t.Cleanup(s.Stop)
	return s
}

func (s *Script) accept(script func(*ScriptConn, int)) {
	defer s.wg.Done()
	for {
		c, err := s.ln.Accept()
		if err != nil {
			return
		}
		nth := int(s.Accepted.Add(1))
		s.mu.Lock()
		if s.conns == nil {
			s.mu.Unlock()
			c.Close()
			return
		}
		s.conns[c] = true
		s.wg.Add(1)
		s.mu.Unlock()
		go func() {
			defer s.wg.Done()
			script(NewScriptConn(c, s), nth)
			c.Close()
			s.mu.Lock()
			delete(s.conns, c)
			s.mu.Unlock()
		}()
	}
}

func (s *Script) Stop() {
	s.ln.Close()
	s.mu.Lock()
	for c := range s.conns {
		c.Close()
	}
	s.conns = nil
	s.mu.Unlock()
	s.wg.Wait()
}

func (s *Script) Addr() string { return s.ln.Addr().String() }
func (s *Script) URL() string  { return "http://" + s.Addr() + "/" }

// ScriptConn is one of its connections.
type ScriptConn struct {
	net.Conn
	S   *Script
	Br  *bufio.Reader
	raw bytes.Buffer // what br has read, from the request on that request read last
}

func NewScriptConn(c net.Conn, s *Script) *ScriptConn {
	p := &ScriptConn{Conn: c, S: s}
	p.Br = bufio.NewReader(io.TeeReader(c, &p.raw))
	return p
}

// ScriptRequest is a request as read by net/http, its body, and its bytes.
type ScriptRequest struct {
	*http.Request
	Text, Raw string
}

// Request reads a complete request. It returns nil if there is none.
func (p *ScriptConn) Request() *ScriptRequest {
	p.raw.Next(p.raw.Len() - p.Br.Buffered())
	req, err := http.ReadRequest(p.Br)
	if err != nil {
		return nil
	}
	body, err := io.ReadAll(req.Body)
	if err != nil {
		return nil
	}
	p.S.Requests.Add(1)
	return &ScriptRequest{req, string(body), string(p.raw.Bytes()[:p.raw.Len()-p.Br.Buffered()])}
}

func (p *ScriptConn) Say(s string) { _, _ = io.WriteString(p, s) }

// Hold waits until the client closes.
func (p *ScriptConn) Hold() { _, _ = io.Copy(io.Discard, p.Br) }

// Reset breaks the connection off.
func (p *ScriptConn) Reset() {
	_ = p.Conn.(*net.TCPConn).SetLinger(0)
	p.Close()
}

func OkAnswer(body string) string {
	return fmt.Sprintf("HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
}

// Answering returns a script that gives every request the same answer.
func Answering(answer string) func(*ScriptConn, int) {
	return func(p *ScriptConn, _ int) {
		for p.Request() != nil {
			p.Say(answer)
		}
	}
}

// Settled counts goroutines and descriptors. check waits until there are no more than
// that.
func Settled(t *testing.T) (check func()) {
	t.Helper()
	goroutines, files := runtime.NumGoroutine(), OpenFiles()
	return func() {
		t.Helper()
		var g, f int
		for end := time.Now().Add(30 * time.Second); time.Now().Before(end); time.Sleep(5 * time.Millisecond) { // between two looks
			if g, f = runtime.NumGoroutine(), OpenFiles(); g <= goroutines && f <= files {
				return
			}
		}
		t.Errorf("%d goroutines and %d descriptors, before %d and %d\n%s", g, f, goroutines, files, AllStacks())
	}
}

func WantError(t *testing.T, err, want error) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Errorf("error %v, want %v", err, want)
	}
}
