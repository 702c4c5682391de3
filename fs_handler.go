package gale

import (
	"bytes"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"

	"github.com/galehttp/gale/internal/bytesconv"
	"github.com/galehttp/gale/internal/compress"
	"github.com/galehttp/gale/internal/static"
)

// fsHandler serves files. A request goes this way:
//
//	handle -> serve -> lookup -> (load) -> respond -> (respondRanges)
type fsHandler struct {
	src        fileSource
	root       string // the root's path, if it is one of the system's
	rootName   string // the last segment of it
	rootCheck  sync.Once
	copies     copyStore // nil if copies can't be written
	oldCopies  copyStore // where they were before they had a place of their own, or nil
	rules      static.Rules
	rewrite    PathRewriteFunc
	notFound   RequestHandler
	indexNames []string
	maxRanges  int // 0: ranges are off

	listings, etags, strongETags, precompressed bool

	// compress holds the codings to compress with, codings all that may be
	// sent, and suffixes those of the compressed copies.
	compress, codings static.CodingSet
	suffixes          [compress.Codings]string
	flights           flightGroup

	fsCache
}

func newFSHandler(fs *FS) *fsHandler {
	h := &fsHandler{
		rewrite:       fs.PathRewrite,
		notFound:      fs.PathNotFound,
		indexNames:    fs.IndexNames,
		listings:      fs.GenerateIndexPages,
		etags:         fs.GenerateETag,
		strongETags:   fs.StrongETags,
		precompressed: fs.Precompressed,
		rules: static.Rules{
			Windows: runtime.GOOS == "windows",
			Volume:  fs.Root == "" && fs.AllowEmptyRoot,
			HideDot: fs.HideDotFiles,
		},
	}
	h.setSource(fs)
	h.setCodings(fs)
	if fs.AcceptByteRange {
		h.maxRanges = limitOr(fs.MaxRanges, 32, 1)
	}
	if !fs.SkipCache {
		h.fsCache.init(fs, h.rest)
	}
	return h
}

// limitOr returns n, or def for 0, or none below 0.
func limitOr(n, def, none int) int {
	switch {
	case n == 0:
		return def
	case n < 0:
		return none
	}
	return n
}

func (h *fsHandler) setSource(fs *FS) {
	if fs.FS != nil {
		h.src = treeSource{fs.FS, string(static.AppendName(nil, []byte(filepath.ToSlash(fs.Root))))}
		return
	}
	root := absDir(fs.Root, fs.AllowEmptyRoot)
	h.root, h.rootName = root, filepath.Base(root)
	src := newOSSource(root, fs.AllowSymlinksOutsideRoot)
	h.src, h.copies = src, src
	if fs.CompressRoot != "" {
		h.oldCopies = src
		h.copies = newOSSource(absDir(fs.CompressRoot, false), fs.AllowSymlinksOutsideRoot)
	}
}

// absDir makes dir absolute, so that it stays the same when the program changes
// its working directory. It stays empty if that is allowed.
func absDir(dir string, allowEmpty bool) string {
	if dir == "" && allowEmpty {
		return ""
	}
	if abs, err := filepath.Abs(filepath.FromSlash(dir)); err == nil {
		return abs
	}
	return dir
}

// setCodings works out which codings to use and what their copies are called.
func (h *fsHandler) setCodings(fs *FS) {
	if fs.Compress {
		h.compress = static.Of(compress.Gzip)
		if fs.CompressBrotli {
			h.compress |= static.Of(compress.Brotli)
		}
		if fs.CompressZstd {
			h.compress |= static.Of(compress.Zstd)
		}
	}
	h.codings = h.compress
	if h.precompressed {
		h.codings = static.Of(compress.Gzip, compress.Brotli, compress.Zstd)
	}
	for c := compress.Gzip; c < compress.Codings; c++ {
		suffix := fs.CompressedFileSuffixes[c.String()]
		if suffix == "" && c == compress.Gzip {
			suffix = fs.CompressedFileSuffix
		}
		if suffix == "" {
			suffix = FSCompressedFileSuffixes[c.String()]
		}
		// Copies in two codings must not have one name.
		for o := compress.Gzip; o < c; o++ {
			if h.suffixes[o] == suffix {
				suffix += "." + c.String()
			}
		}
		h.suffixes[c] = strings.ReplaceAll(suffix, "/", "_")
	}
}

