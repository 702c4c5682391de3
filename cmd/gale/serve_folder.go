package main

import (
	"bytes"
	"time"

	"github.com/galehttp/gale"
)

// fileCache is how long an open file is served before it is checked for changes. It
// is short, because files may be edited meanwhile.
const fileCache = time.Second

// folder answers GET and HEAD with the files of the folder.
type folder struct {
	spa   bool
	files gale.RequestHandler // of a gale.FS that calls missing and noIndex
}

// newFolder returns the handler for the folder of cfg.
func newFolder(cfg *serveConfig, compressDir string) *folder {
	f := &folder{spa: cfg.spa}
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
	if cfg.spa {
		fs.PathNotFound = f.missing
	}
	f.files = fs.NewRequestHandler()
	return f
}

// serve answers a request for reading.
func (f *folder) serve(ctx *gale.RequestCtx) { f.files(ctx) }

// applicationPage is the answer to the routes of a single-page application.
const applicationPage = "/index.html"

// missing answers a path without a file. With -spa, a path with a dot in its last
// segment is a missing file, and others are routes of the application.
func (f *folder) missing(ctx *gale.RequestCtx) {
	path := ctx.Path()
	last := path[bytes.LastIndexByte(path, '/')+1:]
	if bytes.IndexByte(last, '.') >= 0 {
		ctx.SetContentType("text/plain; charset=utf-8")
		ctx.SetBodyString("Not found\n")
		return
	}
	ctx.URI().SetPath(applicationPage)
	ctx.SetStatusCode(gale.StatusOK)
	f.files(ctx)
	// No caching: the next build of the application may have other routes and
	// assets.
	ctx.Response.Header.Set(gale.HeaderCacheControl, "no-cache")
}
