package load

import (
	"bufio"
	"context"
	"crypto/tls"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/galehttp/gale/internal/head"
	"github.com/galehttp/gale/internal/measure/figures"
	"github.com/galehttp/gale/internal/msg"
	"github.com/galehttp/gale/tests/harness/peers"
)

// serveHTTP2 serves HTTP/2 with package net/http, in the clear or over TLS.
func serveHTTP2(t *testing.T, secure bool, h http.HandlerFunc) (addr string, config *tls.Config) {
	ln := listen(t)
	s := &http.Server{Handler: h, Protocols: new(http.Protocols)}
	if secure {
		s.Protocols.SetHTTP2(true)
		s.TLSConfig, config = testTLS(t)
		go s.ServeTLS(ln, "", "")
	} else {
		s.Protocols.SetUnencryptedHTTP2(true)
		go s.Serve(ln)
	}
	t.Cleanup(func() { s.Close() })
	return ln.Addr().String(), config
}

func TestHTTP2Counts(t *testing.T) {
	for _, c := range []struct {
		name   string
		secure bool
		set    func(p *Plan)
	}{
		{"one stream", false, func(p *Plan) {}},
		{"streams", false, func(p *Plan) { p.Streams = 20 }},
		{"TLS", true, func(p *Plan) { p.Streams = 20 }},
		{"requests per connection", false, func(p *Plan) { p.Streams, p.RequestsPerConn = 3, 10 }},
		{"a rate", false, func(p *Plan) { p.Streams, p.Schedule = 20, []Ramp{{1000, 1000, 20 * time.Second}} }},
		{"think time", false, func(p *Plan) { p.Count, p.Think = 40, time.Millisecond }},
	} {
		t.Run(c.name, func(t *testing.T) {
			onNetworks(t, func(t *testing.T, do func(*Plan) *figures.Run) {
				leaks(t)
				var served, wrong atomic.Int64
				addr, config := serveHTTP2(t, c.secure, func(w http.ResponseWriter, r *http.Request) {
					served.Add(1)
					if r.ProtoMajor != 2 {
						wrong.Add(1)
					}
					io.WriteString(w, "hello")
				})
				p := planFor(addr)
				p.HTTP2, p.Count, p.Targets[0].TLS = true, 400, config
				c.set(p)
				r := do(p)
				if r.Requests.Good != p.Count || served.Load() != p.Count || wrong.Load() != 0 || r.Statuses["200"] != p.Count || len(r.Errors) > 0 {
					t.Errorf("%+v, errors %v, the server saw %d, %d of them not HTTP/2", r.Requests, r.Errors, served.Load(), wrong.Load())
				}
			})
		})
	}
}

// TestHTTP2Bodies proves that bodies of all sizes go both ways.
func TestHTTP2Bodies(t *testing.T) {
	onNetworks(t, func(t *testing.T, do func(*Plan) *figures.Run) {
		addr, _ := serveHTTP2(t, false, func(w http.ResponseWriter, r *http.Request) {
			body, _ := io.ReadAll(r.Body)
			w.Header().Set("Trailer", "A")
			w.WriteHeader(201)
			w.Write(body)
			w.Header().Set("A", "b")
		})
		for _, size := range []int{0, 1, 70_000, 2 << 20} {
			for _, filled := range []bool{false, true} {
				p := planFor(addr)
				body := strings.Repeat("x", size)
				p.Targets[0].Source = newFixed("POST", "/", body)
				if filled {
					p.Targets[0].Source = made(func(r *Request, n int64) {
						r.Head.Reset()
						r.Head.SetPart(msg.Method, []byte("POST"))
						r.Head.SetPart(msg.Target, fmt.Appendf(nil, "/%d", n))
						r.Head.Set(msg.Host, nil, []byte("test"))
						r.Body = []byte(body)
					})
				}
				p.Targets[0].CollectBody = 4 << 20
				p.Targets[0].Expect = func(h *head.Response, b []byte, length int64) (string, string) {
					if h.Status != 201 || string(b) != body || length != int64(size) {
						return "body", fmt.Sprint(h.Status, len(b), length)
					}
					return "", ""
				}
				p.HTTP2, p.Streams, p.Count = true, 3, 12
				p.Connections, p.Threads = 1, 1 // so that large bodies use its whole window
				if r := do(p); r.Requests.Good != 12 {
					t.Errorf("%d bytes, filled %t: %+v, errors %v", size, filled, r.Requests, r.Errors)
				}
			}
		}
	})
}

