// Package upstream is a server that programs call, and clients of it. The server is in
// memory and answers with the request target and the body of the request.
package upstream

import (
	"net"
	"sync"

	"github.com/galehttp/gale"
	"github.com/galehttp/gale/galeutil"
)

// URL is the server's address.
const URL = "http://upstream"

var (
	// Client sends requests to the server, whatever their host is.
	Client = &gale.Client{Dial: dial}
	// Host is a client for the server alone.
	Host = &gale.HostClient{Addr: "upstream", Dial: dial}
)

var listener = sync.OnceValue(func() *galeutil.InmemoryListener {
	ln := galeutil.NewInmemoryListener()
	s := &gale.Server{Handler: answer}
	go s.Serve(ln)
	return ln
})

func dial(string) (net.Conn, error) { return listener().Dial() }

func answer(ctx *gale.RequestCtx) {
	ctx.Write(ctx.RequestURI())
	ctx.WriteString(" ")
	ctx.Write(ctx.PostBody())
}
