package load

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"sync"
	"time"
)

// errNoHTTP2 is the text for a server that speaks TLS and not HTTP/2.
const errNoHTTP2 = "the server doesn't offer HTTP/2"

// maxRecord is how many bytes of requests are encrypted at a time: so much of a large body
// waits in memory for room in the socket, and not more.
const maxRecord = 64 << 10

// tlsConn is the TLS layer of a connection: crypto/tls over a pipe.
type tlsConn struct {
	conn  *tls.Conn
	pipe  *pipe
	began int64 // the handshake
}

// pipe is the net.Conn below TLS. During the handshake, which runs on a goroutine of its
// own, a Read waits for bytes from the loop, and a Write tells the loop that there are
// bytes. After the handshake only the loop uses it: a Read that finds no bytes returns
// errNoBytes, after which crypto/tls can be asked to read again, and a Write collects.
type pipe struct {
	in, out []byte
	tell    func()     // the loop, that there is something to do
	mu      sync.Mutex // of all fields, until the handshake was taken over
	more    sync.Cond  // in has bytes, or ended is set
	ended   bool
	shaking bool
	shaken  bool // the handshake has ended, with err
	err     error
	resumed bool
	proto   string
}

// noBytes is the error of a Read that finds no bytes. crypto/tls keeps what it has of an
// unfinished record after an error that is temporary.
type noBytes struct{}

func (noBytes) Error() string   { return "load: no bytes yet" }
func (noBytes) Timeout() bool   { return true }
func (noBytes) Temporary() bool { return true }

var errNoBytes net.Error = noBytes{}

func (p *pipe) Read(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for len(p.in) == 0 {
		if p.ended {
			return 0, io.EOF
		}
		if !p.shaking {
			return 0, errNoBytes
		}
		p.more.Wait()
	}
	n := copy(b, p.in)
	p.in = p.in[n:]
	return n, nil
}

func (p *pipe) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ended {
		return 0, io.ErrClosedPipe
	}
	p.out = append(p.out, b...)
	if p.shaking {
		p.tell()
	}
	return len(b), nil
}

// wrote reports whether there is something to send.
func (p *pipe) wrote() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.out) > 0
}

// end makes a Read that waits, and each one after it, return io.EOF.
func (p *pipe) end() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.ended = true
	p.more.Broadcast()
}

func (p *pipe) Close() error                     { return nil }
func (p *pipe) LocalAddr() net.Addr              { return &net.TCPAddr{} }
func (p *pipe) RemoteAddr() net.Addr             { return &net.TCPAddr{} }
func (p *pipe) SetDeadline(time.Time) error      { return nil }
func (p *pipe) SetReadDeadline(time.Time) error  { return nil }
func (p *pipe) SetWriteDeadline(time.Time) error { return nil }

// handshake begins a handshake on c.
func (l *loop) handshake(c *conn, config *tls.Config) {
	at := post{c.slot, c.gen}
	p := &pipe{shaking: true, tell: func() { l.post(at) }}
	p.more.L = &p.mu
	c.tls = &tlsConn{conn: tls.Client(p, config), pipe: p, began: l.now}
	c.state = stateHandshaking
	l.run.handshakes.Add(1)
	go func(conn *tls.Conn) {
		defer l.run.handshakes.Done()
		err := conn.HandshakeContext(context.Background())
		state := conn.ConnectionState()
		p.mu.Lock()
		defer p.mu.Unlock()
		p.shaking, p.shaken, p.err = false, true, err
		p.resumed, p.proto = state.DidResume, state.NegotiatedProtocol
		l.post(at)
	}(c.tls.conn)
}

// post tells the loop that a handshake wrote something or has ended.
func (l *loop) post(p post) {
	l.posts.Lock()
	l.posts.list = append(l.posts.list, p)
	l.posts.Unlock()
	if !l.posts.Swap(true) {
		l.net.wake()
	}
}

