package gale

import (
	"bytes"
	"io"
	"mime/multipart"
	"sync/atomic"
	"time"

	"github.com/galehttp/gale/internal/door"
)

// Request is an HTTP request that a server received, or one to send. The zero value is a
// GET request without a host and is ready for use.
//
// Bytes that its methods return are borrowed, except where the documentation of a method
// says that they belong to the caller; see "Borrowed bytes" in the comment of the package.
// Copy them to keep them.
//
// A Request must not be copied (use CopyTo) and isn't safe for concurrent use.
type Request struct {
	noCopy noCopy

	// Header is the request line and the header section.
	Header RequestHeader

	// KeepBodyBuffer makes Reset keep the buffer of the body, however large it is. It is
	// meant for a request that is used again and again with bodies of similar size. By
	// default buffers above 4 KiB go back to a pool. ReleaseRequest clears
	// KeepBodyBuffer, and so do servers between requests. CopyTo doesn't change it in the
	// destination.
	KeepBodyBuffer bool

	// UseHostHeader makes Write send the Host that was set on Header even if the URI has
	// another host.
	UseHostHeader bool

	// DisableRedirectPathNormalizing makes clients follow redirects to the path exactly
	// as the server sent it, without the normalization that URI describes.
	DisableRedirectPathNormalizing bool

	content
	streamFrom int64       // how many bytes of the stream were read when it became the body; see mustBeWhole
	writer     *bodyWriter // what BodyWriter gave out, and MultipartReader reads until, or nil

	uri        URI
	uriParsed  bool // uri is used, not the target of the header
	uriBad     bool // the target is neither a path nor a valid URI; set together with uriParsed
	uriUsed    bool // uri isn't as Reset leaves it; set wherever uriParsed and keepsSlash are
	keepsSlash bool // uri keeps encoded slashes, see door.KeepSlashes
	routed     bool // a router reads the request: the path keeps slashes, see door.BeginRoute
	isTLS      bool // the request came, or must be sent, by https

	postArgs       Args
	postArgsParsed bool // else postArgs is as Reset leaves it

	form         *multipart.Form
	formRaw      bool   // the body held the form, too, when it had the sum formSum; else the form is the body, or there is none
	formSum      uint64 // see sumForm
	formBoundary string // of the form when it is written
	files        atomic.Pointer[formFiles]

	userValues   userValues
	timeout      time.Duration
	protocol     string // :protocol of an extended CONNECT, or empty
	call         *call  // while a client's RoundTripper has the request
	whole        bool   // a client reads the response's body, even if it streams others
	forward      bool   // the client that sends the request sends it to a proxy
	valueChanges uint32 // of userValues, counted for RequestCtx.Context
}

func init() {
	door.KeepSlashes = func(req any) {
		r := req.(*Request)
		r.keepsSlash, r.uriUsed = true, true
	}
	door.KeepsSlashes = func(req any) bool { r := req.(*Request); return r.keepsSlash || r.routed }
	door.ReadFormsAsMIME = func(req any) { req.(*Request).Header.formsAsMIME = true }
	door.SettleURI = func(req any) { req.(*Request).settleURI() }
	door.MustBeWhole = func(req any) error { return req.(*Request).mustBeWhole() }
}

// Reset empties the request for its next use: the header, the body (a stream is closed),
// the form (its temporary files are removed), the user values (those that implement
// io.Closer are closed), the timeout, and the flags except KeepBodyBuffer.
func (req *Request) Reset() {
	used(req.loan)
	if req.hasClosers() {
		req.runClosers()
	}
	if req.loan != nil {
		req.renew()
		return
	}
	req.reset()
}

// reset is Reset for a request without closers.
func (req *Request) reset() {
	req.Header.reset()
	if req.isBare() {
		req.lent, req.isTLS = false, false
	} else {
		req.resetMessage()
	}
	req.timeout, req.streamFrom = 0, 0
	if req.protocol != "" {
		req.protocol = ""
	}
	req.whole, req.forward, req.routed = false, false, false
	req.UseHostHeader = false
	req.DisableRedirectPathNormalizing = false
}

