package message

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/galehttp/gale"
	"github.com/galehttp/gale/tests/harness"
	"github.com/galehttp/gale/tests/harness/peers"
)

func newRequest(method, uri string) *gale.Request {
	req := &gale.Request{}
	req.Header.SetMethod(method)
	req.SetRequestURI(uri)
	return req
}

func TestRequestWrite(t *testing.T) {
	const host = "Host: a.com\r\n"
	const octets = "Content-Type: application/octet-stream\r\n"
	for _, c := range []struct {
		name string
		req  func() *gale.Request
		want string
		err  string
	}{
		{"no host", func() *gale.Request { return &gale.Request{} }, "", "gale: missing required host header in request"},
		{"relative", func() *gale.Request { return newRequest("GET", "/x") }, "", "gale: missing required host header in request"},
		{"get", func() *gale.Request { return newRequest("GET", "http://a.com/x?y#z") }, "GET /x?y HTTP/1.1\r\n" + host + "\r\n", ""},
		{"user", func() *gale.Request { return newRequest("GET", "http://u:p@a.com/x") }, "GET /x HTTP/1.1\r\n" + host + "Authorization: Basic dTpw\r\n\r\n", ""},
		{"post", func() *gale.Request { return newRequest("POST", "http://a.com/") }, "POST / HTTP/1.1\r\n" + host + "Content-Length: 0\r\n\r\n", ""},
		{"get with a length set by hand", func() *gale.Request {
			r := newRequest("GET", "http://a.com/")
			r.Header.SetContentLength(17)
			return r
		}, "GET / HTTP/1.1\r\n" + host + "\r\n", ""},
		{"get with chunks announced by hand", func() *gale.Request {
			r := newRequest("GET", "http://a.com/")
			r.Header.SetContentLength(-1)
			return r
		}, "GET / HTTP/1.1\r\n" + host + "\r\n", ""},
		{"post with a length set by hand", func() *gale.Request {
			r := newRequest("POST", "http://a.com/")
			r.Header.SetContentLength(17)
			r.SetBodyString("abc")
			return r
		}, "POST / HTTP/1.1\r\n" + host + octets + "Content-Length: 3\r\n\r\nabc", ""},
		{"get with a body", func() *gale.Request {
			r := newRequest("GET", "http://a.com/")
			r.SetBodyString("abc")
			return r
		}, "GET / HTTP/1.1\r\n" + host + octets + "Content-Length: 3\r\n\r\nabc", ""},
		{"arguments", func() *gale.Request {
			r := newRequest("POST", "http://a.com/")
			r.PostArgs().Set("a", "b c")
			return r
		}, "POST / HTTP/1.1\r\n" + host + octets + "Content-Length: 5\r\n\r\na=b+c", ""},
		{"host of the header", func() *gale.Request {
			r := newRequest("POST", "/x")
			r.Header.SetHost("a.com")
			return r
		}, "POST /x HTTP/1.1\r\n" + host + "Content-Length: 0\r\n\r\n", ""},
		{"UseHostHeader", func() *gale.Request {
			r := newRequest("POST", "http://b.com/x")
			r.URI()
			r.Header.SetHost("a.com")
			r.UseHostHeader = true
			return r
		}, "POST /x HTTP/1.1\r\n" + host + "Content-Length: 0\r\n\r\n", ""},
		{"SetHost", func() *gale.Request {
			r := newRequest("POST", "http://b.com/x")
			r.SetHost("a.com")
			return r
		}, "POST /x HTTP/1.1\r\n" + host + "Content-Length: 0\r\n\r\n", ""},
		{"stream", func() *gale.Request {
			r := newRequest("POST", "http://a.com/")
			r.SetBodyStream(strings.NewReader("abc"), 3)
			return r
		}, "POST / HTTP/1.1\r\n" + host + octets + "Content-Length: 3\r\n\r\nabc", ""},
		{"stream of unknown length", func() *gale.Request {
			r := newRequest("POST", "http://a.com/")
			r.SetBodyStream(strings.NewReader("abcdef"), -1)
			return r
		}, "POST / HTTP/1.1\r\n" + host + "Transfer-Encoding: chunked\r\n\r\n6\r\nabcdef\r\n0\r\n\r\n", ""},
		{"LimitedReader", func() *gale.Request {
			r := newRequest("POST", "http://a.com/")
			r.SetBodyStream(io.LimitReader(strings.NewReader("abcdef"), 3), -1)
			return r
		}, "POST / HTTP/1.1\r\n" + host + octets + "Content-Length: 3\r\n\r\nabc", ""},
		{"stream writer", func() *gale.Request {
			r := newRequest("POST", "http://a.com/")
			r.SetBodyStreamWriter(func(w *bufio.Writer) {
				_, _ = w.WriteString("ab")
				_ = w.Flush()
				_, _ = w.WriteString("cde")
			})
			return r
		}, "POST / HTTP/1.1\r\n" + host + "Transfer-Encoding: chunked\r\n\r\n2\r\nab\r\n3\r\ncde\r\n0\r\n\r\n", ""},
		{"trailers", func() *gale.Request {
			r := newRequest("POST", "http://a.com/")
			_ = r.Header.SetTrailer("X-T")
			r.Header.Set("X-T", "1")
			r.SetBodyString("abc")
			return r
		}, "POST / HTTP/1.1\r\n" + host + octets + "Transfer-Encoding: chunked\r\nTrailer: X-T\r\n\r\n3\r\nabc\r\n0\r\nX-T: 1\r\n\r\n", ""},
		{"options *", func() *gale.Request {
			r := newRequest("OPTIONS", "*")
			r.SetHost("a.com")
			return r
		}, "OPTIONS * HTTP/1.1\r\n" + host + "Content-Length: 0\r\n\r\n", ""},
		{"connect", func() *gale.Request {
			r := newRequest("CONNECT", "b.com:443")
			r.Header.SetHost("a.com")
			r.URI()
			return r
		}, "CONNECT b.com:443 HTTP/1.1\r\n" + host + "Content-Length: 0\r\n\r\n", ""},
		{"short stream", func() *gale.Request {
			r := newRequest("POST", "http://a.com/")
			r.SetBodyStream(strings.NewReader("abc"), 5)
			return r
		}, "", "gale: copied 3 bytes from body stream instead of 5 bytes"},
		{"long stream", func() *gale.Request {
			r := newRequest("POST", "http://a.com/")
			r.SetBodyStream(strings.NewReader("abcdef"), 5)
			return r
		}, "POST / HTTP/1.1\r\n" + host + octets + "Content-Length: 5\r\n\r\nabcde", ""},
		{"failing stream", func() *gale.Request {
			r := newRequest("POST", "http://a.com/")
			r.SetBodyStream(iotest.ErrReader(errors.New("boom")), -1)
			return r
		}, "", "boom"},
		{"panicking stream", func() *gale.Request {
			r := newRequest("POST", "http://a.com/")
			r.SetBodyStream(peers.PanicReader{}, 3)
			return r
		}, "", "gale: panic while writing body stream: ouch"},
		{"panicking stream writer", func() *gale.Request {
			r := newRequest("POST", "http://a.com/")
			r.SetBodyStreamWriter(func(*bufio.Writer) { panic("ouch") })
			return r
		}, "", "gale: panic while writing body stream: ouch"},
	} {
		for _, size := range []int{16, 4096} { // a tiny buffer does as well
			req := c.req()
			var b bytes.Buffer
			w := bufio.NewWriterSize(&b, size)
			err := req.Write(w)
			_ = w.Flush()
			if c.err != "" {
				if err == nil || err.Error() != c.err {
					t.Errorf("%s: %v, want %s", c.name, err, c.err)
				}
			} else if err != nil || b.String() != c.want {
				t.Errorf("%s: %v\n got %q\nwant %q", c.name, err, b.String(), c.want)
			}
			if req.IsBodyStream() {
				t.Errorf("%s: the stream is still there", c.name)
			}
		}
	}
}

