package gale

import (
	"bufio"
	"bytes"
	"io"

	"github.com/galehttp/gale/internal/h1"
	"github.com/galehttp/gale/internal/head"
	"github.com/galehttp/gale/internal/msg"
)

// Read reads a request with its body from r. It is ReadLimitBody without a limit, so
// don't use it for untrusted input.
func (req *Request) Read(r *bufio.Reader) error { return req.ReadLimitBody(r, 0) }

// ReadLimitBody reads a request with its body from r. If maxBodySize is above 0 and the
// body has more bytes, it returns [ErrBodyTooLarge]; the connection can't be used
// afterwards. Memory grows with the bytes that arrive, not with the value of
// Content-Length. User values and the timeout stay.
//
// If MayContinue returns true afterwards, the body isn't read yet. Then the caller
// answers 100 and calls ContinueReadBody, or answers with 417 or another final status, or
// closes the connection (RFC 9110 section 10.1.1).
//
// A form (multipart/form-data) with a Content-Length is parsed as it arrives. If its
// files have more than 16 MiB in total, the rest is stored in temporary files, which
// Reset or RemoveMultipartFormFiles removes.
//
// It returns io.EOF if r ends before the first byte, and io.ErrUnexpectedEOF if it ends
// within the body. After an error in the head the request is empty. After an error in the
// body, Header is complete but has no trailers, and the body is empty.
func (req *Request) ReadLimitBody(r *bufio.Reader, maxBodySize int) error {
	used(req.loan)
	req.resetMessage()
	if err := req.Header.Read(r); err != nil {
		return err
	}
	req.Header.takeAuthority()
	if req.MayContinue() {
		return nil
	}
	return req.ContinueReadBody(r, maxBodySize)
}

// MayContinue reports whether the client waits for a 100 before it sends the body: the
// request says `Expect: 100-continue`, and isn't HTTP/1.0, which ignores that header (RFC
// 9110 section 10.1.1). See ReadLimitBody for what to do then.
func (req *Request) MayContinue() bool {
	used(req.loan)
	return req.Header.goesAsHTTP11() &&
		head.Expectation(&req.Header.s.Fields) == msg.ExpectContinue
}

// ContinueReadBody reads the body that belongs to the header, after ReadLimitBody has
// left it unread because MayContinue returns true. Limit and errors are those of
// ReadLimitBody. If preParseMultipartForm is false, a form is read like any other body,
// and parsed when MultipartForm is called.
func (req *Request) ContinueReadBody(r *bufio.Reader, maxBodySize int, preParseMultipartForm ...bool) error {
	used(req.loan)
	length := req.Header.s.ContentLength
	if length == msg.LenUnknown { // RFC 9112 section 6.3: no body
		if !req.Header.IsGet() && !req.Header.IsHead() {
			req.Header.SetContentLength(0)
		}
		return nil
	}
	if maxBodySize > 0 && length > int64(maxBodySize) {
		return ErrBodyTooLarge
	}
	if length > 0 && preParse(preParseMultipartForm) {
		if boundary := req.Header.MultipartFormBoundary(); len(boundary) > 0 && !req.hasCoding() {
			return req.readForm(r, boundary, length)
		}
	}
	err := req.readBodyFields(r, length, maxBodySize, &req.Header)
	if err == nil && length == msg.LenChunked && len(req.bodyBytes()) == 0 && !req.Header.s.Trailers.ToSend() {
		req.Header.setLength(0) // no body came that would need the coding
	}
	return err
}

func preParse(v []bool) bool { return len(v) == 0 || v[0] }

// readBodyFields reads a body, with the fields of its trailer section.
func (req *Request) readBodyFields(r *bufio.Reader, length int64, limit int, sink trailerSink) error {
	err := req.readBody(r, length, limit, sink)
	if err != nil {
		req.ResetBody()
	}
	return err
}

