package gale

import (
	"bufio"
	"bytes"
	"io"
	"math/rand/v2"
	"net/http"
	"strings"
	"testing"
)

// hostileTexts are given to setters: names and values that mean something in a
// message, or that end a line.
var hostileTexts = []string{
	"a", "", " ", "\t", ":", "*", "é", "\x00", "\x7f", "\x85", "\u2028", "\r\n", "\n", "\r", "a b",
	"x\r\nEvil: 1", "x\r\n\r\nGET /evil HTTP/1.1\r\nHost: e\r\n\r\n", " HTTP/1.1\r\nEvil: 1",
	"Content-Length", "content-length", "Content-Length ", " Content-Length", "Content-Length:", "Content-Length\t",
	"Transfer-Encoding", "transfer-encoding", "Transfer-Encoding\r\n : x", "chunked", "gzip, chunked", "chunked, gzip",
	"5", "0", "Host", "host", "Connection", "close", "Upgrade", "Trailer", "TE", "Expect", "100-continue", "Cookie", "cookie",
	"a=b; c=d", "a;b", "GET", "POST", "HEAD", "HTTP/1.0", "HTTP/1.1", "http://x/y", "//x", "/p?q#f", "?x y", "x:80", "a:b@c",
	"multipart/form-data; boundary=\"a\r\nb\"",
}

// setHostile calls one of the setters of req.
func setHostile(req *Request, setter int, a, b string) {
	h, u := &req.Header, req.URI
	setters := []func(){
		func() { h.Set(a, b) },
		func() { h.Add(a, b) },
		func() { h.SetBytesKV([]byte(a), []byte(b)) },
		func() { h.AddBytesKV([]byte(a), []byte(b)) },
		func() { h.SetCanonical([]byte(a), []byte(b)) },
		func() { h.SetCookie(a, b) },
		func() { h.SetHost(a) },
		func() { req.SetHost(a); req.UseHostHeader = true },
		func() { h.SetMethod(a) },
		func() { h.SetProtocol(a) },
		func() { h.SetRequestURI(a) },
		func() { req.SetRequestURI(a) },
		func() { h.SetContentType(a) },
		func() { h.SetContentEncoding(a) },
		func() { h.SetMultipartFormBoundary(a) },
		func() { h.SetUserAgent(a) },
		func() { h.SetReferer(a) },
		func() { _ = h.SetTrailer(a) },
		func() { _ = h.AddTrailer(a) },
		func() { h.SetContentLength(len(a)%9 - 2) },
		func() { h.SetConnectionClose() },
		func() { h.ResetConnectionClose() },
		func() { h.SetNoDefaultContentType(true) },
		func() { h.DisableNormalizing() },
		func() { h.DisableSpecialHeader() },
		func() { h.Del(a) },
		func() { u().SetUsername(a); u().SetPassword(b) },
		func() { u().SetHost(a) },
		func() { u().SetScheme(a) },
		func() { u().SetPath(a) },
		func() { u().SetPath(a); u().DisablePathNormalizing = true },
		func() { u().SetQueryString(a) },
		func() { u().SetHash(a) },
		func() { u().Update(a) },
	}
	setters[setter%len(setters)]()
}

// Whatever arguments setters get, one request is sent, with the intended body and no
// unintended header, or a head that no server accepts.
func TestClientWire(t *testing.T) {
	withoutEngine(t)
	for seed := range uint64(30_000) {
		r := rand.New(rand.NewPCG(seed, 1))
		text := func() string { return hostileTexts[r.IntN(len(hostileTexts))] }
		req := &Request{}
		req.SetRequestURI("http://a.example/x")
		for range 1 + r.IntN(5) {
			setHostile(req, r.IntN(1<<10), text(), text())
		}
		body := []string{"", "hello", "GET /evil HTTP/1.1\r\nHost: e\r\n\r\n"}[r.IntN(3)]
		switch r.IntN(3) {
		case 0:
			req.SetBodyStream(strings.NewReader(body), -1)
		case 1:
			req.SetBodyStream(strings.NewReader(body), len(body))
		default:
			req.SetBodyString(body)
		}
		c := &HostClient{Addr: "a.example:80"}
		if c.prepare(req) != nil {
			continue
		}
		head, out, err := req.appendRequest(nil, true)
		if err != nil {
			continue
		}
		wire := bytes.NewBuffer(head)
		if out.stream {
			err = out.writeStream(bufio.NewWriter(wire))
		} else {
			wire.Write(out.body)
		}
		if err != nil {
			continue
		}
		br := bufio.NewReader(bytes.NewReader(wire.Bytes()))
		got, err := http.ReadRequest(br)
		if err != nil {
			if head, _, _ := strings.Cut(wire.String(), "\r\n\r\n"); strings.Contains(head, "\nEvil:") {
				t.Errorf("seed %d: a field was smuggled in: %q", seed, wire)
			}
			continue
		}
		gotBody, err := io.ReadAll(got.Body)
		rest, _ := io.ReadAll(br)
		if err != nil || string(gotBody) != body || len(rest) > 0 || got.Header.Get("Evil") != "" {
			t.Fatalf("seed %d: body %q, want %q; rest %q, %v, in %q", seed, gotBody, body, rest, err, wire)
		}
	}
}

// A request with a chunked body is sent as HTTP/1.1.
func TestClientWireChunkedVersion(t *testing.T) {
	req := &Request{}
	req.SetRequestURI("http://a.example/x")
	req.Header.SetProtocol("HTTP/1.0")
	req.SetBodyStream(strings.NewReader("hello"), -1)
	if got := req.String(); !strings.HasPrefix(got, "GET /x HTTP/1.1\r\n") || !strings.HasSuffix(got, "\r\n\r\n5\r\nhello\r\n0\r\n\r\n") {
		t.Errorf("%q", got)
	}
}
