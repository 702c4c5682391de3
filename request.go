package gale

import (
	"bytes"
	"io"
	"mime/multipart"
	"sync/atomic"
	"time"

	"github.com/galehttp/gale/internal/msg"
)

// Request is an HTTP request, one that a server received or one to be sent.
// The zero value is a GET request without a host and ready for use.
//
// Byte slices that its methods return point into the request: they are valid
// until it is changed, reset or released, for a request that a server serves
// that is until the handler returns. Copy them to keep them.
//
// A Request must not be copied (use CopyTo) and isn't safe for concurrent use.
type Request struct {
	noCopy noCopy

	// Header is the request line and the header section.
	Header RequestHeader

	// KeepBodyBuffer keeps the buffer of the body, however large, when the
	// request is reset, for a request that is used again and again with
	// bodies of like size. By default larger buffers go back to the pools. ReleaseRequest
	// clears it, and so do servers between requests; CopyTo leaves it alone in the
	// destination.
	KeepBodyBuffer bool

	// UseHostHeader makes Write send the Host that was set on Header even if
	// a URI with another host was set.
	UseHostHeader bool

	// DisableRedirectPathNormalizing makes clients follow redirects to the
	// path as it was given, without the normalisation that URI describes.
	DisableRedirectPathNormalizing bool

	content

	uri       URI
	uriParsed bool // uri counts, and not the target of the header
	uriBad    bool // the target is no path, and no valid URI either; as uriParsed is set
	uriUsed   bool // uri isn't as Reset leaves it; set wherever uriParsed is
	isTLS     bool // the request came, or must go, by https

	postArgs       Args
	postArgsParsed bool // else postArgs is as Reset leaves it

	form    *multipart.Form
	formRaw bool // the body holds the form too; else the form is the body, or there is none
	files   atomic.Pointer[formFiles]

	userValues userValues
	timeout    time.Duration
	call       *call // while a client's RoundTripper has the request
	whole      bool  // a client reads the response's body, even if it streams others
	forward    bool  // the client that has the request sends it to a proxy
}

// Reset empties the request for its next use: header, body (a stream is
// closed), form (its temporary files are removed), user values (those that
// implement io.Closer are closed), timeout and flags except KeepBodyBuffer.
func (req *Request) Reset() {
	if req.hasClosers() {
		req.runClosers()
	}
	req.reset()
}

// reset is Reset for a request without closers.
func (req *Request) reset() {
	req.Header.Reset()
	if req.isBare() {
		req.lent, req.isTLS = false, false
	} else {
		req.resetMessage()
	}
	req.timeout = 0
	req.whole, req.forward = false, false
	req.UseHostHeader = false
	req.DisableRedirectPathNormalizing = false
}

// isBare reports whether a request without closers has nothing but a header, which is
// how most requests of a server end. What is not looked at here follows, see the fields.
func (req *Request) isBare() bool {
	return req.body == nil && req.bodyRaw == nil && !req.uriUsed && !req.postArgsParsed && req.form == nil
}

// hasClosers reports whether runClosers has something to do.
func (req *Request) hasClosers() bool { return len(req.userValues) > 0 || req.hasStream() }

// closerRounds is how often runClosers looks for what closers have set.
const closerRounds = 4

// runClosers closes and drops the body stream and the user values. This is all of
// Reset that runs code of others, which may change the request: so it comes first.
func (req *Request) runClosers() {
	for range closerRounds {
		if !req.hasClosers() {
			return
		}
		req.userValues.reset()
		_ = req.closeStream(nil)
	}
	clear(req.userValues)
	req.userValues = req.userValues[:0]
	req.bodyStream, req.streamWriter = nil, nil
}

// resetMessage empties what belongs to the message after its header.
func (req *Request) resetMessage() {
	req.ResetBody()
	if req.uriUsed {
		req.uri.Reset()
		req.uriParsed, req.uriBad, req.uriUsed = false, false, false
	}
	if req.postArgsParsed {
		req.postArgs.Reset()
		req.postArgsParsed = false
	}
	req.isTLS = false
}

