package h2

import (
	"slices"
	"strings"
	"testing"
)

// call is a client: it opens streams, some with bodies, and gives some up. What it does
// depends on events alone.
func (p *peer) call(ev *Event) {
	switch ev.Kind {
	case GoAway:
		for _, id := range p.ids() {
			if st := p.open[id]; st.WasReset() {
				p.done(st)
			}
		}
	case Head, Data, Trailers, Reset:
		switch st := p.open[p.about]; {
		case st == nil:
		case st.WasReset(), st.PeerEnded() && st.Ended(), p.about%16 == 7 && ev.Kind == Data:
			p.done(st)
		}
	}
	p.callMore()
	for st := p.c.Next(); st != nil; st = p.c.Next() {
		out, _ := p.c.AppendData(nil, st, make([]byte, 700), st.ID()%4 == 1)
		p.sent(out)
		if st.Ended() {
			p.c.Unqueue(st)
		}
	}
}

// ids returns the ids of open streams in order.
func (p *peer) ids() (ids []uint32) {
	for id := range p.open {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	return ids
}

// callMore opens as many streams as it may, 100 at most.
func (p *peer) callMore() {
	for p.c.CanOpen() > 0 && p.c.Last() < 200 {
		method := []string{"GET", "POST", "HEAD"}[p.c.Last()/2%3]
		out, st, err := p.c.AppendRequest(nil, makeRequest(method, "/"), "http", method != "POST")
		if err != nil {
			p.t.Fatal(err)
		}
		p.sent(out)
		p.open[st.ID()] = st
		if method == "POST" {
			p.c.Queue(st)
		}
	}
}

// playClient sends in to a client, in pieces, and returns what happened.
func playClient(t *testing.T, in string, chunk int) *peer {
	p := newClient(t, Config{Streams: 5, HeaderList: 10000, ConnWindow: 70000}).greeted()
	p.callMore()
	p.chunk, p.keep, p.reacts = chunk, true, true
	return p.send(in)
}

// A server may send anything, in any pieces: nothing panics, what must hold holds (see
// check), the same happens whatever the pieces are, and neither what the client keeps nor
// what it answers is longer than a multiple of what came.
func FuzzClientFrames(f *testing.F) {
	f.Add([]byte(headers(1, 1, ":status: 200")+frame(frameData, 1, 3, "x")), uint8(3), false)
	f.Add([]byte(headers(3, 0, ":status: 200", "content-length: 3")+frame(frameData, 1, 3, "abc")+frame(frameGoAway, 0, 0, u32(5)+u32(0))), uint8(1), false)
	for i := range 64 {
		b := make([]byte, 100)
		for j := range b {
			b[j] = byte((i*37 + j*j*(i+5) + j) >> (i % 3))
		}
		f.Add(b, uint8(i), true)
	}
	f.Fuzz(func(t *testing.T, b []byte, chunk uint8, scripted bool) {
		in := string(b)
		if scripted {
			in = (&script{b: b, server: true}).all()
		}
		whole := playClient(t, in, 0)
		parts := playClient(t, in, 1+int(chunk))
		if !slices.Equal(whole.log, parts.log) {
			t.Errorf("whole:\n\t%.3000s\nin pieces of %d:\n\t%.3000s", strings.Join(whole.log, "\n\t"), 1+int(chunk), strings.Join(parts.log, "\n\t"))
		}
		for _, p := range []*peer{whole, parts} {
			if kept := p.c.kept(); kept > 4*len(in)+20000 {
				t.Errorf("%d bytes are kept of %d", kept, len(in))
			}
			control := 0
			for b := p.raw; len(b) > 0; {
				f := parseFrameHeader(b)
				if f.typ != frameHeaders && f.typ != frameData {
					control += frameHeaderLen + f.length
				}
				b = b[frameHeaderLen+f.length:]
			}
			if control > 2*len(in)+2000 { // 100 streams may be reset, each with 13 bytes
				t.Errorf("%d bytes answer %d", control, len(in))
			}
			for _, id := range p.ids() {
				p.done(p.open[id])
			}
			if p.c.Streams() != 0 {
				t.Errorf("%d streams are left", p.c.Streams())
			}
			p.c.AppendControl(nil)
			p.c.Rest()
			p.check()
			p.c.End()
		}
	})
}
