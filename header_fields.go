package gale

import (
	"bytes"

	"github.com/galehttp/gale/internal/bytesconv"
	"github.com/galehttp/gale/internal/h1"
	"github.com/galehttp/gale/internal/msg"
)

// What request and response headers do alike with their fields.

var (
	strChunked  = []byte("chunked")
	strClose    = []byte("close")
	strGet      = []byte("GET")
	strSlash    = []byte("/")
	strHTTP11   = []byte("HTTP/1.1")
	strTextType = []byte("text/plain; charset=utf-8")
)

func peekField(f *msg.Fields, id msg.ID, key []byte) []byte {
	if i := f.FindID(id, key); i >= 0 {
		return f.Value(i)
	}
	return nil
}

// appendValues appends the values of all fields with the name to dst.
func appendValues(dst [][]byte, f *msg.Fields, id msg.ID, key []byte) [][]byte {
	for i := f.FindID(id, key); i >= 0; i = f.Next(i) {
		dst = append(dst, f.Value(i))
	}
	return dst
}

// fieldName returns the name of field i as it is shown and written.
func fieldName(f *msg.Fields, i int, asIs bool) []byte {
	if asIs {
		return f.RawName(i)
	}
	return f.Name(i)
}

// isClose reports whether the value of a Connection field is just "close".
func isClose(value []byte) bool {
	return bytesconv.EqualFoldString(bytes.Trim(value, " \t"), "close")
}

// isTen reports whether the head was received as HTTP/1.0, where connections
// close unless somebody asks to keep them alive (RFC 9112 section 9.3).
func isTen(f *msg.Fields) bool {
	return f.Parts[msg.Raw].Len > 0 && string(f.Part(msg.Proto)) == "HTTP/1.0"
}

// expectation is what the Expect fields ask for (RFC 9110 section 10.1.1).
func expectation(f *msg.Fields) msg.Expectation {
	e := msg.ExpectNone
	for i := f.Find(msg.Expect); i >= 0; i = f.Next(i) {
		if !bytesconv.EqualFoldString(f.Value(i), "100-continue") {
			return msg.ExpectOther
		}
		e = msg.ExpectContinue
	}
	return e
}

// setProtocol sets the version of a start line:
//
//	HTTP-version = HTTP-name "/" DIGIT "." DIGIT     RFC 9112 section 2.3
//
// Other protocols of that form pass; what can't stand in a start line is
// refused. An empty version means HTTP/1.1.
func setProtocol(f *msg.Fields, minor *uint8, v []byte) {
	name, number, ok := bytes.Cut(v, []byte{'/'})
	if len(v) > 0 && (!bytesconv.IsToken(name) || ok && !bytesconv.IsToken(number)) {
		return
	}
	f.SetPart(msg.Proto, v)
	*minor = 1
	if string(v) == "HTTP/1.0" {
		*minor = 0
	}
}

// nextElement cuts the first element off a comma-separated list (RFC 9110
// section 5.6.1). Empty elements come too.
func nextElement(list []byte) (elem, rest []byte) {
	elem, rest, _ = bytes.Cut(list, []byte{','})
	return bytes.Trim(elem, " \t"), rest
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

// appendTrailers appends those names of the comma-separated list that are not
// in dst to dst. It leaves out those that are no names or must not be in
// a trailer section (RFC 9110 section 6.5.1), and then returns ErrBadTrailer.
func appendTrailers(dst, list []byte, asIs bool) ([]byte, error) {
	var err error
	for more := len(list) > 0; more; more = len(list) > 0 {
		var name []byte
		name, list = nextElement(list)
		if !bytesconv.IsToken(name) || h1.ForbiddenTrailer(name) {
			err = ErrBadTrailer
			continue
		}
		if isDeclared(dst, name) {
			continue
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

// visitTrailers calls yield for the names in such a list, until it returns
// false.
func visitTrailers(list []byte, yield func([]byte) bool) {
	for len(list) > 0 {
		var elem []byte
		elem, list = nextElement(list)
		if !yield(elem) {
			return
		}
	}
}

// appendTrailerSection appends the trailer section with its empty line: one
// line for each field that is declared.
func appendTrailerSection(dst []byte, f *msg.Fields, asIs bool) []byte {
	if list := declaredTrailers(f, asIs); list != nil {
		for len(list) > 0 {
			var elem []byte
			elem, list = nextElement(list)
			for i := f.FindName(elem); i >= 0; i = f.Next(i) {
				dst = appendField(dst, f, i, asIs)
			}
		}
	}
	return append(dst, "\r\n"...)
}

// appendField appends the line of field i.
func appendField(dst []byte, f *msg.Fields, i int, asIs bool) []byte {
	dst = append(dst, fieldName(f, i, asIs)...)
	dst = append(dst, ": "...)
	dst = append(dst, f.Value(i)...)
	return append(dst, "\r\n"...)
}

// appendFields appends the fields in order, but those whose bit 1<<id is set
// in skip and those that are declared as trailer fields.
func appendFields(dst []byte, f *msg.Fields, skip uint64, asIs bool) []byte {
	trailers := declaredTrailers(f, asIs)
	if !asIs && trailers == nil {
		return f.AppendWire(dst, skip)
	}
	for i := range f.Recs {
		if !hidden(f, i, skip, trailers) {
			dst = appendField(dst, f, i, asIs)
		}
	}
	return dst
}

// hidden reports whether field i is deleted, in skip, or declared as a trailer
// field.
func hidden(f *msg.Fields, i int, skip uint64, trailers []byte) bool {
	r := &f.Recs[i]
	return r.Flags&msg.Dead != 0 || skip&(1<<r.ID) != 0 || trailers != nil && isDeclared(trailers, f.RawName(i))
}

// visitFields calls yield for the fields that appendFields would append. It
// returns false if yield did.
func visitFields(f *msg.Fields, skip uint64, asIs bool, yield func(k, v []byte) bool) bool {
	trailers := declaredTrailers(f, asIs)
	for i := 0; i < len(f.Recs); i++ {
		if hidden(f, i, skip, trailers) {
			continue
		}
		if !yield(fieldName(f, i, asIs), f.Value(i)) {
			return false
		}
	}
	return true
}
