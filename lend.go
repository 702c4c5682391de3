package gale

import (
	"github.com/galehttp/gale/internal/lifetime"
	"github.com/galehttp/gale/internal/race"
)

// Objects of a guarded request, or of a guarded pool, have a *lifetime.Loan. When it ends,
// they lapse: they are emptied, but keep the pointer. So a method of a lapsed object finds
// nothing, or must parse or grow, and there it calls used or lapsed. The path on which it
// finds something doesn't look at the loan. Methods that have no such path, as setters of
// a number, begin with the call.

// strict reports whether what l lent also ends where a program without a guard often does no
// harm: files of a form in memory, and the body of a response that the handler has reset. It
// does with pages, which report most uses, and in tests with the race detector. A guard that
// only overwrites memory, as in production, must not change responses that are right.
func strict(l *lifetime.Loan) bool { return l != nil && (race.Enabled || l.Guard().HasPages()) }

// used tells l, unless it is nil, that one of its objects is used. If the loan has ended,
// that is reported.
func used(l *lifetime.Loan) {
	if l != nil {
		l.Use()
	}
}

// lapsed is used, and reports whether the loan has ended.
func lapsed(l *lifetime.Loan) bool {
	return l != nil && useLapsed(l)
}

//go:noinline so that lapsed is inlined
func useLapsed(l *lifetime.Loan) bool {
	l.Use()
	return l.Over()
}