// ReadBody reads a body of contentLength bytes from r. If contentLength is -1, the body
// is chunked, and ReadBody reads it up to the last chunk, without the trailer section
// (see RequestHeader.ReadTrailer). If it is -2, the body ends where r ends. If
// maxBodySize is above 0 and the body has more bytes, it returns [ErrBodyTooLarge].
func (req *Request) ReadBody(r *bufio.Reader, contentLength, maxBodySize int) error {
	used(req.loan)
	req.ResetBody()
	if contentLength == msg.LenChunked {
		err := req.readChunksOnly(r, maxBodySize)
		if err != nil {
			req.ResetBody()
		}
		return err
	}
	return req.readBodyFields(r, int64(contentLength), maxBodySize, nil)
}

// readChunksOnly reads a chunked body up to its trailer section.
func (c *content) readChunksOnly(r *bufio.Reader, limit int) error {
	dec := h1.Chunked{Dialect: h1.Lenient}
	b := c.bodyBuf()
	b.Reset()
	for {
		in, err := r.Peek(max(r.Buffered(), 1))
		if len(in) == 0 {
			return noEOF(err)
		}
		data, n, done, err := dec.Next(in)
		switch {
		case err != nil:
			return ErrBrokenChunk{err}
		case limit > 0 && len(b.B)+len(data) > limit:
			return ErrBodyTooLarge
		}
		_, _ = b.Write(data)
		_, _ = r.Discard(n)
		if done {
			return nil
		}
	}
}

// ContinueReadBodyStream makes the body that belongs to the header a stream that reads
// from r; see BodyStream. Until it was read to its end, nothing else may read from r.
// Closing it leaves the unread part in r. A stream has no limit. Its trailers are in
// Header after io.EOF.
//
// A form with a Content-Length of up to maxBodySize is read and parsed at once, as in
// ContinueReadBody, unless preParseMultipartForm is false.
func (req *Request) ContinueReadBodyStream(r *bufio.Reader, maxBodySize int, preParseMultipartForm ...bool) error {
	used(req.loan)
	length := req.Header.s.ContentLength
	if length == msg.LenUnknown {
		return req.ContinueReadBody(r, maxBodySize)
	}
	fits := maxBodySize <= 0 || length <= int64(maxBodySize)
	if length > 0 && fits && preParse(preParseMultipartForm) {
		if boundary := req.Header.MultipartFormBoundary(); len(boundary) > 0 && !req.hasCoding() {
			return req.readForm(r, boundary, length)
		}
	}
	req.ResetBody()
	d := &bodyReader{}
	d.init(r, length, &req.Header)
	req.setStream(d)
	req.streamFrom = 0
	return nil
}

// Write writes the request to w and doesn't flush w at the end. A URI that was set or
// changed goes into the target and Host. The user and password of the URI are written as
// Authorization (RFC 7617), in place of one in the header; the header itself doesn't
// change. A request without a host is an error.
//
// A stream is sent with the length that it was set with, or chunked. It is closed in any
// case. If the stream panics, Write returns an [ErrBodyStreamWritePanic].
func (req *Request) Write(w *bufio.Writer) error {
	used(req.loan)
	if err := req.prepareToSend(); err != nil {
		req.dropStream(err)
		return err
	}
	if req.lendAuthorization() {
		defer req.takeAuthorization()
	}
	if req.hasStream() {
		return req.writeStream(w)
	}
	if err := req.broken(); err != nil {
		return req.heard()
	}
	body := req.bodyBytes()
	if len(body) == 0 {
		body = req.postArgs.QueryString()
	}
	expected := len(body) > 0 || !req.Header.IsGet() && !req.Header.IsHead()
	switch {
	case expected && req.Header.goesAsHTTP11() && req.Header.s.Trailers.ToSend():
		return req.writeChunk(w, body)
	case expected:
		req.Header.SetContentLength(len(body))
	case req.Header.s.ContentLength != 0: // whatever was set, there is no body
		req.Header.Del(HeaderContentLength)
		req.Header.Del(HeaderTransferEncoding)
	}
	if err := req.Header.Write(w); err != nil {
		return err
	}
	_, err := w.Write(body)
	return err
}

