package lifetimes

import (
	"embed"
	"fmt"
	"go/types"
	"strings"
)

//go:embed tables/*.txt
var tableFiles embed.FS

// An owner is a type whose values lend memory.
type owner struct {
	kind    string // request: until the handler returns; pooled: until it is released; buffer, files
	strings bool   // its methods return strings that alias its memory
}

// An entry is what the tables say about one function.
type entry struct{ effects []string }

type tables struct {
	owners map[string]owner // by path.Type
	funcs  map[string]entry // by path.Func or path.Type.Method
	pkgs   map[string]bool  // packages that a table describes
	quiet  []string         // prefixes of packages that needn't be looked at
}

var known = loadTables()

func loadTables() *tables {
	t := &tables{owners: map[string]owner{}, funcs: map[string]entry{}, pkgs: map[string]bool{}}
	files, err := tableFiles.ReadDir("tables")
	if err != nil {
		panic(err)
	}
	for _, f := range files {
		text, err := tableFiles.ReadFile("tables/" + f.Name())
		if err != nil {
			panic(err)
		}
		if err := t.parse(string(text)); err != nil {
			panic(fmt.Sprintf("%s: %v", f.Name(), err))
		}
	}
	return t
}

func (t *tables) parse(text string) error {
	var paths []string
	for n, line := range strings.Split(text, "\n") {
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		words := strings.Fields(line)
		switch words[0] {
		case "package":
			paths = words[1:]
			for _, p := range paths {
				t.pkgs[p] = true
			}
			continue
		case "quiet":
			t.quiet = append(t.quiet, words[1:]...)
			continue
		case "owner":
			if len(words) < 3 {
				return fmt.Errorf("line %d: owner needs a type and a kind", n+1)
			}
			for _, p := range paths {
				t.owners[p+"."+words[1]] = owner{kind: words[2], strings: len(words) > 3 && words[3] == "strings"}
			}
			continue
		}
		names, effects, ok := strings.Cut(line, ":")
		if !ok || strings.TrimSpace(effects) == "" {
			return fmt.Errorf("line %d: no effects", n+1)
		}
		for _, name := range strings.Fields(names) {
			for _, p := range paths {
				t.funcs[p+"."+name] = entry{strings.Fields(effects)}
			}
		}
	}
	return nil
}

// typeKey returns path.Name of a named type, pointers removed.
func typeKey(typ types.Type) string {
	typ = types.Unalias(typ)
	if p, ok := typ.(*types.Pointer); ok {
		typ = types.Unalias(p.Elem())
	}
	n, ok := typ.(*types.Named)
	if !ok || n.Obj().Pkg() == nil {
		return ""
	}
	return n.Obj().Pkg().Path() + "." + n.Obj().Name()
}

// funcKey returns the key of a function or method in the tables.
func funcKey(f *types.Func) string {
	if f == nil || f.Pkg() == nil {
		return ""
	}
	sig := f.Type().(*types.Signature)
	if recv := sig.Recv(); recv != nil {
		k := typeKey(recv.Type())
		if k == "" {
			return ""
		}
		return k + "." + f.Name()
	}
	return f.Pkg().Path() + "." + f.Name()
}

// ownerOf says whether values of typ, or what it points to, lend memory.
func (p *pass) ownerOf(typ types.Type) (owner, bool) {
	k := typeKey(typ)
	if k == "" {
		return owner{}, false
	}
	if o, ok := p.owners[k]; ok {
		return o, true
	}
	o, ok := known.owners[k]
	return o, ok
}

// requestScoped says whether typ is a context that is lent to a handler.
func (p *pass) requestScoped(typ types.Type) (owner, bool) {
	o, ok := p.ownerOf(typ)
	return o, ok && o.kind == "request"
}

// lentPaths returns the paths from a value of typ to the contexts in it.
func (p *pass) lentPaths(typ types.Type, depth int) []string {
	if _, ok := p.requestScoped(typ); ok {
		return []string{""}
	}
	if depth == 0 {
		return nil
	}
	prefix := ""
	typ = types.Unalias(typ)
	if ptr, ok := typ.(*types.Pointer); ok {
		prefix, typ = "*", ptr.Elem()
	}
	st, ok := typ.Underlying().(*types.Struct)
	if !ok || isForeign(typ) {
		return nil
	}
	var paths []string
	for f := range st.Fields() {
		for _, q := range p.lentPaths(f.Type(), depth-1) {
			paths = append(paths, prefix+"."+f.Name()+q)
		}
	}
	return paths
}

// isForeign says whether a type belongs to a package with a table: its fields are its own.
func isForeign(typ types.Type) bool {
	n, ok := types.Unalias(typ).(*types.Named)
	return ok && n.Obj().Pkg() != nil && known.pkgs[n.Obj().Pkg().Path()]
}

// canHold says whether values of typ can refer to memory.
func canHold(typ types.Type) bool { return holds(typ, 0) }

func holds(typ types.Type, depth int) bool {
	if depth > 6 {
		return true
	}
	switch k := typeKey(typ); k {
	case "time.Time", "net/netip.Addr", "net/netip.AddrPort", "reflect.Type":
		if _, ptr := types.Unalias(typ).(*types.Pointer); !ptr {
			return false
		}
	}
	switch u := typ.Underlying().(type) {
	case *types.Basic:
		return u.Info()&types.IsString != 0 || u.Kind() == types.UnsafePointer || u.Kind() == types.Uintptr || u.Kind() == types.UntypedNil
	case *types.Struct:
		for f := range u.Fields() {
			if holds(f.Type(), depth+1) {
				return true
			}
		}
		return false
	case *types.Array:
		return holds(u.Elem(), depth+1)
	case *types.Tuple:
		for v := range u.Variables() {
			if holds(v.Type(), depth+1) {
				return true
			}
		}
		return false
	}
	return true
}

// elemHolds says whether the elements of a slice, array, map, channel or sequence can.
func elemHolds(typ types.Type) bool {
	switch u := typ.Underlying().(type) {
	case *types.Slice:
		return canHold(u.Elem())
	case *types.Array:
		return canHold(u.Elem())
	case *types.Pointer:
		return elemHolds(u.Elem())
	case *types.Map:
		return canHold(u.Elem()) || canHold(u.Key())
	case *types.Chan:
		return canHold(u.Elem())
	case *types.Basic:
		return false
	}
	return true
}

// onlyStrings says whether all that typ can refer to are strings.
func onlyStrings(typ types.Type) bool {
	switch u := typ.Underlying().(type) {
	case *types.Basic:
		return true
	case *types.Slice:
		b, ok := u.Elem().Underlying().(*types.Basic)
		return ok && b.Info()&types.IsString != 0
	case *types.Map:
		return onlyStrings(u.Key()) && onlyStrings(u.Elem())
	}
	return false
}
