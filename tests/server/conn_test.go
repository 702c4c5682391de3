package server

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/galehttp/gale"
	"github.com/galehttp/gale/tests/harness"
	"github.com/galehttp/gale/tests/harness/await"
	"github.com/galehttp/gale/tests/harness/peers"
)

func TestServePipelined(t *testing.T) {
	ts := harness.Start(t, nil, harness.Echo)
	c := ts.Dial()
	c.Send(peers.Get("/1") + peers.Post("/2", "two") + peers.Get("/3"))
	c.Want("GET", 200, "GET /1 ")
	c.Want("POST", 200, "POST /2 two")
	a := c.Want("GET", 200, "GET /3 ")
	if a.Close {
		t.Error("the connection is announced to be closed")
	}
	if a.Header.Get("Server") != "gale" || a.Header.Get("Date") == "" {
		t.Errorf("header %v lacks Server or Date", a.Header)
	}
}

func TestServeByteByByte(t *testing.T) {
	ts := harness.Start(t, nil, harness.Echo)
	c := ts.Dial()
	c.Conn.(*net.TCPConn).SetNoDelay(true)
	for _, b := range []byte(peers.Post("/x", "body") + "POST /y HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n") {
		c.Write([]byte{b})
	}
	c.Want("POST", 200, "POST /x body")
	c.Want("POST", 200, "POST /y abc")
}

func TestHTTP10(t *testing.T) {
	ts := harness.Start(t, nil, func(ctx *gale.RequestCtx) {
		if string(ctx.Path()) == "/stream" {
			ctx.SetBodyStream(strings.NewReader("streamed"), -1)
			return
		}
		harness.Echo(ctx)
	})
	c := ts.Dial()
	c.Send("GET /a HTTP/1.0\r\nConnection: keep-alive\r\n\r\n")
	if a := c.Want("GET", 200, "GET /a "); a.Header.Get("Connection") != "keep-alive" {
		t.Errorf("Connection: %q, want keep-alive", a.Header.Get("Connection"))
	}
	c.Send("GET /stream HTTP/1.0\r\nConnection: keep-alive\r\n\r\n")
	if a := c.Want("GET", 200, "streamed"); len(a.TransferEncoding) > 0 {
		t.Error("chunked was sent to HTTP/1.0")
	}
	c.WantClosed()
	c = ts.Dial()
	c.Send("GET /b HTTP/1.0\r\n\r\n")
	c.Want("GET", 200, "GET /b ")
	c.WantClosed()
}

func TestConnectionClose(t *testing.T) {
	for name, s := range map[string]*gale.Server{
		"request":          {},
		"handler":          {Handler: func(ctx *gale.RequestCtx) { ctx.SetConnectionClose() }},
		"DisableKeepalive": {DisableKeepalive: true},
		"max requests":     {MaxRequestsPerConn: 1},
	} {
		t.Run(name, func(t *testing.T) {
			c := harness.Start(t, s, func(*gale.RequestCtx) {}).Dial()
			req := peers.Get("/")
			if name == "request" {
				req = "GET / HTTP/1.1\r\nHost: h\r\nConnection: Close\r\n\r\n"
			}
			c.Send(req + peers.Get("/smuggled"))
			if a := c.Answer("GET"); !a.Close {
				t.Error("no Connection: close")
			}
			c.WantClosed()
		})
	}
}

