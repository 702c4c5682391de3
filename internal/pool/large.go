package pool

import (
	"math/bits"
	"slices"
	"sync"
	"weak"

	"github.com/galehttp/gale/internal/race"
)

// maxLarge is how many large buffers wait to be used again. One more replaces the one that
// has waited longest.
const maxLarge = 32

// large has the buffers above MaxSize that were given back. It holds them by weak
// pointers: the next garbage collection takes those that no caller has got by then. So
// they cost no memory that wouldn't be used anyway, however large they are. A new buffer
// of 20 MB costs 5,000 page faults, or as many bytes of zeros.
var large largeList

// largeList is a list of buffers, the one that has waited longest first. Any goroutine may
// call its methods.
type largeList struct {
	mu   sync.Mutex
	n    int
	bufs [maxLarge]weak.Pointer[Buf] // of which n are in use
}

// getLarge returns an empty buffer with room for at least n bytes; n > MaxSize.
func getLarge(n int) *Buf {
	if b := large.take(n); b != nil {
		return b
	}
	return &Buf{B: make([]byte, 0, roundLarge(n))}
}

// putLarge gives back a buffer above MaxSize.
func putLarge(b *Buf) {
	race.Poison(b.B)
	b.B = b.B[:0]
	large.add(b)
}

// roundLarge returns the capacity of a new buffer for n bytes: up to an eighth more than
// n, so that bodies of about the same size can use the same buffers.
func roundLarge(n int) int {
	unit := 1 << (bits.Len(uint(n-1)) - 4)
	if c := (n + unit - 1) &^ (unit - 1); c >= n {
		return c
	}
	return n // of the end of the address space of a small machine
}

// take removes the smallest buffer with room for n bytes from the list, and returns it. It
// returns nil if there is none, or only one that is more than twice as large.
func (l *largeList) take(n int) *Buf {
	l.mu.Lock()
	defer l.mu.Unlock()
	var best *Buf
	at, kept := 0, 0
	for _, p := range l.bufs[:l.n] {
		b := p.Value()
		if b == nil {
			continue // it was collected
		}
		l.bufs[kept] = p
		if c := cap(b.B); c >= n && c/2 <= n && (best == nil || c <= cap(best.B)) {
			best, at = b, kept
		}
		kept++
	}
	l.cut(kept)
	if best != nil {
		l.remove(at)
	}
	return best
}

// add puts a buffer at the end of the list.
func (l *largeList) add(b *Buf) {
	p := weak.Make(b)
	l.mu.Lock()
	defer l.mu.Unlock()
	if checksPuts && slices.Contains(l.bufs[:l.n], p) {
		panic("pool: a buffer was put into its pool twice")
	}
	if l.n == maxLarge {
		l.remove(0)
	}
	l.bufs[l.n] = p
	l.n++
}

// remove removes the buffer at index i.
func (l *largeList) remove(i int) {
	copy(l.bufs[i:], l.bufs[i+1:l.n])
	l.cut(l.n - 1)
}

// cut shortens the list to n buffers.
func (l *largeList) cut(n int) {
	clear(l.bufs[n:l.n])
	l.n = n
}
