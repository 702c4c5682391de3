package msg

import "github.com/galehttp/gale/internal/bytesconv"

// Has reports whether there is a field with the known name id.
func (f *Fields) Has(id ID) bool { return f.seen&(1<<id) != 0 && f.Find(id) >= 0 }

// Find returns the index of the first field with the known name id, or -1.
func (f *Fields) Find(id ID) int {
	if f.seen&(1<<id) == 0 {
		return -1
	}
	if i := int(f.first[id]); f.Recs[i].Flags&Dead == 0 {
		return i
	}
	return f.findSlow(id)
}

func (f *Fields) findSlow(id ID) int {
	for i := int(f.first[id]); i < len(f.Recs); i++ {
		if r := &f.Recs[i]; r.ID == id && r.Flags&Dead == 0 {
			f.first[id] = uint16(i)
			return i
		}
	}
	f.seen &^= 1 << id
	return -1
}

// Peek returns the value of the first field with the known name id, or nil.
func (f *Fields) Peek(id ID) []byte {
	if i := f.Find(id); i >= 0 {
		return f.Value(i)
	}
	f.Use()
	return nil
}

// FindName returns the index of the first field called name, or -1. Case is
// ignored (RFC 9110 section 5.1).
func (f *Fields) FindName(name []byte) int {
	if id := Lookup(name); id != Unknown {
		return f.Find(id)
	}
	return f.findUnknown(name, 0)
}

// FindID is FindName for a caller that knows that id is Lookup(name).
func (f *Fields) FindID(id ID, name []byte) int {
	if id != Unknown {
		return f.Find(id)
	}
	return f.findUnknown(name, 0)
}

// findUnknown compares the last eight bytes first, because unknown names often have the
// same beginning.
func (f *Fields) findUnknown(name []byte, from int) int {
	n := len(name)
	if n < 8 {
		return f.findShort(name, from)
	}
	tail := wordAt(name, n-8) | spaces
	for i := from; i < len(f.Recs); i++ {
		r := &f.Recs[i]
		if int(r.NameLen) != n || r.ID != Unknown || r.Flags&Dead != 0 {
			continue
		}
		raw := f.Buf[r.NameOff : int(r.NameOff)+n]
		if wordAt(raw, n-8)|spaces == tail && (string(raw) == string(name) || bytesconv.EqualFold(raw, name)) {
			return i
		}
	}
	return -1
}

func (f *Fields) findShort(name []byte, from int) int {
	for i := from; i < len(f.Recs); i++ {
		r := &f.Recs[i]
		if int(r.NameLen) == len(name) && r.ID == Unknown && r.Flags&Dead == 0 &&
			bytesconv.EqualFold(f.RawName(i), name) {
			return i
		}
	}
	return -1
}

// Next returns the index of the next field with the name of field i, or -1.
func (f *Fields) Next(i int) int {
	id := f.Recs[i].ID
	if id == Unknown {
		return f.findUnknown(f.RawName(i), i+1)
	}
	for i++; i < len(f.Recs); i++ {
		if r := &f.Recs[i]; r.ID == id && r.Flags&Dead == 0 {
			return i
		}
	}
	return -1
}

// Before returns the index of the last field before index i with the known name id or, if
// that is Unknown, with name, or -1. Case is ignored.
func (f *Fields) Before(i int, id ID, name []byte) int {
	for i--; i >= 0; i-- {
		r := &f.Recs[i]
		if r.ID == id && r.Flags&Dead == 0 && (id != Unknown || int(r.NameLen) == len(name) && bytesconv.EqualFold(f.RawName(i), name)) {
			return i
		}
	}
	return -1
}
