package gale

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"maps"
	"math"
	"math/rand/v2"
	"mime/multipart"
	"net/textproto"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// WriteMultipartForm writes f to w as a body of media type multipart/form-data (RFC 7578)
// with the given boundary. It writes the fields and then the files, each in the order of
// their names. The Content-Disposition of a file says its name and FileHeader.Filename; the
// other fields of its header stay. The boundary must not be empty.
//
// If a line of a value or of a file begins with the delimiter, two hyphens and the boundary,
// it returns an error: the reader would find other parts. A part of the form may have been
// written then. Choose the boundary at random, as [multipart.NewWriter] does.
func WriteMultipartForm(w io.Writer, f *multipart.Form, boundary string) error {
	if boundary == "" {
		return newBareError("form boundary cannot be empty")
	}
	mw := multipart.NewWriter(w)
	if err := mw.SetBoundary(boundary); err != nil {
		return errorf("cannot use form boundary %q: %w", boundary, err)
	}
	for part := range formParts(f) {
		if err := part.write(mw); err != nil {
			return err
		}
	}
	if err := mw.Close(); err != nil {
		return errorf("error when closing multipart form writer: %w", err)
	}
	return nil
}

// formPart is a part of a form: a file, or a field with a value.
type formPart struct {
	name  string
	value string
	file  *multipart.FileHeader
}

// formParts returns the parts of f in the order in which they are written.
func formParts(f *multipart.Form) iter.Seq[formPart] {
	return func(yield func(formPart) bool) {
		for _, name := range slices.Sorted(maps.Keys(f.Value)) {
			for _, v := range f.Value[name] {
				if !yield(formPart{name: name, value: v}) {
					return
				}
			}
		}
		for _, name := range slices.Sorted(maps.Keys(f.File)) {
			for _, fh := range f.File[name] {
				if !isNoFile(fh) && !yield(formPart{name: name, file: fh}) {
					return
				}
			}
		}
	}
}

// isNoFile reports whether fh, of a program, is nil. Such files are left out.
func isNoFile(fh *multipart.FileHeader) bool { return fh == nil }

// String names the part in errors.
func (p *formPart) String() string {
	if p.file == nil {
		return fmt.Sprintf("form field %q value %q", p.name, p.value)
	}
	return fmt.Sprintf("form file %q (%q)", p.name, p.file.Filename)
}

const (
	headerContentTransferEncoding = "Content-Transfer-Encoding"
	quotedPrintable               = "quoted-printable"
)

var (
	errFormDelimiter = errors.New("a line of it begins with the delimiter of the form: use another boundary")
	errFormHeader    = errors.New("a field of its header has a line break")
)

// write writes the part to mw.
func (p *formPart) write(mw *multipart.Writer) error {
	to, err := p.create(mw)
	if err != nil {
		return err
	}
	from, err := p.open()
	if err != nil {
		return err
	}
	defer from.Close()
	if _, err := copyStream(&partWriter{w: to, delimiter: "--" + mw.Boundary()}, from, math.MaxInt64); err != nil {
		return errorf("cannot write %v: %w", p, err)
	}
	return nil
}

// create writes the head of the part.
func (p *formPart) create(mw *multipart.Writer) (content io.Writer, err error) {
	h := textproto.MIMEHeader{}
	if p.file == nil {
		h.Set(HeaderContentDisposition, strings.TrimSuffix(multipart.FileContentDisposition(p.name, ""), `; filename=""`))
	} else {
		for name, values := range p.file.Header {
			if strings.ContainsAny(name+strings.Join(values, ""), "\r\n") {
				return nil, errorf("cannot write %v: %w", p, errFormHeader)
			}
			name = textproto.CanonicalMIMEHeaderKey(name)
			h[name] = append(h[name], values...)
		}
		if strings.EqualFold(h.Get(headerContentTransferEncoding), quotedPrintable) {
			h.Del(headerContentTransferEncoding) // the file isn't
		}
		h.Set(HeaderContentDisposition, multipart.FileContentDisposition(p.name, p.file.Filename))
	}
	if content, err = mw.CreatePart(h); err != nil {
		return nil, errorf("cannot write %v: %w", p, err)
	}
	return content, nil
}

// open returns the content of the part.
func (p *formPart) open() (io.ReadCloser, error) {
	if p.file == nil {
		return io.NopCloser(strings.NewReader(p.value)), nil
	}
	f, err := p.file.Open()
	if err != nil {
		return nil, errorf("cannot open %v: %w", p, err)
	}
	return f, nil
}

// partWriter writes the content of a part, and returns errFormDelimiter if a line of it begins
// with the delimiter.
type partWriter struct {
	w         io.Writer
	delimiter string
	n         int // how many bytes of the line there were, -1 if it begins otherwise
}

