package pathrule

import (
	"bytes"
	"path"
	"strings"
	"testing"

	"github.com/galehttp/gale/tests/harness/peers"
)

func TestAppendNormal(t *testing.T) {
	for _, tt := range []struct{ in, slash, backslash string }{
		{"", "/", "/"},
		{"/", "/", "/"},
		{"///", "/", "/"},
		{"a", "/a", "/a"},
		{"..", "/", "/"},
		{"/a/b/..", "/a/", "/a/"},
		{"/a/b/.", "/a/b/", "/a/b/"},
		{"/a/b/../", "/a/", "/a/"},
		{"/a/..", "/", "/"},
		{"/../../x", "/x", "/x"},
		{"/a/../../b/", "/b/", "/b/"},
		{"/a//../b", "/b", "/b"},
		{"/..a/...b/.c/d..", "/..a/...b/.c/d..", "/..a/...b/.c/d.."},
		{"/a%2Fb", "/a/b", "/a/b"},
		{"/%2e%2E/%2f/x", "/x", "/x"},
		{"/a%2f%2e%2e%2fb", "/b", "/b"},
		{"/%252e%252e/x", "/%2e%2e/x", "/%2e%2e/x"},
		{`/a\..\..\b`, `/a\..\..\b`, "/b"},
		{"/a/..%5c..%5cb", `/a/..\..\b`, "/b"},
		{`\..\x`, `/\..\x`, "/x"},
		{`/\\host\share`, `/\\host\share`, "/host/share"},
		{"/%", "/%", "/%"},
	} {
		if got := string(AppendNormal([]byte("P"), []byte(tt.in), false, "")); got != "P"+tt.slash {
			t.Errorf("%q: %q, want %q", tt.in, got[1:], tt.slash)
		}
		if got := string(AppendNormal([]byte("P"), []byte(tt.in), true, "")); got != "P"+tt.backslash {
			t.Errorf("%q with backslashes: %q, want %q", tt.in, got[1:], tt.backslash)
		}
	}
}

func FuzzAppendNormal(f *testing.F) {
	for _, s := range []string{"/a/../b", "/%2e%2e/", `\..\`, "////.//..", "%2f%2e"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, src []byte) {
		got := AppendNormal(nil, src, false, "")
		peers.CheckNormalPath(t, got)
		if len(got) > len(src)+1 {
			t.Fatalf("%q grew to %q", src, got)
		}
		win := AppendNormal(nil, src, true, "")
		peers.CheckNormalPath(t, win)
		if bytes.IndexByte(win, '\\') >= 0 {
			t.Fatalf("%q kept a backslash: %q", src, win)
		}
		// Without escapes it is path.Clean, except for the trailing slash.
		if bytes.IndexByte(src, '%') < 0 {
			if want := path.Clean("/" + string(src)); strings.TrimSuffix(string(got), "/") != strings.TrimSuffix(want, "/") {
				t.Fatalf("%q: %q, path.Clean: %q", src, got, want)
			}
			if again := AppendNormal(nil, got, false, ""); !bytes.Equal(again, got) {
				t.Fatalf("%q: normal form %q changes to %q", src, got, again)
			}
		}
	})
}

// TestRoutedPathsDiffer proves that segments that differ once decoded have different paths after a router, and that
// these can be decoded and written as they came.
func TestRoutedPathsDiffer(t *testing.T) {
	parts := []string{"%2F", "%5C", "%25", "%32", "%", "2", "5", "F", "c", "25"}
	segments := map[string]string{} // by path
	var check func(src []byte, more int)
	check = func(src []byte, more int) {
		var segment, decoded []byte
		for b := src; len(b) > 0; {
			c, n := DecodeByte(b)
			segment, b = append(segment, c), b[n:]
		}
		made := AppendRouted(nil, append([]byte{'/'}, src...), false)
		if old, ok := segments[string(made)]; ok && old != string(segment) {
			t.Errorf("the segments %q and %q have the path %q", old, segment, made)
		}
		segments[string(made)] = string(segment)
		for b := made[1:]; len(b) > 0; {
			c, n := DecodeRoutedByte(b)
			decoded, b = append(decoded, c), b[n:]
		}
		if !bytes.Equal(decoded, segment) {
			t.Errorf("the path %q of %q is decoded to %q, want %q", made, src, decoded, segment)
		}
		if again := AppendRouted(nil, AppendEscapedRouted(nil, made), false); !bytes.Equal(again, made) {
			t.Errorf("the path %q is written as %q, which has the path %q", made, AppendEscapedRouted(nil, made), again)
		}
		for _, part := range parts[:min(more, 1)*len(parts)] {
			check(append(src[:len(src):len(src)], part...), more-1)
		}
	}
	check(nil, 4)
}
