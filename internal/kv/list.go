package kv

import (
	"bytes"
	"math"
	"slices"

	"github.com/galehttp/gale/internal/bytesconv"
	"github.com/galehttp/gale/internal/lifetime"
	"github.com/galehttp/gale/internal/race"
)

// How much memory Reset keeps for the next user. More than that is released, so
// that one huge query doesn't keep its memory forever.
const (
	maxKeptBytes = 64 << 10
	maxKeptPairs = 1024
)

// maxArena is how many bytes offsets can address. Pairs beyond that are not added.
const maxArena = math.MaxInt32

// compactAt is the number of unused bytes below which a list never copies its pairs
// to a new arena.
const compactAt = 1 << 10

// List is an ordered list of key/value pairs. Keys may repeat; a pair may have no
// value at all, which differs from an empty one. The zero value is an empty list. A
// List must not be used by several goroutines at once and must not be copied by
// assignment.
//
// Byte slices that methods return point into the list's arena and have no spare
// capacity: appending to one copies it. They are valid until Reset, a parser, or a
// Set of their own key. Adding, deleting and setting other keys doesn't change
// them. Arguments are copied; they may be parts of the arena.
type List struct {
	arena []byte
	pairs []pair
	dead  int // known number of bytes in the arena that no pair uses

	// Loan is what the list belongs to while it is lent, else nil; see Lend.
	Loan *lifetime.Loan
}

// pair locates one key and value: arena[key:keyEnd] and arena[val:valEnd].
type pair struct {
	tag         uint32 // of the key: see tagOf
	key, keyEnd uint32
	val, valEnd uint32
	bare        bool // there is no value, and arena[val:valEnd] is empty
}

func (p *pair) size() int { return int(p.keyEnd - p.key + p.valEnd - p.val) }

// tagOf returns the length of a key with its last byte. Lookups compare tags before
// keys: most keys that differ also have different tags. tagOf is simple so that
// Peek can be inlined.
func tagOf(key string) uint32 {
	if key == "" {
		return 0
	}
	return uint32(len(key)<<8 | int(key[len(key)-1]))
}

func (l *List) keyOf(p *pair) []byte { return l.arena[p.key:p.keyEnd:p.keyEnd] }

func (l *List) valueOf(p *pair) []byte { return l.arena[p.val:p.valEnd:p.valEnd] }

// next returns the position of the first pair with the key at or after from,
// or -1.
func (l *List) next(from int, key string) int { return l.nextTagged(from, tagOf(key), key) }

func (l *List) nextTagged(from int, tag uint32, key string) int {
	pairs := l.pairs
	for i := from; i < len(pairs); i++ {
		p := &pairs[i]
		if p.tag == tag && string(l.arena[p.key:p.keyEnd]) == key {
			return i
		}
	}
	return -1
}

// Equal reports whether l and m have the same pairs in the same order.
func (l *List) Equal(m *List) bool {
	return slices.EqualFunc(l.pairs, m.pairs, func(p, q pair) bool {
		return p.bare == q.bare && bytes.Equal(l.keyOf(&p), m.keyOf(&q)) && bytes.Equal(l.valueOf(&p), m.valueOf(&q))
	})
}

// Len returns the number of pairs.
func (l *List) Len() int { return len(l.pairs) }

// At returns the key and the value of pair i, which must be in [0, Len()). If the
// pair has no value, the value is empty but not nil; see HasValue.
func (l *List) At(i int) (key, value []byte) {
	p := &l.pairs[i]
	return l.keyOf(p), l.valueOf(p)
}

// Key returns the key of pair i.
func (l *List) Key(i int) []byte { return l.keyOf(&l.pairs[i]) }

// Value returns the value of pair i.
func (l *List) Value(i int) []byte { return l.valueOf(&l.pairs[i]) }

// HasValue reports whether pair i has a value, even an empty one.
func (l *List) HasValue(i int) bool { return !l.pairs[i].bare }

// Index returns the position of the first pair with the key, or -1.
func (l *List) Index(key string) int { return l.next(0, key) }

// IndexFold is Index, ignoring the case of the letters A-Z.
func (l *List) IndexFold(key string) int {
	pairs := l.pairs
	for i := range pairs {
		p := &pairs[i]
		if int(p.keyEnd-p.key) == len(key) && bytesconv.EqualFoldString(l.arena[p.key:p.keyEnd], key) {
			return i
		}
	}
	return -1
}

