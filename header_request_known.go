package gale

import (
	"bytes"
	"math"
	"mime"

	"github.com/galehttp/gale/internal/bytesconv"
	"github.com/galehttp/gale/internal/head"
	"github.com/galehttp/gale/internal/msg"
)

// Host returns the value of Host (RFC 9110 section 7.2). If a server received the
// request with a host in its target, as in "GET http://host/path", Host and Peek
// return that host (RFC 9112 section 3.2.2). In fasthttp, and after
// RequestHeader.Read, they return the value of the Host field. The bytes are
// borrowed: they are valid until h changes or the handler returns.
func (h *RequestHeader) Host() []byte { return h.s.Peek(msg.Host) }

// takeAuthority sets Host to the authority of the received target, whatever the
// Host field says. The authority is the host that the request is for. A Host field
// that says otherwise must be neither seen nor forwarded (RFC 9112 sections 3.2.2
// and 3.3).
func (h *RequestHeader) takeAuthority() {
	if h.s.Form == msg.FormAbsolute || h.s.Form == msg.FormAuthority {
		h.SetHostBytes(h.s.Part(msg.Authority))
	}
}

// SetHost sets Host; an empty host deletes it.
func (h *RequestHeader) SetHost(host string) { h.SetHostBytes(bytesconv.S2B(host)) }

// SetHostBytes is [RequestHeader.SetHost] for a []byte.
func (h *RequestHeader) SetHostBytes(host []byte) { h.setOne(msg.Host, msg.Host.Name(), host) }

// UserAgent returns the value of User-Agent. The bytes are borrowed: they are valid
// until h changes or the handler returns.
func (h *RequestHeader) UserAgent() []byte { return h.peekPlain(msg.UserAgent, nil) }

// SetUserAgent sets User-Agent; an empty value deletes it.
func (h *RequestHeader) SetUserAgent(userAgent string) {
	h.SetUserAgentBytes(bytesconv.S2B(userAgent))
}

// SetUserAgentBytes is [RequestHeader.SetUserAgent] for a []byte.
func (h *RequestHeader) SetUserAgentBytes(userAgent []byte) {
	if h.s.NoSpecial {
		return
	}
	h.setOne(msg.UserAgent, msg.UserAgent.Name(), userAgent)
}

// Referer returns the value of Referer. The bytes are borrowed: they are valid
// until h changes or the handler returns.
func (h *RequestHeader) Referer() []byte { return h.peekPlain(msg.Referer, nil) }

// SetReferer sets Referer.
func (h *RequestHeader) SetReferer(referer string) { h.SetRefererBytes(bytesconv.S2B(referer)) }

// SetRefererBytes is [RequestHeader.SetReferer] for a []byte.
func (h *RequestHeader) SetRefererBytes(referer []byte) {
	h.place(msg.Referer, msg.Referer.Name()).Put(msg.Referer, msg.Referer.Name(), referer, msg.Normalized)
}

// ContentType returns the value of Content-Type. The bytes are borrowed: they are
// valid until h changes or the handler returns.
func (h *RequestHeader) ContentType() []byte { return h.s.Peek(msg.ContentType) }

// SetContentType sets Content-Type; an empty value deletes it.
func (h *RequestHeader) SetContentType(contentType string) {
	h.SetContentTypeBytes(bytesconv.S2B(contentType))
}

// SetContentTypeBytes is [RequestHeader.SetContentType] for a []byte.
func (h *RequestHeader) SetContentTypeBytes(contentType []byte) {
	h.setOne(msg.ContentType, msg.ContentType.Name(), contentType)
}

// ContentEncoding returns the value of Content-Encoding (RFC 9110 section 8.4). The
// bytes are borrowed: they are valid until h changes or the handler returns.
func (h *RequestHeader) ContentEncoding() []byte { return h.s.Peek(msg.ContentEncoding) }

// SetContentEncoding sets Content-Encoding.
func (h *RequestHeader) SetContentEncoding(contentEncoding string) {
	h.SetContentEncodingBytes(bytesconv.S2B(contentEncoding))
}

// SetContentEncodingBytes is [RequestHeader.SetContentEncoding] for a []byte.
func (h *RequestHeader) SetContentEncodingBytes(contentEncoding []byte) {
	h.s.Put(msg.ContentEncoding, msg.ContentEncoding.Name(), contentEncoding, msg.Normalized)
}

// SetMultipartFormBoundary sets Content-Type to multipart/form-data with the
// boundary.
func (h *RequestHeader) SetMultipartFormBoundary(boundary string) {
	h.SetContentType("multipart/form-data; boundary=" + boundary)
}

// SetMultipartFormBoundaryBytes is [RequestHeader.SetMultipartFormBoundary] for
// a []byte.
func (h *RequestHeader) SetMultipartFormBoundaryBytes(boundary []byte) {
	h.SetMultipartFormBoundary(bytesconv.B2S(boundary))
}

