package load

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/galehttp/gale/internal/head"
	"github.com/galehttp/gale/internal/measure/figures"
	"github.com/galehttp/gale/internal/msg"
	"github.com/galehttp/gale/tests/harness/await"
)

// TestRunCounts proves that exactly the number of requests is sent that was asked for.
func TestRunCounts(t *testing.T) {
	for _, c := range []struct {
		name string
		set  func(p *Plan)
	}{
		{"one at a time", func(p *Plan) {}},
		{"one connection", func(p *Plan) { p.Connections, p.Threads = 1, 1 }},
		{"fewer requests than connections", func(p *Plan) { p.Count, p.Connections = 3, 20 }},
		{"pipeline", func(p *Plan) { p.Pipeline = 7 }},
		{"no keep-alive", func(p *Plan) { p.NoKeepAlive = true }},
		{"ten requests per connection", func(p *Plan) { p.RequestsPerConn = 10 }},
		{"a pipeline of three, four requests per connection", func(p *Plan) { p.RequestsPerConn, p.Pipeline = 4, 3 }},
		{"think time", func(p *Plan) { p.Count, p.Think = 50, time.Millisecond }},
		{"a rate", func(p *Plan) { p.Count, p.Schedule = 100, []Ramp{{500, 500, 20 * time.Second}} }},
	} {
		t.Run(c.name, func(t *testing.T) {
			onNetworks(t, func(t *testing.T, do func(*Plan) *figures.Run) {
				leaks(t)
				var served atomic.Int64
				addr := serve(t, func(w http.ResponseWriter, r *http.Request) {
					served.Add(1)
					io.WriteString(w, "hello")
				})
				p := planFor(addr)
				p.Count = 500
				c.set(p)
				r := do(p)
				if r.Requests.Good != p.Count || served.Load() != p.Count || r.Statuses["200"] != p.Count {
					t.Errorf("%+v, the server saw %d, want %d", r.Requests, served.Load(), p.Count)
				}
				if len(r.Errors) > 0 || r.Latency.Count != p.Count {
					t.Errorf("errors %v, %d latencies", r.Errors, r.Latency.Count)
				}
				var sum int64
				for _, i := range r.Intervals {
					sum += i.Good
				}
				if sum != p.Count {
					t.Errorf("intervals have %d, want %d", sum, p.Count)
				}
			})
		})
	}
}

// TestThinkTime proves that there is a pause between a response and the next request, also
// if that one needs another connection.
func TestThinkTime(t *testing.T) {
	const think, requests = 10 * time.Millisecond, 12
	for _, c := range []struct {
		name string
		set  func(p *Plan)
	}{
		{"one connection", func(p *Plan) {}},
		{"no keep-alive", func(p *Plan) { p.NoKeepAlive = true }},
		{"two requests per connection", func(p *Plan) { p.RequestsPerConn = 2 }},
		{"the server closes", func(p *Plan) { p.Targets[0].Source = newFixed("GET", "/close", "") }},
		{"HTTP/2, one request per connection", func(p *Plan) { p.HTTP2, p.RequestsPerConn = true, 1 }},
	} {
		t.Run(c.name, func(t *testing.T) {
			onNetworks(t, func(t *testing.T, do func(*Plan) *figures.Run) {
				var mu sync.Mutex
				var last time.Time
				var least time.Duration = math.MaxInt64
				addr := serveBoth(t, func(w http.ResponseWriter, r *http.Request) {
					mu.Lock()
					defer mu.Unlock()
					if now := time.Now(); !last.IsZero() {
						least = min(least, now.Sub(last))
					}
					if r.URL.Path == "/close" {
						w.Header().Set("Connection", "close")
					}
					last = time.Now()
				})
				p := planFor(addr)
				p.Connections, p.Threads, p.Count, p.Think = 1, 1, requests, think
				c.set(p)
				r := do(p)
				mu.Lock()
				defer mu.Unlock()
				if r.Requests.Good != requests || least < think*9/10 {
					t.Errorf("%+v, errors %+v, a pause of %v", r.Requests, r.Errors, least)
				}
			})
		})
	}
}

