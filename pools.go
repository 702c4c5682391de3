package gale

import "github.com/galehttp/gale/internal/pool"

var (
	requestPool  pool.Pool
	responsePool pool.Pool
)

// AcquireRequest returns an empty request from a pool. Pass it to [ReleaseRequest] when
// you no longer need it, so that its memory is used again. If you don't, the garbage
// collector frees it.
func AcquireRequest() *Request {
	if v := requestPool.Get(); v != nil {
		return v.(*Request)
	}
	return &Request{}
}

// ReleaseRequest resets req and puts it back into the pool of [AcquireRequest]. Don't use
// req, or anything that its methods returned, afterwards.
func ReleaseRequest(req *Request) {
	req.KeepBodyBuffer = false
	req.Reset()
	requestPool.Put(req)
}

// AcquireResponse returns an empty response from a pool. Pass it to [ReleaseResponse]
// when you no longer need it, so that its memory is used again. If you don't, the garbage
// collector frees it.
func AcquireResponse() *Response {
	if v := responsePool.Get(); v != nil {
		return v.(*Response)
	}
	return &Response{}
}

// ReleaseResponse resets resp and puts it back into the pool of [AcquireResponse]. Don't
// use resp, or anything that its methods returned, afterwards.
func ReleaseResponse(resp *Response) {
	resp.KeepBodyBuffer = false
	resp.Reset()
	responsePool.Put(resp)
}
