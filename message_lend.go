package gale

import (
	"mime/multipart"
	"reflect"

	"github.com/galehttp/gale/internal/lifetime"
)

// lend makes req part of l: what it holds moves to memory of l, and grows there from now
// on. No slice of req may have been lent before.
func (req *Request) lend(l *lifetime.Loan) {
	req.Header.lend(l)
	req.content.lend(l)
	req.uri.lend(l)
	req.postArgs.lend(l)
}

// move moves what req, which is part of l, holds to other memory of l.
func (req *Request) move(l *lifetime.Loan) {
	req.Header.lend(l)
	req.content.move(l)
	req.uri.lend(l)
	req.postArgs.lend(l)
}

// renew is reset for req, which is lent; see Response.renew. Closers must have run.
func (req *Request) renew() {
	l := req.loan
	if l.Origin.Kind != "ReleaseRequest" {
		req.dropLent()
		req.reset()
		return
	}
	req.endForm()
	req.reset()
	fill(req.Header.digits[:])
	l.Renew("the Request was reset", func() { req.move(l) })
}

// lapse empties req at the end of its loan. Closers must have run, and the files of a form
// must have been removed. User values stay: package context may ask for them at any time.
func (req *Request) lapse() {
	req.Header.lapse()
	req.content.lapse()
	req.uri.lapse()
	req.uriParsed, req.uriBad, req.uriUsed, req.keepsSlash, req.isTLS = false, false, false, false, false
	req.postArgs.lapse()
	req.postArgsParsed = false
	req.form, req.formRaw, req.formSum, req.formBoundary = nil, false, 0, ""
	req.timeout, req.protocol, req.call = 0, "", nil
	req.whole, req.forward, req.routed = false, false, false
	req.KeepBodyBuffer, req.UseHostHeader, req.DisableRedirectPathNormalizing = false, false, false
}

// lend makes resp part of l: what it holds moves to memory of l, and grows there from now
// on. No slice of resp may have been lent before.
func (resp *Response) lend(l *lifetime.Loan) {
	resp.Header.lend(l)
	resp.content.lend(l)
}

// move moves what resp, which is part of l, holds to other memory of l.
func (resp *Response) move(l *lifetime.Loan) {
	resp.Header.lend(l)
	resp.content.move(l)
}

// renew is reset for resp, which is lent. It also ends what resp has lent so far: slices that
// the program has kept must not show the next response. A response of a server shares its
// loan with the request. There only the body ends, if the program has a slice of it.
func (resp *Response) renew() {
	l := resp.loan
	if l.Origin.Kind != "ReleaseResponse" {
		resp.dropLent()
		resp.reset()
		return
	}
	resp.reset()
	fill(resp.Header.digits[:])
	l.Renew(responseReset, func() { resp.move(l) })
}

// responseReset is when the bytes of a response of a pool end that is used again.
const responseReset = "the Response was reset or given to the next Do"

// lapse empties resp at the end of its loan. Its stream must have been closed.
func (resp *Response) lapse() {
	resp.Header.lapse()
	resp.content.lapse()
	resp.remote, resp.local, resp.wasHead = nil, nil, false
	resp.ImmediateHeaderFlush, resp.StreamBody, resp.SkipBody, resp.KeepBodyBuffer = false, false, false, false
}

// lend makes h part of l: its memory moves to l, and grows there from now on. No slice of
// h may have been lent before.
func (h *RequestHeader) lend(l *lifetime.Loan) {
	h.s.Lend(l)
	h.text.lend(l)
}

// lapse empties h at the end of its loan.
func (h *RequestHeader) lapse() {
	h.s.Lapse()
	h.hideContents = false
	h.text.lapse(h.s.Loan)
	fill(h.digits[:])
	fill(h.get[:])
}

// lend makes h part of l; see RequestHeader.lend.
func (h *ResponseHeader) lend(l *lifetime.Loan) {
	h.s.Lend(l)
	h.text.lend(l)
}

// lapse empties h at the end of its loan.
func (h *ResponseHeader) lapse() {
	h.s.Lapse()
	h.hideContents, h.defaultServer = false, ""
	h.text.lapse(h.s.Loan)
	fill(h.digits[:])
}

// lend moves the memory of t to l. The memory of the outer slices isn't lent: they belong
// to the garbage collector when t lapses.
func (t *headerText) lend(l *lifetime.Loan) {
	for _, b := range [...]*[]byte{&t.head, &t.trailer, &t.cookie, &t.connection} {
		*b = lifetime.Move(l, *b)
	}
}

// lapse empties t at the end of the loan l.
func (t *headerText) lapse(l *lifetime.Loan) {
	for _, b := range [...][]byte{t.head, t.trailer, t.cookie, t.connection} {
		l.KeepLast(b)
	}
	*t = headerText{}
}

// fill overwrites memory within a lapsed object that a method has returned.
func fill(b []byte) {
	for i := range b {
		b[i] = 0xdb
	}
}

// lendFiles moves the contents of the files of f that are in memory to memory of l. So a
// header or a file that the program keeps has no contents when the loan has ended.
func lendFiles(l *lifetime.Loan, f *multipart.Form) {
	for _, b := range contents(f) {
		if len(*b) > 0 {
			*b = append(l.Alloc(len(*b)), *b...)
		}
	}
}

// hideFiles is called at the end of the loan l, when the files of f on disk are removed. If
// the loan has pages, opening them gives memory of the loan, so that reading it is
// reported. Without pages, opening them is an error.
func hideFiles(l *lifetime.Loan, f *multipart.Form) {
	if !l.Guard().HasPages() {
		return
	}
	for _, b := range contents(f) {
		if *b == nil {
			*b = l.Alloc(1)[:1]
		}
	}
}

// contents returns what the headers of f have as the contents of their files, nil for a
// file on disk. Package multipart has no method for that. The result is empty if a
// FileHeader has no such field.
func contents(f *multipart.Form) (all []*[]byte) {
	for _, of := range f.File {
		for _, fh := range of {
			field := reflect.ValueOf(fh).Elem().FieldByName("content")
			if !field.IsValid() || field.Type() != reflect.TypeOf([]byte(nil)) {
				return nil
			}
			b, _ := reflect.NewAt(field.Type(), field.Addr().UnsafePointer()).Interface().(*[]byte)
			all = append(all, b)
		}
	}
	return all
}