func TestRequestWriteClosesStream(t *testing.T) {
	boom := errors.New("boom")
	for _, c := range []struct {
		name   string
		r      io.Reader
		size   int
		err    error
		closer error
	}{
		{"fine", strings.NewReader("abc"), 3, nil, nil},
		{"chunked", strings.NewReader("abc"), -1, nil, nil},
		{"fails", iotest.ErrReader(boom), -1, boom, nil},
		{"fails to close", strings.NewReader("abc"), 3, boom, boom},
	} {
		req := newRequest("POST", "http://a.com/")
		rec := &reasonRecorder{closeRecorder{Reader: c.r, err: c.closer}}
		req.SetBodyStream(rec, c.size)
		err := req.Write(bufio.NewWriter(io.Discard))
		if err != c.err || rec.closed != 1 || len(rec.reasons) != 1 {
			t.Errorf("%s: %v, closed %d times", c.name, err, rec.closed)
		} else if c.closer == nil && rec.reasons[0] != c.err {
			t.Errorf("%s: closed for %v", c.name, rec.reasons[0])
		}
	}
	req := newRequest("POST", "/no/host")
	rec := &closeRecorder{Reader: strings.NewReader("abc")}
	req.SetBodyStream(rec, 3)
	if err := req.Write(bufio.NewWriter(io.Discard)); err == nil || rec.closed != 1 {
		t.Error("the stream of a request that can't be written stays open")
	}
}

