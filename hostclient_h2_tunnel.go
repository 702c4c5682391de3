package gale

import (
	"context"
	"errors"
	"net"
	"sync"
	"time"

	"github.com/galehttp/gale/internal/clock"
	"github.com/galehttp/gale/internal/streamconn"
)

// The errors of OpenStream.
var (
	// ErrNoExtendedConnect says that a server doesn't accept extended CONNECT (RFC 8441): it
	// speaks HTTP/1.1, or hasn't sent SETTINGS_ENABLE_CONNECT_PROTOCOL. Nothing was sent to
	// it.
	ErrNoExtendedConnect = errors.New("gale: the server doesn't accept extended CONNECT (RFC 8441)")
	// ErrStreamRefused says that a server has answered an extended CONNECT with a status
	// other than 2xx, which is in the response.
	ErrStreamRefused = errors.New("gale: the server has refused the extended CONNECT: its status isn't 2xx")
)

// errNotExtended is the error of OpenStream for a request without a protocol, and
// errOpenStream of all other methods for one with a protocol.
var (
	errNotExtended = errors.New("gale: OpenStream needs a request with SetConnectProtocol")
	errOpenStream  = errors.New("gale: an extended CONNECT is sent with OpenStream")
)

// OpenStream sends an extended CONNECT over HTTP/2 (RFC 8441), a request for which
// SetConnectProtocol was called, and waits for the head of the response. If its status is 2xx,
// OpenStream returns the stream as a connection, which belongs to the caller. The body of req
// isn't sent.
//
// The connection reads and writes the data of the stream, and flow control makes Write wait. Read
// returns io.EOF when the server has ended its side, and a [*StreamResetError] if it has reset the
// stream. Deadlines affect only this stream, and an operation that is late can be repeated with
// a later deadline. Close ends the client's side, or resets the stream if a Write is waiting.
// Then it resets the stream if the server sends more, or doesn't end its side within 5 seconds.
// After SetLinger(0), Close resets the stream at once. CloseWrite only ends the client's side. The connection has the addresses of the connection
// of HTTP/2, and ConnectionState if that uses TLS. It counts as a running request of the
// client.
//
// ctx, Request.SetTimeout, ReadTimeout, WriteTimeout and ResponseHeaderTimeout limit the time
// until the head has come, and nothing after that.
//
// The error is [ErrNoExtendedConnect] if the server doesn't accept such requests over HTTP/2,
// [ErrStreamRefused] if its status isn't 2xx, and otherwise as for Do. With ErrStreamRefused resp
// has the response with its body, as for Do: with StreamBody the body is a stream, and ctx limits
// the time until its end, too. resp may be nil.
func (c *HostClient) OpenStream(ctx context.Context, req *Request, resp *Response) (net.Conn, error) {
	if resp == nil {
		resp = acquireResponse()
		defer ReleaseResponse(resp)
	}
	err := ctx.Err()
	switch {
	case req.protocol == "":
		err = errNotExtended
	case err == nil && req.timeout < 0:
		err = ErrTimeout
	}
	if err != nil {
		return nil, resp.failed(err)
	}
	k := newCall(ctx, req.timeout)
	k.kind = callStream
	switch err := c.doOpen(&k, req, resp); {
	case err != nil:
		return nil, err
	case k.stream == nil && resp.StatusCode()/100 == 2: // of a RoundTripper that can't open streams
		return nil, resp.failed(ErrNoExtendedConnect)
	case k.stream == nil:
		return nil, ErrStreamRefused
	}
	return k.stream, nil
}

// OpenStream is [HostClient.OpenStream] of the client for the host of the URI. The cookies of
// Jar are sent, and those of the response are kept.
func (c *Client) OpenStream(ctx context.Context, req *Request, resp *Response) (net.Conn, error) {
	h, err := c.acquireHost(req)
	if err != nil {
		return nil, resp.failed(err)
	}
	defer h.uses.Add(-1)
	hc := h.hc.Load()
	if c.Jar == nil {
		return hc.OpenStream(ctx, req, resp)
	}
	if resp == nil {
		resp = acquireResponse()
		defer ReleaseResponse(resp)
	}
	defer addCookies(c.Jar, req)()
	nc, err := hc.OpenStream(ctx, req, resp)
	if err == nil || err == ErrStreamRefused {
		keepCookies(c.Jar, req.URI(), &resp.Header)
	}
	return nc, err
}

