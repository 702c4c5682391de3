package clients

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/net/http2"
)

// HTTP/2 clients: they get files over TLS from gale serve, and use the contract server
// without TLS, with prior knowledge.

func TestHTTP2Curl(t *testing.T) {
	t.Parallel()
	c := findCurl(t)
	if !strings.Contains(c.features, "HTTP2") {
		t.Skip("not installed: curl with HTTP/2")
	}
	dir, text, random := site(t)
	files := serveFiles(t, dir, "-tls-self-signed")
	contract := serveContract(t, dir, "-h2c")
	upload := filepath.Join(t.TempDir(), "up.bin")
	if err := os.WriteFile(upload, random[:1_000_000], 0o644); err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		name   string
		args   []string
		status int
		body   []byte // nil if it isn't checked
		field  string // "name: value" that must be there
	}{
		{"whole file", []string{"-k", files.url + "/" + randName}, 200, random, ""},
		{"text", []string{"-k", files.url + "/" + textName}, 200, text, ""},
		{"head", []string{"-k", "-I", files.url + "/" + randName}, 200, nil, "content-length: 3145728"},
		{"range", []string{"-k", "-r", "10-19", files.url + "/" + randName}, 206, random[10:20], "content-range: bytes 10-19/3145728"},
		{"not found", []string{"-k", files.url + "/no"}, 404, nil, ""},
		{"clear", []string{"--http2-prior-knowledge", contract.url + "/stream"}, 200, []byte("part1part2"), "x-handler: 1"},
		{"copied upload", []string{"--http2-prior-knowledge", "-T", upload, contract.url + "/copy"}, 200, random[:1_000_000], ""},
		{"interim", []string{"--http2-prior-knowledge", contract.url + "/hints"}, 200, nil, "x-handler: 1"},
		{"panic", []string{"--http2-prior-knowledge", contract.url + "/status/503"}, 503, nil, ""},
	} {
		a := c.get(tc.args...)
		if a.proto != "HTTP/2" || a.status != tc.status || tc.body != nil && !bytes.Equal(a.body, tc.body) {
			t.Errorf("%s: %s %d with %d bytes", tc.name, a.proto, a.status, len(a.body))
		}
		if name, value, _ := strings.Cut(tc.field, ": "); tc.field != "" && a.header.Get(name) != value {
			t.Errorf("%s: %s is %q", tc.name, name, a.header.Get(name))
		}
		if wants := tc.name == "interim"; wants != (a.interim > 0) && tc.name != "copied upload" {
			t.Errorf("%s: %d interim responses", tc.name, a.interim)
		}
	}
	if a := c.get("--http1.1", contract.url+"/stream"); a.proto != "HTTP/1.1" || string(a.body) != "part1part2" {
		t.Errorf("HTTP/1.1 on the same port: %s %q", a.proto, a.body)
	}
	if a := c.get("--http2", contract.url+"/stream"); a.proto != "HTTP/1.1" || a.status != 200 {
		t.Errorf("Upgrade: h2c: %s %d", a.proto, a.status)
	}
}

func TestH2load(t *testing.T) {
	t.Parallel()
	h2load := find(t, "h2load")
	dir, _, random := site(t)
	files, contract := serveFiles(t, dir, "-log", "off", "-tls-self-signed"), serveContract(t, dir, "-h2c")
	upload := filepath.Join(t.TempDir(), "up.bin")
	if err := os.WriteFile(upload, random[:100_000], 0o644); err != nil {
		t.Fatal(err)
	}
	fine := regexp.MustCompile(`requests: (\d+) total, (\d+) started, (\d+) done, (\d+) succeeded, 0 failed, 0 errored, 0 timeout`)
	for _, tc := range []struct {
		name string
		n    string
		args []string
	}{
		{"one stream", "2000", []string{"-c", "8", "-m", "1", files.url + "/" + helloName}},
		{"many streams", "10000", []string{"-c", "8", "-m", "100", files.url + "/" + helloName}},
		{"large files", "60", []string{"-c", "4", "-m", "10", files.url + "/" + randName}},
		{"in the clear", "10000", []string{"-c", "8", "-m", "32", contract.url + "/stream"}},
		{"uploads", "300", []string{"-c", "4", "-m", "10", "-d", upload, contract.url + "/up"}},
		{"small windows", "300", []string{"-c", "4", "-m", "10", "-w", "12", "-W", "16", files.url + "/" + textName}},
		{"handlers that sleep", "2000", []string{"-c", "2", "-m", "100", contract.url + "/slow?ms=5"}},
	} {
		out := run(t, h2load, append([]string{"-n", tc.n}, tc.args...)...)
		if m := fine.FindStringSubmatch(out); m == nil || m[4] != tc.n {
			t.Errorf("%s: %s", tc.name, out)
		}
	}
}

func TestNghttp(t *testing.T) {
	t.Parallel()
	nghttp := find(t, "nghttp")
	dir, _, random := site(t)
	contract := serveContract(t, dir, "-h2c")
	upload := filepath.Join(t.TempDir(), "up.bin")
	if err := os.WriteFile(upload, random[:100_000], 0o644); err != nil {
		t.Fatal(err)
	}
	if out := run(t, nghttp, contract.url+"/resptrailers", "-v"); !strings.Contains(out, "x-checksum: abc") {
		t.Errorf("trailers of the response: %s", out)
	}
	out := run(t, nghttp, "-d", upload, "--trailer", "x-sum: 1", contract.url+"/trailers")
	if !strings.Contains(out, `["x-sum","1"]`) {
		t.Errorf("trailers of the request: %s", out)
	}
}