// CopyTo makes dst a copy of req that shares nothing with it. A body stream
// isn't copied, nor are user values, the timeout and KeepBodyBuffer, which dst
// keeps.
func (req *Request) CopyTo(dst *Request) {
	req.copyToSkipBody(dst)
	if req.form != nil && !req.formRaw {
		if b := req.Body(); req.readErr != nil {
			dst.fail(req.readErr)
		} else {
			dst.setBody(b)
		}
		return
	}
	req.copyContent(&dst.content)
}

func (req *Request) copyToSkipBody(dst *Request) {
	dst.removeForm()
	req.Header.CopyTo(&dst.Header)
	req.uri.CopyTo(&dst.uri)
	dst.uriParsed, dst.uriBad, dst.uriUsed = req.uriParsed, req.uriBad, req.uriUsed
	req.postArgs.CopyTo(&dst.postArgs)
	dst.postArgsParsed = req.postArgsParsed
	dst.isTLS = req.isTLS
	dst.UseHostHeader = req.UseHostHeader
	dst.DisableRedirectPathNormalizing = req.DisableRedirectPathNormalizing
}

// URI returns the request's URI, made of the Host and the target of the header
// when it is first asked for. Changes made to it go into the request when it is
// written. It belongs to the request.
//
// If the target is a URI that is invalid, the result is empty, changes to it are
// lost, and the request can't be written: set another target.
func (req *Request) URI() *URI {
	_ = req.parseURI() // sending it returns the error
	return &req.uri
}

// parseURI makes the URI of the header, unless that was done. The error of the host
// of a path is returned once; what is left without a host then can't be sent.
func (req *Request) parseURI() error {
	if req.uriParsed && !req.uriBad {
		return nil
	}
	req.uriParsed, req.uriBad, req.uriUsed = true, false, true
	host, target := req.Header.Host(), req.Header.RequestURI()
	// What was received as "//a/b" is a path in any case (RFC 9112 section
	// 3.2.1); in URIs that are made here, "//a" names the host.
	received := len(req.Header.s.Part(msg.Raw)) > 0
	var err error
	switch {
	case !received:
		err = req.uri.Parse(host, target)
	case len(host) == 0 && bytes.HasPrefix(target, doubleSlash):
		err = ErrorInvalidURI
	default:
		err = req.uri.parseTarget(host, target)
	}
	if err != nil && len(target) > 0 && target[0] == '/' {
		// The path doesn't depend on the host. Without a host, Write fails.
		req.uri.Reset()
		path, query, _ := bytes.Cut(target, []byte{'?'})
		req.uri.SetPathBytes(path)
		req.uri.SetQueryStringBytes(query)
	} else if err != nil {
		req.uriBad = true
		return err
	}
	if req.isTLS {
		req.uri.SetScheme("https")
	}
	return err
}

// parseTargetURI is parseURI without the errors of hosts that go with a path: they
// end in a URI without a host. A target that is an invalid URI leaves nothing to
// send to any host, be it set by other means.
func (req *Request) parseTargetURI() error {
	if err := req.parseURI(); req.uriBad {
		return err
	}
	return nil
}

// SetURI makes the request's URI a copy of newURI; nil empties it.
func (req *Request) SetURI(newURI *URI) {
	if newURI == nil {
		req.uri.Reset()
		req.uriParsed, req.uriBad = false, false
		return
	}
	newURI.CopyTo(&req.uri)
	req.uriParsed, req.uriBad, req.uriUsed = true, false, true
}

// SetRequestURI sets the target of the request: a path with a query, or a
// whole URI, from which Write takes the Host.
func (req *Request) SetRequestURI(requestURI string) {
	req.Header.SetRequestURI(requestURI)
	req.uriParsed, req.uriBad = false, false
}

