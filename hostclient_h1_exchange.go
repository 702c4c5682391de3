package gale

import (
	"context"
	"errors"
	"io"
	"math"
	"net"
	"time"

	"github.com/galehttp/gale/internal/clientconn"
	"github.com/galehttp/gale/internal/clock"
	"github.com/galehttp/gale/internal/door"
	"github.com/galehttp/gale/internal/h1"
	"github.com/galehttp/gale/internal/msg"
	"github.com/galehttp/gale/internal/pool"
)

// carryHTTP1 is carry over a connection of HTTP/1.1.
func (c *HostClient) carryHTTP1(cc *clientConn, k *call, req *Request, resp *Response, rules *readRules) (carryOutcome, error) {
	k.reused, k.upstream = cc.served > 0, cc.upstream
	lastOne := c.isOld(cc)
	// A Connection field of the request is not replaced for that.
	says := lastOne && !req.Header.s.Closes() && !req.Header.s.Has(msg.Connection)
	if says {
		req.SetConnectionClose()
	}
	var unwatch func() bool
	returned := false
	defer func() {
		if !returned { // a user's function panicked, or ended the goroutine
			defer c.discard(cc)
			if unwatch != nil {
				unwatch()
			}
			_, _ = cc.endSending(k, false, errBodyEnded)
		}
	}()
	unwatch = k.watch(cc)
	keep, err := c.exchange(k, cc, req, resp, rules)
	if err == nil {
		resp.ParseNetConn(cc.Conn())
	}
	if says {
		req.Header.ResetConnectionClose()
	}
	keep = keep && !lastOne
	if err == nil && rules.stream {
		returned = true
		resp.bodyStream = c.newResponseStream(k, cc, resp, rules.length, keep, unwatch)
		return carryDone, nil
	}
	if unwatch != nil && !unwatch() {
		keep = false
	}
	if k.kind == callUpgrade && err == nil {
		unwatch = nil
		err = c.giveAway(k, cc, resp)
	}
	returned = true
	if err == clientconn.ErrStale {
		return carryStale, nil
	}
	if err == nil && keep {
		cc.served++
		c.release(cc)
		return carryDone, nil
	}
	if k.upgraded != nil {
		return carryDone, nil
	}
	c.discard(cc)
	c.touch()
	return carryOf(err), err
}

// watch makes the end of the context break off the connection. unwatch stops that.
// It returns false if the context has ended: the connection is then broken, or will
// be at any moment.
func (k *call) watch(cc *clientConn) (unwatch func() bool) {
	if k.ctx == nil {
		return nil
	}
	if own, ok := k.ctx.(interface{ AfterFunc(func()) func() bool }); ok {
		return own.AfterFunc(cc.conn.Canceller()) // as context.AfterFunc does, which allocates
	}
	return context.AfterFunc(k.ctx, cc.conn.Canceller())
}

// exchange sends req and reads the response. If rules.stream is true when it
// returns, the body hasn't been read. keep says that the connection can be reused
// once the body was read.
func (c *HostClient) exchange(k *call, cc *clientConn, req *Request, resp *Response, rules *readRules) (keep bool, err error) {
	if k.quick && cc.conn.CanSwap() {
		whole := k.until(c.ReadTimeout)
		if c.ResponseHeaderTimeout > 0 {
			whole = clock.Earlier(whole, k.until(c.ResponseHeaderTimeout))
		}
		cc.conn.BoundReads(whole)
	}
	closes := req.Header.s.Closes() // a stream may change the header when it ends
	answered, err := c.send(k, cc, req, resp, rules)
	lost := err // if there is a response anyway, the connection was reset before it was read
	if err == clientconn.ErrStale {
		return false, err
	}
	if c.Trace != nil && cc.sender == nil {
		c.Trace.wrote(req, err)
	}
	unsent := answered && cc.sender == nil || err != nil // the rest of the request must not be sent any more
	switch {
	case err != nil:
		// A server that refuses a request may close the connection before it has
		// received all of it. The response is more useful to the caller than the
		// error of the write.
		if !k.sent || !clientconn.IsReset(err) || cc.hasResponse(k, resp, rules) != nil {
			return false, k.failed(req, err, false)
		}
	case answered && cc.sender != nil:
		cc.conn.BoundReads(cc.sender.by)
		cc.sender.sawHead()
	case answered:
		cc.conn.BoundReads(k.until(c.ReadTimeout)) // awaitContinue has set ExpectContinueTimeout
	default:
		if err := c.awaitHead(k, cc, req, resp, rules); err != nil {
			got := len(cc.conn.Unread()) > 0 || rules.interim > 0
			_, err = cc.endSending(k, false, err)
			return false, k.failed(req, err, got)
		}
	}
	keep = cc.frame(resp, rules) && !unsent && !closes
	if lost != nil && rules.length == msg.LenUnknown {
		// The body ends when the connection ends, but a reset is not a proper end.
		// A reset is reported only once, and the write got it.
		resp.Header.resetFields()
		return false, k.failed(req, lost, true)
	}
	if rules.stream && rules.length >= 0 && rules.length <= int64(len(cc.conn.Unread())) && k.asks(door.WholeKey{}) {
		rules.stream = false
	}
	if rules.stream {
		if cc.sender != nil {
			cc.sender.handOver()
		}
		return keep, nil
	}
	whole, err := cc.endSending(k, rules.length == msg.LenUnknown, cc.readBody(resp, rules))
	if err != nil {
		return false, k.failed(req, err, true)
	}
	return keep && whole && len(cc.conn.Unread()) == 0, nil
}

