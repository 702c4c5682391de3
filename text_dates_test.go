package gale

import (
	"net/http"
	"testing"
	"time"
)

func TestParseHTTPDate(t *testing.T) {
	want := time.Date(1994, time.November, 6, 8, 49, 37, 0, time.UTC)
	for _, tt := range []struct {
		in string
		ok bool
	}{
		{"Sun, 06 Nov 1994 08:49:37 GMT", true},
		{"Sunday, 06-Nov-94 08:49:37 GMT", true},
		{"Sun Nov  6 08:49:37 1994", true},
		{"Mon, 06 Nov 1994 08:49:37 GMT", true}, // the day of the week isn't checked
		{"", false},
		{"x", false},
		{"Sun, 06 Nov 1994 08:49:37 UTC", false},
		{"Sun, 06 Nov 1994 08:49:37 +0100", false},
		{"Sun, 6 Nov 1994 08:49:37 GMT", false},
		{"Sun, 06 Nov 1994 08:49:60 GMT", false},
		{"Sun, 06 Nov 1994 24:49:37 GMT", false},
		{"Sun, 31 Nov 1994 08:49:37 GMT", false},
		{"Sun, 29 Feb 1995 08:49:37 GMT", false},
		{"Sun, 00 Nov 1994 08:49:37 GMT", false},
		{"Sun, 06 Nov 19:4 08:49:37 GMT", false},
		{"Sun, 06 Nov 1994 08:49:37 GMT ", false},
	} {
		got, err := ParseHTTPDate([]byte(tt.in))
		if (err == nil) != tt.ok || tt.ok && !got.Equal(want) {
			t.Errorf("ParseHTTPDate(%q) = %v, %v", tt.in, got, err)
		}
	}
	if got, err := ParseHTTPDate([]byte("Thu, 29 Feb 1996 00:00:00 GMT")); err != nil || got.Day() != 29 {
		t.Errorf("leap day: %v, %v", got, err)
	}
}

func FuzzParseHTTPDate(f *testing.F) {
	f.Add("Sun, 06 Nov 1994 08:49:37 GMT")
	f.Add("Thu, 29 Feb 1900 23:59:59 GMT")
	f.Add("Sunday, 06-Nov-94 08:49:37 GMT")
	f.Fuzz(func(t *testing.T, s string) {
		got, err := ParseHTTPDate([]byte(s))
		want, werr := http.ParseTime(s)
		// net/http accepts any name for the time zone in the format of RFC 850.
		if err == nil && (werr != nil || !got.Equal(want)) || err != nil && werr == nil && len(s) == len(layoutIMF) && s[3] == ',' {
			t.Fatalf("%q: %v, %v; net/http: %v, %v", s, got, err, want, werr)
		}
		if err == nil {
			if out := string(AppendHTTPDate(nil, got)); out != want.UTC().Format(http.TimeFormat) {
				t.Fatalf("%q is printed as %q", s, out)
			}
		}
	})
}
