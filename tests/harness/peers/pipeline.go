package peers

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/galehttp/gale/tests/harness/gate"
)

// ChaosServer answers each request with its method, path and body, or behaves in some
// other way that servers do. A POST that arrives twice is an error.
func ChaosServer(t *testing.T) (addr string) {
	var acted sync.Map
	return ServePipes(t, func(_ int, nc net.Conn, br *bufio.Reader) {
		w := bufio.NewWriter(nc)
		for {
			if br.Buffered() == 0 || gate.Rand.IntN(4) == 0 {
				w.Flush()
			}
			method, path, body := PipeRequest(br)
			if method == "" {
				return
			}
			dice := gate.Rand.IntN(100)
			if dice == 0 { // lost before it was processed
				return
			}
			if n, _ := acted.LoadOrStore(method+path, new(atomic.Int32)); n.(*atomic.Int32).Add(1) > 1 && method == "POST" {
				t.Errorf("%s %s was acted upon twice", method, path)
			}
			answer := method + " " + path + " " + body
			switch {
			case dice == 1: // lost after it was processed
				return
			case dice == 2:
				PipeAnswer(w, "Connection: close\r\n", answer)
				w.Flush()
				nc.(*net.TCPConn).CloseWrite()
				io.Copy(io.Discard, br)
				return
			case dice == 3:
				fmt.Fprintf(w, "HTTP/1.1 200 OK\r\n\r\n%s", answer)
				w.Flush()
				nc.(*net.TCPConn).CloseWrite()
				io.Copy(io.Discard, br)
				return
			case dice == 4:
				io.WriteString(w, "HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\nhalf")
				w.Flush()
				return
			case dice == 5:
				io.WriteString(w, "HTTP/1.1 200 OK\nbad\n\n")
				w.Flush()
				return
			case dice == 6:
				time.Sleep(5 * time.Millisecond) // a slow server
			case dice < 20:
				io.WriteString(w, "HTTP/1.1 103 Early Hints\r\n\r\n")
			}
			if dice%3 == 0 {
				fmt.Fprintf(w, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n%x\r\n%s\r\n0\r\n\r\n", len(answer), answer)
			} else {
				PipeAnswer(w, "", answer)
			}
		}
	})
}

// PipeHandler is a server's side of one connection, the nth.
type PipeHandler func(n int, c net.Conn, br *bufio.Reader)

// DiscardLog is a Logger.
type DiscardLog struct{}

func (DiscardLog) Printf(string, ...any) {}

// ServePipes serves h until the test ends.
func ServePipes(t testing.TB, h PipeHandler) (addr string) {
	t.Helper()
	return ServeConns(t, func(n int, c net.Conn) { h(n, c, bufio.NewReader(c)) })
}

// PipeRequest reads a request and returns its method, path and body. At the end of the
// stream the method is empty.
func PipeRequest(br *bufio.Reader) (method, path, body string) {
	req, err := http.ReadRequest(br)
	if err != nil {
		return "", "", ""
	}
	b, err := io.ReadAll(req.Body)
	if err != nil {
		return "", "", ""
	}
	return req.Method, req.URL.Path, string(b)
}

func PipeAnswer(w io.Writer, extra, body string) {
	fmt.Fprintf(w, "HTTP/1.1 200 OK\r\n%sContent-Length: %d\r\n\r\n%s", extra, len(body), body)
}

// PipeEcho answers each request with its method, path and body.
func PipeEcho(_ int, c net.Conn, br *bufio.Reader) {
	w := bufio.NewWriter(c)
	for {
		if br.Buffered() == 0 {
			w.Flush()
		}
		method, path, body := PipeRequest(br)
		if method == "" {
			return
		}
		PipeAnswer(w, "", method+" "+path+" "+body)
	}
}

func WantPipe(t *testing.T, got, want string) {
	t.Helper()
	if got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
