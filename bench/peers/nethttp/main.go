// Nethttp is the server of tests/hello, written for net/http.
package main

import (
	"flag"
	"fmt"
	"io"
	"log"
	"net/http"
	"strconv"
	"time"
)

const fieldValue = "0123456789abcdef0123456789abcdef"

func main() {
	addr := flag.String("addr", "127.0.0.1:8080", "listen on `HOST:PORT`")
	sleep := flag.Duration("sleep", 0, "sleep in the handler")
	headers := flag.Int("headers", 0, "answer with `N` more fields")
	flag.Parse()
	var names []string
	for i := range *headers {
		names = append(names, fmt.Sprintf("X-Field-%d", i+1))
	}
	log.Fatal(http.ListenAndServe(*addr, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
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
	})))
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