// TestRunWarmUp proves that what starts before the counted time isn't counted, and that
// connections stay.
func TestRunWarmUp(t *testing.T) {
	onNetworks(t, func(t *testing.T, do func(*Plan) *figures.Run) {
		for _, rate := range []float64{0, 1000} {
			var served atomic.Int64
			addr := serve(t, func(w http.ResponseWriter, r *http.Request) { served.Add(1) })
			p := planFor(addr)
			p.WarmUp, p.Count, p.Interval = 100*time.Millisecond, 50, 20*time.Millisecond
			if rate > 0 {
				p.Schedule = []Ramp{{rate, rate, 20 * time.Second}}
			}
			var begun, ended atomic.Int64
			p.Begin = func() { begun.Add(1) }
			p.End = func() { ended.Add(1) }
			r := do(p)
			if r.Requests.Good != 50 || r.Requests.Sent != 50 {
				t.Errorf("%+v, want 50", r.Requests)
			}
			if served.Load() <= 50 || r.Connections.Opened != 4 {
				t.Errorf("the server saw %d requests on %d connections", served.Load(), r.Connections.Opened)
			}
			if begun.Load() != 1 || ended.Load() != 1 || r.Intervals[0].AtNS >= 0 {
				t.Errorf("began %d times, ended %d times, the first interval is at %d", begun.Load(), ended.Load(), r.Intervals[0].AtNS)
			}
		}
	})
}

// TestRunDuration proves that a run takes as long as it says, and counts in intervals.
func TestRunDuration(t *testing.T) {
	onNetworks(t, func(t *testing.T, do func(*Plan) *figures.Run) {
		addr := serve(t, func(w http.ResponseWriter, r *http.Request) {})
		p := planFor(addr)
		p.Duration, p.Interval = 200*time.Millisecond, 50*time.Millisecond
		ticks := 0
		p.Tick = func(i *figures.Interval) {
			ticks++
			i.ServerCPU = 7
		}
		r := do(p)
		var seconds float64
		for _, i := range r.Intervals { // a watch that is late makes fewer, longer ones
			seconds += i.Seconds
		}
		if r.Seconds != .2 || math.Abs(seconds-.2) > 1e-6 || ticks != len(r.Intervals) || r.Intervals[0].ServerCPU != 7 {
			t.Errorf("%g s, %d intervals, %d ticks", r.Seconds, len(r.Intervals), ticks)
		}
		if want := float64(r.Requests.Good) / .2; r.RequestsPerSecond != want || want == 0 {
			t.Errorf("%g requests a second, want %g", r.RequestsPerSecond, want)
		}
	})
}

