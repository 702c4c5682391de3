// Package adaptor lets net/http handlers run on a Gale server, and Gale
// handlers on a net/http server.
//
// # net/http on Gale
//
// [NewFastHTTPHandler] makes a gale.RequestHandler of an http.Handler. The
// handler finds what it finds in package net/http:
//
//   - The ResponseWriter is also an http.Flusher, http.Hijacker,
//     io.StringWriter and io.ReaderFrom, and http.ResponseController works with
//     it: deadlines, Flush, Hijack, full duplex. Gale always is full duplex:
//     one goroutine may read the body while another one sends. For requests of HTTP/2 it
//     is no http.Hijacker.
//   - A response goes out when the handler returns, when it flushes, and when
//     more than a megabyte of it is waiting. Until then, middleware on Gale's
//     side finds it in ctx.Response, and may compress it or change it.
//   - Informational responses, trailers of both kinds, detection of the
//     Content-Type, superfluous WriteHeader calls and http.ErrAbortHandler are
//     treated as there.
//   - The context of the request is cancelled when the handler returns, when
//     the client leaves and when the server shuts down. It has the user values
//     of the RequestCtx, and http.LocalAddrContextKey.
//   - With gale.Server.StreamRequestBody the body is read while it arrives.
//
// A handler may keep what it gets after it has returned, as in net/http: the
// request and its header are fresh copies, and the ResponseWriter, body and
// context know that they are over. This is what an adapted request costs: half a dozen
// allocations, and more with many fields, against none of a handler that is written for
// Gale. What of it is kept keeps the memory of the whole head.
//
// # Gale on net/http
//
// [NewHTTPHandler] makes an http.Handler of a gale.RequestHandler, for one part
// of a larger net/http program, for HTTP/2, or for tests with net/http/httptest.
//
// [ConvertRequest] and [ConvertNetHTTPRequestToFastHTTPRequest] convert single
// requests. The names are those of fasthttpadaptor.
package adaptor
