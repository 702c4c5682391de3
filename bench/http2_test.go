package bench

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"testing"

	"github.com/galehttp/gale"
)

// http2Conns is how many connections of HTTP/2 are open at a time.
const http2Conns = 16

// BenchmarkHTTP2 measures a whole server of HTTP/2 on connections in memory, each with so
// many streams in flight. An operation is one request, answered with a body of so many bytes.
func BenchmarkHTTP2(b *testing.B) {
	for _, streams := range []int{1, 10, 100} {
		for _, size := range []int{0, 1 << 10, 64 << 10} {
			b.Run(fmt.Sprintf("streams=%d/body=%d", streams, size), func(b *testing.B) {
				benchHTTP2(b, http2Load{streams: streams, answer: size})
			})
		}
	}
}

// BenchmarkHTTP2Upload is BenchmarkHTTP2 with the body in the request, which the handler has
// read whole when it answers.
func BenchmarkHTTP2Upload(b *testing.B) {
	for _, streams := range []int{1, 10, 100} {
		for _, size := range []int{1 << 10, 64 << 10} {
			b.Run(fmt.Sprintf("streams=%d/body=%d", streams, size), func(b *testing.B) {
				benchHTTP2(b, http2Load{streams: streams, upload: size})
			})
		}
	}
}

// http2Load is what clients do.
type http2Load struct {
	streams        int // in flight on a connection
	upload, answer int // bytes of the bodies
}

func benchHTTP2(b *testing.B, load http2Load) {
	for _, impl := range []struct {
		name  string
		serve func(net.Listener, http2Load) error
	}{{"gale", serveGaleHTTP2}, {"nethttp", serveNetHTTP2}} {
		b.Run("impl="+impl.name, func(b *testing.B) {
			l, err := newHTTP2Listener(b.N, load)
			if err != nil {
				b.Fatal(err)
			}
			b.SetBytes(int64(load.upload + load.answer))
			b.ReportAllocs()
			b.ResetTimer()
			served := make(chan error, 1)
			go func() { served <- impl.serve(l, load) }()
			select {
			case <-l.answered:
			case err := <-served:
				b.Fatal("the server ended early:", err)
			}
			b.StopTimer()
			l.end()
			if err := <-served; err != nil && err != io.EOF {
				b.Fatal(err)
			}
			if err := l.check(); err != nil {
				b.Fatal(err)
			}
		})
	}
}

func serveGaleHTTP2(l net.Listener, load http2Load) error {
	body := make([]byte, load.answer)
	s := &gale.Server{Logger: quiet, HTTP2: gale.HTTP2Config{H2C: true}, Handler: func(ctx *gale.RequestCtx) {
		if len(ctx.PostBody()) != load.upload {
			ctx.Error("the body is not whole", gale.StatusBadRequest)
			return
		}
		ctx.SetContentType(contentType)
		ctx.SetBody(body)
	}}
	return s.Serve(l)
}

func serveNetHTTP2(l net.Listener, load http2Load) error {
	body := make([]byte, load.answer)
	protocols := new(http.Protocols)
	protocols.SetUnencryptedHTTP2(true)
	s := &http.Server{ErrorLog: quiet, Protocols: protocols, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if load.upload > 0 {
			if n, err := io.Copy(io.Discard, r.Body); err != nil || n != int64(load.upload) {
				http.Error(w, "the body is not whole", http.StatusBadRequest)
				return
			}
		}
		h := w.Header()
		h.Set("Server", "nethttp")
		h.Set("Content-Type", contentType)
		_, _ = w.Write(body)
	})}
	return s.Serve(l)
}
