package wsframe

import (
	"bytes"
	"fmt"
	"testing"
)

// TestMask proves that Mask and AppendMasked are those of RFC 6455 section 5.3 for all
// lengths and alignments up to a few words, and touch nothing beside the payload.
func TestMask(t *testing.T) {
	plainText := noise(1, 200, 26)
	for length := range 80 {
		for align := range 9 {
			for offset := range 6 {
				memory := bytes.Clone(plainText)
				want := bytes.Clone(plainText)
				for i := range length {
					want[align+i] ^= testKey[(offset+i)&3]
				}
				Mask(memory[align:align+length], testKey, offset)
				if !bytes.Equal(memory, want) {
					t.Fatalf("length %d, alignment %d, offset %d", length, align, offset)
				}
			}
			src := plainText[align : align+length]
			got := AppendMasked([]byte("x"), Binary, true, false, testKey, src)
			if want := append([]byte("x"), frame(0x82, string(src))...); !bytes.Equal(got, want) {
				t.Fatalf("AppendMasked of %d bytes: %q, want %q", length, got, want)
			}
		}
	}
}

// TestAppendFrame proves that a Reader reads what the functions that append write, in both
// roles.
func TestAppendFrame(t *testing.T) {
	for _, n := range []int{0, 1, 125, 126, 127, 65535, 65536, 100000} {
		p := noise(uint64(n), n, 26)
		for _, op := range []Opcode{Text, Binary, Ping, Pong, Close} {
			if op.control() && n > MaxControl {
				continue
			}
			for _, z := range []bool{false, true} {
				if z && op.control() {
					continue
				}
				for _, client := range []bool{false, true} {
					var b []byte
					if client {
						b = AppendFrame(nil, op, true, z, p)
					} else {
						b = AppendMasked(nil, op, true, z, testKey, p)
					}
					got, err := events(Config{Client: client, Deflate: true}, b, nil, false)
					want := fmt.Sprintf("message op=%d z=%v %q", op, z, p)
					if op.control() {
						want = fmt.Sprintf("control op=%d %q", op, p)
					}
					if err != nil || len(got) != 1 || got[0] != want {
						t.Fatalf("op %d, %d bytes, compressed %v, client %v: %.100v, %v", op, n, z, client, got, err)
					}
				}
			}
		}
	}
}

func FuzzMask(f *testing.F) {
	f.Add([]byte("Hello"), uint32(0x01020304), 3)
	f.Fuzz(func(t *testing.T, b []byte, key uint32, offset int) {
		k := [4]byte{byte(key), byte(key >> 8), byte(key >> 16), byte(key >> 24)}
		want := bytes.Clone(b)
		for i := range want {
			want[i] ^= k[(offset&3+i)&3]
		}
		if Mask(b, k, offset); !bytes.Equal(b, want) {
			t.Fatal("differs from the definition")
		}
	})
}
