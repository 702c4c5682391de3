package bench

import (
	"io"
	"net"
	"net/http"
	"testing"

	"github.com/galehttp/gale"
	"github.com/galehttp/gale/adaptor"
	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/fasthttpadaptor"
)

// netHTTPHandlers are handlers of net/http that the servers run.
var netHTTPHandlers = []struct {
	name string
	h    http.HandlerFunc
}{
	{"hello", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", contentType)
		_, _ = w.Write(bodyBytes)
	}},
	{"read", func(w http.ResponseWriter, r *http.Request) { // looks at the request
		h := w.Header()
		h.Set("Content-Type", contentType)
		h.Set("X-Path", r.URL.Path)
		h.Set("X-Agent", r.UserAgent())
		_, _ = w.Write(bodyBytes)
	}},
	{"flush", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", contentType)
		for range 3 {
			_, _ = io.WriteString(w, "part of a body\n")
			w.(http.Flusher).Flush()
		}
	}},
}

// BenchmarkAdaptor runs handlers of net/http on servers on connections in
// memory: through the adaptors, and on net/http itself.
func BenchmarkAdaptor(b *testing.B) {
	for _, head := range []struct {
		name   string
		fields []field
	}{{"small", small}, {"browser", known(14)}} {
		for _, hh := range netHTTPHandlers {
			for _, impl := range []struct {
				name  string
				serve func(net.Listener, http.Handler) error
			}{
				{"gale", func(l net.Listener, h http.Handler) error {
					return (&gale.Server{Logger: quiet, Handler: adaptor.NewFastHTTPHandler(h)}).Serve(l)
				}},
				{"fasthttp", func(l net.Listener, h http.Handler) error {
					return (&fasthttp.Server{Logger: quiet, Handler: fasthttpadaptor.NewFastHTTPHandler(h)}).Serve(l)
				}},
				{"nethttp", func(l net.Listener, h http.Handler) error {
					return (&http.Server{ErrorLog: quiet, Handler: h}).Serve(l)
				}},
			} {
				b.Run("head="+head.name+"/handler="+hh.name+"/impl="+impl.name, func(b *testing.B) {
					l := newListener(100, b.N, 10_000, request(head.fields), false)
					b.ReportAllocs()
					b.ResetTimer()
					err := impl.serve(l, hh.h)
					b.StopTimer()
					if n := l.read.Load(); n != int64(b.N) {
						b.Fatalf("%d requests were read, want %d: %v", n, b.N, err)
					}
				})
			}
		}
	}
}