func (w *partWriter) Write(p []byte) (int, error) {
	for _, c := range p {
		switch {
		case c == '\n' || c == '\r':
			w.n = 0
		case w.n < 0:
		case c != w.delimiter[w.n]:
			w.n = -1
		default:
			if w.n++; w.n == len(w.delimiter) {
				return 0, errFormDelimiter
			}
		}
	}
	return w.w.Write(p)
}

// formStream is a form as a stream. It opens a file when it comes to it.
type formStream struct {
	mu    sync.Mutex
	heads []io.Reader // what comes before each part, and the end
	parts []formPart
	size  int64         // of all
	open  io.ReadCloser // the content that is being read, or nil
	taken int64
	err   error
}

// newFormStream returns f as a stream with the given boundary, which nothing in f contains.
func newFormStream(f *multipart.Form, boundary string) (*formStream, error) {
	s := &formStream{}
	var b bytes.Buffer
	cut := func() {
		s.heads = append(s.heads, bytes.NewReader(bytes.Clone(b.Bytes())))
		s.size += int64(b.Len())
		b.Reset()
	}
	mw := multipart.NewWriter(&b)
	if err := mw.SetBoundary(boundary); err != nil {
		return nil, err
	}
	for p := range formParts(f) {
		if _, err := p.create(mw); err != nil {
			return nil, err
		}
		cut()
		s.parts = append(s.parts, p)
		if s.size += int64(len(p.value)); p.file != nil {
			s.size += p.file.Size
		}
	}
	_ = mw.Close()
	cut()
	return s, nil
}

// Read implements io.Reader.
func (s *formStream) Read(p []byte) (n int, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for len(p) > 0 && s.err == nil && n == 0 {
		n, s.err = s.read(p)
	}
	s.taken += int64(n)
	if n > 0 {
		return n, nil
	}
	return 0, s.err
}

// read reads from the current head or content. It may return 0, nil.
func (s *formStream) read(p []byte) (n int, err error) {
	if s.open != nil {
		if n, err = s.open.Read(p); err == io.EOF {
			err = s.open.Close()
			s.open = nil
		}
		return n, err
	}
	if n, err = s.heads[0].Read(p); err != io.EOF || len(s.heads) == 1 {
		return n, err
	}
	part := s.parts[0]
	s.heads, s.parts = s.heads[1:], s.parts[1:]
	s.open, err = part.open()
	return 0, err
}

// Close ends the stream.
func (s *formStream) Close() (err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.open != nil {
		err = s.open.Close()
		s.open = nil
	}
	if s.err == nil {
		s.err = io.ErrClosedPipe
	}
	return err
}

// Taken returns how many bytes were read.
func (s *formStream) Taken() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.taken
}

// SaveMultipartFile copies an uploaded file to path. It uses path unchanged, so don't build it
// from fh.Filename, which the client chose.
//
// A file that is there is replaced when the copy is complete: the copy is written to a new file
// in the same folder, which needs the right to make files there, and renamed. After an error the
// old file is as before. The copy has the permissions of the old file, and no other attributes of
// it, or those of a file that os.Create makes. A file that can't be written to isn't replaced. If
// path is a symbolic link, the file that it leads to is replaced, or made. A device or a pipe is
// written to.
func SaveMultipartFile(fh *multipart.FileHeader, path string) error {
	src, err := fh.Open()
	if err != nil {
		return err
	}
	defer src.Close()
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real
	}
	info, err := os.Lstat(path)
	if err != nil {
		return replaceFile(path, src, nil)
	}
	// Something is there: a link only if it leads to no file.
	dst, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE, 0o666)
	if err != nil {
		return err
	}
	if info.Mode().IsRegular() {
		_ = dst.Close()
		return replaceFile(path, src, info)
	}
	_, err = io.Copy(dst, src)
	return cmp.Or(err, dst.Close())
}

// replaceFile makes what src has the file at path. old is the file that is there, or nil.
func replaceFile(path string, src io.Reader, old fs.FileInfo) error {
	tmp := filepath.Join(filepath.Dir(path), ".gale-"+strconv.FormatUint(rand.Uint64(), 36)+".tmp")
	mode := fs.FileMode(0o666)
	if old != nil {
		mode = 0o600 // until it is whole: others may not be allowed to read the old file
	}
	dst, err := os.OpenFile(tmp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return err
	}
	_, err = io.Copy(dst, src)
	if err == nil && old != nil {
		err = dst.Sync() // a loss of power must not leave the name without the content
	}
	if err == nil && old != nil {
		err = dst.Chmod(old.Mode().Perm())
	}
	if err = cmp.Or(err, dst.Close()); err == nil {
		err = os.Rename(tmp, path)
	}
	if err != nil {
		_ = os.Remove(tmp)
	}
	return err
}
