package adaptor

import (
	"net/http"
	"net/url"

	"github.com/galehttp/gale"
	"github.com/galehttp/gale/internal/pool"
)

// NewFastHTTPHandlerFunc is NewFastHTTPHandler for a function.
func NewFastHTTPHandlerFunc(h http.HandlerFunc) gale.RequestHandler { return NewFastHTTPHandler(h) }

// NewFastHTTPHandler returns a handler that has h serve the requests. See the
// package for what h finds.
//
// A status code and fields that middleware has set in ctx.Response are sent
// unless h sets others. A request whose target is no URI to package net/url is
// answered with 400.
func NewFastHTTPHandler(h http.Handler) gale.RequestHandler {
	return func(ctx *gale.RequestCtx) { serve(h, ctx) }
}

// exchange is one request that is served. It is not used again, since the
// handler may keep its parts.
type exchange struct {
	w   response
	c   requestContext
	b   requestBody
	url url.URL
}

// scratch is what it takes to make requests, and isn't kept by them.
type scratch struct {
	r http.Request
	f fields
}

var scratches = pool.Pool{New: func() any { return new(scratch) }}

func (s *scratch) free() {
	s.r, s.f = http.Request{}, fields{addr: s.f.addr, addrText: s.f.addrText}
	scratches.Put(s)
}

func serve(h http.Handler, ctx *gale.RequestCtx) {
	x := new(exchange)
	r, err := x.request(ctx)
	if err != nil {
		ctx.Logger().Printf("%s", err)
		ctx.Error("Bad Request", gale.StatusBadRequest)
		return
	}
	x.w.begin(ctx, r.Method, r.Context())
	returned, conn := false, hasConn(ctx)
	defer func() {
		x.end()
		removeForm(r)
		if returned {
			return
		}
		switch r := recover(); r {
		case nil: // runtime.Goexit
		case http.ErrAbortHandler:
			if conn {
				panic(gale.ErrAbortHandler)
			}
		case gale.ErrAbortHandler: // such as of finish; nothing is logged
			panic(r)
		default:
			if x.w.flushed { // the server logs it too, with the stack; this line tells what the client has got
				ctx.Logger().Printf("panic in net/http handler: %v (part of the response was sent)", r)
			}
			panic(r)
		}
	}()
	h.ServeHTTP(&x.w, r)
	x.w.finish()
	returned = true
}

// removeForm removes the temporary files of a form that the handler parsed, as the
// server of net/http does.
func removeForm(r *http.Request) {
	if r.MultipartForm != nil {
		_ = r.MultipartForm.RemoveAll()
	}
}

// hasConn reports whether ctx has a connection. Conn would lend that of a server.
func hasConn(ctx *gale.RequestCtx) bool { return ctx.ConnID() != 0 || ctx.Conn() != nil }

// request makes the request.
func (x *exchange) request(ctx *gale.RequestCtx) (*http.Request, error) {
	s := scratches.Get().(*scratch)
	defer s.free()
	r := &s.r
	if err := s.f.read(r, ctx, &x.url); err != nil {
		return nil, err
	}
	x.c.ctx = ctx
	x.body(ctx, r)
	return r.WithContext(&x.c), nil
}

// body gives r its body and trailers.
func (x *exchange) body(ctx *gale.RequestCtx, r *http.Request) {
	r.Trailer = trailers(ctx, nil)
	b := &x.b
	b.ctx = ctx
	if b.stream = ctx.RequestBodyStream(); b.stream == nil {
		if b.bytes = ctx.PostBody(); len(b.bytes) == 0 && r.TransferEncoding == nil {
			r.Body, r.ContentLength = http.NoBody, 0
			return
		}
		if r.TransferEncoding == nil {
			r.ContentLength = int64(len(b.bytes))
		}
	} else if r.TransferEncoding != nil {
		t := r.Trailer
		b.atEOF = func() { addTrailers(t, ctx) }
	}
	r.Body = b
}

// end cuts what the handler may have kept off from ctx.
func (x *exchange) end() {
	x.w.end()
	x.b.end()
	x.c.end()
}
