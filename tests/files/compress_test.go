package files

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/galehttp/gale"
	"github.com/galehttp/gale/tests/harness"
	"github.com/galehttp/gale/tests/harness/peers"
)

func fsDecoded(t *testing.T, a *harness.FileAnswer) string {
	t.Helper()
	var out []byte
	var err error
	switch a.Get("Content-Encoding") {
	case "gzip":
		out, err = gale.AppendGunzipBytes(nil, []byte(a.Body))
	case "br":
		out, err = gale.AppendUnbrotliBytes(nil, []byte(a.Body))
	case "zstd":
		out, err = gale.AppendUnzstdBytes(nil, []byte(a.Body))
	default:
		return a.Body
	}
	if err != nil {
		t.Errorf("%s: %v", a.Get("Content-Encoding"), err)
	}
	return string(out)
}

func TestFSCompress(t *testing.T) {
	root := peers.FileTree(t)
	big := strings.Repeat("0123456789", 10_000)
	settings := func() *gale.FS {
		return &gale.FS{Root: root, Compress: true, CompressBrotli: true, CompressZstd: true, AcceptByteRange: true, GenerateETag: true}
	}
	h := settings().NewRequestHandler()
	tags := map[string]string{}
	for _, tt := range []struct{ target, accept, coding string }{
		{"/big.txt", "", ""},
		{"/big.txt", "gzip, br, zstd", "br"},
		{"/big.txt", "gzip", "gzip"},
		{"/big.txt", "zstd", "zstd"},
		{"/big.txt", "gzip;q=0", ""},
		{"/big.txt", "identity", ""},
		{"/big.bin", "gzip, br, zstd", ""},
		{"/hello.txt", "gzip, br, zstd", ""},
	} {
		for range 2 {
			a := harness.Ask(t, h, "GET", tt.target, "Accept-Encoding: "+tt.accept)
			if a.Status != 200 || a.Get("Content-Encoding") != tt.coding {
				t.Errorf("%s, %q: %d, %q", tt.target, tt.accept, a.Status, a.Get("Content-Encoding"))
			}
			if vary := a.Get("Vary"); (vary == "Accept-Encoding") != (strings.HasSuffix(tt.target, ".txt") && tt.accept != "") {
				t.Errorf("%s, %q: Vary %q", tt.target, tt.accept, vary)
			}
			if tt.target != "/big.txt" {
				continue
			}
			if fsDecoded(t, a) != big {
				t.Errorf("%s, %q: not the file", tt.target, tt.accept)
			}
			if other, ok := tags[a.Get("ETag")]; ok && other != tt.coding {
				t.Errorf("%q and %q have the tag %s", other, tt.coding, a.Get("ETag"))
			}
			tags[a.Get("ETag")] = tt.coding
			if b := harness.Ask(t, h, "GET", tt.target, "Accept-Encoding: "+tt.accept, "If-None-Match: "+a.Get("ETag")); b.Status != 304 || b.Get("Vary") != a.Get("Vary") {
				t.Errorf("%q: %d, Vary %q", tt.accept, b.Status, b.Get("Vary"))
			}
		}
	}
	for _, suffix := range gale.FSCompressedFileSuffixes {
		name := filepath.Join(root, "big.txt"+suffix)
		if mustStat(t, name).ModTime() != mustStat(t, filepath.Join(root, "big.txt")).ModTime() {
			t.Errorf("%s is of another time", name)
		}
	}
	if a := harness.Ask(t, h, "GET", "/big.txt", "Accept-Encoding: gzip", "Range: bytes=0-1"); a.Status != 206 || a.Body != "01" || a.Get("Content-Encoding") != "" {
		t.Errorf("range: %d, %q, %q", a.Status, a.Body, a.Get("Content-Encoding"))
	}

	// Another handler uses the copies of the first one: change one so that it can be
	// recognized.
	name := filepath.Join(root, "big.txt.fasthttp.gz")
	marked := gale.AppendGzipBytes(nil, []byte("marked"))
	info := mustStat(t, name)
	peers.Write(t, name, string(marked))
	if err := os.Chtimes(name, info.ModTime(), info.ModTime()); err != nil {
		t.Fatal(err)
	}
	if a := harness.Ask(t, settings().NewRequestHandler(), "GET", "/big.txt", "Accept-Encoding: gzip"); fsDecoded(t, a) != "marked" {
		t.Error("the copy is made anew")
	}
	// A changed file gets a new copy.
	peers.Write(t, filepath.Join(root, "big.txt"), strings.ToUpper(strings.Repeat("changed ", 5000)))
	if a := harness.Ask(t, settings().NewRequestHandler(), "GET", "/big.txt", "Accept-Encoding: gzip"); !strings.HasPrefix(fsDecoded(t, a), "CHANGED") {
		t.Error("the copy of the old file is served")
	}
}

