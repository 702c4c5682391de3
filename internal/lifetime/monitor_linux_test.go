package lifetime

import (
	"bufio"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/galehttp/gale/tests/harness/await"
)

func init() {
	children["read"] = func() { lateRead(1 << 20) }
	children["read panics"] = func() {
		b := lateBytes(1<<20, 100)
		debug.SetPanicOnFault(true)
		aReader(b)
	}
	children["read large"] = func() {
		b := lateBytes(1<<20, 200_000)
		go aReader(b[150_000:])
		never()
	}
	children["second guard"] = func() {
		monitored(2 << 20)
		lateRead(1 << 20)
	}
	children["other crash"] = func() {
		lateBytes(1<<20, 100)
		var null *int
		*null = 1
	}
	children["other panic"] = func() {
		lateBytes(1<<20, 100)
		panic("unrelated addr=0x123")
	}
	children["fault elsewhere"] = func() {
		lateBytes(1<<20, 100)
		b, err := reserve(1 << 20)
		check(err == nil, "%v", err)
		aReader(b)
	}
	children["clean"] = func() { lateBytes(1<<20, 100) }
	children["wait"] = func() {
		b := lateBytes(1<<20, 100)
		fmt.Println("ready")
		_, _ = bufio.NewReader(os.Stdin).ReadString('\n')
		aReader(b)
	}
	children["no program"] = func() {
		// Without /proc/self/exe and a file there is no monitor, but there are pages.
		check(syscall.Setrlimit(syscall.RLIMIT_NOFILE, &syscall.Rlimit{Cur: 4, Max: 4}) == nil, "setrlimit")
		g := New(Config{Pages: true, Monitor: true, MaxBytes: 1 << 20})
		check(g.HasPages(), "no pages: %v", g.PagesErr())
		check(g.MonitorErr() != nil, "a monitor without descriptors")
		check(New(Config{Pages: true, Monitor: true, MaxBytes: 1 << 20}).MonitorErr() != nil, "no error the second time")
		l := g.Begin(Origin{})
		l.Alloc(100)
		l.End()
	}
}

func monitored(size int64) *Guard {
	g := New(Config{Pages: true, Monitor: true, MaxBytes: size})
	check(g.HasPages() && g.MonitorErr() == nil, "%v %v", g.PagesErr(), g.MonitorErr())
	return g
}

// lateBytes returns bytes of a loan that has ended.
func lateBytes(size int64, n int) []byte {
	g := monitored(size)
	l := g.Begin(Origin{Kind: "handler", Handler: "main.h", Method: "GET", Path: "/users/1", Peer: "127.0.0.1:1234", ID: 7})
	l.Alloc(10)
	b := l.Alloc(n)[:n]
	l.End()
	runtime.KeepAlive(g)
	return b
}

func lateRead(size int64) {
	b := lateBytes(size, 100)
	go aReader(b)
	never()
}

//go:noinline
func aReader(b []byte) { sinkText = string(b[:20]) }

// never waits for the end of the process by another goroutine.
func never() {
	time.Sleep(time.Minute) // only ends a hang
	check(false, "nothing has ended the process")
}

const explained = ", lent by handler main.h for GET /users/1 (request 7, from 127.0.0.1:1234), which ended "

// TestMonitor proves that the end of a process by a late use is explained, after Go's own
// text, and that other ends aren't.
func TestMonitor(t *testing.T) {
	newPaged(t, Config{MaxBytes: 1 << 20})
	for _, tt := range []struct {
		child, goText string
		explained     bool
	}{
		{"read", "fatal error: fault", true},
		{"read panics", "panic: runtime error: invalid memory address", true},
		{"read large", "fatal error: fault", true},
		{"second guard", "fatal error: fault", true},
		{"other crash", "panic: runtime error: invalid memory address", false},
		{"other panic", "panic: unrelated", false},
		{"fault elsewhere", "fatal error: fault", false},
		{"clean", "", false},
	} {
		t.Run(tt.child, func(t *testing.T) {
			t.Parallel()
			out, err := runChild(t, tt.child)
			if (err == nil) != (tt.goText == "") || !strings.Contains(out, tt.goText) {
				t.Errorf("ended with %v:\n%s", err, out)
			}
			_, lines, found := strings.Cut(out, "\ngale: bytes used after the handler returned: address 0x")
			if found != tt.explained {
				t.Fatalf("explained: %v\n%s", found, out)
			}
			if found && (!strings.Contains(lines, explained) || !strings.Contains(lines, "\ngale: they were used by "+module+"/internal/lifetime.aReader (")) {
				t.Error(lines)
			}
			if strings.Contains(lines, "goroutine ") {
				t.Errorf("the explanation isn't last:\n%s", out)
			}
		})
	}
}

