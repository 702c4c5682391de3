package client

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/galehttp/gale"
	"github.com/galehttp/gale/tests/harness"
	"github.com/galehttp/gale/tests/harness/peers"
)

// compressedHost answers with the body, in the coding that the query names.
func compressedHost(body []byte) gale.RequestHandler {
	return func(ctx *gale.RequestCtx) {
		ctx.Response.Header.Set("X-Asked", string(ctx.Request.Header.Peek("Accept-Encoding")))
		q := ctx.QueryArgs()
		coding := string(q.Peek("coding"))
		var b []byte
		switch coding {
		case "gzip":
			b = gale.AppendGzipBytes(nil, body)
		case "br":
			b = gale.AppendBrotliBytes(nil, body)
		case "zstd":
			b = gale.AppendZstdBytes(nil, body)
		case "deflate":
			b = gale.AppendDeflateBytes(nil, body)
		case "none":
			coding, b = "", body
		default:
			b = body
		}
		if q.Has("broken") {
			b = b[:len(b)/2]
		}
		if q.Has("more") {
			b = append(b, bytes.Repeat([]byte{0}, 4096)...)
		}
		if q.Has("empty") {
			b = nil
		}
		if coding != "" {
			ctx.Response.Header.Set("Content-Encoding", coding)
		}
		ctx.SetBody(b)
	}
}

// Buffered and streamed responses are decoded, and no header shows that they were
// encoded.
func TestClientUncompress(t *testing.T) {
	body := []byte(strings.Repeat("text that compresses well. ", 1000))
	n := peers.NewNetwork(t)
	harness.ServeAt(t, n, "a.test:80", compressedHost(body))
	for _, stream := range []bool{false, true} {
		c := &gale.Client{Dial: n.Dial, Uncompress: true, StreamResponseBody: stream}
		for query, want := range map[string]string{
			"coding=gzip": string(body), "coding=br": string(body), "coding=zstd": string(body), "coding=deflate": string(body),
			"coding=none": string(body), "coding=gzip&empty": "", "coding=br&empty": "",
		} {
			req, resp := gale.AcquireRequest(), gale.AcquireResponse()
			req.SetRequestURI("http://a.test/?" + query)
			if err := c.Do(req, resp); err != nil {
				t.Fatalf("%s: %v", query, err)
			}
			var got []byte
			var err error
			if stream {
				got, err = io.ReadAll(resp.BodyStream())
				_ = resp.CloseBodyStream()
			} else {
				got = resp.Body()
				if n := resp.Header.ContentLength(); n != len(want) {
					t.Errorf("%s: Content-Length is %d", query, n)
				}
			}
			if string(got) != want || err != nil {
				t.Errorf("stream %v, %s: %d bytes, want %d, %v", stream, query, len(got), len(want), err)
			}
			if e := resp.Header.ContentEncoding(); len(e) > 0 && len(want) > 0 {
				t.Errorf("%s: Content-Encoding is left: %q", query, e)
			}
			if asked := string(resp.Header.Peek("X-Asked")); asked != "gzip, br, zstd" {
				t.Errorf("asked for %q", asked)
			}
			if own := req.Header.Peek("Accept-Encoding"); len(own) > 0 {
				t.Errorf("the caller's request is left with Accept-Encoding: %s", own)
			}
			gale.ReleaseRequest(req)
			gale.ReleaseResponse(resp)
		}
		if s := c.PoolStats(); s.Dials != 1 {
			t.Errorf("stream %v: %d connections were made, want one: %+v", stream, s.Dials, s)
		}
		c.CloseIdleConnections()
	}
}

// A caller that asks for a coding, for a range or for no body gets the response as it was
// sent.
func TestClientUncompressLeavesAlone(t *testing.T) {
	body := []byte(strings.Repeat("text", 1000))
	n := peers.NewNetwork(t)
	harness.ServeAt(t, n, "a.test:80", compressedHost(body))
	for name, test := range map[string]struct {
		off   bool
		asked string
		set   func(req *gale.Request)
	}{
		"off":     {off: true},
		"own":     {asked: "gzip", set: func(req *gale.Request) { req.Header.Set("Accept-Encoding", "gzip") }},
		"range":   {set: func(req *gale.Request) { req.Header.SetByteRange(0, 9) }},
		"head":    {set: func(req *gale.Request) { req.Header.SetMethod("HEAD") }},
		"unknown": {asked: "gzip, br, zstd", set: func(req *gale.Request) { req.SetRequestURI("http://a.test/?coding=rot13") }},
		"two":     {asked: "gzip, br, zstd", set: func(req *gale.Request) { req.SetRequestURI("http://a.test/?coding=gzip,gzip") }},
	} {
		c := &gale.Client{Dial: n.Dial, Uncompress: !test.off}
		req, resp := gale.AcquireRequest(), gale.AcquireResponse()
		req.SetRequestURI("http://a.test/?coding=gzip")
		if test.set != nil {
			test.set(req)
		}
		if err := c.Do(req, resp); err != nil {
			t.Fatal(name, err)
		}
		if len(resp.Header.ContentEncoding()) == 0 || string(resp.Header.Peek("X-Asked")) != test.asked {
			t.Errorf("%s: Content-Encoding %q, asked for %q", name, resp.Header.ContentEncoding(), resp.Header.Peek("X-Asked"))
		}
		c.CloseIdleConnections()
		gale.ReleaseRequest(req)
		gale.ReleaseResponse(resp)
	}
}

