package h1

// EmptyLines skips the empty lines before a request line as they arrive (RFC 9112
// section 2.2): some clients send one after a body. The zero value has seen none.
//
// ParseRequest takes them as well. A server that calls Skip first learns that bytes
// have come that don't begin a request.
type EmptyLines struct {
	lines int  // complete ones
	half  bool // a CR has come, which LF must follow
}

// Half reports whether the last line that Skip took isn't complete.
func (e *EmptyLines) Half() bool { return e.half }

// Skip returns how many bytes at the front of b belong to empty lines. It is
// ErrLineEnd if a CR stands alone, or if there are more lines than Limits.EmptyLines.
// If b ends within a line, the next call goes on with it.
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
