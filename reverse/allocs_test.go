//go:build !race

package reverse_test

import (
	"bufio"
	"net"
	"runtime"
	"testing"

	"github.com/galehttp/gale"
	"github.com/galehttp/gale/internal/alloctest"
	"github.com/galehttp/gale/reverse"
)

// A short request and its response take no memory, except the handle of a body that is streamed.
func TestProxyAllocs(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("elsewhere the system calls of package net allocate")
	}
	onEngines(t, func(t *testing.T) {
		ln, err := net.Listen("tcp4", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		s := &gale.Server{Handler: func(ctx *gale.RequestCtx) { ctx.Write(ctx.PostBody()) }}
		go s.Serve(ln)
		t.Cleanup(func() { s.Close() })
		c, br := dial(t, serve(t, &reverse.Proxy{Upstreams: []string{ln.Addr().String()}, MaxFails: -1}))
		for _, request := range []string{get, post} {
			raw := []byte(request)
			most := 0.0
			if request == post {
				most = 1
			}
			got := alloctest.PerRun(500, func() { roundTrip(t, c, br, raw) })
			if float64(got) > most {
				t.Errorf("%.4s: %v allocations", request, got)
			}
		}
	})
}

// roundTrip sends a request whose response has a body of no more than 4 bytes.
func roundTrip(t testing.TB, c net.Conn, br *bufio.Reader, request []byte) {
	if _, err := c.Write(request); err != nil {
		t.Fatal(err)
	}
	var length int
	for {
		line, err := br.ReadSlice('\n')
		if err != nil {
			t.Fatal(err)
		}
		if len(line) == 2 {
			break
		}
		if name := "Content-Length: "; len(line) == len(name)+3 && string(line[:len(name)]) == name {
			length = int(line[len(name)] - '0')
		}
	}
	if _, err := br.Discard(length); err != nil {
		t.Fatal(err)
	}
}

// BenchmarkProxy passes short requests on over one kept connection.
func BenchmarkProxy(b *testing.B) {
	for _, e := range []gale.Engine{gale.EngineBlock, gale.EngineAuto} {
		b.Run(e.String(), func(b *testing.B) {
			listen := func(h gale.RequestHandler) string {
				ln, err := net.Listen("tcp4", "127.0.0.1:0")
				if err != nil {
					b.Fatal(err)
				}
				s := &gale.Server{Handler: h, Engine: e, StreamRequestBody: true}
				go s.Serve(ln)
				b.Cleanup(func() { s.Close() })
				return ln.Addr().String()
			}
			p := &reverse.Proxy{Upstreams: []string{listen(func(ctx *gale.RequestCtx) { ctx.WriteString("body") })}}
			b.Cleanup(func() { p.Close() })
			c, err := net.Dial("tcp4", listen(p.Handler))
			if err != nil {
				b.Fatal(err)
			}
			defer c.Close()
			br := bufio.NewReader(c)
			request := []byte("GET / HTTP/1.1\r\nHost: localhost\r\nUser-Agent: bench\r\nAccept: */*\r\n\r\n")
			b.ReportAllocs()
			for b.Loop() {
				roundTrip(b, c, br, request)
			}
		})
	}
}
