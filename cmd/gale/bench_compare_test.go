package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode"

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

// What a terminal would obey in a document isn't printed, wherever it is.
func TestBenchCompareHidden(t *testing.T) {
	const hidden = "\x1b]0;title\x07\x7f\u009b31m\u202e\u2066\u200e\u061c\u2028"
	dir := t.TempDir()
	file := func(name string) string { return filepath.Join(dir, name) }
	url := benchServerURL(t, gale.EngineAuto, func(*gale.RequestCtx) {})
	var stdout, stderr bytes.Buffer
	run([]string{"bench", url, "-n", "2000", "-c", "2", "--json", file("a")}, &stdout, &stderr)
	text, err := os.ReadFile(file("a"))
	if err != nil {
		t.Fatal(err)
	}
	var doc any
	if err := json.Unmarshal(text, &doc); err != nil {
		t.Fatal(err)
	}
	texts := 0
	eachText(doc, func(was string, set func(string)) {
		texts++
		set(was + " " + hidden)
		text, err := json.Marshal(doc)
		set(was)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file("b"), text, 0o600); err != nil {
			t.Fatal(err)
		}
		stdout.Reset()
		stderr.Reset()
		run([]string{"bench", "compare", file("a"), file("b")}, &stdout, &stderr)
		out := strings.ReplaceAll(stdout.String()+stderr.String(), "\n", "")
		if out == "" || strings.ContainsFunc(out, func(r rune) bool { return unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp) }) {
			t.Errorf("%q: the terminal gets %q", was, out)
		}
	})
	if texts < 10 {
		t.Errorf("the document has only %d texts", texts)
	}
}

// eachText calls f for each string of a JSON value, with what sets it.
func eachText(v any, f func(was string, set func(string))) {
	visit := func(v any, set func(string)) {
		if s, ok := v.(string); ok {
			f(s, set)
			return
		}
		eachText(v, f)
	}
	switch v := v.(type) {
	case []any:
		for i := range v {
			visit(v[i], func(s string) { v[i] = s })
		}
	case map[string]any:
		for name := range v {
			visit(v[name], func(s string) { v[name] = s })
		}
	}
}
