package gale

import (
	"io"
	"net"
)

// Response is an HTTP response, one that is to be sent or one that a client
// received. The zero value is an empty response with status 200 and ready for
// use.
//
// Byte slices that its methods return point into the response: they are valid
// until it is changed, reset or released, for a response that a handler makes
// that is until the handler returns. Copy them to keep them.
//
// A Response must not be copied (use CopyTo) and isn't safe for concurrent use.
type Response struct {
	noCopy noCopy

	// Header is the status line and the header section.
	Header ResponseHeader

	// ImmediateHeaderFlush sends the header of a response with a body stream
	// before the stream's first byte is there.
	ImmediateHeaderFlush bool

	// StreamBody makes the reading functions leave the body where it is, to
	// be read from BodyStream. Errors of the body are then errors of that
	// stream.
	StreamBody bool

	// SkipBody makes the reading functions read no body, and the writing
	// functions write none: for the answer to a HEAD request, whose header
	// speaks of a body that isn't there (RFC 9110 section 9.3.2). A server
	// answers another request with an empty body then (Content-Length: 0),
	// whatever length or body was set.
	SkipBody bool

	// KeepBodyBuffer keeps the buffer of the body, however large, when the
	// response is reset, for a response that is used again and again with
	// bodies of like size. By default larger buffers go back to the pools.
	// ReleaseResponse clears it, and so do servers between requests; CopyTo leaves it
	// alone in the destination.
	KeepBodyBuffer bool

	content

	remote, local net.Addr

	wasHead bool // SkipBody is set because a client's request was a HEAD
}

// Reset empties the response for its next use: header, body (a stream is
// closed), addresses and flags except KeepBodyBuffer.
func (resp *Response) Reset() {
	if resp.hasStream() {
		_ = resp.closeStream(nil) // its closer may change the rest
		resp.bodyStream, resp.streamWriter = nil, nil
	}
	resp.reset()
}

