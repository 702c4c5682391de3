package listing

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/galehttp/gale"
	"github.com/galehttp/gale/galetest"
	"github.com/galehttp/gale/tests/harness/await"
	"github.com/galehttp/gale/tests/harness/gate"
)

// stamp is the time of all files of site.
var stamp = time.Date(2026, 1, 2, 3, 4, 5, 6, time.UTC)

// site makes a folder with files of the given sizes. A name that ends in a slash is a folder.
func site(t testing.TB, files map[string]int) string {
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
		if err := os.Chtimes(filepath.Join(dir, filepath.FromSlash(name)), stamp, stamp); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// numbered returns n files, such as file-7.txt of 7 bytes.
func numbered(n int) map[string]int {
	files := make(map[string]int)
	for i := 1; i <= n; i++ {
		files[fmt.Sprintf("file-%d.txt", i)] = i
	}
	return files
}

// ask sends a request through handler. Fields are written as "Name: value".
func ask(handler gale.RequestHandler, method, target string, fields ...string) *gale.Response {
	req := galetest.NewRequest(method, target, nil)
	for _, f := range fields {
		name, value, _ := strings.Cut(f, ": ")
		req.Header.Add(name, value)
	}
	return galetest.Record(handler, galetest.NewContextOf(req)).Response
}

var shown = regexp.MustCompile(`<tr role="row"><th scope="row".*?<bdi>(.*?)</bdi>`)

// names returns the names that a page shows, separated by spaces.
func names(page string) string {
	var all []string
	for _, m := range shown.FindAllStringSubmatch(page, -1) {
		all = append(all, m[1])
	}
	return strings.Join(all, " ")
}

func TestFolderPage(t *testing.T) {
	dir := site(t, map[string]int{"file-10": 5, "file-2": 5000, "File-3": 50, "sub/": 0, "A/": 0, "sub/deeper/x": 1})
	p := New(Config{Dir: dir})
	for _, c := range []struct{ target, names, part string }{
		{"/", "A sub file-2 File-3 file-10", "<p id=\"summary\">2 folders, 3 files, 5.1 kB</p>"},
		{"/", "A sub file-2 File-3 file-10", `<a href="./sub/">`},
		{"/", "A sub file-2 File-3 file-10", "<h1>Home</h1>"},
		{"/", "A sub file-2 File-3 file-10", `<time datetime="2026-01-02T03:04:05Z">2026-01-02 03:04</time>`},
		{"/", "A sub file-2 File-3 file-10", `aria-sort="ascending" data-sort="name"><a href="?sort=name&amp;order=desc">`},
		{"/?order=desc", "sub A file-10 File-3 file-2", `aria-sort="descending" data-sort="name"><a href="./">`},
		{"/?sort=size", "A sub file-10 File-3 file-2", `aria-sort="ascending" data-sort="size"><a href="?sort=size&amp;order=desc">`},
		{"/?sort=size&order=desc", "A sub file-2 File-3 file-10", `data-sort="time"><a href="?sort=time&amp;order=desc">`},
		{"/?q=FILE-&sort=size&order=desc", "file-2 File-3 file-10", "3 of 5 match “<bdi>FILE-</bdi>”: 3 files, 5.1 kB"},
		{"/?q=FILE-&sort=size&order=desc", "file-2 File-3 file-10", `<input type="hidden" name="order" value="desc">`},
		{"/?q=file-1&page=99", "file-10", `<a href="?q=file-1&amp;sort=size&amp;order=desc">`},
		{"/?q=none", "", "No name contains this text."},
		{"/?q=%22%3E%3Cb%3E&sort=x&order=y&page=-1", "", `value="&#34;&gt;&lt;b&gt;">`},
		{"/?q=%ff", "", "\uFFFD"},
		{"/sub/", "deeper", `<li><a href="../">Home</a></li>`},
		{"/sub/deeper/", "x", `<li><a href="../../">Home</a></li>` + "\n" + `<li><a href="../"><bdi>sub</bdi></a></li>`},
		{"/sub/deeper/", "x", "<title>Index of /sub/deeper/</title>"},
		{"/sub/deeper/", "x", "1 file, 1 B"},
	} {
		resp := ask(p.Folder, "GET", c.target)
		page := string(resp.Body())
		if got := names(page); resp.StatusCode() != 200 || got != c.names {
			t.Errorf("%s: status %d, names %q, want %q", c.target, resp.StatusCode(), got, c.names)
		}
		if !strings.Contains(page, c.part) {
			t.Errorf("%s: no %q in %s", c.target, c.part, page[strings.Index(page, "<body"):])
		}
	}
	for _, target := range []string{"/none/", "/file-10/"} {
		if resp := ask(p.Folder, "GET", target); resp.StatusCode() != 404 {
			t.Errorf("%s: status %d", target, resp.StatusCode())
		}
	}
}

// What can't be served, or must be hidden, isn't listed.
func TestFolderHides(t *testing.T) {
	parent := site(t, map[string]int{"secret.txt": 1, "out/x": 1, "www/a.txt": 7, "www/sub/b.txt": 1, "www/.env": 1, "www/.gale-upload-1": 1})
	dir := filepath.Join(parent, "www")
	for name, to := range map[string]string{"in": "a.txt", "in-sub": "sub", "sub/up": "../a.txt", "leaves": "../secret.txt", "leaves-too": "../out", "abs": filepath.Join(parent, "secret.txt"), "broken": "none", "loop": "loop"} {
		if err := os.Symlink(to, filepath.Join(dir, filepath.FromSlash(name))); err != nil {
			t.Skip("no symbolic links here:", err)
		}
	}
	makeFIFO(t, filepath.Join(dir, "fifo"))
	for _, c := range []struct {
		dotFiles      bool
		target, names string
	}{
		{false, "/", "in-sub sub a.txt in"},
		{true, "/", "in-sub sub .env a.txt in"},
		{true, "/sub/", "b.txt up"},
		{true, "/in-sub/", "b.txt up"},
		{true, "/leaves-too/", ""},
	} {
		p := New(Config{Dir: dir, DotFiles: c.dotFiles})
		if got := names(string(ask(p.Folder, "GET", c.target).Body())); got != c.names {
			t.Errorf("dot files %v, %s: %q, want %q", c.dotFiles, c.target, got, c.names)
		}
	}
	if resp := ask(New(Config{Dir: parent}).Folder, "GET", "/.git/"); resp.StatusCode() != 404 {
		t.Errorf("a hidden folder: status %d", resp.StatusCode())
	}
	// The size and time of a link are those of the file.
	page := string(ask(New(Config{Dir: dir}).Folder, "GET", "/?q=in").Body())
	if !strings.Contains(page, `<bdi>in</bdi></span></a></th><td role="cell" class="s" data-size="7">7 B`) {
		t.Errorf("the link: %s", page)
	}
}

// All names can be reached, in order, by following the links to the next page.
func TestFolderPages(t *testing.T) {
	const files = 2*pageSize + 345
	p := New(Config{Dir: site(t, numbered(files))})
	next := regexp.MustCompile(`rel="next" href="([^"]+)"`)
	for _, query := range []string{"", "?sort=size", "?sort=time&order=desc", "?q=file"} {
		i, pages := 0, 0
		for target := "/" + query; target != ""; {
			page := string(ask(p.Folder, "GET", target).Body())
			if pages++; pages > 3 || !strings.Contains(page, fmt.Sprintf("Page %d of 3", pages)) {
				t.Fatalf("%s is page %d", target, pages)
			}
			if !strings.Contains(page, "2,345 files") || strings.Contains(page, "data-whole") {
				t.Errorf("%s: counts of the whole folder are missing, or it says that it is whole", target)
			}
			for name := range strings.FieldsSeq(names(page)) {
				if i++; name != fmt.Sprintf("file-%d.txt", i) {
					t.Fatalf("%s: %q is number %d", target, name, i)
				}
			}
			target = ""
			if m := next.FindStringSubmatch(page); m != nil {
				target = "/" + strings.ReplaceAll(m[1], "&amp;", "&")
			}
		}
		if i != files {
			t.Errorf("%s: %d names", query, i)
		}
	}
	page := string(ask(p.Folder, "GET", "/?q=2345").Body())
	if names(page) != "file-2345.txt" {
		t.Errorf("filtered: %q", names(page))
	}
}

func TestFolderJSON(t *testing.T) {
	p := New(Config{Dir: site(t, map[string]int{"sub/b.txt": 5, "sub/a/": 0, "sub/line\nbreak\"<\\.txt": 0})})
	want := `{"path":"/sub/","entries":[{"name":"a","type":"folder","modified":"2026-01-02T03:04:05Z"},{"name":"b.txt","type":"file","size":5,"modified":"2026-01-02T03:04:05Z"},{"name":"line\nbreak\"<\\.txt","type":"file","size":0,"modified":"2026-01-02T03:04:05Z"}]}` + "\n"
	for accept, asJSON := range map[string]bool{
		"application/json":                                                true,
		"application/json, */*;q=0.1":                                     true,
		"text/html;q=0.5,application/json":                                true,
		"application/json;q=0.5,text/html":                                false,
		"application/json;q=0, */*":                                       false,
		"text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8": false,
		"*/*":       false,
		"image/png": false,
	} {
		resp := ask(p.Folder, "GET", "/sub/", "Accept: "+accept)
		wantType := "text/html; charset=utf-8"
		if asJSON {
			wantType = "application/json"
		}
		if got := string(resp.Header.ContentType()); got != wantType || asJSON != (string(resp.Body()) == want) {
			t.Errorf("%s: %s, %s", accept, got, resp.Body())
		}
		if got := string(resp.Header.Peek("Vary")); got != "Accept" {
			t.Errorf("%s: Vary is %q", accept, got)
		}
	}
	var all struct{ Entries []struct{ Name, Href string } }
	big := New(Config{Dir: site(t, numbered(pageSize+5))})
	if err := json.Unmarshal(ask(big.Folder, "GET", "/?page=2&sort=size&order=desc", "Accept: application/json").Body(), &all); err != nil {
		t.Fatal(err)
	}
	if len(all.Entries) != pageSize+5 || all.Entries[0].Name != "file-1005.txt" {
		t.Errorf("%d entries, the first is %v", len(all.Entries), all.Entries[0])
	}
}

// Names of any bytes lead to their files and don't become markup.
func TestFolderNames(t *testing.T) {
	dir := t.TempDir()
	all := []string{"a:b", "-x", "?", "#", "%41", "&amp;", `<script>"'`, "\xff\xfe", "a\nb\x7f", "exe\u202egpj", " x ", "\\", "javascript:alert(1)", "\u2066\u0085"}
	for _, name := range all {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o644); err != nil {
			t.Skip("this system doesn't have such names:", err)
		}
	}
	p := New(Config{Dir: dir})
	page := string(ask(p.Folder, "GET", "/").Body())
	for _, name := range all {
		found := false
		for _, m := range regexp.MustCompile(`href="\./([^"]*)"`).FindAllStringSubmatch(page, -1) {
			decoded, err := url.PathUnescape(m[1])
			if err != nil {
				t.Fatal(err)
			}
			found = found || decoded == name
		}
		if !found {
			t.Errorf("no link leads to %q", name)
		}
	}
	for _, text := range []string{"<bdi>exe&lt;U+202E&gt;gpj</bdi>", "<bdi>a␊b␡</bdi>", "<bdi>\uFFFD\uFFFD</bdi>", "<bdi>&lt;U+2066&gt;&lt;U+85&gt;</bdi>", "<bdi>&lt;script&gt;&#34;&#39;</bdi>"} {
		if !strings.Contains(page, text) {
			t.Errorf("no %q", text)
		}
	}
	var listing struct{ Entries []struct{ Name, Href string } }
	b := ask(p.Folder, "GET", "/", "Accept: application/json").Body()
	if err := json.Unmarshal(b, &listing); err != nil {
		t.Fatal(err)
	}
	for _, e := range listing.Entries {
		if e.Name == "\uFFFD\uFFFD" != (e.Href == "./%FF%FE") || e.Name == "" {
			t.Errorf("%q has the link %q", e.Name, e.Href)
		}
	}
}

