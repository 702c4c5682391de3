package reverse_test

import (
	"context"
	"io"
	"net"
	"net/http"
	"testing"
	"time"

	"github.com/galehttp/gale"
	"github.com/galehttp/gale/reverse"
)

// TestHalfCloseReset proves that a client which ends its side, and breaks the connection later,
// ends the request to the upstream. The server has noticed the first before the second.
func TestHalfCloseReset(t *testing.T) { onUpstreams(t, testHalfCloseReset) }

func testHalfCloseReset(t *testing.T) {
	asked, noticed, gone := make(chan bool, 1), make(chan bool, 1), make(chan bool, 1)
	addr := server(t, func(w http.ResponseWriter, r *http.Request) {
		asked <- true
		select {
		case <-r.Context().Done():
			gone <- true
		case <-time.After(wait):
		}
	})
	p := &reverse.Proxy{Upstreams: []string{addr}, HTTP2: upstreamMode()}
	front := serveOn(t, p, &gale.Server{Handler: func(ctx *gale.RequestCtx) {
		context.AfterFunc(ctx.Context(), func() { noticed <- true })
		p.Handler(ctx)
	}})
	c, err := net.Dial("tcp", front)
	if err != nil {
		t.Fatal(err)
	}
	io.WriteString(c, get)
	<-asked
	c.(*net.TCPConn).CloseWrite()
	<-noticed
	time.Sleep(2 * watchTime) // the proxy watches by then
	reset(c)
	select {
	case <-gone:
	case <-time.After(wait / 2):
		t.Error("the request to the upstream goes on")
	}
}

// watchTime is the time after which the proxy watches a client at the latest.
const watchTime = 100 * time.Millisecond
