package message

import (
	"testing"
	"time"

	"github.com/galehttp/gale"
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
		got, err := gale.ParseHTTPDate([]byte(tt.in))
		if (err == nil) != tt.ok || tt.ok && !got.Equal(want) {
			t.Errorf("ParseHTTPDate(%q) = %v, %v", tt.in, got, err)
		}
	}
	if got, err := gale.ParseHTTPDate([]byte("Thu, 29 Feb 1996 00:00:00 GMT")); err != nil || got.Day() != 29 {
		t.Errorf("leap day: %v, %v", got, err)
	}
}
