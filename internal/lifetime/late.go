package lifetime

import "time"

// LateCall is what a method panics with that is too small for a call of Use, if it is
// called after the end.
type LateCall struct {
	tag  *tag
	what string
}

// LateCall returns the value for panics of the method what, such as "Args.Peek", or nil if
// reports don't panic. The method panics with it where it finds nothing.
func (l *Loan) LateCall(what string) *LateCall {
	if !l.guard.c.Panics {
		return nil
	}
	return &LateCall{l.tag, what}
}

// Error describes the use. Go's runtime prints it if nothing recovers the panic.
func (c *LateCall) Error() string {
	u := Use{Kind: Late, What: c.what, Origin: c.tag.Origin, After: c.tag.sinceEnd(time.Now())}
	return "gale: " + u.Text()
}

// Use returns the use for the deferred function that recovered c, or for a function that
// it calls. It is counted, but not passed to Config.Report.
func (c *LateCall) Use() *Use {
	g := c.tag.guard.Value()
	if g == nil {
		return &Use{Kind: Late, What: c.what, Origin: c.tag.Origin, After: c.tag.sinceEnd(time.Now()), Log: true}
	}
	var pcs [maxDepth]uintptr
	f := findFrames(since("runtime.gopanic", callers(&pcs)), g.c.Library)
	f.what = c.what
	return g.use(c.tag, Late, f)
}
