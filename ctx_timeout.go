package gale

// TimeoutError answers with 408 and msg, whatever the response holds when the
// handler returns, and leaves the context to the goroutines that still use it: neither it
// nor the request are used again. It must be called before the handler returns
// if another goroutine holds ctx.
//
// It may be called while other goroutines use ctx. It removes the temporary files of
// a form (see MultipartForm) from the disk: a goroutine that goes on keeps what it
// has opened, as far as the system allows it (Windows doesn't), but can neither open
// other files of the form nor parse a form from then on. User values are not closed.
// TimeoutHandler does all that when its handler has returned.
func (ctx *RequestCtx) TimeoutError(msg string) {
	ctx.TimeoutErrorWithCode(msg, StatusRequestTimeout)
}

// TimeoutErrorWithCode is TimeoutError with another status code.
func (ctx *RequestCtx) TimeoutErrorWithCode(msg string, statusCode int) {
	ctx.timeOut(msg, statusCode)
	ctx.Request.endForms()
}

// timeOut is TimeoutErrorWithCode for TimeoutHandler, whose goroutine removes what
// the request holds when the handler has returned.
func (ctx *RequestCtx) timeOut(msg string, statusCode int) {
	resp := &Response{}
	resp.SetStatusCode(statusCode)
	resp.SetBodyString(msg)
	ctx.timedOut.Store(resp)
}

// TimeoutErrorWithResponse is TimeoutError that answers with a copy of resp.
func (ctx *RequestCtx) TimeoutErrorWithResponse(resp *Response) {
	c := &Response{}
	resp.CopyTo(c)
	ctx.timedOut.Store(c)
	ctx.Request.endForms()
}

// LastTimeoutErrorResponse returns the response of the last TimeoutError call,
// nil if there was none.
func (ctx *RequestCtx) LastTimeoutErrorResponse() *Response {
	return ctx.timedOut.Load()
}
