//go:build !race

package compress

import (
	"bytes"
	"io"
	"testing"

	"github.com/galehttp/gale/internal/alloctest"
)

func TestAllocs(t *testing.T) {
	body := bytes.Repeat([]byte("hello world "), 1000)
	accept := [][]byte{[]byte("gzip;q=0.8, deflate, br;q=1.0, zstd, *;q=0.1")}
	if n := alloctest.PerRun(100, func() { Negotiate(accept, Brotli, Gzip, Deflate, Zstd) }); n != 0 {
		t.Errorf("Negotiate: %v allocs, want 0", n)
	}
	typ := []byte("application/vnd.api+json; charset=utf-8")
	if n := alloctest.PerRun(100, func() { Compressible(typ) }); n != 0 {
		t.Errorf("Compressible: %v allocs, want 0", n)
	}
	for _, c := range codings {
		enc := Append(nil, body, c, 4)
		dst := make([]byte, 0, 2*len(body))
		if n := alloctest.PerRun(20, func() { dst = Append(dst[:0], body, c, 4) }); n != 0 {
			t.Errorf("%v: Append %v allocs, want 0", c, n)
		}
		if n := alloctest.PerRun(20, func() {
			w := NewWriter(io.Discard, c, 4)
			_, _ = w.Write(body)
			_ = w.Flush()
			_ = w.Close()
		}); n > maxWriterAllocs[c] {
			t.Errorf("%v: Writer %v allocs, want at most %v", c, n, maxWriterAllocs[c])
		}
		if n := alloctest.PerRun(20, func() { dst, _ = AppendDecoded(dst[:0], enc, c, len(body)) }); n > maxDecodeAllocs[c] {
			t.Errorf("%v: AppendDecoded %v allocs, want at most %v", c, n, maxDecodeAllocs[c])
		}
	}
}

// Some encoders and decoders allocate a little inside, whatever we do.
var (
	maxWriterAllocs = [Codings]float64{Zstd: 2}
	maxDecodeAllocs = [Codings]float64{Brotli: 3}
)
