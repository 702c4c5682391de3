package prefork_test

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/galehttp/gale"
	"github.com/galehttp/gale/prefork"
)

const (
	// roleVar is the environment variable that makes this test binary a program
	// that preforks; its value says how, in words separated by spaces.
	roleVar = "GALE_PREFORK_TEST"

	// wait is how long anything may take before a test gives up.
	wait = time.Minute
)

func TestMain(m *testing.M) {
	if role := os.Getenv(roleVar); role != "" {
		time.AfterFunc(2*wait, func() { os.Exit(9) }) // whatever happens, nothing stays
		program(strings.Fields(role))
		return
	}
	os.Exit(m.Run())
}

// program is what the master and the children of the tests run. It prints a line
// for each event.
func program(role []string) {
	if role[0] == "probe" {
		fmt.Println(prefork.IsChild(), os.Getenv("GALE_PREFORK_MASTER"))
		return
	}
	s := &gale.Server{}
	s.Handler = func(ctx *gale.RequestCtx) { handle(s, ctx) }
	p := prefork.New(s)
	p.ServeFunc = func(ln net.Listener) error {
		fmt.Println("listening", ln.Addr(), os.Getpid())
		return s.Serve(ln)
	}
	p.ServeTLSFunc = func(ln net.Listener, certFile, keyFile string) error {
		fmt.Println("listening", ln.Addr(), os.Getpid())
		return s.ServeTLS(ln, certFile, keyFile)
	}
	p.OnChildSpawn = func(pid int) error { fmt.Println("spawned", pid); return nil }
	p.OnMasterReady = func(pids []int) error { fmt.Println("ready", len(pids)); return nil }
	p.OnChildRecover = func(old, pid int) { fmt.Println("recovered", old, pid) }
	serve := p.ListenAndServe
	addr := "127.0.0.1:0"
	for _, word := range role {
		name, value, _ := strings.Cut(word, "=")
		switch name {
		case "addr":
			addr = value
		case "reuseport":
			p.Reuseport = true
		case "threshold":
			_, _ = fmt.Sscan(value, &p.RecoverThreshold)
		case "drain":
			s.DrainTime, _ = time.ParseDuration(value)
		case "interval":
			p.RecoverInterval, _ = time.ParseDuration(value)
		case "grace":
			p.ShutdownGracePeriod, _ = time.ParseDuration(value)
		case "death":
			p.OnMasterDeath = func() { fmt.Println("orphan", os.Getpid()); os.Exit(0) }
		case "stubborn":
			if prefork.IsChild() {
				signal.Ignore(syscall.SIGTERM)
			}
		case "zero":
			q := &prefork.Prefork{ServeFunc: p.ServeFunc, OnMasterReady: p.OnMasterReady}
			serve = q.ListenAndServe
		case "unset":
			p.ServeFunc = nil
		case "tls":
			serve = func(addr string) error {
				return p.ListenAndServeTLS(addr, filepath.Join(value, "key.pem"), filepath.Join(value, "cert.pem"))
			}
		}
	}
	err := serve(addr)
	fmt.Printf("ended child=%v %v\n", prefork.IsChild(), err)
	if err != nil {
		os.Exit(1)
	}
}

func handle(s *gale.Server, ctx *gale.RequestCtx) {
	switch string(ctx.Path()) {
	case "/program":
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), roleVar+"=probe")
		out, err := cmd.Output()
		fmt.Fprintf(ctx, "%v %s%v", prefork.IsChild(), out, err)
		return
	case "/draining":
		fmt.Fprint(ctx, s.Draining())
		return
	case "/crash":
		os.Exit(3)
	case "/slow":
		fmt.Println("slow")
		time.Sleep(300 * time.Millisecond) // a request that is served when the children are told to end
	}
	fmt.Fprintf(ctx, "%d %d", os.Getpid(), runtime.GOMAXPROCS(0))
}

// tree is a master and its children. They share one pipe for what they print,
// which ends when the last of them has.
type tree struct {
	t      *testing.T
	master *exec.Cmd
	lines  chan string
	kept   []string // lines that weren't expected yet
	addr   string
}

