package client

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/galehttp/gale"
	"github.com/galehttp/gale/internal/door"
	"github.com/galehttp/gale/tests/harness"
	"github.com/galehttp/gale/tests/harness/gate"
	"github.com/galehttp/gale/tests/harness/peers"
)

// A server and callers that do everything that servers and callers may do: no caller gets
// the response of another, no request that isn't idempotent is processed twice, every
// call returns, and nothing is left.
func TestPipelineChaos(t *testing.T) {
	peers.WithoutEngine(t)
	before := runtime.NumGoroutine()
	t.Run("", func(t *testing.T) {
		c := &gale.PipelineClient{Addr: peers.ChaosServer(t), Logger: peers.DiscardLog{}}
		c.MaxConns = 2
		c.MaxPendingRequests = 8
		var served, failed atomic.Int32
		var wg sync.WaitGroup
		for i := range 16 {
			wg.Go(func() {
				req, resp := &gale.Request{}, &gale.Response{}
				for n := range 150 {
					method := []string{"GET", "POST", "PUT"}[gate.Rand.IntN(3)]
					path := fmt.Sprintf("/%d/%d", i, n)
					req.Reset()
					req.SetRequestURI("http://example.org" + path)
					req.Header.SetMethod(method)
					body := ""
					if method != "GET" {
						body = string(make([]byte, gate.Rand.IntN(20000)))
						req.SetBodyString(body)
					}
					ctx, cancel := context.WithCancel(t.Context())
					var err error
					switch gate.Rand.IntN(4) {
					case 0:
						err = c.DoTimeout(req, resp, time.Duration(gate.Rand.IntN(5000)+1)*time.Microsecond)
					case 1:
						timer := time.AfterFunc(time.Duration(gate.Rand.IntN(5000))*time.Microsecond, cancel)
						err = c.DoContext(ctx, req, resp)
						timer.Stop()
					default:
						err = c.DoTimeout(req, resp, time.Minute)
					}
					cancel()
					var sent *gale.ErrRequestSent
					switch {
					case err == nil:
						served.Add(1)
						if got, want := string(resp.Body()), method+" "+path+" "+body; got != want {
							t.Errorf("%s %s: got %.40q", method, path, got)
						}
					case errors.As(err, &sent) && method != "POST":
						t.Errorf("%s %s: %v", method, path, err)
					default:
						failed.Add(1)
					}
				}
			})
		}
		wg.Wait()
		t.Logf("%d were served, %d were not", served.Load(), failed.Load())
		harness.WantNonePending(t, c)
		door.ClosePipes(c)
	})
	peers.WantGoroutines(t, before)
}

// Whatever a server sends, every call returns.
func FuzzPipeline(f *testing.F) {
	for _, s := range []string{
		"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhiHTTP/1.1 204 No Content\r\n\r\nHTTP/1.1 200 OK\r\n\r\nrest",
		"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\n\r\n",
		"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 0\r\n\r\n",
		"HTTP/1.1 101 Switching Protocols\r\n\r\nabc",
		"HTTP/1.1 200 OK\r\nContent-Length: 99999999999999999999\r\n\r\n",
		"",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, answer []byte) {
		c := &gale.PipelineClient{Addr: "example.org", Logger: peers.DiscardLog{}, Dial: func(string) (net.Conn, error) {
			ours, theirs := net.Pipe()
			go func() {
				defer theirs.Close()
				buf := make([]byte, 4096)
				if _, err := theirs.Read(buf); err == nil {
					go io.Copy(io.Discard, theirs)
					theirs.Write(answer)
				}
			}()
			return ours, nil
		}}
		var wg sync.WaitGroup
		for _, method := range []string{"GET", "HEAD", "POST", "CONNECT"} {
			wg.Go(func() {
				resp := &gale.Response{}
				if err := c.Do(harness.PipeReq(method), resp); err == nil && method == "HEAD" && len(resp.Body()) > 0 {
					t.Errorf("the response to HEAD has the body %q", resp.Body())
				}
			})
		}
		wg.Wait()
		harness.WantNonePending(t, c)
		door.ClosePipes(c)
	})
}
