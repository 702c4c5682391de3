package differential

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/galehttp/gale"
	"github.com/valyala/fasthttp"
)

// A request as a handler saw it. The body shows where the next message begins.
type request struct{ method, target, host, body, path string }

// A reading is how a server understood the bytes of a connection.
type reading struct {
	requests []request
	statuses []int // of the final answers
}

// probe is sent after each input. It shows whether the connection was kept, and where the
// last message ended.
const probe = "GET /probe HTTP/1.1\r\nHost: probe\r\n\r\n"

// wireConn is a connection whose client sends in, at most step bytes at a time, and then
// closes its side.
type wireConn struct {
	in   []byte
	step int

	mu     sync.Mutex
	out    bytes.Buffer
	closed chan struct{}
	once   sync.Once
}

func newWireConn(in []byte, step int) *wireConn {
	return &wireConn{in: in, step: step, closed: make(chan struct{})}
}

func (c *wireConn) Read(b []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.in) == 0 {
		return 0, io.EOF
	}
	n := copy(b[:min(len(b), c.step)], c.in)
	c.in = c.in[n:]
	return n, nil
}

func (c *wireConn) Write(b []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.out.Write(b)
}

func (c *wireConn) Close() error {
	c.once.Do(func() { close(c.closed) })
	return nil
}

func (c *wireConn) output() []byte {
	c.mu.Lock()
	defer c.mu.Unlock()
	return bytes.Clone(c.out.Bytes())
}

func (c *wireConn) LocalAddr() net.Addr              { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 80} }
func (c *wireConn) RemoteAddr() net.Addr             { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 9} }
func (c *wireConn) SetDeadline(time.Time) error      { return nil }
func (c *wireConn) SetReadDeadline(time.Time) error  { return nil }
func (c *wireConn) SetWriteDeadline(time.Time) error { return nil }

type silence struct{}

func (silence) Printf(string, ...any) {}

func readByGale(in []byte, step int) reading {
	var r reading
	conn := newWireConn(in, step)
	s := gale.Server{Logger: silence{}, Handler: func(ctx *gale.RequestCtx) {
		r.requests = append(r.requests, request{string(ctx.Method()), string(ctx.Request.Header.RequestURI()), string(ctx.Request.Header.Host()), string(ctx.Request.Body()), string(ctx.Path())})
		ctx.SetBodyString("ok")
	}}
	s.ServeConn(conn)
	r.readAnswers(conn.output())
	return r
}

func readByFasthttp(in []byte, step int) reading {
	var r reading
	conn := newWireConn(in, step)
	s := fasthttp.Server{Logger: silence{}, Handler: func(ctx *fasthttp.RequestCtx) {
		r.requests = append(r.requests, request{string(ctx.Method()), string(ctx.Request.Header.RequestURI()), string(ctx.Request.Header.Host()), string(ctx.Request.Body()), string(ctx.Path())})
		ctx.SetBodyString("ok")
	}}
	s.ServeConn(conn)
	r.readAnswers(conn.output())
	return r
}

// oneConn is a listener that accepts one connection.
type oneConn struct {
	conns chan net.Conn
	done  chan struct{}
}

func (l *oneConn) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.done:
		return nil, errors.New("done")
	}
}
func (l *oneConn) Close() error   { return nil }
func (l *oneConn) Addr() net.Addr { return &net.TCPAddr{} }

func readByNetHTTP(in []byte, step int) reading {
	var r reading
	conn := newWireConn(in, step)
	s := http.Server{DisableGeneralOptionsHandler: true, ErrorLog: log.New(io.Discard, "", 0), Handler: http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		body, err := io.ReadAll(req.Body)
		if err != nil {
			w.Header().Set("Connection", "close")
			w.WriteHeader(400) // the other servers read the body before they call the handler
			return
		}
		r.requests = append(r.requests, request{req.Method, req.RequestURI, req.Host, string(body), ""})
		io.WriteString(w, "ok")
	})}
	l := &oneConn{make(chan net.Conn, 1), make(chan struct{})}
	l.conns <- conn
	served := make(chan struct{})
	go func() {
		s.Serve(l)
		close(served)
	}()
	<-conn.closed
	close(l.done)
	<-served
	r.readAnswers(conn.output())
	return r
}

