// Command client calls the service of the example grpc, with the client of
// google.golang.org/grpc.
//
//	go run ./client -addr 127.0.0.1:8080 ada grace
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"os"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/galehttp/gale/examples/grpc/greet"
)

func main() {
	addr := flag.String("addr", "127.0.0.1:8080", "call the server at `HOST:PORT`")
	ca := flag.String("ca", "", "speak TLS, and trust the certificates in this PEM `FILE`")
	flag.Parse()
	if err := run(*addr, *ca, flag.Args(), os.Stdout); err != nil {
		log.Fatal(err)
	}
}

// run has all names greeted, one after the other on one stream.
func run(addr, ca string, names []string, to io.Writer) error {
	trust := insecure.NewCredentials()
	if ca != "" {
		var err error
		if trust, err = credentials.NewClientTLSFromFile(ca, ""); err != nil {
			return err
		}
	}
	conn, err := grpc.NewClient(addr, grpc.WithTransportCredentials(trust))
	if err != nil {
		return err
	}
	defer conn.Close()
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	stream, err := greet.NewGreeterClient(conn).Chat(ctx)
	if err != nil {
		return err
	}
	for _, name := range names {
		if err := stream.Send(&greet.GreetRequest{Name: name}); err != nil && !errors.Is(err, io.EOF) {
			return err
		}
		out, err := stream.Recv()
		if err != nil {
			return err
		}
		fmt.Fprintln(to, out.GetGreeting())
	}
	return stream.CloseSend()
}
