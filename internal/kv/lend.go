package kv

import "github.com/galehttp/gale/internal/lifetime"

// Lend makes l part of a loan: its arena moves to memory of the loan, and grows there
// from now on. No slice of l may have been lent before.
func (l *List) Lend(to *lifetime.Loan) {
	l.Loan = to
	if l.arena != nil {
		l.arena = append(to.Alloc(max(2*len(l.arena), 64)), l.arena...)
	}
}

// Lapse empties l at the end of its loan. It keeps no memory, and stays part of the loan.
func (l *List) Lapse() {
	if l.Loan != nil {
		l.Loan.KeepLast(l.arena)
	}
	*l = List{Loan: l.Loan}
}

// LapseOnPages is Lapse for a loan whose memory becomes unreadable. l keeps its pairs, so
// that Peek faults if it is given one of their keys: Peek is inlined, and too large for a
// check. All other methods must be called only after a check.
func (l *List) LapseOnPages() {
	l.Loan.KeepLast(l.arena)
	l.arena = l.arena[:len(l.arena):len(l.arena)]
}

// Use tells the loan, if there is one, that l is used.
func (l *List) Use() {
	if l.Loan != nil {
		l.Loan.Use()
	}
}
