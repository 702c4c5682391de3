package wsframe

import (
	"bytes"
	stdflate "compress/flate"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"testing"
)

// jsonText returns n bytes of JSON whose records are alike.
func jsonText(seed uint64, n int) []byte {
	r := rand.New(rand.NewPCG(seed, 1))
	var b []byte
	for len(b) < n {
		b = fmt.Appendf(b, `{"id":%d,"name":"user%d","ok":true,"price":%d.%d},`, r.IntN(100000), r.IntN(100), r.IntN(1000), r.IntN(100))
	}
	return b[:n]
}

// noise returns n random bytes of an alphabet of some letters, so that matches are at all
// distances.
func noise(seed uint64, n, letters int) []byte {
	r := rand.New(rand.NewPCG(seed, 2))
	b := make([]byte, n)
	for i := range b {
		b[i] = 'a' + byte(r.IntN(letters))
	}
	return b
}

// deflateMessages are messages of all sizes that matter: below and above the windows, and
// those that are stored.
func deflateMessages() [][]byte {
	var all [][]byte
	for i, n := range []int{1, 100, 127, 128, 200, 255, 256, 257, 300, 513, 1500, 0, 5000, 3, 9000, 60} {
		all = append(all, jsonText(uint64(i%3), n), noise(uint64(i), n, 4))
	}
	return append(all, noise(7, 40000, 4), jsonText(5, 1000), noise(8, 50, 26), jsonText(6, 2000), bytes.Repeat([]byte{'x'}, 100000))
}

// TestDeflateWindows proves that no message needs more than the negotiated window: a
// decoder of the test that knows exactly the window's bytes inflates them.
func TestDeflateWindows(t *testing.T) {
	msgs := deflateMessages()
	for bits := minBits; bits <= maxBits; bits++ {
		for _, takeover := range []bool{false, true} {
			for _, level := range []int{1, 6} {
				d := Deflate{On: true, ServerNoTakeover: !takeover, ClientNoTakeover: true, ServerBits: uint8(bits), ClientBits: 15}
				def := NewDeflater(d, false, level)
				inf := NewInflater(d, true)
				var history []byte
				var buf []byte
				for n, msg := range msgs {
					z := def.Append([]byte("before"), msg)
					if string(z[:6]) != "before" {
						t.Fatal("the start of dst changed")
					}
					z = z[6:]
					if !takeover {
						history = nil
					}
					var err error
					history, err = inflateStrict(history, z, 1<<bits)
					if err != nil || !bytes.HasSuffix(history, msg) {
						t.Fatalf("bits %d, takeover %v, level %d, message %d of %d bytes: %v", bits, takeover, level, n, len(msg), err)
					}
					buf, err = inf.Append(buf[:0], z, int64(max(len(msg), 1)))
					if err != nil || !bytes.Equal(buf, msg) {
						t.Fatalf("bits %d, takeover %v, level %d, message %d of %d bytes: Inflater: %v", bits, takeover, level, n, len(msg), err)
					}
				}
				def.Free()
				inf.Free()
			}
		}
	}
}

// TestWorth proves that text that isn't worth it doesn't become shorter, and that with
// takeover a short message does.
func TestWorth(t *testing.T) {
	z := NewDeflater(Deflate{ServerNoTakeover: true}, false, 1)
	for n := range 200 {
		got := len(z.Append(nil, jsonText(1, n)))
		if n > 0 && n < minText && got < n || n > 127 && got > n || z.Worth(n) != (n >= minText) {
			t.Errorf("%d bytes become %d", n, got)
		}
	}
	z = NewDeflater(Deflate{}, false, 1)
	msg := jsonText(1, 40)
	z.Append(nil, msg)
	if got := len(z.Append(nil, msg)); got >= len(msg)/2 || !z.Worth(len(msg)) || z.Worth(0) {
		t.Errorf("with takeover %d bytes become %d", len(msg), got)
	}
}

