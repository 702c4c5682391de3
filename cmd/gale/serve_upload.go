package main

import (
	"context"
	"errors"
	"flag"
	"io/fs"
	"log/slog"
	"math"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/galehttp/gale"
	"github.com/galehttp/gale/cmd/gale/internal/upload"
	"github.com/galehttp/gale/internal/compress"
	"github.com/galehttp/gale/internal/shares"
	"github.com/galehttp/gale/internal/static"
)

// uploadConfig holds the flags of uploads.
type uploadConfig struct {
	on        bool
	overwrite bool
	max       size // of a file
	keepFree  size
	state     *uploads // what runs, made by newUploads; nil without -upload
}

func (cfg *serveConfig) uploadFlags(fs *flag.FlagSet) {
	up := &cfg.upload
	up.max, up.keepFree = 1<<30, 1<<30
	fs.BoolVar(&up.on, "upload", false, "let clients store files in the folder and the folders below it, with PUT or a form")
	fs.Var(&up.max, "upload-max", "refuse uploaded files larger than `size`, such as 500MB or 2GiB")
	fs.Var(&up.keepFree, "upload-keep-free", "end an upload before less than `size` is free on the disk; 0 uses all of it")
	fs.BoolVar(&up.overwrite, "upload-overwrite", false, "let uploads replace files")
}

// checkUpload finds settings of uploads that contradict each other.
func (cfg *serveConfig) checkUpload() error {
	switch up := &cfg.upload; {
	case up.max == 0:
		return usagef("-upload-max can't be 0: leave -upload out to refuse all uploads")
	case up.overwrite && !up.on:
		return usagef("-upload-overwrite needs -upload")
	case up.on && cfg.spa:
		return usagef("-upload stops the scripts of all pages in the folder, so -spa can't work with it: serve uploads on a port of their own")
	}
	return nil
}

// Limits of uploads that no flag changes.
const (
	maxUploads     = 16        // at a time
	maxOwnUploads  = 8         // of these, for one client
	uploadRetry    = "10"      // seconds until a client should try again
	uploadBuffer   = 128 << 10 // for each upload
	uploadProgress = 64 << 10  // bytes that must arrive in uploadPeriod
	uploadPeriod   = time.Minute
	uploadStop     = 5 * time.Second // how long the process waits for uploads that it has cut off
	sweepInterval  = time.Hour       // between two looks for left-overs in a folder
	maxSwept       = 1000            // folders for which that is remembered
)

// uploads stores files for clients.
type uploads struct {
	dir       string
	max       int64
	overwrite bool
	rules     upload.Rules
	space     *upload.Space
	logger    *slog.Logger
	period    time.Duration // uploadPeriod, except in tests
	slots     chan struct{}
	shares    shares.Shares

	mu    sync.Mutex
	parts map[string]*upload.Part // unfinished files by their temporary names
	swept map[string]time.Time    // folders, and when they were swept
}

// newUploads returns what stores files for cfg.
func (cfg *serveConfig) newUploads(logger *slog.Logger) *uploads {
	return &uploads{
		dir:       cfg.dir,
		max:       int64(cfg.upload.max),
		overwrite: cfg.upload.overwrite,
		rules:     upload.Rules{Reserved: cfg.index.names(), Suffixes: copySuffixes(), Short: upload.ShortNames},
		space:     &upload.Space{Keep: int64(cfg.upload.keepFree)},
		logger:    logger,
		period:    uploadPeriod,
		slots:     make(chan struct{}, maxUploads),
		parts:     make(map[string]*upload.Part),
		swept:     make(map[string]time.Time),
	}
}

// uploadHandler returns the handler for PUT and POST.
func (cfg *serveConfig) uploadHandler(logger *slog.Logger) gale.RequestHandler {
	cfg.upload.state = cfg.newUploads(logger)
	return cfg.upload.state.handle
}

// copySuffixes returns the ends of the names of compressed copies.
func copySuffixes() (suffixes []string) {
	for _, s := range gale.FSCompressedFileSuffixes {
		suffixes = append(suffixes, s)
	}
	return suffixes
}

