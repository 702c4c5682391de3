package differential

import (
	"bufio"
	"bytes"
	"fmt"
	"iter"
	"net/textproto"
	"slices"
	"strings"
	"testing"

	"github.com/galehttp/gale"
	"github.com/valyala/fasthttp"
)

// fieldsAPI has the methods that the request and response headers of both libraries have.
type fieldsAPI interface {
	Add(key, value string)
	AddBytesKV(key, value []byte)
	AddTrailer(trailer string) error
	All() iter.Seq2[[]byte, []byte]
	AppendBytes(dst []byte) []byte
	ConnectionClose() bool
	ConnectionUpgrade() bool
	ContentEncoding() []byte
	ContentLength() int
	ContentType() []byte
	Cookies() iter.Seq2[[]byte, []byte]
	Del(key string)
	DelAllCookies()
	DelBytes(key []byte)
	DelCookie(key string)
	DisableNormalizing() bool
	EnableNormalizing() bool
	Header() []byte
	IsHTTP11() bool
	Len() int
	Peek(key string) []byte
	PeekAll(key string) [][]byte
	PeekBytes(key []byte) []byte
	PeekCanonical(key []byte) []byte
	PeekKeys() [][]byte
	PeekTrailerKeys() [][]byte
	Protocol() []byte
	Read(r *bufio.Reader) error
	Reset()
	ResetConnectionClose()
	Set(key, value string)
	SetBytesKV(key, value []byte)
	SetCanonical(key, value []byte)
	SetConnectionClose()
	SetContentEncoding(contentEncoding string)
	SetContentLength(contentLength int)
	SetContentType(contentType string)
	SetNoDefaultContentType(noDefaultContentType bool)
	SetTrailer(trailer string) error
	String() string
	TrailerHeader() []byte
	Trailers() iter.Seq[[]byte]
	VisitAll(f func(key, value []byte))
	VisitAllCookie(f func(key, value []byte))
	VisitAllTrailer(f func(value []byte))
}

type requestAPI interface {
	fieldsAPI
	AllInOrder() iter.Seq2[[]byte, []byte]
	Cookie(key string) []byte
	HasAcceptEncoding(acceptEncoding string) bool
	Host() []byte
	IsGet() bool
	Method() []byte
	MultipartFormBoundary() []byte
	RawHeaders() []byte
	Referer() []byte
	RequestURI() []byte
	SetByteRange(startPos, endPos int)
	SetCookie(key, value string)
	SetHost(host string)
	SetMethod(method string)
	SetMultipartFormBoundary(boundary string)
	SetProtocol(protocol string)
	SetReferer(referer string)
	SetRequestURI(requestURI string)
	SetUserAgent(userAgent string)
	UserAgent() []byte
}

type responseAPI interface {
	fieldsAPI
	DelClientCookie(key string)
	PeekCookie(key string) []byte
	Server() []byte
	SetContentRange(startPos, endPos, contentLength int)
	SetServer(server string)
	SetStatusCode(statusCode int)
	SetStatusMessage(statusMessage []byte)
	StatusCode() int
	StatusMessage() []byte
}

var headerDifferences = differences{
	{row: "`PeekAll` of Set-Cookie", when: func(o observation) bool {
		return o.what == "PeekAll(Set-Cookie)" && strings.ReplaceAll(o.gale, `\" \"`, "; ") == o.peer
	}},
	{row: "order of cookies after `DelCookie`", when: func(o observation) bool {
		return (strings.Contains(o.what, "Cookie") || strings.Contains(o.gale, "Cookie")) && sorted(o.gale) == sorted(o.peer)
	}},
	{row: "a received `Trailer` field, when a message without a trailer section is passed on", when: func(o observation) bool {
		return !strings.Contains(o.gale, "Transfer-Encoding: chunked") && o.gale == strings.ReplaceAll(o.peer, `Trailer: Foo\r\n`, "")
	}},
}

// sorted returns the bytes of s in order.
func sorted(s string) string {
	b := []byte(s)
	slices.Sort(b)
	return string(b)
}

