package browser

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/accessibility"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// someFiles are of all kinds that have an icon, with names that are hard to show.
var someFiles = map[string]int{
	"photos/2024/":                      0,
	"Documents/":                        0,
	"music & more/":                     0,
	"holiday.mp4":                       3_500_000,
	"song.mp3":                          4_812_345,
	"archive.tar.gz":                    812_345,
	"README.md":                         2_345,
	"picture.jpg":                       345_678,
	"unknown":                           12,
	"file-1.txt":                        1,
	"file-2.txt":                        20,
	"file-10.txt":                       3000,
	"-x":                                5,
	"exe\u202egpj.txt":                  7,
	"<b>bold</b>":                       8,
	"שלום עולם 3.txt":                   9,
	"تقرير 2026.pdf":                    10,
	"🎉 party 👩‍👩‍👧.png":                 11,
	strings.Repeat("verylongname", 20):  12,
	strings.Repeat("many words ", 20):   13,
	"per%20cent #1.txt":                 14,
	"Ärger.txt":                         15,
	"a-name-of-medium-length-2026.json": 1_000,
}

func numbered(n int) map[string]int {
	files := make(map[string]int)
	for i := range n {
		files[fmt.Sprintf("file-%d.txt", i+1)] = i
	}
	return files
}

// withoutScript turns the scripts of pages off.
var withoutScript = call(emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: true})

// TestLooks opens each page as each device.
func TestLooks(t *testing.T) {
	deep := "deep/" + strings.Repeat("folder with a longer name/", 3)
	some := site(t, someFiles)
	if err := os.MkdirAll(filepath.Join(some, deep), 0o755); err != nil {
		t.Fatal(err)
	}
	url := serve(t, some)
	pages := []struct{ name, url string }{
		{"some", url},
		{"deep", url + strings.ReplaceAll(deep, " ", "%20")},
		{"filtered", url + "?q=file&sort=size&order=desc"},
		{"no-match", url + "?q=zzz"},
		{"one", serve(t, site(t, map[string]int{"only.txt": 1}))},
		{"empty", serve(t, site(t, nil))},
		{"pages", serve(t, site(t, numbered(2500))) + "?page=2"},
		{"upload", start(t, "testserver", site(t, map[string]int{"a.txt": 1, "b/": 0}))},
		{"upload-empty", start(t, "testserver", site(t, nil))},
	}
	for _, d := range []device{screen, phone, screen.inDark(), phone.inDark()} {
		p := open(t, d, url)
		for _, page := range pages {
			if page.name == "pages" && d.dark {
				continue // a thousand rows take their time
			}
			p.run(chromedp.Navigate(page.url))
			p.checkLook(page.name + " " + d.name)
			p.shot(page.name + "-" + d.name)
		}
		p.run(chromedp.Navigate(url + "none/at/all"))
		p.expect("404")
		p.checkLook("404 " + d.name)
		p.shot("404-" + d.name)
		want(p, "the link to the start page", `document.querySelector('a').href`, url)
	}
}

// The page is complete without a script.
func TestWithoutScript(t *testing.T) {
	for _, d := range []device{screen, phone} {
		p := open(t, d, start(t, "testserver", site(t, map[string]int{"b.txt": 2, "a.txt": 1, "sub/": 0})), withoutScript)
		p.checkLook("no script " + d.name)
		p.shot("no-script-" + d.name)
		html := p.html("html")
		for _, text := range []string{"2026-01-02 03:04", "(UTC)", `href="?sort=size&amp;order=desc"`} {
			if !strings.Contains(html, text) {
				t.Errorf("no %q", text)
			}
		}
		// The form for filtering works.
		p.run(chromedp.SetValue(chromedp.CSS("#q"), "b."), chromedp.Click(chromedp.CSS("#filter button")), chromedp.WaitVisible(`//p[@id='summary'][contains(., '1 of 3')]`))
		// So does the one for uploads.
		path := filepath.Join(t.TempDir(), "new "+d.name+".txt")
		if err := os.WriteFile(path, []byte("new"), 0o644); err != nil {
			t.Fatal(err)
		}
		p.run(chromedp.SetUploadFiles(chromedp.CSS("#files"), []string{path}), chromedp.Click(chromedp.CSS("#upload button[type=submit]")),
			chromedp.WaitVisible(`//tbody//bdi[.='new `+d.name+`.txt']`))
	}
}

