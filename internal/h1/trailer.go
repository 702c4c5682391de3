package h1

import (
	"github.com/galehttp/gale/internal/head"
	"github.com/galehttp/gale/internal/msg"
	"github.com/galehttp/gale/internal/pool"
)

// ParseTrailers parses a trailer section with its final empty line (RFC 9112 section
// 7.1.2) from the front of b and appends its fields to f. It returns the number of bytes
// consumed. If the section isn't complete, the error is ErrPartial. A field that is
// forbidden in a trailer section (see head.ForbiddenTrailer) is an *Error, and so is
// everything that would be an error in a head. After an error f is unchanged. lim.Head
// limits the section in bytes.
func ParseTrailers(b []byte, f *msg.Fields, lim *Limits) (n int, err error) {
	var t trailerScan
	defer t.drop()
	n, done, err := t.next(b, f, lim)
	if err == nil && !done {
		err = ErrPartial
	}
	if err != nil {
		return 0, err
	}
	return n, nil
}

// trailerScan reads a trailer section line by line. It keeps the fields in part until the
// section is complete.
type trailerScan struct {
	scan  msg.Scan
	bytes int         // consumed so far
	part  *msg.Fields // nil before the first line
}

var trailerParts = pool.Pool{New: func() any { return new(msg.Fields) }}

// drop discards the section.
func (t *trailerScan) drop() {
	if t.part != nil {
		t.part.Reset()
		trailerParts.Put(t.part)
	}
	*t = trailerScan{}
}

// next consumes the complete lines at the front of b, n bytes in total. After the empty
// line, done is true, and all fields were appended to f, unless f is nil.
func (t *trailerScan) next(b []byte, f *msg.Fields, lim *Limits) (n int, done bool, err error) {
	if t.part == nil {
		t.part = trailerParts.Get().(*msg.Fields)
	}
	n, done, err = t.lines(b, lim)
	if err == nil && done && f != nil && !f.Append(t.part) {
		err = ErrTooManyFields
	}
	if err != nil {
		t.drop()
		return 0, false, err
	}
	if done {
		t.drop()
	}
	return n, done, nil
}

// lines is next without f.
func (t *trailerScan) lines(b []byte, lim *Limits) (n int, done bool, err error) {
	room := lim.head() - t.bytes
	if len(b) > room {
		b = b[:room]
	}
	f := t.part
	before := len(f.Recs)
	d := Strict
	if lim.dialect().takesFolding() {
		d = Folding
	}
	err = parseFields(b, &t.scan, len(f.Buf), f, lim.fields(), d)
	n = t.scan.Line
	switch err {
	case nil:
		done = true
	case ErrPartial:
		if len(b) == room {
			return 0, false, ErrHeadTooLong
		}
	default:
		return 0, false, err
	}
	f.Grow(n)
	f.Buf = append(f.Buf, b[:n]...)
	for i := before; i < len(f.Recs); i++ {
		if head.ForbiddenTrailer(f.RawName(i)) {
			return 0, false, ErrTrailer
		}
	}
	if done && d == Folding {
		f.Unfold()
	}
	t.bytes += n
	t.scan.Line = 0
	if t.scan.Seen > 0 {
		t.scan.Seen -= n
		t.scan.Sep[0] -= n
	}
	return n, done, nil
}