// readAnswers records the status codes of final answers.
func (r *reading) readAnswers(out []byte) {
	br := bufio.NewReader(bytes.NewReader(out))
	for i := 0; ; {
		req := &http.Request{Method: "GET"}
		if i < len(r.requests) {
			req.Method = r.requests[i].method
		}
		resp, err := http.ReadResponse(br, req)
		if err != nil {
			return
		}
		io.Copy(io.Discard, resp.Body)
		if resp.StatusCode >= 200 {
			r.statuses = append(r.statuses, resp.StatusCode)
			i++
		}
	}
}

func (r reading) String() string { return fmt.Sprintf("%q %v", r.requests, r.statuses) }

// wireDifferences are the differences between Gale and fasthttp, and netDifferences those
// between Gale and net/http, in what they accept. "stricter" and "laxer" are about Gale.
// What both accept they must read in the same way.
var (
	wireDifferences = differences{
		{row: "lines that end in a bare LF", when: stricter(bareLF)},
		{row: "folded field lines (obs-fold)", when: stricter(folded)},
		{row: "`Transfer-Encoding` and `Content-Length` together", when: stricter(twoLengths)},
		{row: "unsupported transfer codings", when: stricter(otherCoding)},
		{row: "HTTP/1.2 to HTTP/1.9 in a start line", when: laxer(minorVersion)},
		{row: "HTTP/2.0, HTTP/9.9 in a request line", when: stricter(otherVersion)},
		{row: "Host with userinfo, a path, bytes that aren't ASCII, or broken syntax", when: stricter(badHost)},
		{row: "a successful answer to CONNECT", when: stricter(connect)},
		{row: "targets in the wrong form for their method, or with a fragment", when: stricter(badTarget)},
		{row: "unknown Expect", when: stricter(expects)},
		{row: "lines of chunks and trailers with spaces or broken extensions", when: stricter(badChunkLine)},
		{row: "lines of chunks and trailers with spaces or broken extensions", when: stricter(badExtension)},
		{row: "spaces in field names", when: stricter(spacedName)},
		{row: "chunk sizes with more than 16 digits, spaces before `;`", when: laxer(oddChunkLine)},
		{row: "Host that is empty or has escapes", when: laxer(oddHost)},
		{row: "Host beside a target with a host, `GET http://host/path` or CONNECT", when: differs(hostInTarget)},
	}
	netDifferences = differences{
		{when: stricter(bareLF)},
		{when: stricter(folded)},
		{when: stricter(twoLengths)},
		{when: stricter(oldCoding)},
		{when: stricter(otherVersion)},
		{when: stricter(badHost)},
		{when: stricter(connect)},
		{when: stricter(badTarget)},
		{when: stricter(forbiddenTrailer)},
		{when: stricter(badChunkLine)},
		{when: stricter(badExtension)},
		{when: laxer(oddChunkLine)},
		{when: laxer(emptyLines)},
		{when: laxer(brokenEscape)},
		{when: laxer(closeInText)},
		{when: stricter(keepInText)},
		{when: stricter(bareCR)}, // skipped between messages
	}
)

