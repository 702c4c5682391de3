//go:build linux

package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"mime/multipart"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"
)

// rows are the questions, in the order of the table.
var rows = []row{
	{name: "byte ranges", ask: askRange},
	{name: "several ranges at once", ask: askRanges},
	{name: "`If-Range` with another ETag gets the whole file", ask: askIfRange},
	{name: "`If-None-Match` gets 304", ask: askNoneMatch},
	{name: "`If-Modified-Since` gets 304", ask: askModifiedSince},
	{name: "`HEAD` with the length", ask: askHead},
	{name: "several requests on a connection", ask: askKeepAlive, opts: []string{optKeepAlive}},
	{name: "compresses with", ask: askCodings, opts: []string{optCompress}},
	{name: "respects `q=` in `Accept-Encoding`", ask: askWeights, opts: []string{optCompress}},
	{name: "sends precompressed files", ask: askPrecompressed, opts: []string{optPrecoded}},
	{name: "`X-Content-Type-Options: nosniff`", ask: askNosniff},
	{name: "own certificate for HTTPS", alone: askOwnTLS},
	{name: "HTTPS with PEM files", alone: askTLS},
	{name: "HTTP/2", alone: askHTTP2},

	{name: "sees a change at once, 20 times, same size", ask: askFresh},
	{name: "sees a replaced and a removed file at once", ask: askReplaced},

	{name: "listing", ask: askListing},
	{name: "listing links to files with odd names", ask: askOddNames},
	{name: "listing can be sorted", ask: askSorting},
	{name: "listing has a filter", ask: askFilter},
	{name: "listing as JSON", ask: askJSON},
	{name: "time for a listing of 10,000 files", ask: askMany, dir: func(f *folders) string { return f.many }},
	{name: "a folder as zip", ask: askZip, opts: []string{optZip}},
	{name: "single-page applications", ask: askSPA, opts: []string{optSPA}, dir: func(f *folders) string { return f.app }},
	{name: "`/about` for about.html", ask: askClean, opts: []string{optClean}},
	{name: "404.html of the folder", ask: askNotFound},
	{name: "uploads", alone: askUpload},
	{name: "an upload replaces no file", alone: askUploadTwice},
	{name: "refuses uploads from pages of other sites", alone: askUploadForeign},
	{name: "password", ask: askAuth, opts: []string{optAuth}},
	{name: "hashed password", ask: askAuth, opts: []string{optHashed}},
	{name: "log formats", alone: askLogs},
	{name: "finishes a download after SIGTERM", ask: askShutdown},
	{name: "busy port", alone: askBusyPort},

	{name: "keeps `..` inside the folder", ask: askTraversal},
	{name: "link that leads out of the folder", ask: askLinkOut},
	{name: "`/.env` and `/.git/config`", ask: askDotFiles},
	{name: "never redirects to another host", ask: askOpenRedirect},
	{name: "FIFO in the folder", ask: askFIFO},
	{name: "NUL in the path", ask: askNUL},
	{name: "unknown method", ask: askMethod},
	{name: "1 MB of header", ask: askHugeHeader},
	{name: "refuses ambiguous messages", ask: askSmuggling},
	{name: "answers beside 500 half-sent requests", ask: askSlow},

	{name: "start to the first answer", alone: coldStart},
	{name: "memory 5 s after 10,000 requests", alone: askMemory},
	{name: "requests per second, 1 KB file", together: askSpeed},
	{name: "CPU time per request, 1 KB file", together: askCPU},
	{name: "size of the program", alone: askSize},
}

func askRange(r *running, _ *folders) string {
	whole := r.get("/large.txt")
	part := r.get("/large.txt", "Range: bytes=10-19")
	return yes(len(whole.body) > 20 && part.status == http.StatusPartialContent && bytes.Equal(part.body, whole.body[10:20]))
}

func askRanges(r *running, _ *folders) string {
	a := r.get("/large.txt", "Range: bytes=0-4,10-14")
	return yes(a.status == http.StatusPartialContent && strings.HasPrefix(a.header.Get("Content-Type"), "multipart/byteranges"))
}

func askIfRange(r *running, f *folders) string {
	if askRange(r, f) == "no" {
		return "no ranges"
	}
	a := r.get("/plain.txt", "Range: bytes=1-2", `If-Range: "another"`)
	return yes(a.is(plain))
}

func askNoneMatch(r *running, _ *folders) string {
	etag := r.get("/plain.txt").header.Get("ETag")
	return yes(etag != "" && r.get("/plain.txt", "If-None-Match: "+etag).status == http.StatusNotModified)
}

