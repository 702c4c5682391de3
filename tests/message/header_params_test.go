package message

import (
	"fmt"
	"strings"
	"testing"

	"github.com/galehttp/gale"
)

func TestVisitHeaderParams(t *testing.T) {
	for _, tt := range []struct{ in, want string }{
		{"", ""},
		{"text/html; charset=utf-8", "charset=utf-8"},
		{`text/html; charset=utf-8; a="b;c\"d"; e=f`, `charset=utf-8|a=b;c\"d|e=f`},
		{`form-data; name="x"; filename=y`, "name=x|filename=y"},
		{"a;", ""},
		{"a; b", ""},
		{"a; =c", ""},
		{"a; b=", ""},
		{"a;b=c", "b=c"},
		{"a ; b = c", ""},
		{`a; b="c`, ""},
		{`a; b="c\"`, ""},
		{`a; b="c"d; e=f`, "b=c|e=f"},
		{"a; b=c d; e=f", "b=c|e=f"},
		{`a; b=""; c=`, "b="},
		{"a;;b=c", "b=c"},
		{"a; B=C", "B=C"},
		{"a; b=\xc3\xbc; c=d", ""},
		{"a; b=\"\xc3\xbc\tx\"; c=d", "b=\xc3\xbc\tx|c=d"},
		{"a; b=\"x\ny\"; c=d", ""},
		{"a; b=c,d", "b=c"},
		{"a; b=c\t;\td=e ", "b=c|d=e"},
	} {
		var got []string
		gale.VisitHeaderParams([]byte(tt.in), func(k, v []byte) bool {
			got = append(got, fmt.Sprintf("%s=%s", k, v))
			return true
		})
		if s := strings.Join(got, "|"); s != tt.want {
			t.Errorf("%q: got %q, want %q", tt.in, s, tt.want)
		}
	}
	n := 0
	gale.VisitHeaderParams([]byte("a; b=c; d=e"), func(_, _ []byte) bool { n++; return false })
	if n != 1 {
		t.Errorf("visited %d parameters after false", n)
	}
}
