package adaptor

import (
	"errors"
	"net/http"
	"net/url"

	"github.com/galehttp/gale"
	"github.com/galehttp/gale/internal/door"
	"github.com/galehttp/gale/internal/msg"
	"github.com/galehttp/gale/internal/pathrule"
)

// NewFastHTTPHandlerFunc is NewFastHTTPHandler for a function.
func NewFastHTTPHandlerFunc(h http.HandlerFunc) gale.RequestHandler { return NewFastHTTPHandler(h) }

// NewFastHTTPHandler returns a handler that serves requests with h. See the package
// comment for what h gets.
//
// A status code and headers that a middleware has set in ctx.Response are sent unless h
// sets others. If package net/url can't parse the request's target, or h could find it
// below a prefix that ctx.Path hasn't (see "Paths" in the comment of the package), the
// response is a 400. If a handler before could not read the body, or has dropped it (see
// Request.BodyError of package gale), h doesn't run: the response is a 413, 408 or 400, made by
// ctx.Fail. [Config] has a method with settings.
func NewFastHTTPHandler(h http.Handler) gale.RequestHandler {
	return Config{}.NewFastHTTPHandler(h)
}

// exchange is one request that is served. It is not used again, because the handler may
// keep its parts.
type exchange struct {
	r   http.Request
	url url.URL
	w   response
	c   requestContext
	b   *requestBody // nil if there is none, or it has ended
}

// bodied is an exchange whose request has a body.
type bodied struct {
	exchange
	body requestBody
}

// newExchange returns an exchange for a request with or without a body.
func newExchange(body bool) *exchange {
	if !body {
		return new(exchange)
	}
	x := new(bodied)
	x.b = &x.body
	return &x.exchange
}

func serve(h http.Handler, ctx *gale.RequestCtx, refused pathrule.Parts) {
	x, err := convert(ctx, refused)
	if err != nil {
		refuse(ctx, err)
		return
	}
	r := &x.r
	x.w.begin(ctx, r.Method == http.MethodHead)
	returned := false
	defer func() {
		x.end()
		removeForm(r)
		if returned {
			return
		}
		switch r := recover(); r {
		case nil: // runtime.Goexit
		case http.ErrAbortHandler:
			if hasConn(ctx) {
				panic(gale.ErrAbortHandler)
			}
		case gale.ErrAbortHandler: // such as of finish; nothing is logged
			panic(r)
		default:
			if x.w.flushed { // the server logs it too, with the stack; this line tells what the client got
				ctx.Logger().Printf("panic in net/http handler: %v (part of the response was sent)", r)
			}
			panic(r)
		}
	}()
	if r.Method == http.MethodOptions && r.RequestURI == "*" {
		h = http.HandlerFunc(describeServer)
	}
	if r.ProtoMajor >= 2 {
		h.ServeHTTP(streamResponse{&x.w}, r)
	} else {
		h.ServeHTTP(&x.w, r)
	}
	x.endBody()
	x.w.finish()
	returned = true
}

// refuse answers a request that could not be converted because of err.
func refuse(ctx *gale.RequestCtx, err error) {
	if lost := (*lostBodyError)(nil); errors.As(err, &lost) {
		ctx.Fail(gale.ErrorStatus(lost.err), lost)
		return
	}
	ctx.Logger().Printf("%s", err)
	ctx.Error("Bad Request", gale.StatusBadRequest)
}

// wholeBody returns the body, or an error if it could not be read or was dropped. A handler would
// take it for an empty one.
func wholeBody(ctx *gale.RequestCtx) ([]byte, error) {
	if err := door.MustBeWhole(&ctx.Request); err != nil {
		return nil, &lostBodyError{err}
	}
	b := ctx.PostBody()
	if len(b) == 0 {
		if err := ctx.Request.BodyError(); err != nil {
			return nil, &lostBodyError{err}
		}
	}
	return b, nil
}

// lostBodyError is the error of wholeBody. Clients get its text.
type lostBodyError struct{ err error }

func (*lostBodyError) Error() string   { return "the body of the request could not be read" }
func (e *lostBodyError) Unwrap() error { return e.err }

// describeServer answers an OPTIONS request for the server as a whole (RFC 9110 section 9.3.7)
// as a net/http server does, whose handlers don't expect the target "*".
func describeServer(w http.ResponseWriter, _ *http.Request) { w.Header().Set("Content-Length", "0") }

// removeForm removes the temporary files of a form that the handler parsed, as the
// server of net/http does.
func removeForm(r *http.Request) {
	if r.MultipartForm != nil {
		_ = r.MultipartForm.RemoveAll()
	}
}

// hasConn reports whether ctx has a connection. It doesn't call Conn, which has side
// effects for deadlines.
func hasConn(ctx *gale.RequestCtx) bool {
	return ctx.ConnRequestNum() != 0 || ctx.ConnID() != 0 || ctx.Conn() != nil
}

// convert returns an exchange for the request of ctx.
func convert(ctx *gale.RequestCtx, refused pathrule.Parts) (*exchange, error) {
	hd := door.Of(ctx).Head()
	chunked := hd.ContentLength == msg.LenChunked
	stream, bytes := ctx.RequestBodyStream(), []byte(nil)
	if stream == nil {
		var err error
		if bytes, err = wholeBody(ctx); err != nil {
			return nil, err
		}
	} else if err := door.MustBeWhole(&ctx.Request); err != nil {
		stream = lostBody{err}
	}
	body := chunked || stream != nil || len(bytes) > 0
	x := newExchange(body)
	x.c.begin(ctx)
	r := &x.r
	*r = *r.WithContext(&x.c)
	f := fields{ctx: ctx, head: hd, refused: refused}
	if err := f.read(r, &x.url); err != nil {
		return nil, err
	}
	r.Trailer = f.trailers(nil)
	if !body {
		r.Body, r.ContentLength = http.NoBody, 0
		return x, nil
	}
	x.b.begin(ctx, stream, bytes)
	r.Body = x.b
	if r.ProtoMajor >= 2 {
		r.TransferEncoding = nil // there is none
	}
	switch {
	case stream == nil && !chunked:
		r.ContentLength = int64(len(bytes))
	case stream != nil && chunked:
		t := r.Trailer
		x.b.atEOF = func() { addTrailers(t, ctx) }
	}
	return x, nil
}

// end separates what the handler may have kept from ctx.
func (x *exchange) end() {
	x.endBody()
	x.w.end()
	x.c.end()
}

// endBody ends the reading of the body. It must be called before response.mu is locked: a
// Flush of another goroutine may hold that lock and wait for a Read.
func (x *exchange) endBody() {
	if b := x.b; b != nil {
		x.b = nil
		b.end()
	}
}
