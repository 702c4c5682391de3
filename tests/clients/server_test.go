package clients

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/galehttp/gale/internal/race"
	"github.com/galehttp/gale/tests/harness/await"
)

// patience limits waits that end at once unless something is broken.
const patience = 60 * time.Second

// binDir is where programs are built.
var binDir string

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "gale-clients-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	binDir = dir
	code := m.Run()
	_ = os.RemoveAll(dir)
	os.Exit(code)
}

// The two programs, built when a test first needs them.
var (
	buildGale     = sync.OnceValues(func() (string, error) { return build("gale", "../../cmd/gale") })
	buildContract = sync.OnceValues(func() (string, error) { return build("contract", "../contract") })
)

func build(name, pkg string) (string, error) {
	path := filepath.Join(binDir, name+".exe") // the suffix does no harm on other systems
	args := []string{"build", "-o", path}
	if race.Enabled {
		args = append(args, "-race")
	}
	out, err := exec.Command("go", append(args, pkg)...).CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("go build %s: %w\n%s", pkg, err, out)
	}
	return path, nil
}

// find returns the path of the first of the programs that is installed, and
// skips the test if none is.
func find(t *testing.T, names ...string) string {
	t.Helper()
	for _, name := range names {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	t.Skipf("not installed: %s", strings.Join(names, ", "))
	return ""
}

// run runs a program and returns its standard output. The program must end without an
// error.
func run(t *testing.T, name string, args ...string) string {
	t.Helper()
	var stderr bytes.Buffer
	cmd := exec.CommandContext(t.Context(), name, args...)
	cmd.Stderr = &stderr
	cmd.WaitDelay = time.Second
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s %q: %v\n%s%s", filepath.Base(name), args, err, out, stderr.String())
	}
	return string(out)
}

