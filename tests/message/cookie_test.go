package message

import (
	"bytes"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/galehttp/gale"
)

func TestCookieParse(t *testing.T) {
	for _, tt := range []struct{ in, key, value, out string }{
		{"a", "", "a", "a"},
		{"a=", "a", "", "a="},
		{"=b", "", "b", "b"},
		{"=", "", "", ""},
		{"==b", "", "=b", "==b"},
		{"a=b; ", "a", "b", "a=b"},
		{"a = b ; path = /x ", "a", "b", "a=b; path=/x"},
		{"a=b; Path=/x; DOMAIN=.Foo.com; HttpOnly; Secure; SameSite=lax; Max-Age=10; Expires=Sun, 06 Nov 1994 08:49:37 GMT; Partitioned",
			"a", "b", "a=b; max-age=10; domain=.Foo.com; path=/x; HttpOnly; secure; SameSite=Lax; Partitioned"},
		{"a=b; samesite=STRICT", "a", "b", "a=b; SameSite=Strict"},
		{"a=b; samesite=none", "a", "b", "a=b; SameSite=None"},
		{"a=b; samesite", "a", "b", "a=b; SameSite"},
		{"a=b; samesite=", "a", "b", "a=b"},
		{"a=b; path=/x; path", "a", "b", "a=b; path=/x"},
		{"a=b; domain=x; domain", "a", "b", "a=b; domain=x"},
		{"a=b; samesite=foo", "a", "b", "a=b"},
		{"a=b; max-age=x", "a", "b", "a=b"},
		{"a=b; max-age=-5", "a", "b", "a=b; max-age=0"},
		{"a=b; max-age=0", "a", "b", "a=b; max-age=0"},
		{`a=b; max-age="5"`, "a", "b", "a=b; max-age=5"},
		{"a=b; max-age=99999999999999999999", "a", "b", "a=b"},
		{"a=b; expires=foo", "a", "b", "a=b"},
		{"a=b; expires=Sunday, 06-Nov-94 08:49:37 GMT", "a", "b", "a=b; expires=Sun, 06 Nov 1994 08:49:37 GMT"},
		{"a=b; expires=Sun, 06-Nov-1994 08:49:37 GMT", "a", "b", "a=b; expires=Sun, 06 Nov 1994 08:49:37 GMT"},
		{`a="b c"`, "a", "b c", "a=b c"},
		{`a=""`, "a", "", "a="},
		{"a=b,c", "a", "b,c", "a=b,c"},
		{"a=b\xff", "a", "b\xff", "a=b\xff"},
		{"a=b\r\nc\x00", "a", "b  c ", "a=b  c "},
		{"a b=c", "a b", "c", "a b=c"},
		{`a=b; path="/x"`, "a", "b", "a=b; path=/x"},
		{"a=b; foo=bar; secure=1; httponly=x; secured", "a", "b", "a=b; HttpOnly; secure"},
		{"a=b; path=/x; path=/y", "a", "b", "a=b; path=/y"},
		{`a=b; domain=e"vil; secure`, "a", "b", "a=b; secure"},
		{`a=b; domain=x; domain=e\vil; path=/p`, "a", "b", "a=b; domain=x; path=/p"},
		{"a=b; path=/\x01; domain=x", "a", "b", "a=b; domain=x"},
		{"a=b; path=/p; path=/\x80; secure", "a", "b", "a=b; path=/p; secure"},
		{"a=b; path=/\x00; HttpOnly", "a", "b", "a=b; HttpOnly"},
		{"a=b;;c", "a", "b", "a=b"},
	} {
		var c gale.Cookie
		c.SetSecure(true)
		c.SetMaxAge(1)
		if err := c.Parse(tt.in); err != nil {
			t.Errorf("%q: %v", tt.in, err)
		}
		if string(c.Key()) != tt.key || string(c.Value()) != tt.value || c.String() != tt.out {
			t.Errorf("%q: %q=%q, printed %q; want %q=%q, %q", tt.in, c.Key(), c.Value(), c.String(), tt.key, tt.value, tt.out)
		}
	}
	var c gale.Cookie
	if err := c.Parse(""); err != gale.ErrNoCookies {
		t.Errorf("empty: %v", err)
	}
	for _, s := range []string{
		`a="b; Domain=evil`, `a="b;c"; path=/`, `a=b"c`, `a=b\c`, `a="`, `a="b"c"`,
	} {
		if err := c.Parse(s); err != gale.ErrInvalidCookieValue || len(c.Cookie()) != 0 {
			t.Errorf("%q: %v, left %q", s, err, c.Cookie())
		}
	}
}

