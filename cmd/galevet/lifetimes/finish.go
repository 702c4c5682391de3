package lifetimes

import (
	"go/token"
	"go/types"
	"path/filepath"
	"sort"
	"strings"

	"golang.org/x/tools/go/ssa"
)

// lentThing says whether t is a context or comes from one; with whole also what contains one.
func (in *interp) lentThing(_ *state, t thing, whole bool) bool {
	if strings.HasSuffix(t.path, "(c)") && !strict {
		return false
	}
	for _, p := range t.r.lent {
		if under(t.path, p) || whole && under(p, t.path) && !t.addr {
			return true
		}
		// the address of a struct with a context in it
		if whole && t.addr && under(p, t.path) && t.path != "" {
			return true
		}
	}
	return false
}

func (in *interp) ref(t thing) Ref { return Ref{Base: t.r.base, Path: t.path, Addr: t.addr} }

func (in *interp) where(pos token.Pos) string {
	p := in.p.Fset.Position(pos)
	return filepath.Base(p.Filename) + ":" + itoa(p.Line)
}

// mine says whether reports about t are made here, not where the function is called.
func (in *interp) mine(t thing) bool { return in.fi.reports && !t.r.free }

// summarize makes the summary of what run has found.
func (in *interp) summarize() *Summary {
	s := &Summary{Params: len(in.fn.Params)}
	seen := map[any]bool{}
	type escKey struct {
		from Ref
		kind string
		pos  token.Pos
	}
	flows := 0
	for _, c := range in.sortedCands() {
		pl, t := c.pl, c.t
		if len(s.Escapes) > maxFlows || pl.kind == "return" {
			continue
		}
		lent := in.lentThing(nil, t, true)
		pos := in.posOf(pl, t)
		from := in.ref(t)
		if strings.HasSuffix(t.path, "(c)") && !c.value && !strict {
			continue
		}
		if strings.HasPrefix(pl.kind, "input") {
			if in.isCleared(pl) && !in.unprotected(pl, t.r) {
				continue
			}
			f := Flow{From: from, Result: -1, To: Ref{Base: pl.r.base, Path: pl.path, Addr: true}, Stream: pl.strm}
			if !seen[f] && flows < maxFlows {
				seen[f] = true
				flows++
				f.pos, f.lent = pos, lent
				s.Flows = append(s.Flows, f)
			}
			continue
		}
		if pl.kind == "value" {
			continue
		}
		k := escKey{from, pl.kind, pos}
		if seen[k] || !in.unprotected(pl, t.r) {
			continue
		}
		seen[k] = true
		e := Escape{From: from, Kind: pl.kind, Where: in.where(pos), pos: pos, lent: lent, reported: lent && in.mine(t)}
		e.Name = pl.name
		if pl.r != nil && pl.r.name != "" {
			e.Name = pl.r.name
		}
		if c.value {
			e.From.Value = true
		}
		if t.path == "" && types.IsInterface(t.r.val.Type()) {
			e.Not = in.notTypes(pl.instr.Block(), t)
		}
		for _, j := range in.ends(pl.joins) {
			e.Held = e.Held || in.returned[j.r]
			if j.r.kind == kParam {
				e.Joins = append(e.Joins, in.ref(j))
			}
		}
		s.Escapes = append(s.Escapes, e)
	}
	var results []Flow
	for f := range in.results {
		results = append(results, f)
	}
	sortFlows(results)
	s.Flows = append(s.Flows, results[:min(len(results), 2*maxFlows)]...)
	for a := range in.acquires {
		s.Acquires = append(s.Acquires, a)
	}
	for ref, r := range in.releases {
		rel := *r
		rel.Must = len(in.relAt[ref]) > 0 && in.always(in.relAt[ref])
		s.Releases = append(s.Releases, rel)
	}
	for _, d := range in.dyn {
		s.Calls = append(s.Calls, d)
	}
	for u := range in.uses {
		s.Uses = append(s.Uses, u)
	}
	sort.Slice(s.Uses, func(i, j int) bool { return s.Uses[i].less(s.Uses[j]) })
	if len(s.Uses) > 4*maxFlows {
		s.Uses = s.Uses[:4*maxFlows]
	}
	for t := range in.signals {
		if t.r.kind == kParam && !in.tooEarly(t) {
			s.Signals = append(s.Signals, in.ref(t))
		}
	}
	waited := set{}
	for _, m := range in.waitAt {
		for t := range m {
			waited[t] = struct{}{}
		}
	}
	for t := range waited {
		if t.r.kind != kParam {
			continue
		}
		if in.waitsAlways(t) {
			s.Waits = append(s.Waits, in.ref(t))
		} else {
			s.MayWait = append(s.MayWait, in.ref(t))
		}
	}
	for _, m := range in.mayAt {
		for t := range m {
			if t.r.kind == kParam {
				s.MayWait = append(s.MayWait, in.ref(t))
			}
		}
	}
	clr := map[Ref]map[ssa.Instruction]bool{}
	for i, m := range in.clears {
		for t := range m {
			ref := Ref{Base: t.r.base, Path: t.path, Addr: true}
			switch t.r.kind {
			case kGlobal:
				ref.Base, ref.Global = -1, t.r.name
			case kParam:
			default:
				continue
			}
			if clr[ref] == nil {
				clr[ref] = map[ssa.Instruction]bool{}
			}
			clr[ref][i] = true
		}
	}
	for ref, m := range clr {
		if len(s.Clears) < maxFlows && in.always(m) {
			s.Clears = append(s.Clears, ref)
		}
	}
	sort.Slice(s.Clears, func(i, j int) bool { return s.Clears[i].less(s.Clears[j]) })
	for _, c := range in.closures {
		s.Closures = append(s.Closures, *c)
	}
	det := map[*root]map[ssa.Instruction]bool{}
	for i, m := range in.detachAt {
		for r := range m {
			if det[r] == nil {
				det[r] = map[ssa.Instruction]bool{}
			}
			det[r][i] = true
		}
	}
	for r, m := range det {
		if r.kind == kParam && in.always(m) {
			for _, p := range r.lent {
				s.Detaches = append(s.Detaches, Ref{Base: r.base, Path: p})
			}
		}
	}
	return s
}