var (
	fieldNames = []string{
		"X-A", "x-a", "X-B", "A", "Accept", "Accept-Encoding", "host", "Host", "Content-Type", "content-type", "Content-Length", "Connection", "User-Agent", "Cookie", "Set-Cookie", "Server", "Content-Encoding", "Referer", "Location", "Etag", "X-Forwarded-For", "a-b-c", "foo_bar", "X-Long-Name-Of-A-Field", "Expect", "Upgrade", "Cache-Control", "www-authenticate",
	}
	fieldValues = []string{"", "a", "b c", "text/html; charset=utf-8", "close", "keep-alive", "Upgrade", "keep-alive, Upgrade", "0", "5", "123", "-1", "x5", "gzip, br", "a=b", "a=b; c=d", "k=v; path=/; HttpOnly", "chunked", "identity", "é", "multipart/form-data; boundary=xyz", "Foo", "foo, bar", strings.Repeat("long", 40), "Tue, 10 Nov 2009 23:00:00 GMT", "example.com"}
)

func observeFields(tr *trace, h fieldsAPI, key string) {
	values := h.PeekAll(key)
	if len(values) < 2 || key == "Set-Cookie" {
		tr.add("Peek("+key+")", string(h.Peek(key)))
		tr.add("PeekBytes", string(h.PeekBytes([]byte(key))))
		tr.add("PeekCanonical", string(h.PeekCanonical([]byte(textproto.CanonicalMIMEHeaderKey(key)))))
	} else {
		// Their order is not compared: see TestHeaderDifferences.
		slices.SortFunc(values, bytes.Compare)
		tr.add("", "several")
		tr.add("", "several")
		tr.add("", "several")
	}
	tr.add("PeekAll("+key+")", fmt.Sprintf("%q", values))
	tr.add("ContentLength", h.ContentLength())
	tr.add("ContentType", string(h.ContentType()))
	tr.add("ContentEncoding", string(h.ContentEncoding()))
	tr.add("ConnectionClose", h.ConnectionClose())
	tr.add("ConnectionUpgrade", h.ConnectionUpgrade())
	tr.add("IsHTTP11", h.IsHTTP11())
	tr.add("Protocol", string(h.Protocol()))
	var all, visited, cookies, visitedCookies, trailers, visitedTrailers []string
	for k, v := range h.All() {
		all = append(all, fmt.Sprintf("%s=%q", k, v))
	}
	slices.Sort(all)
	tr.add("All", all)
	h.VisitAll(func(k, v []byte) { visited = append(visited, fmt.Sprintf("%s=%q", k, v)) })
	slices.Sort(visited)
	tr.add("VisitAll", visited)
	for k, v := range h.Cookies() {
		cookies = append(cookies, fmt.Sprintf("%s=%q", k, v))
	}
	tr.add("Cookies", cookies)
	h.VisitAllCookie(func(k, v []byte) { visitedCookies = append(visitedCookies, fmt.Sprintf("%s=%q", k, v)) })
	tr.add("VisitAllCookie", visitedCookies)
	for k := range h.Trailers() {
		trailers = append(trailers, string(k))
	}
	tr.add("Trailers", trailers)
	h.VisitAllTrailer(func(k []byte) { visitedTrailers = append(visitedTrailers, string(k)) })
	tr.add("VisitAllTrailer", visitedTrailers)
	tr.add("PeekTrailerKeys", fmt.Sprintf("%q", h.PeekTrailerKeys()))
	tr.add("Len", h.Len())
	var keys []string
	for _, k := range h.PeekKeys() {
		keys = append(keys, string(k))
	}
	slices.Sort(keys)
	tr.add("PeekKeys", keys)
	tr.add("AppendBytes", ordered(h.AppendBytes(nil)))
	tr.add("Header", ordered(h.Header()))
	tr.add("String", ordered([]byte(h.String())))
	tr.add("TrailerHeader", string(h.TrailerHeader()))
}

// ordered returns a head without its Date, with sorted lines.
func ordered(head []byte) string {
	start, rest, _ := strings.Cut(string(head), "\r\n")
	lines := strings.SplitAfter(rest, "\r\n")
	lines = slices.DeleteFunc(lines, func(l string) bool { return strings.HasPrefix(l, "Date: ") && strings.HasSuffix(l, " GMT\r\n") })
	slices.Sort(lines)
	return start + "\r\n" + strings.Join(lines, "")
}

func observeRequestHeader(tr *trace, h requestAPI, key string) {
	observeFields(tr, h, key)
	tr.add("Method", string(h.Method()), h.IsGet())
	tr.add("RequestURI", string(h.RequestURI()))
	tr.add("Host", string(h.Host()))
	tr.add("UserAgent", string(h.UserAgent()))
	tr.add("Referer", string(h.Referer()))
	tr.add("Cookie(a)", string(h.Cookie("a")))
	tr.add("Cookie(c)", string(h.Cookie("c")))
	tr.add("HasAcceptEncoding", h.HasAcceptEncoding("gzip"), h.HasAcceptEncoding("br"))
	tr.add("MultipartFormBoundary", string(h.MultipartFormBoundary()))
}

