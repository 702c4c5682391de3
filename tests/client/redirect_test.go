package client

import (
	"crypto/tls"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/galehttp/gale"
	"github.com/galehttp/gale/tests/harness"
	"github.com/galehttp/gale/tests/harness/peers"
)

// via returns a URL that redirects from base to the next.
func via(base string, code int, to string) string {
	return fmt.Sprintf("%s/?code=%d&to=%s", base, code, url.QueryEscape(to))
}

// Method and body change as RFC 9110 section 15.4 says.
func TestRedirectMethods(t *testing.T) {
	w := harness.NewRedirectWorld(t, "a.test:80")
	c := w.Client(t)
	for _, method := range []string{"GET", "HEAD", "POST", "PUT", "DELETE", "PATCH", "OPTIONS", "QUERY"} {
		for _, code := range []int{301, 302, 303, 307, 308} {
			req, resp := gale.AcquireRequest(), gale.AcquireResponse()
			req.SetRequestURI(via("http://a.test", code, "/end"))
			req.Header.SetMethod(method)
			req.Header.Set("X-Kept", "1")
			hasBody := method != "GET" && method != "HEAD"
			if hasBody {
				req.SetBodyString("body")
				req.Header.SetContentType("text/x")
				req.Header.Set("Content-Language", "en")
				req.Header.Set("Digest", "x")
			}
			err := c.DoRedirects(req, resp, 1)
			gale.ReleaseRequest(req)
			gale.ReleaseResponse(resp)
			seen := w.Take()
			if err != nil || len(seen) != 2 {
				t.Errorf("%s %d: %v, %d requests", method, code, err, len(seen))
				continue
			}
			want, end := method, seen[1]
			if code == 303 && method != "HEAD" || code < 303 && method == "POST" {
				want = "GET"
			}
			if end.Method != want || end.URI != "/end" || !strings.Contains(end.Head, "X-Kept: 1\r\n") {
				t.Errorf("%s %d: ends with %+v, want %s", method, code, end, want)
			}
			if kept := hasBody && want == method; kept != (end.Body == "body") || kept != strings.Contains(end.Head, "text/x") ||
				kept != strings.Contains(end.Head, "Content-Language") || kept != strings.Contains(end.Head, "Digest") ||
				!kept && strings.Contains(end.Head, "Content-Length") {
				t.Errorf("%s %d: body kept is %v, want %v:\n%s", method, code, end.Body != "", kept, end.Head)
			}
		}
	}
}

// A stream can be sent once. A redirect that needs it again fails; one that drops the
// body doesn't.
func TestRedirectStream(t *testing.T) {
	w := harness.NewRedirectWorld(t, "a.test:80")
	c := w.Client(t)
	for code, want := range map[int]error{301: nil, 302: nil, 303: nil, 307: gale.ErrRedirectBodyStream, 308: gale.ErrRedirectBodyStream} {
		req := gale.AcquireRequest()
		req.SetRequestURI(via("http://a.test", code, "/end"))
		req.Header.SetMethod("POST")
		req.SetBodyStream(strings.NewReader("body"), -1)
		if err := c.DoRedirects(req, nil, 1); err != want {
			t.Errorf("%d: %v, want %v", code, err, want)
		}
		if seen := w.Take(); seen[0].Body != "body" || want == nil && seen[1].Body != "" {
			t.Errorf("%d: %+v", code, seen)
		}
		gale.ReleaseRequest(req)
	}
}

