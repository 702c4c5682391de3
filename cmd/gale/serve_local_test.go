package main

import (
	"bufio"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"sort"
	"strings"
	"testing"
	"time"

	"github.com/galehttp/gale"
)

// local is a server of the command within the test.
type local struct {
	t      *testing.T
	cfg    *serveConfig
	server *gale.Server
	addr   string
	url    string // with a slash at the end
	dir    string
	log    lockedBuffer
	done   chan error
}

// onEngines runs f with each engine of the system.
func onEngines(t *testing.T, f func(t *testing.T, engine string)) {
	for _, e := range engines() {
		t.Run(e, func(t *testing.T) { f(t, e) })
	}
}

// serveLocal serves dir until the test ends.
func serveLocal(t *testing.T, dir string, args ...string) *local {
	t.Helper()
	l := newLocal(t, dir, args...)
	l.start()
	return l
}

// newLocal prepares what start starts.
func newLocal(t *testing.T, dir string, args ...string) *local {
	t.Helper()
	l := &local{t: t, dir: dir, done: make(chan error, 1)}
	l.cfg, l.server = prepare(t, &l.log, t.TempDir(), append([]string{"-drain", "0s", dir}, args...)...)
	return l
}

// prepare does what runServe does before it listens. Compressed copies go to the folder
// copies, "" for none, the log to w.
func prepare(t *testing.T, w io.Writer, copies string, args ...string) (*serveConfig, *gale.Server) {
	t.Helper()
	cfg, err := parseServeFlags(args)
	if err != nil {
		t.Fatal(err)
	}
	log := cfg.openLog(w)
	t.Cleanup(log.close)
	if err := cfg.auth.load(log.logger); err != nil {
		t.Fatal(err)
	}
	if copies == "" {
		return cfg, cfg.newServer(nil, log)
	}
	root, err := os.OpenRoot(copies)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { root.Close() })
	return cfg, cfg.newServer(root, log)
}

func (l *local) start() {
	l.t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		l.t.Fatal(err)
	}
	source, err := l.cfg.loadTLS()
	if err != nil {
		l.t.Fatal(err)
	}
	l.addr = ln.Addr().String()
	l.url = "http://" + l.addr + "/"
	if source.enabled() {
		l.url = "https://" + l.addr + "/"
	}
	go func() { l.done <- source.serve(l.server, ln) }()
	l.t.Cleanup(l.stop)
}

// stop cuts all connections off.
func (l *local) stop() {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_ = l.server.ShutdownWithContext(ctx)
	_ = l.server.Close()
	l.cfg.finishUploads()
}

// do sends a request. fields are "Name: value".
func (l *local) do(method, path, body string, fields ...string) (*http.Response, string) {
	l.t.Helper()
	return l.doWith(client, method, path, strings.NewReader(body), fields...)
}

func (l *local) doWith(c *http.Client, method, path string, body io.Reader, fields ...string) (*http.Response, string) {
	l.t.Helper()
	req, err := http.NewRequest(method, l.url+strings.TrimPrefix(path, "/"), body)
	if err != nil {
		l.t.Fatal(err)
	}
	for _, f := range fields {
		name, value, _ := strings.Cut(f, ": ")
		req.Header.Add(name, value)
	}
	resp, err := c.Do(req)
	if err != nil {
		l.t.Fatalf("%s %s: %v", method, path, err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		l.t.Fatalf("%s %s: %v", method, path, err)
	}
	return resp, string(b)
}

// http2Client speaks HTTP/2 over TLS.
func http2Client(t *testing.T) *http.Client {
	tr := &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, ForceAttemptHTTP2: true}
	t.Cleanup(tr.CloseIdleConnections)
	return &http.Client{Transport: tr, Timeout: patience}
}

// raw opens a connection and writes text.
func (l *local) raw(text string) (net.Conn, *bufio.Reader) {
	l.t.Helper()
	conn, err := net.Dial("tcp", l.addr)
	if err != nil {
		l.t.Fatal(err)
	}
	l.t.Cleanup(func() { conn.Close() })
	if err := conn.SetDeadline(time.Now().Add(patience)); err != nil {
		l.t.Fatal(err)
	}
	if _, err := io.WriteString(conn, text); err != nil {
		l.t.Fatal(err)
	}
	return conn, bufio.NewReader(conn)
}

// status reads a response and returns its status, or 0 if the server closed the connection.
func status(r *bufio.Reader) int {
	resp, err := http.ReadResponse(r, nil)
	if err != nil {
		return 0
	}
	defer resp.Body.Close()
	_, _ = io.Copy(io.Discard, resp.Body)
	return resp.StatusCode
}

// eventually is await.Until for conditions that say what is missing: it waits until f
// returns "".
func eventually(t *testing.T, f func() string) {
	t.Helper()
	for deadline := time.Now().Add(patience); ; {
		why := f()
		if why == "" {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("gave up after %v: %s", patience, why)
		}
		time.Sleep(2 * time.Millisecond) // between two looks
	}
}

// idle waits until no upload runs.
func (l *local) idle() {
	l.t.Helper()
	u := l.cfg.upload.state
	eventually(l.t, func() string {
		u.mu.Lock()
		defer u.mu.Unlock()
		if len(u.parts) > 0 || len(u.slots) > 0 {
			return fmt.Sprintf("%d unfinished files, %d slots in use", len(u.parts), len(u.slots))
		}
		return ""
	})
}

// tree describes everything below dir: names, modes, targets of links and contents.
func tree(t *testing.T, dir string) string {
	t.Helper()
	var lines []string
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		line := strings.TrimPrefix(path, dir) + " " + d.Type().String()
		switch d.Type() {
		case 0:
			b, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			line += fmt.Sprintf(" %q", b)
		case fs.ModeSymlink:
			to, err := os.Readlink(path)
			if err != nil {
				return err
			}
			line += " -> " + to
		}
		lines = append(lines, line)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	sort.Strings(lines)
	return strings.Join(lines, "\n")
}

// symlink makes a link, or skips the test if the system can't.
func symlink(t *testing.T, to, path string) {
	t.Helper()
	if err := os.Symlink(to, path); err != nil {
		t.Skip("no symbolic links here:", err)
	}
}
