package bench

import (
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"testing"

	"github.com/galehttp/gale"
	"github.com/valyala/fasthttp"
)

// clients is how many are connected at a time.
const clients = 10_000

// BenchmarkServer measures a whole server on connections in memory: what is
// left when the kernel costs nothing. An operation is one request.
func BenchmarkServer(b *testing.B) {
	for _, head := range []struct {
		name   string
		fields []field
	}{{"small", small}, {"browser", known(14)}} {
		for _, perConn := range []int{1, 2, 10, 10_000} {
			for _, extra := range []int{0, 4} {
				if extra > 0 && perConn != 10_000 {
					continue
				}
				fields := append(head.fields[:len(head.fields):len(head.fields)], extraRequest[:extra]...)
				name := fmt.Sprintf("head=%s/perconn=%d/extra=%d", head.name, perConn, extra)
				b.Run(name, func(b *testing.B) {
					benchServer(b, request(fields), extraResponse[:extra], perConn, false)
				})
			}
		}
	}
}

// BenchmarkServerPipelined is BenchmarkServer with clients that don't wait for
// answers.
func BenchmarkServerPipelined(b *testing.B) {
	for _, perConn := range []int{10, 10_000} {
		b.Run(fmt.Sprintf("head=small/perconn=%d", perConn), func(b *testing.B) {
			benchServer(b, request(small), nil, perConn, true)
		})
	}
}

func benchServer(b *testing.B, request string, extra []field, perConn int, pipeline bool) {
	for _, impl := range []struct {
		name  string
		serve func(net.Listener, []field) error
	}{{"gale", serveGale}, {"fasthttp", serveFasthttp}, {"nethttp", serveNetHTTP}} {
		b.Run("impl="+impl.name, func(b *testing.B) {
			l := newListener(clients, b.N, perConn, request, pipeline)
			b.ReportAllocs()
			b.ResetTimer()
			err := impl.serve(l, extra)
			b.StopTimer()
			checkServed(b, l, err)
		})
	}
}

// checkServed checks that each request was read and answered: all answers of a
// server have the same length.
func checkServed(b *testing.B, l *listener, err error) {
	b.Helper()
	if err != nil && !errors.Is(err, io.EOF) {
		b.Fatal(err)
	}
	if n := l.read.Load(); n != int64(b.N) {
		b.Fatalf("%d requests were read, want %d", n, b.N)
	}
	size := l.wrote.Load() / int64(b.N)
	if l.wrote.Load()%int64(b.N) != 0 || size < int64(len(body)) || size > 600 {
		b.Fatalf("%d bytes were written for %d requests", l.wrote.Load(), b.N)
	}
}

func serveGale(l net.Listener, extra []field) error {
	s := &gale.Server{Logger: quiet, Handler: func(ctx *gale.RequestCtx) {
		for i := range extra {
			ctx.Response.Header.Set(extra[i].name, extra[i].value)
		}
		ctx.SetContentType(contentType)
		ctx.SetBody(bodyBytes)
	}}
	return s.Serve(l)
}

func serveFasthttp(l net.Listener, extra []field) error {
	s := &fasthttp.Server{Logger: quiet, Handler: func(ctx *fasthttp.RequestCtx) {
		for i := range extra {
			ctx.Response.Header.Set(extra[i].name, extra[i].value)
		}
		ctx.SetContentType(contentType)
		ctx.SetBody(bodyBytes)
	}}
	return s.Serve(l)
}

func serveNetHTTP(l net.Listener, extra []field) error {
	s := &http.Server{ErrorLog: quiet, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		for i := range extra {
			h.Set(extra[i].name, extra[i].value)
		}
		h.Set("Server", "nethttp")
		h.Set("Content-Type", contentType)
		_, _ = w.Write(bodyBytes)
	})}
	return s.Serve(l)
}

var quiet = log.New(io.Discard, "", 0)