// rest lets go of the directories between requests.
func (h *fsHandler) rest() {
	h.src.rest()
	if h.copies != nil {
		h.copies.rest()
	}
}

// handle is the RequestHandler of an FS.
func (h *fsHandler) handle(ctx *RequestCtx) {
	if !servesMethod(ctx.Method()) {
		ctx.Error("Method Not Allowed", StatusMethodNotAllowed)
		ctx.Response.Header.Set(HeaderAllow, "GET, HEAD")
		return
	}
	path := ctx.Path()
	if h.rewrite != nil {
		path = h.rewrite(ctx)
	}
	// A directory is asked for by a slash at the end. The client's path counts
	// as well as a rewritten one, or it could be redirected for ever.
	var buf [256]byte
	if endsInSlash(ctx.Path()) && !endsInSlash(path) {
		path = append(append(buf[:0], path...), '/')
	}
	h.serve(ctx, path, h.codings)
}

// servesMethod tells if a method may get a file: GET and HEAD. With fsAnswersAll
// those of forms and APIs may too, without conditions and ranges that are defined for
// GET and HEAD only; not those that ask for something else altogether.
func servesMethod(method []byte) bool {
	switch string(method) {
	case MethodGet, MethodHead:
		return true
	case MethodPost, MethodPut, MethodPatch, MethodDelete, MethodOptions:
		return fsAnswersAll
	}
	return false
}

// serve answers with the file at path, in one of the codings on offer.
func (h *fsHandler) serve(ctx *RequestCtx, path []byte, offer static.CodingSet) {
	var accept []byte
	negotiated := false
	if offer != 0 {
		accept = ctx.Request.Header.Peek(HeaderAcceptEncoding)
		negotiated = len(accept) > 0
		if h.wantsRange(ctx) {
			accept = nil
		}
	}
	for {
		coding := static.ChooseCoding(accept, offer)
		e, err := h.lookup(path, coding)
		if err != nil {
			h.fail(ctx, path, err)
			return
		}
		if !e.absent {
			h.respond(ctx, e, negotiated)
			return
		}
		if offer &^= static.Of(coding); e.neverCoded {
			offer = 0
		}
	}
}

func endsInSlash(path []byte) bool { return len(path) > 0 && path[len(path)-1] == '/' }

// wantsRange tells if the request is one for ranges, which are those of the
// file itself and not of a compressed variant.
func (h *fsHandler) wantsRange(ctx *RequestCtx) bool {
	return h.maxRanges > 0 && (ctx.IsGet() || ctx.IsHead()) && len(ctx.Request.Header.Peek(HeaderRange)) > 0
}

// fail answers for a path that can't be served.
func (h *fsHandler) fail(ctx *RequestCtx, path []byte, err error) {
	switch err {
	case errBadPath:
		ctx.Error("Bad Request", StatusBadRequest)
	case errDotDot:
		ctx.Error("Internal Server Error", StatusInternalServerError)
		ctx.Logger().Printf("cannot serve path with '..' path segment due to security reasons: %q", string(path))
	case errIsDir:
		h.redirect(ctx, path)
	case errNoIndex:
		ctx.Error("Directory index is forbidden", StatusForbidden)
	default:
		h.checkRoot(ctx)
		if isTooManyFiles(err) {
			ctx.Logger().Printf("cannot open file %q: %s", string(path), err)
			ctx.Error("Service Unavailable", StatusServiceUnavailable)
			return
		}
		if h.notFound != nil {
			ctx.SetStatusCode(StatusNotFound)
			h.notFound(ctx)
			return
		}
		ctx.Error("Cannot open requested path", StatusNotFound)
	}
}

// checkRoot tells the log, once, if nothing can be found because there is no
// root.
func (h *fsHandler) checkRoot(ctx *RequestCtx) {
	h.rootCheck.Do(func() {
		if h.root == "" {
			return
		}
		if _, err := os.Stat(h.root); err != nil {
			ctx.Logger().Printf("FS.Root %q can't be served: %v", h.root, err)
		}
	})
}

