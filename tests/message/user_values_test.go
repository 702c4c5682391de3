package message

import (
	"reflect"
	"testing"

	"github.com/galehttp/gale"
)

type closerValue struct {
	name string
	log  *[]string
}

func (c closerValue) Close() error { *c.log = append(*c.log, c.name); return nil }

func TestUserValues(t *testing.T) {
	type key struct{ n int }
	var req gale.Request
	if req.UserValue("a") != nil {
		t.Fatal("the zero value has user values")
	}
	req.SetUserValue("a", 1)
	req.SetUserValueBytes([]byte("b"), 2)
	req.SetUserValue([]byte("c"), 3)
	req.SetUserValue(key{1}, 4)
	req.SetUserValue("nil", nil)
	req.SetUserValue("b", 5)
	for _, c := range []struct {
		key  any
		want any
	}{
		{"a", 1}, {"b", 5}, {[]byte("b"), 5}, {"c", 3}, {key{1}, 4}, {key{2}, nil}, {"nil", nil}, {1, nil},
	} {
		if got := req.UserValue(c.key); got != c.want {
			t.Errorf("%v: %v, want %v", c.key, got, c.want)
		}
	}
	if req.UserValueBytes([]byte("a")) != 1 {
		t.Error("UserValueBytes")
	}
	var all, named []any
	req.VisitUserValuesAll(func(k, v any) { all = append(all, k, v) })
	req.VisitUserValues(func(k []byte, v any) { named = append(named, string(k), v) })
	if want := []any{"a", 1, "b", 5, "c", 3, key{1}, 4}; !reflect.DeepEqual(all, want) {
		t.Errorf("all: %v", all)
	}
	if want := []any{"a", 1, "b", 5, "c", 3}; !reflect.DeepEqual(named, want) {
		t.Errorf("named: %v", named)
	}
	req.RemoveUserValue([]byte("a"))
	req.RemoveUserValueBytes([]byte("c"))
	req.RemoveUserValue(key{1})
	req.RemoveUserValue("gone")
	if req.UserValue("b") != 5 || req.UserValue("a") != nil || req.UserValue("c") != nil || req.UserValue(key{1}) != nil {
		t.Error("after removals")
	}
}

func TestUserValuesAreClosed(t *testing.T) {
	var log []string
	var req gale.Request
	v := func(s string) closerValue { return closerValue{s, &log} }
	req.SetUserValue("1", v("1"))
	req.SetUserValue("2", 2)
	req.SetUserValue("3", v("3"))
	req.SetUserValue("4", v("4"))
	req.RemoveUserValue("3")
	req.Reset()
	if want := []string{"1", "4"}; !reflect.DeepEqual(log, want) {
		t.Fatalf("closed %v, want %v", log, want)
	}
	req.ResetUserValues()
	if req.UserValue("2") != nil || len(log) != 2 {
		t.Fatal("values are left")
	}
}
