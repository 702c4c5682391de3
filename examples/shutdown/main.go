// Shutdown ends on SIGINT or SIGTERM without losing a request: it stops
// accepting, lets running handlers answer, and gives up after a grace period.
//
//	go run ./examples/shutdown -addr 127.0.0.1:8080
package main

import (
	"context"
	"flag"
	"log"
	"os/signal"
	"syscall"
	"time"

	"github.com/galehttp/gale"
)

func main() {
	addr := flag.String("addr", "127.0.0.1:8080", "listen on `HOST:PORT`")
	grace := flag.Duration("grace", 10*time.Second, "how long running requests may take")
	flag.Parse()

	stop, done := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer done()

	server := &gale.Server{Handler: handle}
	failed := make(chan error, 1)
	go func() { failed <- server.ListenAndServe(*addr) }()

	select {
	case err := <-failed:
		log.Fatal(err)
	case <-stop.Done():
	}
	log.Print("shutting down")
	ctx, cancel := context.WithTimeout(context.Background(), *grace)
	defer cancel()
	if err := server.ShutdownWithContext(ctx); err != nil {
		log.Fatalf("not all requests were answered: %v", err)
	}
	log.Print("all requests were answered")
}

// handle takes its time, as a handler that asks a database does.
func handle(ctx *gale.RequestCtx) {
	if string(ctx.Path()) == "/slow" {
		time.Sleep(500 * time.Millisecond)
	}
	ctx.SetBodyString("done\n")
}
