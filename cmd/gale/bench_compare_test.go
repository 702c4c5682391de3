package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/galehttp/gale"
)

// Results that were written can be compared, one with one and several with several.
func TestBenchCompare(t *testing.T) {
	url := benchServerURL(t, gale.EngineAuto, func(*gale.RequestCtx) {})
	dir := t.TempDir()
	file := func(name string) string { return filepath.Join(dir, name) }
	for _, name := range []string{"a1", "a2", "b"} {
		var stdout, stderr bytes.Buffer
		run([]string{"bench", url, "-n", "2000", "-c", "2", "--name", "run " + name, "--json", file(name)}, &stdout, &stderr)
		if stdout.Len() == 0 {
			t.Fatal(stderr.String())
		}
	}
	for _, side := range []string{file("a1"), file("a1") + "," + file("a2")} {
		var stdout, stderr bytes.Buffer
		if code := run([]string{"bench", "compare", side, file("b")}, &stdout, &stderr); code != exitOK {
			t.Errorf("exit code %d: %s", code, stderr.String())
		}
		for _, want := range []string{"run a1", "run b", "Requests/s"} {
			if !strings.Contains(stdout.String(), want) {
				t.Errorf("no %q in\n%s", want, stdout.String())
			}
		}
	}
	if err := os.WriteFile(file("other"), []byte("{}"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		args []string
		want string
	}{
		{nil, "two files"},
		{[]string{file("a1")}, "two files"},
		{[]string{file("a1"), file("none")}, "there is no file"},
		{[]string{file("a1"), file("other")}, "not a document"},
		{[]string{file("a1"), file("b"), "-q"}, "no flag -q"},
	} {
		checkMisuse(t, append([]string{"bench", "compare"}, c.args...), c.want)
	}
}
