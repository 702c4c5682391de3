package lifetimes

import (
	"go/ast"
	"go/types"
	"strings"
)

// readComments looks for //gale: comments of this package and of those that it imports.
// They say what tables say, for libraries that declare their own:
//
//	//gale:owner request     on a type: values are lent to handlers until they return
//	//gale:owner pooled      on a type: values are lent until they are released
//	//gale:borrowed          on a function: results belong to the receiver or first argument
//	//gale:acquire           the result comes from a pool
//	//gale:release           the receiver or first argument goes back to its pool
//	//gale:detach            the receiver or first argument belongs to the caller for good
//	//gale:effects EFFECTS   what a line of a table says after the colon
func (p *pass) readComments() []string {
	for _, f := range p.AllPackageFacts() {
		if pf, ok := f.Fact.(*PackageFact); ok {
			for _, d := range pf.Decls {
				p.declare(d)
			}
		}
	}
	var decls []string
	note := func(d string) {
		decls = append(decls, d)
		p.declare(d)
	}
	for _, f := range p.Files {
		for _, d := range f.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				obj, ok := p.TypesInfo.Defs[d.Name].(*types.Func)
				if !ok {
					continue
				}
				for _, c := range directives(d.Doc) {
					if e := effectsOf(c, d.Recv != nil); e != "" {
						note("func " + funcKey(obj) + " " + e)
					}
				}
			case *ast.GenDecl:
				for _, s := range d.Specs {
					ts, ok := s.(*ast.TypeSpec)
					if !ok {
						continue
					}
					for _, c := range append(directives(d.Doc), directives(ts.Doc)...) {
						if kind, ok := strings.CutPrefix(c, "owner "); ok {
							note("owner " + p.Pkg.Path() + "." + ts.Name.Name + " " + strings.TrimSpace(kind))
						}
					}
				}
			}
		}
	}
	return decls
}

func directives(g *ast.CommentGroup) []string {
	if g == nil {
		return nil
	}
	var out []string
	for _, c := range g.List {
		if d, ok := strings.CutPrefix(c.Text, "//gale:"); ok {
			out = append(out, strings.TrimSpace(d))
		}
	}
	return out
}

// effectsOf returns the effects that a comment on a function stands for.
func effectsOf(c string, method bool) string {
	from := "0"
	if method {
		from = "recv"
	}
	word, rest, _ := strings.Cut(c, " ")
	switch word {
	case "borrowed":
		return from + "()->r"
	case "acquire":
		return "acquire"
	case "release":
		return "release:" + from
	case "detach":
		return "detach:" + from
	case "effects":
		return strings.TrimSpace(rest)
	}
	return ""
}

// declare takes one declaration, as facts carry them.
func (p *pass) declare(d string) {
	words := strings.Fields(d)
	if len(words) < 3 {
		return
	}
	switch words[0] {
	case "owner":
		p.owners[words[1]] = owner{kind: words[2], strings: len(words) > 3 && words[3] == "strings"}
	case "func":
		p.decl[words[1]] = entry{words[2:]}
	}
}
