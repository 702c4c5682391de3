package load

import (
	"bytes"
	"errors"
	"io"
	"math"
	"unicode/utf8"

	"github.com/galehttp/gale/internal/h1"
	"github.com/galehttp/gale/internal/head"
	"github.com/galehttp/gale/internal/wsframe"
)

// This file measures echoes over WebSockets (RFC 6455): a request is a message, the body of
// the source's request, and its response is the message that comes back. The request's head
// is the handshake of each connection.

// websocket is the protocol of a connection that is a WebSocket. It is used again for each
// socket.
type websocket struct {
	key    []byte // of the handshake
	reader wsframe.Reader
	frame  wsframe.Frame
	bodies []*Request // at the index of the exchange in flight.ring; nil if all are equal
	active bool       // a message has begun to arrive
	wrong  bool       // and differs from the one that was sent
	got    int        // bytes of it
	pongs  []byte     // to be sent
}

// webSocketTarget returns the target for t: fixed is a frame, and echo the frame that a
// server sends back.
func webSocketTarget(t *Target, server int, plan *Plan) *target {
	p := &target{Target: t, server: server, config: withALPN(t.TLS, false), method: "GET"}
	if r := t.Source.Fixed(); r != nil {
		p.body = r.Body
		p.fixed = appendMessage(nil, r.Body, plan.maskKey)
		p.last = p.fixed
		p.echo = wsframe.AppendFrame(nil, messageType(r.Body), true, false, r.Body)
	}
	return p
}

// appendMessage appends the frame of a message.
func appendMessage(dst, body []byte, key [4]byte) []byte {
	return wsframe.AppendMasked(dst, messageType(body), true, false, key, body)
}

// messageType returns text for valid UTF-8.
func messageType(body []byte) wsframe.Opcode {
	if utf8.Valid(body) {
		return wsframe.Text
	}
	return wsframe.Binary
}

// upgrade sends the handshake on c (RFC 6455 section 4.1). The head is that of the first
// target of the server: all have the same URL.
func (l *loop) upgrade(c *conn) {
	c.state = stateUpgrading
	w := c.websocket
	w.key = appendKey(w.key[:0])
	src := l.run.targets[c.server.targets[0]].Source
	r := src.Fixed()
	if r == nil {
		r = l.takeRequest()
		src.Fill(r, l.number())
		l.requests = append(l.requests, r)
	}
	var h head.Request
	r.Head.CopyTo(&h)
	l.scratch = appendHandshake(l.scratch, &h, w.key)
	l.send(c)
}

// consumeWebSocket takes bytes of the answer to the handshake and of frames.
func (l *loop) consumeWebSocket(c *conn, b []byte) {
	if c.state == stateEnding {
		return
	}
	if len(c.rest) > 0 {
		c.rest = append(c.rest, b...)
		b = c.rest
	}
	for gen := c.gen; len(b) > 0; {
		n := 0
		if c.state == stateUpgrading {
			n = l.consumeUpgrade(c, b)
		} else {
			n = l.consumeFrame(c, b)
		}
		if c.gen != gen {
			return
		}
		if n == 0 {
			break
		}
		b = b[n:]
	}
	c.keepRest(b)
}

// consumeUpgrade takes the answer to the handshake. It returns 0 if more bytes are needed, or
// the connection was closed.
func (l *loop) consumeUpgrade(c *conn, b []byte) int {
	if c.own == nil {
		c.own = new(head.Response)
	}
	h := &c.own.ResponseHead
	n, err := h1.ParseResponse(b, h, responseLimits)
	if err == h1.ErrPartial {
		return 0
	}
	if err == nil && h.Status < 200 && h.Status != 101 {
		c.own.Reset()
		return n
	}
	if err == nil {
		err = checkUpgrade(h, c.websocket.key)
	}
	c.own.Reset()
	if err != nil {
		l.failOpen(c, err.Error())
		return 0
	}
	c.websocket.reader.Init(wsframe.Config{Client: true, MaxMessage: math.MaxInt64})
	l.opened(c)
	return n
}

var errEarlyMessage = errors.New("a message arrived that isn't an echo")