// maxFlows bounds what a summary says.
const maxFlows = 24

// sortedCands returns the candidates in the order of the source.
func (in *interp) sortedCands() []*cand {
	var list []*cand
	for _, c := range in.cands {
		list = append(list, c)
	}
	sort.Slice(list, func(i, j int) bool {
		a, b := list[i], list[j]
		if x, y := in.posOf(a.pl, a.t), in.posOf(b.pl, b.t); x != y {
			return x < y
		}
		if a.pl.kind != b.pl.kind {
			return a.pl.kind < b.pl.kind
		}
		if a.t.r.base != b.t.r.base {
			return a.t.r.base < b.t.r.base
		}
		if len(a.t.path) != len(b.t.path) {
			return len(a.t.path) < len(b.t.path)
		}
		if a.t.path != b.t.path {
			return a.t.path < b.t.path
		}
		return !a.t.addr && b.t.addr
	})
	return list
}

// posOf returns where a report about keeping t at pl belongs.
func (in *interp) posOf(pl *place, t thing) token.Pos {
	if p := token.Pos(pl.pos); p.IsValid() {
		return p
	}
	if g, ok := pl.instr.(*ssa.Go); ok {
		if stmt := in.p.goStmts[g.Pos()]; stmt != nil {
			args := g.Call.Args
			off := len(args) - len(stmt.Call.Args)
			for k, a := range args {
				if k-off < 0 || k-off >= len(stmt.Call.Args) {
					continue
				}
				for x := range in.get(a) {
					if x.t.r == t.r && under(t.path, x.t.path) {
						return stmt.Call.Args[k-off].Pos()
					}
				}
			}
		}
	}
	return posOfInstr(pl.instr)
}

func posOfInstr(i ssa.Instruction) token.Pos {
	if p := i.Pos(); p.IsValid() {
		return p
	}
	for _, op := range i.Operands(nil) {
		if *op != nil && (*op).Pos().IsValid() {
			return (*op).Pos()
		}
	}
	// the nearest instruction that has a position
	list := i.Block().Instrs
	for n, j := range list {
		if j != i {
			continue
		}
		for k := n - 1; k >= 0; k-- {
			if p := list[k].Pos(); p.IsValid() {
				return p
			}
		}
		for _, j := range list[n:] {
			if p := j.Pos(); p.IsValid() {
				return p
			}
		}
	}
	return i.Parent().Pos()
}

// report tells what the function does wrong.
func (in *interp) report() {
	for _, c := range in.sortedCands() {
		pl, t := c.pl, c.t
		if !in.mine(t) || !in.lentThing(nil, t, true) {
			continue
		}
		if strings.HasPrefix(pl.kind, "input") && !pl.r.long || pl.kind == "return" || pl.kind == "value" {
			continue
		}
		if !in.unprotected(pl, t.r) {
			continue
		}
		in.p.tell(in, in.posOf(pl, t), keptMessage(in, pl, t), pl, t)
	}
	in.reportDecoder()
	var lates []*lateUse
	for _, u := range in.late {
		lates = append(lates, u)
	}
	sort.Slice(lates, func(i, j int) bool { return posOfInstr(lates[i].instr) < posOfInstr(lates[j].instr) })
	for _, u := range lates {
		in.reportLate(u)
	}
}

