package gale

import (
	"bytes"
	"testing"

	"github.com/galehttp/gale/internal/h1"
	"github.com/galehttp/gale/internal/msg"
)

// Whatever a program puts into a request, one request is sent or nothing: with a head
// that a strict parser accepts, except for targets and hosts, and a body of the declared
// length.
func FuzzRequestSplitting(f *testing.F) {
	f.Add("GET", "http://example.org/", "X-A", "b", "k", "v", []byte(nil))
	f.Add("POST", "/path?a=b", "Content-Length", "5", "k", "v", []byte("hello"))
	f.Add("GET\r\nX: y", "http://exa mple.org/\r\nHost: b", "X-A\r\n", "b\r\n\r\nGET / HTTP/1.1", "k;=\r\n", "v\r\n", []byte("body"))
	f.Add("PUT", "http://example.org\t/", "Transfer-Encoding", "chunked", "", "", []byte("0\r\n\r\n"))
	f.Add("HEAD", "*", "Host", "a b", "", "", []byte{})
	f.Add("CONNECT", "example.org:443", "Connection", "close", "", "", []byte{})
	f.Add("GET", "http://user:p w@example.org/ HTTP/1.1\n", "Expect", "100-continue", "", "", []byte("x"))
	f.Fuzz(func(t *testing.T, method, uri, name, value, key, cookie string, body []byte) {
		req := &Request{}
		req.SetRequestURI(uri)
		if req.Header.Host() == nil {
			req.Header.SetHost("example.org")
		}
		req.Header.SetMethod(method)
		req.Header.Set(name, value)
		req.Header.Add(name, value)
		req.Header.SetCookie(key, cookie)
		req.Header.SetUserAgent(value)
		req.Header.SetContentType(cookie)
		req.Header.SetReferer(uri)
		req.SetBody(body)
		c := &PipelineClient{Dial: DialFunc(Dial)}
		if err := c.prepare(req); err != nil {
			return
		}
		out, rest, err := req.appendRequest(nil, true)
		if err != nil {
			return
		}
		out = append(out, rest.body...)
		var h msg.RequestHead
		h.Reset()
		n, err := h1.ParseRequest(out, &h, &h1.Limits{})
		if i := bytes.Index(out, []byte("\r\n\r\n")); i < 0 || err == nil && n != i+4 {
			t.Fatalf("the head doesn't end where it should: %q", out)
		} else if err != nil {
			n = i + 4
		}
		lines := bytes.Split(out[:n-4], []byte("\r\n"))
		for i, line := range lines {
			if bytes.ContainsAny(line, "\r\n\x00") || i == 0 && bytes.Count(line, []byte{' '}) != 2 || i > 0 && bytes.IndexByte(line, ':') <= 0 {
				t.Fatalf("a line that isn't one: %q", out)
			}
		}
		if err != nil { // a target, a host or a long method that a server refuses
			if err != h1.ErrTarget && err != h1.ErrHost && err != h1.ErrMethodTooLong {
				t.Fatalf("%v: %q", err, out)
			}
			return
		}
		var b h1.Body
		b.Init(h.ContentLength, nil, nil)
		if h.ContentLength == msg.LenUnknown {
			b.Init(0, nil, nil)
		}
		for left := out[n:]; !b.Done() || len(left) > 0; {
			_, m, done, err := b.Next(left)
			if err != nil || m == 0 && (!done || len(left) > 0) {
				t.Fatalf("%v: more or less than one request: %q", err, out)
			}
			left = left[m:]
		}
	})
}
