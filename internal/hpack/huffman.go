package hpack

// The Huffman code of RFC 7541 appendix B. It is canonical: the codes of one length
// are consecutive numbers in the order of their symbols, and the first code of a
// length follows the last one of the previous length. So the lengths define the
// whole code.

const (
	eos         = 256 // the end-of-string symbol; it must not be sent
	numSymbols  = eos + 1
	minCodeBits = 5
	maxCodeBits = 30
)

// codeBits are the lengths of the codes in bits.
var codeBits = [numSymbols]uint8{
	13, 23, 28, 28, 28, 28, 28, 28, 28, 24, 30, 28, 28, 30, 28, 28,
	28, 28, 28, 28, 28, 28, 30, 28, 28, 28, 28, 28, 28, 28, 28, 28,
	6, 10, 10, 12, 13, 6, 8, 11, 10, 10, 8, 11, 8, 6, 6, 6,
	5, 5, 5, 6, 6, 6, 6, 6, 6, 6, 7, 8, 15, 6, 12, 10,
	13, 6, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7,
	7, 7, 7, 7, 7, 7, 7, 7, 8, 7, 8, 13, 19, 13, 14, 6,
	15, 5, 6, 5, 6, 5, 6, 6, 6, 5, 7, 7, 6, 6, 6, 5,
	6, 7, 6, 5, 5, 6, 7, 7, 7, 7, 7, 15, 11, 14, 13, 28,
	20, 22, 20, 20, 22, 22, 22, 23, 22, 23, 23, 23, 23, 23, 24, 23,
	24, 24, 22, 23, 24, 23, 23, 23, 23, 21, 22, 23, 22, 23, 23, 24,
	22, 21, 20, 22, 22, 23, 23, 21, 23, 22, 22, 24, 21, 22, 23, 23,
	21, 21, 22, 21, 23, 22, 23, 23, 20, 22, 22, 22, 23, 22, 22, 23,
	26, 26, 20, 19, 22, 23, 22, 25, 26, 26, 26, 27, 27, 26, 24, 25,
	19, 21, 26, 27, 27, 26, 27, 24, 21, 21, 26, 26, 28, 27, 27, 27,
	20, 24, 20, 21, 22, 21, 21, 23, 22, 22, 25, 25, 24, 24, 26, 23,
	26, 27, 26, 26, 27, 27, 27, 27, 27, 28, 27, 27, 27, 27, 27, 26,
	eos: 30,
}

// huffman holds the tables that are made from codeBits.
var huffman = newHuffmanTables()

type huffmanTables struct {
	// code is the code of each symbol, in its lowest bits.
	code [numSymbols]uint32
	// short holds, for each value of the next 8 bits, the code of at most 8 bits
	// that they begin with, as a decoded. 0 means a longer code.
	short [256]decoded
	// For each length: limit is the end of its codes, in the highest bits of 32;
	// base plus a code is the index of its symbol in sorted.
	limit [maxCodeBits + 1]uint32
	base  [maxCodeBits + 1]uint32
	// sorted are the symbols in the order of their codes.
	sorted [numSymbols]decoded
}

// decoded is a decoded symbol: the symbol in the low byte, the length of its code
// in the high byte.
type decoded uint16

// decodedEOS is eos; its low byte is 0. It differs from symbol 0, which has a
// shorter code.
const decodedEOS decoded = maxCodeBits << 8

func newHuffmanTables() (t huffmanTables) {
	code, place := uint32(0), uint32(0)
	for bits := uint8(minCodeBits); bits <= maxCodeBits; bits++ {
		code <<= 1
		t.base[bits] = place - code
		for sym, n := range codeBits {
			if n != bits {
				continue
			}
			t.code[sym] = code
			found := decoded(bits)<<8 | decoded(uint8(sym))
			t.sorted[place] = found
			if bits <= 8 {
				first := code << (8 - bits)
				for i := range uint32(1) << (8 - bits) {
					t.short[first+i] = found
				}
			}
			code++
			place++
		}
		t.limit[bits] = code << (32 - bits)
	}
	return t
}
