//go:build !race

package gale

import (
	"io"
	"net"
	"reflect"
	"testing"

	"golang.org/x/net/http2"
)

// TestH2Allocs: requests in the steady state allocate nothing, one after the other and many
// at once. But each wake-up of a connection of the block engine interrupts a read, for
// which package net makes an error.
func TestH2Allocs(t *testing.T) {
	wakeUps := map[Engine]float64{EngineBlock: 4, EngineEvent: 0.5}
	for _, e := range []Engine{EngineBlock, EngineEvent} {
		for _, streams := range []int{1, 32} {
			hs := h2Way{e, false}.start(t, &Server{Handler: func(ctx *RequestCtx) { ctx.SetBodyString("Hello, world!") }})
			c := hs.dialH2()
			c.wantAlive()
			c.wantAlive()
			raw := newRawH2(c)
			for range 300 {
				raw.round(t, streams)
			}
			if n := testing.AllocsPerRun(300, func() { raw.round(t, streams) }); n > wakeUps[e] {
				t.Errorf("%v: %v allocations for %d requests", e, n, streams)
			}
		}
	}
}

// rawH2 sends the same request again and again, and allocates nothing.
type rawH2 struct {
	nc    net.Conn
	last  uint32
	block []byte
	out   []byte
	in    [64 << 10]byte
	n     int
}

func newRawH2(c *h2Conn) *rawH2 {
	c.answer(c.open("GET", "/same", true))
	return &rawH2{nc: c.Conn, last: c.last, block: c.block("GET", "/same")} // indexes by now
}

// round sends n requests and reads until their streams have ended.
func (r *rawH2) round(t *testing.T, n int) {
	r.out = r.out[:0]
	for range n {
		r.last += 2
		b := r.block
		r.out = append(r.out, 0, 0, byte(len(b)), byte(http2.FrameHeaders), byte(http2.FlagHeadersEndHeaders|http2.FlagHeadersEndStream),
			byte(r.last>>24), byte(r.last>>16), byte(r.last>>8), byte(r.last))
		r.out = append(r.out, b...)
	}
	// The windows: what the answers take.
	r.out = append(r.out, 0, 0, 4, byte(http2.FrameWindowUpdate), 0, 0, 0, 0, 0, 0, 0, byte(13*n>>8), byte(13*n))
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

func (r *rawH2) fill(t *testing.T) {
	n, err := io.ReadAtLeast(r.nc, r.in[r.n:], 1)
	if err != nil {
		t.Fatal(err)
	}
	r.n += n
}

// TestH2SessionSize: an idle connection keeps its session, so what is needed within frames
// and streams alone is not in it. One byte more and an allocation takes 1,280 bytes.
func TestH2SessionSize(t *testing.T) {
	if n := reflect.TypeFor[h2Session]().Size(); n > 1144 {
		t.Errorf("a session has %d bytes", n)
	}
}
