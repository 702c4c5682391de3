package gale

import (
	"bytes"
	"time"

	"github.com/galehttp/gale/internal/bytesconv"
	"github.com/galehttp/gale/internal/clock"
	"github.com/galehttp/gale/internal/head"
	"github.com/galehttp/gale/internal/msg"
)

// StatusCode returns the status code, or 200 if none was set.
func (h *ResponseHeader) StatusCode() int {
	if h.s.Status == 0 {
		return h.noStatus()
	}
	return h.s.Status
}

// noStatus returns 200, the status of a response without one.
//
//go:noinline so that StatusCode is inlined
func (h *ResponseHeader) noStatus() int {
	used(h.s.Loan)
	return StatusOK
}

// SetStatusCode sets the status code; 0 means 200. A code outside of 100 to 999
// isn't a status code (RFC 9110 section 15) and is written as 500.
func (h *ResponseHeader) SetStatusCode(statusCode int) {
	if h.s.Loan != nil {
		h.s.Loan.Use()
	}
	h.s.Status = statusCode
}

// StatusMessage returns the reason phrase that was received or set; it is empty if
// that is the default one, see [StatusMessage]. The bytes are borrowed: they are
// valid until h changes or the handler returns.
func (h *ResponseHeader) StatusMessage() []byte {
	used(h.s.Loan)
	return h.s.Part(msg.Reason)
}

// SetStatusMessage sets the reason phrase. It stays when the code changes. An empty
// one means the default of the code. Control characters become spaces.
func (h *ResponseHeader) SetStatusMessage(statusMessage []byte) {
	used(h.s.Loan)
	h.s.SetPart(msg.Reason, statusMessage)
	bytesconv.NeutralizeText(h.s.Part(msg.Reason))
}

// Protocol returns the version of the status line, or "HTTP/1.1" if none was set.
// The bytes are borrowed: they are valid until h changes or the handler returns.
func (h *ResponseHeader) Protocol() []byte {
	if p := h.s.Part(msg.Proto); len(p) > 0 {
		return p
	}
	used(h.s.Loan)
	return strHTTP11
}

// SetProtocol sets the version of the status line; control characters in it
// become spaces.
func (h *ResponseHeader) SetProtocol(protocol []byte) {
	used(h.s.Loan)
	setProtocol(&h.s.Fields, &h.s.Minor, protocol)
}

// IsHTTP11 reports whether the version is HTTP/1.1.
func (h *ResponseHeader) IsHTTP11() bool { return string(h.Protocol()) == "HTTP/1.1" }

// Server returns the value of Server that was received or set. In a handler it is
// at first the name of the server. The server writes its name also if the field is
// deleted; see Server.Name and Server.NoDefaultServerHeader. The bytes are
// borrowed: they are valid until h changes or the handler returns.
func (h *ResponseHeader) Server() []byte {
	if v := h.s.Slot(msg.Server); v != nil {
		return v
	}
	if v := h.peekPlain(msg.Server, nil); v != nil || h.defaultServer == "" {
		return v
	}
	return bytesconv.S2B(h.defaultServer)
}

// SetServer sets Server; an empty value deletes it.
func (h *ResponseHeader) SetServer(server string) {
	if h.s.SetServerAgain(server) {
		return
	}
	h.setOne(msg.Server, msg.Server.Name(), bytesconv.S2B(server))
}

// SetServerBytes is [ResponseHeader.SetServer] for a []byte.
func (h *ResponseHeader) SetServerBytes(server []byte) { h.SetServer(bytesconv.B2S(server)) }

// ContentType returns the value of Content-Type. If there is none, it returns the
// default, "text/plain; charset=utf-8", or nil if SetNoDefaultContentType was
// called. The bytes are borrowed: they are valid until h changes or the handler
// returns.
func (h *ResponseHeader) ContentType() []byte {
	if v := h.s.Slot(msg.ContentType); v != nil {
		return v
	}
	if i := h.s.Find(msg.ContentType); i >= 0 && h.s.Recs[i].ValLen > 0 {
		return h.s.Value(i)
	}
	if h.s.Implied&head.NoDefaultType != 0 {
		return nil
	}
	used(h.s.Loan)
	return strTextType
}

// SetContentType sets Content-Type; an empty value means the default.
func (h *ResponseHeader) SetContentType(contentType string) {
	if h.s.SetTypeAgain(contentType) {
		return
	}
	h.setOne(msg.ContentType, msg.ContentType.Name(), bytesconv.S2B(contentType))
}

// SetContentTypeBytes is [ResponseHeader.SetContentType] for a []byte.
func (h *ResponseHeader) SetContentTypeBytes(contentType []byte) {
	h.SetContentType(bytesconv.B2S(contentType))
}

// ContentEncoding returns the value of Content-Encoding (RFC 9110 section 8.4). The
// bytes are borrowed: they are valid until h changes or the handler returns.
func (h *ResponseHeader) ContentEncoding() []byte { return h.s.Peek(msg.ContentEncoding) }

// SetContentEncoding sets Content-Encoding; an empty value deletes it.
func (h *ResponseHeader) SetContentEncoding(contentEncoding string) {
	h.SetContentEncodingBytes(bytesconv.S2B(contentEncoding))
}

// SetContentEncodingBytes is [ResponseHeader.SetContentEncoding] for a []byte.
func (h *ResponseHeader) SetContentEncodingBytes(contentEncoding []byte) {
	h.setOne(msg.ContentEncoding, msg.ContentEncoding.Name(), contentEncoding)
}