func start(t *testing.T, role ...string) *tree {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("no signals there")
	}
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "GOMAXPROCS=2", roleVar+"=with "+strings.Join(role, " "))
	cmd.Stdout = w
	if testing.Verbose() {
		cmd.Stderr = os.Stderr
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	w.Close()
	tr := &tree{t: t, master: cmd, lines: make(chan string, 1000)}
	go func() {
		for s := bufio.NewScanner(r); s.Scan(); {
			tr.lines <- s.Text()
		}
		close(tr.lines)
		r.Close()
	}()
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		tr.end()
		_ = cmd.Wait()
	})
	return tr
}

// expect returns the rest of the next line that begins with prefix. Lines of
// several processes come in any order: others are kept for later.
func (tr *tree) expect(prefix string) string {
	tr.t.Helper()
	for i, line := range tr.kept {
		if rest, found := strings.CutPrefix(line, prefix); found {
			tr.kept = slices.Delete(tr.kept, i, i+1)
			return strings.TrimSpace(rest)
		}
	}
	over := time.After(wait)
	for {
		select {
		case line, ok := <-tr.lines:
			if !ok {
				tr.t.Fatalf("all processes ended before %q", prefix)
			}
			if a, found := strings.CutPrefix(line, "listening "); found {
				tr.addr, _, _ = strings.Cut(a, " ")
			}
			if rest, found := strings.CutPrefix(line, prefix); found {
				return strings.TrimSpace(rest)
			}
			tr.kept = append(tr.kept, line)
		case <-over:
			tr.t.Fatalf("no %q came, but %q", prefix, tr.kept)
		}
	}
}

// end waits until all processes have ended and returns the lines that they
// printed since the last call of expect.
func (tr *tree) end() (lines []string) {
	tr.t.Helper()
	over := time.After(wait)
	for {
		select {
		case line, ok := <-tr.lines:
			if !ok {
				return lines
			}
			lines = append(lines, line)
		case <-over:
			tr.t.Fatalf("processes are left; they said %q", lines)
		}
	}
}

func (tr *tree) signal(s os.Signal) {
	tr.t.Helper()
	if err := tr.master.Process.Signal(s); err != nil {
		tr.t.Fatal(err)
	}
}

