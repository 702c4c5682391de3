//go:build !race

package files

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/galehttp/gale"
	"github.com/galehttp/gale/internal/alloctest"
	"github.com/galehttp/gale/tests/harness/peers"
)

// TestFSAllocs limits the allocations for serving a small file from the cache.
func TestFSAllocs(t *testing.T) {
	root := peers.FileTree(t)
	plain := (&gale.FS{Root: root, PathRewrite: gale.NewPathSlashesStripper(1)}).NewRequestHandler()
	full := (&gale.FS{Root: root, AcceptByteRange: true, GenerateETag: true, Compress: true, HideDotFiles: true}).NewRequestHandler()
	path := filepath.Join(root, "hello.txt")
	fresh := (&gale.FS{Root: root, Fresh: true, AcceptByteRange: true, StrongETags: true, Compress: true, Precompressed: true, IndexNames: []string{"index.html"}}).NewRequestHandler()
	peers.Write(t, filepath.Join(root, "index.html"), peers.Alphabet)
	peers.Write(t, filepath.Join(root, "packed.txt"), peers.Alphabet)
	peers.Write(t, filepath.Join(root, "packed.txt.gz"), peers.Alphabet)
	time.Sleep(50 * time.Millisecond) // files that changed a moment ago are not cached
	serve := func(ctx *gale.RequestCtx) { gale.ServeFile(ctx, path) }
	for _, tt := range []struct {
		name   string
		h      gale.RequestHandler
		method string
		target string
		fields [][2]string
		status int
	}{
		{"plain", plain, "GET", "/static/hello.txt", nil, 200},
		{"head", plain, "HEAD", "/static/hello.txt", nil, 200},
		{"full", full, "GET", "/hello.txt", [][2]string{{"Accept-Encoding", "gzip, br"}}, 200},
		{"conditional", full, "GET", "/hello.txt", [][2]string{{"If-None-Match", "*"}, {"If-Modified-Since", "Fri, 02 Jan 2026 03:04:05 GMT"}}, 304},
		{"range", full, "GET", "/hello.txt", [][2]string{{"Range", "bytes=1-5"}}, 206},
		{"index", full, "GET", "/hello.txt", nil, 200},
		{"ServeFile", serve, "GET", "/x", nil, 200},
		{"fresh", fresh, "GET", "/hello.txt", nil, 200},
		{"fresh, large", fresh, "HEAD", "/big.txt", nil, 200},
		{"fresh, no variant", fresh, "GET", "/hello.txt", [][2]string{{"Accept-Encoding", "gzip"}}, 200},
		{"fresh, compressed", fresh, "HEAD", "/big.txt", [][2]string{{"Accept-Encoding", "gzip"}}, 200},
		{"fresh, precompressed", fresh, "GET", "/packed.txt", [][2]string{{"Accept-Encoding", "gzip"}}, 200},
		{"fresh, index page", fresh, "GET", "/", nil, 200},
		{"fresh, conditional", fresh, "GET", "/hello.txt", [][2]string{{"If-None-Match", "*"}}, 304},
	} {
		var req gale.Request
		req.Header.SetMethod(tt.method)
		req.SetRequestURI(tt.target)
		for _, f := range tt.fields {
			req.Header.Set(f[0], f[1])
		}
		var ctx gale.RequestCtx
		ctx.Init(&req, nil, peers.DiscardLog{})
		n := alloctest.PerRun(200, func() {
			ctx.Response.Reset()
			tt.h(&ctx)
		})
		if ctx.Response.StatusCode() != tt.status {
			t.Errorf("%s: %d", tt.name, ctx.Response.StatusCode())
		}
		if n != 0 {
			t.Errorf("%s: %v allocations, want none", tt.name, n)
		}
	}
}
