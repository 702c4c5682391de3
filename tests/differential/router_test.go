package differential

import (
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"

	peerrouter "github.com/fasthttp/router"
	"github.com/galehttp/gale"
	"github.com/galehttp/gale/router"
	"github.com/galehttp/gale/tests/harness/gate"
	"github.com/valyala/fasthttp"
)

// bothRouters are a router of github.com/fasthttp/router and one with the same patterns in Fallback.
type bothRouters struct {
	peer *peerrouter.Router
	own  *router.Router

	gotPeer, gotOwn string // what the last handler knew
}

func newBothRouters() *bothRouters {
	b := &bothRouters{peer: peerrouter.New(), own: router.New()}
	b.peer.RedirectTrailingSlash, b.peer.RedirectFixedPath = false, false
	b.own.TrailingSlash, b.own.NoHEAD = router.Refuse, true
	return b
}

var wildcardName = regexp.MustCompile(`\{([a-z0-9]+)`)

// add registers a pattern, and returns why one of both refuses it.
func (b *bothRouters) add(method, pattern string) (peer, own any) {
	names := wildcardName.FindAllStringSubmatch(pattern, -1)
	known := func(value func(name string) any) string {
		text := method + " " + pattern
		for _, n := range names {
			text += fmt.Sprintf(" %s=%#v", n[1], value(n[1]))
		}
		return text
	}
	func() {
		defer func() { peer = recover() }()
		h := func(ctx *fasthttp.RequestCtx) {
			b.gotPeer = known(func(name string) any { return ctx.UserValue(name) })
		}
		if method == "" {
			b.peer.ANY(pattern, h)
		} else {
			b.peer.Handle(method, pattern, h)
		}
	}()
	func() {
		defer func() { own = recover() }()
		b.own.Fallback(strings.TrimSpace(method+" "+pattern), func(ctx *gale.RequestCtx) {
			if ctx.Pattern() != pattern {
				b.gotOwn = "Pattern is " + ctx.Pattern()
				return
			}
			b.gotOwn = known(func(name string) any { return ctx.UserValue(name) })
		})
	}()
	return peer, own
}

func (b *bothRouters) ask(method, path string) (peer, own string) {
	b.gotPeer, b.gotOwn = "", ""
	var theirs fasthttp.RequestCtx
	theirs.Request.Header.SetMethod(method)
	theirs.Request.Header.SetRequestURI(path)
	func() {
		defer func() {
			if recover() != nil {
				peer = "panics"
			}
		}()
		b.peer.Handler(&theirs)
	}()
	var req gale.Request
	req.Header.SetMethod(method)
	req.Header.SetRequestURI(path)
	var ours gale.RequestCtx
	ours.Init(&req, nil, nil)
	b.own.Handler()(&ours)
	if peer != "" {
		return peer, peer // nothing to compare with
	}
	peer = fmt.Sprint(theirs.Response.StatusCode(), " ", methods(theirs.Response.Header.Peek("Allow")), b.gotPeer)
	own = fmt.Sprint(ours.Response.StatusCode(), " ", methods(ours.Response.Header.Peek("Allow")), b.gotOwn)
	return peer, own
}

// endsAtSlash reports whether the peer may not have come back from a way that matches the path without a slash at its
// end: with "/a{x:b*}" and "/{y}/" it finds nothing for /a/, and sometimes a {name:*} instead.
func endsAtSlash(set []string, path, peer string) bool {
	return strings.HasSuffix(path, "/") && (!strings.HasPrefix(peer, "200") || strings.Contains(strings.Join(set, " "), ":*}"))
}

// endsInside reports whether a pattern begins with what matches all of path, and goes on. The peer may not come back
// from there: with "/abc", "/abd" and "/{x}" it finds nothing for /ab.
func endsInside(set []string, path string) bool {
	for _, p := range set {
		_, p, _ = strings.Cut(p, " ")
		begin := ""
		for _, part := range patternPart.FindAllString(p, -1) {
			if regexp.MustCompile("^" + begin + "$").MatchString(path) {
				return true
			}
			if begin += regexp.QuoteMeta(part); part[0] == '{' {
				begin = strings.TrimSuffix(begin, regexp.QuoteMeta(part)) + "[^/]*"
			}
		}
	}
	return false
}

