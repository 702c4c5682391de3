package pooltest

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/galehttp/gale/internal/lifetime"
)

// filler puts values into fields. With only < 0 it fills all of them, otherwise
// only the field with that number, counted in the order in which it meets them.
type filler struct {
	c    *Check
	only int
	n    int      // leaves met
	at   []string // the fields around the current one
	path []string // the path of the field that was filled, including itself
}

// fill fills v, whose name is used in messages, and reports whether it changed it.
func (f *filler) fill(v reflect.Value, name string) (changed bool) {
	v = writable(v)
	if v.Type() == reflect.TypeFor[*lifetime.Loan]() {
		return false // lent objects never go into a pool
	}
	if make := f.c.Make[v.Type()]; make != nil {
		return f.leaf(name, func() { v.Set(reflect.ValueOf(make())) })
	}
	switch v.Kind() {
	case reflect.Struct:
		return f.fillStruct(v, name)
	case reflect.Pointer:
		return f.fillPointer(v, name)
	case reflect.Array:
		return f.leaf(name, func() {
			for i := range v.Len() {
				f.all(v.Index(i), name)
			}
		})
	case reflect.Slice:
		return f.leaf(name, func() {
			s := reflect.MakeSlice(v.Type(), 3, 3)
			for i := range s.Len() {
				f.all(s.Index(i), name)
			}
			v.Set(s)
		})
	case reflect.Map:
		return f.leaf(name, func() {
			key, elem := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
			f.all(key, name)
			f.all(elem, name)
			m := reflect.MakeMap(v.Type())
			m.SetMapIndex(key, elem)
			v.Set(m)
		})
	}
	return f.leaf(name, func() { f.fillScalar(v, name) })
}

// leaf fills one field, if it is its turn.
func (f *filler) leaf(name string, set func()) bool {
	mine := f.only < 0 || f.n == f.only
	f.n++
	if mine {
		f.path = append(slices.Clone(f.at), name)
		set()
	}
	return mine
}

// all fills v, whatever the value of only.
func (f *filler) all(v reflect.Value, name string) {
	(&filler{c: f.c, only: -1}).fill(v, name)
}

func (f *filler) fillStruct(v reflect.Value, name string) (changed bool) {
	t := v.Type()
	switch {
	case t == reflect.TypeFor[time.Time]():
		return f.leaf(name, func() { v.Set(reflect.ValueOf(time.Unix(1e9, 5))) })
	case t == reflect.TypeFor[sync.Mutex](), t == reflect.TypeFor[sync.RWMutex](), t == reflect.TypeFor[sync.Once]():
		return false // not of user code
	case t.PkgPath() == "sync/atomic":
		store := v.Addr().MethodByName("Store")
		return f.leaf(name, func() {
			arg := reflect.New(store.Type().In(0)).Elem()
			f.all(arg, name)
			store.Call([]reflect.Value{arg})
		})
	}
	for i := range t.NumField() {
		if t.Field(i).Type.Size() == 0 {
			continue
		}
		field := fieldName(t, i, name)
		f.at = append(f.at, field)
		if f.fill(v.Field(i), field) {
			changed = true
		}
		f.at = f.at[:len(f.at)-1]
	}
	if fit := f.c.Fit[t]; fit != nil && changed {
		fit(v.Addr().Interface())
	}
	return changed
}

// fillPointer sets v to point to an object. If the object belongs to the owner, it
// is filled too; otherwise it is a zero value.
func (f *filler) fillPointer(v reflect.Value, name string) (changed bool) {
	p := reflect.New(v.Type().Elem())
	if f.leaf(name, func() { v.Set(p) }) {
		changed = true
	}
	if f.c.owns(v.Type().Elem()) && f.fill(p.Elem(), name) {
		v.Set(p)
		changed = true
	}
	return changed
}

func (f *filler) fillScalar(v reflect.Value, name string) {
	switch v.Kind() {
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		v.SetInt(0x5a)
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Uintptr:
		v.SetUint(0x5a)
	case reflect.Float32, reflect.Float64:
		v.SetFloat(0.5)
	case reflect.String:
		v.SetString("canary")
	case reflect.Chan:
		v.Set(reflect.MakeChan(v.Type(), 1))
	case reflect.Func:
		t := v.Type()
		v.Set(reflect.MakeFunc(t, func([]reflect.Value) (out []reflect.Value) {
			for i := range t.NumOut() {
				out = append(out, reflect.Zero(t.Out(i)))
			}
			return out
		}))
	case reflect.Interface:
		for _, s := range f.c.Stubs {
			if st := reflect.TypeOf(s); st.Implements(v.Type()) {
				v.Set(reflect.ValueOf(s))
				return
			}
		}
		panic(fmt.Sprintf("%s: no value for %s: add one to Stubs", name, v.Type()))
	default:
		panic(fmt.Sprintf("%s: a %s can't be filled: add its type to Make", name, v.Type()))
	}
}

// writable returns v in a form that can be changed, even if it is unexported.
func writable(v reflect.Value) reflect.Value {
	return reflect.NewAt(v.Type(), v.Addr().UnsafePointer()).Elem()
}

// fieldName returns the name of field i of t, "package.Type.field". For a type
// without a name it is the name of the field that has it, and ".field".
func fieldName(t reflect.Type, i int, owner string) string {
	if t.Name() != "" {
		owner, _, _ = strings.Cut(t.String(), "[")
	}
	return owner + "." + t.Field(i).Name
}