func observeResponseHeader(tr *trace, h responseAPI, key string) {
	observeFields(tr, h, key)
	tr.add("StatusCode", h.StatusCode())
	tr.add("StatusMessage", string(h.StatusMessage()))
	tr.add("Server", string(h.Server()))
	tr.add("PeekCookie(a)", string(h.PeekCookie("a")))
	tr.add("PeekCookie(k)", string(h.PeekCookie("k")))
}

// clearField removes a field before a setter is called: setters replace one field in
// fasthttp, and all with that name in Gale.
func clearField(h fieldsAPI, key string) {
	if len(h.PeekAll(key)) > 1 {
		h.Reset()
	}
}

// change calls one method that both kinds of header have.
func change(tr *trace, h fieldsAPI, s *script, op int, key, value string) {
	// TestHeaderDifferences has this difference; scripts avoid it.
	if op < 3 && key != "Set-Cookie" && len(h.PeekAll(key)) > 1 {
		return
	}
	if op < 3 && key == "Cookie" && len(h.Peek(key)) > 0 {
		tr.add(fmt.Sprintf("Add(%q, %q)", key, value))
		h.Add(key, value)
		return
	}
	if other := h.Peek("Connection"); op == 8 && len(other) > 0 {
		return
	}
	if (key == "Connection" || key == "Expect") && value == "" {
		value = "close"
	}
	if op < 8 && key == "Content-Length" {
		h.SetContentLength(0)
	}
	switch op {
	case 0, 1:
		tr.add(fmt.Sprintf("Set(%q, %q)", key, value))
		h.Set(key, value)
	case 2:
		tr.add(fmt.Sprintf("SetBytesKV(%q, %q)", key, value))
		h.SetBytesKV([]byte(key), []byte(value))
	case 3, 4:
		tr.add(fmt.Sprintf("Add(%q, %q)", key, value))
		h.Add(key, value)
	case 5:
		tr.add(fmt.Sprintf("AddBytesKV(%q, %q)", key, value))
		h.AddBytesKV([]byte(key), []byte(value))
	case 6:
		tr.add(fmt.Sprintf("Del(%q)", key))
		h.Del(key)
	case 7:
		tr.add(fmt.Sprintf("DelBytes(%q)", key))
		h.DelBytes([]byte(key))
	case 8:
		tr.add("SetConnectionClose")
		h.SetConnectionClose()
	case 9:
		tr.add("ResetConnectionClose")
		h.ResetConnectionClose()
	case 10:
		n := []int{-1, 0, 1, 5, 1 << 40}[s.n(5)]
		tr.add(fmt.Sprintf("SetContentLength(%d)", n))
		h.SetContentLength(n)
	case 11:
		tr.add(fmt.Sprintf("SetContentType(%q)", value))
		h.SetContentType(value)
	case 12:
		tr.add(fmt.Sprintf("SetContentEncoding(%q)", value))
		clearField(h, "Content-Encoding")
		h.SetContentEncoding(value)
	case 13:
		names := s.pick([]string{"Foo", "foo, bar", "X-A", "", "Content-Length", "Foo,Foo"})
		tr.add(fmt.Sprintf("SetTrailer(%q)", names), h.SetTrailer(names))
	case 14:
		names := s.pick([]string{"Foo", "foo, bar", "X-A", "Host"})
		tr.add(fmt.Sprintf("AddTrailer(%q)", names), h.AddTrailer(names))
	case 15:
		name := s.pick([]string{"a", "c", "k", "x"})
		tr.add(fmt.Sprintf("DelCookie(%q)", name))
		h.DelCookie(name)
	case 16:
		tr.add("DelAllCookies")
		h.DelAllCookies()
	case 17:
		key := s.pick([]string{"X-A", "Host", "Content-Type", "X-New"})
		clearField(h, key)
		tr.add(fmt.Sprintf("SetCanonical(%q, %q)", key, value))
		h.SetCanonical([]byte(key), []byte(value))
	case 18:
		tr.add("Reset")
		h.Reset()
	case 19:
		on := s.n(2) == 1
		tr.add(fmt.Sprintf("SetNoDefaultContentType(%v)", on))
		h.SetNoDefaultContentType(on)
	}
}

