package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"net/textproto"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/galehttp/gale"
)

func TestUploadPut(t *testing.T) {
	onEngines(t, func(t *testing.T, engine string) {
		dir := site(t, map[string]string{"sub/old.txt": "old"})
		l := serveLocal(t, dir, "-upload", "-engine", engine)
		large := strings.Repeat("0123456789abcdef", 100<<10)
		for _, c := range []struct {
			path, body, location string
		}{
			{"/a.txt", "hello", "/a.txt"},
			{"/empty", "", "/empty"},
			{"/sub/b%20c.txt", "x", "/sub/b%20c.txt"},
			{"/na%C3%AFve+.bin", large, "/na%C3%AFve+.bin"},
			{"/archive.tar.gz?x=y", "x", "/archive.tar.gz"},
		} {
			resp, body := l.do("PUT", c.path, c.body)
			var got stored
			if err := json.Unmarshal([]byte(body), &got); err != nil {
				t.Fatalf("%s: %d %q", c.path, resp.StatusCode, body)
			}
			name, _ := url.PathUnescape(c.location)
			if resp.StatusCode != 201 || resp.Header.Get("Location") != c.location || got != (stored{filepath.Base(name), int64(len(c.body))}) {
				t.Errorf("%s: status %d, %v, %+v", c.path, resp.StatusCode, resp.Header, got)
			}
			if b, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(name))); err != nil || string(b) != c.body {
				t.Errorf("%s: stored %d bytes, %v", c.path, len(b), err)
			}
			if resp, body := l.do("GET", c.path, ""); resp.StatusCode != 200 || body != c.body {
				t.Errorf("GET %s: status %d, %d bytes", c.path, resp.StatusCode, len(body))
			}
		}
		// A body without a length.
		if resp, _ := l.doWith(client, "PUT", "/chunked", io.MultiReader(strings.NewReader(large))); resp.StatusCode != 201 {
			t.Errorf("chunked: status %d", resp.StatusCode)
		}
		if b, err := os.ReadFile(filepath.Join(dir, "chunked")); err != nil || string(b) != large {
			t.Errorf("chunked: %d bytes, %v", len(b), err)
		}
		// Nothing is replaced.
		for _, fields := range [][]string{nil, {"If-None-Match: *"}, {"If-Match: *"}} {
			if resp, body := l.do("PUT", "/sub/old.txt", "new", fields...); resp.StatusCode != 409 || strings.Count(body, "\n") != 1 {
				t.Errorf("%v: status %d, %q", fields, resp.StatusCode, body)
			}
		}
		if resp, _ := l.do("PUT", "/sub", "new"); resp.StatusCode != 409 {
			t.Errorf("a folder: status %d", resp.StatusCode)
		}
		if b, _ := os.ReadFile(filepath.Join(dir, "sub/old.txt")); string(b) != "old" {
			t.Errorf("replaced by %q", b)
		}
		if got := tree(t, dir); strings.Contains(got, "gale-upload") {
			t.Errorf("left behind: %s", got)
		}
	})
}

// The names of -index are those of pages that a folder is answered with.
func TestUploadIndexNames(t *testing.T) {
	l := serveLocal(t, t.TempDir(), "-upload", "-index", "start.htm,home.htm")
	for name, want := range map[string]int{"start.htm": 400, "HOME.HTM": 400, "index.html": 400, "start.html": 201} {
		if resp, body := l.do("PUT", "/"+name, "x"); resp.StatusCode != want {
			t.Errorf("%s: status %d, %q", name, resp.StatusCode, body)
		}
	}
}

func TestUploadOff(t *testing.T) {
	dir := site(t, map[string]string{"a.txt": "a"})
	before := tree(t, dir)
	l := serveLocal(t, dir, "-cors")
	for _, method := range []string{"PUT", "POST", "DELETE", "PATCH"} {
		if resp, _ := l.do(method, "/b.txt", "x"); resp.StatusCode != 405 || resp.Header.Get("Allow") != "GET, HEAD" {
			t.Errorf("%s: status %d, %v", method, resp.StatusCode, resp.Header)
		}
	}
	if after := tree(t, dir); after != before {
		t.Errorf("changed: %s", after)
	}
}

func TestUploadHTTP2(t *testing.T) {
	onEngines(t, func(t *testing.T, engine string) {
		dir := site(t, nil)
		l := serveLocal(t, dir, "-upload", "-upload-max", "1MB", "-tls-self-signed", "-engine", engine)
		c := http2Client(t)
		large := strings.Repeat("x", 1_000_000)
		for i, body := range []io.Reader{strings.NewReader(large), io.MultiReader(strings.NewReader(large)), strings.NewReader("")} {
			resp, text := l.doWith(c, "PUT", fmt.Sprintf("/%d", i), body)
			if resp.StatusCode != 201 || resp.ProtoMajor != 2 {
				t.Errorf("%d: %s %d %q", i, resp.Proto, resp.StatusCode, text)
			}
		}
		if b, err := os.ReadFile(filepath.Join(dir, "1")); err != nil || string(b) != large {
			t.Errorf("%d bytes, %v", len(b), err)
		}
		own := strings.TrimSuffix(l.url, "/")
		for origin, want := range map[string]int{own: 201, strings.Replace(own, "https", "http", 1): 403, own + "0": 403, "null": 403} {
			if resp, text := l.doWith(c, "PUT", fmt.Sprint("/own", want), strings.NewReader("x"), "Origin: "+origin); resp.StatusCode != want {
				t.Errorf("origin %s: %d %q", origin, resp.StatusCode, text)
			}
		}
		before := tree(t, dir)
		for path, want := range map[string]int{"/0": 409, "/big": 413, "/.x": 400} {
			// Early answers: the body is larger than the window.
			if resp, text := l.doWith(c, "PUT", path, strings.NewReader(strings.Repeat("y", 4<<20))); resp.StatusCode != want {
				t.Errorf("%s: %d %q", path, resp.StatusCode, text)
			}
		}
		if resp, _ := l.doWith(c, "PUT", "/big", io.MultiReader(strings.NewReader(large), strings.NewReader(large))); resp.StatusCode != 413 {
			t.Errorf("without a length: %d", resp.StatusCode)
		}
		// A client that gives up in the middle.
		pr, pw := io.Pipe()
		req, err := http.NewRequest("PUT", l.url+"gone", pr)
		if err != nil {
			t.Fatal(err)
		}
		req.ContentLength = 1000
		done := make(chan error, 1)
		go func() {
			resp, err := c.Do(req)
			if err == nil {
				resp.Body.Close()
			}
			done <- err
		}()
		if _, err := pw.Write(make([]byte, 500)); err != nil {
			t.Fatal(err)
		}
		eventually(t, func() string {
			if l.cfg.upload.state.busy() == 0 {
				return "no upload has begun"
			}
			return ""
		})
		pw.CloseWithError(io.ErrClosedPipe)
		if err := <-done; err == nil {
			t.Error("a body that broke off was accepted")
		}
		l.idle()
		if after := tree(t, dir); after != before {
			t.Error("something was stored or left behind")
		}
	})
}

