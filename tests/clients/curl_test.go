package clients

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"
)

// curl is the program, with the arguments that all calls have in common.
type curl struct {
	t        *testing.T
	path     string
	features string
}

func findCurl(t *testing.T) *curl {
	t.Helper()
	path := find(t, "curl")
	return &curl{t, path, run(t, path, "--version")}
}

// answer is a final response as curl received it, and the number of interim ones.
type answer struct {
	status  int
	proto   string
	header  http.Header
	body    []byte
	interim int
}

// get runs curl for one response. It uses -w, -D and -o itself.
func (c *curl) get(args ...string) *answer {
	c.t.Helper()
	dir := c.t.TempDir()
	head, body := filepath.Join(dir, "head"), filepath.Join(dir, "body")
	run(c.t, c.path, append([]string{"-sS", "-m", "60", "-D", head, "-o", body}, args...)...)
	b, err := os.ReadFile(head)
	if err != nil {
		c.t.Fatal(err)
	}
	a := &answer{}
	for part := range strings.SplitSeq(strings.TrimSuffix(string(b), "\r\n\r\n"), "\r\n\r\n") {
		lines := strings.Split(part, "\r\n")
		if a.status >= 100 && a.status < 200 {
			a.interim++
		}
		if _, err := fmt.Sscanf(lines[0], "%s %d", &a.proto, &a.status); err != nil {
			c.t.Fatalf("status line %q: %v", lines[0], err)
		}
		a.header = http.Header{}
		for _, line := range lines[1:] {
			name, value, _ := strings.Cut(line, ": ")
			a.header.Add(name, value)
		}
	}
	if slices.Contains(args, "-I") {
		return a // here body has a copy of the head
	}
	a.body, err = os.ReadFile(body)
	if err != nil && !os.IsNotExist(err) { // no body, no file
		c.t.Fatal(err)
	}
	return a
}

