//go:build galesteps

package steps

import (
	"bytes"
	"encoding/binary"
	"testing"

	"github.com/galehttp/gale/internal/clock"
	"github.com/galehttp/gale/internal/h2"
	"github.com/galehttp/gale/internal/head"
	"github.com/galehttp/gale/internal/msg"
)

func h2Frame(typ, flags byte, stream uint32, payload string) []byte {
	n := len(payload)
	b := []byte{byte(n >> 16), byte(n >> 8), byte(n), typ, flags}
	b = binary.BigEndian.AppendUint32(b, stream)
	return append(b, payload...)
}

const (
	h2Preface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\x00\x00\x00\x04\x00\x00\x00\x00\x00"
	h2Get     = "\x82\x86\x84\x41\x01a" // GET http a /
)

// h2Repeat repeats a frame, which may depend on its number, up to about n bytes.
func h2Repeat(n int, one func(i int) []byte) []byte {
	var b []byte
	for i := 0; len(b) < n; i++ {
		b = append(b, one(i)...)
	}
	return b
}

// h2Inputs are inputs of about n bytes that a client sends in addition to its preface and
// 100 streams.
var h2Inputs = []struct {
	name string
	make func(n int) []byte
}{
	{"requests", func(n int) []byte {
		return h2Repeat(n, func(i int) []byte { return h2Frame(1, 5, uint32(1001+2*i), h2Get) })
	}},
	{"skipped streams", func(n int) []byte {
		return h2Repeat(n, func(i int) []byte { return h2Frame(1, 5, uint32(1001+1022*i), h2Get) })
	}},
	{"a block of cookies", func(n int) []byte { return h2Block(n, "\x60\x01c") }},
	{"a block of unknown fields", func(n int) []byte { return h2Block(n, "\x00\x01x\x01c") }},
	{"a block in bytes", func(n int) []byte {
		b := h2Frame(1, 1, 1001, "")
		b = append(b, bytes.Repeat(h2Frame(9, 0, 1001, "\x82"), 60)...)
		return append(b, h2Frame(9, 4, 1001, "")...)
	}},
	{"data", func(n int) []byte {
		return h2Repeat(n, func(i int) []byte { return h2Frame(0, 0, uint32(1+2*(i%100)), "12345678") })
	}},
	{"padded data", func(n int) []byte {
		return h2Repeat(n, func(i int) []byte { return h2Frame(0, 8, uint32(1+2*(i%100)), "\x05123\x00\x00\x00\x00\x00") })
	}},
	{"windows", func(n int) []byte {
		return h2Repeat(n, func(i int) []byte { return h2Frame(8, 0, uint32(1+2*(i%100)), "\x00\x00\x00\x01") })
	}},
	{"settings", func(n int) []byte { // frames of 16 KiB, for each of which all streams are visited
		return h2Repeat(n, func(i int) []byte {
			return h2Frame(4, 0, 0, string(bytes.Repeat([]byte{0, 4, 0, 0, byte(i), 0}, 2000)))
		})
	}},
	{"priorities", func(n int) []byte {
		return h2Repeat(n, func(i int) []byte {
			return h2Frame(16, 0, 0, "\x00\x00\x00"+string([]byte{byte(1 + 2*(i%100))})+[]string{"u=1", "u=2,i"}[i%2])
		})
	}},
	{"long priorities", func(n int) []byte {
		return h2Repeat(n, func(i int) []byte {
			return h2Frame(16, 0, 0, "\x00\x00\x00\x01u=1, i;a;b;c;d, x=(1 2 3 4 5 6 7 8 9 \"\\\"\\\"\\\"\\\"\")")
		})
	}},
	{"pings", func(n int) []byte { return h2Repeat(n, func(i int) []byte { return h2Frame(6, 0, 0, "12345678") }) }},
	{"unknown frames", func(n int) []byte { return h2Repeat(n, func(i int) []byte { return h2Frame(99, 0, 0, "") }) }},
}

func h2Block(n int, field string) []byte {
	n = min(n, 64<<10)
	block := h2Get + string(bytes.Repeat([]byte(field), min((n-10)/len(field), 500)))
	return h2Frame(1, 5, 1001, block)
}

func TestH2(t *testing.T) {
	for _, c := range h2Inputs {
		compare(t, "HTTP/2: "+c.name, func(n int) (*meter, int) {
			m := &meter{}
			in := c.make(n)
			m.run("whole", func() { h2Feed(in, len(in)) })
			m.run("in pieces", func() { h2Feed(in, 7) })
			return m, len(in) + len(h2Preface) + 100*15
		})
	}
}

// h2Feed passes the bytes of a client to a connection with 100 streams, and answers
// requests.
func h2Feed(in []byte, chunk int) {
	var cfg h2.Config
	cfg.Fill()
	var c h2.Conn
	var h msg.RequestHead
	var f msg.Fields
	var r head.Response
	date := clock.Date()
	out := c.Begin(&cfg, nil)
	now := clock.Tick(1)
	feed := func(b []byte, answer bool) {
		for len(b) > 0 {
			var ev h2.Event
			now += 1e7 // so that no limit ends the connection
			n := c.Read(b[:min(len(b), chunk)], now, &ev)
			b = b[n:]
			out = c.AppendHeld(c.AppendControl(out[:0]))
			switch ev.Kind {
			case h2.Head:
				h.Reset()
				if c.DecodeRequest(&h) == nil && answer {
					r.Reset()
					out = c.AppendHead(out, ev.Stream, &r, head.Sender{Date: date}, true)
					c.Done(ev.Stream)
				}
			case h2.Trailers:
				f.Reset()
				_ = c.DecodeTrailers(&f)
			case h2.Data:
				c.Consumed(ev.Stream, len(ev.Data))
			}
		}
	}
	feed([]byte(h2Preface), false)
	for i := range 100 {
		feed(h2Frame(1, 4, uint32(1+2*i), h2Get), false)
	}
	feed(in, true)
	if c.Failed() {
		panic("the connection has failed")
	}
}
