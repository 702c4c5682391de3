package main

import (
	"bytes"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"log/slog"
	"strings"
	"time"

	"github.com/galehttp/gale"
)

// fileCache is how long an open file is served before it is checked for changes. It
// is short, because files may be edited meanwhile.
const fileCache = time.Second

// newHandler returns the handler for all requests: the files, with the middlewares
// that cfg asks for.
func (cfg *serveConfig) newHandler(compressDir string, logger *slog.Logger) gale.RequestHandler {
	h := cfg.newFiles(compressDir)
	if cfg.auth.set {
		h = withAuth(h, cfg.auth)
	}
	if cfg.cors != "" {
		h = withCORS(h, string(cfg.cors))
	}
	return withAccessLog(withNosniff(h), logger)
}

// newFiles returns the handler for the files.
func (cfg *serveConfig) newFiles(compressDir string) gale.RequestHandler {
	fs := &gale.FS{
		Root:               cfg.dir,
		IndexNames:         []string{"index.html"},
		GenerateIndexPages: !cfg.spa,
		AcceptByteRange:    true,
		StrongETags:        true,
		HideDotFiles:       !cfg.dotfiles,
		CacheDuration:      fileCache,
		Compress:           cfg.compress,
		CompressBrotli:     true,
		CompressZstd:       true,
		CompressRoot:       compressDir,
		Precompressed:      cfg.compress,
	}
	var files gale.RequestHandler
	if cfg.spa {
		fs.PathNotFound = func(ctx *gale.RequestCtx) { serveApplication(ctx, files) }
	}
	files = onlyReading(fs.NewRequestHandler())
	return files
}

// onlyReading refuses methods that do more than read files.
func onlyReading(h gale.RequestHandler) gale.RequestHandler {
	return func(ctx *gale.RequestCtx) {
		if ctx.IsGet() || ctx.IsHead() {
			h(ctx)
			return
		}
		ctx.Error("Method Not Allowed", gale.StatusMethodNotAllowed)
		ctx.Response.Header.Set(gale.HeaderAllow, "GET, HEAD")
	}
}

// applicationPage is the answer to the routes of a single-page application.
const applicationPage = "/index.html"

// serveApplication answers a path without a file. A path with a dot in its last
// segment is a missing file, not a route.
func serveApplication(ctx *gale.RequestCtx, files gale.RequestHandler) {
	path := ctx.Path()
	last := path[bytes.LastIndexByte(path, '/')+1:]
	if bytes.IndexByte(last, '.') >= 0 {
		ctx.SetContentType("text/plain; charset=utf-8")
		ctx.SetBodyString("Not found\n")
		return
	}
	ctx.URI().SetPath(applicationPage)
	ctx.SetStatusCode(gale.StatusOK)
	files(ctx)
	// No caching: the next build of the application may have other routes and
	// assets.
	ctx.Response.Header.Set(gale.HeaderCacheControl, "no-cache")
}

// withNosniff makes browsers believe the Content-Type.
func withNosniff(h gale.RequestHandler) gale.RequestHandler {
	return func(ctx *gale.RequestCtx) {
		h(ctx)
		ctx.Response.Header.Set(gale.HeaderXContentTypeOptions, "nosniff")
	}
}

// withAuth asks for a name and password (RFC 7617).
func withAuth(h gale.RequestHandler, want authFlag) gale.RequestHandler {
	// Hashes of equal length are compared, so that the time tells nothing about the
	// secret or its length.
	wantSum := sha256.Sum256([]byte(want.user + ":" + want.pass))
	return func(ctx *gale.RequestCtx) {
		gotSum := sha256.Sum256(credentials(ctx))
		if subtle.ConstantTimeCompare(gotSum[:], wantSum[:]) != 1 {
			ctx.Response.Header.Set(gale.HeaderWWWAuthenticate, `Basic realm="gale", charset="UTF-8"`)
			ctx.SetStatusCode(gale.StatusUnauthorized)
			ctx.SetContentType("text/plain; charset=utf-8")
			ctx.SetBodyString("A user name and a password are required.\n")
			return
		}
		h(ctx)
	}
}

// credentials returns the decoded credentials of Basic in Authorization, or nil if
// there are none.
func credentials(ctx *gale.RequestCtx) []byte {
	scheme, value, ok := strings.Cut(string(ctx.Request.Header.Peek(gale.HeaderAuthorization)), " ")
	if !ok || !strings.EqualFold(scheme, "Basic") {
		return nil
	}
	b, err := base64.StdEncoding.DecodeString(strings.TrimSpace(value))
	if err != nil {
		return nil
	}
	return b
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
