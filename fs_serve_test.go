package gale

import (
	"path/filepath"
	"runtime"
	"testing"
	"testing/fstest"
)

// A name that would be a different one as a URI is neither decoded nor served, unless the
// caller says that it is literal.
func TestServeAmbiguousNames(t *testing.T) {
	root := t.TempDir()
	names := map[string]bool{ // names, and whether they are the same as a URI
		"plain.txt": true, "a b.txt": true, "100%.txt": true, "50%zz.txt": true, "%4.txt": true,
		"a#b.txt": false, "a%62.txt": false, "%2e%2e%2Fx": false, "100%25.txt": false,
	}
	if runtime.GOOS != "windows" {
		names["a?b.txt"] = false
	}
	tree := fstest.MapFS{}
	for name := range names {
		write(t, filepath.Join(root, name), name)
		tree[name] = &fstest.MapFile{Data: []byte(name)}
	}
	write(t, filepath.Join(root, "ab.txt"), "what an escape stands for")
	tree["ab.txt"] = &fstest.MapFile{Data: []byte("what an escape stands for")}
	for name, alike := range names {
		path := filepath.Join(root, name)
		for what, serve := range map[string]RequestHandler{
			"ServeFile":                  func(ctx *RequestCtx) { ServeFile(ctx, path) },
			"ServeFileBytes":             func(ctx *RequestCtx) { ServeFileBytes(ctx, []byte(path)) },
			"ServeFileUncompressed":      func(ctx *RequestCtx) { ServeFileUncompressed(ctx, path) },
			"ServeFileBytesUncompressed": func(ctx *RequestCtx) { ServeFileBytesUncompressed(ctx, []byte(path)) },
			"SendFile":                   func(ctx *RequestCtx) { ctx.SendFile(path) },
			"SendFileBytes":              func(ctx *RequestCtx) { ctx.SendFileBytes([]byte(path)) },
			"ServeFS":                    func(ctx *RequestCtx) { ServeFS(ctx, tree, name) },
		} {
			a := ask(t, serve, "GET", "/")
			if alike && (a.status != 200 || a.body != name) || !alike && a.status != 404 {
				t.Errorf("%s of %q: %d, %q", what, name, a.status, a.body)
			}
		}
		for what, serve := range map[string]RequestHandler{
			"ServeFileLiteral": func(ctx *RequestCtx) { ServeFileLiteral(ctx, path) },
			"SendFileLiteral":  func(ctx *RequestCtx) { ctx.SendFileLiteral(path) },
			"ServeFSLiteral":   func(ctx *RequestCtx) { ServeFSLiteral(ctx, tree, name) },
		} {
			if a := ask(t, serve, "GET", "/"); a.status != 200 || a.body != name {
				t.Errorf("%s of %q: %d, %q", what, name, a.status, a.body)
			}
		}
	}
}
