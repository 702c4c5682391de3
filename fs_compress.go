package gale

import (
	"io"
	"io/fs"
	"runtime"
	"sync"

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
var siblingSuffixes = [static.Codings]string{static.Gzip: ".gz", static.Brotli: ".br", static.Zstd: ".zst"}

// loadCoded makes an entry of the variant of a file in a coding: a sibling that
// was there before, a copy made earlier, or a new one. f is the open file; it is
// closed unless both results are nil, which means that there is no variant.
func (h *fsHandler) loadCoded(f fs.File, info fs.FileInfo, name string, coding static.Coding, old *fsEntry) (*fsEntry, error) {
	contentType := static.TypeByName(name)
	if contentType == "" {
		ra, ok := isReaderAt(f)
		if !ok {
			return nil, nil // can't be looked at twice
		}
		var err error
		if contentType, err = sniffAt(ra); err != nil {
			f.Close()
			return nil, err
		}
	}
	if !static.Compressible(contentType) {
		return nil, nil
	}
	v := variant{name: name, contentType: contentType, coding: coding, origin: info}
	if h.precompressed {
		if e := h.openVariant(h.src, name+siblingSuffixes[coding], v, true); e != nil {
			f.Close()
			return e, nil
		}
	}
	if !h.compress.Has(coding) || info.Size() < minCompressed || info.Size() > maxCompressed || h.isCopyName(name) {
		return nil, nil
	}
	if e := h.findCopy(v, old); e != nil {
		f.Close()
		return e, nil
	}
	return h.makeCopy(f, v, old)
}

// variant is what is known of a compressed variant before it is there.
type variant struct {
	name        string
	contentType string
	coding      static.Coding
	origin      fs.FileInfo
}

// findCopy returns the variant that was compressed before, or nil.
func (h *fsHandler) findCopy(v variant, old *fsEntry) *fsEntry {
	if h.copies != nil {
		if e := h.openVariant(h.copies, v.name+h.suffixes[v.coding], v, false); e != nil {
			return e
		}
	}
	// What couldn't be written is in memory as long as it is asked for.
	if old != nil && old.data != nil && old.coding == v.coding && old.originSize == v.origin.Size() &&
		old.originTime.Equal(v.origin.ModTime()) && (!old.originTime.IsZero() || immutable(h.src)) {
		e := *old
		return &e
	}
	return nil
}

// openVariant opens a file that holds a variant, if it is there and of the
// right age: that of the origin, or not older if it was made by others.
func (h *fsHandler) openVariant(src interface {
	open(string) (fs.File, fs.FileInfo, error)
}, name string, v variant, others bool) *fsEntry {
	f, info, err := src.open(name)
	if err != nil {
		return nil
	}
	fits := isCopyOf(info.ModTime(), v.origin.ModTime())
	if others {
		fits = !info.ModTime().Before(v.origin.ModTime())
	}
	if !info.Mode().IsRegular() || !fits {
		f.Close()
		return nil
	}
	e, err := h.newEntry(f, info, name)
	if err != nil {
		return nil
	}
	e.contentType, e.coding = v.contentType, v.coding
	modTime := v.origin.ModTime()
	if info.ModTime().After(modTime) {
		modTime = info.ModTime()
	}
	h.finish(e, modTime)
	e.originTime, e.originSize = v.origin.ModTime(), v.origin.Size()
	return e
}

// makeCopy compresses f, whose ownership it takes unless both results are nil.
// One goroutine does so for a variant, others wait for it and look again.
func (h *fsHandler) makeCopy(f fs.File, v variant, old *fsEntry) (*fsEntry, error) {
	key := flightKey{v.name, v.coding}
	for !h.flights.begin(key) {
		if e := h.findCopy(v, old); e != nil {
			f.Close()
			return e, nil
		}
	}
	defer h.flights.end(key)
	if e := h.findCopy(v, old); e != nil {
		f.Close()
		return e, nil
	}
	compressing <- struct{}{}
	defer func() { <-compressing }()
	ra, ok := isReaderAt(f)
	if !ok {
		return nil, nil
	}
	plain, err := readSmall(io.NewSectionReader(ra, 0, v.origin.Size()), v.origin.Size())
	if err != nil {
		f.Close()
		return nil, err
	}
	data := compressAll(plain, v.coding)
	if len(data) > len(plain)-len(plain)/20 {
		return nil, nil
	}
	f.Close()
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

func compressAll(plain []byte, coding static.Coding) []byte {
	switch coding {
	case static.Brotli:
		return AppendBrotliBytesLevel(nil, plain, CompressBrotliDefaultCompression)
	case static.Zstd:
		return AppendZstdBytesLevel(nil, plain, CompressZstdDefault)
	default:
		return AppendGzipBytesLevel(nil, plain, CompressDefaultCompression)
	}
}

// flightGroup sees to it that one goroutine at a time works on a variant.
type flightGroup struct {
	mu     sync.Mutex
	flying map[flightKey]chan struct{}
}

type flightKey struct {
	name   string
	coding static.Coding
}

// begin tells if the caller is to do the work and call end. Otherwise it waits
// until the one who does has ended.
func (g *flightGroup) begin(key flightKey) bool {
	g.mu.Lock()
	done, busy := g.flying[key]
	if !busy {
		if g.flying == nil {
			g.flying = make(map[flightKey]chan struct{})
		}
		g.flying[key] = make(chan struct{})
		g.mu.Unlock()
		return true
	}
	g.mu.Unlock()
	<-done
	return false
}

func (g *flightGroup) end(key flightKey) {
	g.mu.Lock()
	done := g.flying[key]
	delete(g.flying, key)
	g.mu.Unlock()
	close(done)
}
