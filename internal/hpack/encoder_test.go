package hpack

import (
	"encoding/hex"
	"fmt"
	"strings"
	"testing"

	"github.com/galehttp/gale/internal/msg"
	"github.com/galehttp/gale/tests/harness/gate"
)

// pipe is an encoder, and two decoders of what it makes.
type pipe struct {
	e    Encoder
	d    Decoder
	peer *peerDecoder
	// The peer takes a second size update only if its table is empty then. Once it would
	// have got one, it is left out.
	alone bool
}

// send encodes the fields as a block and checks that both decoders see them.
func (p *pipe) send(t testing.TB, fields ...testField) []byte {
	t.Helper()
	p.alone = p.alone || 0 < p.e.lowest && p.e.lowest < p.e.target
	block := p.e.Begin(nil)
	var want []string
	for _, f := range fields {
		block = p.append(block, f)
		want = append(want, f.name+": "+f.value)
	}
	p.e.table.check(t)
	lines, err := decode(t, &p.d, block)
	if err != nil || !sameLines(lines, want) {
		t.Fatalf("%x: %q, %v; want %q", block, lines, err, want)
	}
	sameTable(t, &p.e.table, &p.d.table)
	if p.peer == nil {
		p.peer = newPeerDecoder()
	}
	if p.alone {
		return block
	}
	if lines, err := p.peer.decode(block); err != nil || !sameLines(lines, want) {
		t.Fatalf("%x: the peer sees %q, %v; want %q", block, lines, err, want)
	}
	return block
}

// append appends a field by one of the ways that there are for it.
func (p *pipe) append(dst []byte, f testField) []byte {
	id, pseudo := identify([]byte(f.name))
	switch {
	case pseudo != NotPseudo && pseudo != OtherPseudo && gate.Rand.IntN(2) == 0:
		return p.e.AppendPseudo(dst, pseudo, []byte(f.value), f.how)
	case id != msg.Unknown && gate.Rand.IntN(2) == 0:
		return p.e.AppendField(dst, id, nil, []byte(f.value), f.how)
	}
	return p.e.AppendField(dst, msg.Unknown, []byte(f.name), []byte(f.value), f.how)
}

// sameLines compares lines, some of which may be marked as never indexed.
func sameLines(got, want []string) bool {
	if len(got) != len(want) {
		return false
	}
	for i := range got {
		if strings.TrimPrefix(got[i], "! ") != want[i] && got[i] != want[i] {
			return false
		}
	}
	return true
}

