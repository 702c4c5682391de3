package gale

import (
	"bufio"
	"bytes"
	"net/url"
	"strings"
	"testing"
)

// User and password of a URI are sent only to its host, whatever the request is used for
// next. An Authorization that the program set stays.
func TestURIUserStaysWithHost(t *testing.T) {
	w := newRedirectWorld(t, "a.test:80", "b.test:80")
	c := w.client(t)
	const user, own = "Authorization: Basic dTpw\r\n", "Authorization: own\r\n"
	for name, test := range map[string]struct {
		change      func(req *Request)
		user1, user bool // whether the first and the second request have the user
	}{
		"again":                     {func(*Request) {}, true, true},
		"another path":              {func(r *Request) { r.URI().SetPath("/y") }, true, true},
		"Update to a path":          {func(r *Request) { r.URI().Update("/y") }, true, true},
		"Update to a host":          {func(r *Request) { r.URI().Update("//b.test/") }, true, false},
		"Update to a URI":           {func(r *Request) { r.URI().Update("http://b.test/") }, true, false},
		"Parse":                     {func(r *Request) { _ = r.URI().Parse(nil, []byte("http://b.test/")) }, true, false},
		"SetRequestURI":             {func(r *Request) { r.SetRequestURI("http://b.test/") }, true, false},
		"SetRequestURI, same host":  {func(r *Request) { r.SetRequestURI("http://a.test/") }, true, false},
		"SetRequestURI with a user": {func(r *Request) { r.SetRequestURI("http://u:p@b.test/") }, true, true},
		"SetURI": {func(r *Request) {
			u := AcquireURI()
			defer ReleaseURI(u)
			_ = u.Parse(nil, []byte("http://b.test/"))
			r.SetURI(u)
		}, true, false},
		"SetHost":                {func(r *Request) { r.SetHost("b.test") }, true, false},
		"SetHost, the same":      {func(r *Request) { r.SetHost("A.test") }, true, true},
		"SetHost and back":       {func(r *Request) { r.SetHost("b.test"); r.SetHost("a.test") }, true, false},
		"SetUsername, SetHost":   {func(r *Request) { r.URI().SetUsername("u"); r.URI().SetPassword("p"); r.SetHost("b.test") }, true, true},
		"SetUsername to nothing": {func(r *Request) { r.URI().SetUsername("") }, true, false},
		"Reset":                  {func(r *Request) { r.Reset(); r.SetRequestURI("http://b.test/") }, true, false},
		"a copy": {func(r *Request) {
			var other Request
			r.CopyTo(&other)
			other.SetRequestURI("http://b.test/")
			other.CopyTo(r)
		}, true, false},
		"a copy of the header": {func(r *Request) {
			var h RequestHeader
			r.Header.CopyTo(&h)
			r.Reset()
			h.CopyTo(&r.Header)
			r.Header.SetHost("")
			r.SetRequestURI("http://b.test/")
		}, true, false},
	} {
		for _, has := range []bool{false, true} {
			var req Request
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
				head := w.take()[0].head
				wantOwn := has && !want && name != "Reset"
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

// The Authorization that Write sends for a user is not in the header afterwards.
func TestURIUserWritten(t *testing.T) {
	var req Request
	req.SetRequestURI("http://u:p@a.test/x")
	req.SetBodyString("body")
	req.Header.SetMethod("POST")
	req.Header.Add("Authorization", "one")
	req.Header.Add("Authorization", "two")
	for range 2 {
		var b bytes.Buffer
		bw := bufio.NewWriter(&b)
		if err := req.Write(bw); err != nil {
			t.Fatal(err)
		}
		bw.Flush()
		if got := b.String(); strings.Count(got, "Authorization:") != 1 || !strings.Contains(got, "Authorization: Basic dTpw\r\n") {
			t.Errorf("written: %s", got)
		}
		if got := bytes.Join(req.Header.PeekAll("Authorization"), []byte(",")); string(got) != "one,two" {
			t.Errorf("the header is left with %q", got)
		}
	}
}

// User and password of a URI are sent through a proxy to their host, with each attempt.
func TestURIUserThroughProxy(t *testing.T) {
	w := newRedirectWorld(t, "proxy.test:3128")
	c := w.client(t)
	c.Proxy = func(*URI) (*url.URL, error) { return url.Parse("http://proxy.test:3128") }
	var req Request
	for _, test := range []struct {
		url  string
		user bool
	}{{"http://u:p@a.test/x?y", true}, {"http://b.test/x?y", false}} {
		req.SetRequestURI(test.url)
		for range 2 {
			if err := c.Do(&req, nil); err != nil {
				t.Fatal(err)
			}
			seen := w.take()[0]
			if strings.Contains(seen.head, "Basic dTpw") != test.user || !strings.HasSuffix(seen.uri, ".test/x?y") {
				t.Errorf("%s: the proxy got\n%s", test.url, seen.head)
			}
		}
	}
}

// A pipeline connects to one address, but its requests may have different hosts.
func TestURIUserInPipeline(t *testing.T) {
	w := newRedirectWorld(t, "a.test:80")
	c := &PipelineClient{Addr: "a.test:80", Dial: w.dial}
	var req Request
	for _, target := range []string{"http://u:p@a.test/x", "http://b.test/x"} {
		req.SetRequestURI(target)
		if err := c.Do(&req, nil); err != nil {
			t.Fatal(err)
		}
		if head := w.take()[0].head; strings.Contains(head, "Authorization") != strings.Contains(target, "@") {
			t.Errorf("%s:\n%s", target, head)
		}
	}
}
