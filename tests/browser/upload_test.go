package browser

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"
)

// drag is the dragging of files from outside of the browser to a page.
type drag struct {
	p    *page
	data *input.DragData
}

// newDrag makes files in a folder of its own. The sizes belong to the names.
func newDrag(p *page, sizes map[string]int, names ...string) drag {
	p.t.Helper()
	dir, data := p.t.TempDir(), &input.DragData{Items: []*input.DragDataItem{}, DragOperationsMask: 1}
	for _, name := range names {
		path := filepath.Join(dir, name)
		var err error
		if size, isFile := sizes[name]; isFile {
			err = os.WriteFile(path, bytes.Repeat([]byte{'x'}, size), 0o644)
		} else {
			err = os.Mkdir(path, 0o755)
		}
		if err != nil {
			p.t.Fatal(err)
		}
		data.Files = append(data.Files, path)
	}
	return drag{p, data}
}

func (d drag) event(what input.DispatchDragEventType) {
	d.p.t.Helper()
	d.p.run(call(input.DispatchDragEvent, input.DispatchDragEventParams{Type: what, X: 200, Y: 300, Data: d.data}))
}

func (d drag) drop() {
	d.p.t.Helper()
	d.event(input.DispatchDragEventTypeDragEnter)
	d.event(input.DispatchDragEventTypeDragOver)
	d.event(input.DispatchDragEventTypeDrop)
}

// states returns what the page says of the uploads.
const states = `[...document.querySelectorAll('#uploads li')].map(e => e.querySelector('bdi').textContent + ': ' + e.querySelector('.state').textContent).join('; ')`

// stalled is true when the browser has sent a part of the first upload and waits for the
// server to read the rest.
const stalled = `(e => e !== null && e.value > 0 && e.value < 1)(document.querySelector('#uploads progress'))`

// large is more bytes than a connection takes without being read.
const large = 64 << 20

func TestUploadByDrop(t *testing.T) {
	for _, d := range []device{screen, phone.inDark()} {
		dir := site(t, map[string]int{"before.txt": 1})
		url := start(t, "testserver", dir)
		p := open(t, d, url)
		files := newDrag(p, map[string]int{"hold.bin": large, "new.txt": 5, "before.txt": 9, "413 film.mp4": 3, "507 disk.iso": 4},
			"hold.bin", "new.txt", "before.txt", "413 film.mp4", "507 disk.iso", "folder")
		files.event(input.DispatchDragEventTypeDragEnter)
		want(p, "the target is shown", `document.getElementById('drop').checkVisibility()`, true)
		p.checkLook("drop " + d.name)
		p.shot("drop-" + d.name)
		files.event(input.DispatchDragEventTypeDragOver)
		files.event(input.DispatchDragEventTypeDrop)
		want(p, "the target is gone", `document.getElementById('drop').checkVisibility()`, false)
		want(p, "progress", stalled, true)
		want(p, "others end meanwhile", states+`.replace(/hold.bin: \d+% of /, 'hold.bin: n% of ')`, "hold.bin: n% of 67 MB; "+
			"new.txt: Uploaded, 5 B; before.txt: before.txt exists.; 413 film.mp4: The test server answers 413.; "+
			"507 disk.iso: The test server answers 507.; folder: Folders can’t be uploaded. Drop the files that are in it.")
		p.checkLook("uploading " + d.name)
		p.shot("uploading-" + d.name)
		get(t, url+"hold-no-more")
		want(p, "the listing is refreshed", names, "before.txt hold.bin new.txt")
		want(p, "announced", `/^2 files were uploaded, 4 failed$|^3 files, /.test(document.getElementById('status').textContent)`, true)
		p.checkLook("uploaded " + d.name)
		p.shot("uploaded-" + d.name)
		p.expect("409")
		p.expect("413")
		p.expect("507")
		p.run(chromedp.Click(chromedp.CSS("#forget")))
		want(p, "the list is gone", `document.getElementById('uploads').checkVisibility()`, false)
		if b, err := os.ReadFile(filepath.Join(dir, "before.txt")); err != nil || len(b) != 1 {
			t.Errorf("a file was overwritten: %q, %v", b, err)
		}
		if info, err := os.Stat(filepath.Join(dir, "hold.bin")); err != nil || info.Size() != large {
			t.Errorf("the large file isn't complete: %v, %v", info, err)
		}
	}
}

