package lifetime

import (
	"errors"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/galehttp/gale/internal/bytesconv"
)

// space is address space in chunks of equal size, each of several pages. A chunk is
// unreadable, and takes no memory, unless it belongs to a loan that lasts. Chunks are used
// in a ring: those whose loan ended first are used again first.
//
// A space is never unmapped: kept bytes must not point to memory of others. When its Guard
// is gone, another one gets it.
type space struct {
	region []byte // chunks one after the other
	base   uintptr
	chunk  int // size in bytes
	owners []owner
	table  *spaceTable // for the monitor; nil if there is none

	mu      sync.Mutex
	next    int // where the ring continues
	running int // chunks of loans that last
	lent    []bool
	dirty   []bool       // the system did not clear the chunk at the end; of the chunk's user
	used    atomic.Int64 // chunks that have had an owner
}

// owner is the loan that a chunk belongs to, or belonged to. It may change at any time.
type owner struct{ atomic.Pointer[tag] }

// run is one or several neighboring chunks.
type run struct {
	first, n int
	bytes    []byte
}

const (
	minChunk = 32 << 10
	// maxChunks bounds the number of mappings: in the worst case each chunk is one. Linux
	// allows a process 65,530 of them.
	maxChunks = 8192
)

// spaces are all spaces of the process.
var spaces struct {
	mu   sync.Mutex
	all  atomic.Pointer[[]*space] // replaced as a whole
	idle []*space                 // of guards that are gone
}

// acquireSpace returns a space of at most size bytes.
func acquireSpace(size int64) (*space, error) {
	chunk := chunkSize(size)
	n := size / chunk
	if n < 1 {
		return nil, fmt.Errorf("lifetime: no room for pages: the least is %d bytes", chunk)
	}
	if n*chunk != int64(int(n*chunk)) {
		return nil, errors.New("lifetime: pages need more address space than there is")
	}
	spaces.mu.Lock()
	defer spaces.mu.Unlock()
	for i, s := range spaces.idle {
		if s.chunk == int(chunk) && len(s.owners) == int(n) {
			spaces.idle = append(spaces.idle[:i], spaces.idle[i+1:]...)
			return s, nil
		}
	}
	region, err := reserve(int(n * chunk))
	if err != nil {
		return nil, err
	}
	s := &space{
		region: region, base: bytesconv.Address(region), chunk: int(chunk),
		owners: make([]owner, n), lent: make([]bool, n), dirty: make([]bool, n),
	}
	if err := s.try(); err != nil {
		unreserve(region)
		return nil, err
	}
	var all []*space
	if old := spaces.all.Load(); old != nil {
		all = append(all, *old...)
	}
	all = append(all, s)
	spaces.all.Store(&all)
	return s, nil
}

// chunkSize returns the size of the chunks of a space of size bytes.
func chunkSize(size int64) int64 {
	page := int64(os.Getpagesize())
	return (max(minChunk, (size+maxChunks-1)/maxChunks) + page - 1) / page * page
}

// releaseSpace gives a space back whose guard is gone. If loans that don't end have much of
// it, it is not used again, because the next guard would have no pages.
func releaseSpace(s *space) {
	s.mu.Lock()
	worn := 4*s.running > len(s.lent)
	s.mu.Unlock()
	if worn {
		return
	}
	spaces.mu.Lock()
	spaces.idle = append(spaces.idle, s)
	spaces.mu.Unlock()
}

// try finds out whether the system lets memory become readable and unreadable.
func (s *space) try() error {
	b := s.region[:s.chunk]
	if err := readable(b); err != nil {
		return err
	}
	b[0] = 1
	if err := unreadable(b); err != nil {
		return err
	}
	s.dirty[0] = discard(b) != nil
	return nil
}

// bytes returns the address space in use: that of loans that last, and what is unreadable
// because of one that has ended.
func (s *space) bytes() int64 { return s.used.Load() * int64(s.chunk) }

// take returns chunks with at least size bytes of 0 for l. It fails if too many are in use
// or the system refuses.
func (s *space) take(l *Loan, size int) (run, bool) {
	n := (size + s.chunk - 1) / s.chunk
	first, ok := s.claim(n)
	if !ok {
		return run{}, false
	}
	b := s.region[first*s.chunk : (first+n)*s.chunk : (first+n)*s.chunk]
	if readable(b) != nil {
		s.unclaim(first, n)
		return run{}, false
	}
	for i := first; i < first+n; i++ {
		if s.dirty[i] {
			clear(s.region[i*s.chunk : (i+1)*s.chunk])
			s.dirty[i] = false
		}
	}
	s.own(l, first, n)
	return run{first, n, b}, true
}

// claim finds n neighboring chunks that no loan uses, the next in the ring.
func (s *space) claim(n int) (first int, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	total := len(s.lent)
	if s.running+n > total {
		return 0, false
	}
	at, found := s.next, 0
	for range total + n {
		if at == total {
			at, found = 0, 0
		}
		if s.lent[at] {
			found = 0
		} else {
			found++
		}
		at++
		if found == n {
			first = at - n
			for i := first; i < at; i++ {
				s.lent[i] = true
			}
			s.running += n
			s.next = at
			return first, true
		}
	}
	return 0, false
}

// own makes l the owner of chunks that were claimed.
func (s *space) own(l *Loan, first, n int) {
	now, early := time.Now(), false
	for i := first; i < first+n; i++ {
		old := s.owners[i].Swap(l.tag)
		if old == nil {
			s.used.Add(1)
		} else if old.sinceEnd(now) < l.guard.c.Hold {
			early = true
		}
	}
	if early {
		l.guard.early.Add(1)
	}
	if s.table != nil {
		s.table.begin(&l.Origin, first, n)
	}
}

// rename makes t what the chunks of a loan belonged to, before they become unreadable.
func (s *space) rename(r run, t *tag) {
	for i := r.first; i < r.first+r.n; i++ {
		s.owners[i].Store(t)
	}
	if s.table != nil {
		s.table.begin(&t.Origin, r.first, r.n)
	}
}

// give makes the chunks of a loan unreadable. If the system refuses, it overwrites them and
// returns false.
func (s *space) give(r run, now time.Time) bool {
	if s.table != nil {
		s.table.end(r.first, now)
	}
	hidden, dirty := unreadable(r.bytes) == nil, false
	if hidden {
		dirty = discard(r.bytes) != nil
	} else {
		poison(r.bytes)
		dirty = true
	}
	for i := r.first; i < r.first+r.n; i++ {
		s.dirty[i] = dirty
	}
	s.unclaim(r.first, r.n)
	return hidden
}

func (s *space) unclaim(first, n int) {
	s.mu.Lock()
	for i := first; i < first+n; i++ {
		s.lent[i] = false
	}
	s.running -= n
	s.mu.Unlock()
}

// findPage returns the loan that the page at an address belongs to, or belonged to. ours
// tells whether the address is of any space.
func findPage(addr uintptr) (t *tag, ours bool) {
	all := spaces.all.Load()
	if all == nil {
		return nil, false
	}
	for _, s := range *all {
		if addr-s.base < uintptr(len(s.region)) {
			return s.owners[(addr-s.base)/uintptr(s.chunk)].Load(), true
		}
	}
	return nil, false
}
