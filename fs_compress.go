package gale

import (
	"errors"
	"io"
	"io/fs"
	"runtime"
	"sync"

	"github.com/galehttp/gale/internal/compress"
	"github.com/galehttp/gale/internal/static"
)

// The sizes of files that are worth compressing: below, the head outweighs the
// gain; above, it would take too much memory and time.
const (
	minCompressed = 200
	maxCompressed = 8 << 20
)

// compressing bounds how many files are compressed at a time in the process.
var compressing = make(chan struct{}, max(1, runtime.GOMAXPROCS(0)))

// siblingSuffixes name the files that FS.Precompressed looks for.
var siblingSuffixes = [compress.Codings]string{compress.Gzip: ".gz", compress.Brotli: ".br", compress.Zstd: ".zst"}

// loadCoded makes an entry of the variant of a file in a coding: a sibling that
// was there before, a copy made earlier, or a new one; or one that says that
// there is none. f is the open file, which stays the caller's.
func (h *fsHandler) loadCoded(f fs.File, info fs.FileInfo, name string, coding compress.Coding, old *fsEntry) (*fsEntry, error) {
	absent := &fsEntry{absent: true}
	contentType := static.TypeByName(name)
	ra, shareable := isReaderAt(f)
	if contentType == "" && shareable {
		var err error
		if contentType, err = sniffAt(ra); err != nil {
			return nil, err
		}
	}
	if !static.Compressible(contentType) {
		absent.neverCoded = true
		return absent, nil
	}
	v := variant{name: name, contentType: contentType, coding: coding, origin: info}
	if h.precompressed {
		if e, _ := h.openVariant(h.src, name+siblingSuffixes[coding], v, true); e != nil {
			return e, nil
		}
	}
	if !h.compress.Has(coding) || info.Size() < minCompressed || info.Size() > maxCompressed || !shareable || h.isCopyName(name) {
		return absent, nil
	}
	if e := h.findCopy(v, old); e != nil {
		return e, nil
	}
	return h.makeCopy(ra, v, old)
}

// variant is what is known of a compressed variant before it is there.
type variant struct {
	name        string
	contentType string
	coding      compress.Coding
	origin      fs.FileInfo
}

// findCopy returns the variant that was compressed before, or nil. old is what
// was loaded for the same variant before.
func (h *fsHandler) findCopy(v variant, old *fsEntry) *fsEntry {
	if h.copies != nil {
		e, err := h.openVariant(h.copies, v.name+h.suffixes[v.coding], v, false)
		if e != nil {
			return e
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return &fsEntry{absent: true} // such as a link that leads out: keep away
		}
	}
	// What couldn't be written, or didn't get smaller, is known as long as it is
	// asked for.
	if old != nil && old.file == nil && old.originSize == v.origin.Size() &&
		old.originTime.Equal(v.origin.ModTime()) && (!old.originTime.IsZero() || immutable(h.src)) {
		e := *old
		if !e.absent {
			h.finish(&e, e.originTime)
		}
		return &e
	}
	return nil
}

// openVariant opens a file that holds a variant, if it is there and of the
// right age: that of the origin, or not older if it was made by others. It
// returns nil without an error for one that isn't.
func (h *fsHandler) openVariant(src interface {
	open(string) (fs.File, fs.FileInfo, error)
}, name string, v variant, others bool) (*fsEntry, error) {
	f, info, err := src.open(name)
	if err != nil {
		return nil, err
	}
	fits := isCopyOf(info.ModTime(), v.origin.ModTime())
	if others {
		fits = !info.ModTime().Before(v.origin.ModTime())
	}
	if !info.Mode().IsRegular() || !fits {
		f.Close()
		return nil, nil
	}
	e, err := h.newEntry(f, info, name)
	if err != nil {
		return nil, err
	}
	e.contentType, e.coding = v.contentType, v.coding
	modTime := v.origin.ModTime()
	if info.ModTime().After(modTime) {
		modTime = info.ModTime()
	}
	h.finish(e, modTime)
	e.originTime, e.originSize = v.origin.ModTime(), v.origin.Size()
	return e, nil
}

