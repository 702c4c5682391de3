package lifetimes

import (
	"go/constant"
	"go/token"
	"go/types"
	"strings"

	"golang.org/x/tools/go/ssa"
)

// A condKey names a condition, so that the same comparison of the same values is the same
// condition wherever it is made.
type condKey struct {
	x, y     ssa.Value
	constant string // instead of y: a constant
	op       token.Token
}

// search looks for a way from the function's beginning through stages to a return.
type search struct {
	in     *interp
	stages []ssa.Instruction
	toEnd  bool                                   // the way must reach a return
	stop   func(i ssa.Instruction, n int) bool    // the way ends here, after n stages
	edge   func(b *ssa.BasicBlock, s, n int) bool // likewise for an edge
	head   func(b *ssa.BasicBlock, n int) bool
	enters func(b, from *ssa.BasicBlock, n int) bool
	steps  int
	truth  map[condKey]bool // the conditions that are known on the way
	undo   []fact           // what truth held before each change of it
}

// A fact says whether a condition is true, if that is known.
type fact struct {
	key       condKey
	holds, is bool // is: it is known
}

// note changes what is known of a condition.
func (s *search) note(f fact) {
	holds, is := s.truth[f.key]
	s.undo = append(s.undo, fact{f.key, holds, is})
	s.put(f)
}

func (s *search) put(f fact) {
	if f.is {
		s.truth[f.key] = f.holds
		return
	}
	delete(s.truth, f.key)
}

// back undoes all changes after the first n.
func (s *search) back(n int) {
	for len(s.undo) > n {
		s.put(s.undo[len(s.undo)-1])
		s.undo = s.undo[:len(s.undo)-1]
	}
}

// maxSearch bounds the steps of one search, and with a factor those for a function.
const maxSearch = 3000

// found says whether there is such a way. When it takes too long to say, there is.
func (s *search) found() bool {
	if len(s.in.fn.Blocks) == 0 {
		return false
	}
	s.truth = map[condKey]bool{}
	return s.walk(s.in.fn.Blocks[0], nil, 0, map[*ssa.BasicBlock]int{})
}

func (s *search) walk(b, from *ssa.BasicBlock, n int, visits map[*ssa.BasicBlock]int) bool {
	s.steps++
	s.in.steps++
	if s.steps > maxSearch || s.in.steps > 20*maxSearch {
		return true
	}
	if visits[b] >= 2 {
		return false
	}
	visits[b]++
	defer func() { visits[b]-- }()
	if s.head != nil && s.head(b, n) {
		return false
	}
	if s.enters != nil && from != nil && s.enters(b, from, n) {
		return false
	}
	known := len(s.undo)
	defer func() { s.back(known) }()
	s.enter(b, from)
	for _, i := range b.Instrs {
		if n < len(s.stages) && i == s.stages[n] {
			n++
			if n == len(s.stages) && !s.toEnd {
				return true
			}
			if s.stop != nil && s.stop(i, n) {
				return false
			}
			continue
		}
		if s.stop != nil && s.stop(i, n) {
			return false
		}
		if _, ok := i.(*ssa.Return); ok {
			return n == len(s.stages)
		}
	}
	if len(b.Succs) == 0 {
		return false
	}
	br, ok := b.Instrs[len(b.Instrs)-1].(*ssa.If)
	for k, succ := range b.Succs {
		entered := len(s.undo)
		if ok {
			key, neg, known := condition(br.Cond)
			if c, isConst := br.Cond.(*ssa.Const); isConst {
				if constant.BoolVal(c.Value) != (k == 0) {
					continue
				}
			}
			if known {
				want := (k == 0) != neg
				have, ok := s.truth[key]
				if ok && have != want {
					continue
				}
				if !ok {
					s.note(fact{key, want, true})
				}
			}
		}
		if (s.edge == nil || !s.edge(b, k, n)) && s.walk(succ, b, n, visits) {
			return true
		}
		s.back(entered)
	}
	return false
}

// enter forgets conditions on values that b computes anew, and learns what phis are.
func (s *search) enter(b, from *ssa.BasicBlock) {
	var news []fact
	for k := range s.truth {
		if blockOf(k.x) == b || blockOf(k.y) == b {
			news = append(news, fact{key: k})
		}
	}
	if from != nil {
		news = s.learnPhis(news, b, from)
	}
	for _, f := range news {
		s.note(f)
	}
}