// How fields are encoded, block after block on one connection.
func TestEncode(t *testing.T) {
	long := strings.Repeat("long secret ", 10)
	for _, c := range []struct {
		name   string
		blocks [][]testField
		want   []string // in hex; a "~" at the end means that more follows
	}{
		{"an entry of the static table", [][]testField{{{":status", "200", Auto}, {":method", "POST", Auto}}}, []string{"8883"}},
		{"all entries with an empty value", [][]testField{{{"server", "", Auto}, {"www-authenticate", "", Auto}}}, []string{"b6bd"}},
		{"a name of the static table", [][]testField{{{"server", "gale", Auto}}, {{"server", "gale", Auto}}}, []string{"768398~", "be"}},
		{"another status", [][]testField{{{":status", "418", Auto}}, {{":status", "418", Auto}}}, []string{"4803343138", "be"}},
		{"a new name", [][]testField{{{"x-a", "1", Auto}}, {{"x-a", "1", Auto}}}, []string{"4003782d610131", "be"}},
		{"no Huffman code where it is not shorter", [][]testField{{{"x-!", "!!", Once}}}, []string{"0003782d21022121"}},
		{"only once", [][]testField{{{"x-a", "1", Once}}, {{"x-a", "1", Auto}}, {{"x-a", "1", Once}}}, []string{"00~", "40~", "be"}},
		{"a value that changes", [][]testField{{{"x-a", "1", Auto}}, {{"x-a", "2", Auto}}, {{"x-a", "3", Auto}}, {{"x-a", "3", Auto}}, {{"x-a", "3", Auto}}},
			[]string{"4003782d610131", "0f2f0132", "0f2f0133", "7e0133", "be"}},
		{"values that come in turn", [][]testField{{{"x-a", "1", Auto}}, {{"x-a", "2", Auto}}, {{"x-a", "1", Auto}}, {{"x-a", "2", Auto}}, {{"x-a", "1", Auto}}},
			[]string{"40~", "0f2f0132", "be", "7e0132", "bf"}},
		{"never by the caller's wish", [][]testField{{{"x-a", "1", Never}}, {{"x-a", "1", Never}}}, []string{"1003782d610131", "1003782d610131"}},
		{"never though it is in the table", [][]testField{{{"x-a", "1", Auto}}, {{"x-a", "1", Never}}}, []string{"40~", "1003782d610131"}},
		{"authorization", [][]testField{{{"authorization", long, Auto}}}, []string{"1f08~"}},
		{"proxy-authorization", [][]testField{{{"proxy-authorization", long, Auto}}}, []string{"1f22~"}},
		{"cookie", [][]testField{{{"cookie", long, Auto}}}, []string{"1f11~"}},
		{"set-cookie", [][]testField{{{"set-cookie", long, Auto}}, {{"set-cookie", "", Auto}}}, []string{"1f28~", "1f2800"}},
		{"a short token", [][]testField{{{"x-csrf-token", "1234", Auto}}}, []string{"10~"}},
		{"a long token", [][]testField{{{"x-csrf-token", long, Auto}}, {{"x-csrf-token", long, Auto}}}, []string{"40~", "be"}},
		{"a length", [][]testField{{{"content-length", "13", Auto}}, {{"content-length", "13", Auto}}}, []string{"0f0d023133", "0f0d023133"}},
		{"a path", [][]testField{{{":path", "/a", Auto}}, {{":path", "/", Auto}}}, []string{"04022f61", "84"}},
		{"a field of half the table", [][]testField{{{"x-a", strings.Repeat("~", 3000), Auto}}}, []string{"00~"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			var p pipe
			for i, fields := range c.blocks {
				got := hex.EncodeToString(p.send(t, fields...))
				want, part := strings.CutSuffix(c.want[i], "~")
				if got != want && !(part && strings.HasPrefix(got, want)) {
					t.Errorf("block %d is %s, want %s", i, got, c.want[i])
				}
			}
		})
	}
}

// The least size since the last block comes first, then the present one.
func TestEncodeSizeUpdates(t *testing.T) {
	for _, c := range []struct {
		name  string
		sizes []int
		want  string
	}{
		{"none", nil, "82"},
		{"the same", []int{4096}, "82"},
		{"more than we use", []int{65536}, "82"},
		{"less", []int{100}, "3f4582"},
		{"nothing", []int{0}, "2082"},
		{"less and less", []int{100, 50}, "3f1382"},
		{"less, then a part of it back", []int{0, 100}, "203f4582"},
		{"less, then as before", []int{0, 4096}, "203fe11f82"},
		{"less, then more than we use", []int{100, 1 << 30}, "3f453fe11f82"},
		{"up and down", []int{100, 200, 50, 150}, "3f133f7782"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var p pipe
			p.send(t, testField{"x-a", "1", Auto})
			was := p.e.Generation()
			for _, n := range c.sizes {
				p.e.SetMaxTableSize(n)
				p.d.SetMaxTableSize(n)
			}
			get := testField{":method", "GET", Auto}
			if got := hex.EncodeToString(p.send(t, get)); got != c.want {
				t.Errorf("%s, want %s", got, c.want)
			}
			if (p.e.Generation() == was) != (c.want == "82") {
				t.Error("Generation does not tell it")
			}
			if got := hex.EncodeToString(p.send(t, get)); got != "82" {
				t.Errorf("then %s", got)
			}
			p.send(t, testField{"x-a", "1", Auto}, testField{"x-b", "2", Auto})
		})
	}
}

