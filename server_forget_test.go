package gale

import (
	"errors"
	"io"
	"net"
	"strings"
	"testing"
	"testing/iotest"
)

// HijackSetNoResponse of a request that is not hijacked has no effect on a later request,
// which may be of another client.
func TestHijackNoResponseForgets(t *testing.T) {
	ts := startServer(t, nil, func(ctx *RequestCtx) {
		switch string(ctx.Path()) {
		case "/decline":
			ctx.HijackSetNoResponse(true)
			ctx.Error("no", StatusBadRequest)
		case "/upgrade":
			ctx.SetStatusCode(StatusSwitchingProtocols)
			ctx.Hijack(func(c net.Conn) { _, _ = io.WriteString(c, "RAW") })
		}
	})
	for range 20 {
		c := ts.dial()
		c.send(get("/decline"))
		c.want("GET", StatusBadRequest, "no")
		c.send(get("/upgrade"))
		c.CloseWrite()
		if b, err := io.ReadAll(c.br); err != nil || !strings.HasPrefix(string(b), "HTTP/1.1 101 ") || !strings.HasSuffix(string(b), "\r\n\r\nRAW") {
			t.Fatalf("after a request that declined to hijack, an upgrade gets %q, %v", b, err)
		}
	}
}

// CloseWrite ends the client's side.
func (c *testConn) CloseWrite() { _ = c.Conn.(*net.TCPConn).CloseWrite() }

// The error of a stream that could not be read is cleared together with its body.
func TestReadErrForgets(t *testing.T) {
	for name, replace := range map[string]func(req *Request){
		"Reset":                 func(req *Request) { req.Reset(); setForm(req) },
		"ReleaseBody":           func(req *Request) { req.ReleaseBody(0); setForm(req) },
		"ReleaseBody and Reset": func(req *Request) { req.ReleaseBody(0); req.Reset(); setForm(req) },
		"SetBody":               setForm,
		"SetBodyRaw":            func(req *Request) { setForm(req); req.SetBodyRaw([]byte("a=1")) },
		"SwapBody":              func(req *Request) { setForm(req); req.SwapBody([]byte("a=1")) },
		"ResetBody":             func(req *Request) { req.ResetBody(); req.AppendBodyString("a=1"); setType(req) },
		"a stream":              func(req *Request) { setType(req); req.SetBodyStream(strings.NewReader("a=1"), -1) },
		"CopyTo":                func(req *Request) { var from Request; setForm(&from); from.CopyTo(req) },
	} {
		var req Request
		req.SetBodyStream(iotest.ErrReader(errors.New("broken")), -1)
		_ = req.Body()
		replace(&req)
		if v := string(req.PostArgs().Peek("a")); v != "1" {
			t.Errorf("%s: the form has a=%q, want 1", name, v)
		}
	}
}

func setForm(req *Request) {
	setType(req)
	req.SetBodyString("a=1")
}

func setType(req *Request) { req.Header.SetContentType("application/x-www-form-urlencoded") }

// closer calls a function when it is closed.
type closer struct {
	io.Reader
	f func()
}

func (c closer) Close() error {
	c.f()
	return nil
}

