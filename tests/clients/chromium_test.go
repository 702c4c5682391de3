package clients

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// browser is a headless Chromium with one page, controlled through the pipe of its
// debugging protocol. A message is a line of JSON that ends with a NUL byte.
type browser struct {
	t       *testing.T
	send    *os.File
	replies chan message
	last    int    // the id of the last command
	session string // of the page
}

type message struct {
	ID     int             `json:"id,omitempty"`
	Method string          `json:"method,omitempty"`
	Params json.RawMessage `json:"params,omitempty"`
	Result json.RawMessage `json:"result,omitempty"`
	Error  json.RawMessage `json:"error,omitempty"`
	// Session names the page that a message comes from or is for.
	Session string `json:"sessionId,omitempty"`
}

func startBrowser(t *testing.T) *browser {
	t.Helper()
	path := find(t, "chromium", "chromium-browser", "google-chrome")
	toBrowser, send, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	receive, fromBrowser, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	var log lockedBuffer
	cmd := exec.Command(path, "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--disable-dev-shm-usage",
		"--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync",
		"--ignore-certificate-errors", "--window-size=800,600", "--remote-debugging-pipe", "--user-data-dir="+t.TempDir())
	cmd.ExtraFiles = []*os.File{toBrowser, fromBrowser} // 3 and 4
	cmd.Stderr = &log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	_, _ = toBrowser.Close(), fromBrowser.Close()
	b := &browser{t: t, send: send, replies: make(chan message, 1000)}
	go func() {
		defer close(b.replies)
		for r := bufio.NewReader(receive); ; {
			line, err := r.ReadBytes(0)
			if err != nil {
				return
			}
			var m message
			if json.Unmarshal(bytes.TrimSuffix(line, []byte{0}), &m) == nil {
				b.replies <- m
			}
		}
	}()
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("Chromium says: %s", log.String())
		}
		b.do("Browser.close", nil, nil)
		_ = send.Close()
		kill := time.AfterFunc(patience, func() { _ = cmd.Process.Kill() })
		for range b.replies { // until the browser has closed its end
		}
		_ = cmd.Wait()
		kill.Stop()
		_ = receive.Close()
	})
	var target struct{ TargetID, SessionID string }
	b.do("Target.createTarget", map[string]any{"url": "about:blank"}, &target)
	b.do("Target.attachToTarget", map[string]any{"targetId": target.TargetID, "flatten": true}, &target)
	b.session = target.SessionID
	b.do("Page.enable", nil, nil)
	return b
}

// do sends a command and puts its result into result, unless that is nil.
func (b *browser) do(method string, params, result any) {
	b.t.Helper()
	b.last++
	m := message{ID: b.last, Method: method, Session: b.session}
	if params != nil {
		m.Params, _ = json.Marshal(params)
	}
	line, _ := json.Marshal(m)
	if _, err := b.send.Write(append(line, 0)); err != nil {
		b.t.Errorf("%s: %v", method, err)
		return
	}
	reply, ok := b.await(method, func(m message) bool { return m.ID == b.last })
	if !ok {
		return
	}
	if reply.Error != nil {
		b.t.Fatalf("%s: %s", method, reply.Error)
	}
	if result != nil {
		if err := json.Unmarshal(reply.Result, result); err != nil {
			b.t.Fatalf("%s: %s: %v", method, reply.Result, err)
		}
	}
}

// await returns the next message for which wanted is true, and drops those before it.
func (b *browser) await(what string, wanted func(message) bool) (message, bool) {
	b.t.Helper()
	late := time.After(patience)
	for {
		select {
		case m, ok := <-b.replies:
			if !ok {
				b.t.Errorf("%s: Chromium has ended", what)
				return m, false
			}
			if wanted(m) {
				return m, true
			}
		case <-late:
			b.t.Errorf("%s: Chromium doesn't answer", what)
			return message{}, false
		}
	}
}

// open loads a page and waits until it is complete.
func (b *browser) open(url string) {
	b.t.Helper()
	var r struct{ ErrorText string }
	b.do("Page.navigate", map[string]any{"url": url}, &r)
	if r.ErrorText != "" {
		b.t.Fatalf("%s: %s", url, r.ErrorText)
	}
	b.loaded()
}

func (b *browser) loaded() {
	b.t.Helper()
	b.await("load", func(m message) bool { return m.Method == "Page.loadEventFired" })
}

// eval evaluates an expression of the page's script, awaits it if it is a
// promise, and puts its value into result.
func (b *browser) eval(expression string, result any) {
	b.t.Helper()
	var r struct {
		Result struct{ Value json.RawMessage }
		Error  json.RawMessage `json:"exceptionDetails"`
	}
	b.do("Runtime.evaluate", map[string]any{"expression": expression, "awaitPromise": true, "returnByValue": true}, &r)
	if r.Error != nil {
		b.t.Fatalf("%s: %s", expression, r.Error)
	}
	if err := json.Unmarshal(r.Result.Value, result); err != nil {
		b.t.Fatalf("%s: %s: %v", expression, r.Result.Value, err)
	}
}

// screenshot writes a picture of the page to a file, which go test -artifacts keeps.
func (b *browser) screenshot(name string) {
	b.t.Helper()
	var r struct{ Data []byte } // base64 in JSON
	b.do("Page.captureScreenshot", nil, &r)
	path := filepath.Join(b.t.ArtifactDir(), name)
	if err := os.WriteFile(path, r.Data, 0o644); err != nil || len(r.Data) == 0 {
		b.t.Errorf("%s: %d bytes, %v", path, len(r.Data), err)
	}
}

