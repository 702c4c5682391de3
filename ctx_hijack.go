package gale

// Hijack takes the connection away from the server: once the response is
// written, handler gets it, with the bytes that came behind the request still
// to be read from it. The connection is closed when handler returns, unless
// Server.KeepHijackedConns is set. handler must not use ctx.
//
// The server neither counts nor closes hijacked connections any more.
func (ctx *RequestCtx) Hijack(handler HijackHandler) { ctx.hijack = handler }

// HijackSetNoResponse says whether a hijacked connection gets no response
// from the server: handler writes one itself then.
func (ctx *RequestCtx) HijackSetNoResponse(noResponse bool) { ctx.hijackNoResponse = noResponse }

// Hijacked reports whether Hijack was called.
func (ctx *RequestCtx) Hijacked() bool { return ctx.hijack != nil }
