package english

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// piece is a paragraph, a list item, a cell of a table, a comment or a help text. Line
// breaks are spaces in it.
type piece struct {
	file    string
	text    string // code and targets of links are masked
	raw     string // the same, if text differs
	lines   []lineAt
	scope   scope // the narrowest that it is in
	heading bool
	quoted  bool // a string or a line of code: no sentence, only the exact phrases count
}

// lineAt says that a line of the file begins at an offset of a piece's text.
type lineAt struct{ offset, line int }

func (p *piece) add(line int, text string) {
	if p.text != "" {
		p.text += " "
	}
	p.lines = append(p.lines, lineAt{len(p.text), line})
	p.text += text
}

func (p *piece) line(offset int) int {
	line := 0
	for _, l := range p.lines {
		if l.offset <= offset {
			line = l.line
		}
	}
	return line
}

// sentence returns where the sentence around text[from:to] begins and ends.
func (p *piece) sentence(from, to int) (begin, end int) {
	begin, end = 0, len(p.text)
	for _, stop := range []string{". ", "? ", "! "} {
		if i := strings.LastIndex(p.text[:from], stop); i >= 0 {
			begin = max(begin, i+2)
		}
		if i := strings.Index(p.text[max(to-1, from):], stop); i >= 0 {
			end = min(end, max(to-1, from)+i+1)
		}
	}
	return begin, max(begin, end)
}

var (
	// masked are parts of Markdown that are no English: code, targets of links, names of
	// files. They keep their length.
	masked = regexp.MustCompile("`[^`]*`" + `|\]\([^)]*\)|https?://\S+|\b[\w/.-]+\.(?:md|go|sh|yml|txt)\b`)
	item   = regexp.MustCompile(`^\s*(?:[-*]|\d+\.)\s+`)
	words  = regexp.MustCompile(`\w`)
)

func mask(text string) string {
	return masked.ReplaceAllStringFunc(text, func(s string) string { return words.ReplaceAllString(s, "#") })
}

// markdown returns the pieces of a document.
func markdown(file, text string, in scope) []piece {
	var all []piece
	var cur piece
	flush := func() {
		if cur.text != "" {
			all = append(all, cur)
		}
		cur = piece{file: file, scope: in}
	}
	flush()
	fenced := false
	for i, line := range strings.Split(text, "\n") {
		n := i + 1
		switch trimmed := strings.TrimSpace(line); {
		case strings.HasPrefix(trimmed, "```"):
			flush()
			fenced = !fenced
		case fenced:
			flush()
			all = append(all, codeLine(file, n, line, in)...)
		case trimmed == "":
			flush()
		case strings.HasPrefix(trimmed, "#"):
			flush()
			cur.heading = true
			cur.add(n, strings.TrimLeft(trimmed, "# "))
			flush()
		case strings.HasPrefix(trimmed, "|"):
			flush()
			for cell := range strings.SplitSeq(strings.Trim(trimmed, "|"), " | ") {
				cur.add(n, strings.TrimSpace(cell))
				flush()
			}
		default:
			if item.MatchString(line) {
				flush()
				line = item.ReplaceAllString(line, "")
			}
			cur.add(n, strings.TrimSpace(line))
		}
	}
	flush()
	for i := range all {
		if !all[i].quoted {
			all[i].raw, all[i].text = all[i].text, mask(all[i].text)
		}
	}
	return all
}

var (
	codeComment = regexp.MustCompile(`(?:^|\s)(?://|#)\s+(.*)$`)
	codeString  = regexp.MustCompile(`"[^"]* [^"]*"`)
)

// codeLine returns the comment and the strings of a line of code in a document or a script.
func codeLine(file string, n int, line string, in scope) []piece {
	var all []piece
	for _, s := range codeString.FindAllString(line, -1) {
		p := piece{file: file, scope: in, quoted: true}
		p.add(n, strings.Trim(s, `"`))
		all = append(all, p)
	}
	if m := codeComment.FindStringSubmatch(line); m != nil {
		p := piece{file: file, scope: in}
		p.add(n, m[1])
		all = append(all, p)
	}
	return all
}

// script returns the comments of a shell script or a makefile.
func script(file, text string) []piece {
	var all []piece
	cur := piece{file: file}
	for i, line := range strings.Split(text, "\n") {
		trimmed := strings.TrimSpace(line)
		if rest, ok := strings.CutPrefix(trimmed, "#"); ok && !strings.HasPrefix(rest, "!") && strings.TrimSpace(rest) != "" {
			cur.add(i+1, strings.TrimSpace(rest))
			continue
		}
		if cur.text != "" {
			all = append(all, cur)
			cur = piece{file: file}
		}
	}
	return all
}

