package gale

import (
	"io/fs"
	"sync"
	"time"
)

// FSCompressedFileSuffix is appended to the name of a file to name its copy
// compressed with gzip. See FS.Compress.
const FSCompressedFileSuffix = ".fasthttp.gz"

// FSHandlerCacheDuration is the default of FS.CacheDuration.
const FSHandlerCacheDuration = 10 * time.Second

// FSCompressedFileSuffixes are the suffixes appended to the name of a file to
// name its compressed copies, by content coding. See FS.Compress.
//
// It is read when a handler is made. Change it before that, from one goroutine,
// or not at all; FS.CompressedFileSuffixes is the better place.
var FSCompressedFileSuffixes = map[string]string{
	"gzip": ".fasthttp.gz",
	"br":   ".fasthttp.br",
	"zstd": ".fasthttp.zst",
}

// CacheKind tells the variants of cached files apart. Nothing in the API takes
// or returns it; the name is there for programs that mention it.
type CacheKind uint8

// PathRewriteFunc returns the path of the file to serve for a request, which
// FS looks up below its root. The path is taken as it is: it isn't decoded, and
// "?" and "#" are part of a name.
//
// A path that ends in a slash stands for a directory, and a directory is served only
// if that path or the client's ends in one. A slash that the client's path doesn't have
// may follow a file's name, too. A path with a ".." segment is refused. The
// path may alias memory of ctx; it is read before the handler goes on, and not kept.
type PathRewriteFunc func(ctx *RequestCtx) []byte

