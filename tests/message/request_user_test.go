package message

import (
	"bufio"
	"bytes"
	"net/url"
	"strings"
	"testing"

	"github.com/galehttp/gale"
	"github.com/galehttp/gale/tests/harness"
)

// User and password of a URI are sent only to its host, whatever the request is used for
// next. An Authorization that the program set is sent instead.
func TestURIUserStaysWithHost(t *testing.T) {
	w := harness.NewRedirectWorld(t, "a.test:80", "b.test:80")
	c := w.Client(t)
	const user, own = "Authorization: Basic dTpw\r\n", "Authorization: own\r\n"
	for name, test := range map[string]struct {
		change      func(req *gale.Request)
		user1, user bool // whether the first and the second request have the user
	}{
		"again":                     {func(*gale.Request) {}, true, true},
		"another path":              {func(r *gale.Request) { r.URI().SetPath("/y") }, true, true},
		"Update to a path":          {func(r *gale.Request) { r.URI().Update("/y") }, true, true},
		"Update to a host":          {func(r *gale.Request) { r.URI().Update("//b.test/") }, true, false},
		"Update to a URI":           {func(r *gale.Request) { r.URI().Update("http://b.test/") }, true, false},
		"Parse":                     {func(r *gale.Request) { _ = r.URI().Parse(nil, []byte("http://b.test/")) }, true, false},
		"SetRequestURI":             {func(r *gale.Request) { r.SetRequestURI("http://b.test/") }, true, false},
		"SetRequestURI, same host":  {func(r *gale.Request) { r.SetRequestURI("http://a.test/") }, true, false},
		"SetRequestURI with a user": {func(r *gale.Request) { r.SetRequestURI("http://u:p@b.test/") }, true, true},
		"SetURI": {func(r *gale.Request) {
			u := gale.AcquireURI()
			defer gale.ReleaseURI(u)
			_ = u.Parse(nil, []byte("http://b.test/"))
			r.SetURI(u)
		}, true, false},
		"SetHost":                {func(r *gale.Request) { r.SetHost("b.test") }, true, false},
		"SetHost, the same":      {func(r *gale.Request) { r.SetHost("A.test") }, true, true},
		"SetHost and back":       {func(r *gale.Request) { r.SetHost("b.test"); r.SetHost("a.test") }, true, false},
		"SetUsername, SetHost":   {func(r *gale.Request) { r.URI().SetUsername("u"); r.URI().SetPassword("p"); r.SetHost("b.test") }, true, true},
		"SetUsername to nothing": {func(r *gale.Request) { r.URI().SetUsername("") }, true, false},
		"Reset":                  {func(r *gale.Request) { r.Reset(); r.SetRequestURI("http://b.test/") }, true, false},
		"a copy": {func(r *gale.Request) {
			var other gale.Request
			r.CopyTo(&other)
			other.SetRequestURI("http://b.test/")
			other.CopyTo(r)
		}, true, false},
		"a copy of the header": {func(r *gale.Request) {
			var h gale.RequestHeader
			r.Header.CopyTo(&h)
			r.Reset()
			h.CopyTo(&r.Header)
			r.Header.SetHost("")
			r.SetRequestURI("http://b.test/")
		}, true, false},
	} {
		for _, has := range []bool{false, true} {
			var req gale.Request
			req.SetRequestURI("http://u:p@a.test/x")
			if has {
				req.Header.Set("Authorization", "own")
			}
			for i, want := range []bool{test.user1, test.user} {
				if i == 1 {
					test.change(&req)
				}
				if err := c.Do(&req, nil); err != nil {
					t.Fatal(name, err)
				}
				head := w.Take()[0].Head
				wantOwn := has && !(name == "Reset" && i == 1)
				want = want && !wantOwn
				if strings.Contains(head, user) != want || strings.Contains(head, own) != wantOwn || strings.Count(head, "Authorization") > 1 {
					t.Errorf("%s, request %d, user %v, own Authorization %v:\n%s", name, i, want, wantOwn, head)
				}
				if got := string(req.Header.Peek("Authorization")); got != "" && got != "own" {
					t.Errorf("%s: the header is left with %q", name, got)
				}
			}
		}
	}
}

// The Authorization that Write sends for a user is not in the header afterwards. One that the
// program set is sent instead, and stays.
func TestURIUserWritten(t *testing.T) {
	var req gale.Request
	req.SetRequestURI("http://u:p@a.test/x")
	req.SetBodyString("body")
	req.Header.SetMethod("POST")
	req.Header.Add("Authorization", "one")
	req.Header.Add("Authorization", "two")
	for _, want := range []string{"Authorization: one\r\nAuthorization: two\r\n", "Authorization: Basic dTpw\r\n"} {
		own := bytes.Join(req.Header.PeekAll("Authorization"), []byte(","))
		var b bytes.Buffer
		bw := bufio.NewWriter(&b)
		if err := req.Write(bw); err != nil {
			t.Fatal(err)
		}
		bw.Flush()
		if got := b.String(); strings.Count(got, "Authorization:") != strings.Count(want, ":") || !strings.Contains(got, want) {
			t.Errorf("written: %s", got)
		}
		if got := bytes.Join(req.Header.PeekAll("Authorization"), []byte(",")); !bytes.Equal(got, own) {
			t.Errorf("the header is left with %q", got)
		}
		req.Header.Del("Authorization")
	}
}

// User and password of a URI are sent through a proxy to their host, with each attempt.
func TestURIUserThroughProxy(t *testing.T) {
	w := harness.NewRedirectWorld(t, "proxy.test:3128")
	c := w.Client(t)
	c.Proxy = func(*gale.URI) (*url.URL, error) { return url.Parse("http://proxy.test:3128") }
	var req gale.Request
	for _, test := range []struct {
		url  string
		user bool
	}{{"http://u:p@a.test/x?y", true}, {"http://b.test/x?y", false}} {
		req.SetRequestURI(test.url)
		for range 2 {
			if err := c.Do(&req, nil); err != nil {
				t.Fatal(err)
			}
			seen := w.Take()[0]
			if strings.Contains(seen.Head, "Basic dTpw") != test.user || !strings.HasSuffix(seen.URI, ".test/x?y") {
				t.Errorf("%s: the proxy got\n%s", test.url, seen.Head)
			}
		}
	}
}

// A pipeline connects to one address, but its requests may have different hosts.
func TestURIUserInPipeline(t *testing.T) {
	w := harness.NewRedirectWorld(t, "a.test:80")
	c := &gale.PipelineClient{Addr: "a.test:80", Dial: w.Dial}
	var req gale.Request
	for _, target := range []string{"http://u:p@a.test/x", "http://b.test/x"} {
		req.SetRequestURI(target)
		if err := c.Do(&req, nil); err != nil {
			t.Fatal(err)
		}
		if head := w.Take()[0].Head; strings.Contains(head, "Authorization") != strings.Contains(target, "@") {
			t.Errorf("%s:\n%s", target, head)
		}
	}
}
