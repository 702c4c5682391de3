package main

import (
	"bytes"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/boombuler/barcode/qr"
)

// shown returns the banner of a server with these flags.
func shown(t *testing.T, args ...string) string {
	t.Helper()
	cfg, err := parseServeFlags(append(args, t.TempDir()))
	if err != nil {
		t.Fatal(err)
	}
	ln, err := cfg.listen()
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	var b bytes.Buffer
	banner(&b, cfg, ln, &tlsSource{})
	return b.String()
}

func TestBanner(t *testing.T) {
	const code = "▀"
	reachable := len(localIPs()) > 0
	for _, c := range []struct {
		name        string
		args        []string
		first       string // URL, up to the port
		has, hasNot []string
	}{
		{"all addresses", []string{"-p", "0"}, "http://localhost:", []string{"Serving ", "Press Ctrl-C to stop.\n"}, []string{code, "\x1b", "password"}},
		{"one address", []string{"-addr", "127.0.0.1:0"}, "http://127.0.0.1:", nil, []string{"localhost", code}},
		{"password", []string{"-p", "0", "-auth", "u:p"}, "http://localhost:", []string{"password is sent unencrypted"}, nil},
		{"no code", []string{"-p", "0", "-qr=false"}, "http://localhost:", nil, []string{code}},
		{"no code for loopback", []string{"-addr", "127.0.0.1:0", "-qr"}, "http://127.0.0.1:", []string{"No QR code"}, []string{code}},
		{"socket", []string{"-unix", filepath.Join(shortTemp(t), "s s"), "-auth", "u:p"}, "unix:/", []string{"curl --unix-socket '/", "s s' http://localhost/"}, []string{"password", code}},
	} {
		if runtime.GOOS == "windows" && c.name == "socket" {
			continue
		}
		got := shown(t, c.args...)
		lines := strings.Split(got, "\n")
		if !strings.HasPrefix(strings.TrimSpace(lines[1]), c.first) {
			t.Errorf("%s: %q, want %q first", c.name, got, c.first)
		}
		for _, s := range c.has {
			if !strings.Contains(got, s) {
				t.Errorf("%s: no %q in %q", c.name, s, got)
			}
		}
		for _, s := range c.hasNot {
			if strings.Contains(got, s) {
				t.Errorf("%s: %q in %q", c.name, s, got)
			}
		}
	}
	if got := shown(t, "-p", "0", "-qr"); strings.Contains(got, code) != reachable || strings.Contains(got, "No QR code") == reachable {
		t.Errorf("addresses in the network: %v; %q", reachable, got)
	}
}

func TestBannerMoved(t *testing.T) {
	a := addressFlags{host: "127.0.0.1", ports: []int{busy(t), 0}}
	ln, err := a.listen()
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	var b bytes.Buffer
	banner(&b, &serveConfig{dir: "/x"}, ln, &tlsSource{})
	if lines := strings.Split(b.String(), "\n"); !strings.HasSuffix(lines[1], "is in use: serving on "+strings.Split(ln.Addr().String(), ":")[1]+".") {
		t.Errorf("%q", b.String())
	}
}

func TestVisible(t *testing.T) {
	for in, want := range map[string]string{
		"/home/me/public":       "/home/me/public",
		"/home/zoë/世界":          "/home/zoë/世界",
		"/tmp/a b":              "/tmp/a b",
		"/tmp/\x1b[2Jx":         `"/tmp/\x1b[2Jx"`,
		"/tmp/a\nhttp://evil":   `"/tmp/a\nhttp://evil"`,
		"/tmp/\u202etxt.exe":    `"/tmp/\u202etxt.exe"`,
		"/tmp/\xff":             `"/tmp/\xff"`,
		"/tmp/\u009b31m":        `"/tmp/\u009b31m"`,
		"/tmp/zero\u200bwidth":  `"/tmp/zero\u200bwidth"`,
		"/tmp/quote\"backs\\la": "/tmp/quote\"backs\\la",
	} {
		if got := visible(in); got != want {
			t.Errorf("%q: %s, want %s", in, got, want)
		}
	}
}