// TestMonitorSignals proves that the monitor outlives signals that a terminal sends to all,
// and that it ends when its parent is killed.
func TestMonitorSignals(t *testing.T) {
	newPaged(t, Config{MaxBytes: 1 << 20})
	for _, kill := range []bool{false, true} {
		t.Run(fmt.Sprint("kill ", kill), func(t *testing.T) {
			t.Parallel()
			cmd := child(t, "wait")
			var errs strings.Builder
			cmd.Stderr = &errs
			in, _ := cmd.StdinPipe()
			out, _ := cmd.StdoutPipe()
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			if line, err := bufio.NewReader(out).ReadString('\n'); err != nil {
				t.Fatal(line, err)
			}
			pid := monitorPid(cmd.Process.Pid)
			if pid == 0 {
				t.Fatal("no monitor")
			}
			if group, err := syscall.Getpgid(pid); err != nil || group != pid {
				t.Errorf("the monitor is in the group %d (%v)", group, err)
			}
			await.Until(t, "the monitor to ignore signals", func() bool {
				b, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
				return strings.Contains(string(b), "SigIgn:\t0000000000285007") || ignores(string(b))
			})
			for _, sig := range []syscall.Signal{syscall.SIGINT, syscall.SIGHUP, syscall.SIGQUIT, syscall.SIGTERM, syscall.SIGTSTP} {
				if err := syscall.Kill(pid, sig); err != nil {
					t.Error(err)
				}
			}
			if kill {
				_ = cmd.Process.Kill()
			} else {
				_, _ = in.Write([]byte("\n"))
			}
			_ = cmd.Wait() // the pipe of stderr ends with the monitor
			if found := strings.Contains(errs.String(), explained); found == kill {
				t.Errorf("explained: %v\n%s", found, errs.String())
			}
			await.Until(t, "the end of the monitor", func() bool { return syscall.Kill(pid, 0) != nil || isZombie(pid) })
		})
	}
}

// ignores reports whether a process, whose status this is, ignores the signals of
// terminals.
func ignores(status string) bool {
	for line := range strings.Lines(status) {
		if hex, ok := strings.CutPrefix(line, "SigIgn:\t"); ok {
			var mask uint64
			_, _ = fmt.Sscanf(hex, "%x", &mask)
			const want = 1<<(syscall.SIGHUP-1) | 1<<(syscall.SIGINT-1) | 1<<(syscall.SIGQUIT-1) | 1<<(syscall.SIGTERM-1) | 1<<(syscall.SIGTSTP-1)
			return mask&want == want
		}
	}
	return false
}

// isZombie reports whether a process has ended and wasn't waited for. An orphan is, where
// no process of number 1 waits.
func isZombie(pid int) bool {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return err != nil || strings.Contains(string(b), ") Z ")
}

// TestMonitorFiles proves that the monitor has no descriptor that its parent inherited,
// such as a listener.
func TestMonitorFiles(t *testing.T) {
	newPaged(t, Config{MaxBytes: 1 << 20})
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	f, err := l.(*net.TCPListener).File()
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	cmd := child(t, "wait")
	for range 4 {
		cmd.ExtraFiles = append(cmd.ExtraFiles, f)
	}
	in, _ := cmd.StdinPipe()
	out, _ := cmd.StdoutPipe()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _, _ = in.Close(), cmd.Wait() }()
	if line, err := bufio.NewReader(out).ReadString('\n'); err != nil {
		t.Fatal(line, err)
	}
	pid := monitorPid(cmd.Process.Pid)
	sockets := func(pid int) (n int) {
		all, _ := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", pid))
		for _, fd := range all {
			if to, _ := os.Readlink(fd); strings.HasPrefix(to, "socket:") {
				n++
			}
		}
		return n
	}
	if n := sockets(cmd.Process.Pid); n != 4 {
		t.Fatalf("the parent has %d sockets", n)
	}
	await.Until(t, "the monitor to close the sockets that it got", func() bool { return sockets(pid) == 0 })
}

// TestNoMonitor proves that pages work without a monitor, and that the guard tells why there
// is none.
func TestNoMonitor(t *testing.T) {
	newPaged(t, Config{MaxBytes: 1 << 20})
	if out, err := runChild(t, "no program"); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

// TestMonitorEnv proves that a program runs although it finds the monitor's variable in its
// environment, unless it is one.
func TestMonitorEnv(t *testing.T) {
	cmd := child(t, "clean")
	cmd.Env = append(cmd.Env, monitorEnv+"=4,5", "LIFETIME_TEST_CHILD=env")
	if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), "it runs") {
		t.Errorf("%v\n%s", err, out)
	}
}

func init() {
	children["env"] = func() {
		_, has := os.LookupEnv(monitorEnv)
		check(!has, "the variable remains")
		fmt.Println("it runs")
	}
}
