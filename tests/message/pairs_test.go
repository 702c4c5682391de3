package message

import (
	"bufio"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/galehttp/gale"
	"github.com/galehttp/gale/adaptor"
	"github.com/galehttp/gale/tests/harness/gate"
)

// pairsOf are the parts of a request that have pairs of names and values.
type pairsOf struct{ query, contentType, form, cookie string }

// readPairs returns the first values of role in the query, the form and the cookies as Gale and
// then a net/http handler of the same program read them, and what CheckPairs returns. The handler
// must get query and cookies as they came.
func readPairs(t *testing.T, p pairsOf) (here, there string, err error) {
	t.Helper()
	text := fmt.Sprintf("POST /?%s HTTP/1.1\r\nHost: a\r\nContent-Type: %s\r\nContent-Length: %d\r\n", p.query, p.contentType, len(p.form))
	if p.cookie != "" {
		text += "Cookie: " + p.cookie + "\r\n"
	}
	var req gale.Request
	if err := req.Read(bufio.NewReaderSize(strings.NewReader(text+"\r\n"+p.form), 64<<10)); err != nil {
		return "", "", fmt.Errorf("refused: %w", err)
	}
	err = req.CheckPairs()
	var ctx gale.RequestCtx
	ctx.Init(&req, nil, nil)
	here = fmt.Sprintf("%q %q %q", ctx.QueryArgs().Peek("role"), ctx.PostArgs().Peek("role"), ctx.Request.Header.Cookie("role"))
	adaptor.NewFastHTTPHandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		cookie := ""
		if k, err := r.Cookie("role"); err == nil {
			cookie = k.Value
		}
		there = fmt.Sprintf("%q %q %q", r.URL.Query().Get("role"), r.PostFormValue("role"), cookie)
		if r.URL.RawQuery != p.query || r.Header.Get("Cookie") != strings.Trim(p.cookie, " \t") {
			t.Errorf("%+q: the query is handed on as %q, and the cookies as %q", p, r.URL.RawQuery, r.Header.Get("Cookie"))
		}
	})(&ctx)
	if there == "" {
		return here, "", fmt.Errorf("refused: %d", ctx.Response.StatusCode())
	}
	return here, there, err
}

const urlencoded = "application/x-www-form-urlencoded"

// Where Gale and net/http read two first values, CheckPairs says so. It says nothing about what
// honest clients send.
func TestCheckPairs(t *testing.T) {
	for _, c := range []struct {
		pairs              string
		malformed, differs bool
	}{
		{"role=user", false, false}, {"role=a+b%20c&role=x", false, false}, {"a&b=&&c=d", false, false}, {"=v&role=x", false, false},
		{"role==x", false, false}, {"role=\u00e9", false, false}, {"role=100%25", false, false}, {"role=a,b:c/d?e@f", false, false}, {"", false, false},
		{"role=a;b&role=admin", true, true}, {"role=%zz&role=admin", true, true}, {"role=%&role=admin", true, true}, {"role=1%2&role=admin", true, true},
		{"%zz=1&role=admin", true, false}, {"a=1;role=admin", true, false}, {"q=100%", true, false},
		{strings.Repeat("a&", 10_000) + "role=admin", true, false},
	} {
		for _, p := range []pairsOf{{query: c.pairs}, {contentType: urlencoded, form: c.pairs}, {contentType: "Application/X-www-form-urlencoded ; charset=utf-8", form: c.pairs}} {
			here, there, err := readPairs(t, p)
			if (err != nil) != c.malformed || (here != there) != c.differs {
				t.Errorf("%.60q: Gale reads %s, net/http %s, CheckPairs returns %v", p, here, there, err)
			}
		}
	}
	const most = 10 << 20
	for _, size := range []int{most, most + 1} {
		p := pairsOf{query: "role=admin", contentType: urlencoded, form: "role=user&a=" + strings.Repeat("b", size-len("role=user&a="))}
		here, there, err := readPairs(t, p)
		if differs := size > most; (err != nil) != differs || (here != there) != differs {
			t.Errorf("%d bytes: Gale reads %.80s, net/http %.80s, CheckPairs returns %v", size, here, there, err)
		}
	}
	if here, there, err := readPairs(t, pairsOf{query: "a=b#&role=admin"}); err == nil || here == there {
		t.Errorf("#: Gale reads %s, net/http %s, CheckPairs returns %v", here, there, err)
	}
	for cookie, want := range map[string]struct{ malformed, differs bool }{
		"role=user": {}, "role=a b,c:d=e": {}, "role=; role=x": {}, "a=b;;role=x": {}, " role =x ; a=b": {},
		`role="a"; role=x`: {true, true}, `role="a; role=x`: {true, true}, "role=\u00e9; role=x": {true, true}, `role=a\b; role=x`: {true, true},
		"role; role=x": {true, true}, "role= x; role=y": {true, true}, "=v; role=x": {true, false}, "a b=v; role=x": {true, false}, "\u00e9=v; role=x": {true, false},
		strings.Repeat("a=b; ", 3001) + "role=x": {true, true},
	} {
		here, there, err := readPairs(t, pairsOf{cookie: cookie})
		if (err != nil) != want.malformed || (here != there) != want.differs {
			t.Errorf("%.60q: Gale reads %s, net/http %s, CheckPairs returns %v", cookie, here, there, err)
		}
	}
	for _, contentType := range []string{"\u00a0" + urlencoded, urlencoded + "; a=b; a=c"} {
		if here, there, err := readPairs(t, pairsOf{contentType: contentType, form: "role=admin"}); err == nil || here == there {
			t.Errorf("%q: Gale reads %s, net/http %s, CheckPairs returns %v", contentType, here, there, err)
		}
	}
}

// Property: Gale and net/http read the same if CheckPairs returns nil.
func TestCheckPairsIsEnough(t *testing.T) {
	words := []string{"role", "role", "=", "=", "=", "&", "&", ";", "; ", "%", "%41", "%4", "+", "user", "admin", "a", "\"", "\\", " ", "\t", "\u00e9", ",", "#", "?", "/"}
	rounds := 20_000
	if gate.Full() {
		rounds = 1_000_000
	}
	some := func(of int) (s string) {
		for range gate.Rand.IntN(of) {
			s += words[gate.Rand.IntN(len(words))]
		}
		return s
	}
	same := 0
	for range rounds {
		p := pairsOf{query: strings.NewReplacer(" ", "", "\t", "").Replace(some(7)), contentType: urlencoded, form: some(7), cookie: some(9)}
		here, there, err := readPairs(t, p)
		if err == nil {
			same++
		}
		if err == nil && here != there {
			t.Errorf("%+q: Gale reads %s, net/http %s", p, here, there)
		}
	}
	if same < rounds/100 {
		t.Errorf("only %d of %d requests are well-formed", same, rounds)
	}
}