// Credentials go only to their host, even if a chain of redirects returns to it.
func TestRedirectCredentials(t *testing.T) {
	const zone = "http://[fe80::1%25eth0]"
	w := harness.NewRedirectWorld(t, "a.test:80", "a.test:8080", "a.test:443", "b.test:80", "b.test:443", "sub.a.test:80", "a.test.:80",
		"[fe80::1%eth0]:80", "[fe80::1%eth1]:80", "[::1]:80", "127.0.0.1:80")
	c := w.Client(t)
	for name, test := range map[string]struct {
		urls []string
		kept bool
	}{
		"same host":            {[]string{"http://a.test", "/end"}, true},
		"same host in full":    {[]string{"http://a.test", "http://a.test/end"}, true},
		"case":                 {[]string{"http://a.test", "http://A.TEST/end"}, true},
		"default port":         {[]string{"http://a.test", "http://a.test:80/end"}, true},
		"no default port":      {[]string{"http://a.test:80", "http://a.test/end"}, true},
		"empty port":           {[]string{"http://a.test", "http://a.test:/end"}, true},
		"user":                 {[]string{"http://a.test", "http://u:p@a.test/end"}, true},
		"upgrade":              {[]string{"http://a.test", "https://a.test/end"}, true},
		"chain on a host":      {[]string{"http://a.test", "http://a.test/x", "http://a.test/end"}, true},
		"other host":           {[]string{"http://a.test", "http://b.test/end"}, false},
		"network path":         {[]string{"http://a.test", "//b.test/end"}, false},
		"subdomain":            {[]string{"http://a.test", "http://sub.a.test/end"}, false},
		"parent":               {[]string{"http://sub.a.test", "http://a.test/end"}, false},
		"trailing dot":         {[]string{"http://a.test", "http://a.test./end"}, false},
		"other port":           {[]string{"http://a.test", "http://a.test:8080/end"}, false},
		"downgrade":            {[]string{"https://a.test", "http://a.test/end"}, false},
		"there and back":       {[]string{"http://a.test", "http://b.test", "http://a.test/end"}, false},
		"port there and back":  {[]string{"http://a.test", "http://a.test:8080", "http://a.test/end"}, false},
		"downgrade and back":   {[]string{"https://a.test", "http://a.test", "https://a.test/end"}, false},
		"there, on, and back":  {[]string{"http://a.test", "http://b.test", "http://b.test", "http://sub.a.test", "http://a.test/end"}, false},
		"same zone":            {[]string{zone, zone + "/end"}, true},
		"other zone":           {[]string{zone, "http://[fe80::1%25eth1]/end"}, false},
		"loopback by its name": {[]string{"http://[::1]", "http://127.0.0.1/end"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			u := test.urls[len(test.urls)-1]
			for i := len(test.urls) - 2; i >= 0; i-- {
				u = via(test.urls[i], 302, u)
			}
			req, resp := gale.AcquireRequest(), gale.AcquireResponse()
			defer gale.ReleaseRequest(req)
			defer gale.ReleaseResponse(resp)
			req.SetRequestURI(u)
			req.Header.Set("Authorization", "secret")
			req.Header.Set("Proxy-Authorization", "secret")
			req.Header.Set("Www-Authenticate", "secret")
			req.Header.Set("Cookie2", "secret")
			req.Header.SetCookie("c", "secret")
			if err := c.DoRedirects(req, resp, 10); err != nil {
				t.Fatal(err)
			}
			seen := w.Take()
			if n := strings.Count(seen[0].Head, "secret"); n != 5 {
				t.Fatalf("the first request has %d credentials:\n%s", n, seen[0].Head)
			}
			want := 0
			if test.kept {
				want = 5
			}
			if last := seen[len(seen)-1]; last.URI != "/end" || strings.Count(last.Head, "secret") != want {
				t.Errorf("want %d credentials in\n%s", want, last.Head)
			}
		})
	}
}

// User and password of the request's URL are credentials. Those in a Location are not.
func TestRedirectUserinfo(t *testing.T) {
	w := harness.NewRedirectWorld(t, "a.test:80", "b.test:80")
	c := w.Client(t)
	for _, test := range []struct {
		url  string
		kept bool
	}{
		{via("http://u:p@a.test", 302, "/end"), true},
		{via("http://u:p@a.test", 302, "http://b.test/end"), false},
		{via("http://a.test", 302, "http://x:y@a.test/end"), false},
		{via("http://u:p@a.test", 302, via("http://b.test", 302, "http://a.test/end")), false},
	} {
		if _, _, err := c.Get(nil, test.url); err != nil {
			t.Fatal(err)
		}
		seen := w.Take()
		if got := strings.Contains(seen[len(seen)-1].Head, "Authorization: Basic dTpw\r\n"); got != test.kept ||
			!test.kept && strings.Contains(seen[len(seen)-1].Head, "Authorization") {
			t.Errorf("%s: Authorization kept is %v:\n%s", test.url, got, seen[len(seen)-1].Head)
		}
	}
}

// A Host that was set for one host isn't sent to another.
func TestRedirectUseHostHeader(t *testing.T) {
	w := harness.NewRedirectWorld(t, "a.test:80", "b.test:80")
	c := w.Client(t)
	for to, want := range map[string]string{"/end": "virtual", "http://b.test/end": "b.test"} {
		req := gale.AcquireRequest()
		req.SetRequestURI(via("http://a.test", 307, to))
		req.Header.SetHost("virtual")
		req.UseHostHeader = true
		if err := c.DoRedirects(req, nil, 1); err != nil {
			t.Fatal(err)
		}
		if seen := w.Take(); seen[0].Host != "virtual" || seen[1].Host != want {
			t.Errorf("to %s: %+v", to, seen)
		}
		gale.ReleaseRequest(req)
	}
}