// busy returns how many unfinished files there are.
func (u *uploads) busy() int {
	u.mu.Lock()
	defer u.mu.Unlock()
	return len(u.parts)
}

// multipartBody returns a form with files, and its media type.
func multipartBody(field string, files ...[2]string) (body, contentType string) {
	var b bytes.Buffer
	w := multipart.NewWriter(&b)
	_ = w.WriteField("comment", "ignored")
	for _, f := range files {
		h := textproto.MIMEHeader{}
		h.Set("Content-Disposition", fmt.Sprintf(`form-data; name="%s"; filename="%s"`, field, f[0]))
		h.Set("Content-Type", "application/octet-stream")
		part, _ := w.CreatePart(h)
		_, _ = io.WriteString(part, f[1])
	}
	_ = w.Close()
	return b.String(), w.FormDataContentType()
}

func TestUploadForm(t *testing.T) {
	onEngines(t, func(t *testing.T, engine string) {
		dir := site(t, map[string]string{"sub/old.txt": "old"})
		l := serveLocal(t, dir, "-upload", "-upload-max", "3MiB", "-engine", engine)
		large := strings.Repeat("line\r\n--", 256<<10)
		body, kind := multipartBody("file", [2]string{"a.txt", "A"}, [2]string{"big.bin", large}, [2]string{"", ""}, [2]string{"empty", ""})
		resp, _ := l.do("POST", "/sub/", body, "Content-Type: "+kind)
		if resp.StatusCode != 303 || resp.Header.Get("Location") != "/sub/" {
			t.Errorf("status %d, %v", resp.StatusCode, resp.Header)
		}
		for name, want := range map[string]string{"a.txt": "A", "big.bin": large, "empty": "", "old.txt": "old"} {
			if b, err := os.ReadFile(filepath.Join(dir, "sub", name)); err != nil || string(b) != want {
				t.Errorf("%s: %d bytes, %v", name, len(b), err)
			}
		}
		body, kind = multipartBody("file", [2]string{"b.txt", "B"})
		resp, text := l.do("POST", "/sub/", body, "Content-Type: "+kind, "Accept: application/json")
		if resp.StatusCode != 201 || text != `{"files":[{"name":"b.txt","size":1}]}`+"\n" {
			t.Errorf("status %d, %q", resp.StatusCode, text)
		}

		before := tree(t, dir)
		form := func(field string, files ...[2]string) [2]string {
			body, kind := multipartBody(field, files...)
			return [2]string{body, kind}
		}
		var many [][2]string
		for i := range maxFormFiles + 1 {
			many = append(many, [2]string{fmt.Sprint(i), ""})
		}
		good, kind := multipartBody("file", [2]string{"new.txt", "new"})
		for _, c := range []struct {
			name string
			form [2]string
			want int
		}{
			{"no form", [2]string{"x", "text/plain"}, 415},
			{"no type", [2]string{"x", ""}, 415},
			{"no boundary", [2]string{good, "multipart/form-data"}, 415},
			{"another boundary", [2]string{good, "multipart/form-data; boundary=other"}, 400},
			{"no file", form("file"), 400},
			{"no file chosen", form("file", [2]string{"", ""}), 400},
			{"another field", form("files", [2]string{"new.txt", "x"}), 400},
			{"exists", form("file", [2]string{"new.txt", "x"}, [2]string{"old.txt", "x"}), 409},
			{"twice", form("file", [2]string{"new.txt", "x"}, [2]string{"new.txt", "y"}), 400},
			{"folder in a name", form("file", [2]string{"x/new.txt", "x"}), 400},
			{"out", form("file", [2]string{"../../new.txt", "x"}), 400},
			{"drive", form("file", [2]string{`C:\new.txt`, "x"}), 400},
			{"dot file", form("file", [2]string{"new.txt", "x"}, [2]string{".new", "x"}), 400},
			{"index page", form("file", [2]string{"index.html", "x"}), 400},
			{"too large", form("file", [2]string{"new.txt", strings.Repeat("x", 3<<20+1)}), 413},
			{"too many", form("file", many...), 413},
			{"too much in other fields", form("other", [2]string{"new.txt", strings.Repeat("x", 2<<20)}), 413},
			{"long preamble", [2]string{strings.Repeat("x\r\n", 1<<20) + good, kind}, 413},
			{"long end", [2]string{good + strings.Repeat("x", 2<<20), kind}, 413},
			{"long part header", [2]string{strings.Replace(good, "Content-Type", "X: "+strings.Repeat("x", 2<<20)+"\r\nContent-Type", 1), kind}, 413},
			{"broken off", [2]string{good[:len(good)-10], kind}, 400},
			{"no last boundary", [2]string{strings.TrimSuffix(good, "--\r\n") + "\r\n", kind}, 400},
			{"encoded", [2]string{strings.Replace(good, "Content-Type", "Content-Transfer-Encoding: base64\r\nContent-Type", 1), kind}, 415},
			{"no disposition", [2]string{strings.Replace(good, "Content-Disposition: form-data; name=\"file\"", "X: y", 1), kind}, 400},
		} {
			resp, text := l.do("POST", "/sub/", c.form[0], "Content-Type: "+c.form[1], "Accept: application/json")
			var e struct{ Error string }
			if err := json.Unmarshal([]byte(text), &e); resp.StatusCode != c.want || err != nil || e.Error == "" {
				t.Errorf("%s: status %d, want %d; %q", c.name, resp.StatusCode, c.want, text)
			}
			if (c.name == "twice" || c.name == "too large") && !strings.HasPrefix(e.Error, `"new.txt": `) {
				t.Errorf("%s: %q doesn't name the file", c.name, e.Error)
			}
			l.idle()
			if after := tree(t, dir); after != before {
				t.Fatalf("%s: something was stored or left behind", c.name)
			}
		}
		if resp, _ := l.do("POST", "/sub", good, "Content-Type: "+kind); resp.StatusCode != 405 || resp.Header.Get("Allow") != "GET, HEAD, PUT" {
			t.Errorf("no slash: status %d, %v", resp.StatusCode, resp.Header)
		}
	})
}

