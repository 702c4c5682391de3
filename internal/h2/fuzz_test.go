package h2

import (
	"slices"
	"strings"
	"testing"

	"github.com/galehttp/gale/internal/head"
	"github.com/galehttp/gale/internal/msg"
)

// script makes of any bytes frames that a client may send, or a server, valid ones and
// others: each byte chooses something.
type script struct {
	b      []byte
	last   uint32
	server bool
}

func (s *script) n(below int) int {
	if len(s.b) == 0 {
		return 0
	}
	n := int(s.b[0])
	s.b = s.b[1:]
	return n % below
}

func (s *script) bytes(n int) string {
	n = min(n, len(s.b))
	b := s.b[:n]
	s.b = s.b[n:]
	return string(b)
}

var scriptFields = []string{
	"x: y", "X: y", "cookie: a=1", "content-length: 3", "te: trailers", "host: a.test", "priority: u=1, i", ":path: /x",
	"connection: close", "x: " + strings.Repeat("v", 3000), "expect: 100-continue", ": ", "x:  ",
}

func (s *script) block() string {
	fields := slices.Clone(get)
	if s.n(4) == 0 {
		fields[0] = ":method: POST"
	}
	if s.server {
		fields = []string{[]string{":status: 200", ":status: 103", ":status: 204", ":status: 404"}[s.n(4)], "server: a", "content-type: b"}
	}
	if s.n(8) == 0 {
		fields = fields[:s.n(4)]
	}
	for range s.n(4) {
		fields = append(fields, scriptFields[s.n(len(scriptFields))])
	}
	b := []byte(block(fields...))
	switch s.n(8) {
	case 0:
		b = append([]byte{0x40}, b[min(1, len(b)):]...)
	case 1:
		b = append(b, 0x80|byte(s.n(128)))
	case 2:
		b = append(b, s.bytes(s.n(20))...)
	case 3:
		b = append([]byte{0x20 | byte(s.n(32))}, b...)
	}
	return string(b)
}

func (s *script) frame() string {
	stream := func() uint32 {
		if s.n(4) > 0 {
			return s.last
		}
		return uint32(s.n(16))
	}
	switch s.n(20) {
	case 0, 1, 2, 3:
		s.next()
		return frame(frameHeaders, flagEndHeaders|uint8(s.n(2)), s.last, s.block())
	case 4:
		return frame(frameHeaders, uint8(s.n(256)), stream(), s.block())
	case 5:
		b := s.block()
		s.next()
		return frame(frameHeaders, uint8(s.n(2)), s.last, b[:len(b)/2]) + frame(frameContinuation, flagEndHeaders, s.last, b[len(b)/2:])
	case 6, 7:
		return frame(frameData, uint8(s.n(2)), stream(), strings.Repeat("d", s.n(256)))
	case 8:
		return frame(frameData, uint8(s.n(16)), stream(), string(rune(s.n(10)))+strings.Repeat("d", s.n(256)*60))
	case 9:
		return headers(stream(), uint8(s.n(2)), "x-trailer: 1")
	case 10, 11:
		return windowUpdate(stream(), uint32(s.n(256)))
	case 12:
		return windowUpdate(0, uint32(s.n(256))*uint32(s.n(2))<<24+100)
	case 13:
		return settings(uint32(s.n(11)), uint32(s.n(256)*(1+s.n(2)*1000)))
	case 14:
		return frame(frameReset, 0, stream(), u32(uint32(s.n(20))))
	case 15:
		return frame(framePriorityUpdate, 0, 0, u32(stream())+[]string{"u=1", "i", "u=7, i", "(", "u=0"}[s.n(5)])
	case 16:
		return frame(framePing, uint8(s.n(2)), 0, "12345678")
	case 17:
		return frame(frameGoAway, 0, 0, u32(stream())+u32(0)+s.bytes(s.n(9)))
	case 18:
		return frame(frameType(s.n(256)), uint8(s.n(256)), stream(), s.bytes(s.n(40)))
	}
	return s.bytes(s.n(60))
}

// next chooses the stream of a head: a client opens a new one, a server answers.
func (s *script) next() {
	if s.last += 2; s.server {
		s.last = 1 + 2*uint32(s.n(8))
	}
}

