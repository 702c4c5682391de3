package h1

import (
	"strings"
	"testing"
)

// Empty lines are told from the beginning of a request however they are cut.
func TestEmptyLines(t *testing.T) {
	for _, tt := range []struct {
		name, in string
		lim      *Limits
		n        int // bytes that belong to empty lines
		half     bool
		err      error
	}{
		{"nothing", "", nil, 0, false, nil},
		{"no line", "GET", nil, 0, false, nil},
		{"one", "\r\nGET", nil, 2, false, nil},
		{"one and a half", "\r\n\r", nil, 3, true, nil},
		{"CR alone", "\r\n\rGET", nil, 3, true, ErrLineEnd},
		{"two CR", "\r\r\n", nil, 1, true, ErrLineEnd},
		{"bare LF", "\r\n\nGET", nil, 2, false, nil},
		{"bare LF, lenient", "\r\n\nGET", &Limits{Dialect: Lenient}, 3, false, nil},
		{"nine", strings.Repeat("\r\n", 9) + "G", nil, 18, false, nil},
		{"ten", strings.Repeat("\r\n", 10), nil, 18, false, ErrLineEnd},
		{"sixty-four, lenient", strings.Repeat("\n", 64) + "G", &Limits{Dialect: Lenient}, 64, false, nil},
		{"sixty-five, lenient", strings.Repeat("\n", 65), &Limits{Dialect: Lenient}, 64, false, ErrLineEnd},
		{"limit of two", "\r\n\r\n\r\n", &Limits{EmptyLines: 2}, 4, false, ErrLineEnd},
	} {
		for step := 1; step <= max(1, len(tt.in)); step++ {
			var e EmptyLines
			n, err := 0, error(nil)
			for end := 0; end < len(tt.in) && err == nil && n == end; {
				var m int
				end = min(end+step, len(tt.in))
				m, err = e.Skip([]byte(tt.in[n:end]), tt.lim)
				n += m
			}
			if n != tt.n || err != tt.err || e.Half() != tt.half {
				t.Errorf("%s, %d bytes at a time: %d bytes, half a line %v, error %v", tt.name, step, n, e.Half(), err)
			}
		}
	}
}
