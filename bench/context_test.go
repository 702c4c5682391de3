package bench

import (
	"context"
	"net"
	"testing"
	"time"

	"github.com/galehttp/gale"
)

// BenchmarkServerContext measures what handlers pay that derive a context: from
// the request, whose RequestCtx isn't used again then, or from its Context. An
// operation is one request.
func BenchmarkServerContext(b *testing.B) {
	for _, from := range []struct {
		name  string
		begin func(ctx *gale.RequestCtx) func()
	}{
		{"none", func(*gale.RequestCtx) func() { return func() {} }},
		{"background", func(*gale.RequestCtx) func() {
			_, cancel := context.WithTimeout(context.Background(), time.Second)
			return cancel
		}},
		{"context", func(ctx *gale.RequestCtx) func() {
			_, cancel := context.WithTimeout(ctx.Context(), time.Second)
			return cancel
		}},
		{"request", func(ctx *gale.RequestCtx) func() {
			_, cancel := context.WithTimeout(ctx, time.Second)
			return cancel
		}},
	} {
		for _, head := range []struct {
			name   string
			fields []field
		}{{"small", small}, {"browser", known(14)}} {
			b.Run("head="+head.name+"/from="+from.name, func(b *testing.B) {
				l := newListener(clients, b.N, 10_000, request(head.fields), false)
				b.ReportAllocs()
				b.ResetTimer()
				err := serveGaleHandler(l, func(ctx *gale.RequestCtx) {
					cancel := from.begin(ctx)
					defer cancel()
					ctx.SetContentType(contentType)
					ctx.SetBody(bodyBytes)
				})
				b.StopTimer()
				checkServed(b, l, err)
			})
		}
	}
}

func serveGaleHandler(l net.Listener, h gale.RequestHandler) error {
	s := &gale.Server{Handler: h, Logger: quiet}
	return s.Serve(l)
}
