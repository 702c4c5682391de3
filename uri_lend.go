package gale

import "github.com/galehttp/gale/internal/lifetime"

// lend makes u part of l: its memory moves to l, and grows there from now on.
func (u *URI) lend(l *lifetime.Loan) {
	u.loan = l
	u.buf = lifetime.Move(l, u.buf)
	u.fullURI, u.requestURI = lifetime.Move(l, u.fullURI), lifetime.Move(l, u.requestURI)
	u.args.lend(l)
}

// lapse empties u at the end of its loan.
func (u *URI) lapse() {
	u.args.lapse()
	u.DisablePathNormalizing, u.pathDone, u.pathPlain, u.queryPlain, u.argsDone, u.userParsed = false, false, false, false, false, false
	for _, b := range [...][]byte{u.buf, u.fullURI, u.requestURI} {
		u.loan.KeepLast(b)
	}
	u.buf, u.validHost, u.uriParts = nil, 0, uriParts{}
	u.fullURI, u.requestURI = nil, nil
}

// own makes sure that the arena, which had a capacity of had bytes, is memory of the
// loan, if there is one.
func (u *URI) own(had int) {
	if u.loan != nil {
		u.ownArena(had)
	}
}

//go:noinline so that own is inlined
func (u *URI) ownArena(had int) {
	if cap(u.buf) != had {
		u.buf = lifetime.Move(u.loan, u.buf)
	}
}

// use is used(u.loan) for methods that would be too large to be inlined with it. There is
// a loan.
//
//go:noinline
func (u *URI) use() { u.loan.Use() }
