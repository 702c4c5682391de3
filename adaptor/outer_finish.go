package adaptor

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"time"

	"github.com/galehttp/gale"
	"github.com/galehttp/gale/internal/door"
)

// finish sends the response of ctx, or the unsent rest of it.
func (o *outer) finish(ctx *gale.RequestCtx) {
	o.mu.Lock()
	taken := o.taken
	o.mu.Unlock()
	if taken {
		return
	}
	hijack := ctx.Value(door.HijackKey{}).(door.Hijack)
	if hijack.Handler != nil && hijack.NoResponse {
		o.handOver(&ctx.Response, hijack)
		return
	}
	resp := o.final(ctx)
	if hijack = ctx.Value(door.HijackKey{}).(door.Hijack); hijack.Handler != nil {
		o.handOver(resp, hijack)
		return
	}
	o.answer(resp)
}

// final runs the functions of BeforeSend and returns the response to send.
func (o *outer) final(ctx *gale.RequestCtx) *gale.Response {
	resp, _ := ctx.Value(door.FinalKey{}).(*gale.Response)
	if resp == nil {
		if o.begun {
			_ = o.rc.Flush()
		}
		panic(http.ErrAbortHandler) // the client must see that it is not complete
	}
	return resp
}

// answer sends resp, or the unsent rest of it.
func (o *outer) answer(resp *gale.Response) {
	err := bodyError(resp)
	if err != nil && !o.begun {
		resp.Reset()
		resp.SetStatusCode(gale.StatusInternalServerError)
		resp.SetBodyString(gale.StatusMessage(gale.StatusInternalServerError))
		err = nil
	}
	switch {
	case err != nil: // an error in the part after what was flushed
	case resp.IsBodyStream():
		err = o.finishStream(resp)
	default:
		err = o.finishBytes(resp)
	}
	if err != nil {
		_ = o.rc.Flush()
		panic(http.ErrAbortHandler) // the client must see that it is not complete
	}
	o.trailers(&resp.Header)
}

// finishBytes sends a body that is in memory. A ResponseWriter may panic.
func (o *outer) finishBytes(resp *gale.Response) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.begin(resp, o.length(resp))
	return o.writeBody(resp)
}

// bodyError returns the reason why the body of a response must not be sent: Body has read
// a stream that failed, and no other body was set since.
func bodyError(resp *gale.Response) error {
	if err := resp.BodyError(); err != nil && len(resp.Body()) == 0 {
		return err
	}
	return nil
}

// tellSent calls the functions of AfterSend, unless it has done so. complete says that
// net/http has the whole response.
func (o *outer) tellSent(ctx *gale.RequestCtx, complete bool) {
	tell, ok := ctx.Value(door.SentKey{}).(door.Sent)
	if !ok {
		return
	}
	o.mu.Lock()
	err := error(nil)
	if !complete || o.taken {
		err = errNotSent
	}
	sent := o.sent
	o.mu.Unlock()
	tell(sent, err)
}

var errNotSent = errors.New("adaptor: the response was not sent completely")

// finishTimedOut answers in place of a handler that timed out and may still use ctx. If
// the handler has sent a part of its response, the response is aborted.
func (o *outer) finishTimedOut(ctx *gale.RequestCtx) {
	if !o.mu.TryLock() {
		if o.sending.Load() { // this may take long: the client must read
			_ = o.rc.SetWriteDeadline(time.Unix(1, 0))
		}
		o.mu.Lock()
	}
	o.sealed = true
	begun, taken := o.begun, o.taken
	o.mu.Unlock()
	switch {
	case taken:
	case begun:
		panic(http.ErrAbortHandler)
	default:
		o.answer(o.final(ctx))
	}
}

// finishStream sends a body that is a stream.
func (o *outer) finishStream(resp *gale.Response) error {
	length := resp.Header.ContentLength()
	if o.skips(resp) {
		length = 0
	}
	o.begin(resp, length)
	if o.bodyless(resp) {
		return resp.CloseBodyStream()
	}
	if resp.ImmediateHeaderFlush {
		if err := o.rc.Flush(); err != nil {
			return err
		}
	}
	if length >= 0 {
		err := copyKnown(counted{o}, resp.BodyStream(), int64(length))
		return errors.Join(err, resp.CloseBodyStream())
	}
	return resp.BodyWriteTo(&flushing{counted{o}, o.rc})
}

// counted counts what net/http gets of a stream.
type counted struct{ o *outer }

func (c counted) Write(p []byte) (int, error) {
	n, err := c.o.w.Write(p)
	c.o.sent += int64(n)
	return n, err
}

// ReadFrom lets net/http use sendfile.
func (c counted) ReadFrom(r io.Reader) (int64, error) {
	n, err := io.Copy(c.o.w, r)
	c.o.sent += n
	return n, err
}

// copyKnown copies exactly length bytes from r to w. It doesn't read r any further.
func copyKnown(w io.Writer, r io.Reader, length int64) error {
	wt, ok := r.(gale.BodyWriterTo)
	if !ok || !wt.SupportsBodyWriteTo() {
		_, err := io.CopyN(w, r, length)
		return err // io.EOF if r is shorter
	}
	to := &limited{w: w, left: length}
	_, err := wt.WriteTo(to)
	switch {
	case to.over:
		return nil
	case err == nil && to.left > 0:
		return io.ErrUnexpectedEOF
	}
	return err
}

// limited passes on left bytes. If a stream writes more, it gets an error, and over is
// set.
type limited struct {
	w    io.Writer
	left int64
	over bool
}

// BytesLeft tells a stream of package gale how many bytes it may write.
func (l *limited) BytesLeft() int64 { return l.left }

func (l *limited) Write(p []byte) (int, error) {
	over := int64(len(p)) > l.left
	if over {
		p = p[:l.left]
	}
	n, err := l.w.Write(p)
	l.left -= int64(n)
	if over && err == nil {
		l.over, err = true, http.ErrContentLength
	}
	return n, err
}

// flushing sends each write at once, as Server does with streams.
type flushing struct {
	w  io.Writer
	rc *http.ResponseController
}

func (f *flushing) Write(p []byte) (int, error) {
	n, err := f.w.Write(p)
	if err == nil {
		err = f.rc.Flush()
	}
	return n, err
}

// trailers passes the trailer section to net/http.
func (o *outer) trailers(h *gale.ResponseHeader) {
	if len(h.PeekTrailerKeys()) == 0 {
		return
	}
	to := o.w.Header()
	for line := range bytes.SplitSeq(h.TrailerHeader(), []byte("\r\n")) {
		name, value, ok := bytes.Cut(line, []byte(": "))
		if ok {
			to.Add(http.TrailerPrefix+string(name), string(value))
		}
	}
}
