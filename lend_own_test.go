package gale

import (
	"bytes"
	"reflect"
	"strings"
	"testing"
)

// TestResultsOfCallerStay proves the counterpart of TestKeptBytesAreOverwritten: bytes that
// belong to the caller, as the documentation says, and all strings are the same after the
// end of a loan.
func TestResultsOfCallerStay(t *testing.T) {
	found := 0
	forLentTypes(t, func(t *testing.T, name string, fill func() lender) {
		o := fill()
		m := reflect.ValueOf(o).MethodByName(name)
		if !returns(m.Type(), reflect.TypeFor[string]()) && !(ownBytes[name] && returns(m.Type(), reflect.TypeFor[[]byte]())) {
			return
		}
		l, _ := newLoan()
		o.lend(l)
		var kept, want []reflect.Value
		for _, v := range m.Call(arguments(m.Type())) {
			switch r := v.Interface().(type) {
			case []byte:
				kept, want = append(kept, v), append(want, reflect.ValueOf(bytes.Clone(r)))
			case string:
				kept, want = append(kept, v), append(want, reflect.ValueOf(strings.Clone(r)))
			}
		}
		end(o, l)
		for i := range kept {
			found += kept[i].Len()
			if !reflect.DeepEqual(kept[i].Interface(), want[i].Interface()) {
				t.Errorf("%q was returned, and is %q after the end", want[i], kept[i])
			}
		}
	})
	if found < 1000 {
		t.Errorf("all results have only %d bytes", found)
	}
}

func returns(f, of reflect.Type) bool {
	for i := range f.NumOut() {
		if f.Out(i) == of {
			return true
		}
	}
	return false
}