func TestFolderCaching(t *testing.T) {
	dir := site(t, numbered(20))
	p := New(Config{Dir: dir, Compress: true})
	resp := ask(p.Folder, "GET", "/")
	tag, plain := string(resp.Header.Peek("ETag")), string(resp.Body())
	if !strings.HasPrefix(tag, `W/"`) || string(resp.Header.Peek("Cache-Control")) != "no-cache" || string(resp.Header.Peek("Vary")) != "Accept, Accept-Encoding" {
		t.Errorf("%s", resp.Header.String())
	}
	resp = ask(p.Folder, "GET", "/", "Accept-Encoding: gzip")
	zr, err := gzip.NewReader(bytes.NewReader(resp.Body()))
	if err != nil {
		t.Fatal(err)
	}
	if b, err := io.ReadAll(zr); err != nil || string(b) != plain || string(resp.Header.Peek("ETag")) != tag {
		t.Errorf("compressed: %v, %s", err, resp.Header.String())
	}
	for _, coding := range []string{"br", "zstd"} {
		if resp = ask(p.Folder, "GET", "/", "Accept-Encoding: "+coding); string(resp.Header.ContentEncoding()) != coding || len(resp.Body()) >= len(plain) {
			t.Errorf("%s: %s", coding, resp.Header.String())
		}
	}
	resp = ask(p.Folder, "GET", "/", "If-None-Match: "+tag, "Accept-Encoding: gzip")
	if resp.StatusCode() != 304 || len(resp.Body()) != 0 || string(resp.Header.Peek("ETag")) != tag || len(resp.Header.Peek("Vary")) == 0 {
		t.Errorf("not modified: %s", resp.Header.String())
	}
	if resp = ask(p.Folder, "GET", "/", "If-None-Match: "+tag, "Accept: application/json"); resp.StatusCode() != 200 {
		t.Error("JSON has the entity tag of the page")
	}
	if err := os.Truncate(filepath.Join(dir, "file-7.txt"), 8); err != nil {
		t.Fatal(err)
	}
	if resp = ask(p.Folder, "GET", "/", "If-None-Match: "+tag); resp.StatusCode() != 200 {
		t.Error("a change of a size wasn't seen")
	}
	resp = ask(p.Folder, "HEAD", "/", "Accept-Encoding: gzip")
	if resp.StatusCode() != 200 || string(resp.Header.ContentType()) != htmlType || len(resp.Header.Peek("ETag")) > 0 {
		t.Errorf("HEAD: %s", resp.Header.String())
	}
	// Without compression nothing depends on Accept-Encoding.
	resp = ask(New(Config{Dir: dir}).Folder, "GET", "/", "Accept-Encoding: gzip")
	if len(resp.Header.ContentEncoding()) > 0 || string(resp.Header.Peek("Vary")) != "Accept" {
		t.Errorf("compression is off: %s", resp.Header.String())
	}
}

