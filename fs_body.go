package gale

import (
	"errors"
	"io"
	"io/fs"
	"math"
	"os"

	"github.com/galehttp/gale/internal/static"
)

// fileBody is a run of bytes of a shared file as the stream of a body. It holds
// a reference to the file until it is closed, which may happen at any time and
// more than once.
//
// It is for one goroutine at a time.
type fileBody struct {
	file   *static.File
	off, n int64
}

// newFileBody returns n bytes of file from off. It takes over a reference to
// file from the caller.
func newFileBody(file *static.File, off, n int64) *fileBody {
	return &fileBody{file: file, off: off, n: n}
}

// fileRange returns what is left of the body. ok is false if the file is not
// one of the operating system.
func (b *fileBody) fileRange() (f *os.File, off, n int64, ok bool) {
	if b.file == nil || b.file.OS() == nil {
		return nil, 0, 0, false
	}
	return b.file.OS(), b.off, b.n, true
}

// Read reads on in the body. A file that ends too early, having been cut since
// it was opened, gives io.ErrUnexpectedEOF.
func (b *fileBody) Read(p []byte) (int, error) {
	if b.n <= 0 {
		return 0, io.EOF
	}
	if b.file == nil {
		return 0, fs.ErrClosed
	}
	if int64(len(p)) > b.n {
		p = p[:b.n]
	}
	n, err := b.file.ReadAt(p, b.off)
	b.off += int64(n)
	b.n -= int64(n)
	switch {
	case n == len(p):
		err = nil
	case err == io.EOF:
		err = io.ErrUnexpectedEOF
	}
	return n, err
}

// WriteTo writes the rest of the body to w.
func (b *fileBody) WriteTo(w io.Writer) (int64, error) { return copyStream(w, b, math.MaxInt64) }

// Close lets go of the file.
func (b *fileBody) Close() error {
	file := b.file
	if file == nil {
		return nil
	}
	b.file = nil
	return file.Release()
}

// partsBody is a multipart/byteranges body: each part is a head and a run of a
// shared file.
type partsBody struct {
	file  *static.File
	frame static.Multipart
	rest  []static.Range
	head  []byte   // not yet read of the current head or the end
	run   fileBody // not yet read of the current range
	first bool
	ended bool
}

// newPartsBody returns the body for rs, which it keeps, and takes over a
// reference to file.
func newPartsBody(file *static.File, frame static.Multipart, rs []static.Range) *partsBody {
	return &partsBody{file: file, frame: frame, rest: rs, first: true}
}

// Read reads on in the body, at most to the end of a head or a range.
func (b *partsBody) Read(p []byte) (int, error) {
	if b.file == nil {
		return 0, fs.ErrClosed
	}
	for len(b.head) == 0 && b.run.n == 0 {
		if b.ended {
			return 0, io.EOF
		}
		b.advance()
	}
	if len(b.head) > 0 {
		n := copy(p, b.head)
		b.head = b.head[n:]
		return n, nil
	}
	return b.run.Read(p)
}

// advance goes on to the next part, or the end of the last.
func (b *partsBody) advance() {
	if len(b.rest) == 0 {
		b.head = b.frame.AppendEnd(b.head[:0])
		b.ended = true
		return
	}
	r := b.rest[0]
	b.rest = b.rest[1:]
	b.head = b.frame.AppendPartHead(b.head[:0], r, b.first)
	b.run = fileBody{file: b.file, off: r.Start, n: r.Length}
	b.first = false
}

// WriteTo writes the rest of the body to w.
func (b *partsBody) WriteTo(w io.Writer) (int64, error) { return copyStream(w, b, math.MaxInt64) }

// Close lets go of the file.
func (b *partsBody) Close() error {
	file := b.file
	if file == nil {
		return nil
	}
	b.file, b.run = nil, fileBody{}
	return file.Release()
}

// treeBody is a run of bytes of a file that can only be read from its start,
// opened for this body alone.
type treeBody struct {
	file    fs.File
	skip, n int64
}

// Read reads on in the body. The bytes before it are read and dropped, or
// skipped where the file can seek.
func (b *treeBody) Read(p []byte) (int, error) {
	if b.file == nil {
		return 0, fs.ErrClosed
	}
	if err := b.seek(); err != nil {
		return 0, err
	}
	if b.n <= 0 {
		return 0, io.EOF
	}
	if int64(len(p)) > b.n {
		p = p[:b.n]
	}
	n, err := b.file.Read(p)
	b.n -= int64(n)
	if err == io.EOF && b.n > 0 {
		err = io.ErrUnexpectedEOF
	}
	return n, err
}

func (b *treeBody) seek() error {
	if b.skip == 0 {
		return nil
	}
	if s, ok := b.file.(io.Seeker); ok {
		if _, err := s.Seek(b.skip, io.SeekStart); err == nil {
			b.skip = 0
			return nil
		}
	}
	n, err := io.CopyN(io.Discard, b.file, b.skip)
	b.skip -= n
	if err == io.EOF {
		err = io.ErrUnexpectedEOF
	}
	return err
}

// Close closes the file.
func (b *treeBody) Close() error {
	if b.file == nil {
		return nil
	}
	f := b.file
	b.file = nil
	return f.Close()
}

// SendFile makes the file at path the body, and its time of modification
// Last-Modified; Content-Type is left to the caller. The path is taken as it
// is: don't make it of what a client sent. The file is closed when it was sent
// or the body is replaced.
func (resp *Response) SendFile(path string) error {
	f, info, err := static.OpenRegular(path)
	if err != nil {
		return err
	}
	if info.IsDir() {
		f.Close()
		return &fs.PathError{Op: "send", Path: path, Err: errors.New("is a directory")}
	}
	resp.Header.SetLastModified(info.ModTime())
	setStream(resp, newFileBody(static.NewFile(f.(*os.File)), 0, info.Size()), info.Size())
	return nil
}

// setStream sets a body of size bytes, as a stream of unknown length where an
// int is too small for it.
func setStream(resp *Response, body io.Reader, size int64) {
	n := int(size)
	if int64(n) != size {
		n = -1
	}
	resp.SetBodyStream(body, n)
}
