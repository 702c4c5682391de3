package h1

import (
	"github.com/galehttp/gale/internal/bytesconv"
	"github.com/galehttp/gale/internal/msg"
)

// parseFields parses field lines up to and with the empty line (RFC 9112
// section 5):
//
//	field-section = *( field-name ":" OWS field-value OWS CRLF ) CRLF
//
// b is a head from its first byte on; s says where to continue. For each complete line,
// parseFields adds a record to f, with offsets into b plus base, and moves s.Line past
// the line. The result is nil after the empty line, else ErrPartial or an *Error.
//
// A field with spaces in its name gets the flag Unsent, a folded one the flag Folded.
func parseFields(b []byte, s *msg.Scan, base int, f *msg.Fields, maxFields int, d Dialect) error {
	maxFields = min(maxFields, msg.MaxFields)
	for {
		if s.Seen == 0 && base == 0 && !(d != Strict && slow(b, s.Line)) && fastFields(b, s, f, maxFields) {
			return nil
		}
		line := s.Line
		if d != Strict && line < len(b) {
			switch c := b[line]; {
			case d.takesBareLF() && (c == '\r' || c == '\n'):
				return lenientEnd(b, s, len(f.Recs) == 0)
			case d.takesFolding() && (c == ' ' || c == '\t') && len(f.Recs) > 0:
				if err := foldedLine(b, s, base, &f.Recs[len(f.Recs)-1], d); err != nil {
					return err
				}
				continue
			}
		}
		colon, end, err := scanField(b, s, d)
		if err != nil {
			return err
		}
		if end == line {
			s.Line = end + 2
			return nil
		}
		if len(f.Recs) >= maxFields || colon-line > msg.MaxNameLen {
			return ErrTooManyFields
		}
		id := msg.Lookup(b[line:colon])
		if bit := uint64(1) << id; f.Seen()&bit != 0 {
			s.Dups |= bit
		}
		flags := uint8(0)
		if d.takesSpacedNames() && !isName(b[line:colon]) {
			flags = msg.Unsent
		}
		from, to := bytesconv.TrimRange(b, colon+1, end)
		f.Push(msg.Field{
			NameOff: uint32(line + base),
			ValOff:  uint32(from + base),
			ValLen:  uint32(to - from),
			NameLen: uint16(colon - line),
			ID:      id,
			Flags:   flags,
		})
		s.Line = end + 2
		if b[end] == '\n' { // a bare LF
			s.Line--
		}
	}
}

// scanField finds the colon and the CRLF of the field line at s.Line and checks each
// byte. For the empty line both are at s.Line. If the line isn't complete, s keeps the
// state, so that no byte is looked at twice, however the bytes arrive. An invalid byte is
// an error as soon as it arrives. If d is Lenient, the name may have spaces between two
// other bytes, and LF is accepted for CRLF.
func scanField(b []byte, s *msg.Scan, d Dialect) (colon, end int, err error) {
	line := s.Line
	i := max(line, s.Seen)
	if s.Seps == 0 {
		for i < len(b) && (bytesconv.Token[b[i]] || d.takesSpacedNames() && b[i] == ' ' && i > line) {
			i++
		}
		switch {
		case i == len(b):
			s.Seen = i
			return 0, 0, ErrPartial
		case i == line && b[i] == '\r':
			return line, line, lineEnd(b, i, s, ErrLineEnd)
		case b[i] != ':' || i == line || b[i-1] == ' ':
			return 0, 0, fieldNameError(b, i, line)
		}
		s.Sep[0], s.Seps = i, 1
		i++
	}
	i = skipText(b, i)
	if i == len(b) {
		s.Seen = i
		return 0, 0, ErrPartial
	}
	if b[i] != '\r' && !(d.takesBareLF() && b[i] == '\n') {
		return 0, 0, textError(b[i])
	}
	if err := lineEnd(b, i, s, ErrLineEnd); err != nil {
		return 0, 0, err
	}
	return s.Sep[0], i, nil
}

// lineEnd checks the CRLF, or the LF, at b[i]. If it is complete, lineEnd clears the
// state of the line in s.
func lineEnd(b []byte, i int, s *msg.Scan, bad *Error) error {
	if b[i] != '\n' {
		if i+1 == len(b) {
			s.Seen = i
			return ErrPartial
		}
		if b[i+1] != '\n' {
			return bad
		}
	}
	s.Seen, s.Seps = 0, 0
	return nil
}

// fieldNameError returns the error for b[i], which must not be in a name.
func fieldNameError(b []byte, i, line int) error {
	switch c := b[i]; {
	case c == '\n' || c == '\r':
		return ErrLineEnd
	case i == line && (c == ' ' || c == '\t'):
		return ErrFieldFold
	}
	return ErrFieldName
}

func textError(c byte) error {
	if c == '\n' {
		return ErrLineEnd
	}
	return ErrFieldValue
}
