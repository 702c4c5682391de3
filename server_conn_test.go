package gale

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
)

func TestServePipelined(t *testing.T) {
	ts := startServer(t, nil, echo)
	c := ts.dial()
	c.send(get("/1") + post("/2", "two") + get("/3"))
	c.want("GET", 200, "GET /1 ")
	c.want("POST", 200, "POST /2 two")
	a := c.want("GET", 200, "GET /3 ")
	if a.Close {
		t.Error("the connection is announced to be closed")
	}
	if a.Header.Get("Server") != "gale" || a.Header.Get("Date") == "" {
		t.Errorf("header %v lacks Server or Date", a.Header)
	}
}

func TestServeByteByByte(t *testing.T) {
	ts := startServer(t, nil, echo)
	c := ts.dial()
	c.Conn.(*net.TCPConn).SetNoDelay(true)
	for _, b := range []byte(post("/x", "body") + "POST /y HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n") {
		c.Write([]byte{b})
	}
	c.want("POST", 200, "POST /x body")
	c.want("POST", 200, "POST /y abc")
}

func TestHTTP10(t *testing.T) {
	ts := startServer(t, nil, func(ctx *RequestCtx) {
		if string(ctx.Path()) == "/stream" {
			ctx.SetBodyStream(strings.NewReader("streamed"), -1)
			return
		}
		echo(ctx)
	})
	c := ts.dial()
	c.send("GET /a HTTP/1.0\r\nConnection: keep-alive\r\n\r\n")
	if a := c.want("GET", 200, "GET /a "); a.Header.Get("Connection") != "keep-alive" {
		t.Errorf("Connection: %q, want keep-alive", a.Header.Get("Connection"))
	}
	c.send("GET /stream HTTP/1.0\r\nConnection: keep-alive\r\n\r\n")
	if a := c.want("GET", 200, "streamed"); len(a.TransferEncoding) > 0 {
		t.Error("chunked was sent to HTTP/1.0")
	}
	c.wantClosed()
	c = ts.dial()
	c.send("GET /b HTTP/1.0\r\n\r\n")
	c.want("GET", 200, "GET /b ")
	c.wantClosed()
}

func TestConnectionClose(t *testing.T) {
	for name, s := range map[string]*Server{
		"request":          {},
		"handler":          {Handler: func(ctx *RequestCtx) { ctx.SetConnectionClose() }},
		"DisableKeepalive": {DisableKeepalive: true},
		"max requests":     {MaxRequestsPerConn: 1},
	} {
		t.Run(name, func(t *testing.T) {
			c := startServer(t, s, func(*RequestCtx) {}).dial()
			req := get("/")
			if name == "request" {
				req = "GET / HTTP/1.1\r\nHost: h\r\nConnection: Close\r\n\r\n"
			}
			c.send(req + get("/smuggled"))
			if a := c.read("GET"); !a.Close {
				t.Error("no Connection: close")
			}
			c.wantClosed()
		})
	}
}

func TestRefusals(t *testing.T) {
	patient := startServer(t, &Server{MaxRequestBodySize: 10, ReadHeaderTimeout: time.Minute, MaxHeaderBytes: 1 << 10}, echo)
	hasty := startServer(t, &Server{ReadHeaderTimeout: 200 * time.Millisecond}, echo)
	for _, tc := range []struct {
		name, req string
		status    int
	}{
		{"garbage", "\x00\x01\r\n\r\n", 400},
		{"no host", "GET / HTTP/1.1\r\n\r\n", 400},
		{"version", "GET / HTTP/3.0\r\nHost: h\r\n\r\n", 505},
		{"coding", "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: gzip, chunked\r\n\r\n", 501},
		{"length and coding", "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n", 400},
		{"long body", post("/", strings.Repeat("x", 11)), 413},
		{"long chunked body", "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\nb\r\n01234567890\r\n0\r\n\r\n", 413},
		{"bad chunk", "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\nx\r\n", 400},
		{"long head", "GET / HTTP/1.1\r\nHost: h\r\nX: " + strings.Repeat("x", 2000), 431},
		{"long target", "GET /" + strings.Repeat("x", 2000) + " HTTP/1.1\r\nHost: h\r\n\r\n", 414},
		{"expectation", "POST / HTTP/1.1\r\nHost: h\r\nExpect: more\r\nContent-Length: 1\r\n\r\nx", 417},
		{"slow head", "GET / HTTP/1.1\r\nHo", 408},
	} {
		t.Run(tc.name, func(t *testing.T) {
			ts := *patient
			if tc.status == StatusRequestTimeout {
				ts = *hasty
			}
			ts.t = t
			c := ts.dial()
			go io.WriteString(c, tc.req)
			a := c.read("GET")
			if a.StatusCode != tc.status || !a.Close {
				t.Errorf("got %d (close %t), want %d and close", a.StatusCode, a.Close, tc.status)
			}
			c.wantClosed()
		})
	}
	await(t, "the connections to end", func() bool {
		return patient.s.GetOpenConnectionsCount()+hasty.s.GetOpenConnectionsCount() == 0
	})
}