func askModifiedSince(r *running, _ *folders) string {
	at := r.get("/plain.txt").header.Get("Last-Modified")
	return yes(at != "" && r.get("/plain.txt", "If-Modified-Since: "+at).status == http.StatusNotModified)
}

func askHead(r *running, _ *folders) string {
	a := r.ask(request("HEAD", "/plain.txt", "Connection: close"))
	return yes(a.status == http.StatusOK && len(a.body) == 0 && a.header.Get("Content-Length") == fmt.Sprint(len(plain)))
}

func askKeepAlive(r *running, _ *folders) string {
	c, err := net.Dial("tcp", r.addr)
	if err != nil {
		return "no"
	}
	defer c.Close()
	br := bufio.NewReader(c)
	for range 2 {
		if !askOn(c, br, request("GET", "/plain.txt"), false).is(plain) {
			return "no"
		}
	}
	return "yes"
}

var codings = []string{"br", "zstd", "gzip"}

func askCodings(r *running, _ *folders) string {
	var got []string
	for _, c := range codings {
		if a := r.get("/large.txt", "Accept-Encoding: "+c); a.status == http.StatusOK && a.header.Get("Content-Encoding") == c {
			got = append(got, c)
		}
	}
	if len(got) == 0 {
		return "no"
	}
	return strings.Join(got, ", ")
}

func askWeights(r *running, f *folders) string {
	if askCodings(r, f) == "no" {
		return "no compression"
	}
	first := r.get("/large.txt", "Accept-Encoding: br;q=0.1, zstd;q=0.2, gzip")
	none := r.get("/large.txt", "Accept-Encoding: gzip;q=0, br;q=0, zstd;q=0")
	return yes(first.header.Get("Content-Encoding") == "gzip" && none.status == http.StatusOK && none.header.Get("Content-Encoding") == "")
}

func askPrecompressed(r *running, _ *folders) string {
	var got []string
	for _, c := range codings {
		if r.get("/coded.js", "Accept-Encoding: "+c).is(precoded + c) {
			got = append(got, c)
		}
	}
	return yes(len(got) == 2) // all that the folder has
}

func askNosniff(r *running, _ *folders) string {
	return yes(strings.EqualFold(r.get("/plain.txt").header.Get("X-Content-Type-Options"), "nosniff"))
}

func askOwnTLS(p *program, f *folders) string { return yes(protocol(p, f, optOwnTLS) != "") }
func askTLS(p *program, f *folders) string    { return yes(protocol(p, f, optTLS) != "") }

func askHTTP2(p *program, f *folders) string {
	return yes(protocol(p, f, optTLS) == "HTTP/2.0" || protocol(p, f, optOwnTLS) == "HTTP/2.0")
}

// protocol returns the version of HTTP that a program uses over TLS, or "" without TLS.
func protocol(p *program, f *folders, opt string) string {
	r, err := p.start(f, f.site, opt)
	if err != nil {
		return ""
	}
	defer r.stop()
	version, _ := r.overTLS("/plain.txt")
	return version
}

// askFresh changes a file and asks for it at once, with the validators of the last answer.
func askFresh(r *running, _ *folders) string {
	const rounds = 20
	fresh := 0
	last := r.get("/changing.txt")
	for i := range rounds {
		want := fmt.Sprintf("%04d", i+1)
		if os.WriteFile(filepath.Join(r.dir, "changing.txt"), []byte(want), 0o644) != nil {
			return "not measured"
		}
		var fields []string
		if v := last.header.Get("ETag"); v != "" {
			fields = append(fields, "If-None-Match: "+v)
		}
		if v := last.header.Get("Last-Modified"); v != "" {
			fields = append(fields, "If-Modified-Since: "+v)
		}
		a := r.get("/changing.txt", fields...)
		if a.is(want) {
			fresh++
			last = a
		}
	}
	if fresh == rounds {
		return "yes"
	}
	return fmt.Sprintf("%d of %d", fresh, rounds)
}

func askReplaced(r *running, _ *folders) string {
	name := filepath.Join(r.dir, "replaced.txt")
	defer os.Remove(name)
	ok := os.WriteFile(name, []byte("old"), 0o644) == nil && r.get("/replaced.txt").is("old") &&
		os.WriteFile(name+".new", []byte("new"), 0o644) == nil && os.Rename(name+".new", name) == nil && r.get("/replaced.txt").is("new") &&
		os.Remove(name) == nil && r.get("/replaced.txt").status == http.StatusNotFound
	return yes(ok)
}

