package gale

import (
	"github.com/galehttp/gale/internal/clock"
	"github.com/galehttp/gale/internal/engine"
	"github.com/galehttp/gale/internal/msg"
	"github.com/galehttp/gale/internal/pool"
)

// accept applies the settings and hooks that decide on a request by its head, and begins
// to read its body.
func (ss *h1Session) accept(ctx *RequestCtx, w *engine.Work, next *engine.Next) bool {
	s := ss.s
	head := &ctx.Request.Header.s
	if ss.rare.Load() != nil {
		ss.cfg = &ss.l.fixed.each
	}
	ss.due = 0
	if head.ContentLength == msg.LenUnknown && head.Expect == msg.ExpectNone && !ss.l.fixed.headFirst {
		ss.stage = inBody
		return true
	}
	ctx.Request.Header.s.Trailers.Open = head.ContentLength == msg.LenChunked
	if s.HeaderReceived != nil {
		ss.override(s.HeaderReceived(&ctx.Request.Header), false)
	}
	ss.stage = inBody
	m := ss.m
	m.work = w
	if s.RequestStarted != nil && ss.start(ctx, ss, &ss.outcome) {
		return ss.endEarly(ctx, w, next)
	}
	if ss.cfg.readTimeout > 0 {
		ss.excuseWait()
		ss.due = ss.begun.Add(ss.cfg.readTimeout)
	}
	switch v, refusal := ss.judge(ctx, ss.cfg, &ss.outcome); v {
	case refused:
		return ss.refuse(w, refusal, next)
	case answered:
		return ss.endEarly(ctx, w, next)
	case awaited:
		ss.owe100(w)
	}
	length := head.ContentLength
	if length == msg.LenUnknown || length == 0 {
		return true
	}
	ss.hasBody = true
	m.body.Init(length, &ctx.trailers, nil)
	if ss.cfg.stream {
		ss.openBody(ctx, w, length)
	}
	return true
}

// openBody lets the handler read the body as a stream.
func (ss *h1Session) openBody(ctx *RequestCtx, w *engine.Work, length int64) {
	m := ss.m
	m.stream.open(ss, ctx, w)
	if ss.cfg.bounded {
		m.stream.limit.Store(int64(ss.cfg.maxBody))
	}
	ctx.Request.removeForm()
	ctx.Request.setStream(&m.stream.own)
	ctx.Request.Header.setLength(length) // it may be more than an int holds
	if h := &ctx.Request.Header.s; h.Trailers.Open {
		h.Trailers.Expect(&h.Fields, &m.stream)
	}
}

// change gives the message in flight its own copy of the limits.
func (ss *h1Session) change() {
	rare := ss.extra()
	if rare.own == nil {
		rare.own = new(requestLimits)
	}
	if ss.cfg != rare.own {
		*rare.own = *ss.cfg
		ss.cfg = rare.own
	}
}

// override applies the result of HeaderReceived or RequestStarted.
func (ss *h1Session) override(c RequestConfig, bounds bool) *requestLimits {
	if c.changes() {
		ss.change()
		ss.cfg.override(c, bounds)
	}
	return ss.cfg
}

// endEarly ends a request that a hook has answered. It returns false.
func (ss *h1Session) endEarly(ctx *RequestCtx, w *engine.Work, next *engine.Next) bool {
	late := ctx.wrestLate(true)
	if ss.outcome == tookConn {
		ss.finish(ctx, w, late)
		return false
	}
	ss.lost = true // no other answer may follow, and no 100
	if late {
		return ss.sendRefusal(ctx, w, next)
	}
	ss.write(ctx, w, &ctx.Response, true, next)
	ss.finish(ctx, w, false)
	next.Linger = true
	return false
}

// owe100 sends the 100 for which the client waits, or lets a streamed body send it when the
// handler reads.
func (ss *h1Session) owe100(w *engine.Work) {
	if ss.cfg.stream {
		ss.m.stream.used = true
		ss.m.stream.owesContinue.Store(true)
	} else if len(w.Unread()) == 0 {
		w.Out = append(w.Out, continueLine...)
	}
}