func TestCurlFiles(t *testing.T) {
	t.Parallel()
	c := findCurl(t)
	dir, text, random := site(t)
	s := serveFiles(t, dir)
	textURL, randURL := s.url+"/"+textName, s.url+"/"+randName
	s.settled(textName)
	n := len(random)
	now := time.Now().UTC().Format(http.TimeFormat)
	for _, tc := range []struct {
		name   string
		args   []string
		status int
		body   []byte
		field  string // "Name: value" that must be there
	}{
		{"whole file", []string{randURL}, 200, random, fmt.Sprintf("Content-Length: %d", n)},
		{"head", []string{"-I", randURL}, 200, nil, fmt.Sprintf("Content-Length: %d", n)},
		{"range", []string{"-r", "10-19", randURL}, 206, random[10:20], fmt.Sprintf("Content-Range: bytes 10-19/%d", n)},
		{"suffix", []string{"-r", "-100", randURL}, 206, random[n-100:], fmt.Sprintf("Content-Range: bytes %d-%d/%d", n-100, n-1, n)},
		{"to the end", []string{"-r", fmt.Sprintf("%d-", n-7), randURL}, 206, random[n-7:], ""},
		{"resumed", []string{"-H", "Range: bytes=1000000-", randURL}, 206, random[1000000:], ""},
		{"range behind the end", []string{"-r", "99999999-", randURL}, 416, []byte("Range Not Satisfiable"), fmt.Sprintf("Content-Range: bytes */%d", n)},
		{"range of nothing", []string{"-r", "0-0", s.url + "/empty.txt"}, 416, []byte("Range Not Satisfiable"), "Content-Range: bytes */0"},
		{"head with a range", []string{"-I", "-r", "10-19", randURL}, 200, nil, fmt.Sprint("Content-Length: ", n)},
		{"HTTP/1.0", []string{"--http1.0", randURL}, 200, random, "Connection: close"},
		{"HTTP/1.0, kept alive", []string{"-0", "-H", "Connection: keep-alive", randURL}, 200, random, "Connection: keep-alive"},
		{"not modified since", []string{"-H", "If-Modified-Since: " + now, textURL}, 304, nil, ""},
		{"modified since", []string{"-H", "If-Modified-Since: Mon, 01 Jan 2001 00:00:00 GMT", s.url + "/" + helloName}, 200, []byte(helloText), ""},
		{"unmodified since", []string{"-H", "If-Unmodified-Since: Mon, 01 Jan 2001 00:00:00 GMT", textURL}, 412, nil, ""},
		{"time condition", []string{"-z", now, textURL}, 304, nil, ""},
		{"other tag", []string{"-H", `If-Match: "other"`, textURL}, 412, nil, ""},
		{"other tag, range", []string{"-r", "0-3", "-H", `If-Range: "other"`, s.url + "/" + helloName}, 200, []byte(helloText), ""},
		{"escaped name", []string{s.url + "/sub/a%20b.txt"}, 200, []byte("a b"), ""},
		{"UTF-8 name", []string{s.url + "/sub/%C3%BC.txt"}, 200, []byte("ü"), ""},
		{"folder without a slash", []string{s.url + "/sub"}, 302, nil, "Location: /sub/"},
		{"folder, followed", []string{"-L", "-I", s.url + "/sub"}, 200, nil, "Content-Type: text/html; charset=utf-8"},
		{"hidden", []string{s.url + "/.hidden"}, 404, []byte("There is no file or folder at this address.\n"), ""},
		{"up and away", []string{"--path-as-is", s.url + "/../../etc/passwd"}, 404, []byte("There is no file or folder at this address.\n"), ""},
		{"method", []string{"-d", "x", textURL}, 405, []byte("Only these methods are allowed here: GET, HEAD.\n"), "Allow: GET, HEAD"},
	} {
		a := c.get(tc.args...)
		if a.status != tc.status || !bytes.Equal(a.body, tc.body) {
			t.Errorf("%s: status %d and %d bytes, want %d and %d bytes", tc.name, a.status, len(a.body), tc.status, len(tc.body))
		}
		if name, want, ok := strings.Cut(tc.field, ": "); ok && a.header.Get(name) != want {
			t.Errorf("%s: %s is %q, want %q", tc.name, name, a.header.Get(name), want)
		}
	}

	a := c.get("-r", "0-9,100-109,-5", randURL)
	want := []*regexp.Regexp{
		regexp.MustCompile(`^--(\S+)\r\nContent-Type: \S+\r\nContent-Range: bytes 0-9/\d+\r\n\r\n`),
		regexp.MustCompile(`\r\n--\S+\r\nContent-Type: \S+\r\nContent-Range: bytes 100-109/\d+\r\n\r\n`),
		regexp.MustCompile(`\r\n--\S+--\r\n$`),
	}
	for _, rx := range want {
		if !rx.Match(a.body) {
			t.Errorf("several ranges: no %s in %q", rx, a.body)
		}
	}
	if a.status != 206 || !strings.HasPrefix(a.header.Get("Content-Type"), "multipart/byteranges; boundary=") || !bytes.Contains(a.body, random[100:110]) {
		t.Errorf("several ranges: status %d, %v", a.status, a.header)
	}

	// curl keeps the entity tag and sends it with its next request.
	tag := filepath.Join(t.TempDir(), "tag")
	if a = c.get("--etag-save", tag, textURL); a.status != 200 || !bytes.Equal(a.body, text) {
		t.Errorf("first: status %d", a.status)
	}
	if a = c.get("--etag-compare", tag, textURL); a.status != 304 || len(a.body) != 0 {
		t.Errorf("with the tag: status %d", a.status)
	}

	if log := s.requests(); !slices.ContainsFunc(log, func(l logLine) bool { return l.Target == "/"+randName && l.Status == 200 && l.Size == n }) {
		t.Errorf("the access log has no whole %s: %+v", randName, log)
	}
}

