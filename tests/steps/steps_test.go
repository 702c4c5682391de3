//go:build galesteps

package steps

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"maps"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/galehttp/gale"
	"github.com/galehttp/gale/internal/pathrule"
	"github.com/galehttp/gale/tests/steps/count"
)

// Every input comes in three lengths: short, twice and four times that. The cost of a
// task may double each time, with a margin for logarithms. It may grow more once: when
// memory grows or is compacted, two measurements look quadratic. It must not be more than
// perByte for each byte. A task that costs at most little for each byte may grow in any
// way: if it is quadratic, it costs perByte in a head of 64 KiB, the largest by default.
const (
	short   = 4 << 10
	margin  = 1.15
	little  = 10
	perByte = 40
	slack   = 4000
	// piece is how many bytes arrive at a time, if they don't arrive all at once. When
	// more of a head arrives, up to 4 KiB of it are looked at again, which costs less
	// than a packet.
	piece = 256
)

// A shape makes values of a field, n bytes in total. element and separator are those of
// the field.
type shape struct {
	name string
	make func(element, separator string, n int) []string
}

func fill(s string, n int) string { return strings.Repeat(s, n/len(s)+1)[:n] }

func one(s string) func(string, string, int) []string {
	return func(_, _ string, n int) []string { return []string{fill(s, n)} }
}

func framed(from, s, to string) func(string, string, int) []string {
	return func(_, _ string, n int) []string { return []string{from + fill(s, n) + to} }
}