// TestNodeHTTP2 runs 200 streams at a time on a connection of Node's client, with bodies
// in both directions.
func TestNodeHTTP2(t *testing.T) {
	t.Parallel()
	node := find(t, "node", "nodejs")
	if exec.CommandContext(t.Context(), node, "-e", `require("http2")`).Run() != nil {
		t.Skip("not installed: http2 of Node")
	}
	dir, _, _ := site(t)
	contract := serveContract(t, dir, "-h2c")
	if out := run(t, node, "testdata/http2_client.cjs", contract.url); strings.TrimSpace(out) != "ok" {
		t.Error(out)
	}
}

func TestHTTPXHTTP2(t *testing.T) {
	t.Parallel()
	python := find(t, "python3", "python")
	if exec.CommandContext(t.Context(), python, "-c", "import httpx, h2").Run() != nil {
		t.Skipf("not installed: httpx with h2 in %s", python)
	}
	dir, _, _ := site(t)
	secure, clear := serveContract(t, dir, "-tls"), serveContract(t, dir, "-h2c")
	if out := run(t, python, "testdata/httpx_http2.py", "https://"+secure.addr, clear.url); strings.TrimSpace(out) != "ok" {
		t.Error(out)
	}
}

// In TestGoHTTP2 the clients of net/http and of golang.org/x/net/http2 send bodies, 200
// at a time, and trailers, with TLS and without.
func TestGoHTTP2(t *testing.T) {
	t.Parallel()
	dir, _, random := site(t)
	secure, clear := serveContract(t, dir, "-tls"), serveContract(t, dir, "-h2c")
	trust := &tls.Config{InsecureSkipVerify: true}
	var h2, h2c http.Protocols
	h2.SetHTTP2(true)
	h2c.SetUnencryptedHTTP2(true)
	dial := func(ctx context.Context, network, addr string, _ *tls.Config) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, network, addr)
	}
	for name, tc := range map[string]struct {
		url string
		tr  http.RoundTripper
	}{
		"net/http, TLS":          {"https://" + secure.addr, &http.Transport{Protocols: &h2, TLSClientConfig: trust}},
		"net/http, in the clear": {clear.url, &http.Transport{Protocols: &h2c}},
		//lint:ignore SA1019 programs still use it
		"x/net, TLS": {"https://" + secure.addr, &http2.Transport{TLSClientConfig: trust}},
		//lint:ignore SA1019 programs still use it
		"x/net, in the clear": {clear.url, &http2.Transport{AllowHTTP: true, DialTLSContext: dial}},
	} {
		t.Run(name, func(t *testing.T) {
			c := &http.Client{Transport: tc.tr, Timeout: patience}
			defer c.CloseIdleConnections()
			talk := func(method, path string, body io.Reader, trailer http.Header) (*http.Response, []byte) {
				req, err := http.NewRequestWithContext(t.Context(), method, tc.url+path, body)
				if err != nil {
					t.Error(err)
					return nil, nil
				}
				req.Trailer = trailer
				resp, err := c.Do(req)
				if err != nil {
					t.Error(err)
					return nil, nil
				}
				defer resp.Body.Close()
				b, err := io.ReadAll(resp.Body)
				if err != nil || resp.ProtoMajor != 2 {
					t.Errorf("%s: %s %v", path, resp.Proto, err)
				}
				return resp, b
			}
			var wg sync.WaitGroup
			for i := range 200 {
				wg.Go(func() {
					body := random[i*100 : i*5000]
					if i%2 == 0 {
						body = nil
					}
					if _, b := talk("POST", "/copy", bytes.NewReader(body), nil); !bytes.Equal(b, body) {
						t.Errorf("copy of %d bytes: %d came back", len(body), len(b))
					}
				})
			}
			wg.Wait()
			if resp, _ := talk("GET", "/resptrailers", nil, nil); resp == nil || resp.Trailer.Get("X-Checksum") != "abc" {
				t.Errorf("trailers of the response: %v", resp)
			}
			if _, b := talk("POST", "/trailers", io.MultiReader(strings.NewReader("body")), http.Header{"X-Sum": {"1"}}); !strings.Contains(string(b), `["x-sum","1"]`) {
				t.Errorf("trailers of the request: %s", b)
			}
			ctx, cancel := context.WithCancel(t.Context())
			req, _ := http.NewRequestWithContext(ctx, "GET", tc.url+"/slow?ms=10000", nil)
			time.AfterFunc(50*time.Millisecond, cancel)
			if _, err := c.Do(req); !errors.Is(err, context.Canceled) {
				t.Errorf("a request that was given up: %v", err)
			}
			if _, b := talk("GET", "/stream", nil, nil); string(b) != "part1part2" {
				t.Errorf("got %q", b)
			}
		})
	}
}

// TestChromiumHTTP2 proves that all images of a page arrive by HTTP/2.
func TestChromiumHTTP2(t *testing.T) {
	b := startBrowser(t)
	dir, _, _ := site(t)
	page := "<!doctype html><title>many</title>"
	for i := range 100 {
		page += fmt.Sprintf(`<img src="img/%d.png?n=%d" alt="">`, i%6, i)
	}
	if err := os.WriteFile(filepath.Join(dir, "many.html"), []byte(page), 0o644); err != nil {
		t.Fatal(err)
	}
	s := serveFiles(t, dir, "-tls-self-signed")
	b.open(s.url + "/many.html")
	var look struct {
		Images    int
		Protocols []string
	}
	b.eval(`({
		images: [...document.images].filter((i) => i.complete && i.naturalWidth === 64).length,
		protocols: performance.getEntriesByType("resource").filter((e) => e.initiatorType === "img").map((e) => e.nextHopProtocol),
	})`, &look)
	if look.Images != 100 || len(look.Protocols) != 100 || slices.ContainsFunc(look.Protocols, func(p string) bool { return p != "h2" }) {
		t.Errorf("%d images, by %q", look.Images, look.Protocols)
	}
}
