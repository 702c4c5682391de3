package message

import (
	"bytes"
	"net/url"
	"strings"
	"testing"

	"github.com/galehttp/gale"
	"github.com/galehttp/gale/tests/harness/peers"
)

func TestURIParse(t *testing.T) {
	for _, tt := range []struct{ host, in, full, path, original string }{
		{"", "http://Foo.COM/a%20b//c/../d/./e?x=y#h", "http://foo.com/a%20b/d/e?x=y#h", "/a b/d/e", "/a%20b//c/../d/./e"},
		{"", "HTTPS://u:p@h:80/", "https://h:80/", "/", "/"},
		{"", "http://h", "http://h/", "/", "/"},
		{"", "http://h?q", "http://h/?q", "/", ""},
		{"", "http://h#f", "http://h/#f", "/", ""},
		{"", "//h/p", "http://h/p", "/p", "/p"},
		{"", "/p", "http:///p", "/p", "/p"},
		{"", "p/q", "http:///p/q", "/p/q", "p/q"},
		{"", "", "http:///", "/", ""},
		{"", "foo+bar://h/x", "foo+bar://h/x", "/x", "/x"},
		{"h", "/p?a=b#c", "http://h/p?a=b#c", "/p", "/p"},
		{"h", "//x/y", "http://h/x/y", "/x/y", "//x/y"},
		{"h", "//x/y?u=a://b", "http://x/y?u=a://b", "/y", "/y"},
		{"h", "http://other/y", "http://other/y", "/y", "/y"},
		{"h", "*", "http://h/%2A", "/*", "*"},
		{"h", "?a", "http://h/?a", "/", ""},
		{"h", "a.com:443", "http://h/a.com:443", "/a.com:443", "a.com:443"},
		{"h", "x/http://y", "http://h/x/http:/y", "/x/http:/y", "x/http://y"},
		{"H:8080", "/a/b/..", "http://h:8080/a/", "/a/", "/a/b/.."},
		{"h", "/%2e%2e/x", "http://h/x", "/x", "/%2e%2e/x"},
		{"h", "/a/%2e%2e%2fb", "http://h/b", "/b", "/a/%2e%2e%2fb"},
		{"h", "/a%zz%", "http://h/a%25zz%25", "/a%zz%", "/a%zz%"},
		{"h", "/a%2541", "http://h/a%2541", "/a%41", "/a%2541"},
		{"h", "/a%00%0d%0a", "http://h/a%00%0D%0A", "/a\x00\r\n", "/a%00%0d%0a"},
		{"h", "/a b?c d#e f", "http://h/a%20b?c%20d#e%20f", "/a b", "/a b"},
		{"h", "/a?b?c#d#e", "http://h/a?b?c#d#e", "/a", "/a"},
		{"h", "/!'()*;:@&=+$,/[]", "http://h/%21%27%28%29%2A;:@&=+$,/%5B%5D", "/!'()*;:@&=+$,/[]", "/!'()*;:@&=+$,/[]"},
		{"", "http://[::1]:80/", "http://[::1]:80/", "/", "/"},
		{"", "http://[FE80::1%25Eth0]/", "http://[fe80::1%eth0]/", "/", "/"},
		{"", "http://[fe80::1%eth0]:1/", "http://[fe80::1%eth0]:1/", "/", "/"},
		{"", "http://[fe80::1%25251]/", "http://[fe80::1%25251]/", "/", "/"},
		{"", "http://h:/", "http://h:/", "/", "/"},
		{"", "http://%e4%B8%96.com:1/", "http://\u4e16.com:1/", "/", "/"},
		{"", "http://a_b~!$&'()*+;=/", "http://a_b~!$&'()*+;=/", "/", "/"},
	} {
		var u gale.URI
		if err := u.Parse([]byte(tt.host), []byte(tt.in)); err != nil {
			t.Errorf("Parse(%q, %q): %v", tt.host, tt.in, err)
			continue
		}
		if got := u.String(); got != tt.full {
			t.Errorf("Parse(%q, %q): %q, want %q", tt.host, tt.in, got, tt.full)
		}
		if string(u.Path()) != tt.path || string(u.PathOriginal()) != tt.original {
			t.Errorf("Parse(%q, %q): path %q of %q, want %q of %q", tt.host, tt.in, u.Path(), u.PathOriginal(), tt.path, tt.original)
		}
	}
}

