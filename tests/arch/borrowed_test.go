package arch

import (
	"bytes"
	"encoding/json"
	"errors"
	"go/ast"
	"go/doc"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// The sentences by which the documentation says who owns a result. The package comment of
// the root package explains them, under the heading "Borrowed bytes".
const (
	bytesOf     = "The bytes are borrowed: they are valid until X changes or the handler returns."
	bytesOfCall = "The bytes are borrowed: they are valid until f returns."
	objectOf    = "The NOUN is borrowed: it is valid until X is reset or the handler returns."
	objectOfCtx = "The NOUN is borrowed: it is valid until the handler returns."
	callersOwn  = "The result belongs to the caller."
	ofPool      = "It belongs to the caller until [RELEASE]."
)

// saysNoOwner are functions whose documentation has none of the sentences, and why.
var saysNoOwner = map[string]string{
	"gale.VisitHeaderParams":                   "the bytes are part of its argument",
	"gale.Request.VisitUserValues":             "the keys are copies",
	"gale.RequestCtx.VisitUserValues":          "the keys are copies",
	"gale.RequestCtx.LastTimeoutErrorResponse": "the server sends the response, and never uses its memory again",
}

// TestOwnersAreDocumented: each public function that returns bytes, or an object that has
// bytes, or passes bytes to a function, says in the same words who owns them until when.
func TestOwnersAreDocumented(t *testing.T) {
	seen := make(map[string]bool)
	found := 0
	for _, p := range publicPackages(t) {
		for _, f := range exportedFunctions(p) {
			kind := lends(f.decl.Type)
			if kind == "" {
				continue
			}
			found++
			name := p.name + "." + f.name
			ok := saysOwner(kind, receiverName(f.decl), f.doc)
			_, excepted := saysNoOwner[name]
			seen[name] = true
			switch {
			case ok && excepted:
				t.Errorf("%s has one of the sentences, so it needs no exception", name)
			case !ok && !excepted:
				t.Errorf("%s: %s: the documentation must say %s", p.position(f.decl), name, strings.Join(choices[kind], " or "))
			}
		}
	}
	for name := range saysNoOwner {
		if !seen[name] {
			t.Errorf("there is an exception for %s, which isn't there or lends nothing", name)
		}
	}
	if found < 150 {
		t.Errorf("found only %d functions", found)
	}
}

// TestSentencesAreExplained: the package comment has all sentences that name an owner.
func TestSentencesAreExplained(t *testing.T) {
	var text string
	for _, p := range publicPackages(t) {
		if p.name == "gale" {
			text = strings.Join(strings.Fields(p.docs.Doc), " ")
		}
	}
	for _, s := range []string{
		strings.ReplaceAll(bytesOf, "X", "h"),
		bytesOfCall,
		strings.NewReplacer("NOUN", "URI", "X", "req").Replace(objectOf),
		callersOwn,
		"It belongs to the caller until ReleaseRequest.",
	} {
		if !strings.Contains(text, s) {
			t.Errorf("the comment of package gale doesn't have the sentence %q", s)
		}
	}
}

// choices are the sentences for each kind of function; see lends.
var choices = map[string][]string{
	"bytes":    {bytesOf, callersOwn},
	"object":   {objectOf, objectOfCtx, callersOwn, ofPool},
	"callback": {bytesOfCall},
}

// sentences are the patterns of choices. The groups are the value whose change ends the
// loan.
var sentences = map[string]*regexp.Regexp{
	bytesOf:     regexp.MustCompile(`The bytes are borrowed: they are valid until ([\w.]+) changes or the handler returns\.`),
	bytesOfCall: regexp.MustCompile(`The bytes are borrowed: they are valid until f returns\.`),
	objectOf:    regexp.MustCompile(`The \w+ is borrowed: it is valid until ([\w.]+) is reset or the handler returns\.`),
	objectOfCtx: regexp.MustCompile(`The \w+ is borrowed: it is valid until the handler returns\.`),
	callersOwn:  regexp.MustCompile(`The result belongs to the caller\.`),
	ofPool:      regexp.MustCompile(`It belongs to the caller until \[(?:\w+\.)?Release\w+\]\.`),
}

// saysOwner reports whether text has exactly one of the sentences for kind, with a value
// that belongs to the receiver.
func saysOwner(kind, recv, text string) bool {
	text = strings.Join(strings.Fields(text), " ")
	n := 0
	for _, c := range choices[kind] {
		for _, m := range sentences[c].FindAllStringSubmatch(text, -1) {
			of, _, _ := strings.Cut(append(m, "")[1], ".")
			if (c == bytesOf || c == objectOf) && of != recv {
				return false
			}
			n++
		}
	}
	return n == 1
}

// lends says what the documentation of a function must tell: "bytes" if it returns bytes,
// "object" if it returns something by which one gets bytes, "callback" if it passes bytes
// to a function, else "".
func lends(f *ast.FuncType) string {
	kind := ""
	if f.Results != nil {
		for _, r := range f.Results.List {
			switch of := typeText(r.Type); {
			case byteTypes[of]:
				return "bytes"
			case objectTypes[of]:
				kind = "object"
			}
		}
	}
	for _, p := range f.Params.List {
		fn, ok := p.Type.(*ast.FuncType)
		if !ok || kind != "" {
			continue
		}
		for _, of := range fn.Params.List {
			if byteTypes[typeText(of.Type)] {
				kind = "callback"
			}
		}
	}
	return kind
}

var byteTypes = typeSet("[]byte", "[][]byte", "iter.Seq[[]byte]", "iter.Seq2[[]byte, []byte]")

var objectTypes = typeSet("*Args", "*URI", "*Cookie", "*Request", "*Response", "*RequestHeader", "*ResponseHeader", "*Result",
	"Logger", "io.Reader", "io.ReadCloser", "io.Writer", "*bufio.Reader", "*bufio.Writer",
	"*multipart.Form", "*multipart.Reader", "*multipart.FileHeader")

func typeSet(names ...string) map[string]bool {
	set := make(map[string]bool)
	for _, n := range names {
		set[n] = true
	}
	return set
}

// typeText returns the text of a type, without the name of the root package.
func typeText(t ast.Expr) string { return strings.ReplaceAll(types.ExprString(t), "gale.", "") }

// receiverName returns the name of the receiver of f, empty for functions.
func receiverName(f *ast.FuncDecl) string {
	if f.Recv == nil || len(f.Recv.List[0].Names) == 0 {
		return ""
	}
	return f.Recv.List[0].Names[0].Name
}

// publicPackage is a package of the library that programs may import.
type publicPackage struct {
	name string
	fset *token.FileSet
	docs *doc.Package
}

func (p *publicPackage) position(f *ast.FuncDecl) string {
	at := p.fset.Position(f.Pos())
	return filepath.Base(at.Filename) + ":" + strconv.Itoa(at.Line)
}

// function is an exported function or method.
type function struct {
	name string // of the type too
	doc  string
	decl *ast.FuncDecl
}

func exportedFunctions(p *publicPackage) (all []function) {
	for _, f := range p.docs.Funcs {
		all = append(all, function{f.Name, f.Doc, f.Decl})
	}
	for _, of := range p.docs.Types {
		for _, f := range of.Funcs {
			all = append(all, function{f.Name, f.Doc, f.Decl})
		}
		for _, f := range of.Methods {
			all = append(all, function{of.Name + "." + f.Name, f.Doc, f.Decl})
		}
	}
	return all
}

// publicPackages returns the packages of the library that programs may import.
func publicPackages(t *testing.T) (all []*publicPackage) {
	t.Helper()
	cmd := exec.Command("go", "list", "-json=ImportPath,Dir,GoFiles", "./...")
	cmd.Dir = filepath.Join("..", "..")
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	for dec := json.NewDecoder(bytes.NewReader(out)); ; {
		var l listedPackage
		if err := dec.Decode(&l); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		if !isLibrary(l.ImportPath) || strings.HasPrefix(l.ImportPath, internal) {
			continue
		}
		p := &publicPackage{fset: token.NewFileSet()}
		var files []*ast.File
		for _, name := range l.GoFiles {
			f, err := parser.ParseFile(p.fset, filepath.Join(l.Dir, name), nil, parser.ParseComments|parser.SkipObjectResolution)
			if err != nil {
				t.Fatal(err)
			}
			files = append(files, f)
		}
		if p.docs, err = doc.NewFromFiles(p.fset, files, l.ImportPath); err != nil {
			t.Fatal(err)
		}
		p.name = p.docs.Name
		all = append(all, p)
	}
	if len(all) < 10 {
		t.Fatalf("found only %d public packages", len(all))
	}
	return all
}