func TestExpectContinue(t *testing.T) {
	const head = "POST /x HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\nContent-Length: 3\r\n\r\n"
	wantContinue := func(c *testConn) {
		t.Helper()
		line := make([]byte, len(continueLine))
		if io.ReadFull(c.br, line); string(line) != continueLine {
			t.Fatalf("got %q, want a 100", line)
		}
	}
	t.Run("accepted", func(t *testing.T) {
		c := startServer(t, nil, echo).dial()
		c.send(head)
		wantContinue(c)
		c.send("abc")
		c.want("POST", 200, "POST /x abc")
		c.wantOpen()
	})
	t.Run("refused", func(t *testing.T) {
		c := startServer(t, &Server{ContinueHandler: func(*RequestHeader) bool { return false }}, echo).dial()
		c.send(head)
		if a := c.read("POST"); a.StatusCode != 417 {
			t.Errorf("got %d", a.StatusCode)
		}
		c.wantClosed()
	})
	t.Run("by ExpectHandler", func(t *testing.T) {
		c := startServer(t, &Server{ExpectHandler: func(*RequestCtx) int { return 403 }}, echo).dial()
		c.send(head)
		if a := c.read("POST"); a.StatusCode != 403 || a.body != "" {
			t.Errorf("got %d with %q, want the status alone", a.StatusCode, a.body)
		}
		c.wantClosed()
	})
	t.Run("streamed", func(t *testing.T) {
		c := startServer(t, &Server{StreamRequestBody: true}, func(ctx *RequestCtx) {
			if string(ctx.Path()) != "/unread" {
				echo(ctx)
			}
		}).dial()
		c.send(head)
		wantContinue(c) // comes when the handler reads
		c.send("abc")
		c.want("POST", 200, "POST /x abc")
		c.send(strings.Replace(head, "/x", "/unread", 1))
		if a := c.read("POST"); a.StatusCode != 200 || !a.Close {
			t.Errorf("got %d, close %t; want 200 at once and close", a.StatusCode, a.Close)
		}
	})
}

func TestDoneOnHalfClose(t *testing.T) {
	ts := startServer(t, nil, func(ctx *RequestCtx) {
		<-ctx.Done()
		fmt.Fprint(ctx, "you left, here is your answer")
	})
	c := ts.dial()
	c.send(get("/"))
	c.Conn.(*net.TCPConn).CloseWrite()
	c.want("GET", 200, "you left, here is your answer")
	c.wantClosed()
}

