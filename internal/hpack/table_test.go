package hpack

import (
	"bytes"
	"testing"

	"github.com/galehttp/gale/tests/harness/gate"
)

// check checks what the comment of table says, and that t uses no more memory than it may.
func (t *table) check(tb testing.TB) {
	tb.Helper()
	used, at := 0, -1
	for n := t.first; n != t.first+t.count; n++ {
		e := t.at(n)
		if at >= 0 && int(e.off) != at%max(len(t.buf), 1) {
			tb.Fatalf("entry %d is at %d, want %d", n, e.off, at)
		}
		at = int(e.off) + e.textLen()
		used += e.textLen()
	}
	if at >= 0 && t.tail != at%max(len(t.buf), 1) {
		tb.Fatalf("the tail is at %d, want %d of %d", t.tail, at, len(t.buf))
	}
	if t.tail > 0 && t.tail >= len(t.buf) {
		tb.Fatalf("the tail is at %d of %d", t.tail, len(t.buf))
	}
	if t.size != used+int(t.count)*EntryOverhead || t.size > t.max || used > len(t.buf) {
		tb.Fatalf("size %d, of %d, with %d bytes in %d", t.size, t.max, used, len(t.buf))
	}
}

// memory returns how many bytes t holds on to.
func (t *table) memory() int { return len(t.buf) + 16*len(t.recs) }

// A modelTable is a table as RFC 7541 section 4 describes it, without a thought for speed.
type modelTable struct {
	entries [][2]string // the newest first
	max     int
}

func (m *modelTable) setMax(n int) {
	m.max = n
	for m.size() > n {
		m.entries = m.entries[:len(m.entries)-1]
	}
}

func (m *modelTable) size() (n int) {
	for _, e := range m.entries {
		n += len(e[0]) + len(e[1]) + EntryOverhead
	}
	return n
}

func (m *modelTable) add(name, value string) {
	m.entries = append([][2]string{{name, value}}, m.entries...)
	for m.size() > m.max {
		m.entries = m.entries[:len(m.entries)-1]
	}
}

// equal compares t with m.
func (m *modelTable) equal(tb testing.TB, t *table) {
	tb.Helper()
	t.check(tb)
	if int(t.count) != len(m.entries) {
		tb.Fatalf("%d entries, want %d", t.count, len(m.entries))
	}
	for i, want := range m.entries {
		number := t.number(uint32(numStatic + 1 + i))
		if !t.has(number) || t.index(number) != uint32(numStatic+1+i) {
			tb.Fatalf("index %d is entry %d, whose index is %d", numStatic+1+i, number, t.index(number))
		}
		e := t.at(number)
		name := t.appendName(nil, e)
		text := t.appendText(nil, e)
		if string(name) != want[0] || string(text) != want[0]+want[1] {
			tb.Fatalf("entry %d is %q in %q, want %q", i, name, text, want)
		}
		if !t.equal(e, 0, name) || !t.equal(e, e.nameLen, text[len(name):]) {
			tb.Fatalf("entry %d is not equal to itself: %q", i, text)
		}
		if len(text) > 0 && t.equal(e, 0, append(bytes.Clone(text[:len(text)-1]), text[len(text)-1]+1)) {
			tb.Fatalf("entry %d is equal to another text", i)
		}
	}
	if t.has(t.number(uint32(numStatic+1+len(m.entries)))) || t.has(t.number(numStatic)) {
		tb.Fatal("there are indexes without entries")
	}
}

func TestTableIsAsTheModel(t *testing.T) {
	for range 100 {
		m := modelTable{max: gate.Rand.IntN(1000)}
		tab := table{max: m.max, first: ^uint32(0) - 20, count: 0} // the numbers wrap
		highest := m.max
		for range 100 {
			if gate.Rand.IntN(10) == 0 {
				n := gate.Rand.IntN(1000) * gate.Rand.IntN(2)
				highest = max(highest, n)
				m.setMax(n)
				tab.setMax(n)
			}
			name, value := randomText(1+gate.Rand.IntN(30)*gate.Rand.IntN(2)), randomText(1+gate.Rand.IntN(300)*gate.Rand.IntN(2))
			e := tab.add(name, value)
			m.add(string(name), string(value))
			if (e != nil) != (len(m.entries) > 0) {
				t.Fatal("add says wrongly whether there is a new entry")
			}
			m.equal(t, &tab)
			if tab.memory() > max(2*highest, stepBuf+16*firstRecs) {
				t.Fatalf("%d bytes for a table of %d", tab.memory(), highest)
			}
		}
	}
}

// Entries that count their overhead only, and one that fills the table.
func TestTableEdges(t *testing.T) {
	tab := table{max: DefaultTableSize}
	m := modelTable{max: DefaultTableSize}
	for range 200 {
		tab.add(nil, nil)
		m.add("", "")
	}
	m.equal(t, &tab)
	full := make([]byte, DefaultTableSize-EntryOverhead)
	for range 3 {
		tab.add(nil, full)
		m.add("", string(full))
		m.equal(t, &tab)
	}
	tab.add(full, []byte("x"))
	m.add(string(full), "x")
	m.equal(t, &tab)
	if tab.count != 0 {
		t.Error("an entry larger than the table leaves entries")
	}
	if tab.memory() > 2*DefaultTableSize {
		t.Errorf("%d bytes", tab.memory())
	}
	tab.setMax(0)
	if tab.memory() != 0 {
		t.Error("a table of size 0 has memory")
	}
	for _, n := range []int{0, 1, EntryOverhead - 1} {
		tab.setMax(n)
		if tab.add(nil, nil) != nil {
			t.Errorf("a table of size %d has an entry", n)
		}
	}
	tab.setMax(EntryOverhead)
	for range 2 {
		if tab.add(nil, nil) == nil || tab.count != 1 {
			t.Error("an empty entry does not fit")
		}
	}
	// A table that loses its memory while the tail is somewhere in it.
	tab.setMax(DefaultTableSize)
	tab.add([]byte("name"), nil)
	tab.setMax(0)
	tab.check(t)
	tab.setMax(DefaultTableSize)
	if tab.add(nil, nil) == nil {
		t.Error("an empty entry does not fit")
	}
	tab.check(t)
}
