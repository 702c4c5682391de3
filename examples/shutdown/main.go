// Shutdown ends after SIGINT or SIGTERM without losing a request. It first continues to
// serve while clients and load balancers notice the end. Then it closes its listener, and
// waits for running handlers, but no longer than a grace period. A second signal ends it
// at once.
//
//	go run ./examples/shutdown -addr 127.0.0.1:8080
package main

import (
	"context"
	"flag"
	"log"
	"os"
	"time"

	"github.com/galehttp/gale"
)

func main() {
	addr := flag.String("addr", "127.0.0.1:8080", "listen on `HOST:PORT`")
	drain := flag.Duration("drain", 5*time.Second, "how long to continue to serve; longer than a load balancer needs to notice that /ready fails")
	grace := flag.Duration("grace", 10*time.Second, "how long running requests may take after that")
	flag.Parse()

	server := &gale.Server{
		DrainTime:    *drain,
		ReadTimeout:  10 * time.Second,
		WriteTimeout: 10 * time.Second,
		IdleTimeout:  time.Minute,
	}
	server.Handler = func(ctx *gale.RequestCtx) { handle(server, ctx) }
	runner := &gale.Runner{
		ShutdownTimeout: *grace,
		Stopping:        func(os.Signal) { log.Print("shutting down") },
	}
	err := runner.Run(context.Background(), gale.Service{
		Server: server,
		Serve:  func() error { return server.ListenAndServe(*addr) },
	})
	if err != nil {
		log.Fatal(err)
	}
	log.Print("all requests were answered")
}

func handle(server *gale.Server, ctx *gale.RequestCtx) {
	switch string(ctx.Path()) {
	case "/ready": // load balancers ask here whether to send requests
		if server.Draining() {
			ctx.Error("draining\n", gale.StatusServiceUnavailable)
			return
		}
		ctx.SetBodyString("ready\n")
		return
	case "/slow": // slow, as a handler that waits for a database
		time.Sleep(500 * time.Millisecond)
	}
	ctx.SetBodyString("done\n")
}
