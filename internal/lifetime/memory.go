package lifetime

import (
	"slices"
	"sync"
	"time"

	"github.com/galehttp/gale/internal/bytesconv"
)

// memory is what a loan lends: blocks that Alloc got, from the heap or from pages, and
// what Keep was given.
type memory struct {
	mu     sync.Mutex // of all of it: the request and the response of one loan may belong to two goroutines
	free   []byte     // the rest of the last block
	heap   [][]byte
	runs   []run
	first  [4][]byte // room of heap
	firstR [2]run    // room of runs
	left   bool      // see Leave
	total  int64     // sizes of heap and runs, with at least minCount for each; see mayHold
}

const (
	// heapBlock is the size of a block on the heap. Several small buffers share it.
	heapBlock = 4 << 10
	// align is the distance between buffers: none shares a word with another one.
	align = 16

	// maxTotal is how many bytes a loan remembers before it forgets what its objects have
	// left; see mayHold.
	maxTotal = 4 << 20
	// minCount is how much of maxTotal a block takes at least. It limits their number.
	minCount = 2 << 10
)

// mayHold reports whether the loan takes another block of size bytes. An object of a pool
// may be in use as long as the program runs, and each of its bodies may be a new block. So
// a loan that has maxTotal bytes only takes a block that is about as large as all others,
// as when a body grows.
func (m *memory) mayHold(size int) bool {
	return m.total < maxTotal || 2*int64(size) >= m.total
}

// Alloc returns an empty slice with room for at least n bytes, which are 0, of memory that
// belongs to the loan: on pages of its own, if the guard has pages and some are left. On
// such pages it faults after the end; a system call that is given it then returns EFAULT.
//
// A loan that has had much memory, as that of an object that is used for long, may return
// memory that it doesn't remember: see KeepLast.
//
// After the end of the loan it returns memory that belongs to the caller.
func (l *Loan) Alloc(n int) []byte {
	size := (max(n, 1) + align - 1) &^ (align - 1)
	m := &l.memory
	m.mu.Lock()
	defer m.mu.Unlock()
	if l.over.Load() || m.left {
		return make([]byte, 0, n)
	}
	if size > len(m.free) {
		if !m.mayHold(size) {
			return make([]byte, 0, n)
		}
		block := l.block(size)
		if len(block)-size < len(m.free) { // the older block has more left
			return block[:0:size]
		}
		m.free = block
	}
	b := m.free[:0:size]
	m.free = m.free[size:]
	return b
}

// Keep adds memory to the loan that Alloc has not returned. It is overwritten at the end,
// to its capacity. Memory of Alloc may be given too, and counts once. After the end Keep does
// nothing.
func (l *Loan) Keep(b []byte) {
	m := &l.memory
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.mayHold(cap(b)) {
		l.keep(b)
	}
}

// KeepLast is Keep for what an object has when it lapses, which is then empty. It also
// keeps memory of Alloc that the loan didn't remember.
func (l *Loan) KeepLast(b []byte) {
	l.memory.mu.Lock()
	defer l.memory.mu.Unlock()
	l.keep(b)
}

func (l *Loan) keep(b []byte) {
	m := &l.memory
	if cap(b) == 0 || l.over.Load() || m.left || m.covers(b) {
		return
	}
	l.hold(b)
}

// Leave gives the memory of the loan to the program for good: End doesn't change it, and it
// counts as held no more, except for pages. These stay readable, and no other loan gets
// them, because nothing tells when the program has dropped the last slice of them. What
// Alloc returns from now on belongs to the program, too.
func (l *Loan) Leave() {
	m := &l.memory
	m.mu.Lock()
	defer m.mu.Unlock()
	if l.over.Load() {
		return
	}
	m.left = true
	l.uncount()
	m.abandon()
}

// Covers reports whether b is memory of Alloc or Keep.
func (l *Loan) Covers(b []byte) bool {
	l.memory.mu.Lock()
	defer l.memory.mu.Unlock()
	return l.memory.covers(b)
}

func (m *memory) covers(b []byte) bool {
	if cap(b) == 0 {
		return false
	}
	b = b[:1]
	for i := range m.runs {
		if bytesconv.Overlaps(m.runs[i].bytes, b) {
			return true
		}
	}
	for _, h := range m.heap {
		if bytesconv.Overlaps(h, b) {
			return true
		}
	}
	return false
}

// block returns at least size bytes of 0. The caller holds mu.
func (l *Loan) block(size int) []byte {
	g, m := l.guard, &l.memory
	if g.space != nil {
		if r, ok := g.space.take(l, size); ok {
			if m.runs == nil {
				m.runs = m.firstR[:0]
			}
			m.runs = append(m.runs, r)
			m.total += int64(len(r.bytes))
			return r.bytes
		}
		g.unpaged.Add(1)
	}
	if size < heapBlock/2 {
		size = heapBlock
	}
	b := make([]byte, size)
	l.hold(b)
	return b
}

func (l *Loan) hold(b []byte) {
	m := &l.memory
	if m.heap == nil {
		m.heap = m.first[:0]
	}
	m.heap = append(m.heap, b)
	m.total += max(int64(cap(b)), minCount)
	l.heap.Add(int64(cap(b)))
	l.guard.held.Add(int64(cap(b)))
}

// taken is memory that belonged to a loan.
type taken struct {
	heap [][]byte
	runs []run
}

// take removes all memory from m. It fails if m was left.
func (m *memory) take() (t taken, ok bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.left {
		return t, false
	}
	t = taken{slices.Clone(m.heap), slices.Clone(m.runs)}
	m.abandon()
	m.total = 0
	return t, true
}

// endMemory overwrites all memory of a loan that is over, or makes it unreadable, and gives it up.
func (l *Loan) endMemory(now time.Time) {
	m := &l.memory
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, b := range m.heap {
		poison(b)
	}
	l.uncount()
	for _, r := range m.runs {
		if !l.guard.space.give(r, now) {
			l.guard.unpaged.Add(1)
		}
	}
	m.abandon()
}

// abandon gives up all memory.
func (m *memory) abandon() {
	m.free, m.heap, m.runs = nil, nil, nil
	m.first, m.firstR = [4][]byte{}, [2]run{}
}

// poisoned is the byte that memory has after the end. Text never has it twice in a row.
const poisoned = 0xdb

// pattern is what poison copies.
var pattern = func() (p [4 << 10]byte) {
	for i := range p {
		p[i] = poisoned
	}
	return p
}()

// Spoil overwrites b to its capacity, as the end of a loan does.
func Spoil(b []byte) { poison(b) }

// poison overwrites b to its capacity.
func poison(b []byte) {
	for b = b[:cap(b)]; len(b) > 0; {
		b = b[copy(b, pattern[:]):]
	}
}
