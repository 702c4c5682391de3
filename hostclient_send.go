package gale

import (
	"bufio"
	"slices"

	"github.com/galehttp/gale/internal/clientconn"
	"github.com/galehttp/gale/internal/clock"
	"github.com/galehttp/gale/internal/h1"
	"github.com/galehttp/gale/internal/msg"
)

// bodyAlong is the longest body in bytes that is copied after its head, so that
// both are sent with one write. Longer bodies are written without a copy.
const bodyAlong = 8 << 10

// outgoing is a request that is being sent. Its head was appended to a buffer.
type outgoing struct {
	req *Request
	// body is the body, if it wasn't appended to the head.
	body []byte
	// stream says that the body is a stream, of length bytes or msg.LenChunked.
	stream bool
	length int64
}

// appendRequest appends the head of req to dst, and the whole body if it is short
// and along is set. out holds what is still to be sent.
func (req *Request) appendRequest(dst []byte, along bool) (_ []byte, out outgoing, err error) {
	if err := req.prepareToSend(); err != nil {
		return dst, outgoing{}, err
	}
	if req.protocol != "" {
		return dst, outgoing{}, errOpenStream
	}
	if req.lendAuthorization() {
		defer req.takeAuthorization()
	}
	out.req = req
	h := &req.Header
	if req.hasStream() {
		out.length = req.streamLength(h.s.ContentLength)
		h.frame(out.length)
		dst = h.appendHead(dst)
		if m := inMemory(req.bodyStream, out.length); m != nil && along && out.length <= bodyAlong {
			n := len(dst)
			dst = slices.Grow(dst, int(out.length))[:n+int(out.length)]
			_, _ = m.Read(dst[n:]) // all at once, without an error
			req.dropStream(nil)
			return dst, out, nil
		}
		out.stream = true
		return dst, out, nil
	}
	body := req.bodyBytes()
	switch {
	case req.readErr != nil && req.broken() != nil:
		return dst, out, req.heard()
	case len(body) == 0 && req.postArgs.Len() > 0:
		body = req.postArgs.QueryString()
	}
	expected := len(body) > 0 || !h.IsGet() && !h.IsHead()
	switch {
	case expected && h.s.Seen()&trailerBit != 0 && h.goesAsHTTP11() && h.s.Trailers.ToSend():
		return req.appendAsChunk(dst, body), out, nil
	case expected:
		h.SetContentLength(len(body))
	case h.s.ContentLength != 0: // there is no body, whatever length was set
		h.Del(HeaderContentLength)
		h.Del(HeaderTransferEncoding)
	}
	dst = h.appendHead(dst)
	if along && len(body) <= bodyAlong {
		return append(dst, body...), out, nil
	}
	out.body = body
	return dst, out, nil
}

// appendAsChunk appends the request with its body as one chunk, so that trailer
// fields can follow.
func (req *Request) appendAsChunk(dst, body []byte) []byte {
	h := &req.Header
	if len(body) > 0 && len(h.ContentType()) == 0 && !h.s.NoDefaultType {
		h.SetContentType("application/octet-stream")
	}
	h.SetContentLength(msg.LenChunked)
	dst = h1.AppendChunk(h.appendHead(dst), body)
	return append(h1.AppendLastChunk(dst), h.TrailerHeader()...)
}

// writeStream writes a stream as the body. It always closes the stream.
func (o *outgoing) writeStream(bw *bufio.Writer) (err error) {
	req := o.req
	defer func() { err = req.closeWritten(err) }()
	if o.length >= 0 {
		err = req.writeFixed(bw, o.length)
	} else if err = req.writeChunked(bw); err == nil {
		_, err = bw.Write(req.Header.TrailerHeader())
	}
	if err != nil {
		return err
	}
	return bw.Flush()
}

// send writes req. k.sent tells whether bytes of it were written. A body that may take long is
// sent by cc.sender, which isn't nil then. A server may
// answer before the whole request was sent (RFC 9112 section 9.5): answered says
// that the head of a final response is in resp already. If cc.sender is nil then, the rest of the
// request was not sent.
func (c *HostClient) send(k *call, cc *clientConn, req *Request, resp *Response, rules *readRules) (answered bool, err error) {
	by := k.until(c.WriteTimeout)
	cc.conn.BoundWrites(by)
	expects := c.awaitsContinue(req)
	b := cc.conn.Buffer(clientconn.ReadRoom)
	var out outgoing
	b.B, out, err = req.appendRequest(b.B[:0], !expects)
	if err != nil {
		req.dropStream(err)
		return false, err
	}
	if k.quick && cc.conn.CanSwap() {
		return false, cc.sendQuick(k, b.B)
	}
	if len(out.body) > 0 && !expects {
		err := c.sendLong(k, cc, b.B, &out, rules, by)
		b.B = b.B[:0]
		return false, err
	}
	n, err := cc.conn.Write(b.B)
	k.sent = k.sent || n > 0
	b.B = b.B[:0]
	if err == nil && expects {
		if answered, err = c.awaitContinue(k, cc, resp, rules); err != nil || answered && !cc.readsOn(resp, rules) {
			req.dropStream(err)
			return answered, err
		}
		by = k.until(c.WriteTimeout)
		cc.conn.BoundWrites(by)
	}
	switch {
	case err != nil:
		req.dropStream(err)
	case out.stream, answered:
		c.startSender(k, cc, &out, out.body, rules, by)
	case len(out.body) > 0:
		err = c.sendLong(k, cc, nil, &out, rules, by)
	}
	return answered, err
}

