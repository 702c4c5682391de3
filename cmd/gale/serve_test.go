package main

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/galehttp/gale/tests/harness/await"
)

// galeBinary is the command, built once.
var galeBinary string

func TestMain(m *testing.M) {
	if kind := os.Getenv(testServerVariable); kind != "" {
		runTestServer(kind)
		return
	}
	dir, err := os.MkdirTemp("", "gale-test-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	galeBinary = filepath.Join(dir, "gale")
	if runtime.GOOS == "windows" {
		galeBinary += ".exe"
	}
	if out, err := exec.Command("go", "build", "-o", galeBinary, ".").CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "go build: %v\n%s", err, out)
		os.Exit(1)
	}
	code := m.Run()
	_ = os.RemoveAll(dir)
	os.Exit(code)
}

// patience bounds waits that end at once unless something is broken.
const patience = time.Minute

// process is a running "gale serve".
type process struct {
	t      *testing.T
	cmd    *exec.Cmd
	url    string // with a slash at the end
	banner string
	tmp    string // its folder for temporary files
	stderr lockedBuffer
	exited chan error
}

// lockedBuffer can be read while the process writes.
type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

// serve starts "gale serve" on a port of the kernel's choice, and waits for
// the banner, which names it.
func serve(t *testing.T, dir string, args ...string) *process {
	t.Helper()
	p := &process{t: t, exited: make(chan error, 1)}
	p.cmd = exec.Command(galeBinary, append([]string{"serve", "-addr", "127.0.0.1:0", dir}, args...)...)
	p.cmd.Stderr = &p.stderr
	p.tmp = t.TempDir()
	p.cmd.Env = append(os.Environ(), "TMPDIR="+p.tmp, "TMP="+p.tmp)
	stdout, err := p.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = p.cmd.Process.Kill()
		<-p.exited
	})
	lines := bufio.NewScanner(stdout)
	for lines.Scan() {
		line := lines.Text()
		p.banner += line + "\n"
		if s := strings.TrimSpace(line); p.url == "" && strings.HasPrefix(s, "http") {
			p.url = s
		}
		if strings.HasPrefix(line, "Press Ctrl-C") {
			break
		}
	}
	go func() {
		_, _ = io.Copy(io.Discard, stdout)
		p.exited <- p.cmd.Wait()
		close(p.exited)
	}()
	if p.url == "" {
		t.Fatalf("no address in the banner %q; the standard error says %q", p.banner, p.stderr.String())
	}
	return p
}

// logged waits until text is on the standard error, and returns all of that.
func (p *process) logged(text string) string {
	p.t.Helper()
	var s string
	eventually(p.t, func() string {
		if s = p.stderr.String(); strings.Contains(s, text) && strings.HasSuffix(s, "\n") {
			return ""
		}
		return fmt.Sprintf("%q isn't logged, but: %s", text, s)
	})
	return s
}

// wait returns the exit code of the process.
func (p *process) wait() int {
	p.t.Helper()
	select {
	case err := <-p.exited:
		var exit *exec.ExitError
		switch {
		case err == nil:
			return 0
		case errors.As(err, &exit):
			return exit.ExitCode()
		}
		p.t.Fatal(err)
	case <-time.After(patience):
		p.t.Fatalf("the process doesn't end; its standard error: %s", p.stderr.String())
	}
	return -1
}

// insist sends the signal until the process ends: one that comes within 100 ms of the first
// means the same. It returns the exit code.
func (p *process) insist(sig os.Signal) int {
	p.t.Helper()
	ended := make(chan struct{})
	defer close(ended)
	go func() {
		for {
			_ = p.cmd.Process.Signal(sig)
			select {
			case <-ended:
				return
			case <-time.After(20 * time.Millisecond):
			}
		}
	}()
	return p.wait()
}

// client follows no redirects and decodes nothing.
var client = &http.Client{
	Timeout:       patience,
	CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	Transport: &http.Transport{
		DisableCompression: true,
		DisableKeepAlives:  true,
		TLSClientConfig:    &tls.Config{InsecureSkipVerify: true}, // certificates are made by the tests
	},
}

