package kv

import (
	"encoding/binary"
	"math"
	"slices"

	"github.com/galehttp/gale/internal/bytesconv"
)

// What Reset keeps for the next user; more than that goes to the garbage
// collector, so that one huge query does not pin its memory for ever.
const (
	maxKeptBytes = 64 << 10
	maxKeptPairs = 1024
)

// maxArena is how many bytes offsets can address. Pairs that would lie beyond
// are not added.
const maxArena = math.MaxInt32

// compactAt is how many dead bytes a list tolerates at least before it copies
// what lives to a new arena.
const compactAt = 1 << 10

// List is an ordered list of key/value pairs. Keys may repeat; a pair may have
// no value at all, which differs from an empty one. The zero value is an empty
// list. A List must not be used by several goroutines at once, nor be copied
// by assignment.
//
// Byte slices that methods return lie in the list's arena and have no spare
// capacity: appending to one copies it. They stay as they are until Reset, a
// parser, or a Set of their own key; adding, deleting and setting other keys
// leaves them alone. Arguments are copied; they may lie in the arena.
type List struct {
	arena []byte
	pairs []pair
	dead  int // bytes of the arena that no pair uses, as far as known
}

// pair locates one key and value: arena[key:key+keyLen] and
// arena[val:val+valLen]. If there is no value, valLen is noValue.
type pair struct {
	head        uint64 // the first eight bytes of the key: see headOf
	key, keyLen uint32
	val, valLen uint32
}

// noValue as a length says that there is no value. Lengths are below it.
const noValue = 1 << 31

// headOf returns the first eight bytes of a key as a little-endian number, with
// zeros for bytes that it hasn't. Lookups compare heads and lengths, and the
// rest of keys that are longer: no call to compare bytes for most keys.
func headOf(key []byte) uint64 {
	n := len(key)
	switch {
	case n >= 8:
		return binary.LittleEndian.Uint64(key)
	case n >= 4:
		return uint64(binary.LittleEndian.Uint32(key)) | uint64(binary.LittleEndian.Uint32(key[n-4:]))<<(8*(n-4))
	case n > 0:
		return uint64(key[0]) | uint64(key[n/2])<<(8*(n/2)) | uint64(key[n-1])<<(8*(n-1))
	}
	return 0
}

func (l *List) keyOf(p *pair) []byte {
	return l.arena[p.key : p.key+p.keyLen : p.key+p.keyLen]
}

func (l *List) valueOf(p *pair) []byte {
	end := p.val + p.valLen&^noValue
	return l.arena[p.val:end:end]
}

// next returns the position of the first pair with the key at or after from,
// or -1.
func (l *List) next(from int, key string) int {
	n, head := uint32(len(key)), headOf(bytesconv.S2B(key))
	pairs := l.pairs
	for i := from; i < len(pairs); i++ {
		p := &pairs[i]
		if p.head == head && p.keyLen == n && (n <= 8 || string(l.arena[p.key+8:p.key+n]) == key[8:]) {
			return i
		}
	}
	return -1
}

// Len returns the number of pairs.
func (l *List) Len() int { return len(l.pairs) }

// At returns the key and the value of pair i, which must be in [0, Len()).
// The value is empty, but not nil, if the pair has none; HasValue tells.
func (l *List) At(i int) (key, value []byte) {
	p := &l.pairs[i]
	return l.keyOf(p), l.valueOf(p)
}

// Key returns the key of pair i.
func (l *List) Key(i int) []byte { return l.keyOf(&l.pairs[i]) }

// Value returns the value of pair i.
func (l *List) Value(i int) []byte { return l.valueOf(&l.pairs[i]) }

// HasValue reports whether pair i has a value, be it empty.
func (l *List) HasValue(i int) bool { return l.pairs[i].valLen != noValue }

// Index returns the position of the first pair with the key, or -1.
func (l *List) Index(key string) int { return l.next(0, key) }

// IndexFold is Index without regard to the case of the letters A-Z.
func (l *List) IndexFold(key string) int {
	n := uint32(len(key))
	pairs := l.pairs
	for i := range pairs {
		p := &pairs[i]
		if p.keyLen == n && bytesconv.EqualFoldString(l.arena[p.key:p.key+n], key) {
			return i
		}
	}
	return -1
}