func (s *script) all() string {
	s.last = 1<<32 - 1
	var b strings.Builder
	for len(s.b) > 0 && b.Len() < 1<<18 {
		b.WriteString(s.frame())
	}
	return b.String()
}

// react is a server: it answers requests when they end, some of them early, others not at
// all, with a body as long as the windows let it. What it does depends on events alone.
func (p *peer) react(ev *Event) {
	switch ev.Kind {
	case Reset:
		p.done(ev.Stream)
	case Head, Data, Trailers:
		st := p.open[p.about]
		switch {
		case st == nil:
		case st.WasReset():
			p.done(st)
		case !st.PeerEnded() && p.about%8 != 3:
		case p.about%16 == 7:
			p.c.ResetStream(st, Cancel)
			p.done(st)
		case !st.place.queued && !st.Ended():
			var r head.Response
			r.Reset()
			r.ContentLength = msg.LenChunked
			p.sent(p.c.AppendHead(nil, st, &r, head.Sender{Server: "gale", Date: testDate}, false))
			p.c.Queue(st)
		}
	}
	for st := p.c.Next(); st != nil; st = p.c.Next() {
		out, n := p.c.AppendData(nil, st, make([]byte, 700), st.ID()%4 == 1)
		p.sent(out)
		if n == 700 && st.ID()%4 != 1 {
			p.sent(p.c.AppendTrailers(nil, st, new(head.Trailers)))
		}
		if st.Ended() {
			p.done(st)
		}
	}
}

func (p *peer) done(st *Stream) {
	delete(p.open, st.ID())
	p.c.Done(st)
}

// play sends in, in pieces, and returns what happened.
func play(t *testing.T, in string, chunk int) *peer {
	p := newPeer(t, Config{Streams: 5, HeaderList: 10000}).greet()
	p.chunk, p.keep, p.reacts = chunk, true, true
	return p.send(in)
}

// A client may send anything, in any pieces: nothing panics, what must hold holds (see
// check), and the same happens whatever the pieces are.
func FuzzFrames(f *testing.F) {
	f.Add([]byte{0, 1, 1, 0, 0, 7, 0, 1, 1, 0, 0, 6, 1, 3, 9, 13, 4, 20}, uint8(1), true)
	f.Add([]byte(headers(1, 1, get...)+frame(frameData, 0, 1, "x")), uint8(3), false)
	for i := range 64 {
		b := make([]byte, 100)
		for j := range b {
			b[j] = byte((i*31 + j*j*(i+7) + j) >> (i % 3))
		}
		f.Add(b, uint8(i), true)
	}
	f.Fuzz(func(t *testing.T, b []byte, chunk uint8, scripted bool) {
		in := string(b)
		if scripted {
			in = (&script{b: b}).all()
		}
		whole := play(t, in, 0)
		parts := play(t, in, 1+int(chunk))
		if !slices.Equal(whole.log, parts.log) {
			t.Errorf("whole:\n\t%.3000s\nin pieces of %d:\n\t%.3000s", strings.Join(whole.log, "\n\t"), 1+int(chunk), strings.Join(parts.log, "\n\t"))
		}
		for _, p := range []*peer{whole, parts} {
			if kept := p.c.kept(); kept > 4*len(in)+20000 {
				t.Errorf("%d bytes are kept of %d", kept, len(in))
			}
			for id, st := range p.open {
				delete(p.open, id)
				p.c.Done(st)
			}
			if p.c.Streams() != 0 {
				t.Errorf("%d streams are left", p.c.Streams())
			}
			p.c.AppendControl(nil)
			for p.c.HasHeld() {
				p.c.AppendHeld(nil)
			}
			p.c.Rest()
			p.check()
			p.c.End()
		}
	})
}

// kept returns how many bytes of input, or made of it, c holds.
func (c *Conn) kept() int {
	n := cap(c.control.b) + cap(c.coding.scratch) + cap(c.coding.name) + cap(c.coding.opening.text) + 8*cap(c.early) + 8*len(c.streams.chains)
	if c.read.block.buf != nil {
		n += cap(c.read.block.buf.B)
	}
	return n
}
