package static

import (
	"strconv"

	"github.com/galehttp/gale/internal/bytesconv"
)

// AppendContentRange appends the value of a Content-Range field for the range r of
// a representation of size bytes: "bytes 0-9/100" (RFC 9110 section 14.4).
func AppendContentRange(dst []byte, r Range, size int64) []byte {
	dst = append(dst, "bytes "...)
	dst = strconv.AppendInt(dst, r.Start, 10)
	dst = append(dst, '-')
	dst = strconv.AppendInt(dst, r.End(), 10)
	dst = append(dst, '/')
	return strconv.AppendInt(dst, size, 10)
}

// AppendUnsatisfied appends the Content-Range value of a 416 answer:
// "bytes */100" (RFC 9110 section 14.4).
func AppendUnsatisfied(dst []byte, size int64) []byte {
	return strconv.AppendInt(append(dst, "bytes */"...), size, 10)
}

// A Multipart writes the frame of a multipart/byteranges body (RFC 9110
// section 14.6):
//
//	--boundary CRLF
//	Content-Type: ... CRLF
//	Content-Range: ... CRLF CRLF
//	bytes of the range CRLF
//	... --boundary-- CRLF
type Multipart struct {
	// Boundary must not occur in the ranges (RFC 2046 section 5.1.1): use random
	// hex digits.
	Boundary string
	// ContentType is the type of the whole representation. If it is empty, the
	// parts have no such field.
	ContentType string
	// Size is the length of the whole representation in bytes.
	Size int64
}

// NewBoundary makes a boundary of two random words.
func NewBoundary(hi, lo uint64) string {
	return string(bytesconv.AppendHex(append(bytesconv.AppendHex(make([]byte, 0, 33), hi), '-'), lo))
}

// AppendPartHead appends the delimiter and the head before the bytes of r. first is
// true for the first part, which needs no line break before its delimiter.
func (m *Multipart) AppendPartHead(dst []byte, r Range, first bool) []byte {
	if !first {
		dst = append(dst, "\r\n"...)
	}
	dst = append(append(dst, "--"...), m.Boundary...)
	if m.ContentType != "" {
		dst = append(append(dst, "\r\nContent-Type: "...), m.ContentType...)
	}
	dst = AppendContentRange(append(dst, "\r\nContent-Range: "...), r, m.Size)
	return append(dst, "\r\n\r\n"...)
}

// AppendEnd appends the delimiter after the bytes of the last part.
func (m *Multipart) AppendEnd(dst []byte) []byte {
	dst = append(append(dst, "\r\n--"...), m.Boundary...)
	return append(dst, "--\r\n"...)
}

// Len returns the length in bytes of a body with the ranges rs.
func (m *Multipart) Len(rs []Range) int64 {
	var buf [512]byte
	n := int64(len(m.AppendEnd(buf[:0])))
	for i, r := range rs {
		n += int64(len(m.AppendPartHead(buf[:0], r, i == 0))) + r.Length
	}
	return n
}
