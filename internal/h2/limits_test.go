package h2

import (
	"strings"
	"testing"

	"github.com/galehttp/gale/internal/race"
)

func TestBucket(t *testing.T) {
	var b bucket
	for i := range 10 {
		if !b.take(1, 10, 5, 100) {
			t.Fatal("no token", i)
		}
	}
	if b.take(1, 10, 5, 100) || b.take(1, 10, 5, 100+second/10) {
		t.Error("there are too many tokens")
	}
	for i := range 5 {
		if !b.take(1, 10, 5, 200+second) {
			t.Fatal("no token after a second", i)
		}
	}
	if b.take(1, 10, 5, 200+second) {
		t.Error("there are too many tokens after a second")
	}
	b.refund(3)
	if !b.take(3, 10, 5, 200+second) || b.take(1, 10, 5, 200+second) {
		t.Error("refund gives another number of tokens back")
	}
	if !b.take(10, 10, 5, 1000*second) || b.take(1, 10, 5, 1000*second) {
		t.Error("after a long time the bucket is not full, or holds more than its burst")
	}
	// Tokens come back one at a time, too.
	b = bucket{}
	n := 0
	for now := second; now < 11*second; now += second / 1000 {
		if b.take(1, 10, 5, now) {
			n++
		}
	}
	if n < 58 || n > 60 {
		t.Errorf("%d tokens in 10 s, want 60", n)
	}
}

// Each flood ends the connection with ENHANCE_YOUR_CALM.
func TestFloods(t *testing.T) {
	id := uint32(1)
	request := func(flags uint8, fields []string) string {
		id += 2
		return headers(id, flags, fields...)
	}
	ping := frame(framePing, 0, 0, "12345678")
	open := headers(1, 0, post...)
	for _, x := range []struct {
		name  string
		first string
		flood func() string // one more
		most  int
	}{
		{"resets", "", func() string { return request(0, post) + frame(frameReset, 0, id, u32(8)) }, 1001},
		{"WINDOW_UPDATE of 0", "", func() string { return request(0, post) + windowUpdate(id, 0) }, 1001},
		{"windows that are too large", "", func() string { return request(0, post) + windowUpdate(id, maxWindow) }, 1001},
		{"DATA after the end", "", func() string { return request(1, get) + frame(frameData, 0, id, "x") }, 1001},
		{"HEADERS after the end", "", func() string { return request(1, get) + headers(id, 1, "x: y") }, 1001},
		{"trailers without end", "", func() string { return request(0, post) + headers(id, 0, "x: y") }, 1001},
		{"wrong lengths", "", func() string { return request(0, with(post, "content-length: 1")) + frame(frameData, 1, id, "xy") }, 1001},
		{"PRIORITY of a wrong length", "", func() string { return request(0, post) + frame(framePriority, 0, id, "x") }, 1001},
		{"malformed heads", "", func() string { return request(1, with(get, "X: y")) }, 1001},
		{"too many streams", strings.Join([]string{open, headers(3, 0, post...)}, ""), func() string { id = max(id, 5); return request(1, get) }, 1001},
		{"PING", "", func() string { return ping }, 10001},
		{"PING ack", "", func() string { return frame(framePing, 1, 0, "12345678") }, 10001},
		{"SETTINGS", "", func() string { return settings() }, 10001},
		{"SETTINGS ack", "", func() string { return frame(frameSettings, 1, 0, "") }, 10001},
		{"PRIORITY", "", func() string { return frame(framePriority, 0, 99, u32(3)+"\x00") }, 10001},
		{"PRIORITY_UPDATE", "", func() string { return frame(framePriorityUpdate, 0, 0, u32(99)+"u=1") }, 10001},
		{"unknown types", "", func() string { return frame(99, 0, 0, "") }, 10001},
		{"WINDOW_UPDATE", open, func() string { return windowUpdate(1, 1) }, 10005},
		{"RST_STREAM on a closed stream", open + frame(frameReset, 0, 1, u32(8)), func() string { return frame(frameReset, 0, 1, u32(8)) }, 10005},
		{"GOAWAY", "", func() string { return frame(frameGoAway, 0, 0, u32(0)+u32(0)) }, 10001},
		{"empty DATA", open, func() string { return frame(frameData, 0, 1, "") }, 1001},
		{"padding", open, func() string { return frame(frameData, flagPadded, 1, "\x00") }, 1001},
	} {
		t.Run(x.name, func(t *testing.T) {
			id = 1
			p := newPeer(t, Config{Streams: 2}).greet()
			p.send(x.first)
			n := 0
			for ; !p.c.Failed() && n < 20000; n++ {
				p.send(x.flood())
				if x.first == "" {
					for id, st := range p.open {
						p.c.Done(st)
						delete(p.open, id)
					}
				}
				p.log, p.raw = nil, nil
			}
			if p.c.code != EnhanceYourCalm || n > x.most || n < min(x.most, 1000)-1 {
				t.Errorf("after %d: %v", n, p.c.code)
			}
		})
	}
}

