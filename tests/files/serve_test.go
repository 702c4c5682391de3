package files

import (
	"os"
	"path/filepath"
	"runtime"
	"sync/atomic"
	"testing"
	"testing/fstest"
	"testing/synctest"
	"time"

	"github.com/galehttp/gale"
	"github.com/galehttp/gale/tests/harness"
	"github.com/galehttp/gale/tests/harness/peers"
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
		peers.Write(t, filepath.Join(root, name), name)
		tree[name] = &fstest.MapFile{Data: []byte(name)}
	}
	peers.Write(t, filepath.Join(root, "ab.txt"), "what an escape stands for")
	tree["ab.txt"] = &fstest.MapFile{Data: []byte("what an escape stands for")}
	for name, alike := range names {
		path := filepath.Join(root, name)
		for what, serve := range map[string]gale.RequestHandler{
			"ServeFile":                  func(ctx *gale.RequestCtx) { gale.ServeFile(ctx, path) },
			"ServeFileBytes":             func(ctx *gale.RequestCtx) { gale.ServeFileBytes(ctx, []byte(path)) },
			"ServeFileUncompressed":      func(ctx *gale.RequestCtx) { gale.ServeFileUncompressed(ctx, path) },
			"ServeFileBytesUncompressed": func(ctx *gale.RequestCtx) { gale.ServeFileBytesUncompressed(ctx, []byte(path)) },
			"SendFile":                   func(ctx *gale.RequestCtx) { ctx.SendFile(path) },
			"SendFileBytes":              func(ctx *gale.RequestCtx) { ctx.SendFileBytes([]byte(path)) },
			"ServeFS":                    func(ctx *gale.RequestCtx) { gale.ServeFS(ctx, tree, name) },
		} {
			a := harness.Ask(t, serve, "GET", "/")
			if alike && (a.Status != 200 || a.Body != name) || !alike && a.Status != 404 {
				t.Errorf("%s of %q: %d, %q", what, name, a.Status, a.Body)
			}
		}
		for what, serve := range map[string]gale.RequestHandler{
			"ServeFileLiteral": func(ctx *gale.RequestCtx) { gale.ServeFileLiteral(ctx, path) },
			"SendFileLiteral":  func(ctx *gale.RequestCtx) { ctx.SendFileLiteral(path) },
			"ServeFSLiteral":   func(ctx *gale.RequestCtx) { gale.ServeFSLiteral(ctx, tree, name) },
		} {
			if a := harness.Ask(t, serve, "GET", "/"); a.Status != 200 || a.Body != name {
				t.Errorf("%s of %q: %d, %q", what, name, a.Status, a.Body)
			}
		}
	}
}

func TestFSLetsGoOfFiles(t *testing.T) {
	root := peers.FileTree(t)
	synctest.Test(t, func(t *testing.T) {
		stop := make(chan struct{})
		var open atomic.Int32
		h := (&gale.FS{FS: peers.CountedFS{FS: os.DirFS(root), Opened: &open}, CleanStop: stop}).NewRequestHandler()
		harness.Ask(t, h, "GET", "/big.txt")
		if n := open.Load(); n != 1 {
			t.Errorf("%d files open, want the cached one", n)
		}
		time.Sleep(4 * gale.FSHandlerCacheDuration) // by the clock of the bubble
		if n := open.Load(); n != 0 {
			t.Errorf("%d files open after a long rest", n)
		}
		harness.Ask(t, h, "GET", "/big.txt")
		close(stop)
		time.Sleep(gale.FSHandlerCacheDuration + 1) // by the clock of the bubble
		if n := open.Load(); n != 0 {
			t.Errorf("%d files open after CleanStop", n)
		}
		if a := harness.Ask(t, h, "GET", "/big.txt"); a.Status != 200 {
			t.Errorf("after CleanStop: %d", a.Status)
		}
		if n := open.Load(); n != 0 {
			t.Errorf("%d files are kept open after CleanStop", n)
		}
	})
}