// learnPhis appends what follows for the phis of b if the way comes from another block.
func (s *search) learnPhis(news []fact, b, from *ssa.BasicBlock) []fact {
	for _, i := range b.Instrs {
		phi, ok := i.(*ssa.Phi)
		if !ok {
			break
		}
		for n, p := range b.Preds {
			if p != from || n >= len(phi.Edges) {
				continue
			}
			e := phi.Edges[n]
			if c, ok := e.(*ssa.Const); ok {
				news = learn(news, phi, c)
			} else if isBool(phi.Type()) {
				if key, neg, ok := condition(e); ok {
					if v, ok := s.truth[key]; ok {
						news = append(news, fact{condKey{x: phi}, v != neg, true})
					}
				}
			}
		}
	}
	return news
}

// learn appends what follows from phi being c, for comparisons with constants of the block's
// function that use it.
func learn(news []fact, phi *ssa.Phi, c *ssa.Const) []fact {
	if isBool(phi.Type()) && c.Value != nil {
		return append(news, fact{condKey{x: phi}, constant.BoolVal(c.Value), true})
	}
	for _, ref := range *phi.Referrers() {
		bin, ok := ref.(*ssa.BinOp)
		if !ok || bin.Op != token.EQL && bin.Op != token.NEQ {
			continue
		}
		other, ok := bin.Y.(*ssa.Const)
		if !ok {
			continue
		}
		key, neg, ok := condition(bin)
		if !ok {
			continue
		}
		same := c.IsNil() && other.IsNil() || c.Value != nil && other.Value != nil && constant.Compare(c.Value, token.EQL, other.Value)
		news = append(news, fact{key, (same == (bin.Op == token.EQL)) != neg, true})
	}
	return news
}

func isBool(t types.Type) bool {
	b, ok := t.Underlying().(*types.Basic)
	return ok && b.Info()&types.IsBoolean != 0
}

func blockOf(v ssa.Value) *ssa.BasicBlock {
	if i, ok := v.(ssa.Instruction); ok {
		return i.Block()
	}
	return nil
}

// condition returns the key of a condition, and whether it is the opposite of it.
func condition(v ssa.Value) (key condKey, neg, ok bool) {
	for {
		u, isNot := v.(*ssa.UnOp)
		if !isNot || u.Op != token.NOT {
			break
		}
		v, neg = u.X, !neg
	}
	if b, isBin := v.(*ssa.BinOp); isBin {
		y, text := b.Y, ""
		if c, ok := y.(*ssa.Const); ok {
			y, text = nil, c.String() // equal constants are several values
		}
		switch b.Op {
		case token.EQL, token.LSS, token.GTR:
			return condKey{b.X, y, text, b.Op}, neg, true
		case token.NEQ:
			return condKey{b.X, y, text, token.EQL}, !neg, true
		case token.GEQ:
			return condKey{b.X, y, text, token.LSS}, !neg, true
		case token.LEQ:
			return condKey{b.X, y, text, token.GTR}, !neg, true
		}
	}
	if _, isConst := v.(*ssa.Const); isConst {
		return condKey{}, false, false
	}
	return condKey{x: v}, neg, true
}

// same says whether two things are the same channel, wait group or timer.
func same(a, b thing) bool {
	if a.r != b.r {
		return false
	}
	pa, pb := chanPath(a.path), chanPath(b.path)
	return pa == pb
}

// ends returns what ends a goroutine that signals joins: waiting for these, or for what
// another goroutine signals after it has waited for these.
func (in *interp) ends(joins []thing) []thing {
	all := append([]thing(nil), joins...)
	for range 3 {
		for _, l := range in.links {
			hit := false
			for w := range l.waits {
				for _, t := range all {
					hit = hit || same(w, t)
				}
			}
			if hit {
				for t := range l.signals {
					all = mergeThings(all, []thing{t})
				}
			}
		}
	}
	return all
}