// The folder may be removed and made again.
func TestFolderMadeAgain(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "public")
	p := New(Config{Dir: dir})
	for _, name := range []string{"one", "two"} {
		if resp := ask(p.Folder, "GET", "/"); resp.StatusCode() != 404 {
			t.Errorf("no folder: status %d", resp.StatusCode())
		}
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o644); err != nil {
			t.Fatal(err)
		}
		if got := names(string(ask(p.Folder, "GET", "/").Body())); got != name {
			t.Errorf("got %q, want %q", got, name)
		}
		if err := os.RemoveAll(dir); err != nil {
			t.Fatal(err)
		}
	}
}

// The parts for uploads and zip files are there only if they are on, and the policy allows
// the scripts of the page and nothing else.
func TestFolderOffers(t *testing.T) {
	dir := site(t, nil)
	off := ask(New(Config{Dir: dir}).Folder, "GET", "/")
	on := ask(New(Config{Dir: dir, Upload: true, Zip: true}).Folder, "GET", "/")
	for _, part := range []string{`href="?zip"`, `enctype="multipart/form-data"`, `id="drop"`} {
		if bytes.Contains(off.Body(), []byte(part)) || !bytes.Contains(on.Body(), []byte(part)) {
			t.Errorf("%s is there without uploads, or isn't with them", part)
		}
	}
	for _, resp := range []*gale.Response{off, on} {
		policy := string(resp.Header.Peek("Content-Security-Policy"))
		for _, m := range regexp.MustCompile(`(?s)<(style|script)>(.*?)</`).FindAllSubmatch(resp.Body(), -1) {
			if source := hashSource(string(m[2])); !strings.Contains(policy, source) {
				t.Errorf("%s isn't allowed by %q", m[1], policy)
			}
		}
		if !strings.HasPrefix(policy, "default-src 'none'; ") || strings.Contains(policy, "unsafe") {
			t.Errorf("the policy is %q", policy)
		}
	}
}

