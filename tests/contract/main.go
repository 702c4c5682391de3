// Command contract is the server for conformance tests. It echoes requests, and has a
// path for each property of a response that can be tested; see routes.go.
//
//	contract -addr HOST:PORT -dir DIR [-engine auto|block|event] [-h2c | -tls] [-reverse]
//
// It speaks HTTP/2 in addition to HTTP/1.1: with -h2c to clients that begin with HTTP/2,
// with -tls to those that negotiate it.
//
// With -reverse, a proxy of package reverse listens on the address and forwards to that
// server.
//
// DIR/static is served under /static/. Timeouts are 3 s each, or what the
// environment variable CONTRACT_TIMEOUT says; everything else is the library's
// default.
package main

import (
	"flag"
	"log"
	"net"
	"os"
	"path/filepath"
	"time"

	"github.com/galehttp/gale"
	"github.com/galehttp/gale/reverse"
)

// streams are the paths whose handlers run before the body of the request has arrived.
var streams = map[string]bool{"/copy": true, "/noread": true}

func main() {
	log.SetFlags(0)
	log.SetPrefix("contract: ")
	addr := flag.String("addr", "127.0.0.1:8080", "listen on `host:port`")
	dir := flag.String("dir", "", "serve the folder static in this `directory`")
	var engine gale.Engine
	flag.TextVar(&engine, "engine", gale.EngineBlock, "serve with this `engine`: auto, block or event")
	behind := flag.Bool("reverse", false, "put a reverse proxy in front of the server")
	h2c := flag.Bool("h2c", false, "speak HTTP/2 to clients that begin with it")
	overTLS := flag.Bool("tls", false, "speak TLS, with a certificate of its own")
	flag.Parse()
	if flag.NArg() > 0 || *dir == "" {
		flag.Usage()
		os.Exit(2)
	}
	timeout := 3 * time.Second
	if v := os.Getenv("CONTRACT_TIMEOUT"); v != "" {
		d, err := time.ParseDuration(v)
		if err != nil {
			log.Printf("CONTRACT_TIMEOUT: %v", err)
			os.Exit(2)
		}
		timeout = d
	}
	root, err := filepath.Abs(filepath.Join(*dir, "static"))
	if err != nil {
		log.Fatal(err)
	}
	s := &gale.Server{
		Handler:      routes(root),
		Engine:       engine,
		ReadTimeout:  timeout,
		WriteTimeout: timeout,
		IdleTimeout:  timeout,
		HTTP2:        gale.HTTP2Config{H2C: *h2c},
		HeaderReceived: func(h *gale.RequestHeader) gale.RequestConfig {
			return gale.RequestConfig{StreamRequestBody: streams[string(h.RequestURI())]}
		},
	}
	if *behind {
		s = inFront(s)
	}
	if !*overTLS {
		log.Fatal(s.ListenAndServe(*addr))
	}
	cert, key, err := gale.GenerateTestCertificate("127.0.0.1")
	if err != nil {
		log.Fatal(err)
	}
	log.Fatal(s.ListenAndServeTLSEmbed(*addr, cert, key))
}

// inFront starts s on another port and returns a server with the same limits that
// forwards requests to it.
func inFront(s *gale.Server) *gale.Server {
	ln, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		log.Fatal(err)
	}
	go func() { log.Fatal(s.Serve(ln)) }()
	p := &reverse.Proxy{
		Upstreams:          []string{ln.Addr().String()},
		MaxRequestBodySize: gale.DefaultMaxRequestBodySize,
	}
	return &gale.Server{
		Handler:           p.Handler,
		StreamRequestBody: true,
		Engine:            s.Engine,
		ReadTimeout:       s.ReadTimeout,
		WriteTimeout:      s.WriteTimeout,
		IdleTimeout:       s.IdleTimeout,
	}
}
