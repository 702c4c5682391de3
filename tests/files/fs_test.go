package files

import (
	"embed"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
	"testing/synctest"
	"time"

	"github.com/galehttp/gale"
	"github.com/galehttp/gale/tests/harness"
	"github.com/galehttp/gale/tests/harness/peers"
)

func TestFSFiles(t *testing.T) {
	root := peers.FileTree(t)
	h := gale.FSHandler(root, 0)
	for _, tt := range []struct {
		target string
		status int
		ctype  string
		body   string
	}{
		{"/hello.txt", 200, "text/plain; charset=utf-8", peers.Alphabet},
		{"/hello.txt?x=y", 200, "text/plain; charset=utf-8", peers.Alphabet},
		{"/a%20b%2520.txt", 200, "text/plain; charset=utf-8", "percent"},
		{"/a%20b%20.txt", 404, "text/plain; charset=utf-8", "Cannot open requested path"},
		{"/sub/a.txt", 200, "text/plain; charset=utf-8", "sub"},
		{"/zero.txt", 200, "text/plain; charset=utf-8", ""},
		{"/page", 200, "text/html; charset=utf-8", "<!DOCTYPE html><p>hi"},
		{"/indexed/", 200, "text/html; charset=utf-8", "<p>index</p>"},
		{"/big.txt", 200, "text/plain; charset=utf-8", strings.Repeat("0123456789", 10_000)},
		{"/none", 404, "text/plain; charset=utf-8", "Cannot open requested path"},
		{"/out", 404, "text/plain; charset=utf-8", "Cannot open requested path"},
		{"/hello.txt/x", 404, "text/plain; charset=utf-8", "Cannot open requested path"},
		{"/hello.txt%00", 400, "text/plain; charset=utf-8", "Bad Request"},
		{"/../secret.txt", 404, "text/plain; charset=utf-8", "Cannot open requested path"},
		{"/%2e%2e/secret.txt", 404, "text/plain; charset=utf-8", "Cannot open requested path"},
		{"/sub/..%2f..%2fsecret.txt", 404, "text/plain; charset=utf-8", "Cannot open requested path"},
		{"/..%5csecret.txt", 404, "text/plain; charset=utf-8", "Cannot open requested path"},
	} {
		for range 2 { // from the file, from the cache
			a := harness.Ask(t, h, "GET", tt.target)
			if a.Status != tt.status || string(a.Header.ContentType()) != tt.ctype || a.Body != tt.body {
				t.Errorf("GET %s: %d, %s, %.50q, want %d, %s, %.50q", tt.target, a.Status, a.Header.ContentType(), a.Body, tt.status, tt.ctype, tt.body)
			}
		}
	}
}

func TestFSHead(t *testing.T) {
	h := gale.FSHandler(peers.FileTree(t), 0)
	for target, want := range map[string]string{"/hello.txt": "Content-Length: 26\r\n", "/big.txt": "Content-Length: 100000\r\n", "/zero.txt": "Content-Length: 0\r\n"} {
		if s := overTCP(t, h, "HEAD "+target+" HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"); !strings.Contains(s, want) || !strings.HasSuffix(s, "\r\n\r\n") {
			t.Errorf("HEAD %s: %q", target, s)
		}
	}
}