// get sends a request on a connection of its own and returns the body of the
// answer.
func (tr *tree) get(path string) (string, error) {
	c, err := net.Dial("tcp", tr.addr)
	if err != nil {
		return "", err
	}
	defer c.Close()
	_ = c.SetDeadline(time.Now().Add(wait))
	if _, err := io.WriteString(c, "GET "+path+" HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"); err != nil {
		return "", err
	}
	b, err := io.ReadAll(c)
	if err != nil {
		return "", err
	}
	head, body, _ := strings.Cut(string(b), "\r\n\r\n")
	if !strings.HasPrefix(head, "HTTP/1.1 200 ") {
		return "", fmt.Errorf("got %q", b)
	}
	return body, nil
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

// The life of a preforked server: children serve with one processor each, one
// that crashes is replaced, and SIGTERM ends all once a request under way has got
// its answer.
func TestLife(t *testing.T) {
	for _, tt := range []struct {
		name string
		role []string
	}{
		{"handed down", nil},
		{"reuseport", []string{"reuseport", "addr=" + freeAddr(t)}},
		{"reuseport, port 0", []string{"reuseport"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tr := start(t, tt.role...)
			if got := tr.expect("ready"); got != "2" {
				t.Errorf("%s children, want 2", got)
			}
			addrs := make(map[string]bool) // all the same, also after a crash
			listening := func() {
				t.Helper()
				if addrs[strings.Fields(tr.expect("listening"))[0]] = true; len(addrs) > 1 {
					t.Fatalf("children listen on %v", addrs)
				}
			}
			listening()
			listening()
			for range 10 {
				body, err := tr.get("/")
				var pid, procs int
				if _, serr := fmt.Sscan(body, &pid, &procs); err != nil || serr != nil || procs != 1 || pid == tr.master.Process.Pid {
					t.Fatalf("got %q, %v, want a child with one processor", body, err)
				}
			}

			if body, err := tr.get("/crash"); err == nil {
				t.Errorf("a crash answered %q", body)
			}
			tr.expect("recovered")
			listening()
			if _, err := tr.get("/"); err != nil {
				t.Errorf("after a crash: %v", err)
			}

			answer := make(chan error, 1)
			go func() {
				_, err := tr.get("/slow")
				answer <- err
			}()
			tr.expect("slow")
			tr.signal(syscall.SIGTERM)
			if err := <-answer; err != nil {
				t.Errorf("the request under way: %v", err)
			}
			var ended []string
			for _, line := range tr.end() {
				if rest, ok := strings.CutPrefix(line, "ended "); ok {
					ended = append(ended, rest)
				}
			}
			if n := len(ended); n != 3 || ended[n-1] != "child=false <nil>" || ended[0] != "child=true <nil>" {
				t.Errorf("they ended as %q", ended)
			}
		})
	}
}

// With a DrainTime, children go on to accept after SIGTERM. A second signal ends them.
func TestDrain(t *testing.T) {
	for _, tt := range []struct {
		name string
		role []string
	}{
		{"handed down", []string{"drain=1m"}},
		{"reuseport", []string{"drain=1m", "reuseport"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tr := start(t, tt.role...)
			tr.expect("ready")
			tr.expect("listening")
			tr.expect("listening")
			if body, err := tr.get("/draining"); err != nil || body != "false" {
				t.Errorf("before the signal: %q, %v", body, err)
			}
			tr.serving(2) // a child that doesn't serve yet has nothing to drain
			tr.signal(syscall.SIGTERM)
			drains := 0
			for end := time.Now().Add(wait); drains < 10 && time.Now().Before(end); {
				body, err := tr.get("/draining")
				if err != nil {
					t.Fatalf("while it drains: %v", err)
				}
				if body == "true" {
					drains++
				}
			}
			if drains < 10 {
				t.Error("it doesn't drain")
			}
			tr.signal(syscall.SIGTERM)
			tr.end()
		})
	}
}

// serving returns when so many children have answered.
func (tr *tree) serving(n int) {
	tr.t.Helper()
	pids := make(map[string]bool)
	for end := time.Now().Add(wait); len(pids) < n; {
		body, err := tr.get("/")
		if err != nil || time.Now().After(end) {
			tr.t.Fatalf("%d of %d children answer, %v", len(pids), n, err)
		}
		pid, _, _ := strings.Cut(body, " ")
		pids[pid] = true
	}
}

func TestTLS(t *testing.T) {
	dir := t.TempDir()
	cert, key, err := gale.GenerateTestCertificate("127.0.0.1")
	if err != nil {
		t.Fatal(err)
	}
	for name, data := range map[string][]byte{"cert.pem": cert, "key.pem": key} {
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	tr := start(t, "tls="+dir)
	tr.expect("listening")
	c, err := (&tlsClient{cert: cert}).dial(tr.addr)
	if err != nil {
		t.Fatal(err)
	}
	c.Close()
	end := os.Interrupt
	if signal.Ignored(end) { // as in the background of a shell; that is left to who started us
		end = syscall.SIGTERM
	}
	tr.signal(end)
	if got := tr.expect("ended child=false"); got != "<nil>" {
		t.Errorf("it ended with %s", got)
	}
}

// A Prefork without New has no server to shut down: its children end by the
// signal, and no child may end before.
func TestZeroPrefork(t *testing.T) {
	tr := start(t, "zero")
	tr.expect("ready")
	tr.expect("listening")
	tr.expect("listening")
	if _, err := tr.get("/"); err != nil {
		t.Error(err)
	}
	_, _ = tr.get("/crash")
	if got := tr.expect("ended child=false"); got != prefork.ErrOverRecovery.Error() {
		t.Errorf("it ended with %s", got)
	}
	if lines := tr.end(); len(lines) > 0 {
		t.Errorf("then: %q", lines)
	}
}

// Beyond the threshold the master gives up and leaves no child.
func TestRecoverThreshold(t *testing.T) {
	tr := start(t, "threshold=3")
	tr.expect("ready")
	for range 3 {
		tr.expect("listening")
		_, _ = tr.get("/crash")
		tr.expect("recovered")
	}
	tr.expect("listening")
	_, _ = tr.get("/crash")
	if got := tr.expect("ended child=false"); got != prefork.ErrOverRecovery.Error() {
		t.Errorf("it ended with %s", got)
	}
	for _, line := range tr.end() {
		t.Errorf("then: %q", line)
	}
}

// A child without the function that serves says so.
func TestUnset(t *testing.T) {
	tr := start(t, "unset", "threshold=0")
	if got := tr.expect("ended child=true"); !strings.Contains(got, "ServeFunc is nil") {
		t.Errorf("it ended with %s", got)
	}
}

// Children whose master was killed learn of it.
func TestMasterDeath(t *testing.T) {
	tr := start(t, "death")
	tr.expect("ready")
	tr.expect("listening")
	tr.expect("listening")
	tr.signal(os.Kill)
	_ = tr.master.Wait()
	tr.expect("orphan")
	tr.expect("orphan")
	if lines := tr.end(); len(lines) > 0 {
		t.Errorf("then: %q", lines)
	}
}

// Children that don't end are killed: after the grace period, or when a second
// signal comes.
func TestStubbornChildren(t *testing.T) {
	for _, tt := range []struct {
		grace   string
		signals int
	}{{"100ms", 1}, {"1h", 2}} {
		tr := start(t, "stubborn", "grace="+tt.grace)
		tr.expect("listening")
		tr.expect("listening")
		for range tt.signals {
			tr.signal(syscall.SIGTERM)
			time.Sleep(50 * time.Millisecond) // or the two become one
		}
		if got := tr.expect("ended child=false"); got != "<nil>" {
			t.Errorf("grace %s: it ended with %s", tt.grace, got)
		}
		tr.end()
	}
}

// A signal doesn't wait for the interval after which a child is replaced.
func TestIntervalIsInterrupted(t *testing.T) {
	tr := start(t, "interval=1h")
	tr.expect("listening")
	tr.expect("listening")
	_, _ = tr.get("/crash")
	if _, err := tr.get("/"); err != nil { // the other one serves meanwhile
		t.Error(err)
	}
	tr.signal(syscall.SIGTERM)
	if got := tr.expect("ended child=false"); got != "<nil>" {
		t.Errorf("it ended with %s", got)
	}
}

// lasting returns a CommandProducer whose children do nothing until they are
// killed, and a function that tells whether they all have ended.
func lasting(t *testing.T) (func([]*os.File) (*exec.Cmd, error), func() bool) {
	var all []*exec.Cmd
	producer := func([]*os.File) (*exec.Cmd, error) {
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), roleVar+"=with addr="+freeAddr(t)+" reuseport", "FASTHTTP_PREFORK_CHILD=1")
		all = append(all, cmd)
		return cmd, cmd.Start()
	}
	return producer, func() bool {
		for _, cmd := range all {
			if cmd.ProcessState == nil {
				return false
			}
		}
		return true
	}
}

