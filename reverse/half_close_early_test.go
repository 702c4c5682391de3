package reverse_test

import (
	"io"
	"net"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/galehttp/gale"
	"github.com/galehttp/gale/reverse"
)

// TestHalfCloseAtOnce is TestHalfClose for a client that ends its side together with its request,
// before the proxy watches it.
func TestHalfCloseAtOnce(t *testing.T) { onUpstreams(t, testHalfCloseAtOnce) }

func testHalfCloseAtOnce(t *testing.T) {
	for _, http2 := range []bool{false, true} {
		addr := server(t, func(w http.ResponseWriter, r *http.Request) {
			select { // the proxy begins to watch within 100 ms
			case <-r.Context().Done():
			case <-time.After(300 * time.Millisecond):
			}
			io.WriteString(w, "whole")
		})
		p := &reverse.Proxy{Upstreams: []string{addr}, HTTP2: upstreamMode()}
		front := serveOn(t, p, &gale.Server{HTTP2: gale.HTTP2Config{H2C: true}, Handler: p.Handler})
		mode := gale.HTTP2Off
		if http2 {
			mode = gale.HTTP2Only
		}
		c := &gale.Client{HTTP2: mode, Dial: func(addr string) (net.Conn, error) {
			nc, err := net.Dial("tcp", addr)
			return &endingConn{Conn: nc}, err
		}}
		status, body, err := c.GetTimeout(nil, "http://"+front+"/", wait)
		if err != nil || status != 200 || string(body) != "whole" {
			t.Errorf("HTTP/2 %v: %d, %q, %v", http2, status, body, err)
		}
		c.CloseIdleConnections()
	}
}

// endingConn ends its own side after it has written a request.
type endingConn struct {
	net.Conn
	mu    sync.Mutex
	ended bool
}

func (c *endingConn) Write(p []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ended {
		return len(p), nil // such as acknowledgements
	}
	n, err := c.Conn.Write(p)
	if ends(p) {
		c.ended = true
		c.Conn.(*net.TCPConn).CloseWrite()
	}
	return n, err
}

// ends reports whether p has the request: its target is text in HTTP/1.1, and coded in HTTP/2, where
// the first frame of type HEADERS has it.
func ends(p []byte) bool {
	if string(p[:min(4, len(p))]) == "GET " {
		return true
	}
	const preface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
	if len(p) >= len(preface) && string(p[:len(preface)]) == preface {
		p = p[len(preface):]
	}
	for len(p) >= 9 {
		if p[3] == 1 {
			return true
		}
		p = p[min(len(p), 9+int(p[0])<<16+int(p[1])<<8+int(p[2])):]
	}
	return false
}
