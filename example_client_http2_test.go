package gale_test

import (
	"bufio"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"log"
	"net"

	"github.com/galehttp/gale"
)

// exampleHTTP2Server serves handler on loopback, without TLS, and returns its address.
func exampleHTTP2Server(handler gale.RequestHandler) (addr string, stop func()) {
	ln, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		log.Fatal(err)
	}
	s := &gale.Server{Handler: handler, StreamRequestBody: true, HTTP2: gale.HTTP2Config{H2C: true}}
	go func() { _ = s.Serve(ln) }()
	return ln.Addr().String(), func() { _ = s.Shutdown() }
}

// exampleTLSServer is a server with TLS that answers with the protocol of the request. Clients
// trust it with config.
func exampleTLSServer() (addr string, config *tls.Config, stop func()) {
	ln, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		log.Fatal(err)
	}
	cert, key, err := gale.GenerateTestCertificate("127.0.0.1")
	if err != nil {
		log.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(cert)
	s := &gale.Server{Handler: func(ctx *gale.RequestCtx) { _, _ = ctx.Write(ctx.Request.Header.Protocol()) }}
	go func() { _ = s.ServeTLSEmbed(ln, cert, key) }()
	return ln.Addr().String(), &tls.Config{RootCAs: roots}, func() { _ = s.Shutdown() }
}

func ExampleClient_http2() {
	addr, config, stop := exampleTLSServer()
	defer stop()

	client := &gale.Client{TLSConfig: config}
	defer client.CloseIdleConnections()
	status, body, err := client.Get(nil, "https://"+addr+"/")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%d %s\n", status, body)
	// Output: 200 HTTP/2.0
}

func ExampleClient_http2Off() {
	addr, config, stop := exampleTLSServer()
	defer stop()

	client := &gale.Client{TLSConfig: config, HTTP2: gale.HTTP2Off}
	defer client.CloseIdleConnections()
	status, body, err := client.Get(nil, "https://"+addr+"/")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%d %s\n", status, body)
	// Output: 200 HTTP/1.1
}

// For https nothing needs to be set. Without TLS the program must know that the server speaks
// HTTP/2.
func ExampleHostClient_http2() {
	addr, stop := exampleHTTP2Server(func(ctx *gale.RequestCtx) {
		fmt.Fprintf(ctx, "hello over %s", ctx.Request.Header.Protocol())
	})
	defer stop()

	client := &gale.HostClient{Addr: addr, HTTP2: gale.HTTP2Only}
	defer client.CloseIdleConnections()
	status, body, err := client.Get(nil, "http://"+addr+"/")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%d %s\n", status, body)
	// Output: 200 hello over HTTP/2.0
}

// The body of the request and that of the response are streams at the same time: each message
// is answered before the next one is sent.
func ExampleHostClient_http2Duplex() {
	addr, stop := exampleHTTP2Server(func(ctx *gale.RequestCtx) {
		_ = ctx.Flush() // the head
		for lines := bufio.NewScanner(ctx.RequestBodyStream()); lines.Scan(); {
			fmt.Fprintf(ctx, "%s to you\n", lines.Text())
			if ctx.Flush() != nil {
				return
			}
		}
	})
	defer stop()

	client := &gale.HostClient{Addr: addr, HTTP2: gale.HTTP2Only, StreamResponseBody: true}
	defer client.CloseIdleConnections()
	req, resp := gale.AcquireRequest(), gale.AcquireResponse()
	defer gale.ReleaseRequest(req)
	defer gale.ReleaseResponse(resp) // closes the stream
	body, messages := io.Pipe()
	req.Header.SetMethod("POST")
	req.SetRequestURI("http://" + addr + "/")
	req.SetBodyStream(body, -1)
	if err := client.Do(req, resp); err != nil {
		log.Fatal(err)
	}
	answers := bufio.NewScanner(resp.BodyStream())
	for _, message := range []string{"hello", "bye"} {
		fmt.Fprintln(messages, message)
		answers.Scan()
		fmt.Println(answers.Text())
	}
	messages.Close()
	fmt.Println(answers.Scan(), answers.Err())
	// Output:
	// hello to you
	// bye to you
	// false <nil>
}

// The type of an error says whether one request failed or the connection with all its requests.
func ExampleStreamResetError() {
	addr, stop := exampleHTTP2Server(func(ctx *gale.RequestCtx) {
		ctx.SetBodyStreamWriter(func(*bufio.Writer) { panic(gale.ErrAbortHandler) })
	})
	defer stop()

	client := &gale.HostClient{Addr: addr, HTTP2: gale.HTTP2Only}
	defer client.CloseIdleConnections()
	_, _, err := client.Get(nil, "http://"+addr+"/")
	var stream *gale.StreamResetError
	var conn *gale.HTTP2ConnError
	switch {
	case errors.As(err, &stream):
		fmt.Println("this request failed with code", stream.Code)
	case errors.As(err, &conn):
		fmt.Println("the connection failed with code", conn.Code)
	}
	// Output: this request failed with code 2
}