// inflateStrict inflates a message, appends the result to history and fails if a distance
// exceeds window.
func inflateStrict(history, z []byte, window int) ([]byte, error) {
	in := bitReader{b: append(bytes.Clone(z), "\x00\x00\xff\xff"...)}
	start := len(history)
	for {
		final, kind := in.bits(1), in.bits(2)
		var lit, dist huffman
		switch kind {
		case 0:
			in.n = (in.n + 7) &^ 7
			n, inverse := in.bits(16), in.bits(16)
			if n != inverse^0xffff {
				return history, errors.New("stored block: wrong length")
			}
			for range n {
				history = append(history, byte(in.bits(8)))
			}
		case 1:
			lit, dist = fixedCodes()
		case 2:
			lit, dist = in.codes()
		default:
			return history, errors.New("kind of block")
		}
		for kind != 0 {
			s := lit.read(&in)
			if in.over || s < 0 {
				return history, errors.New("broken")
			}
			if s < 256 {
				history = append(history, byte(s))
				continue
			}
			if s == 256 {
				break
			}
			length := lengthBase[s-257] + in.bits(lengthExtra[s-257])
			c := dist.read(&in)
			if c < 0 {
				return history, errors.New("broken distance")
			}
			d := distBase[c] + in.bits(distExtra[c])
			if d > window || d > len(history) {
				return history, fmt.Errorf("distance %d at %d of the message", d, len(history)-start)
			}
			for range length {
				history = append(history, history[len(history)-d])
			}
		}
		if in.over {
			return history, errors.New("short")
		}
		if in.n == 8*len(in.b) || final == 1 {
			return history, nil
		}
	}
}

type bitReader struct {
	b    []byte
	n    int
	over bool
}

func (r *bitReader) bits(k int) (v int) {
	for i := range k {
		if r.n >= 8*len(r.b) {
			r.over = true
			return v
		}
		v |= int(r.b[r.n/8]>>(r.n%8)&1) << i
		r.n++
	}
	return v
}

// huffman maps codes, with a leading 1, to symbols.
type huffman map[int]int

func (h huffman) read(r *bitReader) int {
	for code := 1; code < 1<<16 && !r.over; {
		code = code<<1 | r.bits(1)
		if s, ok := h[code]; ok {
			return s
		}
	}
	return -1
}

func newHuffman(lengths []int) huffman {
	h := huffman{}
	code := 0
	for n := 1; n < 16; n++ {
		for s, l := range lengths {
			if l == n {
				h[1<<n|code] = s
				code++
			}
		}
		code <<= 1
	}
	return h
}

func fixedCodes() (lit, dist huffman) {
	l := make([]int, 288)
	for i := range l {
		switch {
		case i < 144, i > 279:
			l[i] = 8
		case i < 256:
			l[i] = 9
		default:
			l[i] = 7
		}
	}
	d := make([]int, 30)
	for i := range d {
		d[i] = 5
	}
	return newHuffman(l), newHuffman(d)
}

func (r *bitReader) codes() (lit, dist huffman) {
	numLit, numDist, num := r.bits(5)+257, r.bits(5)+1, r.bits(4)+4
	l := make([]int, 19)
	for _, i := range []int{16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15}[:num] {
		l[i] = r.bits(3)
	}
	h := newHuffman(l)
	var all []int
	for len(all) < numLit+numDist && !r.over {
		switch s := h.read(r); s {
		case 16:
			last := all[len(all)-1]
			for range 3 + r.bits(2) {
				all = append(all, last)
			}
		case 17:
			all = append(all, make([]int, 3+r.bits(3))...)
		case 18:
			all = append(all, make([]int, 11+r.bits(7))...)
		default:
			all = append(all, s)
		}
	}
	return newHuffman(all[:numLit]), newHuffman(all[numLit:])
}

