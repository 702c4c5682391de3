package pool

import (
	"math/bits"

	"github.com/galehttp/gale/internal/race"
)

const (
	// MinSize is the capacity in bytes of the smallest class.
	MinSize = 1 << minBits
	// MaxSize is the capacity in bytes of the largest class. Larger buffers can be
	// used again until the next garbage collection.
	MaxSize = 1 << maxBits

	minBits    = 9
	maxBits    = 20
	numClasses = maxBits - minBits + 1
)

// classes[i] holds buffers with a capacity of at least MinSize<<i bytes.
var classes [numClasses]Pool

// Get returns an empty buffer with room for at least n bytes. A negative n counts
// as 0. The caller owns the buffer until it passes it to [Put]. A buffer that isn't
// given back is not a leak; it only can't be reused.
//
// The memory of the buffer isn't cleared: beyond its length it may hold bytes of an
// earlier use.
func Get(n int) *Buf {
	if n > MaxSize {
		return getLarge(n)
	}
	i := classFor(n)
	if v := classes[i].Get(); v != nil {
		return v.(*Buf)
	}
	return &Buf{B: make([]byte, 0, MinSize<<i)}
}

// Put gives b back. Neither b nor any slice of b.B may be used afterwards. Put does
// nothing if b is nil, and drops buffers that are smaller than [MinSize] and those that
// are lent.
func Put(b *Buf) {
	if b == nil || b.Loan != nil {
		return
	}
	c := cap(b.B)
	if c < MinSize {
		return
	}
	if c > MaxSize {
		putLarge(b)
		return
	}
	race.Poison(b.B)
	b.B = b.B[:0]
	classes[classOf(c)].Put(b)
}

// classFor returns the smallest class that holds n bytes; n <= MaxSize.
func classFor(n int) int {
	if n <= MinSize {
		return 0
	}
	return bits.Len(uint(n-1)) - minBits
}

// classOf returns the class of a buffer with a capacity of c bytes: the largest
// class whose capacity is at most c; MinSize <= c <= MaxSize. For the capacities
// that Get makes it equals classFor; for those that append made it rounds down.
func classOf(c int) int {
	return bits.Len(uint(c)) - 1 - minBits
}
