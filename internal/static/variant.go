package static

import (
	"errors"
	"io"
	"io/fs"
	"runtime"

	"github.com/galehttp/gale/internal/compress"
)

// The sizes of files that are worth compressing. For smaller files the gain is less
// than the extra headers; larger files would take too much memory and time.
const (
	minCompressed = 200
	maxCompressed = 8 << 20
)

// compressing limits how many files the process compresses at a time.
var compressing = make(chan struct{}, max(1, runtime.GOMAXPROCS(0)))

// siblingSuffixes name the files that FS.Precompressed looks for.
var siblingSuffixes = [compress.Codings]string{compress.Gzip: ".gz", compress.Brotli: ".br", compress.Zstd: ".zst"}

// loadCoded makes an entry for the variant of a file in a coding: a precompressed
// file, a copy made earlier, or a new copy; or an entry that says that there is
// none. f is the open file; the caller keeps it and closes it.
func (s *Store) loadCoded(f fs.File, info fs.FileInfo, name string, coding compress.Coding, old *Entry) (*Entry, error) {
	absent := &Entry{Absent: true}
	contentType := TypeByName(name)
	ra, shareable := isReaderAt(f)
	if contentType == "" && shareable {
		var err error
		if contentType, err = sniffAt(ra); err != nil {
			return nil, err
		}
	}
	if !Compressible(contentType) {
		absent.NeverCoded = true
		return absent, nil
	}
	v := variant{name: name, contentType: contentType, coding: coding, origin: info}
	if s.Precompressed {
		if e, _ := s.openVariant(s.src, name+siblingSuffixes[coding], v, true); e != nil {
			return e, nil
		}
	}
	if !s.Compress.Has(coding) || info.Size() < minCompressed || info.Size() > maxCompressed || !shareable || s.isCopyName(name) {
		return absent, nil
	}
	if e := s.findCopy(v, old); e != nil {
		return e, nil
	}
	return s.makeCopy(ra, v, old)
}

// variant describes a compressed variant before it is loaded.
type variant struct {
	name        string
	contentType string
	coding      compress.Coding
	origin      fs.FileInfo
}

// findCopy returns the copy that was made before, or nil. old is the entry that was
// loaded for the same variant before.
func (s *Store) findCopy(v variant, old *Entry) *Entry {
	if s.copies != nil {
		e, err := s.openVariant(s.copies, v.name+s.Suffixes[v.coding], v, false)
		if e != nil {
			return e
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return &Entry{Absent: true} // such as a link that leads out of the root: don't touch it
		}
	}
	// As long as requests for it come, the entry remembers that the copy couldn't
	// be written or wasn't smaller.
	if old != nil && old.File == nil && old.originSize == v.origin.Size() &&
		old.originTime.Equal(v.origin.ModTime()) && (!old.originTime.IsZero() || immutable(s.src)) {
		e := *old
		if !e.Absent {
			s.finish(&e, e.originTime)
		}
		return &e
	}
	return nil
}

// openVariant opens a file with a variant, if it exists and has the right time
// stamp: that of the origin, or, for a file that another program made, one that
// isn't older. Otherwise it returns nil without an error.
func (s *Store) openVariant(src interface {
	open(string) (fs.File, fs.FileInfo, error)
}, name string, v variant, others bool) (*Entry, error) {
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
	e, err := s.newEntry(f, info, name)
	if err != nil {
		return nil, err
	}
	e.ContentType, e.Coding = v.contentType, v.coding
	modTime := v.origin.ModTime()
	if info.ModTime().After(modTime) {
		modTime = info.ModTime()
	}
	s.finish(e, modTime)
	e.originTime, e.originSize = v.origin.ModTime(), v.origin.Size()
	return e, nil
}

// makeCopy compresses f, which the caller keeps. For one variant only one goroutine
// does so at a time; others wait and use its result, from memory or from the disk.
func (s *Store) makeCopy(f io.ReaderAt, v variant, old *Entry) (*Entry, error) {
	key := flightKey{v.name, v.coding}
	for {
		fl, leader := s.flights.join(key)
		if leader {
			defer s.flights.land(key, fl)
			e, err := s.compressFile(f, v, old)
			if err == nil && e.File == nil {
				fl.entry = e
			}
			return e, err
		}
		if <-fl.done; fl.entry != nil {
			return fl.entry, nil
		}
		if e := s.findCopy(v, old); e != nil {
			return e, nil
		}
	}
}

func (s *Store) compressFile(f io.ReaderAt, v variant, old *Entry) (*Entry, error) {
	if e := s.findCopy(v, old); e != nil {
		return e, nil // made meanwhile by another goroutine
	}
	s.removeOutdated(v)
	compressing <- struct{}{}
	defer func() { <-compressing }()
	plain, err := readSmall(io.NewSectionReader(f, 0, v.origin.Size()), v.origin.Size())
	if err != nil {
		return nil, err
	}
	data := compress.Append(nil, plain, v.coding, compress.DefaultLevel)
	if len(data) > len(plain)-len(plain)/20 {
		return &Entry{Absent: true, originTime: v.origin.ModTime(), originSize: v.origin.Size()}, nil
	}
	if s.copies != nil && s.copies.write(v.name+s.Suffixes[v.coding], data, v.origin) == nil {
		if e := s.findCopy(v, nil); e != nil {
			return e, nil
		}
	}
	e := &Entry{
		Data:        data,
		Size:        int64(len(data)),
		ContentType: v.contentType,
		Coding:      v.coding,
		originTime:  v.origin.ModTime(),
		originSize:  v.origin.Size(),
	}
	s.finish(e, v.origin.ModTime())
	return e, nil
}

// removeOutdated removes an outdated copy next to its file, which was made before
// CompressRoot was set. Only copies have such a name.
func (s *Store) removeOutdated(v variant) {
	if s.oldCopies == nil {
		return
	}
	name := v.name + s.Suffixes[v.coding]
	f, info, err := s.oldCopies.open(name)
	if err != nil {
		return
	}
	f.Close()
	if info.Mode().IsRegular() && !isCopyOf(info.ModTime(), v.origin.ModTime()) {
		_ = s.oldCopies.remove(name) // if that fails, the copy only takes space
	}
}
