package differential

import (
	"fmt"
	"net/url"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/galehttp/gale"
	"github.com/valyala/fasthttp"
)

// uriAPI has the methods that both types of URIs have, except QueryArgs.
type uriAPI interface {
	AppendBytes(dst []byte) []byte
	FullURI() []byte
	Hash() []byte
	Host() []byte
	LastPathSegment() []byte
	Parse(host, uri []byte) error
	Password() []byte
	Path() []byte
	PathOriginal() []byte
	QueryString() []byte
	RequestURI() []byte
	Reset()
	Scheme() []byte
	SetHash(hash string)
	SetHashBytes(hash []byte)
	SetHost(host string)
	SetHostBytes(host []byte)
	SetPassword(password string)
	SetPath(path string)
	SetPathBytes(path []byte)
	SetQueryString(queryString string)
	SetQueryStringBytes(queryString []byte)
	SetScheme(scheme string)
	SetSchemeBytes(scheme []byte)
	SetUsername(username string)
	String() string
	Update(newURI string)
	UpdateBytes(newURI []byte)
	Username() []byte
}

var uriDifferences = differences{
	{row: "spaces in targets that are written as given, `#` in a query that was set", when: func(o observation) bool {
		return strings.ContainsAny(o.peer, " #") && strings.NewReplacer(" ", "%20", "#", "%23").Replace(o.peer) == strings.ReplaceAll(o.gale, "#", "%23")
	}},
	{row: "`URI.Update` with a path or a query: username, password", when: func(o observation) bool {
		return updates(o) && (o.what == "Username" || o.what == "Password") && o.peer == `""`
	}},
	{row: "`URI.Update` with a query: hash", when: func(o observation) bool {
		return updates(o) && o.what == "Hash" && o.gale == `""` && strings.HasPrefix(reference(o), "?")
	}},
	{row: "`URI.Update` with an invalid or empty host", when: func(o observation) bool {
		var u gale.URI
		err := u.Parse(nil, []byte(reference(o)))
		return updates(o) && (err != nil || len(u.Host()) == 0)
	}},
	{row: "`URI.DisablePathNormalizing` after `Update`", when: func(o observation) bool {
		return strings.HasPrefix(o.in, "update raw ") && o.what == "RequestURI"
	}},
	{row: "`,`, `<`, `>`, `\"`, broken UTF-8 and userinfo in hosts", when: func(o observation) bool {
		host := authority(o)
		return refuses(o) && (strings.ContainsAny(host, ",<>\"") || strings.Contains(given(o), "@") || !utf8.ValidString(unescape(host)))
	}},
	{row: "`%zone` of IPv6 addresses in URIs", when: func(o observation) bool {
		return (updates(o) || o.what == "Parse" && o.peer == "true") && strings.HasPrefix(authority(o), "[") && strings.Contains(authority(o), "%")
	}},
	{row: "`http:\\\\host`, `http:/\\host`, `://host`", when: func(o observation) bool {
		ref := reference(o)
		return refuses(o) && (strings.HasPrefix(ref, "://") || strings.Contains(ref, `:\`) || strings.Contains(ref, `:/\`))
	}},
	{row: "`//` in a target after something that is no scheme", when: func(o observation) bool {
		ref := reference(o)
		before, after, found := strings.Cut(ref, "//")
		if before == "" && given(o) != "" {
			found = strings.Contains(after, "//")
		}
		return strings.HasPrefix(o.in, "parse ") && found && !plainScheme(before)
	}},
	{row: "`http:///x`, `http://:80/x` for `URI.Parse`", when: func(o observation) bool {
		scheme, _, ok := strings.Cut(reference(o), "://")
		host := authority(o)
		return refuses(o) && ok && plainScheme(scheme+":") && (host == "" || host[0] == ':')
	}},
}

// Inputs are written "parse HOST REFERENCE", "update BASE REFERENCE" or, with
// DisablePathNormalizing, "update raw BASE REFERENCE".
func updates(o observation) bool { return strings.HasPrefix(o.in, "update ") }
func refuses(o observation) bool {
	return strings.HasPrefix(o.in, "parse ") && o.what == "Parse" && o.gale == "true"
}

// given returns the part of the input before the reference.
func given(o observation) string {
	in := strings.TrimPrefix(strings.TrimPrefix(strings.TrimPrefix(o.in, "parse "), "update "), "raw ")
	return in[:len(in)-len(reference(o))-1]
}

func reference(o observation) string {
	in := strings.TrimPrefix(strings.TrimPrefix(strings.TrimPrefix(o.in, "parse "), "update "), "raw ")
	_, ref, _ := strings.Cut(in, " ")
	return ref
}

// authority returns the host of the reference, or the given one, with its port.
func authority(o observation) string {
	host := given(o)
	if scheme, rest, ok := strings.Cut(reference(o), "://"); ok && plainScheme(scheme+":") {
		host = rest
		if i := strings.IndexAny(rest, "/?#"); i >= 0 {
			host = rest[:i]
		}
	}
	return host[strings.LastIndexByte(host, '@')+1:]
}

func unescape(s string) string {
	u, err := url.PathUnescape(s)
	if err != nil {
		return s
	}
	return u
}

// plainScheme reports whether s is a scheme with its colon.
func plainScheme(s string) bool {
	u, err := url.Parse(s + "//host")
	return err == nil && u.Scheme != "" && u.Host == "host"
}

var (
	uriHosts  = []string{"", "example.com", "EXAMPLE.com:8080", "localhost", "1.2.3.4", "[::1]", "[::1]:80", "[fe80::1%25eth0]", "a_b.c", "münchen.de", "xn--mnchen-3ya.de", "a.b.", "-"}
	uriInputs = []string{
		"", "/", "//", "/a", "a", "/a/b?c=d#e", "?a=b", "#h", "/?", "/#", "/?#", "/a?b?c", "/a#b#c", "/a#b?c", "http://example.com", "http://example.com/", "HTTP://EXAMPLE.COM/A", "https://example.com:443/a?b#c",
		"http://user:pw@host/a", "http://user@host/", "http://u:p:q@host/", "http://a@b@c/", "http://@host/", "http://:@host/", "//host/a", "///a", "////a", "//host", "http:///a", "http://", "http:", "http:/a", "http:a", "mailto:a@b", "*", "host:80",
		"/a/../b", "/../a", "/a/./b", "/a/b/..", "/a/b/.", "/a//b", "/a///b/", "/..", "/.", "/...", "/a/.../b", "/a/..b/c", "/a/b../c", "/%2e%2e/a", "/a/%2e%2e/b", "/a%2fb", "/a%2F..%2Fb", "/%41", "/%", "/%4", "/%zz", "/%00", "/a%20b", "/a b", "/a+b", "/é", "/%c3%a9", "/\xff", "/%ff", "/a;b=c", "/a:b", "/a@b", "/a=b&c", "/a,b", "/a'b", `/a\b`, `/a"b`, "/a<b>", "/a|b^c`{}", "/~a", "/a[b]", "/$&+!*()",
		"/a?b=c d", "/a?%zz", "/a?b=%20&c=+", "/a?é", "/a?b#", "/a#é", "/a# b", "/a?b=\"<>", "/%252e%252e/", "/a%3fb", "/a%23b", "/a/b/c/../../d", "/a/b/../../../../c", "/a/%2e/b", "/a/.%2e/b", "./a", "../a", "a/b", "a/../b", "a:b/c", "/a/b/../", "/a/..", "/a/../", "/./", "/a/./",
		"http://[::1]/a", "http://[::1]:8080/a", "http://[::1", "http://::1/", "http://[fe80::1%25en0]/", "http://[fe80::1%en0]/", "http://[]/", "http://[a]/", "http://h:80a/", "http://h:/", "http://h:80:81/", "http://h%41/", "http://h%C3%A9/", "http://é/", "http://a b/", "http://a,b/", "http://h?q", "http://h#f", "http://h?q/r", "1http://h/", "+x://h/", "ht+tp://h/", "h-t.p://h/", "ws://h/", "http://1.2.3.4:5/", "http://a..b/", "http://.a/", "http://h/%zz?%zz#%zz",
		"http://host/a b?c d#e f", "http://h\\a/", "/a\\..\\b", "/\x00", "/a\tb", "/a\r\nb", "/a\x7f", "http://h\x00/", "/a?b\r\n", "//a:b@c/d", "javascript:alert(1)", "http://h/a?http://x/", "/a?b=//c", "/http://x/", "a?b:c", "a#b:c", "://h/a", "http//h", "http:/\\h/", "h:80/x", "about:blank",
	}
	uriPieces = []string{"/", "/", "a", "b", ".", "..", "/..", "/../", "/.", "//", "%2e", "%2F", "%41", "%", "%zz", "?", "#", "=", "&", "+", " ", ":", "@", "http:", "https://", "host", ":80", "[::1]", "é", "\xff", ";", ",", "\\", "q=1", "http://h", "~", "%20", "|"}
)

func observeURI(tr *trace, u uriAPI) {
	tr.add("Scheme", string(u.Scheme()))
	tr.add("Host", string(u.Host()))
	tr.add("Username", string(u.Username()))
	tr.add("Password", string(u.Password()))
	tr.add("PathOriginal", string(u.PathOriginal()))
	tr.add("Path", string(u.Path()))
	tr.add("LastPathSegment", string(u.LastPathSegment()))
	tr.add("QueryString", string(u.QueryString()))
	tr.add("Hash", string(u.Hash()))
	tr.add("RequestURI", string(u.RequestURI()))
	tr.add("FullURI", string(u.FullURI()))
	tr.add("String", u.String())
	tr.add("AppendBytes", u.AppendBytes([]byte("x")))
}

// checkURIInput compares what one reference means. What net/url reads as well
// must have the same host, query and fragment, and the same path before it is
// normalised.
func checkURIInput(t *testing.T, host, in string) {
	t.Helper()
	var ours, peers trace
	var gu gale.URI
	var fu fasthttp.URI
	gerr, ferr := gu.Parse([]byte(host), []byte(in)), fu.Parse([]byte(host), []byte(in))
	ours.add("Parse", gerr != nil)
	peers.add("Parse", ferr != nil)
	if gerr == nil && ferr == nil {
		observeURI(&ours, &gu)
		observeURI(&peers, &fu)
		ours.add("QueryArgs", gu.QueryArgs().String())
		peers.add("QueryArgs", fu.QueryArgs().String())
		// Once asked for, the arguments are written as the query.
		observeURI(&ours, &gu)
		observeURI(&peers, &fu)
		gu.QueryArgs().Set("x", "y z")
		fu.QueryArgs().Set("x", "y z")
		gu.DisablePathNormalizing, fu.DisablePathNormalizing = true, true
		observeURI(&ours, &gu)
		observeURI(&peers, &fu)
	}
	compare(t, uriDifferences, "parse "+host+" "+in, &ours, &peers)
	if gerr != nil {
		return
	}
	u, err := url.Parse(in)
	if err != nil || u.Opaque != "" || u.Host == "" || u.Scheme == "" {
		return
	}
	if want := strings.ToLower(u.Host); want != string(gu.Host()) && !strings.ContainsAny(in, "%É") {
		t.Errorf("%q: host %q, net/url has %q", in, gu.Host(), want)
	}
	if u.RawQuery != string(gu.QueryString()) {
		t.Errorf("%q: query %q, net/url has %q", in, gu.QueryString(), u.RawQuery)
	}
}

// What scripts are made of: all that differs by itself is left to the inputs.
var (
	uriWords      = []string{"/", "/a", "b", "..", "/..", "/./", "%2e", "%2F", "%41", "%zz", "=", "&", "+", " ", "é", "\xff", ";", "\\", "~", "|"}
	uriReferences = []string{
		"", "/", "/a", "a", "a/b", "/a/b?c=d#e", "?a=b", "#h", "?", "/a/../b", "../a", "../../a", "./a", ".", "..", "a?b", "a#b", "/a b", "/%2e%2e/a", "%2e%2e/a", "a%20b", "/é", "?q=é&r",
		"http://example.com", "http://Example.com/A?b#c", "https://other:8443/x/y", "//host/a", "//host", "//host:1/a/../b?c", "http://user:pw@host/a", "//u@host/",
	}
	uriBases = []string{"http://example.com/a/b/c?d=e#f", "https://host:8443/", "http://host", "http://u:p@host/x/", "http://h/a%20b/c", "http://h/a/../b/./c//d"}
)

func playURI(tr *trace, u uriAPI, copyTo func(), normal func(bool), b []byte) {
	s := &script{b}
	for s.more() {
		op, word := s.n(17), s.join(uriWords, 6)
		reference, host := s.pick(uriReferences), s.pick(uriHosts[:7])
		switch op {
		case 0, 1:
			refused := u.Parse([]byte(host), []byte(reference)) != nil
			if tr.add(fmt.Sprintf("Parse(%q, %q)", host, reference), refused); refused {
				u.Reset() // fasthttp leaves parts of what it refused
			}
		case 2:
			tr.add(fmt.Sprintf("Parse(%q, %q)", host, "/x"+word), u.Parse([]byte(host), []byte("/x"+word)) != nil)
		case 3:
			tr.add(fmt.Sprintf("Update(%q)", reference))
			u.Update(reference)
			settle(u, normal)
		case 4:
			tr.add(fmt.Sprintf("UpdateBytes(%q)", "/x"+word))
			u.UpdateBytes([]byte("/x" + word))
			settle(u, normal)
		case 5:
			tr.add(fmt.Sprintf("SetPath(%q)", word))
			u.SetPath(word)
		case 6:
			tr.add(fmt.Sprintf("SetPathBytes(%q)", word))
			u.SetPathBytes([]byte(word))
		case 7:
			tr.add(fmt.Sprintf("SetQueryString(%q)", word))
			u.SetQueryString(word)
		case 8:
			tr.add(fmt.Sprintf("SetQueryStringBytes(%q)", word))
			u.SetQueryStringBytes([]byte(word))
		case 9:
			tr.add(fmt.Sprintf("SetHash(%q)", word))
			u.SetHash(word)
		case 10:
			tr.add(fmt.Sprintf("SetHost(%q)", host))
			u.SetHost(host)
			dropUser(u)
		case 11:
			tr.add(fmt.Sprintf("SetHostBytes(%q)", host))
			u.SetHostBytes([]byte(host))
			dropUser(u)
		case 12:
			tr.add("SetScheme")
			u.SetScheme(s.pick([]string{"http", "HTTPS", "ftp", ""}))
		case 13:
			tr.add(fmt.Sprintf("SetUsername(%q)", word))
			u.SetUsername(word)
		case 14:
			tr.add(fmt.Sprintf("SetPassword(%q)", word))
			u.SetPassword(word)
		case 15:
			tr.add("CopyTo")
			copyTo()
		case 16:
			on := s.n(2) == 1
			tr.add(fmt.Sprintf("normalize %v", on))
			normal(on)
		}
		observeURI(tr, u)
	}
}

// dropUser makes alike what SetHost leaves different: the user that came with
// another host, which fasthttp keeps.
func dropUser(u uriAPI) {
	u.SetUsername("")
	u.SetPassword("")
}

// settle makes alike what Update leaves different: checkURIUpdate has that.
func settle(u uriAPI, normal func(bool)) {
	dropUser(u)
	u.SetHash("")
	normal(true)
}

func checkURIScript(t *testing.T, b []byte) {
	t.Helper()
	var ours, peers trace
	ga, gb := new(gale.URI), new(gale.URI)
	playURI(&ours, ga, func() { ga.CopyTo(gb); ga.Reset(); gb.CopyTo(ga) }, func(on bool) { ga.DisablePathNormalizing = !on }, b)
	fa, fb := new(fasthttp.URI), new(fasthttp.URI)
	playURI(&peers, fa, func() { fa.CopyTo(fb); fa.Reset(); fb.CopyTo(fa) }, func(on bool) { fa.DisablePathNormalizing = !on }, b)
	compare(t, uriDifferences, fmt.Sprintf("script %x", b), &ours, &peers)
}

// checkURIUpdate compares following a reference. What net/url makes of it is
// what it should be, up to how paths are cleaned and written.
func checkURIUpdate(t *testing.T, base, ref string, raw bool) {
	t.Helper()
	var ours, peers trace
	var gu gale.URI
	var fu fasthttp.URI
	if gu.Parse(nil, []byte(base)) != nil || fu.Parse(nil, []byte(base)) != nil {
		return
	}
	ours.add("Parse")
	peers.add("Parse")
	gu.DisablePathNormalizing, fu.DisablePathNormalizing = raw, raw
	gu.Update(ref)
	fu.Update(ref)
	observeURI(&ours, &gu)
	observeURI(&peers, &fu)
	in := "update " + base + " " + ref
	if raw {
		in = "update raw " + base + " " + ref
	}
	compare(t, uriDifferences, in, &ours, &peers)
}

func TestURIs(t *testing.T) {
	for _, in := range uriInputs {
		checkURIInput(t, "", in)
		checkURIInput(t, "Host:80", in)
	}
	for _, host := range append(uriHosts, "a@b", "a/b", "a?b", "a:b", "[", "]", "[::1]x", "a:1:2", "%41", "a,b", "\x00", "a:", ":80", "<", `a"b`) {
		checkURIInput(t, host, "/a")
	}
	for _, b := range scripts(1200, 12) {
		s := &script{b}
		checkURIInput(t, s.pick(uriHosts), s.join(uriPieces, 9))
	}
	for _, b := range scripts(400, 60) {
		checkURIScript(t, b)
	}
	for _, base := range uriBases {
		for _, ref := range append(uriReferences, uriInputs...) {
			checkURIUpdate(t, base, ref, false)
			checkURIUpdate(t, base, ref, true)
		}
	}
	uriDifferences.checkDocumented(t)
}

func FuzzURIs(f *testing.F) {
	for _, in := range uriInputs {
		f.Add("host", in, []byte(in))
	}
	f.Fuzz(func(t *testing.T, host, in string, script []byte) {
		checkURIInput(t, host, in)
		checkURIScript(t, script[:min(len(script), 200)])
		checkURIUpdate(t, uriBases[len(in)%len(uriBases)], in, len(script)%2 == 0)
	})
}
