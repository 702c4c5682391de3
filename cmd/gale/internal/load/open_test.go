package load

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/galehttp/gale/internal/measure/figures"
)

const emptyOK = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"

// stalling serves requests at once, except that it stops for pause of every cycle. Each pause
// begins with a request.
func stalling(t *testing.T, cycle, pause time.Duration) string {
	var mu sync.Mutex
	stop := time.Now().Add(cycle - pause)
	return script(t, func(c net.Conn, r *bufio.Reader) {
		for readRequest(r) != "" {
			mu.Lock()
			if !time.Now().Before(stop) {
				time.Sleep(pause) // the server stops
				stop = time.Now().Add(cycle - pause)
			}
			mu.Unlock()
			io.WriteString(c, emptyOK)
		}
	})
}

// TestStallShows proves that an open loop shows a server that stops now and then, and that
// a closed loop hides it.
func TestStallShows(t *testing.T) {
	const pause = 50 * time.Millisecond
	onNetworks(t, func(t *testing.T, do func(*Plan) *figures.Run) {
		// A slow machine sends too few requests between two pauses, so more than 1% of them wait.
		withMoreTime(t, 200*time.Millisecond, func(cycle time.Duration) error {
			addr := stalling(t, cycle, pause)
			p := planFor(addr)
			p.Threads, p.Schedule = 1, []Ramp{{1000, 1000, 2 * cycle}}
			r := do(p)
			if p99 := time.Duration(r.Latency.P99NS); p99 < pause*9/10 {
				return fmt.Errorf("open loop: p99 is %v, and the server stops for %v", p99, pause)
			}
			p = planFor(addr)
			p.Threads, p.Duration = 1, 2*cycle
			r = do(p)
			if p99, most := time.Duration(r.Latency.P99NS), time.Duration(r.Latency.MaxNS); p99 > pause*9/10 || most < pause*9/10 {
				return fmt.Errorf("closed loop: p99 is %v and the maximum %v, which should hide a pause of %v", p99, most, pause)
			}
			return nil
		})
	})
}

// TestOpenLoopKeepsRate proves that the starts of a schedule are all sent, and counted by
// step.
func TestOpenLoopKeepsRate(t *testing.T) {
	onNetworks(t, func(t *testing.T, do func(*Plan) *figures.Run) {
		addr := serve(t, func(w http.ResponseWriter, r *http.Request) {})
		p := planFor(addr)
		p.Connections = 300 // so that none is missing on a loaded machine
		p.Schedule = []Ramp{{1000, 1000, 200 * time.Millisecond}, {1000, 3000, 200 * time.Millisecond}}
		r := do(p)
		if r.Requests.Good != 600 || r.Schedule.Intended != 600 || r.Schedule.RateRatio != 1 || r.Seconds != .4 {
			t.Errorf("%+v, %d intended in %g s", r.Requests, r.Schedule.Intended, r.Seconds)
		}
		if len(r.Steps) != 2 || r.Steps[0].Requests.Good != 200 || r.Steps[1].Requests.Good != 400 || r.Steps[1].Rate != 2000 {
			t.Errorf("%d steps: %+v, %+v", len(r.Steps), r.Steps[0].Requests, r.Steps[1].Requests)
		}
	})
}

// TestOpenLoopNotSent proves that starts that found no connection are told, and that the
// distribution has their age.
func TestOpenLoopNotSent(t *testing.T) {
	onNetworks(t, func(t *testing.T, do func(*Plan) *figures.Run) {
		leaks(t)
		addr := script(t, func(c net.Conn, r *bufio.Reader) {
			if readRequest(r) != "" {
				io.Copy(io.Discard, c)
			}
		})
		withMoreTime(t, 200*time.Millisecond, func(d time.Duration) error {
			p := planFor(addr)
			p.Schedule, p.Timeout = []Ramp{{200, 200, d}}, d*3/2
			r := do(p)
			if starts := int64(200 * d.Seconds()); r.Requests.Sent != 4 || r.Schedule.NotSent != starts-4 || r.Requests.Good != 0 {
				return fmt.Errorf("of %d starts: %+v, %d not sent", starts, r.Requests, r.Schedule.NotSent)
			}
			if p50 := time.Duration(r.Latency.P50NS); p50 < 75*time.Millisecond {
				return fmt.Errorf("p50 is %v, and no request was answered", p50)
			}
			return nil
		})
	})
}

// TestOpenLoopWaitsForAnswers proves that answers after the last start count.
func TestOpenLoopWaitsForAnswers(t *testing.T) {
	onNetworks(t, func(t *testing.T, do func(*Plan) *figures.Run) {
		addr := serve(t, func(w http.ResponseWriter, r *http.Request) { time.Sleep(150 * time.Millisecond) }) // longer than the schedule
		p := planFor(addr)
		p.Connections, p.Schedule = 40, []Ramp{{200, 200, 100 * time.Millisecond}}
		r := do(p)
		if r.Requests.Good != 20 || r.Seconds != .1 {
			t.Errorf("%+v in %g s", r.Requests, r.Seconds)
		}
	})
}