// writeChunk writes the request with its body as one chunk, so that trailer
// fields can follow.
func (req *Request) writeChunk(w *bufio.Writer, body []byte) error {
	if len(body) > 0 && len(req.Header.ContentType()) == 0 && !req.Header.s.NoDefaultType {
		req.Header.SetContentType("application/octet-stream")
	}
	req.Header.SetContentLength(msg.LenChunked)
	if err := req.Header.Write(w); err != nil {
		return err
	}
	c := chunkWriter{w: w, more: always}
	if _, err := c.Write(body); err != nil {
		return err
	}
	if err := c.end(); err != nil {
		return err
	}
	_, err := w.Write(req.Header.TrailerHeader())
	return err
}

// sentHost returns the Host that prepareHeader would write.
func (req *Request) sentHost() []byte {
	ofURI := req.uriParsed && !req.uri.host.empty()
	if ofURI && !req.UseHostHeader {
		return req.uri.Host()
	}
	if host := req.Header.Host(); len(host) > 0 || !ofURI {
		return host
	}
	return req.uri.Host()
}

// prepareToSend writes the URI into the header, and the form into the body.
func (req *Request) prepareToSend() error {
	if err := req.prepareHeader(); err != nil {
		return err
	}
	if req.form != nil && req.sendForm() != nil {
		return req.heard()
	}
	if err := req.mustBeWhole(); err != nil {
		req.fail(err)
		return req.heard()
	}
	return nil
}

// prepareHeader writes the URI into the header.
func (req *Request) prepareHeader() error {
	host := req.Header.Host()
	if len(host) > 0 && !req.uriParsed {
		return nil
	}
	if err := req.parseTargetURI(); err != nil {
		return err
	}
	u := &req.uri
	if len(host) == 0 || !req.UseHostHeader {
		if of := withoutZone(u.Host()); len(of) > 0 && !bytes.Equal(of, host) {
			req.Header.SetHostBytes(of)
			host = of
		}
	}
	if len(host) == 0 {
		return errRequestHostRequired
	}
	h := &req.Header.s
	t := req.target()
	if req.forward {
		t = req.forwardTarget()
	}
	if !bytes.Equal(t, h.Part(msg.Target)) {
		h.SetPart(msg.Target, t) // it is clean already
	}
	return nil
}

// lendAuthorization puts the URI's user and password into the header until
// takeAuthorization removes them: they are for the URI's host, and the header may be sent
// to another host next. An Authorization that the program has set is sent instead. It
// reports whether there is something to take. It is called after prepareHeader.
func (req *Request) lendAuthorization() bool {
	if !req.uriParsed || req.uri.username.empty() || len(req.Header.Peek(HeaderAuthorization)) > 0 {
		return false
	}
	req.Header.setBasicAuth(req.uri.Username(), req.uri.Password())
	return true
}

func (req *Request) takeAuthorization() { req.Header.Del(HeaderAuthorization) }

// withoutZone returns host without the zone of an IPv6 address. A zone has a meaning only
// on the sender's machine (RFC 6874 section 1).
func withoutZone(host []byte) []byte {
	if len(host) == 0 || host[0] != '[' {
		return host
	}
	from, end := bytes.IndexByte(host, '%'), bytes.IndexByte(host, ']')
	if from < 0 || end < from {
		return host
	}
	return append(bytes.Clone(host[:from]), host[end:]...)
}

func (req *Request) writeStream(w *bufio.Writer) (err error) {
	defer func() { err = req.closeWritten(err) }()
	length := req.streamLength(req.Header.s.ContentLength)
	req.Header.frame(length)
	if err := req.Header.Write(w); err != nil {
		return err
	}
	if length >= 0 {
		return req.writeFixed(w, length)
	}
	if err := req.writeChunked(w); err != nil {
		return err
	}
	_, err = w.Write(req.Header.TrailerHeader())
	return err
}