// isBare reports whether a request without closers has only a header, as most requests of
// a server do at their end. Other fields follow from those that it looks at; see their
// comments.
func (req *Request) isBare() bool {
	return req.body == nil && req.bodyRaw == nil && !req.uriUsed && !req.postArgsParsed && req.form == nil
}

// hasClosers reports whether runClosers has something to do.
func (req *Request) hasClosers() bool { return len(req.userValues) > 0 || req.hasStream() }

// closerRounds is how often runClosers looks for values that closers have set.
const closerRounds = 4

// runClosers closes and drops the body stream and the user values. No other part of Reset
// runs user code, which may change the request, so it runs first.
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

// resetMessage empties the parts of the message that come after its header.
func (req *Request) resetMessage() {
	req.ResetBody()
	if req.uriUsed {
		req.uri.Reset()
		req.uriParsed, req.uriBad, req.uriUsed, req.keepsSlash = false, false, false, false
	}
	if req.postArgsParsed {
		req.postArgs.Reset()
		req.postArgsParsed = false
	}
	req.isTLS = false
}

// CopyTo makes dst a copy of req that shares no memory with it, so dst may be kept when the
// server uses req again. A body of SetBodyRaw is copied too, and so is a form, as its body; see
// MultipartForm. It doesn't copy a body stream (call Body first to read it into
// memory), user values, the timeout and KeepBodyBuffer; dst keeps its own user values,
// timeout and KeepBodyBuffer.
func (req *Request) CopyTo(dst *Request) {
	used(req.loan)
	used(dst.loan)
	_ = req.settleForm() // or dst gets the error
	req.copyToSkipBody(dst)
	req.copyContent(&dst.content)
}

func (req *Request) copyToSkipBody(dst *Request) {
	dst.removeForm()
	req.Header.CopyTo(&dst.Header)
	req.uri.CopyTo(&dst.uri)
	dst.uriParsed, dst.uriBad, dst.uriUsed, dst.keepsSlash = req.uriParsed, req.uriBad, req.uriUsed, req.keepsSlash
	dst.routed = req.routed
	req.postArgs.CopyTo(&dst.postArgs)
	dst.postArgsParsed = req.postArgsParsed
	dst.isTLS, dst.protocol = req.isTLS, req.protocol
	dst.UseHostHeader = req.UseHostHeader
	dst.DisableRedirectPathNormalizing = req.DisableRedirectPathNormalizing
}

// URI returns the request's URI. The first call makes it from the Host and the target of
// the header. Changes to it go into the request when the request is written, and when package
// adaptor or reverse hands it on. From the first call on the URI counts: later changes of Host and
// target in Header have no effect on what is sent, except by SetRequestURI and UseHostHeader. The URI is
// borrowed: it is valid until req is reset or the handler returns.
//
// If the target is a URI that is invalid, the result is empty, changes to it are
// lost, and the request can't be written: set another target.
func (req *Request) URI() *URI {
	_ = req.parseURI() // sending it returns the error
	return &req.uri
}

// parseURI makes the URI from the header, unless that was done. If the target is a path
// and the host is invalid, the error is returned once; afterwards the URI has no host, so
// the request can't be sent.
func (req *Request) parseURI() error {
	if req.uriParsed && !req.uriBad {
		return nil
	}
	if lapsed(req.loan) {
		return nil
	}
	req.uriParsed, req.uriUsed = true, true
	var err error
	if req.uriBad, err = req.Header.makeURI(&req.uri); req.uriBad {
		return err
	}
	req.uri.keepsSlash = req.keepsSlash
	if req.routed {
		req.uri.route()
	}
	if req.isTLS {
		req.uri.SetScheme("https")
	}
	return err
}

