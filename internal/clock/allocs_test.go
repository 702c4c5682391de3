//go:build !race

package clock

import (
	"testing"
	"time"
)

func TestAllocs(t *testing.T) {
	buf := make([]byte, 0, DateLen)
	pin := func(why string) {
		t.Helper()
		n := testing.AllocsPerRun(100, func() {
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