// sendLong sends head and then a body in memory. If that takes long, cc.sender does it.
func (c *HostClient) sendLong(k *call, cc *clientConn, head []byte, out *outgoing, rules *readRules, by clock.Tick) error {
	body := out.body
	if cc.conn.CanWriteBoth() {
		cc.conn.BoundWrites(clock.Earlier(by, clock.Ticks().Add(writePatience)))
		n, err := cc.conn.WriteBoth(head, body)
		cc.conn.BoundWrites(by)
		k.sent = k.sent || n > 0
		if err != ErrTimeout || by != 0 && clock.Ticks() >= by {
			return err
		}
		m := min(n, int64(len(head)))
		head, body = head[m:], body[n-m:]
	}
	if len(head) > 0 {
		n, err := cc.conn.Write(head)
		k.sent = k.sent || n > 0
		if err != nil {
			return err
		}
	}
	c.startSender(k, cc, out, body, rules, by)
	return nil
}

// sendQuick writes a whole request, b, which is in the connection's buffer, and
// reads the bytes that have come by then.
func (cc *clientConn) sendQuick(k *call, b []byte) error {
	n, err := cc.conn.Swap()
	k.sent = k.sent || n > 0
	if err == nil && n < len(b) {
		_, err = cc.conn.Write(b[n:])
	}
	return err
}

// isQuick reports whether req is sent with one write, after which the client only
// has to wait for the answer.
func (c *HostClient) isQuick(req *Request) bool {
	return c.Trace == nil && !req.hasStream() && req.form == nil && !req.Header.s.Has(msg.Expect) &&
		len(req.bodyBytes()) <= bodyAlong && (req.postArgs.Len() == 0 || len(req.postArgs.QueryString()) <= bodyAlong)
}

// awaitsContinue reports whether req has a body that is sent only when the
// server wants it (RFC 9110 section 10.1.1).
func (c *HostClient) awaitsContinue(req *Request) bool {
	if !req.Header.s.Has(msg.Expect) || c.ExpectContinueTimeout < 0 || !req.MayContinue() {
		return false
	}
	return req.hasStream() || len(req.bodyBytes()) > 0 || req.form != nil || len(req.postArgs.QueryString()) > 0
}

// awaitContinue waits for a 100 response, at most for ExpectContinueTimeout.
// answered says that a final response came instead.
func (c *HostClient) awaitContinue(k *call, cc *clientConn, resp *Response, rules *readRules) (answered bool, err error) {
	wait := c.ExpectContinueTimeout
	if wait == 0 {
		wait = DefaultExpectContinueTimeout
	}
	cc.conn.BoundReads(k.until(wait))
	for {
		err := cc.readHead(resp, rules)
		status := resp.Header.s.Status
		switch {
		case err == ErrTimeout && k.mustEnd() == nil:
			return false, nil // a part of a head that has come stays in the buffer
		case err != nil:
			return false, err
		case status/100 != 1 || status == StatusSwitchingProtocols:
			return true, nil
		}
		k.tellInterim(&resp.Header)
		if status == StatusContinue {
			return false, nil
		}
		if rules.interim++; rules.interim > maxInterimResponses {
			return false, errTooManyInterim
		}
	}
}

// readsOn reports whether a server may still read the body for which it has sent a final response in
// place of the 100: the response says that it has accepted the request, is streamed, and isn't complete.
func (cc *clientConn) readsOn(resp *Response, rules *readRules) bool {
	r := *rules
	cc.frame(resp, &r)
	return resp.Header.s.Status/100 == 2 && r.stream && (r.length < 0 || r.length > int64(len(cc.conn.Unread())))
}

// prepare applies the settings of the client to a request.
func (c *HostClient) prepare(req *Request) error {
	var host []byte
	if t := req.Header.s.Part(msg.Target); !req.uriParsed && len(t) > 0 && t[0] == '/' {
		host = req.Header.Host()
	}
	if len(host) == 0 {
		u := &req.uri
		if err := req.parseTargetURI(); err != nil {
			return err
		}
		if !u.scheme.empty() && !c.forward && c.IsTLS != (string(u.Scheme()) == "https") {
			return ErrHostClientRedirectToDifferentScheme
		}
		if c.DisablePathNormalizing {
			u.DisablePathNormalizing = true
		}
		if host = req.sentHost(); len(host) == 0 {
			return errRequestHostRequired
		}
	}
	if err := checkHost(host); err != nil {
		return err
	}
	req.forward = c.forward
	if c.DisableHeaderNamesNormalizing {
		req.Header.DisableNormalizing()
	}
	req.Header.hideContents = c.SecureErrorLogMessage
	c.setUserAgent(&req.Header)
	return nil
}

// setUserAgent sets the User-Agent of a request that has none.
func (c *HostClient) setUserAgent(h *RequestHeader) {
	if c.NoDefaultUserAgentHeader || h.s.Has(msg.UserAgent) || h.s.NoSpecial || h.s.NoDefaultAgent {
		return
	}
	name := c.Name
	if name == "" {
		name = defaultUserAgent
	}
	h.SetUserAgent(name)
}
