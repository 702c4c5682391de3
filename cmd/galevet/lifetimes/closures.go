package lifetimes

import (
	"golang.org/x/tools/go/ssa"
)

// summaryOfClosure returns the summary of a closure, and what its inputs are with args: the
// parameters come first, or after the receiver of a method value.
func (in *interp) summaryOfClosure(c *closure, args []val) (*Summary, []val, int) {
	sum := c.sum
	if c.fn != nil {
		sum = in.p.summaryOf(c.fn)
	}
	if sum == nil {
		return nil, nil, 0
	}
	if c.bound {
		return sum, append(c.binds[:len(c.binds):len(c.binds)], args...), 0
	}
	n := sum.Params
	full := make([]val, n, n+len(c.binds))
	copy(full, args)
	return sum, append(full, c.binds...), n
}

// closureUses returns what a closure uses of what it captures.
func (in *interp) closureUses(st *state, r *root) []thing {
	sum, actuals, off := in.summaryOfClosure(r.clo, nil)
	var out []thing
	if sum == nil {
		for _, a := range r.clo.binds {
			for x := range a {
				out = append(out, x.t)
			}
		}
		return out
	}
	for _, u := range sum.Uses {
		if u.Global != "" || u.Base < off || u.Base >= len(actuals) || r.clo.bound && u.Base >= len(r.clo.binds) {
			continue
		}
		for x := range in.resolve(st, u, actuals) {
			if t := valueUse(u, x.t); t.r != nil {
				out = append(out, t)
			}
		}
	}
	return out
}

// valueUse turns a derived context whose values are read into the context itself.
func valueUse(u Ref, t thing) thing {
	if u.Value && len(t.path) >= 3 && t.path[len(t.path)-3:] == "(c)" {
		t.path = t.path[:len(t.path)-3]
	}
	return t
}

// closureTarget returns the function that a closure runs, and its captured values.
func (in *interp) closureTarget(mc *ssa.MakeClosure) (*ssa.Function, []val) {
	fn := mc.Fn.(*ssa.Function)
	var actuals []val
	for _, b := range mc.Bindings {
		actuals = append(actuals, in.get(b))
	}
	if m := in.p.boundMethod(fn); m != nil {
		return m, actuals
	}
	return fn, actuals
}
