//go:build !race

package stackless

import (
	"testing"

	"github.com/galehttp/gale/internal/alloctest"
)

func TestFuncAllocs(t *testing.T) {
	n := 0
	f := NewFunc(func(ctx any) { *ctx.(*int)++ })
	f(&n)
	if got := alloctest.PerRun(200, func() { f(&n) }); got != 0 {
		t.Errorf("a call allocates %v times", got)
	}
}