const acceptHTML = "Accept: text/html,application/xhtml+xml,*/*;q=0.8"

func askListing(r *running, _ *folders) string {
	a := r.get("/", acceptHTML)
	return yes(a.status == http.StatusOK && slices.Contains(links(a.body, "/"), "/plain.txt"))
}

// askOddNames follows the links of listings as a browser does.
func askOddNames(r *running, _ *folders) string {
	found := 0
	for i, name := range oddNames {
		page, at := r.page(fmt.Sprintf("/odd/%d/", i))
		for _, target := range links(page.body, at) {
			if strings.HasPrefix(target, "/odd/") && r.get(target).is(name) {
				found++
				break
			}
		}
	}
	return fmt.Sprintf("%d of %d", found, len(oddNames))
}

var (
	sorting = regexp.MustCompile(`(?i)[?&;](sort|order|C)=|aria-sort|data-sort`)
	filter  = regexp.MustCompile(`(?i)<input[^>]*(search|filter)`)
)

func askSorting(r *running, _ *folders) string {
	return yes(sorting.Match(r.get("/", acceptHTML).body))
}

func askFilter(r *running, _ *folders) string { return yes(filter.Match(r.get("/", acceptHTML).body)) }

func askJSON(r *running, _ *folders) string {
	a := r.get("/sub/", "Accept: application/json")
	return yes(a.status == http.StatusOK && json.Valid(a.body) && a.has("file.txt"))
}

// nextPage finds the link to the next page of a listing.
var nextPage = regexp.MustCompile(`<(?:a|link)\b[^>]*\brel="?next\b[^>]*>`)

// askMany gets all pages of a listing.
func askMany(r *running, _ *folders) string {
	began, pages := time.Now(), 0
	names := map[string]bool{}
	for target := "/"; target != "" && pages < manyFiles; pages++ {
		a := r.get(target, acceptHTML)
		if a.err != nil || a.status != http.StatusOK {
			return "no"
		}
		for _, l := range links(a.body, target) {
			if strings.HasPrefix(l, "/file-") {
				names[l] = true
			}
		}
		next := links(nextPage.Find(a.body), target)
		target = ""
		if len(next) == 1 {
			target = next[0]
		}
	}
	took := time.Since(began).Milliseconds()
	switch {
	case len(names) < manyFiles:
		return fmt.Sprintf("%d files only", len(names))
	case pages > 1:
		return fmt.Sprintf("%d ms, %d pages", took, pages)
	}
	return fmt.Sprintf("%d ms", took)
}

func askZip(r *running, _ *folders) string {
	a := r.get("/sub/" + r.spec.zip)
	return yes(a.status == http.StatusOK && bytes.HasPrefix(a.body, []byte("PK\x03\x04")) && a.has("file.txt"))
}

func askSPA(r *running, _ *folders) string {
	switch route, missing := r.get("/deep/route", acceptHTML), r.get("/missing.js"); {
	case !route.is(index):
		return "no"
	case missing.status != http.StatusNotFound:
		return "yes, for missing files too"
	}
	return "yes"
}

func askClean(r *running, _ *folders) string { return yes(r.get("/about").is(about)) }

func askNotFound(r *running, _ *folders) string {
	a := r.get("/none", acceptHTML)
	return yes(a.status == http.StatusNotFound && a.has("custom page"))
}

// upload sends text as name, with PUT or with a form.
func (r *running) upload(name, text string, form bool, fields ...string) answer {
	method, target, body := "PUT", "/"+name, text
	if form {
		var b strings.Builder
		w := multipart.NewWriter(&b)
		field := r.spec.formField
		if field == "" {
			field = "file"
		}
		part, _ := w.CreateFormFile(field, name)
		_, _ = io.WriteString(part, text)
		_ = w.Close()
		method, target, body = "POST", r.spec.form, b.String()
		if target == "" {
			target = "/"
		}
		fields = append(fields, "Content-Type: "+w.FormDataContentType())
	}
	fields = append(fields, fmt.Sprintf("Content-Length: %d", len(body)), "Connection: close")
	return r.ask(request(method, target, fields...) + body)
}

// uploads calls what with a program that has a new, empty folder.
func uploads(p *program, f *folders, what func(r *running, has func(name, text string) bool) string) string {
	dir, err := os.MkdirTemp(f.home, "upload")
	if err != nil {
		return "not measured"
	}
	r, err := p.start(f, dir, optUpload)
	if err != nil {
		if r, err = p.start(f, dir); err != nil {
			return "doesn't start"
		}
	}
	defer r.stop()
	return what(r, func(name, text string) bool {
		got, err := os.ReadFile(filepath.Join(dir, name))
		return err == nil && string(got) == text
	})
}

