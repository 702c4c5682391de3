// Package router finds the handler of a request by method, host and path.
//
//	r := router.New()
//	r.Use(func(next gale.RequestHandler) gale.RequestHandler {
//		return func(ctx *gale.RequestCtx) {
//			next(ctx)
//			log.Println(ctx.Pattern(), ctx.Response.StatusCode())
//		}
//	})
//	r.GET("/items/{id}", func(ctx *gale.RequestCtx) {
//		fmt.Fprintf(ctx, "item %s", ctx.PeekPathValue("id"))
//	})
//	log.Fatal(gale.ListenAndServe("127.0.0.1:8080", r.Handler()))
//
// # Patterns
//
// A pattern is that of http.ServeMux since Go 1.22: a method and a space, a host, and a path. Method and host
// may be left out.
//
//   - A method matches itself, and GET also HEAD. Without one, all methods match.
//   - A segment {name} matches one segment that is not empty. A last segment {name...} matches all that
//     follows, also nothing.
//   - A slash at the end matches all paths below it. {$} as the last segment matches the slash alone.
//   - All else matches itself. Segments of patterns and paths are decoded once and then compared, so that
//     %2F never separates segments, and "/a%2Fb" is a pattern for one segment.
//
// Two things are more than http.ServeMux has. A segment may have text before and after its wildcard, such
// as "/{name}.json" and "/v{version}/x": what is captured is not empty. A label of a host may be a
// wildcard: "{tenant}.example.com/". Hosts are compared without port and in lower case;
// http.ServeMux tells upper case from lower case, and loses the brackets of [::1] where a port follows. A dot at
// the end of a host stays: example.com. is another host than example.com.
//
// Router.Fallback registers patterns in the forms of github.com/fasthttp/router, with regular expressions and parts
// that may be missing. They are tried only where no other pattern matches, have an order of their own, and take no
// part in what follows.
//
// A pattern doesn't say that a value must be a number: Number answers 404 to one that isn't. So two patterns
// never differ in that alone.
//
// If several patterns match a request, the most specific one wins. A pattern is more specific than another
// one if that matches all requests that it matches, and more. A host decides first: a pattern with a host
// wins over one without, and one with a more specific host over the other. The order of registration
// doesn't matter. If two patterns match the same request and neither is more specific, the second
// registration panics, and says where both patterns are, what both match, and what to do. So does a
// malformed pattern. 10,000 patterns of up to 200 bytes are registered in less than a second, whatever they are, since
// each is compared as a whole only with those that have the same text, or a wildcard with a prefix or suffix that fits,
// at all of its positions.
//
// # Paths
//
// A segment that decodes to "." or "..", or has such a part between slashes or backslashes, is never
// matched: the answer is 404. In the handler, RequestCtx.Path keeps %2F and %5C encoded (a backslash that
// wasn't encoded, too, is %5C there), and the %25 of %252F, %255C, %25252F and so on. So requests that
// routes can tell from each other have different paths, and a prefix of Path is a prefix of the pattern's
// path: a check of it can't be bypassed. Package reverse, and handlers of net/http through package adaptor, refuse paths
// with %2F and %5C in such a request, since their readers may find a slash there. FS answers 404 to a
// segment with %2F or %00, on Windows also %5C.
//
// /tree is redirected to /tree/ if only that is matched; a path with an empty segment, or one that is "."
// or ".." as it was sent, is redirected to the path without these: with 307, as http.ServeMux of Go 1.26
// does. Router.TrailingSlash and Router.UncleanPath change this. A redirect is always a path on the same
// host.
//
// Other differences from http.ServeMux:
//
//   - Redirects keep the escapes of the path. http.ServeMux encodes them a second time, or decodes %2F.
//   - A path with bytes that RFC 3986 doesn't allow in one, such as raw UTF-8 or a backslash, is matched
//     as if they were encoded. net/url decodes all escapes of such a path before http.ServeMux sees it.
//   - A pattern with a segment that is "." or "..", or is empty and not the last, never matches. As with
//     http.ServeMux, it is malformed if it has a method other than CONNECT, and registered if not. There, such
//     an empty segment conflicts with wildcards, and may match.
//   - A pattern is malformed if its host has a port, or if it has two methods, as of r.GET("POST /x"). Such a
//     pattern never matches in http.ServeMux.
//   - A target with a host and an empty path, such as http://example.com, is that with the path "/". http.ServeMux
//     redirects it to "/".
//   - CONNECT is cleaned and redirected as other methods are.
//   - OPTIONS is answered: see below. Router.NoOPTIONS switches that off.
//
// # Methods
//
// If routes match the path with other methods only, the answer is 405 with all these methods in Allow.
// OPTIONS of such a path is answered with 204 and Allow, and "OPTIONS *" with the methods of all routes,
// unless a route matches it. "OPTIONS *" and CONNECT to an authority never match a route. A CONNECT that
// opens a WebSocket over HTTP/2 (RFC 8441) gets, of the routes of a host, one for CONNECT or without a method if
// such a route matches, and else one for GET. So ws.Upgrade on a GET route serves both versions of HTTP. A route
// without a method that is less specific than the GET route also comes first: give it methods if it is no
// handler of WebSockets.
//
// # Groups
//
// Groups have a prefix and middlewares in common. A middleware is a function from a handler to a handler.
// It is called once for each route, when the router begins to serve, so a request pays for the calls of
// handlers only. Middlewares of the router also run for redirects, 404, 405 and OPTIONS; those of groups
// only for the routes of the group.
//
// A request whose path needs no decoding allocates nothing in a router, and neither does one with escapes
// that matches a route.
package router
