package server

import (
	"bufio"
	"io"
	"strings"
	"testing"

	"github.com/galehttp/gale"
	"github.com/galehttp/gale/tests/harness"
	"github.com/galehttp/gale/tests/harness/peers"
)

// A server treats HTTP/1.2 and higher minor versions as HTTP/1.1 (RFC 9110 section 2.5).
func TestHigherMinorVersions(t *testing.T) {
	ts := harness.Start(t, nil, func(ctx *gale.RequestCtx) {
		ctx.SetBodyString(string(ctx.Request.Header.Protocol()) + string(ctx.Method()) + string(ctx.PostBody()))
		if !ctx.Request.Header.IsHTTP11() {
			t.Error("not HTTP/1.1")
		}
	})
	c := ts.Dial()
	for _, v := range []string{"1.2", "1.9", "1.1"} {
		c.Send("GET / HTTP/" + v + "\r\nHost: h\r\n\r\n")
		if a := c.Want("GET", 200, "HTTP/1.1GET"); a.Proto != "HTTP/1.1" || a.Close {
			t.Errorf("%s: answered as %s, close %v", v, a.Proto, a.Close)
		}
		c.Send("POST / HTTP/" + v + "\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n")
		c.Want("POST", 200, "HTTP/1.1POSTabc")
	}
	for _, v := range []string{"0.9", "2.0", "9.9"} {
		c := ts.Dial()
		c.Send("GET / HTTP/" + v + "\r\nHost: h\r\n\r\n")
		if a := c.Answer("GET"); a.StatusCode != 505 {
			t.Errorf("%s: %d", v, a.StatusCode)
		}
		c.WantClosed()
	}
}

// A chunked response is sent as HTTP/1.1, even if a handler forwards one of HTTP/1.0.
// Other responses keep their version (RFC 9112 section 6.1).
func TestChunkedVersion(t *testing.T) {
	upstream := peers.StartScript(t, func(p *peers.ScriptConn, _ int) {
		p.Request()
		p.Say("HTTP/1.0 200 OK\r\n\r\nabc")
		p.Close()
	})
	hc := &gale.HostClient{Addr: upstream.Addr()}
	defer hc.CloseIdleConnections()
	ts := harness.Start(t, nil, func(ctx *gale.RequestCtx) {
		resp := &ctx.Response
		resp.Header.SetProtocol([]byte("HTTP/1.0"))
		switch string(ctx.Path()) {
		case "/bytes":
			resp.SetBodyString("abc")
		case "/length":
			resp.SetBodyStream(strings.NewReader("abc"), 3)
		case "/stream":
			resp.SetBodyStream(io.MultiReader(strings.NewReader("abc")), -1)
		case "/writer":
			resp.SetBodyStreamWriter(func(w *bufio.Writer) { w.WriteString("abc") })
		case "/flush":
			ctx.WriteString("ab")
			ctx.Flush()
			ctx.WriteString("c")
		case "/trailer":
			resp.SetBodyString("abc")
			resp.Header.AddTrailerValue("X-T", "v")
		case "/forward", "/forward-stream":
			resp.StreamBody = string(ctx.Path()) == "/forward-stream"
			if err := hc.Do(&ctx.Request, resp); err != nil {
				t.Error(err)
			}
		}
	})
	for _, test := range []struct {
		path, version string
		chunked       bool
	}{
		{"/bytes", "HTTP/1.0", false},
		{"/length", "HTTP/1.0", false},
		{"/stream", "HTTP/1.1", true},
		{"/writer", "HTTP/1.1", true},
		{"/flush", "HTTP/1.1", true},
		{"/trailer", "HTTP/1.1", true},
		{"/forward", "HTTP/1.0", false},
		{"/forward-stream", "HTTP/1.1", true},
	} {
		c := ts.Dial()
		c.Send("GET " + test.path + " HTTP/1.1\r\nHost: h\r\n\r\n")
		if a := c.Want("GET", 200, "abc"); a.Proto != test.version || test.chunked != (len(a.TransferEncoding) > 0) {
			t.Errorf("%s: got %s, %v", test.path, a.Proto, a.TransferEncoding)
		}
	}
}

func TestHigherMinorVersionsOfResponses(t *testing.T) {
	s := peers.StartScript(t, peers.Answering("HTTP/1.7 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n"))
	c := &gale.HostClient{Addr: s.Addr()}
	defer c.CloseIdleConnections()
	for range 2 {
		resp, err := harness.GetFrom(c, "GET", s.URL())
		if err != nil || string(resp.Body()) != "abc" || string(resp.Header.Protocol()) != "HTTP/1.1" || !strings.HasPrefix(resp.String(), "HTTP/1.1 200 OK\r\n") {
			t.Fatalf("%q, %v", resp, err)
		}
	}
	if s.Accepted.Load() != 1 {
		t.Error("the connection was not kept")
	}
}

// No answer to HTTP/1.0 has a Transfer-Encoding (RFC 9112 section 6.1), not even one to
// HEAD. The connection stays open if the client asked for that.
func TestHeadOfOldVersion(t *testing.T) {
	ts := harness.Start(t, nil, func(ctx *gale.RequestCtx) {
		ctx.SetBodyStream(io.MultiReader(strings.NewReader("abc")), -1)
	})
	c := ts.Dial()
	defer c.Close()
	for range 2 {
		c.Send("HEAD / HTTP/1.0\r\nHost: h\r\nConnection: keep-alive\r\n\r\n")
		if a := c.Want("HEAD", 200, ""); len(a.TransferEncoding) > 0 || a.Header.Get("Transfer-Encoding") != "" {
			t.Errorf("Transfer-Encoding %q, %q", a.TransferEncoding, a.Header)
		}
	}
}
