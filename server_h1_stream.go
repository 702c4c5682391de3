package gale

import (
	"bufio"
	"io"
	"math"

	"github.com/galehttp/gale/internal/engine"
	"github.com/galehttp/gale/internal/h1"
	"github.com/galehttp/gale/internal/head"
	"github.com/galehttp/gale/internal/msg"
	"github.com/galehttp/gale/internal/pool"
)

// bodyOut sends a body piece by piece, with the framing that the head has.
type bodyOut struct {
	head.Promised
	ss      *h1Session
	w       *engine.Work
	in      *requestStream // whose out is locked, because the request's body may be read at the same time
	chunked bool
	skip    bool  // the body isn't sent: HEAD
	sent    int64 // bytes of the body that were written
	err     error // the first of a write, or of writePart. The stream may hide it
}

// bodyOut returns the writer for the body of resp, after frame has set its framing.
func (ss *h1Session) bodyOut(w *engine.Work, resp *Response) bodyOut {
	n := resp.Header.s.ContentLength
	return bodyOut{Promised: head.Promised{Left: max(n, -1)}, ss: ss, w: w, in: &ss.m.stream, skip: resp.SkipBody, chunked: n == msg.LenChunked}
}

// Write sends p at once, but never more bytes than the head said: for more it returns
// errBodyStreamTooLong.
func (o *bodyOut) Write(p []byte) (int, error) {
	o.in.out.Lock()
	defer o.in.unlock(o.ss, o.w)
	return o.write(p)
}

// write is Write with requestStream.out held.
func (o *bodyOut) write(p []byte) (int, error) {
	if o.skip {
		return len(p), nil
	}
	return o.Pass(p, o.put, errBodyStreamTooLong)
}

// writePart is write for a part of a body that is in memory. A part that goes beyond the length is
// an error of the handler, and nothing of it is sent: the response must not look complete.
func (o *bodyOut) writePart(p []byte) error {
	if !o.skip && o.err == nil && o.Exceeds(p) {
		o.err = errBodyStreamTooLong
		return o.err
	}
	_, err := o.write(p)
	return err
}

// put writes p, which belongs to the body, in its framing.
func (o *bodyOut) put(p []byte) (int, error) {
	if len(p) == 0 || o.err != nil {
		return 0, o.err
	}
	w := o.w
	switch {
	case !o.chunked:
		o.err = o.ss.c.WriteBody(w, p)
	case len(p) < streamBuffer:
		w.Out = h1.AppendChunk(w.Out, p)
		o.err = o.ss.c.Flush(w)
	default:
		w.Out = h1.AppendChunkSize(w.Out, len(p))
		o.err = o.ss.c.WriteBody(w, p)
		w.Out = append(w.Out, "\r\n"...) // sent together with what comes next
	}
	if o.err != nil {
		return 0, o.err
	}
	o.sent += int64(len(p))
	return len(p), nil
}

// FlushHead writes w.Out. It implements door.HeadFlusher.
func (o *bodyOut) FlushHead() error {
	o.in.out.Lock()
	defer o.in.unlock(o.ss, o.w)
	return o.ss.c.Flush(o.w)
}

// end ends the body. The engine writes the last bytes.
func (o *bodyOut) end(resp *Response) error {
	if o.err != nil {
		return o.err
	}
	if o.Left > 0 && !o.skip {
		return errShortBody
	}
	if o.chunked && !o.skip {
		o.in.out.Lock()
		defer o.in.unlock(o.ss, o.w)
		o.w.Out = h1.AppendLastChunk(o.w.Out)
		o.w.Out = append(o.w.Out, resp.Header.TrailerHeader()...)
	}
	return nil
}

var bufioPool = pool.Pool{New: func() any { return bufio.NewWriterSize(nil, streamBuffer) }}

// streamBuffer is how much of a streamed body is read or written at a time.
const streamBuffer = 16 << 10

// bodySink sends a body piece by piece: bodyOut or h2Out. Its Write never sends more than
// BytesLeft, unless that is negative; for more it returns errBodyStreamTooLong.
type bodySink interface {
	io.Writer
	BytesLeft() int64
	// Exceeded reports whether more was written than the head said.
	Exceeded() bool
}

// runStreamWriter calls sw, which writes the body to o. If sw panics, the buffer is left to
// the garbage collector. As in sendBody, bytes beyond the length are not sent.
func runStreamWriter(o bodySink, sw StreamWriter) error {
	buf := bufioPool.Get().(*bufio.Writer)
	err := callStreamWriter(sw, o, buf)
	bufioPool.Put(buf)
	if o.Exceeded() {
		return nil
	}
	return err
}

