package h1

// Chunked decodes the chunked coding (RFC 9112 section 7.1), without the
// trailer section. The zero value stands before the first chunk.
type Chunked struct {
	state int8
	left  int64
}

// Next decodes from the front of b. It returns the range of b that is body
// data (data aliases b), the number of bytes consumed (framing and data), and
// done once the last chunk's line was consumed: what follows is the trailer
// section. It consumes as much framing as there is, stops after the first run of
// data, and returns n == 0 with no error if it needs more bytes.
func (c *Chunked) Next(b []byte) (data []byte, n int, done bool, err error) { panic("stub") }

// AppendChunk appends data as one chunk; nothing for empty data.
func AppendChunk(dst, data []byte) []byte { panic("stub") }

// AppendLastChunk appends the last chunk's line; trailers or CRLF follow it.
func AppendLastChunk(dst []byte) []byte { panic("stub") }
