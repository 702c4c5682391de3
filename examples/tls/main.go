// TLS serves HTTPS with a certificate that may be renewed while the server runs. It
// looks for changed files once a minute, and reads them at once after SIGHUP. Open
// connections keep their certificate.
//
//	go run ./examples/tls -cert cert.pem -key key.pem -addr 127.0.0.1:8443
package main

import (
	"context"
	"crypto/tls"
	"flag"
	"fmt"
	"log"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/galehttp/gale"
)

func main() {
	addr := flag.String("addr", "127.0.0.1:8443", "listen on `HOST:PORT`")
	cert := flag.String("cert", "cert.pem", "certificate chain in PEM `FILE`")
	key := flag.String("key", "key.pem", "private key in PEM `FILE`")
	flag.Parse()

	server := &gale.Server{
		Handler:            handle,
		CertReloadInterval: time.Minute,
		ReadTimeout:        10 * time.Second,
		WriteTimeout:       10 * time.Second,
		IdleTimeout:        time.Minute,
	}
	go reloadOnHangup(server)
	var runner gale.Runner
	err := runner.Run(context.Background(), gale.Service{
		Server: server,
		Serve:  func() error { return server.ListenAndServeTLS(*addr, *cert, *key) },
	})
	if err != nil {
		log.Fatal(err)
	}
}

func reloadOnHangup(server *gale.Server) {
	hangup := make(chan os.Signal, 1)
	signal.Notify(hangup, syscall.SIGHUP)
	for range hangup {
		if err := server.ReloadCertificates(); err != nil {
			log.Printf("the old certificate stays: %v", err)
		}
	}
}

func handle(ctx *gale.RequestCtx) {
	fmt.Fprintf(ctx, "Hello over %s, request %d on this connection\n", tls.VersionName(ctx.TLSConnectionState().Version), ctx.ConnRequestNum())
}
