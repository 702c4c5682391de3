package msg

import (
	"github.com/galehttp/gale/internal/bytesconv"
	"github.com/galehttp/gale/internal/lifetime"
)

// Span is a range of the arena.
type Span struct{ Off, Len uint32 }

// Flags of a Field.
const (
	// Dead marks a deleted field: skip it.
	Dead uint8 = 1 << iota
	// Wire says that the arena has exactly "Name: value\r\n" from NameOff on, with the
	// name spelled as it will be sent.
	Wire
	// Canonical says that the name is spelled as it will be shown. Parsed names that are
	// not known ones don't have the flag before the first call of Name.
	Canonical
	// AsIs says that the name of a known field may have another spelling than the usual
	// one.
	AsIs
	// Unsent marks a field that was received with a name that is not a token (RFC 9110
	// section 5.6.2). It can be found, but is never written.
	Unsent
	// Folded marks a field whose value still has the line ends and the whitespace of
	// several lines (obs-fold, RFC 9112 section 5.2); see Unfold. Only the parser sees
	// such fields.
	Folded
)

// Spelling says how the name of a field is written.
type Spelling uint8

// The spellings.
const (
	Normalized Spelling = iota // "Foo-Bar" for "foo-BAR"
	AsGiven                    // as received or as passed to a setter
)

// Field is one field line as offsets into Fields.Buf.
type Field struct {
	NameOff uint32
	ValOff  uint32
	ValLen  uint32
	NameLen uint16
	ID      ID
	Flags   uint8
}

// end returns the offset after the CRLF of a field with the flag Wire.
func (r *Field) end() uint32 { return r.ValOff + r.ValLen + 2 }

// Fields is a field section (RFC 9110 section 5): field lines in order; several may have
// the same name. The zero value is empty and ready for use.
//
// The slices that methods return point into Buf and are valid until Reset, even when Buf
// grows or is compacted. They must not be changed. Fields has no lock: one goroutine owns
// it.
type Fields struct {
	// Buf is the arena. Only append to it.
	Buf []byte
	// Recs are the fields in order, including tombstones.
	Recs []Field
	// Parts are the parts of a head that are not fields, by the constants Method to Raw.
	Parts [numParts]Span
	// seen has bit 1<<id set if Recs may have a field with that known id; first[id] is
	// then the index of the first such record that was added.
	seen  uint64
	first [numIDs]uint16
	// maybe has bit nameBit(name) set if Recs may have a field with that name, which has
	// no id. So setting a new field need not look at all others.
	maybe uint64
	// dead is the number of tombstones. waste is the number of bytes of the arena that no
	// record uses anymore because a value was replaced or deleted.
	dead  int
	waste int
	// The state of PutAgain. With recs := Recs[:last] and line(r) :=
	// Buf[:cap(Buf)][r.NameOff:r.end()]:
	//
	//	puts == len(Recs)  <=>  Put and PutAgain made all records, each with a line of its own
	//	last == puts before Reset, or 0 if any of what follows would be false
	//	for i in len(Recs)..last-1:
	//	    line(recs[i]) == "Name: value\r\n", as Put wrote it, unless recs[i].NameOff < len(Buf)
	//
	// The arena is only appended to. So recs[i] with i == len(Recs) describes the
	// bytes that a new line would overwrite iff i < last and recs[i].NameOff == len(Buf).
	puts, last int
	// Loan is what the fields belong to while they are lent, else nil; see Lend.
	Loan *lifetime.Loan
}

// MaxFields is the highest number of records in Fields; the limits that h1 enforces are
// far lower.
const MaxFields = 1<<16 - 1

// MaxNameLen is the length of the longest possible field name.
const MaxNameLen = 1<<16 - 1

// Reset empties f. It keeps the memory, unless that is more than an ordinary head needs.
func (f *Fields) Reset() {
	const keepBuf, keepRecs = 16 << 10, 256
	f.last = 0
	if f.puts == len(f.Recs) && f.dead|f.waste == 0 {
		f.last = f.puts
	}
	f.puts = 0
	f.Buf = f.Buf[:0]
	f.Recs = f.Recs[:0]
	if cap(f.Buf) > keepBuf {
		f.Buf, f.last = nil, 0
	}
	if cap(f.Recs) > keepRecs {
		f.Recs, f.last = nil, 0
	}
	f.Parts = [numParts]Span{}
	f.seen, f.maybe, f.dead, f.waste = 0, 0, 0, 0
}

