package rpc

import (
	"bufio"
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/galehttp/gale"
	"github.com/galehttp/gale/tests/harness/gate"
)

// conformanceRunner is the program that tests the server.
const conformanceRunner = "connectrpc.com/conformance/cmd/connectconformance@v1.0.7"

// conformanceTime is how long the cases may take, for one server.
const conformanceTime = 5 * time.Minute

// TestConformance runs the cases of connectrpc.com/conformance for servers, on both
// engines: Connect, gRPC and gRPC-Web over HTTP/1.1 and HTTP/2, with TLS and without. If
// some fail, it runs them against net/http's server too. Only cases that fail there and
// are in testdata/conformance-failing.txt, with a reason, may fail.
func TestConformance(t *testing.T) {
	if !gate.Full() {
		t.Skip("it takes minutes: only with GALE_FULL")
	}
	runner, server := build(t, "conformance")
	known := knownFailing(t)
	var onNetHTTP []string
	asked := false
	for _, e := range []gale.Engine{gale.EngineEvent, gale.EngineBlock} {
		t.Run(e.String(), func(t *testing.T) {
			failed := conformance(t, runner, serverCases, server, "-engine", e.String())
			for _, name := range known {
				if !slices.Contains(failed, name) {
					t.Errorf("passes, but is in testdata/conformance-failing.txt: %s", name)
				}
			}
			if len(failed) == 0 {
				return
			}
			if !asked {
				onNetHTTP, asked = conformance(t, runner, serverCases, server, "-server", "nethttp"), true
			}
			for _, name := range failed {
				switch {
				case !slices.Contains(onNetHTTP, name):
					t.Errorf("fails on Gale only: %s", name)
				case !slices.Contains(known, name):
					t.Errorf("fails on net/http too, and is not in testdata/conformance-failing.txt: %s", name)
				}
			}
		})
	}
}

// TestConformanceClient runs the cases for clients: a client of connect-go that sends with
// Gale's, through adaptor, against the servers that the runner brings. None fails.
func TestConformanceClient(t *testing.T) {
	if !gate.Full() {
		t.Skip("it takes minutes: only with GALE_FULL")
	}
	runner, client := build(t, "conformanceclient")
	for _, name := range conformance(t, runner, clientCases, client) {
		t.Errorf("fails: %s", name)
	}
}

// build builds the runner, and a program of this module.
func build(t *testing.T, name string) (runner, program string) {
	t.Helper()
	dir := t.TempDir()
	install := exec.Command("go", "install", conformanceRunner)
	install.Env = append(os.Environ(), "GOBIN="+dir)
	if out, err := install.CombinedOutput(); err != nil {
		if bytes.Contains(out, []byte("connectrpc.com/conformance@")) {
			t.Skipf("LEFT OUT: the module of the runner can't be downloaded: %s", out)
		}
		t.Fatalf("%v\n%s", err, out)
	}
	program = filepath.Join(dir, name)
	if out, err := exec.Command("go", "build", "-o", program, "./"+name).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return filepath.Join(dir, "connectconformance"), program
}

// knownFailing returns the names of the cases that are known to fail on net/http too.
func knownFailing(t *testing.T) (names []string) {
	t.Helper()
	text, err := os.ReadFile("testdata/conformance-failing.txt")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if line = strings.TrimSpace(line); line != "" && line[0] != '#' {
			names = append(names, line)
		}
	}
	return names
}

var (
	conformanceFailed = regexp.MustCompile(`(?m)^FAILED: (.+):$`)
	conformanceTotal  = regexp.MustCompile(`(?m)^Total cases: [1-9][0-9]*\n[0-9]+ passed, [0-9]+ failed`)
)

// serverCases and clientCases are options of the runner. Some cases for clients may fail:
// the deadlines of client and server end at the same time, and if the server resets the
// stream first, connect-go doesn't know that a deadline was the reason.
var (
	serverCases = []string{"--mode", "server", "--conf", "testdata/conformance.yaml"}
	clientCases = []string{"--mode", "client", "--conf", "testdata/conformance-client.yaml", "--known-flaky", "Timeouts/HTTPVersion:2/**"}
)

// conformance runs cases against a program and returns the names of those that failed.
func conformance(t *testing.T, runner string, cases []string, program string, args ...string) (failed []string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), conformanceTime)
	defer cancel()
	cmd := exec.CommandContext(ctx, runner, slices.Concat(cases, []string{"--", program}, args)...)
	cmd.WaitDelay = 10 * time.Second // the programs have the output, too
	out, err := cmd.CombinedOutput()
	for _, m := range conformanceFailed.FindAllSubmatch(out, -1) {
		failed = append(failed, string(m[1]))
	}
	total := conformanceTotal.Find(out)
	if total == nil || err != nil && len(failed) == 0 {
		t.Fatalf("%s: %v\n%s", strings.Join(args, " "), err, tail(out))
	}
	t.Logf("%s: %s", strings.Join(args, " "), bytes.ReplaceAll(total, []byte("\n"), []byte(", ")))
	if len(failed) > 0 {
		t.Logf("%s", tail(out))
	}
	return failed
}

// tail returns the end of a program's output.
func tail(out []byte) []byte {
	const most = 100
	var lines [][]byte
	for s := bufio.NewScanner(bytes.NewReader(out)); s.Scan(); {
		lines = append(lines, bytes.Clone(s.Bytes()))
	}
	return bytes.Join(lines[max(len(lines)-most, 0):], []byte("\n"))
}
