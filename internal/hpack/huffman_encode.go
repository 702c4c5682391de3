package hpack

// huffmanLen returns the length of the Huffman code of s in bytes.
func huffmanLen(s []byte) int {
	bits := 0
	for _, c := range s {
		bits += int(codeBits[c])
	}
	return (bits + 7) / 8
}

// appendHuffman appends the Huffman code of s, padded with ones (RFC 7541 section 5.2).
func appendHuffman(dst, s []byte) []byte {
	var acc uint64 // its lowest held bits aren't written yet
	var held uint
	for _, c := range s {
		acc = acc<<codeBits[c] | uint64(huffman.code[c])
		held += uint(codeBits[c])
		for held >= 8 {
			held -= 8
			dst = append(dst, byte(acc>>held))
		}
	}
	if held > 0 {
		dst = append(dst, byte(acc<<(8-held))|byte(0xff>>held))
	}
	return dst
}

// appendString appends a string literal, in Huffman code if that is shorter.
func appendString(dst, s []byte) []byte {
	if n := huffmanLen(s); n < len(s) {
		return appendHuffman(appendInteger(dst, 0x80, 0x7f, uint32(n)), s)
	}
	return append(appendInteger(dst, 0, 0x7f, uint32(len(s))), s...)
}
