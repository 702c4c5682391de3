package gale

import (
	"embed"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/fstest"
	"testing/synctest"
	"time"
)

const alphabet = "abcdefghijklmnopqrstuvwxyz"

func TestFSFiles(t *testing.T) {
	root := fsTree(t)
	h := FSHandler(root, 0)
	for _, tt := range []struct {
		target string
		status int
		ctype  string
		body   string
	}{
		{"/hello.txt", 200, "text/plain; charset=utf-8", alphabet},
		{"/hello.txt?x=y", 200, "text/plain; charset=utf-8", alphabet},
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
			a := ask(t, h, "GET", tt.target)
			if a.status != tt.status || string(a.header.ContentType()) != tt.ctype || a.body != tt.body {
				t.Errorf("GET %s: %d, %s, %.50q, want %d, %s, %.50q", tt.target, a.status, a.header.ContentType(), a.body, tt.status, tt.ctype, tt.body)
			}
		}
	}
}

func TestFSHead(t *testing.T) {
	h := FSHandler(fsTree(t), 0)
	for target, want := range map[string]string{"/hello.txt": "Content-Length: 26\r\n", "/big.txt": "Content-Length: 100000\r\n", "/zero.txt": "Content-Length: 0\r\n"} {
		if s := overTCP(t, h, "HEAD "+target+" HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"); !strings.Contains(s, want) || !strings.HasSuffix(s, "\r\n\r\n") {
			t.Errorf("HEAD %s: %q", target, s)
		}
	}
}

