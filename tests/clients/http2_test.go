package clients

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// Clients of HTTP/2: files over TLS from gale serve, and the contract server in the clear,
// to which they come with prior knowledge.

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
		body   []byte // nil for any
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

// TestNodeHTTP2: 200 streams at a time on a connection of Node's client, with bodies both
// ways.
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
