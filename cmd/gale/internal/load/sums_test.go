package load

import (
	"fmt"
	"io"
	"log"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/galehttp/gale/internal/head"
	"github.com/galehttp/gale/internal/measure/figures"
	"github.com/galehttp/gale/tests/harness/peers"
)

// TestRunSums proves that targets, steps, intervals, statuses and errors add up to the
// totals, however a run ends and whatever becomes of its requests.
func TestRunSums(t *testing.T) {
	for _, c := range []struct {
		name string
		set  func(p *Plan)
	}{
		{"count", func(p *Plan) { p.Count = 400 }},
		{"duration", func(p *Plan) { p.Duration = 100 * time.Millisecond }},
		{"warm-up", func(p *Plan) { p.WarmUp, p.Duration = 50*time.Millisecond, 100*time.Millisecond }},
		{"pipeline", func(p *Plan) { p.Pipeline, p.Count = 5, 400 }},
		{"requests per connection", func(p *Plan) { p.Pipeline, p.RequestsPerConn, p.Count = 3, 10, 400 }},
		{"no keep-alive", func(p *Plan) { p.NoKeepAlive, p.Count = true, 200 }},
		{"a rate", func(p *Plan) {
			p.Schedule = []Ramp{{1000, 1000, 100 * time.Millisecond}, {1000, 3000, 100 * time.Millisecond}}
		}},
		{"a rate after a warm-up", func(p *Plan) {
			p.WarmUp, p.Schedule = 50*time.Millisecond, []Ramp{{2000, 2000, 100 * time.Millisecond}}
		}},
		{"too few connections for a rate", func(p *Plan) {
			p.Timeout, p.Schedule = 50*time.Millisecond, []Ramp{{20_000, 20_000, 100 * time.Millisecond}}
		}},
		{"HTTP/2", func(p *Plan) { p.HTTP2, p.Streams, p.Count = true, 5, 400 }},
		{"HTTP/2 at a rate", func(p *Plan) {
			p.HTTP2, p.Streams, p.Schedule = true, 5, []Ramp{{2000, 2000, 100 * time.Millisecond}}
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			onNetworks(t, func(t *testing.T, do func(*Plan) *figures.Run) {
				var n atomic.Int64
				addr := serveBoth(t, func(w http.ResponseWriter, r *http.Request) {
					switch n.Add(1) % 10 {
					case 0:
						panic(http.ErrAbortHandler)
					case 1:
						w.WriteHeader(503)
					case 2:
						time.Sleep(2 * time.Millisecond) // a slow answer
					case 3:
						w.Header().Set("Connection", "close")
					}
					io.WriteString(w, "hello")
				})
				p := planFor(addr)
				p.Interval = 20 * time.Millisecond
				p.Targets = append(p.Targets, target1(addr, newFixed("GET", "/b", "")))
				for i := range p.Targets {
					p.Targets[i].Expect = func(h *head.Response, _ []byte, _ int64) (string, string) {
						if h.Status != 200 {
							return "status", "another status"
						}
						return "", ""
					}
				}
				c.set(p)
				checkSums(t, p, do(p))
			})
		})
	}
}

// serveBoth serves HTTP/1.1 and HTTP/2 in the clear.
func serveBoth(t *testing.T, h http.HandlerFunc) string {
	s := &http.Server{Handler: h, ErrorLog: log.New(io.Discard, "", 0), Protocols: peers.Protocols(1, 2)}
	ln := listen(t)
	go s.Serve(ln)
	t.Cleanup(func() { s.Close() })
	return ln.Addr().String()
}