// makeURI makes u from host and target. bad says that the target is neither a path nor a valid URI.
func (h *RequestHeader) makeURI(u *URI) (bad bool, err error) {
	host, target := h.Host(), h.target()
	// "//a/b" is a path (RFC 9112 section 3.2.1), also in a request that is made here: its
	// target may be one that was received.
	if err = u.parseTarget(host, target); err == nil {
		return false, nil
	}
	if target[0] != '/' {
		return true, err
	}
	// The path doesn't depend on the host. Without a host, Write fails.
	u.Reset()
	path, query, _ := bytes.Cut(target, []byte{'?'})
	u.SetPathBytes(path)
	u.SetQueryStringBytes(query)
	return false, err
}

// settleURI writes the URI, if the program has asked for it, into the header, as a client does that
// sends the request. But the header stays byte for byte as it is if the URI says the same.
func (req *Request) settleURI() {
	u, h := &req.uri, &req.Header
	path := h.target()[0] == '/'
	if !path {
		_ = req.parseURI() // a target with a host decides on Host
	}
	if !req.uriParsed || req.uriBad {
		return
	}
	now := uriPool.Get().(*URI)
	bad, _ := h.makeURI(now)
	sameHost := u.host.empty() || bytes.Equal(now.part(now.host), u.part(u.host))
	sameTarget := !bad && u.hasTargetOf(now) && (path || sameHost)
	now.Reset()
	uriPool.Put(now)
	sameHost = sameHost && (path || bytes.EqualFold(h.Host(), u.part(u.host)))
	if !sameTarget {
		h.SetRequestURIBytes(req.target())
	}
	if !sameHost && !req.UseHostHeader && !h.IsConnect() {
		h.SetHostBytes(withoutZone(u.Host()))
	}
}

// parseTargetURI is parseURI, but if the target is a path, an invalid host is not an
// error: the URI has no host then. If the target is an invalid URI, the request can't be
// sent, even if a host is set by other means.
func (req *Request) parseTargetURI() error {
	if err := req.parseURI(); req.uriBad {
		return err
	}
	return nil
}

// SetURI sets the request's URI to a copy of newURI; nil empties it.
func (req *Request) SetURI(newURI *URI) {
	used(req.loan)
	if newURI == nil {
		req.uri.Reset()
		req.uriParsed, req.uriBad = false, false
		return
	}
	newURI.CopyTo(&req.uri)
	req.uriParsed, req.uriBad, req.uriUsed = true, false, true
}

// SetRequestURI sets the target of the request. It is a path with a query, or a whole
// URI, from which Write takes the Host. What begins with "//" is a path, as in a request
// line (RFC 9112 section 3.2.1), so a target that was received as a path never chooses the
// host. In fasthttp "//a/b" is the path /b on the host a.
func (req *Request) SetRequestURI(requestURI string) {
	req.Header.SetRequestURI(requestURI)
	req.uriParsed, req.uriBad = false, false
}

// SetRequestURIBytes is SetRequestURI for bytes, which are copied.
func (req *Request) SetRequestURIBytes(requestURI []byte) {
	req.Header.SetRequestURIBytes(requestURI)
	req.uriParsed, req.uriBad = false, false
}

// RequestURI returns the target as Write would write it. It writes changes of URI into
// the header. If the target was a whole URI, it has no host afterwards. The bytes are
// borrowed: they are valid until req changes or the handler returns.
func (req *Request) RequestURI() []byte {
	used(req.loan)
	if req.uriParsed && !req.uriBad {
		req.Header.SetRequestURIBytes(req.target())
		req.uriParsed = false
	}
	return req.Header.RequestURI()
}

// target returns the request-target for the parsed URI (RFC 9112 section 3.2). It doesn't
// change targets that are not a path.
func (req *Request) target() []byte {
	set := req.Header.target()
	switch {
	case string(set) == "*":
		return set
	case !req.Header.IsConnect() || req.protocol != "":
		return req.uri.RequestURI()
	case bytes.Contains(set, []byte("://")):
		return req.uri.Host()
	}
	return set
}

// forwardTarget returns the target of req for a proxy: the whole URI (RFC 9112 section
// 3.2.2).
func (req *Request) forwardTarget() []byte {
	u := &req.uri
	if u.host.empty() {
		return req.target()
	}
	return u.appendRequestURI(append(append([]byte(nil), "http://"...), u.Host()...))
}

