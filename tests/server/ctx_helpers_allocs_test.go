//go:build !race

package server

import (
	"testing"

	"github.com/galehttp/gale"
)

func TestJSONAllocs(t *testing.T) {
	type answer struct {
		Name string `json:"name"`
		N    int    `json:"n"`
	}
	ctx, v := &gale.RequestCtx{}, &answer{"a", 1}
	if n := testing.AllocsPerRun(100, func() {
		if err := ctx.JSON(gale.StatusOK, v); err != nil {
			t.Fatal(err)
		}
	}); n > 1 {
		t.Errorf("%v allocations, want that of the encoder", n)
	}
}