var requestHeads = []string{
	"GET / HTTP/1.1\r\nHost: h\r\n\r\n",
	"POST /a?b HTTP/1.1\r\nHost: h:80\r\nContent-Length: 5\r\nContent-Type: text/plain\r\nX-A: 1\r\nx-a: 2\r\nX-B: \r\nCookie: a=b; c=d\r\nUser-Agent: u\r\nReferer: r\r\nAccept-Encoding: gzip, deflate\r\nConnection: close\r\n\r\n",
	"PUT /p HTTP/1.0\r\nConnection: keep-alive\r\nContent-Length: 0\r\n\r\n",
	"POST /c HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\nTrailer: Foo\r\n\r\n",
	"GET /u HTTP/1.1\r\nhost: h\r\nconnection: Upgrade\r\nupgrade: websocket\r\ncookie: a=1; c=2\r\n\r\n",
	"HEAD /h HTTP/1.1\r\nHost: h\r\nA: b\r\nA: c\r\n\r\n",
}

func playRequestHeader(tr *trace, h requestAPI, copyTo func(), b []byte) {
	s := &script{b}
	for s.more() {
		op, key, value := s.n(31), s.pick(fieldNames), s.pick(fieldValues)
		switch op {
		case 20:
			tr.add(fmt.Sprintf("SetCookie(%q)", value))
			h.SetCookie(s.pick([]string{"a", "c", "k"}), value)
		case 21:
			tr.add(fmt.Sprintf("SetHost(%q)", value))
			h.SetHost(value)
		case 22:
			method := s.pick([]string{"GET", "POST", "PUT", "HEAD", "FOO", "DELETE", ""})
			tr.add("SetMethod " + method)
			h.SetMethod(method)
		case 23:
			uri := s.pick([]string{"/", "/a", "", "/a?b", "http://x/y", "*"})
			tr.add("SetRequestURI " + uri)
			h.SetRequestURI(uri)
		case 24:
			tr.add(fmt.Sprintf("SetUserAgent(%q)", value))
			h.SetUserAgent(value)
		case 25:
			tr.add(fmt.Sprintf("SetReferer(%q)", value))
			clearField(h, "Referer")
			h.SetReferer(value)
		case 26:
			tr.add("SetByteRange")
			clearField(h, "Range")
			h.SetByteRange(s.n(3)*10-10, s.n(3)*10-10)
		case 27:
			tr.add("SetMultipartFormBoundary")
			h.SetMultipartFormBoundary("abc")
		case 28:
			protocol := "HTTP/1.1"
			tr.add("SetProtocol " + protocol)
			h.SetProtocol(protocol)
		case 29:
			head := s.pick(requestHeads)
			tr.add(fmt.Sprintf("Read(%q)", head), h.Read(bufio.NewReader(strings.NewReader(head))))
			tr.add("RawHeaders", string(h.RawHeaders()))
			var came []string
			for k, v := range h.AllInOrder() {
				came = append(came, fmt.Sprintf("%s=%q", k, v))
			}
			tr.add("AllInOrder", came)
			if strings.Contains(head, "HTTP/1.0") || strings.Contains(head, "cookie") {
				observeRequestHeader(tr, h, key)
				h.Reset()
			}
		case 30:
			tr.add("CopyTo")
			copyTo()
		default:
			change(tr, h, s, op, key, value)
		}
		observeRequestHeader(tr, h, key)
	}
}

func checkRequestHeader(t *testing.T, b []byte) {
	t.Helper()
	var ours, peers trace
	ga, gb := new(gale.RequestHeader), new(gale.RequestHeader)
	playRequestHeader(&ours, ga, func() { ga.CopyTo(gb); ga.Reset(); gb.CopyTo(ga) }, b)
	fa, fb := new(fasthttp.RequestHeader), new(fasthttp.RequestHeader)
	playRequestHeader(&peers, fa, func() { fa.CopyTo(fb); fa.Reset(); fb.CopyTo(fa) }, b)
	compare(t, headerDifferences, fmt.Sprintf("request %x", b), &ours, &peers)
}

