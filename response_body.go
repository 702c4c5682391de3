package gale

import (
	"bufio"
	"bytes"
	"io"
	"os"
	"strings"

	"github.com/galehttp/gale/internal/head"
	"github.com/galehttp/gale/internal/msg"
)

// maxInterimResponses is how many 1xx responses may come before the final one.
const maxInterimResponses = 100

var errTooManyInterim = newError("too many 1xx informational responses received")

// Read reads a response with its body from r. It is ReadLimitBody without a limit, so
// don't use it for servers that you don't trust.
func (resp *Response) Read(r *bufio.Reader) error { return resp.ReadLimitBody(r, 0) }

// ReadLimitBody reads a response with its body from r. Up to 100 informational responses
// (1xx) before it are skipped; 101 is a final response. If maxBodySize is above 0 and the
// body has more bytes, ReadLimitBody returns [ErrBodyTooLarge]; the connection can't be
// used afterwards. Memory grows with the bytes that arrive, not with the value of
// Content-Length.
//
// If SkipBody is set, no body is read. If StreamBody is set, the body becomes a stream;
// see ReadBody.
//
// It returns io.EOF if r ends before the first byte, and io.ErrUnexpectedEOF if it ends
// within the body. After an error in the head the response is empty. After an error in
// the body, Header is complete but has no trailers, and Body returns the part that
// arrived.
func (resp *Response) ReadLimitBody(r *bufio.Reader, maxBodySize int) error {
	used(resp.loan)
	resp.resetSkipHeader()
	for n := 0; ; n++ {
		if n > maxInterimResponses {
			resp.Header.resetFields()
			return errTooManyInterim
		}
		if err := resp.Header.Read(r); err != nil {
			return err
		}
		if code := resp.Header.StatusCode(); code/100 != 1 || code == StatusSwitchingProtocols {
			break
		}
	}
	if resp.SkipBody || !statusHasBody(resp.Header.s.Status) {
		return nil
	}
	return resp.ReadBody(r, maxBodySize)
}

// ReadBody reads the body that belongs to the header from r. The header's Content-Length
// or the chunked coding says where it ends; otherwise it ends where r ends (RFC 9112
// section 6.3). Trailers go to Header. If maxBodySize is above 0 and the body has more
// bytes, ReadBody returns [ErrBodyTooLarge].
//
// If StreamBody is set, it reads nothing: the body becomes a stream that reads from r,
// without a limit. Until the stream was read to its end, nothing else may read from r.
// Closing it leaves the unread part in r.
func (resp *Response) ReadBody(r *bufio.Reader, maxBodySize int) error {
	used(resp.loan)
	resp.ResetBody()
	h := &resp.Header
	length := h.s.ContentLength
	if resp.StreamBody {
		d := &bodyReader{}
		d.init(r, length, h)
		resp.bodyStream = d
		return nil
	}
	err := resp.readBody(r, length, maxBodySize, h)
	if err == nil && length == msg.LenUnknown {
		h.SetContentLength(len(resp.bodyBytes()))
		h.SetConnectionClose()
	}
	return err
}

// Write writes the response to w and doesn't flush w at the end. Content-Length is the
// length of the body, whatever was set. A response with trailers is sent chunked. If the
// status allows no body (RFC 9110 section 6.4.1), none is sent.
//
// A stream is sent with the length that it was set with, or chunked, or, if the header's
// protocol is HTTP/1.0, without either and with `Connection: close`. It is closed in any
// case. If its length differs from the one that it was set with, Write returns an error;
// to find out, it reads the stream to its end. If the stream panics, Write returns an
// [ErrBodyStreamWritePanic].
//
// After an error of the stream the response is incomplete, and the caller must close the
// connection.
func (resp *Response) Write(w *bufio.Writer) error {
	used(resp.loan)
	if resp.hasStream() {
		return resp.writeStream(w)
	}
	if err := resp.broken(); err != nil {
		return err
	}
	h := &resp.Header
	body := resp.bodyBytes()
	if !statusHasBody(h.s.Status) {
		return h.Write(w)
	}
	if !resp.SkipBody && h.IsHTTP11() && h.s.Trailers.ToSend() {
		return resp.writeChunk(w, body)
	}
	if len(body) > 0 || !resp.SkipBody {
		h.SetContentLength(len(body))
	}
	if err := h.Write(w); err != nil || resp.SkipBody {
		return err
	}
	_, err := w.Write(body)
	return err
}