// Peek returns the value of the first pair with the key, or nil if there is no
// such pair. A pair without a value gives an empty slice, not nil.
//
// It is simple so that it can be inlined: with a constant key, a comparison is then
// one or two instructions per pair.
func (l *List) Peek(key string) []byte {
	tag := tagOf(key)
	pairs := l.pairs
	for i := range pairs {
		p := &pairs[i]
		if p.tag == tag {
			if string(l.arena[p.key:p.keyEnd]) == key {
				return l.arena[p.val:p.valEnd:p.valEnd]
			}
		}
	}
	if race.Enabled {
		l.Use() // in other programs Peek would then be too large to be inlined
	}
	return nil
}

// PeekAll appends the values of all pairs with the key to dst, in order.
// Values that are empty or missing are nil.
func (l *List) PeekAll(dst [][]byte, key string) [][]byte {
	had := len(dst)
	for i := l.next(0, key); i >= 0; i = l.next(i+1, key) {
		var value []byte
		if p := &l.pairs[i]; p.valEnd > p.val {
			value = l.valueOf(p)
		}
		dst = append(dst, value)
	}
	if len(dst) == had {
		l.Use()
	}
	return dst
}

// Add appends a pair.
func (l *List) Add(key, value string) { l.put(len(l.pairs), key, value, false) }

// AddNoValue appends a pair without a value.
func (l *List) AddNoValue(key string) { l.put(len(l.pairs), key, "", true) }

// Set sets the value of the first pair with the key, or appends a pair if there is
// none. Other pairs with the key stay.
func (l *List) Set(key, value string) { l.put(0, key, value, false) }

// SetOnly is Set, but removes other pairs with the key.
func (l *List) SetOnly(key, value string) {
	tag := tagOf(key)
	i := l.nextTagged(0, tag, key)
	if i >= 0 {
		w := i + 1
		for r := w; r < len(l.pairs); r++ {
			p := &l.pairs[r]
			if p.tag == tag && string(l.arena[p.key:p.keyEnd]) == key {
				l.dead += p.size()
				continue
			}
			l.pairs[w] = *p
			w++
		}
		l.pairs = l.pairs[:w]
	}
	l.put(max(i, 0), key, value, false)
}

// SetNoValue is Set with no value.
func (l *List) SetNoValue(key string) { l.put(0, key, "", true) }

// put sets the value of the first pair with the key, from pair from on, or appends
// a pair.
func (l *List) put(from int, key, value string, bare bool) {
	tag := tagOf(key)
	if i := l.nextTagged(from, tag, key); i >= 0 {
		l.setValue(i, value, bare)
		return
	}
	k := len(l.arena)
	v := k + len(key)
	end := v + len(value)
	if uint(end) >= uint(cap(l.arena)) && !l.grow(key, value) {
		return
	}
	arena := l.arena[:end]
	l.arena = l.arena[:end]
	p := l.extend()
	p.tag, p.key, p.keyEnd = tag, uint32(k), uint32(v)
	p.val, p.valEnd, p.bare = uint32(v), uint32(end), bare
	copy(arena[k:], key)
	copy(arena[v:], value)
}

// extend appends a record, which the caller fills in place: making it on the stack and copying it
// would stall the processor.
func (l *List) extend() *pair {
	i := len(l.pairs)
	if i == cap(l.pairs) {
		l.pairs = slices.Grow(l.pairs, 1)
	}
	l.pairs = l.pairs[:i+1]
	return &l.pairs[i]
}

// grow makes room for a key and a value. It returns false if they would exceed
// maxArena, or if the list has lapsed.
func (l *List) grow(key, value string) bool {
	if len(key) > maxArena || len(value) > maxArena || len(key) > maxArena-len(value)-len(l.arena) {
		return false
	}
	if l.Loan != nil && l.Loan.Over() {
		l.Loan.Use()
		return false
	}
	l.reserve(len(key) + len(value))
	return true
}

// reserve makes room for n more bytes. The arena is never nil afterwards, so that
// empty keys and values aren't nil either.
func (l *List) reserve(n int) {
	if l.arena == nil || len(l.arena)+n > cap(l.arena) {
		if l.Loan == nil {
			n = max(n, 64)
		}
		l.arena = lifetime.Grow(l.Loan, l.arena, max(n, 1))
	}
}

