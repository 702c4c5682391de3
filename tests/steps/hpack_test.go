//go:build galesteps

package steps

import (
	"bytes"
	"testing"

	"github.com/galehttp/gale/internal/hpack"
	"github.com/galehttp/gale/internal/msg"
)

// Field blocks of about n bytes. An index may refer to an entry as large as the table.
// The limit for the decoded size stops that, and skipping the rest must be cheap.
var fieldBlocks = []struct {
	name      string
	amplifies bool
	make      func(n int) []byte
}{
	{"static indexes", true, func(n int) []byte { return bytes.Repeat([]byte{0x82}, n) }},
	{"dynamic indexes", true, func(n int) []byte {
		b := append([]byte("\x40\x01a\x7f\xa1\x1e"), bytes.Repeat([]byte("v"), 4000)...)
		return append(b, bytes.Repeat([]byte{0xbe}, n)...)
	}},
	{"long indexes", false, func(n int) []byte { return bytes.Repeat([]byte{0x0f, 0x80, 0x80, 0x80, 0, 0}, n/6) }},
	{"empty entries", false, func(n int) []byte { return bytes.Repeat([]byte{0x40, 0, 0}, n/3) }},
	{"small entries", false, func(n int) []byte { return bytes.Repeat([]byte("\x40\x01a\x01b"), n/5) }},
	{"entries that fill the table", false, func(n int) []byte {
		e := append([]byte("\x40\x01a\x7f\xa1\x1e"), bytes.Repeat([]byte("v"), 4000)...)
		return bytes.Repeat(e, n/len(e)+1)
	}},
	{"entries larger than the table", false, func(n int) []byte {
		e := append([]byte("\x40\x01a\x7f\x89\x27"), bytes.Repeat([]byte("v"), 5128)...)
		return bytes.Repeat(e, n/len(e)+1)
	}},
	{"literals", false, func(n int) []byte { return bytes.Repeat([]byte("\x00\x01a\x01b"), n/5) }},
	{"known names", false, func(n int) []byte { return bytes.Repeat([]byte("\x00\x19upgrade-insecure-requests\x01b"), n/28) }},
	{"short codes", false, func(n int) []byte { return huffmanValue(n, []byte{0, 0, 0, 0, 0}) }},
	{"long codes", false, func(n int) []byte { // the code of the symbol 10, four times
		return huffmanValue(n, []byte{0xff, 0xff, 0xff, 0xf3, 0xff, 0xff, 0xff, 0xcf, 0xff, 0xff, 0xff, 0x3f, 0xff, 0xff, 0xfc})
	}},
}

// huffmanValue returns a literal whose value repeats code.
func huffmanValue(n int, code []byte) []byte {
	value := bytes.Repeat(code, n/len(code))
	size := len(value) - 127
	b := []byte{0x00, 0x01, 'a', 0xff}
	for ; size >= 128; size >>= 7 {
		b = append(b, byte(size)|0x80)
	}
	return append(append(b, byte(size)), value...)
}

func TestFieldBlocks(t *testing.T) {
	for _, c := range fieldBlocks {
		compare(t, "field block: "+c.name, func(n int) (*meter, int) {
			m := &meter{}
			block := c.make(n)
			m.run("skip", func() {
				var d hpack.Decoder
				if err := d.Begin(block); err != nil {
					t.Fatal(c.name, err)
				}
				if _, err := d.Skip(nil); err != nil {
					t.Fatal(c.name, err)
				}
			})
			if !c.amplifies {
				m.run("decode", func() { decodeBlock(t, block) })
			}
			return m, len(block)
		})
	}
}

func decodeBlock(t *testing.T, block []byte) {
	var d hpack.Decoder
	var f hpack.Field
	arena := make([]byte, 0, 2*len(block))
	err := d.Begin(block)
	for err == nil && d.More() {
		arena, err = d.Next(arena, &f)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// Encoded fields may be copies of what a peer sent.
func TestEncodedFields(t *testing.T) {
	for _, c := range []struct {
		name         string
		field, value []byte
	}{
		{"empty", nil, nil},
		{"short", []byte("x-a"), []byte("b")},
		{"a secret", []byte("x-token"), []byte("b")},
		{"long", []byte("x-a"), bytes.Repeat([]byte("b"), 1000)},
		{"codes of 30 bits", []byte("x-a"), bytes.Repeat([]byte("\n"), 1000)},
	} {
		for _, changes := range []bool{false, true} {
			compare(t, "encoded field: "+c.name, func(n int) (*meter, int) {
				m := &meter{}
				name, value := bytes.Clone(c.field), bytes.Clone(c.value)
				dst := make([]byte, 0, 2*n)
				total := 0
				m.run("encode", func() {
					var e hpack.Encoder
					for dst = e.Begin(dst); total < n; total += len(name) + len(value) + hpack.EntryOverhead {
						dst = e.AppendField(dst[:0], msg.Unknown, name, value, hpack.Auto)
						if changes && len(name) > 0 {
							name[0]++
							value[0] += 3
						}
					}
				})
				return m, total
			})
		}
	}
}
