//go:build !race

package kv

import (
	"testing"

	"github.com/galehttp/gale/internal/alloctest"
)

func TestAllocs(t *testing.T) {
	var l List
	query, cookies := []byte("a=b&foo=b%20r&c&d=e+f"), []byte("a=b; session=0123456789abcdef; c=d")
	var all [][]byte
	for _, tt := range []struct {
		name string
		f    func()
	}{
		{"query", func() { l.Reset(); l.AddQuery(query, 100); l.Peek("foo"); all = l.PeekAll(all[:0], "a") }},
		{"cookies", func() { l.Reset(); l.AddCookies(cookies, 100); l.Peek("session") }},
		{"set", func() { l.Set("a", "b"); l.Add("x", "y"); l.Del("x"); l.Reset() }},
	} {
		tt.f()
		if n := alloctest.PerRun(100, tt.f); n != 0 {
			t.Errorf("%s: %v allocations", tt.name, n)
		}
	}
}
