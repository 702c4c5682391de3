package gale

import (
	"errors"
	"io/fs"
	"path"
	"sync/atomic"
	"time"

	"github.com/galehttp/gale/internal/compress"
	"github.com/galehttp/gale/internal/static"
)

// Why a path can't be served, besides errors from opening it.
var (
	errBadPath = errors.New("path holds a zero byte")
	errDotDot  = errors.New("path holds a '..' segment")
	errIsDir   = errors.New("directory asked for without a slash")
	errNoIndex = errors.New("directory without index page")
)

// fsCache is the part of a handler that keeps entries and looks after them. It
// runs no goroutine: a timer sweeps as long as anything is cached.
type fsCache struct {
	cache  *static.Cache[*fsEntry] // nil: nothing is cached
	maxAge time.Duration
	start  time.Time
	stop   <-chan struct{}
	armed  atomic.Bool
	idle   func() // called when nothing is cached any more
}

func (c *fsCache) init(fs *FS, idle func()) {
	c.maxAge = fs.CacheDuration
	if c.maxAge <= 0 {
		c.maxAge = FSHandlerCacheDuration
	}
	c.start, c.stop, c.idle = time.Now(), fs.CleanStop, idle
	c.cache = static.NewCache[*fsEntry](c.maxAge, static.Limits{
		Entries: maxCacheEntries,
		Bytes:   maxCacheBytes,
		Files:   limitOr(fs.MaxOpenFiles, maxOpenFiles, 0),
	})
}

// now is the cache's time: how long the handler exists.
func (c *fsCache) now() time.Duration { return time.Since(c.start) }

// put caches e unless the handler has been stopped.
func (c *fsCache) put(path []byte, coding compress.Coding, e *fsEntry) {
	if c.stopped() {
		return
	}
	c.cache.Put(path, coding, e, c.now())
	c.arm()
}

func (c *fsCache) stopped() bool {
	select {
	case <-c.stop:
		return true
	default:
		return false
	}
}

// arm starts the timer unless it is running.
func (c *fsCache) arm() {
	if c.armed.CompareAndSwap(false, true) {
		time.AfterFunc(c.maxAge, c.sweep)
	}
}

// sweep drops what is old and goes on until nothing is left.
func (c *fsCache) sweep() {
	if c.stopped() {
		c.cache.Clear()
	} else if c.cache.Sweep(c.now()) > 0 {
		time.AfterFunc(c.maxAge, c.sweep)
		return
	}
	c.idle()
	c.armed.Store(false)
	if n, _, _ := c.cache.Stats(); n > 0 {
		c.arm() // something was put in just now, when the timer still ran
	}
}

// lookup returns the entry for path in the given coding, with a reference for
// the caller. It is marked as absent if there is no variant in that coding;
// without a coding it never is.
func (h *fsHandler) lookup(path []byte, coding compress.Coding) (*fsEntry, error) {
	if h.cache == nil {
		return h.load(path, coding, nil)
	}
	e, fresh, ok := h.cache.Get(path, coding, h.now())
	if fresh {
		return e, nil
	}
	if !ok {
		e = nil
	}
	return h.reload(path, coding, e)
}

// reload loads what is to replace old, or what is not cached yet.
func (h *fsHandler) reload(path []byte, coding compress.Coding, old *fsEntry) (*fsEntry, error) {
	if old != nil {
		defer old.Release()
	}
	e, err := h.load(path, coding, old)
	if isTooManyFiles(err) {
		h.cache.CloseFiles()
		e, err = h.load(path, coding, old)
	}
	if err != nil {
		if old != nil {
			h.cache.Remove(path, coding)
		}
		return nil, err
	}
	h.put(path, coding, e)
	return e, nil
}

// load opens the file at path, or the index page of the directory there, and
// makes an entry of it. old is what was served for it before, or nil.
func (h *fsHandler) load(p []byte, coding compress.Coding, old *fsEntry) (*fsEntry, error) {
	switch h.rules.Check(p) {
	case static.PathOK:
	case static.PathNUL:
		return nil, errBadPath
	case static.PathDotDot:
		return nil, errDotDot
	default:
		return nil, fs.ErrNotExist
	}
	name := string(static.AppendName(nil, p))
	f, info, err := h.src.open(name)
	if err != nil {
		return nil, err
	}
	if info.IsDir() {
		f.Close()
		if !endsInSlash(p) {
			return nil, errIsDir
		}
		if f, info, name, err = h.openIndex(name); err != nil {
			return nil, err
		}
		if f == nil && coding != compress.Identity {
			return &fsEntry{absent: true, neverCoded: true}, nil
		}
		if f == nil {
			return h.listDir(name, info, string(p))
		}
	}
	if name == "." { // the root is a file
		name = h.rootName
	}
	if coding != compress.Identity {
		defer f.Close()
		return h.loadCoded(f, info, name, coding, old)
	}
	return h.newEntry(f, info, name)
}

// openIndex opens the first of the index pages that a directory has. f is nil
// if it is to be listed.
func (h *fsHandler) openIndex(dir string) (f fs.File, info fs.FileInfo, name string, err error) {
	for _, index := range h.indexNames {
		name = path.Join(dir, index)
		f, info, err = h.src.open(name)
		if err == nil && !info.IsDir() {
			return f, info, name, nil
		}
		if err == nil {
			f.Close()
		} else if isTooManyFiles(err) {
			return nil, nil, "", err
		}
	}
	if !h.listings {
		return nil, nil, "", errNoIndex
	}
	info, err = h.src.stat(dir)
	return nil, info, dir, err
}
