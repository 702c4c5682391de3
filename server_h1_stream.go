package gale

import (
	"bufio"
	"errors"
	"io"
	"sync"
	"time"

	"github.com/galehttp/gale/internal/clock"
	"github.com/galehttp/gale/internal/engine"
	"github.com/galehttp/gale/internal/h1"
	"github.com/galehttp/gale/internal/msg"
	"github.com/galehttp/gale/internal/pool"
)

// errShortBody says that a body ended before what its header promised. One that
// goes on behind that is errBodyStreamTooLong.
var errShortBody = errors.New("gale: the response body is shorter than the Content-Length sent")

// bodyOut sends a body piece by piece, framed as the head promised.
type bodyOut struct {
	ss      *session
	w       *engine.Work
	chunked bool
	skip    bool  // the body isn't wanted: HEAD
	left    int64 // bytes that are still due, negative if that isn't known
}

// bodyOut returns the way for the body of resp, as its framed head says.
func (ss *session) bodyOut(w *engine.Work, resp *Response) bodyOut {
	o := bodyOut{ss: ss, w: w, skip: resp.SkipBody, left: -1}
	switch n := resp.Header.s.ContentLength; {
	case n >= 0:
		o.left = n
	case n == msg.LenChunked:
		o.chunked = true
	}
	return o
}

// Write sends p at once, but never more than the head promised: what exceeds
// that is an error, which ends the connection.
func (o *bodyOut) Write(p []byte) (int, error) {
	if len(p) == 0 || o.skip {
		return len(p), nil
	}
	if o.left >= 0 {
		if int64(len(p)) > o.left {
			n, err := o.Write(p[:o.left])
			if err == nil {
				err = errBodyStreamTooLong
			}
			return n, err
		}
		o.left -= int64(len(p))
	}
	w := o.w
	var err error
	switch {
	case !o.chunked:
		err = o.ss.c.WriteBody(w, p)
	case len(p) < streamBuffer:
		w.Out = h1.AppendChunk(w.Out, p)
		err = o.ss.c.Flush(w)
	default:
		w.Out = h1.AppendChunkSize(w.Out, len(p))
		err = o.ss.c.WriteBody(w, p)
		w.Out = append(w.Out, "\r\n"...) // goes with what comes next
	}
	if err != nil {
		return 0, err
	}
	return len(p), nil
}

// end ends the body; the last bytes are left to the engine.
func (o *bodyOut) end(resp *Response) error {
	if o.left > 0 && !o.skip {
		return errShortBody
	}
	if o.chunked && !o.skip {
		o.w.Out = h1.AppendLastChunk(o.w.Out)
		o.w.Out = append(o.w.Out, resp.Header.TrailerHeader()...)
	}
	return nil
}

var bufioPool = sync.Pool{New: func() any { return bufio.NewWriterSize(nil, streamBuffer) }}

// streamBuffer is how much of a streamed body is read or written at a time.
const streamBuffer = 16 << 10

// runStreamWriter lets sw write the body. If it panics, bw is left to the
// garbage collector.
func (ss *session) runStreamWriter(sw StreamWriter, out *bodyOut) error {
	bw := bufioPool.Get().(*bufio.Writer)
	bw.Reset(out)
	sw(bw)
	err := bw.Flush()
	bw.Reset(nil)
	bufioPool.Put(bw)
	return err
}

// copyStream sends what r brings, each Read at once. Behind a body of known length
// r has to end.
func (ss *session) copyStream(out *bodyOut, r io.Reader) error {
	if wt, ok := r.(BodyWriterTo); ok && wt.SupportsBodyWriteTo() {
		_, err := wt.WriteTo(out)
		return err
	}
	buf := pool.Get(streamBuffer)
	defer pool.Put(buf)
	for out.left != 0 {
		b := buf.B[:cap(buf.B)]
		if out.left > 0 && int64(len(b)) > out.left {
			b = b[:out.left]
		}
		n, err := r.Read(b)
		if n > 0 {
			if _, err := out.Write(b[:n]); err != nil {
				return err
			}
		}
		if err == io.EOF {
			return nil // end says whether that was too early
		}
		if err != nil {
			return err
		}
	}
	return readEnd(r)
}

// flushState is where a response stands that is sent while the handler runs.
type flushState struct {
	begun bool
	keep  bool
	out   bodyOut
}