// The properties of inputs that lead to differences.
var (
	bareLF           = regexp.MustCompile(`(^|[^\r])\n`)
	folded           = regexp.MustCompile(`\r\n[ \t]`)
	twoLengths       = regexp.MustCompile(`(?is)\ncontent-length[ \t]*:.*\n(content-length|transfer-encoding)[ \t]*:|\ntransfer-encoding[ \t]*:.*\ncontent-length[ \t]*:`)
	oldCoding        = regexp.MustCompile(`(?is)HTTP/1\.0[ \r].*\ntransfer-encoding[ \t]*:`)
	otherCoding      = regexp.MustCompile(`(?i)\ntransfer-encoding:[ \t]*identity`)
	otherVersion     = regexp.MustCompile(`(^|\n)[^\r\n]* HTTP/[^1]\.`)
	minorVersion     = regexp.MustCompile(`(^|\n)[^\r\n]* HTTP/1\.[2-9]`)
	badHost          = regexp.MustCompile(`(?i)\nhost:[ \t]*([^\r\n]*[^-\r\n \tA-Za-z0-9._~!$&'()*+;=:%\[\]][^\r\n]*|:[^\r\n]*|[^\r\n\[\]]*:[^\r\n\[\]]*[^0-9\r\n][^\r\n]*|[^\r\n]*[\[\]%][^\r\n]*)\r`)
	badTarget        = regexp.MustCompile(`(?m)^[^ :\r\n]+ ([^/ \r\n][^\r\n]*|[^ \r\n]*#[^\r\n]*) HTTP/`)
	connect          = regexp.MustCompile(`(^|\n)CONNECT `)
	expects          = regexp.MustCompile(`(?i)\nexpect:`)
	badChunkLine     = regexp.MustCompile(`\n[0-9a-fA-F]+[ \t]+\r|\n0\r\n([^\r\n]+\r\n)*[^\r\n:]*[ \t]+:`)
	badExtension     = regexp.MustCompile(`\n[0-9a-fA-F]+[ \t]*(;[^\r\n]*)?([;=][ \t]*\r|[^\t\x20-\x7e\r\n])`)
	spacedName       = regexp.MustCompile(`\n[^\r\n:]*[ \t][^\r\n:]*:`)
	oddChunkLine     = regexp.MustCompile(`\n([0-9a-fA-F]{17,}|[0-9a-fA-F]+[ \t]+;)`)
	forbiddenTrailer = regexp.MustCompile(`(?i)\n0\r\n(content-length|transfer-encoding|host|trailer)[ \t]*:`)
	oddHost          = regexp.MustCompile(`(?i)\nhost:[ \t]*(\r|[^\r\n]*%)`)
	emptyLines       = regexp.MustCompile(`^(\r\n)+|\r\n\r\n\r\n`)
	closeInText      = regexp.MustCompile(`(?i)\nconnection:[^\r\n]*[^\s,][^\r\n,]*close|\nconnection:[^\r\n]*close[^\r\n,]*[^\s,]`)
	keepInText       = regexp.MustCompile(`(?i) HTTP/1\.0\r\n(.*\r\n)*connection:([^\r\n]*[^\s,][^\r\n,]*keep-alive|[^\r\n]*keep-alive[^\r\n,]*[^\s,])`)
	bareCR           = regexp.MustCompile(`\r([^\n]|$)`)
	hostInTarget     = regexp.MustCompile(`(^|\n)[^ \r\n]+ [a-z]+://[^ \r\n]+ HTTP/1`)
	brokenEscape     = regexp.MustCompile(`(^|\n)[^ \r\n]+ [^ \r\n]*%([^0-9a-fA-F]|.[^0-9a-fA-F])`)
)

func stricter(r *regexp.Regexp) func(observation) bool {
	return func(o observation) bool { return o.what == "stricter" && r.MatchString(o.in) }
}

func differs(r *regexp.Regexp) func(observation) bool {
	return func(o observation) bool { return o.what == "differs" && r.MatchString(o.in) }
}

func laxer(r *regexp.Regexp) func(observation) bool {
	return func(o observation) bool { return o.what == "laxer" && r.MatchString(o.in) }
}

// checkWire compares how the three libraries read in.
//
// If both Gale and net/http accept a message, they must agree about it, without
// exception: one of them may be in front of the other.
func checkWire(t *testing.T, in string) {
	t.Helper()
	raw := []byte(in + probe)
	ours := readByGale(raw, len(raw))
	if again := readByGale(raw, 1); again.String() != ours.String() {
		t.Errorf("%q: read byte by byte as\n %v, as a whole as\n %v", in, again, ours)
	}
	if n := len(ours.requests); len(ours.statuses) < n || len(ours.statuses) > n+1 || slices.ContainsFunc(ours.statuses[:n], func(s int) bool { return s != 200 }) {
		t.Errorf("%q: %d requests, answers %v", in, n, ours.statuses)
	}
	for _, r := range ours.requests {
		// The path comes from the target, whatever the host is.
		var u gale.URI
		if strings.HasPrefix(r.target, "/") && (u.Parse([]byte("h"), []byte(r.target)) != nil || string(u.Path()) != r.path) {
			t.Errorf("%q: the path of %q is %q, want %q", in, r.target, r.path, u.Path())
		}
	}
	theirs := readByNetHTTP(raw, len(raw))
	for i := range min(len(ours.requests), len(theirs.requests)) {
		if !sameRequest(ours.requests[i], theirs.requests[i]) {
			t.Errorf("%q: request %d is\n %q, for net/http it is\n %q", in, i, ours.requests[i], theirs.requests[i])
			return
		}
	}
	explainWire(t, netDifferences, "net/http", in, ours, theirs)
	peers := readByFasthttp(raw, len(raw))
	for i := range min(len(ours.requests), len(peers.requests)) {
		if ours.requests[i] != peers.requests[i] {
			if !wireDifferences.explain(observation{"differs", in, ours.String(), peers.String()}) {
				t.Errorf("%q: request %d is\n %q, for fasthttp it is\n %q", in, i, ours.requests[i], peers.requests[i])
			}
			return
		}
	}
	explainWire(t, wireDifferences, "fasthttp", in, ours, peers)
}

