// Files serves a folder below /files/, and beside it a handler of its own.
//
//	go run ./examples/files -dir . -addr 127.0.0.1:8080
//	curl -r 0-99 http://127.0.0.1:8080/files/README.md
package main

import (
	"bytes"
	"flag"
	"log"

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
		Compress:           false, // true keeps compressed copies beside the files
		PathRewrite:        gale.NewPathPrefixStripper(len("/files")),
	}
	serveFile := files.NewRequestHandler()

	log.Fatal(gale.ListenAndServe(*addr, func(ctx *gale.RequestCtx) {
		if bytes.HasPrefix(ctx.Path(), []byte("/files/")) {
			serveFile(ctx)
			return
		}
		ctx.Redirect("/files/", gale.StatusFound)
	}))
}
