package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/galehttp/gale"
	"github.com/galehttp/gale/internal/measure/figures"
	"github.com/galehttp/gale/internal/race"
)

// verdictRuns returns how often a verdict is tested, and how long a run is. GALE_VERDICTS
// sets the number, for a machine on which nothing else runs.
func verdictRuns(t *testing.T) (n int, length string, quiet bool) {
	t.Helper()
	if runtime.GOOS != "linux" {
		t.Skip("waits for cores and other processes are known on Linux")
	}
	text := os.Getenv("GALE_VERDICTS")
	if text == "" {
		return 1, "300ms", false
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		t.Fatal(err)
	}
	return n, "1s", true
}

// TestVerdicts proves that a verdict tells a generator that sleeps from a slow server. The
// server is a process of its own. Other programs may use the machine at the same time, so
// each case lists the verdicts that are right under load too.
func TestVerdicts(t *testing.T) {
	runs, length, quiet := verdictRuns(t)
	const sleep = 50 * time.Microsecond
	const generator, shared, rate, noise = figures.LimitGenerator, figures.LimitShared, figures.LimitRate, figures.LimitNoise
	closed, open := []figures.Limit{generator}, []figures.Limit{generator}
	if !quiet { // others may be in the way more than 50 µs of sleep
		closed = append(closed, shared, noise)
		open = append(closed, figures.LimitNone, rate)
	}
	notGenerator := []figures.Limit{figures.LimitNone, figures.LimitServer, shared, rate, noise}
	for i, c := range []struct {
		server, flags string
		delay         time.Duration
		want          []figures.Limit
	}{
		{"fast", "-c 64", sleep, closed},
		{"fast", "-c 8", sleep, closed},
		{"fast", "--rate 5000", sleep, open},
		{"fast", "--rate 1000", sleep, open},
		{"fast", "--rate 20000", sleep, open},
		{"sleep 5ms", "-c 64", 0, notGenerator},
		{"sleep 5ms", "--rate 5000", 0, notGenerator},
		{"sleep 20ms", "-c 64", 0, notGenerator},
		{"sleep 20ms", "--rate 1000 -c 10", 0, notGenerator},
		{"burn 500us", "-c 64", 0, notGenerator},
		{"burn 500us", "--rate 1000", 0, notGenerator},
		{"burn 500us", "--rate 5000", 0, notGenerator},
	} {
		if race.Enabled && i%3 != 0 { // verdicts don't depend on it, and processes start slowly
			continue
		}
		t.Run(fmt.Sprintf("%s %s delay=%v", c.server, c.flags, c.delay), func(t *testing.T) {
			flags := append(strings.Fields(c.flags), "-t", "1", "-d", length)
			for range runs {
				doc := verdictRun(t, c.server, c.delay, flags...)
				if !slices.Contains(c.want, doc.Verdict.Limit) {
					t.Errorf("the verdict is %q, want one of %q: %s\n%+v\n%+v", doc.Verdict.Limit, c.want, doc.Verdict.Text, withoutHistograms(doc.Generator), doc.Server)
				}
			}
		})
	}
}

func withoutHistograms(g figures.Generator) figures.Generator {
	g.Wait.Histogram, g.Late.Histogram = "", ""
	return g
}

// TestVerdictOfNoise proves that a run beside busy programs is marked.
func TestVerdictOfNoise(t *testing.T) {
	runs, length, _ := verdictRuns(t)
	for range runtime.NumCPU() {
		startTestServer(t, "noise")
	}
	for range runs {
		doc := verdictRun(t, "fast", 0, "-c", "64", "-t", "1", "-d", length)
		marked := slices.ContainsFunc(doc.Verdict.Warnings, func(w string) bool { return strings.HasPrefix(w, "Other processes used") })
		if !marked || doc.Verdict.Limit != figures.LimitNoise && doc.Verdict.Limit != figures.LimitShared {
			t.Errorf("the verdict is %q, with warnings %q", doc.Verdict.Limit, doc.Verdict.Warnings)
		}
	}
}

