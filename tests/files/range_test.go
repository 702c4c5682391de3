package files

import (
	"fmt"
	"io"
	"mime"
	"mime/multipart"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/galehttp/gale"
	"github.com/galehttp/gale/internal/door"
	"github.com/galehttp/gale/tests/harness"
	"github.com/galehttp/gale/tests/harness/peers"
)

func TestFSRanges(t *testing.T) {
	root := peers.FileTree(t)
	h := gale.FSHandler(root, 0)
	big := strings.Repeat("0123456789", 10_000)
	for _, tt := range []struct {
		target, field string
		status        int
		contentRange  string
		body          string
	}{
		{"/hello.txt", "bytes=2-5", 206, "bytes 2-5/26", "cdef"},
		{"/hello.txt", "bytes=-3", 206, "bytes 23-25/26", "xyz"},
		{"/hello.txt", "bytes=24-", 206, "bytes 24-25/26", "yz"},
		{"/hello.txt", "bytes=-1000", 206, "bytes 0-25/26", peers.Alphabet},
		{"/hello.txt", "bytes=100-", 416, "bytes */26", "Range Not Satisfiable"},
		{"/hello.txt", "bytes=5-2", 416, "bytes */26", "Range Not Satisfiable"},
		{"/hello.txt", "items=0-5", 200, "", peers.Alphabet},
		{"/zero.txt", "bytes=0-", 416, "bytes */0", "Range Not Satisfiable"},
		{"/zero.txt", "bytes=-0", 416, "bytes */0", "Range Not Satisfiable"},
		{"/zero.txt", "bytes=-5", 200, "", ""},
		{"/zero.txt", "bytes=0-, -5", 200, "", ""},
		{"/big.txt", "bytes=99990-", 206, "bytes 99990-99999/100000", big[99990:]},
		{"/big.txt", "bytes=0-59999,50000-99999", 206, "bytes 0-99999/100000", big},
	} {
		a := harness.Ask(t, h, "GET", tt.target, "Range: "+tt.field)
		if a.Status != tt.status || a.Get("Content-Range") != tt.contentRange || a.Body != tt.body {
			t.Errorf("%s %s: %d, %s, %.40q", tt.target, tt.field, a.Status, a.Get("Content-Range"), a.Body)
		}
	}
	if a := harness.Ask(t, (&gale.FS{Root: root}).NewRequestHandler(), "GET", "/hello.txt", "Range: bytes=0-1"); a.Status != 200 || a.Get("Accept-Ranges") != "" {
		t.Errorf("ranges off: %d, %s", a.Status, a.Get("Accept-Ranges"))
	}
}

// TestFSLastModifiedOfFuture proves that Last-Modified is never later than Date (RFC 9110 section
// 8.8.2.1): it is left out for a file from the future.
func TestFSLastModifiedOfFuture(t *testing.T) {
	dir := t.TempDir()
	future := map[string]bool{"/past.txt": false, "/soon.txt": true, "/late.txt": true}
	for target, after := range map[string]time.Duration{"/past.txt": -24 * time.Hour, "/soon.txt": time.Hour, "/late.txt": 100 * 365 * 24 * time.Hour} {
		peers.Write(t, filepath.Join(dir, target), peers.Alphabet)
		at := time.Now().Add(after)
		if err := os.Chtimes(filepath.Join(dir, target), at, at); err != nil {
			t.Fatal(err)
		}
	}
	for name, h := range map[string]gale.RequestHandler{
		"FS":        gale.FSHandler(dir, 0),
		"SkipCache": (&gale.FS{Root: dir, SkipCache: true, GenerateETag: true}).NewRequestHandler(),
		"Fresh":     (&gale.FS{Root: dir, Fresh: true}).NewRequestHandler(),
		"ServeFile": func(ctx *gale.RequestCtx) { gale.ServeFile(ctx, filepath.Join(dir, string(ctx.Path()))) },
		"Response.SendFile": func(ctx *gale.RequestCtx) {
			if err := ctx.Response.SendFile(filepath.Join(dir, string(ctx.Path()))); err != nil {
				t.Error(err)
			}
		},
		"ServeFS": func(ctx *gale.RequestCtx) { gale.ServeFS(ctx, os.DirFS(dir), string(ctx.Path()[1:])) },
	} {
		for target, future := range future {
			for _, method := range []string{"GET", "HEAD"} {
				a := harness.Ask(t, h, method, target)
				if got := a.Get("Last-Modified"); a.Status != 200 || got != "" && future || got == "" && !future && name != "Fresh" { // which omits more
					t.Errorf("%s: %s %s: %d, Last-Modified %q", name, method, target, a.Status, got)
				}
			}
		}
	}
}

