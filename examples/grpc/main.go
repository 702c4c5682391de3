// Command grpc is a gRPC service of google.golang.org/grpc on a Gale server, which serves
// other requests on the same port.
//
//	go run . -addr 127.0.0.1:8080
//	go run ./client -addr 127.0.0.1:8080 ada grace
//	curl http://127.0.0.1:8080/
//
//	go run . -addr 127.0.0.1:8443 -cert cert.pem -key key.pem
//	go run ./client -addr 127.0.0.1:8443 -ca cert.pem ada grace
package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/galehttp/gale"
	"github.com/galehttp/gale/adaptor"
	"github.com/galehttp/gale/examples/grpc/greet"
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

// newServer returns a server for gRPC and for other requests.
func newServer() *gale.Server {
	rpc := grpc.NewServer()
	greet.RegisterGreeterServer(rpc, greeter{})
	calls := adaptor.NewFastHTTPHandler(rpc)
	return &gale.Server{
		Handler: func(ctx *gale.RequestCtx) {
			if isGRPC(&ctx.Request.Header) {
				calls(ctx)
				return
			}
			ctx.SetBodyString("Greet me by gRPC.\n")
		},
		// Most gRPC clients without TLS begin with HTTP/2 at once.
		HTTP2: gale.HTTP2Config{H2C: true},
		HeaderReceived: func(h *gale.RequestHeader) (c gale.RequestConfig) {
			if isGRPC(h) {
				c.StreamRequestBody = true // messages reach the service as they come
				c.ReadStallTimeout = -1    // either side may be silent for long
				c.WriteStallTimeout = -1
			}
			return c
		},
		IdleTimeout: 5 * time.Minute,
	}
}

func isGRPC(h *gale.RequestHeader) bool {
	return bytes.HasPrefix(h.ContentType(), []byte("application/grpc"))
}

// greeter is the service.
type greeter struct {
	greet.UnimplementedGreeterServer
}

func (greeter) Greet(_ context.Context, in *greet.GreetRequest) (*greet.GreetResponse, error) {
	if in.GetName() == "" {
		return nil, status.Error(codes.InvalidArgument, "the name is missing")
	}
	return &greet.GreetResponse{Greeting: fmt.Sprintf("Hello, %s!", in.GetName())}, nil
}

func (g greeter) Chat(stream grpc.BidiStreamingServer[greet.GreetRequest, greet.GreetResponse]) error {
	for {
		in, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		out, err := g.Greet(stream.Context(), in)
		if err != nil {
			return err
		}
		if err := stream.Send(out); err != nil {
			return err
		}
	}
}
