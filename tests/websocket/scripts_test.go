package websocket

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// script is a peer that isn't written in Go: a command that takes "client BASE" or "server".
type script struct {
	name string
	path string   // that must exist, below the folder of peers.sh
	args []string // the command
}

var scripts = []script{
	{"Node", "node_modules/ws", []string{"node", "peer.cjs"}},
	{"Python", "venv/bin/python", []string{"venv/bin/python", "peer.py"}},
}

// command returns the command of a script, or leaves the test out.
func (s *script) command(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	dir := os.Getenv("GALE_WEBSOCKET_PEERS")
	if dir == "" {
		t.Skipf("LEFT OUT: %s: GALE_WEBSOCKET_PEERS doesn't name a folder of peers.sh", s.name)
	}
	if _, err := os.Stat(filepath.Join(dir, s.path)); err != nil {
		t.Skipf("LEFT OUT: %s: %v", s.name, err)
	}
	program := s.args[0]
	if strings.Contains(program, "/") {
		program = filepath.Join(dir, program)
	}
	if _, err := exec.LookPath(program); err != nil {
		t.Skipf("LEFT OUT: %s: %v", s.name, err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	t.Cleanup(cancel)
	cmd := exec.CommandContext(ctx, program, append(s.args[1:len(s.args):len(s.args)], args...)...)
	cmd.Env = append(os.Environ(), "NODE_PATH="+filepath.Join(dir, "node_modules"))
	cmd.Stderr = os.Stderr
	return cmd
}

// TestScriptClient proves that the clients of Node and Python and our servers understand each
// other.
func TestScriptClient(t *testing.T) {
	for _, p := range scripts {
		t.Run(p.name, func(t *testing.T) {
			for _, v := range variants() {
				if !v.overTLS || v.api == "event" {
					t.Run(v.String(), func(t *testing.T) { checkScript(t, &p, serveGale(t, v)) })
				}
			}
		})
	}
}

func checkScript(t *testing.T, p *script, s *server) {
	out, err := p.command(t, "client", s.base).Output()
	if err != nil {
		t.Error(err)
	}
	checkLines(t, s, string(out), 7)
}

// checkLines checks what a client has printed, and how the server saw the ends.
func checkLines(t *testing.T, s *server, out string, conversations int) {
	t.Helper()
	lines := strings.Split(strings.TrimSuffix(out, "\n"), "\n")
	if len(lines) != conversations {
		t.Fatalf("%d conversations:\n%s", len(lines), out)
	}
	ends := map[string]string{}
	for _, line := range lines {
		part := strings.Split(line, "\t")
		if len(part) != 3 || !strings.HasSuffix(part[2], ": ok") {
			t.Errorf("%s", line)
			continue
		}
		ends[part[0]] = part[1]
	}
	for range ends {
		end := <-s.ended
		if want := ends[end.id]; want != "-" && end.how != want {
			t.Errorf("conversation %s: the server saw the end %q, want %q", end.id, end.how, want)
		}
	}
}

// TestScriptServer proves that our client and the servers of Node and Python understand each
// other.
func TestScriptServer(t *testing.T) {
	for _, p := range scripts {
		t.Run(p.name, func(t *testing.T) { check(t, serveScript(t, &p), dialGale) })
	}
}

// serveScript starts a server.
func serveScript(t *testing.T, p *script) *server {
	t.Helper()
	cmd := p.command(t, "server")
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(stdout)
	if !lines.Scan() {
		t.Fatal("the server prints no port")
	}
	s := &server{base: "ws://127.0.0.1:" + lines.Text(), ended: make(chan ended, 100)}
	read := make(chan error, 1)
	go func() {
		for lines.Scan() {
			id, how, ok := strings.Cut(lines.Text(), "\t")
			if !ok {
				read <- fmt.Errorf("the server printed %q", lines.Text())
				return
			}
			s.ended <- ended{id, how}
		}
		read <- nil
	}()
	t.Cleanup(func() {
		_ = stdin.Close()
		if err := <-read; err != nil {
			t.Error(err)
		}
		_ = cmd.Wait()
	})
	return s
}
