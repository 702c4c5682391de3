package hpack

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/galehttp/gale/internal/msg"
)

// line is a field as the tests write it: "name: value", with "! " before it if it is
// never indexed.
func line(arena []byte, f *Field) string {
	s := fmt.Sprintf("%s: %s", arena[f.NameOff:][:f.NameLen], arena[f.ValOff:][:f.ValLen])
	if f.Never {
		s = "! " + s
	}
	return s
}

// decode decodes a block and checks what f says of each field. The lines before an error
// are returned with it.
func decode(t testing.TB, d *Decoder, block []byte) (lines []string, err error) {
	t.Helper()
	if err = d.Begin(block); err != nil {
		return nil, err
	}
	arena := []byte("before")
	for d.More() {
		var f Field
		was := len(arena)
		if arena, err = d.Next(arena, &f); err != nil {
			if len(arena) != was || d.More() {
				t.Fatalf("after an error the arena is %d bytes, was %d", len(arena), was)
			}
			break
		}
		if int(f.NameOff) != was || f.ValOff != f.NameOff+f.NameLen || int(f.ValOff+f.ValLen) != len(arena) {
			t.Fatalf("%+v does not describe %d to %d", f, was, len(arena))
		}
		id, pseudo := identify(arena[f.NameOff:][:f.NameLen])
		if f.ID != id || f.Pseudo != pseudo {
			t.Fatalf("%s: %v, %v", line(arena, &f), f.ID, f.Pseudo)
		}
		if f.Static > 0 && static[f.Static].text != string(arena[was:]) {
			t.Fatalf("%s: not entry %d", line(arena, &f), f.Static)
		}
		lines = append(lines, line(arena, &f))
	}
	if d.rest != nil {
		t.Fatal("the decoder keeps the block")
	}
	d.table.check(t)
	return lines, err
}

// The examples of RFC 7541 appendix C: blocks of one connection each.
func TestDecodeExamples(t *testing.T) {
	for _, c := range []struct {
		name   string
		size   int // of the table, if not the default
		blocks []string
		want   []string // the lines of each block, joined by "|"
		sizes  []int    // of the table's content after each
	}{
		{
			name:   "a literal that enters the table (C.2.1)",
			blocks: []string{"400a637573746f6d2d6b65790d637573746f6d2d686561646572"},
			want:   []string{"custom-key: custom-header"},
			sizes:  []int{55},
		},
		{
			name:   "a literal that does not (C.2.2)",
			blocks: []string{"040c2f73616d706c652f70617468"},
			want:   []string{":path: /sample/path"},
			sizes:  []int{0},
		},
		{
			name:   "one that never may (C.2.3)",
			blocks: []string{"100870617373776f726406736563726574"},
			want:   []string{"! password: secret"},
			sizes:  []int{0},
		},
		{
			name:   "an index (C.2.4)",
			blocks: []string{"82"},
			want:   []string{":method: GET"},
			sizes:  []int{0},
		},
		{
			name: "requests without Huffman code (C.3)",
			blocks: []string{
				"828684410f7777772e6578616d706c652e636f6d",
				"828684be58086e6f2d6361636865",
				"828785bf400a637573746f6d2d6b65790c637573746f6d2d76616c7565",
			},
			want:  requestExamples,
			sizes: []int{57, 110, 164},
		},
		{
			name: "requests with it (C.4)",
			blocks: []string{
				"828684418cf1e3c2e5f23a6ba0ab90f4ff",
				"828684be5886a8eb10649cbf",
				"828785bf408825a849e95ba97d7f8925a849e95bb8e8b4bf",
			},
			want:  requestExamples,
			sizes: []int{57, 110, 164},
		},
		{
			name: "responses with evictions, without Huffman code (C.5)",
			size: 256,
			blocks: []string{
				"4803333032580770726976617465611d4d6f6e2c203231204f637420323031332032303a31333a323120474d546e1768747470733a2f2f7777772e6578616d706c652e636f6d",
				"4803333037c1c0bf",
				"88c1611d4d6f6e2c203231204f637420323031332032303a31333a323220474d54c05a04677a69707738666f6f3d4153444a4b48514b425a584f5157454f50495541585157454f49553b206d61782d6167653d333630303b2076657273696f6e3d31",
			},
			want:  responseExamples,
			sizes: []int{222, 222, 215},
		},
		{
			name: "responses with both (C.6)",
			size: 256,
			blocks: []string{
				"488264025885aec3771a4b6196d07abe941054d444a8200595040b8166e082a62d1bff6e919d29ad171863c78f0b97c8e9ae82ae43d3",
				"4883640effc1c0bf",
				"88c16196d07abe941054d444a8200595040b8166e084a62d1bffc05a839bd9ab77ad94e7821dd7f2e6c7b335dfdfcd5b3960d5af27087f3672c1ab270fb5291f9587316065c003ed4ee5b1063d5007",
			},
			want:  responseExamples,
			sizes: []int{222, 222, 215},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			var d, skipping Decoder
			for i, block := range c.blocks {
				b := unhex(t, block)
				if i == 0 && c.size > 0 {
					b = append(appendInteger(nil, 0x20, 0x1f, uint32(c.size)), b...)
				}
				lines, err := decode(t, &d, b)
				if got := strings.Join(lines, "|"); got != c.want[i] || err != nil {
					t.Errorf("block %d: %s, %v; want %s", i, got, err, c.want[i])
				}
				if d.table.size != c.sizes[i] {
					t.Errorf("block %d: the table has %d, want %d", i, d.table.size, c.sizes[i])
				}
				if err := skipping.Begin(b); err != nil {
					t.Fatal(err)
				}
				if _, err := skipping.Skip(nil); err != nil {
					t.Fatal(err)
				}
				sameTable(t, &d.table, &skipping.table)
			}
		})
	}
}

