package hpack

import (
	"bytes"
	"testing"

	peer "golang.org/x/net/http2/hpack"

	"github.com/galehttp/gale/tests/harness/gate"
)

func TestHuffmanCode(t *testing.T) {
	for _, c := range []struct {
		sym  int
		code uint32
	}{{'0', 0}, {'t', 0x9}, {' ', 0x14}, {':', 0x5c}, {'!', 0x3f8}, {0, 0x1ff8}, {'\n', 0x3ffffffc}, {22, 0x3ffffffe}, {eos, 0x3fffffff}} {
		if huffman.code[c.sym] != c.code {
			t.Errorf("symbol %d has the code %x, want %x", c.sym, huffman.code[c.sym], c.code)
		}
	}
	sum := 0.0
	for _, n := range codeBits {
		sum += 1 / float64(uint64(1)<<n)
	}
	if sum != 1 {
		t.Errorf("the code is not complete: %v", sum)
	}
}

func TestHuffmanDecode(t *testing.T) {
	for _, c := range []struct {
		name, in, want string
		err            error
	}{
		{name: "nothing", in: ""},
		{name: "a name", in: "f1e3c2e5f23a6ba0ab90f4ff", want: "www.example.com"},
		{name: "eight symbols of five bits", in: "0000000000", want: "00000000"},
		{name: "three bits of padding", in: "07", want: "0"},
		{name: "seven bits of padding", in: "0000007f", want: "00000"},
		{name: "padding of zeros", in: "00", err: ErrHuffman},
		{name: "padding with a zero in it", in: "06", err: ErrHuffman},
		{name: "eight bits of padding", in: "ff", err: ErrHuffman},
		{name: "eight bits of padding after a symbol", in: "f8ff", err: ErrHuffman},
		{name: "eleven bits of padding", in: "07ff", err: ErrHuffman},
		{name: "end of string", in: "ffffffff", err: ErrHuffman},
		{name: "end of string without padding after it", in: "fffffffc", err: ErrHuffman},
		{name: "end of string after a symbol", in: "07ffffffff", err: ErrHuffman},
		{name: "end of string and more", in: "ffffffff00000000000000", err: ErrHuffman},
		{name: "a long code that is cut", in: "fffe", err: ErrHuffman},
		{name: "codes of 30 bits", in: "fffffff3 ffffffdf", want: "\n\r"},
	} {
		got, err := appendHuffmanDecoded([]byte("before "), unhex(t, c.in))
		if string(got) != "before "+c.want || err != c.err {
			t.Errorf("%s: %q, %v; want %q, %v", c.name, got, err, c.want, c.err)
		}
		_, peerErr := peer.HuffmanDecodeToString(unhex(t, c.in))
		if (peerErr != nil) != (c.err != nil) {
			t.Errorf("%s: the peer says %v", c.name, peerErr)
		}
	}
}

// checkHuffman checks that s is encoded as the peer does it, and decoded again.
func checkHuffman(t *testing.T, s []byte) {
	t.Helper()
	b := appendHuffman(nil, s)
	if want := peer.AppendHuffmanString(nil, string(s)); !bytes.Equal(b, want) {
		t.Fatalf("%q: %x, want %x", s, b, want)
	}
	if len(b) != huffmanLen(s) {
		t.Fatalf("%q: %d bytes, but huffmanLen says %d", s, len(b), huffmanLen(s))
	}
	got, err := appendHuffmanDecoded(nil, b)
	if err != nil || !bytes.Equal(got, s) {
		t.Fatalf("%x: %q, %v; want %q", b, got, err, s)
	}
}

func TestHuffmanEachSymbol(t *testing.T) {
	for c := range 256 {
		for n := range 20 { // the code starts at each bit
			checkHuffman(t, append(bytes.Repeat([]byte("0"), n), byte(c)))
			checkHuffman(t, bytes.Repeat([]byte{byte(c)}, n))
		}
	}
}

func TestHuffmanRandom(t *testing.T) {
	for range 5000 {
		checkHuffman(t, randomText(40))
	}
}

// randomText returns up to n bytes: most often such as fields have.
func randomText(n int) []byte {
	b := make([]byte, gate.Rand.IntN(n))
	wild := gate.Rand.IntN(4) == 0
	for i := range b {
		b[i] = "abcdefghijklmnopqrstuvwxyz0123456789-/=;, .:AZ"[gate.Rand.IntN(46)]
		if wild {
			b[i] = byte(gate.Rand.Uint32())
		}
	}
	return b
}

func FuzzHuffman(f *testing.F) {
	f.Add([]byte("www.example.com"))
	f.Add([]byte("\xff\xff\xff\xff\x00\x01\x02\x03"))
	f.Add([]byte("\xf1\xe3\xc2\xe5\xf2:k\xa0\xab\x90\xf4\xff"))
	f.Fuzz(func(t *testing.T, b []byte) {
		checkHuffman(t, b)
		got, err := appendHuffmanDecoded([]byte("x"), b)
		want, peerErr := peer.HuffmanDecodeToString(b)
		if (err != nil) != (peerErr != nil) {
			t.Fatalf("%x: %v, the peer says %v", b, err, peerErr)
		}
		if err == nil && string(got) != "x"+want {
			t.Fatalf("%x: %q, want %q", b, got[1:], want)
		}
		if err != nil && string(got) != "x" {
			t.Fatalf("%x: %q after an error", b, got)
		}
	})
}