// Requests beyond what may wait are refused, and those that waited are answered.
func TestFolderBusy(t *testing.T) {
	p := New(Config{Dir: site(t, nil)})
	for range cap(p.slots) {
		p.slots <- struct{}{}
	}
	done := make(chan int)
	for range maxWaiting {
		go func() { done <- ask(p.Folder, "GET", "/").StatusCode() }()
	}
	await.Until(t, "all requests to wait", func() bool { return p.waiting.Load() >= maxWaiting })
	resp := ask(p.Folder, "GET", "/")
	if resp.StatusCode() != 503 || string(resp.Header.Peek("Retry-After")) != "1" {
		t.Errorf("one more: %s", resp.Header.String())
	}
	if resp := ask(p.Folder, "HEAD", "/"); resp.StatusCode() != 200 {
		t.Errorf("HEAD: status %d", resp.StatusCode())
	}
	for range cap(p.slots) {
		<-p.slots
	}
	for range maxWaiting {
		if status := <-done; status != 200 {
			t.Errorf("a request that waited: status %d", status)
		}
	}
	if n := p.waiting.Load(); n != 0 || len(p.slots) != 0 {
		t.Errorf("%d still wait, %d slots are in use", n, len(p.slots))
	}
}

// Large answers are counted until they are sent.
func TestFolderUnsent(t *testing.T) {
	p := New(Config{Dir: site(t, numbered(4000))})
	s := galetest.NewServer(p.Folder)
	defer s.Close()
	p.unsent.Store(maxUnsent)
	get := func() (int, int) {
		var req gale.Request
		var resp gale.Response
		req.SetRequestURI(s.URL + "/")
		req.Header.Set("Accept", "application/json")
		if err := s.Client().Do(&req, &resp); err != nil {
			t.Fatal(err)
		}
		return resp.StatusCode(), len(resp.Body())
	}
	if status, _ := get(); status != 503 {
		t.Errorf("status %d", status)
	}
	p.unsent.Store(0)
	for range 3 {
		if status, n := get(); status != 200 || n < largeAnswer {
			t.Errorf("status %d, %d bytes", status, n)
		}
	}
	s.Close()
	if n := p.unsent.Load(); n != 0 {
		t.Errorf("%d bytes count as not sent", n)
	}
}

