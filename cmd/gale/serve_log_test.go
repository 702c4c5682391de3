package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/galehttp/gale"
)

// combined is a strict parser of the Combined Log Format.
var combined = regexp.MustCompile(`^([0-9a-f.:]+|-) - ([!-~]+) \[([^]]+)\] "([^"]*)" ([1-9][0-9]{2}) ([1-9][0-9]*|-) "([^"]*)" "([^"]*)"$`)

var escape = regexp.MustCompile(`\\x[0-9a-f]{2}`)

// combinedLine is a parsed line.
type combinedLine struct{ host, user, request, status, size, referer, agent string }

func parseCombined(t *testing.T, line string) combinedLine {
	t.Helper()
	m := combined.FindStringSubmatch(line)
	if m == nil {
		t.Fatalf("not in the Combined Log Format: %q", line)
	}
	if _, err := time.Parse(combinedTime, m[3]); err != nil {
		t.Errorf("%q: %v", line, err)
	}
	if rest := escape.ReplaceAllString(line, ""); strings.ContainsFunc(rest, func(r rune) bool { return r < ' ' || r > '~' || r == '\\' }) {
		t.Errorf("characters that aren't escaped: %q", line)
	}
	return combinedLine{m[1], m[2], m[4], m[5], m[6], m[7], m[8]}
}

// lines waits until the log has n lines that contain mark, and returns them.
func (h *here) lines(t *testing.T, mark string, n int) []string {
	t.Helper()
	var lines []string
	eventually(t, func() string {
		lines = nil
		for line := range strings.Lines(h.log.String()) {
			if strings.Contains(line, mark) {
				lines = append(lines, strings.TrimSuffix(line, "\n"))
			}
		}
		if len(lines) < n {
			return fmt.Sprintf("%d lines with %q are expected: %s", n, mark, h.log.String())
		}
		return ""
	})
	if len(lines) > n {
		t.Errorf("%d lines, want %d: %q", len(lines), n, lines)
	}
	return lines
}