var responseHeads = []string{
	"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n",
	"HTTP/1.1 404 Nope\r\nContent-Type: text/plain\r\nServer: s\r\nDate: Tue, 10 Nov 2009 23:00:00 GMT\r\nSet-Cookie: a=b; path=/\r\nSet-Cookie: k=v\r\nX-A: 1\r\nX-A: 2\r\nConnection: close\r\nContent-Length: 0\r\n\r\n",
	"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nContent-Encoding: gzip\r\nTrailer: Foo\r\n\r\n",
	"HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nContent-Length: 3\r\n\r\n",
	"HTTP/1.1 204 No Content\r\n\r\n",
	"HTTP/1.1 304 \r\nEtag: \"x\"\r\n\r\n",
	"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n",
}

func playResponseHeader(tr *trace, h responseAPI, cookie func(string), copyTo func(), b []byte) {
	s := &script{b}
	for s.more() {
		op, key, value := s.n(28), s.pick(fieldNames), s.pick(fieldValues)
		switch op {
		case 20:
			tr.add(fmt.Sprintf("DelClientCookie(%q)", "a"))
			h.DelClientCookie("a")
		case 21:
			tr.add("SetContentRange")
			clearField(h, "Content-Range")
			h.SetContentRange(s.n(10), 10+s.n(10), 30)
		case 22:
			tr.add(fmt.Sprintf("SetServer(%q)", value))
			h.SetServer(value)
		case 23:
			code := []int{0, 200, 201, 404, 500, 999, 206}[s.n(7)]
			tr.add(fmt.Sprintf("SetStatusCode(%d)", code))
			h.SetStatusCode(code)
		case 24:
			tr.add(fmt.Sprintf("SetStatusMessage(%q)", value))
			h.SetStatusMessage([]byte(value))
		case 25:
			head := s.pick(responseHeads)
			tr.add(fmt.Sprintf("Read(%q)", head), h.Read(bufio.NewReader(strings.NewReader(head))))
			if !strings.Contains(head, "1.1 200") && !strings.Contains(head, "404") {
				// The framing with 204, 304, 101 and HTTP/1.0 is compared, but not what
				// happens to it if the status is changed.
				observeResponseHeader(tr, h, key)
				h.Reset()
			}
		case 26:
			tr.add("CopyTo")
			copyTo()
		case 27:
			c := s.pick([]string{"a=b", "k=v; path=/; secure", "x=", "a=c; max-age=5"})
			tr.add("SetCookie " + c)
			cookie(c)
		default:
			change(tr, h, s, op, key, value)
		}
		observeResponseHeader(tr, h, key)
	}
}

func checkResponseHeader(t *testing.T, b []byte) {
	t.Helper()
	var ours, peers trace
	ga, gb := new(gale.ResponseHeader), new(gale.ResponseHeader)
	playResponseHeader(&ours, ga, func(s string) {
		var c gale.Cookie
		c.Parse(s)
		ga.SetCookie(&c)
	}, func() { ga.CopyTo(gb); ga.Reset(); gb.CopyTo(ga) }, b)
	fa, fb := new(fasthttp.ResponseHeader), new(fasthttp.ResponseHeader)
	playResponseHeader(&peers, fa, func(s string) {
		var c fasthttp.Cookie
		c.Parse(s)
		fa.SetCookie(&c)
	}, func() { fa.CopyTo(fb); fa.Reset(); fb.CopyTo(fa) }, b)
	compare(t, headerDifferences, fmt.Sprintf("response %x", b), &ours, &peers)
}

