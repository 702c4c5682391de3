package clients

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// A proxy in front of the servers keeps its connections to them and mixes the requests of
// many clients on them. Nothing may hang, and no client may get the response of another
// one.
func TestNginx(t *testing.T) {
	t.Parallel()
	path := find(t, "nginx", "/usr/sbin/nginx")
	dir, text, random := site(t)
	files, contract := serveFiles(t, dir), serveContract(t, dir)
	files.settled(textName)
	proxy := startNginx(t, path, files.addr, contract.addr)
	client := &http.Client{Timeout: patience, Transport: &http.Transport{MaxIdleConnsPerHost: 16, DisableCompression: true}}
	defer client.CloseIdleConnections()

	do := func(method, path string, body io.Reader, fields ...string) (*http.Response, []byte) {
		req, err := http.NewRequest(method, proxy+path, body)
		if err != nil {
			t.Error(err)
			return nil, nil
		}
		for _, f := range fields {
			name, value, _ := strings.Cut(f, ": ")
			req.Header.Set(name, value)
		}
		resp, err := client.Do(req)
		if err != nil {
			t.Errorf("%s %s: %v", method, path, err)
			return nil, nil
		}
		defer resp.Body.Close()
		b, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Errorf("%s %s: %v", method, path, err)
		}
		return resp, b
	}

	for _, c := range []struct {
		method, path string
		fields       []string
		status       int
		body         []byte
	}{
		{"GET", "/files/" + textName, nil, 200, text},
		{"GET", "/files/" + randName, nil, 200, random},
		{"HEAD", "/files/" + randName, nil, 200, nil},
		{"GET", "/files/" + randName, []string{"Range: bytes=5-14"}, 206, random[5:15]},
		{"GET", "/files/" + textName, []string{"If-Modified-Since: " + time.Now().UTC().Format(http.TimeFormat)}, 304, nil},
		{"GET", "/files/none", nil, 404, []byte("There is no file or folder at this address.\n")},
		{"POST", "/files/" + textName, nil, 405, []byte("Only these methods are allowed here: GET, HEAD.\n")},
		{"GET", "/stream", nil, 200, []byte("part1part2")},
		{"HEAD", "/stream", nil, 200, nil},
		{"GET", "/status/204", nil, 204, nil},
		{"GET", "/status/205", nil, 205, nil},
		{"GET", "/status/304", nil, 304, nil},
		{"GET", "/status/500", nil, 500, []byte("BODY")},
		{"GET", "/close", nil, 200, []byte("bye")},
		{"POST", "/noread", nil, 200, []byte("noread")},
	} {
		for range 3 { // so that each request follows each other one on some connection
			resp, body := do(c.method, c.path, nil, c.fields...)
			if resp != nil && (resp.StatusCode != c.status || !bytes.Equal(body, c.body)) {
				t.Errorf("%s %s: status %d and %d bytes, want %d and %d", c.method, c.path, resp.StatusCode, len(body), c.status, len(c.body))
			}
		}
	}

	var clients sync.WaitGroup
	for i := range 16 {
		clients.Go(func() {
			for j := range 25 {
				path := fmt.Sprintf("/own/%d/%d", i, j)
				if j%2 == 1 {
					path = "/unbuffered" + path // nginx passes the body on as it arrives
				}
				var body io.Reader = bytes.NewReader(random[:1000*i*j])
				if j%3 == 0 {
					body = io.MultiReader(body) // of unknown length, so it is chunked
				}
				resp, b := do("POST", path, body)
				if resp == nil {
					return
				}
				var echo struct {
					Target  string
					BodyLen int `json:"body_len"`
				}
				if err := json.Unmarshal(b, &echo); err != nil || echo.Target != path || echo.BodyLen != 1000*i*j {
					t.Errorf("%s: %v, %+v", path, err, echo)
				}
				resp, b = do("GET", "/files/"+helloName, nil)
				if resp != nil && (resp.StatusCode != 200 || string(b) != helloText) {
					t.Errorf("%s: status %d, %q", helloName, resp.StatusCode, b)
				}
			}
		})
	}
	clients.Wait()

	log := files.requests()
	conns := map[string]bool{}
	for _, l := range log {
		conns[l.Remote] = true
	}
	t.Logf("%d requests for files came on %d connections", len(log), len(conns))
	if len(log) < 400 || len(conns) > len(log)/4 {
		t.Errorf("%d requests on %d connections: they aren't kept", len(log), len(conns))
	}
}

// startNginx starts a proxy for both servers and returns its URL.
func startNginx(t *testing.T, path, files, contract string) string {
	t.Helper()
	conf, err := os.ReadFile("testdata/nginx.conf")
	if err != nil {
		t.Fatal(err)
	}
	dir, addr := t.TempDir(), freeAddr(t)
	name := filepath.Join(dir, "nginx.conf")
	conf = []byte(strings.NewReplacer("{{DIR}}", dir, "{{LISTEN}}", addr, "{{FILES}}", files, "{{CONTRACT}}", contract).Replace(string(conf)))
	if err := os.WriteFile(name, conf, 0o644); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(path, "-p", dir, "-c", name, "-e", filepath.Join(dir, "error.log"))
	exited := make(chan error, 1)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		exited <- cmd.Wait()
		close(exited)
	}()
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		<-exited
		// Errors of the servers that the proxy has logged.
		if log, err := os.ReadFile(filepath.Join(dir, "error.log")); err != nil || bytes.Contains(log, []byte("upstream")) {
			t.Errorf("nginx complains: %s %v", log, err)
		}
	})
	waitListening(t, addr, exited)
	return "http://" + addr
}
