package lifetime

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"
	"time"
)

// Kind says what a Use is.
type Kind uint8

const (
	Late  Kind = iota // a method of an object was called after the end
	Twice             // an object was released a second time
	Bytes             // memory on pages was read or written after the end
)

// Use is a use after the end.
type Use struct {
	Kind   Kind
	What   string // what was used: "RequestHeader.Peek", or "bytes"
	Caller string // the function, file and line that used it, outside of the library
	Stack  []byte // of the goroutine that used it; see Config.Each
	Origin Origin
	Lent   []byte        // stack of the handler, at one of its calls while the loan lasted; nil if there was none
	After  time.Duration // since the end of the loan

	// Log is true for uses that belong in a log: the first at each place of a program, and
	// later one in 10 seconds. LeftOut is the number of uses at this place for which it was
	// false since then.
	Log     bool
	LeftOut int64
}

// late reports a use after the end. If Report is the one that uses the object, the use is
// only counted: each report would lead to another one.
//
//go:noinline so that isReport finds it in stacks
func (l *Loan) late(kind Kind) {
	var pcs [maxDepth]uintptr
	stack := callers(&pcs)
	if isReport(stack) {
		l.guard.reports.Add(1)
		return
	}
	f := findFrames(stack, l.guard.c.Library)
	if u := l.guard.use(l.tag, kind, f); l.guard.c.Report != nil {
		l.guard.c.Report(u)
	}
}

// isReport reports whether late is among the functions of a stack.
func isReport(pcs []uintptr) bool {
	for _, pc := range pcs {
		if f := runtime.FuncForPC(pc - 1); f != nil && f.Name() == lateName {
			return true
		}
	}
	return false
}

const lateName = module + "/internal/lifetime.(*Loan).late"

// use returns and counts the use that f shows.
func (g *Guard) use(t *tag, kind Kind, f frames) *Use {
	now := time.Now()
	g.reports.Add(1)
	u := &Use{Kind: kind, What: f.what, Caller: f.caller, Origin: t.Origin, After: t.sinceEnd(now)}
	u.Log, u.LeftOut = g.places.note(f.pc, now)
	if u.Log || g.c.Each {
		u.Stack = debug.Stack()
		u.Lent = t.notes.best(g.c.Library, t.Origin.Handler)
	}
	return u
}

// Text describes the use on one line, without stacks.
func (u *Use) Text() string {
	var b strings.Builder
	if u.Kind == Twice {
		b.WriteString("object released twice by " + u.Origin.Kind)
	} else {
		b.WriteString(u.What + " used after " + u.Origin.when())
	}
	if u.Caller != "" {
		b.WriteString(", by " + u.Caller)
	}
	if from := u.Origin.from(); from != "" {
		b.WriteString("; lent by " + from)
	}
	switch {
	case u.After <= 0:
	case u.Origin.from() == "":
		b.WriteString(", " + round(u.After) + " after that")
	default:
		b.WriteString(", which ended " + round(u.After) + " before")
	}
	return b.String()
}

// when returns the end of the loan, as in "used after the handler returned".
func (o *Origin) when() string {
	if o.Kind == handlerKind || o.Kind == "" {
		return "the handler returned"
	}
	return o.Kind
}

// from describes the request, or is empty.
func (o *Origin) from() string {
	var parts []string
	if o.Handler != "" {
		parts = append(parts, "handler "+o.Handler)
	}
	if o.Method != "" || o.Path != "" {
		parts = append(parts, "for "+strings.TrimSpace(clean(o.Method)+" "+clean(o.Path)))
	}
	var about []string
	if o.ID != 0 {
		about = append(about, fmt.Sprint("request ", o.ID))
	}
	if o.Peer != "" {
		about = append(about, "from "+clean(o.Peer))
	}
	if len(about) != 0 {
		parts = append(parts, "("+strings.Join(about, ", ")+")")
	}
	return strings.Join(parts, " ")
}

// maxText is the most bytes of a part of a message that a client chose.
const maxText = 256

// clean returns s, which a client may have chosen, as a part of a line: short, and
// without control bytes.
func clean(s string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f || r == 0x2028 || r == 0x2029 || r == 0x85 {
			return '?'
		}
		return r
	}, strings.ToValidUTF8(s[:min(len(s), maxText)], "?"))
}

// round returns d with three digits at most.
func round(d time.Duration) string {
	for unit := time.Duration(1); ; unit *= 10 {
		if d < 1000*unit {
			return d.Round(unit).String()
		}
	}
}