// A body that exceeds the limit after decoding is an error, and so is one that can't be
// decoded.
func TestClientUncompressErrors(t *testing.T) {
	body := make([]byte, 1<<20)
	n := peers.NewNetwork(t)
	harness.ServeAt(t, n, "a.test:80", compressedHost(body))
	c := &gale.Client{Dial: n.Dial, Uncompress: true, MaxResponseBodySize: 1 << 16}
	streaming := &gale.Client{Dial: n.Dial, Uncompress: true, StreamResponseBody: true, MaxResponseBodySize: 1 << 16}
	defer c.CloseIdleConnections()
	defer streaming.CloseIdleConnections()
	for _, coding := range []string{"gzip", "br", "zstd", "deflate"} {
		for _, c := range []*gale.Client{c, streaming} {
			if _, b, err := c.Get(nil, "http://a.test/?coding="+coding); err != gale.ErrBodyTooLarge || len(b) > 0 {
				t.Errorf("%s: %d bytes, %v, want ErrBodyTooLarge", coding, len(b), err)
			}
		}
		for _, c := range []*gale.Client{{Dial: n.Dial, Uncompress: true}, {Dial: n.Dial, Uncompress: true, StreamResponseBody: true}} {
			if _, _, err := c.Get(nil, "http://a.test/?broken&coding="+coding); err == nil {
				t.Errorf("%s, cut off: no error", coding)
			}
			c.CloseIdleConnections()
		}
	}
	// Streams are decoded only as far as they are read.
	resp := gale.AcquireResponse()
	defer gale.ReleaseResponse(resp)
	req := gale.AcquireRequest()
	defer gale.ReleaseRequest(req)
	req.SetRequestURI("http://a.test/?coding=gzip")
	if err := streaming.Do(req, resp); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadFull(resp.BodyStream(), make([]byte, 100)); err != nil {
		t.Error(err)
	}
	s := resp.BodyStream()
	if err := resp.CloseBodyStream(); err != nil {
		t.Error(err)
	}
	if _, err := s.Read(make([]byte, 1)); !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("Read after Close: %v", err)
	}
}

// Closing a decoded stream wakes its reader.
func TestClientUncompressClose(t *testing.T) {
	hold := make(chan struct{})
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Encoding", "gzip")
		z := gzip.NewWriter(w)
		_, _ = z.Write([]byte("begin"))
		_ = z.Flush()
		w.(http.Flusher).Flush()
		<-hold
	}))
	defer s.Close()
	defer close(hold)
	c := &gale.Client{Uncompress: true, StreamResponseBody: true}
	req, resp := gale.AcquireRequest(), gale.AcquireResponse()
	req.SetRequestURI(s.URL)
	if err := c.Do(req, resp); err != nil {
		t.Fatal(err)
	}
	r := resp.BodyStream().(io.ReadCloser)
	b := make([]byte, 5)
	if _, err := io.ReadFull(r, b); err != nil || string(b) != "begin" {
		t.Fatal(string(b), err)
	}
	done := make(chan error)
	go func() {
		_, err := r.Read(b)
		done <- err
	}()
	if err := r.Close(); err != nil {
		t.Error(err)
	}
	if err := <-done; err == nil {
		t.Error("Read goes on after Close")
	}
	if n := c.ConnsCount(); n != 0 {
		t.Errorf("%d connections are left", n)
	}
}

// TestClientUncompressEvents proves that an event of a streamed response can be read when it has
// arrived whole: the server sends the next one only after that.
func TestClientUncompressEvents(t *testing.T) {
	for _, coding := range []string{"gzip", "zstd"} {
		read := make(chan bool)
		ts := harness.Start(t, &gale.Server{HTTP2: gale.HTTP2Config{H2C: true}}, func(ctx *gale.RequestCtx) {
			ctx.Response.Header.SetContentEncoding(coding)
			for range 3 {
				event := gale.AppendGzipBytes(nil, []byte("an event\n"))
				if coding == "zstd" {
					event = gale.AppendZstdBytes(nil, []byte("an event\n"))
				}
				ctx.Write(event)
				if ctx.Flush() != nil {
					return
				}
				select {
				case <-read:
				case <-time.After(time.Minute):
					t.Error("the event isn't given out")
					return
				}
			}
		})
		for protocol, http2 := range map[string]gale.HTTP2Mode{"HTTP/1.1": gale.HTTP2Off, "HTTP/2": gale.HTTP2Only} {
			c := &gale.Client{Uncompress: true, StreamResponseBody: true, HTTP2: http2}
			var req gale.Request
			var resp gale.Response
			req.SetRequestURI("http://" + ts.Addr + "/")
			if err := c.Do(&req, &resp); err != nil {
				t.Fatal(err)
			}
			br := bufio.NewReader(resp.BodyStream())
			for range 3 {
				if line, err := br.ReadString('\n'); line != "an event\n" || err != nil {
					t.Fatalf("%s, %s: %q, %v", coding, protocol, line, err)
				}
				read <- true
			}
			if _, err := br.ReadByte(); err != io.EOF {
				t.Errorf("%s, %s: %v at the end", coding, protocol, err)
			}
			resp.CloseBodyStream()
			c.CloseIdleConnections()
		}
	}
}
