package message

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/textproto"
	"slices"
	"strings"
	"testing"

	"github.com/galehttp/gale"
	"github.com/galehttp/gale/tests/harness/gate"
)

// requestText builds a request header and returns the text that is sent.
func requestText(build func(h *gale.RequestHeader)) string {
	var h gale.RequestHeader
	h.SetHost("a")
	build(&h)
	return h.String()
}

func TestRequestHeaderText(t *testing.T) {
	const start = "GET / HTTP/1.1\r\n"
	for _, c := range []struct {
		name  string
		build func(h *gale.RequestHeader)
		want  string
	}{
		{"nothing", func(h *gale.RequestHeader) {}, start + "Host: a\r\n\r\n"},
		{"order", func(h *gale.RequestHeader) {
			h.SetConnectionClose()
			h.SetCookie("c", "d")
			h.Set("x-b", "1")
			h.Set("accept", "q")
			h.Add("X-B", "2")
			h.SetContentType("x/y")
			h.SetUserAgent("UA")
			_ = h.SetTrailer("t")
		}, start + "User-Agent: UA\r\nHost: a\r\nContent-Type: x/y\r\nX-B: 1\r\nAccept: q\r\nX-B: 2\r\nTrailer: T\r\nCookie: c=d\r\nConnection: close\r\n\r\n"},
		{"length", func(h *gale.RequestHeader) { h.SetMethod("POST"); h.SetContentLength(10) },
			"POST / HTTP/1.1\r\nHost: a\r\nContent-Type: application/octet-stream\r\nContent-Length: 10\r\n\r\n"},
		{"length by hand", func(h *gale.RequestHeader) { h.SetMethod("POST"); h.Set("content-length", "7"); h.SetContentType("t") },
			"POST / HTTP/1.1\r\nHost: a\r\nContent-Type: t\r\nContent-Length: 7\r\n\r\n"},
		{"bad length by hand", func(h *gale.RequestHeader) { h.Set("Content-Length", "7, 7") }, start + "Host: a\r\n\r\n"},
		{"length 0", func(h *gale.RequestHeader) { h.SetContentLength(0) }, start + "Host: a\r\nContent-Length: 0\r\n\r\n"},
		{"length deleted", func(h *gale.RequestHeader) { h.SetContentLength(4); h.Del("content-length") }, start + "Host: a\r\n\r\n"},
		{"chunked", func(h *gale.RequestHeader) { h.SetContentLength(-1) }, start + "Host: a\r\nTransfer-Encoding: chunked\r\n\r\n"},
		{"coding by hand", func(h *gale.RequestHeader) { h.Set("Transfer-Encoding", "chunked") }, start + "Host: a\r\n\r\n"},
		{"names", func(h *gale.RequestHeader) {
			for _, bad := range []string{"", "a b", "a:", ":a", "a\r\nb", "a\nb", "\x00", "é", "a\t", "(x)"} {
				h.Set(bad, "v")
				h.Add(bad, "v")
				h.SetCanonical([]byte(bad), []byte("v"))
			}
			h.Set("!#$%&'*+-.^_`|~09az", "v")
		}, start + "Host: a\r\n!#$%&'*+-.^_`|~09az: v\r\n\r\n"},
		{"values", func(h *gale.RequestHeader) { h.Set("x", "a\r\nb: c\x00\x01\x7f\té") }, start + "Host: a\r\nX: a  b: c   \té\r\n\r\n"},
		{"method", func(h *gale.RequestHeader) { h.SetMethod("PUT"); h.SetMethod("A B"); h.SetMethod("A\r\n") }, "PUT / HTTP/1.1\r\nHost: a\r\n\r\n"},
		{"protocol", func(h *gale.RequestHeader) { h.SetProtocol("HTTP/1.0"); h.SetProtocol("HTTP/1.0\r\nx") }, "GET / HTTP/1.0  x\r\nHost: a\r\n\r\n"},
		{"target", func(h *gale.RequestHeader) { h.SetRequestURI("/a b\x01\r\n\x7f?é#frag") }, "GET /a%20b%01%20%20%7F?é HTTP/1.1\r\nHost: a\r\n\r\n"},
		{"query alone", func(h *gale.RequestHeader) { h.SetRequestURI("?a=b") }, "GET /?a=b HTTP/1.1\r\nHost: a\r\n\r\n"},
		{"fragment alone", func(h *gale.RequestHeader) { h.SetRequestURI("#a") }, start + "Host: a\r\n\r\n"},
		{"cookies", func(h *gale.RequestHeader) {
			h.Set("Cookie", "a=b; c=\"d\"")
			h.Add("cookie", "e=f")
		}, start + "Host: a\r\nCookie: a=b; c=\"d\"; e=f\r\n\r\n"},
		{"cookies changed", func(h *gale.RequestHeader) {
			h.Set("Cookie", "a=b; c=d")
			h.SetCookie("c", "x;y\r\nz")
			h.DelCookie("a")
			h.Set("Cookie", "g=h")
		}, start + "Host: a\r\nCookie: c=x y  z; g=h\r\n\r\n"},
		{"cookies deleted", func(h *gale.RequestHeader) { h.Set("Cookie", "a=b"); h.DelAllCookies() }, start + "Host: a\r\n\r\n"},
		{"cookie field deleted", func(h *gale.RequestHeader) { h.SetCookie("a", "b"); h.Del("cookie") }, start + "Host: a\r\n\r\n"},
		{"set replaces all", func(h *gale.RequestHeader) {
			h.Add("V", "1")
			h.Add("W", "1")
			h.Add("v", "2")
			h.Set("v", "3")
		}, start + "Host: a\r\nV: 3\r\nW: 1\r\n\r\n"},
		{"as it is", func(h *gale.RequestHeader) {
			h.DisableNormalizing()
			h.Set("x-fOO", "1")
			h.Set("X-Foo", "2")
			h.Set("accept", "q")
		}, start + "Host: a\r\nX-Foo: 2\r\naccept: q\r\n\r\n"},
		{"canonical", func(h *gale.RequestHeader) { h.SetCanonical([]byte("x-fOO"), []byte("1")) }, start + "Host: a\r\nx-fOO: 1\r\n\r\n"},
		{"ranges", func(h *gale.RequestHeader) { h.SetByteRange(1, 2) }, start + "Host: a\r\nRange: bytes=1-2\r\n\r\n"},
		{"range to the end", func(h *gale.RequestHeader) { h.SetByteRange(1, -2) }, start + "Host: a\r\nRange: bytes=1-\r\n\r\n"},
		{"range of the end", func(h *gale.RequestHeader) { h.SetByteRange(-5, 9) }, start + "Host: a\r\nRange: bytes=-5\r\n\r\n"},
		{"keep-alive", func(h *gale.RequestHeader) { h.SetConnectionClose(); h.Set("connection", "keep-alive") },
			start + "Host: a\r\nConnection: keep-alive\r\n\r\n"},
		{"close reset", func(h *gale.RequestHeader) { h.Set("Connection", " CLOSE"); h.ResetConnectionClose() }, start + "Host: a\r\n\r\n"},
	} {
		if got := requestText(c.build); got != c.want {
			t.Errorf("%s:\ngot  %q\nwant %q", c.name, got, c.want)
		}
	}
}

