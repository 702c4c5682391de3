package load

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/galehttp/gale/internal/head"
	"github.com/galehttp/gale/internal/measure/figures"
)

// lateNetwork is a network whose waits begin late at first, so that what happens to a
// socket meanwhile is one event.
type lateNetwork struct {
	network
	waits int
}

func (n *lateNetwork) wait(d time.Duration) []event {
	if n.waits++; n.waits == 1 {
		time.Sleep(100 * time.Millisecond) // the first wait begins late
	}
	return n.network.wait(d)
}

// TestEndWithConnect proves that a loop sees the end of a connection if it learns of it
// together with its beginning.
func TestEndWithConnect(t *testing.T) {
	for name, n := range networks {
		t.Run(name, func(t *testing.T) {
			leaks(t)
			var accepted atomic.Int64
			addr := script(t, func(c net.Conn, r *bufio.Reader) {
				if accepted.Add(1) <= 4 {
					return
				}
				for readRequest(r) != "" {
					io.WriteString(c, emptyOK)
				}
			})
			p := planFor(addr)
			p.Count, p.Schedule = 20, []Ramp{{100, 100, 20 * time.Second}}
			r := runOn(t, t.Context(), p, func(conns int) (network, error) {
				inner, err := n(conns)
				return &lateNetwork{network: inner}, err
			})
			if r.Requests.Good != 20 || r.Connections.Reopened != 4 {
				t.Errorf("%+v, errors %v, %d reopened", r.Requests, r.Errors, r.Connections.Reopened)
			}
		})
	}
}

// fullReads is a network whose reads fill the buffer, as those from a fast server do.
type fullReads struct{ network }

func (n fullReads) read(slot int32, p []byte) (int, error) {
	for got := 0; ; {
		m, err := n.network.read(slot, p[got:])
		if got += m; got == len(p) || err != nil && err != errAgain {
			return got, err
		}
	}
}

// TestEndlessBody proves that a body that arrives as fast as it is read doesn't keep a loop
// from its other connections, nor from the end of the run.
func TestEndlessBody(t *testing.T) {
	for name, n := range networks {
		t.Run(name, func(t *testing.T) {
			leaks(t)
			var served atomic.Int64
			end := time.Now().Add(20 * time.Second)
			addr := script(t, func(c net.Conn, r *bufio.Reader) {
				if readRequest(r) == "" {
					return
				}
				served.Add(1)
				io.WriteString(c, "HTTP/1.1 200 OK\r\n\r\n")
				for zeros := make([]byte, 64<<10); time.Now().Before(end); {
					if _, err := c.Write(zeros); err != nil {
						return
					}
				}
			})
			p := planFor(addr)
			p.Connections, p.Threads, p.Duration = 2, 1, 200*time.Millisecond
			r := runOn(t, t.Context(), p, func(conns int) (network, error) {
				inner, err := n(conns)
				return fullReads{inner}, err
			})
			if r.Requests.Unanswered != 2 || served.Load() != 2 || time.Now().After(end) {
				t.Errorf("%+v, the server saw %d", r.Requests, served.Load())
			}
		})
	}
}

// TestResponsesAfterTheEnd proves that responses that were read after the end of the
// counted time aren't counted.
func TestResponsesAfterTheEnd(t *testing.T) {
	onNetworks(t, func(t *testing.T, do func(*Plan) *figures.Run) {
		addr := serve(t, func(w http.ResponseWriter, r *http.Request) {})
		p := planFor(addr)
		p.Connections, p.Threads, p.Duration = 20, 1, 200*time.Millisecond
		p.Targets[0].Expect = func(*head.Response, []byte, int64) (string, string) {
			time.Sleep(400 * time.Millisecond) // longer than the counted time
			return "", ""
		}
		if r := do(p); r.Requests.Good > 1 || r.Requests.Sent < 20 {
			t.Errorf("%+v, want 1 good one at most", r.Requests)
		}
	})
}

// TestAnswerBeforeTheBody proves that a server that answers without having read the body, and
// never reads it, doesn't keep its connection forever.
func TestAnswerBeforeTheBody(t *testing.T) {
	for name, n := range networks {
		t.Run(name, func(t *testing.T) {
			leaks(t)
			stop := make(chan struct{})
			defer close(stop)
			addr := script(t, func(c net.Conn, r *bufio.Reader) {
				if readRequest(r) != "" {
					io.WriteString(c, emptyOK)
					<-stop
				}
			})
			p := planFor(addr)
			p.Connections, p.Threads, p.Count, p.Timeout = 2, 1, 6, 100*time.Millisecond
			p.Targets[0].Source = newFixed("POST", "/", strings.Repeat("x", 32<<20))
			ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
			defer cancel()
			if r := runOn(t, ctx, p, n); r.Requests.Good != 6 || r.Interrupted {
				t.Errorf("%+v, errors %v", r.Requests, r.Errors)
			}
		})
	}
}

// TestPipelineAfterClose proves that requests in a pipeline after a response that says close
// are sent again over another connection.
func TestPipelineAfterClose(t *testing.T) {
	onNetworks(t, func(t *testing.T, do func(*Plan) *figures.Run) {
		leaks(t)
		for _, reset := range []bool{false, true} {
			addr := script(t, func(c net.Conn, r *bufio.Reader) {
				readRequest(r)
				io.WriteString(c, emptyOK)
				if readRequest(r) == "" {
					return
				}
				io.WriteString(c, "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 0\r\n\r\n")
				if !reset { // otherwise requests that were not read make it one
					c.(*net.TCPConn).CloseWrite()
					io.Copy(io.Discard, r)
				}
			})
			p := planFor(addr)
			p.Pipeline, p.Count = 5, 60
			r := do(p)
			q := r.Requests
			if q.Sent != 60 || r.Connections.Resent == 0 || !reset && q.Good != 60 {
				t.Errorf("reset %t: %+v, errors %v, %+v", reset, q, r.Errors, r.Connections)
			}
		}
	})
}

// TestServerLeavesOpen proves that a server that ignores "Connection: close" isn't waited for
// on each connection: at one second for each, that would be the limit.
func TestServerLeavesOpen(t *testing.T) {
	for name, n := range networks {
		t.Run(name, func(t *testing.T) {
			leaks(t)
			addr := script(t, func(c net.Conn, r *bufio.Reader) {
				for readRequest(r) != "" {
					io.WriteString(c, emptyOK)
				}
			})
			p := planFor(addr)
			p.Connections, p.Threads, p.Count, p.NoKeepAlive = 3, 1, 90, true
			ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
			defer cancel()
			if r := runOn(t, ctx, p, n); r.Requests.Good != 90 || r.Interrupted {
				t.Errorf("%+v, errors %v", r.Requests, r.Errors)
			}
		})
	}
}