// consumeFrame takes a message, a part of one, or a control frame. It returns 0 if more bytes
// are needed, or the connection was closed.
func (l *loop) consumeFrame(c *conn, b []byte) int {
	w := c.websocket
	if !w.active && c.flight.n > 0 {
		echo := l.run.targets[c.flight.oldest().target].echo
		if len(echo) > 0 && bytes.HasPrefix(b, echo) { // as it should be
			l.completeEcho(c, false)
			return len(echo)
		}
	}
	n, err := w.reader.Next(b, &w.frame)
	if err != nil {
		l.lose(c, kindBadResponse, err.Error())
		return 0
	}
	switch f := &w.frame; f.Kind {
	case wsframe.Piece:
		if f.First && c.flight.n == 0 {
			l.lose(c, kindBadResponse, errEarlyMessage.Error())
			return 0
		}
		l.compare(c, f)
	case wsframe.Control:
		l.control(c, f)
	}
	return n
}

// compare compares a part of a message with the one that was sent.
func (l *loop) compare(c *conn, f *wsframe.Frame) {
	w := c.websocket
	want := w.message(l, c)
	if f.First {
		w.active, w.got = true, 0
		w.wrong = f.Op != messageType(want)
	}
	rest := want[min(w.got, len(want)):]
	w.got += len(f.Payload)
	w.wrong = w.wrong || !bytes.HasPrefix(rest, f.Payload)
	if f.Last {
		w.active = false
		l.completeEcho(c, w.wrong || w.got != len(want))
	}
}

// message returns the oldest message in flight on c.
func (w *websocket) message(l *loop, c *conn) []byte {
	if r := w.bodies[c.flight.first]; r != nil {
		return r.Body
	}
	return l.run.targets[c.flight.oldest().target].body
}

// completeEcho counts the echo of the oldest message.
func (l *loop) completeEcho(c *conn, wrong bool) {
	e := l.popMessage(c)
	l.flying--
	c.served++
	c.answered = l.now
	o := good
	if wrong {
		o = unexpected
		l.countError(&e, kindEcho, "the message that came back differs from the one that was sent")
	}
	l.settleExchange(&e, o)
}

// popMessage takes the oldest message from those in flight.
func (l *loop) popMessage(c *conn) exchange {
	w := c.websocket
	if r := w.bodies[c.flight.first]; r != nil {
		w.bodies[c.flight.first] = nil
		l.requests = append(l.requests, r)
	}
	return c.flight.pop()
}

// addMessage is addFilled for a message.
func (l *loop) addMessage(c *conn, e exchange) {
	r := l.takeRequest()
	if e.sent == 0 {
		e.number = l.number()
	}
	l.run.targets[e.target].Source.Fill(r, e.number)
	c.flight.push(e)
	c.websocket.bodies[(c.flight.first+c.flight.n-1)%len(c.flight.ring)] = r
	l.scratch = appendMessage(l.scratch, r.Body, l.run.plan.maskKey)
}

// control takes a control frame. Pings are answered (RFC 6455 section 5.5.2).
func (l *loop) control(c *conn, f *wsframe.Frame) {
	w := c.websocket
	switch f.Op {
	case wsframe.Ping:
		w.pongs = wsframe.AppendMasked(w.pongs, wsframe.Pong, true, false, l.run.plan.maskKey, f.Payload)
	case wsframe.Close:
		if c.flight.n > 0 {
			l.lose(c, kindClosedEarly, "the server closed the WebSocket: "+closeText(f.Payload))
			return
		}
		c.closing = true // and the answer is a close frame
	}
}

// sendPongs sends the answers to pings.
func (l *loop) sendPongs(c *conn) {
	w := c.websocket
	if len(w.pongs) == 0 || c.writing() || c.state != stateOpen {
		return
	}
	l.scratch = append(l.scratch, w.pongs...)
	w.pongs = w.pongs[:0]
	l.send(c)
}

// sendClose sends a close frame. The server closes the connection after its own (RFC 6455
// section 7.1.1).
func (l *loop) sendClose(c *conn) {
	l.scratch = wsframe.AppendMasked(l.scratch, wsframe.Close, true, false, l.run.plan.maskKey, closeNormal)
	l.send(c)
}

// closeNormal is the payload of a close frame with the code 1000.
var closeNormal = wsframe.AppendClose(nil, 1000, "")

// endUpgrade is called when the connection ended before the answer to the handshake.
func (l *loop) endUpgrade(c *conn, err error) {
	if err == io.EOF {
		err = errNoUpgrade
	}
	l.failOpen(c, err.Error())
}
