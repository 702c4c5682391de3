package lifetimes

import (
	"go/types"

	"golang.org/x/tools/go/ssa"
)

// returns notes what goes to the caller.
func (in *interp) returns(st *state, i *ssa.Return) {
	for k, res := range i.Results {
		if !canHold(res.Type()) {
			continue
		}
		v := in.get(res)
		if len(v) == 0 {
			continue
		}
		for _, t := range st.reach(v, func(r *root) []thing { return in.closureUses(st, r) }) {
			if isError(res.Type()) {
				break // errors are made for it
			}
			in.returned[t.r] = true
			if m, ok := st.isReleased(t); ok {
				in.lateAt(i, "return", t, m, nil)
			}
			if t.r.kind == kAcquire || t.r.kind == kAlloc {
				in.keptPooled(st, t, in.place(i, "return", nil, "", 0))
			}
		}
		for x := range v {
			in.result(st, k, x.sub, x.t, 0)
		}
	}
}

func (in *interp) result(st *state, k int, sub string, t thing, depth int) {
	if depth > 4 || len(sub) > 60 {
		return
	}
	switch t.r.kind {
	case kParam:
		in.results[Flow{From: Ref{Base: t.r.base, Path: t.path, Addr: t.addr}, Result: k, Sub: sub}] = true
	case kGlobal:
		in.results[Flow{From: Ref{Base: -1, Global: t.r.name, Path: t.path, Addr: t.addr}, Result: k, Sub: sub}] = true
	case kAcquire:
		if t.path == "" {
			in.acquires[Acquire{Result: k, Sub: sub, Func: t.r.pool}] = true
			for p, x := range st.mem[t.r] {
				for u := range x {
					if u.r != t.r {
						in.result(st, k, sub+p, u, depth+1)
					}
				}
			}
		}
	case kAlloc:
		if t.r.clo != nil {
			in.closureResult(st, k, sub, t.r, depth)
			return
		}
		pre := ""
		if t.addr && !isElem(t.r) {
			pre = "*"
		}
		for p, x := range st.mem[t.r] {
			if !under(p, t.path) {
				continue
			}
			for u := range x {
				if u.r != t.r {
					in.result(st, k, sub+pre+p[len(t.path):], u, depth+1)
				}
			}
		}
	}
}

// isElem says whether an object is a slice, map or channel, whose elements need no pointer.
func isElem(r *root) bool {
	if r.val == nil {
		return false
	}
	switch r.val.(type) {
	case *ssa.MakeMap, *ssa.MakeChan, *ssa.MakeSlice:
		return true
	}
	switch u := r.val.Type().Underlying().(type) {
	case *types.Pointer:
		_, ok := u.Elem().Underlying().(*types.Array)
		return ok
	case *types.Slice, *types.Map, *types.Chan:
		return true
	}
	return false
}

// closureResult notes that a closure is returned.
func (in *interp) closureResult(st *state, k int, sub string, r *root, depth int) {
	for _, u := range in.closureUses(st, r) {
		in.result(st, k, sub+"{}", u, depth+1)
	}
	if depth > 1 || in.closures[r] != nil {
		return
	}
	c := &Closure{Result: k, Sub: sub, Bound: r.clo.bound, Sum: r.clo.sum}
	if r.clo.fn != nil {
		c.fn = &funcRef{r.clo.fn}
		c.Sum = in.p.summaryOf(r.clo.fn)
	}
	if c.Sum == nil {
		return
	}
	in.closures[r] = c
	// what it captures is described as results are
	saved, acq := in.results, in.acquires
	in.results, in.acquires = map[Flow]bool{}, map[Acquire]bool{}
	for n, b := range r.clo.binds {
		for x := range b {
			in.result(st, n, x.sub, x.t, depth+2)
		}
	}
	for f := range in.results {
		c.Binds = append(c.Binds, f)
	}
	sortFlows(c.Binds)
	in.results, in.acquires = saved, acq
}
