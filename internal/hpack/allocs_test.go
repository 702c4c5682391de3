//go:build !race

package hpack

import (
	"testing"

	"github.com/galehttp/gale/internal/alloctest"
)

// Nothing is allocated once buffers and tables have their size, not even while entries
// come and go.
func TestAllocs(t *testing.T) {
	for name, f := range map[string]func(){
		"decode":         newDecodeLoop(t, browserHead, false),
		"decode, fresh":  newDecodeLoop(t, browserHead, true),
		"skip":           newSkipLoop(t),
		"encode":         newEncodeLoop(false),
		"encode, fresh":  newEncodeLoop(true),
		"encode, misses": newChurnLoop(t),
	} {
		f()
		if n := alloctest.PerRun(500, f); n > 0 {
			t.Errorf("%s: %v allocations", name, n)
		}
	}
}