// plain are the shapes for all fields, listed are those for fields that are lists.
var (
	plain = []shape{
		{"a long token", one("a")},
		{"digits", one("9")},
		{"commas", framed("a", ",", "a")},
		{"semicolons", framed("a", ";", "a")},
		{"spaces", framed("a", " ", "a")},
		{"tabs and commas", framed("a", "\t,", "a")},
		{"quotes", one(`"`)},
		{"slashes", one("/")},
		{"percent", one("%")},
		{"many fields", func(element, _ string, n int) []string {
			return slices.Repeat([]string{"a"}, n/20)
		}},
	}
	listed = append([]shape{
		{"elements", func(element, separator string, n int) []string {
			return []string{fill(element+separator, n)}
		}},
		{"elements and spaces", func(element, separator string, n int) []string {
			return []string{fill(element+"  "+separator+" \t", n)}
		}},
		{"different elements", func(_, separator string, n int) []string {
			var b strings.Builder
			for i := 0; b.Len() < n; i++ {
				fmt.Fprintf(&b, "X-%d%s ", i, separator)
			}
			return []string{b.String()}
		}},
		{"different pairs", func(_, separator string, n int) []string {
			var b strings.Builder
			for i := 0; b.Len() < n; i++ {
				fmt.Fprintf(&b, "k%d=%d%s ", i, i, separator)
			}
			return []string{b.String()}
		}},
		{"different fields", func(_, _ string, n int) (values []string) {
			for i := range n / 20 {
				values = append(values, fmt.Sprintf("X-%d", i))
			}
			return values
		}},
		{"fields of different pairs", func(_, _ string, n int) (values []string) {
			for i := range n / 20 {
				values = append(values, fmt.Sprintf("k%d=%d", i, i))
			}
			return values
		}},
		{"fields of elements", func(element, _ string, n int) []string {
			return slices.Repeat([]string{element}, n/(len(element)+20))
		}},
		{"an open quote", framed(`a="`, "b", "")},
		{"a quote of commas", framed(`a="`, ",", `"`)},
		{"backslashes", framed(`a="`, `\`, "")},
		{"escaped quotes", framed(`a="`, `\"`, `"`)},
		{"open quotes", one(`a=",`)},
		{"quoted elements", one(`"a",`)},
		{"parameters", framed("a", ";b=c", "")},
		{"parameters without values", framed("a", ";b", "")},
		{"parameters with quotes", framed("a", `;b="c;\"d"`, "")},
		{"weights", framed("a", ";q=0.5", "")},
		{"equals signs", one("=")},
		{"pairs without an end", one("a=")},
		{"stars", one("*,")},
		{"dashes", framed("bytes=", "-,", "")},
		{"ranges", framed("bytes=", "0-0,2-2,", "")},
		{"ranges apart", func(_, _ string, n int) []string {
			b := []byte("bytes=")
			for i := n; len(b) < n; i -= 2 {
				b = fmt.Appendf(b, "%d-%d,", i, i)
			}
			return []string{string(b)}
		}},
		{"open brackets", one("<[(")},
	}, plain...)
)

// shapesOf returns the shapes for the field called name.
func shapesOf(name string) []shape {
	if _, ok := lists[name]; ok {
		return listed
	}
	return plain
}

func names() []string { return append(slices.Sorted(maps.Keys(lists)), singles...) }

// meter adds up the costs of several tasks.
type meter struct {
	tasks []string
	steps map[string]int64
}

func (m *meter) run(task string, f func()) {
	from := count.Steps()
	f()
	if m.steps == nil {
		m.steps = map[string]int64{}
	}
	if _, ok := m.steps[task]; !ok {
		m.tasks = append(m.tasks, task)
	}
	m.steps[task] += count.Steps() - from
}

// least returns a meter with the lower one of both costs of each task. If other is nil,
// it returns m.
func (m *meter) least(other *meter) *meter {
	if other != nil {
		for task, n := range other.steps {
			if old, ok := m.steps[task]; ok {
				m.steps[task] = min(n, old)
			}
		}
	}
	return m
}

// sum returns the cost of all tasks.
func (m *meter) sum() (n int64) {
	for _, s := range m.steps {
		n += s
	}
	return n
}

// compare fails the test if a task costs more than its input allows. run does the tasks
// for an input of about n bytes and returns its exact length. Single runs cost more if
// the garbage collector has emptied pools, so the lowest cost of up to four runs counts.
func compare(t *testing.T, what string, run func(n int) (*meter, int)) {
	t.Helper()
	var costs [3]*meter
	var failures []string
	for range 4 {
		n := 0
		for i := range costs {
			var m *meter
			m, n = run(short << i)
			costs[i] = m.least(costs[i])
		}
		if failures = excessive(costs, what, n); len(failures) == 0 {
			return
		}
	}
	for _, f := range failures {
		t.Error(f)
	}
	if traces++; traces <= 3 {
		t.Log("most of all steps:", count.Trace(func() { run(4 * short) }))
	}
}

// excessive returns a message for each task that costs more than it may. n is the number
// of bytes of the longest input.
func excessive(costs [3]*meter, what string, n int) (failures []string) {
	for _, task := range costs[2].tasks {
		a, b, c := costs[0].steps[task], costs[1].steps[task], costs[2].steps[task]
		isMore := c > little*int64(n)+slack
		if isMore && grows(a, b) && grows(b, c) || c > perByte*int64(n)+slack {
			failures = append(failures, fmt.Sprintf("%s: %s: %d, %d and %d steps for %d bytes, and a half and a quarter of them", what, task, c, b, a, n))
		}
		if s := (c - slack) / int64(n); s > worst.steps {
			worst.steps, worst.what = s, what+": "+task
		}
	}
	return failures
}

// grows reports whether b is more than twice a, with the margin.
func grows(a, b int64) bool { return float64(b) > 2*margin*float64(a) }

// traces counts the failures that were traced, since that takes time.
var traces int

// worst is the task whose cost was nearest to perByte.
var worst struct {
	steps int64
	what  string
}

// conn is a connection whose peer has sent in, and nothing more. It is read in pieces of
// piece bytes, if that is not 0.
type conn struct {
	in    []byte
	piece int
	out   int
}

func (c *conn) Read(p []byte) (int, error) {
	if len(c.in) == 0 {
		return 0, io.EOF
	}
	if c.piece > 0 && len(p) > c.piece {
		p = p[:c.piece]
	}
	n := copy(p, c.in)
	c.in = c.in[n:]
	return n, nil
}

func (c *conn) Write(p []byte) (int, error)      { c.out += len(p); return len(p), nil }
func (c *conn) Close() error                     { return nil }
func (c *conn) LocalAddr() net.Addr              { return &net.TCPAddr{} }
func (c *conn) RemoteAddr() net.Addr             { return &net.TCPAddr{} }
func (c *conn) SetDeadline(time.Time) error      { return nil }
func (c *conn) SetReadDeadline(time.Time) error  { return nil }
func (c *conn) SetWriteDeadline(time.Time) error { return nil }

type noLog struct{}

func (noLog) Printf(string, ...any) {}

// appendFields appends the lines of the fields called name, spelled in two ways.
func appendFields(dst []byte, name string, values []string) []byte {
	for i, v := range values {
		spelled := name
		if i%2 == 1 {
			spelled = strings.ToLower(name)
		}
		dst = fmt.Appendf(dst, "%s: %s\r\n", spelled, v)
	}
	return dst
}

// With trustedPeer and trustedProxies, ClientIP looks at each address of a chain.
var (
	trustedPeer    = &net.TCPAddr{IP: net.IPv4(10, 0, 0, 2)}
	trustedProxies = []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("::1/128")}
)

// visitor calls every method that reads a received request or something derived from it.
// The request's fields called name are those of the test.
type visitor struct {
	name    string
	m       *meter
	files   []gale.RequestHandler
	encode  gale.RequestHandler
	ran     bool
	scratch gale.RequestHeader
	answer  gale.ResponseHeader
}

func newVisitor(dir string) *visitor {
	tree := fstest.MapFS{"f.txt": {Data: bytes.Repeat([]byte("text "), 4000), ModTime: time.Unix(1e9, 0)}}
	v := &visitor{}
	for _, fs := range []*gale.FS{
		{Root: dir, AcceptByteRange: true, StrongETags: true, Compress: true, CompressBrotli: true, CompressZstd: true},
		{FS: tree, AcceptByteRange: true, MaxRanges: 1 << 14, SkipCache: true},
	} {
		fs.PathRewrite = func(*gale.RequestCtx) []byte { return []byte("/f.txt") }
		v.files = append(v.files, fs.NewRequestHandler())
	}
	v.encode = gale.CompressHandlerBrotliLevel(func(ctx *gale.RequestCtx) { ctx.SetBodyString("short") }, 1, 1)
	return v
}

func (v *visitor) handle(ctx *gale.RequestCtx) {
	v.ran = true
	h, name, run := &ctx.Request.Header, v.name, v.m.run
	run("All", func() {
		for range h.All() {
		}
	})
	run("AllInOrder", func() {
		for range h.AllInOrder() {
		}
	})
	run("Peek", func() { h.Peek(name) })
	run("Peek of another", func() { h.Peek("X-Nothing-Of-That-Name") })
	run("PeekAll", func() { h.PeekAll(name) })
	run("PeekKeys", func() { h.PeekKeys() })
	run("Len", func() { h.Len() })
	run("Trailers", func() {
		for range h.Trailers() {
		}
		h.PeekTrailerKeys()
		h.TrailerHeader()
		ctx.PeekTrailer("X-Sum")
	})
	run("Cookies", func() {
		for range h.Cookies() {
		}
	})
	run("Cookie", func() { h.Cookie("nothing") })
	run("connection", func() { h.ConnectionClose(); h.ConnectionUpgrade(); ctx.Request.MayContinue() })
	run("HasAcceptEncoding", func() { h.HasAcceptEncoding("nothing") })
	run("MultipartFormBoundary", func() { h.MultipartFormBoundary() })
	run("MultipartForm", func() { _, _ = ctx.MultipartForm() })
	run("PostArgs", func() { ctx.PostArgs() })
	run("URI", func() { u := ctx.URI(); u.Path(); u.FullURI(); u.QueryArgs(); ctx.Host() })
	run("paths to other readers", func() { pathrule.Find(ctx.RequestURI()) })
	run("ClientIP", func() { ctx.SetRemoteAddr(trustedPeer); ctx.ClientIP() })
	run("BasicAuth", func() { ctx.BasicAuth() })
	run("BindJSON", func() { _ = ctx.BindJSON(new(any)) })
	run("Fail", func() { ctx.Fail(gale.StatusNotFound, nil); ctx.Response.Reset() })
	run("BeforeSend", func() { ctx.BeforeSend(func(*gale.RequestCtx) {}) })
	run("IfModifiedSince", func() { ctx.IfModifiedSince(time.Unix(1e9, 0)) })
	run("String", func() { _ = h.String() })
	run("CopyTo", func() { h.CopyTo(&v.scratch) })
	run("SetCookie", func() { v.scratch.SetCookie("a", "b"); v.scratch.DelCookie("c") })
	h.CopyTo(&v.scratch)
	run("Add", func() { v.scratch.Add(name, "a") })
	run("Set", func() { v.scratch.Set(name, "a") })
	h.CopyTo(&v.scratch)
	run("Del", func() { v.scratch.Del(name) })
	h.CopyTo(&v.scratch)
	run("Set another", func() { v.scratch.Set("X-Another", "a"); v.scratch.SetMultipartFormBoundary("a") })
	values := h.PeekAll(name)
	run("VisitHeaderParams", func() {
		for _, value := range values {
			gale.VisitHeaderParams(value, func(_, _ []byte) bool { return true })
		}
	})
	run("ParseByteRange", func() {
		for _, value := range values {
			_, _, _ = gale.ParseByteRange(value, 1000)
		}
	})
	run("parse values", func() {
		var args gale.Args
		var uri gale.URI
		var cookie gale.Cookie
		for _, value := range values {
			args.ParseBytes(value)
			_ = uri.Parse(nil, value)
			_ = uri.Parse(value, []byte("/"))
			uri.UpdateBytes(value)
			_ = cookie.ParseBytes(value)
			_ = cookie.String()
		}
	})
	for i, file := range v.files {
		run(fmt.Sprintf("files %d", i), func() { file(ctx) })
		ctx.Response.Reset()
	}
	run("compress", func() { v.encode(ctx) })
	v.answer.Reset()
	if name != gale.HeaderTrailer { // its elements are looked up one after the other
		for _, value := range values {
			v.answer.AddBytesV(name, value)
		}
		visitResponse(v.m, name, &v.answer)
		run("answer", func() { v.answer.CopyTo(&ctx.Response.Header) })
	}
}

// visitResponse calls every method that reads a response's header.
func visitResponse(m *meter, name string, h *gale.ResponseHeader) {
	var scratch gale.ResponseHeader
	run := func(task string, f func()) { m.run("response: "+task, f) }
	run("All", func() {
		for range h.All() {
		}
	})
	run("Peek", func() { h.Peek(name) })
	run("PeekAll", func() { h.PeekAll(name) })
	run("PeekKeys", func() { h.PeekKeys() })
	run("Len", func() { h.Len() })
	run("Trailers", func() {
		for range h.Trailers() {
		}
		h.PeekTrailerKeys()
		h.TrailerHeader()
	})
	run("Cookies", func() {
		var c gale.Cookie
		for _, value := range h.Cookies() {
			_ = c.ParseBytes(value)
			_ = c.String()
		}
	})
	run("PeekCookie", func() { h.PeekCookie("nothing") })
	run("connection", func() { h.ConnectionClose(); h.ConnectionUpgrade() })
	run("String", func() { _ = h.String() })
	run("CopyTo", func() { h.CopyTo(&scratch) })
	run("DelCookie", func() { scratch.DelCookie("a"); scratch.DelCookie("b") })
	h.CopyTo(&scratch)
	for range len(h.PeekAll(gale.HeaderSetCookie)) {
		scratch.AddBytesV(gale.HeaderSetCookie, []byte("late=b"))
	}
	run("DelCookie of many", func() { scratch.DelCookie("late") })
	run("DelClientCookie", func() { scratch.DelClientCookie("c") })
	h.CopyTo(&scratch)
	run("Add", func() { scratch.Add(name, "a") })
	run("Set", func() { scratch.Set(name, "a") })
	h.CopyTo(&scratch)
	run("Del", func() { scratch.Del(name) })
	run("encode", func() {
		var resp gale.Response
		h.CopyTo(&resp.Header)
		resp.SetBody(bytes.Repeat([]byte("a"), 300))
		_ = resp.WriteGzip(bufio.NewWriter(io.Discard))
	})
}

// serve makes a server answer the request raw, which arrives in pieces, and returns the
// cost of each task.
func (v *visitor) serve(s *gale.Server, name string, raw []byte, piece int) *meter {
	v.name, v.m, v.ran = name, &meter{}, false
	from := count.Steps()
	_ = s.ServeConn(&conn{in: raw, piece: piece})
	rest := count.Steps() - from - v.m.sum()
	v.m.run("receive and answer", func() { count.Add(int(rest)) })
	return v.m
}

func testServer(v *visitor) *gale.Server {
	return &gale.Server{
		Handler: v.handle, Logger: noLog{}, MaxHeaderBytes: 1 << 20, MaxHeaderFields: 1 << 14, DisableKeepalive: true,
		TrustedProxies: trustedProxies,
	}
}

func filesDir(t *testing.T) string {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "f.txt"), bytes.Repeat([]byte("text "), 4000), 0o644); err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestRequestFields(t *testing.T) {
	v := newVisitor(filesDir(t))
	s := testServer(v)
	v.serve(s, "A", []byte("GET / HTTP/1.1\r\nHost: h\r\n\r\n"), 0) // so that what is made once exists
	ran := map[string]bool{}
	for _, name := range names() {
		l := lists[name]
		for _, sh := range shapesOf(name) {
			run := func(piece int) func(int) (*meter, int) {
				return func(n int) (*meter, int) {
					values := sh.make(l.element, l.separator, n)
					raw := []byte("GET /p?a=b HTTP/1.1\r\n")
					if name != "Host" {
						raw = append(raw, "Host: h\r\n"...)
					}
					raw = appendFields(raw, name, values)
					raw = append(raw, "\r\n"...)
					m := v.serve(s, name, raw, piece)
					ran[name] = ran[name] || v.ran
					return m, len(raw)
				}
			}
			compare(t, name+", "+sh.name, run(0))
			if sh.name == "elements" || sh.name == "many fields" {
				compare(t, name+", "+sh.name+" in pieces", run(piece))
			}
		}
	}
	for _, name := range names() {
		switch name {
		case "Transfer-Encoding", "Content-Length", "Host": // no shape is right
		default:
			if !ran[name] {
				t.Errorf("%s: the handler never ran", name)
			}
		}
	}
	t.Logf("at most %d steps for each byte: %s", worst.steps, worst.what)
}

