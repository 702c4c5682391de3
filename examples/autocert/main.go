// Command autocert gets its certificates from Let's Encrypt, with package
// golang.org/x/crypto/acme/autocert. It must be reachable from the internet, on ports 80
// and 443, under the names that it asks certificates for.
//
//	go run . -hosts example.com,www.example.com -email admin@example.com -cache /var/lib/certificates
package main

import (
	"context"
	"flag"
	"log"
	"strings"
	"time"

	"golang.org/x/crypto/acme/autocert"

	"github.com/galehttp/gale"
	"github.com/galehttp/gale/adaptor"
)

func main() {
	hosts := flag.String("hosts", "example.com", "get certificates for `NAME,...`")
	email := flag.String("email", "", "tell the authority this `ADDRESS`")
	cache := flag.String("cache", "certificates", "keep them in `DIR`")
	flag.Parse()

	manager := &autocert.Manager{
		Prompt:     autocert.AcceptTOS,
		HostPolicy: autocert.HostWhitelist(strings.Split(*hosts, ",")...),
		Email:      *email,
		Cache:      autocert.DirCache(*cache),
	}
	plain, secure := plainServer(manager), tlsServer(manager)
	var runner gale.Runner
	err := runner.Run(context.Background(),
		gale.Service{Server: plain, Serve: func() error { return plain.ListenAndServe(":80") }},
		// The certificates come from the manager: no files here.
		gale.Service{Server: secure, Serve: func() error { return secure.ListenAndServeTLS(":443", "", "") }},
	)
	if err != nil {
		log.Fatal(err)
	}
}

// tlsServer serves the program itself.
func tlsServer(manager *autocert.Manager) *gale.Server {
	return &gale.Server{
		Handler: func(ctx *gale.RequestCtx) {
			ctx.SetBodyString("Hello over " + string(ctx.Request.Header.Protocol()) + "\n")
		},
		TLSConfig:    manager.TLSConfig(),
		ReadTimeout:  10 * time.Second,
		WriteTimeout: 10 * time.Second,
		IdleTimeout:  time.Minute,
	}
}

// plainServer answers the challenges of the authority (HTTP-01), and redirects all other
// GET and HEAD requests to HTTPS. The manager's handler is a handler of net/http.
func plainServer(manager *autocert.Manager) *gale.Server {
	return &gale.Server{
		Handler:      adaptor.NewFastHTTPHandler(manager.HTTPHandler(nil)),
		ReadTimeout:  10 * time.Second,
		WriteTimeout: 10 * time.Second,
		IdleTimeout:  time.Minute,
	}
}
