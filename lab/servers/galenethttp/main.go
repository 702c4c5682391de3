// Galenethttp is the lab's net/http handler on Gale, through package adaptor.
package main

import (
	"log"

	"github.com/galehttp/gale"
	"github.com/galehttp/gale/adaptor"
	"github.com/galehttp/gale/lab/servers/nethttpapp"
	"github.com/galehttp/gale/lab/servers/work"
)

func main() {
	o := work.Parse()
	s := &gale.Server{
		Name: work.Server, Handler: adaptor.NewFastHTTPHandler(nethttpapp.Handler(o)), Concurrency: 1 << 20,
		MaxRequestBodySize: work.MaxBody, StreamRequestBody: o.Stream,
		HTTP2: gale.HTTP2Config{H2C: o.HTTP2},
	}
	if !o.HTTP2 {
		s.HTTP2.Mode = gale.HTTP2Off
	}
	if o.TLS != "" {
		log.Fatal(s.ListenAndServeTLS(o.Addr, o.Cert(), o.Key()))
	}
	log.Fatal(s.ListenAndServe(o.Addr))
}