// jar is a cookie jar that keeps all cookies.
type jar struct{ cookies []*gale.Cookie }

func (j *jar) SetCookies(_ *gale.URI, cookies []*gale.Cookie) {
	j.cookies = j.cookies[:0]
	for _, c := range cookies {
		kept := &gale.Cookie{}
		kept.CopyTo(c)
		j.cookies = append(j.cookies, kept)
	}
}
func (j *jar) Cookies(*gale.URI) []*gale.Cookie { return j.cookies }

// exchange makes a client read raw as the response to its request.
func exchange(name string, raw []byte, piece int) *meter {
	m := &meter{}
	var req gale.Request
	var resp gale.Response
	kept := &jar{}
	for _, task := range []string{"receive", "receive and send cookies"} { // the second task has the cookies of the first
		req.SetRequestURI("http://h/")
		c := &gale.Client{
			Dial:           func(string) (net.Conn, error) { return &conn{in: bytes.Clone(raw), piece: piece}, nil },
			ReadBufferSize: 1 << 20, Jar: kept, MaxIdemponentCallAttempts: 1,
		}
		m.run(task, func() { _ = c.Do(&req, &resp) })
	}
	visitResponse(m, name, &resp.Header)
	m.run("uncompressed", func() { _, _ = resp.BodyUncompressed() })
	m.run("read", func() {
		var h gale.ResponseHeader
		_ = h.Read(bufio.NewReaderSize(bytes.NewReader(raw), 1<<20))
	})
	return m
}

