package overlay

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"slices"
)

// File is a source file, and the edits that were made to it.
type File struct {
	Name    string // its path
	Text    []byte // without the edits
	Syntax  *ast.File
	Package *types.Package
	Info    *types.Info // of all files of the package: Types, Uses and Selections

	fset  *token.FileSet
	edits []edit
	end   string // after the text
}

// edit replaces Text[from:to] by with. Among edits at one place, closings come first, the
// innermost before the others, then openings, the outermost first, then replacements.
type edit struct {
	from, to int
	with     string
	order    int
}

func (f *File) offset(p token.Pos) int { return f.fset.Position(p).Offset }

// Line returns the number of the line of p.
func (f *File) Line(p token.Pos) int { return f.fset.Position(p).Line }

// Source returns the text of n, without edits.
func (f *File) Source(n ast.Node) string {
	return string(f.Text[f.offset(n.Pos()):f.offset(n.End())])
}

// Insert inserts text before p.
func (f *File) Insert(p token.Pos, text string) {
	f.edits = append(f.edits, edit{f.offset(p), f.offset(p), text, len(f.edits)})
}

// Wrap puts before and after around n. Of several calls for the same beginning or end, the
// call for an outer node must come first.
func (f *File) Wrap(n ast.Node, before, after string) {
	f.Insert(n.Pos(), before)
	f.Close(n, after)
}

// Close inserts text after n, before what earlier calls have inserted there.
func (f *File) Close(n ast.Node, text string) {
	f.edits = append(f.edits, edit{f.offset(n.End()), f.offset(n.End()), text, -len(f.edits) - 1})
}

// Replace replaces the text between two places.
func (f *File) Replace(from, to token.Pos, text string) {
	f.edits = append(f.edits, edit{f.offset(from), f.offset(to), text, len(f.edits) + 1<<30})
}

// Import imports a package by another name.
func (f *File) Import(name, path string) {
	f.Insert(f.Syntax.Name.End(), fmt.Sprintf("; import %s %q", name, path))
}

// Append appends text to the file.
func (f *File) Append(text string) { f.end += text }

// IsEdited reports whether the file was edited.
func (f *File) IsEdited() bool { return len(f.edits) > 0 || f.end != "" }

// edited returns the text with the edits.
func (f *File) edited() []byte {
	slices.SortStableFunc(f.edits, func(a, b edit) int {
		if a.from != b.from {
			return a.from - b.from
		}
		return a.order - b.order
	})
	var out []byte
	done := 0
	for _, e := range f.edits {
		out = append(append(out, f.Text[done:e.from]...), e.with...)
		done = e.to
	}
	return append(append(out, f.Text[done:]...), f.end...)
}
