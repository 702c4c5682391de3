package adaptor

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"runtime"
	"testing"

	"github.com/galehttp/gale"
	"github.com/galehttp/gale/tests/harness/await"
)

// As on a net/http server, Shutdown doesn't end the context of a request that is being
// served, whether the handler asked for it before or after that. It ends when the client
// leaves, and by Close. The context of the RequestCtx ends at once.
func TestShutdownAndContext(t *testing.T) {
	for _, e := range []gale.Engine{gale.EngineBlock, gale.EngineEvent} {
		if e == gale.EngineEvent && runtime.GOOS != "linux" {
			continue
		}
		for _, proto := range []string{"HTTP/1.1", "HTTP/2.0"} {
			for _, asked := range []string{"before", "after"} {
				for _, end := range []string{"leave", "close"} {
					t.Run(fmt.Sprintf("%v,%s,asked %s,%s", e, proto, asked, end), func(t *testing.T) {
						testShutdownAndContext(t, e, proto, asked == "before", end == "leave")
					})
				}
			}
		}
	}
}

func testShutdownAndContext(t *testing.T, e gale.Engine, proto string, before, leave bool) {
	entered, down, result := make(chan context.Context), make(chan struct{}), make(chan error)
	h := http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		if before {
			r.Context().Done()
		}
		entered <- r.Context()
		<-down
		result <- r.Context().Err()
		<-r.Context().Done()
		result <- context.Cause(r.Context())
	})
	adapted := NewFastHTTPHandler(h)
	native := make(chan context.Context, 1)
	s := &gale.Server{Engine: e, Logger: &quiet{}, HTTP2: gale.HTTP2Config{H2C: true}, Handler: func(ctx *gale.RequestCtx) {
		native <- ctx.Context()
		adapted(ctx)
	}}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- s.Serve(ln) }()
	defer func() {
		s.Close()
		ln.Close() // Serve may not have begun yet, and would begin after Close
		<-served
	}()

	p := new(http.Protocols)
	p.SetHTTP1(proto == "HTTP/1.1")
	p.SetUnencryptedHTTP2(proto == "HTTP/2.0")
	tr := &http.Transport{Protocols: p}
	defer tr.CloseIdleConnections()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, "GET", "http://"+ln.Addr().String(), nil)
	if err != nil {
		t.Fatal(err)
	}
	answered := make(chan error, 1)
	go func() {
		resp, err := tr.RoundTrip(req)
		if err == nil {
			resp.Body.Close()
		}
		answered <- err
	}()

	<-entered
	shut := make(chan error, 1)
	go func() { shut <- s.Shutdown() }()
	await.Until(t, "the shutdown to begin", s.Draining)
	<-(<-native).Done()
	close(down)
	if err := <-result; err != nil {
		t.Errorf("the context has ended by the shutdown: %v", err)
	}
	var want error
	if leave {
		cancel()
		want = gale.ErrClientGone
	} else {
		s.Close()
	}
	if err := <-result; want != nil && !errors.Is(err, want) {
		t.Errorf("the context ended because of %v, want %v", err, want)
	}
	if err := <-shut; err != nil {
		t.Error(err)
	}
	if err := <-answered; err == nil {
		t.Error("the request was answered")
	}
}