func TestResponseFields(t *testing.T) {
	for _, name := range names() {
		l := lists[name]
		for _, sh := range shapesOf(name) {
			run := func(piece int) func(int) (*meter, int) {
				return func(n int) (*meter, int) {
					values := sh.make(l.element, l.separator, n)
					if len(values) > 500 {
						values = values[:500]
					}
					raw := []byte("HTTP/1.1 200 OK\r\n")
					if name != "Content-Length" {
						raw = append(raw, "Content-Length: 0\r\n"...)
					}
					raw = append(appendFields(raw, name, values), "\r\n"...)
					return exchange(name, raw, piece), len(raw)
				}
			}
			compare(t, name+", "+sh.name, run(0))
			if sh.name == "elements" || sh.name == "many fields" {
				compare(t, name+", "+sh.name+" in pieces", run(piece))
			}
		}
	}
	t.Logf("at most %d steps for each byte: %s", worst.steps, worst.what)
}

// Inputs that aren't fields: targets, hosts, forms, chunks, trailer sections, parts.
func TestOtherParts(t *testing.T) {
	v := newVisitor(filesDir(t))
	s := testServer(v)
	lines := func(format string) func(int) string {
		return func(n int) string {
			var b strings.Builder
			for i := 0; b.Len() < n; i++ {
				fmt.Fprintf(&b, format, i)
			}
			return b.String()
		}
	}
	for _, tt := range []struct{ name, before, part, after string }{
		{"path", "GET /", "a/", " HTTP/1.1\r\nHost: h\r\n\r\n"},
		{"dots", "GET /", "../", " HTTP/1.1\r\nHost: h\r\n\r\n"},
		{"up and down", "GET /", "a/../", " HTTP/1.1\r\nHost: h\r\n\r\n"},
		{"down, then up", "GET /a/a/a/a/a/a/a/a/a/a", "/b/b/../..", " HTTP/1.1\r\nHost: h\r\n\r\n"},
		{"slashes", "GET /", "//", " HTTP/1.1\r\nHost: h\r\n\r\n"},
		{"escapes", "GET /", "%2e%2e/", " HTTP/1.1\r\nHost: h\r\n\r\n"},
		{"broken escapes", "GET /", "%", " HTTP/1.1\r\nHost: h\r\n\r\n"},
		{"query", "GET /?", "a=b&", " HTTP/1.1\r\nHost: h\r\n\r\n"},
		{"ampersands", "GET /?", "&", " HTTP/1.1\r\nHost: h\r\n\r\n"},
		{"query of plusses", "GET /?a=", "+", " HTTP/1.1\r\nHost: h\r\n\r\n"},
		{"question marks", "GET /", "?", " HTTP/1.1\r\nHost: h\r\n\r\n"},
		{"absolute", "GET http://h", "/:@", " HTTP/1.1\r\nHost: h\r\n\r\n"},
		{"authority", "GET http://", "a.", "/ HTTP/1.1\r\nHost: h\r\n\r\n"},
		{"CONNECT", "CONNECT ", "a.", ":80 HTTP/1.1\r\nHost: h\r\n\r\n"},
		{"method", "", "A", " / HTTP/1.1\r\nHost: h\r\n\r\n"},
		{"version", "GET / HTTP/", "1", "\r\nHost: h\r\n\r\n"},
		{"host", "GET / HTTP/1.1\r\nHost: ", "a.", "\r\n\r\n"},
		{"host of escapes", "GET / HTTP/1.1\r\nHost: ", "%ff", "\r\n\r\n"},
		{"IPv6", "GET / HTTP/1.1\r\nHost: [", "1:", "]\r\n\r\n"},
		{"port", "GET / HTTP/1.1\r\nHost: h:", "0", "\r\n\r\n"},
		{"empty lines", "", "\r\n", "GET / HTTP/1.1\r\nHost: h\r\n\r\n"},
		{"names", "GET / HTTP/1.1\r\nHost: h\r\n", "X-%d: a\r\n", "\r\n"},
		{"values without names", "GET / HTTP/1.1\r\nHost: h\r\n", ": a\r\n", "\r\n"},
		{"lines that aren't plain", "GET / HTTP/1.1\r\nHost: h\r\n", "a:\t b \r\n", "\r\n"},
		{"one name", "GET / HTTP/1.1\r\nHost: h\r\nX", "y", ": a\r\n\r\n"},
		{"folded lines", "GET / HTTP/1.1\r\nHost: h\r\nA: b\r\n", " c\r\n", "\r\n"},
		{"form", "POST / HTTP/1.1\r\nHost: h\r\nContent-Type: application/x-www-form-urlencoded\r\nContent-Length: %n\r\n\r\n", "a%d=b&", ""},
		{"form of escapes", "POST / HTTP/1.1\r\nHost: h\r\nContent-Type: application/x-www-form-urlencoded\r\nContent-Length: %n\r\n\r\n", "%41&", ""},
		{"chunks", "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n", "40\r\n0123456789012345678901234567890123456789012345678901234567890123\r\n", "0\r\n\r\n"},
		{"small chunks", "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n", "1\r\na\r\n", "0\r\n\r\n"},
		{"chunk extensions", "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n1", `;a="b\"c"`, "\r\na\r\n0\r\n\r\n"},
		{"chunk size", "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n", "0", "1\r\na\r\n0\r\n\r\n"},
		{"trailer section", "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n", "X-%d: a\r\n", "\r\n"},
		{"one trailer", "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nA: ", ",", "\r\n\r\n"},
		{"same trailers", "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n", "X-Sum: a\r\n", "\r\n"},
		{"parts", "POST / HTTP/1.1\r\nHost: h\r\nContent-Type: multipart/form-data; boundary=b\r\nContent-Length: %n\r\n\r\n", "--b\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\nb\r\n", "--b--\r\n"},
		{"parts of different names", "POST / HTTP/1.1\r\nHost: h\r\nContent-Type: multipart/form-data; boundary=b\r\nContent-Length: %n\r\n\r\n", "--b\r\nContent-Disposition: form-data; name=\"a%d\"\r\n\r\nb\r\n", "--b--\r\n"},
		{"header of a part", "POST / HTTP/1.1\r\nHost: h\r\nContent-Type: multipart/form-data; boundary=b\r\nContent-Length: %n\r\n\r\n--b\r\nContent-Disposition: form-data; name=\"a\"\r\n", "X: y\r\n", "\r\nb\r\n--b--\r\n"},
		{"parameters of a part", "POST / HTTP/1.1\r\nHost: h\r\nContent-Type: multipart/form-data; boundary=b\r\nContent-Length: %n\r\n\r\n--b\r\nContent-Disposition: form-data; name=\"a\"", "; x%d=\"y\"", "\r\n\r\nb\r\n--b--\r\n"},
		{"nearly boundaries", "POST / HTTP/1.1\r\nHost: h\r\nContent-Type: multipart/form-data; boundary=b\r\nContent-Length: %n\r\n\r\n--b\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\n", "\r\n--", "\r\n--b--\r\n"},
	} {
		part := func(n int) string { return strings.Repeat(tt.part, n/len(tt.part)+1) }
		if strings.Contains(tt.part, "%d") {
			part = lines(tt.part)
		}
		for _, piece := range []int{0, piece} {
			compare(t, fmt.Sprintf("%s in pieces of %d", tt.name, piece), func(n int) (*meter, int) {
				p := part(n)
				_, body, _ := strings.Cut(tt.before, "\r\n\r\n")
				before := strings.Replace(tt.before, "%n", fmt.Sprint(len(body)+len(p)+len(tt.after)), 1)
				raw := []byte(before + p + tt.after)
				return v.serve(s, "Host", raw, piece), len(raw)
			})
		}
	}
	t.Logf("at most %d steps for each byte: %s", worst.steps, worst.what)
}
