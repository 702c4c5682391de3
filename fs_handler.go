package gale

import (
	"bytes"
	"os"
	"runtime"
	"strings"
	"sync"
	"time"

	"github.com/galehttp/gale/internal/clock"
	"github.com/galehttp/gale/internal/compress"
	"github.com/galehttp/gale/internal/door"
	"github.com/galehttp/gale/internal/msg"
	"github.com/galehttp/gale/internal/pathrule"
	"github.com/galehttp/gale/internal/static"
)

// fsHandler serves files. A request takes this way:
//
//	handle -> serve -> store.Open -> respond -> (respondRanges)
type fsHandler struct {
	store     *static.Store
	rootCheck sync.Once
	rewrite   PathRewriteFunc
	notFound  RequestHandler
	noIndex   RequestHandler
	maxRanges int // 0: ranges are off

	compressLarge bool
}

func newFSHandler(fs *FS) *fsHandler {
	h := &fsHandler{
		rewrite:  fs.PathRewrite,
		notFound: fs.PathNotFound,
		noIndex:  fs.IndexNotFound,
		store:    static.NewStore(storeSettings(fs)),

		compressLarge: fs.CompressLarge,
	}
	if fs.AcceptByteRange {
		h.maxRanges = limitOr(fs.MaxRanges, 32, 1)
	}
	return h
}

func init() {
	door.LimitCopies = func(fs any, root *os.Root, limit int64, room func(n int64) (done func(), err error)) {
		f := fs.(*FS)
		f.copyRoot, f.copyLimit = root, static.CopyLimit{Bytes: limit, Room: room}
	}
}

