package gale

import (
	"bytes"
	"io/fs"
	"os"
	"sync"
	"time"

	"github.com/galehttp/gale/internal/static"
)

// FSCompressedFileSuffix is appended to a file's name to get the name of its copy
// compressed with gzip. See FS.Compress.
const FSCompressedFileSuffix = ".fasthttp.gz"

// FSHandlerCacheDuration is the default of FS.CacheDuration.
const FSHandlerCacheDuration = 10 * time.Second

// FSCompressedFileSuffixes are the suffixes that are appended to a file's name to
// get the names of its compressed copies, by content coding. See FS.Compress.
//
// It is read when a handler is made. Change it before that and from one goroutine,
// or better set FS.CompressedFileSuffixes.
var FSCompressedFileSuffixes = map[string]string{
	"gzip": ".fasthttp.gz",
	"br":   ".fasthttp.br",
	"zstd": ".fasthttp.zst",
}

// CacheKind distinguishes the variants of cached files. No function of the API
// takes or returns it; the type exists for programs that name it.
type CacheKind uint8

// PathRewriteFunc returns the path of the file to serve for a request. FS looks the
// path up below its root. The path is used as it is: it isn't decoded, and "?" and
// "#" are part of a name.
//
// A path that ends in a slash means a directory. A directory is served only if this
// path or the path of the request ends in a slash. If the function adds a slash to
// a path that had none, the path may also mean a file. A path with a ".." segment
// is refused with 500. The path may alias memory of ctx: the handler reads it at
// once and doesn't keep it.
type PathRewriteFunc func(ctx *RequestCtx) []byte

