package static

import (
	"io"
	"io/fs"
	"os"
	"runtime"
	"time"

	"github.com/galehttp/gale/internal/compress"
)

// The sizes of files that are worth compressing. For smaller files the gain is less
// than the extra headers; larger files would take too much memory and time.
const (
	minCompressed = 200
	maxCompressed = 8 << 20
)

// IsLarge reports whether e is a file that gets smaller by compressing, but is too large for
// the store to do so.
func (e *Entry) IsLarge() bool {
	return e.File != nil && e.Coding == compress.Identity && e.Size > maxCompressed && Compressible(e.ContentType)
}

// Streamed returns what describes the file of e when it is compressed while it is sent. Its
// tag is weak, because another version of the program may compress to other bytes.
func (e *Entry) Streamed(coding compress.Coding) *Entry {
	streamed := *e
	streamed.Coding = coding
	if len(e.Valid.ETag) > 0 {
		tag, _ := opaque(e.Valid.ETag)
		tag = append([]byte("W/"), tag[:len(tag)-1]...)
		streamed.Valid.ETag = append(append(append(tag, '-'), coding.String()...), '"')
	}
	return &streamed
}

// compressing limits how many files the process compresses at a time.
var compressing = make(chan struct{}, max(1, runtime.GOMAXPROCS(0)))

// placeTime is how long a request waits for a place to compress a file or to make a listing. None
// is free for so long if the machine has much to do, or if a file system hangs, which need not
// be the one of this request.
const placeTime = 5 * time.Second

// takePlace takes one of places, which the caller gives back by receiving from it. It waits for d
// at most.
func takePlace(places chan struct{}, d time.Duration) bool {
	select {
	case places <- struct{}{}:
		return true
	default:
	}
	late := time.NewTimer(d)
	defer late.Stop()
	select {
	case places <- struct{}{}:
		return true
	case <-late.C:
		return false
	}
}

// siblingSuffixes name the files that FS.Precompressed looks for.
var siblingSuffixes = [compress.Codings]string{compress.Gzip: ".gz", compress.Brotli: ".br", compress.Zstd: ".zst"}

