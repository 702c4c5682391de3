package main

import (
	"bufio"
	"crypto/tls"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/galehttp/gale/internal/wsframe"
	"golang.org/x/net/http2"
)

// fault is what a server makes of a request.
type fault int

const (
	fine             fault = iota
	wrong                  // a complete answer: status 500, another message
	missing                // likewise with status 404
	closeUnanswered        // the end of the connection instead of an answer
	closeInside            // in the middle of it
	resetUnanswered        // a reset of the connection
	resetInside            // likewise
	resetStream            // a reset of the stream, or a close frame
	malformed              // bytes that are no answer
	silence                // no answer on this connection any more
	silenceInside          // likewise after the half of one
	refuseStream           // GOAWAY that doesn't process the request
	protocolSwitched       // a response with status 101 that no request asked for
)

// failingServer is a server that fails on purpose. Its fields are set before it listens.
type failingServer struct {
	protocol string              // "h1", "h2" or "ws"
	config   *tls.Config         // nil: no TLS
	fault    func(n int64) fault // of request n, from 1; nil: fine
	conn     func(n int64) bool  // whether connection n, from 0, is accepted; nil: each is
	upgrade  func(n int64) bool  // likewise whether its WebSocket is opened
	slow     time.Duration       // for each connection that is accepted
	pause    func(n int64) bool  // whether all stops before request n
	takes    time.Duration       // each answer
	stop     time.Duration       // for so long
	dies     int64               // after so many answers the server is gone; 0: never
	back     time.Duration       // it is back after so long; 0: never
	deaf     int64               // after so many answers connections are dropped, and none is accepted
	requests atomic.Int64
	answers  atomic.Int64
	accepted atomic.Int64

	address string
	pausing sync.RWMutex
	all     sync.WaitGroup
	mu      sync.Mutex
	ln      net.Listener
	ended   bool
	isDeaf  bool
	conns   map[net.Conn]bool
	done    chan struct{}
}

// listen begins to serve.
func (s *failingServer) listen() error {
	s.done, s.conns = make(chan struct{}), map[net.Conn]bool{}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	s.address, s.ln = ln.Addr().String(), ln
	s.all.Go(func() { s.accept(ln) })
	return nil
}

// close ends the server.
func (s *failingServer) close() {
	close(s.done)
	s.drop(true)
	s.all.Wait()
}

// drop closes all connections, and the listener too if gone is true.
func (s *failingServer) drop(gone bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.isDeaf = true
	if gone {
		s.ended = true
		_ = s.ln.Close()
	}
	for c := range s.conns {
		_ = c.Close()
	}
	clear(s.conns)
}

// keep notes a connection to be closed. It is false if the server has ended or accepts none.
func (s *failingServer) keep(c net.Conn) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended || s.isDeaf {
		_ = c.Close()
		return false
	}
	s.conns[c] = true
	return true
}

func (s *failingServer) deafNow() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.isDeaf
}

func (s *failingServer) accept(ln net.Listener) {
	for {
		if s.deafNow() { // the kernel's queue goes on to take connections
			return
		}
		c, err := ln.Accept()
		if err != nil {
			return
		}
		n := s.accepted.Add(1) - 1
		if s.conn != nil && !s.conn(n) {
			reset(c)
			continue
		}
		s.sleep(s.slow)
		if !s.keep(c) {
			continue
		}
		s.all.Go(func() {
			defer c.Close()
			s.serve(c, n)
		})
	}
}

// sleep waits for d, or for the end of the server.
func (s *failingServer) sleep(d time.Duration) {
	if d == 0 {
		return
	}
	select {
	case <-time.After(d):
	case <-s.done:
	}
}

// serve serves connection n.
func (s *failingServer) serve(c net.Conn, n int64) {
	if s.config != nil {
		c = tls.Server(c, s.config)
		defer c.Close()
	}
	r := bufio.NewReader(c)
	switch s.protocol {
	case "h1":
		s.serveHTTP1(c, r)
	case "h2":
		s.serveHTTP2(c, r)
	case "ws":
		s.serveWebSocket(c, r, n)
	}
}

// next returns what becomes of the next request.
func (s *failingServer) next() fault {
	n := s.requests.Add(1)
	if s.pause != nil && s.pause(n) {
		s.pausing.Lock()
		s.sleep(s.stop)
		s.pausing.Unlock()
	}
	s.sleep(s.takes)
	s.pausing.RLock()
	defer s.pausing.RUnlock()
	if s.fault == nil {
		return fine
	}
	return s.fault(n)
}

// answered counts an answer. It is false if the server dies of it.
func (s *failingServer) answered() bool {
	n := s.answers.Add(1)
	if n == s.deaf {
		s.drop(false)
	}
	if s.dies == 0 || n != s.dies {
		return true
	}
	s.drop(true)
	if s.back > 0 {
		s.all.Go(s.comeBack)
	}
	return false
}

