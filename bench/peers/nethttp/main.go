// Nethttp is the server of tests/hello, written for net/http.
package main

import (
	"crypto/tls"
	"flag"
	"fmt"
	"io"
	"log"
	"net/http"
	"strconv"
	"time"

	"github.com/galehttp/gale"
)

const fieldValue = "0123456789abcdef0123456789abcdef"

func main() {
	addr := flag.String("addr", "127.0.0.1:8080", "listen on `HOST:PORT`")
	sleep := flag.Duration("sleep", 0, "sleep in the handler")
	headers := flag.Int("headers", 0, "answer with `N` more fields")
	h2c := flag.Bool("h2c", false, "speak HTTP/2 to clients that begin with it")
	overTLS := flag.Bool("tls", false, "speak TLS, with a certificate of its own")
	flag.Parse()
	var names []string
	for i := range *headers {
		names = append(names, fmt.Sprintf("X-Field-%d", i+1))
	}
	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if *sleep > 0 {
			time.Sleep(*sleep)
		}
		h := w.Header()
		for _, name := range names {
			h.Set(name, fieldValue)
		}
		h.Set("Server", "nethttp")
		if r.Method == http.MethodPost {
			echo(w, r)
			return
		}
		h.Set("Content-Type", "text/plain")
		_, _ = io.WriteString(w, "Hello, world!")
	})
	s := &http.Server{Addr: *addr, Handler: handler}
	if *h2c {
		s.Protocols = new(http.Protocols)
		s.Protocols.SetHTTP1(true)
		s.Protocols.SetUnencryptedHTTP2(true)
	}
	if !*overTLS {
		log.Fatal(s.ListenAndServe())
	}
	cert, err := certificate()
	if err != nil {
		log.Fatal(err)
	}
	s.TLSConfig = &tls.Config{Certificates: []tls.Certificate{cert}}
	log.Fatal(s.ListenAndServeTLS("", ""))
}

func certificate() (tls.Certificate, error) {
	cert, key, err := gale.GenerateTestCertificate("127.0.0.1")
	if err != nil {
		return tls.Certificate{}, err
	}
	return tls.X509KeyPair(cert, key)
}

func echo(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	_, _ = w.Write(body)
}