// sendBody copies r to o, the bytes of each Read at once. If the length of the body is
// known, it sends exactly that many bytes and doesn't read r any further. It is not an
// error if r has more bytes; the caller checks whether r had fewer.
func sendBody(o bodySink, r io.Reader) error {
	if wt, ok := r.(BodyWriterTo); ok && wt.SupportsBodyWriteTo() {
		_, err := writeTo(wt, o)
		if o.Exceeded() {
			return nil
		}
		return err
	}
	limit := o.BytesLeft()
	if limit < 0 {
		limit = math.MaxInt64
	}
	_, err := copyStream(o, r, limit)
	return err
}

// boundRest makes left, the bytes that are still due as in a bodySink, the declared length
// of the stream in resp, if that is less: a stream that is shorter must not look complete,
// also as the rest of a flushed response. beyond is what is due after the stream.
func boundRest(left *int64, resp *Response) (beyond int64) {
	n := resp.Header.s.ContentLength
	if !resp.hasStream() || n < 0 || *left >= 0 && *left <= n {
		return 0
	}
	beyond = max(*left-n, 0)
	*left = n
	return beyond
}

// beginFlush appends the head of a response whose body isn't complete yet. The caller
// holds requestStream.out.
func (ss *h1Session) beginFlush(ctx *RequestCtx, w *engine.Work, resp *Response) {
	m := ss.m
	ctx.flush.begun = true
	m.keep = ss.keepAlive(resp) && !ss.leavesBody()
	h := &resp.Header
	body := resp.swapBody(nil) // the response is longer than this part
	if h.s.ContentLength == 0 {
		h.s.ContentLength = -1
	}
	resp.bodyStream = nothing{}
	ss.frame(resp, &m.keep)
	resp.bodyStream = nil
	resp.swapBody(body)
	m.out = ss.bodyOut(w, resp)
	m.stream.answer(w, resp.StatusCode(), true)
	w.Out = h.appendHead(w.Out, ss.l.fixed.name)
}

// nothing is a body stream without bytes.
type nothing struct{}

func (nothing) Read([]byte) (int, error) { return 0, io.EOF }

// writeRest ends a response that was flushed.
func (ss *h1Session) writeRest(ctx *RequestCtx, w *engine.Work, resp *Response, next *engine.Next) (ok bool) {
	ctx.closeAfter()
	m := ss.m
	defer func() { ss.countSent(m.out.sent, nil) }() // also after a panic
	err := error(nil)
	beyond := boundRest(&m.out.Left, resp)
	switch {
	case resp.streamWriter != nil:
		sw := resp.streamWriter
		resp.streamWriter = nil
		err = runStreamWriter(&m.out, sw)
	case resp.bodyStream != nil && m.out.skip:
		resp.closeStream(nil)
	case resp.bodyStream != nil:
		err = sendBody(&m.out, resp.bodyStream)
		if cerr := resp.closeStream(err); err == nil {
			err = cerr
		}
	default:
		m.stream.out.Lock()
		err = m.out.writePart(resp.bodyBytes())
		m.stream.unlock(ss, w)
	}
	m.out.Left += beyond
	if err == nil {
		err = m.out.end(resp)
	}
	ss.closeBody()
	if first := ss.cause(); err != nil || first != nil {
		if first != nil {
			err = first // it tells more
		}
		return ss.fail(err, next)
	}
	ss.bare = ss.bare && len(w.Out) > 0 // what was written is whole
	return ss.after(next, m.keep && !ss.isLost(), false)
}

// boundWrites sets the engine's write timeouts for the response in flight. Open has set
// those for responses without timeouts of their own.
func (ss *h1Session) boundWrites() {
	if ss.cfg != &ss.l.fixed.each || ss.boundsDiffer {
		ss.setWriteBounds()
	}
}

func (ss *h1Session) setWriteBounds() {
	ss.boundsDiffer = ss.cfg != &ss.l.fixed.each
	ss.c.SetWriteTimeout(ss.cfg.writeTimeout, ss.cfg.writeStall)
	if limited := ss.cfg.writeUntil != 0; limited || ss.writeLimited {
		ss.writeLimited = limited
		ss.c.SetWriteDeadline(ss.cfg.writeUntil)
	}
}
