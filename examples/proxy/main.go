// Proxy is a reverse proxy: it passes requests on to several servers, to the one
// with the least to do. Bodies are streamed both ways, trailers included.
//
//	go run ./examples/hello -addr 127.0.0.1:8081 &
//	go run ./examples/hello -addr 127.0.0.1:8082 &
//	go run ./examples/proxy -addr 127.0.0.1:8080 -to 127.0.0.1:8081,127.0.0.1:8082
//	curl 'http://127.0.0.1:8080/?name=world'
//
// Requests can't be smuggled through it: a message that two servers could read
// differently is answered with 400 before the handler runs, and what is passed on
// is written anew from its parts, never copied from the connection.
package main

import (
	"context"
	"errors"
	"flag"
	"log"
	"strings"
	"time"

	"github.com/galehttp/gale"
)

func main() {
	addr := flag.String("addr", "127.0.0.1:8080", "listen on `HOST:PORT`")
	to := flag.String("to", "127.0.0.1:8081", "pass requests on to the servers at `HOST:PORT,...`")
	trust := flag.Bool("trust", false, "keep what clients say of where requests come from: another proxy of yours is in front")
	flag.Parse()

	p := newProxy(strings.Split(*to, ","), *trust)
	server := &gale.Server{
		Handler:           p.serve,
		StreamRequestBody: true,
		IdleTimeout:       time.Minute,
	}
	log.Fatal(server.ListenAndServe(*addr))
}

const (
	// exchangeTimeout is how long a request may take in all, its bodies
	// included.
	exchangeTimeout = time.Hour
	// maxBody is the largest request body in bytes.
	maxBody = 1 << 30
)

// proxy passes requests on.
type proxy struct {
	servers        *gale.LBClient
	trustForwarded bool
}

func newProxy(addrs []string, trustForwarded bool) *proxy {
	servers := new(gale.LBClient)
	for _, addr := range addrs {
		servers.AddClient(&gale.HostClient{
			Addr:                     addr,
			StreamResponseBody:       true,
			ResponseHeaderTimeout:    30 * time.Second,
			MaxConnWaitTimeout:       5 * time.Second,
			DisablePathNormalizing:   true, // the servers get paths as they came
			NoDefaultUserAgentHeader: true,
		})
	}
	return &proxy{servers: servers, trustForwarded: trustForwarded}
}

// serve answers a request with what one of the servers says.
func (p *proxy) serve(ctx *gale.RequestCtx) {
	if ctx.IsConnect() || ctx.IsTrace() {
		ctx.Error("this proxy doesn't do that", gale.StatusMethodNotAllowed)
		return
	}
	if ctx.Request.Header.ContentLength() > maxBody {
		ctx.Error(gale.StatusMessage(gale.StatusRequestEntityTooLarge), gale.StatusRequestEntityTooLarge)
		return
	}
	ctx.LimitRequestBody(maxBody) // of those that are chunked
	// The exchange outlives the handler: it ends with the body of the response.
	x := newExchange(ctx)
	x.setRequest(p.trustForwarded)
	if err := p.servers.DoContext(x.ctx, x.req, x.resp); err != nil {
		bodyErr := x.bodyErr
		x.Close()
		refuse(ctx, err, bodyErr)
		return
	}
	x.setResponse()
}

// refuse answers a request that got no response because of err. bodyErr is what was
// wrong with its body.
func refuse(ctx *gale.RequestCtx, err, bodyErr error) {
	status := gale.StatusBadGateway
	switch {
	case errors.Is(bodyErr, gale.ErrBodyTooLarge):
		status = gale.StatusRequestEntityTooLarge
	case bodyErr != nil:
		status = gale.StatusBadRequest
	case errors.Is(err, gale.ErrNoFreeConns):
		status = gale.StatusServiceUnavailable
	case errors.Is(err, gale.ErrTimeout), errors.Is(err, context.DeadlineExceeded):
		status = gale.StatusGatewayTimeout
	}
	log.Printf("%s %s: %d, %v", ctx.Method(), ctx.RequestURI(), status, err)
	ctx.Error(gale.StatusMessage(status), status) // clients needn't know why
}
