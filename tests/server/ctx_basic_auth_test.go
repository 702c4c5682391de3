package server

import (
	"encoding/base64"
	"strings"
	"testing"

	"github.com/galehttp/gale"
)

// TestBasicAuth proves that only what RFC 7617 allows is accepted as credentials.
func TestBasicAuth(t *testing.T) {
	enc := func(s string) string { return base64.StdEncoding.EncodeToString([]byte(s)) }
	for _, c := range []struct {
		name           string
		fields         []string
		user, password string
		ok             bool
	}{
		{"plain", []string{"Basic " + enc("a:b")}, "a", "b", true},
		{"scheme in capitals", []string{"BASIC " + enc("a:b")}, "a", "b", true},
		{"scheme in small letters", []string{"basic   " + enc("a:b")}, "a", "b", true},
		{"colons", []string{"Basic " + enc("a:b:c:")}, "a", "b:c:", true},
		{"nothing", []string{"Basic " + enc(":")}, "", "", true},
		{"UTF-8", []string{"Basic " + enc("ü:£")}, "ü", "£", true},
		{"long", []string{"Basic " + enc(strings.Repeat("u", 1000)+":p")}, strings.Repeat("u", 1000), "p", true},
		{"no field", nil, "", "", false},
		{"empty", []string{""}, "", "", false},
		{"scheme alone", []string{"Basic"}, "", "", false},
		{"no credentials", []string{"Basic "}, "", "", false},
		{"another scheme", []string{"Bearer " + enc("a:b")}, "", "", false},
		{"a longer scheme", []string{"Basics " + enc("a:b")}, "", "", false},
		{"no colon", []string{"Basic " + enc("ab")}, "", "", false},
		{"no base64", []string{"Basic a:b"}, "", "", false},
		{"no padding", []string{"Basic " + strings.TrimRight(enc("a:bc"), "=")}, "a", "bc", false},
		{"more", []string{"Basic " + enc("a:b") + ", Basic " + enc("c:d")}, "", "", false},
		{"parameters", []string{"Basic " + enc("a:b") + " x=y"}, "", "", false},
		{"NUL", []string{"Basic " + enc("a:b\x00")}, "", "", false},
		{"line end", []string{"Basic " + enc("a\n:b")}, "", "", false},
		{"DEL", []string{"Basic " + enc("a\x7f:b")}, "", "", false},
		{"two fields", []string{"Basic " + enc("a:b"), "Basic " + enc("a:b")}, "", "", false},
		{"two schemes", []string{"Bearer x", "Basic " + enc("a:b")}, "", "", false},
	} {
		ctx := &gale.RequestCtx{}
		for _, f := range c.fields {
			ctx.Request.Header.Add("authorization", f)
		}
		if !c.ok {
			c.user, c.password = "", ""
		}
		if user, password, ok := ctx.BasicAuth(); user != c.user || password != c.password || ok != c.ok {
			t.Errorf("%s: got %q, %q, %v, want %q, %q, %v", c.name, user, password, ok, c.user, c.password, c.ok)
		}
	}
}
