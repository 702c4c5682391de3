package pooltest

import (
	"reflect"
	"slices"
	"testing"
)

// Check describes the reused objects of a package.
type Check struct {
	// Owned are values of types that belong to the object that points to them:
	// they are filled and compared with it.
	Owned []any
	// Make returns a filled value of a type whose fields can't just be filled.
	Make map[reflect.Type]func() any
	// Fit changes a filled struct of a type, by a pointer to it, so that its fields fit
	// together where they must.
	Fit map[reflect.Type]func(p any)
	// Stubs are values for fields of interface types.
	Stubs []any
	// Memory are the fields, "package.Type.field", whose memory stays: slices with
	// the same length as in a new object, and pointers to objects that are like
	// new.
	Memory []string
	// Cleared are slices whose length stays too and that contain only zeros.
	Cleared []string
	// Keep are the fields that stay as they are, with the reason.
	Keep map[string]string
	// Guarded are the fields whose reset depends on another field. They keep their
	// contents if only they are set. The value says why that can't happen.
	Guarded map[string]string

	met map[string]bool
}

// Object is a type whose objects are reused.
type Object[T any] struct {
	// New makes a new object.
	New func() *T
	// Ready changes a filled object so that it can be given back. nil means that no
	// change is needed.
	Ready func(*T)
	// Forget gives an object back in the way that the library does.
	Forget func(*T)
}

// Run checks a type.
func Run[T any](t *testing.T, c *Check, o Object[T]) {
	t.Helper()
	fresh := reflect.ValueOf(o.New()).Elem()
	run := func(only int) (more bool) {
		f := &filler{c: c, only: only}
		used := o.New()
		v := reflect.ValueOf(used).Elem()
		changed := f.fill(v, v.Type().String())
		if only >= 0 && !changed {
			return only < f.n
		}
		if o.Ready != nil {
			o.Ready(used)
		}
		o.Forget(used)
		d := &differ{c: c}
		if only >= 0 {
			d.alone = f.path
		}
		d.compare(v, fresh, v.Type().String())
		for _, what := range d.found {
			if only < 0 {
				t.Errorf("%s, with every field set", what)
			} else {
				t.Errorf("%s, with %s alone set", what, f.path[len(f.path)-1])
			}
		}
		return true
	}
	run(-1)
	for i := 0; run(i); i++ {
		if i > 10_000 {
			t.Fatal("there is no end of fields")
		}
	}
}

// Unused reports entries of Keep and Guarded that no checked type has any more.
// Call it after all calls of Run.
func (c *Check) Unused(t *testing.T) {
	t.Helper()
	for _, name := range slices.Concat(c.Memory, c.Cleared) {
		if !c.met[name] {
			t.Errorf("%s is listed as memory, and no type has it", name)
		}
	}
	for _, list := range []map[string]string{c.Keep, c.Guarded} {
		for name, reason := range list {
			if !c.met[name] {
				t.Errorf("%s is listed as one that stays, and no type has it", name)
			}
			if reason == "" {
				t.Errorf("%s stays, and the list doesn't say why", name)
			}
		}
	}
}

func (c *Check) meet(name string) {
	if c.met == nil {
		c.met = make(map[string]bool)
	}
	c.met[name] = true
}

func (c *Check) owns(t reflect.Type) bool {
	return slices.ContainsFunc(c.Owned, func(v any) bool { return reflect.TypeOf(v) == t })
}