// Uploads that break off or lie leave nothing behind, and others are served meanwhile.
func TestUploadBreaksOff(t *testing.T) {
	onEngines(t, func(t *testing.T, engine string) {
		dir := site(t, map[string]string{"a.txt": "a"})
		before := tree(t, dir)
		l := serveLocal(t, dir, "-upload", "-upload-max", "300KB", "-engine", engine)
		form, kind := multipartBody("file", [2]string{"new", strings.Repeat("x", 200_000)})
		long := strings.Repeat("x", 200_000)
		for _, c := range []struct {
			name, wire string
			leaves     bool // the client leaves; otherwise it waits for an answer
			want       int
		}{
			{"too short", "PUT /new HTTP/1.1\r\nHost: h\r\nContent-Length: 200001\r\n\r\n" + long, true, 0},
			{"a head only", "PUT /new HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\n\r\n", true, 0},
			{"too large for this server", "PUT /new HTTP/1.1\r\nHost: h\r\nContent-Length: 99999999999999999\r\n\r\n" + long, false, 413},
			{"no number", "PUT /new HTTP/1.1\r\nHost: h\r\nContent-Length: 5x\r\n\r\nhello", false, 400},
			{"two lengths", "PUT /new HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nhello", false, 400},
			{"length and chunks", "PUT /new HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\nhello", false, 400},
			{"no length", "PUT /new HTTP/1.1\r\nHost: h\r\n\r\nhello", false, 411},
			{"no length in HTTP/1.0", "PUT /new HTTP/1.0\r\nHost: h\r\n\r\nhello", false, 411},
			{"chunks break off", "PUT /new HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n", true, 0},
			{"a chunk breaks off", "PUT /new HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n30d40\r\n" + long[1:], true, 0},
			{"the last chunk's end is missing", "PUT /new HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n", true, 0},
			{"broken chunk", "PUT /new HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\nzz\r\n", false, 400},
			{"chunks longer than the limit", "PUT /new HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n61a80\r\n" + long + long + "\r\n0\r\n\r\n", false, 413},
			{"coded transfer", "PUT /new HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: gzip, chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n", false, 501},
			{"form breaks off", fmt.Sprintf("POST / HTTP/1.1\r\nHost: h\r\nContent-Type: %s\r\nContent-Length: %d\r\n\r\n%s", kind, len(form), form[:len(form)-1]), true, 0},
			{"form's length is too long", fmt.Sprintf("POST / HTTP/1.1\r\nHost: h\r\nContent-Type: %s\r\nContent-Length: %d\r\n\r\n%s", kind, len(form)+1, form), true, 0},
			{"form's length is too short", fmt.Sprintf("POST / HTTP/1.1\r\nHost: h\r\nContent-Type: %s\r\nContent-Length: %d\r\nConnection: close\r\n\r\n%s", kind, len(form)-7, form), false, 400},
		} {
			conn, r := l.raw(c.wire)
			if c.leaves {
				conn.Close()
			} else if got := status(r); got != c.want {
				t.Errorf("%s: status %d, want %d", c.name, got, c.want)
			}
			if resp, body := l.do("GET", "/a.txt", ""); resp.StatusCode != 200 || body != "a" {
				t.Errorf("%s: others get %d %q", c.name, resp.StatusCode, body)
			}
			// The handler of a connection that was closed may not have begun yet.
			if c.leaves {
				eventually(t, func() string {
					if strings.Count(l.log.String(), "upload refused") == 0 {
						return c.name + ": nothing was logged"
					}
					return ""
				})
			}
			l.idle()
			if after := tree(t, dir); after != before {
				t.Fatalf("%s: %s", c.name, after)
			}
			l.log.reset()
			conn.Close()
		}
		// A body that is longer than it says is a file and another, malformed request.
		_, r := l.raw("PUT /new HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\n\r\nhelloGET")
		if got := status(r); got != 201 {
			t.Errorf("status %d", got)
		}
		if b, err := os.ReadFile(filepath.Join(dir, "new")); err != nil || string(b) != "hello" {
			t.Errorf("stored %q, %v", b, err)
		}
	})
}

func (b *lockedBuffer) reset() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.b.Reset()
}

