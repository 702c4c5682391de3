package hpack

import (
	"encoding/binary"
	"slices"
)

// appendHuffmanDecoded appends the string that src is the Huffman code of
// (RFC 7541 section 5.2). The end of the string symbol, padding of more than seven bits
// and padding that is not all ones are errors. dst is returned as it was after an error.
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

// decodedBound returns how long the string of n bytes of Huffman code can be at most.
func decodedBound(n int) int { return n * 8 / minCodeBits }

// huffmanDecode decodes src into out, which is long enough, and returns the length.
func huffmanDecode(out, src []byte) (n int, ok bool) {
	// The bits that were read and not decoded are the highest held bits of acc, the rest
	// of which is zeros.
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
	// Ones after the end: what is padding then looks like the start of eos.
	acc |= ^uint64(0) >> held
	for held > 0 {
		s := huffman.short[acc>>56]
		if s == 0 {
			s = longSymbol(acc)
		}
		bits := uint(s >> 8)
		if bits > held {
			break // so is eos
		}
		out[n] = byte(s)
		n++
		acc = acc<<bits | (1<<bits - 1)
		held -= bits
	}
	return n, held < 8 && acc == ^uint64(0)
}

// refill takes as many bytes of src as there is room for in acc.
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

// longSymbol returns the symbol whose code of more than 8 bits are the highest bits of acc.
func longSymbol(acc uint64) decoded {
	high := uint32(acc >> 32)
	bits := 10
	for bits < maxCodeBits && high >= huffman.limit[bits] {
		bits++
	}
	return huffman.sorted[huffman.base[bits]+high>>(32-bits)]
}
