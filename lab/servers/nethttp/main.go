// Nethttp is the lab's server on net/http.
package main

import (
	"log"
	"net/http"

	"github.com/galehttp/gale/lab/servers/nethttpapp"
	"github.com/galehttp/gale/lab/servers/work"
)

func main() {
	o := work.Parse()
	s := &http.Server{Addr: o.Addr, Handler: nethttpapp.Handler(o), Protocols: new(http.Protocols)}
	s.Protocols.SetHTTP1(true)
	s.Protocols.SetHTTP2(o.HTTP2)
	s.Protocols.SetUnencryptedHTTP2(o.HTTP2)
	if o.TLS != "" {
		log.Fatal(s.ListenAndServeTLS(o.Cert(), o.Key()))
	}
	log.Fatal(s.ListenAndServe())
}