// SetRequestURIBytes is SetRequestURI for bytes, which are copied.
func (req *Request) SetRequestURIBytes(requestURI []byte) {
	req.Header.SetRequestURIBytes(requestURI)
	req.uriParsed, req.uriBad = false, false
}

// RequestURI returns the target as it would be written. Changes that were made
// to URI go into the header by this; when the target was a whole URI, its host
// is not in the target any more afterwards.
func (req *Request) RequestURI() []byte {
	if req.uriParsed && !req.uriBad {
		req.Header.SetRequestURIBytes(req.target())
		req.uriParsed = false
	}
	return req.Header.RequestURI()
}

// target returns the request-target for the parsed URI (RFC 9112 section 3.2).
// Targets that are no path are left as they are.
func (req *Request) target() []byte {
	set := req.Header.RequestURI()
	switch {
	case string(set) == "*":
		return set
	case !req.Header.IsConnect():
		return req.uri.RequestURI()
	case bytes.Contains(set, []byte("://")):
		return req.uri.Host()
	}
	return set
}

// forwardTarget returns the target of req as a proxy wants it: the whole URI (RFC
// 9112 section 3.2.2).
func (req *Request) forwardTarget() []byte {
	u := &req.uri
	if u.host.empty() {
		return req.target()
	}
	return u.appendRequestURI(append(append([]byte(nil), "http://"...), u.Host()...))
}

// Host returns the host of the URI, with its port if one is given.
func (req *Request) Host() []byte { return req.URI().Host() }

// SetHost sets the host of the URI.
func (req *Request) SetHost(host string) { req.URI().SetHost(host) }

// SetHostBytes is SetHost for bytes, which are copied.
func (req *Request) SetHostBytes(host []byte) { req.URI().SetHostBytes(host) }

// ConnectionClose reports whether the request says `Connection: close`.
func (req *Request) ConnectionClose() bool { return req.Header.ConnectionClose() }

// SetConnectionClose makes the request say `Connection: close`.
func (req *Request) SetConnectionClose() { req.Header.SetConnectionClose() }

// SetTimeout limits how long a client may take for the whole exchange: from
// waiting for a connection to the last byte of the response's body, or to its
// header if the body is streamed. A client's own limits hold beside it. 0, the
// default, sets no limit.
func (req *Request) SetTimeout(t time.Duration) { req.timeout = t }

// GetTimeOut returns what SetTimeout set.
func (req *Request) GetTimeOut() time.Duration { return req.timeout }

// Body returns the body's bytes. A stream is read to its end and closed for
// that. If it fails, the body is empty, and BodyError says why: nothing of a
// message that was broken off is taken for the whole (in fasthttp the body is the
// error's text). A form that was read from the connection is written out again.
//
// A server answers with 413, 400 or 408 for a handler that got such an empty body and
// asked neither BodyError nor another method that returns the error, see
// Server.StreamRequestBody.
//
// The slice belongs to the request; see there.
func (req *Request) Body() []byte {
	if req.hasStream() {
		req.readStream()
	} else if req.form != nil && !req.formRaw {
		b, err := req.marshalForm()
		req.readErr, req.told = err, false
		return b
	}
	return req.lendBody()
}

// BodyError returns why the body could not be read to its end by Body, PostArgs,
// MultipartForm or what else reads a streamed body whole: the client broke off or
// broke the chunked coding (io.ErrUnexpectedEOF and others), the body was too long
// ([ErrBodyTooLarge]), its time was over ([ErrTimeout]), or what a program set as a
// stream failed. It is nil if all went well, if the body wasn't read, and once
// the body is reset or replaced. A request with such a body can't be written: that
// returns the error. Not in fasthttp.
func (req *Request) BodyError() error { return req.heard() }

// wholeBody is Body with BodyError.
func (req *Request) wholeBody() ([]byte, error) {
	b := req.Body()
	return b, req.heard()
}