// Peek returns the value of the first pair with the key, or nil if there is no
// such pair. A pair without a value gives an empty slice, not nil.
func (l *List) Peek(key string) []byte {
	// next, written out: this is the call that handlers make most.
	n, head := uint32(len(key)), headOf(bytesconv.S2B(key))
	for i, pairs := 0, l.pairs; i < len(pairs); i++ {
		p := &pairs[i]
		if p.head == head && p.keyLen == n && (n <= 8 || string(l.arena[p.key+8:p.key+n]) == key[8:]) {
			return l.valueOf(p)
		}
	}
	return nil
}

// PeekAll appends the values of all pairs with the key to dst, in order.
// Values that are empty or missing are nil.
func (l *List) PeekAll(dst [][]byte, key string) [][]byte {
	for i := l.next(0, key); i >= 0; i = l.next(i+1, key) {
		var value []byte
		if p := &l.pairs[i]; p.valLen&^noValue > 0 {
			value = l.valueOf(p)
		}
		dst = append(dst, value)
	}
	return dst
}

// Add appends a pair.
func (l *List) Add(key, value string) { l.add(key, value, uint32(len(value))) }

// AddNoValue appends a pair without a value.
func (l *List) AddNoValue(key string) { l.add(key, "", noValue) }

func (l *List) add(key, value string, valLen uint32) {
	k := len(l.arena)
	if len(key) > maxArena || len(value) > maxArena || k+len(key)+len(value) > maxArena {
		return
	}
	l.reserve(len(key) + len(value))
	l.arena = append(append(l.arena, key...), value...)
	l.pairs = append(l.pairs, pair{
		head: headOf(bytesconv.S2B(key)),
		key:  uint32(k), keyLen: uint32(len(key)),
		val: uint32(k + len(key)), valLen: valLen,
	})
}

// reserve makes room for n more bytes at once, and never leaves the arena nil,
// so that empty keys and values aren't nil either.
func (l *List) reserve(n int) {
	if l.arena == nil || len(l.arena)+n > cap(l.arena) {
		l.arena = slices.Grow(l.arena, max(n, 64))
	}
}

// Set gives the first pair with the key the value, or appends a pair if there
// is none. Further pairs with the key stay.
func (l *List) Set(key, value string) {
	if i := l.next(0, key); i >= 0 {
		l.setValue(i, value, uint32(len(value)))
		return
	}
	l.Add(key, value)
}

// SetNoValue is Set with no value.
func (l *List) SetNoValue(key string) {
	if i := l.next(0, key); i >= 0 {
		l.setValue(i, "", noValue)
		return
	}
	l.AddNoValue(key)
}

// SetValue gives pair i the value.
func (l *List) SetValue(i int, value string) { l.setValue(i, value, uint32(len(value))) }

func (l *List) setValue(i int, value string, valLen uint32) {
	p := &l.pairs[i]
	if old := int(p.valLen &^ noValue); len(value) <= old {
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
	p.valLen = valLen
	l.compact()
}

// Del removes all pairs with the key. The order of the others stays.
func (l *List) Del(key string) {
	i := l.next(0, key)
	if i < 0 {
		return
	}
	w := i
	for i >= 0 {
		p := &l.pairs[i]
		l.dead += int(p.keyLen + p.valLen&^noValue)
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
	l.dead += int(p.keyLen + p.valLen&^noValue)
	l.pairs = slices.Delete(l.pairs, i, i+1)
	l.compact()
}

// compact copies what lives to a new arena once most of the old one is dead.
// The old arena is left to whoever still holds slices of it.
func (l *List) compact() {
	if l.dead >= compactAt && l.dead >= len(l.arena)/2 {
		l.copyLiving()
	}
}

func (l *List) copyLiving() {
	arena := make([]byte, 0, max(len(l.arena)-l.dead, 64)*2)
	for i := range l.pairs {
		p := &l.pairs[i]
		key, value := l.keyOf(p), l.valueOf(p)
		p.key = uint32(len(arena))
		arena = append(arena, key...)
		p.val = uint32(len(arena))
		arena = append(arena, value...)
	}
	l.arena, l.dead = arena, 0
}

// Sort sorts the pairs by key and, with byValue, pairs of equal keys by value.
// Pairs that compare equal keep their order. cmp returns a negative number, 0
// or a positive number as x is less than, equal to or greater than y; it must
// not change the list.
func (l *List) Sort(cmp func(x, y []byte) int, byValue bool) {
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
	if dst == l {
		return
	}
	dst.arena = append(dst.arena[:0], l.arena...)
	dst.pairs = append(dst.pairs[:0], l.pairs...)
	dst.dead = l.dead
	if len(l.pairs) > 0 {
		dst.reserve(0)
	}
}

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