func TestChromiumPage(t *testing.T) {
	b := startBrowser(t)
	dir, _, _ := site(t)
	plain, secure := serveFiles(t, dir), serveFiles(t, dir, "-tls-self-signed")
	for i, s := range []*server{secure, plain} {
		protocol := []string{"h2", "http/1.1"}[i]
		b.open(s.url + "/")
		var look struct {
			Images               int
			Background, Protocol string
		}
		b.eval("look()", &look)
		if look.Images != 6 || look.Background != "rgb(238, 238, 255)" || look.Protocol != protocol {
			t.Errorf("%s shows %+v", s.url, look)
		}
		for _, target := range []string{"/", "/style.css", "/page.js", "/img/0.png", "/img/5.png"} {
			s.wantAnswers(target, 200, 1)
		}
	}
	b.screenshot("page.png")

	// For a page that is loaded again the browser sends conditional requests.
	b.do("Page.reload", nil, nil)
	b.loaded()
	plain.wantAnswers("/", 304, 1)

	// A listing, and its links to a folder and a file.
	b.open(plain.url + "/sub/")
	b.screenshot("listing.png")
	var names []string
	b.eval(`[...document.querySelectorAll("tbody a")].map((a) => a.textContent)`, &names)
	if fmt.Sprint(names) != "[a b.txt ü.txt]" {
		t.Errorf("the listing has %q", names)
	}
	for i, want := range []string{"a b", "ü"} {
		var text string
		b.eval(fmt.Sprintf(`fetch(document.querySelectorAll("tbody a")[%d].href).then((r) => r.text())`, i), &text)
		if text != want {
			t.Errorf("link %q leads to %q", names[i], text)
		}
	}
}

func TestChromiumFetch(t *testing.T) {
	b := startBrowser(t)
	dir, _, random := site(t)
	big := bytes.Repeat(random, 16)
	if err := os.WriteFile(filepath.Join(dir, "big.bin"), big, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(dir, filepath.Join(dir, "static")); err != nil {
		t.Fatal(err)
	}
	files, open, contract := serveFiles(t, dir), serveFiles(t, dir, "-cors"), serveContract(t, dir)

	// The server works as before after downloads that were cancelled.
	b.open(files.url + "/")
	var n int
	b.eval("abort('/big.bin', 10)", &n)
	b.eval("fetch('/big.bin').then((r) => r.blob()).then((b) => b.size)", &n)
	if n != len(big) {
		t.Errorf("%d of %d bytes after downloads that were given up", n, len(big))
	}

	// With -cors another origin can read files, after a preflight.
	var cross struct {
		Status      int
		Range, Text string
	}
	b.eval(fmt.Sprintf("cross('%s/%s')", open.url, helloName), &cross)
	if cross.Status != 206 || cross.Range != fmt.Sprintf("bytes 1-3/%d", len(helloText)) || cross.Text != helloText[1:4] {
		t.Errorf("another origin: %+v", cross)
	}
	open.wantAnswers("/"+helloName, 204, 1) // the preflight request
	var refused bool
	b.eval(fmt.Sprintf("cross('%s/static/page.js').then(() => false, () => true)", contract.url), &refused)
	if !refused {
		t.Error("another origin's file is read without its consent")
	}

	b.open(contract.url + "/static/index.html")
	for _, size := range []int{0, 1, 70_000, 1 << 20} {
		var echo struct {
			Status, Length int
			Method         string
		}
		b.eval(fmt.Sprintf("upload('/up', %d)", size), &echo)
		if echo.Status != 200 || echo.Length != size || echo.Method != "POST" {
			t.Errorf("%d bytes posted: %+v", size, echo)
		}
	}
	var text string
	b.eval("fetch('/stream').then((r) => r.text())", &text)
	if text != "part1part2" {
		t.Errorf("streamed: %q", text)
	}
}

func TestChromiumVideo(t *testing.T) {
	ffmpeg := find(t, "ffmpeg")
	b := startBrowser(t)
	dir, _, _ := site(t)
	// Noise can't be compressed, so a few seconds of it are more than the browser reads
	// ahead.
	for name, args := range map[string]string{
		"video.webm": "-c:v libvpx -b:v 8M -deadline realtime -cpu-used 8",
		"video.mp4":  "-c:v libx264 -b:v 8M -preset ultrafast -pix_fmt yuv420p", // its index is at the end
	} {
		input := strings.Fields("-v error -f lavfi -i testsrc2=size=320x180:rate=25:duration=16,noise=alls=100:allf=t -g 25")
		run(t, ffmpeg, append(append(input, strings.Fields(args)...), filepath.Join(dir, name))...)
	}
	s := serveFiles(t, dir)
	b.open(s.url + "/")
	for _, name := range []string{"video.webm", "video.mp4"} {
		info, err := os.Stat(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		var seen struct {
			Duration float64
			Times    []float64
		}
		b.eval(fmt.Sprintf("seek('%s', [0.9, 0.1, 0.6, 0.3])", name), &seen)
		if seen.Duration < 15 || fmt.Sprintf("%.1f", seen.Times) != "[0.9 0.1 0.6 0.3]" {
			t.Errorf("%s: %+v", name, seen)
		}
		parts := 0
		for _, l := range s.requests() {
			switch {
			case l.Target != "/"+name, l.Status == 304: // it checks whether its copy is still valid
			case l.Status != 206:
				t.Errorf("%s: status %d", name, l.Status)
			default:
				parts++
			}
		}
		t.Logf("%s: %d bytes, asked for %d times", name, info.Size(), parts)
		if parts < 2 {
			t.Errorf("%s: %+v", name, s.requests())
		}
	}
	b.screenshot("video.png")
}
