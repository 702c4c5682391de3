package main

import (
	"bytes"
	"os"
	"strconv"
	"time"

	"github.com/galehttp/gale"
	"github.com/galehttp/gale/cmd/gale/internal/listing"
	"github.com/galehttp/gale/internal/door"
)

// noCache lets clients keep an answer, but ask each time whether it has changed.
const noCache = "no-cache"

// folder answers GET and HEAD with the files of the folder.
//
// files is the handler of a gale.FS. It calls missing and noIndex for paths that it
// can't answer. A lookup (see find) serves another path than that of the request.
type folder struct {
	files     gale.RequestHandler
	pages     *listing.Pages
	index     []string // names of index pages
	spa       bool
	cleanURLs bool
	noListing bool
	cache     string // Cache-Control of files
}

// newFolder returns the handler for the folder of cfg.
func newFolder(cfg *serveConfig, copies *os.Root) *folder {
	f := &folder{
		pages:     cfg.newPages(),
		index:     cfg.index.names(),
		spa:       cfg.spa,
		cleanURLs: cfg.cleanURLs,
		noListing: cfg.noListing,
		cache:     cacheControl(cfg.cache),
	}
	fs := &gale.FS{
		Root:            cfg.dir,
		IndexNames:      f.index,
		AcceptByteRange: true,
		StrongETags:     true,
		HideDotFiles:    !cfg.dotfiles,
		Fresh:           true,
		Compress:        cfg.compress,
		CompressBrotli:  true,
		CompressZstd:    true,
		CompressLarge:   cfg.compress,
		Precompressed:   cfg.compress && !cfg.upload.on, // a stranger's FILE.br mustn't be sent for FILE
		PathNotFound:    f.missing,
		IndexNotFound:   f.noIndex,
	}
	if cfg.spa || cfg.cleanURLs {
		fs.PathRewrite = pathToServe
	}
	if copies != nil {
		door.LimitCopies(fs, copies, maxCopies, cfg.copyRoom(copies))
	}
	f.files = fs.NewRequestHandler()
	return f
}

// cacheControl returns the value of Cache-Control for files that clients may use for d
// without asking.
func cacheControl(d time.Duration) string {
	if d == 0 {
		return noCache
	}
	return "max-age=" + strconv.FormatInt(int64(d/time.Second), 10)
}

// serve answers a request for reading.
func (f *folder) serve(ctx *gale.RequestCtx) {
	if f.cleanURLs {
		f.serveClean(ctx)
	} else {
		f.files(ctx)
	}
	h := &ctx.Response.Header
	switch {
	case len(h.Peek(gale.HeaderCacheControl)) > 0:
	case f.isFile(ctx):
		h.Set(gale.HeaderCacheControl, f.cache)
	default:
		h.Set(gale.HeaderCacheControl, noCache)
	}
}

// isFile reports whether an answer without Cache-Control is a file, of which clients may
// keep a copy: listings and errors have that field already. The page of a single-page application isn't: it names the assets of the current build.
func (f *folder) isFile(ctx *gale.RequestCtx) bool {
	switch ctx.Response.StatusCode() {
	case gale.StatusOK, gale.StatusPartialContent, gale.StatusNotModified:
		return !(f.spa && f.isIndexOfRoot(ctx.Path()))
	}
	return false
}

// isIndexOfRoot reports whether path is that of the index page of the root.
func (f *folder) isIndexOfRoot(path []byte) bool {
	if len(path) == 0 || path[0] != '/' {
		return false
	}
	name := string(path[1:])
	return name == "" || f.isIndexName(name) || f.cleanURLs && f.isIndexName(name+pageSuffix)
}

// isIndexName reports whether index pages have that name.
func (f *folder) isIndexName(name string) bool {
	for _, index := range f.index {
		if name == index {
			return true
		}
	}
	return false
}

// missing answers a path without a file. The status is 404.
func (f *folder) missing(ctx *gale.RequestCtx) {
	switch {
	case missed(ctx):
	case f.cleanURLs && f.redirectToPage(ctx):
	case f.spa && isRoute(ctx.Path()):
		f.serveApplication(ctx)
	default:
		f.pages.NotFound(ctx)
	}
}

// noIndex answers a folder without an index page. The status is 200.
func (f *folder) noIndex(ctx *gale.RequestCtx) {
	switch {
	case missed(ctx):
	case f.spa:
		f.serveApplication(ctx)
	case f.noListing:
		noListing(ctx)
	default:
		ownPage(f.pages.Folder)(ctx)
	}
}

// isRoute reports whether a path without a file can be a route of a single-page
// application. With a dot in its last segment it is a missing file.
func isRoute(path []byte) bool {
	return bytes.IndexByte(path[bytes.LastIndexByte(path, '/')+1:], '.') < 0
}

// serveApplication answers with the page of the single-page application: the index page
// of the root.
func (f *folder) serveApplication(ctx *gale.RequestCtx) {
	ctx.Response.Reset()
	if f.find(ctx, "/") != found {
		f.pages.NotFound(ctx)
		return
	}
	// The next build of the application may have other routes and assets.
	ctx.Response.Header.Set(gale.HeaderCacheControl, noCache)
}