// TestBenchStall proves that an open loop shows a server that stops for a fifth of the
// time, and that the closed loop, which hides it, says so.
func TestBenchStall(t *testing.T) {
	const pause = 150 * time.Millisecond
	server := "stop " + pause.String()
	open := verdictRun(t, server, 0, "--rate", "200", "-c", "100", "-d", "1500ms")
	if p99 := time.Duration(open.Latency.P99NS); p99 < pause*9/10 {
		t.Errorf("open loop: p99 is %v, and the server stops for %v", p99, pause)
	}
	for range 5 { // a machine that is busy makes the others slow too
		closed := verdictRun(t, server, 0, "-c", "2", "-d", "1500ms")
		p99, longest := time.Duration(closed.Latency.P99NS), time.Duration(closed.Latency.MaxNS)
		if longest < pause*9/10 {
			t.Errorf("closed loop: the longest response took %v, and the server stops for %v", longest, pause)
		}
		if p99 > pause/10 {
			continue
		}
		if !slices.ContainsFunc(closed.Verdict.Warnings, func(w string) bool { return strings.Contains(w, "far more than p99") && strings.Contains(w, "--rate") }) {
			t.Errorf("closed loop: p99 is %v, max %v, and the warnings are %q", p99, longest, closed.Verdict.Warnings)
		}
		return
	}
	t.Skip("this machine is too busy for a closed loop to hide a pause")
}

// TestBenchServerEnds shows that the end of the watched process during the run is said first, and
// that it isn't the server's speed, in both loops.
func TestBenchServerEnds(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("processes are watched on Linux")
	}
	for _, flags := range []string{"-c 2 --think 1ms", "-c 4 --rate 200"} {
		doc := verdictRun(t, "end", 0, append(strings.Fields(flags), "-t", "1", "-d", "2s")...)
		const want = "The server's process ended during the run. The server stopped answering after "
		if doc.Verdict.ExitCode() != 6 || !strings.HasPrefix(doc.Verdict.Text, want) || !doc.Server.Ended {
			t.Errorf("%s: the verdict is %q: %s\n%+v, outages %+v", flags, doc.Verdict.Limit, doc.Verdict.Text, doc.Requests, doc.Outages)
		}
	}
}

// verdictRun measures a test server with a generator that sleeps before each write.
func verdictRun(t *testing.T, server string, delay time.Duration, flags ...string) *figures.Run {
	t.Helper()
	pid, address := startTestServer(t, server)
	args := append([]string{"http://" + address, "--json", "-", "-q", "--pid", strconv.Itoa(pid)}, flags...)
	cfg, err := parseBenchFlags(args)
	if err != nil {
		t.Fatal(err)
	}
	b, err := newBench(cfg, args)
	if err != nil {
		t.Fatal(err)
	}
	b.plan.Delay = delay
	var out bytes.Buffer
	end := listenForEnd(nil)
	defer end.stop()
	var code exitCode // of the verdict
	if err := b.run(end, cfg.results(&out, io.Discard)); err != nil && !errors.As(err, &code) {
		t.Fatal(err)
	}
	doc := new(figures.Run)
	if err := json.Unmarshal(out.Bytes(), doc); err != nil {
		t.Fatal(err)
	}
	return doc
}

// testServerVariable makes the test program a server, see runTestServer.
const testServerVariable = "GALE_TEST_SERVER"

// startTestServer starts this program as a server on one core, until the test ends.
func startTestServer(t *testing.T, kind string) (pid int, address string) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), testServerVariable+"="+kind, "GOMAXPROCS=1")
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe() // its end is the server's
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = in.Close()
		_ = cmd.Wait()
	})
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	return cmd.Process.Pid, strings.TrimSpace(line)
}

// runTestServer serves until the standard input ends. The kind says what a request costs.
func runTestServer(kind string) {
	what, amount, _ := strings.Cut(kind, " ")
	cost, _ := time.ParseDuration(amount)
	var handle gale.RequestHandler
	switch what {
	case "sleep":
		handle = func(*gale.RequestCtx) { time.Sleep(cost) } // what a request costs
	case "burn":
		handle = func(*gale.RequestCtx) { burn(cost) }
	case "stop": // for cost of every 5 times cost
		begin := time.Now()
		var mu sync.Mutex
		handle = func(*gale.RequestCtx) {
			mu.Lock()
			defer mu.Unlock()
			if at := time.Since(begin) % (5 * cost); at >= 4*cost {
				time.Sleep(5*cost - at) // the server stops
			}
		}
	case "end": // after some requests, at once: the race detector delays os.Exit
		var n atomic.Int64
		self, err := os.FindProcess(os.Getpid())
		if err != nil {
			panic(err)
		}
		handle = func(*gale.RequestCtx) {
			if n.Add(1) == 20 {
				_ = self.Kill()
			}
		}
	case "noise":
		go burn(time.Hour)
	}
	if handle == nil {
		handle = func(*gale.RequestCtx) {}
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	fmt.Println(ln.Addr())
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		os.Exit(0)
	}()
	panic((&gale.Server{Handler: handle, Engine: gale.EngineBlock}).Serve(ln))
}

// burn uses a core.
func burn(d time.Duration) {
	for end := time.Now().Add(d); time.Now().Before(end); {
	}
}
