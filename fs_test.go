package gale

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"testing/fstest"
	"testing/iotest"
	"time"

	"github.com/galehttp/gale/internal/compress"
	"github.com/galehttp/gale/internal/pool"
	"github.com/galehttp/gale/internal/race"
	"github.com/galehttp/gale/internal/static"
	"github.com/galehttp/gale/tests/harness/await"
	"github.com/galehttp/gale/tests/harness/gate"
	"github.com/galehttp/gale/tests/harness/peers"
)

// openShared writes data to a file and opens it.
func openShared(t *testing.T, data string) (*static.File, string) {
	t.Helper()
	name := filepath.Join(t.TempDir(), "f")
	if err := os.WriteFile(name, []byte(data), 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	return static.NewFile(f), name
}

func TestFileBody(t *testing.T) {
	data := strings.Repeat("0123456789", 10_000)
	file, _ := openShared(t, data)
	defer file.Release()
	body := func() *fileBody { file.Acquire(); return newFileBody(file, 5, 90_000) }
	want := []byte(data[5:90_005])
	b := body()
	if err := iotest.TestReader(struct{ io.Reader }{b}, want); err != nil {
		t.Error(err)
	}
	b.Close()
	b = body()
	f, off, n, ok := b.fileRange()
	if !ok || f != file.OS() || off != 5 || n != 90_000 {
		t.Errorf("file range %v, %d, %d, %v", f, off, n, ok)
	}
	io.ReadFull(b, make([]byte, 10))
	if _, off, n, _ = b.fileRange(); off != 15 || n != 89_990 {
		t.Errorf("file range after a read: %d, %d", off, n)
	}
	var out bytes.Buffer
	if n, err := b.WriteTo(&out); n != 89_990 || err != nil || !bytes.Equal(out.Bytes(), want[10:]) {
		t.Errorf("wrote %d, %v", n, err)
	}
	b.Close()
	if err := b.Close(); err != nil {
		t.Errorf("second Close: %v", err)
	}
	if _, _, _, ok := b.fileRange(); ok {
		t.Error("a closed body has a file")
	}
}

func TestFileBodyTruncated(t *testing.T) {
	file, name := openShared(t, "0123456789")
	b := newFileBody(file, 0, 10)
	defer b.Close()
	if err := os.Truncate(name, 4); err != nil {
		t.Fatal(err)
	}
	got, err := io.ReadAll(b)
	if string(got) != "0123" || !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("got %q, %v: a body must not end as if it was whole", got, err)
	}
}

func TestPartsBody(t *testing.T) {
	data := strings.Repeat("abcdefghij", 5000)
	file, _ := openShared(t, data)
	frame := static.Multipart{Boundary: "b", ContentType: "text/plain", Size: int64(len(data))}
	rs := []static.Range{{Start: 40_000, Length: 5000}, {Start: 0, Length: 1}, {Start: 3, Length: 100}}
	var want []byte
	for i, r := range rs {
		want = frame.AppendPartHead(want, r, i == 0)
		want = append(want, data[r.Start:r.Start+r.Length]...)
	}
	want = frame.AppendEnd(want)
	if n := frame.Len(rs); n != int64(len(want)) {
		t.Fatalf("length %d, want %d", n, len(want))
	}
	b := newPartsBody(file, frame, rs)
	if err := iotest.TestReader(struct{ io.Reader }{b}, want); err != nil {
		t.Error(err)
	}
	b.Close()
	if err := b.Close(); err != nil {
		t.Errorf("second Close: %v", err)
	}
	if file.Acquire() {
		t.Error("the file is still open")
	}
}

func TestTreeBody(t *testing.T) {
	data := []byte(strings.Repeat("0123456789", 1000))
	tree := fstest.MapFS{"f": {Data: data}}
	for _, fsys := range []fs.FS{tree, peers.PlainTree{FS: tree}} {
		f, err := fsys.Open("f")
		if err != nil {
			t.Fatal(err)
		}
		b := &treeBody{file: f, skip: 1234, n: 5000}
		if err := iotest.TestReader(b, data[1234:6234]); err != nil {
			t.Errorf("%T: %v", fsys, err)
		}
		b.Close()
		if err := b.Close(); err != nil {
			t.Errorf("second Close: %v", err)
		}
	}
}