func TestRequestRead(t *testing.T) {
	const head = "POST / HTTP/1.1\r\nHost: a\r\n"
	for _, c := range []struct {
		name, in, body, rest string
		err                  error
	}{
		{"nothing", "", "", "", io.EOF},
		{"no body", "GET / HTTP/1.1\r\nHost: a\r\n\r\nnext", "", "next", nil},
		{"post without a length", head + "\r\nnext", "", "next", nil},
		{"length", head + "Content-Length: 3\r\n\r\nabcnext", "abc", "next", nil},
		{"get with a body", "GET / HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nabcnext", "abc", "next", nil},
		{"chunked", head + "Transfer-Encoding: chunked\r\nTrailer: X-T\r\n\r\n3\r\nabc\r\n0\r\nX-T: 1\r\n\r\nnext", "abc", "next", nil},
		{"cut", head + "Content-Length: 5\r\n\r\nabc", "", "", io.ErrUnexpectedEOF},
		{"cut at once", head + "Content-Length: 5\r\n\r\n", "", "", io.ErrUnexpectedEOF},
		{"cut chunks", head + "Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n", "", "", io.ErrUnexpectedEOF},
		{"too long", head + "Content-Length: 11\r\n\r\nabcdefghijk", "", "", gale.ErrBodyTooLarge},
		{"chunks too long", head + "Transfer-Encoding: chunked\r\n\r\nb\r\nabcdefghijk\r\n0\r\n\r\n", "", "", gale.ErrBodyTooLarge},
		{"expects 100", head + "Expect: 100-continue\r\nContent-Length: 3\r\n\r\nabcnext", "", "abcnext", nil},
	} {
		for how, in := range map[string]io.Reader{"whole": strings.NewReader(c.in), "bytes": iotest.OneByteReader(strings.NewReader(c.in))} {
			var req gale.Request
			req.SetUserValue("k", 1)
			req.SetBodyString("old")
			br := bufio.NewReader(in)
			err := req.ReadLimitBody(br, 10)
			if !errors.Is(err, c.err) || c.err == nil && err != nil {
				t.Errorf("%s/%s: %v, want %v", c.name, how, err, c.err)
				continue
			}
			if string(req.Body()) != c.body {
				t.Errorf("%s/%s: body %q, want %q", c.name, how, req.Body(), c.body)
			}
			if err == nil {
				if rest, _ := io.ReadAll(br); string(rest) != c.rest {
					t.Errorf("%s/%s: left %q, want %q", c.name, how, rest, c.rest)
				}
			}
			if req.UserValue("k") != 1 {
				t.Errorf("%s: user values are gone", c.name)
			}
		}
	}
}

