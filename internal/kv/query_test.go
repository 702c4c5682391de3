package kv

import (
	"strings"
	"testing"
)

func TestAddQuery(t *testing.T) {
	for _, tt := range []struct{ in, list, out string }{
		{"", "", ""},
		{"a", "a", "a"},
		{"a=", "a=", "a="},
		{"=a", "=a", "=a"},
		{"=", "", ""},
		{"&&", "", ""},
		{"a=b=c", "a=b=c", "a=b%3Dc"},
		{"a&=&b", "a b", "a&b"},
		{"a=%zz", "a=%zz", "a=%25zz"},
		{"+=+", " = ", "+=+"},
		{"a%20b=c+d", "a b=c d", "a+b=c+d"},
		{"a;b=c&d", "a;b=c d", "a%3Bb=c&d"},
		{"%3D=%26", "==&", "%3D=%26"},
		{"a=1&a=2", "a=1 a=2", "a=1&a=2"},
		{"%2541=1", "%41=1", "%2541=1"},
		{"a=%", "a=%", "a=%25"},
		{"a=%4", "a=%4", "a=%254"},
		{"a%=%4&1=2", "a%=%4 1=2", "a%25=%254&1=2"},
		{"x=%0d%0a", "x=\r\n", "x=%0D%0A"},
	} {
		var l List
		if !l.AddQuery([]byte(tt.in), 10) {
			t.Errorf("%q: cut off", tt.in)
		}
		if got := dump(&l); got != tt.list {
			t.Errorf("%q: got %q, want %q", tt.in, got, tt.list)
		}
		if got := string(l.AppendQuery(nil)); got != tt.out {
			t.Errorf("%q: printed %q, want %q", tt.in, got, tt.out)
		}
	}
}

func TestAddQueryLimit(t *testing.T) {
	var l List
	if l.AddQuery([]byte("a&b&&c&d"), 3) {
		t.Error("want false: d was left out")
	}
	if got := dump(&l); got != "a b c" {
		t.Errorf("got %q", got)
	}
	l.Reset()
	if !l.AddQuery([]byte("a&b&&c&&=&"), 3) {
		t.Error("want true: nothing but empty pairs follow")
	}
}

func FuzzQuery(f *testing.F) {
	for _, s := range []string{"a=b&c", "=&&%4%41+=%", strings.Repeat("k=v&", 20)} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, src []byte) {
		in := string(src)
		var l, m List
		l.AddQuery(src, 64)
		if string(src) != in {
			t.Fatal("AddQuery wrote to its input")
		}
		if l.Len() > 64 {
			t.Fatalf("%d pairs", l.Len())
		}
		m.AddQuery(l.AppendQuery(nil), 64)
		if dump(&l) != dump(&m) || l.Len() != m.Len() {
			t.Fatalf("%q: printed and parsed again, %q became %q", src, dump(&l), dump(&m))
		}
	})
}