func TestFSOverTCP(t *testing.T) {
	h := FSHandler(fsTree(t), 0)
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
	s = overTCP(t, func(ctx *RequestCtx) {
		if err := ctx.Response.SendFile("fs.go"); err != nil {
			t.Error(err)
		}
	}, "GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
	if !strings.Contains(s, "package gale") || !strings.Contains(s, "Last-Modified: ") {
		t.Errorf("SendFile: %.200q", s)
	}
}

func TestFSMethods(t *testing.T) {
	root := fsTree(t)
	h := (&FS{Root: root, AcceptByteRange: true}).NewRequestHandler()
	for _, m := range []string{"POST", "PUT", "DELETE", "OPTIONS", "PATCH", "TRACE", "BREW", "get"} {
		if a := ask(t, h, m, "/hello.txt"); a.status != 405 || a.get("Allow") != "GET, HEAD" {
			t.Errorf("%s: %d, Allow: %q", m, a.status, a.get("Allow"))
		}
	}
	if a := ask(t, h, "POST", "/missing"); a.status != 405 {
		t.Errorf("POST of what isn't there: %d", a.status)
	}
	a := ask(t, func(ctx *RequestCtx) { ServeFile(ctx, filepath.Join(root, "hello.txt")) }, "POST", "/upload", "Range: bytes=0-1")
	if a.status != 200 || a.body != alphabet {
		t.Errorf("ServeFile for POST: %d, %q", a.status, a.body)
	}
}

func TestFSRedirect(t *testing.T) {
	root := fsTree(t)
	for _, tt := range []struct {
		strip            int
		target, location string
	}{
		{0, "/sub", "/sub/"},
		{0, "/sub?a=b", "/sub/?a=b"},
		{1, "/static/sub", "/static/sub/"},
		{1, "/static", "/static/"},
	} {
		a := ask(t, FSHandler(root, tt.strip), "GET", tt.target)
		if a.status != 302 || a.get("Location") != tt.location {
			t.Errorf("%s: %d, Location: %s, want %s", tt.target, a.status, a.get("Location"), tt.location)
		}
	}
	// A path that is empty after stripping, and already ends in a slash, isn't redirected
	// to itself.
	if a := ask(t, FSHandler(root, 1), "GET", "/"); a.status != 200 {
		t.Errorf("/: %d", a.status)
	}
	// A rewriter that drops the slash at the end.
	fs := &FS{Root: root, GenerateIndexPages: true, PathRewrite: func(*RequestCtx) []byte { return []byte("sub") }}
	if a := ask(t, fs.NewRequestHandler(), "GET", "/x/"); a.status != 200 {
		t.Errorf("/x/ as sub: %d", a.status)
	}
	if a := ask(t, fs.NewRequestHandler(), "GET", "/x"); a.status != 302 || a.get("Location") != "/x/" {
		t.Errorf("/x as sub: %d, %s", a.status, a.get("Location"))
	}
}

func TestFSRewrittenPaths(t *testing.T) {
	root := fsTree(t)
	for path, want := range map[string]int{
		"/hello.txt": 200, "hello.txt": 200, "//hello.txt": 200, "/./hello.txt": 200, "/hello.txt/": 404, "/hello.txt/.": 404, "/hello.txt//": 404, "/indexed": 200,
		"/../secret.txt": 500, "../secret.txt": 500, "/sub/../hello.txt": 500, "..": 500, "/a\x00": 400, "/..a": 404,
	} {
		fs := &FS{Root: root, IndexNames: []string{"index.html"}, PathRewrite: func(*RequestCtx) []byte { return []byte(path) }}
		if a := ask(t, fs.NewRequestHandler(), "GET", "/"); a.status != want {
			t.Errorf("%q: %d, want %d", path, a.status, want)
		}
	}
}

func TestFSPathNotFound(t *testing.T) {
	fs := &FS{Root: fsTree(t), PathNotFound: func(ctx *RequestCtx) { ctx.SetBodyString("custom") }}
	if a := ask(t, fs.NewRequestHandler(), "GET", "/none"); a.status != 404 || a.body != "custom" {
		t.Errorf("%d, %q", a.status, a.body)
	}
	if a := ask(t, fs.NewRequestHandler(), "GET", "/sub/"); a.status != 403 {
		t.Errorf("a directory without index: %d", a.status)
	}
}

// A directory without an index page is the program's, whatever coding the client accepts.
// Missing ones and files aren't.
func TestFSIndexNotFound(t *testing.T) {
	fs := &FS{
		Root: fsTree(t), IndexNames: []string{"index.html"}, GenerateIndexPages: true, Compress: true, Precompressed: true,
		IndexNotFound: func(ctx *RequestCtx) { ctx.SetBodyString("list of " + string(ctx.Path())) },
	}
	h := fs.NewRequestHandler()
	for path, want := range map[string]string{"/": "list of /", "/sub/": "list of /sub/", "/sub/deep/": "list of /sub/deep/"} {
		for _, accept := range []string{"", "gzip"} {
			if a := ask(t, h, "GET", path, "Accept-Encoding: "+accept); a.status != 200 || a.body != want {
				t.Errorf("%s: %d, %q", path, a.status, a.body)
			}
		}
	}
	for path, want := range map[string]int{"/indexed/": 200, "/hello.txt": 200, "/none/": 404, "/sub": 302} {
		if a := ask(t, h, "GET", path); a.status != want || strings.HasPrefix(a.body, "list of") {
			t.Errorf("%s: %d, %q", path, a.status, a.body)
		}
	}
}

func TestFSListing(t *testing.T) {
	root := fsTree(t)
	fs := &FS{Root: root, GenerateIndexPages: true, HideDotFiles: true, Compress: true}
	write(t, filepath.Join(root, "sub", "a.txt.fasthttp.gz"), "copy")
	h := fs.NewRequestHandler()
	a := ask(t, h, "GET", "/")
	for _, want := range []string{`href="./sub/"`, `href="./hello.txt"`, `href="./a%20b%2520.txt"`} {
		if !strings.Contains(a.body, want) {
			t.Errorf("no %s in %s", want, a.body)
		}
	}
	for _, no := range []string{".git", ".hidden", `"../"`, "out<"} {
		if strings.Contains(a.body, no) {
			t.Errorf("there is %s in %s", no, a.body)
		}
	}
	if a.get("X-Content-Type-Options") != "nosniff" || string(a.header.ContentType()) != "text/html; charset=utf-8" {
		t.Errorf("%s, %s", a.header.ContentType(), a.get("X-Content-Type-Options"))
	}
	a = ask(t, h, "GET", "/sub/")
	for _, want := range []string{`href="../"`, "&lt;b&gt;&amp;.txt", `href="./deep/"`} {
		if !strings.Contains(a.body, want) {
			t.Errorf("no %s in %s", want, a.body)
		}
	}
	if strings.Contains(a.body, "fasthttp.gz") {
		t.Error("compressed copies are listed")
	}
}

func TestFSDotFiles(t *testing.T) {
	fs := &FS{Root: fsTree(t), HideDotFiles: true}
	for target, want := range map[string]int{"/.hidden": 404, "/.git/config": 404, "/.well-known/acme": 200, "/hello.txt": 200} {
		if a := ask(t, fs.NewRequestHandler(), "GET", target); a.status != want {
			t.Errorf("%s: %d, want %d", target, a.status, want)
		}
	}
}

func TestFSConditions(t *testing.T) {
	root := fsTree(t)
	h := (&FS{Root: root, StrongETags: true, AcceptByteRange: true}).NewRequestHandler()
	a := ask(t, h, "GET", "/hello.txt")
	tag, date := a.get("ETag"), a.get("Last-Modified")
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
			a := ask(t, h, method, "/hello.txt", tt.fields...)
			if a.status != want {
				t.Errorf("%s with %q: %d, want %d", method, tt.fields, a.status, want)
			}
			if a.status == 304 && (a.body != "" || a.get("ETag") != tag) {
				t.Errorf("304 with body %q, ETag %s", a.body, a.get("ETag"))
			}
		}
	}
}

