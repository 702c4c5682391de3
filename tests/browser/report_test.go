package browser

import (
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/input"
	cdppage "github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// sampleReports are the reports that internal/measure/page writes for its tests.
var sampleReports = []string{"plain", "errors", "ramp", "urls", "short", "long", "unwatched", "hostile", "document"}

// reports is the folder with the reports.
var reports = sync.OnceValues(func() (string, error) {
	dir := filepath.Join(binaries, "reports")
	if err := os.Mkdir(dir, 0o755); err != nil {
		return "", err
	}
	write := exec.Command("go", "test", "-count=1", "-run", "^TestWriteSamples$", "./internal/measure/page")
	write.Dir, write.Env = filepath.Join("..", ".."), append(os.Environ(), "GALE_SAMPLES="+dir)
	if out, err := write.CombinedOutput(); err != nil {
		return "", fmt.Errorf("%w\n%s", err, out)
	}
	return dir, nil
})

// report returns the address of a report on the disk.
func report(t *testing.T, name string) string {
	t.Helper()
	dir, err := reports()
	if err != nil {
		t.Fatal(err)
	}
	return "file://" + filepath.ToSlash(filepath.Join(dir, name+".html"))
}

// pixels returns a script that runs body with the pixels d of the canvas c. It reads a copy:
// browsers warn about a canvas that is read often.
func pixels(canvas, body string) string {
	return `((c) => {
		const copy = document.createElement('canvas');
		[copy.width, copy.height] = [c.width, c.height];
		const context = copy.getContext('2d', { willReadFrequently: true });
		context.drawImage(c, 0, 0);
		const d = context.getImageData(0, 0, c.width, c.height).data;
		` + body + `
	})(` + canvas + `)`
}

// count returns a script that returns how many pixels of a chart have a colour.
func count(chart string, colour int) string {
	return pixels(fmt.Sprintf(`document.querySelector('#%s canvas')`, chart), fmt.Sprintf(`let n = 0;
		for (let i = 0; i < d.length; i += 4) if (d[i + 3] === 255 && (d[i] << 16 | d[i + 1] << 8 | d[i + 2]) === %d) n++;
		return n;`, colour))
}

// drawn says for each chart whether it has many pixels that aren't transparent, of more than
// ten colours.
var drawn = `[...document.querySelectorAll('.plot canvas')].map((canvas) => ` + pixels("canvas", `const seen = new Set();
	let n = 0;
	for (let i = 0; i < d.length; i += 4) if (d[i + 3]) { n++; seen.add(d[i] << 16 | d[i + 1] << 8 | d[i + 2]); }
	return n > 500 && seen.size > 10;`) + `)`

func TestReportLooks(t *testing.T) {
	for _, d := range []device{screen, phone, screen.inDark(), phone.inDark()} {
		for _, name := range sampleReports {
			if d.dark && !slices.Contains([]string{"ramp", "errors", "document"}, name) {
				continue // they have the same parts
			}
			p := open(t, d, report(t, name))
			p.checkReport(name + " " + d.name)
			p.shotWhole("report-" + name + "-" + d.name)
		}
	}
}

// checkReport checks how a report looks. What is in a part that scrolls by itself may be
// outside of the window.
func (p *page) checkReport(what string) {
	p.t.Helper()
	want(p, what+": charts", `document.querySelectorAll('.plot').length === document.querySelectorAll('.plot canvas').length && `+drawn+`.every((v) => v)`, true)
	p.checkLook(what)
	for _, f := range eval[[]string](p, chartScript) {
		p.t.Errorf("%s: %s", what, f)
	}
}

// chartScript finds charts that are wider than their place, and colours of lines that have a
// contrast below 3 with the page.
const chartScript = `(() => {
	const findings = [];
	const light = (css) => {
		const context = document.createElement('canvas').getContext('2d');
		context.fillStyle = css;
		context.fillRect(0, 0, 1, 1);
		const [r, g, b] = [...context.getImageData(0, 0, 1, 1).data].map((v) => { v /= 255; return v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4; });
		return 0.2126 * r + 0.7152 * g + 0.0722 * b;
	};
	for (const plot of document.querySelectorAll('.plot')) {
		const canvas = plot.querySelector('canvas').getBoundingClientRect(), place = plot.getBoundingClientRect();
		if (canvas.right > place.right + 1) findings.push(plot.id + ' is cut');
	}
	const style = getComputedStyle(document.documentElement), back = light(style.getPropertyValue('--back'));
	for (const [names, least] of [['c0 c1 c2 c3 c4 c5 c6 c7 edge', 3], ['quiet text link good bad caution', 4.5]]) {
		for (const name of names.split(' ')) {
			const c = light(style.getPropertyValue('--' + name));
			const contrast = (Math.max(c, back) + 0.05) / (Math.min(c, back) + 0.05);
			if (contrast < least) findings.push('contrast ' + contrast.toFixed(2) + ' of ' + name);
		}
	}
	return findings;
})()`

// shotWhole writes pictures of all of the page, in pieces of 1,500 pixels, if pictures are
// wanted.
func (p *page) shotWhole(name string) {
	p.t.Helper()
	dir := os.Getenv("GALE_SCREENSHOTS")
	if dir == "" {
		return
	}
	const piece = 1500
	width, height := eval[float64](p, `document.documentElement.clientWidth`), eval[float64](p, `document.documentElement.scrollHeight`)
	for i := range int(math.Ceil(min(height, 6*piece) / piece)) {
		got, err := chromedp.Call(p.ctx, cdppage.CaptureScreenshot, cdppage.CaptureScreenshotParams{CaptureBeyondViewport: new(true),
			Clip: &cdppage.Viewport{Y: float64(i * piece), Width: width, Height: min(piece, height-float64(i*piece)), Scale: 1}})
		if err != nil {
			p.t.Fatal(err)
		}
		p.keep(fmt.Sprintf("%s-%d.png", name, i+1), got.Data)
	}
}

func (p *page) keep(name string, data []byte) {
	p.t.Helper()
	dir := os.Getenv("GALE_SCREENSHOTS")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		p.t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, name), data, 0o644); err != nil {
		p.t.Fatal(err)
	}
}

