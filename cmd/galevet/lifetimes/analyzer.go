// Package lifetimes finds values that are used longer than they are lent: contexts of
// requests and bytes of them after the handler has returned, and objects of pools after
// they were released. README.md in the parent folder says what it knows and how.
package lifetimes

import (
	"go/ast"
	"go/token"
	"go/types"
	"strings"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/ssa"
)

// Analyzer reports what is kept longer than it is lent.
var Analyzer = &analysis.Analyzer{
	Name:      "lifetimes",
	Doc:       "report contexts and bytes of requests that are kept after the handler, and pooled objects used after their release",
	URL:       "https://github.com/galehttp/gale/blob/main/docs/lifetimes.md",
	Run:       run,
	FactTypes: []analysis.Fact{new(FuncFact), new(PackageFact)},
}

var strict bool

func init() {
	Analyzer.Flags.BoolVar(&strict, "strict", false, "also report where it isn't known whether something is kept")
}

func run(ap *analysis.Pass) (any, error) {
	if skipped(ap) {
		return nil, nil
	}
	p := &pass{
		Pass: ap, fns: map[*ssa.Function]*fnInfo{}, owners: map[string]owner{}, decl: map[string]entry{},
		globalFuncs: map[string][]*ssa.Function{}, ifaceTypes: map[string][]types.Type{}, made: map[types.Type][]types.Type{},
		facts: map[*ssa.Function]*Summary{}, bound: map[*ssa.Function]*ssa.Function{}, goStmts: map[token.Pos]*ast.GoStmt{}, seen: map[string]*analysis.Diagnostic{},
		calls: map[token.Pos]*ast.CallExpr{}, fixed: map[*ast.CallExpr]bool{}, detached: map[*ssa.Parameter]bool{},
	}
	p.readSource()
	p.build()
	p.collect()
	for p.rounds = 1; p.rounds <= 4; p.rounds++ {
		p.changed = false
		for _, fi := range p.list {
			p.analyze(fi)
		}
		if !p.changed {
			break
		}
	}
	for _, fi := range p.list {
		if fi.last != nil {
			fi.last.report()
		}
	}
	p.flush()
	p.exportFacts()
	return nil, nil
}

// skipped says whether a package isn't looked at: the standard library and packages that
// tables describe, which lend the memory.
func skipped(ap *analysis.Pass) bool { return Skip(ap.Pkg.Path()) }

// Skip says whether a package of this path is never looked at.
func Skip(path string) bool {
	if known.pkgs[path] || stdPath(path) {
		return true
	}
	for _, q := range known.quiet {
		if path == q || strings.HasPrefix(path, q+"/") {
			return true
		}
	}
	return false
}

// stdPath says whether a path is one of the standard library.
func stdPath(path string) bool {
	first, _, _ := strings.Cut(path, "/")
	return stdRoots[first]
}

var stdRoots = map[string]bool{}

func init() {
	for _, r := range strings.Fields("archive bufio bytes cmp compress container context crypto database debug embed encoding errors expvar flag fmt go hash html image index internal io iter log maps math mime net os path plugin reflect regexp runtime slices sort strconv strings structs sync syscall testing text time unicode unique unsafe vendor weak") {
		stdRoots[r] = true
	}
}

func (p *pass) build() {
	p.prog = ssa.NewProgram(p.Fset, ssa.BuilderMode(0))
	created := map[*types.Package]bool{}
	var create func(pkgs []*types.Package)
	create = func(pkgs []*types.Package) {
		for _, q := range pkgs {
			if !created[q] {
				created[q] = true
				p.prog.CreatePackage(q, nil, nil, true)
				create(q.Imports())
			}
		}
	}
	create(p.Pkg.Imports())
	p.spkg = p.prog.CreatePackage(p.Pkg, p.Files, p.TypesInfo, false)
	p.spkg.Build()
}

// readSource looks for what is easier to see in the syntax.
func (p *pass) readSource() {
	p.decls = p.readComments()
	for _, q := range p.Pkg.Imports() {
		var f PackageFact
		if p.ImportPackageFact(q, &f) && f.Immutable {
			p.immutable = true
		}
	}
	for _, f := range p.Files {
		ast.Inspect(f, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.CallExpr:
				p.calls[n.Lparen] = n
			case *ast.GoStmt:
				p.goStmts[n.Go] = n
			case *ast.KeyValueExpr:
				if id, ok := n.Key.(*ast.Ident); ok && id.Name == "Immutable" {
					if v, ok := n.Value.(*ast.Ident); ok && v.Name == "true" {
						p.immutable = true
					}
				}
			}
			return true
		})
	}
}

func (p *pass) exportFacts() {
	p.ExportPackageFact(&PackageFact{Immutable: p.immutable, Decls: p.decls})
	for _, fi := range p.list {
		obj, ok := fi.fn.Object().(*types.Func)
		if !ok || fi.sum.empty() || obj.Pkg() != p.Pkg {
			continue
		}
		p.ExportObjectFact(obj, &FuncFact{*fi.sum})
	}
}
