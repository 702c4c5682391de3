// Package gale is an HTTP/1.1 server and client with the API of fasthttp.
//
// A program gives a [RequestHandler] to [ListenAndServe], or to a [Server]
// that holds its settings. The handler is called with a [RequestCtx] for each
// request: it reads ctx.Request and writes ctx.Response, mostly by methods of
// ctx itself.
//
// # Lifetimes
//
// A RequestCtx and all that its methods return belong to the server, which
// uses them again when the handler has returned. Copy what you keep: string(b)
// and bytes.Clone do, and Request.CopyTo and its kin copy whole messages. A
// goroutine that outlives the handler gets what it needs as copies, and
// [RequestCtx.Context] where it needs a context. What is passed to setters is
// copied, but for methods that say otherwise, such as SetBodyRaw.
//
// Values from Acquire functions come from pools. Whoever acquired one may
// release it, once, and must not touch it afterwards. Their zero values work
// as well and need no release.
//
// # Handlers
//
// There is no router: a switch over ctx.Path is one, and packages written for
// fasthttp are others once fasthttp is replaced by the module compat/fasthttp.
// A middleware is a function that
// takes a RequestHandler and returns one; [CompressHandler] and
// [TimeoutHandler] are such functions. What one finds out for those behind it
// goes into [RequestCtx.SetUserValue].
//
// A handler may block: connections are served side by side, the requests of
// one connection one after the other. If it panics, the client gets 500, the
// panic is logged, and the process goes on.
//
// # Bodies
//
// A request body is read before the handler is called, up to
// Server.MaxRequestBodySize. With Server.StreamRequestBody, or
// RequestConfig.StreamRequestBody for some requests, the handler is called
// first and reads [RequestCtx.RequestBodyStream] or
// [RequestCtx.MultipartReader] as the body comes. How much of it, only
// [RequestCtx.LimitRequestBody] bounds.
//
// A response body is a slice that is sent when the handler returns, a reader
// ([RequestCtx.SetBodyStream]), a function that runs after the handler
// ([RequestCtx.SetBodyStreamWriter]), or what the handler itself writes and
// sends piece by piece with [RequestCtx.Flush]. Server-sent events are best
// made with Flush: there [RequestCtx.Done] tells when the client leaves. A
// function given to SetBodyStreamWriter must not use the RequestCtx: it learns
// that from the errors of its writer, or from a channel of Done that it brings.
//
// # Clients
//
// [Get], [Post] and [Do] send requests, and so does a [Client], which has settings
// and pools of its own. A [HostClient] goes to one host, a [PipelineClient]
// doesn't wait for answers, an [LBClient] spreads requests over others.
//
// # Errors
//
// Errors may come wrapped: test for them with errors.Is, and for types with
// errors.As. Those that fasthttp has too keep its texts, "fasthttp:" in front
// included, since programs match on them.
//
// # Tests
//
// Package galetest calls handlers without a server and starts servers without a
// network.
//
// # Limits
//
// Every limit and time-out has a default but ReadTimeout, WriteTimeout and
// IdleTimeout of Server, which a server on the internet should set.
package gale