// redirect leads to the same directory with a slash at the end. If the client's
// path has one, a handler has asked for another directory: that is the last
// segment of path then, for where it lies in the system is nobody's business.
func (h *fsHandler) redirect(ctx *RequestCtx, path []byte) {
	from := ctx.Path()
	if endsInSlash(from) {
		from = path
		if h.rules.Volume {
			from = path[bytes.LastIndexByte(path, '/')+1:]
		}
	}
	ctx.Response.ResetBody()
	ctx.Response.SetStatusCode(StatusFound)
	ctx.Response.Header.SetBytesV(HeaderLocation, static.AppendLocation(nil, from, ctx.URI().QueryString()))
}

// respond answers with e, of which it takes over a reference. negotiated says
// that the request might have got the file in another coding. One that names no
// coding can't: its answer is good for all, and needs no Vary.
func (h *fsHandler) respond(ctx *RequestCtx, e *fsEntry, negotiated bool) {
	head := ctx.IsHead()
	outcome := evaluate(&ctx.Request.Header, e.valid, head || ctx.IsGet())
	if outcome == static.Failed {
		e.Release()
		ctx.Response.ResetBody()
		ctx.Response.SetStatusCode(StatusPreconditionFailed)
		return
	}
	header := &ctx.Response.Header
	if negotiated && e.varies {
		addVary(header, HeaderAcceptEncoding)
	}
	if len(e.lastModified) > 0 {
		header.SetBytesV(HeaderLastModified, e.lastModified)
	}
	if len(e.valid.ETag) > 0 {
		header.SetBytesV(HeaderETag, e.valid.ETag)
	}
	if outcome == static.NotModified {
		e.Release()
		ctx.Response.ResetBody()
		ctx.Response.SetStatusCode(StatusNotModified)
		return
	}
	if e.listing {
		header.Set(HeaderXContentTypeOptions, "nosniff")
	}
	if e.coding != compress.Identity {
		header.Set(HeaderContentEncoding, e.coding.String())
	}
	header.SetContentType(e.contentType)
	if h.maxRanges > 0 {
		header.Set(HeaderAcceptRanges, "bytes")
		if (head || ctx.IsGet()) && h.respondRanges(ctx, e, head) {
			return
		}
	}
	ctx.SetStatusCode(StatusOK)
	h.setBody(ctx, e, static.Range{Length: e.size}, head)
}

// evaluate weighs the conditions in a request's head.
//
// If-None-Match counts for representations that have a tag: a tag that a client
// holds for one without came from elsewhere, and tells less than the date does.
// "*" counts for all (RFC 9110 section 13.1.2).
func evaluate(header *RequestHeader, v static.Validators, readOnly bool) static.Outcome {
	c := static.Conditions{
		IfModifiedSince:   header.Peek(HeaderIfModifiedSince),
		IfUnmodifiedSince: header.Peek(HeaderIfUnmodifiedSince),
		ReadOnly:          readOnly,
	}
	// PeekAll returns memory that its next call takes again.
	var match, none [4][]byte
	if len(header.Peek(HeaderIfMatch)) > 0 {
		c.IfMatch = append(match[:0], header.PeekAll(HeaderIfMatch)...)
	}
	if one := header.Peek(HeaderIfNoneMatch); len(one) > 0 && (len(v.ETag) > 0 || string(bytesconv.TrimOWS(one)) == "*") {
		c.IfNoneMatch = append(none[:0], header.PeekAll(HeaderIfNoneMatch)...)
	}
	return c.Evaluate(v)
}

// setBody makes r of e the body, of which HEAD gets the length only. It takes
// over a reference to e.
func (h *fsHandler) setBody(ctx *RequestCtx, e *fsEntry, r static.Range, head bool) {
	resp := &ctx.Response
	switch {
	case e.data != nil || e.size == 0:
		resp.SetBodyRaw(e.data[r.Start : r.Start+r.Length : r.Start+r.Length])
		resp.SkipBody = resp.SkipBody || head
	case head:
		e.Release()
		resp.ResetBody()
		resp.SkipBody = true
		resp.Header.setLength(r.Length)
	case e.file != nil:
		setStream(resp, newFileBody(e.file, r.Start, r.Length), r.Length)
	default:
		f, info, err := h.src.open(e.reopen)
		if err != nil || !info.Mode().IsRegular() || info.Size() < r.Start+r.Length {
			if err == nil {
				f.Close()
			}
			ctx.Error("Internal Server Error", StatusInternalServerError)
			return
		}
		setStream(resp, &treeBody{file: f, skip: r.Start, n: r.Length}, r.Length)
	}
}