const continueLine = "HTTP/1.1 100 Continue\r\n\r\n"

// feedBody collects a body that is not streamed. It returns true when the body is
// complete.
func (ss *h1Session) feedBody(w *engine.Work, next *engine.Next) bool {
	ctx := &ss.m.ctx
	buf := ctx.Request.bodyBuf()
	in := w.Unread()
	landed := w.Landed()
	if landed > 0 {
		in = buf.B[len(buf.B) : len(buf.B)+landed]
	}
	for {
		data, n, done, err := ss.m.body.Next(in)
		if err != nil {
			return ss.refuse(w, err, next)
		}
		if len(data) > ss.cfg.maxBody-len(buf.B) {
			return ss.refuse(w, ErrBodyTooLarge, next)
		}
		if landed > 0 {
			buf.B = buf.B[:len(buf.B)+n] // the bytes are already there
			landed = 0
		} else {
			if !done && n == len(in) { // or readIntoBody would copy data once more
				ss.growBody(w, buf, len(data))
			}
			buf.Write(data)
			w.Consume(n)
		}
		if done {
			if ctx.reach == paused {
				ss.m.work = w
				ctx.resumeDone()
			}
			ctx.takeTrailers(ss.s.MergeTrailers)
			return true
		}
		if n == 0 || len(w.Unread()) == 0 {
			from := w.Now
			if from == ss.ran {
				from = clock.Ticks() // the body waited for the handler of the message before
			}
			next.Deadline = bodyDue(from, ss.cfg.readStall, ss.due)
			ss.readIntoBody(w, buf)
			return false
		}
		in = w.Unread()
	}
}

// The rest of a body of known length, or of a chunk, is read directly into the body,
// without a copy, if at least minInto bytes are left; maxInto is the most for one read.
// Memory grows with what has arrived, see pool.StepTo. If a read filled its room, the next one
// gets at least fullInto: most likely as much is there.
const (
	minInto  = 1 << 10
	fullInto = 64 << 10
	maxInto  = 256 << 10
)

// readIntoBody makes the engine read into the body, unless it is better to read into the
// workspace.
func (ss *h1Session) readIntoBody(w *engine.Work, buf *pool.Buf) {
	if len(w.Unread()) > 0 || !ss.readsInto(len(buf.B)) {
		return
	}
	if cap(buf.B)-len(buf.B) < minInto {
		if len(buf.B) < minInto && !w.Full() {
			return
		}
		ss.growBody(w, buf, 0)
	}
	left := min(ss.m.body.Left(), int64(cap(buf.B)-len(buf.B)), maxInto)
	if left > 0 {
		ss.c.ReadInto(buf.B[len(buf.B) : len(buf.B)+int(left)])
	}
}

// readsInto reports whether the next bytes of a body that has has bytes may be read
// directly into it. If it would become too long, they are read into the workspace, and
// feedBody refuses it.
func (ss *h1Session) readsInto(has int) bool {
	left := ss.m.body.Left()
	return left >= minInto && left <= int64(ss.cfg.maxBody-has)
}

// growBody makes room in the body for more bytes, which have arrived, and for the reads
// after them.
func (ss *h1Session) growBody(w *engine.Work, buf *pool.Buf, more int) {
	has := len(buf.B) + more
	if cap(buf.B)-has >= minInto || !ss.readsInto(has) {
		return
	}
	least := 0
	if w.Full() {
		least = has + fullInto
	}
	c := pool.StepTo(int64(has)+ss.m.body.Left(), has, least)
	if ss.m.ctx.Request.Header.s.ContentLength == msg.LenChunked {
		buf.Grow(c - len(buf.B)) // other chunks may follow
		return
	}
	buf.GrowTo(c)
}