// What closers of user values and body streams set at the end of a request doesn't stay
// after it.
func TestClosersLeaveNothing(t *testing.T) {
	mark := func(ctx *RequestCtx) func() {
		return func() {
			ctx.SetUserValue("mark", closer{f: func() { ctx.SetUserValue("mark", "of a closer") }})
			ctx.Request.Header.Set("X-Mark", "m")
			ctx.Response.Header.Set("X-Mark", "m")
			ctx.Response.AppendBodyString("m")
			ctx.Response.SetBodyStream(strings.NewReader("m"), -1)
			ctx.Request.SetBodyStream(strings.NewReader("m"), -1)
			ctx.QueryArgs().Set("mark", "m")
			ctx.PostArgs().Set("mark", "m")
			ctx.HijackSetNoResponse(true)
			ctx.TimeoutError("m")
			if ctx.s != &noServer {
				<-ctx.Done() // the request has ended
			}
		}
	}
	ts := startServer(t, nil, func(ctx *RequestCtx) {
		if ctx.UserValue("mark") != nil || ctx.Request.Header.Peek("X-Mark") != nil || ctx.Response.Header.Peek("X-Mark") != nil ||
			len(ctx.PostBody()) > 0 || len(ctx.Response.Body()) > 0 || ctx.LastTimeoutErrorResponse() != nil || ctx.hijackNoResponse ||
			ctx.QueryArgs().Len() > 0 || ctx.PostArgs().Len() > 0 {
			t.Error("a request finds what the closers of another have left")
		}
		switch string(ctx.Path()) {
		case "/value":
			ctx.SetUserValue("v", closer{f: mark(ctx)})
		case "/request":
			ctx.Request.SetBodyStream(closer{strings.NewReader("x"), mark(ctx)}, -1)
		case "/both":
			ctx.SetUserValue("v", closer{f: mark(ctx)})
			ctx.Request.SetBodyStream(closer{strings.NewReader("x"), mark(ctx)}, -1)
		}
	})
	c := ts.dial()
	for range 5 {
		for _, path := range []string{"/", "/value", "/", "/request", "/both", "/"} {
			c.send(get(path))
			c.want("GET", 200, "")
		}
	}
	var ctx RequestCtx
	ctx.Init(nil, nil, nil)
	ctx.Response.SetBodyStream(closer{strings.NewReader("x"), mark(&ctx)}, -1) // the stream of a response that is not sent
	ctx.reset()
	if ctx.UserValue("mark") != nil || ctx.Request.Header.Peek("X-Mark") != nil || ctx.hijackNoResponse || ctx.timedOut.Load() != nil {
		t.Error("a context that was reset has what the closer of its response has set")
	}
	req := AcquireRequest()
	req.SetBodyStream(closer{strings.NewReader("x"), func() { req.SetUserValue("mark", "m"); req.Header.Set("X-Mark", "m") }}, -1)
	req.Reset()
	if req.UserValue("mark") != nil || req.Header.Peek("X-Mark") != nil {
		t.Error("a request that was reset has what the closer of its body has set")
	}
	resp := AcquireResponse()
	resp.SetBodyStream(closer{strings.NewReader("x"), func() { resp.Header.Set("X-Mark", "m"); resp.SetStatusCode(500) }}, -1)
	resp.Reset()
	if resp.StatusCode() != 200 || resp.Header.Peek("X-Mark") != nil {
		t.Error("a response that was reset has what the closer of its body has set")
	}
}

// A logger that a handler set with Init isn't used for a later request.
func TestLoggerForgets(t *testing.T) {
	other := &testLog{}
	ts := startServer(t, nil, func(ctx *RequestCtx) {
		if string(ctx.Path()) == "/init" {
			ctx.Init2(ctx.Conn(), other, false)
			return
		}
		ctx.Logger().Printf("canary")
	})
	c := ts.dial()
	c.send(get("/init"))
	c.read("GET")
	c.send(get("/"))
	c.read("GET")
	if s := other.String(); s != "" {
		t.Errorf("the logger of another request got %q", s)
	}
}

// A session whose message has ended holds nothing of the message's context, which may
// already serve another connection.
func TestEndedMessageLetsGo(t *testing.T) {
	for _, stream := range []bool{false, true} {
		held := make(chan bool, 1)
		ts := startServer(t, &Server{
			StreamRequestBody: stream,
			ErrorHandler: func(ctx *RequestCtx, err error) {
				ss := ctx.x.(*h1Session)
				held <- ss.hasBody || ss.body != nil
				(*RequestCtx).defaultError(ctx, err)
			},
		}, echo)
		c := ts.dial()
		c.send(post("/", "body"))
		c.want("POST", 200, "POST / body")
		c.send("broken\r\n\r\n")
		c.read("GET")
		if <-held {
			t.Errorf("stream %v: while a malformed head is refused, the session holds the body of the message before", stream)
		}
	}
}
