//go:build !race

package h2

import (
	"strings"
	"testing"

	"github.com/galehttp/gale/internal/alloctest"
	"github.com/galehttp/gale/internal/msg"
)

// In the steady state requests and responses allocate nothing.
func TestAllocs(t *testing.T) {
	x := newExchanger(t)
	r := rounds{id: 1}
	for range 3 {
		x.serve(t, r.next(32, browser))
	}
	var in [600][]byte
	for i := range in {
		in[i] = append([]byte(nil), r.next(32, browser)...)
	}
	i := 0
	if n := alloctest.PerRun(150, func() {
		if x.serve(t, in[i]) != 32 {
			t.Fatal("a request is missing")
		}
		i++
	}); n != 0 {
		t.Errorf("32 requests: %v allocations", n)
	}
}

func TestAllocsUpload(t *testing.T) {
	p := newPeer(t, Config{}).greet()
	p.send(headers(1, 0, post...))
	st := p.open[1]
	in := []byte(frame(frameData, 0, 1, strings.Repeat("x", 8000)))
	out := make([]byte, 0, 1000)
	if n := alloctest.PerRun(1000, func() {
		for b := in; len(b) > 0; {
			var ev Event
			k := p.c.Read(b[:min(len(b), 3000)], 1, &ev)
			p.c.Consumed(st, len(ev.Data))
			b = b[k:]
		}
		out = p.c.AppendControl(out[:0])
	}); n != 0 {
		t.Errorf("an upload: %v allocations", n)
	}
	if st.WasReset() {
		t.Error("the stream was reset")
	}
}

// A head that arrives in pieces, one with crumbs and a trailer section.
func TestAllocsPieces(t *testing.T) {
	cfg := new(Config)
	cfg.Fill()
	var c Conn
	out := c.Begin(cfg, nil)
	var ev Event
	c.Read([]byte(Preface+settings()), 1, &ev)
	var h msg.RequestHead
	var f msg.Fields
	head := []byte(headers(1, 0, with(post, "cookie: a=1", "cookie: b=2", "content-type: a/b", "x-unknown: c")...))
	trailers := []byte(headers(1, 1, "x-t: 1"))
	id := uint32(1)
	if n := alloctest.PerRun(1000, func() {
		setFrameHeader(head, len(head)-frameHeaderLen, frameHeaders, flagEndHeaders, id)
		setFrameHeader(trailers, len(trailers)-frameHeaderLen, frameHeaders, flagEndHeaders|flagEndStream, id)
		c.Read(head[:50], 1, &ev)
		c.Read(head[50:], 1, &ev)
		h.Reset()
		if err := c.DecodeRequest(&h); err != nil {
			t.Fatal(err)
		}
		st := ev.Stream
		c.Read(trailers, 1, &ev)
		f.Reset()
		if err := c.DecodeTrailers(&f); err != nil || len(f.Recs) != 1 {
			t.Fatal(err)
		}
		c.Done(st)
		out = c.AppendControl(out[:0])
		c.control.n = 0
		c.buckets = buckets{}
		id += 2
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// In the steady state a client's requests and their responses allocate nothing.
func TestClientAllocs(t *testing.T) {
	for _, full := range []bool{false, true} {
		g := newGenerator(t, full)
		if n := alloctest.PerRun(200, func() {
			g.send(t)
			g.renumber()
			if g.read(t, g.answers) != perRound {
				t.Fatal("an answer is missing")
			}
		}); n != 0 {
			t.Errorf("%d requests, full %v: %v allocations", perRound, full, n)
		}
	}
}

// A request with a body and trailers, and a response in pieces.
func TestClientAllocsBody(t *testing.T) {
	p := newClient(t, Config{}).greeted(settingInitialWindow, 1<<20)
	r := makeRequest("POST", "/", "Cookie: a=1")
	r.OwnCookies()
	r.ContentLength = msg.LenChunked
	var h msg.ResponseHead
	h.Reset()
	in := []byte(headers(1, 0, ":status: 103") + headers(1, 0, ":status: 200", "content-type: a/b", "x-unknown: c") +
		frame(frameData, flagPadded|1, 1, "\x05"+strings.Repeat("x", 8000)+"\x00\x00\x00\x00\x00"))
	body := []byte(strings.Repeat("y", 20000))
	var out []byte
	now := p.now
	if n := alloctest.PerRun(1000, func() {
		p.c.out.window = 1 << 20
		now += second // no flood
		var st *Stream
		var err error
		if out, st, err = p.c.AppendRequest(out[:0], r, "http", false); err != nil {
			t.Fatal(err)
		}
		out, _ = p.c.AppendData(out, st, body, true)
		for at := 0; at < len(in); {
			f := parseFrameHeader(in[at:])
			setFrameHeader(in[at:], f.length, f.typ, f.flags, st.ID())
			at += frameHeaderLen + f.length
		}
		for b := in; len(b) > 0; {
			var ev Event
			k := p.c.Read(b[:min(len(b), 50)], now, &ev)
			if ev.Kind == Head {
				h.Reset()
				if err := p.c.DecodeResponse(&h); err != nil {
					t.Fatal(err)
				}
			}
			if ev.Kind == Data {
				p.c.Consumed(ev.Stream, len(ev.Data))
			}
			b = b[k:]
		}
		if !st.PeerEnded() || st.WasReset() {
			t.Fatal("the response has no end")
		}
		p.c.Done(st)
		out = p.c.AppendControl(out)
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
