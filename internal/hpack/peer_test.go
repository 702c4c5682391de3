package hpack

import (
	"strings"
	"testing"

	"github.com/galehttp/gale/internal/msg"
	"github.com/galehttp/gale/tests/harness/gate"
	peer "golang.org/x/net/http2/hpack"
)

// peerDecoder is the other implementation, as a black box.
type peerDecoder struct {
	d     *peer.Decoder
	lines []string
}

func newPeerDecoder() *peerDecoder {
	p := &peerDecoder{}
	p.d = peer.NewDecoder(DefaultTableSize, func(f peer.HeaderField) {
		s := f.Name + ": " + f.Value
		if f.Sensitive {
			s = "! " + s
		}
		p.lines = append(p.lines, s)
	})
	return p
}

func (p *peerDecoder) decode(block []byte) ([]string, error) {
	p.lines = nil
	if _, err := p.d.Write(block); err != nil {
		return p.lines, err
	}
	return p.lines, p.d.Close()
}

// What the peer encodes is decoded to the same.
func TestDecodePeers(t *testing.T) {
	for range 100 {
		var d Decoder
		var block strings.Builder
		e := peer.NewEncoder(&block)
		for range 30 {
			block.Reset()
			var want []string
			if gate.Rand.IntN(10) == 0 {
				e.SetMaxDynamicTableSize(uint32(gate.Rand.IntN(DefaultTableSize + 1)))
			}
			for range gate.Rand.IntN(20) {
				f := randomField()
				if err := e.WriteField(peer.HeaderField{Name: f.name, Value: f.value, Sensitive: f.how == Never}); err != nil {
					t.Fatal(err)
				}
				s := f.name + ": " + f.value
				if f.how == Never {
					s = "! " + s
				}
				want = append(want, s)
			}
			got, err := decode(t, &d, []byte(block.String()))
			if err != nil || strings.Join(got, "\n") != strings.Join(want, "\n") {
				t.Fatalf("%x: %q, %v; want %q", block.String(), got, err, want)
			}
		}
	}
}

type testField struct {
	name, value string
	how         Indexing
}

// randomField returns a field such as comes again, or one that never did.
func randomField() testField {
	var f testField
	f.how = Indexing(max(0, gate.Rand.IntN(8)-5))
	switch gate.Rand.IntN(4) {
	case 0:
		s := &static[1+gate.Rand.IntN(numStatic)]
		f.name, f.value = s.name(), s.value()
		if gate.Rand.IntN(2) == 0 {
			f.value = string(randomText(20))
		}
	case 1:
		f.name = string(lowerNames[1+gate.Rand.IntN(msg.NumIDs-1)])
		f.value = strings.Repeat("v", gate.Rand.IntN(5))
	case 2:
		f.name = "x-" + strings.Repeat("n", gate.Rand.IntN(9))
		f.value = strings.Repeat("v", 1<<gate.Rand.IntN(12))
	default:
		f.name, f.value = string(randomText(20)), string(randomText(200))
	}
	return f
}

// FuzzDecode decodes three blocks of one connection, which are the input cut at two
// places, and compares with the peer.
func FuzzDecode(f *testing.F) {
	for _, s := range []string{
		"82", "203fe11f82", "828684be5886a8eb10649cbf", "0003782d6184ffffffff", "7f8080808000",
		"400a637573746f6d2d6b65790d637573746f6d2d686561646572be", "3f454003782d6103616263be20",
		"100870617373776f726406736563726574", "ff83ffffff0f",
		"4803333032580770726976617465611d4d6f6e2c203231204f637420323031332032303a31333a323120474d546e1768747470733a2f2f7777772e6578616d706c652e636f6d4803333037c1c0bf",
	} {
		f.Add(unhex(f, s), uint8(len(s)/5), uint8(len(s)/3))
	}
	f.Fuzz(func(t *testing.T, in []byte, a, b uint8) {
		if len(in) > 2000 {
			return
		}
		i, j := int(a)%(len(in)+1), int(b)%(len(in)+1)
		i, j = min(i, j), max(i, j)
		var d, skipping Decoder
		p := newPeerDecoder()
		for _, block := range [][]byte{in[:i], in[i:j], in[j:]} {
			checkTruncated(t, &d, block)
			lines, err := decode(t, &d, block)
			want, peerErr := p.decode(block)
			if skipErr := skip(&skipping, block); skipErr != err {
				t.Fatalf("%x: Skip says %v, Next %v", block, skipErr, err)
			}
			sameTable(t, &d.table, &skipping.table)
			if memory := d.table.memory(); memory > 2*DefaultTableSize {
				t.Fatalf("%d bytes", memory)
			}
			if err != nil {
				// We allow fewer bytes for an integer and fewer updates.
				if peerErr == nil && err != ErrInteger && err != ErrSizeUpdate {
					t.Fatalf("%x: %v, the peer takes it", block, err)
				}
				return
			}
			if peerErr != nil && strings.Contains(peerErr.Error(), "size update") && block[0]&0xe0 == 0x20 {
				return // it takes a second update only if its table is empty then
			}
			if peerErr != nil {
				t.Fatalf("%x: the peer says %v", block, peerErr)
			}
			if strings.Join(lines, "\n") != strings.Join(want, "\n") {
				t.Fatalf("%x: %q, want %q", block, lines, want)
			}
		}
	})
}

// checkTruncated decodes each start of a block by a decoder of the same state: nothing but
// fields of the whole, then an error or the end.
func checkTruncated(t *testing.T, d *Decoder, block []byte) {
	if len(block) > 50 {
		return
	}
	whole := copyDecoder(d)
	lines, _ := decode(t, whole, block)
	for n := range block {
		part := copyDecoder(d)
		got, _ := decode(t, part, block[:n:n])
		if len(got) > len(lines) || strings.Join(got, "\n") != strings.Join(lines[:len(got)], "\n") {
			t.Fatalf("%x: %q, want a part of %q", block[:n], got, lines)
		}
	}
}

// copyDecoder returns a decoder of the same state.
func copyDecoder(d *Decoder) *Decoder {
	c := *d
	c.last = nil
	c.table.buf = append([]byte(nil), d.table.buf...)
	c.table.recs = append([]entry(nil), d.table.recs...)
	return &c
}