// TestRunResponses sends responses of all framings, whole and in pieces of each size.
func TestRunResponses(t *testing.T) {
	for _, c := range []struct {
		name, method, response, body string
		closes                       bool
		status                       int
	}{
		{"length", "GET", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello", "hello", false, 200},
		{"no body", "GET", "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", "", false, 200},
		{"chunked", "GET", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nhel\r\n2;x=y\r\nlo\r\n0\r\nA: b\r\n\r\n", "hello", false, 200},
		{"head", "HEAD", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n", "", false, 200},
		{"204", "GET", "HTTP/1.1 204 No Content\r\n\r\n", "", false, 204},
		{"304", "GET", "HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\n\r\n", "", false, 304},
		{"1xx", "GET", "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nA: b\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello", "hello", false, 200},
		{"until the end", "GET", "HTTP/1.1 200 OK\r\n\r\nhello", "hello", true, 200},
		{"close", "GET", "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 5\r\n\r\nhello", "hello", true, 200},
		{"HTTP/1.0", "GET", "HTTP/1.0 200 OK\r\nContent-Length: 5\r\n\r\nhello", "hello", true, 200},
	} {
		t.Run(c.name, func(t *testing.T) {
			onNetworks(t, func(t *testing.T, do func(*Plan) *figures.Run) {
				var size atomic.Int64
				addr := script(t, func(conn net.Conn, r *bufio.Reader) {
					for readRequest(r) != "" {
						n := int(size.Add(1)-1) % len(c.response)
						io.WriteString(conn, c.response[:n])
						if n > 0 {
							time.Sleep(time.Millisecond) // so that it comes in two pieces
						}
						io.WriteString(conn, c.response[n:])
						if c.closes {
							return
						}
					}
				})
				p := planFor(addr)
				p.Targets[0].Source = newFixed(c.method, "/", "")
				p.Count = int64(len(c.response))
				var bad atomic.Int64
				p.Targets[0].CollectBody = 100
				p.Targets[0].Expect = func(h *head.Response, body []byte, length int64) (string, string) {
					if h.Status != c.status || string(body) != c.body || length != int64(len(c.body)) {
						bad.Add(1)
					}
					return "", ""
				}
				r := do(p)
				if r.Requests.Good != p.Count || bad.Load() != 0 || len(r.Errors) != 0 {
					t.Errorf("%+v, %d bad, errors %+v", r.Requests, bad.Load(), r.Errors)
				}
				if r.Bytes.Read != p.Count*int64(len(c.response)) {
					t.Errorf("%d bytes read, want %d", r.Bytes.Read, p.Count*int64(len(c.response)))
				}
			})
		})
	}
}

// TestRunEndsAnywhere proves that a response that the server cuts off at any byte is one
// failed request, and that the run goes on.
func TestRunEndsAnywhere(t *testing.T) {
	const response = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nhel\r\n0\r\n\r\n"
	onNetworks(t, func(t *testing.T, do func(*Plan) *figures.Run) {
		leaks(t)
		var next atomic.Int64
		addr := script(t, func(conn net.Conn, r *bufio.Reader) {
			for readRequest(r) != "" {
				n := int(next.Add(1)-1) % (len(response) + 1)
				io.WriteString(conn, response[:n])
				if n < len(response) {
					return
				}
			}
		})
		p := planFor(addr)
		p.Count = int64(len(response) + 1)
		r := do(p)
		if r.Requests.Good != 1 || r.Requests.Failed != int64(len(response)) || errorCount(r, kindClosedEarly) != int64(len(response)) {
			t.Errorf("%+v, errors %+v", r.Requests, r.Errors)
		}
	})
}

// TestRunErrors proves that errors have their kinds.
func TestRunErrors(t *testing.T) {
	for _, c := range []struct {
		name, kind string
		answer     func(conn net.Conn)
	}{
		{"no HTTP", kindBadResponse, func(conn net.Conn) { io.WriteString(conn, "SSH-2.0-x\r\n") }},
		{"surplus", kindBadResponse, func(conn net.Conn) {
			io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\nHTTP/1.1 200 OK\r\n")
		}},
		{"switch", kindBadResponse, func(conn net.Conn) { io.WriteString(conn, "HTTP/1.1 101 Switching Protocols\r\n\r\n") }},
		{"reset", kindReset, func(conn net.Conn) {
			conn.(*net.TCPConn).SetLinger(0)
			conn.Close()
		}},
		{"silence", kindTimeout, func(conn net.Conn) { io.Copy(io.Discard, conn) }},
		{"half a response", kindTimeout, func(conn net.Conn) {
			io.WriteString(conn, "HTTP/1.1 200 OK\r\n")
			io.Copy(io.Discard, conn)
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			onNetworks(t, func(t *testing.T, do func(*Plan) *figures.Run) {
				leaks(t)
				addr := script(t, func(conn net.Conn, r *bufio.Reader) {
					if readRequest(r) != "" {
						c.answer(conn)
					}
				})
				p := planFor(addr)
				if p.Count = 8; c.kind == kindTimeout {
					p.Timeout = 50 * time.Millisecond
				}
				r := do(p)
				if errorCount(r, c.kind) < 8 || r.Requests.Sent != 8 {
					t.Errorf("%+v, errors %+v, want %s", r.Requests, r.Errors, c.kind)
				}
			})
		})
	}
}

// TestRunExpect proves that responses that aren't as expected are counted apart.
func TestRunExpect(t *testing.T) {
	onNetworks(t, func(t *testing.T, do func(*Plan) *figures.Run) {
		var n atomic.Int64
		addr := serve(t, func(w http.ResponseWriter, r *http.Request) {
			if n.Add(1)%4 == 0 {
				w.WriteHeader(503)
			}
		})
		p := planFor(addr)
		p.Count = 100
		p.Targets[0].Expect = func(h *head.Response, body []byte, length int64) (string, string) {
			if h.Status != 200 {
				return "status", fmt.Sprintf("status %d", h.Status)
			}
			return "", ""
		}
		r := do(p)
		if r.Requests.Good != 75 || r.Requests.Unexpected != 25 || r.Statuses["503"] != 25 || errorCount(r, "status") != 25 {
			t.Errorf("%+v, statuses %v, errors %+v", r.Requests, r.Statuses, r.Errors)
		}
		if r.Errors[0].Example != "status 503" || r.Latency.Count != 100 {
			t.Errorf("errors %+v, %d latencies", r.Errors, r.Latency.Count)
		}
	})
}

// TestRunFill proves that requests of a source are made one by one, with bodies of all
// sizes and each number once.
func TestRunFill(t *testing.T) {
	onNetworks(t, func(t *testing.T, do func(*Plan) *figures.Run) {
		for _, pipeline := range []int{1, 5} {
			var mu sync.Mutex
			seen := map[string]bool{}
			addr := serve(t, func(w http.ResponseWriter, r *http.Request) {
				body, _ := io.ReadAll(r.Body)
				mu.Lock()
				defer mu.Unlock()
				if seen[r.URL.Path] || strings.Trim(string(body), "x") != "" || fmt.Sprint(len(body)) != r.Header.Get("X-Size") {
					w.WriteHeader(500)
				}
				seen[r.URL.Path] = true
			})
			p := planFor(addr)
			p.Count, p.Pipeline = 24, pipeline
			body := []byte(strings.Repeat("x", 3<<20))
			p.Targets[0].Source = made(func(r *Request, n int64) {
				size := []int{0, 10, 20 << 10, 3 << 20}[n%4]
				r.Head.Reset()
				r.Head.SetPart(msg.Method, []byte("POST"))
				r.Head.SetPart(msg.Target, fmt.Appendf(nil, "/%d", n))
				r.Head.Set(msg.Host, nil, []byte("test"))
				r.Head.Add(msg.Unknown, []byte("X-Size"), fmt.Append(nil, size))
				r.Body = body[:size]
			})
			r := do(p)
			if r.Statuses["200"] != 24 || r.Requests.Good != 24 {
				t.Errorf("pipeline %d: %+v, statuses %v, errors %v", pipeline, r.Requests, r.Statuses, r.Errors)
			}
		}
	})
}

// TestRunLargeBody proves that large fixed bodies arrive whole.
func TestRunLargeBody(t *testing.T) {
	onNetworks(t, func(t *testing.T, do func(*Plan) *figures.Run) {
		addr := serve(t, func(w http.ResponseWriter, r *http.Request) {
			body, _ := io.ReadAll(r.Body)
			w.Write(body)
		})
		p := planFor(addr)
		p.Count, p.Pipeline = 6, 2
		p.Targets[0].Source = newFixed("POST", "/", strings.Repeat("x", 5<<20))
		r := do(p)
		if r.Requests.Good != 6 || r.Bytes.Written < 30<<20 || r.Bytes.Read < 30<<20 {
			t.Errorf("%+v, %+v, errors %v", r.Requests, r.Bytes, r.Errors)
		}
	})
}

// TestRunTargets proves that requests are divided by weight, among several servers too.
func TestRunTargets(t *testing.T) {
	onNetworks(t, func(t *testing.T, do func(*Plan) *figures.Run) {
		for _, rate := range []float64{0, 2000} {
			var a, b, c atomic.Int64
			first := serve(t, func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path == "/a" {
					a.Add(1)
				} else {
					b.Add(1)
				}
			})
			second := serve(t, func(w http.ResponseWriter, r *http.Request) { c.Add(1) })
			p := planFor(first)
			p.Targets = []Target{target1(first, newFixed("GET", "/a", "")), target1(first, newFixed("GET", "/b", "")), target1(second, newFixed("GET", "/", ""))}
			p.Targets[0].Weight, p.Targets[2].Weight = 2, 3
			p.Count, p.Connections = 600, 12
			if rate > 0 {
				p.Schedule = []Ramp{{rate, rate, 20 * time.Second}}
			}
			r := do(p)
			if r.Requests.Good != 600 || a.Load()+b.Load()+c.Load() != 600 {
				t.Errorf("%+v, %d, %d, %d", r.Requests, a.Load(), b.Load(), c.Load())
			}
			if rate > 0 && (a.Load() != 200 || b.Load() != 100 || c.Load() != 300) || a.Load() < b.Load() {
				t.Errorf("rate %g: %d, %d, %d requests", rate, a.Load(), b.Load(), c.Load())
			}
			if got := r.Targets[0].Requests.Good; got != a.Load() || r.Targets[0].Latency.Count != got {
				t.Errorf("target: %+v, want %d", r.Targets[0].Requests, a.Load())
			}
		}
	})
}

// TestRunUnixSocket proves that a UNIX socket works.
func TestRunUnixSocket(t *testing.T) {
	onNetworks(t, func(t *testing.T, do func(*Plan) *figures.Run) {
		path := filepath.Join(t.TempDir(), "s")
		ln, err := net.Listen("unix", path)
		if err != nil {
			t.Skip(err)
		}
		serveOn(t, ln, func(w http.ResponseWriter, r *http.Request) {})
		p := planFor(path)
		p.Targets[0].Network, p.Count, p.NoKeepAlive = "unix", 100, true
		if r := do(p); r.Requests.Good != 100 {
			t.Errorf("%+v, errors %v", r.Requests, r.Errors)
		}
	})
}

// TestRunSources proves that local addresses are used in turns.
func TestRunSources(t *testing.T) {
	onNetworks(t, func(t *testing.T, do func(*Plan) *figures.Run) {
		var mu sync.Mutex
		seen := map[string]int{}
		addr := serve(t, func(w http.ResponseWriter, r *http.Request) {
			host, _, _ := net.SplitHostPort(r.RemoteAddr)
			mu.Lock()
			defer mu.Unlock()
			seen[host]++
		})
		if c, err := (&net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 0, 2)}}).Dial("tcp", addr); err != nil {
			t.Skip("127.0.0.2 is not there")
		} else {
			c.Close()
		}
		p := planFor(addr)
		p.Sources = []netip.Addr{netip.MustParseAddr("127.0.0.1"), netip.MustParseAddr("127.0.0.2")}
		p.Count, p.NoKeepAlive = 50, true
		r := do(p)
		mu.Lock()
		defer mu.Unlock()
		if r.Requests.Good != 50 || len(seen) != 2 || seen["127.0.0.2"] < 10 {
			t.Errorf("%+v, from %v, errors %v", r.Requests, seen, r.Errors)
		}
	})
}

