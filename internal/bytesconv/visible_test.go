package bytesconv

import (
	"encoding/json"
	"fmt"
	"testing"
	"unicode"
	"unicode/utf8"
)

func TestVisible(t *testing.T) {
	for _, tt := range []struct{ in, want string }{
		{"", ""},
		{`plain "text" \ {}`, `plain "text" \ {}`},
		{"größer 日本 😀", "größer 日本 😀"},
		{"\x00\a\b\t\n\r\x1b[2J\x1f", `\u0000\u0007\u0008\u0009\u000a\u000d\u001b[2J\u001f`}, // C0
		{"a\x7fb", `a\u007fb`}, // DEL
		{"\u0080\u009b31m\u009f\u00a0", `\u0080\u009b31m\u009f` + "\u00a0"},  // C1, and a space
		{"\u202a\u202b\u202c\u202d\u202e", `\u202a\u202b\u202c\u202d\u202e`}, // bidirectional embeddings and overrides
		{"\u2066\u2067\u2068\u2069", `\u2066\u2067\u2068\u2069`},             // isolates
		{"\u200e\u200f\u061c", `\u200e\u200f\u061c`},                         // marks
		{"\u200b\u2060\ufeff\u00ad", `\u200b\u2060\ufeff\u00ad`},             // without width
		{"\u2028\u2029", `\u2028\u2029`},                                     // separators
		{"\U000e0001\U000e0041", `\udb40\udc01\udb40\udc41`},                 // tags
		{"\xff\xc3", `\ufffd\ufffd`},
		{"\xc2\xed\xa0\x80\xf8", `\ufffd\ufffd\ufffd\ufffd\ufffd`}, // cut off, a surrogate, no such length
		{"\ufffd", "\ufffd"},                                       // a character like others
	} {
		if got := Visible(tt.in); got != tt.want {
			t.Errorf("%q: %q, want %q", tt.in, got, tt.want)
		}
		if got := string(AppendVisible([]byte("x"), tt.in)); got != "x"+tt.want {
			t.Errorf("%q: appended %q", tt.in, got)
		}
	}
}

// No character that isn't shown is left, and a JSON text keeps its meaning.
func TestVisibleAll(t *testing.T) {
	for r := rune(0); r <= unicode.MaxRune; r++ {
		if !utf8.ValidRune(r) {
			continue
		}
		got := Visible(string(r))
		if same := got == string(r); same == unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp) {
			t.Errorf("%U became %q", r, got)
		}
		if r < ' ' || r == '"' || r == '\\' {
			continue // JSON has no such characters in strings
		}
		var back string
		if err := json.Unmarshal(fmt.Appendf(nil, `"%s"`, got), &back); err != nil || back != string(r) {
			t.Errorf("%U came back as %q, %v", r, back, err)
		}
	}
}
