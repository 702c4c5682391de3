package h2

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

func TestParsePriority(t *testing.T) {
	for _, x := range []struct {
		in   string
		want Priority
	}{
		{"", Priority{3, false}},
		{"u=0", Priority{0, false}},
		{"u=7, i", Priority{7, true}},
		{"i,u=5", Priority{5, true}},
		{" u=1 ,\t i=?1 ", Priority{1, true}},
		{"i=?0", Priority{3, false}},
		{"u=1;a;b=2, i;c", Priority{1, true}},
		{"u=1, u=2", Priority{2, false}},
		{`x="a, u=1", u=2`, Priority{2, false}},
		{`x="a\"\\, u=1", u=2`, Priority{2, false}},
		{"x=(1 2;a \"b\" tok/en :YQ==:);q=1.5, u=4", Priority{4, false}},
		{"x=@12345, y=%\"f%c3\", *z, u=4", Priority{4, false}},
		// Not in range, or of another type.
		{"u=8", Priority{3, false}},
		{"u=-1", Priority{3, false}},
		{"u=1.0", Priority{3, false}},
		{"u=\"1\"", Priority{3, false}},
		{"u", Priority{3, false}},
		{"i=1, u=2", Priority{2, false}},
		{"u=(1)", Priority{3, false}},
		// No dictionaries.
		{"u=1,", Priority{3, false}},
		{"u=1 i", Priority{3, false}},
		{"u=1, U=2", Priority{3, false}},
		{"u=1, ((((", Priority{3, false}},
		{"u=1, i=?2", Priority{3, false}},
		{"u=1, x=\"", Priority{3, false}},
		{"u=1, x=(1", Priority{3, false}},
		{"u=1, x=(1)2", Priority{3, false}},
		{"u=1, x=:YQ", Priority{3, false}},
		{"u=1, x=1.2345", Priority{3, false}},
		{"u=1, x=1234567890123456", Priority{3, false}},
		{"u=1, x=", Priority{3, false}},
		{"u=1, =", Priority{3, false}},
		{"u=1\x00", Priority{3, false}},
	} {
		if got := ParsePriority(DefaultPriority, []byte(x.in)); got != x.want {
			t.Errorf("%q: %+v, want %+v", x.in, got, x.want)
		}
	}
	// What a response says replaces what the request said, as far as it goes.
	if got := ParsePriority(Priority{1, true}, []byte("u=5")); got != (Priority{5, true}) {
		t.Errorf("%+v", got)
	}
}

func FuzzParsePriority(f *testing.F) {
	f.Add("u=1, i")
	f.Add(`x="a, b";q=(1 2), u=7`)
	f.Fuzz(func(t *testing.T, s string) {
		if p := ParsePriority(DefaultPriority, []byte(s)); p.Urgency > 7 {
			t.Errorf("%q: %+v", s, p)
		}
	})
}

// order returns the streams in the order in which Next returns them, until each has had
// its pieces.
func order(p *peer, pieces map[uint32]int) string {
	var b strings.Builder
	for st := p.c.Next(); st != nil; st = p.c.Next() {
		fmt.Fprintf(&b, "%d ", st.ID())
		if pieces[st.ID()]--; pieces[st.ID()] <= 0 {
			p.c.Unqueue(st)
		}
		p.check()
	}
	return strings.TrimSpace(b.String())
}

func TestOrder(t *testing.T) {
	for _, x := range []struct{ name, prios, want string }{
		{"defaults, one after the other", ",,", "1 1 1 3 3 3 5 5 5"},
		{"urgency", "u=7|u=0|u=3", "3 3 3 5 5 5 1 1 1"},
		{"incremental in turns", "i|i|i", "1 3 5 1 3 5 1 3 5"},
		{"both kinds", "i|i|", "5 1 5 3 5 1 3 1 3"},
		{"incremental and urgent", "i|u=1, i|u=1, i", "3 5 3 5 3 5 1 1 1"},
	} {
		p := newPeer(t, Config{}).greet()
		pieces := map[uint32]int{}
		prios := strings.Split(x.prios, "|")
		if len(prios) == 1 {
			prios = []string{"u=3", "u=3", "u=3"}
		}
		for i, prio := range prios {
			id := uint32(2*i + 1)
			if prio == "" {
				prio = "u=3"
			}
			p.send(headers(id, 1, with(get, "priority: "+prio)...))
			pieces[id] = 3
		}
		for _, id := range []uint32{3, 5, 1} { // queued in another order
			p.c.Queue(p.open[id])
		}
		if x.name == "incremental in turns" {
			// Those in turns go in the order in which they were queued.
			x.want = "3 5 1 3 5 1 3 5 1"
		}
		if x.name == "both kinds" {
			x.want = "5 3 5 1 5 3 1 3 1"
		}
		if got := order(p, pieces); got != x.want {
			t.Errorf("%s: %s, want %s", x.name, got, x.want)
		}
	}
}