var errHook = errors.New("no")

// Whatever goes wrong in the master, its error is returned and no child is left.
func TestMasterErrors(t *testing.T) {
	taken, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	command := func(cmd *exec.Cmd, err error) func([]*os.File) (*exec.Cmd, error) {
		return func([]*os.File) (*exec.Cmd, error) { return cmd, err }
	}
	for _, tt := range []struct {
		name string
		p    prefork.Prefork
		addr string
		want error  // wrapped, or
		text string // contained
	}{
		{name: "no command", p: prefork.Prefork{CommandProducer: command(nil, nil)}, want: prefork.ErrCommandProducerNilCmd},
		{name: "not started", p: prefork.Prefork{CommandProducer: command(exec.Command("a"), nil)}, want: prefork.ErrCommandProducerNotStarted},
		{name: "producer", p: prefork.Prefork{CommandProducer: command(nil, errHook)}, want: errHook},
		{name: "spawn hook", p: prefork.Prefork{OnChildSpawn: func(int) error { return errHook }}, want: errHook},
		{name: "ready hook", p: prefork.Prefork{OnMasterReady: func([]int) error { return errHook }}, want: errHook},
		{name: "address", addr: "1.2.3", text: "prefork: resolve tcp/1.2.3: "},
		{name: "address in use", addr: taken.Addr().String(), text: "address already in use"},
		{name: "network", p: prefork.Prefork{Network: "udp"}, text: "prefork: resolve udp/"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if runtime.GOOS == "windows" && !tt.p.Reuseport {
				tt.want, tt.text = prefork.ErrOnlyReuseportOnWindows, ""
			}
			p := &tt.p
			p.Logger = discard{}
			ended := func() bool { return true }
			if p.CommandProducer == nil {
				p.CommandProducer, ended = lasting(t)
			}
			if tt.addr == "" {
				tt.addr = "127.0.0.1:0"
			}
			err := p.ListenAndServe(tt.addr)
			switch {
			case tt.want != nil && !errors.Is(err, tt.want):
				t.Errorf("got %v, want %v", err, tt.want)
			case tt.want == nil && (err == nil || !strings.Contains(err.Error(), tt.text)):
				t.Errorf("got %v, want %q", err, tt.text)
			}
			if !ended() {
				t.Error("children are left")
			}
		})
	}
}