// program returns the comments of a Go file. Those that go doc shows, and all of an
// example, are public, as are the strings of commands and examples.
func program(file string, src []byte) ([]piece, error) {
	fset := token.NewFileSet()
	f, err := parser.ParseFile(fset, file, src, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	shown := shownComments(f)
	base := path.Base(file)
	internal := strings.Contains(file, "internal/")
	test := strings.HasSuffix(base, "_test.go")
	example := strings.HasPrefix(file, "examples/") || strings.HasPrefix(base, "example_")
	command := strings.HasPrefix(file, "cmd/") && !test
	var all []piece
	for _, group := range f.Comments {
		in := everywhere
		if example || !internal && !test && shown[group] && !strings.HasPrefix(file, "tests/") {
			in = public
		}
		if strings.HasPrefix(file, "examples/") {
			in = beginners
		}
		all = append(all, comment(file, fset, group, in)...)
	}
	if command || example {
		ast.Inspect(f, func(n ast.Node) bool {
			if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.STRING && strings.Contains(lit.Value, " ") {
				if s, err := strconv.Unquote(lit.Value); err == nil {
					p := piece{file: file, scope: public, quoted: !strings.Contains(s, ". ")}
					p.add(fset.Position(lit.Pos()).Line, strings.Join(strings.Fields(s), " "))
					all = append(all, p)
				}
			}
			return true
		})
	}
	return all, nil
}

// comment returns the paragraphs of a group of comments.
func comment(file string, fset *token.FileSet, group *ast.CommentGroup, in scope) []piece {
	var all []piece
	cur := piece{file: file, scope: in}
	flush := func() {
		if cur.text != "" {
			all = append(all, cur)
		}
		cur = piece{file: file, scope: in}
	}
	for _, c := range group.List {
		first := fset.Position(c.Pos()).Line
		for i, line := range strings.Split(strings.TrimSuffix(strings.TrimPrefix(c.Text, "/*"), "*/"), "\n") {
			line = strings.TrimPrefix(line, "//")
			switch {
			case strings.TrimSpace(line) == "" || strings.HasPrefix(line, "go:") || strings.HasPrefix(line, "\t"):
				flush() // a paragraph's end, a directive, code
			default:
				if item.MatchString(line) {
					flush()
					line = item.ReplaceAllString(line, "")
				}
				cur.add(first+i, strings.TrimSpace(line))
			}
		}
	}
	flush()
	return all
}

// shownComments returns the comments that go doc shows: of the package, of exported
// declarations, and of their exported fields and methods.
func shownComments(f *ast.File) map[*ast.CommentGroup]bool {
	shown := map[*ast.CommentGroup]bool{f.Doc: true}
	fields := func(list *ast.FieldList) {
		for _, field := range list.List {
			if len(field.Names) == 0 || slices.ContainsFunc(field.Names, (*ast.Ident).IsExported) {
				shown[field.Doc], shown[field.Comment] = true, true
			}
		}
	}
	for _, d := range f.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			shown[d.Doc] = shown[d.Doc] || d.Name.IsExported() && exportedReceiver(d)
		case *ast.GenDecl:
			for _, s := range d.Specs {
				switch s := s.(type) {
				case *ast.TypeSpec:
					if !s.Name.IsExported() {
						continue
					}
					shown[d.Doc], shown[s.Doc], shown[s.Comment] = true, true, true
					switch typ := s.Type.(type) {
					case *ast.StructType:
						fields(typ.Fields)
					case *ast.InterfaceType:
						fields(typ.Methods)
					}
				case *ast.ValueSpec:
					if slices.ContainsFunc(s.Names, (*ast.Ident).IsExported) {
						shown[d.Doc], shown[s.Doc], shown[s.Comment] = true, true, true
					}
				}
			}
		}
	}
	delete(shown, nil)
	return shown
}

func exportedReceiver(d *ast.FuncDecl) bool {
	if d.Recv == nil {
		return true
	}
	typ := d.Recv.List[0].Type
	if star, ok := typ.(*ast.StarExpr); ok {
		typ = star.X
	}
	if index, ok := typ.(*ast.IndexExpr); ok {
		typ = index.X
	}
	name, ok := typ.(*ast.Ident)
	return ok && name.IsExported()
}

// pieces returns the pieces of a file, none if it holds no English of ours.
func pieces(root, file string) ([]piece, error) {
	b, err := os.ReadFile(path.Join(root, file))
	if err != nil {
		return nil, err
	}
	switch ext := path.Ext(file); {
	case strings.HasPrefix(file, "tests/english/"):
		return nil, nil // the phrases themselves
	case ext == ".md":
		return markdown(file, string(b), documentScope(file)), nil
	case ext == ".go":
		if strings.Contains(string(b), "\n// Code generated ") || strings.HasPrefix(string(b), "// Code generated ") {
			return nil, nil
		}
		return program(file, b)
	case ext == ".sh", ext == ".yml", file == "Makefile", file == ".ci/run":
		return script(file, string(b)), nil
	case file == "tests/arch/calls.txt":
		var all []piece
		for i, line := range strings.Split(string(b), "\n") {
			p := piece{file: file}
			p.add(i+1, line)
			all = append(all, p)
		}
		return all, nil
	}
	return nil, nil
}

// documentScope returns the narrowest scope of a document.
func documentScope(file string) scope {
	switch {
	case file == "README.md", file == "docs/README.md", file == "docs/getting-started.md", file == "docs/faq.md",
		strings.HasPrefix(file, "docs/guides/"), strings.HasPrefix(file, "examples/"):
		return beginners
	case strings.HasPrefix(file, "bench/"), strings.HasPrefix(file, "tests/"):
		return everywhere
	}
	return public
}
