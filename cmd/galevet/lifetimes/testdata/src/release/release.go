package release

import (
	"bytes"
	"sync"

	"github.com/galehttp/gale"
)

func Returned() []byte {
	resp := gale.AcquireResponse()
	defer gale.ReleaseResponse(resp)
	return resp.Body() // want `return a copy`
}

func Used(ctx *gale.RequestCtx) {
	resp := gale.AcquireResponse()
	b := resp.Body()
	gale.ReleaseResponse(resp)
	ctx.SetBody(b) // want `is used, but it was released`
}

func Twice(ok bool) {
	req := gale.AcquireRequest()
	defer gale.ReleaseRequest(req) // want `released`
	if ok {
		gale.ReleaseRequest(req)
	}
}

func Right(ctx *gale.RequestCtx) error {
	req, resp := gale.AcquireRequest(), gale.AcquireResponse()
	defer gale.ReleaseRequest(req)
	defer gale.ReleaseResponse(resp)
	req.SetBodyRaw(ctx.PostBody())
	if err := gale.Do(req, resp); err != nil {
		return err
	}
	ctx.SetBody(resp.Body())
	return nil
}

func RightBranches(fail bool) *gale.Response {
	resp := gale.AcquireResponse()
	if fail {
		gale.ReleaseResponse(resp)
		return nil
	}
	return resp
}

var bufs = sync.Pool{New: func() any { return new(bytes.Buffer) }}

func Raw(ctx *gale.RequestCtx) {
	buf := bufs.Get().(*bytes.Buffer)
	defer bufs.Put(buf)
	ctx.Response.SetBodyRaw(buf.Bytes()) // want `is kept, but`
}

func Mine(ctx *gale.RequestCtx) {
	gale.ReleaseRequest(&ctx.Request) // want `the server reuses`
}