// unprotected says whether a way leads through instr to a return on which neither origin is
// detached nor, after instr, one of joins is waited for.
func (in *interp) unprotected(pl *place, origin *root) bool {
	instr, joins := pl.instr, pl.joins
	var clears map[ssa.Instruction]bool
	if pl.r != nil {
		for i, m := range in.clears {
			for t := range m {
				if t.r == pl.r && i != instr && under(pl.path, t.path) {
					if clears == nil {
						clears = map[ssa.Instruction]bool{}
					}
					clears[i] = true
				}
			}
		}
	}
	if len(joins) == 0 && len(in.detachAt) == 0 && clears == nil {
		return true
	}
	ends := in.ends(in.enough(instr, joins))
	waits := func(m map[ssa.Instruction]set, i ssa.Instruction) bool {
		for w := range m[i] {
			for _, t := range ends {
				if same(w, t) {
					return true
				}
			}
		}
		return false
	}
	detaches := func(i ssa.Instruction) bool { return in.detachAt[i][origin] }
	anyDetach := false
	for i := range in.detachAt {
		anyDetach = anyDetach || detaches(i)
	}
	heads := map[*ssa.BasicBlock]bool{}
	if len(ends) > 0 {
		for i := range in.waitAt {
			if waits(in.waitAt, i) {
				if _, ok := i.(*ssa.Defer); !ok {
					loopHeads(i.Block(), heads)
				}
			}
		}
	}
	s := &search{in: in, stages: []ssa.Instruction{instr}, toEnd: true}
	s.stop = func(i ssa.Instruction, n int) bool {
		if detaches(i) {
			return true
		}
		if clears[i] && i != instr {
			if _, def := i.(*ssa.Defer); def || n >= 1 {
				return true
			}
		}
		_, def := i.(*ssa.Defer)
		if n >= 1 || def {
			if waits(in.waitAt, i) {
				return true
			}
			if _, isCall := i.(*ssa.Call); isCall && anyDetach && waits(in.mayAt, i) {
				return true
			}
		}
		return false
	}
	s.head = func(b *ssa.BasicBlock, n int) bool { return n >= 1 && heads[b] }
	s.edge = func(b *ssa.BasicBlock, k, n int) bool {
		if n < 1 || k != 0 {
			return false
		}
		sel, state := selectCase(b)
		if sel == nil || state.Dir != types.RecvOnly {
			return false
		}
		for x := range in.get(state.Chan) {
			for _, t := range ends {
				if same(x.t, t) {
					return true
				}
			}
		}
		return false
	}
	return s.found()
}

// selectCase returns the case of a select statement that b branches to.
func selectCase(b *ssa.BasicBlock) (*ssa.Select, *ssa.SelectState) {
	br, ok := b.Instrs[len(b.Instrs)-1].(*ssa.If)
	if !ok {
		return nil, nil
	}
	bin, ok := br.Cond.(*ssa.BinOp)
	if !ok || bin.Op != token.EQL {
		return nil, nil
	}
	ext, ok := bin.X.(*ssa.Extract)
	if !ok || ext.Index != 0 {
		return nil, nil
	}
	sel, ok := ext.Tuple.(*ssa.Select)
	c, isConst := bin.Y.(*ssa.Const)
	if !ok || !isConst {
		return nil, nil
	}
	n := int(c.Int64())
	if n < 0 || n >= len(sel.States) {
		return nil, nil
	}
	return sel, sel.States[n]
}

// loopHeads adds the heads of loops in which b runs each time.
func loopHeads(b *ssa.BasicBlock, heads map[*ssa.BasicBlock]bool) {
	for h := b; h != nil; h = h.Idom() {
		for _, latch := range h.Preds {
			if h.Dominates(latch) && b.Dominates(latch) {
				heads[h] = true
			}
		}
	}
}

// waitsAlways says whether each way through the function waits for t.
func (in *interp) waitsAlways(t thing) bool {
	instrs := map[ssa.Instruction]bool{}
	heads := map[*ssa.BasicBlock]bool{}
	for i, m := range in.waitAt {
		for w := range m {
			if same(w, t) {
				instrs[i] = true
				loopHeads(i.Block(), heads)
			}
		}
	}
	return !in.around(instrs, heads)
}

// always says whether each way through the function passes one of instrs.
func (in *interp) always(instrs map[ssa.Instruction]bool) bool { return !in.around(instrs, nil) }

