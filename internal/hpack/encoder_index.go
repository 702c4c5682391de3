package hpack

import (
	"encoding/binary"
	"math/bits"

	"github.com/galehttp/gale/internal/msg"
)

// index finds entries of an encoder's table by hashes. It may forget an entry,
// which is then sent as a literal again. So it needs at most two slots per hash,
// and a lookup takes the same time whatever it contains. It is small as long as the
// table has few entries.
type index struct {
	pairs []uint16   // by the hash of name and value: low bits of entry numbers
	names []nameSlot // half as many
}

// The lengths of index.pairs are powers of two.
const (
	firstPairs = 16
	maxPairs   = 64
)

// nameSlot holds, for a name, the newest entry with that name, and the high bits of
// the hash of the last pair with that name that was not found.
type nameSlot struct {
	number, last uint16
}

// full returns the entry number whose low bits are low. The caller must check in
// the table whether there is such an entry and what it holds.
func (t *table) full(low uint16) uint32 {
	next := t.first + t.count
	return next - uint32(uint16(next)-low)
}

// findPair returns the number of the entry with a name and a value.
func (x *index) findPair(t *table, pair uint64, n *fieldName, value []byte) (number uint32, ok bool) {
	if len(x.pairs) == 0 {
		return 0, false
	}
	i := pair & uint64(len(x.pairs)-2)
	for _, low := range x.pairs[i : i+2] {
		if number = t.full(low); t.has(number) {
			e := t.at(number)
			if int(e.valLen) == len(value) && t.hasName(e, n) && t.equal(e, e.nameLen, value) {
				return number, true
			}
		}
	}
	return 0, false
}

// findName returns the slot of a name and the number of the newest entry with it, or nil.
func (x *index) findName(t *table, hash uint64, n *fieldName) (*nameSlot, uint32) {
	if len(x.names) == 0 {
		return nil, 0
	}
	i := hash & uint64(len(x.names)-2)
	for j := i; j < i+2; j++ {
		s := &x.names[j]
		if number := t.full(s.number); t.has(number) && t.hasName(t.at(number), n) {
			return s, number
		}
	}
	return nil, 0
}

// again reports whether the pair with a hash was the last pair of the name that was not
// found. If the table has the name already, only such pairs enter it. Otherwise a field
// with a new value each time, such as a request's number, would remove all others.
func (s *nameSlot) again(pair uint64) bool {
	last := s.last
	s.last = uint16(pair >> 48)
	return s.last == last
}

// add adds the newest entry of t. s is the slot of its name, if there is one.
func (x *index) add(t *table, hash, pair uint64, s *nameSlot) {
	if len(x.pairs) < maxPairs && int(t.count) > len(x.pairs)/2 {
		x.grow(t)
		return
	}
	x.put(t, t.first+t.count-1, hash, pair, s)
}

// grow makes x larger, and adds all entries of t again.
func (x *index) grow(t *table) {
	n := max(2*len(x.pairs), firstPairs)
	*x = index{make([]uint16, n), make([]nameSlot, n/2)}
	var buf [256]byte
	for number := t.first; number != t.first+t.count; number++ {
		e := t.at(number)
		text := t.appendText(buf[:0], e)
		name := fieldName{id: e.id, pseudo: e.pseudo, text: text[:e.nameLen]}
		hash := name.hash()
		s, _ := x.findName(t, hash, &name)
		x.put(t, number, hash, hashBytes(hash, text[e.nameLen:]), s)
	}
}

// put adds an entry of t; see add.
func (x *index) put(t *table, number uint32, hash, pair uint64, s *nameSlot) {
	i := pair & uint64(len(x.pairs)-2)
	*t.older(&x.pairs[i], &x.pairs[i+1]) = uint16(number)
	if s == nil {
		i = hash & uint64(len(x.names)-2)
		s = &x.names[i]
		if t.older(&s.number, &x.names[i+1].number) != &s.number {
			s = &x.names[i+1]
		}
	}
	s.number = uint16(number)
}

// older returns a or b, whichever holds the number of the older entry.
func (t *table) older(a, b *uint16) *uint16 {
	if next := uint16(t.first + t.count); next-*a >= next-*b {
		return a
	}
	return b
}

// hasName reports whether e has the name n.
func (t *table) hasName(e *entry, n *fieldName) bool {
	if e.id != n.id || e.pseudo != n.pseudo {
		return false
	}
	known := n.id != msg.Unknown || n.pseudo != NotPseudo && n.pseudo != OtherPseudo
	return known || int(e.nameLen) == len(n.text) && t.equal(e, 0, n.text)
}

// hash returns a hash of the name.
func (n *fieldName) hash() uint64 {
	if n.id != msg.Unknown {
		return mix(uint64(n.id), hashSeed)
	}
	return hashBytes(hashSeed, n.text)
}

// The factors are the fractions of the square roots of 2 and 3. Any odd numbers
// with well-distributed bits would do.
const (
	hashSeed   = 0x6a09e667f3bcc909
	hashFactor = 0xbb67ae8584caa73b
)

// hashBytes returns a hash of b that depends on h. A peer that knows it can make
// fields collide. Then the encoder finds fewer of its entries, but nothing worse
// happens.
func hashBytes(h uint64, b []byte) uint64 {
	n := len(b)
	h ^= uint64(n)
	if n < 8 {
		var word uint64
		for i := n - 1; i >= 0; i-- {
			word = word<<8 | uint64(b[i])
		}
		return mix(h, word)
	}
	for i := 0; i < n-8; i += 8 {
		h = mix(h, binary.LittleEndian.Uint64(b[i:]))
	}
	return mix(h, binary.LittleEndian.Uint64(b[n-8:])) // words may overlap
}

func mix(h, word uint64) uint64 {
	high, low := bits.Mul64(h^word, hashFactor)
	return high ^ low ^ h
}