// apart reports whether patterns have a wildcard in common at a place where another one was registered before. The peer
// looks at those patterns one by one then, so that a {name:*} may win over text.
func apart(set []string) bool {
	first, others := map[string]string{}, map[string]bool{}
	for _, p := range set {
		p = strings.ReplaceAll(p, "?", "")
		for at := range p {
			if p[at] != '{' || strings.LastIndexByte(p[:at], '{') > strings.LastIndexByte(p[:at], '/') {
				continue
			}
			tail, _, _ := strings.Cut(p[at:], "/")
			switch place := p[:at]; {
			case first[place] == "":
				first[place] = tail
			case first[place] == tail:
			case others[place+tail]:
				return true
			default:
				others[place+tail] = true
			}
		}
	}
	return false
}

// patternPart is a wildcard, or a byte of text.
var patternPart = regexp.MustCompile(`\{([^{}]|\{[^{}]*\})*\}|.`)

// methods sorts the methods of Allow.
func methods(allow []byte) string {
	list := strings.Split(string(allow), ", ")
	slices.Sort(list)
	return strings.Join(list, ", ")
}

var (
	// Wildcards with other text after them have other names: there, "/{x}" after "/{x}.y/z" is taken for "/{x}.y".
	formParts = []string{
		"a", "ab", "b", "a-b", "x", "x", "{#}", "{#}", "{#}", "a{#}", "ab{#}", "{b#}b", "{c#}-", "{d#}.x", "a{e#}-b", "{f#}-{#}", "a{g#}-{#}b",
		"{#:[ab]+}", "{#:[0-9]+}", "{h#:[ab]+}-", "{i#:[0-9]+}-{#}", "{j#:[a-z-]+}-{#:[ab]*}", "a{#:b*}", "{#:[0-9]{1,2}}",
	}
	formEnds  = []string{"", "", "", "", "", "/", "/{#:*}", "/{#:*}", "/{#?}", "/{#?}/{#?}", "/{#?:[ab]+}", "/{#?}/a/{#?}"}
	formPaths = []string{"a", "a", "b", "ab", "aab", "abb", "x", "1", "12", "123", "a-b", "a-b-1", "1-2-b", "-", "a-", "-b", "b.x", ".x", "bb", "xyz-ab"}
)

// suffixAndSlash finds a slash at the end of a pattern that has text after a wildcard.
var suffixAndSlash = regexp.MustCompile(`\}[^/}].*/$`)

func oneOf(rnd *rand.Rand, list []string) string { return list[rnd.IntN(len(list))] }

// compareRouters compares both for one set of patterns. It returns false if the set isn't one for
// github.com/fasthttp/router.
func compareRouters(t *testing.T, seed uint64) bool {
	rnd := rand.New(rand.NewPCG(seed, 5))
	b := newBothRouters()
	var set []string
	for range 1 + rnd.IntN(6) {
		p := ""
		for range rnd.IntN(4) {
			p += "/" + oneOf(rnd, formParts)
		}
		if p += oneOf(rnd, formEnds); p == "" {
			p = "/"
		}
		if suffixAndSlash.MatchString(p) {
			continue // never matches there
		}
		kind := oneOf(rnd, []string{"p", "p", "q"})
		for n := 0; strings.Contains(p, "#"); n++ {
			p = strings.Replace(p, "#", fmt.Sprint(kind, n), 1)
		}
		method := oneOf(rnd, []string{"GET", "GET", "GET", "POST", ""})
		set = append(set, method+" "+p)
		peer, own := b.add(method, p)
		if peer != nil {
			return false
		}
		if own != nil {
			if strings.Contains(fmt.Sprint(own), "conflicts with") && strings.Contains(fmt.Sprint(own), "both match the same requests") {
				return false // other names are no other pattern here
			}
			t.Fatalf("seed %d: of %q, the last is refused: %v", seed, set, own)
		}
	}
	for range 20 {
		path := ""
		for range rnd.IntN(5) {
			path += "/" + oneOf(rnd, formPaths)
		}
		if path == "" || rnd.IntN(5) == 0 {
			path += "/"
		}
		method := oneOf(rnd, []string{"GET", "GET", "POST", "PUT"})
		if peer, own := b.ask(method, path); peer != own && !endsAtSlash(set, path, peer) && !endsInside(set, path) && !apart(set) {
			t.Fatalf("seed %d: %q\n%s %s:\nfasthttp/router: %s\nthe router:      %s", seed, set, method, path, peer, own)
		}
	}
	return true
}

