//go:build !race

package load

import (
	"bufio"
	"net"
	"runtime"
	"testing"
	"time"

	"github.com/galehttp/gale/internal/head"
	"github.com/galehttp/gale/internal/msg"
	"github.com/galehttp/gale/internal/wsframe"
)

// TestRunAllocs proves that requests allocate nothing.
func TestRunAllocs(t *testing.T) {
	response := []byte("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello")
	chunked := []byte("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n")
	for _, c := range []struct {
		name     string
		response []byte
		set      func(p *Plan)
	}{
		{"fixed", response, func(p *Plan) {}},
		{"chunked", chunked, func(p *Plan) {}},
		{"pipeline", response, func(p *Plan) { p.Pipeline = 8 }},
		{"expectations", response, func(p *Plan) {
			p.Targets[0].CollectBody = 10
			p.Targets[0].Expect = func(h *head.Response, body []byte, length int64) (string, string) {
				if string(body) != "hello" {
					return "body", "another body"
				}
				return "", ""
			}
		}},
		{"filled", response, func(p *Plan) {
			p.Targets[0].Source = made(func(r *Request, n int64) {
				r.Head.Reset()
				r.Head.Set(msg.Host, nil, []byte("test"))
			})
		}},
		{"a rate", response, func(p *Plan) { p.Schedule = []Ramp{{20000, 20000, 20 * time.Second}} }},
		{"think time", response, func(p *Plan) { p.Think = time.Microsecond }},
	} {
		t.Run(c.name, func(t *testing.T) {
			addr := script(t, func(conn net.Conn, r *bufio.Reader) {
				for {
					line, err := r.ReadSlice('\n')
					if err != nil {
						return
					}
					if len(line) == 2 {
						conn.Write(c.response)
					}
				}
			})
			allocs := func(n int64) int64 {
				p := planFor(addr)
				p.Count = n
				p.Connections, p.Threads = 2, 1
				c.set(p)
				var before, after runtime.MemStats
				p.Begin = func() { runtime.ReadMemStats(&before) }
				p.End = func() { runtime.ReadMemStats(&after) }
				if r := runOn(t, t.Context(), p, newNetwork); r.Requests.Good != n {
					t.Fatalf("%+v, errors %v", r.Requests, r.Errors)
				}
				return int64(after.Mallocs - before.Mallocs)
			}
			const n = 5000
			if a := allocs(n); a > n/20 { // what the run itself needs
				t.Errorf("%d requests made %d allocations", n, a)
			}
		})
	}
}

// TestWebSocketAllocs proves that messages allocate nothing.
func TestWebSocketAllocs(t *testing.T) {
	const message = "hello, world"
	frame := wsframe.AppendFrame(nil, wsframe.Text, true, false, []byte(message))
	for _, c := range []struct {
		name string
		set  func(p *Plan)
	}{
		{"fixed", func(p *Plan) {}},
		{"pipeline", func(p *Plan) { p.Pipeline = 8 }},
		{"filled", func(p *Plan) {
			p.Targets[0].Source = made(func(r *Request, n int64) {
				r.Head.Reset()
				r.Head.Set(msg.Host, nil, []byte("test"))
				r.Buffer = append(r.Buffer[:0], message...)
				r.Body = r.Buffer
			})
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			addr := webSockets(t, func(p *peer) {
				for {
					if _, err := p.in.Discard(2 + 4 + len(message)); err != nil {
						return
					}
					p.Write(frame)
				}
			})
			const n = 5000
			p := webSocketPlan(addr, message)
			p.Count, p.Connections, p.Threads = n, 2, 1
			c.set(p)
			var before, after runtime.MemStats
			p.Begin = func() { runtime.ReadMemStats(&before) }
			p.End = func() { runtime.ReadMemStats(&after) }
			if r := runOn(t, t.Context(), p, newNetwork); r.Requests.Good != n {
				t.Fatalf("%+v, errors %v", r.Requests, r.Errors)
			}
			if a := int64(after.Mallocs - before.Mallocs); a > n/20 { // what the run itself needs
				t.Errorf("%d messages made %d allocations", n, a)
			}
		})
	}
}
