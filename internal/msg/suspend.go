package msg

import "github.com/galehttp/gale/internal/pool"

// suspended is what a parser has of a head that has arrived in part. It has records
// and memory of its own, so that nothing that happens to the head meanwhile can
// change it, and nothing of it can be seen in the head.
type suspended struct {
	scan    Scan
	fields  Fields
	request requestFacts
	status  int   // of a response
	minor   uint8 // of a response
}

var spare = pool.Pool{New: func() any { return new(suspended) }}

// drop gives s back.
func (s *suspended) drop() {
	s.fields.Reset()
	s.scan, s.request, s.status, s.minor = Scan{}, requestFacts{}, 0, 0
	spare.Put(s)
}

// swap exchanges the fields of a head and those of s.
func (s *suspended) swap(f *Fields) { s.fields, *f = *f, s.fields }

// Suspend puts away what the parser has of h, to which s belongs. h is empty then, as
// after Reset.
func (h *RequestHead) Suspend(s *Scan) {
	p := spare.Get().(*suspended)
	p.scan = *s
	p.swap(&h.Fields)
	p.request, h.requestFacts = h.requestFacts, requestFacts{MethodID: MethodGet, Minor: 1}
	h.suspended = p
}

// Abandon drops what Suspend put away, and gives its memory back for others to use.
func (h *RequestHead) Abandon() {
	h.suspended.drop()
	h.suspended = nil
}

// Suspended reports whether something was put away.
func (h *RequestHead) Suspended() bool { return h.suspended != nil }

// Resume brings back what Suspend put away, and drops what h holds instead.
func (h *RequestHead) Resume(s *Scan) {
	p := h.suspended
	h.suspended = nil
	*s = p.scan
	p.swap(&h.Fields)
	h.requestFacts = p.request
	p.drop()
}

// Suspend puts away what the parser has of h, to which s belongs. h is empty then, as
// after Reset.
func (h *ResponseHead) Suspend(s *Scan) {
	p := spare.Get().(*suspended)
	p.scan = *s
	p.swap(&h.Fields)
	p.status, p.minor = h.Status, h.Minor
	h.Status, h.ContentLength, h.Minor, h.Conn = 0, 0, 1, 0
	h.suspended = p
}

// Suspended reports whether something was put away.
func (h *ResponseHead) Suspended() bool { return h.suspended != nil }

// Resume brings back what Suspend put away, and drops what h holds instead.
func (h *ResponseHead) Resume(s *Scan) {
	p := h.suspended
	h.suspended = nil
	*s = p.scan
	p.swap(&h.Fields)
	h.Status, h.ContentLength, h.Minor, h.Conn = p.status, 0, p.minor, 0
	p.drop()
}