func TestFSOverTCP(t *testing.T) {
	h := gale.FSHandler(peers.FileTree(t), 0)
	big := strings.Repeat("0123456789", 10_000)
	const get = "GET /big.txt HTTP/1.1\r\nHost: x\r\n"
	s := overTCP(t, h, get+"\r\n"+get+"Range: bytes=10-19\r\n\r\n"+get+"Range: bytes=0-1,99990-\r\nConnection: close\r\n\r\n")
	if n := strings.Count(s, "HTTP/1.1 20"); n != 3 || strings.Count(s, big) != 1 || !strings.Contains(s, "\r\n\r\n0123456789HTTP/1.1 206") ||
		!strings.HasSuffix(s, "--\r\n") {
		t.Errorf("%d answers, %d bytes", n, len(s))
	}
	s = overTCP(t, h, "GET /big.txt HTTP/1.0\r\n\r\n")
	if !strings.Contains(s, "Content-Length: 100000\r\n") || !strings.HasSuffix(s, "\r\n\r\n"+big) {
		t.Errorf("HTTP/1.0: %d bytes, %.200q", len(s), s)
	}
	s = overTCP(t, func(ctx *gale.RequestCtx) {
		if err := ctx.Response.SendFile("fs_test.go"); err != nil {
			t.Error(err)
		}
	}, "GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
	if !strings.Contains(s, "package files") || !strings.Contains(s, "Last-Modified: ") {
		t.Errorf("SendFile: %.200q", s)
	}
}

func TestFSMethods(t *testing.T) {
	root := peers.FileTree(t)
	h := (&gale.FS{Root: root, AcceptByteRange: true}).NewRequestHandler()
	for _, m := range []string{"POST", "PUT", "DELETE", "OPTIONS", "PATCH", "TRACE", "BREW", "get"} {
		if a := harness.Ask(t, h, m, "/hello.txt"); a.Status != 405 || a.Get("Allow") != "GET, HEAD" {
			t.Errorf("%s: %d, Allow: %q", m, a.Status, a.Get("Allow"))
		}
	}
	if a := harness.Ask(t, h, "POST", "/missing"); a.Status != 405 {
		t.Errorf("POST of what isn't there: %d", a.Status)
	}
	a := harness.Ask(t, func(ctx *gale.RequestCtx) { gale.ServeFile(ctx, filepath.Join(root, "hello.txt")) }, "POST", "/upload", "Range: bytes=0-1")
	if a.Status != 200 || a.Body != peers.Alphabet {
		t.Errorf("ServeFile for POST: %d, %q", a.Status, a.Body)
	}
}

func TestFSRedirect(t *testing.T) {
	root := peers.FileTree(t)
	for _, tt := range []struct {
		strip            int
		target, location string
	}{
		{0, "/sub", "/sub/"},
		{0, "/sub?a=b", "/sub/?a=b"},
		{1, "/static/sub", "/static/sub/"},
		{1, "/static", "/static/"},
	} {
		a := harness.Ask(t, gale.FSHandler(root, tt.strip), "GET", tt.target)
		if a.Status != 302 || a.Get("Location") != tt.location {
			t.Errorf("%s: %d, Location: %s, want %s", tt.target, a.Status, a.Get("Location"), tt.location)
		}
	}
	// A path that is empty after stripping, and already ends in a slash, isn't redirected
	// to itself.
	if a := harness.Ask(t, gale.FSHandler(root, 1), "GET", "/"); a.Status != 200 {
		t.Errorf("/: %d", a.Status)
	}
	// A listing shows the path of the client, and its links work there.
	for path, link := range map[string]string{"/static/": `href="./sub/"`, "/static": `href="./static/sub/"`} {
		fs := &gale.FS{Root: root, GenerateIndexPages: true, PathRewrite: func(*gale.RequestCtx) []byte { return []byte("/") }}
		if a := harness.Ask(t, fs.NewRequestHandler(), "GET", path); !strings.Contains(a.Body, "<title>"+path+"</title>") || !strings.Contains(a.Body, link) {
			t.Errorf("%s: no %s in\n%s", path, link, a.Body)
		}
	}
	// A rewriter that drops the slash at the end.
	fs := &gale.FS{Root: root, GenerateIndexPages: true, PathRewrite: func(*gale.RequestCtx) []byte { return []byte("sub") }}
	if a := harness.Ask(t, fs.NewRequestHandler(), "GET", "/x/"); a.Status != 200 {
		t.Errorf("/x/ as sub: %d", a.Status)
	}
	if a := harness.Ask(t, fs.NewRequestHandler(), "GET", "/x"); a.Status != 302 || a.Get("Location") != "/x/" {
		t.Errorf("/x as sub: %d, %s", a.Status, a.Get("Location"))
	}
}

func TestFSRewrittenPaths(t *testing.T) {
	root := peers.FileTree(t)
	for path, want := range map[string]int{
		"/hello.txt": 200, "hello.txt": 200, "//hello.txt": 200, "/./hello.txt": 200, "/hello.txt/": 404, "/hello.txt/.": 404, "/hello.txt//": 404, "/indexed": 200,
		"/../secret.txt": 500, "../secret.txt": 500, "/sub/../hello.txt": 500, "..": 500, "/a\x00": 400, "/..a": 404,
	} {
		fs := &gale.FS{Root: root, IndexNames: []string{"index.html"}, PathRewrite: func(*gale.RequestCtx) []byte { return []byte(path) }}
		if a := harness.Ask(t, fs.NewRequestHandler(), "GET", "/"); a.Status != want {
			t.Errorf("%q: %d, want %d", path, a.Status, want)
		}
	}
}

func TestFSPathNotFound(t *testing.T) {
	fs := &gale.FS{Root: peers.FileTree(t), PathNotFound: func(ctx *gale.RequestCtx) { ctx.SetBodyString("custom") }}
	if a := harness.Ask(t, fs.NewRequestHandler(), "GET", "/none"); a.Status != 404 || a.Body != "custom" {
		t.Errorf("%d, %q", a.Status, a.Body)
	}
	if a := harness.Ask(t, fs.NewRequestHandler(), "GET", "/sub/"); a.Status != 403 {
		t.Errorf("a directory without index: %d", a.Status)
	}
}

// A directory without an index page is the program's, whatever coding the client accepts.
// Missing ones and files aren't.
func TestFSIndexNotFound(t *testing.T) {
	fs := &gale.FS{
		Root: peers.FileTree(t), IndexNames: []string{"index.html"}, GenerateIndexPages: true, Compress: true, Precompressed: true,
		IndexNotFound: func(ctx *gale.RequestCtx) { ctx.SetBodyString("list of " + string(ctx.Path())) },
	}
	h := fs.NewRequestHandler()
	for path, want := range map[string]string{"/": "list of /", "/sub/": "list of /sub/", "/sub/deep/": "list of /sub/deep/"} {
		for _, accept := range []string{"", "gzip"} {
			if a := harness.Ask(t, h, "GET", path, "Accept-Encoding: "+accept); a.Status != 200 || a.Body != want {
				t.Errorf("%s: %d, %q", path, a.Status, a.Body)
			}
		}
	}
	for path, want := range map[string]int{"/indexed/": 200, "/hello.txt": 200, "/none/": 404, "/sub": 302} {
		if a := harness.Ask(t, h, "GET", path); a.Status != want || strings.HasPrefix(a.Body, "list of") {
			t.Errorf("%s: %d, %q", path, a.Status, a.Body)
		}
	}
}

func TestFSListing(t *testing.T) {
	root := peers.FileTree(t)
	fs := &gale.FS{Root: root, GenerateIndexPages: true, HideDotFiles: true, Compress: true}
	peers.Write(t, filepath.Join(root, "sub", "a.txt.fasthttp.gz"), "copy")
	h := fs.NewRequestHandler()
	a := harness.Ask(t, h, "GET", "/")
	for _, want := range []string{`href="./sub/"`, `href="./hello.txt"`, `href="./a%20b%2520.txt"`} {
		if !strings.Contains(a.Body, want) {
			t.Errorf("no %s in %s", want, a.Body)
		}
	}
	for _, no := range []string{".git", ".hidden", `"../"`, "out<"} {
		if strings.Contains(a.Body, no) {
			t.Errorf("there is %s in %s", no, a.Body)
		}
	}
	if a.Get("X-Content-Type-Options") != "nosniff" || string(a.Header.ContentType()) != "text/html; charset=utf-8" {
		t.Errorf("%s, %s", a.Header.ContentType(), a.Get("X-Content-Type-Options"))
	}
	a = harness.Ask(t, h, "GET", "/sub/")
	for _, want := range []string{`href="../"`, "&lt;b&gt;&amp;.txt", `href="./deep/"`} {
		if !strings.Contains(a.Body, want) {
			t.Errorf("no %s in %s", want, a.Body)
		}
	}
	if strings.Contains(a.Body, "fasthttp.gz") {
		t.Error("compressed copies are listed")
	}
}

func TestFSDotFiles(t *testing.T) {
	fs := &gale.FS{Root: peers.FileTree(t), HideDotFiles: true}
	for target, want := range map[string]int{"/.hidden": 404, "/.git/config": 404, "/.well-known/acme": 200, "/hello.txt": 200} {
		if a := harness.Ask(t, fs.NewRequestHandler(), "GET", target); a.Status != want {
			t.Errorf("%s: %d, want %d", target, a.Status, want)
		}
	}
}

func TestFSConditions(t *testing.T) {
	root := peers.FileTree(t)
	h := (&gale.FS{Root: root, StrongETags: true, AcceptByteRange: true}).NewRequestHandler()
	a := harness.Ask(t, h, "GET", "/hello.txt")
	tag, date := a.Get("ETag"), a.Get("Last-Modified")
	if !strings.HasPrefix(tag, `"`) || date != "Fri, 02 Jan 2026 03:04:05 GMT" {
		t.Fatalf("ETag %s, Last-Modified %s", tag, date)
	}
	const before, after = "Thu, 01 Jan 2026 00:00:00 GMT", "Sat, 03 Jan 2026 00:00:00 GMT"
	for _, tt := range []struct {
		fields []string
		want   int
	}{
		{[]string{"If-None-Match: " + tag}, 304},
		{[]string{"If-None-Match: W/" + tag}, 304},
		{[]string{`If-None-Match: "x"`, "If-None-Match: " + tag}, 304},
		{[]string{"If-None-Match: *"}, 304},
		{[]string{`If-None-Match: "x"`, "If-Modified-Since: " + after}, 200},
		{[]string{"If-Modified-Since: " + date}, 304},
		{[]string{"If-Modified-Since: " + before}, 200},
		{[]string{"If-Modified-Since: tomorrow"}, 200},
		{[]string{"If-Match: " + tag}, 200},
		{[]string{"If-Match: W/" + tag}, 412},
		{[]string{`If-Match: "x"`}, 412},
		{[]string{"If-Match: *", "If-None-Match: *"}, 304},
		{[]string{"If-Unmodified-Since: " + before}, 412},
		{[]string{"If-Unmodified-Since: " + after}, 200},
		{[]string{"Range: bytes=0-1", "If-Range: " + tag}, 206},
		{[]string{"Range: bytes=0-1", "If-Range: W/" + tag}, 200},
		{[]string{"Range: bytes=0-1", `If-Range: "x"`}, 200},
		{[]string{"Range: bytes=0-1", "If-Range: " + date}, 206},
		{[]string{"Range: bytes=0-1", "If-Range: " + after}, 200},
		{[]string{"Range: bytes=0-1", "If-None-Match: " + tag}, 304},
		{[]string{"Range: bytes=100-", "If-Match: \"x\""}, 412},
	} {
		for _, method := range []string{"GET", "HEAD"} {
			want := tt.want
			if method == "HEAD" && want == 206 {
				want = 200 // ranges are for GET
			}
			a := harness.Ask(t, h, method, "/hello.txt", tt.fields...)
			if a.Status != want {
				t.Errorf("%s with %q: %d, want %d", method, tt.fields, a.Status, want)
			}
			if a.Status == 304 && (a.Body != "" || a.Get("ETag") != tag) {
				t.Errorf("304 with body %q, ETag %s", a.Body, a.Get("ETag"))
			}
		}
	}
}

func TestFSKeepsFieldsOf304(t *testing.T) {
	h := gale.FSHandler(peers.FileTree(t), 0)
	a := harness.Ask(t, func(ctx *gale.RequestCtx) {
		ctx.Response.Header.Set("Cache-Control", "max-age=60")
		h(ctx)
	}, "GET", "/hello.txt", "If-Modified-Since: Fri, 02 Jan 2026 03:04:05 GMT")
	if a.Status != 304 || a.Get("Cache-Control") != "max-age=60" {
		t.Errorf("%d, Cache-Control %q (RFC 9110 section 15.4.5)", a.Status, a.Get("Cache-Control"))
	}
}

func TestFSCacheSeesChanges(t *testing.T) {
	root := peers.FileTree(t)
	synctest.Test(t, func(t *testing.T) {
		h := gale.FSHandler(root, 0)
		name := filepath.Join(root, "changing.txt")
		peers.Write(t, name, "one")
		if a := harness.Ask(t, h, "GET", "/changing.txt"); a.Body != "one" {
			t.Fatalf("%q", a.Body)
		}
		peers.Write(t, name, "three")
		if a := harness.Ask(t, h, "GET", "/changing.txt"); a.Body != "one" {
			t.Errorf("%q: it is cached", a.Body)
		}
		time.Sleep(gale.FSHandlerCacheDuration) // by the clock of the bubble
		if a := harness.Ask(t, h, "GET", "/changing.txt"); a.Body != "three" {
			t.Errorf("%q: the cache is too old", a.Body)
		}
		if err := os.Remove(name); err != nil {
			t.Fatal(err)
		}
		time.Sleep(gale.FSHandlerCacheDuration) // by the clock of the bubble
		if a := harness.Ask(t, h, "GET", "/changing.txt"); a.Status != 404 {
			t.Errorf("%d: it is gone", a.Status)
		}
	}) // the bubble waits for timers and goroutines: the handler leaves none
}

func TestFSConcurrent(t *testing.T) {
	peers.WithoutEngine(t)
	root := peers.FileTree(t)
	big := strings.Repeat("0123456789", 10_000)
	for _, fs := range []*gale.FS{
		{Root: root, AcceptByteRange: true, CacheDuration: time.Millisecond, MaxOpenFiles: 16, Compress: true},
		{Root: root, AcceptByteRange: true, SkipCache: true, Compress: true},
	} {
		h := fs.NewRequestHandler()
		var wg sync.WaitGroup
		for range 8 {
			wg.Go(func() {
				for range 50 {
					if a := harness.Ask(t, h, "GET", "/big.txt"); a.Body != big {
						t.Errorf("%d bytes", len(a.Body))
					}
					if a := harness.Ask(t, h, "GET", "/big.txt", "Range: bytes=5-9"); a.Body != "56789" {
						t.Errorf("%q", a.Body)
					}
					if a := harness.Ask(t, h, "GET", "/hello.txt"); a.Body != peers.Alphabet {
						t.Errorf("%q", a.Body)
					}
					if a := harness.Ask(t, h, "GET", "/big.txt", "Accept-Encoding: gzip"); a.Get("Content-Encoding") != "gzip" {
						t.Errorf("%d, %q", a.Status, a.Get("Content-Encoding"))
					}
				}
			})
		}
		wg.Wait()
	}
}

//go:embed testdata/embedded.txt
var embedded embed.FS

func TestFSTrees(t *testing.T) {
	data := strings.Repeat("line of text\n", 5000)
	tree := fstest.MapFS{
		"a.txt": {Data: []byte("small"), ModTime: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)},
		"b.txt": {Data: []byte(data)}, "d/index.html": {Data: []byte("index")}, "e/f": {Data: []byte("x")},
		"pipe": {Mode: fs.ModeNamedPipe},
	}
	for _, fsys := range []fs.FS{tree, peers.PlainTree{FS: tree}} {
		h := (&gale.FS{FS: fsys, GenerateIndexPages: true, AcceptByteRange: true, GenerateETag: true, IndexNames: []string{"index.html"}}).NewRequestHandler()
		for range 2 {
			a := harness.Ask(t, h, "GET", "/a.txt")
			if a.Body != "small" || a.Get("ETag") == "" || a.Get("Last-Modified") == "" {
				t.Errorf("%T: %q, %s", fsys, a.Body, a.Header)
			}
			a = harness.Ask(t, h, "GET", "/b.txt")
			if a.Body != data || a.Get("ETag") != "" || a.Get("Last-Modified") != "" {
				t.Errorf("%T: %d bytes, %s", fsys, len(a.Body), a.Header)
			}
			if a := harness.Ask(t, h, "GET", "/b.txt", "Range: bytes=60000-60010"); a.Status != 206 || a.Body != data[60000:60011] {
				t.Errorf("%T: %d, %q", fsys, a.Status, a.Body)
			}
			if a := harness.Ask(t, h, "GET", "/d/"); a.Body != "index" {
				t.Errorf("%T: %q", fsys, a.Body)
			}
			if a := harness.Ask(t, h, "GET", "/e/"); !strings.Contains(a.Body, `href="./f"`) {
				t.Errorf("%T: %q", fsys, a.Body)
			}
			for target, want := range map[string]int{"/d": 302, "/none": 404, "/pipe": 404, "/../x": 404} {
				if a := harness.Ask(t, h, "GET", target); a.Status != want {
					t.Errorf("%T %s: %d, want %d", fsys, target, a.Status, want)
				}
			}
		}
	}
	h := (&gale.FS{FS: embedded, GenerateETag: true, Compress: true}).NewRequestHandler()
	if a := harness.Ask(t, h, "GET", "/testdata/embedded.txt"); a.Status != 200 || a.Get("ETag") != "" || a.Get("Last-Modified") != "" {
		t.Errorf("embedded: %d, %s", a.Status, a.Header)
	}
	if a := harness.Ask(t, h, "GET", "/testdata/embedded.txt", "Accept-Encoding: gzip"); a.Get("Content-Encoding") != "gzip" {
		t.Errorf("embedded: %s", a.Header)
	}
}

