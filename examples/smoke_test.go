// Package examples builds each example and talks to it.
package examples

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/galehttp/gale"
	"github.com/galehttp/gale/tests/harness/await"
)

// wait is how long anything may take before a test gives up.
const wait = time.Minute

// example is a program that runs.
type example struct {
	t      *testing.T
	addr   string
	cmd    *exec.Cmd
	output *bytes.Buffer
	ended  chan error
}

// run builds and starts an example and waits until it listens.
func run(t *testing.T, name string, args ...string) *example {
	t.Helper()
	goTool, err := exec.LookPath("go")
	if err != nil {
		t.Skip("there is no go command to build it with")
	}
	bin := filepath.Join(t.TempDir(), name+".exe")
	if out, err := exec.Command(goTool, "build", "-o", bin, "./"+name).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	e := &example{t: t, addr: freeAddr(t), output: new(bytes.Buffer), ended: make(chan error, 1)}
	e.cmd = exec.Command(bin, append([]string{"-addr", e.addr}, args...)...)
	e.cmd.Stdout, e.cmd.Stderr = e.output, e.output
	if err := e.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() { e.ended <- e.cmd.Wait() }()
	t.Cleanup(func() { _ = e.cmd.Process.Kill() })
	e.waitUntilUp()
	return e
}

// freeAddr returns an address on loopback that nothing listens on.
func freeAddr(t *testing.T) string {
	t.Helper()
	ln, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	return ln.Addr().String()
}

func (e *example) waitUntilUp() {
	e.t.Helper()
	await.Until(e.t, "the program to listen", func() bool {
		c, err := net.Dial("tcp", e.addr)
		if err == nil {
			c.Close()
			return true
		}
		select {
		case err := <-e.ended:
			e.t.Fatalf("it ended: %v\n%s", err, e.output)
		default:
		}
		return false
	})
}

// get returns the answer to a GET request and its body.
func get(t *testing.T, client *http.Client, url string, fields ...string) (*http.Response, string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), wait)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(fields); i += 2 {
		r.Header.Set(fields[i], fields[i+1])
	}
	resp, err := client.Do(r)
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

func TestHello(t *testing.T) {
	e := run(t, "hello")
	for _, tt := range []struct {
		target string
		status int
		body   string
	}{
		{"/?name=you", 200, "Hello, you!\n"},
		{"/", 200, "Hello, world!\n"},
		{"/elsewhere", 404, "not found"},
	} {
		resp, body := get(t, http.DefaultClient, "http://"+e.addr+tt.target)
		if resp.StatusCode != tt.status || body != tt.body {
			t.Errorf("%s: got %d %q, want %d %q", tt.target, resp.StatusCode, body, tt.status, tt.body)
		}
	}
}

func TestAPI(t *testing.T) {
	e := run(t, "api")
	resp, body := get(t, http.DefaultClient, "http://"+e.addr+"/notes?limit=5", "X-User", "ada")
	if resp.StatusCode != 200 || body != "[]" || resp.Header.Get("Content-Type") != "application/json" {
		t.Errorf("got %d %q %v", resp.StatusCode, body, resp.Header)
	}
}

func TestFiles(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "a.txt"), []byte("0123456789"), 0o644); err != nil {
		t.Fatal(err)
	}
	e := run(t, "files", "-dir", dir)
	base := "http://" + e.addr
	if resp, body := get(t, http.DefaultClient, base+"/files/a.txt"); resp.StatusCode != 200 || body != "0123456789" {
		t.Errorf("the file: got %d %q", resp.StatusCode, body)
	}
	if resp, body := get(t, http.DefaultClient, base+"/files/a.txt", "Range", "bytes=2-4"); resp.StatusCode != 206 || body != "234" {
		t.Errorf("a range: got %d %q", resp.StatusCode, body)
	}
	if resp, body := get(t, http.DefaultClient, base+"/"); resp.StatusCode != 200 || !strings.Contains(body, "a.txt") {
		t.Errorf("the redirect to the listing: got %d %q", resp.StatusCode, body)
	}
	if resp, _ := get(t, http.DefaultClient, base+"/files/b.txt"); resp.StatusCode != 404 {
		t.Errorf("no file: got %d", resp.StatusCode)
	}
}

