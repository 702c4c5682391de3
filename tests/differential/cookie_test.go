package differential

import (
	"fmt"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/galehttp/gale"
	"github.com/valyala/fasthttp"
)

// cookieAPI has the methods that both types of cookies have. Each library has its own
// type for SameSite.
type cookieAPI interface {
	AppendBytes(dst []byte) []byte
	Cookie() []byte
	Domain() []byte
	Expire() time.Time
	HTTPOnly() bool
	Key() []byte
	MaxAge() int
	Parse(src string) error
	ParseBytes(src []byte) error
	Partitioned() bool
	Path() []byte
	Reset()
	Secure() bool
	SetDomain(domain string)
	SetDomainBytes(domain []byte)
	SetExpire(expire time.Time)
	SetHTTPOnly(httpOnly bool)
	SetKey(key string)
	SetKeyBytes(key []byte)
	SetMaxAge(seconds int)
	SetPartitioned(partitioned bool)
	SetPath(path string)
	SetPathBytes(path []byte)
	SetSecure(secure bool)
	SetValue(value string)
	SetValueBytes(value []byte)
	String() string
	Value() []byte
}

// sameSite reads and sets SameSite as a number.
type sameSite struct {
	get func() int
	set func(int)
}

var cookieDifferences = differences{
	{row: "dates of cookies", when: func(o observation) bool {
		return o.what == "Expire" && o.peer == `"0001-01-01T00:00:00Z"`
	}},
	{row: "attributes of cookies without a name, such as `=secure`", when: func(o observation) bool {
		return namelessAttribute.MatchString(o.in)
	}},
	{row: "a nameless cookie with `=` in its value", when: func(o observation) bool {
		gale := strings.TrimPrefix(strings.TrimPrefix(o.gale, `"x`), `"`)
		peer := strings.TrimPrefix(strings.TrimPrefix(o.peer, `"x`), `"`)
		return printsCookie(o.what) && gale == "="+peer && strings.Contains(peer, "=")
	}},
	{row: "control characters in cookies, `=` in their names", when: func(o observation) bool {
		gale, _ := strconv.Unquote(o.gale)
		peer, _ := strconv.Unquote(o.peer)
		b := []byte(peer)
		for i, c := range b {
			if c < ' ' && c != '\t' || c == 0x7f {
				b[i] = ' '
			}
		}
		peer = string(b)
		if o.what == "Key" {
			peer = strings.ReplaceAll(peer, "=", " ")
		}
		return gale != "" && gale == peer
	}},
}

var namelessAttribute = regexp.MustCompile(`;[ \t]*=`)

func printsCookie(what string) bool {
	return what == "AppendBytes" || what == "Cookie" || what == "String"
}

