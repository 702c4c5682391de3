package server

import (
	"bufio"
	"fmt"
	"strings"
	"testing"

	"github.com/galehttp/gale"
	"github.com/galehttp/gale/tests/harness"
	"github.com/galehttp/gale/tests/harness/peers"
)

// The host of a request is the one in its target, if the target has one, whichever method
// a handler calls (RFC 9112 sections 3.2.2 and 3.3).
func TestTargetHost(t *testing.T) {
	ts := harness.Start(t, nil, func(ctx *gale.RequestCtx) {
		h := &ctx.Request.Header
		n := 0
		for name := range h.All() {
			if string(name) == "Host" {
				n++
			}
		}
		fmt.Fprintf(ctx, "%s %s %s %q %d %s", h.Host(), h.Peek("host"), h.PeekBytes([]byte("Host")), h.PeekAll("Host"), n, ctx.Host())
	})
	for _, test := range []struct{ head, header, host string }{
		{"GET /x HTTP/1.1\r\nHost: A.test\r\n", "A.test", "a.test"},
		{"GET http://A.test/x HTTP/1.1\r\nHost: evil.test\r\n", "A.test", "a.test"},
		{"GET HTTPS://a.test:8443?x HTTP/1.1\r\nX: y\r\nhost: evil.test\r\nY: z\r\n", "a.test:8443", "a.test:8443"},
		{"GET http://a.test HTTP/1.0\r\n", "a.test", "a.test"},
		{"GET http://[::1]:80/ HTTP/1.1\r\nHost:\r\n", "[::1]:80", "[::1]:80"},
		{"OPTIONS http://a.test HTTP/1.1\r\nHost: evil.test\r\n", "a.test", "a.test"},
		{"OPTIONS * HTTP/1.1\r\nHost: a.test\r\n", "a.test", "a.test"},
		{"CONNECT a.test:443 HTTP/1.1\r\nHost: evil.test\r\n", "a.test:443", "a.test:443"},
	} {
		c := ts.Dial()
		c.Send(test.head + "Connection: close\r\n\r\n")
		want := fmt.Sprintf("%s %[1]s %[1]s [%[1]q] 1 %[2]s", test.header, test.host)
		if test.head[0] == 'C' {
			c.Answer("CONNECT") // its answer has no body: it opens a tunnel
			continue
		}
		if a := c.Answer("GET"); a.Text != want {
			t.Errorf("%q: got %s, want %s", test.head, a.Text, want)
		}
	}
}

// HeaderReceived and handlers that forward their request also see the host of the target.
func TestTargetHostForwarded(t *testing.T) {
	type seen struct{ host, target string }
	got := make(chan seen, 1)
	n := peers.NewNetwork(t)
	harness.ServeAt(t, n, "up.test:80", func(ctx *gale.RequestCtx) {
		got <- seen{string(ctx.Request.Header.Host()), string(ctx.RequestURI())}
	})
	hc := &gale.HostClient{Addr: "up.test:80", Dial: n.Dial}
	s := &gale.Server{HeaderReceived: func(h *gale.RequestHeader) gale.RequestConfig {
		if string(h.Host()) != "a.test" {
			t.Errorf("HeaderReceived: Host is %s", h.Host())
		}
		return gale.RequestConfig{}
	}}
	ts := harness.Start(t, s, func(ctx *gale.RequestCtx) {
		switch string(ctx.QueryArgs().Peek("how")) {
		case "copy":
			req := gale.AcquireRequest()
			defer gale.ReleaseRequest(req)
			ctx.Request.CopyTo(req)
			_ = hc.Do(req, &ctx.Response)
		case "header":
			req := gale.AcquireRequest()
			defer gale.ReleaseRequest(req)
			ctx.Request.Header.CopyTo(&req.Header)
			req.SetRequestURI(string(ctx.URI().RequestURI()))
			_ = hc.Do(req, &ctx.Response)
		default:
			_ = hc.Do(&ctx.Request, &ctx.Response)
		}
	})
	c := ts.Dial()
	for _, how := range []string{"", "?how=copy", "?how=header"} {
		c.Send("GET http://a.test/x" + how + " HTTP/1.1\r\nHost: evil.test\r\n\r\n")
		c.Want("GET", 200, "")
		if s := <-got; s != (seen{"a.test", "/x" + how}) {
			t.Errorf("%q: %+v was sent", how, s)
		}
	}
}

func TestReadTargetHost(t *testing.T) {
	var req gale.Request
	in := "GET http://a.test/x HTTP/1.1\r\nHost: evil.test\r\n\r\n"
	if err := req.Read(bufio.NewReader(strings.NewReader(in))); err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprintf("%s %s %s", req.Header.Host(), req.Header.Peek("Host"), req.Host()); got != "a.test a.test a.test" {
		t.Errorf("got %s", got)
	}
}
