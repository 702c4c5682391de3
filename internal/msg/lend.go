package msg

import "github.com/galehttp/gale/internal/lifetime"

// leastArena is the least capacity, in bytes, of a lent arena that holds something.
const leastArena = 1 << 10

// Grow makes room for at least n more bytes in the arena.
func (f *Fields) Grow(n int) {
	if cap(f.Buf)-len(f.Buf) < n {
		f.Buf = lifetime.Grow(f.Loan, f.Buf, n)
	}
}

// room returns the arena, emptied, with room for n bytes.
func (f *Fields) room(n int) []byte {
	f.Buf = f.Buf[:0]
	f.Grow(n)
	return f.Buf
}

// Fill sets the arena to a copy of b, for a parser.
func (f *Fields) Fill(b []byte) {
	if len(b) > cap(f.Buf) {
		f.Buf = f.room(len(b))
	}
	f.Buf = append(f.Buf[:0], b...)
}

// Own makes sure that the arena is memory of the loan, if there is one, after code of
// another package has appended to Buf. had is the capacity that Buf had before.
func (f *Fields) Own(had int) {
	if f.Loan != nil && cap(f.Buf) != had {
		f.Buf = lifetime.Move(f.Loan, f.Buf)
	}
}

// Lend makes f part of l: its arena moves to memory of l, and grows there from now on. No
// slice of f may have been lent before.
func (f *Fields) Lend(l *lifetime.Loan) {
	f.Loan, f.last = l, 0
	if len(f.Buf) == 0 {
		f.Buf = nil
		return
	}
	f.Buf = append(l.Alloc(max(2*len(f.Buf), leastArena)), f.Buf...)
}

// Lapse empties f at the end of its loan. It keeps no memory, and stays part of the loan.
func (f *Fields) Lapse() {
	if f.Loan != nil {
		f.Loan.KeepLast(f.Buf)
	}
	*f = Fields{Loan: f.Loan}
}

// Use tells the loan, if there is one, that f is used. Getters call it when they find
// nothing, which is always so after Lapse.
func (f *Fields) Use() {
	if f.Loan != nil {
		f.Loan.Use()
	}
}

// keepLoan gives f and g, which were exchanged, their own loans again.
func keepLoan(f, g *Fields) { f.Loan, g.Loan = g.Loan, f.Loan }

// Lend makes h part of l; see Fields.Lend.
func (h *RequestHead) Lend(l *lifetime.Loan) { h.Fields.Lend(l) }

// Lapse empties h at the end of its loan; see Fields.Lapse. The method is then MethodOther.
func (h *RequestHead) Lapse() {
	h.Fields.Lapse()
	h.requestFacts, h.suspended = requestFacts{Minor: 1}, nil
}

// Lend makes h part of l; see Fields.Lend.
func (h *ResponseHead) Lend(l *lifetime.Loan) { h.Fields.Lend(l) }

// Lapse empties h at the end of its loan; see Fields.Lapse.
func (h *ResponseHead) Lapse() {
	h.Fields.Lapse()
	*h = ResponseHead{Fields: h.Fields, Minor: 1}
}
