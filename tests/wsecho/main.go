// Command wsecho is the WebSocket server for conformance tests and measurements. It opens a
// WebSocket on every path and sends each message back as it came, up to 64 MiB.
//
//	wsecho -addr HOST:PORT [-engine auto|block|event] [-api event|conn] [-deflate] [-tls] [-h2]
//	wsecho -client [-deflate] URL
//
// With -api event it uses ws.Serve, with -api conn ws.Accept. With -h2 it also accepts
// WebSockets over HTTP/2 (RFC 8441): without -tls from clients that begin with HTTP/2.
//
// With -client it is the client for the Autobahn testsuite, whose fuzzing server is at URL.
package main

import (
	"flag"
	"log"
	"os"

	"github.com/galehttp/gale"
	"github.com/galehttp/gale/ws"
)

// maxMessage is the largest message in bytes. The testsuite sends 16 MiB.
const maxMessage = 64 << 20

func main() {
	log.SetFlags(0)
	log.SetPrefix("wsecho: ")
	addr := flag.String("addr", "127.0.0.1:8080", "listen on `host:port`")
	engine := gale.EngineEvent
	flag.TextVar(&engine, "engine", engine, "serve with this `engine`: auto, block or event")
	api := flag.String("api", "event", "serve with this `API`: event or conn")
	deflate := flag.Bool("deflate", false, "compress messages for clients that offer it, with context takeover")
	overTLS := flag.Bool("tls", false, "speak TLS, with a certificate of its own")
	http2 := flag.Bool("h2", false, "also accept WebSockets over HTTP/2")
	client := flag.Bool("client", false, "be the client for the testsuite whose server is at the URL")
	flag.Parse()
	switch {
	case *client && flag.NArg() == 1:
		if err := runClient(flag.Arg(0), *deflate); err != nil {
			log.Fatal(err)
		}
		return
	case flag.NArg() > 0 || *client || handlers[*api] == nil:
		flag.Usage()
		os.Exit(2)
	}
	s := &gale.Server{
		Handler:     handlers[*api](options(*deflate)),
		Engine:      engine,
		Concurrency: 1 << 20,
		HTTP2:       http2Config(*http2, *overTLS),
	}
	if !*overTLS {
		log.Fatal(s.ListenAndServe(*addr))
	}
	cert, key, err := gale.GenerateTestCertificate("127.0.0.1")
	if err != nil {
		log.Fatal(err)
	}
	log.Fatal(s.ListenAndServeTLSEmbed(*addr, cert, key))
}

// http2Config turns HTTP/2 off without -h2.
func http2Config(on, overTLS bool) gale.HTTP2Config {
	if !on {
		return gale.HTTP2Config{Mode: gale.HTTP2Off}
	}
	return gale.HTTP2Config{H2C: !overTLS, WebSocket: true}
}

// options returns the options of the WebSockets. A message that doesn't fit the queue waits,
// so that a client which sends without reading is held up.
func options(deflate bool) *ws.Options {
	o := &ws.Options{MaxMessage: maxMessage, QueuePolicy: ws.QueueWait, Origins: []string{"*"}}
	if deflate {
		o.Compression = &ws.Compression{Threshold: -1, SendTakeover: true, ReceiveTakeover: true}
	}
	return o
}