func TestRefusals(t *testing.T) {
	patient := harness.Start(t, &gale.Server{MaxRequestBodySize: 10, ReadHeaderTimeout: time.Minute, MaxHeaderBytes: 1 << 10}, harness.Echo)
	hasty := harness.Start(t, &gale.Server{ReadHeaderTimeout: 200 * time.Millisecond}, harness.Echo)
	for _, tc := range []struct {
		name, req string
		status    int
	}{
		{"garbage", "\x00\x01\r\n\r\n", 400},
		{"no host", "GET / HTTP/1.1\r\n\r\n", 400},
		{"version", "GET / HTTP/3.0\r\nHost: h\r\n\r\n", 505},
		{"coding", "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: gzip, chunked\r\n\r\n", 501},
		{"length and coding", "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n", 400},
		{"long body", peers.Post("/", strings.Repeat("x", 11)), 413},
		{"long chunked body", "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\nb\r\n01234567890\r\n0\r\n\r\n", 413},
		{"bad chunk", "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\nx\r\n", 400},
		{"long head", "GET / HTTP/1.1\r\nHost: h\r\nX: " + strings.Repeat("x", 2000), 431},
		{"long target", "GET /" + strings.Repeat("x", 2000) + " HTTP/1.1\r\nHost: h\r\n\r\n", 414},
		{"expectation", "POST / HTTP/1.1\r\nHost: h\r\nExpect: more\r\nContent-Length: 1\r\n\r\nx", 417},
		{"slow head", "GET / HTTP/1.1\r\nHo", 408},
	} {
		t.Run(tc.name, func(t *testing.T) {
			ts := *patient
			if tc.status == gale.StatusRequestTimeout {
				ts = *hasty
			}
			ts.T = t
			c := ts.Dial()
			go io.WriteString(c, tc.req)
			a := c.Answer("GET")
			if a.StatusCode != tc.status || !a.Close {
				t.Errorf("got %d (close %t), want %d and close", a.StatusCode, a.Close, tc.status)
			}
			c.WantClosed()
		})
	}
	await.Until(t, "the connections to end", func() bool {
		return patient.S.GetOpenConnectionsCount()+hasty.S.GetOpenConnectionsCount() == 0
	})
}

func TestDoneOnHalfClose(t *testing.T) {
	ts := harness.Start(t, nil, func(ctx *gale.RequestCtx) {
		<-ctx.Done()
		fmt.Fprint(ctx, "you left, here is your answer")
	})
	c := ts.Dial()
	c.Send(peers.Get("/"))
	c.Conn.(*net.TCPConn).CloseWrite()
	c.Want("GET", 200, "you left, here is your answer")
	c.WantClosed()
}

func TestContextOutlivesRequest(t *testing.T) {
	type key struct{}
	ctxs := make(chan interface{ Err() error }, 1)
	ts := harness.Start(t, nil, func(ctx *gale.RequestCtx) {
		ctx.SetUserValue(key{}, "v")
		if ctx.Value(key{}) != "v" {
			t.Error("Value does not know a user value")
		}
		c := ctx.Context()
		if c.Err() != nil {
			t.Error("cancelled while the handler runs")
		}
		ctxs <- c
	})
	c := ts.Dial()
	c.Send(peers.Get("/"))
	c.Want("GET", 200, "")
	if err := (<-ctxs).Err(); err == nil {
		t.Error("not cancelled after the handler")
	}
	c.WantOpen()
}

func TestHijack(t *testing.T) {
	ts := harness.Start(t, nil, func(ctx *gale.RequestCtx) {
		ctx.HijackSetNoResponse(string(ctx.Path()) == "/silent")
		ctx.Hijack(func(c net.Conn) {
			b := make([]byte, 5)
			io.ReadFull(c, b)
			fmt.Fprintf(c, "<%s>", b)
		})
		ctx.SetStatusCode(gale.StatusSwitchingProtocols)
	})
	c := ts.Dial()
	c.Send(peers.Get("/") + "early")
	if resp, err := http.ReadResponse(c.Br, nil); err != nil || resp.StatusCode != 101 {
		t.Fatal(resp, err)
	}
	if b, _ := io.ReadAll(c.Br); string(b) != "<early>" {
		t.Errorf("got %q", b)
	}
	c = ts.Dial()
	c.Send(peers.Get("/silent"))
	c.Send("later")
	if b, _ := io.ReadAll(c.Br); string(b) != "<later>" {
		t.Errorf("got %q", b)
	}
}

