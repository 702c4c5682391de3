package gale

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"io/fs"
	"math"
	"mime/multipart"
	"runtime"
	"slices"
	"sync/atomic"

	"github.com/galehttp/gale/internal/compress"
	"github.com/galehttp/gale/internal/msg"
)

// maxFormMemory is how many bytes of a form are held in memory. If its files are larger,
// the rest is stored in temporary files. If its other fields are larger, that is an
// error.
const maxFormMemory = 16 << 20

// formSlack is what multipart.Reader.ReadForm allows for fields on top of the
// memory it is given.
const formSlack = 10 << 20

var errFormEmpty = newBareError("form size must be greater than 0: given 0")

// MultipartForm returns the form in a body of media type multipart/form-data (RFC 7578).
// For a body of another type, or without a boundary, it returns [ErrNoMultipartForm]. So it
// does if others could read another boundary; see RequestHeader.MultipartFormBoundary. Then the
// body is dropped and can't be sent on, and BodyError returns the error, too. The
// body is parsed once. Reset or RemoveMultipartFormFiles removes its temporary files. The
// form is borrowed: it is valid until req is reset or the handler returns.
//
// At most 16 MiB are held in memory; the rest of the files is in temporary files. If the
// body is a stream, at most [DefaultMaxStreamedFormSize] bytes are read (see
// Server.MaxStreamedFormSize); a longer one gives [ErrBodyTooLarge]. If a stream fails,
// later calls return an error too; see BodyError. A form may have at most 1,000 parts,
// and its files at most 10,000 header lines in total. A body with a content coding is
// decoded to at most 64 MiB; see MultipartFormWithLimit for another limit.
//
// Names of fields and files are as they came: "%22", which browsers send for a double quote, stays.
//
// From then on the body is the form that the program has: what Body, BodyStream, CopyTo, Write,
// clients and net/http handlers get. If the body was collected, they get its bytes as they came.
// They get another body if it was read from a stream, if it or a part of it was decoded
// (Content-Encoding, quoted-printable), or if the program has changed the form or a FileHeader of
// it. This body
// is written by WriteMultipartForm, with a random boundary. Content-Type says it, and
// Content-Encoding is deleted, at once or, after a change of a collected form, when the body
// is asked for; then the length is set, too. The header fields of values are gone, and what was
// before and after the parts. If the form was read from a stream, clients and Write send the files from
// where they are, one after the other, and again for another attempt or a redirect. Body and CopyTo make
// one copy of all in memory. A name or a file name with control characters is an error then,
// which BodyError returns.
func (req *Request) MultipartForm() (*multipart.Form, error) {
	form, err := req.multipartForm()
	if err != nil {
		_ = req.heard()
	}
	return form, err
}

// multipartForm is MultipartForm for callers that don't return its error to the program.
func (req *Request) multipartForm() (*multipart.Form, error) {
	limit := 0
	if req.hasCoding() {
		limit = maxUncompressedBody
	}
	return req.parseForm(limit)
}

// hasCoding reports whether the body has a content coding.
func (req *Request) hasCoding() bool {
	c, ok := contentCoding(&req.Header.s.Fields)
	return !ok || c != compress.Identity
}

// MultipartFormWithLimit is MultipartForm for a body of at most maxBodySize bytes after
// decoding. A longer one gives [ErrBodyTooLarge]. If maxBodySize is 0 or negative, there
// is no limit except the one for streams that MultipartForm describes. The form is
// borrowed: it is valid until req is reset or the handler returns.
func (req *Request) MultipartFormWithLimit(maxBodySize int) (*multipart.Form, error) {
	form, err := req.parseForm(maxBodySize)
	if err != nil {
		_ = req.heard()
	}
	return form, err
}