// Flush sends what the response holds by now: at the first call the status line
// and the header, which can't be changed any more then, and each time the body
// written since. The response is sent chunked, unless its Content-Length was
// set. So a handler can write, flush and see the client leave (see Done): that
// is all that server-sent events take.
//
// It blocks until the bytes are handed to the system, at most for
// Server.WriteTimeout. After an error the client is gone and the handler should
// return. Not in fasthttp.
func (ctx *RequestCtx) Flush() error {
	ctx.mu.Lock()
	defer ctx.mu.Unlock()
	ss, w := ctx.ss, ctx.work
	if o := ctx.outer(); o != nil && ctx.timedOut.Load() == nil && !ctx.Response.hasStream() {
		return o.Flush(&ctx.Response)
	}
	if ss == nil || w == nil || ctx.timedOut.Load() != nil {
		return ErrNilConnection
	}
	resp := &ctx.Response
	if resp.hasStream() {
		return errors.New("gale: a response with a body stream can't be flushed: it is sent after the handler")
	}
	f := &ctx.flush
	ss.boundWrites()
	if !f.begun {
		ss.beginFlush(ctx, w, resp)
	}
	b := resp.bodyBytes()
	_, err := f.out.Write(b)
	resp.ResetBody()
	if err != nil {
		ss.err = err
		return err
	}
	return ss.c.Flush(w)
}

// beginFlush appends the head of a response whose body is still to come.
func (ss *session) beginFlush(ctx *RequestCtx, w *engine.Work, resp *Response) {
	f := &ctx.flush
	f.begun = true
	f.keep = ss.keepAlive(resp) && !ss.unreadBody()
	h := &resp.Header
	body := resp.swapBody(nil) // its length is not that of the response
	if h.s.ContentLength == 0 {
		h.s.ContentLength = -1
	}
	resp.bodyStream = nothing{}
	ss.frame(ctx, resp, &f.keep)
	resp.bodyStream = nil
	resp.swapBody(body)
	f.out = ss.bodyOut(w, resp)
	w.Out = h.appendHead(w.Out, ss.l.fixed.name)
}

// nothing is a body stream without bytes.
type nothing struct{}

func (nothing) Read([]byte) (int, error) { return 0, io.EOF }

// writeRest ends a response that was flushed.
func (ss *session) writeRest(ctx *RequestCtx, w *engine.Work, resp *Response, next *engine.Next) (ok bool) {
	f := &ctx.flush
	err := error(nil)
	switch {
	case resp.streamWriter != nil:
		sw := resp.streamWriter
		resp.streamWriter = nil
		err = ss.runStreamWriter(sw, &f.out)
	case resp.bodyStream != nil && f.out.skip:
		resp.closeStream(nil)
	case resp.bodyStream != nil:
		err = ss.copyStream(&f.out, resp.bodyStream)
		resp.closeStream(err)
	default:
		_, err = f.out.Write(resp.bodyBytes())
	}
	if err == nil {
		err = f.out.end(resp)
	}
	if err != nil || ss.err != nil {
		if ss.err != nil {
			err = ss.err // the first one tells more
		}
		return ss.fail(err, next)
	}
	return ss.after(next, f.keep, false)
}

// boundWrites tells the engine the write time-out of the response in flight.
func (ss *session) boundWrites() {
	if ss.cfg.writeTimeout != ss.writeTimeout || ss.cfg.writeUntil != 0 || ss.writeLimited {
		ss.setWriteBounds()
	}
}

func (ss *session) setWriteBounds() {
	if ss.cfg.writeTimeout != ss.writeTimeout {
		ss.writeTimeout = ss.cfg.writeTimeout
		ss.c.SetWriteTimeout(ss.writeTimeout)
	}
	if limited := ss.cfg.writeUntil != 0; limited || ss.writeLimited {
		ss.writeLimited = limited
		ss.c.SetWriteDeadline(ss.cfg.writeUntil)
	}
}

// writeDeadline overrides the write time-out for the response in flight.
func (ss *session) writeDeadline(t time.Time) {
	ss.change()
	ss.cfg.writeTimeout, ss.cfg.writeUntil = 0, clock.TickOf(t)
	ss.cfg.writeNow = true
}
