// Upload stores files of any size without holding them in memory, and serves them. A
// file appears under its name when it is complete.
//
//	go run ./examples/upload -dir /tmp/files -addr 127.0.0.1:8080
//	curl -T big.iso http://127.0.0.1:8080/files/big.iso
//	curl -F 'a=@one.txt' -F 'b=@two.txt' http://127.0.0.1:8080/files/
//	curl -O http://127.0.0.1:8080/files/big.iso
package main

import (
	"context"
	"flag"
	"log"
	"os"
	"time"

	"github.com/galehttp/gale"
)

func main() {
	addr := flag.String("addr", "127.0.0.1:8080", "listen on `HOST:PORT`")
	dir := flag.String("dir", ".", "store the files in `DIR`")
	limit := flag.Int64("max", 1<<30, "accept files of at most `BYTES`")
	flag.Parse()

	root, err := os.OpenRoot(*dir) // files opened with it can't be outside of dir
	if err != nil {
		log.Fatal(err)
	}
	store := &store{root: root, limit: *limit}
	store.serve = (&gale.FS{
		Root:            *dir,
		PathRewrite:     gale.NewPathPrefixStripper(len("/files")),
		AcceptByteRange: true,
		HideDotFiles:    true, // incomplete uploads
	}).NewRequestHandler()

	server := &gale.Server{
		Handler: store.handle,
		// Only uploads are streamed. Other bodies are read before the handler runs.
		HeaderReceived: func(h *gale.RequestHeader) gale.RequestConfig {
			return gale.RequestConfig{StreamRequestBody: h.IsPut() || h.IsPost()}
		},
		// No ReadTimeout: an upload may take any time. ReadStallTimeout, 30 seconds by
		// default, ends those that make no progress.
		WriteTimeout: 10 * time.Second,
		IdleTimeout:  time.Minute,
	}
	if err := gale.Run(context.Background(), server, *addr); err != nil {
		log.Fatal(err)
	}
}