func (req *Request) parseForm(limit int) (*multipart.Form, error) {
	if req.form != nil {
		return req.form, nil
	}
	body, boundary, err := req.formBody()
	if err != nil {
		return nil, err
	}
	streamed := req.hasStream()
	lim := &limitReader{r: body, n: math.MaxInt64 - 1}
	switch {
	case limit > 0:
		lim.n = int64(limit)
	case streamed:
		lim.n = req.streamedFormLimit()
	}
	var from io.Reader = lim
	coded := codedParts{r: lim}
	if !streamed {
		from = &coded
	}
	form, err := readForm(from, boundary)
	if err == nil && streamed {
		form, err = readEpilogue(lim, form)
	}
	if d, ok := body.(*decodingReader); ok {
		_ = d.Close()
	}
	if err != nil {
		if lim.n < 0 { // whatever error the parser returned
			err = formError(ErrBodyTooLarge)
		}
		if streamed || req.hasCoding() {
			req.fail(err) // the rest of the stream, or the encoded bytes, must not be taken for a form
		}
		return nil, err
	}
	// Others may look for a form in the encoded bytes.
	if err := req.setForm(form, !streamed && !coded.found && !req.hasCoding()); err != nil {
		return nil, err
	}
	return form, nil
}

// hasBrokenForm parses the form in a body that is in memory and has no content coding. It
// returns true if there is one that can't be parsed because of what the client sent. Then the
// body counts as one that could not be read.
func (req *Request) hasBrokenForm() bool {
	if req.hasStream() || len(req.bodyBytes()) == 0 || len(req.Header.MultipartFormBoundary()) == 0 || req.hasCoding() {
		return false
	}
	_, err := req.parseForm(0)
	if disk := (*fs.PathError)(nil); err == nil || errors.As(err, &disk) {
		return false
	}
	req.fail(err)
	return true
}

// streamedFormLimit returns how many bytes of a stream may be read as a form, whose files
// are stored on disk.
func (req *Request) streamedFormLimit() int64 {
	n := int64(0)
	if s, ok := req.bodyStream.(formReader); ok {
		n = s.StreamedFormLimit()
	}
	switch {
	case n == 0:
		return DefaultMaxStreamedFormSize
	case n < 0:
		return math.MaxInt64 - 1
	}
	return n
}

// formFiles are the files of a form, so that they can be removed while another
// goroutine uses the form.
type formFiles struct {
	form    multipart.Form
	owned   bool         // by the program, see ownForms
	used    atomic.Int64 // files that the program may use, if owned
	removed atomic.Bool  // if owned
}

// noForms is the value for a request that can't have a form anymore. ownForms is the one
// for a request without a form, whose later forms belong to the program.
var noForms, ownForms = new(formFiles), new(formFiles)

var errFormTimedOut = errors.New("gale: the request was timed out with TimeoutError: its form can't be parsed any more")

// setForm sets the form of the request; raw says that the body holds it, too.
func (req *Request) setForm(form *multipart.Form, raw bool) error {
	if len(form.File) > 0 {
		if strict(req.loan) {
			lendFiles(req.loan, form)
		}
		files := &formFiles{form: multipart.Form{File: make(map[string][]*multipart.FileHeader, len(form.File))}}
		for name, of := range form.File {
			for _, f := range of {
				own := *f
				files.form.File[name] = append(files.form.File[name], &own)
			}
		}
		files.owned = req.files.Load() == ownForms
		before := (*formFiles)(nil)
		if files.owned {
			before = ownForms
		}
		if !req.files.CompareAndSwap(before, files) {
			_ = form.RemoveAll()
			return errFormTimedOut
		}
		if files.owned {
			files.watch(form)
		}
	}
	if req.form, req.formRaw = form, raw; raw {
		req.formSum = sumForm(form)
	} else {
		req.newFormBoundary()
	}
	return nil
}

// ownForms makes the form of the request, and later ones, belong to the program: their
// temporary files are removed when it has dropped them.
func (req *Request) ownForms() {
	files := req.files.Load()
	switch {
	case files == nil:
		req.files.CompareAndSwap(nil, ownForms)
	case files != noForms && files != ownForms && req.form != nil && !files.owned:
		files.owned = true
		files.watch(req.form)
	}
}