// A client that gives back each piece that its program reads, for the stream and for the
// connection, is not one that floods: not while data comes, nor when all of it has. One that
// lets a byte come at a time is.
func TestWindowsInPieces(t *testing.T) {
	const frames, piece = 4000, 4 << 10
	p := newPeer(t, Config{}).greet()
	p.send(settings(settingInitialWindow, frames*maxFrame), windowUpdate(0, frames*maxFrame))
	data := make([]byte, maxFrame)
	for id := uint32(1); id < 7; id += 2 {
		p.send(headers(id, 1, get...))
		st := p.open[id]
		for i := range frames {
			if _, n := p.c.AppendData(nil, st, data, i == frames-1); n < maxFrame {
				t.Fatalf("stream %d stalls at %d", id, i)
			}
			if id > 1 { // the first one is read when all of it has come
				p.send(strings.Repeat(windowUpdate(0, piece)+windowUpdate(id, piece), maxFrame/piece))
			}
		}
		p.c.Done(st)
		if id == 1 {
			p.send(strings.Repeat(windowUpdate(0, piece)+windowUpdate(id, piece), frames*maxFrame/piece))
		}
		if p.log = nil; p.c.Failed() {
			t.Fatalf("stream %d: %v", id, p.c.code)
		}
	}

	p = newPeer(t, Config{}).greet()
	p.send(settings(settingInitialWindow, 0), headers(1, 1, get...))
	st, n := p.open[1], 0
	for ; !p.c.Failed() && n < 20000; n++ {
		p.send(windowUpdate(1, 1), windowUpdate(0, 1))
		p.c.AppendData(nil, st, data, false)
		p.log = nil
	}
	if p.c.code != EnhanceYourCalm || n > 5010 {
		t.Errorf("a byte at a time: after %d: %v", n, p.c.code)
	}
}

// Answers that the peer makes us queue are bounded, whatever it takes of them.
func TestQueueIsBounded(t *testing.T) {
	p := newPeer(t, Config{}).greet()
	in := []byte(frame(framePing, 0, 0, "12345678"))
	for n := 1; !p.c.Failed(); n++ {
		var ev Event
		p.c.Read(in, 1, &ev)
		if n > maxQueued+1 {
			t.Fatal("no end")
		}
	}
	if out := p.c.AppendControl(nil); len(out) > maxQueued*17+17 || p.c.code != EnhanceYourCalm {
		t.Errorf("%d bytes, %v", len(out), p.c.code)
	}
}

