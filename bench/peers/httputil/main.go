// Httputil is net/http's ReverseProxy, for the benchmarks in bench/tcp.
package main

import (
	"flag"
	"log"
	"net/http"
	"net/http/httputil"
	"net/url"
)

func main() {
	addr := flag.String("addr", "127.0.0.1:8080", "listen on `host:port`")
	to := flag.String("to", "127.0.0.1:8081", "pass requests on to `host:port`")
	flag.Parse()
	target := &url.URL{Scheme: "http", Host: *to}
	p := &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(target)
			r.SetXForwarded()
		},
		Transport: &http.Transport{MaxIdleConns: 1024, MaxIdleConnsPerHost: 1024, DisableCompression: true},
	}
	log.Fatal(http.ListenAndServe(*addr, p))
}
