// Package folderzip makes zip archives of folders while they are sent. It never leaves the
// tree that it is given, and it knows how large an archive may become before it writes.
package folderzip

import (
	"archive/zip"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/klauspost/compress/flate"

	"github.com/galehttp/gale/internal/static"
)

var (
	// ErrTooMany says that a folder has more entries than Settings.MaxEntries.
	ErrTooMany = errors.New("the folder has too many files")
	// ErrTooDeep says that a folder has more levels of folders than Settings.MaxDepth.
	ErrTooDeep = errors.New("the folder has too many levels of folders")
)

// Settings say what goes into an archive.
type Settings struct {
	// Hide reports whether a file or folder is left out, by its name.
	Hide func(name string) bool
	// MaxEntries is how many files and folders are looked at, hidden ones included.
	MaxEntries int
	// MaxDepth is how many folders may be inside each other.
	MaxDepth int
}

// Archive is a plan: the names of what goes into an archive.
type Archive struct {
	root    *os.Root
	from    string // the folder, as a name in root
	top     string // the folder in the archive that holds everything
	entries []entry
	skipped []string // names of what can't be stored
}

type entry struct {
	name string // below the folder
	dir  bool
}

// Plan looks at all files below the folder from of root, and returns the archive of them.
// In it, they are in a folder called top. A symbolic link to a file in root stands for
// that file. Other links, and whatever isn't a file or a folder, are left out. What can't
// be read is left out too, and named in a text file at the end of the archive. root must
// stay open until the archive is written.
func Plan(ctx context.Context, root *os.Root, from, top string, s Settings) (*Archive, error) {
	if !storable(top) || strings.Contains(top, "/") {
		top = "files"
	}
	p := planner{Archive{root: root, from: from, top: top}, ctx, s, 0}
	if err := p.folder("", 1); err != nil {
		return nil, err
	}
	return &p.Archive, nil
}

type planner struct {
	Archive
	ctx  context.Context
	s    Settings
	seen int
}

// folder adds what is in the folder name, "" for the one that the archive is of.
func (p *planner) folder(name string, depth int) error {
	list, err := p.read(name)
	switch {
	case err == nil:
	case name == "" || p.ctx.Err() != nil || errors.Is(err, ErrTooMany):
		return err
	default:
		p.skipped = append(p.skipped, name)
		return nil
	}
	for _, e := range list {
		if p.s.Hide(e.Name()) {
			continue
		}
		if !storable(e.Name()) {
			p.skipped = append(p.skipped, path.Join(name, e.Name()))
			continue
		}
		name := path.Join(name, e.Name())
		switch e.Type() {
		case 0:
			p.entries = append(p.entries, entry{name, false})
		case fs.ModeSymlink:
			if info, err := p.root.Stat(path.Join(p.from, name)); err == nil && info.Mode().IsRegular() {
				p.entries = append(p.entries, entry{name, false})
			}
		case fs.ModeDir:
			if depth == p.s.MaxDepth {
				return ErrTooDeep
			}
			p.entries = append(p.entries, entry{name, true})
			if err := p.folder(name, depth+1); err != nil {
				return err
			}
		}
	}
	return nil
}

