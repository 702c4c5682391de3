package adaptor

import (
	"net/url"
	"testing"
)

// The short way of parsing a target gives what package net/url gives.
func FuzzParsePath(f *testing.F) {
	for _, s := range []string{"/", "/a/b?c=d", "/a%2f", "//a", "/?", "/a?b?c", "/ä", "/a b", "*", "/a#b", "/?a#b", "/a?\x7f", "/:;@&=+$,~!*'()"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, target string) {
		var u url.URL
		if !parsePath(&u, target) {
			return
		}
		want, err := url.ParseRequestURI(target)
		if err != nil || *want != u {
			t.Errorf("%q: %#v, want %#v, %v", target, u, want, err)
		}
	})
}
