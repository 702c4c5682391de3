package main

import (
	"bufio"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// checkAlone runs a program as in the image of Containerfile: as a user without rights, in
// a root folder with nothing but the program, /srv, and /tmp. It needs root.
func checkAlone(t *testing.T, binary string) {
	if os.Getuid() != 0 {
		return
	}
	root := filepath.Join(t.TempDir(), "root")
	write(t, filepath.Join(root, "gale"), string(read(t, binary)), 0o755)
	write(t, filepath.Join(root, "srv", "a.txt"), strings.Repeat("text ", 1000), 0o644)
	tmp := filepath.Join(root, "tmp")
	if err := os.Mkdir(tmp, 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(tmp, 0o777); err != nil { // without the umask
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "/gale", "serve", "/srv", "-addr", "127.0.0.1:0")
	cmd.Dir, cmd.Env = "/", []string{}
	cmd.SysProcAttr = &syscall.SysProcAttr{Chroot: root, Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	cmd.Stderr = os.Stderr
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer cmd.Wait()
	defer cmd.Process.Kill()
	url := ""
	for lines := bufio.NewScanner(stdout); url == "" && lines.Scan(); {
		if s := strings.TrimSpace(lines.Text()); strings.HasPrefix(s, "http:") {
			url = s
		}
	}
	req, err := http.NewRequest(http.MethodGet, url+"a.txt", nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Accept-Encoding", "br")
	client := http.Client{Timeout: 30 * time.Second}
	resp, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if _, err := io.Copy(io.Discard, resp.Body); err != nil || resp.StatusCode != http.StatusOK || resp.Header.Get("Content-Encoding") != "br" {
		t.Errorf("%s, %q, %v; want 200 with br", resp.Status, resp.Header, err)
	}
}