func TestRequestReadTrailers(t *testing.T) {
	in := "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\nTrailer: X-T\r\n\r\n3\r\nabc\r\n0\r\nX-T: 1\r\n\r\n"
	var req gale.Request
	if err := req.Read(bufio.NewReader(strings.NewReader(in))); err != nil {
		t.Fatal(err)
	}
	if got := string(req.Header.Peek("X-T")); got != "1" {
		t.Errorf("trailer field %q", got)
	}
	req.Reset()
	br := bufio.NewReader(strings.NewReader(in))
	if err := req.Header.Read(br); err != nil {
		t.Fatal(err)
	}
	if err := req.ReadBody(br, -1, 0); err != nil || string(req.Body()) != "abc" {
		t.Fatal(err)
	}
	if rest, _ := io.ReadAll(br); string(rest) != "X-T: 1\r\n\r\n" {
		t.Errorf("ReadBody takes the trailer section: %q is left", rest)
	}
}

func TestRequestMayContinue(t *testing.T) {
	for in, want := range map[string]bool{
		"POST / HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 3\r\n\r\nabc": true,
		"POST / HTTP/1.1\r\nHost: a\r\nExpect: 100-Continue\r\nContent-Length: 3\r\n\r\nabc": true,
		"POST / HTTP/1.0\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 3\r\n\r\nabc": false,
		"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nabc":                         false,
	} {
		var req gale.Request
		br := bufio.NewReader(strings.NewReader(in))
		if err := req.Read(br); err != nil || req.MayContinue() != want {
			t.Errorf("%q: %v, %v", in, req.MayContinue(), err)
			continue
		}
		if want {
			if len(req.Body()) != 0 {
				t.Errorf("%q: read without leave", in)
			}
			if err := req.ContinueReadBody(br, 0); err != nil {
				t.Errorf("%q: %v", in, err)
			}
		}
		if string(req.Body()) != "abc" {
			t.Errorf("%q: body %q", in, req.Body())
		}
	}
}

func TestRequestContinueReadBodyStream(t *testing.T) {
	in := "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\nTrailer: X-T\r\n\r\n3\r\nabc\r\n3\r\ndef\r\n0\r\nX-T: 1\r\n\r\nnext"
	var req gale.Request
	br := bufio.NewReader(strings.NewReader(in))
	if err := req.Header.Read(br); err != nil {
		t.Fatal(err)
	}
	if err := req.ContinueReadBodyStream(br, 2); err != nil || !req.IsBodyStream() {
		t.Fatal(err)
	}
	if _, ok := req.BodyStream().(gale.ReadCloserWithError); !ok {
		t.Errorf("%T", req.BodyStream())
	}
	b, err := io.ReadAll(req.BodyStream())
	if err != nil || string(b) != "abcdef" || string(req.Header.Peek("X-T")) != "1" {
		t.Errorf("%q, %v, trailer %q", b, err, req.Header.Peek("X-T"))
	}
	if err := req.CloseBodyStream(); err != nil || req.IsBodyStream() {
		t.Error(err)
	}
	if rest, _ := io.ReadAll(br); string(rest) != "next" {
		t.Errorf("left %q", rest)
	}
}

