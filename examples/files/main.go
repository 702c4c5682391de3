// Files serves a folder under /files/. A handler of its own redirects all other paths there.
//
//	go run ./examples/files -dir . -addr 127.0.0.1:8080
//	curl -r 0-99 http://127.0.0.1:8080/files/README.md
package main

import (
	"bytes"
	"context"
	"flag"
	"log"
	"time"

	"github.com/galehttp/gale"
)

func main() {
	addr := flag.String("addr", "127.0.0.1:8080", "listen on `HOST:PORT`")
	dir := flag.String("dir", ".", "serve the files in `DIR`")
	flag.Parse()

	files := &gale.FS{
		Root:               *dir,
		IndexNames:         []string{"index.html"},
		GenerateIndexPages: true,
		AcceptByteRange:    true,
		Compress:           false, // true writes compressed copies next to the files
		PathRewrite:        gale.NewPathPrefixStripper(len("/files")),
	}
	serveFile := files.NewRequestHandler()

	server := &gale.Server{
		Handler: func(ctx *gale.RequestCtx) {
			if bytes.HasPrefix(ctx.Path(), []byte("/files/")) {
				serveFile(ctx)
				return
			}
			ctx.Redirect("/files/", gale.StatusFound)
		},
		// These have no default. A file may take longer than WriteTimeout while the
		// client makes progress.
		ReadTimeout:  10 * time.Second,
		WriteTimeout: 10 * time.Second,
		IdleTimeout:  time.Minute,
	}
	if err := gale.Run(context.Background(), server, *addr); err != nil {
		log.Fatal(err)
	}
}
