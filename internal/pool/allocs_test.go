//go:build !race

package pool

import (
	"bytes"
	"testing"

	"github.com/galehttp/gale/internal/alloctest"
)

func TestAllocs(t *testing.T) {
	data := bytes.Repeat([]byte("gale"), 10000)
	r := bytes.NewReader(data)
	pins := []struct {
		name string
		run  func()
	}{
		{"Get and Put", func() { Put(Get(4096)) }},
		{"Get and Put of 20 MB", func() { Put(Get(20 << 20)) }},
		{"growing to 5 MB", func() {
			b := Get(0)
			for range 125 {
				_, _ = b.Write(data)
			}
			Put(b)
		}},
		{"growing from nothing", func() {
			b := Get(0)
			for p := data; len(p) > 0; p = p[1000:] {
				_, _ = b.Write(p[:1000])
			}
			Put(b)
		}},
		{"ReadFrom", func() {
			r.Reset(data)
			b := Get(0)
			_, _ = b.ReadFrom(r)
			Put(b)
		}},
	}
	for _, p := range pins {
		p.run()
		if n := alloctest.PerRun(100, p.run); n != 0 {
			t.Errorf("%s: %v allocs, want 0", p.name, n)
		}
	}
}