func TestRequestReadForm(t *testing.T) {
	peers.WithoutEngine(t)
	peers.InTempDir(t)
	head := func(n string) string {
		return "POST / HTTP/1.1\r\nHost: a\r\nContent-Type: multipart/form-data; boundary=foo\r\n" + n + "\r\n\r\n"
	}
	form := "pre\r\n" + peers.TestForm + "epilogue"
	big := "--foo\r\nContent-Disposition: form-data; name=\"f\"; filename=\"b\"\r\n\r\n" + strings.Repeat("0123456789", 2<<20) + "\r\n--foo--\r\n"
	length := func(s string) string { return "Content-Length: " + harness.Itoa(len(s)) }
	for _, c := range []struct {
		name, in, rest string
		files          int
		err            error
	}{
		{"length", head(length(form)) + form + "next", "next", 1, nil},
		{"chunked", head("Transfer-Encoding: chunked") + hex(len(form)) + "\r\n" + form + "\r\n0\r\n\r\nnext", "next", 1, nil},
		{"big", head(length(big)) + big + "next", "next", 1, nil},
		{"cut in a part", head(length(form)) + form[:len(form)/2], "", 0, io.ErrUnexpectedEOF},
		{"big, cut", head(length(big)) + big[:len(big)-20], "", 0, io.ErrUnexpectedEOF},
		{"cut in the epilogue", head(length(form)) + form[:len(form)-2], "", 0, io.ErrUnexpectedEOF},
	} {
		var req gale.Request
		br := bufio.NewReader(strings.NewReader(c.in))
		err := req.Read(br)
		if !errors.Is(err, c.err) || c.err == nil && err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if err != nil {
			continue
		}
		f, err := req.MultipartForm()
		if err != nil || len(f.File["f"]) != c.files {
			t.Errorf("%s: %v", c.name, err)
		}
		if rest, _ := io.ReadAll(br); string(rest) != c.rest {
			t.Errorf("%s: left %q", c.name, rest)
		}
		var dst gale.Request
		req.CopyTo(&dst)
		if f, err := dst.MultipartForm(); err != nil || len(f.File["f"]) != c.files {
			t.Errorf("%s: the copy has no form: %v", c.name, err)
		}
		dst.Reset()
		req.Reset()
	}
	var req gale.Request
	if err := req.Read(bufio.NewReader(strings.NewReader(head(length(peers.TestForm)) + peers.TestForm))); err != nil {
		t.Fatal(err)
	}
	want := strings.ReplaceAll(peers.TestForm, "--foo", "--"+string(req.Header.MultipartFormBoundary()))
	var b bytes.Buffer
	if string(req.Body()) != want || req.BodyWriteTo(&b) != nil || b.String() != want || want == peers.TestForm {
		t.Errorf("body %q, written %q", req.Body(), b.String())
	}
	if !strings.HasSuffix(req.String(), "\r\n\r\n"+want) {
		t.Errorf("%q", req.String())
	}
	if got := string(req.SwapBody(nil)); got != want {
		t.Errorf("swapped out %q", got)
	}
}

func hex(n int) string {
	const digits = "0123456789abcdef"
	s := ""
	for ; n > 0; n /= 16 {
		s = string(digits[n%16]) + s
	}
	return s
}

func TestRequestPostArgs(t *testing.T) {
	for _, c := range []struct{ contentType, want string }{
		{"application/x-www-form-urlencoded", "a=b&c=d+e"},
		{"Application/X-WWW-Form-Urlencoded ; charset=utf-8", "a=b&c=d+e"},
		{"application/x-www-form-urlencodedX", ""},
		{"text/plain", ""},
		{"", ""},
	} {
		for _, stream := range []bool{false, true} {
			req := newRequest("POST", "/")
			req.Header.SetContentType(c.contentType)
			if stream {
				req.SetBodyStream(strings.NewReader("a=b&c=d+e"), -1)
			} else {
				req.SetBodyString("a=b&c=d+e")
			}
			if got := req.PostArgs().String(); got != c.want {
				t.Errorf("%q: %q", c.contentType, got)
			}
			if string(req.Body()) != "a=b&c=d+e" {
				t.Errorf("%q: the body is gone", c.contentType)
			}
		}
	}
}

func TestRequestURI(t *testing.T) {
	req := newRequest("GET", "http://a.com/x?y=1")
	if got := req.URI().String(); got != "http://a.com/x?y=1" || string(req.Host()) != "a.com" {
		t.Errorf("%q, host %q", got, req.Host())
	}
	req.URI().SetPath("/z")
	if got := string(req.RequestURI()); got != "/z?y=1" {
		t.Errorf("target %q", got)
	}
	var u gale.URI
	if err := u.Parse(nil, []byte("https://b.com/q")); err != nil {
		t.Fatal(err)
	}
	req.SetURI(&u)
	u.SetHost("changed")
	if got := req.URI().String(); got != "https://b.com/q" {
		t.Errorf("%q", got)
	}
	req.SetURI(nil)
	req.SetRequestURIBytes([]byte("http://c.com/"))
	req.SetHostBytes([]byte("d.com"))
	if got := req.URI().String(); got != "http://d.com/" {
		t.Errorf("%q", got)
	}
}

