//go:build !race

package static

import (
	"testing"
	"time"

	"github.com/galehttp/gale/internal/alloctest"
	"github.com/galehttp/gale/internal/compress"
)

func TestAllocs(t *testing.T) {
	c := NewCache[*thing](time.Minute, Limits{Entries: 100, Bytes: 1 << 20, Files: 100})
	path := []byte("/a/b.txt")
	e := newThing(1, 0)
	c.Put(path, compress.Identity, e, 0)
	accept := lines("gzip, deflate, br;q=0.9", "zstd")
	rangeField := []byte("bytes=0-1,4-5")
	cond := Conditions{IfNoneMatch: lines(`"x", "y"`), IfModifiedSince: []byte("Fri, 02 Jan 2026 03:04:05 GMT"), ReadOnly: true}
	v := Validators{ETag: []byte(`"y"`), ModTime: stamp}
	for name, f := range map[string]func(){
		"Cache.Get":    func() { c.Get(path, compress.Identity, 0); e.Release() },
		"ChooseCoding": func() { ChooseCoding(accept, Of(compress.Gzip, compress.Brotli)) },
		"Rules.Check":  func() { Rules{HideDot: true}.Check(path) },
		"Evaluate":     func() { cond.Evaluate(v) },
		"ParseDate":    func() { ParseDate(cond.IfModifiedSince) },
		"ParseRanges": func() {
			var buf [4]Range
			ParseRanges(buf[:0], rangeField, 26, 4)
		},
	} {
		if n := alloctest.PerRun(100, f); n != 0 {
			t.Errorf("%s: %v allocations, want none", name, n)
		}
	}
}
