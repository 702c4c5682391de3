package websocket

import (
	"context"
	_ "embed"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/galehttp/gale"
)

//go:embed peer.js
var pagePeer string

// startChromium starts the browser, or leaves the test out.
func startChromium(t *testing.T) context.Context {
	t.Helper()
	path := ""
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if found, err := exec.LookPath(name); err == nil {
			path = found
			break
		}
	}
	if path == "" {
		t.Skip("LEFT OUT: Chromium is not installed")
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(path), chromedp.Flag("ignore-certificate-errors", true),
		chromedp.UserDataDir(t.TempDir()), chromedp.WSURLReadTimeout(patience))
	if os.Geteuid() == 0 {
		options = append(options, chromedp.NoSandbox)
	}
	allocator, stop := chromedp.NewExecAllocator(context.Background(), options...)
	t.Cleanup(stop)
	browser, end := chromedp.NewContext(allocator)
	t.Cleanup(end)
	if err := chromedp.Do(browser); err != nil {
		t.Fatal(err)
	}
	return browser
}

// TestChromium proves that pages in Chromium and our servers understand each other, also over
// HTTP/2.
func TestChromium(t *testing.T) {
	browser := startChromium(t)
	all := variants()
	for _, engine := range []gale.Engine{gale.EngineBlock, gale.EngineEvent} {
		for _, api := range []string{"event", "conn"} {
			all = append(all, variant{engine, api, true, true})
		}
	}
	for _, v := range all {
		t.Run(v.String(), func(t *testing.T) { checkChromium(t, browser, serveGale(t, v), v) })
	}
}

func checkChromium(t *testing.T, browser context.Context, s *server, v variant) {
	tab, closeTab := chromedp.NewContext(browser)
	defer closeTab()
	if err := chromedp.Do(tab, chromedp.Navigate("http"+strings.TrimPrefix(s.base, "ws")+"/page")); err != nil {
		t.Fatal(err)
	}
	checkLines(t, s, evaluate(t, tab, fmt.Sprintf("%s(%q)", pagePeer, s.base)), 6)
	want := "HTTP/1.1"
	if v.http2 {
		want = "HTTP/2.0"
	}
	const ask = `new Promise((resolve) => {
		const ws = window.open1 = new WebSocket(%q);
		ws.onopen = () => ws.send('which?');
		ws.onmessage = (e) => resolve(e.data);
		ws.onclose = (e) => resolve('closed ' + e.code);
	})`
	if got := evaluate(t, tab, fmt.Sprintf(ask, s.base+"/protocol?protocol")); got != want {
		t.Errorf("the handler saw the protocol %q, want %q", got, want)
	}
	closeTab() // and with it the WebSocket
	s.wantEnd(t, "protocol", "1001", aborted)
}

// evaluate returns the text that a promise in JavaScript gives.
func evaluate(t *testing.T, tab context.Context, js string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(tab, patience)
	defer cancel()
	text, err := chromedp.Run(ctx, chromedp.Evaluate[string](js, chromedp.EvalAwaitPromise))
	if err != nil {
		t.Fatal(err)
	}
	return text
}
