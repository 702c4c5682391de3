// Ws-chat is a chat with rooms. A room is a topic of ws.Topics. It remembers its last
// messages until the last member leaves.
//
//	go run ./examples/ws-chat -addr 127.0.0.1:8080
//
// Open the address that it prints in two windows of a browser. With -tls-self-signed it
// serves HTTPS with a certificate that it makes, and WebSockets over HTTP/2 (RFC 8441):
// then all of a browser's WebSockets share one connection.
package main

import (
	"context"
	"embed"
	"errors"
	"flag"
	"fmt"
	"log"
	"net"
	"time"

	"github.com/galehttp/gale"
	"github.com/galehttp/gale/ws"
)

//go:embed page.html page.css page.js
var files embed.FS

func main() {
	addr := flag.String("addr", "127.0.0.1:8080", "listen on `HOST:PORT`")
	secure := flag.Bool("tls-self-signed", false, "serve HTTPS with a certificate that is made now")
	flag.Parse()

	c := newChat()
	server := &gale.Server{
		Handler: c.handle,
		// These have no default. They don't apply to WebSockets.
		ReadTimeout:  10 * time.Second,
		WriteTimeout: 10 * time.Second,
		IdleTimeout:  time.Minute,
	}
	server.HTTP2.WebSocket = true
	ln, err := net.Listen("tcp", *addr)
	if err != nil {
		log.Fatal(err)
	}
	var runner gale.Runner // its shutdown closes WebSockets with status code 1001
	err = runner.Run(context.Background(), gale.Service{
		Server: server,
		Serve:  func() error { return serve(server, ln, *secure) },
	})
	if err != nil {
		log.Fatal(err)
	}
}

func serve(server *gale.Server, ln net.Listener, secure bool) error {
	if !secure {
		fmt.Printf("http://%s/\n", ln.Addr())
		return server.Serve(ln)
	}
	host, _, err := net.SplitHostPort(ln.Addr().String())
	if err != nil {
		return err
	}
	cert, key, err := gale.GenerateTestCertificate(host)
	if err != nil {
		return err
	}
	fmt.Printf("https://%s/\n", ln.Addr())
	return server.ServeTLSEmbed(ln, cert, key)
}

func (c *chat) handle(ctx *gale.RequestCtx) {
	switch string(ctx.Path()) {
	case "/":
		sendFile(ctx, "page.html", "text/html; charset=utf-8")
	case "/page.css":
		sendFile(ctx, "page.css", "text/css; charset=utf-8")
	case "/page.js":
		sendFile(ctx, "page.js", "text/javascript; charset=utf-8")
	case "/chat":
		c.open(ctx)
	default:
		ctx.Error("not found", gale.StatusNotFound)
	}
}

// sendFile answers with an embedded file. The page may load nothing from other hosts, and
// no other page may embed it.
func sendFile(ctx *gale.RequestCtx, name, contentType string) {
	data, err := files.ReadFile(name)
	if err != nil {
		ctx.Error("not found", gale.StatusNotFound)
		return
	}
	h := &ctx.Response.Header
	h.Set("Content-Security-Policy", "default-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Cache-Control", "no-cache")
	ctx.SetContentType(contentType)
	ctx.SetBody(data)
}

// options are for all WebSockets. A client that breaks a limit is closed.
var options = ws.Options{
	MaxMessage:  8 << 10,
	MaxQueue:    256 << 10,                        // of a client that reads slowly
	Compression: &ws.Compression{Threshold: 1024}, // for the history
}

var errRequest = errors.New("the room or the name isn't valid")

// open lets a client join the room that the query names. Whether a client may do so is
// decided here, before there is a WebSocket.
func (c *chat) open(ctx *gale.RequestCtx) {
	query := ctx.QueryArgs()
	m := &member{
		chat: c,
		name: string(query.Peek("name")),
		room: string(query.Peek("room")),
		over: string(ctx.Request.Header.Protocol()),
	}
	if !validName(m.name, 24) || !validName(m.room, 32) {
		ctx.Error(errRequest.Error(), gale.StatusBadRequest)
		return
	}
	if err := ws.Serve(ctx, m, &options); err != nil {
		ctx.Logger().Printf("no WebSocket: %v", err) // Serve has set the answer
	}
}
