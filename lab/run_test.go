package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/galehttp/gale/lab/results"
)

func TestRunComparesTwoServers(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	var out, errs bytes.Buffer
	err := runMain([]string{"--servers", "gale-event,nethttp", "--rounds", "2", "--round", "200ms", "--warmup", "50ms", "--out", dir, "hello"}, &out, &errs)
	if err != nil {
		t.Fatalf("%v\n%s%s", err, out.Bytes(), errs.Bytes())
	}
	f, err := results.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	rounds := map[string]int{}
	for _, m := range f.Measurements {
		if m.Mode == results.Pinned && m.Run.Requests.Good > 0 && m.Run.Server != nil {
			rounds[m.Server]++
		}
	}
	if rounds["gale-event"] != 3 || rounds["nethttp"] != 3 { // with the warm-up
		t.Errorf("rounds %v, want 3 for each\n%s", rounds, out.Bytes())
	}
	for _, name := range []string{"report.md", "report.html"} {
		text, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil || !strings.Contains(string(text), "gale-event") {
			t.Errorf("%s has no gale-event: %v", name, err)
		}
	}
}

func TestParseRunRefuses(t *testing.T) {
	for _, test := range []struct {
		args string
		want string
	}{
		{"no-such-scenario", "no scenario"},
		{"--servers nobody", "no server"},
		{"--modes sideways", "no mode"},
		{"--rounds -1", "must be positive"},
		{"--no-such-flag", "not defined"},
	} {
		var errs bytes.Buffer
		if _, err := parseRun(strings.Fields(test.args), &errs); err == nil || !strings.Contains(errs.String(), test.want) {
			t.Errorf("%s: %v, %q, want %q", test.args, err, errs.String(), test.want)
		}
	}
}
