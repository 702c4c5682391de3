//go:build !race

package message

import (
	"testing"

	"github.com/galehttp/gale"
	"github.com/galehttp/gale/internal/alloctest"
	"github.com/galehttp/gale/tests/harness"
	"github.com/galehttp/gale/tests/harness/peers"
)

func TestCompressAllocs(t *testing.T) {
	ctx := &gale.RequestCtx{}
	ctx.Request.Header.Set(gale.HeaderAcceptEncoding, "gzip, deflate, br")
	body := []byte(peers.CompressText)
	h := harness.WithBrotli(func(ctx *gale.RequestCtx) { ctx.Response.SetBody(body) })
	if n := alloctest.PerRun(50, func() {
		ctx.Response.Reset()
		h(ctx)
	}); n > 0 {
		t.Errorf("CompressHandler: %v allocs, want 0", n)
	}
	if len(ctx.Response.Header.ContentEncoding()) == 0 {
		t.Fatal("nothing was encoded")
	}
}