// The parts of a head that are not fields.
const (
	Method    = iota // of a request
	Target           // of a request
	Authority        // of a request whose target was received in a form with an authority; it overrides Host
	Proto            // the version as it was received or set; empty means HTTP/1.1
	Reason           // of a response; empty means the usual one
	Raw              // the block of field lines as received, with the empty line
	numParts
)

// Part returns a part of the head.
func (f *Fields) Part(k int) []byte { return f.Bytes(f.Parts[k]) }

// PartAndMore is Part with what follows in the arena as its capacity, for code that reads whole words. Don't append to it.
func (f *Fields) PartAndMore(k int) []byte {
	s := f.Parts[k]
	return f.Buf[s.Off : s.Off+s.Len]
}

// SetPart replaces a part of the head, in place if it fits. So if a target is set for
// each request, the lines stay at the offsets at which PutAgain looks for them.
func (f *Fields) SetPart(k int, b []byte) {
	if p := &f.Parts[k]; p.Len > 0 && len(b) <= int(p.Len) {
		if len(b) == 0 {
			f.waste += int(p.Len) // Lines must know that there are other bytes between lines
		}
		p.Len = uint32(copy(f.Buf[p.Off:], b))
		return
	}
	if f.Loan != nil && f.Loan.Over() {
		f.Loan.Use()
		return
	}
	f.waste += int(f.Parts[k].Len)
	f.Parts[k] = f.Store(b)
	f.compact()
}

// Len returns the number of fields.
func (f *Fields) Len() int { return len(f.Recs) - f.dead }

// Bytes returns the bytes of a span.
func (f *Fields) Bytes(s Span) []byte { return f.Buf[s.Off : s.Off+s.Len : s.Off+s.Len] }

// Store appends b to the arena and returns its span. For an empty b that is the zero
// Span, because the arena may become shorter when a line is replaced.
func (f *Fields) Store(b []byte) Span {
	if len(b) == 0 {
		return Span{}
	}
	s := Span{uint32(len(f.Buf)), uint32(len(b))}
	if cap(f.Buf)-len(f.Buf) < len(b) {
		f.Grow(len(b))
	}
	f.Buf = append(f.Buf, b...)
	return s
}

// Push adds a record whose bytes are already in the arena. The parser uses it. It returns
// false if there are MaxFields records.
func (f *Fields) Push(r Field) bool {
	i := len(f.Recs)
	if i >= MaxFields {
		return false
	}
	f.Recs = append(f.Recs, r)
	f.note(r.ID, i)
	f.maybe = ^uint64(0) // the name may not be in the arena yet
	return true
}

// Append appends the fields of from, which has no parts. If there would be more than
// MaxFields, it does nothing and returns false.
func (f *Fields) Append(from *Fields) bool {
	if len(f.Recs)+len(from.Recs) > MaxFields {
		return false
	}
	base, first := uint32(len(f.Buf)), len(f.Recs)
	f.Grow(len(from.Buf))
	f.Buf = append(f.Buf, from.Buf...)
	f.Recs = append(f.Recs, from.Recs...)
	for i := first; i < len(f.Recs); i++ {
		r := &f.Recs[i]
		r.NameOff += base
		r.ValOff += base
		f.note(r.ID, i)
	}
	f.maybe = ^uint64(0)
	f.dead += from.dead
	f.waste += from.waste + 2 // for Lines: a received section has an empty line
	f.last = 0
	return true
}

// Adopt sets f.Recs to recs, which is f.Recs with records appended by the parser, at most
// MaxFields. It returns the bit 1<<id for each known id of a new record that another
// record already has.
func (f *Fields) Adopt(recs []Field) (dups uint64) {
	seen := f.seen
	for i := len(f.Recs); i < len(recs); i++ {
		id := recs[i].ID & 63
		bit := uint64(1) << id
		if seen&bit == 0 {
			f.first[id] = uint16(i)
		}
		dups |= seen & bit
		seen |= bit
	}
	f.Recs, f.seen, f.maybe = recs, seen&^1, ^uint64(0)
	return dups &^ 1
}

// note adds record i to the index.
func (f *Fields) note(id ID, i int) {
	if bit := uint64(1) << id; id != Unknown && f.seen&bit == 0 {
		f.seen |= bit
		f.first[id] = uint16(i)
	}
}

// RawName returns the name of field i as it was received or set.
func (f *Fields) RawName(i int) []byte {
	r := &f.Recs[i]
	return f.Buf[r.NameOff : r.NameOff+uint32(r.NameLen) : r.NameOff+uint32(r.NameLen)]
}