// takePosts does what handshakes ask for.
func (l *loop) takePosts() {
	l.posts.Store(false)
	l.posts.Lock()
	list := l.posts.list
	l.posts.list = nil
	l.posts.Unlock()
	for _, p := range list {
		c := l.conns[p.slot]
		if c.gen != p.gen || c.state != stateHandshaking {
			continue
		}
		l.flush(c)
		if c.gen == p.gen {
			l.shaken(c)
		}
	}
}

// shaken looks whether the handshake of c has ended.
func (l *loop) shaken(c *conn) {
	p := c.tls.pipe
	p.mu.Lock()
	shaken, err := p.shaken, p.err
	p.mu.Unlock()
	switch {
	case !shaken:
		return
	case err != nil:
		l.failOpen(c, err.Error())
		return
	}
	l.clock()
	l.tally.handshake.Add(time.Duration(l.now - c.tls.began))
	if p.resumed {
		l.tally.resumed++
	}
	if l.run.plan.HTTP2 && p.proto != "h2" {
		l.failOpen(c, errNoHTTP2)
		return
	}
	gen := c.gen
	l.opened(c)
	if c.gen == gen && len(p.in) > 0 { // session tickets came with the end of the handshake
		l.receiveTLS(c, nil)
		if c.gen == gen {
			l.proceed(c)
		}
	}
}

// receiveTLS gives bytes to TLS and takes what they contain.
func (l *loop) receiveTLS(c *conn, b []byte) {
	p := c.tls.pipe
	p.mu.Lock()
	if p.shaking || len(p.in) > 0 {
		p.in = append(p.in, b...)
		p.more.Signal()
	} else {
		p.in = b // crypto/tls takes all of it before it asks for more
	}
	p.mu.Unlock()
	if c.state == stateHandshaking {
		return
	}
	gen := c.gen
	for {
		n, err := c.tls.conn.Read(l.plain)
		if n > 0 {
			l.consume(c, l.plain[:n])
			if c.gen != gen {
				return
			}
		}
		if err == nil {
			continue
		}
		switch {
		case temporary(err):
			if len(p.out) > 0 { // TLS answers a key update by itself
				l.flush(c)
			}
		case err == io.EOF || c.state == stateEnding:
			l.receiveEnd(c, err)
		default:
			l.lose(c, kindTLS, err.Error())
		}
		return
	}
}

// temporary reports whether err is errNoBytes, as crypto/tls gives it back.
func temporary(err error) bool {
	return errors.Is(err, errNoBytes)
}

// flushTLS encrypts what c has to write and writes it, as far as there is room.
func (l *loop) flushTLS(c *conn) {
	p := c.tls.pipe
	for {
		p.mu.Lock()
		out := p.out
		p.mu.Unlock()
		if len(out) > 0 {
			n, err := l.net.write(c.slot, out, nil)
			if err != nil {
				l.failWrite(c, err)
				return
			}
			p.mu.Lock()
			p.out = p.out[:copy(p.out, p.out[n:])]
			left := len(p.out)
			p.mu.Unlock()
			if left > 0 {
				return
			}
		}
		if c.state == stateHandshaking {
			return
		}
		if len(c.out[0])+len(c.out[1]) == 0 {
			return
		}
		if !l.encrypt(c) {
			return
		}
	}
}

// encrypt encrypts a part of what c has to write.
func (l *loop) encrypt(c *conn) bool {
	part := c.out[0]
	if len(part) == 0 {
		part = c.out[1]
	}
	part = part[:min(len(part), maxRecord)]
	n, err := c.tls.conn.Write(part)
	if err != nil {
		l.lose(c, kindTLS, err.Error())
		return false
	}
	l.wrote(c, n)
	return true
}

// closeTLS tells the server that nothing more will come.
func (l *loop) closeTLS(c *conn) {
	if c.tls.conn.CloseWrite() == nil {
		l.flushTLS(c)
	}
}
