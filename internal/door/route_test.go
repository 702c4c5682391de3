package door

import (
	"reflect"
	"sync/atomic"
	"testing"
)

// TestPooledForgets proves, field by field, that Reset leaves nothing of a request but memory: of a Route with
// all fields, with each alone, and with what its methods have set, as most are reset in less time.
func TestPooledForgets(t *testing.T) {
	others := []NamedSpan{{"name", Span{1, 2}}}
	all := Route{
		Used: true, Prefix: "/p", Found: &Match{}, Values: []Span{{1, 2}}, Base: Span{1, 2}, Noted: true,
		Text: []byte("text"), Others: others, Running: true, Outer: &Outer{},
		few: true, mount: mount{depth: 1}, start: 1, saved: []byte("path"),
		Missed: []byte("missed"), Asked: 1, Moved: true, Early: true, kept: kept{1, []byte("/target"), 1, 1, true, 1},
		Given: &atomic.Bool{}, Made: new(bool),
	}
	if v := reflect.ValueOf(all); v.NumField() != 21 {
		t.Errorf("a Route has %d fields: set the new one above and below", v.NumField())
	}
	for _, r := range []Route{
		all, {Used: true}, {few: true, Prefix: "/p"}, {Found: &Match{}}, {Values: all.Values}, {few: true, Base: Span{1, 1}}, {few: true, Base: Span{0, 1}}, {Noted: true},
		{Text: all.Text}, {few: true, Others: []NamedSpan{{"name", Span{1, 2}}}}, {Running: true}, {few: true, Outer: &Outer{}}, {few: true, mount: all.mount},
		{few: true, start: 1}, {few: true, saved: all.saved}, {Missed: all.Missed}, {Asked: 1, kept: all.kept}, {Moved: true}, {Early: true},
	} {
		r.Reset()
		forgotten(t, r)
	}
	found := &Match{Pattern: "/{a}/{b...}", Names: []string{"", ""}}
	begin := func(r *Route) {
		r.Begin()
		r.Used, r.Found, r.Values, r.Running = true, found, make([]Span, 2), true
		r.Capture([]byte("/a/b"), 2)
		r.Values[0], r.Values[1] = Span{1, 2}, Span{3, 4}
	}
	for name, do := range map[string]func(r *Route){
		"Begin": func(r *Route) {},
		"Set":   func(r *Route) { r.Set("name", "value") },
		"Enter": func(r *Route) { r.Enter(found, r.Values[1]) },
		"Enter, Begin, Miss": func(r *Route) {
			s := r.Mount()
			r.Enter(found, r.Values[1])
			s = r.Save(s, []byte("/a/b"), []byte("/b"))
			begin(r)
			r.Restore(s, []byte("/b"))
			r.Miss()
		},
		"Begin, Resume": func(r *Route) {
			begin(r)
			r.Resume(r.Outer)
		},
		"NotFound": func(r *Route) { r.NotFound([]byte("/a/b")) },
	} {
		var r Route
		r.Given = &atomic.Bool{}
		begin(&r)
		do(&r)
		r.End()
		t.Run(name, func(t *testing.T) {
			r.Reset()
			forgotten(t, r)
		})
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