// With any coding that curl accepts, it decodes the original bytes.
func TestCurlCompression(t *testing.T) {
	t.Parallel()
	c := findCurl(t)
	dir, text, random := site(t)
	s := serveFiles(t, dir)
	url := s.url + "/" + textName
	if a := c.get("-H", "Accept-Encoding: gzip", url); a.header.Get("Content-Encoding") != "gzip" {
		t.Errorf("gzip: %v", a.header)
	} else if r, err := gzip.NewReader(bytes.NewReader(a.body)); err != nil {
		t.Error(err)
	} else if b, err := io.ReadAll(r); err != nil || !bytes.Equal(b, text) {
		t.Errorf("gzip: %d bytes, %v", len(b), err)
	}
	decoded := 0
	for coding, feature := range map[string]string{"br": "brotli", "zstd": "zstd", "gzip": "libz"} {
		if !strings.Contains(c.features, feature) {
			t.Logf("this curl can't decode %s", coding)
			continue
		}
		decoded++
		// Twice: the second answer comes from the cached variant.
		for range 2 {
			a := c.get("--compressed", "-H", "Accept-Encoding: "+coding, url)
			if a.status != 200 || a.header.Get("Content-Encoding") != coding || !bytes.Equal(a.body, text) {
				t.Errorf("%s: status %d, %d bytes, %v", coding, a.status, len(a.body), a.header)
			}
			if a.header.Get("Vary") != "Accept-Encoding" {
				t.Errorf("%s: Vary is %q", coding, a.header.Get("Vary"))
			}
			// A variant has an entity tag of its own, and matches it.
			b := c.get("-H", "Accept-Encoding: "+coding, "-H", "If-None-Match: "+a.header.Get("ETag"), url)
			if b.status != 304 {
				t.Errorf("%s: status %d for %s", coding, b.status, a.header.Get("ETag"))
			}
		}
	}
	if decoded > 0 {
		if a := c.get("--compressed", url); a.header.Get("Content-Encoding") == "" || !bytes.Equal(a.body, text) {
			t.Errorf("--compressed: %d bytes, %v", len(a.body), a.header)
		}
		if a := c.get("--compressed", s.url+"/"+randName); a.header.Get("Content-Encoding") != "" || !bytes.Equal(a.body, random) {
			t.Errorf("--compressed, noise: %d bytes, %v", len(a.body), a.header)
		}
	}
}

// Several URLs are requested on one connection, many URLs on a few connections.
func TestCurlKeepAlive(t *testing.T) {
	t.Parallel()
	c := findCurl(t)
	dir, _, _ := site(t)
	s := serveFiles(t, dir)
	for _, tc := range []struct {
		args  []string
		conns string
	}{
		{nil, "100"}, // connects for each of the three
		{[]string{"-I"}, "100"},
		{[]string{"--http1.0"}, "111"},
		{[]string{"-H", "Connection: close"}, "111"},
	} {
		out := run(t, c.path, append(tc.args, "-sS", "-m", "60", "-o", os.DevNull, "-o", os.DevNull, "-o", os.DevNull,
			"-w", "%{num_connects}", s.url+"/"+randName, s.url+"/none", s.url+"/"+helloName)...)
		if out != tc.conns {
			t.Errorf("%q: connects are %s, want %s", tc.args, out, tc.conns)
		}
	}
}

