package adaptor

import (
	"errors"
	"io"
	"net/http"
	"strconv"
	"strings"

	"github.com/galehttp/gale"
	"github.com/galehttp/gale/internal/clock"
	"github.com/galehttp/gale/internal/door"
	"github.com/galehttp/gale/internal/head"
	"github.com/galehttp/gale/internal/msg"
)

// beginSend announces that the handler sends something, and reports whether it may: then it holds sendMu
// until endSend. seal finds either that something is sent, or that nothing will be.
func (o *outer) beginSend() bool {
	o.sendMu.Lock()
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.sending = o.open(); !o.sending {
		o.sendMu.Unlock()
	}
	return o.sending
}

// open reports whether the handler may change the response. The caller holds mu.
func (o *outer) open() bool { return o.w != nil && !o.taken && !o.sealed }

// endSend ends what beginSend has begun.
func (o *outer) endSend() {
	o.mu.Lock()
	o.sending = false
	o.mu.Unlock()
	o.sendMu.Unlock()
}

// seal takes the response away from a handler that timed out. What the handler is sending it breaks
// off, since that may wait for the client, and reports that it did.
func (o *outer) seal() (cut bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.sealed = true
	if o.sending {
		_ = o.rc.SetWriteDeadline(clock.LongAgo)
	}
	return o.sending
}

// SendInterim makes net/http send an informational response, except over HTTP/2. There net/http
// reads the header map on another goroutine, and if the stream is reset, WriteHeader returns before
// it has read it (golang/go#67940). So the map could never be changed afterwards, for the final
// response.
func (o *outer) SendInterim(_ *gale.RequestCtx, statusCode int, h *gale.ResponseHeader) error {
	if o.r.ProtoMajor >= 2 { // as for clients of HTTP/1.0
		o.mu.Lock()
		defer o.mu.Unlock()
		if !o.open() {
			return errOver
		}
		return nil
	}
	if !o.beginSend() {
		return errOver
	}
	defer o.endSend()
	if o.begun {
		return errOver
	}
	to := o.w.Header()
	before := to.Clone()
	if h != nil {
		for k, v := range h.All() {
			if name := string(k); name != "Content-Type" && name != "Content-Length" {
				to.Add(name, string(v))
			}
		}
	}
	o.w.WriteHeader(statusCode)
	o.asked = o.asked || statusCode == http.StatusContinue
	clear(to)
	for k, v := range before {
		to[k] = v
	}
	return nil
}

// awaits100 reports whether the client sends the body only after a 100, which it hasn't got.
func (o *outer) awaits100() bool {
	return !o.asked && o.body.n.Load() == 0 && o.r.ProtoAtLeast(1, 1) && strings.EqualFold(o.r.Header.Get("Expect"), "100-continue")
}

// Flush sends the head and the body so far, and empties the body.
func (o *outer) Flush(ctx *gale.RequestCtx) error {
	if !o.beginSend() {
		return gale.ErrNilConnection
	}
	defer o.endSend()
	if o.failed != nil {
		return o.failed
	}
	resp := &ctx.Response
	length := door.ContentLength(&resp.Header)
	if length == 0 || o.skips(resp) {
		length = -1
	}
	o.openDuplex(resp.StatusCode())
	o.begin(resp, length)
	err := o.writeBytes(o.w, resp)
	resp.ResetBody()
	if err != nil {
		o.failed = err
		return err
	}
	return o.rc.Flush()
}

// openDuplex lets the handler, or a stream, read the rest of the request's body after the head of
// the response. Otherwise net/http reads up to 256 KiB of it before it sends the head, and drops that.
// A ResponseWriter of a middleware may hold a part of the response when the handler has returned, so
// that closeDuplex could not end the response: there duplex stays closed, unless the handler has
// begun to read. No 100 can follow the head, so one that the client waits for comes before it if the
// status is that of a success; otherwise Read fails.
func (o *outer) openDuplex(status int) {
	b := o.body
	if b == nil || o.begun || b.whole.Load() {
		return
	}
	if o.r.ProtoMajor < 2 && (!o.wrapped() || b.n.Load() > 0 || b.reading.Load()) {
		o.duplex = o.rc.EnableFullDuplex() == nil
	}
	if b.closed.Load() || !o.awaits100() {
		return
	}
	mayAsk := o.duplex && !o.wrapped() // the first WriteHeader of a middleware may be its last
	asks := mayAsk && status/100 == 2
	b.notAsked.Store(!asks) // before reading is loaded; Read does it the other way round
	reading := b.reading.Load()
	if asks || mayAsk && reading {
		o.asked = true
		o.w.WriteHeader(http.StatusContinue)
	}
	if asks || reading {
		b.notAsked.Store(false)
	}
}

// wrapped reports whether the ResponseWriter is that of a middleware, around net/http's.
func (o *outer) wrapped() bool {
	_, ok := o.w.(interface{ Unwrap() http.ResponseWriter })
	return ok
}

// begin passes status and fields to net/http, at its first call only. length is the
// length of the body, negative if it isn't known.
func (o *outer) begin(resp *gale.Response, length int64) {
	if o.begun {
		return
	}
	o.begun = true
	if status := resp.StatusCode(); status < 200 || status > 999 {
		resp.SetStatusCode(gale.StatusInternalServerError) // as a Server does
	}
	status := resp.StatusCode()
	to := o.w.Header()
	h := &resp.Header
	byDefault := h.ContentType()
	h.SetNoDefaultContentType(true) // so that All returns only what was set
	for k, v := range h.All() {
		switch name := string(k); name {
		case "Content-Length", "Transfer-Encoding":
		case "Connection":
			if resp.ConnectionClose() {
				to.Set(name, "close")
			}
		default:
			to.Add(name, string(v))
		}
	}
	if len(h.ContentType()) == 0 {
		to["Content-Type"] = nil // or net/http guesses
		if length != 0 && length != msg.LenUnsaid && len(byDefault) > 0 && mayHaveContent(status) {
			to.Set("Content-Type", string(byDefault))
		}
	}
	o.frame(resp, length)
	o.w.WriteHeader(status)
}