func TestFSKeepsFieldsOf304(t *testing.T) {
	h := FSHandler(fsTree(t), 0)
	a := ask(t, func(ctx *RequestCtx) {
		ctx.Response.Header.Set("Cache-Control", "max-age=60")
		h(ctx)
	}, "GET", "/hello.txt", "If-Modified-Since: Fri, 02 Jan 2026 03:04:05 GMT")
	if a.status != 304 || a.get("Cache-Control") != "max-age=60" {
		t.Errorf("%d, Cache-Control %q (RFC 9110 section 15.4.5)", a.status, a.get("Cache-Control"))
	}
}

func TestFSCacheSeesChanges(t *testing.T) {
	root := fsTree(t)
	synctest.Test(t, func(t *testing.T) {
		h := FSHandler(root, 0)
		name := filepath.Join(root, "changing.txt")
		write(t, name, "one")
		if a := ask(t, h, "GET", "/changing.txt"); a.body != "one" {
			t.Fatalf("%q", a.body)
		}
		write(t, name, "three")
		if a := ask(t, h, "GET", "/changing.txt"); a.body != "one" {
			t.Errorf("%q: it is cached", a.body)
		}
		time.Sleep(FSHandlerCacheDuration)
		if a := ask(t, h, "GET", "/changing.txt"); a.body != "three" {
			t.Errorf("%q: the cache is too old", a.body)
		}
		if err := os.Remove(name); err != nil {
			t.Fatal(err)
		}
		time.Sleep(FSHandlerCacheDuration)
		if a := ask(t, h, "GET", "/changing.txt"); a.status != 404 {
			t.Errorf("%d: it is gone", a.status)
		}
	}) // the bubble waits for timers and goroutines: the handler leaves none
}

func TestFSLetsGoOfFiles(t *testing.T) {
	root := fsTree(t)
	synctest.Test(t, func(t *testing.T) {
		stop := make(chan struct{})
		var open atomic.Int32
		h := newFSHandler(&FS{FS: countedFS{os.DirFS(root), &open}, CleanStop: stop})
		ask(t, h.handle, "GET", "/big.txt")
		if n := open.Load(); n != 1 {
			t.Errorf("%d files open, want the cached one", n)
		}
		time.Sleep(4 * FSHandlerCacheDuration)
		if n := open.Load(); n != 0 {
			t.Errorf("%d files open after a long rest", n)
		}
		ask(t, h.handle, "GET", "/big.txt")
		close(stop)
		time.Sleep(FSHandlerCacheDuration + 1)
		if n := open.Load(); n != 0 {
			t.Errorf("%d files open after CleanStop", n)
		}
		if a := ask(t, h.handle, "GET", "/big.txt"); a.status != 200 {
			t.Errorf("after CleanStop: %d", a.status)
		}
		if n := open.Load(); n != 0 {
			t.Errorf("%d files are kept open after CleanStop", n)
		}
	})
}

