// Package adaptor lets net/http handlers run on a Gale server, and Gale
// handlers on a net/http server.
//
//	h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
//		fmt.Fprintf(w, "Hello, %s!\n", r.URL.Query().Get("name"))
//	})
//	log.Fatal(gale.ListenAndServe(":8080", adaptor.NewFastHTTPHandler(h)))
//
// # net/http on Gale
//
// [NewFastHTTPHandler] converts an http.Handler into a gale.RequestHandler. The
// http.Handler gets what a net/http server gives it:
//
//   - The ResponseWriter is also an http.Flusher, http.Hijacker, io.StringWriter and
//     io.ReaderFrom, and http.ResponseController works with it: deadlines, Flush, Hijack,
//     full duplex. Gale is always full duplex: one goroutine may read the body while
//     another one sends. For HTTP/2 requests, the ResponseWriter is not an http.Hijacker.
//   - A response is sent when the handler returns, when it flushes, and when more than a
//     megabyte of it is waiting. Until then, middlewares on Gale's side find it in
//     ctx.Response and may compress or change it.
//   - Informational responses, both kinds of trailers, detection of the Content-Type,
//     superfluous WriteHeader calls and http.ErrAbortHandler work as in net/http.
//   - The context of the request is canceled when the handler returns and when the client
//     leaves. As in net/http, Server.Shutdown waits for the handler and doesn't cancel it;
//     Server.Close does. It has the user values of the RequestCtx,
//     http.LocalAddrContextKey and, if there is a connection, http.ServerContextKey: an
//     empty *http.Server, which serves nothing and must not be changed; on a net/http
//     server, that server. So httputil.ReverseProxy aborts a response that its upstream has
//     broken off.
//   - With gale.Server.StreamRequestBody the body is read while it arrives. If a handler before has
//     read of its stream, reads of the http.Handler fail: the rest isn't the body.
//
// As in net/http, a handler may keep what it gets after it has returned: the request and
// its header are fresh copies, and the ResponseWriter, body and context return errors
// from then on. So an adapted request costs half a dozen allocations, more with many
// headers; a handler that is written for Gale needs none. A string of the request that is
// kept holds the memory of the whole head.
//
// # Gale on net/http
//
// [NewHTTPHandler] converts a gale.RequestHandler into an http.Handler, for one part of a
// larger net/http program or for tests with net/http/httptest.
//
// # Paths
//
// net/http and Gale read a path in two ways. net/http leaves dot segments, and http.ServeMux
// finds no slash in %2F. gale.RequestCtx.Path decodes the path, merges "//" and removes dot
// segments. So that what one of them refuses below a prefix such as /admin/ is never found
// there by the other one, both directions answer 400 to a path
//
//   - with a segment "." or "..", percent-encoded or not, also beside %2F, %5C, a backslash
//     or ";",
//   - with a backslash, "#" or %00.
//
// All other paths arrive byte for byte: in Request.RequestURI, and in ctx.RequestURI. But if a handler
// before has changed ctx.URI or ctx.QueryArgs, the http.Handler gets what these show. A path
// isn't resolved, because then a signature of it, or the handler's log, would be about
// another one. Under [NewHTTPHandler], where a handler of net/http may have chosen by the
// path,
//
//   - ctx.Path keeps %2F and %5C encoded (other characters are decoded, as always),
//   - an empty segment ("//", but not that of "://") is answered with 400, too, because
//     ctx.Path merges it; http.ServeMux answers it with a redirect,
//   - ctx.Path keeps "://", as in "/image/http://host/x",
//   - a path with %2F or %5C is answered with 400 if it is handed on to package reverse or
//     to NewFastHTTPHandler: the next reader may decode it. If no handler of net/http
//     chooses by the path, set [Config].RawTargets for NewHTTPHandler,
//   - so is a target that a Gale server doesn't accept (RFC 9112 section 3.2), such as
//     "foo:/bar",
//   - and a host that a Gale server doesn't accept, such as "a,b", or that is another one in the
//     target than in Request.Host, also with [Config].RawTargets.
//
// Under NewHTTPHandler a request has a form where package mime finds one, which net/http uses; see
// gale.RequestHeader.MultipartFormBoundary.
//
// [Config] has settings for more and for less.
//
// [ConvertRequest] and [ConvertNetHTTPRequestToFastHTTPRequest] convert single
// requests. The names are those of fasthttpadaptor.
package adaptor