// framing is how the body of a response ends.
type framing uint8

const (
	noBody     framing = iota // with the head
	sized                     // after the bytes that Content-Length declares
	inChunks                  // with the last chunk, or with the stream of HTTP/2
	untilClose                // with the connection
)

// frame sets the framing by which net/http sends the body, and the fields that make it do so.
func (o *outer) frame(resp *gale.Response, length int64) {
	to, status, old := o.w.Header(), resp.StatusCode(), !o.r.ProtoAtLeast(1, 1)
	if old {
		to.Del("Trailer") // HTTP/1.0 has none
	}
	switch {
	case o.tunnels(resp):
		to.Set("Transfer-Encoding", "identity") // net/http sends neither this nor another framing
		return
	case o.skips(resp), status == http.StatusResetContent:
		to.Set("Content-Length", "0")
		return
	case length > 0 && (mayHaveContent(status) || status == http.StatusNotModified):
		o.length = length
		if to.Get("Trailer") == "" { // or net/http sends no trailers
			to.Set("Content-Length", strconv.FormatInt(length, 10))
		}
	}
	switch {
	case o.bodyless(resp):
	case to.Get("Content-Length") != "":
		o.framing = sized
	case old:
		o.framing = untilClose
	default:
		o.framing = inChunks
	}
}

// endsBare reports whether the end of the body of resp is the end of the connection.
func (o *outer) endsBare(resp *gale.Response) bool {
	if o.begun {
		return o.framing == untilClose
	}
	return !o.r.ProtoAtLeast(1, 1) && resp.IsBodyStream() && door.ContentLength(&resp.Header) < 0 && !o.bodyless(resp)
}

// connects reports whether the request asks for a tunnel: it is a CONNECT to a host.
func (o *outer) connects() bool {
	return o.r.Method == http.MethodConnect && !strings.HasPrefix(o.r.RequestURI, "/")
}

// tunnels reports whether the response makes the connection a tunnel (RFC 9110 section 9.3.6). It
// has no body then. Over HTTP/2 net/http sends the bytes of the tunnel as those of a body.
func (o *outer) tunnels(resp *gale.Response) bool {
	return o.r.ProtoMajor < 2 && resp.StatusCode()/100 == 2 && o.connects()
}

// mayHaveContent is hasBody, except that it returns false for 205, which net/http leaves
// to the handler (RFC 9110 section 15.3.6).
func mayHaveContent(status int) bool { return hasBody(status) && status != http.StatusResetContent }

// bodyless reports whether no body of resp is sent.
func (o *outer) bodyless(resp *gale.Response) bool {
	return resp.SkipBody || o.r.Method == http.MethodHead || !mayHaveContent(resp.StatusCode()) || o.tunnels(resp)
}

// skips reports whether the program has set SkipBody for a response that the client
// expects to have a body. Its length is then 0, whatever was declared.
func (o *outer) skips(resp *gale.Response) bool {
	return resp.SkipBody && o.r.Method != http.MethodHead && mayHaveContent(resp.StatusCode())
}

// memoryLength returns the length of a body in memory, as the head states it. If no body is
// sent, it may be the length of the body that a GET would get.
func (o *outer) memoryLength(resp *gale.Response) int64 {
	if o.skips(resp) {
		return 0
	}
	if n := len(resp.Body()); n > 0 && resp.StatusCode() != http.StatusNotModified || !o.bodyless(resp) {
		return int64(n)
	}
	return door.ContentLength(&resp.Header)
}

// streamLength returns the length of a body that is a stream, negative if it isn't known. A header
// with a status that has no body takes no length; the status that was flushed may have one.
func (o *outer) streamLength(resp *gale.Response) int64 {
	n := door.ContentLength(&resp.Header)
	if n == 0 && o.framing != noBody && !hasBody(resp.StatusCode()) {
		return -1
	}
	return n
}

// writeBytes writes a body that is in memory to w, and nothing of it if it goes beyond the declared
// length.
func (o *outer) writeBytes(w io.Writer, resp *gale.Response) error {
	b := resp.Body()
	if o.framing == noBody || len(b) == 0 {
		return nil
	}
	due := head.Promised{Left: -1}
	if o.length > 0 {
		due.Left = max(o.length-o.sent, 0)
	}
	if due.Exceeds(b) {
		return door.ErrBodyTooLong
	}
	_, err := counted{o, w}.Write(b)
	return err
}

// writeStream writes a body that is a stream to w, which counts it, but no more than the declared
// length, and closes it.
func (o *outer) writeStream(w io.Writer, resp *gale.Response) error {
	if o.framing == noBody {
		return resp.CloseBodyStream()
	}
	n := o.streamLength(resp)
	if left := o.length - o.sent; o.length > 0 && (n < 0 || n > left) {
		n = left
	}
	if n < 0 {
		return resp.BodyWriteTo(w)
	}
	return errors.Join(copyKnown(w, resp.BodyStream(), n), resp.CloseBodyStream())
}

// short returns an error if the body was not sent to its declared length.
func (o *outer) short() error {
	if o.framing != noBody && o.sent < o.length {
		return door.ErrBodyTooShort
	}
	return nil
}