func TestErrorPage(t *testing.T) {
	message := `<no> "file"`
	for accept, want := range map[string][2]string{
		"*/*":                            {textType, message + "\n"},
		"text/html,*/*;q=0.8":            {htmlType, "<p>&lt;no&gt; &#34;file&#34;</p>"},
		"text/html":                      {htmlType, `<a class="button" href="./../../">`},
		"application/json":               {jsonType, `{"error":"<no> \"file\""}` + "\n"},
		"application/json, text/plain":   {textType, message + "\n"},
		"text/html;q=0.1, text/plain":    {textType, message + "\n"},
		"image/avif,image/*,*/*;q=0.8":   {textType, message + "\n"},
		"text/html;q=0,application/json": {jsonType, "{"},
	} {
		resp := ask(func(ctx *gale.RequestCtx) {
			ctx.SetBodyString("before")
			ctx.Response.Header.Set("Allow", "GET")
			ErrorPage(ctx, 405, message)
		}, "GET", "/a/b/c", "Accept: "+accept)
		if resp.StatusCode() != 405 || string(resp.Header.ContentType()) != want[0] || !strings.Contains(string(resp.Body()), want[1]) ||
			string(resp.Header.Peek("Vary")) != "Accept" || string(resp.Header.Peek("Allow")) != "GET" {
			t.Errorf("%s: %s\n%s", accept, resp.Header.String(), resp.Body())
		}
		policy := string(resp.Header.Peek("Content-Security-Policy"))
		if want[0] == htmlType != strings.Contains(policy, hashSource(styleText)) {
			t.Errorf("%s: the policy is %q", accept, policy)
		}
	}
}