// awaitHead reads the head of the final response. Reads after it are limited by
// ReadTimeout.
func (c *HostClient) awaitHead(k *call, cc *clientConn, req *Request, resp *Response, rules *readRules) error {
	if o := cc.sender; o != nil {
		cc.conn.BoundReads(o.by) // until it tells that the request was sent
		err := cc.readFinalHead(k, resp, rules, c.Trace, req)
		o.sawHead()
		return err
	}
	whole := k.until(c.ReadTimeout)
	cc.conn.BoundReads(whole)
	if c.ResponseHeaderTimeout <= 0 {
		return cc.readFinalHead(k, resp, rules, c.Trace, req)
	}
	cc.conn.BoundReads(clock.Earlier(whole, k.until(c.ResponseHeaderTimeout)))
	err := cc.readFinalHead(k, resp, rules, c.Trace, req)
	cc.conn.BoundReads(whole)
	return err
}

// hasResponse looks for the response of a server that has stopped reading the
// request.
func (cc *clientConn) hasResponse(k *call, resp *Response, rules *readRules) error {
	const patience = time.Second
	cc.conn.BoundReads(k.until(patience))
	return cc.readFinalHead(k, resp, rules, nil, nil)
}

// failed records in k.verdict whether the request may be sent again after this
// attempt. got says that bytes of a response had come. It returns err, or the error of
// the context if that has ended.
func (k *call) failed(req *Request, err error, got bool) error {
	k.verdict = verdictUnsafe
	if k.ctx != nil && k.ctx.Err() != nil {
		return k.ctx.Err()
	}
	if !got && err != ErrTimeout && k.reused && (!k.sent || isIdempotent(req)) && (err == io.EOF || clientconn.IsReset(err) || errors.Is(err, net.ErrClosed)) {
		k.verdict = verdictSafe
	}
	return err
}

// readFinalHead reads the head of the response into resp, after any interim ones,
// up to their limit. t may be nil.
func (cc *clientConn) readFinalHead(k *call, resp *Response, rules *readRules, t *ClientTrace, req *Request) error {
	if t != nil && len(cc.conn.Unread()) == 0 {
		if err := cc.conn.Fill(); err != nil {
			return noResponse(err)
		}
		if cc.sender != nil {
			cc.sender.tell(nil)
		}
		t.firstByte(req)
	}
	for {
		if err := cc.readHead(resp, rules); err != nil {
			return err
		}
		if s := resp.Header.s.Status; s/100 != 1 || s == StatusSwitchingProtocols {
			return nil
		}
		k.tellInterim(&resp.Header)
		if rules.interim++; rules.interim > maxInterimResponses {
			return errTooManyInterim
		}
	}
}

// tellInterim passes an informational response to the function that the context
// holds for it; see door.InterimKey.
func (k *call) tellInterim(h *ResponseHeader) {
	if k == nil || k.ctx == nil {
		return
	}
	if tell, ok := k.ctx.Value(door.InterimKey{}).(func(*ResponseHeader)); ok {
		tell(h)
	}
}