func TestURIParseErrors(t *testing.T) {
	invalid := gale.ErrorInvalidURI.Error()
	for _, tt := range []struct{ host, in, err string }{
		{"h", "/a\x00b", invalid},
		{"", "http://h/\r\nx", invalid},
		{"", "http://h/?a\r\nb", invalid},
		{"", "http://h/#\x7f", invalid},
		{"", "http:\\\\evil/x", invalid},
		{"", "http:/\\evil/x", invalid},
		{"", "http://u<@h/", invalid},
		{"h", "1http://x/y", `gale: invalid scheme "1http"`},
		{"h", "ht!tp://x/y", `gale: invalid scheme "ht!tp"`},
		{"h", "://x", `gale: invalid scheme ""`},
		{"", "http://[::1/", "gale: missing ']' in host"},
		{"", "http://[]/", "gale: invalid ipv6 host"},
		{"", "http://[g]/", "gale: invalid ipv6 address"},
		{"", "http://[1.2.3.4]/", "gale: invalid ipv6 address"},
		{"", "http://[v1.a]/", "gale: invalid ipv6 address"},
		{"", "http://[bad::ip]/", "gale: invalid ipv6 address"},
		{"", "http://[fe80::1%25]/", "gale: invalid ipv6 address"},
		{"", "http://[fe80::1%a b]/", `gale: invalid character " " in host name`},
		{"", "http://[::1]x/", `gale: invalid port "x" after host`},
		{"", "http://[::1]:x/", `gale: invalid port ":x" after host`},
		{"", "http://h:x/", `gale: invalid port ":x" after host`},
		{"", "http://a:1:2/", `gale: invalid host "a:1:2" with multiple port delimiters`},
		{"", "http://a b/", `gale: invalid character " " in host name`},
		{"", "http://a,b/", `gale: invalid character "," in host name`},
		{"", "http://a<b/", `gale: invalid character "<" in host name`},
		{"", "http://a\\b/", `gale: invalid character "\\" in host name`},
		{"", "http://a[::1]/", `gale: invalid character "[" in host name`},
		{"", "http://a\xff/", `gale: invalid character "a\xff" in host name`},
		{"", "http://a%20b/", `gale: invalid url escape "%20"`},
		{"", "http://a%41b/", `gale: invalid url escape "%41"`},
		{"", "http://a%zz/", `gale: invalid url escape "%zz"`},
		{"", "http://a%4/", `gale: invalid url escape "%4"`},
		{"u@h", "/", `gale: invalid character "@" in host name`},
		{"h/x", "/", `gale: invalid character "/" in host name`},
		{"h?x", "/", `gale: invalid character "?" in host name`},
		{"h\r\n", "/", `gale: invalid character "\r" in host name`},
	} {
		var u gale.URI
		u.SetPath("/old")
		err := u.Parse([]byte(tt.host), []byte(tt.in))
		if errorOr(err) != tt.err {
			t.Errorf("Parse(%q, %q): %v, want %s", tt.host, tt.in, err, tt.err)
		}
		if got := u.String(); err != nil && got != "http:///" {
			t.Errorf("Parse(%q, %q): left %q behind", tt.host, tt.in, got)
		}
	}
}