// SetContentRange sets Content-Range to "bytes startPos-endPos/contentLength"
// (RFC 9110 section 14.4). Both positions are inclusive.
func (h *ResponseHeader) SetContentRange(startPos, endPos, contentLength int) {
	used(h.s.Loan)
	var buf [80]byte
	b := append(buf[:0], "bytes "...)
	b = append(bytesconv.AppendInt(b, startPos), '-')
	b = append(bytesconv.AppendInt(b, endPos), '/')
	b = bytesconv.AppendInt(b, contentLength)
	h.s.Put(msg.ContentRange, msg.ContentRange.Name(), b, msg.Normalized)
}

// SetLastModified sets Last-Modified to t, in whole seconds.
func (h *ResponseHeader) SetLastModified(t time.Time) {
	used(h.s.Loan)
	var buf [clock.DateLen]byte
	name := msg.LastModified.Name()
	h.place(msg.LastModified, name).Put(msg.LastModified, name, clock.AppendDateAt(buf[:0], t), msg.Normalized)
}

// ContentLength returns the length of the body in bytes. It is -1 for a chunked
// body, and -2 for a body that ends when the connection ends (RFC 9112 section
// 6.3). It is -3 for a response to HEAD that doesn't say it, which only package
// adaptor makes. On systems of 32 bits it is -1, too, for a length of 2 GiB or more: an
// int can't hold it, and a shorter one would cut the body.
func (h *ResponseHeader) ContentLength() int {
	used(h.s.Loan)
	return lengthAsInt(h.s.ContentLength)
}

// SetContentLength sets the length of the body in bytes. -1 means that the body is
// sent chunked, a smaller number that it ends when the connection ends. When a
// response is written, its body decides. Responses with a status that allows no
// body (1xx, 204, 304) have no length: for them it only deletes a length that was
// received.
func (h *ResponseHeader) SetContentLength(contentLength int) {
	used(h.s.Loan)
	switch {
	case contentLength >= 0:
		h.setLength(int64(contentLength))
	case contentLength == msg.LenChunked:
		h.setLength(msg.LenChunked)
	case statusHasBody(h.s.Status):
		h.setLength(msg.LenUnknown)
		h.SetConnectionClose()
	}
}

func (h *ResponseHeader) setLength(n int64) {
	if h.s.Seen()&(1<<msg.ContentLength|1<<msg.TransferEncoding) != 0 {
		h.dropFraming()
		h.s.ContentLength, h.s.LengthSet = 0, false
	}
	if !statusHasBody(h.s.Status) {
		return
	}
	h.s.ContentLength, h.s.LengthSet = n, true
}

// dropFraming deletes the received fields that ContentLength was derived from.
func (h *ResponseHeader) dropFraming() {
	h.s.Del(msg.ContentLength, nil)
	h.s.Del(msg.TransferEncoding, nil)
}

// statusHasBody is head.StatusHasBody.
func statusHasBody(status int) bool { return head.StatusHasBody(status) }

// ConnectionClose reports whether the connection ends after this response. It does
// if the response says "Connection: close", if only the end of the connection ends
// its body, or if it was received as HTTP/1.0 without keep-alive (RFC 9112 section
// 9.3).
func (h *ResponseHeader) ConnectionClose() bool {
	used(h.s.Loan)
	return h.s.Closes()
}

// mayClose is a quick test: if it is false, ConnectionClose is false too.
func (h *ResponseHeader) mayClose() bool { return h.s.MayClose() }

// ConnectionUpgrade reports whether Connection has the option "upgrade". In a
// response that was received as HTTP/1.0 the option counts only together with
// "keep-alive".
func (h *ResponseHeader) ConnectionUpgrade() bool {
	used(h.s.Loan)
	return h.s.Conn&msg.ConnUpgrade != 0 && (h.s.Conn&msg.ConnKeepAlive != 0 || !head.IsHTTP10(&h.s.Fields))
}

// SetConnectionClose sets Connection to "close".
func (h *ResponseHeader) SetConnectionClose() {
	used(h.s.Loan)
	h.s.Conn = msg.ConnClose
	if h.s.Seen()&(1<<msg.Connection) != 0 {
		h.s.Del(msg.Connection, nil)
	}
}

// ResetConnectionClose undoes "Connection: close"; other connection options
// stay.
func (h *ResponseHeader) ResetConnectionClose() {
	used(h.s.Loan)
	if h.ConnectionClose() {
		h.s.Del(msg.Connection, nil)
		h.dropConnection()
	}
}

// dropConnection updates the header after its last Connection field was deleted.
func (h *ResponseHeader) dropConnection() {
	h.s.Conn = 0
	if head.IsHTTP10(&h.s.Fields) {
		h.s.Conn = msg.ConnKeepAlive
	}
}

func (h *ResponseHeader) setConnection(key, value []byte) {
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
func (h *ResponseHeader) connection() []byte { return h.s.Connection(&h.text.connection) }

// setCookieKey returns the name of the cookie in a Set-Cookie value, or nothing if
// there is no "=" (RFC 6265 section 5.2).
func setCookieKey(value []byte) []byte {
	pair, _, _ := bytes.Cut(value, []byte{';'})
	n := bytes.IndexByte(pair, '=')
	if n < 0 {
		return nil
	}
	return bytes.Trim(pair[:n], " \t")
}
