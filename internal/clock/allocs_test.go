//go:build !race

package clock

import (
	"testing"
	"time"

	"github.com/galehttp/gale/internal/alloctest"
)

func TestAllocs(t *testing.T) {
	buf := make([]byte, 0, DateLen)
	pin := func(why string) {
		t.Helper()
		n := alloctest.PerRun(100, func() {
			buf = AppendDate(buf[:0])
			buf = AppendDateAt(buf[:0], time.Now())
			_ = Now()
		})
		if n != 0 {
			t.Errorf("%s: %v allocs, want 0", why, n)
		}
	}
	pin("nobody holds the clock")
	defer Start()()
	pin("held")
}
