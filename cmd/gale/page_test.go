package main

import (
	"strings"
	"testing"
)

// The handler of the command has the listing, the pages for errors and 404.html.
func TestServePages(t *testing.T) {
	p := serve(t, site(t, map[string]string{"sub/file-2": "", "sub/file-10": "", "own/404.html": "own page", "x.txt": "x"}))
	for _, c := range []struct {
		name, method, path, accept string
		status                     int
		mediaType, part            string
	}{
		{"listing", "GET", "/sub/", "text/html", 200, "text/html; charset=utf-8", "2 files, 0 B"},
		{"JSON", "GET", "/sub/", "application/json", 200, "application/json", `{"path":"/sub/","entries":[{"name":"file-2","type":"file","size":0,`},
		{"head of a listing", "HEAD", "/sub/", "text/html", 200, "text/html; charset=utf-8", ""},
		{"missing for a program", "GET", "/none", "*/*", 404, "text/plain; charset=utf-8", "There is no file or folder at this address.\n"},
		{"missing for a browser", "GET", "/none", "text/html,*/*;q=0.8", 404, "text/html; charset=utf-8", "<h1>Not Found</h1>"},
		{"missing with a page", "GET", "/own/none", "*/*", 404, "text/html; charset=utf-8", "own page"},
		{"the page itself", "GET", "/own/404.html", "*/*", 200, "text/html; charset=utf-8", "own page"},
		{"method", "DELETE", "/x.txt", "text/html", 405, "text/html; charset=utf-8", "Method Not Allowed"},
	} {
		resp, body := p.do(c.method, c.path, "Accept: "+c.accept)
		if resp.StatusCode != c.status || resp.Header.Get("Content-Type") != c.mediaType || !strings.Contains(body, c.part) {
			t.Errorf("%s: status %d, %v, body %q", c.name, resp.StatusCode, resp.Header, body)
		}
		if c.method == "HEAD" && resp.Header.Get("Content-Length") != "" {
			t.Errorf("%s: the length can't be %s", c.name, resp.Header.Get("Content-Length"))
		}
	}
}

// Routes of an application don't get 404.html, missing assets do.
func TestServeSPANotFound(t *testing.T) {
	p := serve(t, site(t, map[string]string{"index.html": "app", "404.html": "own page", "sub/x": ""}), "-spa")
	for path, want := range map[string]string{"/route": "200 app", "/none.js": "404 own page", "/sub/": "200 app"} {
		resp, body := p.do("GET", path)
		if got := resp.Status[:4] + body; got != want {
			t.Errorf("%s: %q, want %q", path, got, want)
		}
	}
}

// A browser shows a page if the user closes the dialog for the password.
func TestAuthPage(t *testing.T) {
	p := within(t, site(t, map[string]string{"x.txt": "x"}), "-auth", "u:p")
	resp, body := p.do("GET", "/x.txt", "Accept: text/html")
	if resp.StatusCode != 401 || !strings.Contains(body, "<h1>Unauthorized</h1>") || resp.Header.Get("WWW-Authenticate") == "" || resp.Header.Get("Cache-Control") != "no-store" {
		t.Errorf("status %d, %v, %q", resp.StatusCode, resp.Header, body)
	}
}
