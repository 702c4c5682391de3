package kv

import (
	"bytes"
	"testing"
)

func TestAddCookies(t *testing.T) {
	for _, tt := range []struct{ in, list, out string }{
		{"a=b", "a=b", "a=b"},
		{"a=b;c=d", "a=b c=d", "a=b; c=d"},
		{"a=b ;  c = d ", "a=b c=d", "a=b; c=d"},
		{"a=b;\tc=d", "a=b c=d", "a=b; c=d"},
		{"a; b", "=a =b", "a; b"},
		{"=x", "=x", "x"},
		{"a=", "a=", "a="},
		{";", "", ""},
		{"=", "", ""},
		{"a=b; ; c=d;", "a=b c=d", "a=b; c=d"},
		{`a="b"`, `a="b"`, `a="b"`},
		{`a=""`, `a=""`, `a=""`},
		{`a=" b "`, `a=" b "`, `a=" b "`},
		{`a="b;c"; d=e`, `a="b =c" d=e`, `a="b; c"; d=e`},
		{`a="b`, `a="b`, `a="b`},
		{`a=b"`, `a=b"`, `a=b"`},
		{`a="`, `a="`, `a="`},
		{`a=\x; b=c`, `a=\x b=c`, `a=\x; b=c`},
		{`a="x"y"; b=c`, `a="x"y" b=c`, `a="x"y"; b=c`},
		{`a={"x":"y"}; b=c`, `a={"x":"y"} b=c`, `a={"x":"y"}; b=c`},
		{`a=c:\temp`, `a=c:\temp`, `a=c:\temp`},
		{"\"a\"=b; \\=\"", "\"a\"=b \\=\"", "\"a\"=b; \\=\""},
		{"a=b,c=d", "a=b,c=d", "a=b,c=d"},
		{"a= b c ", "a=b c", "a=b c"},
		{"a==b", "a==b", "a==b"},
		{"a=\xff", "a=\xff", "a=\xff"},
		{"a=b; a=c", "a=b a=c", "a=b; a=c"},
		{"==b", "==b", "==b"},
		{"a=b\x00c; d=e", "d=e", "d=e"},
	} {
		var l List
		if !l.AddCookies([]byte(tt.in), 10) {
			t.Errorf("%q: cut off", tt.in)
		}
		if got := dump(&l); got != tt.list {
			t.Errorf("%q: got %q, want %q", tt.in, got, tt.list)
		}
		if got := string(l.AppendCookies(nil)); got != tt.out {
			t.Errorf("%q: printed %q, want %q", tt.in, got, tt.out)
		}
	}
	var l List
	if l.AddCookies([]byte("a=1; b=2; c=3"), 2) || l.Len() != 2 {
		t.Errorf("limit 2 left %d cookies", l.Len())
	}
	l.Reset()
	l.Add("a;b\r", "c\nd\x00e;f")
	if got := string(l.AppendCookies(nil)); got != "a b =c d e f" {
		t.Errorf("got %q", got)
	}
}

func FuzzCookies(f *testing.F) {
	f.Add([]byte("a=b; c=\"d\"; e"))
	f.Add([]byte("==;;\t \"\"\"=\\"))
	f.Fuzz(func(t *testing.T, src []byte) {
		var l, m List
		l.AddCookies(src, 64)
		out := l.AppendCookies(nil)
		m.AddCookies(out, 64)
		w := 0
		for i := range l.Len() {
			k, v := l.At(i)
			if k2, v2 := m.At(w); !bytes.Equal(k, k2) || !bytes.Equal(v, v2) {
				t.Fatalf("%q: %q=%q printed as %q and parsed again is %q=%q", src, k, v, out, k2, v2)
			}
			w++
		}
		if m.Len() != w {
			t.Fatalf("%q: printed as %q, has %d cookies, want %d", src, out, m.Len(), w)
		}
	})
}
