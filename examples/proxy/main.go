// Proxy is a reverse proxy: it passes each request on to the server with the fewest
// requests in flight. Bodies and trailers are streamed in both directions. WebSockets
// are passed on too.
//
//	go run ./examples/hello -addr 127.0.0.1:8081 &
//	go run ./examples/hello -addr 127.0.0.1:8082 &
//	go run ./examples/proxy -addr 127.0.0.1:8080 -to 127.0.0.1:8081,127.0.0.1:8082
//	curl 'http://127.0.0.1:8080/?name=you'
package main

import (
	"context"
	"errors"
	"flag"
	"log"
	"net/netip"
	"strings"
	"time"

	"github.com/galehttp/gale"
	"github.com/galehttp/gale/reverse"
)

func main() {
	addr := flag.String("addr", "127.0.0.1:8080", "listen on `HOST:PORT`")
	to := flag.String("to", "127.0.0.1:8081", "pass requests on to the servers at `URL,...` or HOST:PORT,...")
	trust := flag.String("trust", "", "trust the X-Forwarded headers of requests from `PREFIX,...`: your other proxies")
	health := flag.String("health", "", "check the health of the servers with GET requests for this `path`")
	flag.Parse()

	p, err := newProxy(*to, *trust)
	if err != nil {
		log.Fatal(err)
	}
	p.HealthCheck.Path = *health
	server := &gale.Server{
		Handler:           p.Handler,
		StreamRequestBody: true,
		IdleTimeout:       time.Minute,
	}
	if err := gale.Run(context.Background(), server, *addr); err != nil {
		log.Fatal(err)
	}
}

// newProxy returns a proxy for the servers in to. It trusts the networks in trust.
func newProxy(to, trust string) (*reverse.Proxy, error) {
	p, err := reverse.New(strings.Split(to, ",")...)
	if err != nil {
		return nil, err
	}
	for text := range strings.SplitSeq(trust, ",") {
		if text == "" {
			continue
		}
		prefix, err := netip.ParsePrefix(text)
		if err != nil {
			return nil, err
		}
		p.TrustedProxies = append(p.TrustedProxies, prefix)
	}
	p.Via = "gale-proxy"
	p.Timeout = time.Hour
	p.ErrorHandler = func(ctx *gale.RequestCtx, err error) {
		if !errors.Is(err, gale.ErrClientGone) {
			log.Printf("%s %s: %v", ctx.Method(), ctx.RequestURI(), err)
		}
		reverse.WriteError(ctx, err) // sends the status only, not the cause
	}
	return p, nil
}
