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

// h2OK is the field block of a response.
const h2OK = "\x88"

// h2ClientInputs are inputs of about n bytes that a server sends in addition to its
// SETTINGS. The client has opened the streams 1 to 199.
var h2ClientInputs = []struct {
	name string
	make func(n int) []byte
}{
	{"responses", func(n int) []byte {
		return h2Repeat(n, func(i int) []byte { return h2Frame(1, 5, uint32(1+2*i), h2OK) })
	}},
	{"informational responses", func(n int) []byte {
		return h2Repeat(n, func(i int) []byte { return h2Frame(1, 4, uint32(1+2*(i%100)), "\x48\x03103") })
	}},
	{"a response of cookies", func(n int) []byte {
		return h2Frame(1, 5, 1, h2OK+string(bytes.Repeat([]byte("\x60\x01c"), min(n/3, 500))))
	}},
	{"a response of unknown fields", func(n int) []byte {
		return h2Frame(1, 5, 1, h2OK+string(bytes.Repeat([]byte("\x00\x01x\x01c"), min(n/5, 500))))
	}},
	{"DATA", func(n int) []byte {
		b := h2Repeat(100*10, func(i int) []byte { return h2Frame(1, 4, uint32(1+2*i), h2OK) })
		return append(b, h2Repeat(n, func(i int) []byte { return h2Frame(0, 0, uint32(1+2*(i%100)), "12345678") })...)
	}},
	{"resets", func(n int) []byte {
		return h2Repeat(n, func(i int) []byte { return h2Frame(3, 0, uint32(1+2*i), "\x00\x00\x00\x07") })
	}},
	{"malformed responses", func(n int) []byte {
		return h2Repeat(n, func(i int) []byte { return h2Frame(1, 5, uint32(1+2*i), "\x94") })
	}},
	{"GOAWAY with lower ids", func(n int) []byte {
		return h2Repeat(n, func(i int) []byte {
			return h2Frame(7, 0, 0, string(binary.BigEndian.AppendUint32(nil, uint32(1<<30-i)))+"\x00\x00\x00\x00")
		})
	}},
	{"GOAWAY for open streams", func(n int) []byte {
		return h2Repeat(n, func(i int) []byte {
			return h2Frame(7, 0, 0, string(binary.BigEndian.AppendUint32(nil, uint32(max(0, 200-i))))+"\x00\x00\x00\x00")
		})
	}},
	{"SETTINGS", func(n int) []byte {
		return h2Repeat(n, func(i int) []byte {
			return h2Frame(4, 0, 0, string(bytes.Repeat([]byte{0, 3, 0, 0, byte(i), 0}, 2000)))
		})
	}},
}

func TestH2Client(t *testing.T) {
	for _, c := range h2ClientInputs {
		compare(t, "HTTP/2, a client: "+c.name, func(n int) (*meter, int) {
			m := &meter{}
			in := c.make(n)
			m.run("whole", func() { h2FeedClient(in, len(in), false) })
			m.run("in pieces", func() { h2FeedClient(in, 7, false) })
			m.run("the status only", func() { h2FeedClient(in, len(in), true) })
			return m, len(in) + 100*15
		})
	}
}

// h2FeedClient passes the bytes of a server to a client that keeps 100 streams open as long as
// it may.
func h2FeedClient(in []byte, chunk int, statusOnly bool) {
	var cfg h2.Config
	cfg.Fill()
	var c h2.Conn
	var h head.Response
	var f msg.Fields
	var r head.Request
	r.Reset()
	r.Add(msg.Host, []byte("Host"), []byte("a.test"))
	out := c.BeginClient(&cfg, nil)
	var rep h2.Repeated
	now := clock.Tick(1)
	fill := func() {
		for c.Streams() < 100 && c.CanOpen() > 0 {
			out, _, _ = c.AppendRepeated(out[:0], &rep, &r, "http", true)
		}
	}
	fill()
	b := append(h2Frame(4, 0, 0, ""), in...)
	for len(b) > 0 {
		var ev h2.Event
		now += 1e7 // so that no limit ends the connection
		n := c.Read(b[:min(len(b), chunk)], now, &ev)
		b = b[n:]
		out = c.AppendControl(out[:0])
		switch ev.Kind {
		case h2.Head:
			if statusOnly {
				_, _ = c.DecodeStatus()
			} else {
				h.Reset()
				_ = c.DecodeResponse(&h.ResponseHead)
			}
		case h2.Trailers:
			f.Reset()
			_ = c.DecodeTrailers(&f)
		case h2.Data:
			c.Consumed(ev.Stream, len(ev.Data))
		}
		if st := ev.Stream; st != nil && (st.PeerEnded() || st.WasReset()) {
			c.Done(st)
			fill()
		}
	}
	if c.Failed() {
		var ev h2.Event
		c.Read(nil, now, &ev)
		panic("the connection has failed: " + ev.Code.String())
	}
}
