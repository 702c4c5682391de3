package lifetimes

import (
	"go/types"
	"strings"

	"golang.org/x/tools/go/ssa"
)

// ownerMethod calls a method of an owner that no table describes: it copies its arguments,
// calls functions at once, and what it returns is lent.
func (in *interp) ownerMethod(st *state, instr ssa.Instruction, o owner, m *types.Func, actuals []val) val {
	sig := m.Type().(*types.Signature)
	for _, a := range actuals {
		in.use(st, instr, a, false)
	}
	if _, ok := instr.(*ssa.Go); ok {
		in.toGoroutine(st, instr, actuals, nil, nil)
		return nil
	}
	step := "()"
	if o.strings && !in.p.immutable {
		step = "(s)"
	}
	var src ssa.Value
	if v, ok := instr.(ssa.Value); ok {
		src = v
	}
	if o.strings && in.p.immutable {
		step = ""
	}
	for i := range sig.Params().Len() {
		if _, ok := sig.Params().At(i).Type().Underlying().(*types.Signature); ok && i+1 < len(actuals) {
			in.callback(st, instr, actuals[i+1], in.borrow(st, actuals[0], "()", src))
		}
	}
	if strings.HasPrefix(m.Name(), "Append") && len(actuals) > 1 {
		return copyVal(actuals[1])
	}
	var out val
	for k := range sig.Results().Len() {
		typ := sig.Results().At(k).Type()
		pre := ""
		if sig.Results().Len() > 1 {
			pre = "#" + itoa(k)
		}
		var v val
		switch {
		case in.isOwnerPtr(typ):
			v = derive(actuals[0], "@", src)
		case step != "" && lends(typ, step == "(s)"):
			v = in.borrow(st, actuals[0], step, src)
		case step == "" && isIter(typ):
			v = in.borrow(st, actuals[0], "()", src)
		}
		out = out.addAll(prefixed(v, pre))
	}
	return out
}

// borrow returns what an accessor of the owners in v returns: their memory, and what they
// were given to keep.
func (in *interp) borrow(st *state, v val, step string, src ssa.Value) val {
	out := derive(v, step, src)
	for x := range v {
		for t := range st.mem[x.t.r][x.t.path+"~"] {
			out = out.add("", t)
		}
	}
	return out
}

func (in *interp) isOwnerPtr(typ types.Type) bool {
	o, ok := in.p.ownerOf(typ)
	return ok && o.kind != "files"
}

func isIter(typ types.Type) bool {
	s, ok := typ.Underlying().(*types.Signature)
	return ok && isSeq(s)
}

// lends says whether a result of typ is lent memory.
func lends(typ types.Type, str bool) bool {
	typ = types.Unalias(typ)
	switch u := typ.Underlying().(type) {
	case *types.Basic:
		return str && u.Info()&types.IsString != 0
	case *types.Slice:
		if k := typeKey(typ); k == "net.IP" {
			return false
		}
		if b, ok := u.Elem().Underlying().(*types.Basic); ok && b.Kind() == types.Uint8 {
			return true
		}
		return lends(u.Elem(), str)
	case *types.Map:
		return lends(u.Elem(), str) || lends(u.Key(), str)
	case *types.Signature:
		return isSeq(u)
	case *types.Interface:
		k := typeKey(typ)
		return k == "io.Reader" || k == "io.Writer" || k == "io.ReadCloser"
	case *types.Pointer:
		k := typeKey(typ)
		return strings.HasPrefix(k, "mime/multipart.")
	}
	return false
}
