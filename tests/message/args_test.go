//lint:file-ignore SA1019 deprecated names have to work, too

package message

import (
	"bytes"
	"net/url"
	"testing"

	"github.com/galehttp/gale"
)

func TestArgsParseAndPrint(t *testing.T) {
	var a gale.Args
	for _, tt := range []struct{ in, out string }{
		{"", ""}, {"a", "a"}, {"a=", "a="}, {"=a", "=a"}, {"=", ""}, {"&&", ""},
		{"a&=&b", "a&b"}, {"a=b=c", "a=b%3Dc"}, {"a=%zz", "a=%25zz"}, {"+=+", "+=+"},
		{"a=%20+", "a=++"}, {"a;b=c&d", "a%3Bb=c&d"}, {"a=1&a=2&a", "a=1&a=2&a"},
		{"%61=%62", "a=b"}, {"a=%2541", "a=%2541"}, {"a=-._~!*'()", "a=-._~%21%2A%27%28%29"},
		{"a=\xff\x00", "a=%FF%00"},
	} {
		a.Parse(tt.in)
		if got := a.String(); got != tt.out {
			t.Errorf("%q: printed %q, want %q", tt.in, got, tt.out)
		}
		if got := string(a.AppendBytes([]byte("?"))); got != "?"+tt.out {
			t.Errorf("%q: appended %q", tt.in, got)
		}
		var w bytes.Buffer
		if n, err := a.WriteTo(&w); err != nil || int(n) != w.Len() || w.String() != tt.out {
			t.Errorf("%q: wrote %q, %d, %v", tt.in, w.String(), n, err)
		}
	}
}

func TestArgsSettersAndGetters(t *testing.T) {
	a := gale.AcquireArgs()
	defer gale.ReleaseArgs(a)
	a.Parse("a=1&b=2&a=3")
	a.Set("a", "9")
	a.SetBytesK([]byte("b"), "x y")
	a.SetBytesV("c", []byte("&"))
	a.SetBytesKV([]byte("d"), []byte("="))
	a.SetNoValue("e")
	a.SetBytesKNoValue([]byte("f"))
	a.Add("g", "1")
	a.AddBytesK([]byte("g"), "2")
	a.AddBytesV("g", []byte("3"))
	a.AddBytesKV([]byte("g"), []byte("4"))
	a.AddNoValue("g")
	a.AddBytesKNoValue([]byte("g"))
	a.SetUint("h", 0)
	a.SetUintBytes([]byte("i"), 1234567890)
	const want = "a=9&b=x+y&a=3&c=%26&d=%3D&e&f&g=1&g=2&g=3&g=4&g&g&h=0&i=1234567890"
	if got := a.String(); got != want {
		t.Fatalf("got %q\nwant %q", got, want)
	}
	if v := a.PeekMulti("g"); len(v) != 6 || string(bytes.Join(v, []byte("."))) != "1.2.3.4.." {
		t.Errorf("PeekMulti = %q", v)
	}
	if a.PeekMultiBytes([]byte("G")) != nil || a.Peek("G") != nil || a.Has("G") || a.HasBytes([]byte("G")) {
		t.Error("keys are compared byte by byte")
	}
	if !a.Has("e") || a.PeekBytes([]byte("e")) == nil {
		t.Error("an argument without a value is there, and not nil")
	}
	a.Del("g")
	a.DelBytes([]byte("a"))
	n := 0
	a.VisitAll(func(k, v []byte) { n++ })
	for range a.All() {
		n--
		break
	}
	if n != a.Len()-1 || a.Len() != 7 {
		t.Errorf("visited %d of %d", n+1, a.Len())
	}
	var b gale.Args
	b.Add("old", "")
	a.CopyTo(&b)
	a.Reset()
	if a.Len() != 0 || b.String() != "b=x+y&c=%26&d=%3D&e&f&h=0&i=1234567890" {
		t.Errorf("copy: %q", b.String())
	}
}

