package gale

import (
	"time"

	"github.com/galehttp/gale/internal/clock"
	"github.com/galehttp/gale/internal/lifetime"
	"github.com/galehttp/gale/internal/pool"
)

var (
	requestPool  pool.Pool
	responsePool pool.Pool
)

// AcquireRequest returns an empty request from a pool. It belongs to the caller until
// [ReleaseRequest]. If it isn't released, the garbage collector frees it.
func AcquireRequest() *Request {
	if l := borrow("ReleaseRequest"); l != nil {
		req := new(Request)
		req.lend(l)
		return req
	}
	return acquireRequest()
}

// acquireRequest is AcquireRequest for the library's own use, which isn't guarded.
func acquireRequest() *Request {
	if v := requestPool.Get(); v != nil {
		return v.(*Request)
	}
	return &Request{}
}

// ReleaseRequest resets req and puts it back into the pool of [AcquireRequest]. Don't use
// req, or anything that its methods returned, afterwards.
func ReleaseRequest(req *Request) {
	if l := req.loan; l != nil {
		req.giveUp(l)
		return
	}
	req.KeepBodyBuffer = false
	if req.hasClosers() {
		req.runClosers()
	}
	if req.writer != nil { // before other messages get the memory
		endWriter(&req.writer)
	}
	req.reset()
	requestPool.Put(req)
}

// giveUp is ReleaseRequest for a guarded request.
func (req *Request) giveUp(l *lifetime.Loan) {
	switch back, late := ends(l, "ReleaseRequest"); {
	case late:
	case back:
		defer func() { // even if a closer panics
			req.lapse()
			l.End()
		}()
		req.runClosers()
		req.endForm()
	default:
		req.Reset()
	}
}

// AcquireResponse returns an empty response from a pool. It belongs to the caller until
// [ReleaseResponse]. If it isn't released, the garbage collector frees it.
func AcquireResponse() *Response {
	if l := borrow("ReleaseResponse"); l != nil {
		resp := new(Response)
		resp.lend(l)
		return resp
	}
	return acquireResponse()
}

// acquireResponse is AcquireResponse for the library's own use, which isn't guarded.
func acquireResponse() *Response {
	if v := responsePool.Get(); v != nil {
		return v.(*Response)
	}
	return &Response{}
}

// ReleaseResponse resets resp and puts it back into the pool of [AcquireResponse]. Don't
// use resp, or anything that its methods returned, afterwards.
func ReleaseResponse(resp *Response) {
	if l := resp.loan; l != nil {
		resp.giveUp(l)
		return
	}
	resp.KeepBodyBuffer = false
	resp.Reset()
	if resp.writer != nil {
		endWriter(&resp.writer)
	}
	responsePool.Put(resp)
}

// giveUp is ReleaseResponse for a guarded response.
func (resp *Response) giveUp(l *lifetime.Loan) {
	switch back, late := ends(l, "ReleaseResponse"); {
	case late:
	case back:
		defer func() { // even if the stream's Close panics
			resp.lapse()
			l.End()
		}()
		_ = resp.closeStream(nil)
	default:
		resp.Reset()
	}
}

var timerPool pool.Pool

// AcquireTimer returns a timer from a pool. It fires after timeout. Put it back with
// ReleaseTimer.
func AcquireTimer(timeout time.Duration) *time.Timer {
	if t, ok := timerPool.Get().(*time.Timer); ok {
		t.Reset(timeout)
		return t
	}
	return time.NewTimer(timeout)
}

// ReleaseTimer stops t, which came from AcquireTimer, and puts it back into the pool.
// Don't use t afterwards.
func ReleaseTimer(t *time.Timer) {
	t.Stop() // its channel holds nothing afterwards, as of Go 1.23
	timerPool.Put(t)
}

// CoarseTimeNow returns the current time, truncated to the second.
func CoarseTimeNow() time.Time { return clock.Now() }

// noCopy makes go vet report values that are copied after their first use. A type gets
// the check by having it as a field, which takes no memory.
type noCopy struct{}

// Lock is what go vet looks for.
func (*noCopy) Lock() {}

// Unlock is what go vet looks for.
func (*noCopy) Unlock() {}
