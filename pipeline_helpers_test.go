package gale

import (
	"bufio"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"sync"
	"testing"
)

// pipeHandler is a server's side of one connection, the nth.
type pipeHandler func(n int, c net.Conn, br *bufio.Reader)

// discardLog is a Logger.
type discardLog struct{}

func (discardLog) Printf(string, ...any) {}

// pipeServer serves h until the test ends, and returns a client of it.
func pipeServer(t testing.TB, h pipeHandler) *PipelineClient {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	var mu sync.Mutex
	var conns []net.Conn
	wg.Go(func() {
		for n := 1; ; n++ {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			mu.Lock()
			conns = append(conns, c)
			mu.Unlock()
			wg.Go(func() {
				defer c.Close()
				h(n, c, bufio.NewReader(c))
			})
		}
	})
	t.Cleanup(func() {
		ln.Close()
		mu.Lock()
		for _, c := range conns {
			c.Close()
		}
		mu.Unlock()
		wg.Wait()
	})
	return &PipelineClient{Addr: ln.Addr().String(), Logger: discardLog{}}
}

// pipeRequest reads a request and returns its method, path and body. At the end of the
// stream the method is empty.
func pipeRequest(br *bufio.Reader) (method, path, body string) {
	var req Request
	if err := req.Read(br); err != nil {
		return "", "", ""
	}
	return string(req.Header.Method()), string(req.URI().Path()), string(req.Body())
}

func pipeAnswer(w io.Writer, extra, body string) {
	fmt.Fprintf(w, "HTTP/1.1 200 OK\r\n%sContent-Length: %d\r\n\r\n%s", extra, len(body), body)
}

// pipeEcho answers each request with its method, path and body.
func pipeEcho(_ int, c net.Conn, br *bufio.Reader) {
	w := bufio.NewWriter(c)
	for {
		if br.Buffered() == 0 {
			w.Flush()
		}
		method, path, body := pipeRequest(br)
		if method == "" {
			return
		}
		pipeAnswer(w, "", method+" "+path+" "+body)
	}
}

// pipeDo performs a request and returns the body of the response, or the
// error.
func pipeDo(c *PipelineClient, method, path, body string) string {
	req, resp := AcquireRequest(), AcquireResponse()
	defer ReleaseRequest(req)
	defer ReleaseResponse(resp)
	req.SetRequestURI("http://example.org" + path)
	req.Header.SetMethod(method)
	req.SetBodyString(body)
	if err := c.Do(req, resp); err != nil {
		return "error: " + err.Error()
	}
	return string(resp.Body())
}

func wantPipe(t *testing.T, got, want string) {
	t.Helper()
	if got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func pipeReq(method string) *Request {
	req := &Request{}
	req.SetRequestURI("http://example.org/")
	req.Header.SetMethod(method)
	return req
}

// closePipes ends the connections of c.
func closePipes(c *PipelineClient) {
	for i := range c.lanes {
		l := &c.lanes[i]
		l.mu.Lock()
		if l.conn != nil {
			l.conn.end(errPipeIdle)
		}
		l.mu.Unlock()
	}
}

func pipeReqTo(path string) *Request {
	req := &Request{}
	req.SetRequestURI("http://example.org" + path)
	return req
}

// pipeAnswerAll answers requests without a body, and without allocating.
func pipeAnswerAll(_ int, nc net.Conn, br *bufio.Reader) {
	answer := []byte("HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Type: text/plain\r\n\r\nhello")
	for {
		line, err := br.ReadSlice('\n')
		if err != nil {
			return
		}
		if len(line) == 2 {
			nc.Write(answer)
		}
	}
}

func insecureTLS() *tls.Config { return &tls.Config{InsecureSkipVerify: true} }
