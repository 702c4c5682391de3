package gale

import (
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"strings"
	"sync"
	"testing"
)

// netHTTPJar is a jar of net/http as a CookieJar.
type netHTTPJar struct{ jar http.CookieJar }

func (j netHTTPJar) SetCookies(u *URI, cookies []*Cookie) {
	var all []*http.Cookie
	for _, c := range cookies {
		if parsed, err := http.ParseSetCookie(c.String()); err == nil {
			all = append(all, parsed)
		}
	}
	j.jar.SetCookies(jarURL(u), all)
}

func (j netHTTPJar) Cookies(u *URI) []*Cookie {
	var all []*Cookie
	for _, c := range j.jar.Cookies(jarURL(u)) {
		cookie := new(Cookie)
		cookie.SetKey(c.Name)
		cookie.SetValue(c.Value)
		all = append(all, cookie)
	}
	return all
}

func jarURL(u *URI) *url.URL {
	return &url.URL{Scheme: string(u.Scheme()), Host: string(u.Host()), Path: string(u.Path())}
}

func newTestJar(t *testing.T) CookieJar {
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	return netHTTPJar{jar}
}

// Cookies go back to where they came from, on redirects too, and nowhere else.
func TestClientJar(t *testing.T) {
	n := newMemNetwork(t)
	var mu sync.Mutex
	got := map[string]string{} // Cookie by host and path
	handle := func(ctx *RequestCtx) {
		mu.Lock()
		got[string(ctx.Host())+string(ctx.Path())] = string(ctx.Request.Header.Peek("Cookie"))
		mu.Unlock()
		switch string(ctx.Path()) {
		case "/login":
			ctx.Response.Header.Add("Set-Cookie", "session=s1; Path=/")
			ctx.Response.Header.Add("Set-Cookie", "deep=d; Path=/deep")
			ctx.Response.Header.Add("Set-Cookie", "gone=x; Max-Age=0")
			ctx.Response.Header.Add("Set-Cookie", "alien=x; Domain=b.test")
			ctx.Redirect("/deep/", 302)
		case "/deep/":
			ctx.Redirect("http://b.test/away", 302)
		}
	}
	n.serve(t, "a.test:80", handle)
	n.serve(t, "b.test:80", handle)
	c := &Client{Dial: n.dial, Jar: newTestJar(t)}
	defer c.CloseIdleConnections()
	if _, _, err := c.Get(nil, "http://a.test/login"); err != nil {
		t.Fatal(err)
	}
	for where, want := range map[string]string{"a.test/login": "", "a.test/deep/": "deep=d; session=s1", "b.test/away": ""} {
		if got[where] != want {
			t.Errorf("%s got %q, want %q", where, got[where], want)
		}
	}
	// The request's own cookies win, and stay as they are.
	req := AcquireRequest()
	defer ReleaseRequest(req)
	req.SetRequestURI("http://a.test/mine")
	req.Header.SetCookie("session", "mine")
	req.Header.SetCookie("other", "o")
	if err := c.Do(req, nil); err != nil {
		t.Fatal(err)
	}
	if got["a.test/mine"] != "session=mine; other=o" {
		t.Errorf("got %q", got["a.test/mine"])
	}
	req.SetRequestURI("http://a.test/deep/x")
	if err := c.Do(req, nil); err != nil {
		t.Fatal(err)
	}
	if cookies := got["a.test/deep/x"]; !strings.Contains(cookies, "deep=d") || !strings.Contains(cookies, "session=mine") {
		t.Errorf("got %q", cookies)
	}
	if own := string(req.Header.Peek("Cookie")); own != "session=mine; other=o" {
		t.Errorf("the caller's request is left with %q", own)
	}
}
