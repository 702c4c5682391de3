package lifetime

import (
	"time"

	"github.com/galehttp/gale/internal/bytesconv"
)

// memory is what a loan lends: blocks that Alloc got, from the heap or from pages, and
// what Keep was given.
type memory struct {
	free   []byte // the rest of the last block
	heap   [][]byte
	runs   []run
	first  [4][]byte // room of heap
	firstR [2]run    // room of runs
	held   int64     // bytes of heap
}

const (
	// heapBlock is the size of a block on the heap. Several small buffers share it.
	heapBlock = 4 << 10
	// align is the distance between buffers: none shares a word with another one.
	align = 16
)

// Alloc returns an empty slice with room for at least n bytes, which are 0, of memory that
// belongs to the loan: on pages of its own, if the guard has pages and some are left. On
// such pages it faults after the end; a system call that is given it then returns EFAULT.
//
// After the end of the loan it returns memory that belongs to the caller.
func (l *Loan) Alloc(n int) []byte {
	if l.over.Load() {
		return make([]byte, 0, n)
	}
	size := (max(n, 1) + align - 1) &^ (align - 1)
	m := &l.memory
	if size > len(m.free) {
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
	if cap(b) == 0 || l.over.Load() || l.Covers(b) {
		return
	}
	l.hold(b)
}

// Covers reports whether b is memory of Alloc or Keep.
func (l *Loan) Covers(b []byte) bool {
	if cap(b) == 0 {
		return false
	}
	b = b[:1]
	for i := range l.memory.runs {
		if bytesconv.Overlaps(l.memory.runs[i].bytes, b) {
			return true
		}
	}
	for _, h := range l.memory.heap {
		if bytesconv.Overlaps(h, b) {
			return true
		}
	}
	return false
}

// block returns at least size bytes of 0.
func (l *Loan) block(size int) []byte {
	g, m := l.guard, &l.memory
	if g.space != nil {
		if r, ok := g.space.take(l, size); ok {
			if m.runs == nil {
				m.runs = m.firstR[:0]
			}
			m.runs = append(m.runs, r)
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
	m.held += int64(cap(b))
	l.guard.held.Add(int64(cap(b)))
}

// end overwrites all memory, or makes it unreadable, and gives it up.
func (m *memory) end(g *Guard, now time.Time) {
	for _, b := range m.heap {
		poison(b)
	}
	if m.held != 0 {
		g.held.Add(-m.held)
	}
	for _, r := range m.runs {
		if !g.space.give(r, now) {
			g.unpaged.Add(1)
		}
	}
	*m = memory{}
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

// poison overwrites b to its capacity.
func poison(b []byte) {
	for b = b[:cap(b)]; len(b) > 0; {
		b = b[copy(b, pattern[:]):]
	}
}