// exchange sends raw bytes and returns what comes until the server closes.
func (h *here) exchange(t *testing.T, request string) string {
	t.Helper()
	conn, err := net.Dial("tcp", strings.Trim(strings.TrimPrefix(h.url, "http://"), "/"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(patience))
	if _, err := io.WriteString(conn, request); err != nil {
		t.Fatal(err)
	}
	b, err := io.ReadAll(conn)
	if err != nil {
		t.Fatalf("%q, %v", b, err)
	}
	return string(b)
}

func TestLogCombined(t *testing.T) {
	dir := site(t, map[string]string{"a.txt": "hello"})
	for _, engine := range engines() {
		h := serveHere(t, engine, dir, nil, "-log", "combined", "-auth", "some one:pass")
		const auth = "Authorization: Basic c29tZSBvbmU6cGFzcw==\r\n"
		const rest = "Host: a\r\nConnection: close\r\n" + auth
		for i, c := range []struct {
			name, request string
			want          combinedLine
		}{
			{"file", "GET /a.txt?q=1 HTTP/1.1\r\n" + rest + "Referer: http://b/\r\nUser-Agent: test/1 (x; y)\r\n\r\n",
				combinedLine{"127.0.0.1", `some\x20one`, "GET /a.txt?q=1 HTTP/1.1", "200", "5", "http://b/", "test/1 (x; y)"}},
			{"head", "HEAD /a.txt HTTP/1.1\r\n" + rest + "\r\n",
				combinedLine{"127.0.0.1", `some\x20one`, "HEAD /a.txt HTTP/1.1", "200", "-", "-", "-"}},
			{"forged", "GET /a.txt HTTP/1.1\r\n" + rest + "Referer: a\" 200 5 \"\\\r\nUser-Agent: \xc3\xa4\tb\x80\r\n\r\n",
				combinedLine{"127.0.0.1", `some\x20one`, "GET /a.txt HTTP/1.1", "200", "5", `a\x22 200 5 \x22\x5c`, `\xc3\xa4\x09b\x80`}},
			{"quote in the target", "GET /\"\\ HTTP/1.1\r\n" + rest + "\r\n", combinedLine{}},
			{"no password", "GET /a.txt HTTP/1.0\r\nAuthorization: Basic eDp5\r\n\r\n",
				combinedLine{"127.0.0.1", "-", "GET /a.txt HTTP/1.0", "401", "41", "-", "-"}},
			{"no field", "GET / HTTP/1.0\r\n\r\n", combinedLine{"127.0.0.1", "-", "GET / HTTP/1.0", "401", "41", "-", "-"}},
			{"bad head", "GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", combinedLine{"127.0.0.1", "-", "-", "400", "", "-", "-"}},
			{"no request", "\x16\x03\x01\r\n\r\n", combinedLine{"127.0.0.1", "-", "-", "400", "", "-", "-"}},
			{"large head", "GET / HTTP/1.1\r\nHost: a\r\nX: " + strings.Repeat("x", 1<<20) + "\r\n\r\n", combinedLine{"127.0.0.1", "-", "-", "431", "", "-", "-"}},
			{"large body", "POST /up HTTP/1.1\r\nHost: a\r\nContent-Length: 100000000\r\n\r\n", combinedLine{"127.0.0.1", "-", "POST /up HTTP/1.1", "413", "", "-", "-"}},
		} {
			h.exchange(t, c.request)
			got := parseCombined(t, h.lines(t, "", i+1)[i])
			if c.want.size == "" {
				c.want.size = got.size
			}
			if got != c.want && c.want != (combinedLine{size: got.size}) {
				t.Errorf("%s: %s: %+v, want %+v", engine, c.name, got, c.want)
			}
		}
		h = serveHere(t, engine, dir, func(s *gale.Server) { s.ReadTimeout = 10 * time.Millisecond }, "-log", "combined")
		h.exchange(t, "GET / HTTP/1.1\r\nHost: a")
		if got := parseCombined(t, h.lines(t, "", 1)[0]); got.request != "-" || got.status != "408" {
			t.Errorf("%s: slow head: %+v", engine, got)
		}
	}
}

func TestLogRecords(t *testing.T) {
	dir := site(t, map[string]string{"a.txt": "hello"})
	for _, engine := range engines() {
		h := serveHere(t, engine, dir, nil, "-log", "json", "-auth", "u:p")
		h.exchange(t, "GET /a.txt HTTP/1.1\r\nHost: a\r\nConnection: close\r\nAuthorization: Basic dTpw\r\nUser-Agent: x\"\n y\r\n\r\n")
		h.exchange(t, "GET /a.txt HTTP/1.1\r\nHost: a\r\nConnection: close\r\nAuthorization: Basic dTpw\r\nUser-Agent: x\"y\r\nReferer: z\r\n\r\n")
		lines := h.lines(t, `"msg":"request"`, 2)
		var bad, good struct {
			Msg, Remote, Method, Target, Proto, User, Agent, Referer string
			Status, Size, Duration                                   int
		}
		for i, v := range []any{&bad, &good} {
			if err := json.Unmarshal([]byte(lines[i]), v); err != nil {
				t.Fatalf("%q: %v", lines[i], err)
			}
		}
		if bad.Msg != "request" || bad.Status != 400 || bad.Method != "" || bad.Remote == "" {
			t.Errorf("%s: %+v", engine, bad)
		}
		if good.Method != "GET" || good.Target != "/a.txt" || good.Proto != "HTTP/1.1" || good.Status != 200 || good.Size != 5 ||
			good.User != "u" || good.Agent != `x"y` || good.Referer != "z" || good.Duration <= 0 {
			t.Errorf("%s: %+v", engine, good)
		}
	}
}

// If the client leaves, the line has what was sent until then.
func TestLogBrokenResponse(t *testing.T) {
	const size = 64 << 20
	dir := site(t, map[string]string{"big.bin": ""})
	if err := os.Truncate(filepath.Join(dir, "big.bin"), size); err != nil {
		t.Fatal(err)
	}
	for _, engine := range engines() {
		h := serveHere(t, engine, dir, nil, "-log", "json")
		conn, err := net.Dial("tcp", strings.Trim(strings.TrimPrefix(h.url, "http://"), "/"))
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprint(conn, "GET /big.bin HTTP/1.1\r\nHost: a\r\n\r\n")
		if _, err := io.CopyN(io.Discard, conn, 1<<20); err != nil {
			t.Fatal(err)
		}
		conn.Close()
		var line struct {
			Status, Size, Duration, Ready int
			Error                         string
		}
		if err := json.Unmarshal([]byte(h.lines(t, `"msg":"request"`, 1)[0]), &line); err != nil {
			t.Fatal(err)
		}
		if line.Status != 200 || line.Size < 1<<19 || line.Size >= size || line.Error == "" || line.Duration < line.Ready {
			t.Errorf("%s: %+v", engine, line)
		}
	}
}

// Every byte becomes one that is harmless in a line, and no two inputs become equal.
func TestAppendText(t *testing.T) {
	seen := map[string]byte{}
	for i := range 256 {
		got := string(appendText(nil, []byte{byte(i)}, ' '))
		if other, twice := seen[got]; twice {
			t.Errorf("%#x and %#x are both %q", i, other, got)
		}
		seen[got] = byte(i)
		if plain := len(got) == 1; plain != (i >= ' ' && i < 0x7f && i != '"' && i != '\\') {
			t.Errorf("%#x is %q", i, got)
		}
	}
	if got := string(appendEscaped(nil, "a b")); got != `a\x20b` {
		t.Error(got)
	}
}

// stuckWriter is a pipe that is full until free is closed.
type stuckWriter struct {
	lockedBuffer
	free chan struct{}
	err  error
}

func (w *stuckWriter) Write(p []byte) (int, error) {
	<-w.free
	if w.err != nil {
		return 0, w.err
	}
	return w.lockedBuffer.Write(p)
}

// A log that no one reads blocks nothing. Lines beyond the limit are dropped and counted.
func TestLogWithoutReader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &stuckWriter{free: make(chan struct{})}
		l := newLineWriter(w)
		lost := 0
		l.lost = func(n int) { lost += n; _, _ = l.Write([]byte("lost\n")) }
		line := []byte(strings.Repeat("x", 99) + "\n")
		_, _ = l.Write(line)
		synctest.Wait() // the first line is being written
		const more = 5
		for range maxUnwritten/len(line) + more {
			_, _ = l.Write(line)
		}
		start := time.Now()
		l.flush(time.Minute)
		if time.Since(start) != time.Minute {
			t.Error("flush doesn't wait")
		}
		close(w.free)
		l.flush(time.Hour)
		s := w.String()
		if n := strings.Count(s, "x\n"); n != 1+maxUnwritten/len(line) || lost != more || !strings.HasSuffix(s, "x\nlost\n") {
			t.Errorf("%d lines are written, %d are reported as lost", n, lost)
		}
		_, _ = l.Write(line)
		l.flush(time.Hour)
		if w.String() != s+string(line) || lost != more {
			t.Error("it doesn't go on as before")
		}
	})
}

