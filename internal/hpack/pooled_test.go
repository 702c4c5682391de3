package hpack

import (
	"bytes"
	"slices"
	"testing"

	"github.com/galehttp/gale/internal/msg"
)

// After Reset nothing of the last connection can be reached, and all is as at the start.
func TestResetForgets(t *testing.T) {
	var p pipe
	p.e.SetMaxTableSize(2000)
	p.d.SetMaxTableSize(2000)
	canary := testField{"x-canary", "canary", Auto}
	first := p.send(t, canary)
	again := p.send(t, canary)
	if !bytes.Equal(again, []byte{0xbe}) {
		t.Fatalf("%x", again)
	}
	_ = p.d.Begin([]byte{0xbe, 0xbe}) // a block that is not read
	p.e.Reset()
	p.d.Reset()
	if p.d.More() {
		t.Error("a block is there after Reset")
	}
	if _, err := decode(t, &p.d, again); err != ErrIndex {
		t.Errorf("an entry is there after Reset: %v", err)
	}
	p.d.Reset()
	if _, err := decode(t, &p.d, []byte{0x7e, 0}); err != ErrIndex {
		t.Errorf("a name is there after Reset: %v", err)
	}
	p.d.Reset()
	if got := p.e.AppendField(p.e.Begin(nil), msg.Unknown, []byte("x-canary"), []byte("canary"), Auto); !bytes.Equal(got, first[len(first)-len(got):]) || len(got) == 1 {
		t.Errorf("%x after Reset", got)
	}
	if _, err := decode(t, &p.d, []byte{0x82}); err != nil || p.d.table.max != DefaultTableSize || p.d.limit != DefaultTableSize || p.e.table.max != DefaultTableSize {
		t.Error("the sizes are not those of the start")
	}
	// What is left is as new, except memory.
	p.e.Reset()
	p.d.Reset()
	if slices.Max(p.e.index.pairs) > 0 || slices.IndexFunc(p.e.index.names, func(s nameSlot) bool { return s != nameSlot{} }) >= 0 || p.e.generation != 0 || p.e.ready || p.d.ready || p.d.last != nil || p.d.err != nil || p.d.rest != nil {
		t.Errorf("%+v, %+v", p.e, p.d)
	}
}

// Memory of a larger table is given back.
func TestResetShrinks(t *testing.T) {
	var d Decoder
	d.SetMaxTableSize(1 << 20)
	block := appendInteger(nil, 0x20, 0x1f, 1<<20)
	block = append(append(block, 0x40), appendString(nil, bytes.Repeat([]byte("\xff"), 100000))...)
	if _, err := decode(t, &d, append(block, 0)); err != nil || d.table.memory() < 100000 {
		t.Fatal(err, d.table.memory())
	}
	d.Reset()
	if d.table.memory() > 0 {
		t.Errorf("%d bytes are left", d.table.memory())
	}
}
