package main

import (
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// On a loopback address, without TLS and -auth, only requests for names of this machine are served.
func TestServeHosts(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "a.txt"), []byte("private"), 0o600); err != nil {
		t.Fatal("writing the file:", err)
	}
	machine, err := os.Hostname()
	if err != nil || machine == "" {
		machine = "localhost"
	}
	loopback := &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 80}
	loopback6 := &net.TCPAddr{IP: net.IPv6loopback, Port: 80}
	everywhere := &net.TCPAddr{IP: net.IPv6unspecified, Port: 80}
	lan := &net.TCPAddr{IP: net.IPv4(192, 168, 1, 2), Port: 80}
	socket := &net.UnixAddr{Name: "/s", Net: "unix"}
	const foreign = "rebound.example:8080"
	own := []string{"127.0.0.1", "127.0.0.1:8080", "[::1]:8080", "[::1]", "192.168.1.2", "localhost", "LocalHost:8080", "localhost.", "app.localhost:1", machine, strings.ToUpper(machine) + ":8080"}
	others := []string{foreign, "rebound.example", "localhost.example", "xlocalhost", "127.0.0.1.example", "example.", "evil_name"}
	for _, tt := range []struct {
		name   string
		addr   net.Addr
		args   []string
		served []string
		refuse []string
	}{
		{"loopback", loopback, nil, own, others},
		{"loopback of IPv6", loopback6, nil, own, others},
		{"a name of -addr", loopback, []string{"-addr", "dev.example:8080"}, append(own, "dev.example:8080", "Dev.Example"), others},
		{"a flag", loopback, []string{"-allow-host", "Files.example, x.example", "-allow-host", "y.example"}, append(own, "files.example:8080", "x.example", "y.example."), others},
		{"a flag for all", loopback, []string{"-allow-host", "*"}, append(own, others...), nil},
		{"all addresses", everywhere, nil, append(own, others...), nil},
		{"an address of a network", lan, nil, append(own, others...), nil},
		{"all addresses with a flag", everywhere, []string{"-allow-host", "files.example"}, append(own, "files.example"), others},
		{"a UNIX socket", socket, nil, append(own, others...), nil},
		{"a UNIX socket with a flag", socket, []string{"-allow-host", "files.example"}, append(own, "files.example"), others},
	} {
		t.Run(tt.name, func(t *testing.T) {
			l := newLocal(t, dir, append(tt.args, "-header", "X-A: b")...)
			l.cfg.hosts.decide(l.cfg, tt.addr)
			l.start()
			for i, hosts := range [][]string{tt.served, tt.refuse} {
				for _, host := range hosts {
					for _, form := range []string{"GET /a.txt HTTP/1.1\r\nHost: %s\r\n", "GET http://%s/a.txt HTTP/1.1\r\nHost: localhost\r\n"} {
						got := exchangeRaw(t, l.addr, fmt.Sprintf(form, host)+"Connection: close\r\n\r\n")
						if i == 0 && !strings.HasSuffix(got, "private") && !strings.HasPrefix(got, "HTTP/1.1 400 ") {
							t.Errorf("Host %s isn't served: %q", host, got)
						}
						if i == 1 && (strings.Contains(got, "private") || host == foreign && !strings.HasPrefix(got, "HTTP/1.1 421 ")) {
							t.Errorf("Host %s: got %q, want 421", host, got)
						}
						if i == 1 && strings.HasPrefix(got, "HTTP/1.1 421 ") && (!strings.Contains(got, "-allow-host") || !strings.Contains(got, "X-A: b")) {
							t.Errorf("Host %s: the answer lacks the flag or the field of -header: %q", host, got)
						}
					}
				}
			}
			if got := exchangeRaw(t, l.addr, "GET /a.txt HTTP/1.0\r\n\r\n"); !strings.HasSuffix(got, "private") {
				t.Errorf("without Host: %q", got)
			}
		})
	}
	// A password and TLS make the check needless.
	for _, args := range [][]string{{"-auth", "u:p"}, {"-tls-self-signed"}} {
		l := newLocal(t, dir, args...)
		if l.cfg.hosts.decide(l.cfg, loopback); l.cfg.hosts.checked {
			t.Errorf("%v: host names are checked", args)
		}
	}
	for _, bad := range []string{"", "a:80", "http://a", "a/b", "a,", "user@a"} {
		if _, err := parseServeFlags([]string{"-allow-host", bad, dir}); err == nil || !strings.Contains(err.Error(), "host names without a port") {
			t.Errorf("-allow-host %q: %v", bad, err)
		}
	}
}

// exchangeRaw sends a request and returns all that comes.
func exchangeRaw(t *testing.T, addr, request string) string {
	t.Helper()
	c, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal("connecting:", err)
	}
	defer c.Close()
	_, _ = io.WriteString(c, request)
	b, _ := io.ReadAll(c)
	return string(b)
}
