package wsframe

import "encoding/binary"

// The states of the checker of UTF-8 (RFC 3629 section 4). Each is the position of six
// bits in an entry of steps.
const (
	between  = 6 * iota // no sequence is open
	want1               // one more byte of 80..BF
	want2               // two more
	want3               // three more
	afterE0             // A0..BF, then one more: no overlong forms
	afterED             // 80..9F, then one more: no surrogates
	afterF0             // 90..BF, then two more: no overlong forms
	afterF4             // 80..8F, then two more: nothing above U+10FFFF
	rejected            // not UTF-8, whatever follows
)

// stateBits are those of a state that count. The checker leaves others in the word.
const stateBits = 63

// highs has the highest bit of each byte.
const highs = 0x8080808080808080

// steps says for each byte how states follow each other: the state after s is
// steps[byte]>>s. So a step is one shift, and the load doesn't depend on the state.
var steps = makeSteps()

func makeSteps() (t [256]uint64) {
	for i := range t {
		c := byte(i)
		next := [rejected/6 + 1]uint64{}
		for s := range next {
			next[s] = rejected
		}
		set := func(from int, to uint64) { next[from/6] = to }
		switch {
		case c < 0x80:
			set(between, between)
		case c < 0xc0:
			set(want1, between)
			set(want2, want1)
			set(want3, want2)
			if c >= 0xa0 {
				set(afterE0, want1)
			} else {
				set(afterED, want1)
			}
			if c >= 0x90 {
				set(afterF0, want2)
			} else {
				set(afterF4, want2)
			}
		case c < 0xc2:
		case c < 0xe0:
			set(between, want1)
		case c == 0xe0:
			set(between, afterE0)
		case c == 0xed:
			set(between, afterED)
		case c < 0xf0:
			set(between, want2)
		case c == 0xf0:
			set(between, afterF0)
		case c < 0xf4:
			set(between, want3)
		case c == 0xf4:
			set(between, afterF4)
		}
		for s, to := range next {
			t[i] |= to << (6 * s)
		}
	}
	return t
}

// step8 returns the state after the eight bytes of w, the lowest first.
func step8(s, w uint64) uint64 {
	s = steps[byte(w)] >> (s & 63)
	s = steps[byte(w>>8)] >> (s & 63)
	s = steps[byte(w>>16)] >> (s & 63)
	s = steps[byte(w>>24)] >> (s & 63)
	s = steps[byte(w>>32)] >> (s & 63)
	s = steps[byte(w>>40)] >> (s & 63)
	s = steps[byte(w>>48)] >> (s & 63)
	return steps[byte(w>>56)] >> (s & 63)
}

// checkMasked returns the state of the checker after b, which is masked with key, and
// leaves b as it is.
func checkMasked(b []byte, key uint32, state uint8) uint8 {
	k := uint64(key)<<32 | uint64(key)
	s := uint64(state)
	for len(b) >= 32 {
		p := b[:32:32]
		w0 := binary.LittleEndian.Uint64(p[0:]) ^ k
		w1 := binary.LittleEndian.Uint64(p[8:]) ^ k
		w2 := binary.LittleEndian.Uint64(p[16:]) ^ k
		w3 := binary.LittleEndian.Uint64(p[24:]) ^ k
		if (w0|w1|w2|w3)&highs|s&stateBits != 0 {
			s = step8(step8(step8(step8(s, w0), w1), w2), w3) & stateBits
			if s == rejected {
				return rejected
			}
		}
		b = b[32:]
	}
	for ; len(b) >= 8; b = b[8:] {
		if w := binary.LittleEndian.Uint64(b) ^ k; w&highs|s&stateBits != 0 {
			s = step8(s, w)
		}
	}
	for i, c := range b {
		s = steps[c^byte(k>>(8*i&63))] >> (s & 63)
	}
	return uint8(s & stateBits)
}

// unmaskText unmasks b in place and returns the state of the checker after it. If the
// state is rejected, the end of b may still be masked.
func unmaskText(b []byte, key uint32, state uint8) uint8 {
	k := uint64(key)<<32 | uint64(key)
	s := uint64(state)
	for len(b) >= 32 {
		p := b[:32:32]
		w0 := binary.LittleEndian.Uint64(p[0:]) ^ k
		w1 := binary.LittleEndian.Uint64(p[8:]) ^ k
		w2 := binary.LittleEndian.Uint64(p[16:]) ^ k
		w3 := binary.LittleEndian.Uint64(p[24:]) ^ k
		binary.LittleEndian.PutUint64(p[0:], w0)
		binary.LittleEndian.PutUint64(p[8:], w1)
		binary.LittleEndian.PutUint64(p[16:], w2)
		binary.LittleEndian.PutUint64(p[24:], w3)
		if (w0|w1|w2|w3)&highs|s&stateBits != 0 {
			s = step8(step8(step8(step8(s, w0), w1), w2), w3) & stateBits
			if s == rejected {
				return rejected
			}
		}
		b = b[32:]
	}
	for ; len(b) >= 8; b = b[8:] {
		w := binary.LittleEndian.Uint64(b) ^ k
		binary.LittleEndian.PutUint64(b, w)
		if w&highs|s&stateBits != 0 {
			s = step8(s, w)
		}
	}
	for i, c := range b {
		c ^= byte(k >> (8 * i & 63))
		b[i] = c
		s = steps[c] >> (s & 63)
	}
	return uint8(s & stateBits)
}

// checkText returns the state of the checker after b.
func checkText(b []byte, state uint8) uint8 {
	s := uint64(state)
	for len(b) >= 64 {
		p := b[:64:64]
		w0 := binary.LittleEndian.Uint64(p[0:]) | binary.LittleEndian.Uint64(p[8:])
		w1 := binary.LittleEndian.Uint64(p[16:]) | binary.LittleEndian.Uint64(p[24:])
		w2 := binary.LittleEndian.Uint64(p[32:]) | binary.LittleEndian.Uint64(p[40:])
		w3 := binary.LittleEndian.Uint64(p[48:]) | binary.LittleEndian.Uint64(p[56:])
		if (w0|w1|w2|w3)&highs|s&stateBits != 0 {
			for i := 0; i < 64; i += 8 {
				s = step8(s, binary.LittleEndian.Uint64(p[i:]))
			}
			if s &= stateBits; s == rejected {
				return rejected
			}
		}
		b = b[64:]
	}
	return checkMasked(b, 0, uint8(s&stateBits))
}

// UTF8 checks text that comes in parts. The zero value is ready.
type UTF8 struct{ state uint8 }

// Write checks the next part of the text. It returns false as soon as no continuation can
// make the text valid, and from then on.
func (u *UTF8) Write(b []byte) bool {
	u.state = checkText(b, u.state)
	return u.state != rejected
}

// Done reports whether the text that was written is valid and complete. If it is, u is
// ready for the next text.
func (u *UTF8) Done() bool { return u.state == between }