// loadCoded makes an entry for the variant of a file in a coding: a precompressed
// file, a copy made earlier, or a new copy; or an entry that says that there is
// none. f is the open file; the caller keeps it and closes it.
func (s *Store) loadCoded(f fs.File, info fs.FileInfo, name string, coding compress.Coding, old *Entry, l *loading) (*Entry, error) {
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
	v := variant{name: name, contentType: contentType, coding: coding, origin: info, id: l.origin, settled: l.origin.settled(l.at)}
	if s.Precompressed {
		if e := s.openSibling(v, l); e != nil {
			return e, nil
		}
	}
	if !s.Compress.Has(coding) || info.Size() < minCompressed || info.Size() > maxCompressed || !shareable || s.isCopyName(name) {
		return absent, nil
	}
	if s.fresh && !v.settled {
		// Neither a copy nor another goroutine's work can be told from those of other
		// content.
		return s.compressFile(ra, v)
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
	id          fileID // of the origin, for Settings.Fresh
	settled     bool   // see fileID.settled
}

// findCopy returns the copy that was made before, or nil. old is the entry that was
// loaded for the same variant before.
func (s *Store) findCopy(v variant, old *Entry) *Entry {
	if s.copies != nil {
		e, err := s.openCopy(v)
		if e != nil {
			return e
		}
		if err != nil && !missing(err) {
			return &Entry{Absent: true} // such as a link that leads out of the root: don't touch it
		}
	}
	// As long as requests for it come, the entry remembers that the copy couldn't
	// be written or wasn't smaller.
	if old != nil && old.ours && old.File == nil && s.isMadeOf(old, v) {
		e := *old
		if !e.Absent {
			s.finish(&e, e.originTime)
		}
		return &e
	}
	return nil
}

// isMadeOf reports whether old was made of the same file as v will be.
func (s *Store) isMadeOf(old *Entry, v variant) bool {
	if s.fresh {
		return old.basis.settled && old.basis.files[0].id == v.id
	}
	return old.originSize == v.origin.Size() && old.originTime.Equal(v.origin.ModTime()) &&
		(!old.originTime.IsZero() || immutable(s.src))
}

// copyName returns the name of the copy of v.
func (s *Store) copyName(v variant) string {
	name := v.name + s.Suffixes[v.coding]
	if s.fresh {
		name += freshSuffix
	}
	return name
}

// openCopy opens the copy of v, if there is one that was made of the same content.
// Otherwise it returns nil, perhaps without an error.
func (s *Store) openCopy(v variant) (*Entry, error) {
	name := s.copyName(v)
	f, info, err := s.copies.open(name)
	if err != nil {
		return nil, err
	}
	fits := info.Mode().IsRegular()
	if fits && s.fresh {
		info, fits = withoutTrailer(f, info, v.id)
	} else if fits {
		fits = isCopyOf(info.ModTime(), v.origin.ModTime())
	}
	if !fits || info.Size() <= 0 || info.Size() >= v.origin.Size() { // of a disk that has lost a part of it
		f.Close()
		return nil, nil
	}
	e, err := s.newVariant(f, info, name, v)
	if err == nil {
		e.ours = true
	}
	return e, err
}

// openSibling opens the variant of v that another program made, if it isn't older than the
// file. Otherwise it returns nil.
func (s *Store) openSibling(v variant, l *loading) *Entry {
	name, n := v.name+siblingSuffixes[v.coding], len(l.files)
	s.look(l, name)
	f, info, err := s.src.open(name)
	if err != nil {
		return nil
	}
	if !info.Mode().IsRegular() || info.ModTime().Before(v.origin.ModTime()) {
		f.Close()
		return nil
	}
	if s.fresh {
		l.files[n].id = idOf(info) // of the file that was opened, not of one that was there before
	}
	e, err := s.newVariant(f, info, name, v)
	if err == nil && s.fresh {
		l.sibling = l.files[n].id
	}
	return e
}

// newVariant makes an entry of an open variant, which it takes over.
func (s *Store) newVariant(f fs.File, info fs.FileInfo, name string, v variant) (*Entry, error) {
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
func (s *Store) makeCopy(f sharedFile, v variant, old *Entry) (*Entry, error) {
	key := flightKey{v.name, v.coding, v.id}
	for {
		fl, leader := s.flights.join(key)
		if leader {
			defer s.flights.land(key, fl)
			e, err := s.compressOnce(f, v, old)
			if err == nil && e.File == nil {
				fl.entry = s.own(e)
			}
			return e, err
		}
		if <-fl.done; fl.entry != nil {
			return s.own(fl.entry), nil
		}
		if e := s.findCopy(v, old); e != nil {
			return e, nil
		}
	}
}

// own returns an entry like e that its caller may stamp. Without Settings.Fresh entries
// aren't stamped.
func (s *Store) own(e *Entry) *Entry {
	if !s.fresh {
		return e
	}
	mine := *e
	return &mine
}

// compressOnce is compressFile unless another goroutine has made the copy meanwhile.
func (s *Store) compressOnce(f sharedFile, v variant, old *Entry) (*Entry, error) {
	if e := s.findCopy(v, old); e != nil {
		return e, nil
	}
	s.removeOutdated(v)
	return s.compressFile(f, v)
}

// compressFile compresses f, and writes a copy if that is possible. If there is no place to do so,
// or the file has changed since v was made or is shorter than it says, there is no variant for now.
func (s *Store) compressFile(f sharedFile, v variant) (*Entry, error) {
	notNow := &Entry{Absent: true, NeverCoded: true}
	if !takePlace(compressing, placeTime) {
		return notNow, nil
	}
	defer func() { <-compressing }()
	plain, err := readSmall(io.NewSectionReader(f, 0, v.origin.Size()), v.origin.Size())
	if err != nil {
		return nil, err
	}
	if int64(len(plain)) != v.origin.Size() {
		return notNow, nil
	}
	data := compress.Append(nil, plain, v.coding, compress.DefaultLevel)
	// After the content was read: if nothing has changed, it is that of v.
	if hasChanged(f, v.origin) {
		return notNow, nil
	}
	if len(data) > len(plain)-len(plain)/20 {
		return &Entry{Absent: true, ours: true, originTime: v.origin.ModTime(), originSize: v.origin.Size()}, nil
	}
	if s.writeCopy(data, v) {
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
		ours:        true,
	}
	s.finish(e, v.origin.ModTime())
	return e, nil
}

// hasChanged reports whether f isn't the file any more that origin describes. The times of some
// files of users are those of the call: then only the size counts.
func hasChanged(f fs.File, origin fs.FileInfo) bool {
	info, err := f.Stat()
	if err != nil || idOf(info) == idOf(origin) {
		return err != nil
	}
	if _, system := f.(*os.File); system {
		return true
	}
	again, err := f.Stat()
	return err != nil || idOf(again) == idOf(info) || again.Size() != origin.Size()
}

// writeCopy writes a copy and reports whether it could.
func (s *Store) writeCopy(data []byte, v variant) bool {
	if s.copies == nil || s.fresh && !v.settled {
		return false
	}
	if s.fresh {
		data = appendTrailer(data[:len(data):len(data)], v.id)
	}
	return s.copies.write(s.copyName(v), data, v.origin) == nil
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
