package load

import (
	"bytes"
	"errors"

	"github.com/galehttp/gale/internal/h1"
	"github.com/galehttp/gale/internal/head"
	"github.com/galehttp/gale/internal/msg"
)

// errSwitch is the error of a response 101: no request asks for another protocol.
var errSwitch = errors.New("the server switched to another protocol")

// consume takes bytes of responses. If they are invalid, the connection is lost.
func (l *loop) consume(c *conn, b []byte) {
	if l.counting() {
		l.tally.bytes.Read += int64(len(b))
	}
	switch {
	case c.http2 != nil:
		l.consumeHTTP2(c, b)
		return
	case c.websocket != nil:
		l.consumeWebSocket(c, b)
		return
	}
	if len(c.rest) > 0 {
		c.rest = append(c.rest, b...)
		b = c.rest
	}
	for len(b) > 0 {
		if c.flight.n == 0 {
			l.lose(c, kindBadResponse, "bytes arrived that no request asked for")
			return
		}
		n, err := 0, error(nil)
		if c.in.active {
			n, err = l.consumeBody(c, b)
		} else {
			n, err = l.consumeHead(c, b)
		}
		if err == h1.ErrPartial {
			break
		}
		if err != nil {
			l.lose(c, kindBadResponse, err.Error())
			return
		}
		b = b[n:]
	}
	c.keepRest(b)
}

// keepRest keeps the bytes that were not consumed, which may be in c.rest already.
func (c *conn) keepRest(b []byte) {
	switch {
	case len(b) == 0:
		c.rest = c.rest[:0]
	case len(c.rest) == 0:
		c.rest = append(c.rest, b...)
	default:
		c.rest = c.rest[:copy(c.rest, b)]
	}
}

// consumeHead takes a head, and the body too if it is there.
func (l *loop) consumeHead(c *conn, b []byte) (n int, err error) {
	e := c.flight.oldest()
	t := l.run.targets[e.target]
	h, n, err := l.parse(c, e.target, b)
	if err != nil {
		return 0, err
	}
	if h.Status < 200 {
		if h.Status == 101 {
			return 0, errSwitch
		}
		c.finishHead()
		return n, nil
	}
	length := h.ContentLength
	if h.Status == 204 || h.Status == 304 || e.isHead {
		length = 0
	}
	if length == msg.LenUnknown || !h1.ResponseKeepAlive(&h.ResponseHead) {
		c.closing, c.saidClose = true, true
	}
	if length >= 0 && int64(len(b)-n) >= length {
		l.completeNext(c, h, b[n:n+int(length)], length)
		return n + int(length), nil
	}
	l.beginBody(c, t, h, length)
	return n, nil
}

// responseLimits are the limits of responses. Folds are taken, as clients take them.
var responseLimits = &h1.Limits{Dialect: h1.Folding}

// parse parses a head from the front of b. Mostly it is the same as the last one.
func (l *loop) parse(c *conn, index int32, b []byte) (*head.Response, int, error) {
	if c.own != nil && c.own.Suspended() {
		n, err := h1.ParseResponse(b, &c.own.ResponseHead, responseLimits)
		return c.own, n, err
	}
	last := &l.heads[index]
	if len(last.raw) > 0 && bytes.HasPrefix(b, last.raw) {
		return &last.head, len(last.raw), nil
	}
	last.raw = last.raw[:0]
	last.head.Reset()
	n, err := h1.ParseResponse(b, &last.head.ResponseHead, responseLimits)
	if err == nil {
		last.raw = append(last.raw, b[:n]...)
		return &last.head, n, nil
	}
	last.head.Reset()
	if err == h1.ErrPartial {
		if c.own == nil {
			c.own = new(head.Response)
		}
		c.own.Reset()
		_, err = h1.ParseResponse(b, &c.own.ResponseHead, responseLimits)
	}
	return nil, 0, err
}

// finishHead drops the head that c keeps.
func (c *conn) finishHead() {
	if c.own != nil {
		c.own.Reset()
	}
}

// beginBody is called when a head has arrived and its body not yet.
func (l *loop) beginBody(c *conn, t *target, h *head.Response, length int64) {
	c.in.active, c.in.status, c.in.length = true, h.Status, 0
	c.in.untilEnd = length == msg.LenUnknown
	c.in.collect = c.in.collect[:0]
	c.in.decoder.Init(length, nil, nil)
	if t.Expect != nil && h != c.own {
		if c.own == nil {
			c.own = new(head.Response)
		}
		h.CopyTo(c.own)
	}
}

// consumeBody takes bytes of a body.
func (l *loop) consumeBody(c *conn, b []byte) (n int, err error) {
	data, n, done, err := c.in.decoder.Next(b)
	if err != nil {
		return 0, err
	}
	c.in.length += int64(len(data))
	t := l.run.targets[c.flight.oldest().target]
	if room := t.CollectBody - len(c.in.collect); room > 0 && t.Expect != nil {
		c.in.collect = append(c.in.collect, data[:min(room, len(data))]...)
	}
	if !done {
		if n == 0 {
			return 0, h1.ErrPartial
		}
		return n, nil
	}
	l.completeBody(c)
	return n, nil
}

// completeBody is called when a body has ended that arrived in pieces.
func (l *loop) completeBody(c *conn) {
	c.in.active = false
	h := c.own
	if l.run.targets[c.flight.oldest().target].Expect == nil {
		h = &l.bare
		h.Status = c.in.status
	}
	l.completeNext(c, h, c.in.collect, c.in.length)
}

// endBody completes the response whose body ends with the connection, if there is one.
func (l *loop) endBody(c *conn) {
	if c.in.active && c.in.untilEnd && c.flight.n == 1 {
		l.completeBody(c)
	}
}

// complete counts a complete response.
func (l *loop) complete(c *conn, e *exchange, h *head.Response, body []byte, length int64) {
	c.served++
	c.answered = l.now
	o := good
	if t := l.run.targets[e.target]; t.Expect != nil {
		body = body[:min(len(body), t.CollectBody)]
		if kind, text := t.Expect(h, body, length); kind != "" {
			o = unexpected
			l.countError(e, kind, text)
		}
	}
	if e.step != uncounted {
		l.tally.statuses[h.Status]++
	}
	l.settleExchange(e, o)
}

// completeNext counts the complete response to the oldest request.
func (l *loop) completeNext(c *conn, h *head.Response, body []byte, length int64) {
	e := c.flight.pop()
	l.flying--
	l.complete(c, &e, h, body, length)
	c.finishHead()
}
