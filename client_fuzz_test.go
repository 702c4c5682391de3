package gale

import (
	"bufio"
	"bytes"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/galehttp/gale/internal/race"
	"github.com/galehttp/gale/tests/harness/peers"
)

// piecesConn is a server that has sent its answer already, in pieces, and closed.
type piecesConn struct {
	data  []byte
	piece int
}

func (c *piecesConn) Read(p []byte) (int, error) {
	if len(c.data) == 0 {
		return 0, io.EOF
	}
	n := copy(p[:min(len(p), c.piece)], c.data)
	c.data = c.data[n:]
	return n, nil
}

func (c *piecesConn) Write(p []byte) (int, error)      { return len(p), nil }
func (c *piecesConn) Close() error                     { return nil }
func (c *piecesConn) LocalAddr() net.Addr              { return &net.TCPAddr{} }
func (c *piecesConn) RemoteAddr() net.Addr             { return &net.TCPAddr{} }
func (c *piecesConn) SetDeadline(time.Time) error      { return nil }
func (c *piecesConn) SetReadDeadline(time.Time) error  { return nil }
func (c *piecesConn) SetWriteDeadline(time.Time) error { return nil }

// FuzzClientResponse gives a client any bytes as an answer. The result is the same
// however they are cut into pieces, and whether or not the body is streamed.
func FuzzClientResponse(f *testing.F) {
	for _, s := range []string{
		peers.OkAnswer("good"),
		"HTTP/1.1 100 Continue\r\n\r\n" + peers.OkAnswer("good"),
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\ngood\r\n0\r\nX: y\r\n\r\n",
		"HTTP/1.1 200 OK\r\n\r\nuntil the end",
		"HTTP/1.1 204 No Content\r\n\r\n",
		"HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nContent-Length: 0\r\n\r\n",
		"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\ngood",
	} {
		f.Add([]byte(s), uint8(3), false)
		f.Add([]byte(s), uint8(1), true)
	}
	type outcome struct {
		ok, kept bool
		status   int
		body     string
	}
	get := func(data []byte, piece int, head, stream bool) (o outcome) {
		c := &HostClient{Addr: "example.com", StreamResponseBody: stream, MaxResponseBodySize: 1 << 20, Dial: func(string) (net.Conn, error) {
			return &piecesConn{data, piece}, nil
		}}
		method := "GET"
		if head {
			method = "HEAD"
		}
		resp, err := getFrom(c, method, "http://example.com/")
		if err != nil {
			return o
		}
		body := resp.bodyBytes()
		if resp.IsBodyStream() {
			if body, err = io.ReadAll(resp.BodyStream()); err != nil {
				return o
			}
			resp.CloseBodyStream()
		}
		o = outcome{true, c.IdleConnsCount() == 1, resp.StatusCode(), string(body)}
		if c.ConnsCount() != c.IdleConnsCount() {
			panic("a connection is lost")
		}
		c.CloseIdleConnections()
		return o
	}
	f.Fuzz(func(t *testing.T, data []byte, piece uint8, head bool) {
		whole := get(data, len(data)+1, head, false)
		cut := get(data, int(piece)+1, head, false)
		streamed := get(data, int(piece)+1, head, true)
		// Bytes after a response may not have arrived when it ends. So the pieces decide
		// whether the connection is kept; such bytes are noticed later.
		if whole.kept && !(cut.kept && streamed.kept) {
			t.Errorf("kept in one piece only: %+v, %+v, %+v", whole, cut, streamed)
		}
		whole.kept, cut.kept, streamed.kept = false, false, false
		if whole != cut || whole != streamed {
			t.Errorf("in one piece %+v, in pieces %+v, streamed %+v", whole, cut, streamed)
		}
	})
}

