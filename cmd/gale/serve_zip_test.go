package main

import (
	"archive/zip"
	"bytes"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// unzip returns the files of an archive. Folders end in a slash.
func unzip(t *testing.T, archive string) map[string]string {
	t.Helper()
	r, err := zip.NewReader(strings.NewReader(archive), int64(len(archive)))
	if err != nil {
		t.Fatal(err)
	}
	files := make(map[string]string)
	for _, f := range r.File {
		rc, err := f.Open()
		if err != nil {
			t.Fatal(err)
		}
		b, err := io.ReadAll(rc)
		if err != nil {
			t.Errorf("%s: %v", f.Name, err)
		}
		rc.Close()
		if _, twice := files[f.Name]; twice {
			t.Errorf("%s is there twice", f.Name)
		}
		files[f.Name] = string(b)
	}
	return files
}

func TestZip(t *testing.T) {
	onEngines(t, func(t *testing.T, engine string) {
		text := strings.Repeat("text ", 1<<18)
		base := t.TempDir()
		dir := filepath.Join(base, "served")
		for path, text := range map[string]string{
			"secret.txt": "secret", "outside/f": "f", "served/a.txt": text, "served/sub dir/ü.png": text, "served/sub dir/deep/b": "b", "served/empty.txt": "",
			"served/.env": "env", "served/.git/config": "config", "served/sub dir/.hidden": "x", "served/.gale-upload-A": "part", "served/index.html": "index",
		} {
			path = filepath.Join(base, filepath.FromSlash(path))
			if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.Mkdir(filepath.Join(dir, "void"), 0o755); err != nil {
			t.Fatal(err)
		}
		symlink(t, ".", filepath.Join(dir, "loop"))
		symlink(t, "..", filepath.Join(dir, "sub dir", "up"))
		symlink(t, "loop2", filepath.Join(dir, "loop1"))
		symlink(t, "loop1", filepath.Join(dir, "loop2"))
		symlink(t, "../outside", filepath.Join(dir, "out"))
		symlink(t, filepath.Join(base, "secret.txt"), filepath.Join(dir, "absolute.txt"))
		symlink(t, "../secret.txt", filepath.Join(dir, "secret.txt"))
		symlink(t, "../empty.txt", filepath.Join(dir, "sub dir", "alias.txt"))
		makePipe(t, filepath.Join(dir, "pipe"))
		before := tree(t, base)

		l := serveLocal(t, dir, "-zip", "-engine", engine)
		want := map[string]string{
			"files/a.txt": text, "files/sub dir/": "", "files/sub dir/ü.png": text, "files/sub dir/deep/": "", "files/sub dir/deep/b": "b", "files/sub dir/alias.txt": "",
			"files/empty.txt": "", "files/index.html": "index", "files/void/": "",
		}
		resp, body := l.do("GET", "/?zip", "")
		if resp.StatusCode != 200 || resp.Header.Get("Content-Type") != "application/zip" || resp.Header.Get("Cache-Control") != "no-store" ||
			resp.Header.Get("Content-Disposition") != `attachment; filename="files.zip"; filename*=UTF-8''files.zip` || resp.Header.Get("X-Content-Type-Options") != "nosniff" {
			t.Errorf("status %d, %v", resp.StatusCode, resp.Header)
		}
		if got := unzip(t, body); !maps.Equal(got, want) {
			t.Errorf("%q", slices.Sorted(maps.Keys(got)))
		}
		if len(body) > len(text)+len(text)/10 { // the text is compressed, the picture isn't
			t.Errorf("%d bytes", len(body))
		}
		resp, body = l.do("GET", "/sub%20dir/?zip", "")
		if got := unzip(t, body); len(got) != 4 || got["sub dir/ü.png"] != text || resp.Header.Get("Content-Disposition") != `attachment; filename="sub dir.zip"; filename*=UTF-8''sub%20dir.zip` {
			t.Errorf("%q, %v", slices.Sorted(maps.Keys(got)), resp.Header)
		}
		if resp, body := l.do("HEAD", "/?zip", ""); resp.StatusCode != 200 || body != "" || resp.Header.Get("Content-Type") != "application/zip" || resp.ContentLength != -1 {
			t.Errorf("HEAD: status %d, %v", resp.StatusCode, resp.Header)
		}
		for path, want := range map[string]int{"/none/?zip": 404, "/out/?zip": 404, "/.git/?zip": 404, "/pipe/?zip": 404, "/a.txt/?zip": 404, "/sub%20dir?zip": 302, "/..%2f?zip": 200, "/sub%20dir/..%2f..%2f?zip": 200} {
			resp, body := l.do("GET", path, "")
			if resp.StatusCode != want || strings.Contains(body, "secret") {
				t.Errorf("%s: status %d", path, resp.StatusCode)
			}
		}
		if resp, body := l.do("GET", "/a.txt?zip", ""); resp.StatusCode != 200 || body != text {
			t.Errorf("a file: status %d", resp.StatusCode)
		}
		dots := serveLocal(t, dir, "-zip", "-dotfiles", "-engine", engine)
		_, body = dots.do("GET", "/?zip", "")
		if got := unzip(t, body); got["files/.env"] != "env" || got["files/.git/config"] != "config" || got["files/.gale-upload-A"] != "" || len(got) != len(want)+4 {
			t.Errorf("with dot files: %q", slices.Sorted(maps.Keys(got)))
		}
		off := serveLocal(t, dir, "-engine", engine)
		if resp, body := off.do("GET", "/?zip", ""); body != "index" {
			t.Errorf("without -zip: status %d", resp.StatusCode)
		}
		secure := serveLocal(t, dir, "-zip", "-tls-self-signed", "-engine", engine)
		resp, body = secure.doWith(http2Client(t), "GET", "/?zip", nil)
		if got := unzip(t, body); resp.ProtoMajor != 2 || !maps.Equal(got, want) {
			t.Errorf("HTTP/2: %s, %q", resp.Proto, slices.Sorted(maps.Keys(got)))
		}
		if after := tree(t, base); after != before {
			t.Errorf("changed: %s", after)
		}
		for _, l := range []*local{l, dots, secure} {
			if s := l.log.String(); strings.Contains(s, "panic") || strings.Contains(s, "broke") {
				t.Error(s)
			}
		}
	})
}

// Archives that are being sent are limited. A client that leaves gives its place back, and
// others are served meanwhile.
func TestZipSlots(t *testing.T) {
	onEngines(t, func(t *testing.T, engine string) {
		dir := site(t, map[string]string{"a.txt": "a", "big/big.bin": strings.Repeat("x", 32<<20)})
		l := serveLocal(t, dir, "-zip", "-engine", engine)
		var conns []io.Closer
		for range maxZips {
			conn, r := l.raw("GET /big/?zip HTTP/1.1\r\nHost: h\r\n\r\n")
			if _, err := r.ReadByte(); err != nil { // it has begun, and is too large for the buffers
				t.Fatal(err)
			}
			conns = append(conns, conn)
		}
		resp, body := l.do("GET", "/?zip", "")
		if resp.StatusCode != 503 || resp.Header.Get("Retry-After") == "" || resp.Header.Get("Content-Disposition") != "" {
			t.Errorf("status %d, %v, %q", resp.StatusCode, resp.Header, body)
		}
		if resp, body := l.do("GET", "/a.txt", ""); resp.StatusCode != 200 || body != "a" {
			t.Errorf("others get %d", resp.StatusCode)
		}
		for _, c := range conns {
			c.Close()
		}
		eventually(t, func() string {
			if resp, _ := l.do("HEAD", "/?zip", ""); resp.StatusCode != 200 {
				return fmt.Sprintf("status %d after the clients have left", resp.StatusCode)
			}
			return ""
		})
	})
}

// A folder that is too large is refused before the first byte.
func TestZipLimits(t *testing.T) {
	dir := t.TempDir()
	deep := filepath.Join(dir, "deep", strings.Repeat("d/", maxZipDepth-1))
	if err := os.MkdirAll(deep, 0o755); err != nil {
		t.Fatal(err)
	}
	l := serveLocal(t, dir, "-zip")
	if resp, _ := l.do("GET", "/deep/?zip", ""); resp.StatusCode != 200 {
		t.Errorf("status %d", resp.StatusCode)
	}
	for _, method := range []string{"GET", "HEAD"} {
		if resp, _ := l.do(method, "/?zip", ""); resp.StatusCode != 422 || resp.Header.Get("Content-Type") == "application/zip" {
			t.Errorf("%s: status %d, %v", method, resp.StatusCode, resp.Header)
		}
	}
}

func TestZipPython(t *testing.T) {
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("python3 isn't installed")
	}
	dir := site(t, map[string]string{"a.txt": strings.Repeat("text", 10000), "ü/b.png": "stored"})
	l := serveLocal(t, dir, "-zip")
	_, body := l.do("GET", "/?zip", "")
	file := filepath.Join(t.TempDir(), "a.zip")
	if err := os.WriteFile(file, []byte(body), 0o644); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(python, "-c", "import sys, zipfile\nz = zipfile.ZipFile(sys.argv[1])\nassert z.testzip() is None\nfor i in z.infolist(): print(i.filename.encode('utf-8'), i.file_size)", file)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if want := "b'files/a.txt' 40000\nb'files/\\xc3\\xbc/' 0\nb'files/\\xc3\\xbc/b.png' 6\n"; err != nil || strings.ReplaceAll(string(out), "\r", "") != want {
		t.Errorf("%v, %q, %s", err, out, stderr.String())
	}
}

func TestAttachment(t *testing.T) {
	for name, want := range map[string]string{
		"a.zip":        `attachment; filename="a.zip"; filename*=UTF-8''a.zip`,
		`a"b\c;.zip`:   `attachment; filename="a_b_c;.zip"; filename*=UTF-8''a%22b%5Cc%3B.zip`,
		"ü €.zip":      `attachment; filename="_ _.zip"; filename*=UTF-8''%C3%BC%20%E2%82%AC.zip`,
		"a\r\nX: y":    `attachment; filename="a__X: y"; filename*=UTF-8''a%0D%0AX%3A%20y`,
		"100%'s (1)/x": `attachment; filename="100_'s (1)_x"; filename*=UTF-8''100%25%27s%20%281%29%2Fx`,
	} {
		if got := attachment(name); got != want {
			t.Errorf("%q: %s", name, got)
		}
	}
}