// A root may be a file. Its path is then "/".
func TestFSRootIsFile(t *testing.T) {
	root := filepath.Join(peers.FileTree(t), "hello.txt")
	for _, out := range []bool{false, true} {
		h := (&gale.FS{Root: root, AllowSymlinksOutsideRoot: out, Compress: true}).NewRequestHandler()
		for target, want := range map[string]int{"/": 200, "/hello.txt": 404} {
			a := harness.Ask(t, h, "GET", target, "Accept-Encoding: gzip")
			if a.Status != want || want == 200 && a.Body != peers.Alphabet {
				t.Errorf("%s: %d %q, want %d", target, a.Status, a.Body, want)
			}
		}
		if a := harness.Ask(t, h, "GET", "/"); a.Get("Content-Type") != "text/plain; charset=utf-8" {
			t.Errorf("Content-Type %q", a.Get("Content-Type"))
		}
	}
}

// A file isn't served for its name with a slash at the end, in whatever way and coding it
// is requested, and also after the file is cached. If the path is rewritten, the slash of
// the new path counts, unless the client's path has none.
func TestFSFileWithSlash(t *testing.T) {
	root := peers.FileTree(t)
	peers.Write(t, filepath.Join(root, "text.txt"), strings.Repeat("text ", 100))
	peers.Write(t, filepath.Join(root, "sibling.txt"), "plain")
	peers.Write(t, filepath.Join(root, "sibling.txt.gz"), "packed")
	fixed := func(path string) gale.PathRewriteFunc { return func(*gale.RequestCtx) []byte { return []byte(path) } }
	for what, h := range map[string]gale.RequestHandler{
		"FS":            (&gale.FS{Root: root, IndexNames: []string{"index.html"}, GenerateIndexPages: true}).NewRequestHandler(),
		"compressing":   (&gale.FS{Root: root, Compress: true, CompressBrotli: true, Precompressed: true, SkipCache: true}).NewRequestHandler(),
		"a tree":        (&gale.FS{FS: os.DirFS(root), AcceptByteRange: true}).NewRequestHandler(),
		"links allowed": (&gale.FS{Root: root, AllowSymlinksOutsideRoot: true}).NewRequestHandler(),
		"ServeFS":       func(ctx *gale.RequestCtx) { gale.ServeFS(ctx, os.DirFS(root), string(ctx.Path())) },
		"ServeFile":     func(ctx *gale.RequestCtx) { gale.ServeFile(ctx, root+string(ctx.Path())) },
		"prefix":        (&gale.FS{Root: root, PathRewrite: func(ctx *gale.RequestCtx) []byte { return ctx.Path()[:len(ctx.Path()):len(ctx.Path())] }}).NewRequestHandler(),
	} {
		for range 2 {
			for target, want := range map[string]int{
				"/hello.txt": 200, "/hello.txt/": 404, "/hello.txt%2f": 404, "/hello.txt//": 404, "/hello.txt/./": 404, "/hello.txt/x": 404,
				"/big.txt/": 404, "/sub/a.txt/": 404, "/text.txt": 200, "/text.txt/": 404, "/sibling.txt/": 404, "/zero.txt/": 404,
				"/indexed/index.html/": 404,
			} {
				for _, field := range []string{"A: b", "Accept-Encoding: gzip, br", "Range: bytes=0-1"} {
					if a := harness.Ask(t, h, "GET", target, field); a.Status != want && !(want == 200 && a.Status == 206) {
						t.Errorf("%s: %s with %s: %d, want %d", what, target, field, a.Status, want)
					}
				}
			}
		}
	}
	for path, want := range map[string]int{"/hello.txt": 200, "/hello.txt/": 404, "/sub": 403, "/sub/": 403, "/indexed": 200} {
		for _, target := range []string{"/", "/x/", "/x/y/"} {
			h := (&gale.FS{Root: root, PathRewrite: fixed(path), IndexNames: []string{"index.html"}}).NewRequestHandler()
			if a := harness.Ask(t, h, "GET", target); a.Status != want {
				t.Errorf("%s as %s: %d, want %d", target, path, a.Status, want)
			}
		}
	}
	slashed := (&gale.FS{Root: root, IndexNames: []string{"index.html"}, PathRewrite: func(ctx *gale.RequestCtx) []byte {
		return append(ctx.Path()[:len(ctx.Path()):len(ctx.Path())], '/')
	}}).NewRequestHandler()
	for range 2 {
		for target, want := range map[string]int{"/hello.txt": 200, "/hello.txt/": 404, "/indexed": 200, "/indexed/": 200, "/sub": 403, "/none": 404} {
			if a := harness.Ask(t, slashed, "GET", target); a.Status != want {
				t.Errorf("%s with a slash added: %d, want %d", target, a.Status, want)
			}
		}
	}
}