// frame sets the framing of a stream: its length in bytes, or msg.LenChunked. A chunked
// request becomes HTTP/1.1, whatever protocol was set: an HTTP/1.0 server doesn't know
// the chunked coding and would take the body for the next request (RFC 9112 section 6.1).
// The protocol of an HTTP/2 request doesn't change, because it is sent as HTTP/1.1 anyway
// and a proxy may still ask for it.
func (h *RequestHeader) frame(length int64) {
	h.setLength(length) // it may be more than an int holds
	if length == msg.LenChunked && !h.goesAsHTTP11() {
		h.SetProtocolBytes(strHTTP11)
	}
}

// streamLength returns the length in bytes to announce for a stream that was set with
// length set, or msg.LenChunked.
func (c *content) streamLength(set int64) int64 {
	switch l, ok := c.bodyStream.(*io.LimitedReader); {
	case c.streamWriter != nil:
		return msg.LenChunked
	case set >= 0:
		return set
	case ok && l.N >= 0:
		return l.N
	}
	return msg.LenChunked
}

// writeFixed writes the stream as length bytes.
func (c *content) writeFixed(w *bufio.Writer, length int64) (err error) {
	defer recoverWrite(&err)
	return writeBodyFixed(w, c.bodyStream, length)
}

// writeChunked writes the stream or what the stream writer writes in the
// chunked coding, up to the trailer section.
func (c *content) writeChunked(w *bufio.Writer) (err error) {
	if sw := c.streamWriter; sw != nil {
		return writeStreamChunked(w, sw)
	}
	defer recoverWrite(&err)
	return writeBodyChunked(w, c.bodyStream)
}

// closeWritten closes the stream after it was written with the given result, and returns
// the first error of both. A panic takes precedence.
func (c *content) closeWritten(result error) (err error) {
	defer recoverWrite(&err)
	if err := c.closeStream(result); result == nil {
		return err
	}
	return result
}

// dropStream closes and drops the stream, if there is one, because of err. req may be nil.
func (req *Request) dropStream(err error) {
	if req != nil && req.hasStream() {
		_ = req.closeStream(err)
	}
}

// WriteTo writes the request to w, as Write does, and returns how many bytes were written
// to w.
func (req *Request) WriteTo(w io.Writer) (int64, error) { return writeMessage(w, req.Write) }

// writeMessage calls write with a buffered writer for w.
func writeMessage(w io.Writer, write func(*bufio.Writer) error) (int64, error) {
	c := &countingWriter{w: w}
	bw := bufio.NewWriter(c)
	err := write(bw)
	if flushErr := bw.Flush(); err == nil {
		err = flushErr
	}
	return c.n, err
}

type countingWriter struct {
	w io.Writer
	n int64
}

func (c *countingWriter) Write(p []byte) (int, error) {
	n, err := c.w.Write(p)
	c.n += int64(n)
	return n, err
}

// String returns the request as Write writes it, or the text of the error. It reads a
// body stream to its end, so that the stream can't be sent afterwards.
func (req *Request) String() string { return messageString(req.Write) }

func messageString(write func(*bufio.Writer) error) string {
	var b bytes.Buffer
	if _, err := writeMessage(&b, write); err != nil {
		return err.Error()
	}
	return b.String()
}

// BodyWriteTo writes the body to w. A stream is read to its end and closed, also after an
// error. BodyError then returns that error too.
func (req *Request) BodyWriteTo(w io.Writer) error {
	used(req.loan)
	if req.form != nil {
		if req.BodyStream(); req.broken() != nil {
			return req.heard()
		}
	}
	err := req.writeContent(w)
	if err != nil {
		_ = req.heard()
	}
	return err
}

// writeContent writes the body to w, without a transfer coding.
func (c *content) writeContent(w io.Writer) error {
	if !c.hasStream() {
		_, err := w.Write(c.bodyBytes())
		return err
	}
	r := c.stream()
	_, err := copyBody(w, r)
	if closeErr := c.closeStream(err); err == nil {
		err = closeErr
	}
	if err != nil {
		c.fail(err)
	}
	return err
}