// reset is Reset for a response without a stream.
func (resp *Response) reset() {
	resp.Header.Reset()
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

// contentFields describe the body of a response and no other (RFC 9110 sections 8 and
// 14.4, RFC 6266, RFC 9530).
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

// resetSkipHeader empties all but the header and the flags.
func (resp *Response) resetSkipHeader() {
	resp.ResetBody()
	if resp.remote != nil || resp.local != nil {
		resp.remote, resp.local = nil, nil
	}
}

// CopyTo makes dst a copy of resp that shares nothing with it. A body stream
// isn't copied (call Body before to have its bytes), nor is KeepBodyBuffer,
// which dst keeps.
func (resp *Response) CopyTo(dst *Response) {
	resp.Header.CopyTo(&dst.Header)
	dst.SkipBody = resp.SkipBody
	dst.StreamBody = resp.StreamBody
	dst.ImmediateHeaderFlush = resp.ImmediateHeaderFlush
	dst.remote, dst.local = resp.remote, resp.local
	resp.copyContent(&dst.content)
}

// StatusCode returns the status code; 200 unless another was set.
func (resp *Response) StatusCode() int { return resp.Header.StatusCode() }

// SetStatusCode sets the status code. Valid are 100 to 999 (RFC 9110 section 15).
func (resp *Response) SetStatusCode(statusCode int) { resp.Header.SetStatusCode(statusCode) }

// ConnectionClose reports whether the response says `Connection: close`.
func (resp *Response) ConnectionClose() bool { return resp.Header.ConnectionClose() }

// SetConnectionClose makes the response say `Connection: close`.
func (resp *Response) SetConnectionClose() { resp.Header.SetConnectionClose() }

// ParseNetConn notes the addresses of the connection that the response came
// from.
func (resp *Response) ParseNetConn(conn net.Conn) {
	resp.remote = conn.RemoteAddr()
	resp.local = conn.LocalAddr()
}

// RemoteAddr returns the address of the server that the response came from, or
// nil if it isn't known. It is shared: don't change it.
func (resp *Response) RemoteAddr() net.Addr { return resp.remote }

// LocalAddr returns the client's own address, or nil if it isn't known. It is
// shared: don't change it.
func (resp *Response) LocalAddr() net.Addr { return resp.local }

// Body returns the body's bytes. A stream is read to its end and closed for
// that. If it fails, the body is empty, and BodyError says why: nothing of what was
// broken off is taken for the whole (in fasthttp the body is the error's text).
//
// The slice belongs to the response; see there.
func (resp *Response) Body() []byte {
	if resp.hasStream() {
		resp.readStream()
	}
	return resp.lendBody()
}

// BodyError returns why a stream that was the body could not be read to its end by
// Body or what else reads it whole. It is nil if all went well, if the stream wasn't
// read, and once the body is reset or replaced. A response with such a body can't be
// written: that returns the error, and a server answers with 500 instead. Not in
// fasthttp.
func (resp *Response) BodyError() error { return resp.readErr }

// wholeBody is Body with BodyError.
func (resp *Response) wholeBody() ([]byte, error) { return resp.Body(), resp.readErr }

// SetBody makes a copy of body the body.
func (resp *Response) SetBody(body []byte) { resp.setBody(body) }

// SetBodyString makes a copy of body the body.
func (resp *Response) SetBodyString(body string) { resp.setBodyString(body) }

// SetBodyRaw makes body itself the body, without copying it. The caller must
// leave it alone until the response is reset or its body replaced.
func (resp *Response) SetBodyRaw(body []byte) { resp.setBodyRaw(body) }

// AppendBody appends a copy of p to the body. A stream or raw body that was set
// is dropped.
func (resp *Response) AppendBody(p []byte) { resp.appendBody(p) }

// AppendBodyString appends a copy of s; see AppendBody.
func (resp *Response) AppendBodyString(s string) { resp.appendBodyString(s) }

// BodyWriter returns a writer that appends to the body as AppendBody does. It
// is good as long as the response is: in a handler, until it returns.
func (resp *Response) BodyWriter() io.Writer { return (*responseBodyWriter)(resp) }

type responseBodyWriter Response

func (w *responseBodyWriter) Write(p []byte) (int, error) {
	w.appendBody(p)
	return len(p), nil
}

func (w *responseBodyWriter) WriteString(s string) (int, error) {
	w.appendBodyString(s)
	return len(s), nil
}

// SwapBody makes body the body, without copying it, and returns the bytes of
// the one before, which are the caller's then; a stream is read to its end for
// that. If it fails there are none, and BodyError says why. body belongs to the
// response from now on.
func (resp *Response) SwapBody(body []byte) []byte { return resp.swapBody(body) }

// ResetBody empties the body; a stream is closed.
func (resp *Response) ResetBody() { resp.resetContent(resp.KeepBodyBuffer, &responseBodyLimit) }

// ReleaseBody drops the body if its buffer is larger than size bytes, so that
// its memory isn't kept for reuse. See SetBodySizePoolLimit for a rule for all.
func (resp *Response) ReleaseBody(size int) { resp.releaseBody(size) }

// IsBodyStream reports whether the body is a stream.
func (resp *Response) IsBodyStream() bool { return resp.hasStream() }

// BodyStream returns the body as a stream, or nil if it is bytes. The caller
// closes it with CloseBodyStream, or leaves that to Reset. The stream of a
// response that was read with StreamBody, or received by a client, implements
// [ReadCloserWithError], and may be closed from any goroutine at any time.
func (resp *Response) BodyStream() io.Reader { return resp.stream() }

// CloseBodyStream closes the body's stream, if there is one, and drops it.
func (resp *Response) CloseBodyStream() error { return resp.closeStream(nil) }

// SetBodyStream makes bodyStream the body. With bodySize >= 0 that many bytes of it
// are sent, with a Content-Length: if it has fewer, the response is broken off, and
// what it has after them is not read. With a negative bodySize it is read to its end
// and sent in the chunked coding (RFC 9112 section 7.1).
//
// The stream is closed after it was read, and when the body is replaced or
// reset, if it implements io.Closer; it is told why if it implements
// [ReadCloserWithError].
func (resp *Response) SetBodyStream(bodyStream io.Reader, bodySize int) {
	resp.setStream(bodyStream)
	resp.Header.SetContentLength(bodySize)
}

// SetBodyStreamWriter makes what sw writes the body, sent in the chunked
// coding. sw runs when the response is written, or its body asked for; in a
// server that is after the handler returned, and never if the response is
// dropped before.
func (resp *Response) SetBodyStreamWriter(sw StreamWriter) {
	resp.setStream(nil)
	resp.streamWriter = sw
	resp.Header.SetContentLength(-1)
}