// If a middleware changes a body, that changes only its own response, although small
// files and listings are kept in memory.
func TestFSBodyIsTheResponses(t *testing.T) {
	root := peers.FileTree(t)
	peers.Write(t, filepath.Join(root, "text.txt"), strings.Repeat("text ", 100))
	h := (&gale.FS{Root: root, GenerateIndexPages: true, Compress: true, AcceptByteRange: true, CompressRoot: filepath.Join(root, "hello.txt", "none")}).NewRequestHandler()
	spoil := func(b []byte) {
		for i := range b {
			b[i] = 'X'
		}
		_ = append(b, "more"...)
	}
	for what, change := range map[string]func(*gale.Response){
		"Body":                 func(r *gale.Response) { spoil(r.Body()) },
		"Body twice":           func(r *gale.Response) { r.Body(); spoil(r.Body()) },
		"BodyUncompressed":     func(r *gale.Response) { b, _ := r.BodyUncompressed(); spoil(b) },
		"SwapBody":             func(r *gale.Response) { spoil(r.SwapBody(nil)) },
		"SwapBody of another":  func(r *gale.Response) { spoil(r.SwapBody([]byte("a"))); spoil(r.Body()) },
		"AppendBody":           func(r *gale.Response) { r.AppendBodyString("more"); spoil(r.Body()) },
		"a copy":               func(r *gale.Response) { var to gale.Response; r.CopyTo(&to); spoil(to.Body()) },
		"SetBody of itself":    func(r *gale.Response) { r.SetBody(r.Body()); spoil(r.Body()) },
		"BodyWriter":           func(r *gale.Response) { _, _ = r.BodyWriter().Write([]byte("more")); spoil(r.Body()) },
		"Body after ResetBody": func(r *gale.Response) { r.ResetBody(); spoil(r.Body()) },
		"Body after SetBodyRaw": func(r *gale.Response) {
			mine := []byte("mine")
			if r.SetBodyRaw(mine); &r.Body()[0] != &mine[0] {
				t.Error("a raw body is copied")
			}
		},
	} {
		for _, target := range []string{"/hello.txt", "/text.txt", "/sub/"} {
			for _, field := range []string{"A: b", "Accept-Encoding: gzip", "Range: bytes=2-5"} {
				before := harness.Ask(t, h, "GET", target, field).Body
				harness.Ask(t, func(ctx *gale.RequestCtx) { h(ctx); change(&ctx.Response); ctx.Response.ResetBody() }, "GET", target, field)
				if after := harness.Ask(t, h, "GET", target, field).Body; after != before || before == "" {
					t.Fatalf("%s of %s with %s: the next request gets %q, want %q", what, target, field, after, before)
				}
			}
		}
	}
	// The request that changes the body gets the changed one.
	a := harness.Ask(t, func(ctx *gale.RequestCtx) { h(ctx); ctx.Response.Body()[0] = '!' }, "GET", "/hello.txt")
	if a.Body != "!"+peers.Alphabet[1:] {
		t.Errorf("the changed body is %q", a.Body)
	}
}

