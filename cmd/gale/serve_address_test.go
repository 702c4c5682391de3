package main

import (
	"net"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
)

func TestAddressFlags(t *testing.T) {
	var defaults []int
	for port := 8080; port < 8100; port++ {
		defaults = append(defaults, port)
	}
	for _, c := range []struct {
		args  string
		host  string
		ports []int
	}{
		{"", "", defaults},
		{"-p 9000", "", []int{9000}},
		{"--port=9000", "", []int{9000}},
		{"-p 0", "", []int{0}},
		{"-addr 9000", "", []int{9000}},
		{"-addr :9000", "", []int{9000}},
		{"-addr 127.0.0.1:9000", "127.0.0.1", []int{9000}},
		{"-addr [::1]:9000", "::1", []int{9000}},
		{"-addr example.com:9000", "example.com", []int{9000}},
		{"-addr 127.0.0.1", "127.0.0.1", defaults},
		{"-addr localhost", "localhost", defaults},
		{"-addr ::1", "::1", defaults},
		{"-addr [::1]", "::1", defaults},
		{"-addr ::1 -p 9000", "::1", []int{9000}},
		{"-port 9000 -addr localhost", "localhost", []int{9000}},
	} {
		cfg, err := parseServeFlags(append(strings.Fields(c.args), t.TempDir()))
		if err != nil {
			t.Errorf("%s: %v", c.args, err)
			continue
		}
		if a := cfg.address; a.host != c.host || !slices.Equal(a.ports, c.ports) {
			t.Errorf("%s: host %q, ports %v", c.args, a.host, a.ports)
		}
	}
}

// Without a folder, the working directory is served.
func TestServeWorkingDirectory(t *testing.T) {
	wd, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	if cfg, err := parseServeFlags(nil); err != nil || cfg.dir != wd {
		t.Errorf("%+v, %v", cfg, err)
	}
}

// busy holds a free port, and returns it.
func busy(t *testing.T) int {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { ln.Close() })
	return ln.Addr().(*net.TCPAddr).Port
}

func TestListenMovesOn(t *testing.T) {
	one, two := busy(t), busy(t)
	for _, host := range []string{"127.0.0.1", ""} { // a port of one address is in use for all
		for _, c := range []struct {
			ports []int
			note  string
		}{
			{[]int{0}, ""},
			{[]int{one, 0}, "Port " + strconv.Itoa(one) + " is in use: serving on "},
			{[]int{one, two, 0}, "Ports " + strconv.Itoa(one) + " to " + strconv.Itoa(two) + " are in use: serving on "},
		} {
			a := addressFlags{host: host, ports: c.ports}
			ln, err := a.listen()
			if err != nil {
				t.Errorf("%q %v: %v", host, c.ports, err)
				continue
			}
			ln.Close()
			want := c.note
			if want != "" {
				want += strconv.Itoa(ln.Addr().(*net.TCPAddr).Port) + "."
			}
			if ln.note != want {
				t.Errorf("%q %v: %q, want %q", host, c.ports, ln.note, want)
			}
		}
		for _, c := range []struct {
			ports []int
			want  string
		}{
			{[]int{one}, "is in use: stop the program"},
			{[]int{one, two}, "are in use: choose another with -p"},
		} {
			a := addressFlags{host: host, ports: c.ports}
			if ln, err := a.listen(); err == nil {
				t.Errorf("%q %v: listens on %v", host, c.ports, ln.Addr())
			} else if !strings.Contains(err.Error(), c.want) {
				t.Errorf("%q %v: %v", host, c.ports, err)
			}
		}
	}
}

func TestTryLoopback(t *testing.T) {
	if err := tryLoopback(busy(t)); !isInUse(err) {
		t.Errorf("a port in use: %v", err)
	}
}

func TestListenUNIX(t *testing.T) {
	dir := shortTemp(t)
	path := filepath.Join(dir, "s")
	listen := func(mode socketMode) (net.Listener, error) { return (&unixFlags{nonEmpty(path), mode}).listen() }

	ln, err := listen(0o660)
	if err != nil {
		t.Fatal(err)
	}
	if info, err := os.Lstat(path); err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o660 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	if _, err := listen(0o600); err == nil || !strings.Contains(err.Error(), "another process listens") {
		t.Errorf("a socket in use: %v", err)
	}
	if conn, err := net.Dial("unix", path); err != nil {
		t.Errorf("the socket in use is gone: %v", err)
	} else {
		conn.Close()
	}
	ln.Close()
	if _, err := os.Lstat(path); !os.IsNotExist(err) {
		t.Errorf("the socket stays: %v", err)
	}

	// What a killed process leaves.
	old, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	old.(*net.UnixListener).SetUnlinkOnClose(false)
	old.Close()
	if ln, err = listen(0o600); err != nil {
		t.Fatalf("a stale socket: %v", err)
	}
	ln.Close()

	for _, name := range []string{"file", "link", "folder"} {
		path = filepath.Join(dir, name)
		switch name {
		case "file":
			err = os.WriteFile(path, []byte("mine"), 0o600)
		case "link":
			err = os.Symlink("file", path)
		case "folder":
			err = os.Mkdir(path, 0o700)
		}
		if err != nil {
			t.Log(err)
			continue
		}
		if _, err := listen(0o600); err == nil || !strings.Contains(err.Error(), "isn't a socket") {
			t.Errorf("a %s: %v", name, err)
		}
		if _, err := os.Lstat(path); err != nil {
			t.Errorf("the %s is gone: %v", name, err)
		}
	}
	if b, err := os.ReadFile(filepath.Join(dir, "file")); err != nil || string(b) != "mine" {
		t.Errorf("the file has %q, %v", b, err)
	}
}

// shortTemp returns a folder whose path is short enough for a socket in it.
func shortTemp(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "s")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}
