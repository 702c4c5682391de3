package gale

import (
	"bytes"
)

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