// TestUnansweredAtEnd proves that a closed loop cuts off what is in flight, and counts it.
func TestUnansweredAtEnd(t *testing.T) {
	onNetworks(t, func(t *testing.T, do func(*Plan) *figures.Run) {
		leaks(t)
		addr := script(t, func(c net.Conn, r *bufio.Reader) {
			if readRequest(r) != "" {
				io.Copy(io.Discard, c)
			}
		})
		withMoreTime(t, 100*time.Millisecond, func(d time.Duration) error {
			p := planFor(addr)
			p.Duration = d
			r := do(p)
			if r.Requests.Unanswered != 4 || r.Requests.Sent != 4 || r.Latency.Count != 0 {
				return fmt.Errorf("%+v, %d latencies", r.Requests, r.Latency.Count)
			}
			return nil
		})
	})
}

// TestRefusedConnections proves that a server that went away doesn't keep the loops busy,
// and that they find it again.
func TestRefusedConnections(t *testing.T) {
	onNetworks(t, func(t *testing.T, do func(*Plan) *figures.Run) {
		leaks(t)
		ln := listen(t)
		addr := ln.Addr().String()
		var back sync.WaitGroup
		defer back.Wait()
		var once sync.Once
		scriptOn(t, ln, func(c net.Conn, r *bufio.Reader) {
			if readRequest(r) == "" {
				return
			}
			once.Do(func() {
				ln.Close()
				back.Go(func() {
					time.Sleep(200 * time.Millisecond) // the server is away
					again, err := net.Listen("tcp", addr)
					if err != nil {
						t.Error(err)
						return
					}
					serveOn(t, again, func(w http.ResponseWriter, r *http.Request) {})
				})
			})
		})
		p := planFor(addr)
		p.Count = 100
		r := do(p)
		if r.Requests.Sent != 100 || r.Requests.Good < 50 {
			t.Errorf("%+v, errors %v", r.Requests, r.Errors)
		}
		if n := errorCount(r, kindConnect); n < 4 || n > 200 {
			t.Errorf("%d attempts to connect were refused", n)
		}
	})
}

// TestGeneratorIsSlow proves that sleep in the generator shows in the figures about
// itself, and that a slow server doesn't. It compares figures of the same kind, taken one
// after the other, since the machine may be loaded.
func TestGeneratorIsSlow(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("the portable network has its own goroutines")
	}
	var slow atomic.Bool
	addr := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if slow.Load() {
			time.Sleep(20 * time.Millisecond) // a slow server
		}
	})
	open := func(rate float64, delay time.Duration) figures.Run {
		p := planFor(addr)
		p.Threads, p.Delay, p.Schedule = 1, delay, []Ramp{{rate, rate, 300 * time.Millisecond}}
		return *runOn(t, t.Context(), p, newNetwork)
	}
	closed := func(delay time.Duration) figures.Generator {
		p := planFor(addr)
		p.Threads, p.Connections, p.Duration, p.Delay = 1, 8, 300*time.Millisecond, delay
		r := runOn(t, t.Context(), p, newNetwork)
		return r.Generator
	}
	slow.Store(true)
	server, serverOpen := closed(0), open(1000, 0)
	slow.Store(false)
	generator, generatorOpen := closed(time.Millisecond), open(1000, 4*time.Millisecond)
	if generator.Busy < .8 || server.Busy > .5 || generator.Wait.P50NS < 4*server.Wait.P50NS {
		t.Errorf("busy %.2f, waits %v; with a slow server %.2f, %v", generator.Busy, time.Duration(generator.Wait.P50NS),
			server.Busy, time.Duration(server.Wait.P50NS))
	}
	if generatorOpen.Generator.Busy < .8 || serverOpen.Generator.Busy > .5 {
		t.Errorf("open loop: busy %.2f, with a slow server %.2f", generatorOpen.Generator.Busy, serverOpen.Generator.Busy)
	}
	if serverOpen.Schedule.NotSent == 0 || serverOpen.Schedule.Waited < serverOpen.Schedule.Intended/2 || serverOpen.Schedule.RateRatio > .9 {
		t.Errorf("a slow server held the rate: %d of %d starts were not sent", serverOpen.Schedule.NotSent, serverOpen.Schedule.Intended)
	}
	own, late := time.Duration(serverOpen.Generator.Late.P50NS), time.Duration(serverOpen.Schedule.Late.P50NS)
	if own > late/10 || late < 20*time.Millisecond {
		t.Errorf("with a slow server starts are late by %v, the generator by itself by %v", late, own)
	}
	if own := time.Duration(open(100, 2*time.Millisecond).Generator.Late.P50NS); own < 2*time.Millisecond {
		t.Errorf("the generator sleeps 2 ms for each start, and is late by %v", own)
	}
}