func askUpload(p *program, f *folders) string {
	return uploads(p, f, func(r *running, has func(name, text string) bool) string {
		var ways []string
		if r.upload("put.txt", "put", false); has("put.txt", "put") {
			ways = append(ways, "`PUT`")
		}
		if r.upload("form.txt", "form", true); has("form.txt", "form") {
			ways = append(ways, "form")
		}
		if len(ways) == 0 {
			return "no"
		}
		return strings.Join(ways, ", ")
	})
}

func askUploadTwice(p *program, f *folders) string {
	return uploads(p, f, func(r *running, has func(name, text string) bool) string {
		for _, form := range []bool{false, true} {
			if r.upload("a.txt", "first", form); !has("a.txt", "first") {
				continue
			}
			r.upload("a.txt", "second", form)
			return yes(has("a.txt", "first"))
		}
		return "no uploads"
	})
}

func askUploadForeign(p *program, f *folders) string {
	return uploads(p, f, func(r *running, has func(name, text string) bool) string {
		if r.upload("own.txt", "own", true); !has("own.txt", "own") {
			return "no uploads"
		}
		r.upload("foreign.txt", "foreign", true, "Origin: http://evil.example", "Sec-Fetch-Site: cross-site", "Sec-Fetch-Mode: navigate")
		return yes(!has("foreign.txt", "foreign"))
	})
}

func askAuth(r *running, _ *folders) string {
	without := r.get("/plain.txt")
	wrong := r.get("/plain.txt", "Authorization: Basic dXNlcjp3cm9uZw==")
	right := r.get("/plain.txt", "Authorization: Basic dXNlcjpzZWNyZXQ=")
	if without.status != http.StatusUnauthorized || wrong.status != http.StatusUnauthorized || !right.is(plain) {
		return "no"
	}
	return "yes"
}

var (
	combined = regexp.MustCompile(`^\S+ \S+ \S+ \[[^\]]+\] "GET [^"]*" 200 \d+ "[^"]*" "[^"]*"`)
	common   = regexp.MustCompile(`^\S+ \S+ \S+ \[[^\]]+\] "GET [^"]*" 200 (\d+|-)$`)
)

// askLogs looks at the line for a request.
func askLogs(p *program, f *folders) string {
	var forms []string
	for _, opt := range []string{optLogText, optLogJSON, optLogCommon} {
		r, err := p.start(f, f.site, opt)
		if err != nil {
			continue
		}
		r.get("/plain.txt?logged")
		for line := range strings.Lines(r.logged("plain.txt?logged")) {
			line = strings.TrimSpace(line)
			form := "text"
			switch {
			case !strings.Contains(line, "plain.txt?logged"):
				continue
			case json.Valid([]byte(line)):
				form = "JSON"
			case combined.MatchString(line):
				form = "Combined"
			case common.MatchString(line):
				form = "Common"
			}
			if !slices.Contains(forms, form) {
				forms = append(forms, form)
			}
		}
		r.stop()
	}
	if len(forms) == 0 {
		return "no"
	}
	return strings.Join(forms, ", ")
}

// askShutdown ends the program while a client is slow.
func askShutdown(r *running, _ *folders) string {
	c, err := net.Dial("tcp", r.addr)
	if err != nil {
		return "not measured"
	}
	defer c.Close()
	_ = c.SetDeadline(time.Now().Add(20 * time.Second))
	_, _ = io.WriteString(c, request("GET", "/large.bin", "Connection: close"))
	resp, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		return "not measured"
	}
	defer resp.Body.Close()
	r.terminate()
	time.Sleep(300 * time.Millisecond)
	n, err := io.Copy(io.Discard, resp.Body)
	return yes(err == nil && n == 64<<20)
}

// askBusyPort starts the program twice.
func askBusyPort(p *program, f *folders) string {
	first, err := p.start(f, f.site)
	if err != nil {
		return "doesn't start"
	}
	defer first.stop()
	_, port, _ := net.SplitHostPort(first.addr)
	second, err := p.launch(f, f.site, port)
	if err != nil {
		return "doesn't start"
	}
	defer second.stop()
	select {
	case <-second.exited:
	case <-time.After(5 * time.Second):
		if slices.Contains(second.ports(), port) {
			return "two share it, silently"
		}
		return "takes another one"
	}
	lines := strings.Count(strings.TrimSpace(second.output.String()), "\n") + 1
	if lines == 1 {
		return "error, 1 line"
	}
	return fmt.Sprintf("error, %d lines", lines)
}

