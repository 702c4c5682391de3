package bytesconv

import (
	"bytes"
	"testing"
)

func TestUnescape(t *testing.T) {
	for _, tt := range []struct{ in, plain, arg string }{
		{"", "", ""},
		{"abc", "abc", "abc"},
		{"a+b%20c", "a+b c", "a b c"},
		{"%2541", "%41", "%41"},
		{"%", "%", "%"},
		{"%4", "%4", "%4"},
		{"%zz%4", "%zz%4", "%zz%4"},
		{"%%41", "%A", "%A"},
		{"%41%", "A%", "A%"},
		{"%e4%E4", "\xe4\xe4", "\xe4\xe4"},
		{"%g0%0g", "%g0%0g", "%g0%0g"},
		{"%00%0a", "\x00\n", "\x00\n"},
	} {
		b := []byte(tt.in)
		if got := string(b[:Unescape(b)]); got != tt.plain {
			t.Errorf("Unescape(%q) = %q, want %q", tt.in, got, tt.plain)
		}
		b = []byte(tt.in)
		if got := string(b[:UnescapeArg(b)]); got != tt.arg {
			t.Errorf("UnescapeArg(%q) = %q, want %q", tt.in, got, tt.arg)
		}
	}
}

func TestEscapeRoundTrip(t *testing.T) {
	all := make([]byte, 256)
	for i := range all {
		all[i] = byte(i)
	}
	for _, tt := range []struct {
		name     string
		escape   func(dst, src []byte) []byte
		unescape func(b []byte) int
	}{
		{"arg", AppendEscapedArg, UnescapeArg},
		{"path", func(dst, src []byte) []byte { return AppendEscaped(dst, src, &PathSafe) }, Unescape},
	} {
		esc := tt.escape([]byte("x"), all)
		for _, c := range esc {
			if c <= ' ' || c >= 0x7f {
				t.Fatalf("%s: byte %#x left as it is", tt.name, c)
			}
		}
		esc = esc[1:]
		if back := esc[:tt.unescape(esc)]; !bytes.Equal(back, all) {
			t.Errorf("%s: got %q back", tt.name, back)
		}
	}
}
