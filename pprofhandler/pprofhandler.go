// Package pprofhandler serves the profiles of the running program, as package
// net/http/pprof does, in the form that go tool pprof reads.
//
// Profiles tell strangers much about the program, and making them costs time:
// serve them only to clients that may see them. Importing this package
// imports net/http/pprof, which registers its handlers with
// http.DefaultServeMux: don't serve that one on a public address.
package pprofhandler

import (
	"bytes"
	"net/http/pprof"

	"github.com/galehttp/gale"
	"github.com/galehttp/gale/adaptor"
)

var (
	index = adaptor.NewFastHTTPHandlerFunc(pprof.Index)

	// exact are the handlers that have a path for themselves.
	exact = map[string]gale.RequestHandler{
		"/debug/pprof/":        index,
		"/debug/pprof/cmdline": adaptor.NewFastHTTPHandlerFunc(pprof.Cmdline),
		"/debug/pprof/profile": adaptor.NewFastHTTPHandlerFunc(pprof.Profile),
		"/debug/pprof/symbol":  adaptor.NewFastHTTPHandlerFunc(pprof.Symbol),
		"/debug/pprof/trace":   adaptor.NewFastHTTPHandlerFunc(pprof.Trace),
	}
)

// PprofHandler answers by the path of the request:
//
//   - /debug/pprof/ is a page with links to all profiles; so is every path that
//     isn't below it.
//   - /debug/pprof/profile is a CPU profile and /debug/pprof/trace an execution
//     trace, taken for as long as the query argument seconds says (30 and 1 by
//     default), during which the handler blocks. Both end early if the client
//     goes away. A Server.WriteTimeout doesn't cut them short.
//   - /debug/pprof/cmdline is the command line, /debug/pprof/symbol translates
//     program counters.
//   - /debug/pprof/NAME is the profile of that name (heap, goroutine, allocs,
//     block, mutex, threadcreate, and those of runtime/pprof.NewProfile), with
//     the query arguments debug, gc and seconds of package net/http/pprof. A
//     name that isn't known, and any other path that ends in a slash, is
//     answered with 404.
//
// The paths are compared as a whole: /debug/pprof/cmdlines is none of them. To
// serve it, pass on what begins with /debug/pprof/. It is safe for concurrent
// use, but there is one CPU profile and one trace at a time; a second one is
// answered with 500.
//
// fasthttp answers /debug/pprof/ with 404, and has the page, with links that
// don't lead anywhere, at /debug/pprof.
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
