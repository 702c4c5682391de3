package gale

import (
	"bytes"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/galehttp/gale/internal/h1"
	"github.com/galehttp/gale/internal/head"
	"github.com/galehttp/gale/internal/msg"
)

// lines returns the fields of f as sorted "name: value" lines, names in lower
// case and values without the whitespace around them.
func lines(f *msg.Fields) (out []string) {
	for i := range f.Recs {
		if f.Recs[i].Flags&msg.Dead == 0 {
			out = append(out, line(f.RawName(i), f.Value(i)))
		}
	}
	slices.Sort(out)
	return out
}

func line(name, value []byte) string {
	return strings.ToLower(string(name)) + ": " + strings.Trim(string(value), " \t")
}

// acceptable reports whether err is one by which a parser may refuse what a caller has
// set. It must not have read anything else than was set.
func acceptable(err error) bool {
	return slices.ContainsFunc([]error{
		h1.ErrHost, h1.ErrTarget, h1.ErrTargetTooLong, h1.ErrMethodTooLong, h1.ErrVersion, h1.ErrVersionSyntax,
		h1.ErrCodingHTTP10, h1.ErrBodyTooLong, h1.ErrHeadTooLong,
	}, func(e error) bool { return errors.Is(err, e) })
}

// FuzzRequestHeaderSet sets random texts, writes the header and parses it. The parsed
// header must be the same as the written one, without additional fields.
func FuzzRequestHeaderSet(f *testing.F) {
	f.Add("X-Foo", "bar", "x-foo", "baz", "GET", "/a?b", "HTTP/1.1", byte(0))
	f.Add("X-Foo\r\nInjected: yes", "bar", "a", "b\r\nInjected: yes\r\n\r\nGET / HTTP/1.1", "GET / HTTP/1.1\r\nInjected:", "/ HTTP/1.1\r\nInjected: yes", "HTTP/1.1\r\nInjected: yes", byte(1))
	f.Add("Cookie", "a=b; c=d\r\nInjected: x", "coOkie", "\x00;\x01", "POST", "*", "", byte(2))
	f.Add("Content-Length", "5", "Transfer-Encoding", "chunked", "PUT", "/\x7f #\n", "HTTP/1.0", byte(3))
	f.Add("Connection", "close, x-a", "Trailer", "a, b, content-length", "", "", "", byte(4))
	f.Add("Connection", "\x04\x04close, xlose-a", "x", "y", "", "", "", byte(0))
	f.Add("User-Agent", "", "Expect", "100-continue", "QUERY", "?x", "HTTP/1.1", byte(5))
	f.Fuzz(func(t *testing.T, k1, v1, k2, v2, method, target, proto string, how byte) {
		var h RequestHeader
		if how&1 != 0 {
			h.DisableNormalizing()
		}
		if how&2 != 0 {
			h.DisableSpecialHeader()
		}
		h.SetHost("example.com")
		h.SetMethod(method)
		h.SetRequestURI(target)
		h.SetProtocol(proto)
		h.Set(k1, v1)
		h.Add(k2, v2)
		if how&4 != 0 {
			h.SetCookie(k1, v2)
		}
		if how&8 != 0 {
			h.SetCanonical([]byte(k2), []byte(v1))
		}
		if how&16 != 0 {
			_ = h.SetTrailer(k1)
			_ = h.AddTrailer(v2)
		}
		h.SetNoDefaultContentType(true)
		var p RequestHeader
		head := h.Header()
		n, err := h1.ParseRequest(head, &p.s.RequestHead, nil)
		if err != nil {
			if !acceptable(err) && !bytes.Contains(h.Protocol(), []byte(" ")) {
				t.Fatalf("%q is refused: %v", head, err)
			}
			return
		}
		if n != len(head) {
			t.Fatalf("%q ends after %d of %d bytes", head, n, len(head))
		}
		var want []string
		for k, v := range h.All() {
			want = append(want, line(k, v))
		}
		slices.Sort(want)
		if got := lines(&p.s.Fields); !slices.Equal(got, want) {
			t.Fatalf("%q was read as\n%q, the header says\n%q", head, got, want)
		}
		if p.s.ContentLength != h.s.ContentLength && !(p.s.ContentLength == msg.LenUnknown && h.s.ContentLength == 0) {
			t.Fatalf("%q has length %d, the header says %d", head, p.s.ContentLength, h.s.ContentLength)
		}
		if p.ConnectionClose() != h.ConnectionClose() && string(h.Protocol()) == "HTTP/1.1" {
			t.Fatalf("%q: close is %v, the header says %v", head, p.ConnectionClose(), h.ConnectionClose())
		}
		if !bytes.Equal(p.Method(), h.Method()) {
			t.Fatalf("%q has method %q, the header says %q", head, p.Method(), h.Method())
		}
		checkTrailerSection(t, h.TrailerHeader())
	})
}