func TestArgsTyped(t *testing.T) {
	var a gale.Args
	a.Parse("n=12&f=1.5&neg=-1&t=True&no=tRue&empty=&none&big=99999999999999999999")
	if n, err := a.GetUint("n"); n != 12 || err != nil {
		t.Errorf("GetUint = %d, %v", n, err)
	}
	if f, err := a.GetUfloat("f"); f != 1.5 || err != nil {
		t.Errorf("GetUfloat = %v, %v", f, err)
	}
	for _, key := range []string{"missing", "empty", "none"} {
		if n, err := a.GetUint(key); n != -1 || err != gale.ErrNoArgValue {
			t.Errorf("GetUint(%q) = %d, %v", key, n, err)
		}
		if f, err := a.GetUfloat(key); f != -1 || err != gale.ErrNoArgValue {
			t.Errorf("GetUfloat(%q) = %v, %v", key, f, err)
		}
	}
	for _, key := range []string{"neg", "f", "big"} {
		if n, err := a.GetUint(key); n != -1 || err == nil || a.GetUintOrZero(key) != 0 {
			t.Errorf("GetUint(%q) = %d, %v", key, n, err)
		}
	}
	if a.GetUfloatOrZero("neg") != 0 || a.GetUfloatOrZero("n") != 12 || a.GetUintOrZero("n") != 12 {
		t.Error("the OrZero getters")
	}
	if !a.GetBool("t") || a.GetBool("no") || a.GetBool("missing") {
		t.Error("GetBool")
	}
}

func TestArgsSort(t *testing.T) {
	var a gale.Args
	a.Parse("b=2&a=2&b=1&a=1&c")
	a.SortKeys(bytes.Compare)
	if got := a.String(); got != "a=2&a=1&b=2&b=1&c" {
		t.Errorf("SortKeys: %q", got)
	}
	a.Sort(bytes.Compare)
	if got := a.String(); got != "a=1&a=2&b=1&b=2&c" {
		t.Errorf("Sort: %q", got)
	}
}

func TestArgsParseOwnBytes(t *testing.T) {
	var a gale.Args
	a.Parse("q=" + "x%253D1%2526y%253D%2525")
	a.ParseBytes(a.Peek("q"))
	a.ParseBytes(a.Peek("x=1&y=%"))
	a.Parse("q=a%3Db%26c%3D%25")
	a.ParseBytes(a.Peek("q"))
	if got := a.String(); got != "a=b&c=%25" {
		t.Errorf("got %q", got)
	}
}

func TestUnquotedArgInPlace(t *testing.T) {
	src := []byte("a+b%20c%zz%4")
	if got := string(gale.AppendUnquotedArg(src[:0], src)); got != "a b c%zz%4" {
		t.Errorf("got %q", got)
	}
	if got := string(gale.AppendQuotedArg([]byte("k="), []byte("a b/\xff"))); got != "k=a+b%2F%FF" {
		t.Errorf("got %q", got)
	}
}

func FuzzArgs(f *testing.F) {
	for _, s := range []string{"a=b&c", "a=%41+%zz&&=&b=", "x=1&x=2&%78=3"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		var a, b gale.Args
		a.Parse(s)
		b.ParseBytes(a.QueryString())
		if a.String() != b.String() || a.Len() != b.Len() {
			t.Fatalf("%q: printed %q, parsed and printed again %q", s, a.String(), b.String())
		}
		// Input that net/url accepts is read in the same way.
		want, err := url.ParseQuery(s)
		if err != nil {
			return
		}
		for key, values := range want {
			if key == "" {
				continue // net/url keeps "=", we don't
			}
			got := a.PeekMulti(key)
			if len(got) != len(values) {
				t.Fatalf("%q: %q has %q, net/url: %q", s, key, got, values)
			}
			for i := range got {
				if string(got[i]) != values[i] {
					t.Fatalf("%q: %q has %q, net/url: %q", s, key, got, values)
				}
			}
		}
	})
}