// A file that always returns nothing, or an impossible count, breaks its body off.
func TestFileBodyBreaksOff(t *testing.T) {
	for what, tt := range map[string]struct {
		count func(n int) int
		want  error
	}{
		"nothing":   {func(int) int { return 0 }, io.ErrNoProgress},
		"less":      {func(int) int { return -1 }, pool.ErrBadRead},
		"too much":  {func(n int) int { return n + 1 }, pool.ErrBadRead},
		"very much": {func(int) int { return math.MaxInt }, pool.ErrBadRead},
	} {
		for _, skip := range []int64{0, 100} {
			for _, n := range []int{10, copyBlock, copyBlock + 1} {
				f := peers.CountReader{Count: tt.count}
				for _, b := range []io.Reader{
					&treeBody{file: f, skip: skip, n: int64(n)}, newFileBody(static.NewFile(f), skip, int64(n)),
				} {
					var got bytes.Buffer
					if _, err := copyStream(&got, b, math.MaxInt64); !errors.Is(err, tt.want) || got.Len() != 0 {
						t.Errorf("%s, %T, %d after %d bytes: %v and %d bytes, want %v", what, b, n, skip, err, got.Len(), tt.want)
					}
				}
			}
		}
	}
}

const largeSize = 9 << 20

// largeText makes a file of largeSize bytes.
func largeText(t *testing.T, name string) (text string) {
	t.Helper()
	var b strings.Builder
	for i := 0; b.Len() < largeSize; i++ {
		fmt.Fprintf(&b, "line %d of a log that has many lines which are nearly the same\n", i)
	}
	text = b.String()[:largeSize]
	peers.Write(t, name, text)
	old := time.Now().Add(-time.Hour)
	if err := os.Chtimes(name, old, old); err != nil {
		t.Fatal(err)
	}
	return text
}

