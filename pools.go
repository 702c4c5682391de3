package gale

import "github.com/galehttp/gale/internal/pool"

var (
	requestPool  pool.Pool
	responsePool pool.Pool
)

// AcquireRequest returns an empty request from a pool. Give it back with
// [ReleaseRequest] when you no longer need it, so that its memory is reused. Not
// giving it back is not a leak.
func AcquireRequest() *Request {
	if v := requestPool.Get(); v != nil {
		return v.(*Request)
	}
	return &Request{}
}

// ReleaseRequest resets req and puts it into the pool. Neither req nor anything
// that its methods returned may be used afterwards.
func ReleaseRequest(req *Request) {
	req.KeepBodyBuffer = false
	req.Reset()
	requestPool.Put(req)
}

// AcquireResponse returns an empty response from a pool. Give it back with
// [ReleaseResponse] when you no longer need it, so that its memory is reused. Not
// giving it back is not a leak.
func AcquireResponse() *Response {
	if v := responsePool.Get(); v != nil {
		return v.(*Response)
	}
	return &Response{}
}

// ReleaseResponse resets resp and puts it into the pool. Neither resp nor anything
// that its methods returned may be used afterwards.
func ReleaseResponse(resp *Response) {
	resp.KeepBodyBuffer = false
	resp.Reset()
	responsePool.Put(resp)
}
