package gale

import (
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