func TestCookieSetters(t *testing.T) {
	c := gale.AcquireCookie()
	defer gale.ReleaseCookie(c)
	want := func(why, s string) {
		t.Helper()
		if got := c.String(); got != s {
			t.Errorf("%s: %q, want %q", why, got, s)
		}
	}
	c.SetKey("a;b\r\n\x00c=d")
	c.SetValue("v;w\r\n\x00\"x\"\\\x7f,y")
	c.SetPath("/p;q%3Br%0d%0a/../%7")
	c.SetDomain("d;e\r\n\x00.COM")
	want("nothing ends a part early", `a b   c d=v w   "x"\ ,y; domain=d e   .COM; path=/%7`)
	c.Reset()
	c.SetKeyBytes([]byte("k"))
	c.SetValueBytes([]byte("v"))
	c.SetMaxAge(-3)
	c.SetExpire(time.Unix(1000, 0))
	want("max-age goes before expires", "k=v; max-age=0")
	if c.MaxAge() != -3 {
		t.Errorf("MaxAge = %d", c.MaxAge())
	}
	c.SetMaxAge(0)
	want("expires", "k=v; expires=Thu, 01 Jan 1970 00:16:40 GMT")
	c.SetExpire(gale.CookieExpireDelete)
	want("deleted", "k=v; expires=Tue, 10 Nov 2009 23:00:00 GMT")
	c.SetExpire(gale.CookieExpireUnlimited)
	want("unlimited", "k=v")
	c.SetSameSite(gale.CookieSameSiteDefaultMode)
	want("SameSite without a value", "k=v; SameSite")
	c.SetSameSite(gale.CookieSameSiteNoneMode)
	want("None implies Secure", "k=v; secure; SameSite=None")
	c.SetSecure(false)
	c.SetSameSite(99)
	want("an unknown mode isn't printed", "k=v")
	c.SetPartitioned(true)
	c.SetHTTPOnly(true)
	want("Partitioned implies Secure and Path=/", "k=v; path=/; HttpOnly; secure; Partitioned")
	c.SetPathBytes(nil)
	c.SetPathBytes([]byte("foo%20bar//x/.."))
	c.SetDomainBytes([]byte("h"))
	want("the path is normalised", "k=v; domain=h; path=/foo bar/; HttpOnly; secure; Partitioned")

	var d gale.Cookie
	d.SetDomain("old")
	d.CopyTo(c)
	c.Reset()
	const all = "k=v; domain=h; path=/foo bar/; HttpOnly; secure; Partitioned"
	var w bytes.Buffer
	if n, err := d.WriteTo(&w); err != nil || n != int64(len(all)) || w.String() != all {
		t.Errorf("copy: %q", w.String())
	}
	want("empty", "")
	c.SetValue("__Host-x=1")
	want("a value can't pass for a name", "=__Host-x=1")
}

func FuzzCookie(f *testing.F) {
	for _, s := range []string{
		"a=b; Path=/x; DOMAIN=.Foo.com; HttpOnly; Secure; SameSite=lax; Max-Age=10; Partitioned",
		"a=b; Expires=Sun, 06-Nov-94 08:49:37 GMT", `"="`, "==; path=\"\"",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		var c, d gale.Cookie
		if err := c.Parse(s); err != nil {
			return
		}
		out := c.String()
		if strings.ContainsAny(out, "\r\n\x00") {
			t.Fatalf("%q: printed %q", s, out)
		}
		if out == "" {
			return
		}
		if err := d.Parse(out); err != nil {
			t.Fatalf("%q: printed %q, which is refused: %v", s, out, err)
		}
		// A value that was in quotes loses the spaces around it when it is parsed again.
		trim := func(b []byte) string { return string(bytes.Trim(b, " \t")) }
		if trim(c.Key()) != string(d.Key()) || trim(c.Value()) != string(d.Value()) || trim(c.Domain()) != string(d.Domain()) ||
			c.MaxAge() != d.MaxAge() || c.Secure() != d.Secure() || c.HTTPOnly() != d.HTTPOnly() ||
			c.SameSite() != d.SameSite() || c.Partitioned() != d.Partitioned() {
			t.Fatalf("%q: printed %q, parsed and printed again %q", s, out, d.String())
		}
		// If net/http reads a cookie from what we print, it reads the same.
		std, err := http.ParseSetCookie(out)
		if err != nil || strings.ContainsRune(std.Value, '"') {
			return
		}
		if std.Name != string(d.Key()) || strings.Trim(std.Value, " ") != string(d.Value()) || std.Secure != d.Secure() || std.HttpOnly != d.HTTPOnly() || std.MaxAge != d.MaxAge() {
			t.Fatalf("%q: net/http reads %+v", out, std)
		}
	})
}
