package static

import (
	"hash/maphash"
	"sync"
	"sync/atomic"
	"time"

	"github.com/galehttp/gale/internal/compress"
)

// Cacheable is the interface of a Cache's entries.
type Cacheable interface {
	// Cost returns the bytes of memory and the open files that the entry keeps.
	Cost() (bytes int64, files int)
	// Retain takes a reference for a reader. It returns false if the entry was
	// released already.
	Retain() bool
	// Release gives back a reference. The cache holds one of its own.
	Release()
}

// Limits are the limits of a Cache. They can't be changed.
type Limits struct {
	// Entries, Bytes and Files limit the sums over all entries.
	Entries int
	Bytes   int64
	Files   int
}

// Cache keeps what was opened or read for a path, by content coding, until it gets
// old. It has no goroutine and no timer and reads no clock: callers pass the time,
// and call Sweep from time to time. All methods may be called concurrently.
//
// Get writes nothing that others read, except what Retain does, and takes no lock while
// the entry is fresh: any number of processors may serve the same entry. The cache is
// divided into shards by path. Each shard has an equal share of the limits.
type Cache[E Cacheable] struct {
	seed   maphash.Seed
	share  Limits
	maxAge time.Duration
	shards [cacheShards]cacheShard[E]
}

const (
	cacheShards = 16
	// cacheBuckets is the number of lists in each shard. With as many entries as a Store
	// keeps, a list has four.
	cacheBuckets = 64
)

// cacheShard has the items of some paths, in lists by hash. Readers follow the lists
// without a lock. Those who change them, or the other fields, hold mu.
type cacheShard[E any] struct {
	_     [64]byte // keeps what changes apart from what readers need
	mu    sync.Mutex
	hand  int // the list where makeRoom looks first
	n     int
	bytes int64
	files int
	_     [64]byte
	lists [cacheBuckets]cacheList[E]
}

// cacheList is a link to the first or next item of a list, nil at its end.
type cacheList[E any] struct{ atomic.Pointer[cacheItem[E]] }

// cacheItem is an entry with its key. Only expires and next change after it was added. A
// reader may stand on an item that was dropped meanwhile: next still leads to the rest of
// the list.
type cacheItem[E any] struct {
	path    string
	coding  compress.Coding
	entry   E
	expires atomic.Int64 // nanoseconds of the cache's clock
	bytes   int64
	files   int
	next    cacheList[E]
}

func (it *cacheItem[E]) fresh(now time.Duration) bool { return int64(now) < it.expires.Load() }

// find returns the item for a key, nil if there is none. Any goroutine may call it.
func (l *cacheList[E]) find(path []byte, coding compress.Coding) *cacheItem[E] {
	it := l.Load()
	for it != nil && (it.coding != coding || it.path != string(path)) {
		it = it.next.Load()
	}
	return it
}

// NewCache returns a cache whose entries are fresh for maxAge.
func NewCache[E Cacheable](maxAge time.Duration, limits Limits) *Cache[E] {
	share := func(n int) int { return (n + cacheShards - 1) / cacheShards }
	return &Cache[E]{
		seed:   maphash.MakeSeed(),
		maxAge: maxAge,
		share:  Limits{Entries: share(limits.Entries), Bytes: limits.Bytes / cacheShards, Files: share(limits.Files)},
	}
}

// shard returns the shard of a path and its list there.
func (c *Cache[E]) shard(path []byte) (*cacheShard[E], *cacheList[E]) {
	h := maphash.Bytes(c.seed, path)
	s := &c.shards[h%cacheShards]
	return s, &s.lists[h/cacheShards%cacheBuckets]
}

// Get returns the entry for path in the given coding, retained for the caller, and
// whether it is fresh at now. The first caller that finds an entry stale gets fresh
// == false and should load it again. For a while other callers get fresh == true,
// so that they don't all load it. ok is false if there is no entry.
func (c *Cache[E]) Get(path []byte, coding compress.Coding, now time.Duration) (e E, fresh, ok bool) {
	s, list := c.shard(path)
	it := list.find(path, coding)
	for it != nil && !it.entry.Retain() {
		gone := it // it was dropped, and perhaps replaced, or others have released it
		if it = list.find(path, coding); it == gone {
			return e, false, false
		}
	}
	if it == nil {
		return e, false, false
	}
	if it.fresh(now) {
		return it.entry, true, true
	}
	s.mu.Lock()
	if fresh = it.fresh(now); !fresh {
		it.expires.Store(int64(now + min(c.maxAge, reloadTime)))
	}
	s.mu.Unlock()
	return it.entry, fresh, true
}

// reloadTime is how long a stale entry is served to other callers while one reloads
// it.
const reloadTime = time.Second

