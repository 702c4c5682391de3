package static

import (
	"crypto/sha256"
	"encoding/binary"
	"hash/fnv"
	"io"
	"io/fs"
	"os"
	"time"

	"github.com/galehttp/gale/internal/clock"
	"github.com/galehttp/gale/internal/compress"
)

// This file is about Settings.Fresh: an entry of the cache is used only if the files
// that it depends on are still the same.

// fileID identifies a version of a file. Two versions have the same fileID only if the
// second one was made within a tick of the clock that sets ctime after the first one;
// see settled. The zero fileID means that there is no file.
type fileID struct {
	exists   bool
	mode     uint32
	dev, ino uint64 // 0 where the system doesn't tell them
	size     int64
	// mtime is when the content changed, as programs may set it, ctime when anything
	// of the file changed, which the system sets. Both are Unix times in nanoseconds,
	// or 0 if not known.
	mtime, ctime int64
}

// idOf returns the fileID of a file with that info.
func idOf(info fs.FileInfo) fileID {
	if id, ok := systemID(info); ok {
		return id
	}
	id := fileID{exists: true, mode: uint32(info.Mode()), size: info.Size()}
	if t := info.ModTime(); !t.IsZero() {
		id.mtime = t.UnixNano()
	}
	return id
}

// A file is settled if its next change gets another ctime. The system sets ctime to the
// time of its last tick, which is at most 10 ms ago. Time stamps of whole seconds may come
// from a file system that keeps no fractions, or only even seconds.
const (
	settleTime       = 20 * time.Millisecond
	settleTimeCoarse = 2 * time.Second
)

// settled reports whether every change of the file after the time at will change its
// fileID. at must be before the file was looked at. A time stamp in the future says
// nothing: it comes from another clock, or from before this one was set back.
func (id *fileID) settled(at time.Time) bool {
	last, wait := id.ctime, settleTime
	if last == 0 {
		last, wait = id.mtime, settleTimeCoarse
	}
	if last%int64(time.Second) == 0 {
		wait = settleTimeCoarse
	}
	return last != 0 && at.UnixNano()-last >= int64(wait)
}

// changed returns the last time when the file may have changed.
func (id *fileID) changed() int64 { return max(id.mtime, id.ctime) }

// append appends all of id to dst, in a form of idLen bytes.
func (id *fileID) append(dst []byte) []byte {
	for _, v := range [...]uint64{id.dev, id.ino, uint64(id.mode), uint64(id.size), uint64(id.mtime), uint64(id.ctime)} {
		dst = binary.LittleEndian.AppendUint64(dst, v)
	}
	return dst
}

const idLen = 6 * 8

// A watch is a path and what was there. For a root of the system the path is absolute and
// ends in a zero byte, so that it can be given to the system as it is.
//
// To look there again, links are followed wherever they lead. This is safe, because the
// result is only compared with a file that was opened inside the root before: the entry
// has the content of that file. It isn't used to open anything. It means that a folder
// may be moved out of the root, with a link left at its place, and an entry of a file in it
// is used until it gets old.
type watch struct {
	path string
	id   fileID
}

// A Seen remembers what one request has looked at already. The zero Seen is ready for
// use.
type Seen struct {
	watch
	// Shown is the path that the client asked for, if that isn't the one of the file. It
	// is the title of a listing, and its links are relative to it.
	Shown []byte
}

// basis is what an entry was made from.
type basis struct {
	// files are the paths that the entry depends on, first that of the file itself. The
	// others are index pages and variants that would be used instead of it.
	files []watch
	// settled says that any change of these files will be noticed.
	// Otherwise the entry is for one request only.
	settled bool
	// dated is when the entry should be loaded again to get its date, by the clock of the
	// cache; 0 means never.
	dated time.Duration
}

// loading collects the basis of an entry while it is made.
type loading struct {
	at      time.Time // before the first look
	files   []watch
	origin  fileID
	sibling fileID // of the variant that the entry is made from, if there is one
}

// look adds what is at the path name now.
func (s *Store) look(l *loading, name string) {
	if s.fresh {
		path := s.src.watchPath(name)
		l.files = append(l.files, watch{path, s.src.id(path)})
	}
}

// opened sets the file that the entry is made from.
func (s *Store) opened(l *loading, name string, info fs.FileInfo) {
	if s.fresh {
		l.origin = idOf(info)
		l.files = append([]watch{{s.src.watchPath(name), l.origin}}, l.files...)
	}
}

// holds reports whether e, which is in the cache, may be used now. If it panics, it has
// released the caller's reference.
func (s *Store) holds(e *Entry, now time.Duration, seen *Seen) bool {
	looked := false
	defer func() {
		if !looked { // the user's file system panicked
			e.Release()
		}
	}()
	ok := s.isSame(&e.basis, now, seen)
	looked = true
	return ok
}

func (s *Store) isSame(b *basis, now time.Duration, seen *Seen) bool {
	if b.dated != 0 && now >= b.dated {
		return false
	}
	for i := range b.files {
		w := &b.files[i]
		if w.path == seen.path {
			if w.id != seen.id {
				return false
			}
			continue
		}
		id := s.src.id(w.path)
		if i == 0 {
			seen.path, seen.id = w.path, id
		}
		if w.id != id {
			return false
		}
	}
	return true
}

