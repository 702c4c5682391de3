// Command client calls the service of the example connect, with the client of
// connectrpc.com/connect over net/http.
//
//	go run ./client -url http://127.0.0.1:8080 ada grace
//	go run ./client -url http://127.0.0.1:8080 -protocol grpc ada grace
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

	"github.com/galehttp/gale/examples/connect/greet"
	"github.com/galehttp/gale/examples/connect/greet/greetconnect"
)

func main() {
	url := flag.String("url", "http://127.0.0.1:8080", "call the server at this `URL`")
	protocol := flag.String("protocol", "connect", "speak `NAME`: connect, grpc or grpcweb")
	ca := flag.String("ca", "", "trust the certificates in this PEM `FILE`")
	flag.Parse()
	if err := run(*url, *protocol, *ca, flag.Args(), os.Stdout); err != nil {
		log.Fatal(err)
	}
}

// run has all names greeted, one after the other on one stream.
func run(url, protocol, ca string, names []string, to io.Writer) error {
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
	client, err := httpClient(ca)
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
func httpClient(ca string) (*http.Client, error) {
	protocols := new(http.Protocols)
	protocols.SetHTTP2(true)
	protocols.SetUnencryptedHTTP2(true)
	tr := &http.Transport{Protocols: protocols}
	if ca != "" {
		pem, err := os.ReadFile(ca)
		if err != nil {
			return nil, err
		}
		tr.TLSClientConfig = &tls.Config{RootCAs: x509.NewCertPool()}
		if !tr.TLSClientConfig.RootCAs.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("%s has no certificate", ca)
		}
	}
	return &http.Client{Transport: tr}, nil
}
