package process

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/galehttp/gale/internal/measure/figures"
)

// child is what the test's program does when it is started again: it uses CPU time on a
// thread that ends, starts a child that does the same, and waits.
func child(depth string) {
	var done sync.WaitGroup
	done.Add(1)
	go func() {
		runtime.LockOSThread() // the thread ends with the goroutine
		burn(50 * time.Millisecond)
		done.Done()
	}()
	done.Wait()
	if depth == "1" {
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), "PROCESS_TEST_CHILD=0")
		out, _ := cmd.StdoutPipe()
		in, _ := cmd.StdinPipe()
		if err := cmd.Start(); err != nil {
			panic(err)
		}
		_, _ = bufio.NewReader(out).ReadString('\n')
		defer cmd.Wait()
		defer in.Close()
	}
	fmt.Println("ready")
	_, _ = io.Copy(io.Discard, os.Stdin)
}

// burn uses d of CPU time, or more.
func burn(d time.Duration) {
	for began := ownCPU(); ownCPU()-began < d; {
		for range 1000 {
			runtime.KeepAlive(began)
		}
	}
}

func TestMain(m *testing.M) {
	if depth := os.Getenv("PROCESS_TEST_CHILD"); depth != "" {
		child(depth)
		return
	}
	os.Exit(m.Run())
}

// start starts a child and waits until it is ready. end ends it.
func start(t *testing.T, depth string, env ...string) (pid int, end func()) {
	t.Helper()
	cmd := exec.Command(os.Args[0], "an argument")
	cmd.Env = append(append(os.Environ(), "PROCESS_TEST_CHILD="+depth), env...)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	end = sync.OnceFunc(func() {
		in.Close()
		_ = cmd.Wait()
	})
	t.Cleanup(end)
	if line, err := bufio.NewReader(out).ReadString('\n'); line != "ready\n" {
		t.Fatal(line, err)
	}
	return cmd.Process.Pid, end
}

func TestUsage(t *testing.T) {
	pid, end := start(t, "1", "GOMAXPROCS=1")
	p, err := Open(pid)
	if err != nil {
		t.Fatal(err)
	}
	u := p.Usage()
	if u.Processes != 2 || u.Threads < 4 || u.Memory < 1_000_000 || u.Ended {
		t.Errorf("usage is %+v", u)
	}
	if u.CPU < 100*time.Millisecond {
		t.Errorf("the process and its child used 50 ms each in threads that ended, and CPU is %v", u.CPU)
	}
	if u.Delay < 0 {
		t.Log("the kernel doesn't tell how long threads waited")
	}
	if !strings.HasSuffix(p.Command(), " an argument") || p.PID() != pid {
		t.Errorf("command is %q", p.Command())
	}
	if list, allowed := p.Cores(); len(figures.ParseCores(list)) < 1 || allowed != 1 {
		t.Errorf("cores are %q, %v", list, allowed)
	}
	end()
	after := p.Usage()
	if !after.Ended || after.CPU < u.CPU {
		t.Errorf("after its end, usage is %+v", after)
	}
}

// The generator's figures don't contain those of a server that it has started.
func TestSelf(t *testing.T) {
	start(t, "1")
	p, err := openSelf()
	if err != nil {
		t.Fatal(err)
	}
	if u := p.Usage(); u.Processes != 1 {
		t.Errorf("usage is %+v, of %d processes", u, u.Processes)
	}
}

func TestOpenErrors(t *testing.T) {
	pid, end := start(t, "0")
	end()
	tests := []struct {
		pid  int
		want string
	}{
		{pid, "there is no process"},
		{-1, "is not the id of a process"},
		{0, "is not the id of a process"},
	}
	for _, tt := range tests {
		if _, err := Open(tt.pid); err == nil || !strings.Contains(err.Error(), tt.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("Open(%d) = %v, want %q", tt.pid, err, tt.want)
		}
	}
}

func TestMeter(t *testing.T) {
	pid, end := start(t, "0")
	m, err := NewMeter(Options{PID: pid})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	m.Begin()
	burn(30 * time.Millisecond)
	var in figures.Interval
	m.Tick(&in)
	if in.GeneratorCPU <= 0 || in.ServerCPU < 0 || in.ServerMemory == 0 {
		t.Errorf("interval is %+v", in)
	}
	end()
	m.End()
	run := &figures.Run{Seconds: 1, Requests: figures.Requests{Good: 10}}
	m.Fill(run)
	g, s := run.Generator, run.Server
	if g.CPUSeconds < 0.03 || g.CPUPerRequest < 3e6 {
		t.Errorf("generator is %+v", g)
	}
	if s.PID != pid || s.MemoryByte == 0 || s.MemoryBefore == 0 || s.Threads == 0 || s.Processes != 1 || s.Cores == "" || s.Allowed <= 0 || !s.Ended {
		t.Errorf("server is %+v", s)
	}
	if mc := run.Machine; mc.CPUs < 1 || mc.Allowed < 1 || mc.Kernel == "" || mc.MemoryByte == 0 || mc.Cores == "" {
		t.Errorf("machine is %+v", mc)
	}
}

func TestQuotient(t *testing.T) {
	tests := []struct {
		in   string
		want float64
	}{{"max 100000", 0}, {"-1 100000", 0}, {"150000 100000", 1.5}, {"50000 100000", 0.5}, {"", 0}, {"1", 0}, {"1 0", 0}, {"x y", 0}}
	for _, tt := range tests {
		if got := quotient(strings.Fields(tt.in)); got != tt.want {
			t.Errorf("quotient(%q) = %v, want %v", tt.in, got, tt.want)
		}
	}
}

func TestQuotaIn(t *testing.T) {
	folder := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		if err := os.MkdirAll(folder+name[:strings.LastIndexByte(name, '/')], 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(folder+name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write("/a/b/c/cpu.max", "max 100000\n")
	write("/a/b/cpu.max", "300000 100000\n")
	write("/a/cpu.max", "200000 100000\n")
	write("/old/x/cpu.cfs_quota_us", "50000\n")
	write("/old/x/cpu.cfs_period_us", "100000\n")
	if got := quotaIn(folder, "/a/b/c", true); got != 2 {
		t.Errorf("the smallest of the parents is 2, got %v", got)
	}
	if got := quotaIn(folder, "/old/x", false); got != 0.5 {
		t.Errorf("got %v, want 0.5", got)
	}
	if got := quotaIn(folder, "/none", true); got != 0 {
		t.Errorf("got %v, want no limit", got)
	}
}

func TestGroupFolder(t *testing.T) {
	mounts := `31 23 0:28 / /sys/fs/cgroup rw - tmpfs tmpfs rw,mode=755
32 31 0:29 /docker/x /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct
33 31 0:30 / /sys/fs/cgroup/cpuset rw - cgroup cgroup rw,cpuset
41 31 0:38 / /sys/fs/cgroup/unified rw shared:9 - cgroup2 cgroup2 rw
broken
`
	if f, root := groupFolder(mounts, false); f != "/sys/fs/cgroup/cpu,cpuacct" || root != "/docker/x" {
		t.Error(f, root)
	}
	if f, root := groupFolder(mounts, true); f != "/sys/fs/cgroup/unified" || root != "/" {
		t.Error(f, root)
	}
}

func BenchmarkMeterTick(b *testing.B) {
	m, err := NewMeter(Options{PID: os.Getppid()})
	if err != nil {
		b.Fatal(err)
	}
	defer m.Close()
	m.Begin()
	var in figures.Interval
	for b.Loop() {
		m.Tick(&in)
	}
	b.ReportMetric(float64(m.threads), "threads")
}
