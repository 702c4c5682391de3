package gale

import (
	"io/fs"
	"time"
)

const FSCompressedFileSuffix = ".fasthttp.gz"

const FSHandlerCacheDuration time.Duration = 10000000000

func FSHandler(string, int) RequestHandler { panic("stub") }

func FileLastModified(string) (time.Time, error) { panic("stub") }

func NewPathPrefixStripper(int) PathRewriteFunc { panic("stub") }

func NewPathSlashesStripper(int) PathRewriteFunc { panic("stub") }

func NewVHostPathRewriter(int) PathRewriteFunc { panic("stub") }

func ParseByteRange([]byte, int) (int, int, error) { panic("stub") }

func ServeFS(*RequestCtx, fs.FS, string) { panic("stub") }

func ServeFSLiteral(*RequestCtx, fs.FS, string) { panic("stub") }

func ServeFile(*RequestCtx, string) { panic("stub") }

func ServeFileBytes(*RequestCtx, []byte) { panic("stub") }

func ServeFileBytesUncompressed(*RequestCtx, []byte) { panic("stub") }

func ServeFileLiteral(*RequestCtx, string) { panic("stub") }

func ServeFileUncompressed(*RequestCtx, string) { panic("stub") }

func (*FS) NewRequestHandler() RequestHandler { panic("stub") }

type CacheKind uint8

type FS struct {
	AcceptByteRange          bool
	AllowEmptyRoot           bool
	AllowSymlinksOutsideRoot bool
	CacheDuration            time.Duration
	CleanStop                chan struct{}
	Compress                 bool
	CompressBrotli           bool
	CompressRoot             string
	CompressZstd             bool
	CompressedFileSuffix     string
	CompressedFileSuffixes   map[string]string
	FS                       fs.FS
	GenerateETag             bool
	GenerateIndexPages       bool
	IndexNames               []string
	PathNotFound             RequestHandler
	PathRewrite              PathRewriteFunc
	Root                     string
	SkipCache                bool
}

type PathRewriteFunc func(*RequestCtx) []byte

var FSCompressedFileSuffixes map[string]string