// uploadRequest is Server.HeaderReceived: the handler reads uploads while they arrive, and
// limits their size and time itself.
func uploadRequest(h *gale.RequestHeader) gale.RequestConfig {
	if !h.IsPut() && !h.IsPost() {
		return gale.RequestConfig{}
	}
	return gale.RequestConfig{StreamRequestBody: true, ReadStallTimeout: uploadPeriod}
}

// finishUploads waits for uploads that run, for a short time, after the server has cut their
// connections. Then it removes their unfinished files. The process ends after that.
func (cfg *serveConfig) finishUploads() {
	u := cfg.upload.state
	if u == nil {
		return
	}
	cfg.upload.state = nil
	late := time.After(uploadStop)
wait:
	for range cap(u.slots) { // once it has all slots, no upload runs or begins
		select {
		case u.slots <- struct{}{}:
		case <-late:
			break wait
		}
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	for _, p := range u.parts {
		p.Remove()
	}
}

// refusal is the answer to an upload that isn't stored.
type refusal struct {
	status int
	text   string // for the client: what is wrong and what to do
	cause  error  // for the log only; may be nil
}

func (r *refusal) Error() string {
	if r.cause != nil {
		return r.text + ": " + r.cause.Error()
	}
	return r.text
}

func refuse(status int, text string) *refusal { return &refusal{status, text, nil} }

// stored describes a stored file to the client.
type stored struct {
	Name string `json:"name"`
	Size int64  `json:"size"`
}

// handle answers PUT and POST.
func (u *uploads) handle(ctx *gale.RequestCtx) {
	if err := u.serve(ctx); err != nil {
		u.refused(ctx, err)
	}
	ctx.Response.Header.Set(gale.HeaderCacheControl, "no-store")
}

func (u *uploads) serve(ctx *gale.RequestCtx) error {
	put, folder := ctx.IsPut(), strings.HasSuffix(string(ctx.Path()), "/")
	if !put && !folder {
		ctx.Response.Header.Set(gale.HeaderAllow, "GET, HEAD, PUT")
		return refuse(gale.StatusMethodNotAllowed, "send a file with PUT to the address that it will have, or a form with POST to the address of a folder, which ends in a slash")
	}
	if err := checkOrigin(ctx); err != nil {
		return err
	}
	if err := checkRepresentation(ctx); err != nil {
		return err
	}
	segments, err := uploadPath(ctx)
	if err != nil {
		return err
	}
	name := ""
	if put {
		name, segments = segments[len(segments)-1], segments[:len(segments)-1]
		if name == "" {
			return refuse(gale.StatusBadRequest, "the address ends in a slash: send PUT to the address that the file will have")
		}
		if err := u.rules.CheckName(name); err != nil {
			return refuse(gale.StatusBadRequest, err.Error()+": rename the file")
		}
	} else {
		segments = segments[:len(segments)-1]
	}
	for _, s := range segments {
		if err := u.rules.CheckFolder(s); err != nil {
			return refuse(gale.StatusBadRequest, err.Error())
		}
	}

	share, ok := u.shares.Take(ctx.ClientIP(), maxOwnUploads)
	if !ok {
		ctx.Response.Header.Set(gale.HeaderRetryAfter, uploadRetry)
		return refuse(gale.StatusServiceUnavailable, "too many uploads from your address at the moment: try again in "+uploadRetry+" seconds")
	}
	defer share.GiveBack()
	select {
	case u.slots <- struct{}{}:
		defer func() { <-u.slots }()
	default:
		ctx.Response.Header.Set(gale.HeaderRetryAfter, uploadRetry)
		return refuse(gale.StatusServiceUnavailable, "too many uploads at the moment: try again in "+uploadRetry+" seconds")
	}
	dir, err := upload.Open(u.dir, segments)
	if err != nil {
		return folderRefusal(err)
	}
	defer dir.Close()
	u.sweep(dir, strings.Join(segments, "/"))
	if put {
		return u.put(ctx, dir, name)
	}
	return u.post(ctx, dir)
}

// folderRefusal says why a folder can't be opened.
func folderRefusal(err error) error {
	switch {
	case errors.Is(err, upload.ErrLink):
		return refuse(gale.StatusForbidden, "the folder is reached through a symbolic link, and uploads don't follow links: use its own address")
	case errors.Is(err, fs.ErrNotExist):
		return refuse(gale.StatusNotFound, "there is no such folder: uploads don't make folders")
	case errors.Is(err, fs.ErrPermission):
		return &refusal{gale.StatusForbidden, "the server may not open the folder", err}
	case static.IsTooManyFiles(err):
		return &refusal{gale.StatusServiceUnavailable, "the server is too busy: try again later", err}
	}
	return &refusal{gale.StatusNotFound, "the folder can't be opened", err}
}

// checkRepresentation refuses fields that say that the body isn't the whole file as it is.
func checkRepresentation(ctx *gale.RequestCtx) error {
	h := &ctx.Request.Header
	coding, known := compress.ParseList(h.PeekAll(gale.HeaderContentEncoding))
	switch {
	case h.Peek(gale.HeaderContentRange) != nil: // RFC 9110 section 14.5
		return refuse(gale.StatusBadRequest, "a part of a file can't be stored: send the whole file, without Content-Range")
	case !known || coding != compress.Identity:
		ctx.Response.Header.Set(gale.HeaderAcceptEncoding, "identity") // RFC 9110 section 15.5.16
		return refuse(gale.StatusUnsupportedMediaType, "the file is encoded: send it as it is, without Content-Encoding")
	case h.ContentLength() == -2 && !isHTTP2(ctx):
		return refuse(gale.StatusLengthRequired, "the request says nothing about the length of its body: send Content-Length")
	}
	return nil
}

func isHTTP2(ctx *gale.RequestCtx) bool {
	return strings.HasPrefix(string(ctx.Request.Header.Protocol()), "HTTP/2")
}

// sweep removes what killed processes have left in the folder, at most once an hour.
func (u *uploads) sweep(dir *upload.Folder, path string) {
	now := time.Now()
	u.mu.Lock()
	due := now.Sub(u.swept[path]) >= sweepInterval
	if due {
		if len(u.swept) >= maxSwept { // where case is ignored, a folder has many names
			clear(u.swept)
		}
		u.swept[path] = now
	}
	u.mu.Unlock()
	if !due {
		return
	}
	err := dir.Sweep(now, func(name string) bool {
		u.mu.Lock()
		defer u.mu.Unlock()
		return u.parts[name] != nil
	})
	if err != nil {
		u.logger.Warn("can't look for unfinished uploads", "folder", "/"+path, "error", err.Error())
	}
}

// create makes an unfinished file. The caller discards it.
func (u *uploads) create(dir *upload.Folder) (*upload.Part, error) {
	part, err := dir.Create(u.space)
	if err != nil {
		return nil, diskRefusal(err)
	}
	u.mu.Lock()
	u.parts[part.Name()] = part
	u.mu.Unlock()
	return part, nil
}

// discard ends the use of an unfinished file, which was published or not.
func (u *uploads) discard(part *upload.Part) {
	part.Discard()
	u.mu.Lock()
	delete(u.parts, part.Name())
	u.mu.Unlock()
}

// diskRefusal answers for an error of the file system.
func diskRefusal(err error) error {
	switch {
	case errors.Is(err, upload.ErrNoSpace):
		return refuse(gale.StatusInsufficientStorage, "there isn't enough free space on the server's disk: delete files there, or lower -upload-keep-free")
	case errors.Is(err, upload.ErrExists):
		return refuse(gale.StatusConflict, "there is already a file or folder of that name: rename the file")
	case errors.Is(err, upload.ErrNotFile):
		return refuse(gale.StatusConflict, "something that isn't a file has that name, and isn't replaced: rename the file")
	case errors.Is(err, syscall.ENAMETOOLONG):
		return refuse(gale.StatusBadRequest, "the file name is too long: rename the file")
	case errors.Is(err, fs.ErrPermission):
		return &refusal{gale.StatusForbidden, "the server may not write to the folder", err}
	case static.IsTooManyFiles(err):
		return &refusal{gale.StatusServiceUnavailable, "the server is too busy: try again later", err}
	}
	return &refusal{gale.StatusInternalServerError, "the file can't be stored", err}
}

// lookup refuses a name that is taken, before the body is read. existing is the file that
// the upload will replace, if there is one.
func (u *uploads) lookup(dir *upload.Folder, name string) (existing fs.FileInfo, err error) {
	existing, err = dir.Lookup(name)
	switch {
	case err != nil:
		return nil, diskRefusal(err)
	case existing != nil && !u.overwrite:
		return nil, diskRefusal(upload.ErrExists)
	case existing != nil && !existing.Mode().IsRegular():
		return nil, diskRefusal(upload.ErrNotFile)
	}
	return existing, u.checkSibling(dir, name)
}

// checkSibling refuses FILE.br, FILE.gz and FILE.zst if there is FILE. With -upload they
// aren't sent in place of FILE, but they would be once the command runs without it.
func (u *uploads) checkSibling(dir *upload.Folder, name string) error {
	dot := strings.LastIndexByte(name, '.')
	if dot < 0 {
		return nil
	}
	switch strings.ToLower(name[dot:]) {
	case ".br", ".gz", ".zst":
		if info, err := dir.Lookup(name[:dot]); err != nil || info != nil {
			return refuse(gale.StatusConflict, "there is a file "+strconv.Quote(name[:dot])+", of which this would be a compressed copy: rename the file")
		}
	}
	return nil
}

// refused answers and logs an upload that wasn't stored.
func (u *uploads) refused(ctx *gale.RequestCtx, err error) {
	r := new(refusal)
	if !errors.As(err, &r) {
		r = &refusal{gale.StatusInternalServerError, "the file can't be stored", err}
	}
	first, n := utf8.DecodeRuneInString(r.text)
	errorPage(ctx, r.status, string(unicode.ToUpper(first))+r.text[n:]+".")
	u.logger.LogAttrs(context.Background(), slog.LevelWarn, "upload refused",
		slog.String("remote", ctx.RemoteAddr().String()),
		slog.String("method", string(ctx.Method())),
		slog.String("target", string(ctx.Request.Header.RequestURI())),
		slog.Int("status", r.status),
		slog.String("reason", r.Error()),
	)
}

// size is a flag for a number of bytes.
type size int64

// Units of sizes: powers of 1000, and of 1024 with an "i" or without a "B".
var sizeUnits = []struct {
	name  string
	bytes int64
}{
	{"TiB", 1 << 40}, {"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10},
	{"TB", 1e12}, {"GB", 1e9}, {"MB", 1e6}, {"KB", 1e3},
	{"T", 1 << 40}, {"G", 1 << 30}, {"M", 1 << 20}, {"K", 1 << 10}, {"B", 1},
}

func (s *size) String() string {
	for _, u := range sizeUnits[:8] {
		if n := int64(*s); n > 0 && n%u.bytes == 0 {
			return strconv.FormatInt(n/u.bytes, 10) + u.name
		}
	}
	return strconv.FormatInt(int64(*s), 10)
}

func (s *size) Set(text string) error {
	unit := int64(1)
	number := text
	for _, u := range sizeUnits {
		if len(text) > len(u.name) && strings.EqualFold(text[len(text)-len(u.name):], u.name) {
			number, unit = text[:len(text)-len(u.name)], u.bytes
			break
		}
	}
	n, err := strconv.ParseInt(strings.TrimSpace(number), 10, 64)
	if err != nil || n < 0 || n > math.MaxInt64/unit {
		return errors.New("want a whole number with a unit, such as 500MB or 2GiB")
	}
	*s = size(n * unit)
	return nil
}
