package server

import (
	"bytes"
	"fmt"
	"io"
	"log"
	"log/slog"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/galehttp/gale"
	"github.com/galehttp/gale/galeutil"
	"github.com/galehttp/gale/tests/harness/peers"
)

// silentLog is a Logger that prints nothing but that it was called, as that of a framework.
type silentLog struct{}

func (silentLog) Printf(format string, args ...any) {
	if strings.Contains(fmt.Sprintf(format, args...), "on purpose") {
		fmt.Println("Logger")
	}
}

// A panic is never silent: besides a Logger, Slog gets it, or standard error if there is none,
// and standard error gets it once.
func TestPanicIsSeen(t *testing.T) {
	const env = "GALE_TEST_LOGS"
	records := slog.New(slog.NewTextHandler(os.Stdout, nil))
	servers := map[string]struct {
		s                      *gale.Server
		logger, record, stderr int
	}{
		"nothing":         {&gale.Server{}, 0, 0, 1},
		"Logger":          {&gale.Server{Logger: silentLog{}}, 1, 0, 1},
		"standard Logger": {&gale.Server{Logger: log.Default()}, 0, 0, 1},
		"other Logger":    {&gale.Server{Logger: log.New(io.Discard, "", 0)}, 0, 0, 1},
		"nil Logger":      {&gale.Server{Logger: (*log.Logger)(nil)}, 0, 0, 1},
		"Slog":            {&gale.Server{Slog: records}, 0, 1, 0},
		"Logger and Slog": {&gale.Server{Logger: silentLog{}, Slog: records}, 1, 1, 0},
	}
	if name := os.Getenv(env); name != "" {
		s := servers[name].s
		s.Handler = func(*gale.RequestCtx) { panic("on purpose") }
		ln := galeutil.NewInmemoryListener()
		served := make(chan error, 1)
		go func() { served <- s.Serve(ln) }()
		nc, err := ln.Dial()
		if err != nil {
			t.Fatal(err)
		}
		c := peers.NewConn(t, nc)
		c.Send("GET / HTTP/1.1\r\nHost: h\r\n\r\n")
		c.Want("GET", 500, "Internal Server Error")
		s.Close()
		<-served
		return
	}
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	run := func(t *testing.T, name string) {
		want := servers[name]
		cmd := exec.Command(exe, "-test.run=^TestPanicIsSeen$")
		// With -race a program waits for a second before it exits, unless it is told not to.
		cmd.Env = append(os.Environ(), env+"="+name, "GORACE="+os.Getenv("GORACE")+" atexit_sleep_ms=0")
		var out, stderr bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, &stderr
		if err := cmd.Run(); err != nil {
			t.Fatalf("%s: %v\n%s", name, err, &out)
		}
		logger := strings.Count(out.String(), "Logger\n")
		record := strings.Count(out.String(), `msg="panic in a handler"`)
		inErr := strings.Count(stderr.String(), "panic in a handler")
		if logger != want.logger || record != want.record || inErr != want.stderr ||
			inErr > 0 && !strings.Contains(stderr.String(), "panic_seen_test.go") {
			t.Errorf("%s: the Logger got it %d times, Slog %d, standard error %d:\n%s\n%s", name, logger, record, inErr, &out, &stderr)
		}
	}
	for name := range servers {
		t.Run(name, func(t *testing.T) { run(t, name) })
	}
}