var (
	lengthBase  = []int{3, 4, 5, 6, 7, 8, 9, 10, 11, 13, 15, 17, 19, 23, 27, 31, 35, 43, 51, 59, 67, 83, 99, 115, 131, 163, 195, 227, 258}
	lengthExtra = []int{0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3, 4, 4, 4, 4, 5, 5, 5, 5, 0}
	distBase    = []int{1, 2, 3, 4, 5, 7, 9, 13, 17, 25, 33, 49, 65, 97, 129, 193, 257, 385, 513, 769, 1025, 1537, 2049, 3073, 4097, 6145, 8193, 12289, 16385, 24577}
	distExtra   = []int{0, 0, 0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6, 7, 7, 8, 8, 9, 9, 10, 10, 11, 11, 12, 12, 13, 13}
)

// TestInflateForms has the examples of RFC 7692 section 7.2.3, and other forms that a peer
// may choose.
func TestInflateForms(t *testing.T) {
	hello := "\xf2\x48\xcd\xc9\xc9\x07\x00"
	std := func(level int, parts ...string) string {
		var b bytes.Buffer
		w, _ := stdflate.NewWriter(&b, level)
		for _, p := range parts {
			_, _ = io.WriteString(w, p)
			_ = w.Flush()
		}
		return strings.TrimSuffix(b.String(), "\x00\x00\xff\xff")
	}
	final := func(s string) string {
		var b bytes.Buffer
		w, _ := stdflate.NewWriter(&b, 6)
		_, _ = io.WriteString(w, s)
		_ = w.Close()
		return b.String()
	}
	long := string(jsonText(1, 100000))
	tests := []struct {
		name, in, want string
		limit          int64
		err            error
	}{
		{"one block (7.2.3.1)", hello, "Hello", 0, nil},
		{"no compression (7.2.3.3)", "\x00\x05\x00\xfa\xff\x48\x65\x6c\x6c\x6f\x00", "Hello", 0, nil},
		{"final block (7.2.3.4)", "\xf3\x48\xcd\xc9\xc9\x07\x00\x00", "Hello", 0, nil},
		{"two blocks (7.2.3.5)", "\xf2\x48\x05\x00\x00\x00\xff\xff\xca\xc9\xc9\x07\x00", "Hello", 0, nil},
		{"empty (7.2.3.6)", "\x00", "", 0, nil},
		{"final block without the empty one", "\xf3\x48\xcd\xc9\xc9\x07\x00", "Hello", 0, nil},
		{"two final blocks", final("Hel") + final("lo") + "\x00", "Hello", 0, nil},
		{"a final block, then others", final("Hel") + hello, "HelHello", 0, nil},
		{"ten final blocks", strings.Repeat(final("ab"), 10) + "\x00", strings.Repeat("ab", 10), 0, nil},
		{"many parts", std(6, "He", "l", "", "lo"), "Hello", 0, nil},
		{"long", std(9, long, long[:3000]), long + long[:3000], 0, nil},
		{"long, stored", std(0, long), long, 0, nil},
		{"exactly the limit", hello, "Hello", 5, nil},
		{"more than the limit", hello, "", 4, errTooBig},
		{"long, exactly the limit", std(9, long), long, 100000, nil},
		{"long, more than the limit", std(9, long), "", 99999, errTooBig},
		{"no byte at all", "", "", 0, nil},
		{"reserved block", "\x06\xff", "", 0, errInflate},
		{"distance before the message", "\x02\x23\x00", "", 0, errInflate},
		{"many empty final blocks", strings.Repeat("\x03\x00", 5000) + "\x00", "", 0, errInflate},
		{"cut", std(9, long)[:10000], "", 0, errInflate},
	}
	for _, tt := range tests {
		for _, takeover := range []bool{false, true} {
			i := NewInflater(Deflate{ClientNoTakeover: !takeover, ClientBits: 15}, false)
			got, err := i.Append([]byte("x"), []byte(tt.in), tt.limit)
			want := "x" + tt.want
			if string(got) != want || err != tt.err && (err != nil || tt.err != nil) {
				t.Errorf("%s, takeover %v: %.60q, %v; want %.60q, %v", tt.name, takeover, got, err, want, tt.err)
			}
			i.Free()
		}
	}
}
