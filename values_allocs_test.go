//go:build !race

package gale

import (
	"testing"
	"time"

	"github.com/galehttp/gale/internal/alloctest"
)

// Using values again doesn't allocate.
func TestValuesAllocs(t *testing.T) {
	var (
		a      Args
		u      URI
		c, d   Cookie
		buf    []byte
		host   = []byte("Example.com:8080")
		target = []byte("/a%20b/../c//d?x=y%20z&n=12#h")
		query  = []byte("a=b&foo=b%20r&n=12&d=e+f&f=1.5")
		cookie = []byte("session=0123456789; path=/; max-age=60; HttpOnly; expires=Sun, 06 Nov 1994 08:49:37 GMT")
		date   = []byte("Sun, 06 Nov 1994 08:49:37 GMT")
		params = []byte(`form-data; name="x"; filename=y`)
		now    = time.Now()
	)
	for _, tt := range []struct {
		name string
		f    func()
	}{
		{"args", func() {
			a.ParseBytes(query)
			a.Peek("foo")
			a.GetUintOrZero("n")
			a.GetUfloatOrZero("f")
			a.SetUint("x", 1234567)
			for range a.All() {
			}
			buf = a.AppendBytes(buf[:0])
			a.QueryString()
		}},
		{"uri", func() {
			if err := u.parse(host, target, true, false); err != nil {
				t.Fatal(err)
			}
			u.Path()
			u.QueryArgs().Peek("n")
			u.FullURI()
			u.RequestURI()
			u.SetPath("/x")
		}},
		{"uri update", func() { u.Update("../x?y#z") }},
		{"cookie", func() {
			if err := c.ParseBytes(cookie); err != nil {
				t.Fatal(err)
			}
			c.SetPath("/a/../b")
			d.CopyTo(&c)
			d.Cookie()
		}},
		{"pools", func() {
			ReleaseArgs(AcquireArgs())
			ReleaseURI(AcquireURI())
			ReleaseCookie(AcquireCookie())
		}},
		{"dates", func() {
			if _, err := ParseHTTPDate(date); err != nil {
				t.Fatal(err)
			}
			buf = AppendHTTPDate(buf[:0], now)
		}},
		{"params", func() {
			VisitHeaderParams(params, func(_, _ []byte) bool { return true })
		}},
	} {
		for range 3 {
			tt.f()
		}
		if n := alloctest.PerRun(100, tt.f); n != 0 {
			t.Errorf("%s: %v allocations", tt.name, n)
		}
	}
}