func TestURIUserinfo(t *testing.T) {
	for _, tt := range []struct{ in, user, password, host string }{
		{"http://h/", "", "", "h"},
		{"http://u@h/", "u", "", "h"},
		{"http://u:p:q@h/", "u", "p:q", "h"},
		{"http://u%40x:p%3a@h/", "u@x", "p:", "h"},
		{"http://a%2540%zz%4:%20%0D+b%@h/", "a%40%zz%4", " \r+b%", "h"},
		{"http://u:p@ss@h:1/", "u", "p@ss", "h:1"},
		{"http://good.com@evil.com/", "good.com", "", "evil.com"},
	} {
		var u gale.URI
		if err := u.Parse(nil, []byte(tt.in)); err != nil {
			t.Errorf("%q: %v", tt.in, err)
		}
		if string(u.Username()) != tt.user || string(u.Password()) != tt.password || string(u.Host()) != tt.host {
			t.Errorf("%q: %q, %q, %q", tt.in, u.Username(), u.Password(), u.Host())
		}
	}
}

func TestURIUpdate(t *testing.T) {
	for _, tt := range []struct{ base, ref, want string }{
		{"http://h/a/b/c?q#f", "", "http://h/a/b/c?q#f"},
		{"http://h/a/b/c?q#f", "#z", "http://h/a/b/c?q#z"},
		{"http://h/a/b/c?q#f", "?x=y#z", "http://h/a/b/c?x=y#z"},
		{"http://h/a/b/c?q#f", "?x=y", "http://h/a/b/c?x=y"},
		{"http://h/a/b/c?q#f", "d", "http://h/a/b/d"},
		{"http://h/a/b/c?q#f", "./d", "http://h/a/b/d"},
		{"http://h/a/b/c?q#f", "../d?x#y", "http://h/a/d?x#y"},
		{"http://h/a/b/c?q#f", "..", "http://h/a/"},
		{"http://h/a/b/c?q#f", "../../../../d", "http://h/d"},
		{"http://h/a/b/c?q#f", "/d", "http://h/d"},
		{"https://h/a", "//o/d", "https://o/d"},
		{"https://h/a", "ftp://o/d", "ftp://o/d"},
		{"http://h/a%2541/x", "y", "http://h/a%2541/y"},
		{"http://h/a", "b%2541", "http://h/b%2541"},
		{"http://h", "d", "http://h/d"},
		{"https://h/a", "  /d", "https://h/d"},
		{"https://h/a", "  //o/d", "https://o/d"},
		{"https://h/a", "  ", "https://h/a"},
		{"http://h/a/", "b/c:d", "http://h/a/b/c:d"},
		{"http://h/a/", "1:d", "http://h/a/1:d"},
		{"http://h/a/", "\\d", "http://h/a/%5Cd"},
		{"https://h/a/b?q#f", "HTTPS:c", "https://h/a/c"},
		{"https://h/a/b?q#f", "https:/c?x#y", "https://h/c?x#y"},
		{"https://h/a/b?q#f", "https:?x", "https://h/a/b?x"},
		{"https://h/a/b?q#f", "https:#y", "https://h/a/b?q#y"},
		{"https://h/a/b?q#f", " https:", "https://h/a/b?q#f"},
		{"https://h/a/b", "https: //c", "https://h/a/%20/c"},
		{"ftp://h/a/b", "ftp:c", "ftp://h/a/c"},
		// An invalid reference, or one that browsers might take for another host, is
		// never taken for a path on this host.
		{"https://h/a", "//a,b/c", "http:///"},
		{"https://h/a", "//a b/c", "http:///"},
		{"https://h/a", "//a:b:c/", "http:///"},
		{"https://h/a", "//a:x/", "http:///"},
		{"https://h/a", "//[::1/", "http:///"},
		{"https://h/a", "//u{@h/", "http:///"},
		{"https://h/a", "//", "http:///"},
		{"https://h/a", "///evil", "http:///"},
		{"https://h/a", "http:///x", "http:///"},
		{"https://h/a", "1://evil", "http:///"},
		{"https://h/a", "http:evil", "http:///"},
		{"https://h/a", "http:/\\evil", "http:///"},
		{"https://h/a", "https:\\\\evil", "http:///"},
		{"https://h/a", "https:/\\evil", "http:///"},
		{"https://h/a", "https:\\/evil", "http:///"},
		{"https://h/a", "https:////evil", "http:///"},
		{"https://h/a", "https:https:evil", "http:///"},
		{"https://h/a", "https:mailto:x", "http:///"},
		{"https://h/a", "https:\t//evil", "http:///"},
		{"https://h/a", "http:/evil", "http:///"},
		{"https://h/a", "http:\\\\evil", "http:///"},
		{"https://h/a", "mailto:a@b", "http:///"},
		{"http://h/a/", "javascript:x", "http:///"},
		{"https://h/a", "\\\\evil\\x", "http:///"},
		{"https://h/a", "\\/evil", "http:///"},
		{"https://h/a", "/\\evil", "http:///"},
		{"https://h/a", "  /\\evil", "http:///"},
		{"https://h/a", "/\t/evil", "http:///"},
		{"https://h/a", "\t//evil", "http:///"},
		{"https://h/a", "/\r\nX: y", "http:///"},
		{"https://h/a", "/\x00", "http:///"},
	} {
		var u gale.URI
		if err := u.Parse(nil, []byte(tt.base)); err != nil {
			t.Fatal(err)
		}
		err := u.UpdateBytesErr([]byte(tt.ref))
		if got := u.String(); got != tt.want || (err != nil) != (tt.want == "http:///") {
			t.Errorf("%q + %q = %q, %v, want %q", tt.base, tt.ref, got, err, tt.want)
		}
	}
}

