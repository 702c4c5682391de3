package gale

import (
	"bufio"
	"bytes"
	"io"
	"os"
	"strings"

	"github.com/galehttp/gale/internal/msg"
)

// maxInterimResponses is how many 1xx responses may come before the final one.
const maxInterimResponses = 100

var errTooManyInterim = newError("too many 1xx informational responses received")

// Read reads a response with its body from r. It is ReadLimitBody without a
// limit, so not for servers that aren't trusted.
func (resp *Response) Read(r *bufio.Reader) error { return resp.ReadLimitBody(r, 0) }

// ReadLimitBody reads a response with its body from r. Up to 100 informational
// responses (1xx) before it are skipped; 101 counts as final. With maxBodySize
// above 0, a body of more bytes is [ErrBodyTooLarge]; the connection is of no
// use then. Memory grows with what arrived, not with what Content-Length says.
//
// No body is read with SkipBody, and with StreamBody it becomes a stream; see
// ReadBody.
//
// It returns io.EOF if r ends before the first byte, and io.ErrUnexpectedEOF if
// it ends within the body. After an error in the head the response is empty. After
// one in the body Header is whole, without the fields of a trailer section, and Body
// returns the part that came.
func (resp *Response) ReadLimitBody(r *bufio.Reader, maxBodySize int) error {
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

// ReadBody reads the body that belongs to the header from r, by the header's
// length, chunked coding, or else to the end of r (RFC 9112 section 6.3). Fields
// of a trailer section go to Header. With maxBodySize above 0, a body of more
// bytes is [ErrBodyTooLarge].
//
// With StreamBody it reads nothing: the body becomes a stream, without a limit,
// which reads from r as it is read itself. Until it was read to its end, nothing else may
// read from r. Closing it leaves what was not read in r.
func (resp *Response) ReadBody(r *bufio.Reader, maxBodySize int) error {
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

// Write writes the response to w, without flushing it at the end. Content-Length
// is that of the body, whatever was set; a response with trailer fields is sent
// in the chunked coding, and a status without a body (RFC 9110 section 6.4.1)
// without one.
//
// A stream is sent with the length it was given, or in the chunked coding, or
// bare with `Connection: close` if the header's protocol is HTTP/1.0. It is
// closed whatever happens. A stream of another length than it was given is an error,
// for which it is read to its end. A panic of the stream becomes an
// [ErrBodyStreamWritePanic].
//
// After an error of the stream the response is broken off; the connection must
// be closed then.
func (resp *Response) Write(w *bufio.Writer) error {
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

// writeWhole writes the stream, whose length is known. It is read to its end: unlike for
// a connection that must go on, for the caller a stream that has more is an error, and
// worth the wait.
func (resp *Response) writeWhole(w *bufio.Writer, length int64) (err error) {
	defer recoverWrite(&err)
	r, waits := resp.bodyStream, false
	switch r.(type) {
	case *os.File, *bytes.Reader, *bytes.Buffer, *strings.Reader: // writeBodyFixed knows them
	default:
		waits = true
		if wt, ok := mayWriteTo(r); ok {
			f := fixedWriter{w: w, left: length}
			if _, err = wt.WriteTo(&f); err == nil && f.left > 0 {
				err = errBodyStreamShort(length-f.left, length)
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

// WriteTo writes the response to w, as Write does, and returns how many bytes
// w took.
func (resp *Response) WriteTo(w io.Writer) (int64, error) { return writeMessage(w, resp.Write) }

// String returns the response as Write writes it, or the text of its error. A
// stream is spent by it.
func (resp *Response) String() string { return messageString(resp.Write) }

// BodyWriteTo writes the body to w. A stream is read to its end and closed for
// that, also after an error, of which BodyError tells then, too.
func (resp *Response) BodyWriteTo(w io.Writer) error { return resp.writeContent(w) }
