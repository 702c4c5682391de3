package static

import (
	"io"
	"io/fs"
	"path"
	"runtime"
	"strings"
	"time"

	"github.com/galehttp/gale/internal/compress"
)

// maxListed is how many entries a listing shows, and maxListRead how many it
// counts: a very large directory is never read to its end. After maxListing bytes
// no further entry is shown, so that every listing fits in the cache, where a shard
// holds at most maxCacheBytes / 16.
const (
	maxListed   = 10_000
	maxListRead = 100_000
	maxListing  = 1 << 20
)

// listing limits how many listings the process makes at a time, so that half of the
// processors stay free for other requests.
var listing = make(chan struct{}, max(1, runtime.GOMAXPROCS(0)/2))

// list returns the listing of the directory name. shown is the path that the client
// asked for, info that of the directory. One goroutine makes the listing; others
// that want the same one wait for it. With Settings.Fresh they wait for one that began
// after they came. The error is ErrBusy if there was no place for too long.
func (s *Store) list(name string, info fs.FileInfo, shown string) (*Entry, error) {
	key := flightKey{name: name + "\x00" + shown}
	until := time.Now().Add(placeTime)
	for early := s.fresh; ; early = false {
		fl, leader := s.flights.join(key)
		if leader {
			defer s.flights.land(key, fl)
			if !takePlace(listing, time.Until(until)) {
				return nil, ErrBusy
			}
			defer func() { <-listing }()
			e, err := s.listDir(name, info, shown)
			fl.entry = e
			return e, err
		}
		if <-fl.done; fl.entry != nil && !early {
			return fl.entry, nil
		}
	}
}

// listDir makes a listing; see list.
func (s *Store) listDir(name string, info fs.FileInfo, shown string) (*Entry, error) {
	f, _, err := s.src.open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	dir, ok := f.(fs.ReadDirFile)
	if !ok {
		return nil, ErrNoIndex
	}
	if s.Rules.Volume {
		slash := shown[len(strings.TrimRight(shown, "/")):]
		shown = path.Base(shown) + slash[:min(len(slash), 1)] // clients must not learn where the server keeps its files
	}
	l := Listing{Path: shown, Parent: name != ".", MaxBytes: maxListing}
	for read := 0; read < maxListRead; {
		batch, err := dir.ReadDir(1000)
		for _, d := range batch {
			s.listEntry(&l, name, d)
		}
		read += len(batch)
		if err == io.EOF || err == nil && len(batch) == 0 {
			break
		}
		if err != nil {
			return nil, err
		}
	}
	SortEntries(l.Entries)
	page := AppendListing(nil, &l)
	e := &Entry{
		Data:        page,
		Size:        int64(len(page)),
		ContentType: "text/html; charset=utf-8",
		Listing:     true,
		originTime:  info.ModTime(),
		originSize:  int64(len(page)),
	}
	// The sizes of files change without a change of the directory's time stamp, so
	// the page can't have a date.
	s.finish(e, time.Time{})
	return e, nil
}

// listEntry adds d to the listing of dir, unless it can't be served or must be
// hidden: dot files, compressed copies, devices, broken links.
func (s *Store) listEntry(l *Listing, dir string, d fs.DirEntry) {
	name := d.Name()
	if s.Rules.HideDot && IsDotFile([]byte(name)) || s.isCopyName(name) {
		return
	}
	if len(l.Entries) >= maxListed {
		l.Omitted++
		return
	}
	info, err := d.Info()
	if err == nil && info.Mode()&fs.ModeSymlink != 0 {
		info, err = s.src.stat(path.Join(dir, name))
	}
	if err != nil || !info.IsDir() && !info.Mode().IsRegular() {
		return
	}
	l.Entries = append(l.Entries, ListingEntry{Name: name, Size: info.Size(), ModTime: info.ModTime(), Dir: info.IsDir()})
}

// isCopyName reports whether name is the name of a compressed copy.
func (s *Store) isCopyName(name string) bool {
	for c := compress.Gzip; c < compress.Codings; c++ {
		if s.Compress.Has(c) && (strings.HasSuffix(name, s.Suffixes[c]) || strings.HasSuffix(name, s.Suffixes[c]+freshSuffix)) {
			return true
		}
	}
	return false
}