func TestNotFound(t *testing.T) {
	parent := site(t, map[string]int{"secret/404.html": 1})
	dir := filepath.Join(parent, "www")
	for name, text := range map[string]string{
		"404.html": strings.Repeat("root ", 200), "a/404.html": "page of a", "a/b/c/x.txt": "", "d/404.html/x": "", ".git/404.html": "hidden", "large/404.html": strings.Repeat("x", maxNotFound+1),
	} {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	links := map[string]string{"out": "../secret", "loop": "."}
	for name, to := range links {
		if err := os.Symlink(to, filepath.Join(dir, name)); err != nil {
			t.Log("no symbolic links here:", err)
		}
	}
	_ = os.MkdirAll(filepath.Join(dir, "pipe"), 0o755)
	makeFIFO(t, filepath.Join(dir, "pipe", "404.html"))
	p := New(Config{Dir: dir, Compress: true})
	for target, want := range map[string]string{
		"/none":                             "root ",
		"/none/none/none":                   "root ",
		"/a/none":                           "page of a",
		"/a/b/c/none":                       "page of a",
		"/a/b/c/x.txt/none":                 "page of a",
		"/d/none":                           "root ",
		"/.git/none":                        "root ",
		"/large/none":                       "root ",
		"/out/none":                         "root ",
		"/pipe/none":                        "root ",
		strings.Repeat("/loop", 1000):       "root ",
		"/a/b/" + strings.Repeat("x/", 999): "page of a",
	} {
		for _, method := range []string{"GET", "HEAD"} {
			resp := ask(p.NotFound, method, target, "Range: bytes=0-1", "If-None-Match: *")
			if resp.StatusCode() != 404 || string(resp.Header.ContentType()) != htmlType || !strings.HasPrefix(string(resp.Body()), want) {
				t.Errorf("%s %s: status %d, body %.20q, want %q", method, target, resp.StatusCode(), resp.Body(), want)
			}
		}
	}
	if resp := ask(p.NotFound, "GET", "/none", "Accept-Encoding: gzip"); string(resp.Header.ContentEncoding()) != "gzip" || !strings.Contains(string(resp.Header.Peek("Vary")), "Accept-Encoding") {
		t.Errorf("not compressed: %s", resp.Header.String())
	}
	if resp := ask(New(Config{Dir: parent}).NotFound, "GET", "/x", "Accept: text/html"); resp.StatusCode() != 404 || !strings.Contains(string(resp.Body()), "no file or folder") {
		t.Errorf("our own page: %s", resp.Body())
	}
}

// Each window of a sorted list is found without the rest.
func TestSortWindow(t *testing.T) {
	var v view
	var sorted []entry
	for i := range 1000 {
		sorted = append(sorted, entry{name: fmt.Sprintf("%d%c", i/2, 'a'+i%2), dir: i < 300})
	}
	for _, w := range [][2]int{{0, 0}, {0, 1}, {0, 100}, {299, 301}, {450, 550}, {999, 1000}, {0, 1000}} {
		got := slices.Clone(sorted)
		gate.Rand.Shuffle(len(got), func(i, j int) { got[i], got[j] = got[j], got[i] })
		sortWindow(got, w[0], w[1], v.compare)
		if !slices.Equal(got[w[0]:w[1]], sorted[w[0]:w[1]]) {
			t.Errorf("%v: wrong order", w)
		}
	}
}

func TestText(t *testing.T) {
	for n, want := range map[int64]string{
		0: "0 B", 999: "999 B", 1000: "1.0 kB", 1234: "1.2 kB", 9_949: "9.9 kB", 9_950: "10 kB", 999_499: "999 kB", 999_500: "1.0 MB", 4_200_000: "4.2 MB", 5_000_000_000: "5.0 GB", 1<<63 - 1: "9.2 EB",
	} {
		if got := string(appendSize(nil, n)); got != want {
			t.Errorf("%d: got %q, want %q", n, got, want)
		}
	}
	for n, want := range map[int]string{0: "0 files", 1: "1 file", 999: "999 files", 1000: "1,000 files", 100000: "100,000 files", 1234567: "1,234,567 files"} {
		if got := string(appendCount(nil, n, "file")); got != want {
			t.Errorf("%d: got %q, want %q", n, got, want)
		}
	}
	for name, want := range map[string]string{"a.JPG": "image", ".png": "file", "x": "file", "a.tar.gz": "archive", "x.": "file", "y.verylongextension": "file", "a.md": "text"} {
		if got := kindOf(name); got != want {
			t.Errorf("%s: got %s, want %s", name, got, want)
		}
	}
}

// A name is text in the page, whatever its bytes are, and JSON stays JSON.
func FuzzName(f *testing.F) {
	f.Add("a\x00<b>\"'&\u202e\xff")
	plain := string(appendRow(nil, &entry{name: "x", size: 1}))
	f.Fuzz(func(t *testing.T, name string) {
		e := entry{name: name, size: 1, known: true}
		row := string(appendRow(nil, &e))
		if strings.Count(row, "<") != strings.Count(plain, "<") || strings.Count(row, "\"")%2 != 0 || strings.ContainsAny(row, "\u202e\x00\x7f\r") {
			t.Fatalf("%q", row)
		}
		var decoded struct{ Name, Href string }
		if err := json.Unmarshal(appendJSONEntry(nil, &e), &decoded); err != nil {
			t.Fatal(err)
		}
		if want := strings.ToValidUTF8(name, "\uFFFD"); decoded.Href == "" && decoded.Name != want {
			t.Fatalf("%q became %q", name, decoded.Name)
		}
	})
}

func BenchmarkFolder(b *testing.B) {
	dir := site(b, numbered(100_000))
	p := New(Config{Dir: dir, Compress: true})
	for _, c := range []struct{ name, target, accept string }{
		{"name", "/", "text/html"}, {"last", "/?page=100", "text/html"}, {"query", "/?q=99999", "text/html"}, {"size", "/?sort=size", "text/html"}, {"json", "/", "application/json"},
	} {
		b.Run(c.name, func(b *testing.B) {
			for b.Loop() {
				if resp := ask(p.Folder, "GET", c.target, "Accept: "+c.accept, "Accept-Encoding: gzip"); resp.StatusCode() != 200 {
					b.Fatal(resp.StatusCode())
				}
			}
		})
	}
}
