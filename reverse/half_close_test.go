package reverse_test

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/galehttp/gale"
	"github.com/galehttp/gale/reverse"
)

// TestHalfClose proves that a client which ends its side of the connection after its request gets
// the whole response of the upstream: that doesn't mean that it has lost interest (RFC 9112 section
// 9.6). The upstream answers, or goes on, after the server has noticed the end.
func TestHalfClose(t *testing.T) { onUpstreams(t, testHalfClose) }

func testHalfClose(t *testing.T) {
	for _, x := range []struct {
		name, request, want string
		early, http2        bool // early: the client has the head and a part of the response before it ends its side
	}{
		{name: "GET", request: get, want: "GET "},
		{name: "Content-Length", request: "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhello", want: "POST hello"},
		{name: "chunked", request: "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n", want: "POST hello"},
		{name: "stream", request: get, want: "first GET ", early: true},
		{name: "HTTP/2", want: "GET ", http2: true},
		{name: "HTTP/2 stream", want: "first GET ", http2: true, early: true},
	} {
		asked, noticed := make(chan bool, 1), make(chan bool, 1)
		addr := server(t, func(w http.ResponseWriter, r *http.Request) {
			body, _ := io.ReadAll(r.Body)
			if x.early {
				io.WriteString(w, "first ")
				w.(http.Flusher).Flush()
			}
			asked <- true
			select { // a proxy that gives up does it some time after that
			case <-noticed:
				select {
				case <-r.Context().Done():
				case <-time.After(250 * time.Millisecond):
				}
			case <-time.After(wait):
			}
			io.WriteString(w, r.Method+" "+string(body))
		})
		p := &reverse.Proxy{Upstreams: []string{addr}, HTTP2: upstreamMode()}
		front := serveOn(t, p, &gale.Server{HTTP2: gale.HTTP2Config{H2C: true}, Handler: func(ctx *gale.RequestCtx) {
			context.AfterFunc(ctx.Context(), func() { noticed <- true })
			p.Handler(ctx)
		}})
		if x.http2 {
			var mu sync.Mutex
			var conn *net.TCPConn
			c := &gale.Client{HTTP2: gale.HTTP2Only, StreamResponseBody: true, Dial: func(addr string) (net.Conn, error) {
				nc, err := net.Dial("tcp", addr)
				mu.Lock()
				defer mu.Unlock()
				conn, _ = nc.(*net.TCPConn)
				return nc, err
			}}
			go func() {
				<-asked
				mu.Lock()
				defer mu.Unlock()
				conn.CloseWrite()
			}()
			var req gale.Request
			var resp gale.Response
			req.SetRequestURI("http://" + front + "/")
			if err := c.DoTimeout(&req, &resp, wait); err != nil {
				t.Errorf("%s: %v", x.name, err)
				continue
			}
			if b, err := io.ReadAll(resp.BodyStream()); err != nil || resp.StatusCode() != 200 || string(b) != x.want {
				t.Errorf("%s: %d, %q, %v; want %q", x.name, resp.StatusCode(), b, err, x.want)
			}
			c.CloseIdleConnections()
			continue
		}
		c, err := net.Dial("tcp", front)
		if err != nil {
			t.Fatal(err)
		}
		c.SetDeadline(time.Now().Add(wait))
		io.WriteString(c, x.request)
		if <-asked; !x.early {
			c.(*net.TCPConn).CloseWrite()
		}
		resp, err := http.ReadResponse(bufio.NewReader(c), nil)
		if err != nil {
			t.Errorf("%s: %v", x.name, err)
			c.Close()
			continue
		}
		if x.early {
			c.(*net.TCPConn).CloseWrite()
		}
		if b, err := io.ReadAll(resp.Body); err != nil || resp.StatusCode != 200 || string(b) != x.want {
			t.Errorf("%s: %d, %q, %v; want %q", x.name, resp.StatusCode, b, err, x.want)
		}
		c.Close()
	}
}

// reset closes c in a way that its peer notices at once.
func reset(c net.Conn) {
	c.(*net.TCPConn).SetLinger(0)
	c.Close()
}
