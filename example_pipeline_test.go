package gale_test

import (
	"context"
	"fmt"
	"net"
	"sync"
	"time"

	"github.com/galehttp/gale"
	"github.com/galehttp/gale/galeutil"
)

// nameServer is a server that answers with its name.
func nameServer(name string) *galeutil.InmemoryListener {
	ln := galeutil.NewInmemoryListener()
	s := &gale.Server{Handler: func(ctx *gale.RequestCtx) { fmt.Fprintf(ctx, "%s for %s", name, ctx.Path()) }}
	go s.Serve(ln)
	return ln
}

// Many requests at a time share a connection.
func ExamplePipelineClient() {
	ln := nameServer("an answer")
	defer ln.Close()
	c := &gale.PipelineClient{
		Addr: "example.org:80",
		Dial: func(string) (net.Conn, error) { return ln.Dial() },
	}
	var wg sync.WaitGroup
	var mu sync.Mutex
	answers := map[string]bool{}
	for i := range 10 {
		wg.Go(func() {
			req, resp := gale.AcquireRequest(), gale.AcquireResponse()
			defer gale.ReleaseRequest(req)
			defer gale.ReleaseResponse(resp)
			req.SetRequestURI(fmt.Sprintf("http://example.org/%d", i))
			if err := c.DoTimeout(req, resp, time.Minute); err != nil {
				fmt.Println(err)
			}
			mu.Lock()
			answers[string(resp.Body())] = true
			mu.Unlock()
		})
	}
	wg.Wait()
	fmt.Println(len(answers), answers["an answer for /7"])
	// Output: 10 true
}

// Requests are distributed among servers. Servers that fail get fewer of them.
func ExampleLBClient() {
	var lb gale.LBClient
	for _, name := range []string{"one", "two"} {
		ln := nameServer(name)
		defer ln.Close()
		lb.AddClient(&gale.HostClient{
			Addr: "example.org:80",
			Dial: func(string) (net.Conn, error) { return ln.Dial() },
		})
	}
	req, resp := &gale.Request{}, &gale.Response{}
	req.SetRequestURI("http://example.org/me")
	for range 4 {
		if err := lb.DoContext(context.Background(), req, resp); err != nil {
			fmt.Println(err)
		}
		fmt.Printf("%s\n", resp.Body())
	}
	// Output:
	// one for /me
	// two for /me
	// one for /me
	// two for /me
}

// A TCPDialer has its own DNS cache and its own limits.
func ExampleTCPDialer() {
	d := &gale.TCPDialer{
		Concurrency:      100,
		DNSCacheDuration: 5 * time.Minute,
		Resolver: &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, network, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, network, "192.0.2.53:53")
		}},
	}
	_ = &gale.Client{DialContext: d.DialContext}
}
