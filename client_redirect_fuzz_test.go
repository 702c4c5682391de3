package gale

import (
	"bytes"
	"testing"
	"unicode/utf8"
)

// For any Location, the request that follows can be sent, goes where Location says, and
// carries credentials to no other host.
func FuzzRedirect(f *testing.F) {
	for _, s := range []string{
		"/x", "//b.test/", "http://b.test", "https://a.test/", "HTTP://A.TEST:80/?q#f", "../..", "?q", "#f", "http://a.test@b.test/",
		"http://a.test:80@b.test/", `http:\\b.test`, `/\b.test`, "http://a.test\t/", "http://[::1%25a]/", "javascript:x", "http://a.test.:80/",
		"http://%61.test/", "///b.test", "http:b.test", "http://a.test:8080/", "%0d%0aX: y", "http://ａ.test/",
	} {
		f.Add(s, uint16(302))
		f.Add(s, uint16(307))
	}
	f.Fuzz(func(t *testing.T, location string, status uint16) {
		req := AcquireRequest()
		defer ReleaseRequest(req)
		req.SetRequestURI("http://a.test/p/q?r")
		req.Header.SetMethod(MethodPost)
		req.Header.Set("Authorization", "secret")
		req.Header.SetCookie("c", "secret")
		req.SetBodyString("body")
		if err := redirect(req, int(status), []byte(location), false, nil); err != nil {
			if string(req.URI().FullURI()) != "http://a.test/p/q?r" || len(req.Header.Peek("Authorization")) == 0 || len(req.Body()) == 0 {
				t.Fatalf("%q: %v, and yet the request has changed", location, err)
			}
			return
		}
		u := req.URI()
		if !utf8.Valid(u.Host()) {
			return // a Client won't send it
		}
		host, port := splitPort(u.Host())
		home := string(host) == "a.test" && (string(u.Scheme()) == "http" && (port == "" || port == "80") ||
			string(u.Scheme()) == "https" && (port == "" || port == "443" || port == "80"))
		head := req.Header.String()
		if bytes.Contains([]byte(head), []byte("secret")) && !home {
			t.Fatalf("%q: credentials go to %s://%s", location, u.Scheme(), u.Host())
		}
		// What is written is read back the same.
		again := AcquireURI()
		defer ReleaseURI(again)
		if err := again.Parse(nil, u.FullURI()); err != nil || !bytes.Equal(again.Host(), u.Host()) || !bytes.Equal(again.Scheme(), u.Scheme()) {
			t.Fatalf("%q becomes %q, which is read as %q: %v", location, u.FullURI(), again.FullURI(), err)
		}
		if err := req.prepareHeader(); err != nil {
			t.Fatalf("%q: %v", location, err)
		}
		if target := req.Header.RequestURI(); len(target) == 0 || target[0] != '/' || bytes.ContainsAny(target, " \r\n\x00") {
			t.Fatalf("%q makes the target %q", location, target)
		}
	})
}
