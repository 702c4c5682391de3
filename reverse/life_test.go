package reverse_test

import (
	"context"
	"fmt"
	"net"
	"testing"
	"time"

	"github.com/galehttp/gale"
	"github.com/galehttp/gale/reverse"
	"github.com/galehttp/gale/tests/harness/await"
)

// A context that the program has given the server ends when it shuts down, in many programs. The
// requests that run go on.
func TestBaseContextEnds(t *testing.T) {
	onEngines(t, func(t *testing.T) {
		began, over := make(chan struct{}), make(chan struct{})
		upstream := serveHandler(t, new(reverse.Proxy), func(ctx *gale.RequestCtx) {
			close(began)
			<-over
			select {
			case <-ctx.Done():
				t.Error("the proxy has left")
			case <-time.After(300 * time.Millisecond): // the proxy watches its client from 100 ms on
			}
			ctx.WriteString("whole")
		})
		base, end := context.WithCancel(context.Background())
		defer end()
		p := &reverse.Proxy{Upstreams: []string{"http://" + upstream}}
		s := &gale.Server{Handler: p.Handler, Engine: engine, BaseContext: func(net.Listener) context.Context { return base }}
		ln, err := net.Listen("tcp4", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		served := make(chan error, 1)
		go func() { served <- s.Serve(ln) }()
		answer := make(chan string, 1)
		go func() {
			_, body, err := gale.Get(nil, "http://"+ln.Addr().String())
			answer <- fmt.Sprint(string(body), err)
		}()
		<-began
		end()
		down := make(chan error, 1)
		go func() { down <- s.Shutdown() }()
		await.Until(t, "the shutdown to begin", s.Draining)
		close(over)
		if err := <-down; err != nil {
			t.Error("Shutdown:", err)
		}
		if got := <-answer; got != "whole<nil>" {
			t.Errorf("the client got %s", got)
		}
		if err := <-served; err != nil {
			t.Error(err)
		}
		p.Close()
	})
}
