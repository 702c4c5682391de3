package h2

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

// collector is a peer whose bodies are collected.
func collector(t *testing.T, cfg Config) *peer {
	p := newPeer(t, cfg).greet()
	p.keep = true
	return p
}

func (p *peer) post(id uint32, length int64) *Stream {
	fields := post
	if length >= 0 {
		fields = with(post, fmt.Sprintf("content-length: %d", length))
	}
	p.send(headers(id, 0, fields...))
	p.c.Collect(p.open[id])
	return p.open[id]
}

// fill sends what the window of a stream allows.
func (p *peer) fill(id uint32) {
	for n := p.open[id].in.window; n > 0; n = p.open[id].in.window {
		p.send(frame(frameData, 0, id, strings.Repeat("x", int(min(n, maxFrame)))))
		p.c.Collect(p.open[id])
		if p.open[id].in.size > 1<<22 {
			return
		}
	}
}

func TestCollect(t *testing.T) {
	t.Run("all at once", func(t *testing.T) {
		p := collector(t, Config{})
		p.post(1, 4<<20)
		p.send().want("head 1 POST /", fmt.Sprint("> WINDOW_UPDATE 1 ", 4<<20-DefaultStreamWindow))
	})
	t.Run("announcements take half", func(t *testing.T) {
		p := collector(t, Config{ConnWindow: 1 << 20})
		p.post(1, 1<<19)
		st := p.post(3, 1<<19)
		if st.Allowed() != DefaultStreamWindow || st.Waits() {
			t.Errorf("%+v", st.in)
		}
		p.send(frame(frameData, 0, 3, strings.Repeat("x", maxFrame)), frame(frameData, 0, 3, strings.Repeat("x", maxFrame)))
		p.c.Collect(st)
		if st.in.window != DefaultStreamWindow || st.Waits() { // what has come, or the first window
			t.Errorf("%+v", st.in)
		}
	})
	t.Run("one goes on, the oldest is next", func(t *testing.T) {
		p := collector(t, Config{ConnWindow: 1 << 17})
		for _, id := range []uint32{1, 3, 5} {
			p.post(id, 1<<23)
		}
		p.fill(3)
		p.fill(5)
		p.fill(1)
		if p.open[3].Waits() || !p.open[1].Waits() || !p.open[5].Waits() {
			t.Errorf("waits: %v %v %v", p.open[1].Waits(), p.open[3].Waits(), p.open[5].Waits())
		}
		if p.c.Resume() != nil {
			t.Error("a stream goes on without room")
		}
		p.done(p.open[3])
		if st := p.c.Resume(); st == nil || st.ID() != 1 || st.Waits() {
			t.Errorf("%v goes on", st)
		}
		p.c.ResetStream(p.open[5], Cancel)
		p.done(p.open[5])
		p.check()
		p.c.Collected(p.open[1])
		p.check()
		if p.c.grown != 0 || p.c.beyond != nil || p.c.Resume() != nil {
			t.Errorf("grown by %d, beyond %v", p.c.grown, p.c.beyond)
		}
	})
	t.Run("dropped", func(t *testing.T) {
		p := collector(t, Config{})
		st := p.post(1, -1)
		p.fill(1)
		p.log = nil
		p.c.Collected(st) // the client may send on
		if st.in.unread != 0 || st.in.window < DefaultStreamWindow {
			t.Errorf("%+v", st.in)
		}
		p.check()
	})
}

// TestCollectRandom: whatever happens to streams, what they hold is bounded, and while some
// wait there is one that does not.
func TestCollectRandom(t *testing.T) {
	const budget, largest = 1 << 19, 1 << 20
	p := collector(t, Config{Streams: 20, ConnWindow: budget})
	rnd := rand.New(rand.NewPCG(1, 2))
	next := uint32(1)
	for range 5000 {
		var st *Stream
		skip := rnd.IntN(max(1, p.c.Streams()))
		p.c.All(func(s *Stream) bool { st = s; skip--; return skip >= 0 })
		switch op := rnd.IntN(20); {
		case st == nil || op == 0 && p.c.Streams() < 20:
			p.now += second
			p.post(next, int64(rnd.IntN(largest)))
			next += 2
		case op == 1:
			p.done(st)
		case op == 2:
			p.c.Collected(st)
			p.done(st)
		default:
			if n := min(st.in.window, maxFrame, st.left); n > 0 {
				p.send(frame(frameData, 0, st.ID(), strings.Repeat("x", int(n))))
				p.c.Collect(st)
			}
			if st.left == 0 {
				p.c.Collected(st)
				p.done(st)
			}
		}
		for p.c.Resume() != nil {
		}
		p.log = nil
		p.check()
		held := int64(0)
		p.c.All(func(s *Stream) bool { held += s.in.unread; return true })
		if most := int64(20*DefaultStreamWindow + budget + largest); held > most {
			t.Fatalf("%d bytes are held, want at most %d", held, most)
		}
		if p.c.Failed() {
			t.Fatal("the connection has failed: ", p.c.code)
		}
	}
}