// TestFallbackLikePeer proves that Router.Fallback finds what github.com/fasthttp/router finds, for random sets of
// patterns that this router takes.
func TestFallbackLikePeer(t *testing.T) {
	n, compared := gate.Form(100000, 5000), 0
	for seed := range uint64(n) {
		if compareRouters(t, seed) {
			compared++
		}
	}
	if compared < n/4 {
		t.Errorf("only %d of %d sets were compared", compared, n)
	}
}

// TestFallbackDiffers proves the differences from github.com/fasthttp/router that docs/moving/from-routers.md names.
func TestFallbackDiffers(t *testing.T) {
	for _, row := range []struct{ patterns, path, peer, own string }{
		{"/abc /abd /{x}", "/ab", "404 ", `200 GET /{x} x="ab"`},
		{"/{a}b/", "/ab/", "404 ", `200 GET /{a}b/ a="a"`},
		{"/{a}.x/b /{a}", "/q.x", `200 GET /{a} a="q"`, `200 GET /{a} a="q.x"`},
		{"/{a?} /{b:*}", "/x/", "404 ", `200 GET /{b:*} b="x/"`},
		{"/{a}/x /{b}/{c:*} /{b}/y", "/q/y", `200 GET /{b}/{c:*} b="q" c="y"`, `200 GET /{b}/y b="q"`},
		{"/{a:[0-9]+}.x", "/1yx", `200 GET /{a:[0-9]+}.x a="1"`, "404 "},
		{"/{a:a|ab}", "/ab", "404 ", `200 GET /{a:a|ab} a="ab"`},
		{"/{x}", "/a%20b", `200 GET /{x} x="a%20b"`, `200 GET /{x} x="a b"`},
		{"/{x}", "/a%2Fb", `200 GET /{x} x="a%2Fb"`, `200 GET /{x} x="a/b"`},
		{"/a /{x}", "/%61", `200 GET /{x} x="%61"`, "200 GET /a"},
		{"/{x}", "/%2e%2E", `200 GET /{x} x="%2e%2E"`, "404 "},
		{"/x/{a:*}", "/x//y", `200 GET /x/{a:*} a="/y"`, "307 "},
		{"/a/{b?}/c", "/a/x", `200 GET /a/{b?}/c b="x"`, "malformed"},
		{"/a{b?}", "/ax", `200 GET /a{b?} b="x"`, "malformed"},
		{"/a{b", "/a{b", `200 GET /a{b b=<nil>`, "malformed"},
		{"/{a}/{a}", "/x/y", `200 GET /{a}/{a} a="x" a="x"`, "malformed"},
		{"/{a...}", "/x", `200 GET /{a...} a=<nil>`, "malformed"},
		{"/{a}/x /{b}/x", "/q/x", `200 GET /{a}/x a="q"`, "conflict"},
	} {
		b, own := newBothRouters(), ""
		for _, p := range strings.Fields(row.patterns) {
			switch peer, refused := b.add("GET", p); {
			case peer != nil:
				t.Errorf("%s: the peer refuses %q: %v", row.patterns, p, peer)
			case refused == nil:
			case strings.Contains(fmt.Sprint(refused), "at offset "):
				own = "malformed"
			case strings.Contains(fmt.Sprint(refused), "conflicts with"):
				own = "conflict"
			}
		}
		peer, served := b.ask("GET", row.path)
		if own == "" {
			own = served
		}
		if peer != row.peer || own != row.own {
			t.Errorf("%s, %s:\nfasthttp/router: %s\nthe router:      %s", row.patterns, row.path, peer, own)
		}
	}
}
