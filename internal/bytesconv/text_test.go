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

func TestIsCanonical(t *testing.T) {
	for _, name := range []string{"X-Ab-Cd-Ef-12-3a", "Content-Type", "Abcdefgh", "Abcdefg-", "Abcdefgh-Ij", "Aaaaaaa-Aaaaaaa-Aaaaaaa-A"} {
		for n := 1; n <= len(name); n++ {
			for at := range n {
				for c := range 256 {
					b := []byte(name[:n])
					b[at] = byte(c)
					dst := make([]byte, n)
					ok := CopyCanonicalName(dst, b)
					if ok != IsToken(b) || ok && string(dst) != string(AppendCanonicalName(nil, b)) {
						t.Fatalf("CopyCanonicalName(%q) = %q, %v", b, dst, ok)
					}
					if isCanonical(b) && (!ok || string(dst) != string(b)) {
						t.Fatalf("%q is not canonical", b)
					}
				}
			}
			if n >= 8 && !isCanonical([]byte(name[:n])) {
				t.Fatalf("%q is canonical", name[:n])
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
