package adaptor

import (
	"errors"
	"net/http"
	"sync"

	"github.com/galehttp/gale"
	"github.com/galehttp/gale/internal/race"
)

// NewHTTPHandler returns a handler that has h answer requests of a net/http
// server, HTTP/2 included. h finds a RequestCtx as a gale.Server makes it:
//
//   - The body is a stream, see RequestCtx.RequestBodyStream; PostBody and forms
//     read it to its end, up to gale.DefaultMaxRequestBodySize unless
//     LimitRequestBody says otherwise.
//   - Done, Err, Value and Context are those of the request's context.
//   - Addresses, TLS state and deadlines are those of the connection. Conn is
//     not the connection itself and can't be read from or written to.
//   - Flush, body streams, trailers, EarlyHints, SendInterim, Hijack and
//     TimeoutHandler work, as far as the connection can do that: HTTP/2 can't be
//     hijacked.
//   - There is no gale.Server, so ConnID and ConnRequestNum are 0, and its
//     settings are those of the net/http server.
//
// If h panics, so does the handler, which net/http logs; gale.ErrAbortHandler
// becomes http.ErrAbortHandler. Not in fasthttpadaptor.
func NewHTTPHandler(h gale.RequestHandler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { answer(h, w, r) })
}

var ctxs = sync.Pool{New: func() any { return new(gale.RequestCtx) }}

func answer(h gale.RequestHandler, w http.ResponseWriter, r *http.Request) {
	o := newOuter(w, r)
	ctx := ctxs.Get().(*gale.RequestCtx)
	ctx.Init2(o.conn(), nil, false)
	ConvertNetHTTPRequestToFastHTTPRequest(r, &ctx.Request)
	if b, ok := ctx.Request.BodyStream().(*attachedBody); ok {
		b.served = true
		o.body = b
	}
	returned := false
	defer func() {
		o.end()
		if returned {
			return
		}
		// The context is left to whoever holds it.
		if r := recover(); r != nil {
			if err, ok := r.(error); ok && errors.Is(err, gale.ErrAbortHandler) {
				r = http.ErrAbortHandler
			}
			panic(r)
		}
	}()
	h(ctx)
	if resp := ctx.LastTimeoutErrorResponse(); resp != nil {
		o.finish(resp)
		returned = true
		return // others use the context
	}
	o.finish(&ctx.Response)
	returned = true
	ctx.Init2(nowhere, nil, false) // closes and removes what it holds
	if !race.Enabled {
		ctxs.Put(ctx)
	}
}