func TestPhoneURL(t *testing.T) {
	for _, c := range []struct{ ip, want string }{
		{"0.0.0.0", "second"},
		{"::", "second"},
		{"127.0.0.1", ""},
		{"127.1.2.3", ""},
		{"::1", ""},
		{"192.0.2.1", "first"},
		{"2001:db8::1", "first"},
	} {
		if got := phoneURL(&net.TCPAddr{IP: net.ParseIP(c.ip), Port: 8080}, []string{"first", "second"}); got != c.want {
			t.Errorf("%s: %q, want %q", c.ip, got, c.want)
		}
	}
	if got := phoneURL(&net.TCPAddr{IP: net.IPv4zero}, []string{"localhost"}); got != "" {
		t.Errorf("without a network: %q", got)
	}
}

// The drawing has the modules of the encoder, and four light modules around them.
func TestQRCode(t *testing.T) {
	for _, url := range []string{"http://192.0.2.1:8080/", "https://[2001:db8:1111:2222:3333:4444:5555:6666]:65535/"} {
		want, err := qr.Encode(url, qr.L, qr.Unicode)
		if err != nil {
			t.Fatal(err)
		}
		size := want.Bounds().Dx()
		code, err := newQRCode(url)
		if err != nil {
			t.Fatal(err)
		}
		for _, colors := range []bool{true, false} {
			dark := modules(t, code.text(colors), colors)
			if len(dark) != size+2*quietZone+1 || len(dark[0]) != size+2*quietZone { // an odd number of rows ends in half a line
				t.Fatalf("%d x %d modules for a code of %d", len(dark), len(dark[0]), size)
			}
			for y, row := range dark {
				for x, got := range row {
					in := min(x, y) >= quietZone && max(x, y) < size+quietZone
					isDark := false
					if in {
						r, _, _, _ := want.At(x-quietZone, y-quietZone).RGBA()
						isDark = r == 0
					}
					if got != isDark {
						t.Fatalf("colors %v: module %d,%d is %v", colors, x, y, got)
					}
				}
			}
		}
	}
}

// modules reads a drawing: which modules are dark.
func modules(t *testing.T, text string, colors bool) (dark [][]bool) {
	t.Helper()
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		if colors {
			var ok1, ok2 bool
			line, ok1 = strings.CutPrefix(line, "\x1b[38;5;16;48;5;231m")
			line, ok2 = strings.CutSuffix(line, "\x1b[0m")
			if !ok1 || !ok2 {
				t.Fatalf("%q doesn't set and end its colors", line)
			}
		}
		var up, low []bool
		for _, r := range line {
			i := slices.Index([]rune(" ▀▄█"), r)
			if i < 0 {
				t.Fatalf("%q in the code", r)
			}
			up, low = append(up, (i&1 == 1) == colors), append(low, (i&2 == 2) == colors)
		}
		dark = append(dark, up, low)
	}
	return dark
}

func TestIsTerminal(t *testing.T) {
	file, err := os.Create(filepath.Join(t.TempDir(), "file"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	defer w.Close()
	if isTerminal(file) || isTerminal(w) || isTerminal(&bytes.Buffer{}) {
		t.Error("a file, a pipe or a buffer is a terminal")
	}
	pty, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		t.Skip("no terminals here:", err)
	}
	defer pty.Close()
	for _, c := range []struct {
		name, value string
		want        bool
	}{{"TERM", "xterm", true}, {"TERM", "dumb", false}, {"NO_COLOR", "1", false}} {
		t.Run(c.name+" "+c.value, func(t *testing.T) {
			t.Setenv("TERM", "xterm")
			t.Setenv("NO_COLOR", "")
			t.Setenv(c.name, c.value)
			if !isTerminal(pty) || hasColors(pty) != c.want {
				t.Errorf("terminal %v, colors %v", isTerminal(pty), hasColors(pty))
			}
		})
	}
}