// Name returns the name of field i in canonical spelling. For a parsed field with an
// unknown name, the first call appends that spelling to the arena.
func (f *Fields) Name(i int) []byte {
	r := &f.Recs[i]
	if r.Flags&Canonical == 0 {
		if r.ID != Unknown {
			return r.ID.Name()
		}
		f.canonicalise(i)
		r = &f.Recs[i]
	}
	return f.Buf[r.NameOff : r.NameOff+uint32(r.NameLen) : r.NameOff+uint32(r.NameLen)]
}

func (f *Fields) canonicalise(i int) {
	off := uint32(len(f.Buf))
	raw := f.RawName(i)
	f.Grow(len(raw))
	f.Buf = bytesconv.AppendCanonicalName(f.Buf, raw)
	r := &f.Recs[i]
	if string(f.Buf[off:]) == string(raw) {
		f.Buf = f.Buf[:off]
		r.Flags |= Canonical
		return
	}
	r.NameOff = off
	r.Flags = r.Flags&^Wire | Canonical
}

// Value returns the value of field i.
func (f *Fields) Value(i int) []byte {
	r := &f.Recs[i]
	return f.Buf[r.ValOff : r.ValOff+r.ValLen : r.ValOff+r.ValLen]
}

// Add appends a field. If id is Unknown, name is stored as given: the caller must
// normalize it. If id is known and name is nil, the usual spelling is used. It returns
// false if there are MaxFields fields or the name is longer than MaxNameLen.
//
// Methods that write to the arena (Add, Set, SetAt, SetPart) may drop tombstones,
// so that the indexes of fields change.
func (f *Fields) Add(id ID, name, value []byte) bool {
	flags := AsIs
	if name == nil {
		name, flags = id.Name(), 0
	}
	if f.waste >= wasteful {
		f.compact()
	}
	i := len(f.Recs)
	if len(name) > MaxNameLen || i >= MaxFields {
		return false
	}
	f.Recs = append(f.Recs, Field{})
	f.line(&f.Recs[i], id, name, value)
	f.Recs[i].Flags |= flags
	f.note(id, i)
	f.maybe = ^uint64(0)
	return true
}

// line writes "Name: value\r\n" to the arena and sets r to its record.
func (f *Fields) line(r *Field, id ID, name, value []byte) {
	off := len(f.Buf)
	val := off + len(name) + 2
	end := val + len(value) + 2
	if end > cap(f.Buf) {
		f.Grow(end - off)
	}
	b := f.Buf[:end]
	copy(b[off:], name)
	b[val-2], b[val-1] = ':', ' '
	copy(b[val:], value)
	b[end-2], b[end-1] = '\r', '\n'
	f.Buf = b
	r.setLine(id, off, len(name), len(value))
}

// SetAt replaces the value of field i. The field keeps its place and its name.
func (f *Fields) SetAt(i int, value []byte) {
	r := &f.Recs[i]
	if r.Flags&Wire != 0 && r.ValLen == uint32(len(value)) && r.Flags&Canonical != 0 {
		copy(f.Buf[r.ValOff:], value)
		return
	}
	f.waste += int(r.ValLen) + int(r.NameLen) + 4
	name := f.Name(i)
	flags := r.Flags & (AsIs | Unsent)
	f.line(&f.Recs[i], f.Recs[i].ID, name, value)
	f.Recs[i].Flags |= flags
	f.compact()
}

// Set replaces all fields of the name with one field, at the place of the first, or
// appends it if there are none. See Add for name.
func (f *Fields) Set(id ID, name, value []byte) bool {
	i := f.FindID(id, name)
	if i < 0 {
		return f.Add(id, name, value)
	}
	for j := f.Next(i); j >= 0; j = f.Next(j) {
		f.kill(j)
	}
	f.SetAt(i, value)
	return true
}

// Del deletes all fields with the known name id, or, if it is Unknown, all
// called name.
func (f *Fields) Del(id ID, name []byte) {
	i := f.FindID(id, name)
	for i >= 0 {
		f.kill(i)
		i = f.Next(i)
	}
}

// DelAt deletes field i.
func (f *Fields) DelAt(i int) { f.kill(i) }

func (f *Fields) kill(i int) {
	r := &f.Recs[i]
	if r.Flags&Dead != 0 {
		return
	}
	r.Flags |= Dead
	f.dead++
	f.waste += int(r.ValLen) + int(r.NameLen) + 4
}

