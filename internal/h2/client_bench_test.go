package h2

import (
	"testing"

	"github.com/galehttp/gale/internal/head"
	"github.com/galehttp/gale/internal/msg"
)

// generator is a client that sends requests in rounds, and reads prepared answers.
type generator struct {
	c       Conn
	out     []byte
	r       *head.Request
	rep     Repeated
	answers []byte // of a round
	h       msg.ResponseHead
	full    bool // AppendRequest and DecodeResponse instead of AppendRepeated and DecodeStatus
}

const perRound = 32

func newGenerator(t testing.TB, full bool) *generator {
	g := &generator{full: full}
	g.h.Reset()
	g.r = makeRequest("GET", "/static/app.js?v=12345", "User-Agent: gale bench", "Accept: */*", "Accept-Encoding: gzip, br", "X-Requested-With: fetch")
	cfg := new(Config)
	cfg.Fill()
	g.out = g.c.BeginClient(cfg, nil)
	s := newExchanger(t)
	s.c.AppendControl(nil)
	g.read(t, []byte(settings(settingStreams, 250)+frame(frameSettings, flagAck, 0, "")))
	for range 3 { // until both tables are full
		s.serve(t, g.send(t))
		g.answers = append(g.answers[:0], s.out...)
		if n := g.read(t, g.answers); n != perRound {
			t.Fatal(n)
		}
	}
	return g
}

// send begins a round.
func (g *generator) send(t testing.TB) []byte {
	out := g.c.AppendControl(g.out[:0])
	for range perRound {
		var err error
		if g.full {
			out, _, err = g.c.AppendRequest(out, g.r, "http", true)
		} else {
			out, _, err = g.c.AppendRepeated(out, &g.rep, g.r, "http", true)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	g.out = out
	return out
}

// renumber makes the answers those of the current round.
func (g *generator) renumber() {
	id := g.c.Last() - 2*(perRound-1)
	for at := 0; at < len(g.answers); {
		f := parseFrameHeader(g.answers[at:])
		if f.stream != 0 {
			setFrameHeader(g.answers[at:], f.length, f.typ, f.flags, id)
			if f.flags&flagEndStream != 0 {
				id += 2
			}
		}
		at += frameHeaderLen + f.length
	}
}

// read reads what a server has sent, and returns the number of answers.
func (g *generator) read(t testing.TB, in []byte) (n int) {
	for len(in) > 0 {
		var ev Event
		used := g.c.Read(in, 1, &ev)
		in = in[used:]
		switch ev.Kind {
		case Head:
			if g.full {
				g.h.Reset()
				if err := g.c.DecodeResponse(&g.h); err != nil {
					t.Fatal(err)
				}
			} else if _, err := g.c.DecodeStatus(); err != nil {
				t.Fatal(err)
			}
		case Data:
			g.c.Consumed(ev.Stream, len(ev.Data))
		case None, Settings:
		default:
			t.Fatalf("event %d, code %v", ev.Kind, ev.Code)
		}
		if ev.End {
			g.c.Done(ev.Stream)
			n++
		}
	}
	return n
}

// A round is 32 requests and their responses.
func BenchmarkClientRound(b *testing.B) {
	for name, full := range map[string]bool{"repeated": false, "full": true} {
		b.Run(name, func(b *testing.B) {
			g := newGenerator(b, full)
			b.ReportAllocs()
			b.ResetTimer()
			for range b.N {
				g.send(b)
				g.renumber()
				if n := g.read(b, g.answers); n != perRound {
					b.Fatal(n)
				}
				if g.c.last > 1<<30 {
					g.c.last, g.c.closed = 0, closedStreams{}
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/perRound, "ns/request")
			b.ReportMetric(float64(len(g.out))/perRound, "bytes/request")
		})
	}
}
