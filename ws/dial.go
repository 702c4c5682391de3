package ws

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"time"

	"github.com/galehttp/gale"
	"github.com/galehttp/gale/internal/clock"
)

const (
	// dialTimeout limits a handshake whose context has no deadline.
	dialTimeout = 30 * time.Second
	// maxAnswerHead and maxAnswerBody limit the server's answer in bytes.
	maxAnswerHead = 16 << 10
	maxAnswerBody = 16 << 10
	// refusalWait is how long Dial waits for the body of an answer that opens no WebSocket.
	refusalWait = 500 * time.Millisecond
)

// HandshakeError says that a server's answer to Dial doesn't open a WebSocket.
type HandshakeError struct {
	// StatusCode is the status of the answer.
	StatusCode int
	// Reason says what is wrong with an answer of status 101. It is empty for other
	// statuses.
	Reason string
}

// Error returns a message with the status and the reason.
func (e *HandshakeError) Error() string {
	if e.Reason != "" {
		return "ws: the server's answer to the handshake is wrong: " + e.Reason
	}
	return fmt.Sprintf("ws: the server answered the handshake with status %d (%s)", e.StatusCode, gale.StatusMessage(e.StatusCode))
}

// Dial opens a WebSocket to a URL with the scheme ws or wss (RFC 6455 section 4.1). A user
// and password in the URL become the header Authorization. o may be nil.
//
// If the server's answer doesn't open a WebSocket, the error is a *HandshakeError, and the
// response has the answer with the first 16 KiB of its body, as far as they come within half a
// second and before ctx ends. Redirects aren't followed. In all other cases of errors the
// response is nil. The result belongs to the caller.
//
// ctx limits the handshake, after which the Conn doesn't depend on it. If ctx has no
// deadline, the handshake may take 30 seconds.
func Dial(ctx context.Context, url string, o *DialOptions) (*Conn, *gale.Response, error) {
	if o == nil {
		o = &DialOptions{}
	}
	if _, ok := ctx.Deadline(); !ok {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, dialTimeout)
		defer cancel()
	}
	d := &dial{o: o, set: o.settings()}
	if err := d.parse(url); err != nil {
		return nil, nil, err
	}
	if o.HTTP2 == gale.HTTP2Only || o.HTTP2 == gale.HTTP2On && d.to.tls {
		c, resp, err := d.open(ctx)
		if o.HTTP2 == gale.HTTP2Only || !errors.Is(err, gale.ErrNoExtendedConnect) {
			return c, resp, err
		}
	}
	nc, err := d.connect(ctx)
	if err != nil {
		return nil, nil, err
	}
	// The end of ctx ends what waits for the connection.
	interrupt := func() { _ = nc.SetDeadline(clock.LongAgo) }
	stop := context.AfterFunc(ctx, interrupt)
	returned := false
	defer func() {
		if !returned { // a method of the Jar has panicked
			_ = nc.Close()
		}
	}()
	c, resp, err := d.shake(nc, interrupt)
	returned = true
	if !stop() && err == nil {
		_ = c.CloseNow()
		c, err = nil, ctx.Err()
	}
	if err != nil {
		_ = nc.Close()
		if ctx.Err() != nil && isTimeout(err) {
			err = ctx.Err()
		}
		return nil, resp, err
	}
	return c, resp, nil
}

// dial is one call of Dial.
type dial struct {
	o    *DialOptions
	set  *settings
	to   target
	key  [24]byte // Sec-WebSocket-Key
	resp gale.Response
}

// parse checks the arguments.
func (d *dial) parse(url string) (err error) {
	if d.to, err = parseTarget(url); err != nil {
		return err
	}
	for i, p := range d.o.Subprotocols {
		if !isToken(p) {
			return fmt.Errorf("ws: the subprotocol %q is not a token", p)
		}
		for _, q := range d.o.Subprotocols[:i] {
			if p == q {
				return fmt.Errorf("ws: the subprotocol %q is there twice", p)
			}
		}
	}
	return nil
}

// shake does the handshake over nc. interrupt ends what waits for nc.
func (d *dial) shake(nc net.Conn, interrupt func()) (*Conn, *gale.Response, error) {
	req, err := d.request()
	if err != nil {
		return nil, nil, err
	}
	if _, err := nc.Write(req); err != nil {
		return nil, nil, err
	}
	br := bufio.NewReaderSize(nc, maxAnswerHead)
	resp := &d.resp
	resp.StreamBody = true
	if err := resp.ReadLimitBody(br, 0); err != nil {
		return nil, nil, fmt.Errorf("ws: reading the answer to the handshake: %w", err)
	}
	resp.StreamBody = false
	d.keepBody(interrupt)
	d.keepCookies()
	p, err := d.check()
	if err != nil {
		return nil, resp, err
	}
	unread, _ := br.Peek(br.Buffered())
	if err := nc.SetDeadline(time.Time{}); err != nil {
		return nil, resp, err
	}
	c := newConn(p, true)
	c.start(nc, unread)
	return c, resp, nil
}

// keepBody reads the body of an answer that opens no WebSocket, or what comes of it soon.
// interrupt ends what waits for it.
func (d *dial) keepBody(interrupt func()) {
	resp := &d.resp
	stream := resp.BodyStream()
	if stream == nil {
		return
	}
	soon := time.AfterFunc(refusalWait, interrupt)
	defer soon.Stop()
	body, _ := io.ReadAll(io.LimitReader(stream, maxAnswerBody))
	_ = resp.CloseBodyStream()
	resp.SetBodyRaw(body)
}

// connect returns a connection to the server, with TLS for wss.
func (d *dial) connect(ctx context.Context) (net.Conn, error) {
	nc, err := d.connectPlain(ctx)
	if err != nil || !d.to.tls {
		return nc, err
	}
	cfg := d.tlsConfig(d.to.host)
	cfg.NextProtos = []string{"http/1.1"}
	tc := tls.Client(nc, cfg)
	if err := tc.HandshakeContext(ctx); err != nil {
		_ = nc.Close()
		return nil, err
	}
	if p := tc.ConnectionState().NegotiatedProtocol; p != "" && p != "http/1.1" {
		_ = tc.Close()
		return nil, fmt.Errorf("ws: the server chose the protocol %q", p)
	}
	return tc, nil
}

// tlsConfig returns the configuration for a host.
func (d *dial) tlsConfig(host string) *tls.Config {
	cfg := &tls.Config{}
	if d.o.TLSConfig != nil {
		cfg = d.o.TLSConfig.Clone()
	}
	if cfg.ServerName == "" {
		cfg.ServerName = host
	}
	return cfg
}