// Conditions with dates are ignored if there are conditions with entity tags, even for a
// file without a tag (RFC 9110 sections 13.1.3 and 13.1.4).
func TestFSDatesBesideTags(t *testing.T) {
	const before, date, after = "Thu, 01 Jan 2026 00:00:00 GMT", "Fri, 02 Jan 2026 03:04:05 GMT", "Sat, 03 Jan 2026 00:00:00 GMT"
	root := peers.FileTree(t)
	for what, fs := range map[string]*gale.FS{"no tags": {Root: root}, "weak tags": {Root: root, GenerateETag: true}, "strong tags": {Root: root, StrongETags: true, AcceptByteRange: true}} {
		h := fs.NewRequestHandler()
		for _, tt := range []struct {
			fields []string
			want   int
		}{
			{[]string{`If-None-Match: "x"`, "If-Modified-Since: " + after}, 200},
			{[]string{`If-None-Match: W/"x"`, "If-Modified-Since: " + date}, 200},
			{[]string{`If-None-Match: "x"`, `If-None-Match: "y"`, "If-Modified-Since: " + after}, 200},
			{[]string{"If-None-Match: x", "If-Modified-Since: " + after}, 200},
			{[]string{"If-None-Match: ", "If-Modified-Since: " + after}, 200},
			{[]string{`If-None-Match: ""`, "If-Modified-Since: " + after}, 200},
			{[]string{"If-None-Match: *", "If-Modified-Since: " + before}, 304},
			{[]string{"If-Match: *", "If-Unmodified-Since: " + before}, 200},
			{[]string{`If-Match: "x"`, "If-Unmodified-Since: " + after}, 412},
			{[]string{`If-Match: ""`, "If-Unmodified-Since: " + after}, 412},
			{[]string{"If-Match: ", "If-Unmodified-Since: " + after}, 412},
			{[]string{"If-Modified-Since: " + after}, 304},
			{[]string{"If-Unmodified-Since: " + before}, 412},
		} {
			for _, method := range []string{"GET", "HEAD"} {
				for _, more := range []string{"A: b", "Range: bytes=0-30"} {
					if a := harness.Ask(t, h, method, "/hello.txt", append(tt.fields, more)...); a.Status != tt.want && !(tt.want == 200 && a.Status == 206) {
						t.Errorf("%s: %s with %q, %s: %d, want %d", what, method, tt.fields, more, a.Status, tt.want)
					}
				}
			}
		}
	}
}

