package main

import (
	"bytes"
	"strings"

	"github.com/galehttp/gale"
	"github.com/galehttp/gale/cmd/gale/internal/upload"
	"github.com/galehttp/gale/internal/static"
)

// ownPageKey is the user value of requests that ownPage answers.
const ownPageKey = "gale own page"

// ownPage marks what h answers as a page of the command itself, such as a listing.
func ownPage(h gale.RequestHandler) gale.RequestHandler {
	return func(ctx *gale.RequestCtx) {
		ctx.SetUserValue(ownPageKey, true)
		h(ctx)
	}
}

// withSandbox keeps files that strangers may have uploaded from acting as pages of this
// server. Browsers treat a page with this policy as one of an origin of its own, and run
// no scripts in it (Content Security Policy Level 3, section 6.3.2). The field is added to
// other policies, which it can't make weaker. The server doesn't know who wrote a file, so it is sent
// with all files that browsers show as documents, except pages of the command itself.
func withSandbox(h gale.RequestHandler) gale.RequestHandler {
	return func(ctx *gale.RequestCtx) {
		h(ctx)
		if ctx.UserValue(ownPageKey) == nil && isDocument(ctx) {
			ctx.Response.Header.Add(gale.HeaderContentSecurityPolicy, "sandbox")
		}
	}
}

// isDocument reports whether a browser may show the response as a document that can have
// scripts. The type in a 304 or in the answer to several ranges isn't that of the file;
// there the name decides.
func isDocument(ctx *gale.RequestCtx) bool {
	kind := strings.ToLower(string(ctx.Response.Header.ContentType()))
	if ctx.Response.StatusCode() == gale.StatusNotModified || strings.HasPrefix(kind, "multipart/") {
		kind = static.TypeByName(string(ctx.Path()))
	}
	return kind == "" || strings.Contains(kind, "html") || strings.Contains(kind, "xml") || strings.Contains(kind, "xsl") || strings.HasPrefix(kind, "multipart/")
}

// hideUnfinished answers 404 for files that are being uploaded.
func hideUnfinished(h gale.RequestHandler) gale.RequestHandler {
	return func(ctx *gale.RequestCtx) {
		if namesUnfinished(ctx.Path()) {
			errorPage(ctx, gale.StatusNotFound, "There is no file or folder at this address.")
			return
		}
		h(ctx)
	}
}

// namesUnfinished reports whether a segment of path is the name of an unfinished file. The rules
// of package static refuse its short name on Windows.
func namesUnfinished(path []byte) bool {
	for s := range bytes.SplitSeq(path, []byte("/")) {
		if static.IsDotFile(s) && upload.Unfinished(string(s)) {
			return true
		}
	}
	return false
}