// awaitSettings waits for the server's SETTINGS, or the end of the connection.
func (hc *sharedConn) awaitSettings(k *call) error {
	hc.mu.Lock()
	if hc.proto.Greeted() || hc.stage == sharedOver || hc.proto.Failed() {
		hc.mu.Unlock()
		return nil
	}
	if hc.greeted == nil {
		hc.greeted = make(chan struct{})
	}
	greeted := hc.greeted
	mine := hc.claim()
	hc.mu.Unlock()
	if mine {
		hc.flush(h2Tries)
	}
	var done <-chan struct{}
	if k.ctx != nil {
		done = k.ctx.Done()
	}
	var fires <-chan time.Time
	if k.deadline != 0 {
		t := AcquireTimer(max(time.Duration(k.deadline-clock.Ticks()), 0))
		defer ReleaseTimer(t)
		fires = t.C
	}
	select {
	case <-greeted:
		return nil
	case <-fires:
		return ErrTimeout
	case <-done:
		return k.ctx.Err()
	}
}

// h2ClientTunnel is the stream of an extended CONNECT that the server has accepted, as the
// Stream of a connection; see HostClient.OpenStream. What arrives is in the h2Reader of the
// call. Its lock, sharedConn.mu, guards all fields.
type h2ClientTunnel struct {
	s       *h2Call
	r       *h2Reader
	changed sync.Cond // broadcast when there may be something to read, or room to write
	closed  bool
	linger  *time.Timer // resets the stream some time after Close, or nil
}

var _ streamconn.Stream = (*h2ClientTunnel)(nil)

// toTunnel makes the stream of a call whose response has come a connection. The messages
// belong to the caller from now on.
func (s *h2Call) toTunnel() net.Conn {
	hc := s.hc
	t := &h2ClientTunnel{s: s, r: s.reader}
	t.changed.L = &hc.mu
	hc.mu.Lock()
	s.tunnel = t
	s.req, s.resp = nil, nil
	s.tells, s.wants = false, 0
	t.r.sink, t.r.call = nil, call{}
	hc.mu.Unlock()
	return streamconn.New(t, hc.Conn())
}

// Lock locks sharedConn.mu.
func (t *h2ClientTunnel) Lock() { t.s.hc.mu.Lock() }

// Unlock unlocks it, and writes what waits, if no goroutine does. It doesn't wait for the
// server.
func (t *h2ClientTunnel) Unlock() {
	hc := t.s.hc
	hc.maybeEnd()
	hc.unlockToFlush()
}

// Receive implements streamconn.Stream.
func (t *h2ClientTunnel) Receive(p []byte) (n int, err error) {
	r := t.r
	switch {
	case r.in.Len() > 0:
		n = r.in.Take(p)
	case r.err != nil:
		return 0, r.err
	default:
		r.into, r.got = p, 0
		t.changed.Wait()
		n = r.got
		r.into, r.got = nil, 0
	}
	if n > 0 {
		r.credit(n)
	}
	return n, nil
}

// SendErr implements streamconn.Stream.
func (t *h2ClientTunnel) SendErr() error {
	switch {
	case t.s.st != nil:
		return nil
	case t.s.err != nil:
		return t.s.err
	}
	return net.ErrClosed
}

// Send implements streamconn.Stream.
func (t *h2ClientTunnel) Send(p []byte) (n int) {
	s := t.s
	hc := s.hc
	for len(hc.out) < maxH2Sent {
		part := p[n:min(len(p), n+maxH2Part)]
		m := s.appendData(part, false)
		if n += m; n == len(p) {
			return n
		}
		if m < len(part) {
			break
		}
	}
	hc.proto.Queue(s.st)
	if !hc.claim() {
		t.changed.Wait()
		return n
	}
	hc.mu.Unlock()
	defer hc.mu.Lock()
	hc.flush(h2Tries)
	return n
}

// EndOutput implements streamconn.Stream.
func (t *h2ClientTunnel) EndOutput() {
	if s := t.s; !s.st.Ended() {
		s.appendData(nil, true)
		if t.r.err != nil {
			s.finish() // the server has ended its side
		}
	}
}

// Close implements streamconn.Stream; see HostClient.OpenStream.
func (t *h2ClientTunnel) Close(reset bool) {
	s := t.s
	t.closed = true
	t.r.in.Drop()
	switch {
	case s.st == nil:
	case reset:
		s.fail(net.ErrClosed)
	default:
		t.EndOutput()
		if s.st != nil {
			t.linger = time.AfterFunc(h2LingerFor, func() { s.giveUp(net.ErrClosed) })
		}
	}
	t.Wake()
}

// over is called when the stream has ended, under mu.
func (t *h2ClientTunnel) over() {
	if t.linger != nil {
		t.linger.Stop()
	}
}

// Wake implements streamconn.Stream.
func (t *h2ClientTunnel) Wake() { t.changed.Broadcast() }
