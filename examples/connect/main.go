// Command connect is a service of connectrpc.com/connect on a Gale server. It answers
// Connect, gRPC and gRPC-Web, over HTTP/1.1 and HTTP/2.
//
//	go run . -addr 127.0.0.1:8080
//	go run ./client -url http://127.0.0.1:8080 ada grace
//	curl -H 'Content-Type: application/json' -d '{"name":"ada"}' http://127.0.0.1:8080/greet.Greeter/Greet
package main

import (
	"context"
	"errors"
	"flag"
	"io"
	"log"
	"net/http"
	"time"

	"connectrpc.com/connect/v2"
	"connectrpc.com/connect/v2/connecthttp"

	"github.com/galehttp/gale"
	"github.com/galehttp/gale/adaptor"
	"github.com/galehttp/gale/examples/connect/greet"
	"github.com/galehttp/gale/examples/connect/greet/greetconnect"
)

func main() {
	addr := flag.String("addr", "127.0.0.1:8080", "listen on `HOST:PORT`")
	cert := flag.String("cert", "", "speak TLS, with the certificate chain in this PEM `FILE`")
	key := flag.String("key", "", "and the private key in this one")
	flag.Parse()

	server := newServer()
	serve := func() error {
		if *cert != "" {
			return server.ListenAndServeTLS(*addr, *cert, *key)
		}
		return server.ListenAndServe(*addr)
	}
	// After a signal, calls that run have 10 seconds to end.
	runner := &gale.Runner{ShutdownTimeout: 10 * time.Second}
	if err := runner.Run(context.Background(), gale.Service{Server: server, Serve: serve}); err != nil {
		log.Fatal(err)
	}
}

// newServer returns a server for the service, and for whatever else is in its mux.
func newServer() *gale.Server {
	service := connect.NewServer()
	greetconnect.RegisterGreeterHandler(service, greeter{})
	mux := http.NewServeMux()
	connecthttp.Mount(mux, service)
	return &gale.Server{
		Handler: adaptor.NewFastHTTPHandler(mux),
		// gRPC clients without TLS begin with HTTP/2 at once.
		HTTP2:             gale.HTTP2Config{H2C: true},
		StreamRequestBody: true, // messages reach the service as they come
		ReadStallTimeout:  -1,   // either side may be silent for long
		WriteStallTimeout: -1,
		IdleTimeout:       5 * time.Minute,
	}
}

// greeter is the service.
type greeter struct {
	greetconnect.UnimplementedGreeterHandler
}

func (greeter) Greet(_ context.Context, in *greet.GreetRequest) (*greet.GreetResponse, error) {
	if in.GetName() == "" {
		return nil, connect.NewError(connect.CodeInvalidArgument, "the name is missing")
	}
	return &greet.GreetResponse{Greeting: "Hello, " + in.GetName() + "!"}, nil
}

func (g greeter) Chat(ctx context.Context, stream greetconnect.GreeterChatServerStream) error {
	for {
		in, err := stream.Receive()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		out, err := g.Greet(ctx, in)
		if err != nil {
			return err
		}
		if err := stream.Send(out); err != nil {
			return err
		}
	}
}
