package main

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
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
		{"port twice", []string{"serve", "-p", "9000", "-port", "9000", dir}, "-p and -port are the same"},
		{"empty port", []string{"serve", "-p", "", dir}, "can't be empty"},
		{"empty address", []string{"serve", "-addr=", dir}, "can't be empty"},
		{"empty socket", []string{"serve", "-unix", "", dir}, "can't be empty"},
		{"port and address", []string{"serve", "-p", "9000", "-addr", ":9000", dir}, "leave -p out"},
		{"long port and address", []string{"serve", "-port", "9000", "-addr", "9000", dir}, "leave -port out"},
		{"broken -p", []string{"serve", "-p", "http", dir}, "-p port"},
		{"large -p", []string{"serve", "-p", "65536", dir}, "from 0 to 65535"},
		{"negative -p", []string{"serve", "-p", "-1", dir}, "from 0 to 65535"},
		{"host without a port", []string{"serve", "-addr", "example.com", dir}, "host:port"},
		{"colon without a port", []string{"serve", "-addr", "127.0.0.1:", dir}, "host:port"},
		{"IPv6 without brackets", []string{"serve", "-addr", "::1:x:9000", dir}, "host:port"},
		{"name of a port", []string{"serve", "-addr", ":http", dir}, "from 0 to 65535"},
		{"socket and address", []string{"serve", "-unix", "s", "-addr", ":9000", dir}, "leave -addr out"},
		{"socket and port", []string{"serve", "-unix", "s", "-p", "9000", dir}, "leave -p out"},
		{"socket in the browser", []string{"serve", "-unix", "s", "-open", dir}, "-open"},
		{"socket for a phone", []string{"serve", "-unix", "s", "-qr", dir}, "-qr"},
		{"mode without a socket", []string{"serve", "-unix-mode", "660", dir}, "-unix-mode needs -unix"},
		{"mode in words", []string{"serve", "-unix", "s", "-unix-mode", "rw", dir}, "such as 660"},
		{"mode with too many bits", []string{"serve", "-unix", "s", "-unix-mode", "4755", dir}, "such as 660"},
		{"socket in the place of a file", []string{"serve", "-unix", file, dir}, "isn't a socket"},
		{"socket in no folder", []string{"serve", "-unix", filepath.Join(dir, "none", "s"), dir}, "-unix"},
		{"long path of a socket", []string{"serve", "-unix", filepath.Join(dir, strings.Repeat("s", 200)), dir}, "too long"},
		{"neither a code nor none", []string{"serve", "-qr=maybe", dir}, "want true or false"},
		{"header without a value", []string{"serve", "-header", "X-A", dir}, "'Name: value'"},
		{"header with an empty value", []string{"serve", "-header", "X-A: ", dir}, "'Name: value'"},
		{"header without a name", []string{"serve", "-header", ": a", dir}, "letters"},
		{"space before the colon", []string{"serve", "-header", "X-A : a", dir}, "no space"},
		{"two lines in a header", []string{"serve", "-header", "X-A: a\r\nX-B: b", dir}, "line breaks"},
		{"Content-Length", []string{"serve", "-header", "content-length: 5", dir}, "where a message ends"},
		{"Connection", []string{"serve", "-header", "Connection: close", dir}, "about the connection"},
		{"Date", []string{"serve", "-header", "Date: now", dir}, "different for each answer"},
		{"negative -cache", []string{"serve", "-cache", "-1h", dir}, "negative"},
		{"short -cache", []string{"serve", "-cache", "1500ms", dir}, "whole seconds"},
		{"index in a folder", []string{"serve", "-index", "sub/index.html", dir}, "without a folder"},
		{"empty index", []string{"serve", "-index", "index.html,", dir}, "names of files"},
		{"spa without its index", []string{"serve", "-spa", "-index", "home.html", dir}, "home.html"},
		{"two folders", []string{"serve", dir, dir}, "one folder"},
		{"missing folder", []string{"serve", filepath.Join(dir, "none")}, "there is no folder"},
		{"a file", []string{"serve", file}, "isn't a folder: serve the folder"},
		{"broken address", []string{"serve", "-addr", "nonsense", dir}, "host:port"},
		{"broken port", []string{"serve", "-addr", ":99999", dir}, "host:port"},
		{"somebody else's address", []string{"serve", "-addr", "192.0.2.1:0", dir}, "-addr"},
		{"password only", []string{"serve", "-auth", ":secret", dir}, "user:pass"},
		{"name only", []string{"serve", "-auth", "user", dir}, "user:pass"},
		{"origin", []string{"serve", "-cors=example", dir}, "https://"},
		{"log", []string{"serve", "-log", "xml", dir}, "text, json, combined or off"},
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
		{[]string{"-v"}, exitOK, "gale version ", false},
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
		"addr", "allow-host", "auth", "auth-file", "cache", "clean-urls", "compress", "header", "index", "no-listing", "open", "p", "port", "qr", "unix", "unix-mode", "cors", "dotfiles", "drain", "engine", "log", "max-conns", "shutdown-grace", "spa", "tls-cert", "tls-key", "tls-self-signed",
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
		if cfg.address.host != "" || !slices.Equal(cfg.address.ports, []int{1}) || cfg.maxConns != 5 || cfg.dir != dir {
			t.Errorf("%q: %+v", args, cfg)
		}
	}
	cfg, err := parseServeFlags([]string{"-auth", "user:a:b", "-cors", dir})
	if err != nil || cfg.auth.pair.user != "user" || cfg.auth.pair.pass != "a:b" || cfg.cors != "*" {
		t.Errorf("%+v, %v", cfg, err)
	}
	cfg, err = parseServeFlags([]string{"-cors=https://example.com", "-compress=false", dir})
	if err != nil || cfg.cors != "https://example.com" || cfg.compress {
		t.Errorf("%+v, %v", cfg, err)
	}
}