// The arrow keys move through the points of a chart, and the values are announced.
func TestReportKeyboard(t *testing.T) {
	p := open(t, screen, report(t, "plain"))
	p.press(kb.Tab)
	want(p, "the first focus", `document.activeElement.textContent`, "Skip to the report")
	p.press(kb.Enter)
	want(p, "after it", `document.activeElement.id`, "main")
	for range 20 {
		p.press(kb.Tab)
		if eval[bool](p, `document.activeElement.classList.contains('plot')`) {
			break
		}
	}
	want(p, "the first chart", `document.activeElement.id`, "c1")
	want(p, "its role", `document.activeElement.getAttribute('role')`, "application")
	status := `document.activeElement.closest('figure').querySelector('[role=status]').textContent`
	want(p, "before a key", status, "")
	p.press(kb.ArrowRight)
	want(p, "the first point", status, "p50: All requests "+eval[string](p, `document.querySelector('.data td').textContent`))
	p.press(kb.End)
	want(p, "the last point", status+`.split(': ')[1]`, "All requests "+eval[string](p, `[...document.querySelectorAll('figure')[0].querySelectorAll('.data td')].at(-1).textContent`))
	eval[any](p, `document.getElementById('c2').focus()`)
	p.press(kb.ArrowRight + kb.ArrowRight + kb.ArrowLeft)
	want(p, "the first point", status+`.split(':')[0]`, "-1.50 s")
	p.press(kb.PageDown)
	want(p, "a page further", status+`.split(':')[0]`, "1.50 s")
	want(p, "shown too", `document.querySelector('#c2 .values div').textContent`, "1.50 s")
	want(p, "the cursor", `getComputedStyle(document.querySelector('#c2 .u-cursor-x')).display`, "block")
	p.checkReport("with a cursor")
	p.shotWhole("report-cursor")
	p.press(kb.Home + kb.ArrowLeft)
	want(p, "it stops there", status+`.split(':')[0]`, "-1.50 s")
	eval[any](p, `document.activeElement.blur()`)
	want(p, "nothing is announced", `document.querySelector('#c2').closest('figure').querySelector('[role=status]').textContent`, "")
}

