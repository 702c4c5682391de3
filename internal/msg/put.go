package msg

import (
	"github.com/galehttp/gale/internal/bytesconv"
	"github.com/galehttp/gale/internal/lifetime"
)

// The functions in this file accept untrusted names and values. They always write exactly
// one field line to the arena: a name that is not a token (RFC 9110 section 5.6.2) is
// refused, and control characters in a value become spaces (RFC 9110 section 5.5). So
// fields that only they have built need no check when they are written.

// Put sets the field called name to value. It replaces the first field of that name and
// deletes the others, or appends a field if there is none. id is Lookup(name). The name
// is written as spelling says.
//
// It does nothing and returns false if name is not a token or is too long, or if there
// are MaxFields fields.
func (f *Fields) Put(id ID, name, value []byte, spelling Spelling) bool {
	// The first field of a name, which is the common case, has a straight path that takes
	// half of the time.
	i, off := len(f.Recs), len(f.Buf)
	val := off + len(name) + 2
	end := val + len(value) + 2
	if spelling == AsGiven || i == cap(f.Recs) || i >= MaxFields || end > cap(f.Buf) || f.waste >= wasteful {
		return f.put(id, name, value, spelling)
	}
	buf := f.Buf[:end]
	if bit := uint64(1) << id; id != Unknown {
		if f.seen&bit != 0 {
			return f.put(id, name, value, Normalized)
		}
		copy(buf[off:], names[id])
		f.seen |= bit
		f.first[id] = uint16(i)
	} else {
		if len(name) == 0 || f.maybe&nameBit(name) != 0 || len(name) > MaxNameLen {
			return f.put(id, name, value, Normalized)
		}
		if !bytesconv.CopyCanonicalName(buf[off:], name) {
			f.last = 0
			return false
		}
		f.maybe |= nameBit(name)
	}
	buf[val-2], buf[val-1] = ':', ' '
	bytesconv.CopyText(buf[val:end-2], value)
	buf[end-2], buf[end-1] = '\r', '\n'
	f.Buf = buf
	f.Recs = f.Recs[:i+1]
	f.Recs[i].setLine(id, off, len(name), len(value))
	if f.puts == i {
		f.puts++
	}
	return true
}

// PutAgain is a faster Put for a field that had the same place before the last Reset.
// That is common, because responses are often similar to the last one. With i :=
// len(Recs), record i had that name then, in the usual spelling. Its line is still in
// memory, so PutAgain need not look up, check and copy the name, nor the value if it is
// the same. It takes half of the time of Put.
//
// It does nothing and returns false if record i isn't known (see Fields.last) or is
// another field, if there is already a field of that name, or if the bit 1<<id is set in
// except.
func (f *Fields) PutAgain(name, value []byte, except uint64) bool {
	i, off := len(f.Recs), len(f.Buf)
	if i >= f.last || f.puts != i {
		return false
	}
	// i < last; if r.NameOff == len(Buf) as well, the line of r is in Buf[off:cap].
	r := &f.Recs[:i+1][i]
	val := off + len(name) + 2
	end := val + len(value) + 2
	if int(r.NameOff) != off || int(r.NameLen) != len(name) || end > cap(f.Buf) {
		return false
	}
	buf := f.Buf[:end]
	if string(buf[off:val-2]) != string(name) {
		return false
	}
	if bit := uint64(1) << r.ID; r.ID != Unknown {
		if (f.seen|except)&bit != 0 {
			return false
		}
		f.seen |= bit
		f.first[r.ID] = uint16(i)
	} else {
		bit = nameBit(name)
		if f.maybe&bit != 0 {
			return false
		}
		f.maybe |= bit
	}
	if int(r.ValLen) != len(value) || string(buf[val:end-2]) != string(value) {
		bytesconv.CopyText(buf[val:end-2], value)
		buf[end-2], buf[end-1] = '\r', '\n'
		r.ValLen = uint32(len(value))
	} // otherwise the line hasn't changed, and its value was cleaned before
	f.Buf = buf
	f.Recs = f.Recs[:i+1]
	f.puts++
	return true
}