func askTraversal(r *running, _ *folders) string {
	for _, target := range []string{
		"/../secret.txt", "/sub/../../secret.txt", "/%2e%2e/secret.txt", "/..%2fsecret.txt", "/%2e%2e%2fsecret.txt",
		"/..%5csecret.txt", `/..\secret.txt`, "/%252e%252e/secret.txt", "//../secret.txt", "/.%00./secret.txt", "/..;/secret.txt",
		"/sub/%2e%2e/%2e%2e/secret.txt", "/%c0%ae%c0%ae/secret.txt", "../secret.txt", "http://localhost/../secret.txt",
	} {
		if r.get(target).has(secret) {
			return "no: " + target
		}
	}
	return "yes"
}

func askLinkOut(r *running, _ *folders) string {
	a := r.get("/out/secret.txt")
	if a.has(secret) {
		return "served"
	}
	return a.refused()
}

func askDotFiles(r *running, _ *folders) string {
	env, config := r.get("/.env"), r.get("/.git/config")
	if env.has(hidden) || config.has(hidden) {
		return "served"
	}
	return env.refused()
}

func askOpenRedirect(r *running, _ *folders) string {
	for _, target := range []string{
		"//evil.example", "//evil.example/%2e%2e", "//evil.example/..", "/%2fevil.example", "/%5cevil.example", `/\evil.example`, "///evil.example",
		"//evil.example/%2f..", "//evil.example/%2e%2e/sub", "/%09/evil.example", "//evil.example/index.html", "//evil.example/about", "//evil.example/about.html",
	} {
		to := strings.ReplaceAll(r.get(target).header.Get("Location"), "\t", "")
		for _, away := range []string{"//", `/\`, `\`, "http://evil", "https://evil"} {
			if strings.HasPrefix(to, away) {
				return "no: `" + target + "`"
			}
		}
	}
	return "yes"
}

// askFIFO asks for it more often than a program may have threads for files.
func askFIFO(r *running, _ *folders) string {
	const clients = 20
	answers := make(chan answer, clients)
	for range clients {
		go func() { answers <- r.get("/fifo") }()
	}
	time.Sleep(100 * time.Millisecond)
	others := r.get("/plain.txt").is(plain)
	a := <-answers
	for range clients - 1 {
		<-answers
	}
	if !others {
		return a.refused() + ", nor for other files"
	}
	return a.refused()
}

func askNUL(r *running, _ *folders) string { return r.get("/plain.txt%00.html").refused() }

func askMethod(r *running, _ *folders) string {
	return r.ask(request("BREW", "/plain.txt", "Connection: close")).refused()
}

func askHugeHeader(r *running, _ *folders) string {
	a := r.get("/plain.txt", "X-Large: "+strings.Repeat("a", 1<<20))
	if a.is(plain) {
		return "accepted"
	}
	return a.refused()
}

// askSmuggling sends messages that two programs could read in two ways (RFC 9112,
// section 11.2).
func askSmuggling(r *running, _ *folders) string {
	head := "GET /plain.txt HTTP/1.1\r\nHost: localhost\r\n"
	messages := []string{
		head + "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
		head + "Content-Length: 5\r\nContent-Length: 6\r\n\r\nhello!",
		head + "Content-Length: +5\r\n\r\nhello",
		head + "Content-Length : 5\r\n\r\nhello",
		head + "Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n",
		head + "Transfer-Encoding: chunked\r\n\r\n0x5\r\nhello\r\n0\r\n\r\n",
		head + "Host: other\r\n\r\n",
		"GET /plain.txt HTTP/1.1\r\n\r\n",
	}
	refused := 0
	for _, m := range messages {
		if a := r.ask(m); a.err != nil && a.status == 0 && !a.timedOut() || a.status >= 400 {
			refused++
		}
	}
	return fmt.Sprintf("%d of %d", refused, len(messages))
}

// askSlow keeps many connections with half a request.
func askSlow(r *running, _ *folders) string {
	const slow = 500
	for range slow {
		c, err := net.DialTimeout("tcp", r.addr, time.Second)
		if err != nil {
			break
		}
		defer c.Close()
		_, _ = io.WriteString(c, "GET /plain.txt HTTP/1.1\r\nHost: localhost\r\nX-Slow: ")
	}
	return yes(r.get("/plain.txt").is(plain))
}
