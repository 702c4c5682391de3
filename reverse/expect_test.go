package reverse_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/galehttp/gale"
	"github.com/galehttp/gale/reverse"
)

// A refusal of the upstream in place of the 100 is passed on whole, also if its body takes
// longer than the wait for a 100. The client isn't asked for the body, nor is it read.
func TestSlowRefusal(t *testing.T) { onEngines(t, testSlowRefusal) }

func testSlowRefusal(t *testing.T) {
	addr, _ := script(t, func(c *net.TCPConn, br *bufio.Reader) {
		readHead(br)
		io.WriteString(c, "HTTP/1.1 401 Unauthorized\r\nContent-Length: 20\r\n\r\n0123456789")
		time.Sleep(gale.DefaultExpectContinueTimeout * 6 / 5) // what was passed then would be cut off
		io.WriteString(c, "0123456789")
		if n, _ := io.Copy(io.Discard, br); n > 0 {
			t.Errorf("the upstream got %d bytes of the body", n)
		}
	})
	proxyAddr := start(t, addr)
	lengths := []string{"Content-Length: 4", "Content-Length: 20000", "Transfer-Encoding: chunked"}
	got := make(chan string)
	for _, length := range lengths {
		go func() {
			got <- length + ": " + talk(t, proxyAddr, "POST / HTTP/1.1\r\nHost: a\r\nConnection: close\r\nExpect: 100-continue\r\n"+length+"\r\n\r\n")
		}()
	}
	for range lengths {
		if s := <-got; !strings.Contains(s, ": HTTP/1.1 401 ") || !strings.HasSuffix(s, "\r\n\r\n01234567890123456789") {
			t.Errorf("%q", s)
		}
	}
}

// An upstream that answers before it has read the body gets it all the same, if it has asked
// for it.
func TestAnswersBeforeBody(t *testing.T) { onUpstreams(t, testAnswersBeforeBody) }

func testAnswersBeforeBody(t *testing.T) {
	ln, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &gale.Server{Engine: engine, StreamRequestBody: true, HTTP2: gale.HTTP2Config{H2C: true}, Handler: func(ctx *gale.RequestCtx) {
		if string(ctx.Path()) == "/403" {
			_ = ctx.SendInterim(gale.StatusContinue, nil)
			ctx.SetStatusCode(gale.StatusForbidden)
		}
		_ = ctx.Flush()
		n, err := io.Copy(io.Discard, ctx.RequestBodyStream())
		fmt.Fprint(ctx, n, " ", err)
	}}
	go s.Serve(ln)
	t.Cleanup(func() { s.Close() })
	addr := serve(t, &reverse.Proxy{Upstreams: []string{ln.Addr().String()}})
	for range 20 { // the 100 and the head come together, and in some runs are noticed together
		for path, status := range map[string]string{"/200": "200 OK", "/403": "403 Forbidden"} {
			c, br := dial(t, addr)
			io.WriteString(c, "POST "+path+" HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 20000\r\n\r\n")
			if head := readHead(br); head != "HTTP/1.1 100 Continue\r\n\r\n" {
				t.Fatalf("%s: %q, want a 100", path, head)
			}
			io.WriteString(c, strings.Repeat("a", 20000))
			resp, err := http.ReadResponse(br, nil)
			if err != nil {
				t.Fatalf("%s: %v", path, err)
			}
			if b, err := io.ReadAll(resp.Body); resp.Status != status || string(b) != "20000 <nil>" || err != nil {
				t.Fatalf("%s: %s %q, %v", path, resp.Status, b, err)
			}
			c.Close()
		}
	}
}
