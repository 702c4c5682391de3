package main

import (
	"log/slog"
	"os"

	"github.com/galehttp/gale"
)

// routes are the handlers by method. The methods of a nil handler are refused.
type routes struct {
	read  gale.RequestHandler // GET and HEAD
	write gale.RequestHandler // PUT and POST
}

// newHandler returns the handler for all requests. A request passes the middlewares in
// the reverse order of the lines below. The log is Server.BeforeSend.
func (cfg *serveConfig) newHandler(copies *os.Root, logger *slog.Logger) gale.RequestHandler {
	var r routes
	if cfg.upload.on {
		r.write = cfg.uploadHandler(logger)
	}
	r.read = newFolder(cfg, copies).serve
	if cfg.zip {
		r.read = cfg.withZip(r.read, logger)
	}
	r.read = hideUnfinished(r.read)
	h := byMethod(r)
	if cfg.auth.by != nil {
		h = withAuth(h, cfg.auth.by)
	}
	if cfg.cors != "" {
		h = withCORS(h, string(cfg.cors))
	}
	h = withFields(withHosts(h, &cfg.hosts), cfg.fields)
	if cfg.upload.on {
		h = withSandbox(h)
	}
	return h
}

// byMethod calls the handler of the request's method.
func byMethod(r routes) gale.RequestHandler {
	allow := "GET, HEAD"
	if r.write != nil {
		allow += ", POST, PUT"
	}
	return func(ctx *gale.RequestCtx) {
		switch {
		case ctx.IsGet() || ctx.IsHead():
			r.read(ctx)
		case r.write != nil && (ctx.IsPut() || ctx.IsPost()):
			r.write(ctx)
		default:
			errorPage(ctx, gale.StatusMethodNotAllowed, "Only these methods are allowed here: "+allow+".")
			ctx.Response.Header.Set(gale.HeaderAllow, allow)
		}
	}
}

// Headers and methods that pages of other origins may use.
const (
	corsExposed  = "Accept-Ranges, Content-Encoding, Content-Length, Content-Range, Date, ETag"
	corsAllowed  = "GET, HEAD"
	corsMaxAge   = "86400"
	corsRequests = "Authorization, If-Match, If-Modified-Since, If-None-Match, If-Range, If-Unmodified-Since, Range"
)

// withCORS lets pages of the origin, or of all origins for "*", read what h
// serves (the CORS protocol of the Fetch standard).
func withCORS(h gale.RequestHandler, origin string) gale.RequestHandler {
	return func(ctx *gale.RequestCtx) {
		req, resp := &ctx.Request.Header, &ctx.Response.Header
		preflight := ctx.IsOptions() && len(req.Peek(gale.HeaderAccessControlRequestMethod)) > 0
		if preflight {
			ctx.SetStatusCode(gale.StatusNoContent)
			resp.Set(gale.HeaderAccessControlAllowMethods, corsAllowed)
			resp.Set(gale.HeaderAccessControlAllowHeaders, corsRequests)
			resp.Set(gale.HeaderAccessControlMaxAge, corsMaxAge)
		} else {
			h(ctx)
			resp.Set(gale.HeaderAccessControlExposeHeaders, corsExposed)
		}
		resp.Set(gale.HeaderAccessControlAllowOrigin, origin)
	}
}
