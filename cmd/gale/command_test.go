package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Every misuse is one line that says what to do, and exit code 2.
func TestMisuse(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, []byte("not a certificate"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name string
		args []string
		want string // in the message
	}{
		{"unknown flag", []string{"serve", "-colour", dir}, "-colour"},
		{"flag without a value", []string{"serve", dir, "-addr"}, "-addr"},
		{"broken number", []string{"serve", dir, "-max-conns", "many"}, "-max-conns: want a whole number"},
		{"unknown engine", []string{"serve", dir, "-engine", "steam"}, "-engine"},
		{"neither true nor false", []string{"serve", dir, "-compress=maybe"}, "want true or false"},
		{"negative number", []string{"serve", dir, "-max-conns=-1"}, "-max-conns"},
		{"broken duration", []string{"serve", dir, "-shutdown-grace", "soon"}, "-shutdown-grace"},
		{"duration without a unit", []string{"serve", dir, "-shutdown-grace", "10"}, "such as 10s"},
		{"negative drain", []string{"serve", dir, "-drain", "-1s"}, "-drain"},
		{"no folder", []string{"serve"}, "gale serve ."},
		{"two folders", []string{"serve", dir, dir}, "one folder"},
		{"missing folder", []string{"serve", filepath.Join(dir, "none")}, "there is no folder"},
		{"a file", []string{"serve", file}, "isn't a folder"},
		{"broken address", []string{"serve", "-addr", "nonsense", dir}, "host:port"},
		{"broken port", []string{"serve", "-addr", ":99999", dir}, "host:port"},
		{"somebody else's address", []string{"serve", "-addr", "192.0.2.1:0", dir}, "-addr"},
		{"password only", []string{"serve", "-auth", ":secret", dir}, "user:pass"},
		{"name only", []string{"serve", "-auth", "user", dir}, "user:pass"},
		{"origin", []string{"serve", "-cors=example", dir}, "https://"},
		{"log", []string{"serve", "-log", "xml", dir}, "text, json or off"},
		{"spa without index", []string{"serve", "-spa", dir}, "index.html"},
		{"key only", []string{"serve", "-tls-key", file, dir}, "-tls-cert"},
		{"certificate only", []string{"serve", "-tls-cert", file, dir}, "-tls-key"},
		{"two certificates", []string{"serve", "-tls-self-signed", "-tls-cert", file, "-tls-key", file, dir}, "either"},
		{"missing certificate", []string{"serve", "-tls-cert", filepath.Join(dir, "none"), "-tls-key", file, dir}, "-tls-cert"},
		{"bad certificate", []string{"serve", "-tls-cert", file, "-tls-key", file, dir}, "PEM"},
		{"version of what", []string{"version", "all"}, "no arguments"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var stdout, stderr bytes.Buffer
			if code := run(c.args, &stdout, &stderr); code != exitUsage {
				t.Errorf("exit code %d, want %d", code, exitUsage)
			}
			msg := stderr.String()
			if strings.Count(msg, "\n") != 1 || !strings.HasSuffix(msg, "\n") {
				t.Errorf("not one line: %q", msg)
			}
			if !strings.Contains(msg, c.want) || !strings.HasPrefix(msg, "gale "+c.args[0]+": ") {
				t.Errorf("message %q doesn't name %q", msg, c.want)
			}
			if strings.Contains(msg, "secret") {
				t.Errorf("message repeats the password: %q", msg)
			}
			if stdout.Len() > 0 {
				t.Errorf("something on the standard output: %q", stdout.String())
			}
		})
	}
}

func TestHelp(t *testing.T) {
	for _, c := range []struct {
		args []string
		code int
		want string
		err  bool // on the standard error
	}{
		{nil, exitUsage, "The commands are:", true},
		{[]string{"help"}, exitOK, "The commands are:", false},
		{[]string{"--help"}, exitOK, "The commands are:", false},
		{[]string{"help", "serve"}, exitOK, "usage: gale serve", false},
		{[]string{"serve", "-h"}, exitOK, "usage: gale serve", false},
		{[]string{"serve", "--help"}, exitOK, "-shutdown-grace duration", false},
		{[]string{"help", "version"}, exitOK, "usage: gale version", false},
		{[]string{"version", "-h"}, exitOK, "usage: gale version", false},
		{[]string{"version"}, exitOK, "gale version ", false},
		{[]string{"--version"}, exitOK, "gale version ", false},
		{[]string{"help", "nonsense"}, exitUsage, "unknown help topic", true},
		{[]string{"nonsense"}, exitUsage, "unknown command", true},
	} {
		var stdout, stderr bytes.Buffer
		code := run(c.args, &stdout, &stderr)
		got, other := stdout.String(), stderr.String()
		if c.err {
			got, other = other, got
		}
		if code != c.code || !strings.Contains(got, c.want) || other != "" {
			t.Errorf("gale %q: code %d, wrote %q and %q; want %d and %q", c.args, code, got, other, c.code, c.want)
		}
	}
}

// Every flag is described, and flags may come first or last, with one dash or two.
func TestServeFlags(t *testing.T) {
	dir := t.TempDir()
	help := serveFlagsHelp()
	for _, name := range []string{
		"addr", "auth", "compress", "cors", "dotfiles", "drain", "engine", "log", "max-conns", "shutdown-grace", "spa", "tls-cert", "tls-key", "tls-self-signed",
	} {
		if !strings.Contains(help, "\t-"+name) {
			t.Errorf("-%s isn't described", name)
		}
	}
	for _, args := range [][]string{
		{"-addr", ":1", "--max-conns=5", dir},
		{dir, "--addr", ":1", "-max-conns", "5"},
		{"--addr=:1", dir, "-max-conns=5"},
		{"--addr=:1", "-max-conns=5", "--", dir},
	} {
		cfg, err := parseServeFlags(args)
		if err != nil {
			t.Errorf("%q: %v", args, err)
			continue
		}
		if cfg.addr != ":1" || cfg.maxConns != 5 || cfg.dir != dir {
			t.Errorf("%q: %+v", args, cfg)
		}
	}
	cfg, err := parseServeFlags([]string{"-auth", "user:a:b", "-cors", dir})
	if err != nil || cfg.auth.user != "user" || cfg.auth.pass != "a:b" || cfg.cors != "*" {
		t.Errorf("%+v, %v", cfg, err)
	}
	cfg, err = parseServeFlags([]string{"-cors=https://example.com", "-compress=false", dir})
	if err != nil || cfg.cors != "https://example.com" || cfg.compress {
		t.Errorf("%+v, %v", cfg, err)
	}
}