func checkSums(t *testing.T, p *Plan, r *figures.Run) {
	t.Helper()
	var targets, steps figures.Requests
	var targetLatencies, stepLatencies, statuses, failed int64
	for i := range r.Targets {
		addRequests(&targets, &r.Targets[i].Requests)
		targetLatencies += r.Targets[i].Latency.Count
	}
	if targets != r.Requests || targetLatencies != r.Latency.Count {
		t.Errorf("targets: %+v with %d latencies, in all %+v with %d", targets, targetLatencies, r.Requests, r.Latency.Count)
	}
	for i := range r.Steps {
		addRequests(&steps, &r.Steps[i].Requests)
		stepLatencies += r.Steps[i].Latency.Count
	}
	if len(r.Steps) > 0 && (steps != r.Requests || stepLatencies != r.Latency.Count) {
		t.Errorf("steps: %+v with %d latencies, in all %+v with %d", steps, stepLatencies, r.Requests, r.Latency.Count)
	}
	for _, n := range r.Statuses {
		statuses += n
	}
	if statuses != r.Requests.Good+r.Requests.Unexpected {
		t.Errorf("%d statuses, %+v", statuses, r.Requests)
	}
	for _, e := range r.Errors {
		failed += e.Count
	}
	if failed -= errorCount(r, kindConnect); failed != r.Requests.Failed+r.Requests.Unexpected {
		t.Errorf("errors %+v, %+v", r.Errors, r.Requests)
	}
	if r.Schedule == nil && r.Latency.Count != r.Requests.Good+r.Requests.Unexpected {
		t.Errorf("%d latencies, %+v", r.Latency.Count, r.Requests)
	}
	var good, bad int64
	for _, i := range r.Intervals {
		if i.AtNS >= 0 {
			good, bad = good+i.Good, bad+i.Bad
		}
	}
	late := int64(0)
	if r.Schedule != nil { // answers that came after the last interval
		late = int64(p.Connections * max(p.Pipeline, p.Streams, 1))
	}
	missing := r.Requests.Good + r.Requests.Unexpected + r.Requests.Failed - good - bad
	if p.WarmUp == 0 && (missing < 0 || missing > late) { // with it, some of its requests are in the intervals
		t.Errorf("intervals: %d good and %d bad, in all %+v", good, bad, r.Requests)
	}
}

// TestErrorsOfWarmUp proves that requests of the warm-up that fail in the counted time
// aren't among its errors.
func TestErrorsOfWarmUp(t *testing.T) {
	onNetworks(t, func(t *testing.T, do func(*Plan) *figures.Run) {
		for _, http2 := range []bool{false, true} {
			// The first request of each connection must be sent in the warm-up.
			withMoreTime(t, 100*time.Millisecond, func(warmUp time.Duration) error {
				begun := make(chan struct{})
				p := planFor(serveBoth(t, func(w http.ResponseWriter, r *http.Request) {
					select {
					case <-begun:
					default:
						<-begun
						panic(http.ErrAbortHandler)
					}
				}))
				p.HTTP2, p.WarmUp, p.Count = http2, warmUp, 20
				p.Begin = func() { close(begun) }
				if r := do(p); r.Requests.Good != 20 || len(r.Errors) != 0 {
					return fmt.Errorf("HTTP/2 %t: %+v, errors %+v", http2, r.Requests, r.Errors)
				}
				return nil
			})
		}
	})
}

// TestOpenLoopUsesAllConnections proves that each loop sends to each server, whatever the
// numbers of loops and of URLs are.
func TestOpenLoopUsesAllConnections(t *testing.T) {
	onNetworks(t, func(t *testing.T, do func(*Plan) *figures.Run) {
		var mu sync.Mutex
		seen := map[string]bool{}
		handler := func(w http.ResponseWriter, r *http.Request) {
			mu.Lock()
			defer mu.Unlock()
			seen[r.RemoteAddr] = true
		}
		first, second := serve(t, handler), serve(t, handler)
		p := planFor(first)
		p.Targets = append(p.Targets, target1(second, newFixed("GET", "/", "")))
		p.Connections, p.Count, p.Schedule = 8, 400, []Ramp{{2000, 2000, 20 * time.Second}}
		r := do(p)
		mu.Lock()
		defer mu.Unlock()
		if r.Requests.Good != 400 || len(seen) != 8 {
			t.Errorf("%+v over %d connections", r.Requests, len(seen))
		}
		if r.Targets[0].Requests.Good != 200 {
			t.Errorf("%+v", r.Targets[0].Requests)
		}
	})
}

// TestLatencyBeginsWithTheWrite proves that what the generator does before it writes a
// request isn't in the latency of that request.
func TestLatencyBeginsWithTheWrite(t *testing.T) {
	const delay, conns = 5 * time.Millisecond, 40
	onNetworks(t, func(t *testing.T, do func(*Plan) *figures.Run) {
		addr := serve(t, func(w http.ResponseWriter, r *http.Request) {})
		p := planFor(addr)
		p.Threads, p.Connections, p.Count, p.Delay = 1, conns, conns, delay
		if least := time.Duration(do(p).Latency.MinNS); least > conns*delay/2 {
			t.Errorf("the smallest latency is %v", least)
		}
	})
}