// Clients that say nothing of priorities get all responses at once; others get those with
// default priority one after the other.
func TestDefaultOrder(t *testing.T) {
	for _, x := range []struct{ first, want string }{
		{"", "1 3 1 3 1 3"},
		{settings(settingNoPriorities, 0), "1 3 1 3 1 3"},
		{frame(framePriorityUpdate, 0, 0, u32(99)+"u=1"), "1 1 1 3 3 3"},
		{headers(1, 1, with(get, "priority: u=3")...), "1 1 1 3 3 3"},
	} {
		p := newPeer(t, Config{}).greet()
		p.send(x.first)
		for _, id := range []uint32{1, 3} {
			if p.c.Last() < id {
				p.send(headers(id, 1, get...))
			}
			p.c.Queue(p.open[id])
		}
		if got := order(p, map[uint32]int{1: 3, 3: 3}); got != x.want {
			t.Errorf("after %q: %s, want %s", x.first, got, x.want)
		}
	}
	p := newPeer(t, Config{})
	p.send(Preface, settings(settingNoPriorities, 1), headers(1, 1, get...))
	if got := p.open[1].Priority(); got != DefaultPriority {
		t.Errorf("with SETTINGS_NO_RFC7540_PRIORITIES: %+v", got)
	}
}

func TestPriorityUpdate(t *testing.T) {
	update := func(id uint32, v string) string { return frame(framePriorityUpdate, 0, 0, u32(id)+v) }
	p := newPeer(t, Config{}).greet()
	// Before the stream is opened: it counts, not the field.
	p.send(update(1, "u=1"), update(3, "u=2, i"), update(3, "u=5"), headers(1, 1, with(get, "priority: u=6")...))
	if got := p.open[1].Priority(); got != (Priority{1, false}) {
		t.Errorf("%+v", got)
	}
	p.send(headers(5, 1, with(get, "priority: u=6, i")...))
	if got := p.open[5].Priority(); got != (Priority{6, true}) {
		t.Errorf("%+v", got)
	}
	if len(p.c.early) != 0 {
		t.Errorf("priorities of streams that are closed are kept: %v", p.c.early)
	}
	// While it sends.
	p.c.Queue(p.open[1])
	p.c.Queue(p.open[5])
	p.send(update(5, "u=0"))
	if p.c.Next() != p.open[5] {
		t.Error("the update has not changed the order")
	}
	p.send(update(5, "x=1")) // without parameters that count: the defaults
	if got := p.open[5].Priority(); got != DefaultPriority {
		t.Errorf("%+v", got)
	}
	for id := uint32(101); id < 2000; id += 2 {
		p.send(update(id, "u=1"))
	}
	if len(p.c.early) > maxEarly || p.c.Failed() {
		t.Errorf("%d early priorities; failed %v", len(p.c.early), p.c.Failed())
	}
}

// Rings stay in order whatever happens to streams.
func TestScheduleRandom(t *testing.T) {
	p := newPeer(t, Config{Streams: 30}).greet()
	rnd := rand.New(rand.NewPCG(1, 2))
	next := uint32(1)
	for range 20000 {
		var st *Stream
		skip := rnd.IntN(max(1, p.c.Streams()))
		p.c.All(func(s *Stream) bool { st = s; skip--; return skip >= 0 })
		switch op := rnd.IntN(9); {
		case op == 0 || st == nil:
			p.c.odd(0)
			p.now += second
			p.send(headers(next, 1, with(get, fmt.Sprintf("priority: u=%d, i=?%d", rnd.IntN(8), rnd.IntN(2)))...))
			next += 2
		case op == 1:
			p.c.Done(st)
		case op == 2:
			p.c.Unqueue(st)
		case op == 3:
			p.c.turns.setPriority(st, Priority{uint8(rnd.IntN(8)), rnd.IntN(2) == 0})
		case op == 4:
			p.send(windowUpdate(st.ID(), uint32(1+rnd.IntN(20))))
		case op == 5:
			p.send(settings(settingInitialWindow, rnd.Uint32N(20)))
		case op < 8:
			p.c.Queue(st)
		}
		if st := p.c.Next(); st != nil {
			if _, n := p.c.AppendData(nil, st, make([]byte, rnd.IntN(10)), rnd.IntN(20) == 0); n == 0 && st.out.window <= 0 {
				t.Fatal("Next returned a stream that can't send")
			}
		}
		p.c.out.window = 1000
		p.log = nil
		p.check()
		if p.c.Failed() {
			t.Fatal("the connection has failed: ", p.c.code)
		}
	}
}