func TestFSMultipleRanges(t *testing.T) {
	root := peers.FileTree(t)
	big := strings.Repeat("0123456789", 10_000)
	for target, data := range map[string]string{"/hello.txt": peers.Alphabet, "/big.txt": big} {
		a := harness.Ask(t, gale.FSHandler(root, 0), "GET", target, "Range: bytes=4-5,-2,0-1")
		if a.Status != 206 {
			t.Fatalf("%s: %d", target, a.Status)
		}
		mediaType, params, err := mime.ParseMediaType(string(a.Header.ContentType()))
		if err != nil || mediaType != "multipart/byteranges" {
			t.Fatalf("%s: %s", target, a.Header.ContentType())
		}
		r := multipart.NewReader(strings.NewReader(a.Body), params["boundary"])
		for _, want := range []struct{ cr, body string }{
			{fmt.Sprintf("bytes 4-5/%d", len(data)), data[4:6]},
			{fmt.Sprintf("bytes %d-%d/%d", len(data)-2, len(data)-1, len(data)), data[len(data)-2:]},
			{fmt.Sprintf("bytes 0-1/%d", len(data)), data[:2]},
		} {
			p, err := r.NextPart()
			if err != nil {
				t.Fatal(err)
			}
			body, err := io.ReadAll(p)
			if err != nil || string(body) != want.body || p.Header.Get("Content-Range") != want.cr || p.Header.Get("Content-Type") != "text/plain; charset=utf-8" {
				t.Errorf("part %q, %v, %v", body, p.Header, err)
			}
		}
		if _, err := r.NextPart(); err != io.EOF {
			t.Errorf("after the last part: %v", err)
		}
	}
	many := "Range: bytes=0-0" + strings.Repeat(",2-2", 100)
	if a := harness.Ask(t, gale.FSHandler(root, 0), "GET", "/big.txt", many); a.Status != 200 {
		t.Errorf("a hundred ranges: %d", a.Status)
	}
}

func TestFSRangeOutputIsBounded(t *testing.T) {
	h := gale.FSHandler(peers.FileTree(t), 0)
	for _, field := range []string{
		"bytes=0-" + strings.Repeat(",0-", 30), "bytes=" + strings.Repeat("0-99999,", 30), "bytes=0-49999,50001-99999",
		"bytes=-100000" + strings.Repeat(",1-", 20),
	} {
		if a := harness.Ask(t, h, "GET", "/big.txt", "Range: "+field); len(a.Body) > 110_000 {
			t.Errorf("%.30s: %d bytes of a file of 100000", field, len(a.Body))
		}
	}
}

// TestFSRangesOfOtherMethods proves that Range means something in a GET only: other methods are
// answered as if it weren't there (RFC 9110 section 14.2), with If-Range too.
func TestFSRangesOfOtherMethods(t *testing.T) {
	root := peers.FileTree(t)
	before := door.FSAnswersAll(true)
	defer door.FSAnswersAll(before)
	for name, h := range map[string]gale.RequestHandler{
		"FS":        gale.FSHandler(root, 0),
		"Fresh":     (&gale.FS{Root: root, Fresh: true, AcceptByteRange: true, Compress: true}).NewRequestHandler(),
		"ServeFile": func(ctx *gale.RequestCtx) { gale.ServeFile(ctx, filepath.Join(root, string(ctx.Path()))) },
	} {
		for _, method := range []string{"HEAD", "POST", "PUT", "DELETE", "OPTIONS"} {
			for _, fields := range [][]string{
				{"Range: bytes=2-3"}, {"Range: bytes=50-"}, {"Range: bytes=-5"}, {"Range: bytes=0-1,9-10"}, {"Range: bytes=5-2"},
				{"Range: bytes=2-3", "If-Range: Fri, 02 Jan 2026 03:04:05 GMT"},
			} {
				for _, target := range []string{"/hello.txt", "/zero.txt", "/big.txt"} {
					a := harness.Ask(t, h, method, target, fields...)
					if a.Status != 200 || a.Get("Content-Range") != "" {
						t.Errorf("%s: %s %s with %q: %d, Content-Range %q", name, method, target, fields, a.Status, a.Get("Content-Range"))
					}
				}
			}
		}
	}
}
