package load

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/galehttp/gale/internal/measure/figures"
	"github.com/galehttp/gale/internal/wsframe"
)

// webSocketPlan returns a plan for echoes of this message from addr.
func webSocketPlan(addr, message string) *Plan {
	p := planFor(addr)
	p.WebSocket = true
	p.Targets[0].Source = newFixed("GET", "/echo", message)
	return p
}

// peer is the server's side of a WebSocket in tests.
type peer struct {
	net.Conn
	in *bufio.Reader
}

// accept answers a handshake.
func (p *peer) accept() bool {
	r, err := http.ReadRequest(p.in)
	if err != nil || r.Header.Get("Upgrade") != "websocket" || r.Header.Get("Sec-WebSocket-Version") != "13" || r.ContentLength != 0 {
		return false
	}
	accept := wsframe.AppendAccept(nil, []byte(r.Header.Get("Sec-WebSocket-Key")))
	fmt.Fprintf(p, "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: keep-alive, Upgrade\r\nSec-WebSocket-Accept: %s\r\n\r\n", accept)
	return true
}

// read returns the next frame. Its op is 0 at the end, or if the frame isn't masked.
func (p *peer) read() (op wsframe.Opcode, payload []byte) {
	var head [14]byte
	if _, err := io.ReadFull(p.in, head[:2]); err != nil || head[1]&0x80 == 0 {
		return 0, nil
	}
	op = wsframe.Opcode(head[0] & 0xf)
	n := int(head[1] & 0x7f)
	switch n {
	case 126:
		io.ReadFull(p.in, head[:2])
		n = int(binary.BigEndian.Uint16(head[:]))
	case 127:
		io.ReadFull(p.in, head[:8])
		n = int(binary.BigEndian.Uint64(head[:]))
	}
	var key [4]byte
	io.ReadFull(p.in, key[:])
	payload = make([]byte, n)
	if _, err := io.ReadFull(p.in, payload); err != nil {
		return 0, nil
	}
	wsframe.Mask(payload, key, 0)
	return op, payload
}

func (p *peer) write(op wsframe.Opcode, fin bool, payload []byte) {
	p.Write(wsframe.AppendFrame(nil, op, fin, false, payload))
}

// echo sends messages back until a close frame, which it answers, and returns their number.
func (p *peer) echo(messages *atomic.Int64) {
	for {
		switch op, payload := p.read(); op {
		case wsframe.Text, wsframe.Binary:
			messages.Add(1)
			p.write(op, true, payload)
		case wsframe.Close:
			p.write(wsframe.Close, true, payload)
			return
		default:
			return
		}
	}
}

// webSockets serves WebSockets with a function.
func webSockets(t *testing.T, each func(p *peer)) string {
	return script(t, func(c net.Conn, r *bufio.Reader) {
		if p := (&peer{c, r}); p.accept() {
			each(p)
		}
	})
}

// TestWebSocketCounts proves that exactly the number of messages is sent that was asked for,
// and that each comes back.
func TestWebSocketCounts(t *testing.T) {
	for _, c := range []struct {
		name    string
		message string
		set     func(p *Plan)
	}{
		{"one at a time", "hello", func(p *Plan) {}},
		{"empty", "", func(p *Plan) {}},
		{"binary", "\xff\xfe", func(p *Plan) {}},
		{"pipeline", "hello", func(p *Plan) { p.Pipeline = 7 }},
		{"long", strings.Repeat("x", 200_000), func(p *Plan) { p.Count, p.Pipeline = 50, 2 }},
		{"ten messages per connection", "hello", func(p *Plan) { p.RequestsPerConn = 10 }},
		{"a pipeline of three, four messages per connection", "hello", func(p *Plan) { p.RequestsPerConn, p.Pipeline = 4, 3 }},
		{"think time", "hello", func(p *Plan) { p.Count, p.Think = 50, time.Millisecond }},
		{"a rate", "hello", func(p *Plan) { p.Count, p.Schedule = 100, []Ramp{{500, 500, 20 * time.Second}} }},
		{"different messages", "", func(p *Plan) {
			p.Pipeline = 3
			p.Targets[0].Source = made(func(r *Request, n int64) {
				newFixed("GET", "/", "").r.Head.CopyTo(&r.Head)
				r.Buffer = fmt.Append(r.Buffer[:0], n)
				r.Body = r.Buffer
			})
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			onNetworks(t, func(t *testing.T, do func(*Plan) *figures.Run) {
				leaks(t)
				var served atomic.Int64
				p := webSocketPlan(webSockets(t, func(p *peer) { p.echo(&served) }), c.message)
				p.Count = 500
				c.set(p)
				r := do(p)
				if r.Requests.Good != p.Count || served.Load() != p.Count || r.Latency.Count != p.Count {
					t.Errorf("%+v, the server saw %d, want %d", r.Requests, served.Load(), p.Count)
				}
				if len(r.Errors) > 0 || len(r.Statuses) > 0 {
					t.Errorf("errors %v, statuses %v", r.Errors, r.Statuses)
				}
			})
		})
	}
}