// stamp completes e with what was looked at: its basis and its validators. Nothing else may
// use e yet.
//
// The content is the tag of what is small and in memory. The fileID is the tag of others,
// which have none as long as a change could keep it. Because HTTP dates have whole seconds,
// the date comes even later: when another change would have a later one.
func (s *Store) stamp(e *Entry, l *loading) {
	b := &e.basis
	b.files = l.files
	b.settled = l.origin.settled(l.at) && (!l.sibling.exists || l.sibling.settled(l.at))
	e.LastModified, e.Valid = nil, Validators{}
	if e.Absent {
		return
	}
	if s.ETags || s.StrongETags {
		inMemory := e.File == nil && e.Reopen == ""
		switch {
		case inMemory && (e.Size <= smallFile || !b.settled):
			e.Valid.ETag = appendContentTag(nil, e.Data, e.Coding, !s.StrongETags)
		case b.settled:
			e.Valid.ETag = l.appendETag(nil, e.Coding, !s.StrongETags)
		}
	}
	if !b.settled {
		return
	}
	modified := max(l.origin.mtime, l.sibling.mtime)
	changed := max(l.origin.changed(), l.sibling.changed())
	at := l.at.UnixNano()
	if modified == 0 || modified > at || changed > at {
		return // a date in the future can be set again and again (RFC 9110 section 8.8.2.1)
	}
	e.Valid.ModTime, e.Valid.Changed = time.Unix(0, modified), time.Unix(0, changed)
	if e.Valid.Young = at-changed < int64(dateTime); e.Valid.Young {
		b.dated = s.now() + dateTime - time.Duration(at-changed)
		return
	}
	e.LastModified = clock.AppendDateAt(nil, e.Valid.ModTime)
}

// dateTime is how long after its last change a file gets a date: another change is then in
// another second.
const dateTime = 2 * time.Second

// appendETag appends the tag of what is made from these files. Unlike the tag of AppendETag
// it changes if the content changes and its modification time is set back, or if a link or
// a root leads to another file of the same time.
func (l *loading) appendETag(dst []byte, coding compress.Coding, weak bool) []byte {
	// The system's numbers are hashed, because clients needn't know them.
	var buf [2 * idLen]byte
	h := fnv.New64a()
	_, _ = h.Write(l.sibling.append(l.origin.append(buf[:0])))
	return appendTag(dst, weak, tagSuffix(coding), uint64(l.origin.mtime), uint64(l.origin.size), h.Sum64())
}

// appendContentTag appends a tag made of what is sent.
func appendContentTag(dst, data []byte, coding compress.Coding, weak bool) []byte {
	sum := sha256.Sum256(data)
	return appendTag(dst, weak, tagSuffix(coding), binary.BigEndian.Uint64(sum[:]), binary.BigEndian.Uint64(sum[8:]))
}

// tagSuffix returns the end of the tags of variants in that coding.
func tagSuffix(coding compress.Coding) string {
	if coding == compress.Identity {
		return ""
	}
	return coding.String()
}

// FreshETag returns the strong entity tag that a Store with Fresh and StrongETags gives to
// the file name in root, or nil if it gives none now.
func FreshETag(root *os.Root, name string) []byte {
	at := time.Now()
	f, info, err := OpenRegularIn(root, name)
	if err != nil {
		return nil
	}
	defer f.Close()
	l := loading{at: at, origin: idOf(info)}
	switch {
	case info.IsDir():
	case info.Size() <= smallFile:
		if data, err := readSmall(f, info.Size()); err == nil {
			return appendContentTag(nil, data, compress.Identity, false)
		}
	case l.origin.settled(at):
		return l.appendETag(nil, compress.Identity, false)
	}
	return nil
}

// Copies have the fileID of their file at their end, because their time stamp can't hold
// it. So they have other names than the copies of a store without Settings.Fresh.
const (
	freshSuffix = ".fresh"
	trailerMark = "\ngalecpy"
	trailerLen  = len(trailerMark) + idLen
)

func appendTrailer(dst []byte, id fileID) []byte { return id.append(append(dst, trailerMark...)) }

// withoutTrailer returns the info of a copy as if it had no trailer. ok is false if f isn't
// a copy of the version id of a file.
func withoutTrailer(f fs.File, info fs.FileInfo, id fileID) (_ fs.FileInfo, ok bool) {
	ra, ok := f.(io.ReaderAt)
	size := info.Size() - int64(trailerLen)
	if !ok || size < 0 {
		return nil, false
	}
	var got, want [trailerLen]byte
	if _, err := ra.ReadAt(got[:], size); err != nil {
		return nil, false
	}
	appendTrailer(want[:0], id)
	return shortenedInfo{info, size}, got == want
}

// shortenedInfo is the info of a file without its end.
type shortenedInfo struct {
	fs.FileInfo
	size int64
}

func (i shortenedInfo) Size() int64 { return i.size }