// A block that changed nothing can be sent again for as long as nothing changes.
func TestGeneration(t *testing.T) {
	var p pipe
	head := []testField{{":status", "200", Auto}, {"server", "gale", Auto}, {"content-length", "5", Auto}}
	before := p.e.Generation()
	p.send(t, head...)
	if p.e.Generation() == before {
		t.Error("a new entry is no change")
	}
	before = p.e.Generation()
	block := p.send(t, head...)
	p.send(t, testField{"x-a", "1", Once}, testField{"cookie", "a", Auto})
	if p.e.Generation() != before {
		t.Error("there was no change")
	}
	if lines, err := decode(t, &p.d, block); err != nil || len(lines) != 3 || lines[1] != "server: gale" {
		t.Error(lines, err)
	}
}

// Whatever is encoded is decoded again, by the peer as well, and the tables agree.
func TestEncodeRandom(t *testing.T) {
	for range 60 {
		var p pipe
		for range 60 {
			if gate.Rand.IntN(10) == 0 {
				n := gate.Rand.IntN(2 * DefaultTableSize)
				p.e.SetMaxTableSize(n)
				p.d.SetMaxTableSize(n)
			}
			fields := make([]testField, gate.Rand.IntN(20))
			for i := range fields {
				fields[i] = randomField()
			}
			p.send(t, fields...)
			if memory := p.e.table.memory(); memory > 2*DefaultTableSize {
				t.Fatalf("%d bytes", memory)
			}
		}
	}
}

// The fields of ordinary responses stay in the table though others change each time.
func TestEncodeSteady(t *testing.T) {
	var p pipe
	for i := range 1000 {
		block := p.send(t,
			testField{":status", "200", Auto},
			testField{"server", "gale", Auto},
			testField{"date", fmt.Sprintf("Mon, 21 Oct 2013 20:13:%02d GMT", i/100), Auto},
			testField{"content-type", "text/plain; charset=utf-8", Auto},
			testField{"x-request-number", fmt.Sprint(i), Auto},
		)
		if i%100 > 1 && len(block) > 12 {
			t.Fatalf("response %d: %x", i, block)
		}
	}
	if p.e.table.count > 20 {
		t.Errorf("%d entries", p.e.table.count)
	}
}

// Names whose hashes meet only cost compression.
func TestEncodeManyNames(t *testing.T) {
	var p pipe
	for range 3 {
		for i := range 300 {
			p.send(t, testField{fmt.Sprint("x-", i), "v", Auto}, testField{fmt.Sprint("x-", i/2), fmt.Sprint(i % 7), Auto})
		}
	}
	// As many as a site has are all found.
	p = pipe{}
	fields := make([]testField, 20)
	for i := range fields {
		fields[i] = testField{fmt.Sprint("x-field-", i), fmt.Sprint("value", i), Auto}
	}
	p.send(t, fields...)
	if n := len(p.send(t, fields...)); n > 20+3*15 {
		t.Errorf("%d bytes for 20 entries", n)
	}
}

// FuzzEncode makes fields of the input and sends them.
func FuzzEncode(f *testing.F) {
	f.Add([]byte("server\x00gale\x00server\x00gale\x00"), uint16(4096), uint16(100))
	f.Add([]byte(":status\x00200\x00cookie\x00a=b\x00x\x00y\x00x\x00z\x00x\x00z"), uint16(0), uint16(4096))
	f.Fuzz(func(t *testing.T, in []byte, a, b uint16) {
		var p pipe
		words := strings.Split(string(in), "\x00")
		var fields []testField
		for i := 0; i+1 < len(words); i += 2 {
			fields = append(fields, testField{words[i], words[i+1], Indexing((len(words[i]) + len(words[i+1])) % 7 / 5)})
		}
		p.send(t, fields...)
		for _, n := range []uint16{a, b, a} {
			p.e.SetMaxTableSize(int(n))
			p.d.SetMaxTableSize(int(n))
			p.send(t, fields...)
		}
		p.send(t, fields...)
	})
}
