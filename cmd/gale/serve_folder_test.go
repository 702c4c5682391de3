package main

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/galehttp/gale"
)

// within serves dir in this process, without a child.
func within(t *testing.T, dir string, args ...string) *process {
	t.Helper()
	cfg, s := prepare(t, io.Discard, t.TempDir(), append([]string{"-addr", "127.0.0.1:0", dir}, args...)...)
	ln, err := cfg.listen()
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- s.Serve(ln.Listener) }()
	t.Cleanup(func() {
		if err := s.ShutdownWithContext(ended()); err != nil && !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
		_ = s.Close()
		_ = ln.Close() // Serve may not have begun yet, and would begin after Close
		<-done
	})
	return &process{t: t, url: "http://" + ln.Addr().String() + "/"}
}

// ended returns a context that has ended, which ends a drain.
func ended() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx
}

// engines are the values of -engine to test with.
func engines() []string {
	if runtime.GOOS == "linux" {
		return []string{"block", "event"}
	}
	return []string{"block"}
}

// Every answer has the header fields of -header.
func TestServeHeaderFlag(t *testing.T) {
	dir := site(t, map[string]string{"a.css": strings.Repeat("a{} ", 100), "sub/b.txt": "b"})
	for _, engine := range engines() {
		p := within(t, dir, "-engine", engine, "-auth", "u:p", "-cors", "-no-listing", "-header", "X-One: 1", "-header", "X-One:2 \t", "-header", "server: mine", "-header", "Set-Cookie: a=1; Path=/; HttpOnly", "-header", "Set-Cookie: b=2",
			"-header", "Vary: Origin", "-header", "cache-control: no-store", "-header", "X-Content-Type-Options: sniff", "-header", "Access-Control-Allow-Origin: https://example.com")
		const auth = "Authorization: Basic dTpw"
		tag := p.waitFor("ETag", "/a.css", auth)
		for _, c := range []struct {
			method, path string
			fields       []string
			status       int
		}{
			{"GET", "/a.css", []string{auth, "Accept-Encoding: gzip"}, 200},
			{"HEAD", "/a.css", []string{auth, "Accept-Encoding: gzip"}, 200},
			{"GET", "/a.css", []string{auth, "Range: bytes=0-1"}, 206},
			{"GET", "/a.css", []string{auth, "If-None-Match: " + tag}, 304},
			{"GET", "/a.css", []string{auth, "If-Match: \"x\""}, 412},
			{"GET", "/a.css", []string{auth, "Range: bytes=9999-"}, 416},
			{"GET", "/sub", []string{auth}, 302},
			{"GET", "/sub/", []string{auth}, 403},
			{"GET", "/none", []string{auth}, 404},
			{"GET", "/%00", []string{auth}, 400},
			{"DELETE", "/a.css", []string{auth}, 405},
			{"GET", "/a.css", nil, 401},
			{"OPTIONS", "/a.css", []string{"Origin: https://example.com", "Access-Control-Request-Method: GET"}, 204},
		} {
			resp, _ := p.do(c.method, c.path, c.fields...)
			h := resp.Header
			if resp.StatusCode != c.status {
				t.Errorf("%s %s: status %d, want %d", c.method, c.path, resp.StatusCode, c.status)
			}
			if !slices.Equal(h["X-One"], []string{"1", "2"}) || !slices.Equal(h["Server"], []string{"mine"}) || !slices.Equal(h["Set-Cookie"], []string{"a=1; Path=/; HttpOnly", "b=2"}) || !slices.Equal(h["Cache-Control"], []string{"no-store"}) ||
				!slices.Equal(h["X-Content-Type-Options"], []string{"sniff"}) || !slices.Equal(h["Access-Control-Allow-Origin"], []string{"https://example.com"}) {
				t.Errorf("%s: %d: %v", engine, c.status, h)
			}
			vary := strings.Join(h["Vary"], ", ")
			if !strings.Contains(vary, "Origin") || c.status == 200 && !strings.Contains(vary, "Accept-Encoding") {
				t.Errorf("%s: %d: Vary is %q", engine, c.status, vary)
			}
		}
	}
}