var (
	cookieInputs = []string{
		"", "a", "a=", "=a", "=", ";", "a=b", "a=b;", "a=b; ", " a = b ", "a=b; path=/", "a=b; Path=/x/y", "a=b; PATH = /x",
		"a=b; domain=example.com", "a=b; Domain=.Example.COM", "a=b; HttpOnly", "a=b; httponly; secure", "a=b; SECURE",
		"a=b; SameSite", "a=b; SameSite=", "a=b; SameSite=Lax", "a=b; samesite=STRICT", "a=b; samesite=none", "a=b; samesite=other",
		"a=b; Partitioned", "a=b; partitioned=1", "a=b; max-age=0", "a=b; Max-Age=10", "a=b; max-age=-1", "a=b; max-age=-5", "a=b; max-age=1.5", "a=b; max-age=x", "a=b; max-age=", "a=b; max-age",
		"a=b; max-age=99999999999999999999", "a=b; max-age=10; max-age=20", "a=b; max-age=5; expires=Tue, 10 Nov 2009 23:00:00 GMT",
		"a=b; expires=Tue, 10 Nov 2009 23:00:00 GMT", "a=b; expires=Tue, 10-Nov-2009 23:00:00 GMT", "a=b; expires=Tuesday, 10-Nov-09 23:00:00 GMT", "a=b; expires=Tue Nov 10 23:00:00 2009", "a=b; expires=junk", "a=b; expires=0", "a=b; expires=Tue, 10 Nov 2009 23:00:00 +0100",
		`a="b"`, `a="b c"`, `a="`, `a=""`, `a="b`, `a=b"`, `a="b;c"`, `a="b"; path="/x"`, `a=b\c`, `"a"=b`, "a=b=c", "a=b; c=d", "a=b,c=d", "a=b; path", "a=b; path=", "a=b; domain", "a=b; domain=",
		"a=b; unknown=1; path=/x; unknown", "a=b;path=/x;domain=d", "a=b;;path=/", "a=b; path=/\x7f", "a=b; path=/é", "a=é", "a=\xff", "a=b\x00", "a\rb=c", "a=b; path=/a; path=/b", "a=b; domain=a; domain=b", "a=b; =c", "a=b; =secure", "a=b; =path=/x", "a=b; path=/x; path", "a=b; domain=x; domain", "a=b; secured", "a=b; httponly=false", "a=b; secure=false", "a=b; secure ", "a=b; path /x", "a=b; pathx=/",
		"a=b; priority=high; secure", "a\t=\tb\t;\tpath\t=\t/x", "a=b; Expires=Thu, 01 Jan 1970 00:00:00 GMT", "a=b; Expires=Thu, 01-Jan-1970 00:00:01 GMT; Max-Age=0; Path=/",
	}
	cookiePieces = []string{"a", "b", "=", ";", "; ", " ", "\t", `"`, "path", "=/x", "domain", "example.com", "max-age", "1", "0", "-", "expires", "Tue, 10 Nov 2009 23:00:00 GMT", "HttpOnly", "secure", "SameSite", "Lax", "none", "Partitioned", ",", `\`, "é", "session=0123456789abcdef", "; Path=/a/b", "; Max-Age=3600", "; SameSite=Strict"}
	cookieWords  = []string{"", "a", "name", "value", "/", "/a/b", "/a/../b", "a b", "a=b", "a;b", "a\r\nb", "\x00", "é", "example.com", "/a%20b", "a,b", `"a"`, `a\b`, "//a//", "."}
	cookieTimes  = []time.Time{{}, time.Unix(0, 0), time.Date(2009, 11, 10, 23, 0, 0, 123, time.UTC), time.Date(2030, 1, 2, 3, 4, 5, 0, time.FixedZone("x", 7200)), fasthttp.CookieExpireDelete, time.Date(1600, 1, 1, 0, 0, 0, 0, time.UTC)}
)

func observeCookie(tr *trace, c cookieAPI, ss sameSite) {
	tr.add("Key", string(c.Key()))
	tr.add("Value", string(c.Value()))
	tr.add("Domain", string(c.Domain()))
	tr.add("Path", string(c.Path()))
	tr.add("MaxAge", c.MaxAge())
	tr.add("Expire", c.Expire().UTC().Format(time.RFC3339))
	tr.add("flags", c.HTTPOnly(), c.Secure(), c.Partitioned(), ss.get())
	tr.add("AppendBytes", c.AppendBytes([]byte("x")))
	tr.add("Cookie", string(c.Cookie()))
	tr.add("String", c.String())
}

func gSameSite(c *gale.Cookie) sameSite {
	return sameSite{func() int { return int(c.SameSite()) }, func(n int) { c.SetSameSite(gale.CookieSameSite(n)) }}
}

func fSameSite(c *fasthttp.Cookie) sameSite {
	return sameSite{func() int { return int(c.SameSite()) }, func(n int) { c.SetSameSite(fasthttp.CookieSameSite(n)) }}
}

// checkCookieInput compares how one Set-Cookie value is read. If net/http accepts it too,
// name and value must be the same.
func checkCookieInput(t *testing.T, in string) {
	t.Helper()
	var ours, peers trace
	var gc gale.Cookie
	var fc fasthttp.Cookie
	gerr, ferr := gc.Parse(in), fc.Parse(in)
	ours.add("Parse", gerr)
	peers.add("Parse", ferr)
	if gerr == nil && ferr == nil {
		observeCookie(&ours, &gc, gSameSite(&gc))
		observeCookie(&peers, &fc, fSameSite(&fc))
	}
	compare(t, cookieDifferences, in, &ours, &peers)
	if gerr != nil {
		return
	}
	if c, err := http.ParseSetCookie(in); err == nil && !strings.ContainsAny(in, "\t") {
		if c.Name != string(gc.Key()) || strings.TrimSpace(c.Value) != string(gc.Value()) {
			t.Errorf("%q: name %q, value %q; net/http has %q, %q", in, gc.Key(), gc.Value(), c.Name, c.Value)
		}
	}
	// A printed cookie is read back the same, except for spaces at both ends.
	if strings.ContainsFunc(in, unicode.IsControl) {
		return
	}
	printed := gc.String()
	var again gale.Cookie
	if err := again.Parse(printed); err != nil && printed != "" {
		t.Errorf("%q: printed as %q, which is refused: %v", in, printed, err)
	} else if strings.ReplaceAll(again.String(), " ", "") != strings.ReplaceAll(printed, " ", "") {
		t.Errorf("%q: printed as %q, then as %q", in, printed, again.String())
	}
}

func playCookie(tr *trace, c cookieAPI, ss sameSite, copyTo func(), b []byte) {
	s := &script{b}
	for s.more() {
		op, word := s.n(18), s.pick(cookieWords)
		tr.add(fmt.Sprintf("(op %d, %q)", op, word))
		switch op {
		case 0:
			c.SetKey(word)
		case 1:
			c.SetKeyBytes([]byte(word))
		case 2:
			c.SetValue(word)
		case 3:
			c.SetValueBytes([]byte(word))
		case 4:
			c.SetDomain(word)
		case 5:
			c.SetDomainBytes([]byte(word))
		case 6:
			c.SetPath(word)
		case 7:
			c.SetPathBytes([]byte(word))
		case 8:
			c.SetMaxAge(s.n(4)*3600 - 3600)
		case 9:
			c.SetExpire(cookieTimes[s.n(len(cookieTimes))])
		case 10:
			c.SetHTTPOnly(s.n(2) == 1)
		case 11:
			c.SetSecure(s.n(2) == 1)
		case 12:
			c.SetPartitioned(s.n(2) == 1)
		case 13:
			ss.set(s.n(6))
		case 14:
			copyTo()
		case 15:
			in := s.pick(cookieInputs)
			if namelessAttribute.MatchString(in) {
				in = "a=b"
			}
			err := c.Parse(in)
			if tr.add(fmt.Sprintf("Parse(%q)", in), err); err != nil {
				c.Reset() // fasthttp keeps parts of what it refused
			}
		case 16:
			in := s.join(cookiePieces, 12)
			if namelessAttribute.MatchString(in) {
				in = "a=b"
			}
			err := c.ParseBytes([]byte(in))
			if tr.add(fmt.Sprintf("ParseBytes(%q)", in), err); err != nil {
				c.Reset()
			}
		case 17:
			c.Reset()
		}
		observeCookie(tr, c, ss)
	}
}

func checkCookieScript(t *testing.T, b []byte) {
	t.Helper()
	var ours, peers trace
	ga, gb := new(gale.Cookie), new(gale.Cookie)
	playCookie(&ours, ga, gSameSite(ga), func() { gb.CopyTo(ga); ga.Reset(); ga.CopyTo(gb) }, b)
	fa, fb := new(fasthttp.Cookie), new(fasthttp.Cookie)
	playCookie(&peers, fa, fSameSite(fa), func() { fb.CopyTo(fa); fa.Reset(); fa.CopyTo(fb) }, b)
	compare(t, cookieDifferences, fmt.Sprintf("%x", b), &ours, &peers)
}

func TestCookies(t *testing.T) {
	for _, in := range cookieInputs {
		checkCookieInput(t, in)
	}
	for _, b := range scripts(800, 16) {
		s := &script{b}
		checkCookieInput(t, s.join(cookiePieces, 12))
	}
	for _, b := range scripts(300, 60) {
		checkCookieScript(t, b)
	}
	cookieDifferences.checkDocumented(t)
}

func FuzzCookies(f *testing.F) {
	for _, in := range cookieInputs {
		f.Add(in, []byte(in))
	}
	f.Fuzz(func(t *testing.T, in string, script []byte) {
		checkCookieInput(t, in)
		checkCookieScript(t, script[:min(len(script), 200)])
	})
}
