package message

import (
	"bufio"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/galehttp/gale"
	"github.com/galehttp/gale/tests/harness"
)

// Read accepts a field whose name has spaces, and Peek finds it. It is never written,
// whatever is done to the header.
func TestHeaderReadSpacesInNames(t *testing.T) {
	const fields = "Host: a\r\nuser agent: b\r\ncontent length: 5\r\nX: c\r\n\r\n"
	read := func(h interface{ Read(*bufio.Reader) error }, start string) {
		t.Helper()
		if err := h.Read(bufio.NewReader(strings.NewReader(start + fields))); err != nil {
			t.Fatal(err)
		}
	}
	for name, change := range map[string]func(req *gale.RequestHeader, resp *gale.ResponseHeader){
		"as read": func(*gale.RequestHeader, *gale.ResponseHeader) {},
		"set": func(req *gale.RequestHeader, resp *gale.ResponseHeader) {
			req.Set("X", "d")
			resp.Set("X", "d")
		},
		"copied": func(req *gale.RequestHeader, resp *gale.ResponseHeader) {
			var a gale.RequestHeader
			var b gale.ResponseHeader
			req.CopyTo(&a)
			resp.CopyTo(&b)
			a.CopyTo(req)
			b.CopyTo(resp)
		},
		"compacted": func(req *gale.RequestHeader, resp *gale.ResponseHeader) {
			for range 20 {
				req.Set("X", strings.Repeat("x", 2000))
				resp.Set("X", strings.Repeat("x", 2000))
				req.Set("X", "y")
				resp.Set("X", "y")
			}
		},
	} {
		for _, asGiven := range []bool{false, true} {
			var req gale.RequestHeader
			var resp gale.ResponseHeader
			if asGiven {
				req.DisableNormalizing()
				resp.DisableNormalizing()
			}
			read(&req, "GET / HTTP/1.1\r\n")
			read(&resp, "HTTP/1.1 200 OK\r\n")
			change(&req, &resp)
			if string(req.Peek("user agent")) != "b" || string(resp.Peek("user agent")) != "b" {
				t.Errorf("%s, %v: found %q, %q", name, asGiven, req.Peek("user agent"), resp.Peek("user agent"))
			}
			if req.ContentLength() != 0 && req.ContentLength() != -2 || resp.ContentLength() == 5 {
				t.Errorf("%s, %v: the length is %d, %d", name, asGiven, req.ContentLength(), resp.ContentLength())
			}
			for _, wire := range []string{req.String(), resp.String()} {
				if s := strings.ToLower(wire); strings.Contains(s, "user agent") || strings.Contains(s, "content length") || !strings.Contains(s, "\r\nx: ") {
					t.Errorf("%s, %v: written as %q", name, asGiven, wire)
				}
			}
		}
	}
	for _, bad := range []string{"user agent : b", " user agent: b", "user\tagent: b"} {
		var h gale.RequestHeader
		if err := h.Read(bufio.NewReader(strings.NewReader("GET / HTTP/1.1\r\nHost: a\r\n" + bad + "\r\n\r\n"))); err == nil {
			t.Errorf("%q was accepted", bad)
		}
	}
}

// After Read of obsolete syntax the header is like any other: values are in one piece,
// the written head has CRLFs and no folds, RawHeaders is the received text, and the
// reader is at the end of the head.
func TestHeaderReadOldLines(t *testing.T) {
	const fields = "Host: a\nX-Folded: b \r\n\t c\n d\r\nuser agent: e\r\n f\r\nY: g\r\n\r\n"
	const start, rest = "\n\r\nGET / HTTP/1.1\n", "body"
	for name, change := range map[string]func(h *gale.RequestHeader){
		"as read": func(*gale.RequestHeader) {},
		"copied": func(h *gale.RequestHeader) {
			var c gale.RequestHeader
			h.CopyTo(&c)
			c.CopyTo(h)
		},
		"compacted": func(h *gale.RequestHeader) {
			for range 20 {
				h.Set("Y", strings.Repeat("y", 2000))
				h.Set("Y", "g")
			}
		},
	} {
		var h gale.RequestHeader
		r := bufio.NewReader(iotest.OneByteReader(strings.NewReader(start + fields + rest)))
		if err := h.Read(r); err != nil {
			t.Fatal(err)
		}
		change(&h)
		if string(h.Peek("X-Folded")) != "b c d" || string(h.Peek("user agent")) != "e f" || string(h.Host()) != "a" {
			t.Errorf("%s: %q, %q, %q", name, h.Peek("X-Folded"), h.Peek("user agent"), h.Host())
		}
		if got, want := h.String(), "GET / HTTP/1.1\r\nHost: a\r\nX-Folded: b c d\r\nY: g\r\n\r\n"; got != want {
			t.Errorf("%s: written as %q, want %q", name, got, want)
		}
		if string(h.RawHeaders()) != fields {
			t.Errorf("%s: the lines are %q", name, h.RawHeaders())
		}
		if b, err := io.ReadAll(r); string(b) != rest || err != nil {
			t.Errorf("%s: %q, %v are left", name, b, err)
		}
	}
	var resp gale.ResponseHeader
	if err := resp.Read(bufio.NewReader(strings.NewReader("HTTP/1.1 404 Not\nX-Folded:\n b\r\n c\r\n\r\n"))); err != nil {
		t.Fatal(err)
	}
	if resp.StatusCode() != 404 || string(resp.StatusMessage()) != "Not" || string(resp.Peek("X-Folded")) != "b c" {
		t.Errorf("read %q", resp.String())
	}
}

// Two Host fields are an error, except in a header with DisableSpecialHeader.
func TestHeaderReadHosts(t *testing.T) {
	const in = "GET / HTTP/1.1\r\nHost: a\r\nX: y\r\nHost: b\r\n\r\n"
	var h gale.RequestHeader
	if err := h.Read(bufio.NewReader(strings.NewReader(in))); err == nil {
		t.Error("two Host fields were accepted")
	}
	h.DisableSpecialHeader()
	if err := h.Read(bufio.NewReader(strings.NewReader(in))); err != nil {
		t.Fatal(err)
	}
	if string(h.Host()) != "a" || h.String() != in {
		t.Errorf("the host is %q of %q", h.Host(), h.String())
	}
}

// A server accepts nothing of the obsolete syntax that the Read methods accept.
func TestServerIsNotLenient(t *testing.T) {
	ts := harness.Start(t, nil, func(ctx *gale.RequestCtx) {})
	for _, in := range []string{
		"GET / HTTP/1.1\r\nHost: a\r\nuser agent: b\r\n\r\n",
		"GET / HTTP/0.9\r\n\r\n",
		"GET /a#b HTTP/1.1\r\nHost: a\r\n\r\n",
		"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
		"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n0 \r\n\r\n",
		"GET / HTTP/1.1\nHost: a\r\n\r\n",
		"GET / HTTP/1.1\r\nHost: a\nB: c\r\n\r\n",
		"GET / HTTP/1.1\r\nHost: a\n\nGET / HTTP/1.1\r\nHost: a\r\n\r\n",
		"GET / HTTP/1.1\r\nHost: a\r\nB: c\r\n d\r\n\r\n",
		"\nGET / HTTP/1.1\r\nHost: a\r\n\r\n",
		"GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n",
	} {
		c := ts.Dial()
		_, _ = io.WriteString(c, in)
		if line, _ := c.Br.ReadString('\n'); !strings.HasPrefix(line, "HTTP/1.1 400") && !strings.HasPrefix(line, "HTTP/1.1 505") {
			t.Errorf("%q: %q", in, line)
		}
	}
}