// Files may be kept for the time of -cache; all other answers are asked for again.
func TestServeCache(t *testing.T) {
	dir := site(t, map[string]string{"index.html": "app", "a.txt": "hello", "sub/b.html": "b", "pages/index.html": "p"})
	mustWrite(t, filepath.Join(dir, "a.txt"), "hello") // the date of a file that was only set back isn't trusted
	mustWrite(t, filepath.Join(dir, "index.html"), "app")
	since := "If-Modified-Since: " + within(t, dir).waitFor("Last-Modified", "/index.html")
	const hour = "max-age=3600"
	for _, c := range []struct {
		flags, method, path, field string
		status                     int
		want                       string
	}{
		{"", "GET", "/a.txt", "", 200, "no-cache"},
		{"", "GET", "/", "", 200, "no-cache"},
		{"", "GET", "/sub/", "", 200, "no-cache"},
		{"", "GET", "/none", "", 404, "no-store"},
		{"-cache 0", "GET", "/a.txt", "", 200, "no-cache"},
		{"-cache 1h", "GET", "/a.txt", "", 200, hour},
		{"-cache 1h", "HEAD", "/a.txt", "", 200, hour},
		{"-cache 1h", "GET", "/a.txt", "Range: bytes=0-1", 206, hour},
		{"-cache 1h", "GET", "/a.txt", since, 304, hour},
		{"-cache 1h", "GET", "/a.txt", "Range: bytes=100-", 416, "no-cache"},
		{"-cache 1h", "GET", "/a.txt", "If-Match: \"x\"", 412, "no-cache"},
		{"-cache 1h", "GET", "/", "", 200, hour},
		{"-cache 1h", "GET", "/pages/", "", 200, hour},
		{"-cache 1h", "GET", "/pages", "", 302, "no-cache"},
		{"-cache 1h", "GET", "/sub/", "", 200, "no-cache"},
		{"-cache 1h", "GET", "/none", "", 404, "no-store"},
		{"-cache 1h", "POST", "/a.txt", "", 405, "no-store"},
		{"-cache 1h -spa", "GET", "/", "", 200, "no-cache"},
		{"-cache 1h -spa", "GET", "/index.html", "", 200, "no-cache"},
		{"-cache 1h -spa", "GET", "/users/7", "", 200, "no-cache"},
		{"-cache 1h -spa", "GET", "/users/7", since, 304, "no-cache"},
		{"-cache 1h -spa -clean-urls", "GET", "/index", "", 200, "no-cache"},
		{"-cache 1h -clean-urls", "GET", "/index.html", "", 308, "no-cache"},
		{"-cache 1h -spa", "GET", "/sub/", "", 200, "no-cache"},
		{"-cache 1h -spa", "GET", "/a.txt", "", 200, hour},
		{"-cache 1h -spa", "GET", "/pages/", "", 200, hour},
		{"-cache 1h -spa", "GET", "/none.js", "", 404, "no-store"},
	} {
		p := within(t, dir, strings.Fields(c.flags)...)
		var fields []string
		if c.field != "" {
			fields = []string{c.field}
		}
		resp, _ := p.do(c.method, c.path, fields...)
		if got := resp.Header.Get("Cache-Control"); resp.StatusCode != c.status || got != c.want {
			t.Errorf("%q %s %s %s: status %d, %q; want %d, %q", c.flags, c.method, c.path, c.field, resp.StatusCode, got, c.status, c.want)
		}
	}
}

