// Package pprofhandler serves profiles of the running program, in the format that go tool
// pprof reads, as package net/http/pprof does.
//
// Profiles reveal much about the program, and making them takes time. Serve them only to
// clients that may see them. This package imports net/http/pprof, which registers its
// handlers with http.DefaultServeMux: don't serve that mux on a public address.
//
//	func handler(ctx *gale.RequestCtx) {
//		if bytes.HasPrefix(ctx.Path(), []byte("/debug/pprof/")) {
//			pprofhandler.PprofHandler(ctx)
//			return
//		}
//		ctx.NotFound()
//	}
package pprofhandler

import (
	"bytes"
	"net/http/pprof"

	"github.com/galehttp/gale"
	"github.com/galehttp/gale/adaptor"
)

var (
	index = adaptor.NewFastHTTPHandlerFunc(pprof.Index)

	// exact are the handlers for one path each.
	exact = map[string]gale.RequestHandler{
		"/debug/pprof/":        index,
		"/debug/pprof/cmdline": adaptor.NewFastHTTPHandlerFunc(pprof.Cmdline),
		"/debug/pprof/profile": adaptor.NewFastHTTPHandlerFunc(pprof.Profile),
		"/debug/pprof/symbol":  adaptor.NewFastHTTPHandlerFunc(pprof.Symbol),
		"/debug/pprof/trace":   adaptor.NewFastHTTPHandlerFunc(pprof.Trace),
	}
)

// PprofHandler serves a profile or a page, by the path of the request:
//
//   - /debug/pprof/ is a page with links to all profiles. Every path that isn't below it
//     is the same page.
//   - /debug/pprof/profile is a CPU profile and /debug/pprof/trace an execution trace.
//     The query argument seconds says how long they take (30 and 1 by default); the
//     handler blocks for that time. Both end early if the client leaves.
//     Server.WriteTimeout doesn't end them.
//   - /debug/pprof/cmdline is the command line, /debug/pprof/symbol translates
//     program counters.
//   - /debug/pprof/NAME is the profile of that name (heap, goroutine, allocs, block,
//     mutex, threadcreate, and those of runtime/pprof.NewProfile), with the query
//     arguments debug, gc and seconds of package net/http/pprof. An unknown name, and any
//     other path that ends in a slash, is answered with 404.
//
// Paths must match exactly: /debug/pprof/cmdlines is not /debug/pprof/cmdline. Call the
// handler for all paths that begin with /debug/pprof/. It is safe for concurrent use, but
// only one CPU profile and one trace can run at a time; a second one is answered with
// 500.
//
// fasthttp answers /debug/pprof/ with 404. It has the page at /debug/pprof, with links
// that don't work.
func PprofHandler(ctx *gale.RequestCtx) {
	path := ctx.Path()
	if handler := exact[string(path)]; handler != nil {
		handler(ctx)
		return
	}
	name, below := bytes.CutPrefix(path, []byte("/debug/pprof/"))
	switch {
	case !below:
		index(ctx)
	case bytes.HasSuffix(name, []byte("/")):
		ctx.SetStatusCode(gale.StatusNotFound)
	default:
		adaptor.NewFastHTTPHandler(pprof.Handler(string(name)))(ctx)
	}
}