// AppendWire appends the field lines in order, each as "Name: value\r\n", except those
// that are Unsent or have an id whose bit 1<<id is set in skip.
func (f *Fields) AppendWire(dst []byte, skip uint64) []byte {
	from, to := uint32(0), uint32(0) // a run of the arena that can be copied unchanged
	for i := range f.Recs {
		r := &f.Recs[i]
		if r.Flags&(Dead|Unsent) != 0 || skip&(1<<r.ID) != 0 && r.ID != Unknown {
			continue
		}
		if r.Flags&Wire == 0 {
			dst = append(dst, f.Buf[from:to]...)
			from, to = 0, 0
			dst = append(dst, f.Name(i)...)
			dst = append(dst, ": "...)
			dst = append(dst, f.Value(i)...)
			dst = append(dst, "\r\n"...)
			continue
		}
		if r.NameOff != to {
			dst = append(dst, f.Buf[from:to]...)
			from = r.NameOff
		}
		to = r.end()
	}
	return append(dst, f.Buf[from:to]...)
}

// Lines returns the arena if it has exactly the field lines in wire form, in order, and
// nothing else. That is so if fields were only added. Otherwise ok is false. There must
// be no parts.
func (f *Fields) Lines() (lines []byte, ok bool) {
	// The arena of a parsed head has more bytes, and its names may not be canonical.
	n := 0
	if f.dead|f.waste == 0 {
		if last := len(f.Recs) - 1; last >= 0 && f.Recs[0].NameOff == 0 && f.Recs[last].Flags&Wire != 0 {
			n = int(f.Recs[last].end())
		}
	}
	return f.Buf, n == len(f.Buf) && f.Parts[Raw].Len == 0
}

// AppendKnown appends the lines of all fields with the known name id, in its usual
// spelling.
func (f *Fields) AppendKnown(dst []byte, id ID) []byte {
	for i := int(f.first[id]); i < len(f.Recs); i++ {
		r := &f.Recs[i]
		switch {
		case r.ID != id || r.Flags&Dead != 0:
		case r.Flags&(Wire|Canonical|AsIs) == Wire|Canonical:
			dst = append(dst, f.Buf[r.NameOff:r.end()]...)
		default:
			dst = append(dst, names[id]...)
			dst = append(dst, ": "...)
			dst = append(dst, f.Value(i)...)
			dst = append(dst, "\r\n"...)
		}
	}
	return dst
}

// Seen returns the bitmap of known names that may be present.
func (f *Fields) Seen() uint64 { return f.seen }

// CopyTo makes dst an independent copy of f.
func (f *Fields) CopyTo(dst *Fields) {
	dst.Buf = append(dst.room(len(f.Buf)), f.Buf...)
	dst.Recs = append(dst.Recs[:0], f.Recs...)
	dst.Parts = f.Parts
	dst.seen, dst.first, dst.maybe, dst.dead, dst.waste = f.seen, f.first, f.maybe, f.dead, f.waste
	dst.puts, dst.last = 0, 0
}

// wasteful is the number of wasted bytes below which compacting isn't worth it.
const wasteful = 4 << 10

// compact moves the live bytes to a new arena if more than half of the arena is unused
// because values were replaced. So a head whose fields are set again and again doesn't
// grow. Slices that were returned before still point into the old arena.
func (f *Fields) compact() {
	if f.waste < wasteful || f.waste < len(f.Buf)/2 {
		return
	}
	old := *f
	f.Buf = lifetime.Make(f.Loan, len(old.Buf)-old.waste/2)
	for k, s := range old.Parts {
		f.Parts[k] = f.Store(old.Bytes(s))
	}
	f.Recs = f.Recs[:0]
	f.seen, f.dead, f.waste = 0, 0, 0
	f.puts, f.last = 0, 0 // the arena is another one
	for i := range old.Recs {
		r := old.Recs[i]
		if r.Flags&Dead != 0 {
			continue
		}
		name, value := old.RawName(i), old.Value(i)
		live := len(f.Recs)
		f.Recs = append(f.Recs, Field{})
		n := &f.Recs[live]
		f.line(n, r.ID, name, value)
		if r.Flags&Canonical == 0 { // a name that was not normalized yet stays as received
			n.Flags = 0
		}
		n.Flags |= r.Flags & (AsIs | Unsent)
		f.note(r.ID, live)
	}
}
