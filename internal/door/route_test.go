package door

import (
	"testing"

	"github.com/galehttp/gale/internal/pool/pooltest"
)

// TestPooledForgets checks, field by field, that a Route after Reset is like a new one.
func TestPooledForgets(t *testing.T) {
	c := &pooltest.Check{Memory: []string{"door.Route.Values", "door.Route.Text", "door.Route.Others"}}
	pooltest.Run(t, c, pooltest.Object[Route]{New: func() *Route { return new(Route) }, Forget: (*Route).Reset})
}

// TestRouteValues checks values of routers in each other, of SetPathValue, and in a copy.
func TestRouteValues(t *testing.T) {
	var r, c Route
	at := r.Begin()
	r.Text = append(r.Text[:at], "/shops/7/x"...)
	r.Found = &Match{Pattern: "/shops/{shop}/", Names: []string{"shop", ""}}
	r.Values = append(r.Values, Span{7, 8}, Span{9, 10})
	r.Enter("h.i/shops/{shop}", r.Values[1])
	if at = r.Begin(); r.Whole() != "" || string(r.Bytes(r.Base)) != "/shops/7" {
		t.Errorf("in the mount the pattern is %q and the base %q", r.Whole(), r.Bytes(r.Base))
	}
	r.Text = append(r.Text[:at], "/x"...)
	r.Found = &Match{Pattern: "j.k/{id}", Host: 3, Names: []string{"id"}}
	r.Values = append(r.Values[:0], Span{uint32(at) + 1, uint32(at) + 2})
	r.Set("shop", "8")
	r.CopyTo(&c)
	r.Reset()
	for name, want := range map[string]string{"shop": "8", "id": "x", "": "", "none": ""} {
		v, ok := c.Value(name)
		if _, left := r.Value(name); string(v) != want || ok != (want != "") || left {
			t.Errorf("%q is %q, %v; after Reset it is there: %v", name, v, ok, left)
		}
	}
	if c.Whole() != "j.k/shops/{shop}/{id}" {
		t.Errorf("the whole pattern is %q", c.Whole())
	}
	if c.Begin(); c.Prefix != "" || c.Whole() != "" {
		t.Errorf("another router has the prefix %q", c.Prefix)
	}
}
