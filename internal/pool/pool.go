package pool

import (
	"math/bits"

	"github.com/galehttp/gale/internal/race"
)

const (
	// MinSize is the capacity in bytes of the smallest class.
	MinSize = 1 << minBits
	// MaxSize is the capacity in bytes of the largest class. Larger buffers
	// are left to the garbage collector.
	MaxSize = 1 << maxBits

	minBits    = 9
	maxBits    = 20
	numClasses = maxBits - minBits + 1
)

// classes[i] holds buffers with a capacity of at least MinSize<<i bytes.
var classes [numClasses]Pool

// Get returns an empty buffer with room for at least n bytes. A negative n
// counts as 0. The caller owns the buffer until it hands it to [Put]; a buffer that isn't
// handed back is no leak, only a lost reuse.
//
// The memory of the buffer isn't cleared: it may hold bytes of an earlier
// use beyond its length.
func Get(n int) *Buf {
	if n > MaxSize {
		return &Buf{B: make([]byte, 0, n)}
	}
	i := classFor(n)
	if v := classes[i].Get(); v != nil {
		return v.(*Buf)
	}
	return &Buf{B: make([]byte, 0, MinSize<<i)}
}

// Put hands b back. Neither b nor any slice of b.B may be used afterwards.
// It does nothing if b is nil, and drops buffers that are smaller than
// [MinSize] or larger than [MaxSize].
func Put(b *Buf) {
	if b == nil {
		return
	}
	c := cap(b.B)
	if c < MinSize || c > MaxSize {
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

// classOf returns the largest class that a capacity of c bytes satisfies;
// MinSize <= c <= MaxSize. For the capacities that Get makes it is classFor;
// it rounds down for those that append made.
func classOf(c int) int {
	return bits.Len(uint(c)) - 1 - minBits
}