// A Location is relative to the URI of its request (RFC 9110 section 10.2.2).
func TestRedirectLocation(t *testing.T) {
	w := harness.NewRedirectWorld(t, "a.test:80", "b.test:80")
	c := w.Client(t)
	for _, test := range []struct{ from, to, want string }{
		{"http://a.test/p/q/r", "../e", "http://a.test/p/e"},
		{"http://a.test/p/q/r", "e", "http://a.test/p/q/e"},
		{"http://a.test/p/q/r", "?x", "http://a.test/p/q/r?x"},
		{"http://a.test/p/q/r", "/e?x#f", "http://a.test/e?x#f"},
		{"http://a.test/p/q/r", "//b.test", "http://b.test/"},
		{"http://a.test/p/q/r", "http://b.test?x", "http://b.test/?x"},
		{"http://a.test/", "/a//b/./c", "http://a.test/a/b/c"},
	} {
		req, resp := gale.AcquireRequest(), gale.AcquireResponse()
		req.SetRequestURI(via(test.from, 302, test.to))
		req.URI().SetPath(strings.TrimPrefix(test.from, "http://a.test")) // without the slash that via adds
		if err := c.DoRedirects(req, resp, 1); err != nil || resp.StatusCode() != 200 {
			t.Errorf("%+v: %v, %d", test, err, resp.StatusCode())
		}
		if got := req.URI().String(); got != test.want {
			t.Errorf("%s to %s goes to %s, want %s", test.from, test.to, got, test.want)
		}
		gale.ReleaseRequest(req)
		gale.ReleaseResponse(resp)
	}
}

// A redirect goes to the path as it is given if the request, its URI or the client says so, and so does
// the next one.
func TestRedirectPathAsGiven(t *testing.T) {
	const given, normal = "/a%2Fb//c/./d", "/a/b/c/d"
	w := harness.NewRedirectWorld(t, "a.test:80")
	for _, test := range []struct {
		name string
		set  func(c *gale.Client, req *gale.Request)
		want string
	}{
		{"nothing", func(*gale.Client, *gale.Request) {}, normal},
		{"the request", func(_ *gale.Client, req *gale.Request) { req.DisableRedirectPathNormalizing = true }, given},
		{"the URI", func(_ *gale.Client, req *gale.Request) { req.URI().DisablePathNormalizing = true }, given},
		{"the client", func(c *gale.Client, _ *gale.Request) { c.DisablePathNormalizing = true }, given},
	} {
		for hops := 1; hops <= 2; hops++ {
			c, req, to := w.Client(t), &gale.Request{}, given
			if hops == 2 {
				to = via("http://a.test", 302, given)
			}
			req.SetRequestURI(via("http://a.test", 302, to))
			test.set(c, req)
			w.Take()
			if err := c.DoRedirects(req, nil, hops); err != nil {
				t.Errorf("%s, %d redirects: %v", test.name, hops, err)
			}
			if seen := w.Take(); seen[len(seen)-1].URI != test.want {
				t.Errorf("%s, redirect %d goes to %s, want %s", test.name, hops, seen[len(seen)-1].URI, test.want)
			}
		}
	}
}