var requestExamples = []string{
	":method: GET|:scheme: http|:path: /|:authority: www.example.com",
	":method: GET|:scheme: http|:path: /|:authority: www.example.com|cache-control: no-cache",
	":method: GET|:scheme: https|:path: /index.html|:authority: www.example.com|custom-key: custom-value",
}

var responseExamples = []string{
	":status: 302|cache-control: private|date: Mon, 21 Oct 2013 20:13:21 GMT|location: https://www.example.com",
	":status: 307|cache-control: private|date: Mon, 21 Oct 2013 20:13:21 GMT|location: https://www.example.com",
	":status: 200|cache-control: private|date: Mon, 21 Oct 2013 20:13:22 GMT|location: https://www.example.com|content-encoding: gzip|" +
		"set-cookie: foo=ASDJKHQKBZXOQWEOPIUAXQWEOIU; max-age=3600; version=1",
}

// sameTable compares the contents of two tables.
func sameTable(t testing.TB, a, b *table) {
	t.Helper()
	var m modelTable
	m.max = a.max
	for i := a.first + a.count; i != a.first; i-- {
		e := a.at(i - 1)
		text := a.appendText(nil, e)
		m.entries = append(m.entries, [2]string{string(text[:e.nameLen]), string(text[e.nameLen:])})
	}
	if a.max != b.max {
		t.Fatalf("sizes %d and %d", a.max, b.max)
	}
	m.equal(t, b)
	for i := range a.count {
		x, y := a.at(a.first+i), b.at(b.first+i)
		if x.id != y.id || x.pseudo != y.pseudo {
			t.Fatalf("entry %d is %v, %v and %v, %v", i, x.id, x.pseudo, y.id, y.pseudo)
		}
	}
}

