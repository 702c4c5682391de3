package gale

import (
	"errors"
	"io"
	"io/fs"
	"math"
	"os"
	"runtime"
	"sync/atomic"

	"github.com/galehttp/gale/internal/compress"
	"github.com/galehttp/gale/internal/pool"
	"github.com/galehttp/gale/internal/static"
)

// fileBody is a body stream that reads a range of a shared file. It holds a
// reference to the file until it is closed. It may be closed at any time and more
// than once.
//
// Only one goroutine may use it at a time.
type fileBody struct {
	file   *static.File
	off, n int64
}

// newFileBody returns a body of n bytes of file from offset off. It takes over the
// caller's reference to file.
func newFileBody(file *static.File, off, n int64) *fileBody {
	return &fileBody{file: file, off: off, n: n}
}

// fileRange returns the range that is left of the body. ok is false if the file
// doesn't belong to the operating system.
func (b *fileBody) fileRange() (f *os.File, off, n int64, ok bool) {
	if b.file == nil || b.file.OS() == nil {
		return nil, 0, 0, false
	}
	return b.file.OS(), b.off, b.n, true
}

// Read reads from the body. If the file was truncated after it was opened and so
// ends too early, the error is io.ErrUnexpectedEOF.
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

// Close releases the file.
func (b *fileBody) Close() error {
	file := b.file
	if file == nil {
		return nil
	}
	b.file = nil
	return file.Release()
}

// partsBody is a multipart/byteranges body: each part is a head and a range of a
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

// newPartsBody returns the body for rs, which it keeps, and takes over the caller's
// reference to file.
func newPartsBody(file *static.File, frame static.Multipart, rs []static.Range) *partsBody {
	return &partsBody{file: file, frame: frame, rest: rs, first: true}
}

// Read reads from the body, at most to the end of a head or a range.
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

// advance goes on to the next part, or to the end of the body after the last part.
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

// Close releases the file.
func (b *partsBody) Close() error {
	file := b.file
	if file == nil {
		return nil
	}
	b.file, b.run = nil, fileBody{}
	return file.Release()
}

// treeBody is a range of a file that can only be read from its start. The file was
// opened for this body only.
type treeBody struct {
	file    fs.File
	skip, n int64
}

// Read reads from the body. The bytes before the range are read and dropped, or
// skipped if the file can seek.
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
	empty := 0 // who reads the body counts them
	n, err := pool.ReadOnce(b.file, p, &empty)
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
	n, err := copyStream(io.Discard, b.file, b.skip)
	b.skip -= n
	if err == nil && b.skip > 0 {
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

// SendFile makes the file at path the body, and sets Last-Modified to its
// modification time. It doesn't set Content-Type. The path is used as it is: don't
// build it from what a client sent. The file is closed after it was sent, or when
// the body is replaced.
func (resp *Response) SendFile(path string) error {
	used(resp.loan)
	f, info, err := static.OpenRegular(path)
	if err != nil {
		return err
	}
	if info.IsDir() {
		f.Close()
		return &fs.PathError{Op: "send", Path: path, Err: errors.New("is a directory")}
	}
	if t := info.ModTime(); !inFuture(t) {
		resp.Header.SetLastModified(t)
	}
	setStream(resp, newFileBody(static.NewFile(f.(*os.File)), 0, info.Size()), info.Size())
	return nil
}

// setStream sets a body stream of size bytes. If size doesn't fit in an int, the
// stream has unknown length.
func setStream(resp *Response, body io.Reader, size int64) {
	n := int(size)
	if int64(n) != size {
		n = -1
	}
	resp.SetBodyStream(body, n)
}

// maxLargeStreams is how many large files the process compresses while they are sent.
// Others are sent as they are.
const maxLargeStreams = 16

var largeStreams atomic.Int32

// beginLarge takes one of the places for compressing a large file, if one is free. Each
// success needs one endLarge.
func beginLarge() bool {
	if largeStreams.Add(1) <= maxLargeStreams {
		return true
	}
	largeStreams.Add(-1)
	return false
}

func endLarge() { largeStreams.Add(-1) }

// largePlace is a place that a stream holds.
type largePlace struct{ left atomic.Bool }

func (p *largePlace) leave() {
	if !p.left.Swap(true) {
		endLarge()
	}
}

// respondLarge answers with a large file that is compressed while it is sent. If the client
// doesn't accept that, or there is no place, it leaves e to the caller and returns false.
func (h *fsHandler) respondLarge(ctx *RequestCtx, e *static.Entry, accept [][]byte) bool {
	coding := static.ChooseStreamCoding(accept, h.store.Compress)
	if coding == compress.Identity || !beginLarge() {
		return false
	}
	if h.describe(ctx, e.Streamed(coding), true) {
		endLarge()
		return true
	}
	ctx.SetStatusCode(StatusOK)
	resp := &ctx.Response
	if ctx.IsHead() {
		e.Release()
		endLarge()
		resp.ResetBody()
		resp.SkipBody = true
		resp.Header.SetContentLength(-1)
		return true
	}
	f := &largeFile{fileBody: fileBody{file: e.File, n: e.Size}, place: new(largePlace)}
	runtime.AddCleanup(f, (*largePlace).leave, f.place) // no goroutine closes it after TimeoutError
	setStream(resp, f, e.Size)
	encodeStream(resp, coding, static.StreamLevels[coding])
	return true
}

// largeFile is a fileBody that holds a place until it is closed.
type largeFile struct {
	fileBody
	place *largePlace
}

// Close releases the file and the place.
func (f *largeFile) Close() error {
	f.place.leave()
	return f.fileBody.Close()
}