func TestFSConcurrent(t *testing.T) {
	withoutEngine(t)
	root := fsTree(t)
	big := strings.Repeat("0123456789", 10_000)
	for _, fs := range []*FS{
		{Root: root, AcceptByteRange: true, CacheDuration: time.Millisecond, MaxOpenFiles: 16, Compress: true},
		{Root: root, AcceptByteRange: true, SkipCache: true, Compress: true},
	} {
		h := fs.NewRequestHandler()
		var wg sync.WaitGroup
		for range 8 {
			wg.Go(func() {
				for range 50 {
					if a := ask(t, h, "GET", "/big.txt"); a.body != big {
						t.Errorf("%d bytes", len(a.body))
					}
					if a := ask(t, h, "GET", "/big.txt", "Range: bytes=5-9"); a.body != "56789" {
						t.Errorf("%q", a.body)
					}
					if a := ask(t, h, "GET", "/hello.txt"); a.body != alphabet {
						t.Errorf("%q", a.body)
					}
					if a := ask(t, h, "GET", "/big.txt", "Accept-Encoding: gzip"); a.get("Content-Encoding") != "gzip" {
						t.Errorf("%d, %q", a.status, a.get("Content-Encoding"))
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
	for _, fsys := range []fs.FS{tree, plainTree{tree}} {
		h := (&FS{FS: fsys, GenerateIndexPages: true, AcceptByteRange: true, GenerateETag: true, IndexNames: []string{"index.html"}}).NewRequestHandler()
		for range 2 {
			a := ask(t, h, "GET", "/a.txt")
			if a.body != "small" || a.get("ETag") == "" || a.get("Last-Modified") == "" {
				t.Errorf("%T: %q, %s", fsys, a.body, a.header)
			}
			a = ask(t, h, "GET", "/b.txt")
			if a.body != data || a.get("ETag") != "" || a.get("Last-Modified") != "" {
				t.Errorf("%T: %d bytes, %s", fsys, len(a.body), a.header)
			}
			if a := ask(t, h, "GET", "/b.txt", "Range: bytes=60000-60010"); a.status != 206 || a.body != data[60000:60011] {
				t.Errorf("%T: %d, %q", fsys, a.status, a.body)
			}
			if a := ask(t, h, "GET", "/d/"); a.body != "index" {
				t.Errorf("%T: %q", fsys, a.body)
			}
			if a := ask(t, h, "GET", "/e/"); !strings.Contains(a.body, `href="./f"`) {
				t.Errorf("%T: %q", fsys, a.body)
			}
			for target, want := range map[string]int{"/d": 302, "/none": 404, "/pipe": 404, "/../x": 404} {
				if a := ask(t, h, "GET", target); a.status != want {
					t.Errorf("%T %s: %d, want %d", fsys, target, a.status, want)
				}
			}
		}
	}
	h := (&FS{FS: embedded, GenerateETag: true, Compress: true}).NewRequestHandler()
	if a := ask(t, h, "GET", "/testdata/embedded.txt"); a.status != 200 || a.get("ETag") != "" || a.get("Last-Modified") != "" {
		t.Errorf("embedded: %d, %s", a.status, a.header)
	}
	if a := ask(t, h, "GET", "/testdata/embedded.txt", "Accept-Encoding: gzip"); a.get("Content-Encoding") != "gzip" {
		t.Errorf("embedded: %s", a.header)
	}
}

// A root may be a file. Its path is then "/".
func TestFSRootIsFile(t *testing.T) {
	root := filepath.Join(fsTree(t), "hello.txt")
	for _, out := range []bool{false, true} {
		h := (&FS{Root: root, AllowSymlinksOutsideRoot: out, Compress: true}).NewRequestHandler()
		for target, want := range map[string]int{"/": 200, "/hello.txt": 404} {
			a := ask(t, h, "GET", target, "Accept-Encoding: gzip")
			if a.status != want || want == 200 && a.body != alphabet {
				t.Errorf("%s: %d %q, want %d", target, a.status, a.body, want)
			}
		}
		if a := ask(t, h, "GET", "/"); a.get("Content-Type") != "text/plain; charset=utf-8" {
			t.Errorf("Content-Type %q", a.get("Content-Type"))
		}
	}
}

// A file isn't served for its name with a slash at the end, in whatever way and coding it
// is requested, and also after the file is cached. If the path is rewritten, the slash of
// the new path counts, unless the client's path has none.
func TestFSFileWithSlash(t *testing.T) {
	root := fsTree(t)
	write(t, filepath.Join(root, "text.txt"), strings.Repeat("text ", 100))
	write(t, filepath.Join(root, "sibling.txt"), "plain")
	write(t, filepath.Join(root, "sibling.txt.gz"), "packed")
	fixed := func(path string) PathRewriteFunc { return func(*RequestCtx) []byte { return []byte(path) } }
	for what, h := range map[string]RequestHandler{
		"FS":            (&FS{Root: root, IndexNames: []string{"index.html"}, GenerateIndexPages: true}).NewRequestHandler(),
		"compressing":   (&FS{Root: root, Compress: true, CompressBrotli: true, Precompressed: true, SkipCache: true}).NewRequestHandler(),
		"a tree":        (&FS{FS: os.DirFS(root), AcceptByteRange: true}).NewRequestHandler(),
		"links allowed": (&FS{Root: root, AllowSymlinksOutsideRoot: true}).NewRequestHandler(),
		"ServeFS":       func(ctx *RequestCtx) { ServeFS(ctx, os.DirFS(root), string(ctx.Path())) },
		"ServeFile":     func(ctx *RequestCtx) { ServeFile(ctx, root+string(ctx.Path())) },
		"prefix":        (&FS{Root: root, PathRewrite: func(ctx *RequestCtx) []byte { return ctx.Path()[:len(ctx.Path()):len(ctx.Path())] }}).NewRequestHandler(),
	} {
		for range 2 {
			for target, want := range map[string]int{
				"/hello.txt": 200, "/hello.txt/": 404, "/hello.txt%2f": 404, "/hello.txt//": 404, "/hello.txt/./": 404, "/hello.txt/x": 404,
				"/big.txt/": 404, "/sub/a.txt/": 404, "/text.txt": 200, "/text.txt/": 404, "/sibling.txt/": 404, "/zero.txt/": 404,
				"/indexed/index.html/": 404,
			} {
				for _, field := range []string{"A: b", "Accept-Encoding: gzip, br", "Range: bytes=0-1"} {
					if a := ask(t, h, "GET", target, field); a.status != want && !(want == 200 && a.status == 206) {
						t.Errorf("%s: %s with %s: %d, want %d", what, target, field, a.status, want)
					}
				}
			}
		}
	}
	for path, want := range map[string]int{"/hello.txt": 200, "/hello.txt/": 404, "/sub": 403, "/sub/": 403, "/indexed": 200} {
		for _, target := range []string{"/", "/x/", "/x/y/"} {
			h := (&FS{Root: root, PathRewrite: fixed(path), IndexNames: []string{"index.html"}}).NewRequestHandler()
			if a := ask(t, h, "GET", target); a.status != want {
				t.Errorf("%s as %s: %d, want %d", target, path, a.status, want)
			}
		}
	}
	slashed := (&FS{Root: root, IndexNames: []string{"index.html"}, PathRewrite: func(ctx *RequestCtx) []byte {
		return append(ctx.Path()[:len(ctx.Path()):len(ctx.Path())], '/')
	}}).NewRequestHandler()
	for range 2 {
		for target, want := range map[string]int{"/hello.txt": 200, "/hello.txt/": 404, "/indexed": 200, "/indexed/": 200, "/sub": 403, "/none": 404} {
			if a := ask(t, slashed, "GET", target); a.status != want {
				t.Errorf("%s with a slash added: %d, want %d", target, a.status, want)
			}
		}
	}
}

// If a middleware changes a body, that changes only its own response, although small
// files and listings are kept in memory.
func TestFSBodyIsTheResponses(t *testing.T) {
	root := fsTree(t)
	write(t, filepath.Join(root, "text.txt"), strings.Repeat("text ", 100))
	h := (&FS{Root: root, GenerateIndexPages: true, Compress: true, AcceptByteRange: true, CompressRoot: filepath.Join(root, "hello.txt", "none")}).NewRequestHandler()
	spoil := func(b []byte) {
		for i := range b {
			b[i] = 'X'
		}
		_ = append(b, "more"...)
	}
	for what, change := range map[string]func(*Response){
		"Body":                 func(r *Response) { spoil(r.Body()) },
		"Body twice":           func(r *Response) { r.Body(); spoil(r.Body()) },
		"BodyUncompressed":     func(r *Response) { b, _ := r.BodyUncompressed(); spoil(b) },
		"SwapBody":             func(r *Response) { spoil(r.SwapBody(nil)) },
		"SwapBody of another":  func(r *Response) { spoil(r.SwapBody([]byte("a"))); spoil(r.Body()) },
		"AppendBody":           func(r *Response) { r.AppendBodyString("more"); spoil(r.Body()) },
		"a copy":               func(r *Response) { var to Response; r.CopyTo(&to); spoil(to.Body()) },
		"SetBody of itself":    func(r *Response) { r.SetBody(r.Body()); spoil(r.Body()) },
		"BodyWriter":           func(r *Response) { _, _ = r.BodyWriter().Write([]byte("more")); spoil(r.Body()) },
		"Body after ResetBody": func(r *Response) { r.ResetBody(); spoil(r.Body()) },
		"Body after SetBodyRaw": func(r *Response) {
			mine := []byte("mine")
			if r.SetBodyRaw(mine); &r.Body()[0] != &mine[0] {
				t.Error("a raw body is copied")
			}
		},
	} {
		for _, target := range []string{"/hello.txt", "/text.txt", "/sub/"} {
			for _, field := range []string{"A: b", "Accept-Encoding: gzip", "Range: bytes=2-5"} {
				before := ask(t, h, "GET", target, field).body
				ask(t, func(ctx *RequestCtx) { h(ctx); change(&ctx.Response); ctx.Response.ResetBody() }, "GET", target, field)
				if after := ask(t, h, "GET", target, field).body; after != before || before == "" {
					t.Fatalf("%s of %s with %s: the next request gets %q, want %q", what, target, field, after, before)
				}
			}
		}
	}
	// The request that changes the body gets the changed one.
	a := ask(t, func(ctx *RequestCtx) { h(ctx); ctx.Response.Body()[0] = '!' }, "GET", "/hello.txt")
	if a.body != "!"+alphabet[1:] {
		t.Errorf("the changed body is %q", a.body)
	}
}

// Conditions with dates are ignored if there are conditions with entity tags, even for a
// file without a tag (RFC 9110 sections 13.1.3 and 13.1.4).
func TestFSDatesBesideTags(t *testing.T) {
	const before, date, after = "Thu, 01 Jan 2026 00:00:00 GMT", "Fri, 02 Jan 2026 03:04:05 GMT", "Sat, 03 Jan 2026 00:00:00 GMT"
	root := fsTree(t)
	for what, fs := range map[string]*FS{"no tags": {Root: root}, "weak tags": {Root: root, GenerateETag: true}, "strong tags": {Root: root, StrongETags: true, AcceptByteRange: true}} {
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
					if a := ask(t, h, method, "/hello.txt", append(tt.fields, more)...); a.status != tt.want && !(tt.want == 200 && a.status == 206) {
						t.Errorf("%s: %s with %q, %s: %d, want %d", what, method, tt.fields, more, a.status, tt.want)
					}
				}
			}
		}
	}
}

// "If-None-Match: *" matches everything that exists, with an entity tag or without.
func TestFSIfNoneMatchStarWithoutTags(t *testing.T) {
	h := (&FS{Root: fsTree(t)}).NewRequestHandler()
	for value, want := range map[string]int{"*": 304, " * ": 304, `"x"`: 200} {
		if a := ask(t, h, "GET", "/hello.txt", "If-None-Match: "+value); a.status != want {
			t.Errorf("%q: %d, want %d", value, a.status, want)
		}
	}
}

// A root that doesn't exist is logged once. The answer is that for a file that doesn't
// exist.
func TestFSWithoutRoot(t *testing.T) {
	root := filepath.Join(t.TempDir(), "gone")
	log := &testLog{}
	h := (&FS{Root: root}).NewRequestHandler()
	for range 3 {
		var req Request
		req.SetRequestURI("/a.txt")
		var ctx RequestCtx
		ctx.Init(&req, nil, log)
		if h(&ctx); ctx.Response.StatusCode() != StatusNotFound {
			t.Errorf("got %d, want 404", ctx.Response.StatusCode())
		}
	}
	if got := log.String(); strings.Count(got, "\n") != 1 || !strings.Contains(got, root) {
		t.Errorf("the log says %q, want one line about the root", got)
	}
}