// TestHTTP2Errors proves that streams fail one by one.
func TestHTTP2Errors(t *testing.T) {
	onNetworks(t, func(t *testing.T, do func(*Plan) *figures.Run) {
		leaks(t)
		var n atomic.Int64
		addr, _ := serveHTTP2(t, false, func(w http.ResponseWriter, r *http.Request) {
			switch n.Add(1) % 4 {
			case 0:
				panic(http.ErrAbortHandler)
			case 1:
				<-r.Context().Done()
			}
		})
		withMoreTime(t, 250*time.Millisecond, func(timeout time.Duration) error {
			n.Store(0)
			p := planFor(addr)
			p.HTTP2, p.Streams, p.Count, p.Timeout = true, 5, 40, timeout
			r := do(p)
			if r.Requests.Good != 20 || errorCount(r, kindReset) != 10 || errorCount(r, kindTimeout) != 10 || r.Connections.Reopened != 0 {
				return fmt.Errorf("%+v, errors %v, %d reopened", r.Requests, r.Errors, r.Connections.Reopened)
			}
			return nil
		})
		plain := serve(t, func(w http.ResponseWriter, r *http.Request) {})
		p := planFor(plain)
		p.HTTP2, p.Count = true, 10
		if r := do(p); r.Requests.Failed != 10 {
			t.Errorf("with a server of HTTP/1.1: %+v, errors %v", r.Requests, r.Errors)
		}
	})
}

// TestHTTP2ServerStopsReading proves that a connection on which nothing can be written
// anymore is replaced when its requests have timed out.
func TestHTTP2ServerStopsReading(t *testing.T) {
	for name, n := range networks {
		t.Run(name, func(t *testing.T) {
			leaks(t)
			stop := make(chan struct{})
			defer close(stop)
			addr := script(t, func(c net.Conn, _ *bufio.Reader) {
				// SETTINGS with a window of 2 GB for each stream, WINDOW_UPDATE for the connection.
				io.WriteString(c, "\x00\x00\x06\x04\x00\x00\x00\x00\x00\x00\x04\x7f\xff\xff\xff")
				io.WriteString(c, "\x00\x00\x04\x08\x00\x00\x00\x00\x00\x7f\xff\x00\x00")
				<-stop
			})
			// Nothing can be written when the buffers of the kernel are full.
			withMoreTime(t, 100*time.Millisecond, func(timeout time.Duration) error {
				p := planFor(addr)
				p.HTTP2, p.Streams, p.Connections, p.Threads = true, 2, 1, 1
				p.Count, p.Timeout = 4, timeout
				p.Targets[0].Source = newFixed("POST", "/", strings.Repeat("x", 32<<20))
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				r, err := runWith(ctx, p, n)
				if err != nil || r.Requests.Failed != 4 || r.Connections.Reopened == 0 {
					return fmt.Errorf("%v, %+v, errors %v, %d reopened", err, r.Requests, r.Errors, r.Connections.Reopened)
				}
				return nil
			})
		})
	}
}

// TestHTTP2FewerStreams proves that no request is refused if a server allows fewer streams
// than were asked for, on connections that are opened during the run too.
func TestHTTP2FewerStreams(t *testing.T) {
	onNetworks(t, func(t *testing.T, do func(*Plan) *figures.Run) {
		for _, rate := range []float64{0, 2000} {
			ln := listen(t)
			s := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {}), Protocols: peers.Protocols(2)}
			s.HTTP2 = &http.HTTP2Config{MaxConcurrentStreams: 2}
			go s.Serve(ln)
			t.Cleanup(func() { s.Close() })
			p := planFor(ln.Addr().String())
			p.HTTP2, p.Streams, p.RequestsPerConn, p.Count = true, 20, 10, 200
			if rate > 0 {
				p.Schedule = []Ramp{{rate, rate, 20 * time.Second}}
			}
			r := do(p)
			if r.Requests.Good != 200 || len(r.Errors) > 0 || r.Connections.Reopened == 0 {
				t.Errorf("rate %v: %+v, errors %+v, %+v", rate, r.Requests, r.Errors, r.Connections)
			}
			if p.RequestsPerConn, p.Count = 0, 50; do(p).Connections.Streams != 2 {
				t.Errorf("rate %v: the result doesn't tell that 2 streams are allowed", rate)
			}
		}
	})
}