func TestDecodeErrors(t *testing.T) {
	for _, c := range []struct {
		name, in string
		err      error
	}{
		{"index 0", "80", ErrIndex},
		{"an index beyond the tables", "be", ErrIndex},
		{"a large one", "ff80ffff7f", ErrIndex},
		{"one beyond 32 bits", "ff83ffffff0f", ErrInteger},
		{"a name's index beyond the tables", "7f070161", ErrIndex},
		{"the same without indexing", "0f2f0161", ErrIndex},
		{"the same never indexed", "1f2f0161", ErrIndex},
		{"an entry that was not indexed", "0001610162 be", ErrIndex},
		{"a literal of one byte", "40", ErrTruncated},
		{"a name that ends early", "000a6162", ErrTruncated},
		{"a value that ends early", "0001610561", ErrTruncated},
		{"no value", "000161", ErrTruncated},
		{"a value of 16 MB", "0001617f8180fc07616263", ErrTruncated},
		{"a length beyond 64 bits", "0001617fffffffffffffffffff7f61", ErrInteger},
		{"a name in bad code", "0081ff0161", ErrHuffman},
		{"a value in bad code", "00016181ff", ErrHuffman},
		{"the same with indexing", "40016181ff", ErrHuffman},
		{"an update after a field", "8220", ErrSizeUpdate},
		{"an update at the end", "824001610162 20", ErrSizeUpdate},
		{"a third update", "202020", ErrSizeUpdate},
		{"an update above the limit", "3fe21f", ErrSizeUpdate},
		{"a second one above the limit", "203fe21f", ErrSizeUpdate},
		{"a large update", "3fffffff7f", ErrSizeUpdate},
		{"half an update", "3f", ErrTruncated},
	} {
		t.Run(c.name, func(t *testing.T) {
			var d, skipping Decoder
			_, err := decode(t, &d, unhex(t, c.in))
			if err != c.err {
				t.Errorf("%v, want %v", err, c.err)
			}
			if err := skip(&skipping, unhex(t, c.in)); err != c.err {
				t.Errorf("Skip: %v, want %v", err, c.err)
			}
			var f Field
			if _, err := d.Next(nil, &f); err == nil {
				t.Error("Next goes on after an error")
			}
			if err := d.Begin([]byte{0x82}); err != c.err || d.More() {
				t.Errorf("another block after an error: %v", err)
			}
			d.Reset()
			if _, err := decode(t, &d, []byte{0x82}); err != nil {
				t.Errorf("after Reset: %v", err)
			}
		})
	}
}

func skip(d *Decoder, block []byte) error {
	if err := d.Begin(block); err != nil {
		return err
	}
	_, err := d.Skip(nil)
	return err
}

// An empty block has no fields; the end of a block is not asked for another one.
func TestNextAtTheEnd(t *testing.T) {
	var d Decoder
	if err := d.Begin(nil); err != nil || d.More() {
		t.Fatal("an empty block", err)
	}
	var f Field
	if _, err := d.Next(nil, &f); err != ErrTruncated {
		t.Fatal(err)
	}
}

// A block that ends anywhere but between two fields is an error.
func TestDecodeTruncated(t *testing.T) {
	full := unhex(t, "203fe11f 82 48826402 5885aec3771a4b 400a637573746f6d2d6b65790d637573746f6d2d686561646572 be 100870617373776f726406736563726574 0f1f022020 7f00 86a8eb10649cbf 1f00 03616263")
	var d Decoder
	if _, err := decode(t, &d, full); err != nil {
		t.Fatal(err)
	}
	ends := map[int]bool{}
	d.Reset()
	if err := d.Begin(full); err != nil {
		t.Fatal(err)
	}
	ends[0], ends[1] = true, true
	var arena []byte
	for d.More() {
		ends[len(full)-len(d.rest)] = true
		arena, _ = d.Next(arena, new(Field))
	}
	for n := range full {
		d.Reset()
		_, err := decode(t, &d, bytes.Clone(full[:n]))
		if (err == nil) != ends[n] || err != nil && err != ErrTruncated {
			t.Errorf("%x: %v", full[:n], err)
		}
	}
}