// A client that sends all of a large body before it reads gets the answer all the same,
// and one that asks first sends nothing.
func TestUploadEarlyAnswer(t *testing.T) {
	onEngines(t, func(t *testing.T, engine string) {
		dir := site(t, map[string]string{"a.txt": "a"})
		l := serveLocal(t, dir, "-upload", "-upload-max", "1KiB", "-engine", engine)
		const size = 8 << 20
		for _, c := range []struct {
			path, fields string
			want         int
		}{
			{"/large", "", 413},
			{"/a.txt", "", 409},
			{"/.a", "", 400},
			{"/none/a", "", 404},
			{"/b", "Origin: http://evil.example\r\n", 403},
			{"/b", "Sec-Fetch-Site: cross-site\r\n", 403},
		} {
			head := fmt.Sprintf("PUT %s HTTP/1.1\r\nHost: h\r\n%sContent-Length: %d\r\n", c.path, c.fields, size)
			conn, r := l.raw(head + "\r\n")
			if _, err := conn.Write(make([]byte, size)); err != nil {
				t.Errorf("%s: the connection was cut before the body was sent: %v", c.path, err)
			}
			if got := status(r); got != c.want {
				t.Errorf("%s %s: status %d, want %d", c.path, c.fields, got, c.want)
			}
			_, r = l.raw(head + "Expect: 100-continue\r\n\r\n")
			if got := status(r); got != c.want {
				t.Errorf("%s %s with Expect: status %d, want %d", c.path, c.fields, got, c.want)
			}
		}
		conn, r := l.raw("PUT /b HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\nExpect: 100-continue\r\n\r\n")
		if got := status(r); got != 100 {
			t.Errorf("status %d, want 100", got)
		}
		fmt.Fprint(conn, "hello")
		if got := status(r); got != 201 {
			t.Errorf("status %d, want 201", got)
		}
	})
}

func TestOwnOrigin(t *testing.T) {
	for _, c := range []struct {
		origin, host string
		secure, want bool
	}{
		{"http://h:8080", "h:8080", false, true},
		{"http://H:8080", "h:8080", false, true},
		{"http://h", "h", false, true}, {"http://h", "h:80", false, true}, {"http://h:80", "h", false, true},
		{"https://h", "h", true, true}, {"https://h", "h:443", true, true},
		{"https://h", "h", false, true}, // behind a proxy that adds TLS
		{"http://[::1]:8080", "[::1]:8080", false, true}, {"http://[::1]:8080", "[0:0::1]:8080", false, true},
		{"http://192.168.1.5:8080", "192.168.1.5:8080", false, true},
		{"http://h", "h", true, false},
		{"https://h", "h:80", false, false}, {"http://h:443", "h", false, false},
		{"http://h:8081", "h:8080", false, false}, {"http://h", "h:8080", false, false},
		{"http://evil", "h", false, false}, {"http://h.evil", "h", false, false}, {"http://evil#h", "h", false, false},
		{"http://evil@h", "h", false, false}, {"http://h@evil", "h", false, false}, {"http://h/", "h", false, false},
		{"http://h:", "h", false, true}, {"http://h:8080x", "h:8080", false, false}, {"http://h h", "h h", false, false},
		{"null", "h", false, false}, {"", "h", false, false}, {"h", "h", false, false}, {"://h", "h", false, false}, {"file://h", "h", false, false},
		{"http://", "", false, false}, {"http://h", "", false, false}, {"chrome-extension://h", "h", false, false},
		{"http://h, http://h", "h", false, false},
	} {
		if got := ownOrigin(c.origin, c.host, c.secure); got != c.want {
			t.Errorf("%+v: %v", c, got)
		}
	}
}

func TestUploadFromOtherSites(t *testing.T) {
	onEngines(t, func(t *testing.T, engine string) {
		dir := site(t, nil)
		before := tree(t, dir)
		l := serveLocal(t, dir, "-upload", "-cors", "-engine", engine)
		own := "Origin: " + strings.TrimSuffix(l.url, "/")
		form, kind := multipartBody("file", [2]string{"form.txt", "x"})
		for _, fields := range [][]string{
			{"Origin: http://evil.example"}, {"Origin: null"}, {"Origin: "}, {"Origin: http://127.0.0.1"}, {own + "x"}, {own, "Origin: http://evil.example"},
			{"Sec-Fetch-Site: cross-site"}, {"Sec-Fetch-Site: same-site"}, {"Sec-Fetch-Site: "}, {own, "Sec-Fetch-Site: cross-site"},
			{"Sec-Fetch-Site: same-origin", "Origin: http://evil.example"}, {"Sec-Fetch-Site: none", "Sec-Fetch-Site: cross-site"},
		} {
			if resp, _ := l.do("PUT", "/put.txt", "x", fields...); resp.StatusCode != 403 {
				t.Errorf("PUT, %v: status %d", fields, resp.StatusCode)
			}
			if resp, _ := l.do("POST", "/", form, append(fields, "Content-Type: "+kind)...); resp.StatusCode != 403 {
				t.Errorf("POST, %v: status %d", fields, resp.StatusCode)
			}
		}
		resp, _ := l.do("OPTIONS", "/put.txt", "", "Origin: http://evil.example", "Access-Control-Request-Method: PUT")
		if allowed := resp.Header.Get("Access-Control-Allow-Methods"); resp.StatusCode != 204 || allowed != "GET, HEAD" {
			t.Errorf("preflight: status %d, %q", resp.StatusCode, allowed)
		}
		if after := tree(t, dir); after != before {
			t.Errorf("stored: %s", after)
		}
		for i, fields := range [][]string{{own}, {own, "Sec-Fetch-Site: same-origin"}, {"Sec-Fetch-Site: none"}} {
			if resp, _ := l.do("PUT", fmt.Sprintf("/%d.txt", i), "x", fields...); resp.StatusCode != 201 {
				t.Errorf("%v: status %d", fields, resp.StatusCode)
			}
		}
	})
}