// put is Put for every field.
func (f *Fields) put(id ID, name, value []byte, spelling Spelling) bool {
	off, ok := f.putLine(id, name, value, spelling)
	if !ok {
		return false
	}
	i := -1
	if id != Unknown {
		i = f.Find(id)
	} else if bit := nameBit(name); f.maybe&bit != 0 {
		i = f.findUnknown(name, 0)
	} else {
		f.maybe |= bit
	}
	if i < 0 {
		return f.pushLine(id, off, len(name), len(value), spelling)
	}
	for j := f.Next(i); j >= 0; j = f.Next(j) {
		f.kill(j)
	}
	r := &f.Recs[i]
	if r.Flags&Wire != 0 && int(r.end()) == off {
		// The last line is replaced in place, so that setting one field again and again
		// doesn't make the arena grow.
		to := int(r.NameOff)
		f.Buf = f.Buf[:to+copy(f.Buf[to:], f.Buf[off:])]
		off = to
	} else {
		f.waste += int(r.ValLen) + int(r.NameLen) + 4
	}
	r.setLine(id, off, len(name), len(value))
	if spelling == AsGiven {
		r.Flags |= AsIs
		f.puts = 0 // PutAgain can't use the line
	}
	f.compact()
	return true
}

// PutMore is Put, but always appends a field, even if there are others of that name.
func (f *Fields) PutMore(id ID, name, value []byte, spelling Spelling) bool {
	off, ok := f.putLine(id, name, value, spelling)
	if !ok {
		return false
	}
	if id == Unknown {
		f.maybe |= nameBit(name)
	}
	return f.pushLine(id, off, len(name), len(value), spelling)
}

// nameBit maps a name, whatever its case, to one of 64 bits.
func nameBit(name []byte) uint64 {
	n := len(name)
	return 1 << ((uint(name[n-1]|0x20) + uint(name[n/2]|0x20)*5 + uint(n)*11) & 63)
}

// putLine checks the name, cleans the value, and writes the line to the arena at off.
func (f *Fields) putLine(id ID, name, value []byte, spelling Spelling) (off int, ok bool) {
	if f.waste >= wasteful {
		f.compact()
	}
	off = len(f.Buf)
	val := off + len(name) + 2
	end := val + len(value) + 2
	buf := f.Buf
	if end > cap(buf) {
		buf = lifetime.Grow(f.Loan, buf, end-off)
	}
	buf = buf[:end]
	f.last = 0
	switch {
	case spelling == AsGiven:
		copy(buf[off:], name)
		if len(name) > MaxNameLen || id == Unknown && !bytesconv.IsToken(name) {
			return 0, false
		}
	case id != Unknown:
		copy(buf[off:], names[id])
	case len(name) > MaxNameLen || !bytesconv.CopyCanonicalName(buf[off:], name):
		return 0, false
	}
	buf[val-2], buf[val-1] = ':', ' '
	bytesconv.CopyText(buf[val:end-2], value)
	buf[end-2], buf[end-1] = '\r', '\n'
	f.Buf = buf
	return off, true
}

// pushLine appends a record for the line at off, or removes the line if there are
// MaxFields records.
func (f *Fields) pushLine(id ID, off, name, value int, spelling Spelling) bool {
	i := len(f.Recs)
	if i >= MaxFields {
		f.Buf = f.Buf[:off]
		return false
	}
	f.Recs = append(f.Recs, Field{})
	f.Recs[i].setLine(id, off, name, value)
	if spelling == AsGiven {
		f.Recs[i].Flags |= AsIs
	}
	f.note(id, i)
	return true
}

// setLine sets r to the record of a line at off, in place: a record built on the stack
// and then copied would stall the processor.
func (r *Field) setLine(id ID, off, name, value int) {
	r.NameOff, r.NameLen = uint32(off), uint16(name)
	r.ValOff, r.ValLen = uint32(off+name+2), uint32(value)
	r.ID, r.Flags = id, Wire|Canonical
}