func TestDecodeSizeUpdates(t *testing.T) {
	for _, c := range []struct {
		name  string
		steps []any // a limit of ours, or a block
		err   error // of the last block
	}{
		{"none is needed", []any{"82"}, nil},
		{"down", []any{"20 82"}, nil},
		{"down and up", []any{"20 3fe11f 82"}, nil},
		{"up and down", []any{"3fe11f 20 82"}, nil},
		{"updates only", []any{"20 3fe11f"}, nil},
		{"we allow more", []any{8192, "82"}, nil},
		{"we allow more and it is used", []any{8192, "3fe13f 82"}, nil},
		{"we allow more, and that is passed", []any{8192, "3fe23f 82"}, ErrSizeUpdate},
		{"we allow less", []any{100, "3f45 82"}, nil},
		{"the peer takes even less", []any{100, "20 82"}, nil},
		{"the peer forgets", []any{100, "82"}, ErrNoUpdate},
		{"the peer forgets, in an empty block", []any{100, ""}, ErrNoUpdate},
		{"the peer takes too much", []any{100, "3f46 82"}, ErrSizeUpdate},
		{"the peer did it before", []any{"3f45 82", 100, "82"}, nil},
		{"less, then as before", []any{0, 4096, "20 3fe11f 82"}, nil},
		{"less, then as before, and only the least", []any{0, 4096, "20 82"}, nil},
		{"less, then as before, and only the last", []any{0, 4096, "3fe11f 82"}, ErrNoUpdate},
		{"less, then as before, and nothing", []any{0, 4096, "82"}, ErrNoUpdate},
		{"it is done once", []any{0, "20 82", "82"}, nil},
		{"and again", []any{100, "3f45 82", 50, "82"}, ErrNoUpdate},
	} {
		t.Run(c.name, func(t *testing.T) {
			var d Decoder
			for i, step := range c.steps {
				switch step := step.(type) {
				case int:
					d.SetMaxTableSize(step)
				case string:
					_, err := decode(t, &d, unhex(t, step))
					if i < len(c.steps)-1 && err != nil {
						t.Fatal(err)
					}
					if i == len(c.steps)-1 && err != c.err {
						t.Errorf("%v, want %v", err, c.err)
					}
				}
			}
		})
	}
}

// An entry takes its name from one that it evicts (RFC 7541 section 4.4).
func TestNameOfEvicted(t *testing.T) {
	var d Decoder
	name := strings.Repeat("n", 40)
	block := append(unhex(t, "3f45 40 28"), name...) // the table has 100 bytes
	block = append(block, "\x01a\x7e\x01b"...)
	lines, err := decode(t, &d, block)
	if err != nil || len(lines) != 2 || lines[1] != name+": b" {
		t.Fatal(lines, err)
	}
	if d.table.count != 1 {
		t.Fatal("both are in the table")
	}
	if lines, err := decode(t, &d, []byte{0xbe}); err != nil || lines[0] != name+": b" {
		t.Fatal(lines, err)
	}
}

// Marks stay with entries and only with them.
func TestMarks(t *testing.T) {
	var d Decoder
	var f Field
	next := func() uint8 {
		t.Helper()
		if _, err := d.Next(nil, &f); err != nil {
			t.Fatal(err)
		}
		return f.Mark
	}
	// Two that enter the table, one that does not, and one of the static table.
	if err := d.Begin(unhex(t, "4001610162 4001630164 0001650166 82")); err != nil {
		t.Fatal(err)
	}
	for i := range uint8(4) {
		if next() != 0 {
			t.Error("a new field has a mark")
		}
		d.SetMark(i + 1)
	}
	// The second, the first, one with the first's name, both again.
	if err := d.Begin(unhex(t, "be bf 7f000163 82 bf c0")); err != nil {
		t.Fatal(err)
	}
	for i, want := range []uint8{2, 1, 0, 0, 2, 1} {
		if got := next(); got != want {
			t.Errorf("field %d has the mark %d, want %d", i, got, want)
		}
	}
	if f.ID != msg.Unknown {
		t.Error(f.ID)
	}
	d.SetMark(9)
	if err := d.Begin(unhex(t, "c0")); err != nil || next() != 9 {
		t.Error("a mark can't be changed")
	}
	d.Reset()
	d.SetMark(7)
	if err := d.Begin(unhex(t, "4001610162")); err != nil || next() != 0 {
		t.Error("a mark survives Reset")
	}
}
