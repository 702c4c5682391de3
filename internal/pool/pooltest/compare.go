package pooltest

import (
	"fmt"
	"reflect"
	"slices"
)

// differ collects how an object differs from a new one.
type differ struct {
	c     *Check
	alone []string // the path of the one field that was set; nil if all were
	found []string
	met   map[[2]uintptr]bool // pointers whose targets were compared: objects may point to themselves
}

func (d *differ) report(name, format string, args ...any) {
	d.found = append(d.found, name+" "+fmt.Sprintf(format, args...))
}

func (d *differ) compare(used, fresh reflect.Value, name string) {
	d.c.meet(name)
	if _, ok := d.c.Keep[name]; ok {
		d.spare(used, name)
		return
	}
	if _, ok := d.c.Guarded[name]; ok && slices.Contains(d.alone, name) {
		return
	}
	switch used.Kind() {
	case reflect.Struct:
		t := used.Type()
		for i := range t.NumField() {
			d.compare(used.Field(i), fresh.Field(i), fieldName(t, i, name))
		}
	case reflect.Array:
		for i := range used.Len() {
			d.compare(used.Index(i), fresh.Index(i), name)
		}
	case reflect.Slice:
		d.slices(used, fresh, name)
	case reflect.Pointer:
		d.pointers(used, fresh, name)
	case reflect.Interface, reflect.Func, reflect.UnsafePointer:
		if used.IsNil() != fresh.IsNil() {
			d.report(name, "is %s, in a new one %s", nilness(used), nilness(fresh))
		}
	case reflect.Chan, reflect.Map:
		if used.IsNil() != fresh.IsNil() || used.Len() != fresh.Len() {
			d.report(name, "has %d elements, a new one %d", used.Len(), fresh.Len())
		}
	default:
		if !used.Equal(fresh) {
			d.report(name, "is %v, in a new one %v", used, fresh)
		}
	}
}

func (d *differ) slices(used, fresh reflect.Value, name string) {
	if slices.Contains(d.c.Cleared, name) {
		for i := range used.Len() {
			if !used.Index(i).IsZero() {
				d.report(name, "is not cleared")
				return
			}
		}
		return
	}
	d.spare(used, name)
	if used.IsNil() != fresh.IsNil() && !slices.Contains(d.c.Memory, name) || used.Len() != fresh.Len() {
		d.report(name, "has %d elements and memory for %d, a new one %d and %d", used.Len(), used.Cap(), fresh.Len(), fresh.Cap())
		return
	}
	for i := range used.Len() {
		d.compare(used.Index(i), fresh.Index(i), name)
	}
}

func (d *differ) pointers(used, fresh reflect.Value, name string) {
	switch {
	case slices.Contains(d.c.Memory, name) && fresh.IsNil() && !used.IsNil():
		d.compare(used.Elem(), reflect.Zero(used.Type().Elem()), name+"*")
	case used.IsNil() != fresh.IsNil():
		d.report(name, "is %s, in a new one %s", nilness(used), nilness(fresh))
	case !used.IsNil() && used.Pointer() != fresh.Pointer():
		pair := [2]uintptr{used.Pointer(), fresh.Pointer()}
		if d.met[pair] {
			return
		}
		if d.met == nil {
			d.met = make(map[[2]uintptr]bool)
		}
		d.met[pair] = true
		d.compare(used.Elem(), fresh.Elem(), name)
	}
}

// spare looks for pointers in the memory that a slice keeps beyond its length. They
// would keep forgotten objects alive.
func (d *differ) spare(s reflect.Value, name string) {
	if s.Kind() != reflect.Slice || !hasPointers(s.Type().Elem()) {
		return
	}
	s = writable(s)
	for i, all := s.Len(), s.Slice(0, s.Cap()); i < all.Len(); i++ {
		if _, ok := d.c.Keep[name+"[spare]"]; ok {
			d.c.meet(name + "[spare]")
			return
		}
		if !all.Index(i).IsZero() {
			d.report(name, "has pointers in its spare memory")
			return
		}
	}
}

func hasPointers(t reflect.Type) bool {
	switch t.Kind() {
	case reflect.Bool, reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64, reflect.Uint, reflect.Uint8,
		reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Uintptr, reflect.Float32, reflect.Float64:
		return false
	case reflect.Array:
		return hasPointers(t.Elem())
	case reflect.Struct:
		for i := range t.NumField() {
			if hasPointers(t.Field(i).Type) {
				return true
			}
		}
		return false
	}
	return true
}

func nilness(v reflect.Value) string {
	if v.IsNil() {
		return "nil"
	}
	return "set"
}