// What children get from the master: the listener as a file, or nothing, or, for port 0
// that all must share, a socket that has the port and doesn't listen.
func TestCommandProducerFiles(t *testing.T) {
	for _, tt := range []struct {
		reuse, zero bool
		want        int
	}{{false, false, 1}, {false, true, 1}, {true, false, 0}, {true, true, 1}} {
		if runtime.GOOS == "windows" && (!tt.reuse || tt.zero) {
			continue
		}
		got := -1
		p := &prefork.Prefork{Reuseport: tt.reuse, Logger: discard{}, CommandProducer: func(files []*os.File) (*exec.Cmd, error) {
			got = len(files)
			if got == 1 {
				ln, err := net.FileListener(files[0])
				if err != nil {
					t.Error(err)
					return nil, errHook
				}
				defer ln.Close()
				if ln.Addr().(*net.TCPAddr).Port == 0 {
					t.Errorf("%+v: the socket has no port", tt)
				}
				c, err := net.DialTimeout("tcp", ln.Addr().String(), wait)
				if err == nil {
					c.Close()
				}
				if listens := err == nil; listens != !tt.reuse {
					t.Errorf("%+v: dialing returns %v", tt, err)
				}
			}
			return nil, errHook
		}}
		addr := "127.0.0.1:0"
		if !tt.zero {
			addr = freeAddr(t)
		}
		if err := p.ListenAndServe(addr); !errors.Is(err, errHook) {
			t.Errorf("%+v: %v", tt, err)
		}
		if got != tt.want {
			t.Errorf("%+v: %d files, want %d", tt, got, tt.want)
		}
	}
}

// A program that a child starts isn't a child, and knows no master. The child stays one.
func TestProgramOfChild(t *testing.T) {
	tr := start(t)
	tr.expect("listening")
	if got, err := tr.get("/program"); err != nil || got != "true false \n<nil>" {
		t.Errorf("got %q, %v", got, err)
	}
	tr.signal(syscall.SIGTERM)
	tr.end()
}

func TestIsChild(t *testing.T) {
	for _, tt := range []struct {
		value string
		want  bool
	}{{"", false}, {"0", false}, {"1", true}, {"true", false}} {
		t.Setenv("FASTHTTP_PREFORK_CHILD", tt.value)
		if got := prefork.IsChild(); got != tt.want {
			t.Errorf("%q: %v", tt.value, got)
		}
	}
}

func TestNew(t *testing.T) {
	s := &gale.Server{Logger: discard{}}
	p := prefork.New(s)
	if p.Network != "tcp" || p.RecoverThreshold != max(1, runtime.GOMAXPROCS(0)/2) || p.Logger != s.Logger {
		t.Errorf("got %+v", p)
	}
	if p.ServeFunc == nil || p.ServeTLSFunc == nil || p.ServeTLSEmbedFunc == nil {
		t.Error("a Serve function is missing")
	}
}

// discard is a Logger that says nothing.
type discard struct{}

func (discard) Printf(string, ...any) {}
