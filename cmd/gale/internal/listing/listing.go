package listing

import (
	"errors"
	"io/fs"
	"runtime"
	"sync/atomic"
	"time"

	"github.com/galehttp/gale"
	"github.com/galehttp/gale/internal/static"
)

// Config holds the settings of Pages. They don't change.
type Config struct {
	Dir      string // absolute path of the folder that is served
	DotFiles bool   // show files and folders whose names begin with a dot
	Compress bool   // compress pages for clients that accept it
	Upload   bool   // show what uploads files to a folder
	Zip      bool   // show a link to a folder as a zip file
}

// Pages makes the pages of one served folder. Its methods may be called by any number of
// goroutines.
type Pages struct {
	Config
	rules   static.Rules
	slots   chan struct{} // as many as listings may be made at a time
	waiting atomic.Int32
	unsent  atomic.Int64 // bytes of large answers that clients haven't taken yet
}

const (
	// maxWaiting is how many requests wait while others make listings, and maxWait how
	// long one of them waits. Others get 503.
	maxWaiting = 64
	maxWait    = 10 * time.Second
)

// New returns the pages for cfg.
func New(cfg Config) *Pages {
	return &Pages{
		Config: cfg,
		rules:  static.Rules{Windows: runtime.GOOS == "windows", HideDot: !cfg.DotFiles},
		slots:  make(chan struct{}, max(1, runtime.GOMAXPROCS(0)/2)),
	}
}

// Folder answers with the listing of the folder at the path of the request. A client that
// prefers application/json gets that, others get HTML. The method must be GET or HEAD.
//
// A HEAD request gets neither length nor entity tag, because it would have to read the whole
// folder for them (RFC 9110 section 9.3.2).
func (p *Pages) Folder(ctx *gale.RequestCtx) {
	path := ctx.Path()
	if !p.rules.MayOpen(p.Dir, path) {
		p.NotFound(ctx)
		return
	}
	asJSON := prefersJSON(ctx)
	addVary(ctx, "Accept")
	ctx.SetContentType(htmlType)
	if asJSON {
		ctx.SetContentType(jsonType)
	}
	ctx.Response.Header.Set(gale.HeaderCacheControl, "no-cache")
	if ctx.IsHead() {
		ctx.Response.Header.SetContentLength(-1) // not known
		return
	}
	if !p.enter() {
		ctx.Response.Header.Set(gale.HeaderRetryAfter, "1")
		ErrorPage(ctx, gale.StatusServiceUnavailable, "Too many listings are asked for at the moment. Try again.")
		return
	}
	defer p.leave()
	f, err := p.read(string(static.AppendName(nil, path)))
	if err != nil {
		p.fail(ctx, err)
		return
	}
	defer f.close()
	v := parseView(ctx.QueryArgs(), string(path))
	f.choose(&v, asJSON)
	if asJSON {
		p.send(ctx, appendJSON(nil, f, &v))
		return
	}
	setPolicy(ctx, listingPolicy(p.Upload))
	p.send(ctx, p.appendPage(nil, f, &v))
}

// fail answers for a folder that can't be read.
func (p *Pages) fail(ctx *gale.RequestCtx, err error) {
	switch {
	case errors.Is(err, fs.ErrPermission):
		ErrorPage(ctx, gale.StatusForbidden, "The server may not read this folder.")
	case static.IsTooManyFiles(err):
		ErrorPage(ctx, gale.StatusServiceUnavailable, "The server has too many open files. Try again.")
	default:
		p.NotFound(ctx)
	}
}

// enter waits until a listing may be made, or returns false. After true, leave must be called.
func (p *Pages) enter() bool {
	select {
	case p.slots <- struct{}{}:
		return true
	default:
	}
	defer p.waiting.Add(-1)
	if p.waiting.Add(1) > maxWaiting {
		return false
	}
	timeout := time.NewTimer(maxWait)
	defer timeout.Stop()
	select {
	case p.slots <- struct{}{}:
		return true
	case <-timeout.C:
		return false
	}
}

func (p *Pages) leave() { <-p.slots }
