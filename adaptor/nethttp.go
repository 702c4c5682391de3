package adaptor

import (
	"errors"
	"maps"
	"net/http"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/galehttp/gale"
	"github.com/galehttp/gale/internal/door"
	"github.com/galehttp/gale/internal/pool"
)

// NewHTTPHandler returns a handler that serves requests of a net/http server with h,
// including HTTP/2 requests. h gets a RequestCtx as from a gale.Server:
//
//   - The body is a stream; see RequestCtx.RequestBodyStream. PostBody and forms read it
//     to its end, up to gale.DefaultMaxRequestBodySize or the limit that LimitRequestBody
//     sets. It can be read after Flush, too, and while a stream of the response is sent. A
//     client that waits for a 100 (Continue) gets it before such a response, if the status
//     is a success; otherwise reading fails. Over HTTP/2 net/http doesn't tell that the
//     client waits: there, and over HTTP/1 if a middleware wraps the ResponseWriter, read a
//     part of the body before the response. If the body ends before http.Request.ContentLength
//     bytes, because a handler of net/http has read of it, reading fails. Behind such a
//     middleware net/http drops up to 256 KiB of a body that isn't read yet when the response
//     begins. Over HTTP/2 net/http gives every request a body, so that
//     RequestHeader.ContentLength is -1 even if it is empty.
//   - Context is derived from the request's context. So Done is closed when that context
//     ends, with its error and cause, and Value finds its values. Done is also closed
//     when the request was answered (gale.ErrRequestDone).
//   - Addresses, TLS state and deadlines are those of the connection. Conn is
//     not the connection itself and can't be read from or written to.
//   - RequestCtx.Trailers and RequestCtx.PeekTrailer find the trailers of the request
//     after the body was read. Request.Header never finds them.
//   - Flush, body streams, trailers of the response, EarlyHints, SendInterim, Hijack and
//     TimeoutHandler work, if the connection supports them: HTTP/2 can't be hijacked, and no
//     informational responses are sent over it: EarlyHints and SendInterim have no effect.
//     HijackNow fails in a stream of the response, and later.
//   - Functions given to RequestCtx.BeforeSend run before net/http gets the response,
//     those given to RequestCtx.AfterSend when it has all of it.
//   - net/http ends the context of a request when the client leaves, and when the server's
//     BaseContext ends. Package reverse can't tell that apart, and ends the request to the
//     upstream.
//   - There is no gale.Server, so ConnID and ConnRequestNum are 0, and the settings of
//     the net/http server apply.
//
// Paths that h could find below another prefix than a handler of net/http before it are
// answered with 400, and ctx.Path keeps %2F and %5C encoded; see "Paths" in the comment of
// the package. So are requests with a host that a Gale server refuses, or with one in the target
// (RFC 9112 section 3.2.2) that isn't http.Request.Host: HTTP/2 requests of net/http may have two.
// [Config] has a method with settings.
//
// Of several Content-Type fields h gets the first one, as from a gale.Server; so of User-Agent.
//
// If h panics, the returned handler panics too, and net/http logs that. If it has called one of the
// TimeoutError methods before, the client gets that response, and the panic is only logged.
// gale.ErrAbortHandler becomes http.ErrAbortHandler. Not in fasthttpadaptor.
func NewHTTPHandler(h gale.RequestHandler) http.Handler { return Config{}.NewHTTPHandler(h) }

var ctxs = pool.Pool{New: func() any { return new(gale.RequestCtx) }}

// answer serves r. keepSlashes says that ctx.Path keeps encoded slashes.
func answer(h gale.RequestHandler, w http.ResponseWriter, r *http.Request, keepSlashes bool) {
	o := newOuter(w, r)
	ctx := ctxs.Get().(*gale.RequestCtx)
	ctx.Init2(o.Conn(), nil, false)
	door.ReadFormsAsMIME(&ctx.Request)
	if keepSlashes {
		door.KeepSlashes(&ctx.Request)
	}
	convertRequest(r, &ctx.Request, false) // o has the trailers
	serving := door.Of(ctx)
	if !hasContent(r) {
		if len(r.Header["Content-Length"]) > 0 {
			ctx.Request.Header.SetContentLength(0)
		} else {
			serving.Bodiless()
		}
	}
	serving.Lend(h)
	if b, ok := ctx.Request.BodyStream().(*attachedBody); ok {
		b.served = true
		o.body = b
		if len(r.Trailer) > 0 {
			door.AnnounceTrailers(b.h, strings.Join(slices.Sorted(maps.Keys(r.Trailer)), ", "), b)
		}
	}
	returned := false
	defer func() {
		if returned {
			return
		}
		o.end()
		if o.body != nil && !o.taken {
			o.endReads() // net/http would wait for the rest of the body before it ends the connection
		}
		defer serving.End(o.result(false, true))
		if r := recover(); r != nil {
			if isAbort(r) {
				r = http.ErrAbortHandler
			}
			panic(r)
		}
	}()
	o.handle(h, ctx)
	complete, late := false, ctx.LastTimeoutErrorResponse() != nil
	if late {
		complete = o.finishTimedOut(ctx)
	} else {
		complete = o.finish(ctx)
	}
	returned = true
	o.end()
	if serving.End(o.result(complete, late)) {
		ctx.Init2(nowhere, nil, false) // closes and removes what it holds
		ctxs.Put(ctx)
	}
}

// handle runs h. A panic after TimeoutError is only logged, because the response is made.
func (o *outer) handle(h gale.RequestHandler, ctx *gale.RequestCtx) {
	returned := false
	defer func() {
		if returned || ctx.LastTimeoutErrorResponse() == nil {
			return
		}
		switch r := recover(); {
		case isAbort(r):
			panic(r)
		case r != nil:
			errorLog(o.r)("gale: panic in a handler that called TimeoutError: %v\n%s", r, debug.Stack())
		}
	}()
	h(ctx)
	returned = true
}

// isAbort reports whether r is the value of a panic that ends the connection without a response.
func isAbort(r any) bool {
	err, _ := r.(error)
	return errors.Is(err, gale.ErrAbortHandler) || errors.Is(err, http.ErrAbortHandler)
}
