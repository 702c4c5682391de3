package gale

import (
	"html"
	"testing"
)

func TestAppendHTMLEscape(t *testing.T) {
	for _, s := range []string{"", "plain", "<b>&\"'</b>", "a\x00b`/", "\xff<\xfe", "&&"} {
		if got, want := string(AppendHTMLEscape([]byte("x"), s)), "x"+html.EscapeString(s); got != want {
			t.Errorf("AppendHTMLEscape(%q) = %q, want %q", s, got, want)
		}
		if got, want := string(AppendHTMLEscapeBytes(nil, []byte(s))), html.EscapeString(s); got != want {
			t.Errorf("AppendHTMLEscapeBytes(%q) = %q, want %q", s, got, want)
		}
	}
}
