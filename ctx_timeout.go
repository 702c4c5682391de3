package gale

// TimeoutError answers with 408 and msg, whatever the response holds when the
// handler returns, and leaves the context to those who still use it: neither it
// nor the request are used again. It must be called before the handler returns
// if another goroutine holds ctx.
//
// It may be called while other goroutines use ctx.
func (ctx *RequestCtx) TimeoutError(msg string) {
	ctx.TimeoutErrorWithCode(msg, StatusRequestTimeout)
}

// TimeoutErrorWithCode is TimeoutError with another status code.
func (ctx *RequestCtx) TimeoutErrorWithCode(msg string, statusCode int) {
	var resp Response
	resp.SetStatusCode(statusCode)
	resp.SetBodyString(msg)
	ctx.TimeoutErrorWithResponse(&resp)
}

// TimeoutErrorWithResponse is TimeoutError that answers with a copy of resp.
func (ctx *RequestCtx) TimeoutErrorWithResponse(resp *Response) {
	c := &Response{}
	resp.CopyTo(c)
	ctx.timedOut.Store(c)
}

// LastTimeoutErrorResponse returns the response of the last TimeoutError call,
// nil if there was none.
func (ctx *RequestCtx) LastTimeoutErrorResponse() *Response {
	return ctx.timedOut.Load()
}