func TestUploadConditions(t *testing.T) {
	dir := site(t, map[string]string{"big.bin": strings.Repeat("x", 10<<10), "a.txt": "old"})
	past := time.Now().Add(-time.Hour)
	if err := os.Chtimes(filepath.Join(dir, "a.txt"), past, past); err != nil {
		t.Fatal(err)
	}
	l := serveLocal(t, dir, "-upload", "-upload-overwrite")
	var tag, date string
	eventually(t, func() string {
		resp, _ := l.do("GET", "/a.txt", "")
		if tag, date = resp.Header.Get("ETag"), resp.Header.Get("Last-Modified"); date == "" {
			return "a.txt has no date"
		}
		return ""
	})
	resp, _ := l.do("GET", "/big.bin", "")
	bigTag := resp.Header.Get("ETag")
	for _, c := range []struct {
		path  string
		field string
		want  int
	}{
		{"/big.bin", "If-None-Match: " + bigTag, 412},
		{"/big.bin", "If-Match: " + bigTag, 200},
		{"/a.txt", "If-None-Match: *", 412},
		{"/a.txt", "If-None-Match: " + tag, 412},
		{"/a.txt", `If-Match: "other"`, 412},
		{"/a.txt", "If-Match: nonsense", 412},
		{"/a.txt", "If-Unmodified-Since: Mon, 02 Jan 2006 15:04:05 GMT", 412},
		{"/new", "If-Match: *", 412},
		{"/new", "If-Match: " + tag, 412},
		{"/a.txt", "Content-Range: bytes 0-2/3", 400},
		{"/a.txt", "Content-Encoding: gzip", 415},
		{"/a.txt", "If-Match: " + tag, 200},
		{"/a.txt", "If-Unmodified-Since: " + date, 412}, // it has just been replaced
		{"/a.txt", "If-Match: *", 200},
		{"/a.txt", `If-None-Match: "other"`, 200},
		{"/a.txt", "Content-Encoding: identity", 200},
		{"/a.txt", "X: y", 200},
		{"/new", "If-None-Match: *", 201},
		{"/new", "If-None-Match: *", 412},
	} {
		before := tree(t, dir)
		resp, body := l.do("PUT", c.path, c.field, c.field)
		if resp.StatusCode != c.want {
			t.Errorf("%s %s: status %d, want %d; %q", c.path, c.field, resp.StatusCode, c.want, body)
		}
		if b, _ := os.ReadFile(filepath.Join(dir, c.path)); resp.StatusCode < 300 && string(b) != c.field {
			t.Errorf("%s: stored %q", c.field, b)
		}
		if resp.StatusCode >= 400 && tree(t, dir) != before {
			t.Errorf("%s %s: something changed", c.path, c.field)
		}
	}
	form, kind := multipartBody("file", [2]string{"a.txt", "form"})
	if resp, _ := l.do("POST", "/", form, "Content-Type: "+kind); resp.StatusCode != 303 {
		t.Errorf("form: status %d", resp.StatusCode)
	}
	if b, _ := os.ReadFile(filepath.Join(dir, "a.txt")); string(b) != "form" {
		t.Errorf("form: stored %q", b)
	}
}