func TestRequestHeaderRawMode(t *testing.T) {
	var h gale.RequestHeader
	h.DisableSpecialHeader()
	h.DisableNormalizing()
	h.Set("x-first", "1")
	h.Set("content-length", "9")
	h.Set("hOST", "a")
	h.Set("User-agent", "u")
	h.SetContentLength(3)
	want := "GET / HTTP/1.1\r\nx-first: 1\r\ncontent-length: 3\r\nhOST: a\r\nUser-agent: u\r\n\r\n"
	if got := h.String(); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	// Without a length the body would be read as the next request.
	h.Del("Content-Length")
	h.SetContentLength(-1)
	if !strings.HasSuffix(h.String(), "Transfer-Encoding: chunked\r\n\r\n") {
		t.Errorf("%q doesn't frame its body", h.String())
	}
}

func TestHeaderReceived(t *testing.T) {
	var h gale.RequestHeader
	const head = "POST /x?y HTTP/1.1\r\nhost: a\r\nfoo: b\r\nFOO:  c \r\ncookie: a=b; c=d\r\nCookie: e=f\r\n" +
		"content-length: 5\r\nconnection: Upgrade, close\r\nExpect: 100-continue\r\n\r\n"
	if err := h.Read(bufio.NewReader(strings.NewReader(head + "hello"))); err != nil {
		t.Fatal(err)
	}
	_, raw, _ := strings.Cut(head, "\r\n")
	for _, c := range []struct{ name, got, want string }{
		{"RawHeaders", string(h.RawHeaders()), raw},
		{"Method", string(h.Method()), "POST"},
		{"RequestURI", string(h.RequestURI()), "/x?y"},
		{"Peek foo", string(h.Peek("foo")), "b"},
		{"Peek Cookie", string(h.Peek("cookie")), "a=b; c=d; e=f"},
		{"Cookie", string(h.Cookie("e")), "f"},
		{"PeekAll", fmt.Sprintf("%q", h.PeekAll("Foo")), `["b" "c"]`},
		{"PeekAll of nothing", fmt.Sprintf("%q", h.PeekAll("Bar")), `[]`},
		{"PeekKeys", fmt.Sprintf("%s", h.PeekKeys()), "[Host Content-Length Cookie Foo Foo Expect Connection]"},
		{"String", h.String(), "POST /x?y HTTP/1.1\r\nHost: a\r\nContent-Type: application/octet-stream\r\nContent-Length: 5\r\n" +
			"Foo: b\r\nFoo: c\r\nCookie: a=b; c=d\r\nCookie: e=f\r\nExpect: 100-continue\r\nConnection: Upgrade, close\r\n\r\n"},
		{"flags", fmt.Sprint(h.ConnectionClose(), h.ConnectionUpgrade(), h.IsPost(), h.IsGet(), h.IsHTTP11(), h.ContentLength(), h.Len()), "true true true false true 5 7"},
		{"RawHeaders afterwards", string(h.RawHeaders()), raw},
	} {
		if c.got != c.want {
			t.Errorf("%s:\ngot  %q\nwant %q", c.name, c.got, c.want)
		}
	}
	var order []string
	for k, v := range h.AllInOrder() {
		order = append(order, string(k)+"="+string(v))
	}
	if got, want := strings.Join(order, " "), "Host=a Foo=b Foo=c Cookie=a=b; c=d Cookie=e=f Content-Length=5 Connection=Upgrade, close Expect=100-continue"; got != want {
		t.Errorf("AllInOrder:\ngot  %q\nwant %q", got, want)
	}
	if h.Peek("nothing") != nil || h.Cookie("nothing") != nil {
		t.Error("absent values aren't nil")
	}
	var c gale.RequestHeader
	c.Set("X-Old", "old")
	h.CopyTo(&c)
	if c.String() != h.String() {
		t.Errorf("copy is %q", c.String())
	}
	h.Reset()
	if h.String() != "GET / HTTP/1.1\r\n\r\n" || len(h.RawHeaders()) > 0 || string(c.Host()) != "a" {
		t.Errorf("after Reset: %q", h.String())
	}
}