// Put stores e for path until now plus the cache's age, and replaces an older
// entry. If there is room, the cache takes its own reference. It makes room by
// dropping stale entries, then arbitrary ones. An entry that is larger than a
// shard's share isn't stored. The caller keeps its own reference, and path isn't
// kept.
func (c *Cache[E]) Put(path []byte, coding compress.Coding, e E, now time.Duration) {
	it := &cacheItem[E]{coding: coding, entry: e}
	it.expires.Store(int64(now + c.maxAge))
	it.bytes, it.files = e.Cost()
	if it.bytes > c.share.Bytes || it.files > c.share.Files || c.share.Entries < 1 || !e.Retain() {
		c.Remove(path, coding)
		return
	}
	it.path = string(path)
	s, list := c.shard(path)
	s.mu.Lock()
	old := list.find(path, coding)
	s.discount(old)
	dropped := s.makeRoom(nil, c.share, it, old, now)
	switch fits := s.fits(c.share, it); {
	case !fits:
		dropped = append(s.unlink(dropped, list, old), e)
	case old == nil:
		s.add(list, list, it)
	default:
		s.add(list.linkTo(old), &old.next, it) // readers find one of the two
		dropped = append(dropped, old.entry)
	}
	s.mu.Unlock()
	releaseAll(dropped)
}

// Remove drops the entry for path in a coding, if there is one. Readers that have a
// reference may still use it.
func (c *Cache[E]) Remove(path []byte, coding compress.Coding) {
	s, list := c.shard(path)
	s.mu.Lock()
	dropped := s.drop(nil, list, list.find(path, coding))
	s.mu.Unlock()
	releaseAll(dropped)
}

// Sweep drops the entries that became stale at least one age ago and weren't
// renewed, and returns how many are left.
func (c *Cache[E]) Sweep(now time.Duration) (left int) {
	return c.dropIf(func(it *cacheItem[E]) bool { return time.Duration(it.expires.Load())+c.maxAge <= now })
}

// Clear drops everything.
func (c *Cache[E]) Clear() {
	c.dropIf(func(*cacheItem[E]) bool { return true })
}

// CloseFiles drops the entries that keep files open. It is for a process that has
// run out of descriptors.
func (c *Cache[E]) CloseFiles() {
	c.dropIf(func(it *cacheItem[E]) bool { return it.files > 0 })
}

func (c *Cache[E]) dropIf(cond func(*cacheItem[E]) bool) (left int) {
	for i := range c.shards {
		s := &c.shards[i]
		var dropped []E
		s.mu.Lock()
		for j := range s.lists {
			for it := s.lists[j].Load(); it != nil; it = it.next.Load() {
				if cond(it) {
					dropped = s.drop(dropped, &s.lists[j], it)
				}
			}
		}
		left += s.n
		s.mu.Unlock()
		releaseAll(dropped)
	}
	return left
}

// Stats returns the number of entries, their bytes and their open files.
func (c *Cache[E]) Stats() (entries int, bytes int64, files int) {
	for i := range c.shards {
		s := &c.shards[i]
		s.mu.Lock()
		entries += s.n
		bytes += s.bytes
		files += s.files
		s.mu.Unlock()
	}
	return entries, bytes, files
}

// add adds an item at a link of a list, before what another link leads to. The caller
// holds the lock.
func (s *cacheShard[E]) add(at, before *cacheList[E], it *cacheItem[E]) {
	it.next.Store(before.Load())
	at.Store(it)
	s.n++
	s.bytes += it.bytes
	s.files += it.files
}

// drop removes an item from its list and appends its entry to dropped; it may be nil. The
// caller holds the lock. It must release the dropped entries after it has unlocked,
// because Release may close a file.
func (s *cacheShard[E]) drop(dropped []E, list *cacheList[E], it *cacheItem[E]) []E {
	s.discount(it)
	return s.unlink(dropped, list, it)
}

// discount takes an item out of the sums.
func (s *cacheShard[E]) discount(it *cacheItem[E]) {
	if it != nil {
		s.n--
		s.bytes -= it.bytes
		s.files -= it.files
	}
}

// unlink is drop for an item that is out of the sums.
func (s *cacheShard[E]) unlink(dropped []E, list *cacheList[E], it *cacheItem[E]) []E {
	if it == nil {
		return dropped
	}
	list.linkTo(it).Store(it.next.Load())
	return append(dropped, it.entry)
}

// linkTo returns the link of the list that leads to an item of it. The caller holds the
// lock.
func (l *cacheList[E]) linkTo(it *cacheItem[E]) *cacheList[E] {
	for l.Load() != it {
		l = &l.Load().next
	}
	return l
}

func (s *cacheShard[E]) fits(l Limits, it *cacheItem[E]) bool {
	return s.n < l.Entries && s.bytes+it.bytes <= l.Bytes && s.files+it.files <= l.Files
}

// makeRoom drops stale entries, then arbitrary entries that free what it needs, but not
// spare. As for drop, the caller holds the lock.
func (s *cacheShard[E]) makeRoom(dropped []E, l Limits, it, spare *cacheItem[E], now time.Duration) []E {
	for _, staleOnly := range [...]bool{true, false} {
		for range s.lists {
			list := &s.lists[s.hand]
			for old := list.Load(); old != nil; old = old.next.Load() {
				if s.fits(l, it) {
					return dropped
				}
				if old == spare || staleOnly && old.fresh(now) {
					continue
				}
				if s.files+it.files > l.Files && old.files == 0 {
					continue
				}
				dropped = s.drop(dropped, list, old)
			}
			s.hand = (s.hand + 1) % cacheBuckets
		}
	}
	return dropped
}

func releaseAll[E Cacheable](entries []E) {
	for _, e := range entries {
		e.Release()
	}
}