func TestRedirectErrors(t *testing.T) {
	w := harness.NewRedirectWorld(t, "a.test:80", "a.test:443")
	c := w.Client(t)
	two := via("http://a.test", 302, via("", 302, "/end"))
	for _, test := range []struct {
		url  string
		most int
		want string
	}{
		{two, -1, gale.ErrTooManyRedirects.Error()},
		{two, 0, gale.ErrTooManyRedirects.Error()},
		{two, 1, gale.ErrTooManyRedirects.Error()},
		{two, 2, ""},
		{"http://a.test/?code=302", 9, gale.ErrMissingLocation.Error()},
		{"http://a.test/?code=300", 0, ""},
		{"http://a.test/?code=304", 0, ""},
		{via("http://a.test", 302, "ftp://a.test/"), 9, `gale: unsupported protocol "ftp". http and https are supported`},
		{via("http://a.test", 302, "mailto:a@b"), 0, ""},
		{via("http://a.test", 302, "com.example.app:/callback?code=1"), 0, ""},
		{via("http://a.test", 302, "1a:b"), 9, `gale: unsupported protocol "1a". http and https are supported`},
		{via("http://a.test", 302, "https:/x"), 9, gale.ErrorInvalidURI.Error()},
		{via("http://a.test", 302, "http:/end"), 9, ""},
		{via("http://a.test", 302, "http:///x"), 9, `gale: invalid uri: it names no host, as http://example.com/ does`},
		{via("http://a.test", 302, "http://:80/x"), 9, `gale: invalid uri: it names no host, as http://example.com/ does`},
		{via("http://a.test", 302, "//:80/x"), 9, `gale: invalid uri: it names no host, as http://example.com/ does`},
		{via("http://a.test", 302, "//:/"), 9, `gale: invalid uri: it names no host, as http://example.com/ does`},
		{via("http://a.test", 302, "//bücher.test/x"), 9, `gale: invalid character "ü" in host name: write "bücher.test" in ASCII (punycode), as golang.org/x/net/idna does`},
		{via("http://a.test", 302, "HTTP:end"), 9, ""},
		{via("http://a.test", 302, "https:x"), 9, gale.ErrorInvalidURI.Error()},
		{via("http://a.test", 302, "http:/\\evil.test"), 9, gale.ErrorInvalidURI.Error()},
		{via("http://a.test", 302, "/\\evil.test"), 9, gale.ErrorInvalidURI.Error()},
		{via("http://a.test", 302, "\\\\evil.test"), 9, gale.ErrorInvalidURI.Error()},
		{via("http://a.test", 302, "/\t/evil.test"), 9, gale.ErrorInvalidURI.Error()},
		{via("http://a.test", 302, "///x"), 9, gale.ErrorInvalidURI.Error()},
		{via("http://a.test", 302, "http://a b/"), 9, `gale: invalid character " " in host name`},
		{via("http://a.test", 302, "http://a.test,b.test/"), 9, `gale: invalid character "," in host name`},
		{via("http://a.test", 302, "http://gone.test/"), 9, "no host gone.test:80"},
	} {
		req, resp := gale.AcquireRequest(), gale.AcquireResponse()
		req.SetRequestURI(test.url)
		err := c.DoRedirects(req, resp, test.most)
		if got := fmt.Sprint(err); err == nil && test.want != "" || err != nil && got != test.want {
			t.Errorf("%s, %d: %v, want %q", test.url, test.most, err, test.want)
		}
		if err == gale.ErrTooManyRedirects && (resp.StatusCode() != 302 || string(resp.Body()) != "at a.test") {
			t.Errorf("with ErrTooManyRedirects: %d %q, want the last response", resp.StatusCode(), resp.Body())
		}
		gale.ReleaseRequest(req)
		gale.ReleaseResponse(resp)
	}
}

// Get follows 16 redirects.
func TestGetRedirectLimit(t *testing.T) {
	w := harness.NewRedirectWorld(t, "a.test:80")
	c := w.Client(t)
	count := 0
	harness.ServeAt(t, w.Network, "n.test:80", func(ctx *gale.RequestCtx) {
		n := 0
		_, _ = fmt.Sscanf(string(ctx.Path()), "/%d", &n)
		count++
		if n > 0 {
			ctx.Redirect(fmt.Sprintf("/%d", n-1), 302)
		}
	})
	if code, _, err := c.Get(nil, "http://n.test/16"); code != 200 || err != nil || count != 17 {
		t.Errorf("16 redirects: %d, %v, %d requests", code, err, count)
	}
	if code, _, err := c.Get(nil, "http://n.test/17"); code != 302 || err != gale.ErrTooManyRedirects {
		t.Errorf("17 redirects: %d, %v", code, err)
	}
}

// The time limit is for the whole chain, not for each request.
func TestRedirectTimeout(t *testing.T) {
	defer peers.EmptyPools()
	peers.EmptyPools()
	synctest.Test(t, func(t *testing.T) {
		const pause, limit = 3 * time.Second, 10 * time.Second
		var requests atomic.Int32
		w := peers.NewNetwork(t)
		harness.ServeAt(t, w, "a.test:80", func(ctx *gale.RequestCtx) {
			requests.Add(1)
			time.Sleep(pause) // a slow server, by the clock of the bubble
			ctx.Redirect("/", 302)
		})
		c := &gale.Client{Dial: w.Dial}
		defer c.CloseIdleConnections()
		want := func(call string, err error) {
			t.Helper()
			if n := requests.Swap(0); err != gale.ErrTimeout || n != 4 { // the fourth begins after 9 seconds
				t.Errorf("%s: %v after %d requests", call, err, n)
			}
		}
		_, _, err := c.GetTimeout(nil, "http://a.test/", limit)
		want("GetTimeout", err)
		req := gale.AcquireRequest()
		defer gale.ReleaseRequest(req)
		req.SetRequestURI("http://a.test/")
		req.SetTimeout(limit)
		want("DoRedirects", c.DoRedirects(req, nil, 1000))
		if req.GetTimeOut() != limit {
			t.Errorf("the request's timeout became %v", req.GetTimeOut())
		}
	})
}

