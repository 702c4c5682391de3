package browser

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

// patience bounds waits that end at once unless something is broken.
const patience = time.Minute

var (
	binaries string          // the folder with gale, testserver and ws-chat
	chromium context.Context // of the browser that all tests share
)

func TestMain(m *testing.M) {
	os.Exit(run(m))
}

func run(m *testing.M) int {
	path := ""
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if found, err := exec.LookPath(name); err == nil {
			path = found
			break
		}
	}
	if path == "" {
		fmt.Println("LEFT OUT: Chromium is not installed")
		return 0
	}
	dir, err := os.MkdirTemp("", "gale-browser-")
	if err != nil {
		fmt.Println(err)
		return 1
	}
	defer os.RemoveAll(dir)
	binaries = dir
	build := exec.Command("go", "build", "-o", dir+string(filepath.Separator), "./cmd/gale", "./cmd/gale/internal/listing/testserver", "./examples/ws-chat")
	build.Dir = filepath.Join("..", "..")
	if out, err := build.CombinedOutput(); err != nil {
		fmt.Printf("go build: %v\n%s", err, out)
		return 1
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(path), chromedp.Flag("lang", "en-GB"),
		chromedp.UserDataDir(filepath.Join(dir, "profile")), chromedp.WSURLReadTimeout(patience))
	if os.Geteuid() == 0 {
		options = append(options, chromedp.NoSandbox)
	}
	allocator, stop := chromedp.NewExecAllocator(context.Background(), options...)
	defer stop()
	browser, end := chromedp.NewContext(allocator)
	defer end()
	if err := chromedp.Do(browser); err != nil {
		fmt.Println("Chromium doesn't start:", err)
		return 1
	}
	chromium = browser
	return m.Run()
}

// start runs a server, "gale serve", testserver or ws-chat, until the test ends, and returns its
// address.
func start(t *testing.T, program string, args ...string) string {
	t.Helper()
	url, _ := startProcess(t, program, args...)
	return url
}

