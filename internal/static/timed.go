package static

import (
	"sync/atomic"
	"time"

	"github.com/galehttp/gale/internal/compress"
)

// Limits of the data that a Store keeps in memory: the contents of small files,
// listings, and compressed data that couldn't be written.
const (
	maxCacheEntries = 4096
	maxCacheBytes   = 32 << 20
)

// timedCache keeps the entries of a Store. It runs no goroutine: a timer removes
// old entries as long as anything is cached.
type timedCache struct {
	cache  *Cache[*Entry] // nil: nothing is cached
	maxAge time.Duration
	start  time.Time
	stop   <-chan struct{}
	armed  atomic.Bool
	idle   func() // called when nothing is cached any more
}

// init makes c ready. idle is called when nothing is cached any more.
func (c *timedCache) init(s *Settings, idle func()) {
	c.maxAge, c.start, c.stop, c.idle = s.MaxAge, time.Now(), s.Stop, idle
	c.cache = NewCache[*Entry](c.maxAge, Limits{Entries: maxCacheEntries, Bytes: maxCacheBytes, Files: s.MaxOpenFiles})
}

// now is the cache's clock: the time since the store was made.
func (c *timedCache) now() time.Duration { return time.Since(c.start) }

// put caches e unless the store was stopped. The caller keeps its own reference.
func (c *timedCache) put(path []byte, coding compress.Coding, e *Entry) {
	if c.stopped() {
		return
	}
	c.cache.Put(path, coding, e, c.now())
	c.arm()
}

func (c *timedCache) stopped() bool {
	select {
	case <-c.stop:
		return true
	default:
		return false
	}
}

// arm starts the timer unless it is running.
func (c *timedCache) arm() {
	if c.armed.CompareAndSwap(false, true) {
		time.AfterFunc(c.maxAge, c.sweep)
	}
}

// sweep drops old entries. It runs again until no entries are left.
func (c *timedCache) sweep() {
	if c.stopped() {
		c.cache.Clear()
	} else if c.cache.Sweep(c.now()) > 0 {
		time.AfterFunc(c.maxAge, c.sweep)
		return
	}
	c.idle()
	c.armed.Store(false)
	if n, _, _ := c.cache.Stats(); n > 0 {
		c.arm() // an entry was put in after the sweep, while armed was still set
	}
}
