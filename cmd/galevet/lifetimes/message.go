package lifetimes

import (
	"go/token"
	"strconv"
	"strings"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/ssa"
)

// name returns words for t.
func (in *interp) name(t thing) string {
	if c, ok := t.src.(*ssa.Call); ok {
		callee := ""
		if c.Call.IsInvoke() {
			callee = c.Call.Method.Name()
		} else if f := c.Call.StaticCallee(); f != nil {
			callee = f.Name()
		}
		if callee != "" {
			return "what " + callee + " returned"
		}
	}
	if t.derived() {
		return "memory of the request"
	}
	v := t.r.val
	if p, ok := v.(*ssa.Parameter); ok {
		if strings.Trim(t.path, "*") == "" {
			return p.Name()
		}
		return p.Name() + fieldsOf(t.path)
	}
	if t.r.kind == kAcquire {
		return "what " + t.r.pool + " returned"
	}
	return "a part of the request"
}

func fieldsOf(path string) string {
	out := ""
	for _, s := range splitPath(path) {
		if s[0] == '.' {
			out += s
		}
	}
	return out
}

func keptMessage(in *interp, pl *place, t thing) string {
	what := in.name(t)
	lent := what + " is valid until the handler returns"
	advice := "copy what is needed, or call Detach before"
	if t.derived() {
		advice = "copy it"
	}
	how := ""
	switch pl.kind {
	case "goroutine":
		how = "a goroutine that may run longer uses it"
		if !t.derived() {
			advice = "copy what the goroutine needs before it starts, wait for it, or call Detach"
		}
	case "global":
		how = "it is stored in a variable that outlives the request"
		n := pl.name
		if pl.r != nil && pl.r.name != "" {
			n = pl.r.name
		}
		if n != "" {
			how = "it is stored in " + n[strings.LastIndexByte(n, '.')+1:]
		}
	case "channel":
		how = "it is sent to a goroutine that may use it later"
	case "timer":
		how = "a timer uses it later"
	case "stream":
		how = "it is used while the response is streamed, after the handler"
		advice = "copy what is needed"
	case "after-send":
		how = "a function of AfterSend uses it, after the response was sent"
	case "hijack":
		how = "the function of Hijack uses it, after the handler"
	case "pool":
		how = "it is put into a pool, from where others take it"
		advice = "put a copy"
	case "shared":
		how = "other callers of singleflight get it too"
	case "input", "input-channel":
		how = "it is stored in something that outlives the request"
	default:
		how = "it is kept (" + pl.kind + ")"
	}
	msg := lent + ", but " + how
	if !pl.lent && pl.where != "" && !strings.HasPrefix(in.where(posOfInstr(pl.instr)), pl.where) {
		msg += " (" + pl.where + ")"
	}
	return msg + ": " + advice
}

func lateMessage(in *interp, u *lateUse, rel ssa.Instruction) string {
	what := in.name(u.t)
	at := in.where(posOfInstr(rel))
	_, def := rel.(*ssa.Defer)
	verb := "was released at "
	if def {
		verb = "is released by the deferred call at "
	}
	switch u.kind {
	case "double":
		return what + " is released twice: it " + verb + at + " too"
	case "return":
		return what + " is returned, but " + verb + at + ": return a copy"
	case "kept":
		return what + " is kept, but " + strings.Replace(verb, "was", "is", 1) + at + " while it is still in use: keep a copy"
	}
	return what + " is used, but it " + verb + at
}

// tell notes a report at pos. There is one for each line, with the fixes of all.
func (p *pass) tell(in *interp, pos token.Pos, msg string, pl *place, t thing) {
	at := p.Fset.Position(pos)
	key := at.Filename + ":" + itoa(at.Line)
	fixes := p.fixes(in, pos, pl, t)
	d := p.seen[key]
	if d == nil {
		p.seen[key] = &analysis.Diagnostic{Pos: pos, Message: msg, SuggestedFixes: fixes}
		p.order = append(p.order, key)
		return
	}
	if len(fixes) == 0 {
		return
	}
	if len(d.SuggestedFixes) == 0 {
		d.SuggestedFixes = fixes
	} else if d.SuggestedFixes[0].Message == fixes[0].Message {
		d.SuggestedFixes[0].TextEdits = append(d.SuggestedFixes[0].TextEdits, fixes[0].TextEdits...)
	}
}

// flush reports what was noted.
func (p *pass) flush() {
	for _, key := range p.order {
		p.Report(*p.seen[key])
	}
}

func itoa(n int) string { return strconv.Itoa(n) }
