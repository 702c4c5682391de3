// Reverse is the proxy of package reverse, for the benchmarks in bench/tcp.
package main

import (
	"flag"
	"log"

	"github.com/galehttp/gale"
	"github.com/galehttp/gale/reverse"
)

func main() {
	addr := flag.String("addr", "127.0.0.1:8080", "listen on `host:port`")
	to := flag.String("to", "127.0.0.1:8081", "pass requests on to `host:port`")
	flag.Parse()
	p := &reverse.Proxy{Upstreams: []string{*to}}
	s := &gale.Server{Handler: p.Handler, StreamRequestBody: true}
	log.Fatal(s.ListenAndServe(*addr))
}
