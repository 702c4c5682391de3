package client

import (
	"context"
	"fmt"
	"io"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/galehttp/gale"
	"github.com/galehttp/gale/tests/harness/gate"
	"github.com/galehttp/gale/tests/harness/peers"
)

// The same if each call has a connection of its own, with streamed bodies that are read
// to their end or not, and closed by any goroutine.
func TestHostClientChaos(t *testing.T) {
	peers.WithoutEngine(t)
	before := runtime.NumGoroutine()
	t.Run("", func(t *testing.T) {
		c := &gale.HostClient{Addr: peers.ChaosServer(t), MaxConns: 4, MaxConnWaitTimeout: time.Minute}
		var served, failed atomic.Int32
		var wg sync.WaitGroup
		for i := range 16 {
			wg.Go(func() {
				req, resp := &gale.Request{}, &gale.Response{}
				for n := range 150 {
					method := []string{"GET", "POST", "PUT"}[gate.Rand.IntN(3)]
					path := fmt.Sprintf("/%d/%d", i, n)
					req.Reset()
					resp.Reset()
					req.SetRequestURI("http://example.org" + path)
					req.Header.SetMethod(method)
					body := ""
					if method != "GET" {
						body = string(make([]byte, gate.Rand.IntN(20000)))
						req.SetBodyString(body)
					}
					resp.StreamBody = gate.Rand.IntN(2) == 0
					ctx, cancel := context.WithCancel(t.Context())
					if gate.Rand.IntN(3) == 0 {
						time.AfterFunc(time.Duration(gate.Rand.IntN(5000))*time.Microsecond, cancel)
					}
					if gate.Rand.IntN(3) == 0 {
						req.SetTimeout(time.Duration(gate.Rand.IntN(5000)+1) * time.Microsecond)
					}
					err := c.DoContext(ctx, req, resp)
					var got []byte
					stream := resp.BodyStream()
					switch {
					case err != nil:
					case stream == nil:
						got = resp.Body()
					case gate.Rand.IntN(3) == 0:
						io.CopyN(io.Discard, stream, int64(gate.Rand.IntN(20000)))
						err = io.ErrClosedPipe
					default:
						if gate.Rand.IntN(3) == 0 {
							wg.Go(func() {
								time.Sleep(time.Duration(gate.Rand.IntN(500)) * time.Microsecond) // some time during the read
								stream.(io.Closer).Close()
							})
						}
						got, err = io.ReadAll(stream)
					}
					if err == nil {
						served.Add(1)
						if want := method + " " + path + " " + body; string(got) != want {
							t.Errorf("%s %s: got %.40q", method, path, got)
						}
					} else {
						failed.Add(1)
					}
					resp.CloseBodyStream()
					cancel()
				}
			})
		}
		wg.Wait()
		t.Logf("%d were served, %d were not", served.Load(), failed.Load())
		c.CloseIdleConnections()
		if s := c.PoolStats(); s.Open != 0 || s.Waiting != 0 || c.PendingRequests() != 0 {
			t.Errorf("%+v and %d requests are left", s, c.PendingRequests())
		}
	})
	peers.WantGoroutines(t, before)
}
