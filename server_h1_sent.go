package gale

import "github.com/galehttp/gale/internal/engine"

// sentResponse is a response whose functions of AfterSend must be called when the engine
// has written it. A session has at most one: it asks the engine to write such a response
// before it serves the next request.
type sentResponse struct {
	after []func(int64, error)
	sent  int64        // bytes of the body, if all is written
	file  *engine.File // that the engine sends, or nil; counted in sent
	whole bool         // the body is in memory: it counts as a whole

	closes, linger bool // what the session wants after it
}

// awaitSent takes the functions of AfterSend from ctx, before resp is written. If there
// are any, it sets tells.
func (ss *h1Session) awaitSent(ctx *RequestCtx, resp *Response) {
	if resp == &ctx.Response && len(ctx.after) == 0 {
		return
	}
	u := &ss.extra().sent
	if u.after = ctx.takeAfter(u.after); len(u.after) == 0 {
		return
	}
	ss.tells = true
	u.sent, u.whole = int64(len(resp.bodyBytes())), !resp.hasStream()
}

// countSent sets how many bytes of the body were sent, for a body that isn't whole.
func (ss *h1Session) countSent(sent int64, file *engine.File) {
	if !ss.tells {
		return
	}
	u := &ss.extra().sent
	if u.sent, u.whole, u.file = sent, false, file; file != nil {
		u.sent += file.N
	}
}

// closeLater makes the engine feed the session once more before it closes the connection,
// so that functions of AfterSend need not wait until the client has closed its side.
func (ss *h1Session) closeLater(next *engine.Next) {
	if ss.tells && next.Op == engine.Close {
		u := &ss.extra().sent
		u.closes, u.linger = true, next.Linger
		next.Op = engine.Flush
	}
}

// wasSent is called when the engine has written a response with tells. ends says that the
// session must return.
func (ss *h1Session) wasSent(next *engine.Next) (ends bool) {
	u := &ss.extra().sent
	if u.closes {
		next.Op, next.Linger = engine.Close, u.linger
	}
	ends = u.closes
	ss.bare = false // the client has all of the response
	ss.tellSent(nil)
	return ends
}

// tellSent calls the functions of AfterSend. err is why the response isn't complete.
func (ss *h1Session) tellSent(err error) {
	u := &ss.extra().sent
	sent, after := u.sent, u.after
	switch {
	case u.file != nil:
		sent -= u.file.N
	case u.whole && err != nil:
		sent = 0
	}
	ss.tells = false
	*u = sentResponse{}
	ss.s.callAllAfter(after, sent, err)
	clear(after)
	u.after = after[:0]
}

// tellUnsent is tellSent at the end of the connection.
func (ss *h1Session) tellUnsent(err error) {
	if err == engine.ErrAborted {
		if err = ss.cause(); err == nil {
			err = errNotSent
		}
	}
	ss.tellSent(err)
}