// A key of a chart shows and hides its line.
func TestReportKeys(t *testing.T) {
	p := open(t, screen, report(t, "plain"))
	colour := count("c2", 0xa21caf) + ` > 20`
	want(p, "the line of max", colour, true)
	eval[any](p, `[...document.querySelector('#c2').closest('figure').querySelectorAll('.keys button')].find((b) => b.textContent === 'max').focus()`)
	p.press(kb.Enter)
	want(p, "pressed", `document.activeElement.getAttribute('aria-pressed')`, "false")
	want(p, "hidden", colour, false)
	p.press(" ")
	want(p, "shown again", colour, true)
}

// Dragging zooms, and a double click shows all again.
func TestReportZoom(t *testing.T) {
	p := open(t, screen, report(t, "plain"))
	picture := `document.querySelector('#c2 canvas').toDataURL()`
	eval[any](p, `document.getElementById('c2').scrollIntoView({ block: 'center' })`)
	whole := eval[string](p, picture)
	box := eval[[]float64](p, `(() => { const b = document.querySelector('#c2 .u-over').getBoundingClientRect(); return [b.left, b.top, b.width, b.height]; })()`)
	mouse := func(kind input.DispatchMouseEventType, share float64, clicks int64) {
		button := input.MouseButtonLeft
		if kind == input.DispatchMouseEventTypeMouseMoved && clicks == 0 {
			button = input.MouseButtonNone
		}
		p.run(call(input.DispatchMouseEvent, input.DispatchMouseEventParams{Type: kind, X: box[0] + share*box[2], Y: box[1] + box[3]/2, Button: button, ClickCount: clicks}))
	}
	mouse(input.DispatchMouseEventTypeMouseMoved, 0.3, 0)
	want(p, "the box beside the cursor", `document.querySelector('#c2 .values').hidden`, false)
	want(p, "of other charts too", `document.querySelector('#c3 .values').hidden`, false)
	mouse(input.DispatchMouseEventTypeMousePressed, 0.3, 1)
	mouse(input.DispatchMouseEventTypeMouseMoved, 0.6, 1)
	mouse(input.DispatchMouseEventTypeMouseReleased, 0.6, 1)
	same := func(picture string) string {
		return `document.querySelector('#c2 canvas').toDataURL() === ` + strconv.Quote(picture)
	}
	want(p, "zoomed", same(whole), false)
	for clicks := range int64(2) {
		mouse(input.DispatchMouseEventTypeMousePressed, 0.5, clicks+1)
		mouse(input.DispatchMouseEventTypeMouseReleased, 0.5, clicks+1)
	}
	want(p, "all again", same(whole), true)
}

// The data of the page can be saved, and the command copied.
func TestReportSave(t *testing.T) {
	p := open(t, screen, report(t, "plain"))
	eval[any](p, `window.blob = null, URL.createObjectURL = (b) => { b.text().then((t) => { window.blob = t; }); return 'data:,'; }, HTMLAnchorElement.prototype.click = function () { window.savedAs = this.download; }`)
	p.run(chromedp.Click(chromedp.CSS("#save")))
	want(p, "name", `window.savedAs`, "gale-bench-2026-03-04-050607.json")
	want(p, "document", `window.blob ? JSON.parse(window.blob).verdict.limit : "none yet"`, "server")
	eval[any](p, `Object.defineProperty(navigator, 'clipboard', { value: { writeText: async (t) => { window.copied = t; } } })`)
	p.run(chromedp.Click(chromedp.CSS(".copy")))
	want(p, "copied", `window.copied`, "gale bench 'http://127.0.0.1:8080/hello?name=a b' -c 64 -d 30s --pid 4242")
	want(p, "said", `document.querySelector('.copy').textContent`, "Copied")
}

