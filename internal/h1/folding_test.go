package h1

import (
	"testing"

	"github.com/galehttp/gale/internal/msg"
)

// TestFolding proves what the dialect Folding accepts besides folds: nothing. Each row is parsed
// whole and in two parts, split at each byte.
func TestFolding(t *testing.T) {
	lim := &Limits{Dialect: Folding}
	for _, tt := range []struct {
		in, want string
		err      error
	}{
		{"A: b\r\n c\r\nD: e\r\n\r\n", "b c", nil},
		{"A: b \t\r\n \t c\r\n\r\n", "b c", nil},
		{"A:\r\n b\r\n c\r\n\r\n", "b c", nil},
		{"A: b\r\n \r\n c\r\n\r\n", "b  c", nil},
		{"A: b\r\n D: e\r\n\r\n", "b D: e", nil},
		{" A: b\r\n\r\n", "", ErrFieldFold},
		{"Content-Length: 1\r\n 2\r\n\r\n", "", ErrFieldFold},
		{"Content-Length:\r\n 1\r\n\r\n", "", ErrFieldFold},
		{"Transfer-Encoding: chunked\r\n \r\n\r\n", "", ErrFieldFold},
		{"Host: a\r\n b\r\n\r\n", "", ErrFieldFold},
		{"A: b\r\n c\nD: e\r\n\r\n", "", ErrLineEnd},
		{"A: b\n c\r\n\r\n", "", ErrLineEnd},
		{"A: b\r\n c\x00\r\n\r\n", "", ErrFieldValue},
		{"A b: c\r\n\r\n", "", ErrFieldName},
	} {
		in := []byte("HTTP/1.1 200 OK\r\n" + tt.in)
		for cut := range in {
			var h msg.ResponseHead
			if cut > 0 {
				if _, err := ParseResponse(in[:cut], &h, lim); err != ErrPartial {
					if err != tt.err {
						t.Errorf("%q, the first %d bytes: %v", in, cut, err)
					}
					continue
				}
			}
			n, err := ParseResponse(in, &h, lim)
			if err != tt.err || err == nil && (n != len(in) || string(h.PeekID(msg.Unknown, []byte("A"))) != tt.want) {
				t.Errorf("%q, split at %d: %v, %q", in, cut, err, h.PeekID(msg.Unknown, []byte("A")))
			}
		}
		if tt.err == ErrFieldFold && tt.in[0] != ' ' {
			continue // these fields are forbidden in trailers
		}
		for cut := range []byte(tt.in) {
			var scan trailerScan
			var f msg.Fields
			b := []byte(tt.in)
			n, done, err := scan.next(b[:cut], &f, lim)
			if err == nil && !done {
				_, done, err = scan.next(b[n:], &f, lim)
			}
			if err != tt.err || err == nil && (!done || string(f.PeekID(msg.Unknown, []byte("A"))) != tt.want) {
				t.Errorf("trailers %q, split at %d: %v, %v, %q", tt.in, cut, done, err, f.PeekID(msg.Unknown, []byte("A")))
			}
		}
	}
}
