package docs

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path"
	"regexp"
	"strings"
)

// imports are the packages that fragments may use.
var imports = []string{
	"bufio", "bytes", "cmp", "context", "crypto/rand", "crypto/sha256", "crypto/subtle", "crypto/tls", "crypto/x509",
	"database/sql", "encoding/hex", "encoding/json", "errors", "expvar", "flag", "fmt", "io", "log", "log/slog", "maps",
	"mime/multipart", "net", "net/http", "net/netip", "net/url", "os", "os/exec", "os/signal", "path/filepath", "regexp",
	"runtime", "slices", "sort", "strconv", "strings", "sync", "sync/atomic", "syscall", "testing", "time",
	"github.com/galehttp/gale", "github.com/galehttp/gale/adaptor", "github.com/galehttp/gale/expvarhandler",
	"github.com/galehttp/gale/galetest", "github.com/galehttp/gale/galeutil", "github.com/galehttp/gale/pprofhandler", "github.com/galehttp/gale/router",
	"github.com/galehttp/gale/ws",
	"github.com/galehttp/gale/prefork", "github.com/galehttp/gale/proxy", "github.com/galehttp/gale/reuseport",
	"github.com/galehttp/gale/reverse",
}

// fragment returns the source of a package of its own for a block that isn't a whole
// file. form is "handler", "function" or "declarations", given a parameter list or "".
func fragment(pkg string, b block, form, given string) (string, error) {
	vars, err := variables(given)
	if err != nil {
		return "", err
	}
	var head, tail string
	switch form {
	case "handler":
		head, tail = "func _(ctx *gale.RequestCtx) {\n", "}\n"
	case "function":
		head, tail = "func _() error {\n", "return nil\n}\n"
	}
	line := fmt.Sprintf("//line %s:%d\n", b.doc, b.line)
	if form == "declarations" && onlyImports(b.text) {
		return "package " + pkg + "\n" + line + importRx.ReplaceAllString(b.text, "import _ $1"), nil
	}
	if form == "declarations" && hasImports(b.text) {
		return "package " + pkg + "\n" + line + b.text + vars, nil
	}
	f, err := parser.ParseFile(token.NewFileSet(), "", "package p\n"+vars+head+line+b.text+tail, 0)
	if err != nil {
		return "", err
	}
	if head != "" {
		tail = finish(f, form, tail)
	}
	unresolved := make(map[string]bool)
	for _, id := range f.Unresolved {
		unresolved[id.Name] = true
	}
	var list strings.Builder
	for _, p := range imports {
		if unresolved[path.Base(p)] {
			fmt.Fprintf(&list, "import %q\n", p)
		}
	}
	return "package " + pkg + "\n" + list.String() + vars + head + line + b.text + tail, nil
}

// finish returns tail with uses of the variables that the block defines for its reader
// only, and without a return that can't be reached.
func finish(f *ast.File, form, tail string) string {
	body := f.Decls[len(f.Decls)-1].(*ast.FuncDecl).Body.List
	if form == "function" && len(body) > 1 {
		if _, ok := body[len(body)-2].(*ast.ReturnStmt); ok {
			return "}\n"
		}
	}
	count := make(map[string]int)
	ast.Inspect(f, func(n ast.Node) bool {
		if id, ok := n.(*ast.Ident); ok {
			count[id.Name]++
		}
		return true
	})
	var uses strings.Builder
	for _, s := range body {
		if a, ok := s.(*ast.AssignStmt); ok && a.Tok == token.DEFINE {
			for _, e := range a.Lhs {
				if name := e.(*ast.Ident).Name; name != "_" && count[name] == 1 {
					fmt.Fprintf(&uses, "_ = %s\n", name)
				}
			}
		}
	}
	return uses.String() + tail
}

// variables declares what a block is given.
func variables(given string) (string, error) {
	if given == "" {
		return "", nil
	}
	src := "package p\nfunc _(" + given + ")\n"
	f, err := parser.ParseFile(token.NewFileSet(), "", src, parser.SkipObjectResolution)
	if err != nil {
		return "", fmt.Errorf("given %s: %w", given, err)
	}
	var list strings.Builder
	for _, p := range f.Decls[0].(*ast.FuncDecl).Type.Params.List {
		for _, name := range p.Names {
			fmt.Fprintf(&list, "var %s %s\n", name.Name, src[p.Type.Pos()-1:p.Type.End()-1])
		}
	}
	return list.String(), nil
}

// packageName returns the name in the package clause of a whole file, or "".
func packageName(text string) string {
	f, err := parser.ParseFile(token.NewFileSet(), "", text, parser.PackageClauseOnly)
	if err != nil {
		return ""
	}
	return f.Name.Name
}

var importRx = regexp.MustCompile(`(?m)^import (?:\w+ )?(".*)$`)

// onlyImports reports whether a block is imports on lines of their own.
func onlyImports(text string) bool {
	for line := range strings.Lines(text) {
		if !importRx.MatchString(line) {
			return false
		}
	}
	return true
}

// hasImports reports whether declarations begin with imports.
func hasImports(text string) bool {
	f, err := parser.ParseFile(token.NewFileSet(), "", "package p\n"+text, parser.ImportsOnly)
	return err == nil && len(f.Imports) > 0
}

// onlyDeclarations reports whether a block is declarations, which need no comment.
func onlyDeclarations(text string) bool {
	_, err := parser.ParseFile(token.NewFileSet(), "", "package p\n"+text, parser.SkipObjectResolution)
	return err == nil
}

// renamed returns a whole file as a part of package pkg. Its main function becomes Main,
// for the binary that has all programs.
func renamed(b block, pkg string) (src string, isProgram bool, err error) {
	f, err := parser.ParseFile(token.NewFileSet(), b.doc, b.text, parser.SkipObjectResolution)
	if err != nil {
		return "", false, err
	}
	src = b.text
	for _, d := range f.Decls {
		if fn, ok := d.(*ast.FuncDecl); ok && fn.Recv == nil && fn.Name.Name == "main" {
			at := int(fn.Name.Pos()) - 1
			src = src[:at] + "Main" + src[at+len("main"):]
			isProgram = true
		}
	}
	at := int(f.Name.Pos()) - 1
	name := pkg
	if strings.HasSuffix(f.Name.Name, "_test") {
		name += "_test"
	}
	src = src[:at] + name + src[at+len(f.Name.Name):]
	return fmt.Sprintf("//line %s:%d\n%s", b.doc, b.line, src), isProgram, nil
}