func TestURISetters(t *testing.T) {
	var u gale.URI
	if got := u.String(); got != "http:///" {
		t.Errorf("zero value: %q", got)
	}
	u.SetScheme("HTTPS\r\n")
	u.SetHost("Foo.COM\r\n\x00:80")
	u.SetUsername("u\r\n")
	u.SetPassword("p\x00")
	u.SetPath("a//b/../c d?e#f%41\r\n")
	u.SetQueryString("a=b c\r\n#d\x00")
	u.SetHash("x y\r\n\x00")
	const want = "https  ://foo.com   :80/a/c%20d%3Fe%23fA%0D%0A?a=b%20c%0D%0A%23d%00#x%20y%0D%0A%00"
	if got := u.String(); got != want {
		t.Errorf("got %q\nwant %q", got, want)
	}
	if string(u.Username()) != "u  " || string(u.Password()) != "p " {
		t.Errorf("userinfo %q, %q", u.Username(), u.Password())
	}
	if got := string(u.LastPathSegment()); got != "c d?e#fA\r\n" {
		t.Errorf("LastPathSegment = %q", got)
	}
	var w bytes.Buffer
	if n, err := u.WriteTo(&w); err != nil || w.String() != want || n != int64(len(want)) {
		t.Errorf("WriteTo wrote %q", w.String())
	}
	var v gale.URI
	v.SetHash("old")
	u.CopyTo(&v)
	u.Reset()
	if got := v.String(); got != want {
		t.Errorf("copy: %q", got)
	}
}

func TestURIQueryArgs(t *testing.T) {
	var u gale.URI
	query := func(why, want string) {
		t.Helper()
		if got := string(u.RequestURI()); got != "/"+want {
			t.Errorf("%s: %q, want %q", why, got, "/"+want)
		}
	}
	u.SetQueryString("a=%zz&b")
	query("raw until the arguments are asked for", "?a=%zz&b")
	u.QueryArgs().Set("c", "1 2")
	query("then the arguments rule", "?a=%25zz&b&c=1+2")
	if got := string(u.QueryString()); got != "a=%zz&b" {
		t.Errorf("QueryString = %q", got)
	}
	var v gale.URI
	u.CopyTo(&v)
	if got := v.QueryArgs().String(); got != "a=%25zz&b&c=1+2" {
		t.Errorf("copy: %q", got)
	}
	u.QueryArgs().Reset()
	query("nothing is left", "")
	u.SetQueryString("m=n")
	query("a new query rules again", "?m=n")
	if got := u.QueryArgs().String(); got != "m=n" {
		t.Errorf("arguments of the new query: %q", got)
	}
}

