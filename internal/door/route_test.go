package door

import (
	"reflect"
	"testing"
)

// TestPooledForgets proves, field by field, that Reset leaves nothing of a request but memory.
func TestPooledForgets(t *testing.T) {
	r := &Route{
		Used: true, Prefix: "/p", Found: &Match{}, Values: []Span{{1, 2}}, Base: Span{1, 2}, Noted: true,
		Text: []byte("text"), Others: []NamedSpan{{"name", Span{1, 2}}}, Running: true, Outer: &Outer{},
		mount: mount{depth: 1}, start: 1, saved: []byte("path"),
		Missed: []byte("missed"), Asked: 1, Moved: true, kept: kept{1, []byte("/target"), 1, 1, true, 1},
	}
	if v := reflect.ValueOf(*r); v.NumField() != 18 {
		t.Errorf("a Route has %d fields: set the new one above", v.NumField())
	}
	others := r.Others
	r.Reset()
	v := reflect.ValueOf(*r)
	for i := range v.NumField() {
		if v.Type().Field(i).Name == "Given" { // which the context has
			continue
		}
		if f := v.Field(i); f.Kind() == reflect.Slice && f.Len() == 0 || f.IsZero() {
			continue
		}
		if v.Type().Field(i).Name == "kept" && len(r.kept.text) == 0 && r.kept.target == 0 && r.kept.method == 0 && r.kept.router == 0 && !r.kept.hostless && r.kept.owner == nil {
			continue
		}
		t.Errorf("%s is left", v.Type().Field(i).Name)
	}
	if others[0].Name != "" {
		t.Error("the name of a value is left in memory that isn't used")
	}
}
