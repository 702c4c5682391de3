package gale

import "github.com/galehttp/gale/internal/lifetime"

// lend makes a part of l: its memory moves to l, and grows there from now on.
func (a *Args) lend(l *lifetime.Loan) {
	a.list.Lend(l)
	a.buf = lifetime.Move(l, a.buf)
}

// lapse empties a at the end of its loan.
func (a *Args) lapse() {
	if l := a.list.Loan; l != nil {
		l.KeepLast(a.buf)
	}
	a.buf = nil
	if l := a.list.Loan; l != nil && l.Guard().HasPages() {
		a.list.LapseOnPages()
		return
	}
	a.list.Lapse()
}