// TestHeaderDifferences proves the intended differences that docs/moving/differences.md
// lists, each in its smallest form.
func TestHeaderDifferences(t *testing.T) {
	read := func(h fieldsAPI, head string) {
		if err := h.Read(bufio.NewReader(strings.NewReader(head))); err != nil {
			t.Errorf("%q: %v", head, err)
		}
	}
	for _, tt := range []struct {
		row        string
		request    bool
		ask        func(h fieldsAPI) any
		ours, peer any
	}{
		{"`Set` of a field that is there several times", true, func(h fieldsAPI) any {
			h.Add("A", "1")
			h.Add("A", "2")
			h.Set("A", "3")
			return len(h.PeekAll("A"))
		}, 1, 2},
		{"Cookie fields of a request, once a cookie was asked for", true, func(h fieldsAPI) any {
			read(h, "GET / HTTP/1.1\r\nHost: h\r\nCookie: a=1\r\nCookie: b=2\r\n\r\n")
			for range h.Cookies() {
			}
			return strings.Count(h.String(), "Cookie:")
		}, 2, 1},
		{"`Set(\"Cookie\", ...)` of a cookie that is there", true, func(h fieldsAPI) any {
			h.Set("Cookie", "a=1")
			h.Set("Cookie", "a=2")
			return string(h.Peek("Cookie"))
		}, "a=2", "a=1; a=2"},
		{"several Content-Type fields", true, func(h fieldsAPI) any {
			read(h, "GET / HTTP/1.1\r\nHost: h\r\nContent-Type: a/b\r\nContent-Type: c/d\r\n\r\n")
			return string(h.Peek("Content-Type"))
		}, "c/d", "c/d"}, // both Read methods; servers differ
		{"several Connection fields", true, func(h fieldsAPI) any {
			read(h, "GET / HTTP/1.1\r\nHost: h\r\nConnection: a\r\nConnection: b\r\n\r\n")
			return string(h.Peek("Connection"))
		}, "a, b", "a"},
		{"`SetContentLength` of a response with status 304 that was received with a length", false, func(h fieldsAPI) any {
			read(h, "HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\n\r\n")
			h.SetContentLength(7)
			return string(h.Peek("Content-Length"))
		}, "", "5"},
		{"`Set` of a field that the other side named in `Trailer`", true, func(h fieldsAPI) any {
			read(h, "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\nTrailer: A\r\nA: theirs\r\n\r\n")
			h.Set("A", "mine")
			return string(h.Peek("A"))
		}, "mine", "theirs"},
		{"`Date` of a response", false, func(h fieldsAPI) any {
			h.Set("Date", "x")
			return string(h.Peek("Date"))
		}, "x", ""},
		{"order of fields of one name after `Del` of another", true, func(h fieldsAPI) any {
			h.Add("A", "1")
			h.Add("B", "1")
			h.Add("B", "2")
			h.Del("A")
			return string(h.Peek("B"))
		}, "1", "2"},
		{"Connection with other options, then `SetConnectionClose`", true, func(h fieldsAPI) any {
			h.Set("Connection", "a")
			h.SetConnectionClose()
			return strings.Count(h.String(), "Connection:")
		}, 1, 2},
		{"Connection or Expect set to an empty value", true, func(h fieldsAPI) any {
			h.Set("Connection", "")
			return len(h.PeekAll("Connection"))
		}, 0, 1},
		{"`Del` of Content-Length if the body is chunked", false, func(h fieldsAPI) any {
			h.SetContentLength(-1)
			h.Del("Content-Length")
			return h.ContentLength()
		}, -1, 0},
		{"Content-Length of 304", false, func(h fieldsAPI) any {
			h.SetContentLength(5)
			h.(responseAPI).SetStatusCode(304)
			return strings.Contains(h.String(), "Content-Length")
		}, false, true},
		{"Content-Length set, if the body was chunked", true, func(h fieldsAPI) any {
			h.(requestAPI).SetMethod("POST")
			h.SetContentLength(-1)
			h.Set("Content-Length", "5")
			return strings.Contains(fmt.Sprintf("%q", h.PeekKeys()), "Transfer-Encoding")
		}, false, true},
		{"`ConnectionClose` after `SetProtocol` made a request HTTP/1.0", true, func(h fieldsAPI) any {
			read(h, "GET / HTTP/1.1\r\nHost: h\r\n\r\n")
			h.(requestAPI).SetProtocol("HTTP/1.0")
			return h.ConnectionClose()
		}, true, false},
	} {
		var ours, peer fieldsAPI = new(gale.ResponseHeader), new(fasthttp.ResponseHeader)
		if tt.request {
			ours, peer = new(gale.RequestHeader), new(fasthttp.RequestHeader)
		}
		if got := tt.ask(ours); got != tt.ours {
			t.Errorf("%s: gale says %v, want %v", tt.row, got, tt.ours)
		}
		if got := tt.ask(peer); got != tt.peer {
			t.Errorf("%s: fasthttp says %v, want %v", tt.row, got, tt.peer)
		}
		d := &difference{row: tt.row}
		d.seen.Add(1)
		differences{d}.checkDocumented(t)
	}
}

func TestHeaders(t *testing.T) {
	for _, b := range scripts(400, 60) {
		checkRequestHeader(t, b)
		checkResponseHeader(t, b)
	}
	headerDifferences.checkDocumented(t)
}

func FuzzHeaders(f *testing.F) {
	for _, b := range scripts(16, 60) {
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		checkRequestHeader(t, b[:min(len(b), 200)])
		checkResponseHeader(t, b[:min(len(b), 200)])
	})
}
