package lifetime

import (
	"runtime"
	"runtime/debug"
	"time"
)

// Fault returns the use that caused a panic with value v: memory of a loan was read or
// written after the end. It returns nil if v isn't such a panic. It must be called by the
// deferred function that recovered v, or by a function that this one calls, so that the
// stack still shows the place. Faults only become panics in goroutines that have called
// debug.SetPanicOnFault.
//
// The use is counted, but not passed to Config.Report.
func Fault(v any) *Use {
	addr, ok := addrOf(v)
	if !ok {
		return nil
	}
	t, ours := findPage(addr)
	if !ours {
		return nil
	}
	var pcs [maxDepth]uintptr
	stack := sinceFault(callers(&pcs))
	if t == nil || t.sinceEnd(time.Now()) == 0 { // the page is used again already
		t = &tag{}
	}
	g := t.guard.Value()
	if g == nil {
		u := &Use{Kind: Bytes, Origin: t.Origin, After: t.sinceEnd(time.Now()), Stack: debug.Stack(), Log: true}
		f := findFrames(stack, module)
		u.What, u.Caller = "bytes", f.caller
		return u
	}
	f := findFrames(stack, g.c.Library)
	f.what = "bytes"
	return g.use(t, Bytes, f)
}

// addrOf returns the address of a fault. A program may panic with a type of its own that
// looks like one, and whose method panics.
func addrOf(v any) (addr uintptr, ok bool) {
	defer func() {
		if !ok {
			_ = recover()
		}
	}()
	e, is := v.(interface {
		runtime.Error
		Addr() uintptr
	})
	if !is {
		return 0, false
	}
	return e.Addr(), true
}

// sinceFault returns the part of a stack that led to a fault.
func sinceFault(pcs []uintptr) []uintptr {
	for i, pc := range pcs {
		if f := runtime.FuncForPC(pc - 1); f != nil && f.Name() == sigpanic {
			return pcs[i+1:]
		}
	}
	return pcs
}

// sigpanic is the function that Go's runtime calls at a fault.
const sigpanic = "runtime.sigpanic"
