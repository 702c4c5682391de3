package static

import (
	"hash/maphash"
	"sync"
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
// It is divided into shards by path, so that readers don't all wait for one lock.
// Each shard has an equal share of the limits.
type Cache[E Cacheable] struct {
	seed   maphash.Seed
	share  Limits
	maxAge time.Duration
	shards [cacheShards]cacheShard[E]
}

const cacheShards = 16

type cacheShard[E any] struct {
	mu    sync.RWMutex
	items [compress.Codings]map[string]*cacheItem[E]
	n     int
	bytes int64
	files int
	_     [64]byte // keeps the locks of neighbours in different cache lines
}

type cacheItem[E any] struct {
	entry E
	// expires is read under the read lock and changed under the write lock.
	expires time.Duration
	bytes   int64
	files   int
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

func (c *Cache[E]) shard(path []byte) *cacheShard[E] {
	return &c.shards[maphash.Bytes(c.seed, path)%cacheShards]
}

// Get returns the entry for path in the given coding, retained for the caller, and
// whether it is fresh at now. The first caller that finds an entry stale gets fresh
// == false and should load it again. For a while other callers get fresh == true,
// so that they don't all load it. ok is false if there is no entry.
func (c *Cache[E]) Get(path []byte, coding compress.Coding, now time.Duration) (e E, fresh, ok bool) {
	s := c.shard(path)
	s.mu.RLock()
	it := s.items[coding][string(path)]
	if it == nil || !it.entry.Retain() {
		s.mu.RUnlock()
		return e, false, false
	}
	e, fresh = it.entry, now < it.expires
	s.mu.RUnlock()
	if fresh {
		return e, true, true
	}
	s.mu.Lock()
	if fresh = now < it.expires; !fresh {
		it.expires = now + min(c.maxAge, reloadTime)
	}
	s.mu.Unlock()
	return e, fresh, true
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
	it := &cacheItem[E]{entry: e, expires: now + c.maxAge}
	it.bytes, it.files = e.Cost()
	if it.bytes > c.share.Bytes || it.files > c.share.Files || c.share.Entries < 1 || !e.Retain() {
		c.Remove(path, coding)
		return
	}
	s := c.shard(path)
	s.mu.Lock()
	dropped := s.drop(nil, coding, string(path))
	dropped = s.makeRoom(dropped, c.share, it, now)
	if s.fits(c.share, it) {
		s.add(coding, string(path), it)
	} else {
		dropped = append(dropped, e)
	}
	s.mu.Unlock()
	releaseAll(dropped)
}

// Remove drops the entry for path in a coding, if there is one. Readers that have a
// reference may still use it.
func (c *Cache[E]) Remove(path []byte, coding compress.Coding) {
	s := c.shard(path)
	s.mu.Lock()
	dropped := s.drop(nil, coding, string(path))
	s.mu.Unlock()
	releaseAll(dropped)
}

// Sweep drops the entries that became stale at least one age ago and weren't
// renewed, and returns how many are left.
func (c *Cache[E]) Sweep(now time.Duration) (left int) {
	return c.dropIf(func(it *cacheItem[E]) bool { return it.expires+c.maxAge <= now })
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
		for coding := range s.items {
			for path, it := range s.items[coding] {
				if cond(it) {
					dropped = s.drop(dropped, compress.Coding(coding), path)
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
		s.mu.RLock()
		entries += s.n
		bytes += s.bytes
		files += s.files
		s.mu.RUnlock()
	}
	return entries, bytes, files
}

func (s *cacheShard[E]) add(coding compress.Coding, path string, it *cacheItem[E]) {
	if s.items[coding] == nil {
		s.items[coding] = make(map[string]*cacheItem[E])
	}
	s.items[coding][path] = it
	s.n++
	s.bytes += it.bytes
	s.files += it.files
}

// drop removes an entry and appends it to dropped. The caller holds the lock. It
// must release the dropped entries after it has unlocked, because Release may close
// a file.
func (s *cacheShard[E]) drop(dropped []E, coding compress.Coding, path string) []E {
	it := s.items[coding][path]
	if it == nil {
		return dropped
	}
	delete(s.items[coding], path)
	s.n--
	s.bytes -= it.bytes
	s.files -= it.files
	return append(dropped, it.entry)
}

func (s *cacheShard[E]) fits(l Limits, it *cacheItem[E]) bool {
	return s.n < l.Entries && s.bytes+it.bytes <= l.Bytes && s.files+it.files <= l.Files
}

// makeRoom drops stale entries, then arbitrary entries that free what it needs. As
// for drop, the caller holds the lock.
func (s *cacheShard[E]) makeRoom(dropped []E, l Limits, it *cacheItem[E], now time.Duration) []E {
	for _, staleOnly := range [...]bool{true, false} {
		for coding := range s.items {
			for path, old := range s.items[coding] {
				if s.fits(l, it) {
					return dropped
				}
				if staleOnly && now < old.expires {
					continue
				}
				if s.files+it.files > l.Files && old.files == 0 {
					continue
				}
				dropped = s.drop(dropped, compress.Coding(coding), path)
			}
		}
	}
	return dropped
}

func releaseAll[E Cacheable](entries []E) {
	for _, e := range entries {
		e.Release()
	}
}
