package gale

import (
	"io"
	"io/fs"
	"path"
	"strings"

	"github.com/galehttp/gale/internal/compress"
	"github.com/galehttp/gale/internal/static"
)

// maxListed is how many entries a listing shows, and maxListRead how many it
// counts: a directory is never read to its end at any cost.
const (
	maxListed   = 10_000
	maxListRead = 100_000
)

// listDir makes the listing of the directory name, which the client knows as
// shown. info is the directory's.
func (h *fsHandler) listDir(name string, info fs.FileInfo, shown string) (*fsEntry, error) {
	f, _, err := h.src.open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	dir, ok := f.(fs.ReadDirFile)
	if !ok {
		return nil, errNoIndex
	}
	if h.rules.Volume {
		shown = path.Base(shown) + "/" // where the server keeps its files is nobody's business
	}
	l := static.Listing{Path: shown, Parent: name != "."}
	for read := 0; read < maxListRead; {
		batch, err := dir.ReadDir(1000)
		for _, d := range batch {
			h.listEntry(&l, name, d)
		}
		read += len(batch)
		if err == io.EOF || err == nil && len(batch) == 0 {
			break
		}
		if err != nil {
			return nil, err
		}
	}
	static.SortEntries(l.Entries)
	page := static.AppendListing(nil, &l)
	e := &fsEntry{
		data:        page,
		size:        int64(len(page)),
		contentType: "text/html; charset=utf-8",
		listing:     true,
		originTime:  info.ModTime(),
		originSize:  int64(len(page)),
	}
	// Sizes change without the directory's own time stamp: the page is too
	// young to be compared with what a client has, so it gets no date.
	h.finish(e, zeroTime)
	return e, nil
}

// listEntry adds d to the listing of dir, unless it can't be served or is to be
// hidden: dot files, compressed copies, devices, links that lead nowhere.
func (h *fsHandler) listEntry(l *static.Listing, dir string, d fs.DirEntry) {
	name := d.Name()
	if h.rules.HideDot && static.IsDotFile([]byte(name)) || h.isCopyName(name) {
		return
	}
	if len(l.Entries) >= maxListed {
		l.Omitted++
		return
	}
	info, err := d.Info()
	if err == nil && info.Mode()&fs.ModeSymlink != 0 {
		info, err = h.src.stat(path.Join(dir, name))
	}
	if err != nil || !info.IsDir() && !info.Mode().IsRegular() {
		return
	}
	l.Entries = append(l.Entries, static.ListingEntry{Name: name, Size: info.Size(), ModTime: info.ModTime(), Dir: info.IsDir()})
}

// isCopyName tells if name is that of a compressed copy.
func (h *fsHandler) isCopyName(name string) bool {
	for c := compress.Gzip; c < compress.Codings; c++ {
		if h.compress.Has(c) && strings.HasSuffix(name, h.suffixes[c]) {
			return true
		}
	}
	return false
}
