package timelimits

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// elsewhere has the exported functions with a context or a time limit that the table of
// clients doesn't have, with the reason.
var elsewhere = map[string]string{
	"AcquireTimer": "it waits for nothing", "AppendHTTPDate": "it waits for nothing",
	"Cookie.SetExpire": "it waits for nothing", "ResponseHeader.SetLastModified": "it waits for nothing",
	"RequestCtx.IfModifiedSince": "it waits for nothing",

	"DoContext": "Client.DoContext of the default client", "DoDeadline": "Client.DoDeadline of the default client",
	"DoTimeout": "Client.DoTimeout of the default client", "GetContext": "Client.GetContext of the default client",
	"GetDeadline": "Client.GetDeadline of the default client", "GetTimeout": "Client.GetTimeout of the default client",
	"PostContext": "Client.PostContext of the default client",

	"DialTimeout":          "TCPDialer.DialTimeout of the default dialer",
	"DialDualStackTimeout": "TCPDialer.DialDualStackTimeout of the default dialer",
	"Request.SetTimeout":   "the rows with Do, SetTimeout",

	"RequestCtx.SetReadDeadline":   "TestConnDeadlinesCount of package gale",
	"RequestCtx.SetWriteDeadline":  "TestConnDeadlinesCount of package gale",
	"Run":                          "Runner.Run of the zero Runner",
	"Runner.Run":                   "the end of its context begins a shutdown: TestRunEnds and TestRunServeIsStuck of tests/server",
	"UpgradedConn.SetTimeout":      "it sets a limit, after which Stalled is called",
	"UpgradedConn.SetWriteTimeout": "it sets a limit: TestUpgradeWriteTimeout of package gale",

	"proxy.FasthttpProxyHTTPDialerTimeout": "FasthttpHTTPDialerTimeout with the proxy of the environment",

	"ws.Conn.NetConn": "it waits for nothing",
}

func init() {
	for _, name := range []string{"AppendRead", "Ping", "Read", "ReadJSON", "Reader", "Write", "WriteJSON", "WritePrepared", "Writer"} {
		elsewhere["ws.Conn."+name] = "TestConnCallsEndInTime of package ws"
	}
}

// limited returns the exported functions and methods of the packages of the module that take
// a context, a duration or a time, as "package.Type.Method".
func limited(t *testing.T) []string {
	var all []string
	root := filepath.Join("..", "..")
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, _ := filepath.Rel(root, path)
		if d.IsDir() {
			_, module := os.Stat(filepath.Join(path, "go.mod"))
			if rel != "." && (module == nil || strings.HasPrefix(d.Name(), ".")) || slices.Contains([]string{"internal", "tests", "cmd", "examples", "scripts", "testdata", "docs"}, d.Name()) {
				return filepath.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return nil
		}
		f, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
		if err != nil {
			return err
		}
		for _, d := range f.Decls {
			fn, ok := d.(*ast.FuncDecl)
			if !ok || !fn.Name.IsExported() || !takesLimit(fn.Type) {
				continue
			}
			name := fn.Name.Name
			if fn.Recv != nil {
				typ := fn.Recv.List[0].Type
				if p, ok := typ.(*ast.StarExpr); ok {
					typ = p.X
				}
				id, ok := typ.(*ast.Ident)
				if !ok || !id.IsExported() {
					continue
				}
				name = id.Name + "." + name
			}
			if f.Name.Name != "gale" {
				name = f.Name.Name + "." + name
			}
			all = append(all, name)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// takesLimit reports whether a function has a parameter of one of the types of limits.
func takesLimit(f *ast.FuncType) bool {
	for _, p := range f.Params.List {
		s, ok := p.Type.(*ast.SelectorExpr)
		if !ok {
			continue
		}
		if x, ok := s.X.(*ast.Ident); ok && slices.Contains([]string{"context.Context", "time.Duration", "time.Time"}, x.Name+"."+s.Sel.Name) {
			return true
		}
	}
	return false
}

// TestComplete proves that each exported function that takes a context or a time limit is in
// the table, or in the list with a reason.
func TestComplete(t *testing.T) {
	known := map[string]bool{}
	for _, k := range calls() {
		name, _, _ := strings.Cut(k.name, ",")
		known[name] = true
	}
	for _, o := range others {
		known[o.name] = true
	}
	all := limited(t)
	for _, name := range all {
		if known[name] == (elsewhere[name] != "") {
			t.Errorf("%s is neither in the table nor in the list, or in both", name)
		}
	}
	for name := range elsewhere {
		if !slices.Contains(all, name) {
			t.Errorf("there is no function %s", name)
		}
	}
}
