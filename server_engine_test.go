package gale

import (
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// testEngines are the engines of tests that run on each.
var testEngines = []Engine{EngineBlock, EngineEvent}

// onlyEngine makes e the engine of servers that use EngineAuto, and the only one of the
// tests that run on each. A few tests are about both engines, and use both all the same.
func onlyEngine(e Engine) {
	autoEngine = e
	testEngines = []Engine{e}
	h2Ways = slices.DeleteFunc(h2Ways, func(way h2Way) bool { return way.engine != e })
}

// withoutEngine skips a test in the run with GALE_ENGINE=event: no engine, or always the same
// one, takes part in it. The run with GALE_ENGINE=block has it.
func withoutEngine(t *testing.T) {
	t.Helper()
	if autoEngine == EngineEvent && len(testEngines) == 1 {
		t.Skip("GALE_ENGINE=block has this test")
	}
}

// TestMain reads GALE_ENGINE: with event, the tests of servers run on the event engine, and
// with block on the block engine. Without it, those that don't name an engine use
// EngineAuto, and most others run on each.
func TestMain(m *testing.M) {
	if runtime.GOOS != "linux" {
		testEngines = testEngines[:1]
	}
	switch e := os.Getenv("GALE_ENGINE"); e {
	case "":
	case "block":
		onlyEngine(EngineBlock)
	case "event":
		onlyEngine(EngineEvent)
	default:
		fmt.Fprintf(os.Stderr, "GALE_ENGINE=%s: use block or event\n", e)
		os.Exit(2)
	}
	late := watchDefaultGuards()
	code := m.Run()
	if code == 0 && late() > 0 {
		fmt.Fprintln(os.Stderr, "FAIL: there were late uses, see above")
		code = 1
	}
	os.Exit(code)
}

// watchDefaultGuards prints what the guards find that programs with the race detector have.
// late returns how much that was: tests of right code must not cause reports.
func watchDefaultGuards() (late func() int64) {
	var n atomic.Int64
	if guardsByDefault.Load() {
		onDefaultUse = func(u *LifetimeUse) {
			if n.Add(1) <= 20 {
				fmt.Fprintf(os.Stderr, "--- late use\n%s\n", u)
			}
		}
		guardPoolsByDefault()
	}
	return n.Load
}

// EngineAuto uses the event engine for sockets of package net if the system has it, with
// TLS or without, and the block engine for everything else. Stats and a log with levels
// say which. A log without levels says it only if the requested engine isn't available.
func TestEngineFor(t *testing.T) {
	sockets := autoEngine
	if runtime.GOOS != "linux" {
		sockets = EngineBlock
	}
	cert, key, err := GenerateTestCertificate("localhost")
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name    string
		network string
		asked   Engine
		wrapped bool
		tls     bool
		want    Engine
		missed  bool // it isn't the engine that was requested
	}{
		{name: "tcp", network: "tcp", want: sockets},
		{name: "unix", network: "unix", want: sockets},
		{name: "tls", network: "tcp", tls: true, want: sockets},
		{name: "wrapped", network: "tcp", wrapped: true, want: EngineBlock},
		{name: "wrapped tls", network: "tcp", wrapped: true, tls: true, want: EngineBlock},
		{name: "block", network: "tcp", asked: EngineBlock, want: EngineBlock},
		{name: "missed", network: "tcp", asked: EngineEvent, wrapped: true, want: EngineBlock, missed: true},
	} {
		for _, structured := range []bool{false, true} {
			t.Run(fmt.Sprint(tt.name, " ", structured), func(t *testing.T) {
				addr := "127.0.0.1:0"
				if tt.network == "unix" {
					addr = filepath.Join(t.TempDir(), "socket")
				}
				ln, err := net.Listen(tt.network, addr)
				if err != nil {
					t.Skip(err)
				}
				addr = ln.Addr().String()
				if tt.wrapped {
					ln = struct{ net.Listener }{ln}
				}
				var lines testLog
				s := &Server{Engine: tt.asked, Handler: func(*RequestCtx) {}}
				if structured {
					s.Slog = slog.New(slog.NewTextHandler(printed{&lines}, nil))
				} else {
					s.Logger = &lines
				}
				served := make(chan error, 1)
				go func() {
					if tt.tls {
						served <- s.ServeTLSEmbed(ln, cert, key)
					} else {
						served <- s.Serve(ln)
					}
				}()
				for end := time.Now().Add(30 * time.Second); len(s.Stats().Listeners) == 0 && time.Now().Before(end); {
					time.Sleep(time.Millisecond)
				}
				want := []ListenerStats{{Network: tt.network, Address: addr, Engine: tt.want}}
				if got := s.Stats().Listeners; !slices.Equal(got, want) {
					t.Errorf("got %v, want %v", got, want)
				}
				if err := s.Close(); err != nil {
					t.Error(err)
				}
				if err := <-served; err != nil {
					t.Error(err)
				}
				log := lines.String()
				switch {
				case structured:
					level := "INFO"
					if tt.missed {
						level = "WARN"
					}
					if !strings.Contains(log, "level="+level+" msg=serving") || !strings.Contains(log, "engine="+tt.want.String()) || strings.Count(log, "\n") != 1 {
						t.Errorf("the log: %q", log)
					}
				case tt.missed && !strings.Contains(log, "EngineBlock"), !tt.missed && log != "":
					t.Errorf("the log: %q", log)
				}
				if len(s.Stats().Listeners) != 0 {
					t.Error("a listener is left")
				}
			})
		}
	}
}

// printed is a writer that writes to a Logger.
type printed struct{ Logger }

func (p printed) Write(b []byte) (int, error) {
	p.Printf("%s", strings.TrimSuffix(string(b), "\n"))
	return len(b), nil
}

// Names of engines work in flags, in configuration files and in output.
func TestEngineText(t *testing.T) {
	for _, e := range []Engine{EngineAuto, EngineBlock, EngineEvent} {
		name, err := e.MarshalText()
		got := Engine(-1)
		if uerr := got.UnmarshalText(name); err != nil || uerr != nil || got != e || string(name) != e.String() {
			t.Errorf("%v became %q, %v and %v, %v", e, name, err, got, uerr)
		}
	}
	e := EngineEvent
	if err := e.UnmarshalText([]byte("steam")); err == nil || !strings.Contains(err.Error(), "auto, block or event") || e != EngineEvent {
		t.Errorf("steam: %v, %v", e, err)
	}
	if s := Engine(7).String(); s != "" {
		t.Errorf("got %q", s)
	}
}
