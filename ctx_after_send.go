package gale

import "errors"

// AfterSend makes the server call f once, after the response to this request was sent or
// could not be sent completely. Use it to log or count what clients really got.
//
// sent is how many bytes of the response's body the operating system has taken, without
// headers and the framing of chunks or frames, and before TLS. It is 0 for a HEAD request
// and for a status without a body. err is nil if all of the response was taken. That
// doesn't mean that the client has received it. Otherwise err says why not, as far as the
// server knows.
//
// If err isn't nil, sent may be less or more than what was taken: a body in memory counts
// as a whole or not at all, a piece of a stream likewise, and a file may be counted up to 32
// KiB too far where it is not sent by sendfile. For HTTP/2, bytes count when their frames
// are in the connection's output. Up to 256 KiB of that may wait for the client, and if the
// connection breaks then, err is nil.
//
// f runs once for each call of AfterSend, for every kind of final response, as
// [RequestCtx.BeforeSend] describes. If there is no response, it gets an error. This is so
// after HijackNow or a panic with ErrAbortHandler. Before a HijackHandler it runs when the
// response was sent. Several functions run in the order in which they were added. A call of
// AfterSend after the response has begun to be sent, other than by Flush, has no effect.
// Functions of BeforeSend, and so Server.BeforeSend, may call it. As with most methods of
// ctx, only one goroutine at a time may call it; a handler that timed out may still do so.
//
// f must not use ctx, or anything that belongs to it: the server may already use it for
// another request. f must have copies of what it needs. f delays the next request of the
// connection, or with HTTP/2 that of other streams, so it should not block. Shutdown waits for it.
// It may run on any goroutine. If it panics, the panic is logged. Responses to pipelined requests are
// written one at a time if they have functions of AfterSend.
//
// Without a Server, as on a net/http server (package adaptor), f runs when the response was
// given to net/http.
func (ctx *RequestCtx) AfterSend(f func(sent int64, err error)) {
	used(ctx.loan)
	ctx.mu.Lock()
	defer ctx.mu.Unlock()
	if f != nil && !ctx.afterTaken {
		ctx.after = append(ctx.after, f)
	}
}

// errNotSent is what functions of AfterSend get if the server itself has broken the
// response off, or there is none.
var errNotSent = errors.New("gale: the response was not sent completely")

// takeAfter moves the functions of AfterSend to the end of fs. None can be added
// afterwards.
func (ctx *RequestCtx) takeAfter(fs []func(int64, error)) []func(int64, error) {
	ctx.mu.Lock()
	defer ctx.mu.Unlock()
	ctx.afterTaken = true
	if len(ctx.after) != 0 {
		fs = append(fs, ctx.after...)
		clear(ctx.after)
		ctx.after = ctx.after[:0]
	}
	return fs
}

// closeAfter makes AfterSend have no effect from now on.
func (ctx *RequestCtx) closeAfter() {
	ctx.mu.Lock()
	defer ctx.mu.Unlock()
	ctx.afterTaken = true
}

// tellSent calls the functions of AfterSend, unless an exchange has taken them.
func (ctx *RequestCtx) tellSent(sent int64, err error) {
	var few [2]func(int64, error)
	ctx.server().callAllAfter(ctx.takeAfter(few[:0]), sent, err)
}

// callAllAfter calls functions of AfterSend: all of them, even if one calls runtime.Goexit.
func (s *Server) callAllAfter(fs []func(int64, error), sent int64, err error) {
	if len(fs) == 0 {
		return
	}
	defer func() { s.callAllAfter(fs[1:], sent, err) }()
	s.callAfter(fs[0], sent, err)
}

// callAfter calls a function of AfterSend.
func (s *Server) callAfter(f func(int64, error), sent int64, err error) {
	returned := false
	defer func() {
		if returned {
			return
		}
		if r := recover(); r != nil {
			s.logPanic("in a function of AfterSend", r, stack())
		}
		// Otherwise runtime.Goexit continues.
	}()
	f(sent, err)
	returned = true
}
