package h1

import "github.com/galehttp/gale/internal/msg"

// The lines that the dialect Strict doesn't accept.

// endOfHead is the end of a head in which no line ends in a bare LF.
const endOfHead = "\r\n\r\n"

// bareBefore reports whether the line before the one at b[line] ends in a bare LF.
func bareBefore(b []byte, line int) bool { return line >= 2 && b[line-2] != '\r' }

// slow reports whether fastFields can't handle the line at b[line]. That is a line after
// a bare LF, because it may be the end, or a folded line, in which fastFields would look
// for a colon up to the end of b.
func slow(b []byte, line int) bool {
	return bareBefore(b, line) || line >= len(b) || b[line] == ' ' || b[line] == '\t'
}

// lenientEnd handles the empty line at s.Line. If it is a bare LF, or comes after one, it
// ends the head only when CRLF CRLF was seen from there on; see the package comment. That
// doesn't apply to an empty line (CRLF) directly after the start line, for which first is
// true.
func lenientEnd(b []byte, s *msg.Scan, first bool) error {
	line := s.Line
	next := line + 1
	if b[line] == '\r' {
		switch {
		case next == len(b):
			s.Seen = line
			return ErrPartial
		case b[next] != '\n':
			return ErrLineEnd
		}
		next++
	}
	if next == line+1 || bareBefore(b, line) && !first {
		i := max(line, s.Seen)
		for i+len(endOfHead) <= len(b) && string(b[i:i+len(endOfHead)]) != endOfHead {
			i++
		}
		if i+len(endOfHead) > len(b) {
			s.Seen = i
			return ErrPartial
		}
	}
	s.Line, s.Seen, s.Seps = next, 0, 0
	return nil
}

// foldedIDs are the fields that can't be folded: recipients that don't support folding
// must find the same framing and host.
const foldedIDs uint64 = 1<<msg.ContentLength | 1<<msg.TransferEncoding | 1<<msg.Host

// foldedLine adds the line at s.Line, which begins with whitespace, to the value of r,
// the field before it (RFC 9112 section 5.2). The value then extends to the end of this
// line, including the bytes between the lines, until msg.Fields.Unfold joins it.
func foldedLine(b []byte, s *msg.Scan, base int, r *msg.Field, d Dialect) error {
	if foldedIDs&(1<<r.ID) != 0 {
		return ErrFieldFold
	}
	end := skipText(b, max(s.Line, s.Seen))
	if end == len(b) {
		s.Seen = end
		return ErrPartial
	}
	if b[end] != '\r' && !(d.takesBareLF() && b[end] == '\n') {
		return textError(b[end])
	}
	if err := lineEnd(b, end, s, ErrLineEnd); err != nil {
		return err
	}
	r.ValLen = uint32(end+base) - r.ValOff
	r.Flags |= msg.Folded
	s.Folds = true
	s.Line = end + 2
	if b[end] == '\n' {
		s.Line--
	}
	return nil
}
