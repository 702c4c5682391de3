package gale

import (
	"io"
	"net"
)

// Response is an HTTP response to send, or one that a client received. The zero value is
// an empty response with status 200 and is ready for use.
//
// Bytes that its methods return are borrowed, except where the documentation of a method
// says that they belong to the caller; see "Borrowed bytes" in the comment of the package.
// Copy them to keep them.
//
// A Response must not be copied (use CopyTo) and isn't safe for concurrent use.
type Response struct {
	noCopy noCopy

	// Header is the status line and the header section.
	Header ResponseHeader

	// ImmediateHeaderFlush makes the server send the header of a response with a body
	// stream, or a StreamWriter, before the first byte of the stream is available. Write
	// flushes the header, too.
	ImmediateHeaderFlush bool

	// StreamBody makes Read, ReadLimitBody and ReadBody, and clients, leave the body
	// unread. The caller reads it from BodyStream. Errors of the body are then errors of
	// that stream.
	StreamBody bool

	// SkipBody makes the methods that read a response read no body, and those that write
	// it write none. It is for the response to a HEAD request, whose header describes a
	// body that isn't sent (RFC 9110 section 9.3.2). If a handler sets it for another
	// method, the server sends an empty body (Content-Length: 0), whatever length or body
	// was set.
	SkipBody bool

	// KeepBodyBuffer makes Reset keep the buffer of the body, however large it is. It is
	// meant for a response that is used again and again with bodies of similar size. By
	// default buffers above 4 KiB go back to a pool. ReleaseResponse clears
	// KeepBodyBuffer, and so do servers between requests. CopyTo doesn't change it in the
	// destination.
	KeepBodyBuffer bool

	content
	writer *bodyWriter // what BodyWriter gave out, or nil

	remote, local net.Addr

	wasHead bool // SkipBody is set because a client's request was a HEAD
}

// Reset empties the response for its next use: the header, the body (a stream is closed),
// the addresses, and the flags except KeepBodyBuffer.
func (resp *Response) Reset() {
	used(resp.loan)
	if resp.hasStream() {
		_ = resp.closeStream(nil) // its closer may change the rest
		resp.bodyStream, resp.streamWriter = nil, nil
	}
	if resp.loan != nil {
		resp.renew()
		return
	}
	resp.reset()
}

// reset is Reset for a response without a stream.
func (resp *Response) reset() {
	resp.Header.reset()
	if b := resp.body; b != nil && cap(b.B) <= keepBody && resp.bodyRaw == nil && resp.remote == nil && resp.local == nil {
		b.B = b.B[:0] // as resetSkipHeader does
		resp.lent = false
	} else {
		resp.resetSkipHeader()
	}
	resp.SkipBody, resp.wasHead = false, false
	resp.StreamBody = false
	resp.ImmediateHeaderFlush = false
}

// contentFields are the fields that describe the present body of a response (RFC 9110
// sections 8 and 14.4, RFC 6266, RFC 9530).
var contentFields = [...]string{
	HeaderContentType, HeaderContentEncoding, HeaderContentLanguage, HeaderContentLength, HeaderContentLocation,
	HeaderContentRange, HeaderContentDisposition, "Content-Digest", "Repr-Digest", "Digest", "Content-MD5",
	HeaderETag, HeaderLastModified, HeaderTrailer, HeaderTransferEncoding,
}

// dropContent empties the body, and removes the fields and flags that belong to it.
func (resp *Response) dropContent() {
	resp.Header.SetStatusMessage(nil)
	for _, name := range contentFields {
		resp.Header.Del(name)
	}
	resp.ResetBody()
	resp.SkipBody, resp.ImmediateHeaderFlush = false, false
}

// resetSkipHeader empties everything except the header and the flags.
func (resp *Response) resetSkipHeader() {
	resp.ResetBody()
	if resp.remote != nil || resp.local != nil {
		resp.remote, resp.local = nil, nil
	}
}

// CopyTo makes dst a copy of resp that shares no memory with it, except the addresses, which
// don't change. A body of SetBodyRaw is copied too. It doesn't copy a body stream (call
// Body first to read it into memory). dst keeps its own KeepBodyBuffer.
func (resp *Response) CopyTo(dst *Response) {
	used(resp.loan)
	used(dst.loan)
	resp.Header.CopyTo(&dst.Header)
	dst.SkipBody = resp.SkipBody
	dst.StreamBody = resp.StreamBody
	dst.ImmediateHeaderFlush = resp.ImmediateHeaderFlush
	dst.remote, dst.local = resp.remote, resp.local
	resp.copyContent(&dst.content)
}

// moveTo makes dst what resp is, and takes over its body. resp keeps its header.
func (resp *Response) moveTo(dst *Response) {
	_ = dst.closeStream(nil)
	resp.Header.CopyTo(&dst.Header)
	dst.content, resp.content = resp.content, content{}
	dst.SkipBody, dst.StreamBody, dst.ImmediateHeaderFlush = resp.SkipBody, resp.StreamBody, resp.ImmediateHeaderFlush
	dst.remote, dst.local = resp.remote, resp.local
}

// StatusCode returns the status code. It is 200 unless another one was set.
func (resp *Response) StatusCode() int { return resp.Header.StatusCode() }

// SetStatusCode sets the status code. Valid are 100 to 999 (RFC 9110 section 15).
func (resp *Response) SetStatusCode(statusCode int) { resp.Header.SetStatusCode(statusCode) }