// Host returns the host of the URI, with its port if it has one. The bytes are borrowed:
// they are valid until req changes or the handler returns.
func (req *Request) Host() []byte { return req.URI().Host() }

// SetHost sets the host of the URI.
func (req *Request) SetHost(host string) { req.URI().SetHost(host) }

// SetHostBytes is SetHost for bytes, which are copied.
func (req *Request) SetHostBytes(host []byte) { req.URI().SetHostBytes(host) }

// ConnectionClose reports whether the request says `Connection: close`.
func (req *Request) ConnectionClose() bool { return req.Header.ConnectionClose() }

// SetConnectionClose makes the request say `Connection: close`.
func (req *Request) SetConnectionClose() { req.Header.SetConnectionClose() }

// SetTimeout limits how long a client may take for the request: from waiting for a
// connection to the last byte of the response's body, or to the end of its header if the
// body is streamed. The client's own timeouts apply too. 0, the default, means no limit.
func (req *Request) SetTimeout(t time.Duration) {
	used(req.loan)
	req.timeout = t
}

// GetTimeOut returns the timeout that SetTimeout set.
func (req *Request) GetTimeOut() time.Duration {
	used(req.loan)
	return req.timeout
}

// Body returns the bytes of the body. If the body is a stream, Body reads it to its end
// and closes it. If that fails, the body is empty, so that a part is never mistaken for
// the whole, and BodyError says why. In fasthttp the body is then the text of the error.
// After MultipartForm the bytes are those of the form that the program has. The bytes are
// borrowed: they are valid until req changes or the handler returns.
//
// If a handler gets such an empty body and calls neither BodyError nor another method
// that returns the error, the server answers 413, 400 or 408 instead; see
// Server.StreamRequestBody.
func (req *Request) Body() []byte {
	if req.form != nil {
		_ = req.settleForm() // BodyError returns it
	}
	if req.hasStream() {
		req.readStream()
	}
	return req.lendBody()
}

// BodyError returns why Body, PostArgs, MultipartForm or another method could not read a
// streamed body to its end: the client closed the connection or sent malformed chunks
// (io.ErrUnexpectedEOF and others), the body was too long ([ErrBodyTooLarge]) or too slow
// ([ErrTimeout]), or a stream that the program set failed. It is nil if there was no
// error, if the body wasn't read, and after the body is reset or replaced. Writing a
// request with such a body returns the error.
func (req *Request) BodyError() error {
	used(req.loan)
	return req.heard()
}

// wholeBody is Body with BodyError.
func (req *Request) wholeBody() ([]byte, error) {
	b := req.Body()
	return b, req.heard()
}

// bodyEnds reports whether the body can be sent once only, since sending it reads a stream. The
// stream of a form is made again.
func (req *Request) bodyEnds() bool { return req.hasStream() && req.form == nil }

// SetBody sets the body to a copy of body.
func (req *Request) SetBody(body []byte) {
	req.removeForm()
	req.setBody(body)
}

// SetBodyString sets the body to a copy of body.
func (req *Request) SetBodyString(body string) {
	req.removeForm()
	req.setBodyString(body)
}

// SetBodyRaw sets the body to the slice body without copying it. The caller must not
// change the slice until the request is reset or its body is replaced.
func (req *Request) SetBodyRaw(body []byte) {
	req.removeForm()
	req.setBodyRaw(body)
}

// AppendBody appends a copy of p to the body. If a stream or a raw body was set, it is
// dropped first.
func (req *Request) AppendBody(p []byte) {
	req.removeForm()
	req.appendBody(p)
}

// AppendBodyString is AppendBody for a string.
func (req *Request) AppendBodyString(s string) {
	req.removeForm()
	req.appendBodyString(s)
}

