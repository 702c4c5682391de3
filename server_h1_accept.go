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
		ss.override(s.HeaderReceived(&ctx.Request.Header))
	}
	if s.GetOnly && head.MethodID != msg.MethodGet && head.MethodID != msg.MethodHead {
		return ss.refuse(w, ErrGetOnly, next)
	}
	ss.stage = inBody
	if ss.cfg.readTimeout > 0 {
		ss.excuseWait()
		ss.due = ss.begun.Add(ss.cfg.readTimeout)
	}
	length := head.ContentLength
	if length == msg.LenUnknown {
		length = 0
	}
	if head.Expect != msg.ExpectNone {
		if !ss.expect(ctx, w, length, next) {
			return false
		}
	}
	if length == 0 {
		return true
	}
	if length > int64(ss.cfg.maxBody) && !ss.cfg.stream {
		return ss.refuse(w, ErrBodyTooLarge, next)
	}
	ss.hasBody = true
	ss.body = &ctx.body
	ss.body.Init(length, &ctx.trailers, nil)
	if ss.cfg.stream {
		ctx.stream.open(ss, ctx, w)
		ctx.Request.removeForm()
		ctx.Request.setStream(&ctx.stream)
		ctx.Request.Header.setLength(length) // it may be more than an int holds
		if h := &ctx.Request.Header.s; h.Trailers.Open {
			h.Trailers.Expect(&h.Fields)
		}
	}
	return true
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

// override applies the result of HeaderReceived.
func (ss *h1Session) override(c RequestConfig) {
	ss.change()
	ss.cfg.override(c)
}

// expect answers the Expect field (RFC 9110 section 10.1.1).
func (ss *h1Session) expect(ctx *RequestCtx, w *engine.Work, length int64, next *engine.Next) bool {
	s := ss.s
	head := &ctx.Request.Header.s
	if head.Expect != msg.ExpectContinue {
		return ss.refuse(w, errExpectation, next)
	}
	if head.Minor == 0 || length == 0 {
		return true
	}
	if length > int64(ss.cfg.maxBody) && !ss.cfg.stream {
		return ss.refuse(w, ErrBodyTooLarge, next)
	}
	switch {
	case s.ExpectHandler != nil:
		ctx.work, ctx.reach = w, running
		code := s.ExpectHandler(ctx)
		late := ctx.timedOut.Load() != nil // a late hook still uses ctx
		if ss.detached {
			ss.finish(ctx, w, late)
			return false
		}
		if late {
			ss.lost = true
			return ss.sendRefusal(ctx, w, next)
		}
		if ctx.flush.begun {
			ss.lost = true // no other answer may follow, and no 100
			ss.write(ctx, w, &ctx.Response, true, next)
			ss.finish(ctx, w, false)
			next.Linger = true
			return false
		}
		if !ss.cfg.stream {
			ctx.pauseDone()
		}
		ctx.Response.Reset()
		ss.prepareResponse(ctx)
		if code != StatusContinue {
			return ss.refuse(w, &statusError{code, ""}, next)
		}
	case s.ContinueHandler != nil:
		if !s.ContinueHandler(&ctx.Request.Header) {
			return ss.refuse(w, errExpectation, next)
		}
	}
	if ss.cfg.stream {
		ctx.stream.used = true
		ctx.stream.owesContinue.Store(true) // until the handler reads
		return true
	}
	if len(w.Unread()) == 0 {
		w.Out = append(w.Out, continueLine...)
	}
	return true
}

const continueLine = "HTTP/1.1 100 Continue\r\n\r\n"

// feedBody collects a body that is not streamed. It returns true when the body is
// complete.
func (ss *h1Session) feedBody(w *engine.Work, next *engine.Next) bool {
	ctx := ss.ctx
	buf := ctx.Request.bodyBuf()
	in := w.Unread()
	landed := w.Landed()
	if landed > 0 {
		in = buf.B[len(buf.B) : len(buf.B)+landed]
	}
	for {
		data, n, done, err := ss.body.Next(in)
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
				buf.Grow(len(data) + ss.bodyRoom(w, len(buf.B)+len(data)))
			}
			buf.Write(data)
			w.Consume(n)
		}
		if done {
			if ctx.reach == paused {
				ctx.work = w
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
// Memory grows with what has arrived: each read gets as much room as the body already
// has, and more only if reads fill it.
const (
	minInto = 1 << 10
	maxInto = 256 << 10
)

func (ss *h1Session) readIntoBody(w *engine.Work, buf *pool.Buf) {
	if len(w.Unread()) > 0 {
		return
	}
	if n := ss.bodyRoom(w, len(buf.B)); n > 0 {
		buf.Grow(n)
		ss.c.ReadInto(buf.B[len(buf.B) : len(buf.B)+n])
	}
}

// bodyRoom returns how many bytes may be read directly into a body that has has bytes, 0
// if it is better to read into the workspace.
func (ss *h1Session) bodyRoom(w *engine.Work, has int) int {
	left := ss.body.Left()
	if left < minInto || left > int64(ss.cfg.maxBody-has) {
		return 0
	}
	room := int64(has)
	if w.Full() {
		room = max(room, 64<<10)
	}
	n := int(min(left, room, maxInto))
	if n < minInto {
		return 0
	}
	return n
}
