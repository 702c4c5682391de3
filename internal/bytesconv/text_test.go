package bytesconv

import (
	"bytes"
	"testing"
)

func TestIsText(t *testing.T) {
	for n := range 40 {
		b := bytes.Repeat([]byte{'a'}, n)
		if !IsText(b) {
			t.Fatalf("%d letters are no text", n)
		}
		for i := range n {
			for c := range 256 {
				b[i] = byte(c)
				want := c >= ' ' && c != 0x7f || c == '\t'
				if got := IsText(b); got != want {
					t.Fatalf("IsText(%q) = %v", b, got)
				}
			}
			b[i] = '\t'
		}
	}
}

func TestIsTarget(t *testing.T) {
	for n := range 30 {
		b := bytes.Repeat([]byte{'/'}, n)
		for i := range n {
			for c := range 256 {
				b[i] = byte(c)
				want := c > ' ' && c != 0x7f && c != '#'
				if got := IsTarget(b); got != want {
					t.Fatalf("IsTarget(%q) = %v", b, got)
				}
			}
			b[i] = '/'
		}
	}
}

func TestIsASCII(t *testing.T) {
	for n := range 30 {
		b := bytes.Repeat([]byte{'a'}, n)
		if !IsASCII(b) {
			t.Fatalf("%d letters are not ASCII", n)
		}
		for i := range n {
			for c := range 256 {
				b[i] = byte(c)
				if got := IsASCII(b); got != (c < 0x80) {
					t.Fatalf("IsASCII(%q) = %v", b, got)
				}
			}
			b[i] = 'a'
		}
	}
}

func TestPlainHost(t *testing.T) {
	for n := range 30 {
		b := bytes.Repeat([]byte("a"), n)
		if got := PlainHost(b); got != n {
			t.Fatalf("%d letters: %d", n, got)
		}
		for i := range n {
			for c := range 256 {
				b[i] = byte(c)
				want := i
				if c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || c == '-' || c == '.' {
					want = n
				}
				if got := PlainHost(b); got != want {
					t.Fatalf("PlainHost(%q) = %d, want %d", b, got, want)
				}
			}
			b[i] = 'a'
		}
	}
}

func TestNeutralizeText(t *testing.T) {
	b := []byte("a\r\nb\x00c\td\x7fe\x80\xff f long enough")
	NeutralizeText(b)
	if want := "a  b c\td e\x80\xff f long enough"; string(b) != want {
		t.Errorf("got %q, want %q", b, want)
	}
}

func TestCopyCanonicalName(t *testing.T) {
	for _, s := range []string{"", "a", "-", "foo-BAR", "X--y-1z", "a b", "a:", "é", "a\r\n", "x_Y.Z", "\x00"} {
		dst := make([]byte, len(s))
		ok := CopyCanonicalName(dst, []byte(s))
		if ok != IsToken([]byte(s)) {
			t.Errorf("%q: %v", s, ok)
		}
		if want := AppendCanonicalName(nil, []byte(s)); ok && !bytes.Equal(dst, want) {
			t.Errorf("%q becomes %q, want %q", s, dst, want)
		}
	}
}

func TestCopyCanonicalNameBytes(t *testing.T) {
	for _, base := range []string{"abc-defg", "x-foo-bAr-12", "aaaaaaa-bbbbbbb-c", "----------", "Abcdefgh-Ijklmno"} {
		for i := range base {
			for c := range 256 {
				src := []byte(base)
				src[i] = byte(c)
				dst := make([]byte, len(src))
				ok := CopyCanonicalName(dst, src)
				if ok != IsToken(src) {
					t.Fatalf("%q: %v", src, ok)
				}
				if want := AppendCanonicalName(nil, src); ok && !bytes.Equal(dst, want) {
					t.Fatalf("%q becomes %q, want %q", src, dst, want)
				}
			}
		}
	}
}

func TestCopyText(t *testing.T) {
	for n := range 80 {
		src := bytes.Repeat([]byte("aé\x01\tz\r\n\x7f~"), 12)[:n]
		want := bytes.Clone(src)
		NeutralizeText(want)
		dst := make([]byte, n)
		CopyText(dst, src)
		if !bytes.Equal(dst, want) {
			t.Fatalf("%q becomes %q, want %q", src, dst, want)
		}
	}
}
