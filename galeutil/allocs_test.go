//go:build !race

package galeutil

import (
	"io"
	"testing"
	"time"

	"github.com/galehttp/gale/internal/alloctest"
)

// Reading, writing and moving deadlines allocate nothing.
func TestAllocs(t *testing.T) {
	a, b := ends(t)
	go func() {
		buf := make([]byte, 64)
		for {
			n, err := b.Read(buf)
			if err != nil {
				return
			}
			b.Write(buf[:n])
		}
	}()
	buf, big := make([]byte, 64), make([]byte, 16<<10)
	if n := alloctest.PerRun(1000, func() {
		a.SetDeadline(time.Now().Add(time.Minute))
		a.Write(buf)
		io.ReadFull(a, buf)
	}); n != 0 {
		t.Errorf("%v allocations for a round trip", n)
	}
	a, b = ends(t)
	if n := alloctest.PerRun(1000, func() {
		a.Write(big)
		a.Write(buf)
		io.ReadFull(b, big)
		io.ReadFull(b, buf)
	}); n != 0 {
		t.Errorf("%v allocations for buffered writes", n)
	}
}