// No request changes anything outside of the folder, or through a link, or under a name
// that has a meaning.
func TestUploadHostile(t *testing.T) {
	for _, extra := range [][]string{nil, {"-upload-overwrite"}, {"-upload-overwrite", "-dotfiles"}} {
		onEngines(t, func(t *testing.T, engine string) {
			base := t.TempDir()
			dir := filepath.Join(base, "served")
			for path, text := range map[string]string{
				"secret.txt": "secret", "outside/f": "f", "served/a.txt": "a", "served/index.html": "index", "served/sub/b.txt": "b",
				"served/.git/config": "config", "served/.env": "env", "served/app.js": "app", "served/.gale-upload-AAAAAAAAAAAAAAAAAAAAAAAAAA": "part",
			} {
				path = filepath.Join(base, filepath.FromSlash(path))
				if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			symlink(t, "../outside", filepath.Join(dir, "out"))
			symlink(t, filepath.Join(base, "outside"), filepath.Join(dir, "absolute"))
			symlink(t, "sub", filepath.Join(dir, "in"))
			symlink(t, ".", filepath.Join(dir, "loop"))
			symlink(t, "../secret.txt", filepath.Join(dir, "link.txt"))
			symlink(t, "a.txt", filepath.Join(dir, "alias.txt"))
			symlink(t, "../outside/new", filepath.Join(dir, "broken"))
			before := tree(t, base)
			l := serveLocal(t, dir, append([]string{"-upload", "-engine", engine}, extra...)...)
			for _, path := range []string{
				"/../new", "/..%2fnew", "/%2e%2e/new", "/%2e%2e%2fnew", "/sub/../../new", "/..%5cnew", `/..\new`, "//new", "/sub//new", "/./new", "/sub/./new", "/sub/../new",
				"/%2fetc%2fnew", "/sub%2fnew", "/sub%5cnew", "/new%00", "/new%00.txt", "/%00", "/.new", "/..", "/...", "/%2e", "/%2e%2e", "/new%2f", "/new%2f..%2f..%2fx",
				"/out/new", "/absolute/new", "/in/new", "/loop/new", "/loop/loop/new", "/out/f", "/link.txt", "/alias.txt", "/broken", "/sub", "/out", "/none/new", "/a.txt/new",
				"/.git/hooks", "/.git/config", "/.env", "/.well-known/new", "/sub/.git/new", "/.gale-upload-AAAAAAAAAAAAAAAAAAAAAAAAAA", "/.gale-upload-new",
				"/index.html", "/INDEX.html", "/sub/index.html", "/404.html", "/app.js.gz", "/app.js.br", "/app.js.zst", "/app.js.GZ", "/a.txt.fasthttp.gz", "/sub/desktop.ini",
				"/nul", "/con.txt", "/COM1", "/new:stream", "/c:new", "/new.", "/new%20", "/%20new", "/new%0a", "/new%0d%0aX:%20y", "/%e2%80%aegnp.exe", "/%ff", "/%c0%ae%c0%ae/new",
				"/" + strings.Repeat("x", 256), "/new%", "/new%zz", "/", "/sub/",
			} {
				_, r := l.raw("PUT " + path + " HTTP/1.1\r\nHost: h\r\nConnection: close\r\nContent-Length: 3\r\n\r\nnew")
				if got := status(r); got < 400 || got >= 500 {
					t.Errorf("PUT %s: status %d", path, got)
				}
			}
			for _, name := range []string{"../new", `..\new`, "/etc/new", "sub/new", ".git", ".env", "index.html", "link.txt", "alias.txt", "broken", "sub", "app.js.gz", "nul", "..", ".", "%00", "a\x00b"} {
				form, kind := multipartBody("file", [2]string{"harmless.txt", "x"}, [2]string{name, "new"})
				if name == "%00" {
					continue // a plain name in a form
				}
				if resp, _ := l.do("POST", "/", form, "Content-Type: "+kind); resp.StatusCode < 400 || resp.StatusCode >= 500 {
					t.Errorf("form with %q: status %d", name, resp.StatusCode)
				}
			}
			for _, method := range []string{"DELETE", "PATCH", "MKCOL", "MOVE", "COPY", "PROPFIND", "OPTIONS"} {
				if resp, _ := l.do(method, "/a.txt", "", "Destination: /new"); resp.StatusCode != 405 {
					t.Errorf("%s: status %d", method, resp.StatusCode)
				}
			}
			for _, path := range []string{"/.gale-upload-AAAAAAAAAAAAAAAAAAAAAAAAAA", "/.GALE-upload-AAAAAAAAAAAAAAAAAAAAAAAAAA"} {
				if resp, _ := l.do("GET", path, ""); resp.StatusCode != 404 {
					t.Errorf("GET %s: status %d", path, resp.StatusCode)
				}
			}
			l.idle()
			if after := tree(t, base); after != before {
				t.Errorf("before:\n%s\nafter:\n%s", before, after)
			}
			if resp, body := l.do("GET", "/a.txt", ""); resp.StatusCode != 200 || body != "a" {
				t.Errorf("others get %d %q", resp.StatusCode, body)
			}
		})
	}
}

// A disk that fills up ends uploads, before and while they are written; a bug there, too.
func TestUploadSpace(t *testing.T) {
	onEngines(t, func(t *testing.T, engine string) {
		dir := site(t, nil)
		before := tree(t, dir)
		l := newLocal(t, dir, "-upload", "-upload-keep-free", "1000", "-engine", engine)
		var asked, left atomic.Int64 // how often the space was asked for, and what is free
		var shrinks, broken atomic.Bool
		l.cfg.upload.state.space.Free = func(*os.File) (int64, bool) {
			asked.Add(1)
			switch {
			case broken.Load():
				panic("of the test")
			case shrinks.Load():
				return left.Add(-uploadBuffer), true
			}
			return left.Load(), true
		}
		l.start()
		body := strings.Repeat("x", 3*uploadBuffer)
		left.Store(int64(1000 + len(body) - 1))
		if resp, _ := l.do("PUT", "/new", body); resp.StatusCode != 507 || asked.Load() != 1 {
			t.Errorf("status %d after %d looks", resp.StatusCode, asked.Load())
		}
		left.Store(int64(1000 + len(body)))
		shrinks.Store(true)
		if resp, _ := l.doWith(client, "PUT", "/new", io.MultiReader(strings.NewReader(body))); resp.StatusCode != 507 {
			t.Errorf("while it is written: status %d", resp.StatusCode)
		}
		form, kind := multipartBody("file", [2]string{"new", body})
		if resp, _ := l.do("POST", "/", form, "Content-Type: "+kind); resp.StatusCode != 507 {
			t.Errorf("form: status %d", resp.StatusCode)
		}
		broken.Store(true)
		if resp, _ := l.do("PUT", "/new", body); resp.StatusCode != 500 {
			t.Errorf("after a panic: status %d", resp.StatusCode)
		}
		l.idle()
		if after := tree(t, dir); after != before {
			t.Errorf("left behind: %s", after)
		}
		broken.Store(false)
		shrinks.Store(false)
		left.Store(int64(1000 + len(body)))
		if resp, _ := l.do("PUT", "/new", body); resp.StatusCode != 201 {
			t.Errorf("with enough space: status %d", resp.StatusCode)
		}
	})
}

// More uploads than may run at a time are told to come back.
func TestUploadSlots(t *testing.T) {
	onEngines(t, func(t *testing.T, engine string) {
		dir := site(t, map[string]string{"a.txt": "a"})
		l := serveLocal(t, dir, "-upload", "-engine", engine)
		var last io.Closer
		for i := range maxUploads {
			conn, _ := l.raw(fmt.Sprintf("PUT /%d HTTP/1.1\r\nHost: h\r\nContent-Length: 10\r\n\r\nhello", i))
			last = conn
		}
		u := l.cfg.upload.state
		eventually(t, func() string {
			if n := u.busy(); n < maxUploads {
				return fmt.Sprintf("%d uploads run", n)
			}
			return ""
		})
		resp, _ := l.do("PUT", "/new", "x")
		if resp.StatusCode != 503 || resp.Header.Get("Retry-After") == "" {
			t.Errorf("status %d, %v", resp.StatusCode, resp.Header)
		}
		if resp, _ := l.do("GET", "/a.txt", ""); resp.StatusCode != 200 {
			t.Errorf("others get %d", resp.StatusCode)
		}
		last.Close()
		eventually(t, func() string {
			if resp, _ := l.do("PUT", "/new", "x"); resp.StatusCode != 201 {
				return fmt.Sprintf("status %d after one has ended", resp.StatusCode)
			}
			return ""
		})
	})
}

// When the server ends, the unfinished files of uploads that it cuts off go.
func TestUploadShutdown(t *testing.T) {
	onEngines(t, func(t *testing.T, engine string) {
		dir := site(t, nil)
		before := tree(t, dir)
		l := serveLocal(t, dir, "-upload", "-engine", engine)
		l.raw("PUT /new HTTP/1.1\r\nHost: h\r\nContent-Length: 10\r\n\r\nhello")
		form, kind := multipartBody("file", [2]string{"a", "a"}, [2]string{"b", strings.Repeat("x", 100_000)})
		l.raw(fmt.Sprintf("POST / HTTP/1.1\r\nHost: h\r\nContent-Type: %s\r\nContent-Length: %d\r\n\r\n%s", kind, len(form), form[:len(form)-1000]))
		eventually(t, func() string {
			if n := l.cfg.upload.state.busy(); n != 3 {
				return fmt.Sprintf("%d unfinished files", n)
			}
			return ""
		})
		l.stop()
		if after := tree(t, dir); after != before {
			t.Errorf("left behind: %s", after)
		}
	})
}

// Files that browsers show as documents can't act as pages of this server.
func TestUploadSandbox(t *testing.T) {
	onEngines(t, func(t *testing.T, engine string) {
		page := "<!DOCTYPE html><script>alert(1)</script>" + strings.Repeat(" ", 1000)
		svg := `<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>`
		dir := site(t, map[string]string{
			"a.html": page, "a.htm": page, "a.xhtml": page, "a.svg": svg, "a.xml": svg, "a.rss": svg, "unknown": page, "unknown.zzz": page, "sniffed": svg,
			"x.svg.txt": svg, "a.txt": page, "a.js": "alert(1)", "a.css": "p{}", "a.json": "{}", "a.png": "x", "a.pdf": "x", "d/index.html": page,
		})
		l := serveLocal(t, dir, "-upload", "-engine", engine)
		for path, want := range map[string]bool{
			"/a.html": true, "/a.htm": true, "/a.xhtml": true, "/a.svg": true, "/a.xml": true, "/a.rss": true, "/unknown": true, "/unknown.zzz": true, "/d/": true,
			"/x.svg.txt": false, "/a.txt": false, "/a.js": false, "/a.css": false, "/a.json": false, "/a.png": false, "/a.pdf": false,
		} {
			for _, fields := range [][]string{nil, {"Range: bytes=0-3"}, {"Accept-Encoding: br"}, {"Accept-Encoding: gzip"}} {
				for _, method := range []string{"GET", "HEAD"} {
					resp, _ := l.do(method, path, "", fields...)
					if got := resp.Header.Get("Content-Security-Policy") == "sandbox"; got != want || resp.Header.Get("X-Content-Type-Options") != "nosniff" || resp.StatusCode >= 300 {
						t.Errorf("%s %s %v: status %d, %v", method, path, fields, resp.StatusCode, resp.Header)
					}
				}
			}
		}
		resp, _ := l.do("GET", "/a.html", "", "Range: bytes=0-1,5-6")
		if resp.StatusCode != 206 || resp.Header.Get("Content-Security-Policy") != "sandbox" {
			t.Errorf("two ranges: status %d, %v", resp.StatusCode, resp.Header)
		}
		resp, _ = l.do("GET", "/a.html", "", "If-None-Match: "+resp.Header.Get("ETag"))
		if resp.StatusCode != 304 || resp.Header.Get("Content-Security-Policy") != "sandbox" {
			t.Errorf("not modified: status %d, %v", resp.StatusCode, resp.Header)
		}
		// A stranger's compressed copy isn't sent.
		if resp, _ := l.do("PUT", "/b.js.gz", "evil"); resp.StatusCode != 201 {
			t.Fatalf("status %d", resp.StatusCode)
		}
		if err := os.WriteFile(filepath.Join(dir, "b.js"), []byte("good"), 0o644); err != nil {
			t.Fatal(err)
		}
		if resp, body := l.do("GET", "/b.js", "", "Accept-Encoding: gzip"); resp.Header.Get("Content-Encoding") != "" || body != "good" {
			t.Errorf("%v %q", resp.Header, body)
		}
		off := serveLocal(t, dir, "-engine", engine)
		if resp, _ := off.do("GET", "/a.html", ""); resp.Header.Get("Content-Security-Policy") != "" {
			t.Errorf("without -upload: %v", resp.Header)
		}
	})
}

// A refused upload is logged once, and nothing in the line breaks it.
func TestUploadLog(t *testing.T) {
	l := serveLocal(t, site(t, nil), "-upload", "-log", "off")
	if resp, _ := l.do("PUT", "/a%0ab%1b", "x"); resp.StatusCode != 400 {
		t.Fatalf("status %d", resp.StatusCode)
	}
	var got string
	eventually(t, func() string {
		if got = l.log.String(); !strings.HasSuffix(got, "\n") {
			return "nothing is logged"
		}
		return ""
	})
	if strings.Count(got, "\n") != 1 || !strings.Contains(got, "upload refused") || !strings.Contains(got, "status=400") || !strings.Contains(got, "reason=") {
		t.Errorf("%q", got)
	}
}

func TestUploadCurl(t *testing.T) {
	curl, err := exec.LookPath("curl")
	if err != nil {
		t.Skip("curl isn't installed")
	}
	dir, from := site(t, map[string]string{"sub/x": ""}), t.TempDir()
	l := serveLocal(t, dir, "-upload", "-upload-max", "3MB")
	text := strings.Repeat("0123456789", 200_000)
	for name, n := range map[string]int{"a b.bin": 1, "large.bin": 2} {
		if err := os.WriteFile(filepath.Join(from, name), []byte(strings.Repeat(text, n)), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"-T", "a b.bin", l.url + "sub/"}, "201"},
		{[]string{"-T", "a b.bin", l.url + "sub/"}, "409"},
		{[]string{"-T", "large.bin", l.url}, "413"},
		{[]string{"-T", "large.bin", "-H", "Expect:", l.url}, "413"},
		{[]string{"-T", "large.bin", "-H", "Transfer-Encoding: chunked", "-H", "Expect:", l.url}, "413"},
		{[]string{"-F", "file=@a b.bin", "-F", "file=@a b.bin;filename=c.bin", l.url}, "303"},
	} {
		cmd := exec.Command(curl, append([]string{"-s", "-S", "-o", filepath.Join(from, "out"), "-w", "%{http_code}", "--max-time", "30"}, c.args...)...)
		cmd.Dir = from
		if out, err := cmd.Output(); string(out) != c.want {
			t.Errorf("curl %q: %q, %v", c.args, out, err)
		}
	}
	for _, name := range []string{"sub/a b.bin", "a b.bin", "c.bin"} {
		if b, err := os.ReadFile(filepath.Join(dir, name)); err != nil || string(b) != text {
			t.Errorf("%s: %d bytes, %v", name, len(b), err)
		}
	}
}

