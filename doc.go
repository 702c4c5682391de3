// Package gale is an HTTP server, for HTTP/1.1 and HTTP/2, and an HTTP/1.1 client, with
// the API of fasthttp.
//
//	log.Fatal(gale.ListenAndServe(":8080", func(ctx *gale.RequestCtx) {
//		ctx.WriteString("Hello from " + string(ctx.Path()))
//	}))
//
// A program gives a [RequestHandler] to [ListenAndServe], or to a [Server]
// that holds its settings. The handler is called with a [RequestCtx] for each
// request: it reads ctx.Request and writes ctx.Response, mostly by methods of
// ctx itself.
//
// # Lifetimes
//
// A RequestCtx and all that its methods return belong to the server, which reuses
// them after the handler has returned. Copy what you keep: string(b) and
// bytes.Clone copy bytes, the CopyTo methods copy whole messages. Pass copies to a
// goroutine that outlives the handler, and [RequestCtx.Context] if it needs a
// context. Setters copy their arguments, except those that say otherwise, such as
// SetBodyRaw.
//
// Values from Acquire functions come from pools. Release one at most once, and
// don't use it afterwards. The zero values of these types work as well and need
// no release.
//
// # Handlers
//
// There is no router. Use a switch over ctx.Path, or a router written for
// fasthttp: the module compat/fasthttp replaces fasthttp. A middleware is a
// function that takes a RequestHandler and returns one, such as
// [CompressHandler] and [TimeoutHandler]. Middlewares pass values to later
// handlers with [RequestCtx.SetUserValue].
//
// A handler may block. Connections are served concurrently. Requests of one
// HTTP/1.1 connection are served one after the other, those of one HTTP/2
// connection concurrently. If a handler panics, the client gets 500, the panic is
// logged, and the process goes on.
//
// # Bodies
//
// A request body is read before the handler is called, up to
// Server.MaxRequestBodySize. With Server.StreamRequestBody, or
// RequestConfig.StreamRequestBody for some requests, the handler is called
// first and reads [RequestCtx.RequestBodyStream] or
// [RequestCtx.MultipartReader] as the body arrives. Only
// [RequestCtx.LimitRequestBody] limits the size of such a body.
//
// A response body is one of these:
//
//   - a slice that is sent when the handler returns, the usual case,
//   - a reader that the server reads after the handler ([RequestCtx.SetBodyStream]),
//   - the output of a function that runs after the handler
//     ([RequestCtx.SetBodyStreamWriter]),
//   - pieces that the handler itself writes and sends with [RequestCtx.Flush].
//
// Use Flush for server-sent events: [RequestCtx.Done] is closed when the client leaves.
// A function given to SetBodyStreamWriter must not use the RequestCtx. It learns that the
// client has left from an error of its writer, or from a channel that the handler got
// from Done.
//
// # Clients
//
// [Get], [Post] and [Do] send requests with default settings, a [Client] with
// its own settings and connections. A [HostClient] sends to one host, a
// [PipelineClient] sends requests without waiting for earlier responses, an
// [LBClient] spreads requests over other clients.
//
// Package reverse is a reverse proxy for servers.
//
// # Errors
//
// Errors may be wrapped: test for them with errors.Is, and for types with
// errors.As. Errors that fasthttp also has keep its texts, because programs match
// on them. The prefix is "gale: "; in a program that imports the module
// compat/fasthttp it is the one of fasthttp.
//
// # Tests
//
// Package galetest calls handlers without a server and starts servers without a
// network.
//
// # Limits
//
// Every limit and timeout has a default, except ReadTimeout, WriteTimeout and
// IdleTimeout of Server. Set these if the server is on the internet.
package gale

// The files of this package are in families, named by the prefix of their names.
// The families are in layers. A file uses unexported names only of its own layer
// and of those above it in this list. client and server don't use each other:
//
//	base     text, names, common
//	message  values, header, request, response, body
//	client   client, hostclient, pipeline, lb, dialer
//	server   server, ctx
//	files    fs
//
// ARCHITECTURE.md lists the files of each.
