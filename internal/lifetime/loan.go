package lifetime

import (
	"sync/atomic"
	"time"
	"weak"
)

// Loan is what one guarded request, or one guarded object of a pool, lends to the
// program: objects, each of which has a pointer to the Loan, and memory. It ends once.
// Objects that aren't guarded have a nil *Loan; their methods then do nothing but compare
// it with nil, and only where they find nothing to return or must grow.
//
// Any goroutine may call its methods, at any time. End must be called when no goroutine uses
// the objects any more.
type Loan struct {
	guard *Guard
	over  atomic.Bool
	*tag
	memory memory
}

// tag is what remains to be known of a loan while its pages are unreadable. It doesn't keep
// the guard.
type tag struct {
	// Origin says what lent the objects. It must not change after the first Alloc.
	Origin Origin

	guard weak.Pointer[Guard]
	ended atomic.Int64 // nanoseconds of the wall clock; 0 before the end
	heap  atomic.Int64 // bytes of the heap that count as held by the guard
	notes *notes
}

// uncount makes the memory on the heap count no more.
func (t *tag) uncount() {
	if g := t.guard.Value(); g != nil {
		g.held.Add(-t.heap.Swap(0))
	}
}

// handlerKind is Origin.Kind of a request.
const handlerKind = "handler"

// Origin describes a guarded request, or a guarded object of a pool.
type Origin struct {
	Kind    string // "handler" for a request; "ReleaseRequest" and so on for an object of a pool
	Handler string // the name of the function that served the request
	Method  string
	Path    string // at most 256 bytes
	Peer    string // address of the client
	ID      uint64 // of the request; see RequestCtx.ID
}

// Use is called by methods of objects that belong to the loan. If the loan has ended, the
// call is a use after the end, and is reported; the method then goes on with an empty
// object. Use panics if that is what the guard does with reports. While the loan lasts, it
// remembers who calls, for later reports.
func (l *Loan) Use() {
	if l.over.Load() {
		l.late(Late)
		return
	}
	l.notes.add()
}

// Twice reports that an object was released again after the loan had ended.
func (l *Loan) Twice() { l.late(Twice) }

// Over reports whether the loan has ended.
func (l *Loan) Over() bool { return l.over.Load() }

// Guard returns the guard that began the loan.
func (l *Loan) Guard() *Guard { return l.guard }

// End ends the loan: its memory is overwritten or made unreadable, and from now on Use
// reports. The objects must be empty before that. End returns whether this was the first
// call; later ones do nothing.
func (l *Loan) End() bool {
	if !l.over.CompareAndSwap(false, true) {
		return false
	}
	now := time.Now()
	l.ended.Store(now.UnixNano())
	l.endMemory(now)
	return true
}

// Renew ends all memory that the loan has lent so far, as End does, but the loan lasts. move
// is called before that: its objects must get other memory by Alloc, to which it copies what
// they still need. It must not call Keep. how says when that was, as in "used after ...".
//
// If the loan is over, or was left, Renew does nothing.
func (l *Loan) Renew(how string, move func()) {
	if l.over.Load() {
		return
	}
	old, ok := l.memory.take()
	if !ok {
		return
	}
	move()
	now := time.Now()
	t := &tag{Origin: l.Origin, guard: l.tag.guard, notes: l.notes}
	t.Origin.Kind = how
	t.ended.Store(now.UnixNano())
	var heap int64
	for _, b := range old.heap {
		poison(b)
		heap += int64(cap(b))
	}
	l.heap.Add(-heap)
	l.guard.held.Add(-heap)
	for _, r := range old.runs {
		l.guard.space.rename(r, t)
		if !l.guard.space.give(r, now) {
			l.guard.unpaged.Add(1)
		}
	}
}

// sinceEnd returns how long ago the loan ended, 0 if it lasts.
func (t *tag) sinceEnd(now time.Time) time.Duration {
	ended := t.ended.Load()
	if ended == 0 {
		return 0
	}
	return max(0, time.Duration(now.UnixNano()-ended))
}
