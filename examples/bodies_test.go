package examples

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"io"
	"mime/multipart"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/galehttp/gale/tests/harness/await"
)

// send performs a request with a body and returns the status and the body of the
// answer.
func send(t *testing.T, method, url, kind string, body io.Reader) (int, string) {
	t.Helper()
	r, err := http.NewRequest(method, url, body)
	if err != nil {
		t.Fatal(err)
	}
	if kind != "" {
		r.Header.Set("Content-Type", kind)
	}
	client := &http.Client{Timeout: wait, Transport: &http.Transport{DisableKeepAlives: true}}
	resp, err := client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(b)
}

func TestUpload(t *testing.T) {
	dir := t.TempDir()
	e := run(t, "upload", "-dir", dir, "-max", "5000000")
	base := "http://" + e.addr + "/files/"
	big := bytes.Repeat([]byte("0123456789abcdef"), 1<<18) // 4 MiB
	want := fmt.Sprintf(`[{"name":"big.bin","size":%d,"sha256":"%x"}]`+"\n", len(big), sha256.Sum256(big))
	if status, body := send(t, "PUT", base+"big.bin", "", bytes.NewReader(big)); status != 201 || body != want {
		t.Errorf("PUT: got %d %q, want %q", status, body, want)
	}
	// Without a length, that is chunked.
	if status, body := send(t, "PUT", base+"big.bin", "", io.MultiReader(bytes.NewReader(big))); status != 201 || body != want {
		t.Errorf("PUT, chunked: got %d %q, want %q", status, body, want)
	}
	if resp, body := get(t, http.DefaultClient, base+"big.bin"); resp.StatusCode != 200 || body != string(big) {
		t.Errorf("the download: got %d, %d bytes", resp.StatusCode, len(body))
	}

	var form bytes.Buffer
	w := multipart.NewWriter(&form)
	_ = w.WriteField("comment", "two files")
	for _, name := range []string{"one.txt", "two.txt"} {
		part, _ := w.CreateFormFile("file", name)
		io.WriteString(part, "this is "+name)
	}
	w.Close()
	if status, body := send(t, "POST", base, w.FormDataContentType(), &form); status != 201 || strings.Count(body, `"size":15`) != 2 {
		t.Errorf("POST: got %d %q", status, body)
	}
	if b, err := os.ReadFile(filepath.Join(dir, "two.txt")); err != nil || string(b) != "this is two.txt" {
		t.Errorf("the second file: %q, %v", b, err)
	}

	for _, tt := range []struct {
		method, target, kind, body string
		status                     int
	}{
		{"PUT", "../a", "", "a", 404},
		{"PUT", "..%2Fa", "", "a", 404}, // the server makes it /a
		{"PUT", ".hidden", "", "a", 400},
		{"PUT", "a%5Cb", "", "a", 400},
		{"POST", "", "text/plain", "a", 400},
		{"POST", "", "multipart/form-data; boundary=x", "--x\r\nbroken", 400},
		{"PUT", "large", "", strings.Repeat("a", 6_000_000), 413},
	} {
		if status, body := send(t, tt.method, base+tt.target, tt.kind, io.MultiReader(strings.NewReader(tt.body))); status != tt.status {
			t.Errorf("%s %s: got %d %q, want %d", tt.method, tt.target, status, body, tt.status)
		}
	}

	// An upload that breaks off leaves nothing.
	c, err := net.Dial("tcp", e.addr)
	if err != nil {
		t.Fatal(err)
	}
	io.WriteString(c, "PUT /files/half HTTP/1.1\r\nHost: a\r\nContent-Length: 100\r\n\r\nhalf of it")
	await.Until(t, "a file with the half", func() bool { return len(names(t, dir)) == 4 })
	c.Close()
	await.Until(t, "only whole files", func() bool { return strings.Join(names(t, dir), " ") == "big.bin one.txt two.txt" })
}

// names returns the names in a folder, sorted.
func names(t *testing.T, dir string) (names []string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal("reading the folder:", err)
	}
	for _, entry := range entries {
		names = append(names, entry.Name())
	}
	return names
}

// TestProxy: a proxy with two servers. The example's own tests check more.
func TestProxy(t *testing.T) {
	one, two := run(t, "hello"), run(t, "hello")
	e := run(t, "proxy", "-to", one.addr+","+two.addr)
	for range 4 {
		resp, body := get(t, http.DefaultClient, "http://"+e.addr+"/?name=you")
		if resp.StatusCode != 200 || body != "Hello, you!\n" || resp.Header.Get("Via") == "" {
			t.Errorf("got %d %q %v", resp.StatusCode, body, resp.Header)
		}
	}
}
