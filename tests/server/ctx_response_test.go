package server

import (
	"testing"

	"github.com/galehttp/gale"
	"github.com/galehttp/gale/tests/harness"
)

// Redirect refuses a text that isn't a URI, and one that browsers take for a URI of
// another host than URI.Update does.
func TestRedirectInvalid(t *testing.T) {
	ts := harness.Start(t, nil, func(ctx *gale.RequestCtx) {
		to := string(ctx.QueryArgs().Peek("to"))
		if ctx.QueryArgs().Has("bytes") {
			ctx.RedirectBytes([]byte(to), 303)
			return
		}
		ctx.Redirect(to, 303)
	})
	for _, test := range []struct{ to, location string }{
		{"/x", "http://h/x"},
		{"x%3Fy", "http://h/a/x?y"},
		{"//o/x", "http://o/x"},
		{"", "http://h/a/b"},
		{"%20/x", "http://h/x"},
		{"/x%0D%0AY:z", "http://h/x%20%20Y:z"},
		{"//evil,x", ""},
		{"//evil%20x/", ""},
		{"http://evil:x/", ""},
		{"///evil", ""},
		{"http:///evil", ""},
		{"http:x", "http://h/a/x"},
		{"https:evil", ""},
		{"%5C%5Cevil", ""},
		{"/%5Cevil", ""},
		{"%20/%5Cevil", ""},
		{"/%09/evil", ""},
		{"%09//evil", ""},
		{"mailto:a@b.c", "mailto:a@b.c"},
		{"com.example.app:/callback?code=1", "com.example.app:/callback?code=1"},
		{"%20app://callback?code=1", "app://callback?code=1"},
		{"urn:isbn:04%0D%0A%0D%0Ax", "urn:isbn:04    x"},
	} {
		for _, way := range []string{"", "&bytes"} {
			c := ts.Dial()
			c.Send("GET /a/b?to=" + test.to + way + " HTTP/1.1\r\nHost: h\r\n\r\n")
			a, status := c.Answer("GET"), 303
			if test.location == "" {
				status = 500
			}
			got := a.Header.Get("Location")
			if test.to == "" && len(got) > 10 {
				got = got[:10] + "/b" // the base with its query
			}
			if a.StatusCode != status || len(got) < len(test.location) || got[:len(test.location)] != test.location || test.location == "" && got != "" {
				t.Errorf("%s%s: %d %q, want %d %q", test.to, way, a.StatusCode, got, status, test.location)
			}
		}
	}
}
