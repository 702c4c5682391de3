//go:build unix

package main

import (
	"bytes"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/galehttp/gale"
)

// The server of --cmd is started, asked, watched and ended.
func TestBenchCmd(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "index.html"), []byte("hello"), 0o600); err != nil {
		t.Fatal(err)
	}
	socket := filepath.Join(dir, "s")
	command := "GALE_TEST=1 '" + galeBinary + "' serve -unix '" + socket + "' \"" + dir + `"`
	doc, _, _ := benchRun(t, "http://localhost/", "--unix", socket, "-n", "20", "-c", "2", "--cmd", command, "--expect", "body=hello")
	if doc.Requests.Good != 20 {
		t.Errorf("%+v, errors %+v", doc.Requests, doc.Errors)
	}
	if _, err := net.Dial("unix", socket); err == nil {
		t.Error("the server still runs")
	}
	if runtime.GOOS != "linux" {
		return
	}
	if s := doc.Server; s == nil || s.PID == 0 || s.PID == os.Getpid() || s.Threads == 0 || !strings.Contains(s.Command, "serve") {
		t.Errorf("server %+v", s)
	}
}

// What a server that can't start wrote is printed.
func TestBenchCmdFails(t *testing.T) {
	var stdout, stderr bytes.Buffer
	code := run([]string{"bench", "http://127.0.0.1:1/", "--cmd", "sh -c 'echo no port >&2; exit 3'"}, &stdout, &stderr)
	if text := stderr.String(); code != exitFailed || !strings.Contains(text, "no port\n") || !strings.Contains(text, "exit status 3") {
		t.Errorf("exit code %d: %s", code, text)
	}
}

// A server that ends before it has answered is noticed although a connection is open, and
// its last lines are printed.
func TestBenchCmdEndsLate(t *testing.T) {
	ln := listenBench(t, "tcp", "127.0.0.1:0")
	address := ln.Addr().String()
	ln.Close()
	dir := t.TempDir()
	go func() { // what a server would do: it takes a connection, says nothing, and ends
		for !exists(filepath.Join(dir, "started")) {
			if t.Context().Err() != nil {
				return // it was never started
			}
			time.Sleep(5 * time.Millisecond) // between two looks
		}
		ln, err := net.Listen("tcp", address)
		if err != nil {
			t.Error(err)
			return
		}
		defer ln.Close()
		for range 2 { // the first connection is one that only reaches
			c, err := ln.Accept()
			if err != nil {
				t.Error(err)
				return
			}
			defer c.Close()
		}
		_ = os.WriteFile(filepath.Join(dir, "end"), nil, 0o600)
		<-t.Context().Done()
	}()
	var stdout, stderr bytes.Buffer
	command := "sh -c 'touch \"" + dir + "/started\"; while ! test -e \"" + dir + "/end\"; do sleep 0.01; done; seq 1 1000; exit 3'"
	code := run([]string{"bench", "http://" + address, "-n", "1", "--cmd", command}, &stdout, &stderr)
	text := stderr.String()
	if code != exitFailed || !strings.Contains(text, "...\n981\n") || !strings.Contains(text, "\n1000\n") || !strings.Contains(text, "exit status 3") {
		t.Errorf("exit code %d: %s", code, text)
	}
}

// A server that was there before isn't taken for the one of --cmd.
func TestBenchCmdBesideAnother(t *testing.T) {
	url := benchServerURL(t, gale.EngineAuto, func(*gale.RequestCtx) {})
	checkMisuse(t, []string{"bench", url, "--cmd", "sleep 100"}, "already answers")
}

// The process of --pid is in the document.
func TestBenchPID(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("processes are watched on Linux")
	}
	url := benchServerURL(t, gale.EngineAuto, func(*gale.RequestCtx) {})
	doc, _, _ := benchRun(t, url, "-n", "1000", "-c", "2", "--pid", strconv.Itoa(os.Getpid()))
	if s := doc.Server; s == nil || s.PID != os.Getpid() || s.MemoryByte == 0 {
		t.Errorf("server %+v", s)
	}
	checkMisuse(t, []string{"bench", url, "--pid", "2147483646"}, "2147483646")
}
