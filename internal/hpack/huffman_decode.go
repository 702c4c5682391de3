package hpack

import (
	"encoding/binary"
	"slices"
)

// appendHuffmanDecoded decodes src, a string in Huffman code, and appends it (RFC
// 7541 section 5.2). The end-of-string symbol, padding of more than seven bits and
// padding that isn't all ones are errors. After an error dst is returned unchanged.
func appendHuffmanDecoded(dst, src []byte) ([]byte, error) {
	start := len(dst)
	dst = slices.Grow(dst, decodedBound(len(src)))
	out := dst[start:cap(dst)]
	n, ok := huffmanDecode(out, src)
	if !ok {
		return dst[:start], ErrHuffman
	}
	return dst[:start+n], nil
}

// decodedBound returns the largest length of a string with n bytes of Huffman code.
func decodedBound(n int) int { return n * 8 / minCodeBits }

// huffmanDecode decodes src into out, which must be long enough, and returns the
// length.
func huffmanDecode(out, src []byte) (n int, ok bool) {
	// The highest held bits of acc were read but not decoded. Its other bits are 0.
	var acc uint64
	var held uint
	for {
		if acc, held, src = refill(acc, held, src); held < maxCodeBits {
			break // all of src was read
		}
		for held >= maxCodeBits {
			s := huffman.short[acc>>56]
			if s == 0 {
				if s = longSymbol(acc); s == decodedEOS {
					return n, false
				}
			}
			out[n] = byte(s)
			n++
			acc <<= s >> 8 & 63 // the mask changes nothing, but saves a comparison
			held -= uint(s >> 8)
		}
	}
	// Set the bits after the end to 1, so that padding looks like the start of eos.
	acc |= ^uint64(0) >> held
	for held > 0 {
		s := huffman.short[acc>>56]
		if s == 0 {
			s = longSymbol(acc)
		}
		bits := uint(s >> 8)
		if bits > held {
			break // eos ends here too
		}
		out[n] = byte(s)
		n++
		acc = acc<<bits | (1<<bits - 1)
		held -= bits
	}
	return n, held < 8 && acc == ^uint64(0)
}

// refill moves as many bytes of src to acc as fit.
func refill(acc uint64, held uint, src []byte) (uint64, uint, []byte) {
	if len(src) >= 8 {
		take := (63 - held) / 8
		held += take * 8
		acc |= binary.BigEndian.Uint64(src) >> (held - take*8)
		return acc &^ (^uint64(0) >> held), held, src[take:]
	}
	for len(src) > 0 && held <= 56 {
		acc |= uint64(src[0]) << (56 - held)
		held += 8
		src = src[1:]
	}
	return acc, held, src
}

// longSymbol returns the symbol whose code has more than 8 bits and is in the
// highest bits of acc.
func longSymbol(acc uint64) decoded {
	high := uint32(acc >> 32)
	bits := 10
	for bits < maxCodeBits && high >= huffman.limit[bits] {
		bits++
	}
	return huffman.sorted[huffman.base[bits]+high>>(32-bits)]
}
