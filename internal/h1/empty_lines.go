package h1

// EmptyLines skips the empty lines before a request line as they arrive (RFC 9112
// section 2.2): some clients send one after a body. The zero value has seen none.
//
// ParseRequest skips them too. A server that calls Skip first knows that these bytes
// don't begin a request.
type EmptyLines struct {
	lines int  // number of complete lines
	half  bool // a CR has arrived, and an LF must follow
}

// Half reports whether the last line that Skip took isn't complete.
func (e *EmptyLines) Half() bool { return e.half }

// Skip returns how many bytes at the front of b belong to empty lines. The error is
// ErrLineEnd if a CR has no LF after it, or if there are more lines than
// Limits.EmptyLines. If b ends within a line, the next call continues with that line.
func (e *EmptyLines) Skip(b []byte, lim *Limits) (n int, err error) {
	bareLF := lim.dialect().takesBareLF()
	for ; n < len(b); n++ {
		c := b[n]
		switch {
		case e.half && c != '\n':
			return n, ErrLineEnd
		case e.half:
			e.half = false
			e.lines++
			continue
		case c != '\r' && !(c == '\n' && bareLF):
			return n, nil
		case e.lines == lim.emptyLines():
			return n, ErrLineEnd
		case c == '\r':
			e.half = true
		default:
			e.lines++
		}
	}
	return n, nil
}
