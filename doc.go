// Package gale is an HTTP library for Go, for servers and clients of HTTP/1.1 and HTTP/2,
// with the API of fasthttp. Package ws has WebSockets.
//
// A program passes a [RequestHandler] to [ListenAndServe], or sets it on a [Server],
// which has the settings. The server calls the handler with a [RequestCtx] for each
// request. The handler reads ctx.Request and writes ctx.Response, mostly by methods of
// ctx itself:
//
//	func main() {
//		handler := func(ctx *gale.RequestCtx) {
//			fmt.Fprintf(ctx, "Hello, %s!\n", ctx.QueryArgs().Peek("name"))
//		}
//		log.Fatal(gale.ListenAndServe(":8080", handler))
//	}
//
// # Lifetimes
//
// A RequestCtx and everything that its methods return belong to the server, which uses
// them again when the handler has returned. Copy what you keep: string(b) and bytes.Clone
// copy bytes, and the CopyTo methods copy whole messages. Pass copies to a goroutine that
// outlives the handler, and [RequestCtx.Context] if it needs a context.
// [RequestCtx.Detach] gives the whole context to the program for good. Setters copy their
// arguments, except those that say otherwise, such as SetBodyRaw.
//
// Values from Acquire functions come from pools. Release each at most once, and don't use
// it afterwards. The zero values of these types work too and don't have to be released.
//
// docs/lifetimes.md has examples, and describes the tools that find code which keeps
// something too long.
//
// # Borrowed bytes
//
// Methods that return bytes, or objects that have bytes, say in one of these sentences who
// owns them:
//
//   - "The bytes are borrowed: they are valid until h changes or the handler returns." h
//     changes when a setter of it is called, when something is parsed into it, and when it
//     is reset or released. The handler counts only if h belongs to a RequestCtx.
//   - "The URI is borrowed: it is valid until req is reset or the handler returns." So are
//     an Args, a form, a stream and others. A release is a reset.
//   - "The bytes are borrowed: they are valid until f returns." f is the function that gets
//     them as arguments.
//   - "The result belongs to the caller." The library never uses its memory again. This
//     holds for every string that a method returns, too.
//   - "It belongs to the caller until ReleaseRequest." Then it goes back to a pool.
//
// Don't write to borrowed bytes, and don't append to them.
//
// # Handlers
//
// There is no router. Use a switch over ctx.Path, or a router written for
// fasthttp: the module compat/fasthttp replaces fasthttp. A middleware is a
// function that takes a RequestHandler and returns one, such as
// [CompressHandler] and [TimeoutHandler]. Middlewares pass values to later
// handlers with [RequestCtx.SetUserValue].
//
// A handler may block. Connections are served concurrently. The requests of an HTTP/1.1
// connection are served one after the other, those of an HTTP/2 connection concurrently.
// If a handler panics, the client gets 500, the panic is logged, and the process goes on.
//
// # Bodies
//
// A request body is read before the handler is called, up to
// Server.MaxRequestBodySize. With Server.StreamRequestBody, or
// RequestConfig.StreamRequestBody for some requests, the handler is called
// first and reads [RequestCtx.RequestBodyStream] or
// [RequestCtx.MultipartReader] as the body arrives. Their size has no limit unless
// [RequestCtx.LimitRequestBody] sets one. [RequestCtx.PostBody] reads such a body up to
// the larger of Server.MaxRequestBodySize and DefaultMaxRequestBodySize,
// [RequestCtx.MultipartForm] up to Server.MaxStreamedFormSize.
//
// A response body is a slice that is sent when the handler returns, a reader
// ([RequestCtx.SetBodyStream]), a function that runs after the handler
// ([RequestCtx.SetBodyStreamWriter]), or what the handler itself writes and sends piece
// by piece with [RequestCtx.Flush]. Use Flush for server-sent events: [RequestCtx.Done]
// is closed when the client leaves. A function given to SetBodyStreamWriter must not use
// the RequestCtx. When the client leaves, its writer returns an error, and a channel that
// the handler got from Done is closed.
//
// # Clients
//
// [Get], [Post] and [Do] send requests with default settings. A [Client] has its own
// settings and connections. A [HostClient] sends to one host, a [PipelineClient] sends
// requests without waiting for earlier responses, and an [LBClient] spreads requests over
// other clients.
//
// Package reverse is a reverse proxy for servers.
//
// # Errors
//
// Errors may be wrapped: test for them with errors.Is, and for types with errors.As.
// Errors that fasthttp also has keep its texts after the prefix "gale: ", because
// programs match on them. In programs that import the compat module the prefixes are
// fasthttp's, too.
//
// # Tests
//
// Package galetest calls handlers without a server and starts servers without a
// network.
//
// # Limits
//
// Headers, bodies that are read into memory, connections and stalled clients are limited
// by default. ReadTimeout, WriteTimeout, IdleTimeout and the size of a streamed body are
// not. Set these timeouts if the server is on the internet.
package gale

// The files of this package are in families, named by the prefix of their names, and the
// families are in layers. A file uses only unexported names of its own layer and of those
// above it in this list. Client and server don't use each other:
//
//	base     text, names, common
//	message  values, header, request, response, loans, body
//	client   client, hostclient, pipeline, lb, dialer
//	server   server, ctx
//	files    fs
//
// ARCHITECTURE.md has the files of each.
