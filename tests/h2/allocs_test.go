//go:build !race

package h2

import (
	"io"
	"net"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/net/http2"

	"github.com/galehttp/gale"
	"github.com/galehttp/gale/tests/harness"
	"github.com/galehttp/gale/tests/harness/peers"
)

// TestH2Allocs proves that requests allocate nothing after a warm-up, one after the other
// and many at once. There is one exception: each wake-up of a connection of the block
// engine interrupts a read, and package net allocates an error for that.
func TestH2Allocs(t *testing.T) {
	wakeUps := map[gale.Engine]float64{gale.EngineBlock: 4, gale.EngineEvent: 0.5}
	for _, e := range peers.Engines[gale.Engine]() {
		for _, tt := range []struct{ streams, body int }{{1, 0}, {32, 0}, {1, 1 << 10}, {32, 1 << 10}, {1, 60_000}} {
			hs := harness.H2Way{Engine: e, TLS: false}.Start(t, &gale.Server{Handler: func(ctx *gale.RequestCtx) {
				if ctx.IsPost() {
					ctx.SetBody(ctx.PostBody())
					return
				}
				ctx.SetBodyString("Hello, world!")
			}})
			c := hs.DialH2()
			c.WantAlive()
			c.WantAlive()
			raw := newRawH2(c, tt.body)
			for range 300 {
				raw.round(t, tt.streams)
			}
			if n := testing.AllocsPerRun(300, func() { raw.round(t, tt.streams) }); n > wakeUps[e] {
				t.Errorf("%v: %v allocations for %d requests with bodies of %d bytes", e, n, tt.streams, tt.body)
			}
			c.Close()
		}
	}
}

// rawH2 sends the same request again and again, and allocates nothing.
type rawH2 struct {
	nc    net.Conn
	last  uint32
	block []byte
	body  []byte
	out   []byte
	in    [64 << 10]byte
	n     int
}

// newRawH2 returns a rawH2 that sends POST if there is a body, else GET.
func newRawH2(c *peers.H2Conn, body int) *rawH2 {
	method, fields := "GET", []string(nil)
	if body > 0 {
		method, fields = "POST", []string{"content-length", strconv.Itoa(body)}
	}
	for range 2 {
		s := c.Open(method, "/same", body == 0, fields...)
		for left := body; left > 0; {
			n := min(left, 16<<10)
			left -= n
			c.Data(s, strings.Repeat("x", n), left == 0)
		}
		c.Answer(s)
		c.Check(c.Fr.WriteWindowUpdate(0, uint32(max(body, 13))))
	}
	return &rawH2{nc: c.Conn, last: c.Last, block: c.Block(method, "/same", fields...), body: make([]byte, body)} // by now the block has indexes only
}

// round sends n requests and reads until their streams have ended.
func (r *rawH2) round(t *testing.T, n int) {
	r.out = r.out[:0]
	for range n {
		r.last += 2
		flags := http2.FlagHeadersEndHeaders
		if len(r.body) == 0 {
			flags |= http2.FlagHeadersEndStream
		}
		r.frame(http2.FrameHeaders, flags, r.last, r.block)
		for b := r.body; len(b) > 0; {
			piece := b[:min(len(b), 16<<10)]
			if b = b[len(piece):]; len(b) == 0 {
				flags = http2.FlagDataEndStream
			} else {
				flags = 0
			}
			r.frame(http2.FrameData, flags, r.last, piece)
		}
	}
	// Give back the connection's window that the answers have used.
	took := uint32(n * max(13, len(r.body)))
	r.frame(http2.FrameWindowUpdate, 0, 0, []byte{byte(took >> 24), byte(took >> 16), byte(took >> 8), byte(took)})
	if _, err := r.nc.Write(r.out); err != nil {
		t.Fatal(err)
	}
	for ended := 0; ended < n; {
		if r.n < 9 {
			r.fill(t)
			continue
		}
		length := int(r.in[0])<<16 | int(r.in[1])<<8 | int(r.in[2])
		if r.n < 9+length {
			r.fill(t)
			continue
		}
		if typ := http2.FrameType(r.in[3]); r.in[4]&1 != 0 && (typ == http2.FrameData || typ == http2.FrameHeaders) {
			ended++
		}
		r.n = copy(r.in[:], r.in[9+length:r.n])
	}
}

// frame appends a frame to out.
func (r *rawH2) frame(typ http2.FrameType, flags http2.Flags, stream uint32, payload []byte) {
	n := len(payload)
	r.out = append(r.out, byte(n>>16), byte(n>>8), byte(n), byte(typ), byte(flags),
		byte(stream>>24), byte(stream>>16), byte(stream>>8), byte(stream))
	r.out = append(r.out, payload...)
}

func (r *rawH2) fill(t *testing.T) {
	n, err := io.ReadAtLeast(r.nc, r.in[r.n:], 1)
	if err != nil {
		t.Fatal(err)
	}
	r.n += n
}