func TestRequestCopyTo(t *testing.T) {
	src := newRequest("POST", "http://a.com/x")
	src.SetBodyString("abc")
	src.SetUserValue("u", 1)
	src.SetTimeout(time.Second)
	src.UseHostHeader, src.DisableRedirectPathNormalizing, src.KeepBodyBuffer = true, true, true
	src.PostArgs().Set("p", "1")
	var dst gale.Request
	rec := &closeRecorder{Reader: strings.NewReader("old")}
	dst.SetBodyStream(rec, 3)
	dst.SetUserValue("d", 2)
	src.CopyTo(&dst)
	if string(dst.Body()) != "abc" || dst.IsBodyStream() || rec.closed != 1 || dst.PostArgs().String() != "p=1" ||
		!dst.UseHostHeader || !dst.DisableRedirectPathNormalizing || dst.KeepBodyBuffer || dst.URI().String() != "http://a.com/x" {
		t.Errorf("%+v", dst.String())
	}
	if dst.UserValue("u") != nil || dst.UserValue("d") != 2 || dst.GetTimeOut() != 0 {
		t.Error("user values or the timeout were copied")
	}
	src.SetBodyString("xyz")
	if string(dst.Body()) != "abc" {
		t.Error("the copy shares its body")
	}
	raw := []byte("raw")
	src.SetBodyRaw(raw)
	src.CopyTo(&dst)
	raw[0] = 'X'
	if string(dst.Body()) != "raw" {
		t.Error("the copy shares a raw body")
	}
	src.SetBodyStream(strings.NewReader("s"), 1)
	src.CopyTo(&dst)
	if len(dst.Body()) != 0 {
		t.Errorf("a stream was copied: %q", dst.Body())
	}
}

// The path doesn't depend on whether the host is valid in a URI.
func TestURIOfBadHost(t *testing.T) {
	for _, host := range []string{"a,b", "a b", "[v1.a]", "%41", "a@b"} {
		var req gale.Request
		req.Header.SetHost(host)
		req.SetRequestURI("/a/%62?c=d")
		u := req.URI()
		if len(u.Host()) != 0 || string(u.Path()) != "/a/b" || string(u.QueryString()) != "c=d" {
			t.Errorf("%q: host %q, path %q, query %q", host, u.Host(), u.Path(), u.QueryString())
		}
	}
}

// A target that begins with "//" is a path, with and without a host, in a request that was
// read and in one that is made from it.
func TestURIOfDoubleSlash(t *testing.T) {
	read := func(host string) *gale.Request {
		req := new(gale.Request)
		if err := req.Read(bufio.NewReader(strings.NewReader("GET //a/b?c=http://d HTTP/1.0\r\n" + host + "\r\n"))); err != nil {
			t.Fatal("reading the request:", err)
		}
		return req
	}
	made := func(set func(req *gale.Request)) *gale.Request {
		req := new(gale.Request)
		set(req)
		return req
	}
	target := read("").Header.RequestURI()
	for name, row := range map[string]struct {
		req  *gale.Request
		host string
	}{
		"read without a host":    {read(""), ""},
		"read with a host":       {read("Host: h\r\n"), "h"},
		"SetRequestURI":          {made(func(req *gale.Request) { req.SetRequestURI(string(target)) }), ""},
		"Header.SetRequestURI":   {made(func(req *gale.Request) { req.Header.SetRequestURIBytes(target) }), ""},
		"SetHost before":         {made(func(req *gale.Request) { req.SetHost("h"); req.SetRequestURIBytes(target) }), ""},
		"SetHost after":          {made(func(req *gale.Request) { req.SetRequestURIBytes(target); req.SetHost("h") }), "h"},
		"Header.SetHost":         {made(func(req *gale.Request) { req.Header.SetHost("h"); req.SetRequestURIBytes(target) }), "h"},
		"URI.SetHost":            {made(func(req *gale.Request) { req.SetRequestURIBytes(target); req.URI().SetHost("h") }), "h"},
		"RequestURI, read again": {made(func(req *gale.Request) { req.SetRequestURIBytes(target); req.URI(); req.RequestURI() }), ""},
	} {
		if u := row.req.URI(); string(u.Host()) != row.host || string(u.Path()) != "/a/b" || string(u.QueryString()) != "c=http://d" {
			t.Errorf("%s: host %q, path %q, query %q", name, u.Host(), u.Path(), u.QueryString())
		}
	}
}