// writeChunk writes the response with its body as one chunk, so that trailer
// fields can follow.
func (resp *Response) writeChunk(w *bufio.Writer, body []byte) error {
	resp.Header.SetContentLength(msg.LenChunked)
	if err := resp.Header.Write(w); err != nil {
		return err
	}
	c := chunkWriter{w: w, more: always}
	if _, err := c.Write(body); err != nil {
		return err
	}
	if err := c.end(); err != nil {
		return err
	}
	_, err := w.Write(resp.Header.TrailerHeader())
	return err
}

func (resp *Response) writeStream(w *bufio.Writer) (err error) {
	defer func() { err = resp.closeWritten(err) }()
	h := &resp.Header
	length := resp.streamLength(h.s.ContentLength)
	if length < 0 && !h.IsHTTP11() {
		length = msg.LenUnknown
		h.SetConnectionClose()
	}
	if length >= 0 {
		h.setLength(length) // it may be more than an int holds
	} else {
		h.SetContentLength(int(length))
	}
	if err := h.Write(w); err != nil {
		return err
	}
	if resp.ImmediateHeaderFlush {
		if err := w.Flush(); err != nil {
			return err
		}
	}
	switch {
	case resp.SkipBody || !statusHasBody(h.s.Status):
		return nil
	case length >= 0:
		return resp.writeWhole(w, length)
	case length == msg.LenUnknown:
		return resp.writeBare(w)
	}
	if err := resp.writeChunked(w); err != nil {
		return err
	}
	_, err = w.Write(h.TrailerHeader())
	return err
}

// writeWhole writes the stream, whose length is known, and reads it to its end. A server
// can't wait for that on a connection that goes on. For the caller of Write, a stream
// that has more bytes is an error and worth the wait.
func (resp *Response) writeWhole(w *bufio.Writer, length int64) (err error) {
	defer recoverWrite(&err)
	r, waits := resp.bodyStream, false
	switch r.(type) {
	case *os.File, *bytes.Reader, *bytes.Buffer, *strings.Reader: // writeBodyFixed knows them
	default:
		waits = true
		if wt, ok := mayWriteTo(r); ok {
			f := fixedWriter{head.Promised{Left: length}, w}
			if _, err = writeTo(wt, &f); err == nil && f.Left > 0 {
				err = errBodyStreamShort(length-f.Left, length)
			}
			return err
		}
	}
	if err := writeBodyFixed(w, r, length); err != nil {
		return err
	}
	if waits {
		if err := w.Flush(); err != nil {
			return err
		}
	}
	return readEnd(r)
}

// writeBare writes the stream to its end without any framing.
func (c *content) writeBare(w *bufio.Writer) (err error) {
	defer recoverWrite(&err)
	if sw := c.streamWriter; sw != nil {
		sw(w)
		return nil
	}
	_, err = copyBody(w, c.bodyStream)
	return err
}

// WriteTo writes the response to w, as Write does, and returns how many bytes were
// written to w.
func (resp *Response) WriteTo(w io.Writer) (int64, error) { return writeMessage(w, resp.Write) }

// String returns the response as Write writes it, or the text of the error. It reads a
// body stream to its end, so that the stream can't be sent afterwards.
func (resp *Response) String() string { return messageString(resp.Write) }

// BodyWriteTo writes the body to w. A stream is read to its end and closed, also after an
// error. BodyError then returns that error too.
func (resp *Response) BodyWriteTo(w io.Writer) error {
	used(resp.loan)
	return resp.writeContent(w)
}
