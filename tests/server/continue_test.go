package server

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptrace"
	"net/textproto"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/galehttp/gale"
	"github.com/galehttp/gale/internal/door"
	"github.com/galehttp/gale/tests/harness"
	"github.com/galehttp/gale/tests/harness/await"
	"github.com/galehttp/gale/tests/harness/peers"
)

// told reads the request's body and tells what has come of it.
func told(w io.Writer, r io.Reader) {
	b, err := io.ReadAll(r)
	fmt.Fprintf(w, "%q %v", b, err)
}

// continueHandlers answer before they have read the body of a client that waits for a 100.
var continueHandlers = []struct {
	name   string
	h      gale.RequestHandler
	asked  bool // the client gets a 100
	status int
	want   string
}{
	{"Flush, then read", func(ctx *gale.RequestCtx) {
		_ = ctx.Flush()
		told(ctx, ctx.RequestBodyStream())
	}, true, 200, `"body" <nil>`},
	{"Flush of a part, then read", func(ctx *gale.RequestCtx) {
		ctx.SetStatusCode(201)
		ctx.WriteString("begin ")
		_ = ctx.Flush()
		told(ctx, ctx.RequestBodyStream())
	}, true, 201, `begin "body" <nil>`},
	{"Flush, then PostBody", func(ctx *gale.RequestCtx) {
		_ = ctx.Flush()
		ctx.Write(ctx.PostBody())
	}, true, 200, "body"},
	{"Flush while another goroutine reads", func(ctx *gale.RequestCtx) {
		body, over := ctx.RequestBodyStream(), make(chan string)
		go func() {
			var b strings.Builder
			told(&b, body)
			over <- b.String()
		}()
		ctx.SetStatusCode(200)
		_ = ctx.Flush()
		ctx.WriteString(<-over)
	}, true, 200, `"body" <nil>`},
	{"a stream that is the body", func(ctx *gale.RequestCtx) { ctx.SetBodyStream(ctx.RequestBodyStream(), -1) }, true, 200, "body"},
	{"a stream writer that reads", func(ctx *gale.RequestCtx) {
		body := ctx.RequestBodyStream()
		ctx.SetBodyStreamWriter(func(w *bufio.Writer) {
			w.WriteString("begin ")
			w.Flush()
			told(w, body)
		})
	}, true, 200, `begin "body" <nil>`},
	{"a 403 after a part was read", func(ctx *gale.RequestCtx) {
		body := ctx.RequestBodyStream()
		_, _ = io.ReadFull(body, make([]byte, 2))
		ctx.SetStatusCode(403)
		_ = ctx.Flush()
		told(ctx, body)
	}, true, 403, `"dy" <nil>`},

	{"a stream that reads nothing", func(ctx *gale.RequestCtx) { ctx.SetBodyStream(strings.NewReader("done"), -1) }, false, 200, "done"},
	{"Flush of a 403, then read", func(ctx *gale.RequestCtx) {
		ctx.SetStatusCode(403)
		_ = ctx.Flush()
		told(ctx, ctx.RequestBodyStream())
	}, false, 403, `"" ` + door.ErrNotAsked.Error()},
	{"Flush of a 403, then read by another goroutine", func(ctx *gale.RequestCtx) {
		ctx.SetStatusCode(403)
		_ = ctx.Flush()
		body, over := ctx.RequestBodyStream(), make(chan string)
		go func() {
			var b strings.Builder
			told(&b, body)
			over <- b.String()
		}()
		ctx.WriteString(<-over)
	}, false, 403, `"" ` + door.ErrNotAsked.Error()},
	{"a stream writer of a 403 that reads", func(ctx *gale.RequestCtx) {
		ctx.SetStatusCode(403)
		body := ctx.RequestBodyStream()
		ctx.SetBodyStreamWriter(func(w *bufio.Writer) { told(w, body) })
	}, false, 403, `"" ` + door.ErrNotAsked.Error()},
}