func TestFSCompressRoot(t *testing.T) {
	root, copies := peers.FileTree(t), filepath.Join(t.TempDir(), "copies")
	if err := os.Mkdir(copies, 0o700); err != nil {
		t.Fatal(err)
	}
	peers.Write(t, filepath.Join(root, "sub", "deep", "long.txt"), strings.Repeat("long ", 1000))
	fs := &gale.FS{Root: root, CompressRoot: copies, Compress: true, CompressedFileSuffixes: map[string]string{"gzip": ".packed"}}
	if a := harness.Ask(t, fs.NewRequestHandler(), "GET", "/sub/deep/long.txt", "Accept-Encoding: gzip"); a.Get("Content-Encoding") != "gzip" {
		t.Error("not compressed")
	}
	if _, err := os.Stat(filepath.Join(copies, "sub", "deep", "long.txt.packed")); err != nil {
		t.Error(err)
	}
	if entries, _ := os.ReadDir(filepath.Join(root, "sub", "deep")); len(entries) != 1 {
		t.Errorf("%d files beside the file", len(entries))
	}
}

func TestFSCompressWithoutWriting(t *testing.T) {
	root := peers.FileTree(t)
	// There is a directory in place of the copy, so not even root can write it.
	if err := os.MkdirAll(filepath.Join(root, "big.txt.fasthttp.gz", "x"), 0o700); err != nil {
		t.Fatal(err)
	}
	fs := &gale.FS{Root: root, Compress: true}
	for range 2 {
		if a := harness.Ask(t, fs.NewRequestHandler(), "GET", "/big.txt", "Accept-Encoding: gzip"); a.Get("Content-Encoding") != "gzip" || len(fsDecoded(t, a)) != 100_000 {
			t.Errorf("%d, %q", a.Status, a.Get("Content-Encoding"))
		}
	}
}

func TestFSPrecompressed(t *testing.T) {
	root := peers.FileTree(t)
	mark := func(suffix, text string, age time.Duration) {
		name := filepath.Join(root, "big.txt"+suffix)
		peers.Write(t, name, text)
		at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC).Add(age)
		if err := os.Chtimes(name, at, at); err != nil {
			t.Fatal(err)
		}
	}
	mark(".gz", "as gzip", time.Hour)
	mark(".br", "as br", 0)
	mark(".zst", "as zstd", -time.Hour) // left from an older version of the file
	fs := &gale.FS{Root: root, Precompressed: true, GenerateETag: true}
	for _, tt := range []struct{ accept, coding, body string }{
		{"gzip", "gzip", "as gzip"},
		{"gzip, br", "br", "as br"},
		{"gzip, br, zstd", "br", "as br"},
		{"gzip, zstd", "gzip", "as gzip"},
		{"gzip;q=0.5, zstd", "gzip", "as gzip"},
		{"zstd", "", strings.Repeat("0123456789", 10_000)},
	} {
		for range 2 {
			a := harness.Ask(t, fs.NewRequestHandler(), "GET", "/big.txt", "Accept-Encoding: "+tt.accept)
			if a.Get("Content-Encoding") != tt.coding || a.Body != tt.body || a.Get("Vary") != "Accept-Encoding" ||
				string(a.Header.ContentType()) != "text/plain; charset=utf-8" {
				t.Errorf("%q: %q, %.20q, %s", tt.accept, a.Get("Content-Encoding"), a.Body, a.Header.ContentType())
			}
		}
	}
	if entries, _ := filepath.Glob(filepath.Join(root, "*fasthttp*")); len(entries) > 0 {
		t.Errorf("wrote %v without Compress", entries)
	}
}