// FS holds the settings of a handler that serves files from a directory of the
// operating system or from an fs.FS. The zero FS serves the files of the
// working directory, without listings, ranges or compression.
//
// The handler evaluates all conditions of RFC 9110 section 13 in their order. It
// serves regular files only: a named pipe, a socket or a device is answered with
// 404 at once, as a missing file is. So is a file with a slash after its name, such as
// "/file.txt/". Methods other than GET and HEAD are answered with 405. A program that
// imports the module compat/fasthttp, or anything made for it, gives POST, PUT, PATCH,
// DELETE and OPTIONS what it gives GET, but without ranges.
//
// An FS must not be copied, and not be changed after NewRequestHandler.
//
// Unlike fasthttp's, the handler refuses other methods, answers requests for several
// ranges, and heeds If-Match, If-None-Match and If-Unmodified-Since whatever the
// settings.
type FS struct {
	noCopy noCopy

	// FS is where files come from, such as an embed.FS. If it is nil, they come
	// from the directory Root of the operating system.
	//
	// Symbolic links are followed only while they stay inside, as below Root; see
	// AllowSymlinksOutsideRoot. An os.DirFS, which follows all links by itself, is
	// replaced by its directory, opened as Root is: nothing leads out of that, nor out
	// of what os.Root.FS returns. In other trees links can be told only if they
	// implement fs.ReadLinkFS, as those of fs.Sub do. They are looked at right before a
	// file is opened, so that a link made in between may escape. What a tree without
	// that interface does with links is not known here.
	//
	// Files that implement io.ReaderAt are opened once and shared by requests.
	// Others are opened for each request and read from the start.
	FS fs.FS

	// PathRewrite returns the path of the file for a request. The default is
	// the path of the request's URI, decoded.
	PathRewrite PathRewriteFunc

	// PathNotFound answers when there is no file to serve; the status is set to
	// 404 before. The default is the text "Cannot open requested path".
	PathNotFound RequestHandler

	// CompressedFileSuffixes are appended to the name of a file to name its
	// compressed copies, by content coding: "gzip", "br" and "zstd". Codings
	// that are missing have their default from FSCompressedFileSuffixes.
	CompressedFileSuffixes map[string]string

	// CleanStop, if set, is closed by the program when it has done with the
	// handler: the handler then lets go of all cached files the next time it
	// looks after them, within CacheDuration, and caches none any more. It may
	// be left nil: a handler runs no goroutine, and its timer ends by itself
	// once nothing is cached.
	CleanStop chan struct{}

	// Root is the directory that paths are looked up in. The default is the
	// working directory at the time the handler is made. It may be a symbolic
	// link, also one that is replaced later on. With FS set, it is a directory
	// in that, and the default is its root.
	//
	// If it is a file, that is served for the path "/".
	//
	// Symbolic links below it are followed only while they stay inside; see
	// AllowSymlinksOutsideRoot.
	Root string

	// CompressRoot is the directory for compressed copies, which are laid out
	// in it as the files are in Root. It is made if it isn't there. The default
	// is Root.
	CompressRoot string

	// CompressedFileSuffix is the suffix of copies compressed with gzip, unless
	// CompressedFileSuffixes has one. The default is FSCompressedFileSuffix.
	CompressedFileSuffix string

	// IndexNames are the names of files to serve for a directory, tried in that
	// order. The default is none.
	IndexNames []string

	// CacheDuration is how long a file is served from the cache before it is
	// opened, and read, anew. The default, for 0 and below, is
	// FSHandlerCacheDuration.
	//
	// The contents of files of up to 8 KiB, listings and compressed data that
	// couldn't be written are kept in memory: at most 4096 of them, together at
	// most 32 MiB. Larger files are kept open; see MaxOpenFiles.
	CacheDuration time.Duration

	// AllowEmptyRoot lets an empty Root stand for no root at all: paths are
	// then absolute ones of the system, on Windows with a drive letter.
	AllowEmptyRoot bool

	// AllowSymlinksOutsideRoot follows symbolic links that lead out of Root, FS or
	// CompressRoot. By default such links are answered like missing files, as
	// are absolute ones: every step of a path is resolved below the root
	// (os.Root), so that not even a link made in between escapes. A root that is
	// a whole volume, such as "/", has nothing outside.
	AllowSymlinksOutsideRoot bool

	// CompressBrotli compresses with brotli where the client takes it, if
	// Compress is set.
	CompressBrotli bool

	// CompressZstd compresses with zstd where the client takes it, if Compress
	// is set.
	CompressZstd bool

	// GenerateIndexPages lists directories that have none of IndexNames. A
	// listing is a page of HTML without scripts; it shows 10,000 entries at
	// most, and none after 1 MiB of the page. How many more there are is said at its
	// end. A listing is cached as files are; half of the processors, rounded down but
	// not to 0, make listings at a time, and other requests for one wait.
	GenerateIndexPages bool

	// Compress compresses files for clients that accept it, with gzip and what
	// CompressBrotli and CompressZstd allow. The weights in Accept-Encoding
	// decide; among equals brotli goes before zstd before gzip.
	//
	// Only types that get smaller are compressed (text, JSON, SVG, WebAssembly
	// and such), and files of 200 bytes to 8 MiB. Compressed copies are written
	// next to the file or below CompressRoot, by way of a temporary file, and
	// used until the file changes. What can't be written is kept in memory.
	Compress bool

	// AcceptByteRange answers requests for byte ranges (RFC 9110 section 14)
	// with 206, several of them as multipart/byteranges. Overlapping ranges are
	// merged; a request that would cost more than the whole file gets the whole
	// file. A range always is one of the uncompressed file.
	AcceptByteRange bool

	// GenerateETag sends a weak entity tag made of modification time, size and
	// content coding, the same as fasthttp's. It is enough for caches; If-Match and
	// If-Range ask for strong ones, see StrongETags. Files without a modification
	// time, such as those of an embed.FS, get none.
	GenerateETag bool

	// StrongETags sends strong entity tags, with or without GenerateETag, made
	// of the modification time to the nanosecond. A file that changed within the
	// last two seconds before it was opened has a weak one nevertheless, since it
	// may change once more and look the same (RFC 9110 section 8.8.1). Not in
	// fasthttp.
	StrongETags bool

	// SkipCache opens files anew for each request.
	SkipCache bool

	// HideDotFiles answers paths with a segment that begins with a dot as if nothing was
	// there, except those below "/.well-known/" (RFC 8615), and leaves such names out of
	// listings. Not in fasthttp.
	HideDotFiles bool

	// Precompressed serves FILE.br, FILE.zst or FILE.gz in place of FILE to
	// clients that accept it, if it is there and not older than FILE. It works
	// without Compress and goes before it. Not in fasthttp.
	Precompressed bool

	// MaxRanges is how many ranges a request may ask for; one that asks for
	// more gets the whole file. The default, for 0, is 32; below 0 it is one. Not
	// in fasthttp.
	MaxRanges int

	// MaxOpenFiles is how many files the cache keeps open between requests. The
	// default, for 0, is 256; below 0 it is none. Not in fasthttp.
	MaxOpenFiles int

	once    sync.Once
	handler RequestHandler
}

// FSHandler returns a handler for the files below root, with index pages
// ("index.html"), generated listings and byte ranges. stripSlashes segments are
// removed from the front of the path, as NewPathSlashesStripper does.
//
// It is a short form of FS.NewRequestHandler, with its rules.
func FSHandler(root string, stripSlashes int) RequestHandler {
	fs := &FS{
		Root:               root,
		IndexNames:         []string{"index.html"},
		GenerateIndexPages: true,
		AcceptByteRange:    true,
	}
	if stripSlashes > 0 {
		fs.PathRewrite = NewPathSlashesStripper(stripSlashes)
	}
	return fs.NewRequestHandler()
}

// NewRequestHandler returns the handler with the settings of fs. Every call
// returns the same one. It may be used by any number of goroutines.
//
// The handler keeps files open for some time; see CacheDuration.
func (fs *FS) NewRequestHandler() RequestHandler {
	fs.once.Do(func() { fs.handler = newFSHandler(fs).handle })
	return fs.handler
}