// around says whether a way leads to a return that passes none of instrs and heads.
func (in *interp) around(instrs map[ssa.Instruction]bool, heads map[*ssa.BasicBlock]bool) bool {
	seen := map[*ssa.BasicBlock]bool{}
	todo := []*ssa.BasicBlock{in.fn.Blocks[0]}
next:
	for len(todo) > 0 {
		b := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if seen[b] || heads[b] {
			continue
		}
		seen[b] = true
		for _, i := range b.Instrs {
			if instrs[i] {
				continue next
			}
			if _, ok := i.(*ssa.Return); ok {
				return true
			}
		}
		todo = append(todo, b.Succs...)
	}
	return false
}

// follows says whether a way leads from rel to use without a new acquire between.
func (in *interp) follows(rel, use ssa.Instruction, r *root) bool {
	_, def := rel.(*ssa.Defer)
	s := &search{in: in, stages: []ssa.Instruction{rel, use}}
	s.enters = func(b, from *ssa.BasicBlock, n int) bool { return n == 1 && in.replaced(b, from, r) }
	if _, ok := use.(*ssa.Defer); ok && def {
		// what was deferred first runs last
		one := &search{in: in, stages: []ssa.Instruction{use, rel}, toEnd: true}
		return rel != use && one.found()
	}
	if _, ok := use.(*ssa.Defer); ok {
		s.toEnd = true
		if !def {
			// the deferred call runs at the end, wherever it was deferred
			one := &search{in: in, stages: []ssa.Instruction{use, rel}, toEnd: true}
			if one.found() {
				return true
			}
		}
	}
	s.stop = func(i ssa.Instruction, n int) bool {
		if n != 1 {
			return false
		}
		v, ok := i.(ssa.Value)
		return ok && r.val == v && i != rel
	}
	return s.found()
}

func chanPath(p string) string { return strings.TrimSuffix(strings.TrimSuffix(p, "#send"), "*") }

// enough drops channels from which fewer values are received than goroutines send.
func (in *interp) enough(instr ssa.Instruction, joins []thing) []thing {
	var out []thing
	for _, t := range joins {
		if !strings.HasSuffix(t.path, "#send") {
			out = append(out, t)
			continue
		}
		senders, receives, loops := 0, 0, false
		for _, l := range in.links {
			if _, ok := l.signals[t]; ok {
				senders++
			}
		}
		for i, m := range in.waitAt {
			for w := range m {
				if same(w, t) {
					receives++
					loops = loops || inLoop(i.Block())
				}
			}
		}
		for i, m := range in.mayAt {
			if _, ok := i.(*ssa.Select); !ok {
				continue
			}
			for w := range m {
				if same(w, t) {
					receives++
					loops = loops || inLoop(i.Block())
				}
			}
		}
		if inLoop(instr.Block()) {
			senders += 2
		}
		if loops || receives >= senders {
			out = append(out, t)
		}
	}
	return out
}

// inLoop says whether b may run more than once.
func inLoop(b *ssa.BasicBlock) bool {
	seen := map[*ssa.BasicBlock]bool{}
	var walk func(c *ssa.BasicBlock) bool
	walk = func(c *ssa.BasicBlock) bool {
		for _, s := range c.Succs {
			if s == b {
				return true
			}
			if !seen[s] {
				seen[s] = true
				if walk(s) {
					return true
				}
			}
		}
		return false
	}
	return walk(b)
}

// isCleared says whether the function empties a place, on some way.
func (in *interp) isCleared(pl *place) bool {
	for i, m := range in.clears {
		for t := range m {
			if t.r == pl.r && i != pl.instr && under(pl.path, t.path) {
				return true
			}
		}
	}
	return false
}

// replaced says whether on the edge between two blocks a variable that may hold r gets
// another value.
func (in *interp) replaced(b, from *ssa.BasicBlock, r *root) bool {
	holds := func(v ssa.Value) bool {
		for x := range in.get(v) {
			if x.t.r == r {
				return true
			}
		}
		return false
	}
	for _, i := range b.Instrs {
		phi, ok := i.(*ssa.Phi)
		if !ok {
			return false
		}
		for n, p := range b.Preds {
			if p == from && holds(phi) && !holds(phi.Edges[n]) {
				return true
			}
		}
	}
	return false
}
