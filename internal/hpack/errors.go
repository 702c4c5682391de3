package hpack

// Error says why a field block can't be decoded. The connection must end with
// COMPRESSION_ERROR (RFC 9113 section 4.3).
type Error struct {
	reason string
}

func (e *Error) Error() string { return "hpack: " + e.reason }

// The errors of a Decoder.
var (
	ErrTruncated  = &Error{"the block ends within a field"}
	ErrInteger    = &Error{"an integer is too large or too long"}
	ErrIndex      = &Error{"an index is 0 or beyond the tables"}
	ErrHuffman    = &Error{"a string is not valid Huffman code"}
	ErrSizeUpdate = &Error{"a table size update is out of place or above the limit"}
	ErrNoUpdate   = &Error{"the table size was not reduced as SETTINGS demand"}
)