// FS holds the settings of a handler that serves files, from a directory of the
// operating system or from an fs.FS. The zero FS serves the files of the working
// directory, without listings, ranges or compression.
//
// The handler evaluates all conditional headers of RFC 9110 section 13 in their
// order. It serves only regular files: for a named pipe, a socket or a device it
// answers 404, as for a missing file. It also answers 404 for a file with a slash
// after its name, such as "/file.txt/". For methods other than GET and HEAD it
// answers 405. In a program that imports the module compat/fasthttp, also through a
// dependency, POST, PUT, PATCH, DELETE and OPTIONS get the same answer as GET, but
// without ranges.
//
// An FS must not be copied, and must not be changed after NewRequestHandler was
// called.
//
// Unlike fasthttp's, the handler refuses other methods, answers requests for
// several ranges, and always evaluates If-Match, If-None-Match and
// If-Unmodified-Since.
type FS struct {
	noCopy noCopy

	// FS is the file system that files come from, such as an embed.FS. If it is
	// nil, they come from the directory Root of the operating system.
	//
	// Symbolic links are followed only while they stay inside the tree, as below
	// Root; see AllowSymlinksOutsideRoot. An os.DirFS follows all links by itself,
	// so its directory is opened instead, as Root is; no link leads out of it. No
	// link leads out of what os.Root.FS returns either. In other trees links are
	// recognized only if the tree implements fs.ReadLinkFS, as the results of
	// fs.Sub do. They are checked right before a file is opened, so a link that is
	// made between the check and the opening may lead outside. In a tree without
	// fs.ReadLinkFS links can't be checked.
	//
	// Files that implement io.ReaderAt are opened once and shared by requests.
	// Others are opened for each request and read from the start.
	FS fs.FS

	// PathRewrite returns the path of the file for a request. The default is the
	// decoded path of the request's URI.
	PathRewrite PathRewriteFunc

	// PathNotFound answers when there is no file to serve. The status is set to 404
	// before the call. The default answer is the text "Cannot open requested path".
	PathNotFound RequestHandler

	// IndexNotFound answers for a directory that has none of IndexNames, instead of a
	// generated listing or 403. ctx.Path() ends in a slash then, unless PathRewrite
	// chose the directory. The status is 200 before the call.
	IndexNotFound RequestHandler

	// CompressedFileSuffixes are appended to a file's name to get the names of its
	// compressed copies, by content coding: "gzip", "br" and "zstd". For a coding
	// that is missing, FSCompressedFileSuffixes has the default.
	CompressedFileSuffixes map[string]string

	// CleanStop is a channel that the program closes when it no longer needs the
	// handler. The handler then releases all cached files the next time it checks
	// them, within CacheDuration, and caches no more. CleanStop may be nil: a
	// handler runs no goroutine, and its timer stops when nothing is cached.
	CleanStop chan struct{}

	// Root is the directory that paths are looked up in. The default is the working
	// directory at the time when the handler is made. Root may be a symbolic link,
	// also one that is replaced later. If FS is set, Root is a directory in it, and
	// the default is the root of FS.
	//
	// If Root is a file, that file is served for the path "/".
	//
	// Symbolic links below Root are followed only while they stay inside; see
	// AllowSymlinksOutsideRoot.
	Root string

	// CompressRoot is the directory for compressed copies. Its layout is the same
	// as that of Root. It is created if it doesn't exist. The default is Root.
	CompressRoot string
	copyRoot     *os.Root // see door.LimitCopies
	copyLimit    static.CopyLimit

	// CompressedFileSuffix is the suffix of copies compressed with gzip, unless
	// CompressedFileSuffixes has one. The default is FSCompressedFileSuffix.
	CompressedFileSuffix string

	// IndexNames are the names of files to serve for a directory, tried in this
	// order. The default is no names.
	IndexNames []string

	// CacheDuration is how long a file is served from the cache before it is opened
	// and read again, also if Fresh is set. 0 and negative values mean FSHandlerCacheDuration.
	//
	// The cache keeps in memory the contents of files of up to 8 KiB, listings, and
	// compressed data that couldn't be written: at most 4096 of them, and at most
	// 32 MiB together. Larger files are kept open; see MaxOpenFiles.
	CacheDuration time.Duration

	// AllowEmptyRoot makes an empty Root mean no root at all: paths are then
	// absolute paths of the system, on Windows with a drive letter.
	AllowEmptyRoot bool

	// AllowSymlinksOutsideRoot follows symbolic links that lead out of Root, FS or
	// CompressRoot. By default such links are answered like missing files, and so
	// are absolute links. Every step of a path is resolved below the root
	// (os.Root), so even a link that is made during the request can't lead outside.
	// A root that is a whole volume, such as "/", has no outside.
	AllowSymlinksOutsideRoot bool

	// CompressBrotli compresses with brotli if the client accepts it and Compress
	// is set.
	CompressBrotli bool

	// CompressZstd compresses with zstd if the client accepts it and Compress is
	// set.
	CompressZstd bool

	// GenerateIndexPages lists directories that have none of IndexNames. A listing
	// is an HTML page without scripts. It shows at most 10,000 entries and ends
	// after 1 MiB of HTML; its end says how many entries are missing. Listings are
	// cached as files are. Half of the processors, but at least one, make listings
	// at the same time. Other requests for listings wait, and get 503 after 5 seconds.
	// All handlers of the process share these limits.
	GenerateIndexPages bool

	// Compress compresses files for clients that accept it, with gzip and the
	// codings that CompressBrotli and CompressZstd allow. The weights in
	// Accept-Encoding decide which coding is used. If weights are equal, brotli
	// goes before zstd and zstd before gzip.
	//
	// Only types that get smaller are compressed (text, JSON, SVG, WebAssembly and
	// similar ones), and only files of 200 bytes to 8 MiB. Compressed copies are
	// written next to the file, or below CompressRoot, through a temporary file.
	// They are used until the file changes. Copies that can't be written are kept
	// in memory.
	//
	// The process compresses as many files at the same time as it has processors. A
	// request that has waited 5 seconds for its turn gets the file as it is. So does
	// one for a file that changes meanwhile.
	Compress bool

	// CompressLarge compresses files of more than 8 MiB while they are sent, if Compress
	// is set. They have no Content-Length then, and their entity tags are weak. The fastest
	// coding is chosen: if weights are equal, zstd goes before gzip and gzip before brotli. A
	// request for a range gets a range of the file as it is.
	//
	// At most 16 files are compressed in this way at a time in the whole process, however
	// slowly clients read them; more requests get the file as it is. Each needs up to 2 MB of
	// memory.
	CompressLarge bool

	// AcceptByteRange answers GET requests for byte ranges (RFC 9110 section 14) with 206.
	// Several ranges are sent as multipart/byteranges. Overlapping ranges are merged.
	// If several ranges would need more bytes than the whole file plus a tenth plus 1
	// KiB, the whole file is sent. A range is always a range of the uncompressed file.
	AcceptByteRange bool

	// GenerateETag sends a weak entity tag made of modification time, size and
	// content coding, the same as fasthttp's. It is enough for caches. If-Match and
	// If-Range need strong tags, see StrongETags. Files without a modification
	// time, such as those of an embed.FS, have no tag.
	GenerateETag bool

	// StrongETags sends strong entity tags, made of the modification time in
	// nanoseconds. It works with or without GenerateETag. A file that was changed
	// less than two seconds before it was opened gets a weak tag anyway, because it
	// could change again and keep the same modification time (RFC 9110 section
	// 8.8.1).
	StrongETags bool

	// SkipCache opens files again for each request.
	SkipCache bool

	// Fresh makes each request see the files as they are: what was changed, replaced or
	// removed before the request came is never served from the cache. Before a cached file
	// is used, one system call asks whether its path still leads to the same version of it.
	// Index pages and variants that would be used instead of it are asked for in the same
	// way: earlier names in IndexNames, and with Precompressed the variant. Listings aren't
	// cached. The replacement of Root is noticed at once.
	//
	// On Linux, macOS and the BSDs a version is known by device, inode, size, permissions,
	// modification time and the time of the last change, which the system sets and no
	// program can set back. A file that changed less than 20 ms before it was opened (2
	// seconds if the file system's times may be whole seconds) is opened again for the next
	// request. On other systems, and for FS, a version is known only by size, permissions
	// and modification time, and a file must be 2 seconds old to be cached. A file of FS
	// without a modification time isn't cached, except those of an embed.FS, which never
	// change.
	//
	// Three changes are noticed only after CacheDuration: those by a program that has the
	// file mapped into its memory, those that a network file system reports late, and a
	// directory that is moved out of Root and replaced by a symbolic link to it.
	//
	// Entity tags of up to 8 KiB are made of the content, others of what identifies the
	// version. They are strong with StrongETags and weak with GenerateETag alone. A larger
	// file that changed less than 20 ms before it was opened has none. A file that changed
	// less than 2 seconds ago has no Last-Modified, because it could change again within the
	// same second. If-Modified-Since is answered with 304 if its date is the Last-Modified that
	// the file has, or if nothing of the file has changed since then.
	//
	// Compressed copies get the name suffix ".fresh" as well, because they contain which
	// version of the file they were made from.
	Fresh bool

	// HideDotFiles answers paths with a segment that begins with a dot as if the
	// file didn't exist, except paths below "/.well-known/" (RFC 8615), and leaves
	// such names out of listings. Characters that can't be seen before the dot don't
	// count, because some file systems ignore them. On Windows, a short name such as
	// "GIT~1" is never another name of a file, with or without HideDotFiles.
	HideDotFiles bool

	// Precompressed serves FILE.br, FILE.zst or FILE.gz instead of FILE to clients
	// that accept the coding, if it exists and is not older than FILE. It works
	// without Compress, and is tried before it.
	Precompressed bool

	// MaxRanges is how many ranges a request may ask for. A request for more gets
	// the whole file. 0 means 32, a negative value means one.
	MaxRanges int

	// MaxOpenFiles is how many files the cache keeps open between requests. 0 means
	// 256, a negative value means none.
	MaxOpenFiles int

	once    sync.Once
	handler RequestHandler
}

