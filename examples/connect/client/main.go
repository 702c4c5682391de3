// Command client calls the service of the example connect, with the client of
// connectrpc.com/connect over Gale's client, or over that of net/http.
//
//	go run ./client -url http://127.0.0.1:8080 ada grace
//	go run ./client -url http://127.0.0.1:8080 -protocol grpc ada grace
//	go run ./client -url http://127.0.0.1:8080 -nethttp ada grace
package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"net/http"
	"os"
	"time"

	"connectrpc.com/connect/v2"
	"connectrpc.com/connect/v2/connecthttp"

	"github.com/galehttp/gale"
	"github.com/galehttp/gale/adaptor"
	"github.com/galehttp/gale/examples/connect/greet"
	"github.com/galehttp/gale/examples/connect/greet/greetconnect"
)

func main() {
	url := flag.String("url", "http://127.0.0.1:8080", "call the server at this `URL`")
	protocol := flag.String("protocol", "connect", "speak `NAME`: connect, grpc or grpcweb")
	ca := flag.String("ca", "", "trust the certificates in this PEM `FILE`")
	netHTTP := flag.Bool("nethttp", false, "use the client of net/http")
	flag.Parse()
	if err := run(*url, *protocol, *ca, *netHTTP, flag.Args(), os.Stdout); err != nil {
		log.Fatal(err)
	}
}

// run has all names greeted, one after the other on one stream.
func run(url, protocol, ca string, netHTTP bool, names []string, to io.Writer) error {
	var options []connecthttp.Option
	switch protocol {
	case "connect":
	case "grpc":
		options = append(options, connecthttp.WithGRPC())
	case "grpcweb":
		options = append(options, connecthttp.WithGRPCWeb())
	default:
		return fmt.Errorf("there is no protocol %q", protocol)
	}
	client, err := httpClient(ca, netHTTP)
	if err != nil {
		return err
	}
	defer client.CloseIdleConnections()
	greeter := greetconnect.NewGreeterClient(connect.NewClient(connecthttp.NewTransport(client, url, options...)))

	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	stream, err := greeter.Chat(ctx)
	if err != nil {
		return err
	}
	defer stream.Close()
	for _, name := range names {
		if err := stream.Send(&greet.GreetRequest{Name: name}); err != nil && !errors.Is(err, io.EOF) {
			return err
		}
		out, err := stream.Receive()
		if err != nil {
			return err
		}
		fmt.Fprintln(to, out.GetGreeting())
	}
	return stream.CloseSend()
}

// httpClient returns a client that speaks HTTP/2, also without TLS: streams both ways at
// the same time need it.
func httpClient(ca string, netHTTP bool) (*http.Client, error) {
	var trust *tls.Config
	if ca != "" {
		pem, err := os.ReadFile(ca)
		if err != nil {
			return nil, err
		}
		trust = &tls.Config{RootCAs: x509.NewCertPool()}
		if !trust.RootCAs.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("%s has no certificate", ca)
		}
	}
	if netHTTP {
		protocols := new(http.Protocols)
		protocols.SetHTTP2(true)
		protocols.SetUnencryptedHTTP2(true)
		return &http.Client{Transport: &http.Transport{Protocols: protocols, TLSClientConfig: trust}}, nil
	}
	client := &gale.Client{HTTP2: gale.HTTP2Only, TLSConfig: trust}
	return &http.Client{Transport: adaptor.NewRoundTripper(client)}, nil
}