// server is a running server.
type server struct {
	t      *testing.T
	cmd    *exec.Cmd
	addr   string // host:port
	url    string // without a slash at the end
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

// serveFiles starts "gale serve" for dir on a free port that the kernel chooses, with a
// JSON access log.
func serveFiles(t *testing.T, dir string, args ...string) *server {
	t.Helper()
	path, err := buildGale()
	if err != nil {
		t.Fatal(err)
	}
	s := &server{t: t, cmd: exec.Command(path, append([]string{"serve", "-addr", "127.0.0.1:0", "-log", "json", dir}, args...)...)}
	stdout, err := s.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	s.start(interrupt)
	for lines := bufio.NewScanner(stdout); s.url == "" && lines.Scan(); {
		if line := strings.TrimSpace(lines.Text()); strings.HasPrefix(line, "http") {
			s.url = strings.TrimSuffix(line, "/")
		}
	}
	go func() { _, _ = io.Copy(io.Discard, stdout) }()
	if s.url == "" {
		t.Fatalf("no address in the banner; the standard error says %q", s.stderr.String())
	}
	s.addr = s.url[strings.LastIndexByte(s.url, '/')+1:]
	return s
}

// serveContract starts the contract server; dir/static is served under /static/.
func serveContract(t *testing.T, dir string, args ...string) *server {
	t.Helper()
	path, err := buildContract()
	if err != nil {
		t.Fatal(err)
	}
	addr := freeAddr(t)
	s := &server{t: t, addr: addr, url: "http://" + addr}
	s.cmd = exec.Command(path, append([]string{"-addr", addr, "-dir", dir}, args...)...)
	s.cmd.Env = append(os.Environ(), "CONTRACT_TIMEOUT=30s") // so that a busy machine doesn't fail the test
	s.start((*os.Process).Kill)                              // it can't be ended in another way
	waitListening(t, addr, s.exited)
	return s
}

// start starts the process. At the end of the test it calls end, and checks that the
// process has reported neither a panic nor a race.
func (s *server) start(end func(*os.Process) error) {
	s.t.Helper()
	s.cmd.Stderr = &s.stderr
	if err := s.cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
	s.exited = make(chan error, 1)
	go func() {
		s.exited <- s.cmd.Wait()
		close(s.exited)
	}()
	s.t.Cleanup(func() {
		if end(s.cmd.Process) != nil {
			_ = s.cmd.Process.Kill() // no such signal on Windows; or it has ended
		}
		select {
		case <-s.exited:
		case <-time.After(patience):
			s.t.Error("the server doesn't end when asked to")
			_ = s.cmd.Process.Kill()
			<-s.exited
		}
		log := s.stderr.String()
		for _, bad := range []string{"DATA RACE", "panic", "fatal error"} {
			if strings.Contains(log, bad) {
				s.t.Errorf("the server reports a %s: %s", bad, log[strings.Index(log, bad):])
			}
		}
	})
}

// interrupt sends the signal of Ctrl-C.
func interrupt(p *os.Process) error { return p.Signal(os.Interrupt) }

// wait waits until the server has ended and returns its exit code.
func (s *server) wait() int {
	s.t.Helper()
	select {
	case err := <-s.exited:
		var exit *exec.ExitError
		if err != nil && !errors.As(err, &exit) {
			s.t.Fatal(err)
		}
		return s.cmd.ProcessState.ExitCode()
	case <-time.After(patience):
		s.t.Fatal("the server doesn't end")
	}
	return -1
}

// logLine is a line of the access log.
type logLine struct {
	Msg, Remote, Method, Target string
	Status, Size                int
}

// requests returns the access log so far.
func (s *server) requests() []logLine {
	s.t.Helper()
	var list []logLine
	for line := range strings.Lines(s.stderr.String()) {
		var l logLine
		if !strings.HasSuffix(line, "\n") {
			break // the last line is still being written
		}
		if err := json.Unmarshal([]byte(line), &l); err != nil {
			s.t.Errorf("not a line of the access log: %q", line)
			continue
		}
		if l.Msg == "request" {
			list = append(list, l)
		}
	}
	return list
}

// wantAnswers waits until the access log has n requests for target with that status. A line
// is written when the response was sent, which may be after the client has it.
func (s *server) wantAnswers(target string, status, n int) {
	s.t.Helper()
	for deadline := time.Now().Add(patience); ; {
		log := s.requests()
		got := 0
		for _, l := range log {
			if l.Target == target && l.Status == status {
				got++
			}
		}
		if got == n {
			return
		}
		if got > n || time.Now().After(deadline) {
			s.t.Errorf("%d answers %d for %s, want %d: %+v", got, status, target, n, log)
			return
		}
		time.Sleep(5 * time.Millisecond) // between two looks
	}
}

// settled waits until a file gets its date: a file that has just been written has none for
// two seconds.
func (s *server) settled(name string) {
	s.t.Helper()
	await.Until(s.t, "a date of "+name, func() bool {
		resp, err := http.Head(s.url + "/" + name)
		if err != nil {
			s.t.Fatal("asking for the date:", err)
		}
		resp.Body.Close()
		return resp.Header.Get("Last-Modified") != ""
	})
}

// freeAddr returns a loopback address on which nothing listens, and that it hasn't returned before.
func freeAddr(t *testing.T) string {
	t.Helper()
	for {
		// Below what Linux gives to connections: none may take it before its server listens, or
		// while that one restarts.
		addr := fmt.Sprint("127.0.0.1:", 12000+rand.IntN(20000))
		ln, err := net.Listen("tcp", addr)
		if errors.Is(err, syscall.EADDRINUSE) {
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		defer ln.Close()
		if _, given := givenAddrs.LoadOrStore(addr, true); !given {
			return addr
		}
	}
}

// givenAddrs has the addresses of freeAddr.
var givenAddrs sync.Map

// waitListening waits until something listens on addr. It stops if exited returns an
// error.
func waitListening(t *testing.T, addr string, exited <-chan error) {
	t.Helper()
	for deadline := time.Now().Add(patience); ; {
		conn, err := net.Dial("tcp", addr)
		if err == nil {
			_ = conn.Close()
			return
		}
		select {
		case <-exited:
			t.Fatalf("the server for %s has ended", addr)
		case <-time.After(20 * time.Millisecond):
		}
		if time.Now().After(deadline) {
			t.Fatal(err)
		}
	}
}

// The files of site.
const (
	textName  = "text.txt" // compressible
	randName  = "rand.bin" // not compressible
	helloName = "hello.txt"
	helloText = "Hello, files!\n"
)

// site makes a folder with files, the page of testdata among them, and returns
// it with the contents of textName and randName. The files are old enough for
// strong entity tags.
func site(t *testing.T) (dir string, text, random []byte) {
	t.Helper()
	dir = t.TempDir()
	if err := os.CopyFS(dir, os.DirFS("testdata/page")); err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	for i := range 30_000 {
		fmt.Fprintf(&b, "line %d of a text\n", i)
	}
	text = b.Bytes()
	random = make([]byte, 3<<20)
	_, _ = rand.NewChaCha8([32]byte{}).Read(random)
	files := map[string][]byte{
		textName: text, randName: random, helloName: []byte(helloText), "empty.txt": nil, ".hidden": []byte("hidden"),
		"sub/a b.txt": []byte("a b"), "sub/ü.txt": []byte("ü"),
	}
	for i := range 6 {
		files[fmt.Sprintf("img/%d.png", i)] = picture(t, i)
	}
	for name, content := range files {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, content, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	old := time.Now().Add(-time.Hour)
	err := filepath.WalkDir(dir, func(path string, _ os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		return os.Chtimes(path, old, old)
	})
	if err != nil {
		t.Fatal(err)
	}
	return dir, text, random
}

// picture returns a PNG of 64x64.
func picture(t *testing.T, seed int) []byte {
	t.Helper()
	img := image.NewRGBA(image.Rect(0, 0, 64, 64))
	for x := range 64 {
		for y := range 64 {
			img.Set(x, y, color.RGBA{uint8(4 * x), uint8(4 * y), uint8(40 * seed), 255})
		}
	}
	var b bytes.Buffer
	if err := png.Encode(&b, img); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}