// FuzzResponseHeaderSet is FuzzRequestHeaderSet for responses.
func FuzzResponseHeaderSet(f *testing.F) {
	f.Add("X-Foo", "bar", "x-foo", "baz", 200, "OK", "HTTP/1.1", byte(0))
	f.Add("Set-Cookie", "a=b\r\nInjected: yes", "Set-Cookie", "", 404, "no\r\nInjected: yes", "HTTP/1.1\r\nInjected: yes", byte(1))
	f.Add("Server", "a\x00b", "Date", "x\ny", 304, "\x01", "", byte(2))
	f.Add("Content-Length", "5", "Transfer-Encoding", "chunked", 204, "", "HTTP/1.0", byte(3))
	f.Add("Connection", "close, x-a", "Trailer", "a, b, content-length", -7, "", "", byte(4))
	f.Fuzz(func(t *testing.T, k1, v1, k2, v2 string, status int, reason, proto string, how byte) {
		var h ResponseHeader
		if how&1 != 0 {
			h.DisableNormalizing()
		}
		h.SetStatusCode(status)
		h.SetStatusMessage([]byte(reason))
		h.SetProtocol([]byte(proto))
		h.Set(k1, v1)
		h.Add(k2, v2)
		if how&4 != 0 {
			h.DelClientCookie(k1)
		}
		if how&8 != 0 {
			h.SetCanonical([]byte(k2), []byte(v1))
		}
		if how&16 != 0 {
			_ = h.SetTrailer(k1)
			_ = h.AddTrailer(v2)
		}
		h.SetNoDefaultContentType(true)
		h.s.Implied |= head.NoDate
		var p ResponseHeader
		head := h.Header()
		n, err := h1.ParseResponse(head, &p.s.ResponseHead, nil)
		if err != nil {
			if !acceptable(err) && !bytes.Contains(h.Protocol(), []byte(" ")) {
				t.Fatalf("%q is refused: %v", head, err)
			}
			return
		}
		if n != len(head) {
			t.Fatalf("%q ends after %d of %d bytes", head, n, len(head))
		}
		var want []string
		for k, v := range h.All() {
			id := msg.Lookup(k)
			if 1<<id&(1<<msg.ContentLength|1<<msg.TransferEncoding) == 0 || statusHasBody(h.StatusCode()) {
				want = append(want, line(k, v))
			}
		}
		for i := range h.s.Recs { // All omits empty ones
			r := &h.s.Recs[i]
			if r.Flags&msg.Dead == 0 && r.ValLen == 0 && 1<<r.ID&(responseOwn&^(1<<msg.SetCookie|1<<msg.Trailer)) != 0 {
				want = append(want, line(h.s.RawName(i), nil))
			}
		}
		slices.Sort(want)
		if got := lines(&p.s.Fields); !slices.Equal(got, want) {
			t.Fatalf("%q was read as\n%q, the header says\n%q", head, got, want)
		}
		checkTrailerSection(t, h.TrailerHeader())
	})
}

func checkTrailerSection(t *testing.T, b []byte) {
	var f msg.Fields
	if n, err := h1.ParseTrailers(b, &f, nil); err != nil || n != len(b) {
		t.Fatalf("trailer section %q: %d bytes, %v", b, n, err)
	}
}
