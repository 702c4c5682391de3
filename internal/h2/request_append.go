package h2

import (
	"github.com/galehttp/gale/internal/bytesconv"
	"github.com/galehttp/gale/internal/head"
	"github.com/galehttp/gale/internal/hpack"
	"github.com/galehttp/gale/internal/msg"
)

// requestPlaced are the fields of a request that aren't written in the order of the
// records.
const requestPlaced = 1<<msg.Host | 1<<msg.ContentLength | 1<<msg.TransferEncoding | connectionFields | 1<<msg.Te | head.TrailerBit

// AppendRequest opens a stream and appends the head of its request, in one HEADERS frame
// and perhaps CONTINUATION frames. Before it, it appends the queued control frames. end says
// that there is no body and no trailer section: END_STREAM is set. The stream belongs to
// the caller until Done.
//
// scheme is "http" or "https". :authority is the Host of r. The other fields are those
// that h1.AppendRequestHead writes, without the connection-specific ones (RFC 9113
// section 8.2.2).
//
// After an error nothing was appended, and no stream was opened. It is ErrStreamLimit or
// ErrNoMoreStreams; or, for a request that can't be sent, ErrConnect (CONNECT is not
// supported), ErrMethod, ErrPath if the target isn't in origin-form and not "*", or
// ErrHost if there is no Host.
func (c *Conn) AppendRequest(out []byte, r *head.Request, scheme string, end bool) (_ []byte, st *Stream, err error) {
	r.Verify()
	if err := checkRequest(r); err != nil {
		return out, nil, err
	}
	if out, st, err = c.open(out); err != nil {
		return out, nil, err
	}
	from := len(out)
	out = c.coding.enc.Begin(appendFrameHeader(out, 0, frameHeaders, 0, 0))
	out = c.appendRequest(out, r, scheme)
	return c.endRequest(out, from, st, isHead(r), end), st, nil
}

// AppendConnect is AppendRequest for an extended CONNECT for protocol (RFC 8441 section 4),
// whatever the method of r is. The peer must allow it, see PeerConnects. The stream has no
// end yet, and a response with a 2xx status has no Content-Length.
func (c *Conn) AppendConnect(out []byte, r *head.Request, scheme, protocol string) (_ []byte, st *Stream, err error) {
	r.Verify()
	if err := checkTarget(r); err != nil {
		return out, nil, err
	}
	if !bytesconv.IsToken(bytesconv.S2B(protocol)) {
		return out, nil, ErrPseudo
	}
	if out, st, err = c.open(out); err != nil {
		return out, nil, err
	}
	st.protocol = []byte(protocol)
	from := len(out)
	out = c.coding.enc.Begin(appendFrameHeader(out, 0, frameHeaders, 0, 0))
	enc := &c.coding.enc
	out = enc.AppendPseudo(out, hpack.Method, methodConnect, hpack.Auto)
	out = enc.AppendPseudo(out, hpack.Protocol, st.protocol, hpack.Auto)
	out = c.appendFields(c.appendTarget(out, r, scheme), &r.Fields, requestPlaced)
	if r.CookieState == head.CookiesOwned {
		out = c.appendText(out, msg.Cookie, c.keep(r.AppendCookies(c.coding.scratch[:0])))
	}
	return c.endRequest(out, from, st, false, false), st, nil
}

var methodConnect = []byte("CONNECT")

// checkRequest returns why r can't be sent, or nil.
func checkRequest(r *head.Request) error {
	method := r.Part(msg.Method)
	switch {
	case string(method) == "CONNECT":
		return ErrConnect
	case len(method) > 0 && !bytesconv.IsToken(method):
		return ErrMethod
	}
	return checkTarget(r)
}

func checkTarget(r *head.Request) error {
	target := r.Part(msg.Target)
	switch {
	case len(target) > 0 && target[0] != '/' && string(target) != "*":
		return ErrPath
	case len(bytesconv.TrimOWS(r.Peek(msg.Host))) == 0:
		return ErrHost
	}
	return nil
}

func isHead(r *head.Request) bool { return string(r.Part(msg.Method)) == "HEAD" }

// endRequest writes the header of the frame that begins at from, for a field block that is
// complete.
func (c *Conn) endRequest(out []byte, from int, st *Stream, isHead, end bool) []byte {
	if isHead {
		st.state |= toHead
	}
	flags := uint8(flagEndHeaders)
	if end {
		flags |= flagEndStream
		c.sentEnd(st)
	}
	return endBlock(out, from, st.id, flags)
}

// appendRequest appends the field block of a request.
func (c *Conn) appendRequest(out []byte, r *head.Request, scheme string) []byte {
	out = c.appendPseudo(out, r, scheme)
	skip := requestPlaced
	if r.NoSpecial {
		skip &^= 1 << msg.ContentLength
	} else {
		out = c.appendFramed(out, r)
	}
	out = c.appendFields(out, &r.Fields, skip)
	seen := r.Seen()
	if seen&(1<<msg.Te) != 0 && bytesconv.HasElement(r.AppendValues(nil, msg.Te, nil), "trailers") {
		out = c.appendText(out, msg.Te, textTrailers) // the only value that HTTP/2 allows (RFC 9113 section 8.2.2)
	}
	if seen&head.TrailerBit != 0 {
		names := r.Trailers.Announced(&r.Fields, r.ContentLength == msg.LenChunked, r.Spelling)
		out = c.appendText(out, msg.Trailer, names)
	}
	if r.CookieState == head.CookiesOwned {
		out = c.appendText(out, msg.Cookie, c.keep(r.AppendCookies(c.coding.scratch[:0])))
	}
	return out
}

var textTrailers = []byte("trailers")

// appendPseudo appends the pseudo-fields of a request (RFC 9113 section 8.3.1).
func (c *Conn) appendPseudo(out []byte, r *head.Request, scheme string) []byte {
	enc := &c.coding.enc
	method := r.Part(msg.Method)
	if len(method) == 0 {
		method = methodGet
	}
	out = enc.AppendPseudo(out, hpack.Method, method, hpack.Auto)
	return c.appendTarget(out, r, scheme)
}

// appendTarget appends the pseudo-fields except :method and :protocol.
func (c *Conn) appendTarget(out []byte, r *head.Request, scheme string) []byte {
	enc := &c.coding.enc
	out = enc.AppendPseudo(out, hpack.Scheme, bytesconv.S2B(scheme), hpack.Auto)
	out = enc.AppendPseudo(out, hpack.Authority, c.clean(r.Peek(msg.Host)), hpack.Auto)
	path := r.Part(msg.Target)
	if len(path) == 0 || !bytesconv.IsTarget(path) {
		path = c.keep(r.AppendTarget(c.coding.scratch[:0]))
	}
	return enc.AppendPseudo(out, hpack.Path, path, hpack.Auto)
}

var methodGet = []byte("GET")

// appendFramed appends Content-Type and Content-Length.
func (c *Conn) appendFramed(out []byte, r *head.Request) []byte {
	if r.ImpliesType() {
		out = c.coding.enc.AppendField(out, msg.ContentType, nil, defaultRequestType, hpack.Auto)
	}
	if n := r.ContentLength; n > 0 || n == 0 && r.HasLength() {
		out = c.appendLength(out, n)
	}
	return out
}

var defaultRequestType = []byte(head.DefaultRequestType)

// keep keeps the memory of b as scratch memory unless it is large, and returns b, which is
// valid until the next use of scratch memory.
func (c *Conn) keep(b []byte) []byte {
	if c.coding.scratch = b[:0]; cap(b) > keepScratch {
		c.coding.scratch = nil
	}
	return b
}