// TestRunCancelled proves that a run ends with its context and keeps what it has measured.
func TestRunCancelled(t *testing.T) {
	for name, n := range networks {
		t.Run(name, func(t *testing.T) {
			leaks(t)
			files := openFiles(t)
			var served atomic.Int64
			ctx, cancel := context.WithCancel(context.Background())
			defer cancel()
			addr := script(t, func(conn net.Conn, r *bufio.Reader) {
				for readRequest(r) != "" {
					if served.Add(1) > 100 {
						cancel()
						io.Copy(io.Discard, r)
						return
					}
					io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
				}
			})
			p := planFor(addr)
			p.Duration = time.Minute
			r := runOn(t, ctx, p, n)
			if r.Requests.Good < 90 || r.Requests.Unanswered == 0 || r.Seconds > 50 {
				t.Errorf("%+v in %g s", r.Requests, r.Seconds)
			}
			waitFiles(t, files)
		})
	}
}

// openFiles returns how many descriptors the process has, 0 if that isn't known.
func openFiles(t *testing.T) int {
	list, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return 0
	}
	return len(list)
}

// waitFiles waits until there are about as many descriptors as before; those of the
// server's side go away a little later.
func waitFiles(t *testing.T, before int) {
	t.Helper()
	await.Until(t, fmt.Sprintf("no more descriptors than the %d before, and 8", before), func() bool { return openFiles(t) <= before+8 })
}
