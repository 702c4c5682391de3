package static

import (
	"testing"

	"github.com/galehttp/gale/internal/compress"
)

func TestChooseCoding(t *testing.T) {
	all := Of(compress.Gzip, compress.Brotli, compress.Zstd)
	for _, tt := range []struct {
		accept string
		offer  CodingSet
		want   compress.Coding
	}{
		{"", all, compress.Identity},
		{"gzip", all, compress.Gzip},
		{"GZip", all, compress.Gzip},
		{"x-gzip", all, compress.Gzip},
		{"gzip, deflate, br, zstd", all, compress.Brotli},
		{"gzip, deflate, br, zstd", Of(compress.Gzip, compress.Zstd), compress.Zstd},
		{"gzip, deflate, br, zstd", Of(compress.Gzip), compress.Gzip},
		{"gzip, br", 0, compress.Identity},
		{"gzip;q=1.0, br;q=0.5", all, compress.Gzip},
		{"gzip;q=0", all, compress.Identity},
		{"gzip;q=0, *", all, compress.Brotli},
		{"*", Of(compress.Gzip), compress.Gzip},
		{"*;q=0", all, compress.Identity},
		{"br;q=0.001", all, compress.Brotli},
		{"identity", all, compress.Identity},
		{"identity;q=1, gzip;q=0.5", all, compress.Identity},
		{"identity;q=0.5, gzip;q=0.5", all, compress.Gzip},
		{"gzip;q=2", all, compress.Identity},
		{"gzip;q=x, br", all, compress.Brotli},
		{"gzip ; q=0.8 ,\tbr; q=0.9", all, compress.Brotli},
		{"gzipx, xbr", all, compress.Identity},
		{"deflate", all, compress.Identity},
		{";q=1", all, compress.Identity},
	} {
		if got := ChooseCoding(lines(tt.accept), tt.offer); got != tt.want {
			t.Errorf("%q of %b: got %v, want %v", tt.accept, tt.offer, got, tt.want)
		}
	}
}

func FuzzChooseCoding(f *testing.F) {
	f.Add([]byte("gzip;q=0.5, br;q=1, *;q=0"), uint8(15))
	f.Fuzz(func(t *testing.T, accept []byte, offer uint8) {
		offered := CodingSet(offer) &^ Of(compress.Identity)
		if c := ChooseCoding([][]byte{accept}, offered); c != compress.Identity && !offered.Has(c) {
			t.Fatalf("%v was not on offer", c)
		}
	})
}

func TestTypeByName(t *testing.T) {
	for name, want := range map[string]string{
		"a.html": "text/html; charset=utf-8", "a.HTML": "text/html; charset=utf-8", "x.min.mjs": "text/javascript; charset=utf-8",
		"a.wasm": "application/wasm", "a.webmanifest": "application/manifest+json", "a.woff2": "font/woff2", "a.mp4": "video/mp4",
		"noext": "", "dir.d/noext": "", "a.": "",
	} {
		if got := TypeByName(name); got != want {
			t.Errorf("%q: got %q, want %q", name, got, want)
		}
	}
}

func TestCompressible(t *testing.T) {
	for ct, want := range map[string]bool{
		"text/html; charset=utf-8": true, "application/json": true, "image/svg+xml": true, "application/wasm": true,
		"image/png": false, "video/mp4": false, "font/woff2": false, "application/zip": false, "": false,
	} {
		if got := Compressible(ct); got != want {
			t.Errorf("%q: got %v", ct, got)
		}
	}
}