func (s *failingServer) comeBack() {
	s.sleep(s.back)
	ln, err := net.Listen("tcp", s.address)
	if err != nil {
		return // the port is in use: then the server stays away
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	select {
	case <-s.done:
		_ = ln.Close()
		return
	default:
	}
	s.ln, s.ended, s.isDeaf = ln, false, false
	s.all.Go(func() { s.accept(ln) })
}

// reset ends a connection with a reset.
func reset(c net.Conn) {
	if t, ok := c.(*net.TCPConn); ok {
		_ = t.SetLinger(0)
	}
	_ = c.Close()
}

// fails does what is the same for all protocols: half is what a connection has got of its answer
// before. It is false if the answer must be sent.
func (s *failingServer) fails(c net.Conn, f fault, half string) bool {
	switch f {
	case closeInside, resetInside, silenceInside:
		_, _ = io.WriteString(c, half)
	case malformed:
		_, _ = io.WriteString(c, "SSH-2.0-OpenSSH_9.9 and more than the head of a frame\r\n")
	}
	switch f {
	case closeUnanswered, closeInside, malformed:
		return true
	case resetUnanswered, resetInside:
		reset(c)
		return true
	case silence, silenceInside:
		_, _ = io.Copy(io.Discard, c)
		return true
	}
	return false
}

func (s *failingServer) serveHTTP1(c net.Conn, r *bufio.Reader) {
	for {
		req, err := http.ReadRequest(r)
		if err != nil {
			return
		}
		f := s.next()
		if s.fails(c, f, "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhe") {
			return
		}
		status := map[fault]string{wrong: "500 Internal Server Error", missing: "404 Not Found", protocolSwitched: "101 Switching Protocols"}[f]
		if status == "" {
			status = "200 OK"
		}
		if _, err := fmt.Fprintf(c, "HTTP/1.1 %s\r\nContent-Length: 5\r\n\r\nhello", status); err != nil || !s.answered() || req.Close {
			return
		}
	}
}

// serveHTTP2 answers requests without a body.
func (s *failingServer) serveHTTP2(c net.Conn, r *bufio.Reader) {
	preface := make([]byte, len(http2.ClientPreface))
	if _, err := io.ReadFull(r, preface); err != nil || string(preface) != http2.ClientPreface {
		return
	}
	fr := http2.NewFramer(c, r)
	if fr.WriteSettings() != nil {
		return
	}
	for {
		frame, err := fr.ReadFrame()
		if err != nil {
			return
		}
		switch f := frame.(type) {
		case *http2.SettingsFrame:
			if !f.IsAck() {
				err = fr.WriteSettingsAck()
			}
		case *http2.PingFrame:
			err = fr.WritePing(true, f.Data)
		case *http2.HeadersFrame:
			err = s.answerStream(c, fr, f.StreamID)
		}
		if err != nil {
			return
		}
	}
}

// errLast says that a connection has had its last answer.
var errLast = errors.New("the last answer")

func (s *failingServer) answerStream(c net.Conn, fr *http2.Framer, id uint32) error {
	f := s.next()
	head := map[fault]byte{wrong: 0x8e, missing: 0x8d}[f] // of the static table of HPACK: 500, 404
	if head == 0 {
		head = 0x88 // 200
	}
	switch f {
	case closeInside, resetInside, silenceInside:
		_ = fr.WriteHeaders(http2.HeadersFrameParam{StreamID: id, BlockFragment: []byte{head}, EndHeaders: true})
		_ = fr.WriteData(id, false, []byte("he"))
	case resetStream:
		return fr.WriteRSTStream(id, http2.ErrCodeInternal)
	case refuseStream:
		_ = fr.WriteGoAway(0, http2.ErrCodeNo, nil)
		return errLast
	}
	if s.fails(c, f, "") {
		return errLast
	}
	if err := fr.WriteHeaders(http2.HeadersFrameParam{StreamID: id, BlockFragment: []byte{head}, EndHeaders: true, EndStream: true}); err != nil {
		return err
	}
	if !s.answered() {
		return errLast
	}
	return nil
}

func (s *failingServer) serveWebSocket(c net.Conn, r *bufio.Reader, n int64) {
	req, err := http.ReadRequest(r)
	if err != nil {
		return
	}
	if s.upgrade != nil && !s.upgrade(n) {
		_, _ = io.WriteString(c, "HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
		return
	}
	accept := wsframe.AppendAccept(nil, []byte(req.Header.Get("Sec-WebSocket-Key")))
	_, err = fmt.Fprintf(c, "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: %s\r\n\r\n", accept)
	for err == nil {
		var op wsframe.Opcode
		var message []byte
		if op, message, err = readFrame(r); err != nil {
			return
		}
		if op == wsframe.Close {
			_, _ = c.Write(wsframe.AppendFrame(nil, wsframe.Close, true, false, message))
			return
		}
		f := s.next()
		if s.fails(c, f, string(wsframe.AppendFrame(nil, op, true, false, message)[:10])) {
			return
		}
		switch f {
		case wrong:
			message = []byte("something else")
		case resetStream:
			_, _ = c.Write(wsframe.AppendFrame(nil, wsframe.Close, true, false, wsframe.AppendClose(nil, 1011, "broken")))
			return
		}
		if _, err = c.Write(wsframe.AppendFrame(nil, op, true, false, message)); !s.answered() {
			return
		}
	}
}

// readFrame reads a frame of less than 64 KiB.
func readFrame(r *bufio.Reader) (op wsframe.Opcode, payload []byte, err error) {
	var head [2]byte
	if _, err = io.ReadFull(r, head[:]); err != nil {
		return 0, nil, err
	}
	n := int(head[1] & 0x7f)
	if n == 126 {
		var length [2]byte
		if _, err = io.ReadFull(r, length[:]); err != nil {
			return 0, nil, err
		}
		n = int(binary.BigEndian.Uint16(length[:]))
	}
	var key [4]byte
	if _, err = io.ReadFull(r, key[:]); err != nil {
		return 0, nil, err
	}
	payload = make([]byte, n)
	_, err = io.ReadFull(r, payload)
	wsframe.Mask(payload, key, 0)
	return wsframe.Opcode(head[0] & 0xf), payload, err
}