func TestContextOutlivesRequest(t *testing.T) {
	type key struct{}
	ctxs := make(chan interface{ Err() error }, 1)
	ts := startServer(t, nil, func(ctx *RequestCtx) {
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
	c := ts.dial()
	c.send(get("/"))
	c.want("GET", 200, "")
	if err := (<-ctxs).Err(); err == nil {
		t.Error("not cancelled after the handler")
	}
	c.wantOpen()
}

func TestHijack(t *testing.T) {
	ts := startServer(t, nil, func(ctx *RequestCtx) {
		ctx.HijackSetNoResponse(string(ctx.Path()) == "/silent")
		ctx.Hijack(func(c net.Conn) {
			b := make([]byte, 5)
			io.ReadFull(c, b)
			fmt.Fprintf(c, "<%s>", b)
		})
		ctx.SetStatusCode(StatusSwitchingProtocols)
	})
	c := ts.dial()
	c.send(get("/") + "early")
	if resp, err := http.ReadResponse(c.br, nil); err != nil || resp.StatusCode != 101 {
		t.Fatal(resp, err)
	}
	if b, _ := io.ReadAll(c.br); string(b) != "<early>" {
		t.Errorf("got %q", b)
	}
	c = ts.dial()
	c.send(get("/silent"))
	c.send("later")
	if b, _ := io.ReadAll(c.br); string(b) != "<later>" {
		t.Errorf("got %q", b)
	}
}

func TestTimeoutHandler(t *testing.T) {
	release := make(chan struct{})
	var wg sync.WaitGroup
	wg.Add(1)
	slow := TimeoutHandler(func(ctx *RequestCtx) {
		defer wg.Done()
		<-ctx.Done()
		<-release
		ctx.SetBodyString("too late")
		if string(ctx.Path()) != "/slow" {
			t.Error("the context was given to another request")
		}
	}, 100*time.Millisecond, "timed out")
	quick := TimeoutHandler(func(ctx *RequestCtx) { ctx.SetBodyString("quick") }, time.Minute, "timed out")
	ts := startServer(t, nil, func(ctx *RequestCtx) {
		if string(ctx.Path()) == "/slow" {
			slow(ctx)
			return
		}
		quick(ctx)
	})
	c := ts.dial()
	c.send(get("/slow"))
	c.want("GET", 408, "timed out")
	for range 10 {
		c = ts.dial()
		c.send(get("/"))
		c.want("GET", 200, "quick")
	}
	close(release)
	wg.Wait()
}

func TestEarlyHints(t *testing.T) {
	ts := startServer(t, nil, func(ctx *RequestCtx) {
		ctx.Response.Header.Add("Link", "</a.css>; rel=preload")
		if err := ctx.EarlyHints(); err != nil {
			t.Error(err)
		}
		ctx.SetBodyString("ok")
	})
	c := ts.dial()
	c.send(get("/"))
	hints := "HTTP/1.1 103 Early Hints\r\nLink: </a.css>; rel=preload\r\n\r\n"
	b := make([]byte, len(hints))
	if io.ReadFull(c.br, b); string(b) != hints {
		t.Errorf("got %q", b)
	}
	c.want("GET", 200, "ok")
}

// If a handler sets a body with a status that has none, nothing of it is sent. The next
// answer comes directly after the head.
func TestBodylessStatus(t *testing.T) {
	bodies := map[string]func(ctx *RequestCtx){
		"bytes":  func(ctx *RequestCtx) { ctx.SetBodyString("BODY") },
		"none":   func(*RequestCtx) {},
		"stream": func(ctx *RequestCtx) { ctx.SetBodyStream(strings.NewReader("BODY"), -1) },
		"sized":  func(ctx *RequestCtx) { ctx.SetBodyStream(strings.NewReader("BODY"), 4) },
		"writer": func(ctx *RequestCtx) {
			ctx.SetBodyStreamWriter(func(w *bufio.Writer) { _, _ = w.WriteString("BODY") })
		},
		"trailer": func(ctx *RequestCtx) {
			_ = ctx.Response.Header.SetTrailer("X-Sum")
			ctx.SetBodyString("BODY")
		},
		"flush": func(ctx *RequestCtx) {
			ctx.SetBodyString("BO")
			_ = ctx.Flush()
			ctx.Response.AppendBodyString("DY")
		},
	}
	ts := startServer(t, nil, func(ctx *RequestCtx) {
		if body := bodies[string(ctx.QueryArgs().Peek("body"))]; body != nil {
			ctx.SetStatusCode(ctx.QueryArgs().GetUintOrZero("status"))
			body(ctx)
			return
		}
		echo(ctx)
	})
	for _, status := range []int{StatusNoContent, StatusResetContent, StatusNotModified} {
		for name := range bodies {
			c := ts.dial()
			c.send(get(fmt.Sprintf("/?status=%d&body=%s", status, name)) + get("/next"))
			a := c.want("GET", status, "")
			if status == StatusResetContent && (a.ContentLength != 0 || a.TransferEncoding != nil) {
				t.Errorf("%d, %s: Content-Length %d, Transfer-Encoding %q", status, name, a.ContentLength, a.TransferEncoding)
			}
			if next := c.read("GET"); next.StatusCode != StatusOK {
				t.Errorf("%d, %s: the next answer is %d", status, name, next.StatusCode)
			}
		}
	}
}
