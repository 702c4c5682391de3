package h1

import (
	"math"

	"github.com/galehttp/gale/internal/bytesconv"
)

// Chunked decodes the chunked coding without the trailer section (RFC 9112 section 7.1).
// The zero value is ready for the first chunk.
//
//	chunked-body = *chunk last-chunk trailer-section CRLF
//	chunk        = chunk-size [ chunk-ext ] CRLF chunk-data CRLF
//	last-chunk   = 1*"0" [ chunk-ext ] CRLF
//	chunk-ext    = *( BWS ";" BWS name [ BWS "=" BWS ( token / quoted-string ) ] )
//
// Extensions are checked and ignored. All line ends are CRLF. Only the whitespace of the
// grammar is accepted.
type Chunked struct {
	// Dialect may allow whitespace after a chunk size.
	Dialect Dialect

	left  int64 // the size while it is read, then the bytes of data that are left
	over  int   // bytes of framing beyond what is allowed for the data so far
	state chunkState
}

type chunkState uint8

const (
	sizeStart chunkState = iota // before the first digit
	sizeMore                    // after a digit
	extBWS                      // whitespace that ";" must follow
	extStart                    // after ";"
	extName
	extNameBWS  // whitespace after a name: ";" or "=" follows
	extEqual    // after "="
	extToken    // in an unquoted value
	extQuoted   // in a quoted value
	extEscaped  // after "\" in one
	extUnquoted // after the closing quote
	lineLF      // after the CR of a chunk's first line
	chunkData
	dataCR
	dataLF
	lastLine // after the last chunk's line
)

// maxChunkOverhead is the limit of over, in bytes. Each chunk may have 16 bytes of
// framing plus twice the size of its data without counting, so only streams of tiny
// chunks with long extensions reach the limit.
const maxChunkOverhead = 16 << 10

// Next decodes from the front of b. It returns the body data, which is a slice of b, the
// number of bytes consumed (framing and data), and done after the last chunk's line was
// consumed: then the trailer section follows. It consumes as much framing as there is and
// stops after the first run of data. It returns n == 0 without an error only for an empty
// b, or when done. An error is an *Error; c can't be used afterwards.
func (c *Chunked) Next(b []byte) (data []byte, n int, done bool, err error) {
	for {
		switch c.state {
		case lastLine:
			return nil, n, true, nil
		case chunkData:
			if n == len(b) {
				return nil, n, false, nil
			}
			data, n = c.data(b, n)
			return data, n, false, nil
		case sizeStart:
			if m := c.sizeLine(b[n:]); m > 0 {
				n += m
				continue
			}
		}
		if n == len(b) {
			return nil, n, false, nil
		}
		if err := c.step(b[n]); err != nil {
			return nil, 0, false, err
		}
		n++
		if c.over++; c.over > maxChunkOverhead {
			return nil, 0, false, ErrChunkOverhead
		}
	}
}

// data returns the data at b[n] and the index at which to continue: after the CRLF of the
// chunk if b has it.
func (c *Chunked) data(b []byte, n int) ([]byte, int) {
	data := b[n:]
	if int64(len(data)) < c.left {
		c.left -= int64(len(data))
		return data, len(b)
	}
	data = data[:c.left:c.left]
	n += len(data)
	c.left = 0
	c.state = dataCR
	if n+2 <= len(b) && b[n] == '\r' && b[n+1] == '\n' {
		n += 2
		c.over += 2
		c.state = sizeStart
	}
	return data, n
}

// sizeLine consumes a whole line at the front of b with a size of up to seven digits and
// no extension, which is the common case. It returns the length of the line, or 0 for
// anything else, which step handles.
func (c *Chunked) sizeLine(b []byte) int {
	var size int64
	for i := 0; i < min(len(b)-1, 8); i++ {
		d := bytesconv.HexValue[b[i]]
		if d < 16 {
			size = size<<4 | int64(d)
			continue
		}
		if i == 0 || b[i] != '\r' || b[i+1] != '\n' {
			return 0
		}
		c.left = size
		c.over += i + 2
		c.startData()
		return i + 2
	}
	return 0
}

// step consumes one byte of framing.
func (c *Chunked) step(b byte) error {
	switch c.state {
	case sizeStart, sizeMore:
		return c.stepSize(b)
	case lineLF:
		if b != '\n' {
			return ErrChunkSize
		}
		c.startData()
	case dataCR:
		if b != '\r' {
			return ErrChunkEnd
		}
		c.state = dataLF
	case dataLF:
		if b != '\n' {
			return ErrChunkEnd
		}
		c.state = sizeStart
	default:
		return c.stepExt(b)
	}
	return nil
}

func (c *Chunked) stepSize(b byte) error {
	if d := bytesconv.HexValue[b]; d < 16 {
		if c.left > math.MaxInt64>>4 {
			return ErrBodyTooLong
		}
		c.left = c.left<<4 | int64(d)
		c.state = sizeMore
		return nil
	}
	if c.state == sizeStart {
		return ErrChunkSize
	}
	switch b {
	case '\r':
		c.state = lineLF
	case ';':
		c.state = extStart
	case ' ', '\t':
		c.state = extBWS
	default:
		return ErrChunkSize
	}
	return nil
}

// startData continues after a chunk's first line.
func (c *Chunked) startData() {
	if c.left == 0 {
		c.state = lastLine
		return
	}
	c.state = chunkData
	c.over = max(0, c.over-16-int(2*min(c.left, maxChunkOverhead)))
}

// stepExt consumes one byte of an extension.
func (c *Chunked) stepExt(b byte) error {
	switch c.state {
	case extBWS:
		return c.behind(b, false, c.Dialect.takesSizeSpace())
	case extStart:
		return c.begin(b, extName)
	case extName:
		if bytesconv.Token[b] {
			return nil
		}
		return c.behind(b, true, true)
	case extNameBWS:
		return c.behind(b, true, false)
	case extEqual:
		if b == '"' {
			c.state = extQuoted
			return nil
		}
		return c.begin(b, extToken)
	case extToken:
		if bytesconv.Token[b] {
			return nil
		}
		return c.behind(b, false, true)
	case extQuoted:
		return c.quoted(b)
	case extEscaped:
		if !isText(b) {
			return ErrChunkExt
		}
		c.state = extQuoted
		return nil
	default: // extUnquoted
		return c.behind(b, false, true)
	}
}

// begin consumes whitespace or the first byte of a token.
func (c *Chunked) begin(b byte, token chunkState) error {
	switch {
	case b == ' ' || b == '\t':
	case bytesconv.Token[b]:
		c.state = token
	default:
		return ErrChunkExt
	}
	return nil
}

// behind consumes a byte after a name or value, or after the whitespace that follows it.
// The line may end only if there was no whitespace.
func (c *Chunked) behind(b byte, afterName, mayEnd bool) error {
	switch {
	case b == ';':
		c.state = extStart
	case b == '=' && afterName:
		c.state = extEqual
	case b == '\r' && mayEnd:
		c.state = lineLF
	case (b == ' ' || b == '\t') && afterName:
		c.state = extNameBWS
	case b == ' ' || b == '\t':
		c.state = extBWS
	default:
		return ErrChunkExt
	}
	return nil
}

func (c *Chunked) quoted(b byte) error {
	switch {
	case b == '"':
		c.state = extUnquoted
	case b == '\\':
		c.state = extEscaped
	case !isText(b):
		return ErrChunkExt
	}
	return nil
}