// do sends a request with the given fields, "Name: value", and returns the
// response with its body.
func (p *process) do(method, path string, fields ...string) (*http.Response, string) {
	p.t.Helper()
	req, err := http.NewRequest(method, p.url+strings.TrimPrefix(path, "/"), nil)
	if err != nil {
		p.t.Fatal(err)
	}
	for _, f := range fields {
		name, value, _ := strings.Cut(f, ": ")
		req.Header.Add(name, value)
	}
	resp, err := client.Do(req)
	if err != nil {
		p.t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		p.t.Fatalf("%s %s: %v", method, path, err)
	}
	return resp, string(body)
}

// site makes a folder with files.
func site(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		// An old file: its entity tag is a strong one.
		old := time.Now().Add(-time.Hour)
		if err := os.Chtimes(path, old, old); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// waitFor returns a field of the answer for a file. Files that have just been written get
// no entity tag for some milliseconds, and no date for two seconds: another change could have
// the same.
func (p *process) waitFor(field, path string, fields ...string) (v string) {
	p.t.Helper()
	await.Until(p.t, field+" of "+path, func() bool {
		resp, _ := p.do("GET", path, fields...)
		v = resp.Header.Get(field)
		return v != ""
	})
	return v
}

func TestServeFiles(t *testing.T) {
	text := strings.Repeat("body { margin: 0 }\n", 100)
	parent := site(t, map[string]string{
		"secret.txt":          "password outside",
		"site/hello.txt":      "hello",
		"site/style.css":      text,
		"site/.env":           "password of a dot file",
		"site/.git/config":    "password of a dot folder",
		"site/sub/a.txt":      "a",
		"site/www/index.html": "<title>home</title>",
	})
	dir := filepath.Join(parent, "site")
	if err := os.Symlink("../secret.txt", filepath.Join(dir, "link")); err != nil {
		t.Log("no symbolic links here:", err)
	}
	p := serve(t, dir)
	if !strings.Contains(p.banner, dir) {
		t.Errorf("the banner doesn't name the folder: %q", p.banner)
	}
	for _, c := range []struct {
		name, method, path string
		fields             []string
		status             int
		body               string // exactly, or a part if it begins with "~"
		header             string // "Name: value" that must be there
	}{
		{"file", "GET", "/hello.txt", nil, 200, "hello", "Content-Type: text/plain; charset=utf-8"},
		{"nosniff", "GET", "/hello.txt", nil, 200, "hello", "X-Content-Type-Options: nosniff"},
		{"type by extension", "GET", "/style.css", nil, 200, text, "Content-Type: text/css; charset=utf-8"},
		{"head", "HEAD", "/hello.txt", nil, 200, "", "Content-Length: 5"},
		{"range", "GET", "/hello.txt", []string{"Range: bytes=1-3"}, 206, "ell", "Content-Range: bytes 1-3/5"},
		{"index", "GET", "/www/", nil, 200, "<title>home</title>", "Content-Type: text/html; charset=utf-8"},
		{"listing", "GET", "/", nil, 200, "~hello.txt", "X-Content-Type-Options: nosniff"},
		{"missing", "GET", "/none", nil, 404, "~", "X-Content-Type-Options: nosniff"},
		{"dot file", "GET", "/.env", nil, 404, "~", ""},
		{"dot folder", "GET", "/.git/config", nil, 404, "~", ""},
		{"link out", "GET", "/link", nil, 404, "~", ""},
		{"method", "POST", "/hello.txt", nil, 405, "~", "Allow: GET, HEAD"},
		{"no compression asked for", "GET", "/style.css", []string{"Accept-Encoding: identity"}, 200, text, "Vary: Accept-Encoding"},
	} {
		resp, body := p.do(c.method, c.path, c.fields...)
		if resp.StatusCode != c.status {
			t.Errorf("%s: status %d, want %d", c.name, resp.StatusCode, c.status)
		}
		if part, ok := strings.CutPrefix(c.body, "~"); ok && !strings.Contains(body, part) || !ok && body != c.body {
			t.Errorf("%s: body %q, want %q", c.name, body, c.body)
		}
		if name, want, ok := strings.Cut(c.header, ": "); ok && resp.Header.Get(name) != want {
			t.Errorf("%s: %s is %q, want %q", c.name, name, resp.Header.Get(name), want)
		}
		if strings.Contains(body, "password") || strings.Contains(body, ".env") {
			t.Errorf("%s: it leaks: %q", c.name, body)
		}
	}

	resp, body := p.do("GET", "/style.css", "Accept-Encoding: gzip")
	if resp.Header.Get("Content-Encoding") != "gzip" {
		t.Fatalf("not compressed: %v", resp.Header)
	}
	zr, err := gzip.NewReader(strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	if plain, err := io.ReadAll(zr); err != nil || string(plain) != text {
		t.Errorf("compressed: %d bytes, %v", len(plain), err)
	}
	tag := p.waitFor("ETag", "/hello.txt")
	if resp, _ = p.do("GET", "/hello.txt", "If-None-Match: "+tag); resp.StatusCode != 304 {
		t.Errorf("ETag %q, then status %d", tag, resp.StatusCode)
	}
	// Nothing may have been written into the folder.
	err = filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if strings.Contains(path, ".fasthttp") || strings.HasSuffix(path, ".gz") {
			t.Errorf("%s was written into the folder that is served", path)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

func TestServeDotfiles(t *testing.T) {
	p := serve(t, site(t, map[string]string{".env": "shown"}), "-dotfiles")
	if resp, body := p.do("GET", "/.env"); resp.StatusCode != 200 || body != "shown" {
		t.Errorf("status %d, body %q", resp.StatusCode, body)
	}
	if _, body := p.do("GET", "/"); !strings.Contains(body, ".env") {
		t.Errorf("not listed: %q", body)
	}
}

func TestServeSPA(t *testing.T) {
	p := serve(t, site(t, map[string]string{"index.html": "app", "app.js": "code", "sub/x.txt": "x"}), "-spa")
	for path, want := range map[string]string{"/": "app", "/app.js": "code", "/users/7?tab=1": "app", "/a.b/c": "app"} {
		if resp, body := p.do("GET", path); resp.StatusCode != 200 || body != want {
			t.Errorf("%s: status %d, body %q, want %q", path, resp.StatusCode, body, want)
		}
	}
	if resp, _ := p.do("GET", "/old-app.js"); resp.StatusCode != 404 {
		t.Errorf("a missing asset: status %d, want 404", resp.StatusCode)
	}
	if resp, body := p.do("HEAD", "/users/7"); resp.StatusCode != 200 || body != "" {
		t.Errorf("HEAD of a route: status %d, body %q", resp.StatusCode, body)
	}
}

func TestServeCORS(t *testing.T) {
	dir := site(t, map[string]string{"a.json": "{}"})
	for _, c := range []struct{ flag, want string }{{"-cors", "*"}, {"--cors=https://example.com", "https://example.com"}} {
		p := serve(t, dir, c.flag)
		if resp, _ := p.do("GET", "/a.json", "Origin: https://example.com"); resp.Header.Get("Access-Control-Allow-Origin") != c.want {
			t.Errorf("%s: %v", c.flag, resp.Header)
		}
		resp, body := p.do("OPTIONS", "/a.json", "Origin: https://example.com", "Access-Control-Request-Method: GET", "Access-Control-Request-Headers: range")
		if resp.StatusCode != 204 || body != "" || resp.Header.Get("Access-Control-Allow-Origin") != c.want ||
			!strings.Contains(resp.Header.Get("Access-Control-Allow-Headers"), "Range") {
			t.Errorf("%s: preflight %d %q %v", c.flag, resp.StatusCode, body, resp.Header)
		}
	}
	p := serve(t, dir)
	if resp, _ := p.do("GET", "/a.json", "Origin: https://example.com"); resp.Header.Get("Access-Control-Allow-Origin") != "" {
		t.Error("other origins may read the files without -cors")
	}
}

func TestServeAuth(t *testing.T) {
	p := serve(t, site(t, map[string]string{"a.txt": "private"}), "-auth", "user:pass:word", "-cors")
	if !strings.Contains(p.banner, "password") {
		t.Error("the banner doesn't warn of a password without TLS")
	}
	for _, c := range []struct {
		name, user, pass string
		status           int
	}{
		{"right", "user", "pass:word", 200},
		{"wrong password", "user", "pass", 401},
		{"wrong user", "User", "pass:word", 401},
		{"colon moved", "user:pass", "word", 200}, // the same bytes on the wire
		{"empty", "", "", 401},
	} {
		req, err := http.NewRequest("GET", p.url+"a.txt", nil)
		if err != nil {
			t.Fatal(err)
		}
		req.SetBasicAuth(c.user, c.pass)
		resp, err := client.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
		if resp.StatusCode != c.status {
			t.Errorf("%s: status %d, want %d", c.name, resp.StatusCode, c.status)
		}
	}
	for _, field := range []string{"X: y", "Authorization: Basic", "Authorization: Basic !!!", "Authorization: Bearer dXNlcjpwYXNzOndvcmQ="} {
		resp, body := p.do("GET", "/a.txt", field)
		if resp.StatusCode != 401 || !strings.HasPrefix(resp.Header.Get("WWW-Authenticate"), "Basic ") || strings.Contains(body, "private") {
			t.Errorf("%s: status %d, %v", field, resp.StatusCode, resp.Header)
		}
	}
	if resp, _ := p.do("OPTIONS", "/a.txt", "Origin: https://example.com", "Access-Control-Request-Method: GET"); resp.StatusCode != 204 {
		t.Errorf("a preflight, which can't carry a password: status %d", resp.StatusCode)
	}
}

func TestServeSelfSigned(t *testing.T) {
	p := serve(t, site(t, map[string]string{"a.txt": "safe"}), "-tls-self-signed")
	if !strings.HasPrefix(p.url, "https://") {
		t.Fatalf("the address is %q", p.url)
	}
	resp, body := p.do("GET", "/a.txt")
	if resp.StatusCode != 200 || body != "safe" {
		t.Fatalf("status %d, body %q", resp.StatusCode, body)
	}
	cert := resp.TLS.PeerCertificates[0]
	if sum := sha256.Sum256(cert.Raw); !strings.Contains(strings.ReplaceAll(p.banner, ":", ""), fmt.Sprintf("%X", sum)) {
		t.Errorf("the fingerprint isn't in the banner %q", p.banner)
	}
	if err := cert.VerifyHostname("127.0.0.1"); err != nil {
		t.Error(err)
	}
	if err := cert.VerifyHostname("localhost"); err != nil {
		t.Error(err)
	}
}

func TestServeCertificateFiles(t *testing.T) {
	src, err := selfSigned(time.Now(), []string{"127.0.0.1"})
	if err != nil {
		t.Fatal(err)
	}
	keys := t.TempDir()
	cert, key := filepath.Join(keys, "cert.pem"), filepath.Join(keys, "key.pem")
	for path, b := range map[string][]byte{cert: src.certPEM, key: src.keyPEM} {
		if err := os.WriteFile(path, b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	p := serve(t, site(t, map[string]string{"a.txt": "safe"}), "--tls-cert", cert, "--tls-key", key)
	resp, body := p.do("GET", "/a.txt")
	if resp.StatusCode != 200 || body != "safe" || fingerprint(resp.TLS.PeerCertificates[0].Raw) != src.fingerprint {
		t.Errorf("status %d, body %q", resp.StatusCode, body)
	}
}

func TestServeAccessLog(t *testing.T) {
	dir := site(t, map[string]string{"a.txt": "hello"})
	p := serve(t, dir, "-log", "json")
	p.do("GET", "/a.txt?q=%0a")
	var line struct {
		Msg, Method, Target, Remote string
		Status, Size                int
	}
	_, first, _ := strings.Cut(p.logged(`"msg":"request"`), "\n") // after that on the engine
	first, _, _ = strings.Cut(first, "\n")
	if err := json.Unmarshal([]byte(first), &line); err != nil {
		t.Fatalf("%q: %v", first, err)
	}
	if line.Msg != "request" || line.Method != "GET" || line.Target != "/a.txt?q=%0a" || line.Status != 200 || line.Size != 5 || line.Remote == "" {
		t.Errorf("%+v", line)
	}
	p = serve(t, dir)
	p.do("HEAD", "/none")
	p.logged("method=HEAD target=/none proto=HTTP/1.1 status=404 size=0")
	p = serve(t, dir, "-log", "off")
	p.do("GET", "/a.txt")
	_ = p.cmd.Process.Kill()
	p.wait()
	if s := p.stderr.String(); s != "" {
		t.Errorf("switched off: %q", s)
	}
}

func TestServeBusyPort(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	var stdout, stderr bytes.Buffer
	code := run([]string{"serve", "-addr", ln.Addr().String(), t.TempDir()}, &stdout, &stderr)
	if code != exitUsage || !strings.Contains(stderr.String(), "in use") || strings.Count(stderr.String(), "\n") != 1 {
		t.Errorf("exit code %d, %q", code, stderr.String())
	}
}

// A signal ends the process once the answer under way is complete.
func TestServeShutdown(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("no signals to send on Windows")
	}
	for _, sig := range []os.Signal{os.Interrupt, syscall.SIGTERM, syscall.SIGHUP} {
		if signal.Ignored(sig) { // by nohup
			continue
		}
		const size = 8 << 20
		p := serve(t, site(t, map[string]string{"big.bin": strings.Repeat("x", size)}))
		conn, err := net.Dial("tcp", strings.Trim(strings.TrimPrefix(p.url, "http://"), "/"))
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		fmt.Fprint(conn, "GET /big.bin HTTP/1.1\r\nHost: localhost\r\n\r\n")
		resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
		if err != nil {
			t.Fatal(err)
		}
		// The answer is under way, and too large for the system's buffers.
		if err := p.cmd.Process.Signal(sig); err != nil {
			t.Fatal(err)
		}
		n, err := io.Copy(io.Discard, resp.Body)
		if err != nil || n != size {
			t.Errorf("%v: %d bytes arrived, %v", sig, n, err)
		}
		if code := p.wait(); code != exitOK {
			t.Errorf("%v: exit code %d; %s", sig, code, p.stderr.String())
		}
		if left, err := os.ReadDir(p.tmp); err != nil || len(left) > 0 {
			t.Errorf("%v: %d temporary files are left behind, %v", sig, len(left), err)
		}
	}
}

// SIGTERM lets the process serve on, with answers that say close, until the time is over or
// a second signal comes; an interrupt doesn't.
func TestServeDrains(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("no signals to send on Windows")
	}
	dir := site(t, map[string]string{"a.txt": "a"})
	p := serve(t, dir, "-drain", "10m")
	_ = p.cmd.Process.Signal(syscall.SIGTERM)
	p.logged("shutting down")
	addr := strings.Trim(strings.TrimPrefix(p.url, "http://"), "/")
	for closes := false; !closes; { // the signal was logged before it drains
		conn, err := net.Dial("tcp", addr)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprint(conn, "GET /a.txt HTTP/1.1\r\nHost: localhost\r\n\r\n")
		resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
		if err != nil {
			t.Fatal(err)
		}
		if resp.StatusCode != 200 {
			t.Errorf("status %d", resp.StatusCode)
		}
		closes = resp.Close
		conn.Close()
	}
	if code := p.insist(syscall.SIGTERM); code != exitFailed {
		t.Errorf("exit code %d after a second signal", code)
	}
	p = serve(t, dir, "-drain", "10m")
	_ = p.cmd.Process.Signal(os.Interrupt)
	if code := p.wait(); code != exitOK {
		t.Errorf("exit code %d after an interrupt", code)
	}
	p = serve(t, dir, "-drain", "1ms")
	_ = p.cmd.Process.Signal(syscall.SIGTERM)
	if code := p.wait(); code != exitOK {
		t.Errorf("exit code %d after SIGTERM", code)
	}
}

// A client that takes nothing doesn't hold the process beyond the grace, and
// a second signal ends it at once.
func TestServeShutdownGrace(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("no signals to send on Windows")
	}
	dir := site(t, map[string]string{"big.bin": strings.Repeat("x", 32<<20)})
	stuck := func(p *process) net.Conn {
		conn, err := net.Dial("tcp", strings.Trim(strings.TrimPrefix(p.url, "http://"), "/"))
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprint(conn, "GET /big.bin HTTP/1.1\r\nHost: localhost\r\n\r\n")
		if _, err := conn.Read(make([]byte, 1)); err != nil {
			t.Fatal(err)
		}
		return conn
	}
	p := serve(t, dir, "-shutdown-grace", "200ms")
	defer stuck(p).Close()
	_ = p.cmd.Process.Signal(os.Interrupt)
	if code := p.wait(); code != exitOK {
		t.Errorf("exit code %d; %s", code, p.stderr.String())
	}
	p = serve(t, dir, "-shutdown-grace", "10m")
	defer stuck(p).Close()
	_ = p.cmd.Process.Signal(os.Interrupt)
	p.logged("shutting down")
	if code := p.insist(syscall.SIGTERM); code != exitFailed {
		t.Errorf("exit code %d after a second signal", code)
	}
	if left, err := os.ReadDir(p.tmp); err != nil || len(left) > 0 {
		t.Errorf("%d temporary files are left behind, %v", len(left), err)
	}
}