func TestUploadCancel(t *testing.T) {
	url := start(t, "testserver", site(t, nil))
	p := open(t, screen, url)
	newDrag(p, map[string]int{"hold.bin": large}, "hold.bin").drop()
	want(p, "progress", stalled, true)
	// With the keyboard only.
	eval[any](p, `document.querySelector('#uploads li button').focus()`)
	p.press(" ")
	want(p, "cancelled", states, "hold.bin: Cancelled")
	want(p, "announced", `document.getElementById('status').textContent.includes('Cancelled') || document.getElementById('status').textContent.includes('1 failed')`, true)
	get(t, url+"hold-no-more")
}

func TestUploadButton(t *testing.T) {
	dir := site(t, nil)
	p := open(t, screen, start(t, "testserver", dir))
	path := filepath.Join(t.TempDir(), "?#%41 ü.txt")
	if err := os.WriteFile(path, []byte("content"), 0o644); err != nil {
		t.Skip("this system doesn't have such names:", err)
	}
	// Chromium doesn't show its dialog for this.
	p.run(chromedp.SetUploadFiles(chromedp.CSS("#files"), []string{path}, chromedp.NodeReady))
	want(p, "uploaded", states, "?#%41 ü.txt: Uploaded, 7 B")
	want(p, "listed", names, "?#%41 ü.txt")
	want(p, "the button", `document.querySelector('#choose').checkVisibility() && document.querySelector('#choose').textContent.trim()`, "Upload files")
	if b, err := os.ReadFile(filepath.Join(dir, "?#%41 ü.txt")); err != nil || string(b) != "content" {
		t.Errorf("%q, %v", b, err)
	}
}

// A file whose name is taken is stored beside the other one, if the user wants that.
func TestUploadKeepBoth(t *testing.T) {
	dir := site(t, map[string]int{"photo.jpg": 1, "photo (2).jpg": 1, "README": 1})
	p := open(t, phone, start(t, "testserver", dir))
	newDrag(p, map[string]int{"photo.jpg": 5, "README": 7}, "photo.jpg", "README").drop()
	const buttons = `[...document.querySelectorAll('#uploads li button')].filter((b) => b.checkVisibility())`
	const texts = buttons + `.map((b) => b.textContent).join()`
	want(p, "choices", texts, "Keep both,Keep both")
	p.checkLook("names that are taken")
	eval[any](p, buttons+`.forEach((b) => b.click())`)
	want(p, "one is taken again", states, "photo (2).jpg: photo (2).jpg exists.; README (2): Uploaded, 7 B")
	eval[any](p, buttons+`.forEach((b) => b.click())`)
	want(p, "both are stored", states, "photo (3).jpg: Uploaded, 5 B; README (2): Uploaded, 7 B")
	want(p, "listed", names, "photo (2).jpg photo (3).jpg photo.jpg README README (2)")
	p.expect("409")
	if b, err := os.ReadFile(filepath.Join(dir, "photo (2).jpg")); err != nil || len(b) != 1 {
		t.Errorf("a file was overwritten: %q, %v", b, err)
	}
}

// An upload to a server that has ended can be tried again.
func TestUploadBrokenConnection(t *testing.T) {
	dir := site(t, map[string]int{"a.txt": 1})
	url, stop := startProcess(t, "testserver", dir)
	p := open(t, screen, url)
	stop()
	newDrag(p, map[string]int{"b.txt": 5}, "b.txt").drop()
	want(p, "broken", `document.querySelector('#uploads .failed .state')?.textContent.startsWith('The connection broke.') ?? false`, true)
	want(p, "button", `document.querySelector('#uploads li button').textContent`, "Try again")
	p.expect("ERR_")
	eval[any](p, `document.querySelector('#uploads li button').focus()`)
	p.press(" ")
	want(p, "broken again", `document.querySelectorAll('#uploads .failed').length`, 1)
	p.expect("ERR_")
}
