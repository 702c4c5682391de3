package static

import (
	"container/list"
	"errors"
	"io/fs"
	"sync"
	"syscall"
)

// CopyLimit bounds the compressed copies that a Store writes. All files below CompressRoot or
// CopyRoot must be the Store's.
type CopyLimit struct {
	// Bytes is how many they may have together on the disk, 0 for no limit. The ones that were
	// opened the longest time ago are removed for new ones.
	Bytes int64
	// Room, if it isn't nil, is called before a copy of n bytes is written. An error means that
	// there is no room for it; otherwise done is called after it was written.
	Room func(n int64) (done func(), err error)
}

// Reasons not to write a copy: it alone has more bytes than all may have, or it would need the room
// or the name of one that is being written.
var (
	errCopyTooLarge = errors.New("the compressed copy is larger than all of them may be")
	errCopyBusy     = errors.New("another compressed copy is being written")
)

// diskBlock is what a file takes at least on the disk. It bounds the number of copies, too.
const diskBlock = 4 << 10

// missing reports whether err says that a file isn't there. The folder of it, or the root, may
// be a file itself.
func missing(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR)
}

// limitedCopies is a copyStore with a CopyLimit.
type limitedCopies struct {
	copyStore
	limit CopyLimit

	mu     sync.Mutex
	sum    int64                    // of the copies that are there or being written
	byName map[string]*list.Element // of recent
	recent list.List                // of *madeCopy: the one that was used last is first
}

type madeCopy struct {
	name    string
	size    int64
	writing bool // it isn't there yet, or an older one is: nothing to remove
}

func newLimitedCopies(s copyStore, limit CopyLimit) *limitedCopies {
	return &limitedCopies{copyStore: s, limit: limit, byName: make(map[string]*list.Element)}
}

func (c *limitedCopies) open(name string) (fs.File, fs.FileInfo, error) {
	f, info, err := c.copyStore.open(name)
	c.mu.Lock()
	defer c.mu.Unlock()
	if e := c.byName[name]; e != nil && err == nil {
		c.recent.MoveToFront(e)
	}
	return f, info, err
}

func (c *limitedCopies) write(name string, data []byte, like fs.FileInfo) error {
	size := (int64(len(data)) + diskBlock - 1) / diskBlock * diskBlock
	if err := c.reserve(name, size); err != nil {
		return err
	}
	err := c.writeInRoom(name, data, like, size)
	c.mu.Lock()
	c.byName[name].Value.(*madeCopy).writing = false
	c.mu.Unlock()
	if err != nil {
		_ = c.remove(name) // what was there before is outdated
	}
	return err
}

func (c *limitedCopies) writeInRoom(name string, data []byte, like fs.FileInfo, size int64) error {
	if c.limit.Room != nil {
		done, err := c.limit.Room(size)
		if err != nil {
			return err
		}
		defer done()
	}
	return c.copyStore.write(name, data, like)
}

// reserve counts a copy that will be written, and removes others for it.
func (c *limitedCopies) reserve(name string, size int64) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if size > c.limit.Bytes {
		return errCopyTooLarge
	}
	if e := c.byName[name]; e != nil { // of an older version of the file
		if err := c.evict(e); err != nil {
			return err
		}
	}
	for c.sum+size > c.limit.Bytes {
		oldest := c.recent.Back()
		for oldest != nil && oldest.Value.(*madeCopy).writing {
			oldest = oldest.Prev()
		}
		if oldest == nil {
			return errCopyBusy
		}
		if err := c.evict(oldest); err != nil {
			return err
		}
	}
	c.byName[name] = c.recent.PushFront(&madeCopy{name: name, size: size, writing: true})
	c.sum += size
	return nil
}

// evict removes a copy. One that can't be removed still counts, and isn't tried again soon. The lock is
// held.
func (c *limitedCopies) evict(e *list.Element) error {
	made := e.Value.(*madeCopy)
	if made.writing {
		return errCopyBusy
	}
	if err := c.copyStore.remove(made.name); err != nil && !missing(err) {
		c.recent.MoveToFront(e)
		return err
	}
	c.uncount(e)
	return nil
}

// uncount stops counting a copy. The lock is held.
func (c *limitedCopies) uncount(e *list.Element) {
	made := c.recent.Remove(e).(*madeCopy)
	delete(c.byName, made.name)
	c.sum -= made.size
}

func (c *limitedCopies) remove(name string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	err := c.copyStore.remove(name)
	if e := c.byName[name]; e != nil && !e.Value.(*madeCopy).writing && (err == nil || missing(err)) {
		c.uncount(e)
	}
	return err
}