// readHead reads one head. A part of it may have been read already.
func (cc *clientConn) readHead(resp *Response, rules *readRules) error {
	h := &resp.Header
	if h.s.Status != 0 {
		h.resetFields() // an interim response
	}
	for {
		if b := cc.conn.Unread(); len(b) > 0 {
			n, err := h1.ParseResponse(b, &h.s.ResponseHead, &rules.lim)
			if err == nil {
				cc.conn.Consume(n)
				return nil
			}
			if err == h1.ErrHeadTooLong {
				return &ErrSmallBuffer{headError("response", b, h.hideContents, ErrSmallReadBuffer)}
			}
			if err != h1.ErrPartial {
				return headError("response", b, h.hideContents, knownError(err, b))
			}
		}
		if err := cc.conn.Fill(); err != nil {
			if b := cc.conn.Unread(); len(b) > 0 && err != ErrTimeout {
				return headError("response", b, h.hideContents, err)
			}
			return noResponse(err)
		}
	}
}

// noResponse turns the error of a reset connection into io.EOF: it is a matter of
// luck whether a client sees a reset or a close.
func noResponse(err error) error {
	if err != ErrTimeout && clientconn.IsReset(err) {
		return io.EOF
	}
	return err
}

// frame derives from a head how the body is delimited (RFC 9112 section 6.3),
// and returns whether the connection can be used after it.
func (cc *clientConn) frame(resp *Response, rules *readRules) (keep bool) {
	h := &resp.Header.s
	keep = h1.ResponseKeepAlive(&h.ResponseHead)
	rules.length = h.ContentLength
	switch {
	case h.Status == StatusSwitchingProtocols, rules.tunnel && h.Status/100 == 2:
		keep, rules.length = false, 0
		rules.stream = false
	case rules.head:
		rules.length, rules.stream = 0, false
	case !statusHasBody(h.Status):
		// A length with a 204 is forbidden (RFC 9110 section 8.6): it isn't clear
		// what the following bytes are.
		if h.Status != StatusNotModified && (h.ContentLength > 0 || h.ContentLength == msg.LenChunked) {
			keep = false
		}
		rules.length, rules.stream = 0, false
	case rules.skip:
		keep = keep && rules.length == 0
		rules.length, rules.stream = 0, false
	case rules.length == msg.LenUnknown:
		keep = false
	}
	return keep
}

// readBody reads the whole body into resp.
func (cc *clientConn) readBody(resp *Response, rules *readRules) error {
	if rules.length == 0 {
		return nil
	}
	if rules.limit > 0 && rules.length > int64(rules.limit) || rules.length > math.MaxInt {
		return ErrBodyTooLarge
	}
	b := resp.bodyBuf()
	b.Reset()
	switch rules.length {
	case msg.LenChunked:
		return cc.readChunked(resp, b, rules)
	case msg.LenUnknown:
		if err := cc.readRest(b, rules.limit); err != nil {
			return err
		}
		resp.Header.SetContentLength(len(b.B))
		resp.Header.SetConnectionClose()
		return nil
	}
	return cc.readKnown(b, int(rules.length))
}

// readKnown reads n bytes into b, which grows with the bytes that have come, not
// with the announced length.
func (cc *clientConn) readKnown(b *pool.Buf, n int) error {
	const first = 4 << 10
	have := cc.conn.Unread()
	have = have[:min(len(have), n)]
	b.Grow(max(len(have), min(n, first)))
	b.B = append(b.B, have...)
	cc.conn.Consume(len(have))
	for len(b.B) < n {
		if len(b.B) == cap(b.B) {
			b.GrowTo(pool.StepTo(int64(n), len(b.B), 0))
		}
		m, err := cc.conn.ReadBodyPart(b.B[len(b.B):min(n, cap(b.B))], int64(n-len(b.B)))
		b.B = b.B[:len(b.B)+m]
		if err != nil {
			return noEOF(err)
		}
	}
	return nil
}

// readRest reads until the connection ends.
func (cc *clientConn) readRest(b *pool.Buf, limit int) error {
	b.B = append(b.B, cc.conn.Unread()...)
	cc.conn.Consume(len(cc.conn.Unread()))
	for {
		if limit > 0 && len(b.B) > limit {
			return ErrBodyTooLarge
		}
		if len(b.B) == cap(b.B) {
			b.Grow(1)
		}
		m, err := cc.conn.ReadSome(b.B[len(b.B):cap(b.B)])
		b.B = b.B[:len(b.B)+m]
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

func (cc *clientConn) readChunked(resp *Response, b *pool.Buf, rules *readRules) error {
	d := acquireChunkReader(&rules.lim)
	defer d.release()
	for {
		data, done, err := d.next(cc)
		if err != nil {
			return err
		}
		if rules.limit > 0 && len(b.B)+len(data) > rules.limit {
			return ErrBodyTooLarge
		}
		_, _ = b.Write(data)
		if done {
			d.deliver(&resp.Header)
			return nil
		}
	}
}