func TestHeaderTrailers(t *testing.T) {
	var h gale.ResponseHeader
	h.Set("X-Before", "1")
	if err := h.SetTrailer("x-before, X-After"); err != nil {
		t.Fatal(err)
	}
	h.Set("x-after", "2")
	h.Add("X-After", "3")
	if got, want := string(h.TrailerHeader()), "X-Before: 1\r\nX-After: 2\r\nX-After: 3\r\n\r\n"; got != want {
		t.Errorf("section %q, want %q", got, want)
	}
	if head := h.String(); strings.Contains(head, "X-Before:") || !strings.Contains(head, "Trailer: X-Before, X-After\r\n") {
		t.Errorf("head %q", head)
	}
	if err := h.AddTrailer("Content-Length, x-more, a b"); err != gale.ErrBadTrailer {
		t.Errorf("forbidden names: %v", err)
	}
	if got := fmt.Sprintf("%s", h.PeekTrailerKeys()); got != "[X-Before X-After X-More]" {
		t.Errorf("keys %s", got)
	}
	if string(h.Peek("x-before")) != "1" || len(h.PeekAll("X-After")) != 2 {
		t.Error("values of the trailer section aren't found")
	}
	if err := h.SetTrailer("X-After"); err != nil || !strings.Contains(h.String(), "X-Before: 1\r\n") {
		t.Errorf("%v: a field that is no longer declared isn't in %q", err, h.String())
	}
	h.Del("Trailer")
	if string(h.TrailerHeader()) != "\r\n" || !strings.Contains(h.String(), "X-After: 3\r\n") {
		t.Errorf("after Del: %q, %q", h.TrailerHeader(), h.String())
	}

	var q gale.RequestHeader
	q.Set("X-Both", "head")
	r := bufio.NewReader(strings.NewReader("X-Both: late\r\nx-late: v\r\n\r\nrest"))
	if err := q.ReadTrailer(r); err != nil {
		t.Fatal(err)
	}
	if rest, _ := io.ReadAll(r); string(rest) != "rest" || string(q.Peek("X-Both")) != "head" || string(q.Peek("X-Late")) != "v" {
		t.Errorf("rest %q, X-Both %q, X-Late %q", rest, q.Peek("X-Both"), q.Peek("X-Late"))
	}
	for in, want := range map[string]error{"Content-Length: 5\r\n\r\n": gale.ErrBadTrailer, "X: y\r\n": io.EOF, "": io.EOF} {
		if err := q.ReadTrailer(bufio.NewReader(strings.NewReader(in))); !errors.Is(err, want) {
			t.Errorf("%q: %v, want %v", in, err, want)
		}
	}
}