// TestContinueBeforeHead proves that a client that waits for a 100 gets it before the head of
// a successful response whose handler may still read the body, and that no 100 follows a
// head. A handler that reads after it has refused the client gets an error, and doesn't wait.
func TestContinueBeforeHead(t *testing.T) {
	for _, x := range continueHandlers {
		t.Run(x.name, func(t *testing.T) {
			peers.OnEngines(t, func(t *testing.T, e gale.Engine) {
				ts := harness.Start(t, &gale.Server{Engine: e, StreamRequestBody: true, ReadStallTimeout: -1, HTTP2: gale.HTTP2Config{H2C: true}}, x.h)
				for _, h2 := range []bool{false, true} {
					status, body, asked := askForBody(ts, h2)
					if status != x.status || body != x.want || asked != x.asked {
						t.Errorf("net/http, HTTP/2 %t: %d %q, asked %t; want %d %q, %t", h2, status, body, asked, x.status, x.want, x.asked)
					}
					status, body = sendIfAsked(ts, h2)
					if status != x.status || body != x.want {
						t.Errorf("HTTP/2 %t: %d %q; want %d %q", h2, status, body, x.status, x.want)
					}
				}
			})
		})
	}
}

// askForBody sends a request with a body that waits for a 100, with net/http.
func askForBody(ts *harness.Server, h2 bool) (status int, body string, asked bool) {
	tr := &http.Transport{ExpectContinueTimeout: time.Hour, Protocols: new(http.Protocols)}
	tr.Protocols.SetHTTP1(!h2)
	tr.Protocols.SetUnencryptedHTTP2(h2)
	defer tr.CloseIdleConnections()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	n := atomic.Int32{}
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		Got1xxResponse: func(int, textproto.MIMEHeader) error { n.Add(1); return nil },
	})
	req, err := http.NewRequestWithContext(ctx, "POST", "http://"+ts.Addr+"/", strings.NewReader("body"))
	if err != nil {
		ts.T.Fatal(err)
	}
	req.Header.Set("Expect", "100-continue")
	resp, err := tr.RoundTrip(req)
	if err != nil {
		return 0, err.Error(), n.Load() > 0
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		return resp.StatusCode, err.Error(), n.Load() > 0
	}
	if n.Load() > 1 {
		ts.T.Errorf("%d informational responses", n.Load())
	}
	return resp.StatusCode, string(b), n.Load() == 1
}

// sendIfAsked is askForBody with a client of Gale.
func sendIfAsked(ts *harness.Server, h2 bool) (status int, body string) {
	c := &gale.HostClient{Addr: ts.Addr, ExpectContinueTimeout: time.Hour, StreamResponseBody: true}
	if h2 {
		c.HTTP2 = gale.HTTP2Only
	}
	defer c.CloseIdleConnections()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	req, resp := &gale.Request{}, &gale.Response{}
	req.SetRequestURI("http://" + ts.Addr + "/")
	req.Header.SetMethod("POST")
	req.Header.Set("Expect", "100-continue")
	req.SetBodyString("body")
	if err := c.DoContext(ctx, req, resp); err != nil {
		return 0, err.Error()
	}
	b := string(resp.Body())
	if err := resp.BodyError(); err != nil {
		b = err.Error()
	}
	return resp.StatusCode(), b
}

// TestReadAfterRefusal proves that the body of a client that didn't wait for a 100 can be
// read after a refusal.
func TestReadAfterRefusal(t *testing.T) {
	peers.OnEngines(t, func(t *testing.T, e gale.Engine) {
		ts := harness.Start(t, &gale.Server{Engine: e, StreamRequestBody: true, HTTP2: gale.HTTP2Config{H2C: true}}, func(ctx *gale.RequestCtx) {
			body := ctx.RequestBodyStream()
			await.Until(t, "the body", func() bool { return body.(interface{ Buffered() int }).Buffered() == 4 })
			ctx.SetStatusCode(403)
			_ = ctx.Flush()
			told(ctx, body)
		})
		for _, mode := range []gale.HTTP2Mode{gale.HTTP2Off, gale.HTTP2Only} {
			c := &gale.HostClient{Addr: ts.Addr, HTTP2: mode, ExpectContinueTimeout: -1}
			req, resp := &gale.Request{}, &gale.Response{}
			req.SetRequestURI("http://" + ts.Addr + "/")
			req.Header.SetMethod("POST")
			req.Header.Set("Expect", "100-continue")
			req.SetBodyString("body")
			if err := c.Do(req, resp); err != nil || resp.StatusCode() != 403 || string(resp.Body()) != `"body" <nil>` {
				t.Errorf("mode %v: %d %q, %v", mode, resp.StatusCode(), resp.Body(), err)
			}
			c.CloseIdleConnections()
		}
	})
}