// FSHandler returns a handler for the files below root, with index pages
// ("index.html"), generated listings and byte ranges. stripSlashes segments are
// removed from the front of the path, as NewPathSlashesStripper does.
//
// It is a short form of FS.NewRequestHandler and follows its rules.
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

// NewRequestHandler returns the handler with the settings of fs. Every call returns
// the same handler. It may be used by any number of goroutines.
//
// The handler keeps files open between requests; see CacheDuration and
// MaxOpenFiles.
func (fs *FS) NewRequestHandler() RequestHandler {
	fs.once.Do(func() { fs.handler = newFSHandler(fs).handle })
	return fs.handler
}

// NewPathSlashesStripper returns a rewriter that removes slashesCount segments
// from the front of the path, each with its slash:
//
//	0: "/foo/bar" -> "/foo/bar"
//	1: "/foo/bar" -> "/bar"
//	2: "/foo/bar" -> ""
func NewPathSlashesStripper(slashesCount int) PathRewriteFunc {
	return func(ctx *RequestCtx) []byte {
		return stripSegments(ctx.Path(), slashesCount)
	}
}

// NewPathPrefixStripper returns a rewriter that removes prefixSize bytes from the
// front of the path. A shorter path stays as it is.
//
//	0: "/foo/bar" -> "/foo/bar"
//	3: "/foo/bar" -> "o/bar"
//	7: "/foo/bar" -> "r"
func NewPathPrefixStripper(prefixSize int) PathRewriteFunc {
	return func(ctx *RequestCtx) []byte {
		path := ctx.Path()
		if prefixSize <= 0 || len(path) < prefixSize {
			return path
		}
		return path[prefixSize:]
	}
}

// NewVHostPathRewriter returns a rewriter that removes slashesCount segments from
// the front of the path and puts the request's host there, so that each host has
// its own directory:
//
//	host foobar.com, 0: "/foo/bar"            -> "/foobar.com/foo/bar"
//	host img.aaa.com, 1: "/images/123/456.jpg" -> "/img.aaa.com/123/456.jpg"
//
// A host that is empty, "." or "..", or holds a slash or backslash becomes
// "invalid-host".
func NewVHostPathRewriter(slashesCount int) PathRewriteFunc {
	return func(ctx *RequestCtx) []byte {
		path := stripSegments(ctx.Path(), slashesCount)
		host := ctx.Host()
		if len(host) == 0 && len(ctx.Request.Header.Host()) > 0 {
			return append([]byte{'/'}, append(invalidHost, '/')...)
		}
		if len(host) == 0 || len(bytes.Trim(host, ".")) == 0 || bytes.ContainsAny(host, "/\\\x00") {
			host = invalidHost
		}
		dst := make([]byte, 0, 1+len(host)+len(path))
		return append(append(append(dst, '/'), host...), path...)
	}
}

var invalidHost = []byte("invalid-host")

// stripSegments removes n segments from the front of path.
func stripSegments(path []byte, n int) []byte {
	for ; n > 0 && len(path) > 0; n-- {
		i := bytes.IndexByte(path[1:], '/')
		if i < 0 {
			return path[len(path):]
		}
		path = path[1+i:]
	}
	return path
}