// TestHeaderManyTrailers proves that a peer can declare only a limited number of names,
// since they are compared with each other.
func TestHeaderManyTrailers(t *testing.T) {
	var b strings.Builder
	for i := range 5000 {
		fmt.Fprintf(&b, "x%d,", i)
	}
	var h gale.RequestHeader
	if err := h.SetTrailer(b.String()); err != gale.ErrBadTrailer || len(h.PeekTrailerKeys()) > 200 {
		t.Errorf("%v, %d names", err, len(h.PeekTrailerKeys()))
	}
}

func TestHeaderCookies(t *testing.T) {
	var h gale.ResponseHeader
	h.Set("Set-Cookie", "a=1; Path=/")
	h.Set("Set-Cookie", "b=2")
	var c gale.Cookie
	c.SetKey("a")
	c.SetValue("3")
	h.SetCookie(&c)
	h.DelClientCookie("b;c")
	var got []string
	for k, v := range h.Cookies() {
		got = append(got, string(k)+" "+string(v))
	}
	if want := []string{"a a=3", "b b=2", "b c b c=; expires=Tue, 10 Nov 2009 23:00:00 GMT"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if string(h.PeekCookie("b")) != "b=2" || h.PeekCookie("x") != nil {
		t.Errorf("PeekCookie: %q", h.PeekCookie("b"))
	}
	h.DelCookie("a")
	h.DelAllCookies()
	if h.Peek("Set-Cookie") != nil {
		t.Errorf("left: %q", h.Peek("Set-Cookie"))
	}
}

func TestHasAcceptEncoding(t *testing.T) {
	for in, want := range map[string]bool{
		"gzip": true, "br,GZIP": true, "gzip;q=0": false, "gzip; q=0.000": false, "gzip;q=0.001": true,
		"xgzip": false, "gzipx": false, "": false, "*": false, "gzip ;q=1, br": true, "gzip;Q=0": false,
	} {
		var h gale.RequestHeader
		h.Set("Accept-Encoding", in)
		if got := h.HasAcceptEncoding("gzip"); got != want {
			t.Errorf("%q: %v", in, got)
		}
	}
}

func TestMultipartFormBoundary(t *testing.T) {
	for in, want := range map[string]string{
		"multipart/form-data; boundary=abc":              "abc",
		"Multipart/Form-Data;Boundary=\"a b;c\"":         "a b;c",
		"multipart/form-data; x=y; boundary=a.b ; q=r":   "a.b",
		"multipart/form-data; boundary=a=b/c:d":          "a=b/c:d",
		"multipart/form-data; boundary=abc; \t":          "abc",
		"multipart/form-data; x=y; boundary=a/b":         "", // not alone
		"multipart/form-data; boundary=a,b":              "",
		"multipart/form-data; boundary=a b":              "",
		"multipart/form-data; boundary = a":              "", // package mime reads it
		"multipart/form-data; boundary= a":               "",
		"multipart/form-data; boundary =a":               "",
		"multipart/form-data; boundary=a;;":              "",
		"multipart/form-data; boundary=a\\b":             "",
		"multipart/form-data; boundary=\"a\\b\"":         "a\\b", // as package mime reads it
		"multipart/form-data; boundary=\"a\\/b\"":        "",
		"multipart/form-data; boundary=\"\"":             "",
		"multipart/form-data; boundary=a; boundary=a":    "",
		"multipart/form-data; boundary=a; BOUNDARY=b":    "",
		"multipart/form-data; boundary=a; boundary*=''b": "",
		"multipart/form-data; boundary*=us-ascii''b":     "",
		"multipart/form-data; boundary*0=b; boundary=a":  "",
		"multipart/form-data; boundary=a; boundary*1=b":  "",
		"multipart/form-data; boundary*0*=utf-8''b":      "",
		"multipart/form-data; x=1; boundary=a; x=2":      "",
		"multipart/form-data":                            "", "multipart/form-data; xboundary=q": "", "multipart/mixed; boundary=x": "",
		"multipart/form-databoundary=x": "", "multipart/form-data; x=\"; boundary=no\"; boundary=yes": "yes",
		"multipart/form-data; x=\"; boundary=no": "", "multipart/form-data; x=\"a\\\"; boundary=no": "", "multipart/form-data; boundary=\"no": "",
	} {
		var h gale.RequestHeader
		h.SetContentType(in)
		if got := string(h.MultipartFormBoundary()); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}

// checkBoundary proves that package mime, with which net/http reads forms, finds the boundary in
// a Content-Type that MultipartFormBoundary finds, except in a lone one with "=", "/" or ":", which
// it refuses. If MultipartForm finds no boundary where package mime does, the body can't be sent on.
func checkBoundary(t *testing.T, contentType string) {
	var req gale.Request
	req.Header.SetContentType(contentType)
	got := string(req.Header.MultipartFormBoundary())
	mediaType, params, err := mime.ParseMediaType(string(req.Header.ContentType()))
	want, found := params["boundary"]
	found = found && err == nil && mediaType == "multipart/form-data"
	if got != "" {
		loose := strings.ContainsAny(got, "=/:") && strings.Count(contentType, ";") <= 2 && strings.Contains(contentType, "="+got)
		if !found && !(err != nil && loose) || found && got != want {
			t.Errorf("%q: boundary %q, package mime reads %q, %q, %v", contentType, got, mediaType, params, err)
		}
		return
	}
	req.SetBodyString("--A\r\n\r\n--A--\r\n")
	if _, err := req.MultipartForm(); !errors.Is(err, gale.ErrNoMultipartForm) {
		t.Errorf("%q: MultipartForm returns %v", contentType, err)
	}
	if found && (len(req.Body()) > 0 || !errors.Is(req.BodyError(), gale.ErrNoMultipartForm)) {
		t.Errorf("%q: package mime reads the boundary %q, and the body can be sent on: %q, %v", contentType, want, req.Body(), req.BodyError())
	}
}

// boundaryWords are parts of a Content-Type.
var boundaryWords = []string{"multipart/form-data", ";", ";", "; ", " ;", "boundary", "Boundary", "boundary*", "boundary*0", "boundary*0*", "boundary*1",
	"=", "=", "=", "A", "A", "B", "\"A\"", "\"A B\"", "\"A\\B\"", "\"A\\/B\"", "utf-8''A", "utf-8''%41", "a/b", "a:b", "a=b", "a,b", "charset", "x*", "\"", "\\", " ", "\t", "\u00a0", "\u00e9", "*", "'", "%", ""}

// Property: there is one reading of a boundary.
func TestMultipartFormBoundaryIsOne(t *testing.T) {
	most := 20_000
	if gate.Full() {
		most = 2_000_000
	}
	for range most {
		s := "multipart/form-data"
		if gate.Rand.IntN(20) == 0 {
			s = ""
		}
		for range gate.Rand.IntN(12) {
			if gate.Rand.IntN(2) == 0 {
				s += "; " + boundaryWords[5+gate.Rand.IntN(6)] + "="
			}
			s += boundaryWords[gate.Rand.IntN(len(boundaryWords))]
		}
		checkBoundary(t, s)
	}
}

func FuzzMultipartFormBoundary(f *testing.F) {
	for _, s := range []string{"boundary=A; boundary*=utf-8''B", "boundary=\"A\"; x=y", "boundary=a/b;", "boundary*0=a; boundary*1=b"} {
		f.Add("multipart/form-data; " + s)
	}
	f.Fuzz(func(t *testing.T, s string) { checkBoundary(t, s) })
}

// TestHeaderAgainstNetHTTP proves that net/http reads the names, values and lengths that
// are written.
func TestHeaderAgainstNetHTTP(t *testing.T) {
	var h gale.RequestHeader
	h.SetMethod("PUT")
	h.SetRequestURI("/a b?c=d")
	h.SetHost("example.com")
	h.SetContentLength(0)
	want := http.Header{}
	for i, name := range []string{"x", "x-y", "X--Y", "fOO_bar", "accept-ENCODING", "a1-b2", "etag", "www-authenticate"} {
		value := fmt.Sprint("value ", i)
		h.Add(name, value)
		h.Add(name, "more")
		want.Add(textproto.CanonicalMIMEHeaderKey(name), value)
		want.Add(textproto.CanonicalMIMEHeaderKey(name), "more")
	}
	h.SetCookie("a", "b")
	req, err := http.ReadRequest(bufio.NewReader(bytes.NewReader(h.Header())))
	if err != nil {
		t.Fatal(err)
	}
	if c, err := req.Cookie("a"); err != nil || c.Value != "b" {
		t.Errorf("cookie: %v, %v", c, err)
	}
	req.Header.Del("Cookie")
	req.Header.Del("Content-Length")
	if fmt.Sprint(req.Header) != fmt.Sprint(want) {
		t.Errorf("got  %v\nwant %v", req.Header, want)
	}
	if req.Method != "PUT" || req.RequestURI != "/a%20b?c=d" || req.Host != "example.com" || req.ContentLength != 0 {
		t.Errorf("%+v", req)
	}
}

// Setting a received field replaces it, whether its name is a known one or not, and in
// whatever case it was sent.
func TestSetReceivedField(t *testing.T) {
	for _, name := range []string{"x-a", "X-Longer-Name", "Accept", "etag", "A"} {
		var req gale.RequestHeader
		var resp gale.ResponseHeader
		lines := name + ": 1\r\n" + strings.ToUpper(name) + ": 2\r\n\r\n"
		if err := req.Read(bufio.NewReader(strings.NewReader("GET / HTTP/1.1\r\nHost: h\r\n" + lines))); err != nil {
			t.Fatal(err)
		}
		if err := resp.Read(bufio.NewReader(strings.NewReader("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n" + lines))); err != nil {
			t.Fatal(err)
		}
		req.Set(name, "new")
		resp.Set(name, "new")
		if got := req.PeekAll(name); len(got) != 1 || string(got[0]) != "new" {
			t.Errorf("request: %s is %q", name, got)
		}
		if got := resp.PeekAll(name); len(got) != 1 || string(got[0]) != "new" {
			t.Errorf("response: %s is %q", name, got)
		}
	}
}

// New memory, or memory with other contents, is not taken for the lines of the last use.
// Otherwise a name of zero bytes would be sent, or an old spelling kept.
func TestCompactForgets(t *testing.T) {
	used := func() *gale.ResponseHeader {
		h := new(gale.ResponseHeader)
		for range 2 {
			h.Reset()
			for _, k := range []string{"B", "C", "D", "E"} {
				h.Set(k, strings.Repeat("v", 2000))
			}
		}
		h.Reset()
		return h
	}
	check := func(h *gale.ResponseHeader, bad string) {
		t.Helper()
		if got := h.String(); strings.Contains(got, bad) {
			t.Errorf("%q is in the head %q", bad, got)
		}
	}

	h := used()
	h.Set("A", "12")
	h.Set("Foo", "1")
	h.Reset()
	h.Set("A", strings.Repeat("v", 5000))
	h.Del("A")
	h.SetStatusMessage([]byte("x"))
	h.Set("B", "1")
	h.Set("\x00\x00\x00", "evil")
	check(h, "evil")

	h = used()
	h.Set("A", strings.Repeat("v", 5000))
	h.Del("A")
	h.SetCanonical([]byte("x-custom"), []byte("1"))
	h.Set("Y-Other", "1")
	h.Reset()
	h.Set("x-custom", "1")
	check(h, "x-custom")
}

// An empty part of the start line must not point beyond an arena that became shorter.
func TestHeaderEmptyPartStaysInPlace(t *testing.T) {
	var h, copied gale.RequestHeader
	h.SetHost(strings.Repeat("host", 100))
	h.SetRequestURI("")
	h.SetHost("h")
	h.CopyTo(&copied)
	if got := copied.String(); got != h.String() || string(copied.RequestURI()) != "/" {
		t.Errorf("the copy is %q, want %q", got, h.String())
	}
}