func TestTimeoutHandler(t *testing.T) {
	release := make(chan struct{})
	var wg sync.WaitGroup
	wg.Add(1)
	slow := gale.TimeoutHandler(func(ctx *gale.RequestCtx) {
		defer wg.Done()
		<-ctx.Done()
		<-release
		ctx.SetBodyString("too late")
		if string(ctx.Path()) != "/slow" {
			t.Error("the context was given to another request")
		}
	}, 100*time.Millisecond, "timed out")
	quick := gale.TimeoutHandler(func(ctx *gale.RequestCtx) { ctx.SetBodyString("quick") }, time.Minute, "timed out")
	ts := harness.Start(t, nil, func(ctx *gale.RequestCtx) {
		if string(ctx.Path()) == "/slow" {
			slow(ctx)
			return
		}
		quick(ctx)
	})
	c := ts.Dial()
	c.Send(peers.Get("/slow"))
	c.Want("GET", 408, "timed out")
	for range 10 {
		c = ts.Dial()
		c.Send(peers.Get("/"))
		c.Want("GET", 200, "quick")
	}
	close(release)
	wg.Wait()
}

func TestEarlyHints(t *testing.T) {
	ts := harness.Start(t, nil, func(ctx *gale.RequestCtx) {
		ctx.Response.Header.Add("Link", "</a.css>; rel=preload")
		if err := ctx.EarlyHints(); err != nil {
			t.Error(err)
		}
		ctx.SetBodyString("ok")
	})
	c := ts.Dial()
	c.Send(peers.Get("/"))
	hints := "HTTP/1.1 103 Early Hints\r\nLink: </a.css>; rel=preload\r\n\r\n"
	b := make([]byte, len(hints))
	if io.ReadFull(c.Br, b); string(b) != hints {
		t.Errorf("got %q", b)
	}
	c.Want("GET", 200, "ok")
}

// If a handler sets a body with a status that has none, nothing of it is sent. The next
// answer comes directly after the head.
func TestBodylessStatus(t *testing.T) {
	bodies := map[string]func(ctx *gale.RequestCtx){
		"bytes":  func(ctx *gale.RequestCtx) { ctx.SetBodyString("BODY") },
		"none":   func(*gale.RequestCtx) {},
		"stream": func(ctx *gale.RequestCtx) { ctx.SetBodyStream(strings.NewReader("BODY"), -1) },
		"sized":  func(ctx *gale.RequestCtx) { ctx.SetBodyStream(strings.NewReader("BODY"), 4) },
		"writer": func(ctx *gale.RequestCtx) {
			ctx.SetBodyStreamWriter(func(w *bufio.Writer) { _, _ = w.WriteString("BODY") })
		},
		"trailer": func(ctx *gale.RequestCtx) {
			_ = ctx.Response.Header.SetTrailer("X-Sum")
			ctx.SetBodyString("BODY")
		},
		"flush": func(ctx *gale.RequestCtx) {
			ctx.SetBodyString("BO")
			_ = ctx.Flush()
			ctx.Response.AppendBodyString("DY")
		},
	}
	ts := harness.Start(t, nil, func(ctx *gale.RequestCtx) {
		if body := bodies[string(ctx.QueryArgs().Peek("body"))]; body != nil {
			ctx.SetStatusCode(ctx.QueryArgs().GetUintOrZero("status"))
			body(ctx)
			return
		}
		harness.Echo(ctx)
	})
	for _, status := range []int{gale.StatusNoContent, gale.StatusResetContent, gale.StatusNotModified} {
		for name := range bodies {
			c := ts.Dial()
			c.Send(peers.Get(fmt.Sprintf("/?status=%d&body=%s", status, name)) + peers.Get("/next"))
			a := c.Want("GET", status, "")
			if status == gale.StatusResetContent && (a.ContentLength != 0 || a.TransferEncoding != nil) {
				t.Errorf("%d, %s: Content-Length %d, Transfer-Encoding %q", status, name, a.ContentLength, a.TransferEncoding)
			}
			if next := c.Answer("GET"); next.StatusCode != gale.StatusOK {
				t.Errorf("%d, %s: the next answer is %d", status, name, next.StatusCode)
			}
		}
	}
}