// MultipartFormBoundary returns the boundary of a Content-Type of
// multipart/form-data (RFC 7578 section 4.1), without quotes. It is the boundary
// that package mime reads, or nil. So it is nil if a parameter is malformed, or if
// boundary, "boundary*" or "boundary*0" (RFC 2231) comes twice or beside another of
// them: other programs would find another form in the body. There are two
// exceptions, for what clients send: the field may end with a semicolon, and
// a boundary that is the only parameter may have "=", "/" and ":" without quotes, but not
// under adaptor.NewHTTPHandler, where a handler of net/http may have found no form. There must be no
// space around "=" (RFC 9110 section 5.6.6), though package mime allows it. The
// bytes are borrowed: they are valid until h changes or the handler returns.
func (h *RequestHeader) MultipartFormBoundary() []byte {
	boundary, _ := h.formBoundary()
	return boundary
}

// formBoundary is MultipartFormBoundary. If there is no boundary, sure says that others find
// none either.
func (h *RequestHeader) formBoundary() (boundary []byte, sure bool) {
	const form = "multipart/form-data"
	ct := h.ContentType()
	if len(ct) < len(form) || !bytesconv.EqualFoldString(ct[:len(form)], form) || tokenLen(ct[len(form):]) > 0 {
		return nil, len(ct) == 0 || bytesconv.Token[ct[0]] // package mime ignores spaces that aren't ASCII
	}
	params, boundaries := 0, 0
	plain := true // package mime reads the boundary without doubt
	for rest := bytes.TrimLeft(ct[len(form):], " \t"); len(rest) > 0; rest = bytes.TrimLeft(rest, " \t") {
		if rest[0] != ';' {
			return nil, false
		}
		rest = bytes.TrimLeft(rest[1:], " \t")
		if len(rest) == 0 {
			break
		}
		eq := tokenLen(rest)
		if eq == 0 || eq == len(rest) || rest[eq] != '=' {
			return nil, false
		}
		name, _, continued := bytes.Cut(rest[:eq], []byte{'*'})
		var value []byte
		value, rest = boundaryValue(rest[eq+1:])
		if params++; !bytesconv.EqualFoldString(name, "boundary") {
			continue
		}
		if boundaries++; continued || len(value) == 0 {
			return nil, false
		}
		boundary = value
		for _, c := range value {
			plain = plain && ' ' <= c && c <= '~' && c != '\\'
		}
	}
	switch {
	case boundaries > 1:
		return nil, false
	case boundaries == 0, params == 1 && plain && !h.formsAsMIME:
		return boundary, true
	}
	_, read, err := mime.ParseMediaType(bytesconv.B2S(ct))
	if err != nil || read["boundary"] != string(boundary) {
		return nil, false
	}
	return boundary, true
}

// boundaryValue cuts a parameter's value off b: the text between quotes, or a token that
// may have "=", "/" and ":". Without the second quote the value is nil.
func boundaryValue(b []byte) (value, rest []byte) {
	if len(b) > 0 && b[0] == '"' {
		n := quotedLen(b)
		if n == 0 {
			return nil, b
		}
		return b[1 : n-1 : n-1], b[n:]
	}
	n := 0
	for n < len(b) && (b[n] == '=' || b[n] == '/' || b[n] == ':' || tokenLen(b[n:n+1]) > 0) {
		n++
	}
	return b[:n:n], b[n:]
}

// ContentLength returns the length of the body in bytes. It is -1 for a chunked
// body, and -2 for a request that was received without a length. Such a request has
// no body (RFC 9112 section 6.3). On systems of 32 bits it is -1, too, for a length of
// 2 GiB or more: an int can't hold it, and a shorter one would cut the body.
func (h *RequestHeader) ContentLength() int {
	used(h.s.Loan)
	return lengthAsInt(h.s.ContentLength)
}

// lengthAsInt returns n as an int, or msg.LenChunked if an int can't hold it.
func lengthAsInt(n int64) int {
	if n > math.MaxInt {
		return msg.LenChunked
	}
	return int(n)
}

// SetContentLength sets the length of the body in bytes; a negative length means
// that the body is sent chunked. When a request with a body is written, the body
// decides.
func (h *RequestHeader) SetContentLength(contentLength int) {
	used(h.s.Loan)
	h.setLength(max(int64(contentLength), msg.LenChunked))
}

func (h *RequestHeader) setLength(n int64) {
	h.s.ContentLength, h.s.LengthSet = n, true
	if h.s.NoSpecial {
		h.placeLength(n)
		return
	}
	h.s.Del(msg.ContentLength, nil)
	h.s.Del(msg.TransferEncoding, nil)
}