// After errors, such as a full disk, the next lines are tried.
func TestLogErrors(t *testing.T) {
	w := &stuckWriter{free: make(chan struct{}), err: errors.New("full")}
	close(w.free)
	l := newLineWriter(w)
	_, _ = l.Write([]byte("a\n"))
	l.flush(patience)
	w.err = nil
	_, _ = l.Write([]byte("b\n"))
	l.flush(patience)
	if s := w.String(); s != "b\n" {
		t.Errorf("%q", s)
	}
}

// Lines of several goroutines stay whole.
func TestLogConcurrently(t *testing.T) {
	var w lockedBuffer
	l := newLineWriter(&w)
	var all sync.WaitGroup
	for g := range 8 {
		all.Go(func() {
			for i := range 500 {
				_, _ = l.Write(fmt.Appendf(nil, "%d:%d\n", g, i))
			}
		})
	}
	all.Wait()
	l.flush(patience)
	next := [8]int{}
	for line := range strings.Lines(w.String()) {
		a, b, _ := strings.Cut(strings.TrimSuffix(line, "\n"), ":")
		g, _ := strconv.Atoi(a)
		if b != strconv.Itoa(next[g]) {
			t.Fatalf("line %q, want number %d", line, next[g])
		}
		next[g]++
	}
	if next != [8]int{500, 500, 500, 500, 500, 500, 500, 500} {
		t.Error(next)
	}
}

// The server goes on if the reader of its log ends.
func TestServeSurvivesBrokenLog(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("no SIGPIPE on Windows")
	}
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(galeBinary, "serve", "-addr", "127.0.0.1:0", site(t, map[string]string{"a.txt": "hello"}))
	cmd.Stderr = w
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}()
	_ = w.Close()
	_ = r.Close()
	var banner bytes.Buffer
	for !strings.Contains(banner.String(), "Press Ctrl-C") {
		if _, err := io.CopyN(&banner, stdout, 1); err != nil {
			t.Fatalf("%q: %v", banner.String(), err)
		}
	}
	url := regexp.MustCompile(`http://\S+`).FindString(banner.String())
	for range 3 {
		resp, err := client.Get(url + "a.txt")
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
		if resp.StatusCode != http.StatusOK {
			t.Errorf("status %d", resp.StatusCode)
		}
	}
}

// No line of the log has a character that does something to a terminal, and JSON keeps its meaning.
func TestLogHidden(t *testing.T) {
	const hidden = "\x7f\u0080\u009b31m\u061c\u200e\u200f\u202a\u202e\u2028\u2029\u2066\u2069\xff\U000e0041 größer"
	for _, format := range []string{"text", "json", "combined"} {
		h := serveHere(t, "block", site(t, map[string]string{"a.txt": "a"}), nil, "-log", format)
		// DEL isn't allowed in a field, and neither it nor a space in a target.
		agent := strings.TrimPrefix(hidden, "\x7f")
		target := strings.TrimSuffix(agent, " größer")
		h.exchange(t, "GET /mark"+target+" HTTP/1.1\r\nHost: h\r\nConnection: close\r\nUser-Agent: "+agent+"\r\nReferer: "+agent+"\r\n\r\n")
		line := h.lines(t, "/mark", 1)[0]
		if !utf8.ValidString(line) || strings.ContainsFunc(line, func(r rune) bool { return unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp) }) {
			t.Errorf("%s: %q", format, line)
		}
		if format != "json" {
			continue
		}
		var got struct{ Target, Agent, Referer string }
		if err := json.Unmarshal([]byte(line), &got); err != nil {
			t.Fatal(err)
		}
		want := strings.ToValidUTF8(agent, "\ufffd")
		if got.Agent != want || got.Referer != want || got.Target != "/mark"+strings.ToValidUTF8(target, "\ufffd") {
			t.Errorf("%+q, want %+q", got, want)
		}
	}
}
