package wsframe

import (
	"encoding/binary"
	"math/bits"
)

// Mask masks or unmasks b in place (RFC 6455 section 5.3). offset is the position of b[0]
// in the payload of its frame.
func Mask(b []byte, key [4]byte, offset int) {
	mask(b, turn(binary.LittleEndian.Uint32(key[:]), offset))
}

// turn returns the key for the bytes that follow n bytes masked with key. Keys are the
// four bytes of a header, the first one lowest.
func turn(key uint32, n int) uint32 { return bits.RotateLeft32(key, -8*(n&3)) }

// mask masks b in place. b[0] meets the lowest byte of key.
func mask(b []byte, key uint32) {
	if key != 0 {
		copyMasked(b, b, key)
	}
}

// copyMasked masks src into dst, which is as long. They must be the same memory or not
// overlap.
func copyMasked(dst, src []byte, key uint32) {
	k := uint64(key)<<32 | uint64(key)
	for len(src) >= 32 && len(dst) >= 32 {
		s, d := src[:32:32], dst[:32:32]
		w0 := binary.LittleEndian.Uint64(s[0:]) ^ k
		w1 := binary.LittleEndian.Uint64(s[8:]) ^ k
		w2 := binary.LittleEndian.Uint64(s[16:]) ^ k
		w3 := binary.LittleEndian.Uint64(s[24:]) ^ k
		binary.LittleEndian.PutUint64(d[0:], w0)
		binary.LittleEndian.PutUint64(d[8:], w1)
		binary.LittleEndian.PutUint64(d[16:], w2)
		binary.LittleEndian.PutUint64(d[24:], w3)
		src, dst = src[32:], dst[32:]
	}
	for len(src) >= 8 && len(dst) >= 8 {
		binary.LittleEndian.PutUint64(dst, binary.LittleEndian.Uint64(src)^k)
		src, dst = src[8:], dst[8:]
	}
	for i := range min(len(src), len(dst)) {
		dst[i] = src[i] ^ byte(k>>(8*i&63))
	}
}
