package gale

// TimeoutError makes the server answer with 408 and msg, whatever the response is when
// the handler returns. The server leaves ctx and its request to the goroutines that still
// use them, and doesn't use them again. If another goroutine still holds ctx, this method
// must be called before the handler returns.
//
// It may be called while other goroutines use ctx. Unless Detach was called before, it
// removes the temporary files of a form (see MultipartForm) from disk. Another goroutine can go on using files that it has
// opened (except on Windows), but can't open other files of the form or parse a form from
// then on. User values and the body stream of the response are not closed: call
// Response.CloseBodyStream when no other goroutine uses ctx, because a connection of a client
// may belong to that stream. TimeoutHandler removes the files and closes all of it when its
// handler has returned.
func (ctx *RequestCtx) TimeoutError(msg string) {
	ctx.TimeoutErrorWithCode(msg, StatusRequestTimeout)
}

// TimeoutErrorWithCode is TimeoutError with another status code.
func (ctx *RequestCtx) TimeoutErrorWithCode(msg string, statusCode int) {
	used(ctx.loan)
	ctx.timeOut(msg, statusCode)
	ctx.endForms()
}

// endForms removes the files of forms, unless Detach has given them to the program.
func (ctx *RequestCtx) endForms() {
	if !ctx.isDetached() {
		ctx.Request.endForms()
	}
}

// timeOut is TimeoutErrorWithCode for TimeoutHandler. The goroutine of TimeoutHandler
// removes what the request holds when the handler has returned.
func (ctx *RequestCtx) timeOut(msg string, statusCode int) {
	resp := &Response{}
	resp.SetStatusCode(statusCode)
	resp.SetBodyString(msg)
	ctx.timedOut.Store(resp)
}

// TimeoutErrorWithResponse is TimeoutError with a copy of resp as the response.
func (ctx *RequestCtx) TimeoutErrorWithResponse(resp *Response) {
	used(ctx.loan)
	c := &Response{}
	resp.CopyTo(c)
	ctx.timedOut.Store(c)
	ctx.endForms()
}

// LastTimeoutErrorResponse returns the response of the last TimeoutError call,
// nil if there was none.
func (ctx *RequestCtx) LastTimeoutErrorResponse() *Response {
	used(ctx.loan)
	return ctx.timedOut.Load()
}
