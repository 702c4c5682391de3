package reverse_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"net"
	"net/netip"

	"github.com/galehttp/gale"
	"github.com/galehttp/gale/galetest"
	"github.com/galehttp/gale/reverse"
)

// A proxy for two servers, behind another proxy of one's own.
func Example() {
	p := &reverse.Proxy{
		Upstreams:      []string{"10.0.0.1:8080", "10.0.0.2:8080"},
		TrustedProxies: []netip.Prefix{netip.MustParsePrefix("10.1.0.0/16")},
		HealthCheck:    reverse.HealthCheck{Path: "/healthz"},
		ErrorHandler: func(ctx *gale.RequestCtx, err error) {
			if !errors.Is(err, gale.ErrClientGone) {
				log.Printf("%s %s: %v", ctx.Method(), ctx.RequestURI(), err)
			}
			reverse.WriteError(ctx, err)
		},
	}
	defer p.Close()
	s := &gale.Server{Handler: p.Handler, StreamRequestBody: true}
	_ = s // log.Fatal(s.ListenAndServe(":8080"))
}

// Some paths belong to another server.
func ExampleProxy_Handler() {
	users := galetest.NewServer(func(ctx *gale.RequestCtx) {
		fmt.Fprintf(ctx, "users got %s", ctx.Path())
	})
	defer users.Close()
	dial := func(context.Context, string, string) (net.Conn, error) { return users.Dial() }
	p := &reverse.Proxy{Upstreams: []string{"http://users.example"}, StripPrefix: "/users", DialContext: dial}
	defer p.Close()
	h := func(ctx *gale.RequestCtx) {
		if string(ctx.Path()) == "/" {
			ctx.WriteString("welcome")
			return
		}
		p.Handler(ctx)
	}
	fmt.Printf("%s\n", galetest.Record(h, galetest.NewContext("GET", "/", nil)).Response.Body())
	fmt.Printf("%s\n", galetest.Record(h, galetest.NewContext("GET", "/users/7", nil)).Response.Body())
	// Output:
	// welcome
	// users got /7
}