// TestHTTP2LastStream proves that a connection that has used all its stream numbers is
// replaced by another one.
func TestHTTP2LastStream(t *testing.T) {
	defer func(was uint32) { lastStream = was }(lastStream)
	lastStream = 19 // the tenth
	onNetworks(t, func(t *testing.T, do func(*Plan) *figures.Run) {
		addr, _ := serveHTTP2(t, false, func(w http.ResponseWriter, r *http.Request) {})
		p := planFor(addr)
		p.HTTP2, p.Streams, p.Connections, p.Threads, p.Count = true, 3, 1, 1, 95
		if r := do(p); r.Requests.Good != 95 || r.Connections.Opened < 8 { // each has 12 at most
			t.Errorf("%+v, errors %+v, %+v", r.Requests, r.Errors, r.Connections)
		}
	})
}

// goingAway serves HTTP/2: it answers each request at once, and says GOAWAY with the
// answer to every third one. What comes after that one is ignored.
func goingAway(c net.Conn, r *bufio.Reader) {
	frame := func(kind, flags byte, id uint32, payload string) {
		b := append([]byte{0, 0, byte(len(payload)), kind, flags}, 0, 0, 0, 0)
		binary.BigEndian.PutUint32(b[5:], id)
		c.Write(append(b, payload...))
	}
	if _, err := r.Discard(24); err != nil { // the preface
		return
	}
	frame(4, 0, 0, "") // SETTINGS
	for answered, head := 0, make([]byte, 9); ; {
		if _, err := io.ReadFull(r, head); err != nil {
			return
		}
		if _, err := r.Discard(int(head[0])<<16 | int(head[1])<<8 | int(head[2])); err != nil {
			return
		}
		id := binary.BigEndian.Uint32(head[5:])
		switch {
		case head[3] == 4 && head[4] == 0:
			frame(4, 1, 0, "") // its acknowledgement
		case head[3] == 1 && answered < 3: // HEADERS
			if answered++; answered == 3 {
				frame(7, 0, 0, string(binary.BigEndian.AppendUint32(nil, id))+"\x00\x00\x00\x00")
			}
			frame(1, 5, id, "\x88") // status 200, the end
		}
	}
}

// TestHTTP2GoAway proves that requests on which a server goes away are sent again over
// another connection, and answered once each.
func TestHTTP2GoAway(t *testing.T) {
	for name, n := range networks {
		t.Run(name, func(t *testing.T) {
			leaks(t)
			for _, rate := range []float64{0, 2000} {
				for _, streams := range []int{1, 5} {
					var numbers sync.Map
					p := planFor(script(t, goingAway))
					p.HTTP2, p.Streams, p.Count = true, streams, 100
					p.Targets[0].Source = made(func(r *Request, n int64) {
						numbers.Store(n, true)
						r.Head.Reset()
						r.Head.SetPart(msg.Method, []byte("GET"))
						r.Head.SetPart(msg.Target, fmt.Appendf(nil, "/%d", n))
						r.Head.Set(msg.Host, nil, []byte("test"))
					})
					if rate > 0 {
						p.Schedule = []Ramp{{rate, rate, 20 * time.Second}}
					}
					ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
					defer cancel()
					r := runOn(t, ctx, p, n)
					c := r.Connections
					if r.Requests.Good != 100 || r.Latency.Count != 100 || c.Reopened < 5 || rate == 0 && (streams > 1) != (c.Resent > 0) {
						t.Errorf("rate %v, %d streams: %+v, errors %+v, %+v", rate, streams, r.Requests, r.Errors, c)
					}
					count := 0
					numbers.Range(func(any, any) bool { count++; return true })
					if count != 100 {
						t.Errorf("rate %v, %d streams: %d different requests", rate, streams, count)
					}
				}
			}
		})
	}
}

// TestHTTP2GoesAwayAlways proves that requests fail at last if a server refuses all.
func TestHTTP2GoesAwayAlways(t *testing.T) {
	for name, n := range networks {
		t.Run(name, func(t *testing.T) {
			leaks(t)
			p := planFor(script(t, func(c net.Conn, r *bufio.Reader) {
				io.WriteString(c, "\x00\x00\x00\x04\x00\x00\x00\x00\x00")                                 // SETTINGS
				io.WriteString(c, "\x00\x00\x08\x07\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00") // GOAWAY
				io.Copy(io.Discard, r)
			}))
			p.HTTP2, p.Streams, p.Count = true, 3, 30
			ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
			defer cancel()
			r := runOn(t, ctx, p, n)
			if r.Requests.Failed != 30 || errorCount(r, kindClosedEarly) != 30 || r.Connections.Resent != 30*(maxSent-1) {
				t.Errorf("%+v, errors %+v, %+v", r.Requests, r.Errors, r.Connections)
			}
		})
	}
}