// "If-None-Match: *" matches everything that exists, with an entity tag or without.
func TestFSIfNoneMatchStarWithoutTags(t *testing.T) {
	h := (&gale.FS{Root: peers.FileTree(t)}).NewRequestHandler()
	for value, want := range map[string]int{"*": 304, " * ": 304, `"x"`: 200} {
		if a := harness.Ask(t, h, "GET", "/hello.txt", "If-None-Match: "+value); a.Status != want {
			t.Errorf("%q: %d, want %d", value, a.Status, want)
		}
	}
}

// A root that doesn't exist is logged once. The answer is that for a file that doesn't
// exist.
func TestFSWithoutRoot(t *testing.T) {
	root := filepath.Join(t.TempDir(), "gone")
	log := &peers.Log{}
	h := (&gale.FS{Root: root}).NewRequestHandler()
	for range 3 {
		var req gale.Request
		req.SetRequestURI("/a.txt")
		var ctx gale.RequestCtx
		ctx.Init(&req, nil, log)
		if h(&ctx); ctx.Response.StatusCode() != gale.StatusNotFound {
			t.Errorf("got %d, want 404", ctx.Response.StatusCode())
		}
	}
	if got := log.String(); strings.Count(got, "\n") != 1 || !strings.Contains(got, root) {
		t.Errorf("the log says %q, want one line about the root", got)
	}
}