// placeLength keeps the Content-Length field where the caller put it, after
// DisableSpecialHeader, and adds one if the body needs it.
func (h *RequestHeader) placeLength(n int64) {
	id, other := msg.ContentLength, msg.TransferEncoding
	value := strChunked
	if n < 0 {
		id, other = other, id
	} else {
		value = bytesconv.AppendInt(h.digits[:0], n)
	}
	h.s.Del(other, nil)
	i := h.s.Find(id)
	switch {
	case i >= 0:
		h.s.Put(id, h.s.RawName(i), value, msg.AsGiven)
	case n != 0:
		h.s.Put(id, id.Name(), value, msg.Normalized)
	}
}

// SetByteRange sets Range to "bytes=startPos-endPos" (RFC 9110 section 14.2). Both
// positions are inclusive. A negative endPos means everything from startPos on. A
// negative startPos means the last -startPos bytes.
func (h *RequestHeader) SetByteRange(startPos, endPos int) {
	used(h.s.Loan)
	var buf [64]byte
	b := append(buf[:0], "bytes="...)
	if startPos < 0 {
		b = bytesconv.AppendInt(b, startPos)
	} else {
		b = append(bytesconv.AppendInt(b, startPos), '-')
		if endPos >= 0 {
			b = bytesconv.AppendInt(b, endPos)
		}
	}
	h.s.Put(msg.Range, msg.Range.Name(), b, msg.Normalized)
}

// HasAcceptEncoding reports whether Accept-Encoding lists the coding without a
// quality of 0, which would refuse it (RFC 9110 section 12.5.3). Case is ignored.
// "*" doesn't count as the coding.
func (h *RequestHeader) HasAcceptEncoding(acceptEncoding string) bool {
	return h.HasAcceptEncodingBytes(bytesconv.S2B(acceptEncoding))
}

// HasAcceptEncodingBytes is [RequestHeader.HasAcceptEncoding] for a []byte.
func (h *RequestHeader) HasAcceptEncodingBytes(acceptEncoding []byte) bool {
	used(h.s.Loan)
	var room [4][]byte
	for elem := range bytesconv.Elements(h.s.AppendValues(room[:0], msg.AcceptEncoding, nil)) {
		coding, params, _ := bytes.Cut(elem, []byte{';'})
		if bytesconv.EqualFold(bytes.TrimRight(coding, " \t"), acceptEncoding) {
			return !zeroWeight(params)
		}
	}
	return false
}

// zeroWeight reports whether there is a weight of 0 among the parameters:
//
//	weight = OWS ";" OWS "q=" ( "0" [ "." 0*3DIGIT ] / "1" [ "." 0*3("0") ] )
func zeroWeight(params []byte) bool {
	for len(params) > 0 {
		var p []byte
		p, params, _ = bytes.Cut(params, []byte{';'})
		p = bytes.Trim(p, " \t")
		if len(p) < 3 || p[0]|0x20 != 'q' || p[1] != '=' {
			continue
		}
		return len(bytes.Trim(p[2:], "0.")) == 0
	}
	return false
}

// ConnectionClose reports whether the connection ends after this request. It does
// if the request says "Connection: close", or if it was received as HTTP/1.0
// without a request for keep-alive (RFC 9112 section 9.3).
func (h *RequestHeader) ConnectionClose() bool {
	used(h.s.Loan)
	return h.s.Closes()
}

// ConnectionUpgrade reports whether Connection has the option "upgrade".
func (h *RequestHeader) ConnectionUpgrade() bool {
	used(h.s.Loan)
	return h.s.Conn&msg.ConnUpgrade != 0
}

// SetConnectionClose sets Connection to "close".
func (h *RequestHeader) SetConnectionClose() {
	used(h.s.Loan)
	h.s.Conn = msg.ConnClose
	if h.s.NoSpecial {
		h.s.Put(msg.Connection, msg.Connection.Name(), strClose, msg.Normalized)
		return
	}
	h.s.Del(msg.Connection, nil)
}

// ResetConnectionClose undoes "Connection: close"; other connection options
// stay.
func (h *RequestHeader) ResetConnectionClose() {
	used(h.s.Loan)
	if h.ConnectionClose() {
		h.s.Del(msg.Connection, nil)
		h.dropConnection()
	}
}

// dropConnection updates the header after its last Connection field was deleted.
func (h *RequestHeader) dropConnection() {
	h.s.Conn = 0
	if head.IsHTTP10(&h.s.Fields) {
		h.s.Conn = msg.ConnKeepAlive
	}
}

func (h *RequestHeader) setConnection(key, value []byte) {
	used(h.s.Loan)
	switch {
	case len(value) == 0:
		h.s.Del(msg.Connection, nil)
		h.s.Conn = 0
	case isClose(value):
		h.SetConnectionClose()
	default:
		h.s.Put(msg.Connection, key, value, h.s.Spelling)
		h.s.Conn = putConnection(&h.s.Fields)
	}
}

// connection is the value of Connection when the header is written.
func (h *RequestHeader) connection() []byte { return h.s.Connection(&h.text.connection) }
