package adaptor

import (
	"bytes"
	"cmp"
	"errors"
	"io"
	"net/http"
	"os"

	"github.com/galehttp/gale"
	"github.com/galehttp/gale/internal/door"
	"github.com/galehttp/gale/internal/head"
	"github.com/galehttp/gale/internal/pool"
)

// finish sends the response of ctx, or the unsent rest of it, and reports whether all was sent.
func (o *outer) finish(ctx *gale.RequestCtx) (sent bool) {
	o.sendMu.Lock() // another goroutine may still send
	taken := o.taken
	o.sendMu.Unlock()
	if taken {
		return false
	}
	resp, hijack := o.choose(ctx)
	silent := hijack.NoResponse && !o.begun
	if !silent && !resp.IsBodyStream() {
		o.endRead()
	}
	if hijack.Handler != nil && (silent || !o.endsBare(resp)) {
		return o.handOver(resp, hijack)
	}
	o.answer(resp)
	return true
}

// hijackOf says what decides about a handover. The request in ctx may belong to the program.
func (o *outer) hijackOf() (of door.HijackOf) {
	if o.r.Close {
		of |= door.HijackCloses
	}
	if !o.r.ProtoAtLeast(1, 1) {
		of |= door.HijackOld
	}
	if o.connects() {
		of |= door.HijackTunnel
	}
	return of
}

// choose runs the functions of BeforeSend and returns the response to send, and what gets the
// connection.
func (o *outer) choose(ctx *gale.RequestCtx) (*gale.Response, door.Hijack) {
	r, hijack := door.Of(ctx).Choose(o.hijackOf())
	resp, _ := r.(*gale.Response)
	if resp == nil {
		if o.begun {
			_ = o.rc.Flush()
		}
		panic(http.ErrAbortHandler) // the client must see that it is not complete
	}
	return resp, hijack
}

// answer sends resp, or the unsent rest of it.
func (o *outer) answer(resp *gale.Response) {
	o.mu.Lock()
	o.answered = true
	o.mu.Unlock()
	err := cmp.Or(o.failed, bodyError(resp))
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
	if err = cmp.Or(err, o.short()); err != nil {
		o.failed = err
		_ = o.rc.Flush()
		panic(http.ErrAbortHandler) // the client must see that it is not complete
	}
	o.trailers(&resp.Header)
	o.closeDuplex(resp)
}

// finishBytes sends a body that is in memory. A ResponseWriter may panic.
func (o *outer) finishBytes(resp *gale.Response) error {
	o.sendMu.Lock()
	defer o.sendMu.Unlock()
	o.begin(resp, o.memoryLength(resp))
	return o.writeBytes(o.w, resp)
}

// bodyError returns the reason why the body of a response must not be sent: Body has read
// a stream that failed, and no other body was set since.
func bodyError(resp *gale.Response) error {
	if err := resp.BodyError(); err != nil && len(resp.Body()) == 0 {
		return err
	}
	return nil
}

// result is how the request has ended, after end. complete says that net/http, or the connection, has
// the whole response.
func (o *outer) result(complete, late bool) door.Ending {
	e := door.Ending{Sent: o.sent, Late: late}
	if !complete {
		e.Err = cmp.Or(o.failed, errNotSent)
	}
	return e
}

var errNotSent = errors.New("adaptor: the response was not sent completely")

// finishTimedOut answers in place of a handler that timed out and may still use ctx. If
// the handler has sent a part of its response, the response is aborted. It reports whether the
// response was sent.
func (o *outer) finishTimedOut(ctx *gale.RequestCtx) (sent bool) {
	cut := o.seal()
	o.sendMu.Lock() // what was being sent has ended
	begun, taken := o.begun, o.taken
	o.sendMu.Unlock()
	switch {
	case taken:
		return false
	case begun, cut:
		panic(http.ErrAbortHandler)
	}
	o.endRead()
	resp, _ := o.choose(ctx)
	o.answer(resp)
	return true
}

// endRead ends a Read of the request's body that a handler has left: net/http would wait for it
// before it sends the response.
func (o *outer) endRead() {
	if o.body != nil && o.body.reading.Load() {
		o.mu.Lock()
		o.endReads()
		o.mu.Unlock()
	}
}

// finishStream sends a body that is a stream.
func (o *outer) finishStream(resp *gale.Response) error {
	length := o.streamLength(resp)
	if o.skips(resp) {
		length = 0
	}
	if !o.sealed { // a handler that timed out reads no more
		o.openDuplex(resp.StatusCode())
	}
	o.begin(resp, length)
	if resp.ImmediateHeaderFlush && o.framing != noBody {
		if err := o.rc.Flush(); err != nil {
			return err
		}
	}
	if length < 0 {
		return o.writeStream(&flushing{counted{o, o.w}, o.rc}, resp)
	}
	return o.writeStream(counted{o, o.w}, resp)
}

// counted counts what is sent of a body.
type counted struct {
	o *outer
	w io.Writer
}

func (c counted) Write(p []byte) (int, error) {
	n, err := c.w.Write(p)
	c.o.sent += int64(n)
	return n, err
}

// ReadFrom lets net/http, and connections, use sendfile.
func (c counted) ReadFrom(r io.Reader) (int64, error) {
	n, err := io.Copy(c.w, r)
	c.o.sent += n
	return n, err
}

// copyKnown copies exactly length bytes from r to w. It doesn't read r any further.
func copyKnown(w io.Writer, r io.Reader, length int64) error {
	wt, ok := r.(gale.BodyWriterTo)
	if !ok || !wt.SupportsBodyWriteTo() {
		if _, file := r.(*os.File); !file { // net/http sends a file by sendfile
			r = &checkedReader{r: r}
		}
		_, err := io.CopyN(w, r, length)
		return err // io.EOF if r is shorter
	}
	to := &limited{head.Promised{Left: length}, w}
	_, err := door.WriteTo(wt, to)
	switch {
	case to.Exceeded():
		return nil
	case err == nil && to.Left > 0:
		return door.ErrBodyTooShort
	}
	return err
}

// checkedReader checks the counts that a stream of the program returns, before other code uses
// them for its own buffers.
type checkedReader struct {
	r     io.Reader
	empty int
}

func (c *checkedReader) Read(p []byte) (int, error) { return pool.ReadOnce(c.r, p, &c.empty) }

// limited passes on the bytes that were promised. If a stream writes more, it gets an error.
type limited struct {
	head.Promised
	w io.Writer
}

func (l *limited) Write(p []byte) (int, error) { return l.Pass(p, l.w.Write, http.ErrContentLength) }

// flushing sends each write at once, as Server does with streams.
type flushing struct {
	w  io.Writer
	rc *http.ResponseController
}

// FlushHead implements door.HeadFlusher.
func (f *flushing) FlushHead() error { return f.rc.Flush() }

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