func TestFilter(t *testing.T) {
	dir := site(t, map[string]int{"Apple.txt": 1, "banana.txt": 2, "cherry.html": 3, "APPLETREE": 4})
	// A page without an icon may make the browser ask for /favicon.ico, or not if it is left
	// at once.
	if err := os.WriteFile(filepath.Join(dir, "cherry.html"), []byte(`<!DOCTYPE html><link rel="icon" href="data:,">`), 0o644); err != nil {
		t.Fatal(err)
	}
	p := open(t, screen, serve(t, dir))
	want(p, "first", names, "Apple.txt APPLETREE banana.txt cherry.html")
	p.slash()
	want(p, "focus", `document.activeElement.id`, "q")
	p.press("appl")
	want(p, "filtered", names, "Apple.txt APPLETREE")
	want(p, "announced", `document.getElementById('status').textContent`, "2 of 4 match")
	want(p, "address", `location.search`, "?q=appl")
	p.press("zzz")
	want(p, "nothing", `document.querySelector('.nothing').innerText`, "No name contains this text.")
	p.press(kb.Escape)
	want(p, "all again", names, "Apple.txt APPLETREE banana.txt cherry.html")
	want(p, "address", `location.search`, "")
	p.press(kb.ArrowDown)
	want(p, "focus on the first row", `document.activeElement.textContent`, "Apple.txt")
	p.press(kb.ArrowDown)
	want(p, "focus on the second row", `document.activeElement.textContent`, "APPLETREE")
	p.press(kb.ArrowUp + kb.ArrowUp)
	want(p, "focus on the filter", `document.activeElement.id`, "q")
	p.press(".html")
	want(p, "filtered", names, "cherry.html")
	p.press(kb.Enter)
	want(p, "focus on what was found", `document.activeElement.textContent`, "cherry.html")
	p.press(kb.Enter)
	want(p, "opened", `location.pathname`, "/cherry.html")
	eval[any](p, `history.back()`)
	want(p, "filtered after going back", names, "cherry.html")
}

// A folder of several pages is filtered and sorted by the server.
func TestFilterLarge(t *testing.T) {
	p := open(t, screen, serve(t, site(t, numbered(2500))))
	want(p, "rows", `document.querySelectorAll('tbody tr').length`, 1000)
	want(p, "summary", `document.getElementById('summary').textContent`, "2,500 files")
	p.slash()
	p.press("2499")
	want(p, "found on another page", names, "file-2499.txt")
	want(p, "announced", `document.getElementById('status').textContent`, "1 of 2,500 match “2499”: 1 file, 2.5 kB")
	want(p, "address", `location.search`, "?q=2499")
	want(p, "focus", `document.activeElement.id`, "q")
	p.press(kb.Escape)
	want(p, "all again", `document.querySelectorAll('tbody tr').length`, 1000)
	p.press("2488" + kb.Enter)
	want(p, "focus on what was found", `document.activeElement.textContent`, "file-2488.txt")
	p.slash()
	p.press(kb.Escape)
	want(p, "all once more", `document.querySelectorAll('tbody tr').length`, 1000)
	p.run(chromedp.Click(chromedp.CSS(".s a")))
	want(p, "sorted by size", `document.querySelector('tbody bdi')?.textContent ?? ''`, "file-2500.txt")
	p.run(chromedp.Click(chromedp.CSS("a[rel=next]")))
	want(p, "next page", `document.querySelector('tbody bdi')?.textContent ?? ''`, "file-1500.txt")
	p.run(chromedp.Click("//nav[@aria-label='Pages']//a[.='Last']"))
	want(p, "last page", names+`.split(' ').length`, 500)
}

