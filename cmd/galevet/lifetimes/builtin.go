package lifetimes

import (
	"golang.org/x/tools/go/ssa"
)

func (in *interp) builtin(st *state, instr ssa.Instruction, b *ssa.Builtin, c *ssa.CallCommon, args []val) val {
	switch b.Name() {
	case "append":
		v, ok := instr.(ssa.Value)
		if !ok {
			return nil
		}
		typ := c.Args[0].Type()
		var out val
		if !elemHolds(typ) {
			in.use(st, instr, args[1], false)
			return copyVal(args[0])
		}
		r := in.root(v, 0, kAlloc)
		me := thing{r: r, addr: true}
		for _, t := range elem(args[0], "[]") {
			for x := range st.load([]thing{t}) {
				if x.t.r != r {
					st.put(me, "[]"+x.sub, x.t)
				}
			}
		}
		for x := range args[0] {
			if x.sub == "" && (x.t.r.kind == kParam || x.t.derived()) {
				out = out.add("", x.t)
			}
			if x.t.r == r {
				continue
			}
			// what keeps the old slice may keep the new one
			for pl, p := range st.escaped[x.t.r] {
				if st.escaped[r] == nil {
					st.escaped[r] = map[*place]string{}
				}
				st.escaped[r][pl] = p
			}
		}
		if len(args) > 1 {
			at := elem(args[1], "[]")
			for x := range st.load(at) {
				st.put(me, "[]"+x.sub, x.t)
			}
		}
		return out.add("", me)
	case "copy":
		if elemHolds(c.Args[0].Type()) {
			in.storeTo(st, elem(args[0], "[]"), st.load(elem(args[1], "[]")), instr, how{})
		} else {
			in.use(st, instr, args[0], false)
			in.use(st, instr, args[1], false)
		}
	case "delete", "clear":
		for _, t := range elem(args[0], "[]") {
			in.cleared(instr, t)
			if b.Name() == "clear" && !t.derived() {
				st.clear(t)
			}
		}
	case "close":
		in.signal(args[0])
		in.signalledAt(instr, args[0])
	case "String", "StringData", "SliceData", "Slice", "Add":
		return copyVal(args[0])
	case "min", "max":
		var out val
		for _, a := range args {
			out = out.addAll(a)
		}
		return out
	case "ssa:wrapnilchk":
		return copyVal(args[0])
	case "print", "println":
		for _, a := range args {
			in.use(st, instr, a, true)
		}
	}
	return nil
}
