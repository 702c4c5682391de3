package lifetimes

import (
	"strings"

	"golang.org/x/tools/go/ssa"
)

// resolve returns what a Ref of a function is for a call with actuals.
func (in *interp) resolve(st *state, ref Ref, actuals []val) val {
	var v val
	if ref.Global != "" {
		v = one(thing{r: in.globalNamed(ref.Global), path: "", addr: true})
		if ref.Path == "" && !ref.Addr {
			return st.load(deref(v))
		}
		// paths of globals begin at the variable
		return in.walk(st, nil, deref(v), ref)
	}
	if ref.Base < 0 || ref.Base >= len(actuals) {
		return nil
	}
	if strings.HasPrefix(ref.Path, "<") && ref.Base < len(in.argTypes) && in.argTypes[ref.Base] != "" {
		n := strings.IndexByte(ref.Path, '>')
		if in.argTypes[ref.Base] != ref.Path[1:n] {
			return nil
		}
	}
	return in.walk(st, actuals[ref.Base], nil, ref)
}

func (in *interp) globalNamed(name string) *root {
	for k, r := range in.roots {
		if r.kind == kGlobal && r.name == name && k.n == 0 {
			return r
		}
	}
	r := &root{kind: kGlobal, name: name, long: true}
	in.roots[rootKey{nil, len(in.roots) + 1000}] = r
	return r
}

// walk follows ref's path from the value v, or from places.
func (in *interp) walk(st *state, v val, at []thing, ref Ref) val {
	loc := at != nil
	steps := splitPath(ref.Path)
	for _, s := range steps {
		switch s {
		case "*":
			if loc {
				v = st.load(at)
			}
			at, loc = deref(v), true
		case "[]", "[k]":
			if loc {
				next := elem(st.load(at), s)
				for _, t := range at {
					next = append(next, t.extend(s))
				}
				at = next
			} else {
				at = elem(v, s)
				loc = true
			}
		case "()", "(s)", "(c)", "@":
			if loc {
				w := st.load(at)
				v = nil
				for x := range w {
					v = v.add(x.sub, x.t)
				}
				for _, t := range at {
					v = v.add("", t)
				}
			}
			v, loc = derive(v, s, nil), false
		case "<[]byte>", "<string>":
		case "#send":
			if loc {
				v, loc = st.load(at), false
			}
			var w val
			for x := range v {
				x.t.path += "#send"
				w = w.add(x.sub, x.t)
			}
			v = w
		case "{}":
			return in.captured(st, v, at, loc)
		default:
			if loc {
				next := make([]thing, 0, len(at))
				for _, t := range at {
					next = append(next, t.extend(s))
				}
				at = next
			} else {
				// a field of a struct value
				var w val
				for x := range v {
					if under(x.sub, s) {
						w = w.add(x.sub[len(s):], x.t)
					} else if x.sub == "" {
						t := x.t.extend(s)
						t.addr = x.t.addr
						w = w.add("", t)
					}
				}
				v = w
			}
		}
	}
	if !loc {
		return v
	}
	if ref.Addr {
		var w val
		for _, t := range at {
			w = w.add("", t)
		}
		return w
	}
	return st.load(at)
}

func (in *interp) captured(st *state, v val, at []thing, loc bool) val {
	if loc {
		v = st.load(at)
	}
	var w val
	for _, t := range st.reach(v, func(r *root) []thing { return in.closureUses(st, r) }) {
		w = w.add("", t)
	}
	return w
}

// derive returns what accessors of the owners in v return.
func derive(v val, step string, src ssa.Value) val {
	var out val
	for x := range v {
		if x.sub != "" {
			continue
		}
		t := x.t
		if !t.derived() {
			t = t.extend(step)
			t.addr = false
		}
		if src != nil {
			t.src = src
		}
		out = out.add("", t)
	}
	return out
}