// storeSettings returns those settings of fs that are about files and not requests.
func storeSettings(fs *FS) static.Settings {
	settings := static.Settings{
		FS:             fs.FS,
		Root:           fs.Root,
		AllowEmptyRoot: fs.AllowEmptyRoot,
		CompressRoot:   fs.CompressRoot,
		CopyRoot:       fs.copyRoot,
		CopyLimit:      fs.copyLimit,
		FollowOut:      fs.AllowSymlinksOutsideRoot,
		Rules: static.Rules{
			Windows: runtime.GOOS == "windows",
			Volume:  fs.FS == nil && fs.Root == "" && fs.AllowEmptyRoot,
			HideDot: fs.HideDotFiles,
		},
		IndexNames:    fs.IndexNames,
		Listings:      fs.GenerateIndexPages && fs.IndexNotFound == nil,
		ETags:         fs.GenerateETag,
		StrongETags:   fs.StrongETags,
		Precompressed: fs.Precompressed,
		Suffixes:      copySuffixes(fs),
		MaxOpenFiles:  limitOr(fs.MaxOpenFiles, 256, 0),
		Stop:          fs.CleanStop,
		Fresh:         fs.Fresh,
		Recovered:     recovered,
	}
	settings.Compress, settings.Codings = fsCodings(fs)
	switch {
	case fs.SkipCache:
	case fs.CacheDuration <= 0:
		settings.MaxAge = FSHandlerCacheDuration
	default:
		settings.MaxAge = fs.CacheDuration
	}
	return settings
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

// fsCodings returns the codings to compress with, and all codings that may be sent.
func fsCodings(fs *FS) (use, send static.CodingSet) {
	if fs.Compress {
		use = static.Of(compress.Gzip)
		if fs.CompressBrotli {
			use |= static.Of(compress.Brotli)
		}
		if fs.CompressZstd {
			use |= static.Of(compress.Zstd)
		}
	}
	if fs.Precompressed {
		return use, static.Of(compress.Gzip, compress.Brotli, compress.Zstd)
	}
	return use, use
}

// copySuffixes returns the suffixes of the names of compressed copies.
func copySuffixes(fs *FS) (suffixes [compress.Codings]string) {
	for c := compress.Gzip; c < compress.Codings; c++ {
		suffix := fs.CompressedFileSuffixes[c.String()]
		if suffix == "" && c == compress.Gzip {
			suffix = fs.CompressedFileSuffix
		}
		if suffix == "" {
			suffix = FSCompressedFileSuffixes[c.String()]
		}
		// Copies in two codings must not have the same name.
		for o := compress.Gzip; o < c; o++ {
			if suffixes[o] == suffix {
				suffix += "." + c.String()
			}
		}
		suffixes[c] = strings.ReplaceAll(suffix, "/", "_")
	}
	return suffixes
}

// handle is the RequestHandler of an FS.
func (h *fsHandler) handle(ctx *RequestCtx) {
	if !servesMethod(ctx.Method()) {
		ctx.Error("Method Not Allowed", StatusMethodNotAllowed)
		ctx.Response.Header.Set(HeaderAllow, "GET, HEAD")
		return
	}
	path, slash := ctx.Path(), static.EndsInSlash(ctx.Path())
	var shown []byte
	if h.rewrite != nil {
		path, shown = h.rewrite(ctx), ctx.Path()
	}
	if ctx.Request.routed {
		if path = routedFile(path); path == nil {
			ctx.NotFound()
			return
		}
	}
	h.serve(ctx, path, shown, h.store.Codings, slash, h.rewrite != nil && !slash && static.EndsInSlash(path))
}

// routedFile returns path, which a router has matched, decoded; nil if a segment has a byte that no name of
// a file has.
func routedFile(path []byte) []byte {
	if bytes.IndexByte(path, 0) >= 0 || pathrule.BackslashIsSlash && bytes.IndexByte(path, '\\') >= 0 {
		return nil
	}
	if bytes.IndexByte(path, '%') < 0 {
		return path
	}
	name := make([]byte, 0, len(path))
	for len(path) > 0 {
		c, n := pathrule.DecodeRoutedByte(path)
		if n == 3 && (c == '/' || c == '\\' && pathrule.BackslashIsSlash) {
			return nil
		}
		name = append(name, c)
		path = path[n:]
	}
	return name
}

// servesMethod reports whether a method may get a file: GET and HEAD. With
// fsAnswersAll also the methods of forms and APIs, but without conditions and
// ranges, which are defined only for GET and HEAD. Methods that ask for something
// else altogether, such as TRACE, never get one.
func servesMethod(method []byte) bool {
	switch string(method) {
	case MethodGet, MethodHead:
		return true
	case MethodPost, MethodPut, MethodPatch, MethodDelete, MethodOptions:
		return fsAnswersAll
	}
	return false
}

// serve answers with the file at path, in one of the offered codings. shown is the path
// that a listing shows, or nil for path.
//
// A path with a slash at the end means a directory. If dirToo is set, a path
// without one may also mean a directory: the client's path has a slash but the
// rewritten one has none, and a redirect to the path that was asked for would never
// end. If fileToo is set, a path with a slash may also mean a file: a rewriter
// added the slash, as Fiber's does to every path, and clients never see it.
func (h *fsHandler) serve(ctx *RequestCtx, path, shown []byte, offer static.CodingSet, dirToo, fileToo bool) {
	var accept [][]byte
	var room [4][]byte
	negotiated := false
	if offer != 0 {
		accept = ctx.Request.Header.s.AppendFilled(room[:0], msg.AcceptEncoding, nil)
		negotiated = len(accept) > 0
		if h.wantsRange(ctx) {
			accept = nil
		}
	}
	seen := static.Seen{Shown: shown}
	for {
		coding := static.ChooseCoding(accept, offer)
		e, err := h.store.Open(path, coding, &seen)
		if err == static.ErrIsDir && dirToo {
			path, dirToo = append(path[:len(path):len(path)], '/'), false
			continue
		}
		if err == static.ErrIsFile && fileToo {
			path, fileToo = bytes.TrimRight(path, "/"), false
			continue
		}
		if err != nil {
			h.fail(ctx, path, err)
			return
		}
		if !e.Absent {
			if !h.compressLarge || !e.IsLarge() || !h.respondLarge(ctx, e, accept) {
				h.respond(ctx, e, negotiated)
			}
			return
		}
		if offer &^= static.Of(coding); e.NeverCoded {
			offer = 0
		}
	}
}

// wantsRange reports whether the request asks for ranges, which only a GET can (RFC 9110
// section 14.2). Ranges are always ranges of the file itself, not of a compressed variant.
func (h *fsHandler) wantsRange(ctx *RequestCtx) bool {
	return h.maxRanges > 0 && ctx.IsGet() && len(ctx.Request.Header.Peek(HeaderRange)) > 0
}

// fail answers for a path that can't be served.
func (h *fsHandler) fail(ctx *RequestCtx, path []byte, err error) {
	switch err {
	case static.ErrZeroByte:
		ctx.Error("Bad Request", StatusBadRequest)
	case static.ErrDotDot:
		ctx.Error("Internal Server Error", StatusInternalServerError)
		ctx.Logger().Printf("cannot serve path with '..' path segment due to security reasons: %q", string(path))
	case static.ErrIsDir:
		h.redirect(ctx, path)
	case static.ErrNoIndex:
		if h.noIndex != nil {
			h.noIndex(ctx)
			return
		}
		ctx.Error("Directory index is forbidden", StatusForbidden)
	case static.ErrBusy:
		ctx.Error("Service Unavailable", StatusServiceUnavailable)
	default:
		h.checkRoot(ctx)
		if static.IsTooManyFiles(err) {
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

// checkRoot logs, once, if no file can be found because there is no root.
func (h *fsHandler) checkRoot(ctx *RequestCtx) {
	h.rootCheck.Do(func() {
		if root, err := h.store.CheckRoot(); err != nil {
			ctx.Logger().Printf("FS.Root %q can't be served: %v", root, err)
		}
	})
}

// redirect redirects to the same directory with a slash at the end. If the client's
// path ends in a slash, a handler has asked for another directory. With a path of
// the whole system only the last segment of path is used then, because clients must
// not learn where the directory is in the system. The prefix of the mounts around, which package router has taken
// away, is put before it.
func (h *fsHandler) redirect(ctx *RequestCtx, path []byte) {
	from := ctx.Path()
	if static.EndsInSlash(from) {
		from = path
		if h.store.Rules.Volume {
			from = path[bytes.LastIndexByte(path, '/')+1:]
		}
	} else if ctx.Request.routed {
		if name := routedFile(from); name != nil { // else a rewriter has made another path of it
			from = name
		}
	}
	to := pathrule.AppendReference(nil, ctx.route.MountPath())
	ctx.Response.ResetBody()
	ctx.Response.SetStatusCode(StatusFound)
	ctx.Response.Header.SetBytesV(HeaderLocation, static.AppendLocation(to, from, ctx.URI().QueryString()))
}

// respond answers with e and takes over the caller's reference to it. negotiated
// says that the request has an Accept-Encoding, so it might have got the file in
// another coding. A request without one gets no Vary: its answer is valid for all
// clients.
func (h *fsHandler) respond(ctx *RequestCtx, e *static.Entry, negotiated bool) {
	if h.describe(ctx, e, negotiated) {
		return
	}
	if h.wantsRange(ctx) && h.respondRanges(ctx, e) {
		return
	}
	ctx.SetStatusCode(StatusOK)
	h.setBody(ctx, e, static.Range{Length: e.Size}, ctx.IsHead())
}

// describe sets the header fields for e. If the request's conditions ask for an answer
// without content, it gives that, releases e and returns true.
func (h *fsHandler) describe(ctx *RequestCtx, e *static.Entry, negotiated bool) (done bool) {
	outcome := evaluate(&ctx.Request.Header, e.Valid, ctx.IsHead() || ctx.IsGet())
	if outcome == static.Failed {
		e.Release()
		ctx.Response.ResetBody()
		ctx.Response.SetStatusCode(StatusPreconditionFailed)
		return true
	}
	header := &ctx.Response.Header
	if negotiated && e.Varies {
		addVary(header, HeaderAcceptEncoding)
	}
	if len(e.LastModified) > 0 && !inFuture(e.Valid.ModTime) {
		header.SetBytesV(HeaderLastModified, e.LastModified)
	}
	if len(e.Valid.ETag) > 0 {
		header.SetBytesV(HeaderETag, e.Valid.ETag)
	}
	if outcome == static.NotModified {
		e.Release()
		ctx.Response.ResetBody()
		ctx.Response.SetStatusCode(StatusNotModified)
		return true
	}
	if e.Listing {
		header.Set(HeaderXContentTypeOptions, "nosniff")
	}
	if e.Coding != compress.Identity {
		header.Set(HeaderContentEncoding, e.Coding.String())
	}
	header.SetContentType(e.ContentType)
	if h.maxRanges > 0 {
		header.Set(HeaderAcceptRanges, "bytes")
	}
	return false
}

// inFuture reports whether t is later than the Date of a response that is sent now. It can't be
// its Last-Modified then (RFC 9110 section 8.8.2.1).
func inFuture(t time.Time) bool { return t.Unix() > clock.Now().Unix() }

// evaluate evaluates the conditional headers of a request. If-Match and
// If-None-Match count if they are present, whatever their value is, and also if the
// file has no tag: the date conditions are then ignored (RFC 9110 sections 13.1.3
// and 13.1.4).
func evaluate(header *RequestHeader, v static.Validators, readOnly bool) static.Outcome {
	c := static.Conditions{
		IfModifiedSince:   header.Peek(HeaderIfModifiedSince),
		IfUnmodifiedSince: header.Peek(HeaderIfUnmodifiedSince),
		ReadOnly:          readOnly,
	}
	// The next call of PeekAll overwrites the result of the last one.
	var match, none [4][]byte
	if header.Peek(HeaderIfMatch) != nil {
		c.IfMatch = append(match[:0], header.PeekAll(HeaderIfMatch)...)
	}
	if header.Peek(HeaderIfNoneMatch) != nil {
		c.IfNoneMatch = append(none[:0], header.PeekAll(HeaderIfNoneMatch)...)
	}
	return c.Evaluate(v)
}

// setBody makes the range r of e the body. A HEAD request gets only its length. It
// takes over the caller's reference to e.
func (h *fsHandler) setBody(ctx *RequestCtx, e *static.Entry, r static.Range, head bool) {
	resp := &ctx.Response
	switch {
	case e.Data != nil || e.Size == 0:
		resp.setBodyShared(e.Data[r.Start : r.Start+r.Length : r.Start+r.Length])
		resp.SkipBody = resp.SkipBody || head
	case head:
		e.Release()
		resp.ResetBody()
		resp.SkipBody = true
		resp.Header.setLength(r.Length)
	case e.File != nil:
		setStream(resp, newFileBody(e.File, r.Start, r.Length), r.Length)
	default:
		f, info, err := h.store.Reopen(e)
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
