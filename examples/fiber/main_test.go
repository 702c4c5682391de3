package main

import (
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/galehttp/gale"
)

// TestApp talks to the application over loopback.
func TestApp(t *testing.T) {
	ln, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	app := newApp()
	var _ *gale.Server = app.Server()
	go app.Listener(ln)
	defer app.ShutdownWithTimeout(5 * time.Second)
	for _, tt := range []struct {
		method, path, body string
		status             int
		want               string
	}{
		{"GET", "/api/notes", "", 200, `[]`},
		{"POST", "/api/notes", `{"text":"one"}`, 201, `{"id":1,"text":"one"}`},
		{"POST", "/api/notes", `{`, 400, "the body is no note"},
		{"GET", "/api/notes/1", "", 200, `{"id":1,"text":"one"}`},
		{"GET", "/api/notes/2", "", 404, "Not Found"},
		{"GET", "/panic", "", 500, "on purpose"},
		{"GET", "/elsewhere", "", 404, "Cannot GET /elsewhere"},
	} {
		req, err := http.NewRequest(tt.method, "http://"+ln.Addr().String()+tt.path, strings.NewReader(tt.body))
		if err != nil {
			t.Fatal(err)
		}
		if tt.body != "" {
			req.Header.Set("Content-Type", "application/json")
		}
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		if err != nil || resp.StatusCode != tt.status || string(body) != tt.want {
			t.Errorf("%s %s: %d %q, %v, want %d %q", tt.method, tt.path, resp.StatusCode, body, err, tt.status, tt.want)
		}
		if resp.Header.Get("X-Request-Id") == "" {
			t.Errorf("%s: no X-Request-ID", tt.path)
		}
	}
}

// TestHTTP2 asks over HTTP/2, with TLS and without.
func TestHTTP2(t *testing.T) {
	plain, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	app := newApp()
	app.Server().HTTP2.H2C = true
	go app.Listener(plain)
	defer app.ShutdownWithTimeout(5 * time.Second)

	certFile, keyFile := certificate(t)
	overTLS, err := listenTLS("127.0.0.1:0", certFile, keyFile)
	if err != nil {
		t.Fatal(err)
	}
	appTLS := newApp()
	go appTLS.Listener(overTLS)
	defer appTLS.ShutdownWithTimeout(5 * time.Second)

	for _, tt := range []struct{ url, curl string }{
		{"http://" + plain.Addr().String() + "/api/notes", "--http2-prior-knowledge"},
		{"https://" + overTLS.Addr().String() + "/api/notes", "--http2"},
	} {
		if proto, body := get(t, tt.url); proto != "HTTP/2.0" || body != "[]" {
			t.Errorf("%s: %s %q", tt.url, proto, body)
		}
		t.Run("curl "+tt.curl, func(t *testing.T) {
			curl := findCurl(t)
			out, err := exec.Command(curl, "-sk", "-m", "30", tt.curl, "-w", " HTTP/%{http_version}", tt.url).CombinedOutput()
			if err != nil || string(out) != "[] HTTP/2" {
				t.Errorf("%q, %v", out, err)
			}
		})
	}
}

// get asks by a client that speaks nothing but HTTP/2.
func get(t *testing.T, url string) (proto, body string) {
	t.Helper()
	protocols := new(http.Protocols)
	protocols.SetHTTP2(true)
	protocols.SetUnencryptedHTTP2(true)
	tr := &http.Transport{Protocols: protocols, TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}
	defer tr.CloseIdleConnections()
	resp, err := (&http.Client{Transport: tr}).Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.Proto, string(b)
}

// certificate writes a certificate and its key to files.
func certificate(t *testing.T) (certFile, keyFile string) {
	t.Helper()
	cert, key, err := gale.GenerateTestCertificate("127.0.0.1")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	certFile, keyFile = filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	for name, text := range map[string][]byte{certFile: cert, keyFile: key} {
		if err := os.WriteFile(name, text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return certFile, keyFile
}

// findCurl skips the test where there is no curl that speaks HTTP/2.
func findCurl(t *testing.T) string {
	t.Helper()
	curl, err := exec.LookPath("curl")
	if err != nil {
		t.Skip("not installed: curl")
	}
	if out, err := exec.Command(curl, "--version").Output(); err != nil || !strings.Contains(string(out), "HTTP2") {
		t.Skip("not installed: curl with HTTP/2")
	}
	return curl
}