// startProcess is start with a function that ends the server before.
func startProcess(t *testing.T, program string, args ...string) (url string, stop func()) {
	t.Helper()
	cmd := exec.Command(filepath.Join(binaries, program), args...)
	cmd.Env = append(os.Environ(), "TMPDIR="+t.TempDir())
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	stop = sync.OnceFunc(func() {
		_ = stdin.Close()
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	t.Cleanup(stop)
	for lines := bufio.NewScanner(stdout); lines.Scan(); {
		if s := strings.TrimSpace(lines.Text()); strings.HasPrefix(s, "http") {
			return s, stop
		}
	}
	t.Fatalf("%s printed no address", program)
	return "", nil
}

func serve(t *testing.T, dir string, args ...string) string {
	t.Helper()
	return start(t, "gale", append([]string{"serve", "-addr", "127.0.0.1:0", "-log", "off", dir}, args...)...)
}

// old is the time of all files of site.
var old = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// site makes a folder with files of the given sizes. A name that ends in a slash is a folder.
func site(t *testing.T, files map[string]int) string {
	t.Helper()
	dir := t.TempDir()
	for name, size := range files {
		path := filepath.Join(dir, filepath.FromSlash(name))
		var err error
		if strings.HasSuffix(name, "/") {
			err = os.MkdirAll(path, 0o755)
		} else if err = os.MkdirAll(filepath.Dir(path), 0o755); err == nil {
			err = os.WriteFile(path, make([]byte, size), 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	for name := range files {
		if err := os.Chtimes(filepath.Join(dir, filepath.FromSlash(name)), old, old); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// page is a tab of the browser.
type page struct {
	t   *testing.T
	ctx context.Context

	mu       sync.Mutex
	problems []string
}

// device is what the tab pretends to be on.
type device struct {
	name          string
	width, height int64
	dark          bool
}

var (
	screen = device{"1280", 1280, 800, false}
	phone  = device{"390", 390, 844, false}
)

func (d device) inDark() device {
	d.name += "-dark"
	d.dark = true
	return d
}

// open opens an address in a tab of its own, which is closed when the test ends. Errors on
// the console, such as a violation of the Content-Security-Policy, fail the test.
func open(t *testing.T, d device, url string, before ...action) *page {
	t.Helper()
	p := &page{t: t}
	tab, closeTab := chromedp.NewContext(chromium)
	if err := chromedp.Do(tab); err != nil { // must have no deadline
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(tab, 2*patience)
	p.ctx = ctx
	t.Cleanup(func() {
		cancel()
		closeTab()
		p.mu.Lock()
		defer p.mu.Unlock()
		for _, problem := range p.problems {
			t.Error(problem)
		}
	})
	err := chromedp.Listen(ctx, func(event any) {
		p.mu.Lock()
		defer p.mu.Unlock()
		switch e := event.(type) {
		case *runtime.EventExceptionThrown:
			p.problems = append(p.problems, "exception: "+fmt.Sprintf("%+v %+v", e.ExceptionDetails.Text, e.ExceptionDetails.Exception))
		case *runtime.EventConsoleAPICalled:
			if e.Type == runtime.ConsoleAPICalledTypeError || e.Type == runtime.ConsoleAPICalledTypeWarning {
				p.problems = append(p.problems, fmt.Sprintf("console: %s", e.Args[0].Value))
			}
		case *log.EventEntryAdded:
			if e.Entry.Level == log.EntryLevelError || e.Entry.Level == log.EntryLevelWarning {
				p.problems = append(p.problems, fmt.Sprintf("log: %s (%s)", e.Entry.Text, e.Entry.URL))
			}
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	scheme := "light"
	if d.dark {
		scheme = "dark"
	}
	p.run(
		call(emulation.SetDeviceMetricsOverride, emulation.SetDeviceMetricsOverrideParams{Width: d.width, Height: d.height, DeviceScaleFactor: 1, Mobile: d.width < 600}),
		call(emulation.SetTouchEmulationEnabled, emulation.SetTouchEmulationEnabledParams{Enabled: d.width < 600}),
		call(emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}}}),
		call(emulation.SetTimezoneOverride, emulation.SetTimezoneOverrideParams{TimezoneID: "Asia/Tokyo"}),
		call(emulation.SetLocaleOverride, emulation.SetLocaleOverrideParams{Locale: "en-GB"}),
	)
	p.run(before...)
	p.run(chromedp.Navigate(url))
	return p
}

// expect forgets the problems that contain text, and fails if there are none.
func (p *page) expect(text string) {
	p.t.Helper()
	p.mu.Lock()
	defer p.mu.Unlock()
	var rest []string
	for _, problem := range p.problems {
		if !strings.Contains(problem, text) {
			rest = append(rest, problem)
		}
	}
	if len(rest) == len(p.problems) {
		p.t.Errorf("no problem with %q in %q", text, p.problems)
	}
	p.problems = rest
}

// action is a step in a tab.
type action = chromedp.Action[chromedp.Void]

// call returns the action of a command of the DevTools protocol.
func call[P, R any](command cdp.Command[P, R], params P) action {
	return chromedp.Func(func(ctx context.Context, t *chromedp.Target) error {
		_, err := cdp.Call(ctx, t, command, params)
		return err
	})
}

func (p *page) run(actions ...action) {
	p.t.Helper()
	if err := chromedp.Do(p.ctx, actions...); err != nil {
		p.t.Fatal(err)
	}
}

// eval evaluates JavaScript and unmarshals the result.
func eval[T any](p *page, js string) T {
	p.t.Helper()
	v, err := chromedp.Run(p.ctx, chromedp.Evaluate[T](js, chromedp.EvalAwaitPromise))
	if err != nil {
		p.t.Fatalf("%s: %v", js, err)
	}
	return v
}

// want waits until js evaluates to want.
func want[T comparable](p *page, what, js string, want T) {
	p.t.Helper()
	var got T
	for deadline := time.Now().Add(patience); ; {
		if got = eval[T](p, js); got == want {
			return
		}
		if time.Now().After(deadline) {
			p.t.Fatalf("gave up after %v: %s: got %v, want %v", patience, what, got, want)
		}
		time.Sleep(20 * time.Millisecond) // between two looks
	}
}

// names returns the names that are shown, separated by spaces.
const names = `[...document.querySelectorAll('tbody tr:not([hidden]) bdi')].map(e => e.textContent).join(' ')`

// html returns the element that selector finds.
func (p *page) html(selector string) string {
	p.t.Helper()
	html, err := chromedp.Run(p.ctx, chromedp.OuterHTML(chromedp.CSS(selector)))
	if err != nil {
		p.t.Fatal(err)
	}
	return html
}

// press sends keys to the element that has the focus.
func (p *page) press(keys string) {
	p.t.Helper()
	p.run(chromedp.KeyEvent(keys))
}

// slash presses the key "/". Unlike press it doesn't type the character if the page has
// another use for the key.
func (p *page) slash() {
	p.t.Helper()
	key := input.DispatchKeyEventParams{Type: input.DispatchKeyEventTypeKeyDown, Key: "/", Code: "Slash", Text: "/", UnmodifiedText: "/", WindowsVirtualKeyCode: 191}
	up := key
	up.Type, up.Text, up.UnmodifiedText = input.DispatchKeyEventTypeKeyUp, "", ""
	p.run(call(input.DispatchKeyEvent, key), call(input.DispatchKeyEvent, up))
}

// get returns what a client without scripts gets.
func get(t *testing.T, url string) string {
	t.Helper()
	resp, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(body)
}

// shot writes a picture of the page, if pictures are wanted.
func (p *page) shot(name string) {
	p.t.Helper()
	dir := os.Getenv("GALE_SCREENSHOTS")
	if dir == "" {
		return
	}
	capture := chromedp.FullScreenshot(100)
	if eval[int](p, `document.body.scrollHeight`) > 5000 {
		capture = chromedp.CaptureScreenshot()
	}
	picture, err := chromedp.Run(p.ctx, capture)
	if err != nil {
		p.t.Fatal(err)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		p.t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, name+".png"), picture, 0o644); err != nil {
		p.t.Fatal(err)
	}
}

// checkLook finds what must not be on any page: text that is hard to read, and parts that
// are wider than the window. On a phone also targets that are too small for a finger.
func (p *page) checkLook(what string) {
	p.t.Helper()
	for _, f := range eval[[]string](p, lookScript) {
		p.t.Errorf("%s: %s", what, f)
	}
}

// lookScript returns a list of findings. The contrast is that of WCAG 2.2: 4.5 for text, 3
// for large text.
const lookScript = `(() => {
	const findings = new Set();
	const channels = (c) => { const m = c.match(/[\d.]+/g).map(Number); return { rgb: m.slice(0, 3), a: m[3] ?? 1 }; };
	const light = (rgb) => {
		const [r, g, b] = rgb.map((v) => { v /= 255; return v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4; });
		return 0.2126 * r + 0.7152 * g + 0.0722 * b;
	};
	const behind = (e) => {
		for (; e; e = e.parentElement) {
			const c = channels(getComputedStyle(e).backgroundColor);
			if (c.a === 1) return c.rgb;
		}
		return [255, 255, 255];
	};
	const root = document.documentElement;
	if (root.scrollWidth > root.clientWidth) findings.add('the page is ' + root.scrollWidth + ' wide in a window of ' + root.clientWidth);
	const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
	for (let n = walker.nextNode(); n; n = walker.nextNode()) {
		const e = n.parentElement, box = e.getBoundingClientRect();
		if (!n.data.trim() || e.closest('script, style, svg, .unseen, .skip') || !e.checkVisibility({ visibilityProperty: true }) || !box.width) continue;
		const style = getComputedStyle(e);
		const size = parseFloat(style.fontSize), large = size >= 24 || size >= 18.66 && style.fontWeight >= 700;
		const a = light(channels(style.color).rgb), b = light(behind(e));
		const contrast = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
		if (contrast < (large ? 3 : 4.5)) findings.add('contrast ' + contrast.toFixed(2) + ' of "' + n.data.trim().slice(0, 30) + '"');
		if (box.right > root.clientWidth + 0.5 || box.left < -0.5) findings.add('outside of the window: "' + n.data.trim().slice(0, 30) + '"');
	}
	if (root.clientWidth < 600) {
		for (const e of document.querySelectorAll('tbody tr, a, button, input')) {
			const h = e.getBoundingClientRect().height;
			if (e.checkVisibility({ visibilityProperty: true }) && !e.closest('.skip, .nothing') && h < 44) findings.add(e.tagName + ' "' + e.textContent.slice(0, 20) + '" is ' + h + ' high');
		}
	}
	return [...findings];
})()`