func TestUploadFlags(t *testing.T) {
	dir := t.TempDir()
	for _, args := range [][]string{
		{"-upload-max", "0"}, {"-upload-max", "-1"}, {"-upload-max", "much"}, {"-upload-max", "1.5GB"}, {"-upload-max", "99999999TiB"}, {"-upload-max", ""},
		{"-upload-keep-free", "GB"}, {"-upload-overwrite"}, {"-upload", "-spa"},
	} {
		if _, err := parseServeFlags(append(args, dir)); err == nil {
			t.Errorf("%q is accepted", args)
		}
	}
	for text, want := range map[string]int64{"0": 0, "5": 5, "5B": 5, "100MB": 1e8, "1GiB": 1 << 30, "2g": 2 << 30, "1k": 1024, "1 kb": 1000, "3TiB": 3 << 40} {
		var s size
		if err := s.Set(text); err != nil || int64(s) != want {
			t.Errorf("%q: %d, %v", text, s, err)
		}
	}
	for n, want := range map[size]string{0: "0", 5: "5", 1 << 30: "1GiB", 1e8: "100MB", 1536: "1536", 3 << 20: "3MiB"} {
		if got := n.String(); got != want {
			t.Errorf("%d: %q, want %q", int64(n), got, want)
		}
	}
	if runtime.GOOS != "windows" && !strings.Contains(serveFlagsHelp(), "-upload-max size") {
		t.Error("-upload-max isn't described")
	}
}