func TestStream(t *testing.T) {
	e := run(t, "stream")
	resp, body := get(t, http.DefaultClient, "http://"+e.addr+"/numbers?n=100000")
	if resp.StatusCode != 200 || !strings.HasPrefix(body, "0\n1\n2\n") || !strings.HasSuffix(body, "\n99999\n") {
		t.Errorf("numbers: got %d, %d bytes", resp.StatusCode, len(body))
	}

	// The first events come while the stream is still open.
	ctx, cancel := context.WithTimeout(context.Background(), wait)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+e.addr+"/events", nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err = http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if got := resp.Header.Get("Content-Type"); got != "text/event-stream" {
		t.Errorf("Content-Type of events: %q", got)
	}
	var id int
	if _, err := fmt.Fscanf(resp.Body, "id: %d\n", &id); err != nil || id != 0 {
		t.Errorf("the first event: id %d, %v", id, err)
	}
}

func TestShutdown(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("no signals there")
	}
	e := run(t, "shutdown", "-drain", "50ms")
	base := "http://" + e.addr
	if resp, body := get(t, http.DefaultClient, base+"/"); resp.StatusCode != 200 || body != "done\n" {
		t.Fatalf("got %d %q", resp.StatusCode, body)
	}

	// A request that was sent before the signal gets its answer after it.
	c, err := net.Dial("tcp", e.addr)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := io.WriteString(c, "GET /slow HTTP/1.1\r\nHost: a\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	time.Sleep(100 * time.Millisecond) // its handler most likely runs then; if not, it must be answered, too
	if err := e.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	_ = c.SetDeadline(time.Now().Add(wait))
	answer, err := io.ReadAll(c)
	if err != nil || !strings.HasPrefix(string(answer), "HTTP/1.1 200 ") || !strings.HasSuffix(string(answer), "done\n") {
		t.Errorf("the answer during shutdown: %q %v", answer, err)
	}
	select {
	case err := <-e.ended:
		if err != nil {
			t.Errorf("it ended: %v\n%s", err, e.output)
		}
	case <-time.After(wait):
		t.Error("it doesn't end")
	}
}

// While the example drains it serves, and tells load balancers to send no more.
func TestShutdownDrains(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("no signals there")
	}
	e := run(t, "shutdown", "-drain", "1m")
	base := "http://" + e.addr
	fresh := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: wait}
	if resp, body := get(t, fresh, base+"/ready"); resp.StatusCode != 200 || body != "ready\n" {
		t.Fatalf("got %d %q", resp.StatusCode, body)
	}
	if err := e.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	await.Until(t, "the program to say that it isn't ready", func() bool {
		resp, _ := get(t, fresh, base+"/ready")
		return resp.StatusCode == 503
	})
	if resp, body := get(t, fresh, base+"/"); resp.StatusCode != 200 || body != "done\n" || !resp.Close {
		t.Errorf("while it drains: %d %q, closes: %v", resp.StatusCode, body, resp.Close)
	}
	await.Until(t, "the end after a second signal", func() bool { // one in the first 100 ms is the first one again
		_ = e.cmd.Process.Signal(syscall.SIGTERM)
		return len(e.ended) > 0
	})
}

func TestTLS(t *testing.T) {
	dir := t.TempDir()
	certFile, keyFile := filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	first := writeCertificate(t, certFile, keyFile)
	e := run(t, "tls", "-cert", certFile, "-key", keyFile)
	resp, body := get(t, trusting(first), "https://"+e.addr)
	if resp.StatusCode != 200 || !strings.HasPrefix(body, "Hello over TLS 1.3, request 1 ") {
		t.Errorf("got %d %q", resp.StatusCode, body)
	}
	if runtime.GOOS == "windows" {
		return // no signals there
	}

	// Renewed: new connections get the new certificate.
	second := writeCertificate(t, certFile, keyFile)
	if err := e.cmd.Process.Signal(syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	await.Until(t, "the new certificate", func() bool {
		resp, err := trusting(second).Get("https://" + e.addr)
		if err == nil {
			resp.Body.Close()
		}
		return err == nil
	})
}

// writeCertificate makes a certificate of its own for 127.0.0.1.
func writeCertificate(t *testing.T, certFile, keyFile string) (cert []byte) {
	t.Helper()
	cert, key, err := gale.GenerateTestCertificate("127.0.0.1")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(certFile, cert, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(keyFile, key, 0o600); err != nil {
		t.Fatal(err)
	}
	return cert
}

// trusting returns a client with connections of its own that trusts cert only.
func trusting(cert []byte) *http.Client {
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(cert)
	return &http.Client{Transport: &http.Transport{
		TLSClientConfig:   &tls.Config{RootCAs: pool, ServerName: "127.0.0.1"},
		DisableKeepAlives: true,
	}}
}