func (in *interp) reportLate(u *lateUse) {
	if u.kind == "lent" {
		in.p.tell(in, posOfInstr(u.instr), "released, but it belongs to the context, which the server reuses: don't release it", nil, u.t)
		return
	}
	if u.kind == "shared" {
		in.p.tell(in, posOfInstr(u.instr), "the response is made of a variable that other requests change while it is sent: use SetBody, which copies", nil, u.t)
		return
	}
	var rels []ssa.Instruction
	for r := range u.rel {
		rels = append(rels, r)
	}
	sort.Slice(rels, func(i, j int) bool { return rels[i].Pos() < rels[j].Pos() })
	for _, rel := range rels {
		if rel == u.instr && u.kind != "double" {
			continue
		}
		ok := false
		switch u.kind {
		case "kept":
			if rel == u.instr || !in.keptMatters(u) || !in.unprotected(u.pl, u.t.r) {
				continue
			}
			_, def := rel.(*ssa.Defer)
			if _, sel := u.instr.(*ssa.Select); sel && !def {
				continue // it was sent in one case and is released in another
			}
			if def {
				s := &search{in: in, stages: []ssa.Instruction{rel, u.instr}, toEnd: true}
				ok = s.found()
				if !ok {
					s = &search{in: in, stages: []ssa.Instruction{u.instr, rel}, toEnd: true}
					ok = s.found()
				}
			} else {
				s := &search{in: in, stages: []ssa.Instruction{u.instr, rel}}
				ok = s.found()
			}
		default:
			ok = in.follows(rel, u.instr, u.t.r)
		}
		if !ok {
			continue
		}
		in.p.tell(in, posOfInstr(u.instr), lateMessage(in, u, rel), nil, u.t)
		return
	}
}

// keptMatters says whether it is wrong that an object is kept that is released later.
func (in *interp) keptMatters(u *lateUse) bool {
	if u.pl == nil {
		return false
	}
	if strings.HasPrefix(u.pl.kind, "input") {
		if len(u.pl.r.lent) > 0 {
			return strings.Contains(u.pl.path, "~")
		}
		if !u.pl.r.free && in.ownerInput(u.pl.r) {
			return false
		}
	}
	return u.pl.kind != "value" || true
}

func sortFlows(list []Flow) {
	sort.Slice(list, func(i, j int) bool {
		a, b := list[i], list[j]
		if a.Result != b.Result {
			return a.Result < b.Result
		}
		if a.Sub != b.Sub {
			return a.Sub < b.Sub
		}
		if a.From.Global != b.From.Global {
			return a.From.Global < b.From.Global
		}
		return a.From.less(b.From)
	})
}

// reportDecoder reports methods such as UnmarshalJSON that keep the bytes they get. Package
// encoding says that they must copy them.
func (in *interp) reportDecoder() {
	switch in.fn.Name() {
	case "UnmarshalJSON", "UnmarshalText", "UnmarshalBinary":
	default:
		return
	}
	if in.fn.Signature.Recv() == nil || len(in.fn.Params) != 2 {
		return
	}
	for _, c := range in.sortedCands() {
		if c.t.r.kind == kParam && c.t.r.base == 1 && c.t.path == "" && c.pl.kind != "return" {
			in.p.tell(in, in.posOf(c.pl, c.t), in.fn.Name()+" must copy the bytes if it keeps them: they belong to the decoder's caller", c.pl, c.t)
		}
	}
}

// notTypes returns the types that an input can't have in b, because a type switch has
// looked for them.
func (in *interp) notTypes(b *ssa.BasicBlock, t thing) []string {
	var out []string
	for d := b.Idom(); d != nil; d = d.Idom() {
		br, ok := d.Instrs[len(d.Instrs)-1].(*ssa.If)
		if !ok {
			continue
		}
		ext, ok := br.Cond.(*ssa.Extract)
		if !ok || ext.Index != 1 {
			continue
		}
		ta, ok := ext.Tuple.(*ssa.TypeAssert)
		if !ok || !d.Succs[1].Dominates(b) {
			continue
		}
		for x := range in.get(ta.X) {
			if x.t == t {
				out = append(out, types.TypeString(ta.AssertedType, nil))
			}
		}
	}
	sort.Strings(out)
	return out
}