// sameRequest compares a request with that of net/http. If the target has a host,
// net/http's Request.Host is that one, and ours is the Host field.
func sameRequest(ours, theirs request) bool {
	ours.path = ""
	if ours.target[0] != '/' {
		ours.host, theirs.host = "", ""
	}
	return ours == theirs
}

func explainWire(t *testing.T, ds differences, name, in string, ours, theirs reading) {
	t.Helper()
	what := "stricter"
	switch {
	case len(ours.requests) == len(theirs.requests):
		return
	case len(ours.requests) > len(theirs.requests):
		what = "laxer"
	}
	if !ds.explain(observation{what, in, ours.String(), theirs.String()}) {
		t.Errorf("%q: %s than %s\n ours   %v\n theirs %v", in, what, name, ours, theirs)
	}
}

// wireInputs are written by hand.
var wireInputs = func() []string {
	get := func(fields string) string { return "GET / HTTP/1.1\r\nHost: h\r\n" + fields + "\r\n" }
	post := func(fields, body string) string { return "POST /p HTTP/1.1\r\nHost: h\r\n" + fields + "\r\n" + body }
	inputs := []string{
		"", "\r\n", "\r\n\r\n", "\n", "GET / HTTP/1.1\r\nHost: h\r\n\r\nGET /2 HTTP/1.1\r\nHost: h\r\n\r\n", "GET / HTTP/1.1\n\n", "GET / HTTP/1.1\nHost: h\n\n", "GET / HTTP/1.1\r\nHost: h\n\r\n", "GET / HTTP/1.1\r\nHost: h\r\n\n",
		"GET / HTTP/1.0\r\n\r\n", "GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n", "GET / HTTP/1.0\r\nHost: h\r\nConnection: keep-alive\r\n\r\n", "GET / HTTP/1.1\r\n\r\n", "GET / HTTP/1.1\r\nHost:\r\n\r\n", "GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", "GET / HTTP/1.1\r\nHost: a\r\nHost: a\r\n\r\n",
		"GET / HTTP/1.2\r\nHost: h\r\n\r\n", "GET / HTTP/2.0\r\nHost: h\r\n\r\n", "GET / HTTP/0.9\r\nHost: h\r\n\r\n", "GET / http/1.1\r\nHost: h\r\n\r\n", "GET / HTTP/1.10\r\nHost: h\r\n\r\n", "GET / HTTP/11\r\nHost: h\r\n\r\n", "GET /\r\n\r\n", "GET / \r\nHost: h\r\n\r\n", "GET  / HTTP/1.1\r\nHost: h\r\n\r\n", "GET /  HTTP/1.1\r\nHost: h\r\n\r\n", "GET / HTTP/1.1 \r\nHost: h\r\n\r\n", " GET / HTTP/1.1\r\nHost: h\r\n\r\n", "GET\t/ HTTP/1.1\r\nHost: h\r\n\r\n", "GET /a b HTTP/1.1\r\nHost: h\r\n\r\n",
		"get / HTTP/1.1\r\nHost: h\r\n\r\n", "G@T / HTTP/1.1\r\nHost: h\r\n\r\n", "FOO-BAR / HTTP/1.1\r\nHost: h\r\n\r\n", "HEAD / HTTP/1.1\r\nHost: h\r\n\r\n", "OPTIONS * HTTP/1.1\r\nHost: h\r\n\r\n", "GET * HTTP/1.1\r\nHost: h\r\n\r\n", "CONNECT h:1 HTTP/1.1\r\nHost: h:1\r\n\r\n", "GET http://x/y HTTP/1.1\r\nHost: h\r\n\r\n", "GET x HTTP/1.1\r\nHost: h\r\n\r\n", "GET //x/y HTTP/1.1\r\nHost: h\r\n\r\n", "GET /%zz HTTP/1.1\r\nHost: h\r\n\r\n", "GET /a#b HTTP/1.1\r\nHost: h\r\n\r\n", "GET /\xc3\xa9 HTTP/1.1\r\nHost: h\r\n\r\n", "GET /\x01 HTTP/1.1\r\nHost: h\r\n\r\n", "GET /\x00 HTTP/1.1\r\nHost: h\r\n\r\n", "GET /\x7f HTTP/1.1\r\nHost: h\r\n\r\n", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "\x16\x03\x01\x02\x00\x01", "GET /a\\b HTTP/1.1\r\nHost: h\r\n\r\n", "GET /a\"b<c> HTTP/1.1\r\nHost: h\r\n\r\n", "GET ?a HTTP/1.1\r\nHost: h\r\n\r\n", "GET http:// HTTP/1.1\r\nHost: h\r\n\r\n", "GET https://h HTTP/1.1\r\nHost: h\r\n\r\n",
		"GET / HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n", "GET / HTTP/1.1\r\nHost: h\r\nConnection: Close\r\n\r\n", "GET / HTTP/1.1\r\nHost: h\r\nConnection: foo, close\r\n\r\n", "GET / HTTP/1.1\r\nHost: h\r\nConnection: close, keep-alive\r\n\r\n", "GET / HTTP/1.1\r\nHost: h\r\nConnection: closed\r\n\r\n", "GET / HTTP/1.1\r\nHost: h\r\nConnection: foo close\r\n\r\n", "GET / HTTP/1.0\r\nHost: h\r\nConnection: a keep-alive\r\n\r\n", "GET / HTTP/1.1\r\nHost: h\r\nConnection: keep-alive\r\nConnection: close\r\n\r\n", "GET / HTTP/1.1\r\nHost: h\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n",
	}
	for _, host := range []string{"a:80", "a:", ":80", "a:b", "[::1]", "[::1]:80", "a b", "a/b", "a@b", "a,b", "a?b", "a#b", "\xc3\xa9", "%41", "%C3%A9", "a\x00b", "a\tb", "[", "a:80:80", "a%zz", "_", "a\"b", "*", "-"} {
		inputs = append(inputs, "GET / HTTP/1.1\r\nHost: "+host+"\r\n\r\n", "GET /a/b?c HTTP/1.1\r\nHost: "+host+"\r\n\r\n")
	}
	for _, f := range []string{
		"A: b\r\n", "A:b\r\n", "A:\r\n", "A: \r\n", "A : b\r\n", "A\t: b\r\n", ": b\r\n", "A\r\n", " A: b\r\n", "A: b\r\n c\r\n", "A: b\r\n\tc\r\n", "A: b\rc\r\n", "A: b\nc: d\r\n", "A: \x00\r\n", "A: \x01\r\n", "A: \x7f\r\n", "A: \xff\r\n", "A\x00: b\r\n", "A(: b\r\n", "\xc3\xa9: b\r\n", "A: b\r\r\n", "A:\tb\t\r\n", "\r: x\r\n", "A;B: c\r\n", "A_B: c\r\n", "A: b\r\nA: c\r\n", "A: " + strings.Repeat("x", 3000) + "\r\n", "A: b\n", "A: b\n\n", "A: b\r\n\n",
	} {
		inputs = append(inputs, get(f), post("Content-Length: 3\r\n"+f, "abc"), post(f+"Content-Length: 3\r\n", "abc"))
	}
	for _, f := range []string{
		"Content-Length: 3\r\n", "content-length:3\r\n", "Content-Length: 03\r\n", "Content-Length: +3\r\n", "Content-Length: -3\r\n", "Content-Length: 3 \r\n", "Content-Length: 3\t\r\n", "Content-Length: 0x3\r\n", "Content-Length: 3;\r\n", "Content-Length: 3,3\r\n", "Content-Length: 3, 3\r\n", "Content-Length: 3\r\nContent-Length: 3\r\n", "Content-Length: 3\r\nContent-Length: 5\r\n", "Content-Length:\r\n", "Content-Length: \r\n", "Content-Length: a\r\n", "Content-Length: 3a\r\n", "Content-Length: 99999999999999999999\r\n", "Content-Length: 9223372036854775808\r\n", "Content-Length: 18446744073709551619\r\n", "Content-Length: 0\r\n", "Content-Length: 0000000000000000000000000000003\r\n", "Content-Length : 3\r\n", "Content-Length\r\n", "Content-Length: \xd9\xa3\r\n", "Content-Length: 3\x00\r\n", "Content-Length: 3\r\nTransfer-Encoding: identity\r\n", "Content_Length: 3\r\n", "Content-Length: 1_0\r\n", "Content-Length: \"3\"\r\n", " Content-Length: 3\r\n", "X: y\r\n Content-Length: 3\r\n", "X: y\nContent-Length: 3\r\n", "X: y\rContent-Length: 3\r\n", "Content-Length: 3.0\r\n", "A Content-Length: 3\r\n",
	} {
		inputs = append(inputs, post(f, "abc"), post(f, "abcGET /smuggled HTTP/1.1\r\nHost: h\r\n\r\n"), strings.Replace(post(f, "abc"), "POST", "GET", 1), strings.Replace(post(f, "abc"), "HTTP/1.1", "HTTP/1.0", 1))
	}
	chunked := "3\r\nabc\r\n0\r\n\r\n"
	for _, f := range []string{
		"Transfer-Encoding: chunked\r\n", "transfer-encoding: Chunked\r\n", "Transfer-Encoding: CHUNKED\r\n", "Transfer-Encoding: chunked \r\n", "Transfer-Encoding:\tchunked\r\n", "Transfer-Encoding: xchunked\r\n", "Transfer-Encoding: chunked, chunked\r\n", "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n", "Transfer-Encoding: gzip, chunked\r\n", "Transfer-Encoding: chunked, gzip\r\n", "Transfer-Encoding: identity\r\n", "Transfer-Encoding: identity, chunked\r\n", "Transfer-Encoding: chunked, identity\r\n", "Transfer-Encoding: chunked,\r\n", "Transfer-Encoding: ,chunked\r\n", "Transfer-Encoding:\r\n", "Transfer-Encoding: \"chunked\"\r\n", "Transfer-Encoding: chunked;q=1\r\n", "Transfer-Encoding : chunked\r\n", "Transfer-Encoding: chunked\r\nContent-Length: 3\r\n", "Content-Length: 3\r\nTransfer-Encoding: chunked\r\n", "Content-Length: 3\r\nTransfer-Encoding: x\r\n", "Transfer-Encoding: x\r\nTransfer-Encoding: chunked\r\n", "Transfer-Encoding: chunked\r\nTransfer-Encoding: x\r\n", "Transfer-Encoding: chun\x00ked\r\n", "Transfer-Encoding: \x0bchunked\r\n", "Transfer-Encoding: ch\xc5\xaanked\r\n", "Transfer_Encoding: chunked\r\n", "Transfer-Encoding:\r\n chunked\r\n", "X: y\nTransfer-Encoding: chunked\r\n", "X: y\rTransfer-Encoding: chunked\r\n", " Transfer-Encoding: chunked\r\n", "Transfer-Encoding: chunk\r\n", "TE: chunked\r\n", "Transfer-Encoding: chunked\r\nTransfer-Encoding:\r\n",
	} {
		inputs = append(inputs, post(f, chunked), strings.Replace(post(f, chunked), "HTTP/1.1", "HTTP/1.0", 1), strings.Replace(post(f, chunked), "POST", "GET", 1))
	}
	for _, body := range []string{
		"0\r\n\r\n", "00\r\n\r\n", "3\r\nabc\r\n0\r\n\r\n", "03\r\nabc\r\n0\r\n\r\n", "a\r\n0123456789\r\n0\r\n\r\n", "A\r\n0123456789\r\n0\r\n\r\n", "0x3\r\nabc\r\n0\r\n\r\n", "+3\r\nabc\r\n0\r\n\r\n", "-3\r\nabc\r\n0\r\n\r\n", " 3\r\nabc\r\n0\r\n\r\n", "3 \r\nabc\r\n0\r\n\r\n", "3\t\r\nabc\r\n0\r\n\r\n", "3;\r\nabc\r\n0\r\n\r\n", "3;a\r\nabc\r\n0\r\n\r\n", "3;a=b\r\nabc\r\n0\r\n\r\n", "3; a=\"b;c\"\r\nabc\r\n0\r\n\r\n", "3 ;a\r\nabc\r\n0\r\n\r\n", "3;a\nabc\r\n0\r\n\r\n", "3;\x00\r\nabc\r\n0\r\n\r\n", "3;a\rb\r\nabc\r\n0\r\n\r\n", "3,a\r\nabc\r\n0\r\n\r\n",
		"3\nabc\r\n0\r\n\r\n", "3\r\nabc\n0\r\n\r\n", "3\r\nabc\r\n0\n\r\n", "3\r\nabc\r\n0\r\n\n", "3\r\nabc0\r\n\r\n", "3\r\nabcd\r\n0\r\n\r\n", "3\r\nab\r\n0\r\n\r\n", "3\r\nabc\r\n\r\n0\r\n\r\n", "\r\n", "\r\n3\r\nabc\r\n0\r\n\r\n", "g\r\n", "3\rabc\r\n0\r\n\r\n", "3\r\rabc\r\n0\r\n\r\n", "3\r\nabc\r\r0\r\n\r\n", "ffffffffffffffff\r\nabc", "10000000000000003\r\nabc\r\n0\r\n\r\n", "00000000000000000003\r\nabc\r\n0\r\n\r\n", "fffffffffffffffff\r\nabc", "7fffffffffffffff\r\nabc", "800000\r\nabc",
		"0\r\nA: b\r\n\r\n", "0\r\nA: b\r\nC: d\r\n\r\n", "0\r\nContent-Length: 5\r\n\r\n", "0\r\nTransfer-Encoding: chunked\r\n\r\n", "0\r\nHost: x\r\n\r\n", "0\r\nA\r\n\r\n", "0\r\nA : b\r\n\r\n", "0\r\n A: b\r\n\r\n", "0\r\nA: b\n\r\n", "0\r\nA: b\r\n\n", "0\r\nA: b\r\n c\r\n\r\n", "0\r\nA: \x00\r\n\r\n", "0;a=b\r\n\r\n", "0\r\n\r\r\n", "0 \r\n\r\n", "3\r\nabc\r\n3\r\ndef\r\n0\r\n\r\n", "3\r\nabc\r\n0\r\n", "3\r\nabc\r\n0",
	} {
		inputs = append(inputs, post("Transfer-Encoding: chunked\r\n", body))
	}
	for _, f := range []string{"Expect: 100-continue\r\n", "Expect: 100-Continue\r\n", "Expect: x\r\n"} {
		inputs = append(inputs, post(f+"Content-Length: 3\r\n", "abc"), get(f))
	}
	return inputs
}()

