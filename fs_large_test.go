package gale

import (
	"crypto/sha256"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/galehttp/gale/internal/compress"
)

const largeSize = 9 << 20

// largeText makes a file of largeSize bytes.
func largeText(t *testing.T, name string) (text string) {
	t.Helper()
	var b strings.Builder
	for i := 0; b.Len() < largeSize; i++ {
		fmt.Fprintf(&b, "line %d of a log that has many lines which are nearly the same\n", i)
	}
	text = b.String()[:largeSize]
	write(t, name, text)
	old := time.Now().Add(-time.Hour)
	if err := os.Chtimes(name, old, old); err != nil {
		t.Fatal(err)
	}
	return text
}

// noLargeStreams waits until no place for a large file is taken.
func noLargeStreams(t *testing.T) {
	t.Helper()
	await(t, "the end of all streams of large files", func() bool { return largeStreams.Load() == 0 })
}

func largeFS(root string) *FS {
	return &FS{Root: root, CompressLarge: true, Compress: true, CompressBrotli: true, CompressZstd: true, StrongETags: true, AcceptByteRange: true}
}

// largeGet sends a request without reading the body.
func largeGet(t *testing.T, c *http.Client, method, url string, fields ...string) *http.Response {
	t.Helper()
	req, err := http.NewRequest(method, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range fields {
		name, value, _ := strings.Cut(f, ": ")
		req.Header.Set(name, value)
	}
	if req.Header.Get("Accept-Encoding") == "" {
		req.Header["Accept-Encoding"] = nil // or the client asks for gzip and decodes it
	}
	resp, err := c.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { resp.Body.Close() })
	return resp
}

// Large files are compressed while they are sent, with what belongs to a variant.
func TestFSCompressLarge(t *testing.T) {
	root := t.TempDir()
	text := largeText(t, filepath.Join(root, "f.txt"))
	write(t, filepath.Join(root, "f.bin"), strings.Repeat("\x00\x01\x02\x03", largeSize/4))
	sum := sha256.Sum256([]byte(text))
	round := 0
	eachH2(t, func(t *testing.T, way h2Way) {
		hs := way.start(t, &Server{Handler: largeFS(root).NewRequestHandler()})
		for major := 1; major <= 2; major++ {
			round++
			c := hs.client(major)
			plain := largeGet(t, c, "HEAD", hs.url("/f.txt"))
			if plain.ContentLength != largeSize || plain.Header.Get("Content-Encoding") != "" || plain.Header.Get("Vary") != "" {
				t.Errorf("HTTP/%d: the plain file: %v", major, plain.Header)
			}
			for i, tt := range []struct{ accept, coding string }{
				{"gzip, br, zstd", "zstd"}, {"br;q=1, gzip;q=0.9, zstd;q=0.8", "br"}, {"gzip", "gzip"}, {"identity", ""}, {"gzip;q=0", ""}, {"gzip;q=0.5, identity", ""},
			} {
				what := fmt.Sprintf("HTTP/%d, %s", major, tt.accept)
				resp := largeGet(t, c, "GET", hs.url("/f.txt"), "Accept-Encoding: "+tt.accept)
				h := resp.Header
				if resp.StatusCode != 200 || h.Get("Content-Encoding") != tt.coding || h.Get("Vary") != "Accept-Encoding" || h.Get("Content-Type") != "text/plain; charset=utf-8" {
					t.Fatalf("%s: %d, %v", what, resp.StatusCode, h)
				}
				tag, length := plain.Header.Get("ETag"), int64(largeSize)
				if tt.coding != "" {
					tag, length = "W/"+tag[:len(tag)-1]+"-"+tt.coding+`"`, -1
				}
				if h.Get("ETag") != tag || resp.ContentLength != length {
					t.Errorf("%s: tag %s, want %s; length %d, want %d", what, h.Get("ETag"), tag, resp.ContentLength, length)
				}
				if coding, _ := compress.Parse([]byte(tt.coding)); i == round%3 { // each coding in turn, because the whole body takes time
					z, err := compress.NewReader(resp.Body, coding)
					if err != nil {
						t.Fatal(err)
					}
					hash := sha256.New()
					if n, err := io.Copy(hash, z); err != nil || n != largeSize || [32]byte(hash.Sum(nil)) != sum {
						t.Errorf("%s: %d bytes, %v", what, n, err)
					}
					z.Close()
				}
				resp.Body.Close()
				head := largeGet(t, c, "HEAD", hs.url("/f.txt"), "Accept-Encoding: "+tt.accept)
				if head.Header.Get("ETag") != tag || head.Header.Get("Content-Encoding") != tt.coding || tt.coding != "" && head.Header.Get("Content-Length") != "" {
					t.Errorf("%s: HEAD: %v", what, head.Header)
				}
				if again := largeGet(t, c, "GET", hs.url("/f.txt"), "Accept-Encoding: "+tt.accept, "If-None-Match: "+tag); again.StatusCode != 304 || again.Header.Get("ETag") != tag {
					t.Errorf("%s: the tag gets %d", what, again.StatusCode)
				}
				if again := largeGet(t, c, "GET", hs.url("/f.txt"), "Accept-Encoding: "+tt.accept, "If-Match: \"other\""); again.StatusCode != 412 {
					t.Errorf("%s: If-Match gets %d", what, again.StatusCode)
				}
				part := largeGet(t, c, "GET", hs.url("/f.txt"), "Accept-Encoding: "+tt.accept, "Range: bytes=5-8")
				if b, err := io.ReadAll(part.Body); part.StatusCode != 206 || err != nil || string(b) != text[5:9] || part.Header.Get("Content-Encoding") != "" {
					t.Errorf("%s: a range: %d, %q, %v", what, part.StatusCode, b, err)
				}
			}
			if other := largeGet(t, c, "HEAD", hs.url("/f.bin"), "Accept-Encoding: gzip"); other.Header.Get("Content-Encoding") != "" {
				t.Error("a file is compressed that doesn't get smaller")
			}
		}
	})
	noLargeStreams(t)
	a := ask(t, (&FS{Root: root, Compress: true}).NewRequestHandler(), "HEAD", "/f.txt", "Accept-Encoding: gzip")
	if a.get("Content-Encoding") != "" {
		t.Error("large files are compressed by default")
	}
}