// read returns the entries of a folder, sorted by name.
func (p *planner) read(name string) ([]fs.DirEntry, error) {
	full := path.Join(p.from, name)
	before, err := p.root.Lstat(full)
	if err != nil {
		return nil, err
	}
	f, info, err := static.OpenRegularIn(p.root, full)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	dir, ok := f.(fs.ReadDirFile)
	if !ok || !info.IsDir() || name != "" && !os.SameFile(before, info) { // a link took its place
		return nil, fs.ErrNotExist
	}
	var all []fs.DirEntry
	for {
		if err := p.ctx.Err(); err != nil {
			return nil, err
		}
		some, err := dir.ReadDir(1000)
		all = append(all, some...)
		if p.seen += len(some); p.seen > p.s.MaxEntries {
			return nil, ErrTooMany
		}
		if err == io.EOF || err == nil && len(some) == 0 {
			break
		}
		if err != nil {
			return nil, err
		}
	}
	slices.SortFunc(all, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	return all, nil
}

// storable reports whether a name means the same file for every program that unpacks the
// archive. A backslash separates folders on Windows.
func storable(name string) bool {
	return name != "" && name != "." && name != ".." && utf8.ValidString(name) && !strings.Contains(name, `\`) && !strings.ContainsFunc(name, unicode.IsControl)
}

// ReadError says that a file could not be read to its end. The archive isn't complete.
type ReadError struct {
	Name string
	Err  error
}

func (e *ReadError) Error() string { return fmt.Sprintf("reading %q: %v", e.Name, e.Err) }
func (e *ReadError) Unwrap() error { return e.Err }

// Write writes the archive. It stops at the first error of w and returns it. After any
// error the archive isn't complete.
func (a *Archive) Write(w io.Writer) error {
	zw := zip.NewWriter(w)
	deflate, err := flate.NewWriter(nil, flate.BestSpeed)
	if err != nil {
		return err
	}
	zw.RegisterCompressor(zip.Deflate, func(w io.Writer) (io.WriteCloser, error) { // for one file at a time
		deflate.Reset(w)
		return deflate, nil
	})
	buf := make([]byte, 64<<10)
	for _, e := range a.entries {
		if err := a.add(zw, e, buf); err != nil {
			return err
		}
	}
	if len(a.skipped) > 0 {
		if err := a.addSkipped(zw); err != nil {
			return err
		}
	}
	return zw.Close()
}

func (a *Archive) add(zw *zip.Writer, e entry, buf []byte) error {
	f, info, err := static.OpenRegularIn(a.root, path.Join(a.from, e.name))
	if err == nil {
		defer f.Close()
	}
	if err != nil || info.IsDir() != e.dir {
		a.skipped = append(a.skipped, e.name)
		return nil
	}
	h := &zip.FileHeader{Name: path.Join(a.top, e.name), Method: zip.Deflate}
	setTime(h, info.ModTime())
	if e.dir {
		h.Name += "/"
		h.Method = zip.Store
		h.SetMode(fs.ModeDir | 0o755)
		_, err := zw.CreateHeader(h)
		return err
	}
	if kind := static.TypeByName(e.name); kind != "" && !static.Compressible(kind) {
		h.Method = zip.Store
	}
	h.SetMode(0o644 | info.Mode()&0o111)
	w, err := zw.CreateHeader(h)
	if err != nil {
		return err
	}
	r := &fileReader{r: f}
	// A file that grows must not keep the archive from ending.
	n, err := io.CopyBuffer(onlyWriter{w}, io.LimitReader(r, info.Size()), buf)
	switch {
	case r.err != nil:
		return &ReadError{e.name, r.err}
	case err == nil && n < info.Size(): // it was cut meanwhile
		return &ReadError{e.name, io.ErrUnexpectedEOF}
	}
	return err
}

// setTime sets the time of h to t. The dates of MS-DOS go from 1980 to 2107: another time becomes
// the nearest one. The extra field that package zip makes of Modified is exact, but programs read
// it as a signed number of 32 bits: it is left out for times that would wrap around.
func setTime(h *zip.FileHeader, t time.Time) {
	if t.Year() >= 1980 && t.Unix() <= math.MaxInt32 {
		h.Modified = t
		return
	}
	switch {
	case t.Year() < 1980:
		t = time.Date(1980, 1, 1, 0, 0, 0, 0, t.Location())
	case t.Year() > 2107:
		t = time.Date(2107, 12, 31, 23, 59, 58, 0, t.Location())
	}
	//lint:ignore SA1019 the only way to a time without the extra field
	h.ModifiedDate = uint16((t.Year()-1980)<<9 | int(t.Month())<<5 | t.Day())
	//lint:ignore SA1019 likewise
	h.ModifiedTime = uint16(t.Hour()<<11 | t.Minute()<<5 | t.Second()/2)
}

// fileReader remembers the error of r, to tell it from errors of writing.
type fileReader struct {
	r   io.Reader
	err error
}

func (f *fileReader) Read(p []byte) (int, error) {
	n, err := f.r.Read(p)
	if err != io.EOF {
		f.err = err
	}
	return n, err
}

// onlyWriter hides other methods, so that io.CopyBuffer uses its buffer.
type onlyWriter struct{ io.Writer }

// addSkipped adds the text file that names what was left out.
func (a *Archive) addSkipped(zw *zip.Writer) error {
	name := "SKIPPED.txt"
	for n := 1; slices.ContainsFunc(a.entries, func(e entry) bool { return strings.EqualFold(e.name, name) }); n++ {
		name = fmt.Sprintf("SKIPPED-%d.txt", n)
	}
	var text bytes.Buffer
	text.WriteString("These files and folders are missing in this archive. The server could not read them, or an archive can't contain their names:\n\n")
	for _, s := range a.skipped {
		fmt.Fprintf(&text, "%q\n", s)
	}
	h := &zip.FileHeader{Name: path.Join(a.top, name), Method: zip.Deflate}
	setTime(h, time.Now())
	h.SetMode(0o644)
	w, err := zw.CreateHeader(h)
	if err == nil {
		_, err = w.Write(text.Bytes())
	}
	return err
}
