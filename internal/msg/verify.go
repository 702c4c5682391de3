package msg

import (
	"bytes"
	"fmt"

	"github.com/galehttp/gale/internal/bytesconv"
	"github.com/galehttp/gale/internal/race"
)

// Verify panics if Check finds an error, in programs that are built with the race
// detector. In other programs it does nothing. It is called where a head passes from one
// owner to another.
func (f *Fields) Verify() {
	if race.Enabled {
		if err := f.Check(); err != nil {
			panic(err)
		}
	}
}

// Check returns an error if f is inconsistent, for tests. Between two calls of methods
// all of these are true:
//
//   - Each part and each record, deleted or not, lies within Buf.
//   - A live record has the id of its name, and a value without CR, LF and NUL (RFC 9110
//     section 5.5). A
//     Wire record is "Name: value\r\n" in Buf, without gaps.
//   - seen and first find the first live record of each known name, maybe has the bits
//     of all other live names, dead counts the tombstones.
//   - What Lines returns for fields without parts consists of the lines of the records
//     and nothing else.
//   - What PutAgain may use again is a line in the memory of Buf, or was overwritten and
//     won't be compared.
func (f *Fields) Check() error {
	if len(f.Recs) > MaxFields {
		return fmt.Errorf("msg: %d records", len(f.Recs))
	}
	for k, p := range f.Parts {
		if int64(p.Off)+int64(p.Len) > int64(len(f.Buf)) && p != (Span{}) {
			return fmt.Errorf("msg: part %d is %v, the arena has %d bytes", k, p, len(f.Buf))
		}
	}
	dead := 0
	for i := range f.Recs {
		if err := f.checkRecord(&f.Recs[i]); err != nil {
			return fmt.Errorf("msg: record %d of %d: %w", i, len(f.Recs), err)
		}
		dead += int(f.Recs[i].Flags & Dead)
	}
	if dead != f.dead || f.waste < 0 || f.puts < 0 || f.puts > MaxFields {
		return fmt.Errorf("msg: %d tombstones are counted as %d; waste %d, puts %d", dead, f.dead, f.waste, f.puts)
	}
	if err := f.checkIndex(); err != nil {
		return err
	}
	if err := f.checkLines(); err != nil {
		return err
	}
	return f.checkLast()
}

func (f *Fields) checkRecord(r *Field) error {
	n := int64(len(f.Buf))
	if int64(r.NameOff)+int64(r.NameLen) > n || int64(r.ValOff)+int64(r.ValLen) > n {
		return fmt.Errorf("%+v is outside of an arena of %d bytes", *r, n)
	}
	if r.Flags&Dead != 0 {
		return nil
	}
	name := f.Buf[r.NameOff : r.NameOff+uint32(r.NameLen)]
	value := f.Buf[r.ValOff : r.ValOff+r.ValLen]
	switch {
	case len(name) == 0 || bytes.ContainsAny(name, ":\r\n\x00") || r.Flags&Unsent == 0 && !bytesconv.IsToken(name):
		return fmt.Errorf("%+v has the name %q", *r, name)
	case bytes.ContainsAny(value, "\r\n\x00") || r.Flags&Folded != 0:
		return fmt.Errorf("%+v has the value %q", *r, value)
	case r.ID >= numIDs || r.ID != Lookup(name):
		return fmt.Errorf("%q has the id %d, not %d", name, r.ID, Lookup(name))
	case r.Flags&Wire == 0:
		return nil
	case r.ValOff != r.NameOff+uint32(r.NameLen)+2 || int64(r.end()) > n ||
		string(f.Buf[r.ValOff-2:r.ValOff]) != ": " || string(f.Buf[r.end()-2:r.end()]) != "\r\n":
		return fmt.Errorf("%+v is no line: %q, %q", *r, name, value)
	}
	return nil
}

func (f *Fields) checkIndex() error {
	if f.seen&1 != 0 {
		return fmt.Errorf("msg: seen %x has the bit of no name", f.seen)
	}
	for id := Unknown + 1; id < numIDs; id++ {
		if f.seen&(1<<id) == 0 {
			continue
		}
		if i := int(f.first[id]); i >= len(f.Recs) || f.Recs[i].ID != id {
			return fmt.Errorf("msg: the first %s should be record %d of %d", id.Name(), i, len(f.Recs))
		}
	}
	for i := range f.Recs {
		r := &f.Recs[i]
		switch {
		case r.Flags&Dead != 0:
		case r.ID == Unknown:
			if f.maybe&nameBit(f.RawName(i)) == 0 {
				return fmt.Errorf("msg: maybe %x has no bit of %q", f.maybe, f.RawName(i))
			}
		case f.seen&(1<<r.ID) == 0 || int(f.first[r.ID]) > i:
			return fmt.Errorf("msg: %s is at %d, seen %x, first %d", r.ID.Name(), i, f.seen, f.first[r.ID])
		}
	}
	return nil
}

func (f *Fields) checkLines() error {
	lines, ok := f.Lines()
	for _, p := range f.Parts {
		ok = ok && p.Len == 0
	}
	if !ok {
		return nil
	}
	at := uint32(0)
	for i := range f.Recs {
		r := &f.Recs[i]
		if r.NameOff != at || r.Flags&(Wire|Canonical|Dead|Unsent) != Wire|Canonical {
			return fmt.Errorf("msg: line %d of %q is %+v", i, lines, *r)
		}
		at = r.end()
	}
	return nil
}

func (f *Fields) checkLast() error {
	if f.last < 0 || f.last > cap(f.Recs) {
		return fmt.Errorf("msg: last is %d, there is room for %d records", f.last, cap(f.Recs))
	}
	if f.puts != len(f.Recs) || f.last <= f.puts {
		return nil
	}
	b := f.Buf[:cap(f.Buf)]
	for i := f.puts; i < f.last; i++ {
		r := &f.Recs[:f.last][i]
		if int(r.NameOff) < len(f.Buf) {
			continue
		}
		if int64(r.end()) > int64(len(b)) || r.Flags != Wire|Canonical || r.ValOff != r.NameOff+uint32(r.NameLen)+2 {
			return fmt.Errorf("msg: record %d, which was put before, is %+v", i, *r)
		}
		name := b[r.NameOff : r.NameOff+uint32(r.NameLen)]
		if r.ID != Lookup(name) || string(b[r.ValOff-2:r.ValOff]) != ": " || string(b[r.end()-2:r.end()]) != "\r\n" {
			return fmt.Errorf("msg: record %d, which was put before, is %+v: %q", i, *r, b[r.NameOff:r.end()])
		}
	}
	return nil
}