// TestWebSocketEchoes proves which answers count as echoes of "hello", and how others are
// counted.
func TestWebSocketEchoes(t *testing.T) {
	text := func(s string) []byte { return wsframe.AppendFrame(nil, wsframe.Text, true, false, []byte(s)) }
	for _, c := range []struct {
		name   string
		answer []byte
		kind   string // of the error, "" for a good echo
	}{
		{"equal", text("hello"), ""},
		{"in fragments", append(wsframe.AppendFrame(nil, wsframe.Text, false, false, []byte("he")), wsframe.AppendFrame(nil, wsframe.Continuation, true, false, []byte("llo"))...), ""},
		{"after a pong", append(wsframe.AppendFrame(nil, wsframe.Pong, true, false, nil), text("hello")...), ""},
		{"other text", text("hellO"), kindEcho},
		{"shorter", text("hell"), kindEcho},
		{"longer", text("hello!"), kindEcho},
		{"empty", text(""), kindEcho},
		{"binary", wsframe.AppendFrame(nil, wsframe.Binary, true, false, []byte("hello")), kindEcho},
		{"masked", wsframe.AppendMasked(nil, wsframe.Text, true, false, [4]byte{1, 2, 3, 4}, []byte("hello")), kindBadResponse},
		{"compressed", wsframe.AppendFrame(nil, wsframe.Text, true, true, []byte("hello")), kindBadResponse},
		{"not UTF-8", text("\xff"), kindBadResponse},
		{"a reserved opcode", []byte{0x83, 0}, kindBadResponse},
		{"a close frame", wsframe.AppendFrame(nil, wsframe.Close, true, false, wsframe.AppendClose(nil, 1001, "bye")), kindClosedEarly},
		{"the end", nil, kindClosedEarly},
	} {
		for _, split := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/split=%v", c.name, split), func(t *testing.T) {
				leaks(t)
				p := webSocketPlan(webSockets(t, func(p *peer) {
					for {
						if op, _ := p.read(); op != wsframe.Text || c.answer == nil {
							return
						}
						for rest := c.answer; len(rest) > 0; {
							n := len(rest)
							if split {
								n = 1
							}
							p.Write(rest[:n])
							rest = rest[n:]
						}
					}
				}), "hello")
				p.Count, p.Connections, p.Threads = 3, 1, 1
				r := runOn(t, t.Context(), p, newNetwork)
				if c.kind == "" {
					if r.Requests.Good != 3 || len(r.Errors) > 0 {
						t.Errorf("%+v, errors %v: want 3 good ones", r.Requests, r.Errors)
					}
				} else if errorCount(r, c.kind) != 3 || r.Requests.Good != 0 {
					t.Errorf("%+v, errors %v: want 3 of the kind %q", r.Requests, r.Errors, c.kind)
				}
			})
		}
	}
}

// TestWebSocketControl proves that pings are answered, also between messages, and
// that a close frame between messages ends a connection and is answered.
func TestWebSocketControl(t *testing.T) {
	leaks(t)
	var pongs, closes atomic.Int64
	p := webSocketPlan(webSockets(t, func(p *peer) {
		op, payload := p.read()
		if op != wsframe.Text {
			return
		}
		p.write(wsframe.Ping, true, []byte("are you there?"))
		if op, data := p.read(); op == wsframe.Pong && string(data) == "are you there?" {
			pongs.Add(1)
		}
		p.Write(append(wsframe.AppendFrame(nil, op, true, false, payload), wsframe.AppendFrame(nil, wsframe.Close, true, false, nil)...))
		for op, _ := p.read(); op != 0; op, _ = p.read() {
			if op == wsframe.Close {
				closes.Add(1)
				return
			}
		}
	}), "hello")
	p.Count = 40
	r := runOn(t, t.Context(), p, newNetwork)
	if r.Requests.Good != p.Count || len(r.Errors) > 0 || pongs.Load() != p.Count {
		t.Errorf("%+v, errors %v, %d pongs of %d", r.Requests, r.Errors, pongs.Load(), p.Count)
	}
	if closes.Load() == 0 {
		t.Error("no close frame was answered")
	}
}