// makeCopy compresses f. One goroutine does so for a variant; others wait for it
// and take what came of it, from memory or from the disk.
func (h *fsHandler) makeCopy(f io.ReaderAt, v variant, old *fsEntry) (*fsEntry, error) {
	key := flightKey{v.name, v.coding}
	for {
		fl, leader := h.flights.join(key)
		if leader {
			defer h.flights.land(key, fl)
			e, err := h.compressFile(f, v, old)
			if err == nil && e.file == nil {
				fl.entry = e
			}
			return e, err
		}
		if <-fl.done; fl.entry != nil {
			return fl.entry, nil
		}
		if e := h.findCopy(v, old); e != nil {
			return e, nil
		}
	}
}

func (h *fsHandler) compressFile(f io.ReaderAt, v variant, old *fsEntry) (*fsEntry, error) {
	if e := h.findCopy(v, old); e != nil {
		return e, nil // made while the caller came here
	}
	h.removeOutdated(v)
	compressing <- struct{}{}
	defer func() { <-compressing }()
	plain, err := readSmall(io.NewSectionReader(f, 0, v.origin.Size()), v.origin.Size())
	if err != nil {
		return nil, err
	}
	data := compressAll(plain, v.coding)
	if len(data) > len(plain)-len(plain)/20 {
		return &fsEntry{absent: true, originTime: v.origin.ModTime(), originSize: v.origin.Size()}, nil
	}
	if h.copies != nil && h.copies.write(v.name+h.suffixes[v.coding], data, v.origin) == nil {
		if e := h.findCopy(v, nil); e != nil {
			return e, nil
		}
	}
	e := &fsEntry{
		data:        data,
		size:        int64(len(data)),
		contentType: v.contentType,
		coding:      v.coding,
		originTime:  v.origin.ModTime(),
		originSize:  v.origin.Size(),
	}
	h.finish(e, v.origin.ModTime())
	return e, nil
}

// removeOutdated removes a copy of another age that lies beside its file since
// the time before CompressRoot was set. Nothing but copies has such a name.
func (h *fsHandler) removeOutdated(v variant) {
	if h.oldCopies == nil {
		return
	}
	name := v.name + h.suffixes[v.coding]
	f, info, err := h.oldCopies.open(name)
	if err != nil {
		return
	}
	f.Close()
	if info.Mode().IsRegular() && !isCopyOf(info.ModTime(), v.origin.ModTime()) {
		_ = h.oldCopies.remove(name) // it costs nothing but its space
	}
}

func compressAll(plain []byte, coding compress.Coding) []byte {
	switch coding {
	case compress.Brotli:
		return AppendBrotliBytesLevel(nil, plain, CompressBrotliDefaultCompression)
	case compress.Zstd:
		return AppendZstdBytesLevel(nil, plain, CompressZstdDefault)
	default:
		return AppendGzipBytesLevel(nil, plain, CompressDefaultCompression)
	}
}

// flightGroup sees to it that one goroutine at a time works on a variant.
type flightGroup struct {
	mu     sync.Mutex
	flying map[flightKey]*flight
}

type flightKey struct {
	name   string
	coding compress.Coding
}

// flight is work that is being done. The entry is set, if at all, before done is
// closed; it is one without references, which many may share.
type flight struct {
	done  chan struct{}
	entry *fsEntry
}

// join returns the flight for key. The leader, who began it, does the work and
// calls land; others wait for done.
func (g *flightGroup) join(key flightKey) (fl *flight, leader bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if fl := g.flying[key]; fl != nil {
		return fl, false
	}
	if g.flying == nil {
		g.flying = make(map[flightKey]*flight)
	}
	fl = &flight{done: make(chan struct{})}
	g.flying[key] = fl
	return fl, true
}

func (g *flightGroup) land(key flightKey, fl *flight) {
	g.mu.Lock()
	delete(g.flying, key)
	g.mu.Unlock()
	close(fl.done)
}
