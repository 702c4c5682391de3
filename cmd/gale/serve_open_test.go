package main

import (
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// The browser's program gets the URL as one argument and nothing to read; it's waited
// for, and a failure is a warning.
func TestOpenBrowser(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("no scripts in place of rundll32")
	}
	name := filepath.Base(browserCommand("").Args[0])
	for _, c := range []struct {
		name, script string
		warning      string // "" for none
	}{
		{"opens", "printf '%s|%s|%s' \"$#\" \"$1\" \"$(/bin/cat)\" > \"$OPENED.part\"\n/bin/mv \"$OPENED.part\" \"$OPENED\"\n", ""},
		{"fails", "exit 3\n", "exit status 3"},
		{"missing", "", "not found"},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			opened := filepath.Join(dir, "opened")
			t.Setenv("PATH", dir)
			t.Setenv("OPENED", opened)
			if c.script != "" {
				if err := os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\n"+c.script), 0o700); err != nil {
					t.Fatal(err)
				}
			}
			var log lockedBuffer
			const url = "http://localhost:8080/?a=$(exit)&b='"
			openBrowser(url, slog.New(slog.NewTextHandler(&log, nil)))
			eventually(t, func() string {
				if c.warning == "" && exists(opened) || c.warning != "" && strings.Contains(log.String(), c.warning) {
					return ""
				}
				return "nothing happens; the log: " + log.String()
			})
			if c.warning != "" {
				if s := log.String(); !strings.Contains(s, "level=WARN") || !strings.Contains(s, "localhost:8080") {
					t.Errorf("the log: %s", s)
				}
				return
			}
			if b, err := os.ReadFile(opened); err != nil || string(b) != "1|"+url+"|" {
				t.Errorf("%q, %v", b, err)
			}
		})
	}
}
