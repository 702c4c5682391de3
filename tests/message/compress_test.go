package message

import (
	"bytes"
	"compress/gzip"
	"compress/zlib"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/galehttp/gale"
)

// codingFuncs are the package's functions for one content coding.
type codingFuncs struct {
	name        string
	append      func(dst, src []byte) []byte
	appendLevel func(dst, src []byte, level int) []byte
	writeLevel  func(w io.Writer, p []byte, level int) (int, error)
	appendBack  func(dst, src []byte) ([]byte, error)
	writeBack   func(w io.Writer, p []byte) (int, error)
}

var codingTable = []codingFuncs{
	{"gzip", gale.AppendGzipBytes, gale.AppendGzipBytesLevel, gale.WriteGzipLevel, gale.AppendGunzipBytes, gale.WriteGunzip},
	{"deflate", gale.AppendDeflateBytes, gale.AppendDeflateBytesLevel, gale.WriteDeflateLevel, gale.AppendInflateBytes, gale.WriteInflate},
	{"br", gale.AppendBrotliBytes, gale.AppendBrotliBytesLevel, gale.WriteBrotliLevel, gale.AppendUnbrotliBytes, gale.WriteUnbrotli},
	{"zstd", gale.AppendZstdBytes, gale.AppendZstdBytesLevel, gale.WriteZstdLevel, gale.AppendUnzstdBytes, gale.WriteUnzstd},
}

func TestCodingFuncsRoundTrip(t *testing.T) {
	for _, c := range codingTable {
		for _, body := range []string{"", "x", strings.Repeat("hello world ", 1000)} {
			// Levels that don't exist mean the default.
			for _, level := range []int{-100, -2, 0, 1, 4, 6, 9, 11, 100} {
				enc := c.appendLevel([]byte("head"), []byte(body), level)
				dec, err := c.appendBack([]byte("head"), bytes.TrimPrefix(enc, []byte("head")))
				if err != nil || string(dec) != "head"+body {
					t.Fatalf("%s level %d: %d bytes back, %v", c.name, level, len(dec), err)
				}
				var w, back bytes.Buffer
				if n, err := c.writeLevel(&w, []byte(body), level); n != len(body) || err != nil {
					t.Fatalf("%s level %d: write returned %d, %v", c.name, level, n, err)
				}
				if n, err := c.writeBack(&back, w.Bytes()); n != len(body) || err != nil || back.String() != body {
					t.Fatalf("%s level %d: write back returned %d, %v", c.name, level, n, err)
				}
			}
			if dec, err := c.appendBack(nil, c.append(nil, []byte(body))); err != nil || string(dec) != body {
				t.Fatalf("%s: %d bytes back, %v", c.name, len(dec), err)
			}
		}
	}
}

func TestCodingFuncsAgainstStandardLibrary(t *testing.T) {
	body := strings.Repeat("hello world ", 1000)
	zr, err := gzip.NewReader(bytes.NewReader(gale.AppendGzipBytes(nil, []byte(body))))
	if err != nil {
		t.Fatal(err)
	}
	if got, err := io.ReadAll(zr); err != nil || string(got) != body {
		t.Fatalf("gzip: %d bytes, %v", len(got), err)
	}
	lr, err := zlib.NewReader(bytes.NewReader(gale.AppendDeflateBytes(nil, []byte(body))))
	if err != nil {
		t.Fatal(err)
	}
	if got, err := io.ReadAll(lr); err != nil || string(got) != body {
		t.Fatalf("deflate: %d bytes, %v", len(got), err)
	}
}

type brokenWriter struct{ err error }

func (w brokenWriter) Write([]byte) (int, error) { return 0, w.err }

func TestCodingFuncsErrors(t *testing.T) {
	broken := brokenWriter{errors.New("broken")}
	for _, c := range codingTable {
		if _, err := c.appendBack(nil, []byte("this is garbage, surely")); err == nil {
			t.Errorf("%s: garbage was decoded", c.name)
		}
		if _, err := c.writeLevel(broken, []byte("x"), 6); !errors.Is(err, broken.err) {
			t.Errorf("%s: write gave %v, want the writer's error", c.name, err)
		}
		if _, err := c.writeBack(broken, c.append(nil, []byte("x"))); !errors.Is(err, broken.err) {
			t.Errorf("%s: write back gave %v, want the writer's error", c.name, err)
		}
	}
}
