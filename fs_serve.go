package gale

import (
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"time"

	"github.com/galehttp/gale/internal/bytesconv"
	"github.com/galehttp/gale/internal/static"
)

var zeroTime time.Time

// ServeFile answers with the file at path, as the handler of an FS does: it sends
// the file or a compressed variant, ranges, or 304 or 412 if the request's
// conditions ask for it. A directory is answered with its listing. A relative path
// starts at the working directory. ServeFile works for all methods; methods other
// than GET and HEAD get the whole file.
//
// Compressed copies are written next to the file; see FS.Compress.
// ServeFileUncompressed makes none.
//
// path is the name of a file. fasthttp decodes it like a URI, so a name that the
// caller has checked could become another one. Gale answers 404 for a name that
// would mean another file when read as a URI, because it has "?", "#" or an escape
// such as "%20". ServeFileLiteral takes every name as it is. The request's URI
// isn't changed.
//
// WARNING: this gives access to every file of the system. Never pass a path that a
// client has chosen. Use an FS with a Root instead.
func ServeFile(ctx *RequestCtx, path string) { serveNamed(ctx, path, true) }

// ServeFileLiteral is ServeFile for any file name: "%20", "?" and "#" in path mean
// themselves.
func ServeFileLiteral(ctx *RequestCtx, path string) { serveFile(ctx, path, true) }

// ServeFileBytes is ServeFile for a path in bytes, which it doesn't keep.
func ServeFileBytes(ctx *RequestCtx, path []byte) { serveNamed(ctx, bytesconv.B2S(path), true) }

// ServeFileUncompressed is ServeFile without compressed variants.
func ServeFileUncompressed(ctx *RequestCtx, path string) { serveNamed(ctx, path, false) }

// ServeFileBytesUncompressed is ServeFileUncompressed for a path in bytes, which
// it doesn't keep.
func ServeFileBytesUncompressed(ctx *RequestCtx, path []byte) {
	serveNamed(ctx, bytesconv.B2S(path), false)
}

// ServeFS answers with the file at path in filesystem, as ServeFile does with files
// of the system. path is relative to the root of filesystem, with or without a
// slash in front. It can't lead out of filesystem; FS.FS says when symbolic links
// can't either.
//
// A name that would mean another file when read as a URI is answered with 404, as
// in ServeFile. ServeFSLiteral takes every name as it is.
//
// Files and compressed variants are cached between calls if filesystem is
// comparable.
func ServeFS(ctx *RequestCtx, filesystem fs.FS, path string) {
	if readsOtherwise(path) {
		treeHandler(filesystem).fail(ctx, bytesconv.S2B(path), fs.ErrNotExist)
		return
	}
	serveTree(ctx, filesystem, path)
}

// ServeFSLiteral is ServeFS for any file name: "%20", "?" and "#" in path mean
// themselves.
func ServeFSLiteral(ctx *RequestCtx, filesystem fs.FS, path string) {
	serveTree(ctx, filesystem, path)
}

// systemFiles serves the whole file system, for ServeFile.
var systemFiles = sync.OnceValue(func() *fsHandler {
	return newFSHandler(&FS{
		AllowEmptyRoot:     true,
		GenerateIndexPages: true,
		Compress:           true,
		CompressBrotli:     true,
		CompressZstd:       true,
		AcceptByteRange:    true,
	})
})

// serveNamed is serveFile for names that mean the same when read as a URI.
func serveNamed(ctx *RequestCtx, path string, compressed bool) {
	if readsOtherwise(path) {
		systemFiles().fail(ctx, bytesconv.S2B(path), fs.ErrNotExist)
		return
	}
	serveFile(ctx, path, compressed)
}

// readsOtherwise reports whether path would name another file when read as a URI:
// it has a query, a fragment or a percent-encoded byte (RFC 3986 section 3).
func readsOtherwise(path string) bool {
	for i := 0; i < len(path); i++ {
		switch path[i] {
		case '?', '#':
			return true
		case '%':
			if i+2 < len(path) && bytesconv.HexValue[path[i+1]]|bytesconv.HexValue[path[i+2]] < 16 {
				return true
			}
		}
	}
	return false
}

func serveFile(ctx *RequestCtx, path string, compressed bool) {
	h := systemFiles()
	abs, err := filepath.Abs(path)
	if err != nil {
		h.fail(ctx, bytesconv.S2B(path), err)
		return
	}
	if abs = filepath.ToSlash(abs); strings.HasSuffix(path, "/") && !strings.HasSuffix(abs, "/") {
		abs += "/" // filepath.Abs removed it; it says that path means a directory
	}
	var offer static.CodingSet
	if compressed {
		offer = h.store.Codings
	}
	h.serve(ctx, bytesconv.S2B(abs), nil, offer, false, false)
}

// treeFiles holds the handlers that ServeFS keeps. They are few, because programs
// have few file systems. If a program makes new file systems all the time, the
// calls beyond the limit get a handler without a cache.
var treeFiles struct {
	sync.RWMutex
	handlers map[fs.FS]*fsHandler
}

const maxTreeHandlers = 64

func treeHandler(filesystem fs.FS) *fsHandler {
	settings := &FS{
		FS:                 filesystem,
		GenerateIndexPages: true,
		Compress:           true,
		CompressBrotli:     true,
		CompressZstd:       true,
		AcceptByteRange:    true,
	}
	if v := reflect.ValueOf(filesystem); !v.IsValid() || !v.Comparable() {
		settings.SkipCache = true
		return newFSHandler(settings)
	}
	treeFiles.RLock()
	h := treeFiles.handlers[filesystem]
	treeFiles.RUnlock()
	if h != nil {
		return h
	}
	treeFiles.Lock()
	defer treeFiles.Unlock()
	if h := treeFiles.handlers[filesystem]; h != nil {
		return h
	}
	if len(treeFiles.handlers) >= maxTreeHandlers {
		settings.SkipCache = true
		return newFSHandler(settings)
	}
	if treeFiles.handlers == nil {
		treeFiles.handlers = make(map[fs.FS]*fsHandler)
	}
	h = newFSHandler(settings)
	treeFiles.handlers[filesystem] = h
	return h
}

func serveTree(ctx *RequestCtx, filesystem fs.FS, name string) {
	h := treeHandler(filesystem)
	clean := path.Clean("/" + name)
	if strings.HasSuffix(name, "/") && clean != "/" {
		clean += "/"
	}
	h.serve(ctx, bytesconv.S2B(clean), nil, h.store.Codings, false, false)
}

// ParseByteRange parses the value of a Range header that asks for one range of
// contentLength bytes, and returns the first and last position. It is for programs
// that send ranges themselves; FS also answers requests for several ranges.
//
// The texts of the errors are for people. Several ranges, or a unit other than
// "bytes", are an error here (RFC 9110 section 14.2 lets a server ignore such a
// header).
func ParseByteRange(byteRange []byte, contentLength int) (startPos, endPos int, err error) {
	return parseByteRange(byteRange, contentLength)
}

// FileLastModified returns the modification time of the file at path in whole
// seconds, the value that Last-Modified has.
func FileLastModified(path string) (time.Time, error) {
	info, err := os.Stat(path)
	if err != nil {
		return zeroTime, err
	}
	return info.ModTime().Truncate(time.Second), nil
}
