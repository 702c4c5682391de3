package lifetime

import (
	"runtime"
	"strconv"
	"strings"
)

// maxDepth is how many frames of a stack are looked at.
const maxDepth = 64

// callers fills pcs with the stack of the caller's caller.
func callers(pcs *[maxDepth]uintptr) []uintptr {
	return pcs[:runtime.Callers(3, pcs[:])]
}

// frames is what a stack shows about a use.
type frames struct {
	what   string  // the outermost exported method of the library, such as "RequestHeader.Peek"
	caller string  // function, file and line of the first frame outside of the library
	pc     uintptr // of that frame
}

// findFrames finds the caller and what it called. Functions of the standard library between
// the two, such as fmt.Fprintf, are neither.
func findFrames(pcs []uintptr, library string) (f frames) {
	var inner string // an exported method of an internal package
	var standard frames
	for it := runtime.CallersFrames(pcs); ; {
		fr, more := it.Next()
		switch kindOf(fr.Function, fr.File, library) {
		case ofLibrary:
			if name, public := exportedName(fr.Function, library); public {
				f.what = name
			} else if name != "" {
				inner = name
			}
		case ofStandard:
			if standard.caller == "" && fr.Function != "" {
				standard.caller, standard.pc = place(fr.Function, fr.File, fr.Line), fr.PC
			}
		case ofProgram:
			f.caller, f.pc = place(fr.Function, fr.File, fr.Line), fr.PC
		}
		if f.caller != "" || !more {
			break
		}
	}
	if f.what == "" {
		f.what = inner
	}
	if f.what == "" {
		f.what = "object"
	}
	if f.caller == "" {
		f.caller, f.pc = standard.caller, standard.pc
	}
	return f
}

// place returns "main.job (/src/main.go:12)".
func place(function, file string, line int) string {
	return function + " (" + file + ":" + strconv.Itoa(line) + ")"
}

// origins of a function.
type ownerKind uint8

const (
	ofProgram ownerKind = iota
	ofLibrary
	ofStandard
)

// kindOf tells which code a function belongs to. Tests of the library are programs.
func kindOf(function, file, library string) ownerKind {
	if rest, ok := strings.CutPrefix(function, library); ok && rest != "" && (rest[0] == '.' || rest[0] == '/') {
		if strings.HasSuffix(file, "_test.go") || isProgramOf(rest) {
			return ofProgram
		}
		return ofLibrary
	}
	if isStandard(function) {
		return ofStandard
	}
	return ofProgram
}

// isProgramOf reports whether a function of the library's module, whose name continues with
// rest, is of an example or a test, which use the library like other programs.
func isProgramOf(rest string) bool {
	for _, dir := range [...]string{"/cmd/", "/examples/", "/tests/"} {
		if strings.HasPrefix(rest, dir) {
			return true
		}
	}
	return false
}

// isStandard reports whether a function is of the standard library. Only its functions in
// assembly may have names without a package.
func isStandard(function string) bool {
	i := strings.IndexAny(function, "./")
	return i < 0 || standardDirs[function[:i]]
}

// standardDirs are the first elements of the import paths of the standard library. With
// -trimpath nothing else tells its functions from those of a program.
var standardDirs = func() map[string]bool {
	all := map[string]bool{}
	for dir := range strings.FieldsSeq(`archive bufio bytes cmp compress container context crypto database
		debug embed encoding errors expvar flag fmt go hash html image index internal io iter log maps math
		mime net os path plugin reflect regexp runtime slices sort strconv strings structs sync syscall
		testing text time unicode unique unsafe vendor weak`) {
		all[dir] = true
	}
	return all
}()

// exportedName returns Type.Method, or the name of a function, if function is exported or a
// closure within an exported one. public tells whether its package can be imported by
// programs.
func exportedName(function, library string) (name string, public bool) {
	slash := strings.LastIndexByte(function, '/')
	dot := strings.IndexByte(function[slash+1:], '.')
	if dot < 0 {
		return "", false
	}
	path, rest := function[:slash+1+dot], function[slash+1+dot+1:]
	if i := strings.IndexByte(rest, '['); i >= 0 { // type parameters
		if j := strings.LastIndexByte(rest, ']'); j > i {
			rest = rest[:i] + rest[j+1:]
		}
	}
	var method string
	if strings.HasPrefix(rest, "(") {
		typ, after, _ := strings.Cut(rest, ")")
		name, method = strings.TrimLeft(typ, "(*"), strings.TrimPrefix(after, ".")
	} else {
		name, method, _ = strings.Cut(rest, ".")
	}
	method, _, _ = strings.Cut(method, ".")
	method, _, _ = strings.Cut(method, "-")
	name, _, _ = strings.Cut(name, "-")
	public = !strings.HasPrefix(path[min(len(path), len(library)):], "/internal/")
	switch {
	case method == "" || strings.HasPrefix(method, "func"): // a function, or a closure of one
		if !isExported(name) {
			return "", false
		}
		return name, public
	case !isExported(method):
		return "", false
	}
	return name + "." + method, public && isExported(name)
}

func isExported(s string) bool { return s != "" && 'A' <= s[0] && s[0] <= 'Z' }