func TestServeFolderFlags(t *testing.T) {
	dir := site(t, map[string]string{
		"index.html":                  "home",
		"home.htm":                    "old home",
		"about.html":                  "about",
		"both.html":                   "page both",
		"both/index.html":             "folder both",
		"next.html":                   "page next",
		"next/one.html":               "one",
		"plain":                       "plain file",
		"plain.html":                  "plain page",
		"docs/index.html":             "docs",
		"empty/x.txt":                 "x",
		"twice.html.html":             "twice",
		"index.html.html":             "strange",
		"sub/a b.html":                "spaces",
		"sub/home.htm":                "sub home",
		"folder.html/x.txt":           "in a folder with the suffix",
		"example.com/about.html":      "not a host",
		".hidden.html":                "hidden",
		".well-known/about/page.html": "known",
	})
	const (
		noIndex  = "This folder has no index page, and its files aren't listed.\n"
		notFound = "There is no file or folder at this address.\n"
	)
	for _, c := range []struct {
		flags, path string
		status      int
		want        string // the body, or the Location of a redirect
	}{
		{"", "/about", 404, notFound},
		{"-no-listing", "/", 200, "home"},
		{"-no-listing", "/docs/", 200, "docs"},
		{"-no-listing", "/empty/", 403, noIndex},
		{"-no-listing", "/empty", 302, "/empty/"},
		{"-no-listing", "/empty/x.txt", 200, "x"},
		{"-no-listing", "/none/", 404, notFound},
		{"-index home.htm", "/", 200, "old home"},
		{"-index none.html,home.htm -index index.html", "/", 200, "old home"},
		{"-index none.html,home.htm -index index.html", "/docs/", 200, "docs"},
		{"-index home.htm -no-listing", "/docs/", 403, noIndex},

		{"-spa", "/", 200, "home"},
		{"-spa", "/users/7", 200, "home"},
		{"-spa", "/users/7/", 200, "home"},
		{"-spa", "/empty/", 200, "home"},
		{"-spa", "/none.js", 404, notFound},
		{"-spa -index home.htm", "/users/7", 200, "old home"},
		{"-spa -no-listing", "/empty/", 200, "home"},

		{"-clean-urls", "/", 200, "home"},
		{"-clean-urls", "/index.html", 308, "/"},
		{"-clean-urls", "/index.html?a=1&b=%2f", 308, "/?a=1&b=%2f"},
		{"-clean-urls", "/about", 200, "about"},
		{"-clean-urls", "/about?x", 200, "about"},
		{"-clean-urls", "/about.html", 308, "/about"},
		{"-clean-urls", "/about.html?x=y#", 308, "/about?x=y"},
		{"-clean-urls", "/about/", 308, "/about"},
		{"-clean-urls", "/docs/index.html", 308, "/docs/"},
		{"-clean-urls", "/docs", 302, "/docs/"},
		{"-clean-urls", "/docs/", 200, "docs"},
		{"-clean-urls", "/both", 200, "page both"},
		{"-clean-urls", "/both/", 200, "folder both"},
		{"-clean-urls", "/both.html", 308, "/both"},
		{"-clean-urls", "/both/index.html", 308, "/both/"},
		{"-clean-urls", "/next", 200, "page next"},
		{"-clean-urls", "/next/one", 200, "one"},
		{"-clean-urls", "/plain", 200, "plain file"},
		{"-clean-urls", "/plain.html", 200, "plain page"},
		{"-clean-urls", "/twice.html.html", 200, "twice"},
		{"-clean-urls", "/twice.html", 404, notFound},
		{"-clean-urls", "/index.html.html", 200, "strange"},
		{"-clean-urls", "/sub/a%20b", 200, "spaces"},
		{"-clean-urls", "/sub/a%20b.html", 308, "/sub/a%20b"},
		{"-clean-urls", "/folder", 404, notFound},
		{"-clean-urls", "/folder.html", 302, "/folder.html/"},
		{"-clean-urls", "/none", 404, notFound},
		{"-clean-urls", "/none/", 404, notFound},
		{"-clean-urls", "/none.html", 404, notFound},
		{"-clean-urls", "/none/index.html", 404, notFound},
		{"-clean-urls", "/.hidden", 404, notFound},
		{"-clean-urls", "/.hidden.html", 404, notFound},
		{"-clean-urls -dotfiles", "/.hidden", 200, "hidden"},
		{"-clean-urls", "/.well-known/about/page", 200, "known"},
		{"-clean-urls", "//example.com/about.html", 308, "/example.com/about"},
		{"-clean-urls", "//example.com/about/", 308, "/example.com/about"},
		{"-clean-urls", "/%2fexample.com/about.html", 308, "/example.com/about"},
		{"-clean-urls -index home.htm,index.html", "/home.htm", 308, "/"},
		{"-clean-urls -index home.htm,index.html", "/index.html", 308, "/index"},
		{"-clean-urls -index home.htm,index.html", "/index", 200, "home"},
		{"-clean-urls -no-listing", "/empty/", 403, noIndex},
		{"-clean-urls -no-listing", "/next/", 403, noIndex},
		{"-clean-urls -spa", "/about", 200, "about"},
		{"-clean-urls -spa", "/about/", 308, "/about"},
		{"-clean-urls -spa", "/users/7", 200, "home"},
		{"-clean-urls -spa", "/users/7/", 200, "home"},
		{"-clean-urls -spa", "/none.js", 404, notFound},
		{"-clean-urls -spa", "/index.html", 308, "/"},
	} {
		p := within(t, dir, strings.Fields(c.flags)...)
		for _, method := range []string{"GET", "HEAD"} {
			resp, body := request(t, p, method, c.path)
			if resp.StatusCode/100 == 3 {
				body = resp.Header.Get("Location")
			} else if method == "HEAD" && body == "" {
				body = c.want
			}
			if resp.StatusCode != c.status || body != c.want {
				t.Errorf("%q %s %s: status %d, %q; want %d, %q", c.flags, method, c.path, resp.StatusCode, body, c.status, c.want)
			}
			if resp.StatusCode == gale.StatusPermanentRedirect && resp.Header.Get("Cache-Control") != "no-cache" {
				t.Errorf("%q %s: browsers would keep the redirect", c.flags, c.path)
			}
		}
	}
}

