package browser

import (
	"bytes"
	"encoding/binary"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/chromedp"
)

// wav returns the sound of silence: 8-bit samples, 8000 a second.
func wav(seconds int) []byte {
	n := uint32(8000 * seconds)
	b := bytes.NewBufferString("RIFF")
	for _, part := range []any{36 + n, []byte("WAVEfmt "), uint32(16), uint16(1), uint16(1), uint32(8000), uint32(8000), uint16(1), uint16(8), []byte("data"), n} {
		_ = binary.Write(b, binary.LittleEndian, part) // to memory
	}
	return append(b.Bytes(), bytes.Repeat([]byte{128}, int(n))...)
}

// A player seeks by ranges: the position that it is sent to is far beyond what it has read.
func TestMediaRanges(t *testing.T) {
	dir := t.TempDir()
	const seconds = 3600
	if err := os.WriteFile(filepath.Join(dir, "sound.wav"), wav(seconds), 0o644); err != nil {
		t.Fatal(err)
	}
	page := `<!DOCTYPE html><link rel="icon" href="data:,"><title>sound</title><video id="v" src="sound.wav" preload="metadata" muted></video>`
	if err := os.WriteFile(filepath.Join(dir, "play.html"), []byte(page), 0o644); err != nil {
		t.Fatal(err)
	}
	url := serve(t, dir)
	p := open(t, screen, url)
	var mu sync.Mutex
	partial := 0
	p.run(call(network.Enable, network.EnableParams{}))
	err := chromedp.Listen(p.ctx, func(event any) {
		if e, ok := event.(*network.EventResponseReceived); ok && e.Response.Status == 206 {
			mu.Lock()
			defer mu.Unlock()
			partial++
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	p.run(chromedp.Navigate(url + "play.html"))
	want(p, "duration", `Math.round(document.getElementById('v').duration) || 0`, seconds)
	eval[any](p, `void (document.getElementById('v').currentTime = 3500)`)
	want(p, "seeked", `(v => !v.seeking && v.currentTime >= 3500 && v.readyState >= 2)(document.getElementById('v'))`, true)
	eval[any](p, `document.getElementById('v').play()`)
	want(p, "plays", `document.getElementById('v').currentTime > 3500.1`, true)
	mu.Lock()
	defer mu.Unlock()
	if partial < 2 {
		t.Errorf("%d responses with a part of the file, want one for the start and one for the position", partial)
	}
}
