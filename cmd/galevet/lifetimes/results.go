package lifetimes

import (
	"go/types"
	"strconv"
	"strings"

	"golang.org/x/tools/go/ssa"
)

// makeResults returns the results of a call.
func (in *interp) makeResults(st *state, instr ssa.Instruction, s *Summary, fn *ssa.Function, actuals []val) val {
	v, ok := instr.(ssa.Value)
	if !ok {
		return nil
	}
	results := types.NewTuple()
	if fn != nil {
		results = fn.Signature.Results()
	} else if call, ok := instr.(ssa.CallInstruction); ok {
		results = call.Common().Signature().Results()
	}
	pre := func(k int) string {
		if results.Len() > 1 {
			return "#" + strconv.Itoa(k)
		}
		return ""
	}
	objs := map[string]*root{}
	obj := func(key string) *root {
		r := objs[key]
		if r == nil {
			n := 1
			for _, c := range key {
				n = n*31 + int(c)
			}
			r = in.fresh(st, v, n)
			objs[key] = r
		}
		return r
	}
	var out val
	taken := map[int]*root{}
	for _, a := range s.Acquires {
		if a.Sub == "" && a.Result < results.Len() {
			taken[a.Result] = in.acquired(st, v, 7+a.Result, a.Func)
		}
	}
	build := func(kind string, f Flow, pre string) {
		w := in.resolve(st, f.From, actuals)
		if len(w) == 0 {
			return
		}
		// cut the path in the result into objects
		rest, key, sub := f.Sub, kind+strconv.Itoa(f.Result), ""
		var at *root
		if r := taken[f.Result]; r != nil && kind == "#" && strings.HasPrefix(rest, "*") {
			for x := range w {
				st.put(thing{r: r, path: rest}, x.sub, x.t)
			}
			return
		}
		for {
			n := strings.IndexAny(rest, "*[{")
			if n < 0 {
				break
			}
			head := rest[:n]
			step := "*"
			if rest[n] != '*' {
				step = rest[n : strings.IndexAny(rest[n:], "]}")+n+1]
			}
			key += head + step[:1]
			next := obj(key)
			if at == nil {
				out = out.add(pre+sub+head, thing{r: next, addr: true})
			} else if at != next {
				st.put(thing{r: at, path: sub + head, addr: true}, "", thing{r: next, addr: true})
			}
			at, sub = next, ""
			if step != "*" {
				sub = step
			}
			rest = rest[n+len(step):]
		}
		for x := range w {
			if at == nil {
				out = out.add(pre+f.Sub+x.sub, x.t)
			} else {
				st.put(thing{r: at, path: sub + rest, addr: true}, x.sub, x.t)
			}
		}
	}
	known := map[int]bool{}
	closures := map[string]bool{}
	for n, c := range s.Closures {
		if c.Result >= results.Len() {
			continue
		}
		known[c.Result] = true
		closures[strconv.Itoa(c.Result)+c.Sub+"{}"] = true
		clo := &closure{sum: c.Sum, bound: c.Bound}
		if c.fn != nil {
			clo.fn = c.fn.fn
		}
		saved := out
		out = nil
		size := 1
		for _, f := range c.Binds {
			build("clo"+strconv.Itoa(n)+"/", f, "#"+strconv.Itoa(f.Result))
			size = max(size, f.Result+1)
		}
		clo.binds = make([]val, size)
		for i := range clo.binds {
			p := "#" + strconv.Itoa(i)
			for x := range out {
				if under(x.sub, p) {
					clo.binds[i] = clo.binds[i].add(x.sub[len(p):], x.t)
				}
			}
		}
		out = saved
		r := obj("closure" + strconv.Itoa(n))
		r.clo = clo
		if strings.ContainsAny(c.Sub, "*[{") {
			n := strings.IndexAny(c.Sub, "*[{")
			o := obj("#" + strconv.Itoa(c.Result) + c.Sub[:n+1])
			out = out.add(pre(c.Result)+c.Sub[:n], thing{r: o, addr: true})
			st.put(thing{r: o, path: strings.TrimPrefix(c.Sub[n:], "*"), addr: true}, "", thing{r: r, addr: true})
		} else {
			out = out.add(pre(c.Result)+c.Sub, thing{r: r, addr: true})
		}
	}
	for _, f := range s.Flows {
		if f.Result < 0 || f.Result >= results.Len() {
			continue
		}
		known[f.Result] = true
		if strings.Contains(f.Sub, "{}") && closures[strconv.Itoa(f.Result)+f.Sub] {
			continue
		}
		build("#", f, pre(f.Result))
	}
	clear(known)
	for x := range out {
		for k := range results.Len() {
			known[k] = known[k] || under(x.sub, pre(k))
		}
	}
	for k := range results.Len() {
		// an object that the function has made
		if !known[k] && pointsTo(results.At(k).Type()) {
			out = out.add(pre(k), thing{r: obj("new" + strconv.Itoa(k)), addr: true})
		}
	}
	for _, a := range s.Acquires {
		if a.Result >= results.Len() {
			continue
		}
		delete(out, vt{pre(a.Result), thing{r: obj("new" + strconv.Itoa(a.Result)), addr: true}})
		r := taken[a.Result]
		if r == nil {
			r = in.acquired(st, v, 7+a.Result, a.Func)
		}
		n := strings.IndexByte(a.Sub, '*')
		if n < 0 {
			out = out.add(pre(a.Result)+a.Sub, thing{r: r})
			continue
		}
		o := obj("#" + strconv.Itoa(a.Result) + a.Sub[:n] + "*")
		out = out.add(pre(a.Result)+a.Sub[:n], thing{r: o, addr: true})
		st.put(thing{r: o, path: a.Sub[n+1:], addr: true}, "", thing{r: r})
	}
	return out
}

// pointsTo says whether a result of typ may be an object that others can change.
func pointsTo(typ types.Type) bool {
	switch typ.Underlying().(type) {
	case *types.Pointer, *types.Map:
		return true
	case *types.Interface:
		return !isError(typ)
	}
	return false
}

func (in *interp) acquired(st *state, v ssa.Value, n int, pool string) *root {
	r := in.root(v, n, kAcquire)
	r.pool = pool
	delete(st.mem, r)
	delete(st.escaped, r)
	delete(st.kept, r)
	for t := range st.released {
		if t.r == r {
			delete(st.released, t)
		}
	}
	return r
}

// contents returns a new slice or map of the elements of v.
func (in *interp) contents(st *state, instr ssa.Instruction, v val, results func(val, string)) {
	sv, ok := instr.(ssa.Value)
	if !ok {
		return
	}
	r := in.root(sv, 11, kAlloc)
	me := thing{r: r, addr: true}
	for x := range in.elems(st, v) {
		if x.t.r != r {
			st.put(me, "[]"+x.sub, x.t)
		}
	}
	results(one(me), "r")
}
