package client

import (
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"strings"
	"sync"
	"testing"

	"github.com/galehttp/gale"
	"github.com/galehttp/gale/tests/harness"
	"github.com/galehttp/gale/tests/harness/peers"
)

// netHTTPJar is a jar of net/http as a CookieJar.
type netHTTPJar struct{ jar http.CookieJar }

func (j netHTTPJar) SetCookies(u *gale.URI, cookies []*gale.Cookie) {
	var all []*http.Cookie
	for _, c := range cookies {
		all = append(all, &http.Cookie{
			Name: string(c.Key()), Value: string(c.Value()), Path: string(c.Path()), Domain: string(c.Domain()),
			Expires: c.Expire(), MaxAge: c.MaxAge(), Secure: c.Secure(), HttpOnly: c.HTTPOnly(),
		})
	}
	j.jar.SetCookies(jarURL(u), all)
}

func (j netHTTPJar) Cookies(u *gale.URI) []*gale.Cookie {
	var all []*gale.Cookie
	for _, c := range j.jar.Cookies(jarURL(u)) {
		cookie := new(gale.Cookie)
		cookie.SetKey(c.Name)
		cookie.SetValue(c.Value)
		all = append(all, cookie)
	}
	return all
}

func jarURL(u *gale.URI) *url.URL {
	return &url.URL{Scheme: string(u.Scheme()), Host: string(u.Host()), Path: string(u.Path())}
}

func newTestJar(t *testing.T) gale.CookieJar {
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	return netHTTPJar{jar}
}

// Cookies go back to where they came from, on redirects too, and nowhere else.
func TestClientJar(t *testing.T) {
	n := peers.NewNetwork(t)
	var mu sync.Mutex
	got := map[string]string{} // Cookie by host and path
	handle := func(ctx *gale.RequestCtx) {
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
	harness.ServeAt(t, n, "a.test:80", handle)
	harness.ServeAt(t, n, "b.test:80", handle)
	c := &gale.Client{Dial: n.Dial, Jar: newTestJar(t)}
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
	req := gale.AcquireRequest()
	defer gale.ReleaseRequest(req)
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

// jarFunc keeps the last cookie, and sends it with each request.
type jarFunc struct{ key, value, path string }

func (j *jarFunc) SetCookies(_ *gale.URI, cookies []*gale.Cookie) {
	for _, c := range cookies {
		*j = jarFunc{string(c.Key()), string(c.Value()), string(c.Path())}
	}
}

func (j *jarFunc) Cookies(*gale.URI) []*gale.Cookie {
	if j.key == "" {
		return nil
	}
	c := new(gale.Cookie)
	c.SetKey(j.key)
	c.SetValue(j.value)
	return []*gale.Cookie{c}
}

// TestCookieKeepsBytes proves that cookies keep the bytes that they came with (RFC 6265 sections
// 5.2 and 5.4): in a jar, in the request that sends them back, and in the server that gets them,
// also when the server adds a cookie and passes the request on.
func TestCookieKeepsBytes(t *testing.T) {
	var set, back, found, passed string
	ts := harness.Start(t, &gale.Server{HTTP2: gale.HTTP2Config{H2C: true}}, func(ctx *gale.RequestCtx) {
		h := &ctx.Request.Header
		back, found = string(h.Peek(gale.HeaderCookie)), string(h.Cookie("a"))
		h.SetCookie("z", "1")
		passed = string(h.Peek(gale.HeaderCookie))
		ctx.Response.Header.Add(gale.HeaderSetCookie, set)
	})
	for protocol, http2 := range map[string]gale.HTTP2Mode{"HTTP/1.1": gale.HTTP2Off, "HTTP/2": gale.HTTP2Only} {
		for _, x := range []struct{ set, value, path string }{
			{`a="abc"; Path=/`, `"abc"`, "/"},
			{`a=""`, `""`, ""},
			{`a={"theme":"dark"}; Path=/`, `{"theme":"dark"}`, "/"},
			{`a=c:\temp`, `c:\temp`, ""},
			{`a="b; Secure`, `"b`, ""},
			{`a=b"c\"`, `b"c\"`, ""},
			{`a= [1, 2] ; Path=/x`, `[1, 2]`, "/x"},
			{"a=gr\u00fcn; Path=/stra\u00dfe/liste", "gr\u00fcn", "/stra\u00dfe/liste"},
			{"a=\xff; Path=/\xfe", "\xff", "/\xfe"},
		} {
			j := new(jarFunc)
			c := &gale.Client{Jar: j, HTTP2: http2}
			set = x.set
			for range 2 {
				if _, _, err := c.Get(nil, "http://"+ts.Addr+"/"); err != nil {
					t.Fatal(err)
				}
			}
			if want := (jarFunc{"a", x.value, x.path}); *j != want {
				t.Errorf("%s: Set-Cookie: %s: the jar has %q, want %q", protocol, x.set, *j, want)
			}
			if back != "a="+x.value || found != x.value || passed != "a="+x.value+"; z=1" {
				t.Errorf("%s: Set-Cookie: %s: sent back as %s, found as %s, passed on as %s", protocol, x.set, back, found, passed)
			}
			c.CloseIdleConnections()
		}
	}
}