// SetBody makes a copy of body the body.
func (req *Request) SetBody(body []byte) {
	req.removeForm()
	req.setBody(body)
}

// SetBodyString makes a copy of body the body.
func (req *Request) SetBodyString(body string) {
	req.removeForm()
	req.setBodyString(body)
}

// SetBodyRaw makes body itself the body, without copying it. The caller must
// leave it alone until the request is reset or its body replaced.
func (req *Request) SetBodyRaw(body []byte) {
	req.removeForm()
	req.setBodyRaw(body)
}

// AppendBody appends a copy of p to the body. A stream or raw body that was set
// is dropped.
func (req *Request) AppendBody(p []byte) {
	req.removeForm()
	req.appendBody(p)
}

// AppendBodyString appends a copy of s; see AppendBody.
func (req *Request) AppendBodyString(s string) {
	req.removeForm()
	req.appendBodyString(s)
}

// BodyWriter returns a writer that appends to the body as AppendBody does. It
// is good as long as the request is.
func (req *Request) BodyWriter() io.Writer { return (*requestBodyWriter)(req) }

type requestBodyWriter Request

func (w *requestBodyWriter) Write(p []byte) (int, error) {
	(*Request)(w).AppendBody(p)
	return len(p), nil
}

func (w *requestBodyWriter) WriteString(s string) (int, error) {
	(*Request)(w).AppendBodyString(s)
	return len(s), nil
}

// SwapBody makes body the body, without copying it, and returns the bytes of
// the one before, which are the caller's then; a stream is read to its end for
// that. If it fails there are none, and BodyError says why. body belongs to the
// request from now on.
func (req *Request) SwapBody(body []byte) []byte {
	if req.form != nil && !req.formRaw {
		b, err := req.marshalForm()
		req.removeForm()
		if err != nil {
			req.fail(err)
			if len(body) > 0 {
				req.bodyRaw = body
			}
			return nil
		}
		req.setBody(b)
	}
	req.removeForm()
	return req.swapBody(body)
}

// ResetBody empties the body: a stream is closed, a form's temporary files are
// removed.
func (req *Request) ResetBody() {
	req.removeForm()
	req.resetContent(req.KeepBodyBuffer, &requestBodyLimit)
}

// ReleaseBody drops the body if its buffer is larger than size bytes, so that
// its memory isn't kept for reuse. See SetBodySizePoolLimit for a rule for all.
func (req *Request) ReleaseBody(size int) { req.releaseBody(size) }

// IsBodyStream reports whether the body is a stream.
func (req *Request) IsBodyStream() bool { return req.hasStream() }

// BodyStream returns the body as a stream, or nil if it is bytes. The caller
// closes it with CloseBodyStream, or leaves that to Reset.
func (req *Request) BodyStream() io.Reader { return req.stream() }

// CloseBodyStream closes the body's stream, if there is one, and drops it.
func (req *Request) CloseBodyStream() error { return req.closeStream(nil) }

// SetBodyStream makes bodyStream the body. With bodySize >= 0 that many bytes of it
// are sent, with a Content-Length: fewer are an error, and what it has after them is
// not read. With a negative bodySize it is read to its end and sent in the chunked
// coding (RFC 9112 section 7.1).
//
// The stream is closed after it was read, and when the body is replaced or
// reset, if it implements io.Closer; it is told why if it implements
// [ReadCloserWithError].
func (req *Request) SetBodyStream(bodyStream io.Reader, bodySize int) {
	req.removeForm()
	req.setStream(bodyStream)
	req.Header.SetContentLength(bodySize)
}

// SetBodyStreamWriter makes what sw writes the body, sent in the chunked
// coding. sw runs when the request is written, or its body asked for.
func (req *Request) SetBodyStreamWriter(sw StreamWriter) {
	req.removeForm()
	req.setStream(nil)
	req.streamWriter = sw
	req.Header.SetContentLength(-1)
}