// TestWebSocketAgain proves that a connection which ended within an echo leaves nothing to the
// one in its place.
func TestWebSocketAgain(t *testing.T) {
	leaks(t)
	var conns, echoes atomic.Int64
	p := webSocketPlan(webSockets(t, func(p *peer) {
		if conns.Add(1)%2 == 0 {
			p.echo(&echoes)
			return
		}
		op, payload := p.read()
		half := wsframe.AppendFrame(nil, wsframe.Ping, true, false, []byte("a"))
		half = append(half, wsframe.AppendFrame(nil, op, false, false, payload[:2])...)
		p.Write(append(half, wsframe.AppendFrame(nil, wsframe.Continuation, true, false, payload[2:])[:4]...))
	}), "hello, world")
	p.Count, p.Connections, p.Threads, p.RequestsPerConn = 40, 1, 1, 3
	r := runOn(t, t.Context(), p, newNetwork)
	if r.Requests.Failed == 0 || r.Requests.Good != echoes.Load() || r.Requests.Good+r.Requests.Failed != p.Count {
		t.Errorf("%+v, errors %v, %d echoes", r.Requests, r.Errors, echoes.Load())
	}
	if n := errorCount(r, kindClosedEarly) + errorCount(r, kindReset); n != r.Requests.Failed {
		t.Errorf("errors %v: %d failed", r.Errors, r.Requests.Failed)
	}
}

// TestWebSocketRefused proves that a server which doesn't open a WebSocket makes an error and
// gets no messages.
func TestWebSocketRefused(t *testing.T) {
	const begin = "HTTP/1.1 101 Switching Protocols\r\n"
	for _, c := range []struct{ name, answer, want string }{
		{"not found", "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n", "status 404"},
		{"not upgraded", "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi", "status 200"},
		{"another protocol", begin + "Upgrade: h2c\r\nConnection: Upgrade\r\n\r\n", "another protocol"},
		{"a wrong key", begin + "Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n\r\n", "Sec-WebSocket-Accept"},
		{"no HTTP", "hello\r\n\r\n", ""},
		{"the end", "", "instead of answering"},
	} {
		t.Run(c.name, func(t *testing.T) {
			onNetworks(t, func(t *testing.T, do func(*Plan) *figures.Run) {
				leaks(t)
				var messages atomic.Int64
				p := webSocketPlan(script(t, func(conn net.Conn, r *bufio.Reader) {
					readRequest(r)
					io.WriteString(conn, c.answer)
					if c.answer == "" {
						return
					}
					if b, _ := io.ReadAll(r); len(b) > 0 {
						messages.Add(1)
					}
				}), "hello")
				p.Duration = 150 * time.Millisecond
				r := do(p)
				if r.Requests.Sent != 0 || messages.Load() != 0 || errorCount(r, kindUpgrade) == 0 {
					t.Fatalf("%+v, errors %v, %d messages", r.Requests, r.Errors, messages.Load())
				}
				if len(r.Errors) != 1 || !strings.Contains(r.Errors[0].Example, c.want) {
					t.Errorf("errors %v, want one with %q", r.Errors, c.want)
				}
			})
		})
	}
}

// TestWebSocketTimeout proves that a message without an echo ends with its timeout, and a
// handshake without an answer with that of the connection.
func TestWebSocketTimeout(t *testing.T) {
	leaks(t)
	p := webSocketPlan(webSockets(t, func(p *peer) { io.Copy(io.Discard, p.in) }), "hello")
	p.Count, p.Timeout = 8, 50*time.Millisecond
	if r := runOn(t, t.Context(), p, newNetwork); errorCount(r, kindTimeout) != p.Count {
		t.Errorf("%+v, errors %v", r.Requests, r.Errors)
	}
	p = webSocketPlan(script(t, func(_ net.Conn, r *bufio.Reader) { io.Copy(io.Discard, r) }), "hello")
	p.Duration, p.ConnectTimeout = 200*time.Millisecond, 50*time.Millisecond
	if r := runOn(t, t.Context(), p, newNetwork); errorCount(r, kindUpgrade) == 0 || r.Requests.Sent != 0 {
		t.Errorf("%+v, errors %v", r.Requests, r.Errors)
	}
}

// TestWebSocketURLs proves that each URL has connections of its own.
func TestWebSocketURLs(t *testing.T) {
	leaks(t)
	var other atomic.Int64
	addr := script(t, func(c net.Conn, r *bufio.Reader) {
		begin, _ := r.Peek(len("GET /a"))
		line := string(begin)
		p := &peer{c, r}
		if !p.accept() {
			return
		}
		for {
			op, payload := p.read()
			if op != wsframe.Text {
				return
			}
			if !strings.HasSuffix(line, string(payload)) {
				other.Add(1)
			}
			p.write(op, true, payload)
		}
	})
	p := webSocketPlan(addr, "")
	p.Targets = nil
	for _, name := range []string{"a", "b"} {
		t := target1(addr, newFixed("GET", "/"+name, name))
		t.URL += name
		p.Targets = append(p.Targets, t)
	}
	p.Count = 100
	r := runOn(t, t.Context(), p, newNetwork)
	if r.Requests.Good != p.Count || other.Load() > 0 || r.Targets[0].Requests.Good == 0 || r.Targets[1].Requests.Good == 0 {
		t.Errorf("%+v, %+v, %+v, %d at the other URL", r.Requests, r.Targets[0].Requests, r.Targets[1].Requests, other.Load())
	}
}