// Without a script the page has its numbers and tables, and no places for charts.
func TestReportWithoutScript(t *testing.T) {
	for _, d := range []device{screen, phone} {
		p := open(t, d, report(t, "ramp"), withoutScript)
		p.checkLook("no script " + d.name)
		p.shotWhole("report-no-script-" + d.name)
	}
	p := open(t, screen, report(t, "plain"), withoutScript)
	html := p.html("html")
	for _, text := range []string{"The server was the limit", "126,431", "<noscript>", `<table class="data">`} {
		if !strings.Contains(html, text) {
			t.Errorf("no %q", text)
		}
	}
	p.run(chromedp.Click(chromedp.CSS("summary")), chromedp.WaitVisible(`//figure//th[.='p99.9']`))
}

// A page in dark mode is printed in light, with charts that fit and all tables.
func TestReportPrint(t *testing.T) {
	p := open(t, screen.inDark(), report(t, "ramp"))
	back := `getComputedStyle(document.body).backgroundColor`
	dark := eval[string](p, back)
	eval[any](p, `dispatchEvent(new Event('beforeprint'))`)
	want(p, "light", back, "rgb(255, 255, 255)")
	want(p, "charts fit", `[...document.querySelectorAll('.plot canvas')].every((c) => c.getBoundingClientRect().width === 660)`, true)
	want(p, "tables are open", `[...document.querySelectorAll('details')].every((d) => d.open)`, true)
	want(p, "charts are drawn", drawn+`.every((v) => v)`, true)
	eval[any](p, `dispatchEvent(new Event('afterprint'))`)
	want(p, "dark again", back, dark)
	want(p, "charts are wide again", `[...document.querySelectorAll('.plot canvas')].every((c) => c.getBoundingClientRect().width > 900)`, true)
	want(p, "tables are closed", `[...document.querySelectorAll('details')].every((d) => !d.open)`, true)
	eval[any](p, `addEventListener('beforeprint', () => queueMicrotask(() => { window.printed = document.querySelector('.plot canvas').style.width || document.querySelector('.plot .u-wrap').style.width; }))`)
	pdf, err := chromedp.Call(p.ctx, cdppage.PrintToPDF, cdppage.PrintToPDFParams{PrintBackground: new(true)})
	if err != nil {
		t.Fatal(err)
	}
	want(p, "the width of charts in the PDF", `window.printed`, "660px")
	if os.Getenv("GALE_SCREENSHOTS") != "" {
		p.keep("report-print.pdf", pdf.Data)
	}
}

// When the system changes to dark, the charts change their colours too.
func TestReportTurnsDark(t *testing.T) {
	p := open(t, screen, report(t, "plain"))
	want(p, "the line in light", count("c1", 0x0a55c2)+` > 20`, true)
	p.run(call(emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: "dark"}}}))
	want(p, "the line in dark", count("c1", 0x86b7ff)+` > 20`, true)
	want(p, "not both", count("c1", 0x0a55c2), 0)
}

// Charts follow the width of the window.
func TestReportTurnsNarrow(t *testing.T) {
	p := open(t, screen, report(t, "urls"))
	p.run(call(emulation.SetDeviceMetricsOverride, emulation.SetDeviceMetricsOverrideParams{Width: 390, Height: 844, DeviceScaleFactor: 1}))
	want(p, "charts", `[...document.querySelectorAll('.plot canvas')].every((c) => c.getBoundingClientRect().width <= 358)`, true)
	want(p, "the page", `document.documentElement.scrollWidth`, 390)
	for chart, key := range map[string]string{"c1": kb.End, "c2": kb.Home + kb.PageDown + kb.PageDown + kb.PageDown + kb.PageDown} {
		eval[any](p, fmt.Sprintf(`document.getElementById('%s').focus()`, chart))
		p.press(key)
		p.checkReport("narrow, with a cursor")
		p.shotWhole("report-narrow-" + chart)
	}
}