func TestWire(t *testing.T) {
	for _, in := range wireInputs {
		checkWire(t, in)
	}
	for _, b := range scripts(1500, 24) {
		checkWire(t, mangle(b, wireInputs))
	}
	wireDifferences.checkDocumented(t)
	netDifferences.checkDocumented(t)
}

var mangled = strings.Split("\r|\n|\t| |:|;|,|0|1|3|9|a|A|f|F|\x00|\x0b|\x7f|\x80|%|/|=|-", "|")

// mangle makes a pipeline of one or two of the inputs, and changes a byte or
// two of it.
func mangle(b []byte, inputs []string) string {
	s := &script{b}
	pick := func() string { return inputs[(s.n(256)<<8|s.n(256))%len(inputs)] }
	in := []byte(pick())
	if s.n(3) == 0 {
		in = append(in, pick()...)
	}
	for range s.n(3) {
		if len(in) == 0 {
			break
		}
		at := (s.n(256)<<8 | s.n(256)) % len(in)
		switch c := s.pick(mangled)[0]; s.n(4) {
		case 0:
			in[at] = c
		case 1:
			in = slices.Insert(in, at, c)
		case 2:
			in = slices.Delete(in, at, at+1)
		case 3:
			in = slices.Insert(in, at, in[at:min(len(in), at+s.n(20))]...)
		}
	}
	return string(in)
}

func FuzzWire(f *testing.F) {
	for _, in := range wireInputs {
		f.Add(in)
	}
	f.Fuzz(func(t *testing.T, in string) { checkWire(t, in[:min(len(in), 4000)]) })
}
