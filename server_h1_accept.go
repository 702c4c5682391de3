package gale

import (
	"iter"

	"github.com/galehttp/gale/internal/bytesconv"
	"github.com/galehttp/gale/internal/engine"
	"github.com/galehttp/gale/internal/msg"
)

// accept applies the settings and hooks that decide on a request by its head,
// and gets its body under way.
func (ss *session) accept(ctx *RequestCtx, w *engine.Work, next *engine.Next) bool {
	s := ss.s
	head := &ctx.Request.Header.s
	if ss.rare.Load() != nil {
		ss.cfg = &ss.l.fixed.each
	}
	ss.hasBody = false
	ss.bodyDeadline = 0
	if head.ContentLength == msg.LenUnknown && head.Expect == msg.ExpectNone && !ss.l.fixed.headFirst {
		ss.stage = inBody
		return true
	}
	if s.HeaderReceived != nil {
		ss.override(s.HeaderReceived(&ctx.Request.Header))
	}
	if s.GetOnly && head.MethodID != msg.MethodGet && head.MethodID != msg.MethodHead {
		return ss.refuse(w, ErrGetOnly, next)
	}
	ss.stage = inBody
	if ss.cfg.readTimeout > 0 {
		ss.excuseWait()
		ss.bodyDeadline = ss.begun.Add(ss.cfg.readTimeout)
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
	}
	return true
}

// change gives the message in flight limits of its own, as they are now.
func (ss *session) change() {
	rare := ss.extra()
	if rare.own == nil {
		rare.own = new(requestLimits)
	}
	if ss.cfg != rare.own {
		*rare.own = *ss.cfg
		ss.cfg = rare.own
	}
}

// override takes what HeaderReceived said.
func (ss *session) override(c RequestConfig) {
	ss.change()
	if c.ReadTimeout > 0 {
		ss.cfg.readTimeout = c.ReadTimeout
	}
	if c.WriteTimeout > 0 {
		ss.cfg.writeTimeout = c.WriteTimeout
	}
	if c.MaxRequestBodySize > 0 {
		ss.cfg.maxBody = c.MaxRequestBodySize
	}
	if c.StreamRequestBody {
		ss.cfg.stream = true
	}
}

// expect answers the Expect field (RFC 9110 section 10.1.1).
func (ss *session) expect(ctx *RequestCtx, w *engine.Work, length int64, next *engine.Next) bool {
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
		ctx.work = w
		code := s.ExpectHandler(ctx)
		if ctx.done.Load() != nil { // nobody may watch while the body is read
			ctx.endDone()
			ctx.done.Store(nil)
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
		ctx.stream.owesContinue = true // until the handler reads
		return true
	}
	if len(w.Unread()) == 0 {
		w.Out = append(w.Out, continueLine...)
	}
	return true
}

const continueLine = "HTTP/1.1 100 Continue\r\n\r\n"

// feedBody collects a body that is not streamed; true means that it is complete.
func (ss *session) feedBody(w *engine.Work, next *engine.Next) bool {
	ctx := ss.ctx
	buf := ctx.Request.bodyBuf()
	for {
		data, n, done, err := ss.body.Next(w.Unread())
		if err != nil {
			return ss.refuse(w, err, next)
		}
		if len(data) > ss.cfg.maxBody-len(buf.B) {
			return ss.refuse(w, ErrBodyTooLarge, next)
		}
		buf.Write(data)
		w.Consume(n)
		if done {
			ctx.takeTrailers()
			return true
		}
		if n == 0 || len(w.Unread()) == 0 {
			next.Deadline = ss.bodyDeadline
			return false
		}
	}
}

// takeTrailers adds the fields of the trailer section that the header declared
// to the header, as fasthttp does. Those that it didn't declare stay apart
// (RFC 9110 section 6.5.1), see PeekTrailer. Fields that must not be there at all
// were refused by the parser.
func (ctx *RequestCtx) takeTrailers() {
	h := &ctx.Request.Header
	if len(ctx.trailers.Recs) == 0 || !h.s.Has(msg.Trailer) {
		return
	}
	declared := make(map[string]bool)
	for name := range h.Trailers() {
		declared[string(bytesconv.AppendLower(nil, name))] = true
	}
	for i := range ctx.trailers.Recs {
		name := ctx.trailers.Name(i)
		if declared[string(bytesconv.AppendLower(nil, name))] {
			h.s.PutMore(msg.Lookup(name), name, ctx.trailers.Value(i), h.asIs)
		}
	}
}

// Trailers returns an iterator over the names and values of the fields in the
// trailer section of a chunked request body, declared or not (RFC 9110 section
// 6.5). A streamed body must have been read to its end. The slices are valid
// until the handler returns. Not in fasthttp.
func (ctx *RequestCtx) Trailers() iter.Seq2[[]byte, []byte] {
	return func(yield func(name, value []byte) bool) {
		f := &ctx.trailers
		for i := range f.Recs {
			if !yield(f.Name(i), f.Value(i)) {
				return
			}
		}
	}
}

// PeekTrailer returns the value of the first field called name in the trailer
// section of a chunked request body (RFC 9110 section 6.5), nil if there is none.
// A streamed body must have been read to its end. The slice is valid until the
// handler returns. Not in fasthttp.
func (ctx *RequestCtx) PeekTrailer(name string) []byte {
	if i := ctx.trailers.FindName(bytesconv.S2B(name)); i >= 0 {
		return ctx.trailers.Value(i)
	}
	return nil
}
