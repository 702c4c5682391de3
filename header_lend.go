package gale

import "github.com/galehttp/gale/internal/lifetime"

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
