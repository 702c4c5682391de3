package main

import (
	"strings"

	"github.com/galehttp/gale"
	"github.com/galehttp/gale/internal/static"
)

// pageSuffix is left out of the URLs of pages with -clean-urls.
const pageSuffix = ".html"

// serveClean serves /about.html as /about. The slash decides between a page and a folder
// of the same name: /about is the page, /about/ the folder.
func (f *folder) serveClean(ctx *gale.RequestCtx) {
	path := string(ctx.Path())
	if strings.HasSuffix(path, "/") {
		f.files(ctx)
		return
	}
	if short, ok := f.shortPath(ctx, path); ok {
		redirectTo(ctx, short)
		return
	}
	got := f.find(ctx, path)
	if got == found || !strings.HasSuffix(path, pageSuffix) && f.find(ctx, path+pageSuffix) == found {
		return
	}
	f.files(ctx)
}

// shortPath returns the path to which the page at path is redirected, if there is such a
// page and the short path leads to it.
func (f *folder) shortPath(ctx *gale.RequestCtx, path string) (short string, ok bool) {
	slash := strings.LastIndexByte(path, '/') + 1
	dir, name := path[:slash], path[slash:]
	if f.isIndexName(name) && f.indexOf(ctx, dir) == name {
		return dir, true
	}
	base, isPage := strings.CutSuffix(name, pageSuffix)
	if !isPage || base == "" || strings.HasSuffix(base, pageSuffix) {
		return "", false
	}
	return dir + base, f.exists(ctx, path) && !f.exists(ctx, dir+base)
}

// indexOf returns the name of the index page of the folder dir, or "".
func (f *folder) indexOf(ctx *gale.RequestCtx, dir string) string {
	for _, name := range f.index {
		if f.exists(ctx, dir+name) {
			return name
		}
	}
	return ""
}

// redirectToPage redirects from /about/ to /about if there is no such folder but a page.
func (f *folder) redirectToPage(ctx *gale.RequestCtx) bool {
	path, ok := strings.CutSuffix(string(ctx.Path()), "/")
	if !ok || path == "" || strings.HasSuffix(path, "/") || strings.HasSuffix(path, pageSuffix) {
		return false
	}
	if !f.exists(ctx, path+pageSuffix) {
		ctx.SetStatusCode(gale.StatusNotFound)
		return false
	}
	redirectTo(ctx, path)
	return true
}

// redirectTo redirects to path on this server, for good. The query stays. Browsers ask
// again each time, because the flags of the next server on this port may be others.
func redirectTo(ctx *gale.RequestCtx, path string) {
	// More than one slash would begin the name of a host (RFC 3986 section 4.2).
	location := static.AppendEscapedPath([]byte("/"), []byte(strings.TrimLeft(path, `/\`)))
	if query := ctx.URI().QueryString(); len(query) > 0 {
		location = append(append(location, '?'), query...)
	}
	ctx.Response.Reset()
	ctx.SetStatusCode(gale.StatusPermanentRedirect)
	ctx.Response.Header.SetBytesV(gale.HeaderLocation, location)
	ctx.Response.Header.Set(gale.HeaderCacheControl, noCache)
}