// BodyWriter returns a writer that appends to the body as AppendBody does. The writer is
// borrowed: it is valid until req is reset or the handler returns. When req was released, or
// the server uses its memory for another request, Write returns an error.
func (req *Request) BodyWriter() io.Writer {
	used(req.loan)
	return lendWriter(&req.writer, req)
}

// SwapBody sets the body to the slice body without copying it, and returns the bytes of
// the old body. body belongs to the request from now on. If the old body is a stream, it
// is read to its end; if that fails, no bytes are returned and BodyError says why. The
// result belongs to the caller.
func (req *Request) SwapBody(body []byte) []byte {
	if err := req.settleForm(); err != nil {
		req.removeForm()
		req.fail(err)
		if len(body) > 0 {
			req.bodyRaw = body
		}
		return nil
	}
	req.removeForm()
	if req.loan != nil {
		return req.swapLent(body)
	}
	return req.swapBody(body)
}

// ResetBody empties the body. A stream is closed, and the temporary files of a form are
// removed.
func (req *Request) ResetBody() {
	req.removeForm()
	req.resetContent(req.KeepBodyBuffer, &requestBodyLimit)
}

// ReleaseBody drops the body if its buffer is larger than size bytes, so that its memory
// isn't kept for reuse. See SetBodySizePoolLimit for a limit for all requests.
func (req *Request) ReleaseBody(size int) { req.releaseBody(size) }

// IsBodyStream reports whether the body is a stream.
func (req *Request) IsBodyStream() bool { return req.hasStream() || req.noStream() }

// BodyStream returns the body as a stream, or nil if the body isn't a stream. The caller
// closes it with CloseBodyStream, or leaves that to Reset. The stream is borrowed: it is
// valid until req is reset or the handler returns.
//
// If the stream was read as a form, the result is a stream of that form. If the form can't be
// written, it is nil, and BodyError returns why.
func (req *Request) BodyStream() io.Reader {
	if req.form != nil {
		if err := req.streamForm(); err != nil {
			req.formRaw = false
			req.fail(err)
		} else if !req.hasStream() {
			_ = req.settleForm() // BodyError returns why
		}
	}
	return req.lendStream()
}

// CloseBodyStream closes the body's stream, if there is one, and drops it.
func (req *Request) CloseBodyStream() error { return req.closeStream(nil) }

// SetBodyStream sets the body to bodyStream. If bodySize >= 0, exactly bodySize bytes of
// it are sent, with a Content-Length. If it has fewer bytes, that is an error; if it has
// more, the rest is not read. If bodySize is negative, the stream is read to its end and
// sent chunked (RFC 9112 section 7.1).
//
// If the stream implements io.Closer, it is closed after it was read, and when the body
// is replaced or reset. If it implements [ReadCloserWithError], it gets the reason.
func (req *Request) SetBodyStream(bodyStream io.Reader, bodySize int) {
	req.removeForm()
	from := takenOf(bodyStream)
	req.setStream(bodyStream)
	req.streamFrom = from
	req.Header.SetContentLength(bodySize)
}

// SetBodyStreamWriter makes what sw writes the body, which is sent chunked. sw runs when
// the request is written, or when a method such as Body reads the body.
func (req *Request) SetBodyStreamWriter(sw StreamWriter) {
	req.removeForm()
	req.setStream(nil)
	req.streamWriter = sw
	req.Header.SetContentLength(-1)
}

// ConnectProtocol returns the protocol of an extended CONNECT (RFC 8441), such as
// "websocket", or "" for any other request. In a server only requests of HTTP/2 have one;
// see HTTP2Config.WebSocket.
func (req *Request) ConnectProtocol() string {
	used(req.loan)
	return req.protocol
}

// SetConnectProtocol makes a request for [HostClient.OpenStream] an extended CONNECT for
// the protocol, such as "websocket" (RFC 8441 section 4). The method is then CONNECT, and
// the URI has a path. The empty string makes it an ordinary request again; its method must
// be set.
func (req *Request) SetConnectProtocol(protocol string) {
	used(req.loan)
	if req.protocol = protocol; protocol != "" {
		req.Header.SetMethod(MethodConnect)
	}
}
