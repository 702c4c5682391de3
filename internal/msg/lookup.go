package msg

import "github.com/galehttp/gale/internal/lifetime"

// Getters that both requests and responses use.

// PeekID returns the value of the first field called name, whose id is
// Lookup(name), or nil.
func (f *Fields) PeekID(id ID, name []byte) []byte {
	if i := f.FindID(id, name); i >= 0 {
		return f.Value(i)
	}
	f.Use()
	return nil
}

// PeekExact is PeekID for a field with an unknown name that is spelled exactly like name.
func (f *Fields) PeekExact(name []byte) []byte {
	for i := f.FindID(Unknown, name); i >= 0; i = f.Next(i) {
		if string(f.RawName(i)) == string(name) {
			return f.Value(i)
		}
	}
	f.Use()
	return nil
}

// JoinValues returns the value of field i. If later fields have the same name, it joins
// all values in *buf, separated by sep, and returns that.
func (f *Fields) JoinValues(buf *[]byte, i int, sep string) []byte {
	if f.Next(i) < 0 {
		return f.Value(i)
	}
	*buf = lifetime.Kept(f.Loan, *buf, f.AppendJoined((*buf)[:0], i, sep))
	return *buf
}

// AppendJoined appends the values of field i and all later ones of its name,
// separated by sep. Fields whose value is a list mean the same joined by commas, in
// this order (RFC 9110 section 5.3).
func (f *Fields) AppendJoined(dst []byte, i int, sep string) []byte {
	dst = append(dst, f.Value(i)...)
	for i = f.Next(i); i >= 0; i = f.Next(i) {
		dst = append(dst, sep...)
		dst = append(dst, f.Value(i)...)
	}
	return dst
}

// AppendValues appends the values of all fields called name to dst.
func (f *Fields) AppendValues(dst [][]byte, id ID, name []byte) [][]byte {
	for i := f.FindID(id, name); i >= 0; i = f.Next(i) {
		dst = append(dst, f.Value(i))
	}
	return dst
}

// AppendFilled is AppendValues without empty values.
func (f *Fields) AppendFilled(dst [][]byte, id ID, name []byte) [][]byte {
	for i := f.FindID(id, name); i >= 0; i = f.Next(i) {
		if v := f.Value(i); len(v) > 0 {
			dst = append(dst, v)
		}
	}
	return dst
}

// NameAs returns the name of field i as it is shown and written.
func (f *Fields) NameAs(i int, spelling Spelling) []byte {
	if spelling == AsGiven {
		return f.RawName(i)
	}
	return f.Name(i)
}

// Visit calls yield for the fields in order, except those with an id whose bit
// 1<<id is set in skip. It returns false if yield did.
func (f *Fields) Visit(skip uint64, spelling Spelling, yield func(name, value []byte) bool) bool {
	for i := 0; i < len(f.Recs); i++ {
		if !f.hidden(i, skip) && !yield(f.NameAs(i, spelling), f.Value(i)) {
			return false
		}
	}
	return true
}

// hidden reports whether field i is deleted or in skip. Unknown names have the
// bit 0, which is in no skip.
func (f *Fields) hidden(i int, skip uint64) bool {
	r := &f.Recs[i]
	return r.Flags&Dead != 0 || skip&(1<<r.ID) != 0
}

// AppendLines appends the lines "Name: value\r\n" of the fields in order, except
// those that are Unsent or have an id whose bit 1<<id is set in skip.
func (f *Fields) AppendLines(dst []byte, skip uint64, spelling Spelling) []byte {
	if spelling == Normalized {
		return f.AppendWire(dst, skip)
	}
	for i := range f.Recs {
		if f.Recs[i].Flags&Unsent == 0 && !f.hidden(i, skip) {
			dst = append(dst, f.RawName(i)...)
			dst = append(dst, ": "...)
			dst = append(dst, f.Value(i)...)
			dst = append(dst, "\r\n"...)
		}
	}
	return dst
}
