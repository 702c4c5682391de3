package gale

import (
	"bytes"

	"github.com/galehttp/gale/internal/bytesconv"
	"github.com/galehttp/gale/internal/h1"
	"github.com/galehttp/gale/internal/msg"
)

// trailerBit tells whether a head may have a Trailer field; without one there
// are no trailer fields, which costs one test to know.
const trailerBit uint64 = 1 << msg.Trailer

// lateFields is the trailer section of a message: the fields that are declared
// in Trailer and were set or received. A field that was received in the head
// stays there, declared or not. The names that are declared are the value of the
// Trailer field in the head, in the form that appendTrailers makes.
type lateFields struct {
	f *msg.Fields // nil until there was a trailer field
}

func (l *lateFields) reset() {
	if l.f != nil {
		l.resetFields()
	}
}

//go:noinline so that reset is inlined
func (l *lateFields) resetFields() { l.f.Reset() }

func (l *lateFields) copyTo(dst *lateFields) {
	switch {
	case l.f != nil:
		l.f.CopyTo(dst.fields())
	case dst.f != nil:
		dst.f.Reset()
	}
}

func (l *lateFields) fields() *msg.Fields {
	if l.f == nil {
		l.f = new(msg.Fields)
	}
	return l.f
}

// section returns where a field called name is set: in the trailer section if
// it is declared, in the head otherwise.
func (l *lateFields) section(head *msg.Fields, name []byte, asIs bool) *msg.Fields {
	if isDeclared(declaredTrailers(head, asIs), name) {
		return l.fields()
	}
	return head
}

func (l *lateFields) peek(id msg.ID, name []byte) []byte {
	if l.f == nil {
		return nil
	}
	return peekField(l.f, id, name)
}

func (l *lateFields) appendValues(dst [][]byte, id msg.ID, name []byte) [][]byte {
	if l.f == nil {
		return dst
	}
	return appendValues(dst, l.f, id, name, false)
}

func (l *lateFields) del(id msg.ID, name []byte) {
	if l.f != nil {
		l.f.Del(id, name)
	}
}

// declare replaces the declared names by list. The fields that are declared
// now go to the trailer section, those that are no longer come back.
func (l *lateFields) declare(head *msg.Fields, list []byte, asIs bool) {
	before := declaredTrailers(head, asIs)
	for rest := before; len(rest) > 0; {
		var name []byte
		name, rest = nextElement(rest)
		if l.f != nil && !isDeclared(list, name) {
			moveFields(head, l.f, name, asIs)
		}
	}
	for rest := list; len(rest) > 0; {
		var name []byte
		name, rest = nextElement(rest)
		if !isDeclared(before, name) && head.FindName(name) >= 0 {
			moveFields(l.fields(), head, name, asIs)
		}
	}
	putTrailers(head, list)
}

// take adds a field to the trailer section, and declares it; what the head has
// under that name stays there.
func (l *lateFields) take(head *msg.Fields, name, value []byte, asIs bool) error {
	before := declaredTrailers(head, asIs)
	if !isDeclared(before, name) {
		var buf [128]byte
		list, err := appendTrailers(append(buf[:0], before...), name, asIs)
		if err != nil {
			return err
		}
		putTrailers(head, list)
	}
	l.fields().PutMore(msg.Lookup(name), name, value, asIs)
	return nil
}

// appendSection appends the trailer section with its empty line.
func (l *lateFields) appendSection(dst []byte, asIs bool) []byte {
	if l.f != nil {
		dst = appendFields(dst, l.f, 0, asIs)
	}
	return append(dst, "\r\n"...)
}

// moveFields moves all fields called name from one section to the end of the
// other.
func moveFields(to, from *msg.Fields, name []byte, asIs bool) {
	id := msg.Lookup(name)
	for i := from.FindName(name); i >= 0; i = from.Next(i) {
		to.PutMore(id, fieldName(from, i, asIs), from.Value(i), true)
	}
	from.Del(id, name)
}

// declaredTrailers returns the names of the trailer fields that are declared,
// separated by ", ", or nil. In a head that was received the list is brought
// into that form first; names that may not be trailer fields are dropped.
func declaredTrailers(f *msg.Fields, asIs bool) []byte {
	i := f.Find(msg.Trailer)
	if i < 0 {
		return nil
	}
	if f.Recs[i].Flags&msg.Wire == 0 {
		var list []byte
		for j := i; j >= 0; j = f.Next(j) {
			list, _ = appendTrailers(list, f.Value(j), asIs)
		}
		putTrailers(f, list)
		return f.Peek(msg.Trailer)
	}
	return f.Value(i)
}

// putTrailers stores a list that appendTrailers made.
func putTrailers(f *msg.Fields, list []byte) {
	if len(list) == 0 {
		f.Del(msg.Trailer, nil)
		return
	}
	f.Put(msg.Trailer, msg.Trailer.Name(), list, false)
}

// maxTrailers bounds the number of names that are declared, since a list of them
// is searched from its beginning.
const maxTrailers = 128

// appendTrailers appends those names of the comma-separated list that are not
// in dst to dst. It leaves out those that are no names, must not be in a trailer
// section (RFC 9110 section 6.5.1) or are more than maxTrailers, and then returns
// ErrBadTrailer.
func appendTrailers(dst, list []byte, asIs bool) ([]byte, error) {
	var err error
	count := bytes.Count(dst, []byte{','})
	for len(list) > 0 {
		var name []byte
		name, list = nextElement(list)
		if !bytesconv.IsToken(name) || h1.ForbiddenTrailer(name) {
			err = ErrBadTrailer
			continue
		}
		if isDeclared(dst, name) {
			continue
		}
		if count++; count > maxTrailers {
			return dst, ErrBadTrailer
		}
		if len(dst) > 0 {
			dst = append(dst, ", "...)
		}
		if asIs {
			dst = append(dst, name...)
		} else {
			dst = bytesconv.AppendCanonicalName(dst, name)
		}
	}
	return dst, err
}

// isDeclared reports whether name is in a list that appendTrailers made.
func isDeclared(list, name []byte) bool {
	for len(list) > 0 {
		var elem []byte
		elem, list = nextElement(list)
		if bytesconv.EqualFold(elem, name) {
			return true
		}
	}
	return false
}

// nextElement cuts the first element off a comma-separated list (RFC 9110
// section 5.6.1). Empty elements come too.
func nextElement(list []byte) (elem, rest []byte) {
	elem, rest, _ = bytes.Cut(list, []byte{','})
	return bytes.Trim(elem, " \t"), rest
}