// Whatever ends a stream, its place is free and its file closed. A file that gets shorter
// doesn't look whole.
func TestFSCompressLargeEnds(t *testing.T) {
	root := t.TempDir()
	name := filepath.Join(root, "f.txt")
	eachH2(t, func(t *testing.T, way h2Way) {
		settings := largeFS("")
		files := countedFS{os.DirFS(root), new(atomic.Int32)}
		settings.FS, settings.SkipCache = files, true
		serve := settings.NewRequestHandler()
		hs := way.start(t, &Server{Handler: func(ctx *RequestCtx) {
			serve(ctx)
			switch string(ctx.QueryArgs().QueryString()) {
			case "panic":
				panic("after the file")
			case "other":
				ctx.SetBodyString("other")
			case "shorter":
				if err := os.Truncate(name, largeSize/2); err != nil {
					t.Error(err)
				}
			}
		}})
		over := func(what string) {
			t.Helper()
			await(t, what, func() bool { return largeStreams.Load() == 0 && files.open.Load() == 0 })
		}
		const gzip = "Accept-Encoding: gzip"
		for major := 1; major <= 2; major++ {
			largeText(t, name)
			c := hs.client(major)
			largeGet(t, c, "GET", hs.url("/f.txt"), gzip).Body.Close()
			over("a client that leaves")
			if resp := largeGet(t, c, "GET", hs.url("/f.txt?panic"), gzip); resp.StatusCode != 500 {
				t.Errorf("a panic gets %d", resp.StatusCode)
			}
			over("a panic")
			largeGet(t, c, "GET", hs.url("/f.txt?other"), gzip).Body.Close()
			over("another body")
			for _, field := range []string{"If-None-Match: *", "If-Match: \"x\"", "Range: bytes=0-1"} {
				largeGet(t, c, "GET", hs.url("/f.txt"), gzip, field).Body.Close()
				over(field)
			}
			largeGet(t, c, "HEAD", hs.url("/f.txt"), gzip)
			over("HEAD")
			for range maxLargeStreams {
				if !beginLarge() {
					t.Fatal("a place isn't free")
				}
			}
			if resp := largeGet(t, c, "HEAD", hs.url("/f.txt"), gzip); resp.ContentLength != largeSize || resp.Header.Get("Content-Encoding") != "" {
				t.Errorf("without a place: %v", resp.Header)
			}
			for range maxLargeStreams {
				endLarge()
			}
			resp := largeGet(t, c, "GET", hs.url("/f.txt?shorter"), gzip)
			if n, err := io.Copy(io.Discard, resp.Body); err == nil || resp.Header.Get("Content-Encoding") != "gzip" {
				t.Errorf("HTTP/%d: %d bytes of a file that got shorter look whole", major, n)
			}
			over("a file that got shorter")
		}
	})
}
