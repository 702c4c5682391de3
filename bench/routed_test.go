package bench

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"testing"

	"github.com/galehttp/gale"
	"github.com/galehttp/gale/router"
)

// BenchmarkRouted measures what a router adds to a whole server: a handler alone, with Router.Handler, and
// with Router.Attach, for a route without and with a parameter. An operation is one request. Over TCP it
// includes a client that writes and reads bytes. In memory there is only the server.
func BenchmarkRouted(b *testing.B) {
	for _, way := range []struct {
		name  string
		serve func(b *testing.B, s *gale.Server)
	}{
		{"memory", routedInMemory},
		{"tcp/engine=block", func(b *testing.B, s *gale.Server) { routedOverTCP(b, s, gale.EngineBlock) }},
		{"tcp/engine=event", func(b *testing.B, s *gale.Server) { routedOverTCP(b, s, gale.EngineEvent) }},
	} {
		for _, handler := range []string{"bare", "static", "param", "attach-static", "attach-param"} {
			b.Run(fmt.Sprintf("%s/handler=%s", way.name, handler), func(b *testing.B) {
				s := &gale.Server{Logger: quiet}
				setRouted(b, s, handler)
				b.ReportAllocs()
				way.serve(b, s)
			})
		}
	}
}

// setRouted sets the handler of s.
func setRouted(b *testing.B, s *gale.Server, handler string) {
	answer := func(ctx *gale.RequestCtx) {
		ctx.SetContentType(contentType)
		ctx.SetBody(bodyBytes)
	}
	other := func(ctx *gale.RequestCtx) { ctx.Fail(gale.StatusTeapot, nil) }
	r := router.New()
	for _, p := range []string{"/{$}", "/about", "/items", "/users", "/users/{user}", "/users/{user}/items", "/files/{path...}"} {
		r.GET(p, other)
	}
	r.POST("/items", other)
	switch handler {
	case "static", "attach-static":
		r.GET(routedPath, answer)
	case "param", "attach-param":
		r.GET("/items/{id}", answer)
	}
	switch handler {
	case "bare":
		s.Handler = answer
	case "static", "param":
		s.Handler = r.Handler()
	default:
		if err := r.Attach(s); err != nil {
			b.Fatal("attaching the router to the server:", err)
		}
	}
}

const routedPath = "/items/1234567"

var routedRequest = "GET " + routedPath + " HTTP/1.1\r\nHost: example.com\r\nUser-Agent: bench\r\nAccept: */*\r\n\r\n"

func routedInMemory(b *testing.B, s *gale.Server) {
	l := newListener(1, b.N, 10_000, routedRequest, false)
	b.ResetTimer()
	err := s.Serve(l)
	b.StopTimer()
	checkServed(b, l, err)
}

func routedOverTCP(b *testing.B, s *gale.Server, engine gale.Engine) {
	s.Engine = engine
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal("listening:", err)
	}
	served := make(chan error, 1)
	go func() { served <- s.Serve(ln) }()
	c, err := net.Dial("tcp", ln.Addr().String())
	if err != nil {
		b.Fatal("connecting to the server:", err)
	}
	request, buf := []byte(routedRequest), make([]byte, 4096)
	exchange := func() int {
		if _, err := c.Write(request); err != nil {
			b.Fatal("sending a request:", err)
		}
		n := 0
		for !bytes.HasSuffix(buf[:n], bodyBytes) {
			k, err := c.Read(buf[n:])
			if err != nil {
				b.Fatalf("the answer ends after %q: %v", buf[:n], err)
			}
			n += k
		}
		return n
	}
	if n := exchange(); !bytes.HasPrefix(buf[:n], []byte("HTTP/1.1 200 ")) {
		b.Fatalf("the answer is %q", buf[:n])
	}
	for b.Loop() {
		exchange()
	}
	_ = c.Close()
	if err := s.Shutdown(); err != nil {
		b.Fatal("ending the server:", err)
	}
	if err := <-served; err != nil && err != io.EOF {
		b.Fatal("serving:", err)
	}
}