// For any Location, the request that follows can be sent, goes where Location says, and
// carries credentials to no other host.
func FuzzRedirect(f *testing.F) {
	for _, s := range []string{
		"/x", "//b.test/", "http://b.test", "https://a.test/", "HTTP://A.TEST:80/?q#f", "../..", "?q", "#f", "http://a.test@b.test/",
		"http://a.test:80@b.test/", `http:\\b.test`, `/\b.test`, "http://a.test\t/", "http://[::1%25a]/", "javascript:x", "http://a.test.:80/",
		"http://%61.test/", "///b.test", "http:b.test", "http://a.test:8080/", "%0d%0aX: y", "http://ａ.test/",
	} {
		f.Add(s, uint16(302))
		f.Add(s, uint16(307))
	}
	f.Fuzz(func(t *testing.T, location string, status uint16) {
		req := AcquireRequest()
		defer ReleaseRequest(req)
		req.SetRequestURI("http://a.test/p/q?r")
		req.Header.SetMethod(MethodPost)
		req.Header.Set("Authorization", "secret")
		req.Header.SetCookie("c", "secret")
		req.SetBodyString("body")
		if err := redirect(req, int(status), []byte(location), false, nil); err != nil {
			if string(req.URI().FullURI()) != "http://a.test/p/q?r" || len(req.Header.Peek("Authorization")) == 0 || len(req.Body()) == 0 {
				t.Fatalf("%q: %v, and yet the request has changed", location, err)
			}
			return
		}
		u := req.URI()
		if !utf8.Valid(u.Host()) {
			return // a Client won't send it
		}
		host, port := splitPort(u.Host())
		home := string(host) == "a.test" && (string(u.Scheme()) == "http" && (port == "" || port == "80") ||
			string(u.Scheme()) == "https" && (port == "" || port == "443" || port == "80"))
		head := req.Header.String()
		if bytes.Contains([]byte(head), []byte("secret")) && !home {
			t.Fatalf("%q: credentials go to %s://%s", location, u.Scheme(), u.Host())
		}
		// What is written is read back the same.
		again := AcquireURI()
		defer ReleaseURI(again)
		if err := again.Parse(nil, u.FullURI()); err != nil || !bytes.Equal(again.Host(), u.Host()) || !bytes.Equal(again.Scheme(), u.Scheme()) {
			t.Fatalf("%q becomes %q, which is read as %q: %v", location, u.FullURI(), again.FullURI(), err)
		}
		if err := req.prepareHeader(); err != nil {
			t.Fatalf("%q: %v", location, err)
		}
		if target := req.Header.RequestURI(); len(target) == 0 || target[0] != '/' || bytes.ContainsAny(target, " \r\n\x00") {
			t.Fatalf("%q makes the target %q", location, target)
		}
	})
}

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
	peers.WithoutEngine(t)
	for seed := range uint64(race.Fewer(30_000)) {
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

// A short stream in memory goes out with the head, in one write.
func TestStreamInMemory(t *testing.T) {
	for _, test := range []struct {
		body, size int
		along      bool
	}{{0, 0, true}, {5, 5, true}, {bodyAlong, bodyAlong, true}, {bodyAlong + 1, bodyAlong + 1, false}, {5, 4, false}, {5, 6, false}, {5, -1, false}} {
		body := strings.Repeat("x", test.body)
		for _, stream := range []interface {
			io.Reader
			Len() int
		}{strings.NewReader(body), bytes.NewReader([]byte(body)), bytes.NewBufferString(body)} {
			for _, along := range []bool{false, true} {
				var req Request
				req.SetRequestURI("http://a.example/x")
				req.Header.SetMethod(MethodPost)
				req.SetBodyStream(stream, test.size)
				before := stream.Len()
				head, out, err := req.appendRequest(nil, along)
				if err != nil {
					t.Fatal(err)
				}
				_, sent, _ := strings.Cut(string(head), "\r\n\r\n")
				if want := test.along && along; out.stream == want || req.hasStream() == want || want && (sent != body || stream.Len() != 0) || !want && (sent != "" || stream.Len() != before) {
					t.Errorf("%T of %d bytes as %d, with the head %v: stream %v, %d bytes sent, %d left", stream, test.body, test.size, along, out.stream, len(sent), stream.Len())
				}
			}
		}
	}
}
