package head

import (
	"errors"
	"hash/maphash"
	"iter"
	"slices"

	"github.com/galehttp/gale/internal/bytesconv"
	"github.com/galehttp/gale/internal/lifetime"
	"github.com/galehttp/gale/internal/msg"
)

// NameList is an ordered set of field names; the zero value is empty. Names are
// case-insensitive. Adding and finding a name takes time in proportion to its length,
// however many names there are. That matters because peers choose the names.
type NameList struct {
	text  []byte     // the names in order, separated by ", "
	names []nameSpan // their places in text
	slots []uint32   // hash table: 1 + an index of names, or 0; its length is a power of two
	loan  *lifetime.Loan
}

type nameSpan struct{ off, len, hash uint32 }

// MaxTrailers is the highest number of names that a message can declare.
const MaxTrailers = 128

// ErrTrailer is returned for a name that can't be declared as a trailer.
var ErrTrailer = errors.New("head: forbidden trailer field")

// nameSeed prevents peers from choosing names with equal hashes.
var nameSeed = maphash.MakeSeed()

func hashName(name []byte) uint32 {
	var buf [64]byte
	if len(name) <= len(buf) {
		return uint32(maphash.Bytes(nameSeed, bytesconv.AppendLower(buf[:0], name)))
	}
	var h maphash.Hash
	h.SetSeed(nameSeed)
	for len(name) > 0 {
		n := min(len(name), len(buf))
		_, _ = h.Write(bytesconv.AppendLower(buf[:0], name[:n]))
		name = name[n:]
	}
	return uint32(h.Sum64())
}

// reset makes the list empty and keeps its memory, unless it is large.
func (l *NameList) reset() {
	const keepText = 4 << 10
	if cap(l.text) > keepText || cap(l.names) > MaxTrailers {
		*l = NameList{loan: l.loan}
		return
	}
	if len(l.names) > 0 {
		l.text, l.names = l.text[:0], l.names[:0]
		clear(l.slots)
	}
}

func (l *NameList) copyTo(dst *NameList) {
	dst.text = lifetime.Kept(dst.loan, dst.text, append(dst.text[:0], l.text...))
	dst.names = append(dst.names[:0], l.names...)
	dst.slots = append(dst.slots[:0], l.slots...)
}

// Len returns the number of names.
func (l *NameList) Len() int { return len(l.names) }

// At returns name i.
func (l *NameList) At(i int) []byte {
	s := &l.names[i]
	end := s.off + s.len
	return l.text[s.off:end:end]
}

// Text returns the names in order, separated by ", ".
func (l *NameList) Text() []byte { return l.text }

// All returns an iterator over the names that are in the list now. The list may change
// during the iteration.
func (l *NameList) All() iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		text := append(lifetime.Make(l.loan, len(l.text)), l.text...)
		names := slices.Clone(l.names)
		for _, n := range names {
			if end := n.off + n.len; !yield(text[n.off:end:end]) {
				return
			}
		}
	}
}

// has reports whether name is in the list.
func (l *NameList) has(name []byte) bool {
	return len(l.names) > 0 && l.find(name, hashName(name))
}

func (l *NameList) find(name []byte, hash uint32) bool {
	mask := uint32(len(l.slots) - 1)
	for k := hash & mask; l.slots[k] != 0; k = (k + 1) & mask {
		i := int(l.slots[k] - 1)
		if l.names[i].hash == hash && bytesconv.EqualFold(l.At(i), name) {
			return true
		}
	}
	return false
}

// add adds name, in the given spelling, unless it is already in the list.
func (l *NameList) add(name []byte, spelling msg.Spelling) {
	hash := hashName(name)
	if 2*len(l.names) >= len(l.slots) {
		l.grow()
	}
	if l.find(name, hash) {
		return
	}
	if need := len(", ") + len(name); cap(l.text)-len(l.text) < need {
		l.text = lifetime.Grow(l.loan, l.text, need)
	}
	if len(l.names) > 0 {
		l.text = append(l.text, ", "...)
	}
	l.insert(nameSpan{uint32(len(l.text)), uint32(len(name)), hash})
	if spelling == msg.AsGiven {
		l.text = append(l.text, name...)
		return
	}
	l.text = bytesconv.AppendCanonicalName(l.text, name)
}

func (l *NameList) insert(s nameSpan) {
	l.names = append(l.names, s)
	l.place(len(l.names) - 1)
}

// place enters name i into the hash table.
func (l *NameList) place(i int) {
	mask := uint32(len(l.slots) - 1)
	k := l.names[i].hash & mask
	for l.slots[k] != 0 {
		k = (k + 1) & mask
	}
	l.slots[k] = uint32(i + 1)
}

func (l *NameList) grow() {
	l.slots = make([]uint32, max(16, 2*len(l.slots)))
	for i := range l.names {
		l.place(i)
	}
}

// addTrailer adds the name of a trailer field. It returns ErrTrailer, and doesn't add the
// name, if it isn't a token, if it is forbidden in a trailer section (RFC 9110 section
// 6.5.1), or if there are already MaxTrailers names.
func (l *NameList) addTrailer(name []byte, spelling msg.Spelling) error {
	switch {
	case l.has(name):
		return nil
	case len(l.names) >= MaxTrailers || !bytesconv.IsToken(name) || ForbiddenTrailer(name):
		return ErrTrailer
	}
	l.add(name, spelling)
	return nil
}

// addTrailers is addTrailer for a comma-separated list. It stops at the first
// name for which there is no room.
func (l *NameList) addTrailers(list []byte, spelling msg.Spelling) (err error) {
	for len(list) > 0 {
		var name []byte
		name, list = bytesconv.NextElement(list)
		if e := l.addTrailer(name, spelling); e != nil {
			if err = e; len(l.names) >= MaxTrailers {
				return err
			}
		}
	}
	return err
}