// A HostClient sends redirected requests to its own addresses, and follows no redirect to
// another scheme.
func TestHostClientRedirects(t *testing.T) {
	w := harness.NewRedirectWorld(t, "a.test:80", "a.test:443")
	plain := &gale.HostClient{Addr: "a.test:80", Dial: w.Dial}
	secure := &gale.HostClient{Addr: "a.test:443", IsTLS: true, Dial: w.Dial, TLSConfig: &tls.Config{InsecureSkipVerify: true}}
	for _, test := range []struct {
		c    *gale.HostClient
		url  string
		want string
		err  error
	}{
		{plain, via("http://a.test", 302, "/end"), "at a.test", nil},
		{plain, via("http://a.test", 302, "http://b.test/end"), "at b.test", nil},
		{plain, via("http://a.test", 302, "https://a.test/end"), "", gale.ErrHostClientRedirectToDifferentScheme},
		{plain, "https://a.test/", "", gale.ErrHostClientRedirectToDifferentScheme},
		{secure, via("https://a.test", 302, "/end"), "at a.test", nil},
		{secure, via("https://a.test", 302, "http://a.test/end"), "", gale.ErrHostClientRedirectToDifferentScheme},
	} {
		_, body, err := test.c.Get(nil, test.url)
		if string(body) != test.want || err != test.err {
			t.Errorf("%s: %q, %v", test.url, body, err)
		}
	}
	plain.CloseIdleConnections()
	secure.CloseIdleConnections()
}

// Streamed bodies of redirects don't close the connection.
func TestRedirectStreamedResponses(t *testing.T) {
	w := harness.NewRedirectWorld(t, "a.test:80")
	c := w.Client(t)
	c.StreamResponseBody = true
	req, resp := gale.AcquireRequest(), gale.AcquireResponse()
	req.SetRequestURI(via("http://a.test", 302, "/end"))
	if err := c.DoRedirects(req, resp, 1); err != nil || !resp.IsBodyStream() {
		t.Fatal(err, resp.IsBodyStream())
	}
	if b, err := io.ReadAll(resp.BodyStream()); string(b) != "at a.test" || err != nil {
		t.Errorf("%q, %v", b, err)
	}
	_ = resp.CloseBodyStream()
	if s := c.PoolStats(); s.Dials != 1 {
		t.Errorf("%d connections were made, want one", s.Dials)
	}
}

// The server here is that of net/http.
func TestRedirectNetHTTP(t *testing.T) {
	mux := http.NewServeMux()
	mux.HandleFunc("/moved/", func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "../end/?q=1", http.StatusFound) })
	mux.HandleFunc("/again", func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "/end/", http.StatusTemporaryRedirect)
	})
	mux.HandleFunc("/end/", func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		fmt.Fprintf(w, "%s %s %s", r.Method, r.URL, b)
	})
	plain, secure := httptest.NewServer(mux), httptest.NewTLSServer(mux)
	defer plain.Close()
	defer secure.Close()
	mux.HandleFunc("/secure", func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, secure.URL+"/moved/", http.StatusMovedPermanently)
	})
	c := &gale.Client{TLSConfig: &tls.Config{InsecureSkipVerify: true}}
	defer c.CloseIdleConnections()
	for _, test := range []struct{ url, want string }{
		{plain.URL + "/moved/", "GET /end/?q=1 "},
		{plain.URL + "/secure", "GET /end/?q=1 "},
		{secure.URL + "/moved/", "GET /end/?q=1 "},
	} {
		if _, body, err := c.Get(nil, test.url); err != nil || string(body) != test.want {
			t.Errorf("%s: %q, %v", test.url, body, err)
		}
	}
	var args gale.Args
	args.Set("k", "v")
	if _, body, err := c.Post(nil, plain.URL+"/again", &args); err != nil || string(body) != "POST /end/ k=v" {
		t.Errorf("Post: %q, %v", body, err)
	}
}