// SetValue sets the value of pair i.
func (l *List) SetValue(i int, value string) { l.setValue(i, value, false) }

func (l *List) setValue(i int, value string, bare bool) {
	p := &l.pairs[i]
	if old := int(p.valEnd - p.val); len(value) <= old {
		copy(l.arena[p.val:int(p.val)+old], value)
		l.dead += old - len(value)
	} else {
		if len(value) > maxArena-len(l.arena) {
			return
		}
		l.dead += old
		v := len(l.arena)
		l.reserve(len(value))
		l.arena = append(l.arena, value...)
		p.val = uint32(v)
	}
	p.valEnd, p.bare = p.val+uint32(len(value)), bare
	l.compact()
}

// Del removes all pairs with the key. The order of the others stays.
func (l *List) Del(key string) {
	i := l.next(0, key)
	if i < 0 {
		l.Use()
		return
	}
	w := i
	for i >= 0 {
		p := &l.pairs[i]
		l.dead += p.size()
		end := l.next(i+1, key)
		keep := l.pairs[i+1:]
		if end >= 0 {
			keep = l.pairs[i+1 : end]
		}
		w += copy(l.pairs[w:], keep)
		i = end
	}
	l.pairs = l.pairs[:w]
	l.compact()
}

// DelAt removes pair i.
func (l *List) DelAt(i int) {
	p := &l.pairs[i]
	l.dead += p.size()
	l.pairs = slices.Delete(l.pairs, i, i+1)
	l.compact()
}

// compact copies the pairs to a new arena if most of the old one is unused. The old
// arena isn't reused: callers may hold slices of it.
func (l *List) compact() {
	if l.dead >= compactAt && l.dead >= len(l.arena)/2 {
		l.copyLiving()
	}
}

func (l *List) copyLiving() {
	arena := lifetime.Make(l.Loan, max(len(l.arena)-l.dead, 64)*2)
	for i := range l.pairs {
		p := &l.pairs[i]
		key, value := l.keyOf(p), l.valueOf(p)
		p.key, p.keyEnd = uint32(len(arena)), uint32(len(arena)+len(key))
		arena = append(arena, key...)
		p.val, p.valEnd = uint32(len(arena)), uint32(len(arena)+len(value))
		arena = append(arena, value...)
	}
	l.arena, l.dead = arena, 0
}

// Sort sorts the pairs by key and, with byValue, pairs of equal keys by value.
// Pairs that compare equal keep their order. cmp compares like bytes.Compare: it
// returns a negative number if x < y, 0 if they are equal, and a positive number if
// x > y. It must not change the list.
func (l *List) Sort(cmp func(x, y []byte) int, byValue bool) {
	l.Use()
	slices.SortStableFunc(l.pairs, func(a, b pair) int {
		n := cmp(l.keyOf(&a), l.keyOf(&b))
		if n == 0 && byValue {
			n = cmp(l.valueOf(&a), l.valueOf(&b))
		}
		return n
	})
}

// CopyTo makes dst a copy of l.
func (l *List) CopyTo(dst *List) {
	l.Use()
	dst.Use()
	if dst == l {
		return
	}
	dst.arena = dst.arena[:0]
	if len(l.arena) > cap(dst.arena) {
		dst.arena = lifetime.Grow(dst.Loan, dst.arena, len(l.arena))
	}
	dst.arena = append(dst.arena, l.arena...)
	dst.pairs = append(dst.pairs[:0], l.pairs...)
	dst.dead = l.dead
	if len(l.pairs) > 0 {
		dst.reserve(0)
	}
}

// Used reports whether Reset has something to do.
func (l *List) Used() bool { return len(l.arena)|len(l.pairs)|l.dead != 0 }

// Reset empties the list. Its memory is kept for the next use up to 64 KiB of
// bytes and 1024 pairs.
func (l *List) Reset() {
	l.arena, l.pairs, l.dead = l.arena[:0], l.pairs[:0], 0
	if cap(l.arena) > maxKeptBytes {
		l.arena = nil
	}
	if cap(l.pairs) > maxKeptPairs {
		l.pairs = nil
	}
}