// noLargeStreams waits until no place for a large file is taken.
func noLargeStreams(t *testing.T) {
	t.Helper()
	await.Gone(t, "streams of large files", func() bool { return largeStreams.Load() == 0 })
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
	peers.Write(t, filepath.Join(root, "f.bin"), strings.Repeat("\x00\x01\x02\x03", largeSize/4))
	sum := sha256.Sum256([]byte(text))
	round := 0
	peers.EachWay(t, func(t *testing.T, way h2Way) {
		hs := way.start(t, &Server{Handler: largeFS(root).NewRequestHandler()})
		for major := 1; major <= 2; major++ {
			if way.TLS && major == 1 && !gate.Full() {
				continue
			}
			round++
			c := hs.Client(major)
			plain := largeGet(t, c, "HEAD", hs.URL("/f.txt"))
			if plain.ContentLength != largeSize || plain.Header.Get("Content-Encoding") != "" || plain.Header.Get("Vary") != "" {
				t.Errorf("HTTP/%d: the plain file: %v", major, plain.Header)
			}
			for i, tt := range []struct{ accept, coding string }{
				{"gzip, br, zstd", "zstd"}, {"br;q=1, gzip;q=0.9, zstd;q=0.8", "br"}, {"gzip", "gzip"}, {"identity", ""}, {"gzip;q=0", ""}, {"gzip;q=0.5, identity", ""},
			} {
				what := fmt.Sprintf("HTTP/%d, %s", major, tt.accept)
				resp := largeGet(t, c, "GET", hs.URL("/f.txt"), "Accept-Encoding: "+tt.accept)
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
				if coding, _ := compress.Parse([]byte(tt.coding)); i == round%3 && (round <= 3 || gate.Full() && !race.Enabled) { // each coding in turn, because the whole body takes time
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
				head := largeGet(t, c, "HEAD", hs.URL("/f.txt"), "Accept-Encoding: "+tt.accept)
				if head.Header.Get("ETag") != tag || head.Header.Get("Content-Encoding") != tt.coding || tt.coding != "" && head.Header.Get("Content-Length") != "" {
					t.Errorf("%s: HEAD: %v", what, head.Header)
				}
				if again := largeGet(t, c, "GET", hs.URL("/f.txt"), "Accept-Encoding: "+tt.accept, "If-None-Match: "+tag); again.StatusCode != 304 || again.Header.Get("ETag") != tag {
					t.Errorf("%s: the tag gets %d", what, again.StatusCode)
				}
				if again := largeGet(t, c, "GET", hs.URL("/f.txt"), "Accept-Encoding: "+tt.accept, "If-Match: \"other\""); again.StatusCode != 412 {
					t.Errorf("%s: If-Match gets %d", what, again.StatusCode)
				}
				part := largeGet(t, c, "GET", hs.URL("/f.txt"), "Accept-Encoding: "+tt.accept, "Range: bytes=5-8")
				if b, err := io.ReadAll(part.Body); part.StatusCode != 206 || err != nil || string(b) != text[5:9] || part.Header.Get("Content-Encoding") != "" {
					t.Errorf("%s: a range: %d, %q, %v", what, part.StatusCode, b, err)
				}
			}
			if other := largeGet(t, c, "HEAD", hs.URL("/f.bin"), "Accept-Encoding: gzip"); other.Header.Get("Content-Encoding") != "" {
				t.Error("a file is compressed that doesn't get smaller")
			}
		}
	})
	noLargeStreams(t)
	hs := h2Way{Engine: EngineBlock}.start(t, &Server{Handler: (&FS{Root: root, Compress: true}).NewRequestHandler()})
	if resp := largeGet(t, hs.Client(1), "HEAD", hs.URL("/f.txt"), "Accept-Encoding: gzip"); resp.Header.Get("Content-Encoding") != "" {
		t.Error("large files are compressed by default")
	}
}

// Whatever ends a stream, its place is free and its file closed. A file that gets shorter
// doesn't look whole.
func TestFSCompressLargeEnds(t *testing.T) {
	root := t.TempDir()
	name := filepath.Join(root, "f.txt")
	peers.EachWay(t, func(t *testing.T, way h2Way) {
		settings := largeFS("")
		files := peers.CountedFS{FS: os.DirFS(root), Opened: new(atomic.Int32)}
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
			await.Until(t, what, func() bool { return largeStreams.Load() == 0 && files.Opened.Load() == 0 })
		}
		const gzip = "Accept-Encoding: gzip"
		for major := 1; major <= 2; major++ {
			if way.TLS && major == 1 && !gate.Full() {
				continue
			}
			largeText(t, name)
			c := hs.Client(major)
			largeGet(t, c, "GET", hs.URL("/f.txt"), gzip).Body.Close()
			over("a client that leaves")
			if resp := largeGet(t, c, "GET", hs.URL("/f.txt?panic"), gzip); resp.StatusCode != 500 {
				t.Errorf("a panic gets %d", resp.StatusCode)
			}
			over("a panic")
			largeGet(t, c, "GET", hs.URL("/f.txt?other"), gzip).Body.Close()
			over("another body")
			for _, field := range []string{"If-None-Match: *", "If-Match: \"x\"", "Range: bytes=0-1"} {
				largeGet(t, c, "GET", hs.URL("/f.txt"), gzip, field).Body.Close()
				over(field)
			}
			largeGet(t, c, "HEAD", hs.URL("/f.txt"), gzip)
			over("HEAD")
			for range maxLargeStreams {
				if !beginLarge() {
					t.Fatal("a place isn't free")
				}
			}
			if resp := largeGet(t, c, "HEAD", hs.URL("/f.txt"), gzip); resp.ContentLength != largeSize || resp.Header.Get("Content-Encoding") != "" {
				t.Errorf("without a place: %v", resp.Header)
			}
			for range maxLargeStreams {
				endLarge()
			}
			resp := largeGet(t, c, "GET", hs.URL("/f.txt?shorter"), gzip)
			if n, err := io.Copy(io.Discard, resp.Body); err == nil || resp.Header.Get("Content-Encoding") != "gzip" {
				t.Errorf("HTTP/%d: %d bytes of a file that got shorter look whole", major, n)
			}
			over("a file that got shorter")
		}
	})
}

// A listing that there is no place for is refused for now.
func TestFSBusy(t *testing.T) {
	var ctx RequestCtx
	ctx.Init(&Request{}, nil, nil)
	(&fsHandler{}).fail(&ctx, nil, static.ErrBusy)
	if got := ctx.Response.StatusCode(); got != StatusServiceUnavailable {
		t.Errorf("got %d", got)
	}
}