func TestSort(t *testing.T) {
	dir := site(t, map[string]int{"file-10": 5, "file-2": 500, "File-3": 50, "sub/": 0, "A/": 0, "01": 50})
	newest := old.Add(time.Hour)
	if err := os.Chtimes(filepath.Join(dir, "file-10"), newest, newest); err != nil {
		t.Fatal(err)
	}
	url := serve(t, dir)
	p := open(t, screen, url)
	for _, step := range []struct{ click, names, aria string }{
		{"", "A sub 01 file-2 File-3 file-10", "ascending none none"},
		{".s", "A sub file-2 01 File-3 file-10", "none descending none"},
		{".s", "A sub file-10 01 File-3 file-2", "none ascending none"},
		{".t", "A sub file-10 01 file-2 File-3", "none none descending"},
		{".n", "A sub 01 file-2 File-3 file-10", "ascending none none"},
		{".n", "sub A file-10 File-3 file-2 01", "descending none none"},
	} {
		if step.click != "" {
			p.run(chromedp.Click(chromedp.CSS("thead " + step.click + " a")))
		}
		want(p, step.aria, names, step.names)
		aria := `[...document.querySelectorAll('thead th')].map(e => e.ariaSort).join(' ')`
		want(p, step.names, aria, step.aria)
		// The server sorts in the same way.
		html, at := get(t, url+eval[string](p, `location.search`)), 0
		for name := range strings.FieldsSeq(step.names) {
			i := strings.Index(html[at:], "<bdi>"+name+"</bdi>")
			if i < 0 {
				t.Errorf("%s: the server doesn't send %q where it should be", step.names, name)
				break
			}
			at += i
		}
	}
}

func TestLocalTime(t *testing.T) {
	p := open(t, screen, serve(t, site(t, map[string]int{"a.txt": 1})))
	want(p, "time in Tokyo", `document.querySelector('time').textContent`, "02 Jan 2026, 12:04")
	eval[any](p, `document.querySelector('time').dispatchEvent(new MouseEvent('mouseover', { bubbles: true }))`)
	want(p, "all of it", `document.querySelector('time').title`, "Friday, 2 January 2026 at 12:04:05 GMT+9")
	want(p, "column", `document.querySelector('thead .t').innerText.trim()`, "Modified")
}

// Names lead to the files they name.
func TestNames(t *testing.T) {
	dir := t.TempDir()
	all := []string{"a:b", "-x", "?", "#", "%41", "&amp;", "<script>alert(1)<", "\xff\xfe", "a\nb", "exe\u202egpj", " x ", "\\", `"'`, "javascript:alert(1)"}
	for i, name := range all {
		if err := os.WriteFile(filepath.Join(dir, name), fmt.Appendf(nil, "content %d", i), 0o644); err != nil {
			t.Skip("this system doesn't have such names:", err)
		}
	}
	p := open(t, screen, serve(t, dir))
	want(p, "rows", `document.querySelectorAll('tbody tr').length`, len(all))
	js := `Promise.all([...document.querySelectorAll('tbody a')].map(a => fetch(a.href).then(r => r.text()))).then(l => l.filter(s => /^content \d+$/.test(s)).length)`
	if n := eval[int](p, js); n != len(all) {
		t.Errorf("%d of %d links lead to their files", n, len(all))
	}
	want(p, "override character", `[...document.querySelectorAll('tbody bdi')].some(e => e.textContent === 'exe<U+202E>gpj')`, true)
}

// A screen reader finds a table with headers, on a phone too, where it is laid out in
// another way.
func TestAccessibleTree(t *testing.T) {
	for _, d := range []device{screen, phone} {
		p := open(t, d, serve(t, site(t, map[string]int{"a.txt": 1, "sub/": 0})))
		roles := make(map[string]int)
		tree, err := chromedp.Call(p.ctx, accessibility.GetFullAXTree, accessibility.GetFullAXTreeParams{})
		if err != nil {
			t.Fatal(err)
		}
		for _, n := range tree.Nodes {
			if !n.Ignored && n.Role != nil {
				roles[strings.Trim(string(n.Role.Value), `"`)]++
			}
		}
		for role, n := range map[string]int{"table": 1, "columnheader": 3, "rowheader": 2, "row": 3, "cell": 4, "heading": 1, "main": 1, "banner": 1, "search": 1, "searchbox": 1, "status": 1} {
			if roles[role] != n {
				t.Errorf("%s: %d of the role %s, want %d: %v", d.name, roles[role], role, n, roles)
			}
		}
	}
}
