package wsframe

import "testing"

// TestHeader proves that ParseHeader reads what AppendHeader writes, and waits for all of
// it.
func TestHeader(t *testing.T) {
	for _, length := range []int64{0, 1, 125, 126, 65535, 65536, 1<<63 - 1} {
		for first := range 256 {
			for _, masked := range []bool{false, true} {
				h := Header{Fin: first&0x80 != 0, Rsv: uint8(first >> 4 & 7), Op: Opcode(first & 15), Masked: masked, Length: length}
				if masked {
					h.Key = testKey
				}
				b := AppendHeader(nil, h)
				if b[0] != byte(first) || len(b) > MaxHeader {
					t.Fatalf("%+v: % x", h, b)
				}
				for n := range b {
					if _, used, err := ParseHeader(b[:n]); used != 0 || err != nil {
						t.Fatalf("%+v, %d bytes: %d, %v", h, n, used, err)
					}
				}
				if got, n, err := ParseHeader(append(b, 'x')); got != h || n != len(b) || err != nil {
					t.Fatalf("%+v: %+v, %d, %v", h, got, n, err)
				}
			}
		}
	}
}
