package gale

import (
	"bytes"
	"hash/maphash"
	"io"
	"mime/multipart"
	"strings"
	"unicode"

	"github.com/galehttp/gale/internal/bytesconv"
	"github.com/galehttp/gale/internal/door"
	"github.com/galehttp/gale/internal/msg"
	"github.com/galehttp/gale/internal/pool"
)

// settleForm makes the body hold the form, if it doesn't. It is called before the body is used as
// bytes.
func (req *Request) settleForm() error {
	if req.form == nil || req.holdsForm() {
		return nil
	}
	if req.formRaw {
		req.formRaw = false
		req.newFormBoundary()
	}
	err := req.checkFormNames()
	b := pool.Get(0)
	if err == nil {
		err = WriteMultipartForm(b, req.form, req.formBoundary)
	}
	if err != nil {
		pool.Put(b)
		req.fail(err)
		return err
	}
	req.declareForm(int64(len(b.B)))
	req.takeBody(b)
	req.formRaw, req.formSum = true, sumForm(req.form)
	return nil
}

// holdsForm reports whether the body holds the form as the program has it.
func (req *Request) holdsForm() bool { return req.formRaw && req.formSum == sumForm(req.form) }

// sendForm makes the body what is sent as the form: the bytes that hold it, or a stream, so that files
// aren't read into memory. The stream is made again for each attempt.
func (req *Request) sendForm() error {
	if req.formRaw {
		return req.settleForm()
	}
	if err := req.makeFormStream(); err != nil {
		req.fail(err)
		return err
	}
	if h := &req.Header; !h.s.Trailers.ToSend() {
		h.setLength(req.bodyStream.(*formStream).size)
	}
	return nil
}

// streamForm makes the body a stream of the form, if it was read from a stream.
func (req *Request) streamForm() error {
	if req.formRaw || !req.hasStream() {
		return nil
	}
	return req.makeFormStream()
}

// makeFormStream makes the body a stream of the form, unless it is one.
func (req *Request) makeFormStream() error {
	sum := sumForm(req.form)
	if s, ok := req.bodyStream.(*formStream); ok {
		if sum == req.formSum {
			return nil
		}
		if s.Taken() > 0 {
			return errFormChanged
		}
	}
	if err := req.checkFormNames(); err != nil {
		return err
	}
	s, err := newFormStream(req.form, req.formBoundary)
	if err != nil {
		return err
	}
	req.declareForm(s.size)
	req.setStream(s)
	req.streamFrom, req.formSum = 0, sum
	return nil
}

// mustBeWhole returns door.ErrBodyTaken if the program has read of the stream since it is the body: the
// rest must not be handed on as the body. A stream that
// was read as a form counts only if the stream of the form was read.
func (req *Request) mustBeWhole() error {
	if req.form != nil {
		if _, ok := req.bodyStream.(*formStream); !ok {
			return nil
		}
	}
	if req.bodyStream != nil && takenOf(req.bodyStream) > req.streamFrom {
		return door.ErrBodyTaken
	}
	return nil
}

var errFormChanged = newBareError("the form was changed after a part of it was read as a stream")

var errFormName = newBareError("cannot write a form with control characters in a name")

// checkFormNames returns an error if the form has names that can't be written as they are.
func (req *Request) checkFormNames() error {
	for p := range formParts(req.form) {
		names := p.name
		if p.file != nil {
			names += p.file.Filename
		}
		if strings.ContainsFunc(names, unicode.IsControl) {
			return errFormName
		}
	}
	return nil
}

// newFormBoundary chooses the boundary with which the form will be written. No client can guess
// it. The header says so at once, because programs copy it before they ask for the body.
func (req *Request) newFormBoundary() {
	req.formBoundary = multipart.NewWriter(io.Discard).Boundary() // 240 random bits
	req.declareForm(-1)
}

// declareForm makes the header say that the body is the form as it is written, of size bytes if
// that is known.
func (req *Request) declareForm(size int64) {
	h := &req.Header
	h.SetMultipartFormBoundary(req.formBoundary)
	h.Del(HeaderContentEncoding)
	if h.s.ContentLength != msg.LenChunked && size >= 0 {
		h.setLength(size)
	}
}

// sumSeed is the seed of sumForm.
var sumSeed = maphash.MakeSeed()

// sumForm returns a checksum of what a program can change in f.
func sumForm(f *multipart.Form) (sum uint64) {
	var h maphash.Hash
	h.SetSeed(sumSeed)
	add := func(s string) {
		maphash.WriteComparable(&h, len(s))
		_, _ = h.WriteString(s)
	}
	lists := func(of map[string][]string) (sum uint64) { // in any order
		for name, values := range of {
			h.Reset()
			add(name)
			for _, v := range values {
				add(v)
			}
			sum += h.Sum64()
		}
		return sum
	}
	sum = lists(f.Value)
	for name, of := range f.File {
		for i, fh := range of {
			if isNoFile(fh) {
				continue
			}
			fields := lists(fh.Header)
			h.Reset()
			add(name)
			add(fh.Filename)
			maphash.WriteComparable(&h, [...]uint64{uint64(i), uint64(fh.Size), fields})
			maphash.WriteComparable(&h, fh)
			sum += h.Sum64()
		}
	}
	return sum
}

// codedParts looks for "quoted-printable" in what it reads: package multipart decodes such parts.
type codedParts struct {
	r     io.Reader
	tail  []byte // the end of what was read
	found bool
}

func (c *codedParts) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	if got := p[:n]; !c.found && n > 0 {
		const most = len(quotedPrintable) - 1
		c.tail = append(c.tail, got[:min(n, most)]...)
		c.found = hasQuotedPrintable(got) || hasQuotedPrintable(c.tail)
		if n >= most {
			c.tail = append(c.tail[:0], got[n-most:]...)
		} else if extra := len(c.tail) - most; extra > 0 {
			c.tail = append(c.tail[:0], c.tail[extra:]...)
		}
	}
	return n, err
}

func hasQuotedPrintable(b []byte) bool {
	const hyphen = len("quoted")
	for i := 0; ; i++ {
		n := bytes.IndexByte(b[i:], '-')
		if n < 0 {
			return false
		}
		i += n
		if from, to := i-hyphen, i-hyphen+len(quotedPrintable); from >= 0 && to <= len(b) && bytesconv.EqualFoldString(b[from:to], quotedPrintable) {
			return true
		}
	}
}
