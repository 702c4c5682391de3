package head

import "github.com/galehttp/gale/internal/lifetime"

// Lend makes r part of l: its memory moves to l, and grows there from now on. No slice of
// r may have been lent before.
func (r *Request) Lend(l *lifetime.Loan) {
	r.RequestHead.Lend(l)
	r.Cookies.Lend(l)
	r.Trailers.lend(l)
}

// Lapse empties r at the end of its loan. It keeps no memory, and stays part of the loan.
func (r *Request) Lapse() {
	r.RequestHead.Lapse()
	r.Cookies.Lapse()
	*r = Request{RequestHead: r.RequestHead, Cookies: r.Cookies, Trailers: Trailers{loan: r.Trailers.loan}}
}

// Lend makes r part of l, as Request.Lend does.
func (r *Response) Lend(l *lifetime.Loan) {
	r.ResponseHead.Lend(l)
	r.Trailers.lend(l)
	r.server = append(l.Alloc(maxSlot), r.server...)
	r.contentType = append(l.Alloc(maxSlot), r.contentType...)
}

// Lapse empties r at the end of its loan. It keeps no memory, and stays part of the loan.
func (r *Response) Lapse() {
	r.ResponseHead.Lapse()
	*r = Response{ResponseHead: r.ResponseHead, Trailers: Trailers{loan: r.Trailers.loan}}
}

func (t *Trailers) lend(l *lifetime.Loan) {
	t.loan = l
	if t.s != nil {
		t.s.lend(l)
	}
}

// newSection returns an empty section, which is part of l unless l is nil.
func newSection(l *lifetime.Loan) *section {
	s := new(section)
	if l != nil {
		s.lend(l)
	}
	return s
}

func (s *section) lend(l *lifetime.Loan) {
	s.set.Lend(l)
	s.received.Lend(l)
	for _, n := range [...]*NameList{&s.declared, &s.barred, &s.list, &s.sent, &s.spare} {
		n.text = append(l.Alloc(len(n.text)), n.text...)
		n.loan = l
	}
}