// ConnectionClose reports whether the response says `Connection: close`.
func (resp *Response) ConnectionClose() bool { return resp.Header.ConnectionClose() }

// SetConnectionClose makes the response say `Connection: close`.
func (resp *Response) SetConnectionClose() { resp.Header.SetConnectionClose() }

// ParseNetConn sets RemoteAddr and LocalAddr to the addresses of conn, from which the
// response came.
func (resp *Response) ParseNetConn(conn net.Conn) {
	used(resp.loan)
	resp.remote = conn.RemoteAddr()
	resp.local = conn.LocalAddr()
}

// RemoteAddr returns the address of the server that the response came from, or
// nil if it isn't known. It is shared: don't change it.
func (resp *Response) RemoteAddr() net.Addr {
	used(resp.loan)
	return resp.remote
}

// LocalAddr returns the client's own address, or nil if it isn't known. It is
// shared: don't change it.
func (resp *Response) LocalAddr() net.Addr {
	used(resp.loan)
	return resp.local
}

// Body returns the bytes of the body. If the body is a stream, Body reads it to its end
// and closes it. If that fails, the body is empty, so that a part is never mistaken for
// the whole, and BodyError says why. In fasthttp the body is then the text of the error.
// The bytes are borrowed: they are valid until resp changes or the handler returns.
func (resp *Response) Body() []byte {
	if resp.hasStream() {
		resp.readStream()
	}
	return resp.lendBody()
}

// BodyError returns why Body or another method could not read a body stream to its end.
// It is nil if there was no error, if the stream wasn't read, and after the body is reset
// or replaced. Writing a response with such a body returns the error, and a server
// answers 500 instead.
func (resp *Response) BodyError() error {
	used(resp.loan)
	return resp.readErr
}

// wholeBody is Body with BodyError.
func (resp *Response) wholeBody() ([]byte, error) { return resp.Body(), resp.readErr }

// SetBody sets the body to a copy of body.
func (resp *Response) SetBody(body []byte) { resp.setBody(body) }

// SetBodyString sets the body to a copy of body.
func (resp *Response) SetBodyString(body string) { resp.setBodyString(body) }

// SetBodyRaw sets the body to the slice body without copying it. The caller must not
// change the slice until the response is reset or its body is replaced.
func (resp *Response) SetBodyRaw(body []byte) { resp.setBodyRaw(body) }

// AppendBody appends a copy of p to the body. If a stream or a raw body was set, it is
// dropped first.
func (resp *Response) AppendBody(p []byte) { resp.appendBody(p) }

// AppendBodyString is AppendBody for a string.
func (resp *Response) AppendBodyString(s string) { resp.appendBodyString(s) }

// BodyWriter returns a writer that appends to the body as AppendBody does. The writer is
// borrowed: it is valid until resp is reset or the handler returns. When resp was released, or
// the server uses its memory for another request, Write returns an error.
func (resp *Response) BodyWriter() io.Writer {
	used(resp.loan)
	return lendWriter(&resp.writer, resp)
}

// SwapBody sets the body to the slice body without copying it, and returns the bytes of
// the old body. body belongs to the response from now on. If the old body is a stream, it
// is read to its end; if that fails, no bytes are returned and BodyError says why. The
// result belongs to the caller.
func (resp *Response) SwapBody(body []byte) []byte {
	if resp.loan != nil {
		return resp.swapLent(body)
	}
	return resp.swapBody(body)
}

// ResetBody empties the body. A stream is closed.
func (resp *Response) ResetBody() { resp.resetContent(resp.KeepBodyBuffer, &responseBodyLimit) }

// ReleaseBody drops the body if its buffer is larger than size bytes, so that its memory
// isn't kept for reuse. See SetBodySizePoolLimit for a limit for all responses.
func (resp *Response) ReleaseBody(size int) { resp.releaseBody(size) }

// IsBodyStream reports whether the body is a stream.
func (resp *Response) IsBodyStream() bool { return resp.hasStream() || resp.noStream() }

// BodyStream returns the body as a stream, or nil if the body isn't a stream. The caller
// closes it with CloseBodyStream, or leaves that to Reset. The stream of a response that
// was read with StreamBody, or received by a client, implements [ReadCloserWithError],
// and any goroutine may close it at any time. The stream is borrowed: it is valid until
// resp is reset or the handler returns.
func (resp *Response) BodyStream() io.Reader { return resp.stream() }

// CloseBodyStream closes the body's stream, if there is one, and drops it.
func (resp *Response) CloseBodyStream() error { return resp.closeStream(nil) }

// SetBodyStream sets the body to bodyStream. If bodySize >= 0, exactly bodySize bytes of
// it are sent, with a Content-Length. If it has fewer bytes, the response is aborted; if
// it has more, the rest is not read. If bodySize is negative, the stream is read to its
// end and sent chunked (RFC 9112 section 7.1).
//
// If the stream implements io.Closer, it is closed after it was read, and when the body
// is replaced or reset. If it implements [ReadCloserWithError], it gets the reason.
func (resp *Response) SetBodyStream(bodyStream io.Reader, bodySize int) {
	resp.setStream(bodyStream)
	resp.Header.SetContentLength(bodySize)
}

// SetBodyStreamWriter makes what sw writes the body, which is sent chunked. sw runs when
// the response is written, or when a method such as Body reads the body. In a server that
// is after the handler has returned, or never, if the response is dropped before.
func (resp *Response) SetBodyStreamWriter(sw StreamWriter) {
	resp.setStream(nil)
	resp.streamWriter = sw
	resp.Header.SetContentLength(-1)
}
