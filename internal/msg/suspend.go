package msg

import "github.com/galehttp/gale/internal/pool"

// suspended is the parsed part of a head that has not arrived completely. It has its own
// records and memory. So changes of the head in the meantime don't affect it, and nothing
// of it is visible in the head.
type suspended struct {
	scan    Scan
	fields  Fields
	request requestFacts
	status  int   // of a response
	minor   uint8 // of a response
}

var spare = pool.Pool{New: func() any { return new(suspended) }}

// newSuspended returns an empty one, from the pool unless f is part of a loan: then no
// memory of a pool gets into f.
func newSuspended(f *Fields) *suspended {
	if f.Loan != nil {
		return new(suspended)
	}
	return spare.Get().(*suspended)
}

// drop puts s back into the pool. If the head is part of a loan, the garbage collector gets
// s, because it has memory of the loan.
func (s *suspended) drop() {
	s.fields.Reset()
	s.scan, s.request, s.status, s.minor = Scan{}, requestFacts{}, 0, 0
	spare.Put(s)
}

// swap exchanges the fields of a head and those of s.
// Each keeps its loan; s has none.
func (s *suspended) swap(f *Fields) {
	s.fields, *f = *f, s.fields
	keepLoan(&s.fields, f)
}

// Suspend stores the parsed part of h and its state s elsewhere. h is then empty, as
// after Reset.
func (h *RequestHead) Suspend(s *Scan) {
	p := newSuspended(&h.Fields)
	p.scan = *s
	p.swap(&h.Fields)
	p.request, h.requestFacts = h.requestFacts, requestFacts{MethodID: MethodGet, Minor: 1}
	h.suspended = p
}

// Abandon drops what Suspend stored, and puts its memory back into the pool.
func (h *RequestHead) Abandon() {
	if h.Loan == nil {
		h.suspended.drop()
	}
	h.suspended = nil
}

// Suspended reports whether Suspend has stored a part of a head.
func (h *RequestHead) Suspended() bool { return h.suspended != nil }

// Resume restores what Suspend stored, and drops the present contents of h.
func (h *RequestHead) Resume(s *Scan) {
	p := h.suspended
	h.suspended = nil
	*s = p.scan
	p.swap(&h.Fields)
	h.requestFacts = p.request
	if h.Loan == nil {
		p.drop()
	}
}

// Suspend stores the parsed part of h and its state s elsewhere. h is then empty, as
// after Reset.
func (h *ResponseHead) Suspend(s *Scan) {
	p := newSuspended(&h.Fields)
	p.scan = *s
	p.swap(&h.Fields)
	p.status, p.minor = h.Status, h.Minor
	h.Status, h.ContentLength, h.Minor, h.Conn = 0, 0, 1, 0
	h.suspended = p
}

// Suspended reports whether Suspend has stored a part of a head.
func (h *ResponseHead) Suspended() bool { return h.suspended != nil }

// Resume restores what Suspend stored, and drops the present contents of h.
func (h *ResponseHead) Resume(s *Scan) {
	p := h.suspended
	h.suspended = nil
	*s = p.scan
	p.swap(&h.Fields)
	h.Status, h.ContentLength, h.Minor, h.Conn = p.status, 0, p.minor, 0
	if h.Loan == nil {
		p.drop()
	}
}
