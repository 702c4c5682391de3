package door

import (
	"reflect"
	"sync/atomic"
	"testing"
)

// TestPooledForgets proves, field by field, that Reset leaves nothing of a request but memory: of a Route with
// all fields, and with each alone, as most are reset in less time.
func TestPooledForgets(t *testing.T) {
	others := []NamedSpan{{"name", Span{1, 2}}}
	all := Route{
		Used: true, Prefix: "/p", Found: &Match{}, Values: []Span{{1, 2}}, Base: Span{1, 2}, Noted: true,
		Text: []byte("text"), Others: others, Running: true, Outer: &Outer{},
		mount: mount{depth: 1}, start: 1, saved: []byte("path"),
		Missed: []byte("missed"), Asked: 1, Moved: true, Early: true, kept: kept{1, []byte("/target"), 1, 1, true, 1},
		Given: &atomic.Bool{}, Made: new(bool),
	}
	if v := reflect.ValueOf(all); v.NumField() != 20 {
		t.Errorf("a Route has %d fields: set the new one above and below", v.NumField())
	}
	for _, r := range []Route{
		all, {Used: true}, {Prefix: "/p"}, {Found: &Match{}}, {Values: all.Values}, {Base: Span{1, 1}}, {Base: Span{0, 1}}, {Noted: true},
		{Text: all.Text}, {Others: []NamedSpan{{"name", Span{1, 2}}}}, {Running: true}, {Outer: &Outer{}}, {mount: all.mount},
		{start: 1}, {saved: all.saved}, {Missed: all.Missed}, {Asked: 1, kept: all.kept}, {Moved: true}, {Early: true},
	} {
		r.Reset()
		forgotten(t, r)
	}
	if others[0].Name != "" {
		t.Error("the name of a value is left in memory that isn't used")
	}
	for _, r := range []Route{{Text: make([]byte, 0, 5000)}, {kept: kept{text: make([]byte, 0, 5000)}}, {Values: make([]Span, 0, 5000)}} {
		if r.Reset(); cap(r.Text)+cap(r.kept.text)+cap(r.Values) != 0 {
			t.Error("much memory is kept")
		}
	}
}

func forgotten(t *testing.T, r Route) {
	t.Helper()
	v := reflect.ValueOf(r)
	for i := range v.NumField() {
		name := v.Type().Field(i).Name
		if name == "Given" || name == "Made" { // which the context has
			continue
		}
		if f := v.Field(i); f.Kind() == reflect.Slice && f.Len() == 0 || f.IsZero() {
			continue
		}
		if name == "kept" && len(r.kept.text) == 0 && r.kept.target == 0 && r.kept.method == 0 && r.kept.router == 0 && !r.kept.hostless && r.kept.owner == nil {
			continue
		}
		t.Errorf("%s is left", name)
	}
}
