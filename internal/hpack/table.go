package hpack

import "github.com/galehttp/gale/internal/msg"

const (
	// DefaultTableSize is the size of a dynamic table at the start of a connection.
	DefaultTableSize = 4096
	// EntryOverhead is what an entry counts besides its name and value, in the size
	// of a table (RFC 7541 section 4.1) and of a field section (RFC 9113 section
	// 6.5.2).
	EntryOverhead = 32
)

// table is a dynamic table (RFC 7541 section 2.3.2): a queue of entries, whose names and
// values are in a ring of bytes. The zero value has the size 0.
//
// Invariants between two calls: entry number n, for first <= n < first+count, is
// recs[n%len(recs)]. The entries' texts are in buf one after the other; the last
// one ends at tail, and tail < len(buf) or tail == 0. size is the sum of their
// lengths and overheads, and size <= max.
type table struct {
	buf  []byte  // a text may continue at its start
	recs []entry // the length is a power of two
	tail int
	// Numbers of entries wrap around.
	first, count uint32
	size, max    int
}

// entry is the record of an entry. Its name is at off in table.buf, its value after it.
type entry struct {
	off, nameLen, valLen uint32
	id                   msg.ID
	pseudo               Pseudo
	mark                 uint8
}

func (e *entry) textLen() int { return int(e.nameLen) + int(e.valLen) }

// at returns the entry with a number that is in the table.
func (t *table) at(number uint32) *entry { return &t.recs[number&uint32(len(t.recs)-1)] }

// has reports whether the entry with a number is in the table.
func (t *table) has(number uint32) bool { return number-t.first < t.count }

// number returns the number of the entry with an index of RFC 7541 section 2.3.3;
// the newest entry has index numStatic+1. has reports whether the entry is in the
// table.
func (t *table) number(index uint32) uint32 {
	return t.first + t.count - (index - numStatic)
}

// index is the inverse of number.
func (t *table) index(number uint32) uint32 {
	return t.first + t.count - number + numStatic
}

// appendText appends name and value of e.
func (t *table) appendText(dst []byte, e *entry) []byte {
	return t.appendBytes(dst, int(e.off), e.textLen())
}

// appendName appends the name of e.
func (t *table) appendName(dst []byte, e *entry) []byte {
	return t.appendBytes(dst, int(e.off), int(e.nameLen))
}

func (t *table) appendBytes(dst []byte, off, n int) []byte {
	if end := off + n; end <= len(t.buf) {
		return append(dst, t.buf[off:end]...)
	}
	dst = append(dst, t.buf[off:]...)
	return append(dst, t.buf[:off+n-len(t.buf)]...)
}

// equal reports whether the text of e, without its first skip bytes, starts with s.
func (t *table) equal(e *entry, skip uint32, s []byte) bool {
	off := int(e.off + skip)
	if off >= len(t.buf) {
		off -= len(t.buf)
	}
	if end := off + len(s); end <= len(t.buf) {
		return string(t.buf[off:end]) == string(s)
	}
	n := len(t.buf) - off
	return string(t.buf[off:]) == string(s[:n]) && string(t.buf[:len(s)-n]) == string(s[n:])
}

// setMax changes the size of the table (RFC 7541 section 4.3).
func (t *table) setMax(n int) {
	t.max = n
	t.evict(n)
	if n == 0 {
		t.buf, t.recs, t.tail = nil, nil, 0
	}
}

// evict removes the oldest entries until the size is at most n.
func (t *table) evict(n int) {
	for t.size > n {
		t.size -= t.at(t.first).textLen() + EntryOverhead
		t.first++
		t.count--
	}
}

// add adds an entry (RFC 7541 section 4.4) and returns its record. An entry that is
// larger than the table empties it, and the result is nil. name and value must not
// be parts of t.buf.
func (t *table) add(name, value []byte) *entry {
	n := len(name) + len(value)
	// In this form nothing overflows if int has 32 bits.
	if n > t.max-EntryOverhead {
		t.evict(0)
		return nil
	}
	t.evict(t.max - EntryOverhead - n)
	t.reserve(n)
	e := t.at(t.first + t.count)
	*e = entry{off: uint32(t.tail), nameLen: uint32(len(name)), valLen: uint32(len(value))}
	t.write(name)
	t.write(value)
	t.count++
	t.size += n + EntryOverhead
	return e
}

// write writes s at the tail.
func (t *table) write(s []byte) {
	n := copy(t.buf[t.tail:], s)
	if t.tail += n; t.tail == len(t.buf) {
		t.tail = copy(t.buf, s[n:])
	}
}

const (
	stepBuf   = 128 // bytes
	firstRecs = 4
)

// reserve makes room for an entry with n bytes of text. The entry must fit in max.
func (t *table) reserve(n int) {
	if int(t.count) == len(t.recs) {
		t.growRecs()
	}
	used := t.size - int(t.count)*EntryOverhead
	if used+n > len(t.buf) {
		t.growBuf(used, n)
	}
}

func (t *table) growRecs() {
	recs := make([]entry, max(2*len(t.recs), firstRecs))
	for n := t.first; n != t.first+t.count; n++ {
		recs[n&uint32(len(recs)-1)] = *t.at(n)
	}
	t.recs = recs
}

// growBuf makes t.buf long enough for the used bytes of texts and n more, which is less
// than t.max, and moves the texts to its start.
func (t *table) growBuf(used, n int) {
	// Idle connections keep this memory, so it grows in small steps.
	more := max(stepBuf, len(t.buf)/4)
	buf := make([]byte, max(used+n, min(len(t.buf)+more, t.max-EntryOverhead)))
	if t.count > 0 {
		t.appendBytes(buf[:0], int(t.at(t.first).off), used)
	}
	off := uint32(0)
	for n := t.first; n != t.first+t.count; n++ {
		e := t.at(n)
		e.off = off
		off += uint32(e.textLen())
	}
	t.buf, t.tail = buf, used
	if used == len(buf) {
		t.tail = 0
	}
}

// empty makes t an empty table of the given size. It keeps as much memory as
// ordinary connections need.
func (t *table) empty(size int) {
	t.evict(0)
	if len(t.buf) > DefaultTableSize || len(t.recs) > DefaultTableSize/EntryOverhead {
		t.buf, t.recs = nil, nil
	}
	t.tail, t.max = 0, size
}