func TestCurlUpload(t *testing.T) {
	t.Parallel()
	c := findCurl(t)
	_, _, random := site(t)
	file := filepath.Join(t.TempDir(), "up.bin")
	if err := os.WriteFile(file, random[:1<<20], 0o644); err != nil {
		t.Fatal(err)
	}
	s := serveContract(t, t.TempDir())
	for _, tc := range []struct {
		name    string
		args    []string
		interim int
	}{
		{"100-continue", []string{"-H", "Expect: 100-continue", "-T", file}, 1},
		{"100-continue, chunked", []string{"-H", "Expect: 100-continue", "-H", "Transfer-Encoding: chunked", "-T", file}, 1},
		{"at once", []string{"-H", "Expect:", "-T", file}, 0},
		{"at once, chunked", []string{"-H", "Expect:", "-H", "Transfer-Encoding: chunked", "-T", file}, 0},
		{"posted", []string{"-H", "Expect:", "--data-binary", "@" + file}, 0},
		{"HTTP/1.0", []string{"-0", "--data-binary", "@" + file}, 0},
	} {
		a := c.get(append(tc.args, s.url+"/up")...)
		if a.status != 200 || a.interim != tc.interim || !bytes.Contains(a.body, []byte(`"body_len":1048576,`)) {
			t.Errorf("%s: status %d, %d interim responses, %.300s", tc.name, a.status, a.interim, a.body)
		}
	}
	// A body that is too large is refused before it is sent, or while it is being sent.
	big := filepath.Join(t.TempDir(), "big.bin")
	if err := os.WriteFile(big, bytes.Repeat(random, 2), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, expect := range []string{"Expect: 100-continue", "Expect:"} {
		if a := c.get("-H", expect, "-T", big, s.url+"/up"); a.status != 413 || a.interim != 0 {
			t.Errorf("too large, %q: status %d, %d interim responses", expect, a.status, a.interim)
		}
	}
	if a := c.get("-H", "Expect: the-impossible", "-d", "x", s.url+"/up"); a.status != 417 {
		t.Errorf("unknown expectation: status %d", a.status)
	}
	if a := c.get(s.url + "/stream"); a.status != 200 || string(a.body) != "part1part2" {
		t.Errorf("stream: status %d, %q", a.status, a.body)
	}
	if a := c.get("-0", s.url+"/stream"); a.status != 200 || string(a.body) != "part1part2" || a.header.Get("Transfer-Encoding") != "" {
		t.Errorf("stream to HTTP/1.0: status %d, %q, %v", a.status, a.body, a.header)
	}
}

func TestCurlFlags(t *testing.T) {
	t.Parallel()
	c := findCurl(t)
	dir, _, random := site(t)
	s := serveFiles(t, dir, "-tls-self-signed", "-auth", "user:secret", "-cors")
	url := s.url + "/" + randName
	if !strings.HasPrefix(url, "https://") {
		t.Fatalf("the address is %s", url)
	}
	for _, tc := range []struct {
		name   string
		args   []string
		status int
	}{
		{"no password", nil, 401},
		{"wrong password", []string{"-u", "user:Secret"}, 401},
		{"password", []string{"-u", "user:secret"}, 200},
		{"password, when asked", []string{"-u", "user:secret", "--anyauth"}, 200},
		{"TLS 1.2", []string{"-u", "user:secret", "--tls-max", "1.2"}, 200},
	} {
		a := c.get(append(tc.args, "-k", url)...)
		if a.status != tc.status || tc.status == 200 && !bytes.Equal(a.body, random) {
			t.Errorf("%s: status %d, %d bytes", tc.name, a.status, len(a.body))
		}
		if tc.status == 401 && !strings.HasPrefix(a.header.Get("WWW-Authenticate"), "Basic ") {
			t.Errorf("%s: %v", tc.name, a.header)
		}
	}
	if err := exec.Command(c.path, "-sS", "-m", "60", "-u", "user:secret", url).Run(); err == nil {
		t.Error("curl trusts the certificate without -k")
	}
	a := c.get("-k", "-X", "OPTIONS", "-H", "Origin: https://example.com", "-H", "Access-Control-Request-Method: GET",
		"-H", "Access-Control-Request-Headers: range", url)
	if a.status != 204 || a.header.Get("Access-Control-Allow-Origin") != "*" || !strings.Contains(a.header.Get("Access-Control-Allow-Headers"), "Range") {
		t.Errorf("preflight: status %d, %v", a.status, a.header)
	}

	app := serveFiles(t, dir, "-spa")
	a, index := c.get(app.url+"/users/7?tab=1"), c.get(app.url+"/")
	if a.status != 200 || len(a.body) == 0 || !bytes.Equal(a.body, index.body) {
		t.Errorf("-spa: status %d, %.100q", a.status, a.body)
	}
	if a = c.get(app.url + "/missing.js"); a.status != 404 {
		t.Errorf("-spa, a missing file: status %d", a.status)
	}
}

// After Ctrl-C a download that is running still ends completely.
func TestCurlInterrupt(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("no signals to send on Windows")
	}
	c := findCurl(t)
	dir, _, random := site(t)
	big := bytes.Repeat(random, 8)
	if err := os.WriteFile(filepath.Join(dir, "big.bin"), big, 0o644); err != nil {
		t.Fatal(err)
	}
	s := serveFiles(t, dir)
	cmd := exec.CommandContext(t.Context(), c.path, "-sS", "-m", "60", "--limit-rate", "24M", s.url+"/big.bin")
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	got := make([]byte, 1<<10)
	if _, err := io.ReadFull(stdout, got); err != nil {
		t.Fatal(err)
	}
	if err := interrupt(s.cmd.Process); err != nil {
		t.Fatal(err)
	}
	rest, err := io.ReadAll(stdout)
	if err != nil {
		t.Error(err)
	}
	if err := cmd.Wait(); err != nil || !bytes.Equal(append(got, rest...), big) {
		t.Errorf("%d of %d bytes arrived, %v", len(got)+len(rest), len(big), err)
	}
	if code := s.wait(); code != 0 {
		t.Errorf("exit code %d", code)
	}
}