func TestURIDisablePathNormalizing(t *testing.T) {
	var u gale.URI
	if err := u.Parse([]byte("h"), []byte("/a//b/../%41 c")); err != nil {
		t.Fatal(err)
	}
	u.DisablePathNormalizing = true
	if got := u.String(); got != "http://h/a//b/../%41%20c" {
		t.Errorf("got %q", got)
	}
	u.SetPath("/x\r\n/../y")
	if got := string(u.RequestURI()); got != "/x%0D%0A/../y" {
		t.Errorf("got %q", got)
	}
	u.SetPath("")
	if got := string(u.RequestURI()); got != "/" {
		t.Errorf("got %q", got)
	}
}

func TestURIParseOwnBytes(t *testing.T) {
	var u gale.URI
	if err := u.Parse([]byte("host"), []byte("/a/b?q")); err != nil {
		t.Fatal(err)
	}
	if err := u.Parse(u.Host(), u.PathOriginal()); err != nil || u.String() != "http://host/a/b" {
		t.Errorf("%q, %v", u.String(), err)
	}
	u.UpdateBytes(u.Path()[1:])
	if got := u.String(); got != "http://host/a/a/b" {
		t.Errorf("got %q", got)
	}
}

// namesHost reports whether u has a host, and not only a port: Parse accepts the text of
// a Host field, but a URI of HTTP without a host can't be parsed again.
func namesHost(u *gale.URI) bool { return len(u.Host()) > 0 && u.Host()[0] != ':' }

func FuzzURI(f *testing.F) {
	f.Add(":", "/\x95\x95", "")
	for _, s := range []string{
		"http://u:p@Host:80/a/../b?c=d#e", "//h", "/%2e%2e/%00?%zz#", "http://[fe80::1%25a]/", "http://[::1%2525]:9/x", "a:b", "http://%e4%b8%96/", "http:\\\\x",
	} {
		f.Add("", s, "../x?y")
		f.Add("h:1", s, "//o/")
	}
	f.Fuzz(func(t *testing.T, host, s, ref string) {
		var u, v gale.URI
		if err := u.Parse([]byte(host), []byte(s)); err != nil {
			return
		}
		full := u.String()
		for i := range len(full) {
			if full[i] <= ' ' || full[i] == 0x7f {
				t.Fatalf("%q: control character in %q", s, full)
			}
		}
		if !namesHost(&u) {
			return // a URI that is parsed must have one
		}
		if err := v.Parse(nil, []byte(full)); err != nil {
			t.Fatalf("%q: printed as %q, which is refused: %v", s, full, err)
		}
		if again := v.String(); again != full || !bytes.Equal(u.Path(), v.Path()) || !bytes.Equal(u.Host(), v.Host()) {
			t.Fatalf("%q: printed as %q, then as %q", s, full, again)
		}
		peers.CheckNormalPath(t, u.Path())
		// If net/url can parse the whole URI, it gives the same host and path.
		if std, err := url.Parse(full); err == nil && std.Host != "" {
			if !strings.HasPrefix(std.Host, "[") && std.Host != string(u.Host()) || std.Path != string(u.Path()) {
				t.Fatalf("%q: host %q path %q, net/url: %q %q", full, u.Host(), u.Path(), std.Host, std.Path)
			}
		}
		u.Update(ref)
		if !namesHost(&u) {
			return // ref was not a valid reference
		}
		if err := v.Parse(nil, u.FullURI()); err != nil {
			t.Fatalf("%q updated by %q is %q, which is refused: %v", full, ref, u.FullURI(), err)
		}
		peers.CheckNormalPath(t, u.Path())
	})
}