// No limit stops peers that behave.
func TestGoodPeers(t *testing.T) {
	t.Run("seeks", func(t *testing.T) { // an hour of 50 requests a second, each reset while data comes
		p := newPeer(t, Config{}).greet()
		in := headers(1, 1, with(get, "range: bytes=1-")...) // with no index into the table
		piece := strings.Repeat("x", 300)
		seeks := uint32(50 * race.Fewer(3600))
		for i := range seeks {
			id := 2*i + 1
			p.now += second / 50
			p.send(in[:5]+u32(id)+in[9:], frame(framePriority, 0, id, u32(0)+"\x0f"))
			p.body(id, piece, false)
			p.send(windowUpdate(0, 1000), windowUpdate(id, 1000), windowUpdate(0, 2000), frame(frameReset, 0, id, u32(8)), windowUpdate(id, 2000))
			p.c.Done(p.open[id])
			delete(p.open, id)
			delete(p.heads, id)
			if p.log, p.raw = nil, nil; p.c.Failed() {
				t.Fatal("failed after", i/50, "s:", p.c.code)
			}
		}
		p.now += 20 * second
		for id := 2*seeks + 1; ; id += 2 { // and then a burst of them
			p.send(in[:5] + u32(id) + in[9:] + frame(frameReset, 0, id, u32(8)))
			if p.c.Failed() {
				break
			}
			p.c.Done(p.open[id])
			delete(p.open, id)
			if p.log = nil; id > 2*seeks+2100 {
				t.Fatal("there is no limit any more")
			}
		}
	})
	t.Run("downloads", func(t *testing.T) { // each frame is answered by two updates and a PING
		p := newPeer(t, Config{}).greet()
		p.send(headers(1, 1, get...))
		for range 50000 {
			p.body(1, "some data", false)
			p.send(windowUpdate(0, 9), windowUpdate(1, 9), frame(framePing, 0, 0, "12345678"))
			if p.log, p.raw = nil, nil; p.c.Failed() {
				t.Fatal(p.c.code)
			}
		}
	})
	t.Run("resets of what was answered", func(t *testing.T) {
		p := newPeer(t, Config{}).greet()
		for id := uint32(1); id < 40000; id += 2 {
			p.send(headers(id, 1, get...))
			answer(p.c, p.open[id], 204, "")
			p.c.Done(p.open[id])
			p.send(frame(frameReset, 0, id, u32(0)))
			if p.log, p.raw = nil, nil; p.c.Failed() {
				t.Fatal(p.c.code)
			}
		}
	})
	t.Run("uploads that are answered early", func(t *testing.T) {
		p := newPeer(t, Config{}).greet()
		for id := uint32(1); id < 20000; id += 2 {
			p.send(headers(id, 0, post...))
			answer(p.c, p.open[id], 204, "")
			p.c.Done(p.open[id])
			p.send(frame(frameData, 0, id, strings.Repeat("x", 4096)), frame(frameData, 1, id, "y"))
			if p.log, p.raw = nil, nil; p.c.Failed() {
				t.Fatal(p.c.code)
			}
		}
	})
}

// A window that is opened by a byte at a time gives no tokens back.
func TestDribble(t *testing.T) {
	p := newPeer(t, Config{}).greet()
	p.send(settings(settingInitialWindow, 0), headers(1, 1, get...))
	n := 0
	for ; !p.c.Failed() && n < 50000; n++ {
		p.send(windowUpdate(1, 1))
		p.body(1, "some data", false)
		p.log, p.raw = nil, nil
	}
	if p.c.code != EnhanceYourCalm || n > 10100 {
		t.Errorf("after %d: %v", n, p.c.code)
	}
}

// The heads of all streams together are bounded, those that are answered with 431 and trailer
// sections too; what a stream had is free when it is done.
func TestHeadsAreBounded(t *testing.T) {
	value := strings.Repeat("v", 900)
	for _, x := range []struct {
		name string
		send func(p *peer, id uint32)
		fits int // streams
	}{
		{"heads", func(p *peer, id uint32) { p.send(headers(id, 0, with(post, "x: "+value)...)) }, 3},
		{"heads that are too long", func(p *peer, id uint32) { p.send(headers(id, 0, with(post, "x: "+value+value)...)) }, 2},
		{"trailers", func(p *peer, id uint32) { p.send(headers(id, 0, post...), headers(id, 1, "x: "+value)) }, 3},
	} {
		t.Run(x.name, func(t *testing.T) {
			p := newPeer(t, Config{HeaderList: 1 << 11, Heads: 1<<12 + 200}).greet()
			for round := range uint32(3) {
				p.log = nil
				for i := range uint32(5) {
					x.send(p, round*20+2*i+1)
				}
				n := 0
				for _, line := range p.log {
					if strings.Contains(line, "the heads of all streams are too long") {
						n++
					}
				}
				if n != 5-x.fits || p.c.Failed() {
					t.Errorf("round %d: %d of 5 don't fit: %q", round, n, p.log)
				}
				for id, st := range p.open {
					p.c.Done(st)
					delete(p.open, id)
				}
				if p.c.heads != 0 {
					t.Errorf("%d bytes are counted without a stream", p.c.heads)
				}
			}
		})
	}
}

// A caller may give up all its streams at once, however many Config allows: that is no
// fault of the peer.
func TestManyResetsAtOnce(t *testing.T) {
	const n = 3 * maxQueued
	p := newClient(t, Config{Streams: n}).greeted(settingStreams, n)
	for range n {
		p.request("GET", true)
	}
	for id, st := range p.open {
		p.c.ResetStream(st, Cancel)
		p.c.Done(st)
		delete(p.open, id)
	}
	if p.send(frame(framePing, 0, 0, "12345678")); p.c.Failed() || len(p.log) != n+1 {
		t.Errorf("%d frames: %v", len(p.log), p.c.code)
	}
}