// watch removes the files when the garbage collector has freed all headers of form, by
// which the program opens them. It doesn't refer to them itself.
func (files *formFiles) watch(form *multipart.Form) {
	for _, of := range form.File {
		files.used.Add(int64(len(of)))
	}
	for _, of := range form.File {
		for _, f := range of {
			runtime.AddCleanup(f, (*formFiles).freed, files)
		}
	}
}

// freed is called when a header was freed. It runs on a goroutine of the runtime.
func (files *formFiles) freed() {
	if files.used.Add(-1) == 0 && !files.removed.Load() {
		_ = files.form.RemoveAll()
	}
}

// endForms removes the temporary files of the form, and those of one that is
// being parsed by another goroutine.
func (req *Request) endForms() {
	if files := req.files.Swap(noForms); files != nil {
		_ = files.form.RemoveAll()
	}
}

// formBody returns the decoded body of a form as a reader, and its boundary.
func (req *Request) formBody() (body io.Reader, boundary string, err error) {
	if err := req.settleForm(); err != nil {
		return nil, "", err
	}
	b, sure := req.Header.formBoundary()
	if boundary = string(b); boundary == "" {
		if !sure && req.readErr == nil {
			req.fail(ErrNoMultipartForm) // what reads it next may find a form
		}
		return nil, "", ErrNoMultipartForm
	}
	switch {
	case req.readErr != nil:
		return nil, "", errorf("the body could not be read: %w", req.readErr)
	case req.hasStream():
		body = req.stream()
	case len(req.bodyBytes()) == 0:
		return nil, "", errFormEmpty
	default:
		body = bytes.NewReader(req.lendBody())
	}
	coding, ok := contentCoding(&req.Header.s.Fields)
	if !ok {
		err := errorf("unsupported content-encoding: %q", bytes.Join(req.Header.PeekAll(HeaderContentEncoding), commaSpace))
		req.fail(err) // what reads it next may not heed the coding
		return nil, "", err
	}
	if coding != compress.Identity {
		body = &decodingReader{src: body, coding: coding}
	}
	return body, boundary, nil
}

// MultipartReader returns a reader for the parts of a body of media type
// multipart/form-data. Use it for forms that should not be held in memory or in files: if
// the body is a stream, it reads parts as they arrive. For a body of another type, or
// without a boundary, it returns [ErrNoMultipartForm]. The reader is borrowed: it is
// valid until req is reset or the handler returns. When the request is over or req was
// released, reading returns an error.
//
// The limits of MultipartForm don't apply: the caller decides how many parts it reads,
// and how much of each. A part may have at most 10,000 header lines. A stream can be read
// only once. A body in memory that has a content coding is decoded, to at most 64 MiB: from then
// on it is the decoded one, and Content-Encoding is deleted.
func (req *Request) MultipartReader() (*multipart.Reader, error) {
	streamed := req.hasStream()
	if streamed {
		req.lendStream()
	}
	body, boundary, err := req.formBody()
	if err == nil && !streamed && req.hasCoding() {
		if err = req.dropCoding(); err == nil {
			body = bytes.NewReader(req.lendBody())
		}
	}
	if err != nil {
		_ = req.heard()
		return nil, err
	}
	if !streamed {
		body = &lentReader{until: lendWriter(&req.writer, req), r: body, loan: req.loan}
	}
	return multipart.NewReader(body, boundary), nil
}

// dropCoding decodes a body that is in memory, for good: others may look for a form in the
// encoded bytes.
func (req *Request) dropCoding() error {
	b, err := req.BodyUncompressed()
	if err != nil {
		req.fail(err)
		return err
	}
	req.SetBody(b)
	h := &req.Header
	h.Del(HeaderContentEncoding)
	if h.s.ContentLength != msg.LenChunked {
		h.setLength(int64(len(b)))
	}
	return nil
}

