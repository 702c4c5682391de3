package h2

import (
	"reflect"
	"strings"
	"testing"

	"github.com/galehttp/gale/internal/hpack"
	"github.com/galehttp/gale/internal/msg"
	"github.com/galehttp/gale/internal/pool/pooltest"
)

// A stream that is given back is like a new one.
func TestStreamForgets(t *testing.T) {
	p := newPeer(t, Config{}).greet()
	p.send(headers(1, 0, with(post, "content-length: 100", "priority: u=1, i")...), frame(frameData, 0, 1, "abc"))
	st := p.open[1]
	st.Owner = t
	p.c.Queue(st)
	p.c.Done(st)
	pooltest.TakeBack(&streams, st)
	if !reflect.DeepEqual(*st, Stream{}) {
		t.Errorf("a stream that was given back is %+v", st)
	}
}

// What trailer sections are decoded into is empty when it is given back, also after an error.
func TestTrailersForget(t *testing.T) {
	for _, field := range []string{"x-canary: 1", "X-Canary: 1"} {
		p := newPeer(t, Config{}).greet()
		p.send(headers(1, 0, post...), headers(1, 1, "x-canary: 0", field))
		part := trailerParts.Get().(*msg.Fields)
		if len(part.Buf)|len(part.Recs) != 0 || part.Seen() != 0 {
			t.Errorf("it has %q", part.Buf)
		}
	}
}

// A Conn that has ended is like a new one, except for memory, and its next connection
// finds nothing of the last one.
func TestConnForgets(t *testing.T) {
	p := newPeer(t, Config{}).greet()
	p.send(headers(1, 0, post...), frame(frameHeaders, flagEndHeaders|1, 3, block(get...)+"\x40\x08x-canary\x01y"),
		frame(framePriorityUpdate, 0, 0, u32(99)+"u=1"), settings(settingInitialWindow, 5))
	p.c.Queue(p.open[1])
	answer(p.c, p.open[3], 200, strings.Repeat("x", 100))
	p.c.Drain()
	p.feed([]byte(frame(frameHeaders, 0, 5, block(get...))))
	p.c.End()
	want := Conn{coding: p.c.coding}
	if !reflect.DeepEqual(*p.c, want) {
		t.Errorf("%+v", p.c)
	}
	cd := p.c.coding
	if o := cd.opening; len(o.text)|len(o.values)|o.serverLen != 0 || o.date != nil || o.valid || o.uses != 0 {
		t.Errorf("the opening is kept: %+v", o)
	}
	cfg := Config{}
	cfg.Fill()
	p.c.Begin(&cfg, nil)
	if p.c.coding.enc.Generation() != new(hpack.Encoder).Generation() {
		t.Error("the encoder's table is kept")
	}
	p.send(Preface, settings())
	p.log = nil
	p.send(frame(frameHeaders, flagEndHeaders|1, 1, block(get...)+"\xbe")).want("refused 1 invalid field block end", "failed COMPRESSION_ERROR", "> GOAWAY 1 COMPRESSION_ERROR")
}

// What an idle connection gives back, until it needs it again, knows nothing of it.
func TestRestForgets(t *testing.T) {
	p := newPeer(t, Config{}).greet()
	ping := frame(framePing, 0, 0, "\xca\xca\xca\xca\xca\xca\xca\xca")
	p.send(headers(1, 0, with(post, "priority: u=1, i")...), headers(3, 0, post...), ping[:12], ping[12:])
	for _, id := range []uint32{1, 3} {
		p.c.Queue(p.open[id])
	}
	all, small := p.c.turns.rings, p.c.read.small
	p.c.Rest()
	if p.c.turns.rings != all || p.c.Next() == nil {
		t.Error("streams that wait to send are forgotten")
	}
	for _, id := range []uint32{1, 3} {
		p.c.Done(p.open[id])
		delete(p.open, id)
	}
	p.feed([]byte(ping[:12]))
	p.c.Rest()
	if p.c.read.small != small {
		t.Error("a part of a frame is forgotten")
	}
	p.feed([]byte(ping[12:]))
	p.c.Rest()
	if p.c.turns.rings != nil || p.c.read.small != nil {
		t.Error("memory is kept")
	}
	pooltest.TakeBack(&ringsPool, all)
	pooltest.TakeBack(&smallPool, small)
	if *all != (rings{}) || *small != [maxSmall]byte{} {
		t.Errorf("%v, %x", *all, *small)
	}
}

// The same for a client: streams, and a Conn that becomes a server.
func TestClientForgets(t *testing.T) {
	p := newClient(t, Config{}).greeted(settingStreams, 7)
	st := p.request("HEAD", false)
	st.Owner = t
	p.c.Queue(st)
	p.send(headers(1, 0, ":status: 103"), frame(frameReset, 0, 1, u32(uint32(RefusedStream))))
	p.c.Done(st)
	pooltest.TakeBack(&streams, st)
	if !reflect.DeepEqual(*st, Stream{}) {
		t.Errorf("a stream that was given back is %+v", st)
	}
	p.request("GET", true)
	p.c.Ping([8]byte{})
	p.send(frame(frameGoAway, 0, 0, u32(1)+u32(0)), headers(3, 1, "x-canary: 1"))
	p.c.Stop()
	p.c.End()
	if want := (Conn{coding: p.c.coding}); !reflect.DeepEqual(*p.c, want) {
		t.Errorf("%+v", p.c)
	}
	cfg := Config{}
	cfg.Fill()
	p.c.Begin(&cfg, nil)
	p.send(Preface, settings())
	p.log = nil
	p.send(headers(1, 1, get...)).want("head 1 GET / end")
}

// A client's connection without streams keeps little.
func TestClientRest(t *testing.T) {
	p := newClient(t, Config{Streams: 1000}).greeted(settingStreams, 1000)
	for range 300 {
		p.request("POST", false)
	}
	for _, st := range p.open {
		p.c.Queue(st)
		p.c.Done(st)
	}
	p.send()
	p.c.Rest()
	if kept := p.c.kept(); kept > 300 || p.c.turns.rings != nil || p.c.read.small != nil || len(p.c.closed.words) > 16 {
		t.Errorf("%d bytes are kept", kept)
	}
	p.request("GET", true)
}

func TestRepeatedForgets(t *testing.T) {
	p := newClient(t, Config{}).greeted()
	var rep Repeated
	for range 4 {
		if _, _, err := p.c.AppendRepeated(nil, &rep, makeRequest("HEAD", "/canary", "X-Canary: canary"), "http", true); err != nil {
			t.Fatal(err)
		}
	}
	if rep.Reset(); !reflect.DeepEqual(rep, Repeated{text: rep.text}) || len(rep.text) > 0 {
		t.Errorf("%+v", rep)
	}
}
