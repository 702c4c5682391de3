// Upload takes files of any size without holding them in memory, and gives them
// back. A file is there once it is whole, never in part.
//
//	go run ./examples/upload -dir /tmp/files -addr 127.0.0.1:8080
//	curl -T big.iso http://127.0.0.1:8080/files/big.iso
//	curl -F 'a=@one.txt' -F 'b=@two.txt' http://127.0.0.1:8080/files/
//	curl -O http://127.0.0.1:8080/files/big.iso
package main

import (
	"flag"
	"log"
	"os"
	"time"

	"github.com/galehttp/gale"
)

func main() {
	addr := flag.String("addr", "127.0.0.1:8080", "listen on `HOST:PORT`")
	dir := flag.String("dir", ".", "keep the files in `DIR`")
	limit := flag.Int64("max", 1<<30, "take files of at most `BYTES`")
	flag.Parse()

	root, err := os.OpenRoot(*dir) // what is opened through it stays below it
	if err != nil {
		log.Fatal(err)
	}
	store := &store{root: root, limit: *limit}
	store.serve = (&gale.FS{
		Root:            *dir,
		PathRewrite:     gale.NewPathPrefixStripper(len("/files")),
		AcceptByteRange: true,
		HideDotFiles:    true, // files that are not whole yet
	}).NewRequestHandler()

	server := &gale.Server{
		Handler: store.handle,
		// Only uploads are streamed; other bodies are small, and there when
		// the handler runs.
		HeaderReceived: func(h *gale.RequestHeader) gale.RequestConfig {
			return gale.RequestConfig{StreamRequestBody: h.IsPut() || h.IsPost()}
		},
		// An upload may take as long as it takes: a client that makes no progress is
		// cut off by ReadStallTimeout, 30 seconds by default.
		WriteTimeout: 10 * time.Second,
		IdleTimeout:  time.Minute,
	}
	log.Fatal(server.ListenAndServe(*addr))
}
