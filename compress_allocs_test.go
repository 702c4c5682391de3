//go:build !race

package gale

import (
	"testing"

	"github.com/galehttp/gale/internal/alloctest"
)

func TestCompressAllocs(t *testing.T) {
	ctx := &RequestCtx{}
	ctx.Request.Header.Set(HeaderAcceptEncoding, "gzip, deflate, br")
	body := []byte(compressText)
	h := withBrotli(func(ctx *RequestCtx) { ctx.Response.SetBody(body) })
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
