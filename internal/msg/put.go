package msg

import (
	"bytes"
	"slices"

	"github.com/galehttp/gale/internal/bytesconv"
)

// The functions in this file take names and values from anywhere. What they
// write to the arena is one field line whatever they are given: a name is a
// token or refused, and control characters in a value become spaces. Fields
// that are built by them alone can't break out of their line, which is
// why serialising checks nothing again.

// Put gives the field called name the value: it replaces the first field of
// that name and deletes the others, or appends one. id is Lookup(name). The name is
// written in its customary spelling or, with asIs, as it is given.
//
// It reports false, and does nothing, if name is no token or too long or
// there are MaxFields fields.
func (f *Fields) Put(id ID, name, value []byte, asIs bool) bool {
	n := len(f.Buf)
	r, ok := f.put(id, name, value, asIs)
	if !ok {
		return false
	}
	var i int
	if id != Unknown {
		i = f.Find(id)
	} else {
		i = f.findSpelled(f.Buf[r.NameOff : r.NameOff+uint32(r.NameLen)])
	}
	if i < 0 {
		if f.Push(r) {
			return true
		}
		f.Buf = f.Buf[:n]
		return false
	}
	for j := f.Next(i); j >= 0; j = f.Next(j) {
		f.kill(j)
	}
	old := &f.Recs[i]
	f.waste += int(old.ValLen) + int(old.NameLen) + 4
	*old = r
	f.compact()
	return true
}

// PutMore is Put, but appends a field however many of the name there are.
func (f *Fields) PutMore(id ID, name, value []byte, asIs bool) bool {
	n := len(f.Buf)
	r, ok := f.put(id, name, value, asIs)
	if ok && f.Push(r) {
		return true
	}
	f.Buf = f.Buf[:n]
	return false
}

// put writes a line to the arena; the name is checked, and the value cleaned.
func (f *Fields) put(id ID, name, value []byte, asIs bool) (r Field, ok bool) {
	off := len(f.Buf)
	val := off + len(name) + 2
	end := val + len(value) + 2
	buf := f.Buf
	if end > cap(buf) {
		buf = slices.Grow(buf, end-off)
	}
	buf = buf[:end]
	switch {
	case asIs:
		copy(buf[off:], name)
		if len(name) > MaxNameLen || id == Unknown && !bytesconv.IsToken(name) {
			return r, false
		}
	case id != Unknown:
		copy(buf[off:], names[id])
	case len(name) > MaxNameLen || !bytesconv.CopyCanonicalName(buf[off:], name):
		return r, false
	}
	buf[val-2], buf[val-1] = ':', ' '
	copy(buf[val:], value)
	bytesconv.NeutralizeText(buf[val : end-2])
	buf[end-2], buf[end-1] = '\r', '\n'
	f.Buf = buf
	return Field{
		NameOff: uint32(off), NameLen: uint16(len(name)),
		ValOff: uint32(val), ValLen: uint32(len(value)),
		ID: id, Flags: Wire | Canonical,
	}, true
}

// findSpelled is findUnknown for a name that was just spelled: most others
// were spelled in the same way, so comparing the bytes comes first.
func (f *Fields) findSpelled(name []byte) int {
	for i := range f.Recs {
		r := &f.Recs[i]
		if int(r.NameLen) != len(name) || r.ID != Unknown || r.Flags&Dead != 0 {
			continue
		}
		if raw := f.RawName(i); bytes.Equal(raw, name) || bytesconv.EqualFold(raw, name) {
			return i
		}
	}
	return -1
}