// A client that stops, or sends a byte now and then, is too slow.
func TestUploadSlow(t *testing.T) {
	onEngines(t, func(t *testing.T, engine string) {
		dir := site(t, nil)
		before := tree(t, dir)
		l := newLocal(t, dir, "-upload", "-engine", engine)
		l.cfg.upload.state.period = 100 * time.Millisecond
		l.start()
		form, kind := multipartBody("file", [2]string{"new", "x"})
		for _, wire := range []string{
			"PUT /new HTTP/1.1\r\nHost: h\r\nContent-Length: 200001\r\n\r\n" + strings.Repeat("x", 200_000),
			"PUT /new HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n",
			fmt.Sprintf("POST / HTTP/1.1\r\nHost: h\r\nContent-Type: %s\r\nContent-Length: %d\r\n\r\n%s", kind, len(form), form[:len(form)-20]),
		} {
			if _, r := l.raw(wire); status(r) != 408 {
				t.Errorf("not 408: %.20q", wire)
			}
		}
		conn, r := l.raw("PUT /new HTTP/1.1\r\nHost: h\r\nContent-Length: 1000000\r\n\r\n")
		done := make(chan struct{})
		go func() {
			defer close(done)
			for {
				if _, err := conn.Write([]byte("x")); err != nil {
					return
				}
				time.Sleep(time.Millisecond) // a slow client
			}
		}()
		if got := status(r); got != 408 {
			t.Errorf("status %d, want 408", got)
		}
		conn.Close()
		<-done
		l.idle()
		if after := tree(t, dir); after != before {
			t.Errorf("left behind: %s", after)
		}
	})
}

// The end of a form is found however it is split, and not before.
func TestFormEnd(t *testing.T) {
	form := "--b\r\n\r\nx\r\n--b-\r\n--b--"
	for i := range len(form) {
		for j := i; j < len(form); j++ {
			f := newFormEnd("b")
			f.look([]byte(form[:i]))
			f.look([]byte(form[i:j]))
			if f.found {
				t.Fatalf("found before its end, split at %d and %d", i, j)
			}
			f.look([]byte(form[j:]))
			if !f.found {
				t.Errorf("not found, split at %d and %d", i, j)
			}
		}
	}
}

// A page of the command itself isn't put into the sandbox, whatever other policies there
// are; a file always is.
func TestSandboxKeepsPolicies(t *testing.T) {
	const own = "default-src 'none'"
	page := func(ctx *gale.RequestCtx) {
		ctx.SetContentType("text/html")
		ctx.Response.Header.Set("Content-Security-Policy", own)
	}
	for _, c := range []struct {
		name string
		h    gale.RequestHandler
		want int
	}{{"own page", ownPage(page), 1}, {"file", page, 2}} {
		var ctx gale.RequestCtx
		ctx.Request.SetRequestURI("/")
		withSandbox(c.h)(&ctx)
		got := ctx.Response.Header.PeekAll("Content-Security-Policy")
		if len(got) != c.want || string(got[0]) != own || c.want == 2 && string(got[1]) != "sandbox" {
			t.Errorf("%s: %q", c.name, got)
		}
	}
}