// request is process.do for a path that may begin with two slashes.
func request(t *testing.T, p *process, method, path string) (*http.Response, string) {
	t.Helper()
	req, err := http.NewRequest(method, strings.TrimSuffix(p.url, "/"), nil)
	if err != nil {
		t.Fatal(err)
	}
	path, _, _ = strings.Cut(path, "#")
	path, req.URL.RawQuery, _ = strings.Cut(path, "?")
	req.URL.Opaque = "//" + req.URL.Host + path
	resp, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp, string(body)
}

// A range or a condition of the request counts for the page of a clean URL, too.
func TestServeCleanURLConditions(t *testing.T) {
	dir := site(t, map[string]string{"about.html": "about", "big.html": strings.Repeat("<p>text</p>", 10_000)})
	for _, engine := range engines() {
		p := within(t, dir, "-clean-urls", "-cache", "1h", "-engine", engine)
		p.waitFor("ETag", "/about")
		resp, body := p.do("GET", "/about", "Range: bytes=1-2")
		if resp.StatusCode != 206 || body != "bo" || resp.Header.Get("Cache-Control") != "max-age=3600" {
			t.Errorf("range: %d %q %v", resp.StatusCode, body, resp.Header)
		}
		resp, _ = p.do("GET", "/about", "If-None-Match: "+resp.Header.Get("ETag"))
		if resp.StatusCode != 304 || resp.Header.Get("Cache-Control") != "max-age=3600" {
			t.Errorf("condition: %d %v", resp.StatusCode, resp.Header)
		}
		// A redirect drops the file that was found.
		for range 3 {
			if resp, body = p.do("GET", "/big.html"); resp.StatusCode != 308 || body != "" || resp.Header.Get("Content-Encoding")+resp.Header.Get("ETag") != "" {
				t.Errorf("redirect: %d, %d bytes, %v", resp.StatusCode, len(body), resp.Header)
			}
			if resp, body = p.do("GET", "/big"); resp.StatusCode != 200 || len(body) != 110_000 {
				t.Errorf("page: %d, %d bytes", resp.StatusCode, len(body))
			}
		}
	}
}

// The socket answers, and goes with the server.
func TestServeUNIX(t *testing.T) {
	dir := site(t, map[string]string{"a.txt": "hello"})
	for _, engine := range engines() {
		cfg, s := prepare(t, io.Discard, "", dir, "-engine", engine, "-unix", shortTemp(t)+"/s")
		ln, err := cfg.listen()
		if err != nil {
			t.Fatal(err)
		}
		done := make(chan error, 1)
		go func() { done <- s.Serve(ln.Listener) }()
		c := &http.Client{Transport: &http.Transport{DisableKeepAlives: true, DialContext: func(context.Context, string, string) (net.Conn, error) {
			return net.Dial("unix", string(cfg.unix.path))
		}}}
		resp, err := c.Get("http://localhost/a.txt")
		if err != nil {
			t.Fatal(err)
		}
		body, _ := io.ReadAll(resp.Body)
		resp.Body.Close()
		if string(body) != "hello" {
			t.Errorf("%q", body)
		}
		_ = s.Close()
		<-done
		if conn, err := net.Dial("unix", string(cfg.unix.path)); err == nil {
			conn.Close()
			t.Error("the socket is still there")
		}
	}
}
