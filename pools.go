package gale

import "github.com/galehttp/gale/internal/pool"

var (
	requestPool  pool.Pool
	responsePool pool.Pool
)

// AcquireRequest returns an empty request. Hand it to [ReleaseRequest] when it
// isn't needed any more, so that its memory is used again; not to do so is no
// leak.
func AcquireRequest() *Request {
	if v := requestPool.Get(); v != nil {
		return v.(*Request)
	}
	return &Request{}
}

// ReleaseRequest resets req and keeps it for a later [AcquireRequest]. Neither
// req nor anything that it returned may be used afterwards.
func ReleaseRequest(req *Request) {
	req.KeepBodyBuffer = false
	req.Reset()
	requestPool.Put(req)
}

// AcquireResponse returns an empty response. Hand it to [ReleaseResponse] when
// it isn't needed any more, so that its memory is used again; not to do so is
// no leak.
func AcquireResponse() *Response {
	if v := responsePool.Get(); v != nil {
		return v.(*Response)
	}
	return &Response{}
}

// ReleaseResponse resets resp and keeps it for a later [AcquireResponse].
// Neither resp nor anything that it returned may be used afterwards.
func ReleaseResponse(resp *Response) {
	resp.KeepBodyBuffer = false
	resp.Reset()
	responsePool.Put(resp)
}
