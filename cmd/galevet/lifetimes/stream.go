package lifetimes

import (
	"strings"

	"golang.org/x/tools/go/ssa"
)

// streamTo gives an owner a function or a reader that it uses while the response is sent.
func (in *interp) streamTo(st *state, instr ssa.Instruction, at []thing, v val, h how) {
	for _, t := range at {
		owner := t
		owner.path = strings.TrimSuffix(owner.path, "~")
		if owner.r.kind == kParam && (in.lentThing(st, owner, false) || in.ownerInput(owner.r)) {
			pl := in.place(instr, "stream", nil, "", h.pos)
			pl.lent = h.lent
			pl.strm = true
			in.emitStream(st, v, pl)
			in.storeTo(st, []thing{t}, v, instr, how{stream: true, pos: h.pos, lent: h.lent})
			continue
		}
		in.storeTo(st, []thing{t}, v, instr, how{stream: true, pos: h.pos, lent: h.lent})
	}
}

func (in *interp) ownerInput(r *root) bool {
	_, ok := in.p.ownerOf(r.val.Type())
	return ok
}

// emitStream keeps functions, and readers that have a context: bytes in a reader are read
// while the request is still there.
func (in *interp) emitStream(st *state, v val, pl *place) {
	for x := range v {
		t := x.t
		if t.r.clo != nil || t.r.kind == kParam && !t.derived() {
			in.emit(st, one(t), pl)
			continue
		}
		own := t.r.kind == kAlloc && t.r.val != nil && strings.HasPrefix(typeKey(t.r.val.Type()), in.p.Pkg.Path()+".")
		for _, u := range st.reach(one(t), func(r *root) []thing { return in.closureUses(st, r) }) {
			if !u.derived() || own || strict {
				in.emitOne(st, u, pl, false)
			}
		}
	}
}