// readForm reads the whole form from r; its body is the next length bytes.
func (req *Request) readForm(r *bufio.Reader, boundary []byte, length int64) error {
	req.ResetBody()
	var body bodyReader
	body.init(r, length, nil)
	form, err := readForm(&body, string(boundary))
	if err == nil {
		form, err = readEpilogue(&body, form)
	}
	if err != nil {
		return err
	}
	return req.setForm(form, false)
}

// readForm reads a form to its last boundary.
func readForm(r io.Reader, boundary string) (*multipart.Form, error) {
	form, err := multipart.NewReader(r, boundary).ReadForm(maxFormMemory - formSlack)
	if err != nil {
		return nil, formError(err)
	}
	return form, nil
}

// readEpilogue reads the bytes after the last boundary, so that a body that ends too
// early there isn't taken for a complete one.
func readEpilogue(r io.Reader, form *multipart.Form) (*multipart.Form, error) {
	if _, err := copyStream(io.Discard, r, math.MaxInt64); err != nil {
		_ = form.RemoveAll()
		return nil, formError(err)
	}
	return form, nil
}

func formError(err error) error {
	return errorf("cannot read multipart/form-data body: %w", err)
}

// RemoveMultipartFormFiles removes the temporary files of the form and drops
// it. Without a form it does nothing. A body that was read as a form from a stream is
// empty then. Another body is what it was before; see MultipartForm.
func (req *Request) RemoveMultipartFormFiles() {
	used(req.loan)
	var err error
	if !req.hasStream() {
		err = req.settleForm()
	}
	if req.removeForm(); err != nil {
		req.fail(err)
	}
}

func (req *Request) removeForm() {
	if req.form != nil {
		for name, of := range req.form.File {
			req.form.File[name] = slices.DeleteFunc(of, isNoFile) // RemoveAll would panic
		}
		_ = req.form.RemoveAll() // an error about files that are gone or in use is ignored
		req.form, req.formRaw, req.formSum, req.formBoundary, req.readErr = nil, false, 0, "", nil
		switch files := req.files.Load(); {
		case files == nil, files == noForms, files == ownForms:
		case files.owned:
			files.removed.Store(true)
			req.files.CompareAndSwap(files, ownForms)
		default:
			req.files.CompareAndSwap(files, nil)
		}
	}
}

// endForm is removeForm at the end of the request, or of its use.
func (req *Request) endForm() {
	if req.form != nil && req.loan != nil {
		hideFiles(req.loan, req.form)
	}
	req.removeForm()
}

// limitReader returns ErrBodyTooLarge if there are more than n bytes.
type limitReader struct {
	r io.Reader
	n int64
}

func (l *limitReader) Read(p []byte) (int, error) {
	if l.n < 0 {
		return 0, ErrBodyTooLarge
	}
	if int64(len(p)) > l.n+1 {
		p = p[:l.n+1]
	}
	n, err := l.r.Read(p)
	if l.n -= int64(n); l.n < 0 {
		return n - 1, ErrBodyTooLarge
	}
	return n, err
}

// decodingReader decodes what it reads from src. The first Read takes a decoder from the
// pool. The decoder goes back at the end, after an error, or by Close.
type decodingReader struct {
	src    io.Reader
	coding compress.Coding
	z      *compress.Reader
	err    error
}

func (d *decodingReader) Read(p []byte) (int, error) {
	if d.z == nil && d.err == nil {
		d.z, d.err = compress.NewReader(d.src, d.coding)
	}
	if d.err != nil {
		return 0, d.err
	}
	n, err := d.z.Read(p)
	if err != nil {
		d.end(err)
	}
	return n, err
}

func (d *decodingReader) Close() error {
	d.end(io.ErrClosedPipe)
	return nil
}

func (d *decodingReader) end(err error) {
	if d.err == nil {
		d.err = err
	}
	if d.z != nil {
		_ = d.z.Close()
		d.z = nil
	}
}
