package gale

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"mime/multipart"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/galehttp/gale/internal/h1"
	"github.com/galehttp/gale/tests/harness/await"
	"github.com/galehttp/gale/tests/harness/peers"
)

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
			len(ctx.PostBody()) > 0 || len(ctx.Response.Body()) > 0 || ctx.LastTimeoutErrorResponse() != nil || ctx.handover.silent ||
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
	c := ts.Dial()
	for range 5 {
		for _, path := range []string{"/", "/value", "/", "/request", "/both", "/"} {
			c.Send(peers.Get(path))
			c.Want("GET", 200, "")
		}
	}
	var ctx RequestCtx
	ctx.Init(nil, nil, nil)
	ctx.Response.SetBodyStream(closer{strings.NewReader("x"), mark(&ctx)}, -1) // the stream of a response that is not sent
	ctx.reset()
	if ctx.UserValue("mark") != nil || ctx.Request.Header.Peek("X-Mark") != nil || ctx.handover.silent || ctx.timedOut.Load() != nil {
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

// A session whose message has ended holds nothing of the message's context, which may
// already serve another connection.
func TestEndedMessageLetsGo(t *testing.T) {
	for _, stream := range []bool{false, true} {
		held := make(chan bool, 1)
		ts := startServer(t, &Server{
			StreamRequestBody: stream,
			ErrorHandler: func(ctx *RequestCtx, err error) {
				ss := ctx.x.(*h1Session)
				held <- ss.hasBody
				(*RequestCtx).defaultError(ctx, err)
			},
		}, echo)
		c := ts.Dial()
		c.Send(peers.Post("/", "body"))
		c.Want("POST", 200, "POST / body")
		c.Send("broken\r\n\r\n")
		c.Answer("GET")
		if <-held {
			t.Errorf("stream %v: while a malformed head is refused, the session holds the body of the message before", stream)
		}
	}
}

// brokenHeads are requests that are refused before their heads are complete.
var brokenHeads = []struct {
	name, in string
	line     string // RequestError.Line
	err      error
}{
	{"method", "G\x00T /secret HTTP/1.1\r\nX-A: b\r\n\r\n", `"G\x00T /secret HTTP/1.1"`, h1.ErrMethod},
	{"two spaces", "POST  /secret HTTP/1.1\r\nX-A: b\r\n\r\n", `"POST  /secret HTTP/1.1"`, h1.ErrTarget},
	{"version", "POST /secret HTTP/3.1\r\nX-A: b\r\n\r\n", `"POST /secret HTTP/3.1"`, h1.ErrVersion},
	{"no host", "POST /secret HTTP/1.1\r\nX-A: b\r\n\r\n", `"POST /secret HTTP/1.1"`, h1.ErrNoHost},
	{"two hosts", "POST /secret HTTP/1.1\r\nHost: a\r\nX-A: b\r\nHost: b\r\n\r\n", `"POST /secret HTTP/1.1"`, h1.ErrManyHosts},
	{"two framings", "POST /secret HTTP/1.1\r\nHost: a\r\nX-A: b\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n", `"POST /secret HTTP/1.1"`, h1.ErrLengthAndCoding},
	{"broken field", "POST /secret HTTP/1.1\r\nHost: a\r\nX-A: b\r\nX : c\r\n\r\n", `"POST /secret HTTP/1.1"`, h1.ErrFieldName},
	{"long and broken field", "POST /secret HTTP/1.1\r\nHost: a\r\nX-A: " + strings.Repeat("b", 6000) + "\r\nX : c\r\n\r\n", `"POST /secret HTTP/1.1"`, h1.ErrFieldName},
	{"TLS", "\x16\x03\x01\xff", `"\x16\x03\x01\xff"`, h1.ErrTLSHello},
	{"bare LF", "POST /secret HTTP/1.1\nHost: a\n\n", `"POST /secret HTTP/1.1"`, h1.ErrVersionSyntax},
	{"long target", "GET /" + strings.Repeat("\xc3\xa4", 9000), `"GET /` + strings.Repeat(`\u00e4`, 29) + `\xc3"`, h1.ErrTargetTooLong},
	{"long head", "GET /secret HTTP/1.1\r\nHost: a\r\nX-A: " + strings.Repeat("b", 9000), `"GET /secret HTTP/1.1"`, ErrSmallReadBuffer},
	{"slow head", "GET /secret HTTP/1.1\r\nHost: a\r\nX-A: b\r\n", `"GET /secret HTTP/1.1"`, ErrTimeout},
	{"long and slow head", "GET /secret HTTP/1.1\r\nHost: a\r\nX-A: " + strings.Repeat("b", 6000), `"GET /secret HTTP/1.1"`, ErrTimeout},
	{"slow method", "\r\nGE", `"GE"`, ErrTimeout},
}

// For an invalid head ErrorHandler gets an empty request, and an error with everything
// that a log needs.
func TestErrorHandlerGetsEmptyRequest(t *testing.T) {
	for _, secure := range []bool{false, true} {
		for _, tc := range brokenHeads {
			t.Run(tc.name, func(t *testing.T) {
				t.Parallel()
				limit := time.Minute
				if tc.err == ErrTimeout {
					limit = 200 * time.Millisecond
				}
				peers.WithMoreTime(t, limit, func(limit time.Duration) error { return refuseHead(t, tc.in, tc.line, tc.err, secure, limit) })
			})
		}
	}
}

// refuseHead sends a request that is served within limit, and one that is refused. It
// returns an error if the first one was late.
func refuseHead(t *testing.T, in, line string, want error, secure bool, limit time.Duration) error {
	seen := make(chan string, 2)
	ts := startServer(t, &Server{
		MaxHeaderBytes: 8 << 10, ReadHeaderTimeout: limit, LogAllErrors: true, SecureErrorLogMessage: secure,
		ErrorHandler: func(ctx *RequestCtx, err error) {
			seen <- checkRefused(ctx, err, want, line, secure)
			ctx.Request.Header.Set("X-Pad", "new")
			ctx.SetStatusCode(499)
			ctx.SetBody(ctx.Request.Header.Peek("X-Pad"))
		},
	}, echo)
	c := ts.Dial()
	_, _ = io.WriteString(c, "POST /before HTTP/1.1\r\nHost: h\r\nX-Pad: ppppppppp\r\nCookie: sid=alice\r\nContent-Length: 5\r\n\r\nalice")
	if status, err := c.Status(); status != 200 {
		return fmt.Errorf("the first response: %d, %v", status, err)
	}
	c.Send(in)
	c.Want("GET", 499, "new")
	if problem := <-seen; problem != "" {
		t.Error(problem)
	}
	c.Close()
	await.Until(t, "a line in the log", func() bool { return ts.Log.String() != "" })
	line = ", request line " + line + "\n"
	if log := ts.Log.String(); strings.Contains(log, line) == secure || strings.Contains(log, "alice") || secure && strings.Contains(log, "secret") ||
		!strings.Contains(log, c.LocalAddr().String()) {
		t.Errorf("the log is %q", log)
	}
	return nil
}

// checkRefused returns what is wrong with the arguments of an ErrorHandler.
func checkRefused(ctx *RequestCtx, err, want error, line string, secure bool) string {
	var re *RequestError
	switch {
	case !errors.As(err, &re) || !errors.Is(err, want):
		return "the error is " + err.Error()
	case re.Line != line && !secure || re.Line != "" && secure:
		return "the line is " + re.Line
	case strings.Contains(err.Error(), "secret"):
		return "the text of the error is " + err.Error()
	case re.RemoteAddr == nil || re.RemoteAddr.String() != ctx.RemoteAddr().String() || ctx.Conn() == nil:
		return "the address is missing"
	}
	if _, small := err.(*ErrSmallBuffer); small != (want == ErrSmallReadBuffer) {
		return "the type of the error is wrong"
	}
	if t, ok := err.(interface{ Timeout() bool }); want == ErrTimeout && (!ok || !t.Timeout()) {
		return "the error is no time-out"
	}
	var fresh, copied Request
	ctx.Request.CopyTo(&copied)
	for _, req := range []*Request{&ctx.Request, &copied} {
		if err := req.Header.s.Check(); err != nil {
			return err.Error()
		}
		if req.Header.String() != fresh.Header.String() || len(req.Body()) != 0 || len(req.Header.RawHeaders()) != 0 ||
			len(req.Header.Peek("X-A"))+len(req.Header.Peek("Cookie"))+len(req.Header.Host()) != 0 || req.Header.ConnectionClose() {
			return "the request is " + req.String()
		}
	}
	return ""
}

// A request whose body is refused has its complete head, and no part of its body.
func TestErrorHandlerGetsWholeHead(t *testing.T) {
	for _, tc := range []struct {
		rest string
		err  error
	}{
		{"Content-Length: 50\r\n\r\n", ErrBodyTooLarge},
		{"Content-Length: 10\r\n\r\nabc", ErrTimeout},
		{"Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\nx\r\n", h1.ErrChunkSize},
		{"Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n32\r\n" + strings.Repeat("d", 50), ErrBodyTooLarge},
		{"Transfer-Encoding: chunked\r\nTrailer: X-B\r\n\r\n3\r\nabc\r\n0\r\nX-B: c\r\nHost: d\r\n\r\n", h1.ErrTrailer},
	} {
		limit := time.Minute
		if tc.err == ErrTimeout {
			limit = 200 * time.Millisecond
		}
		peers.WithMoreTime(t, limit, func(limit time.Duration) error { return refuseBody(t, tc.rest, tc.err, limit) })
	}
}

// refuseBody is refuseHead with a request whose body is refused.
func refuseBody(t *testing.T, rest string, want error, limit time.Duration) error {
	seen := make(chan string, 2)
	ts := startServer(t, &Server{ReadTimeout: limit, MaxRequestBodySize: 10, ErrorHandler: func(ctx *RequestCtx, err error) {
		problem := ""
		if re := (*RequestError)(nil); !errors.Is(err, want) || errors.As(err, &re) {
			problem = "the error is " + err.Error()
		}
		if string(ctx.Path()) != "/x" || string(ctx.Request.Header.Peek("X-A")) != "b" || ctx.Request.Header.Peek("X-B") != nil ||
			ctx.PeekTrailer("X-B") != nil || len(ctx.PostBody()) != 0 || ctx.Request.Header.s.Check() != nil {
			problem += "the request is " + ctx.Request.String()
		}
		seen <- problem
		ctx.SetStatusCode(499)
	}}, echo)
	c := ts.Dial()
	_, _ = io.WriteString(c, "POST /before HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\n\r\nalice")
	if status, err := c.Status(); status != 200 {
		return fmt.Errorf("the first response: %d, %v", status, err)
	}
	c.Send("POST /x HTTP/1.1\r\nHost: h\r\nX-A: b\r\n" + rest)
	c.Want("POST", 499, "")
	if problem := <-seen; problem != "" {
		t.Errorf("%q: %s", rest, problem)
	}
	return nil
}

func TestTimeoutRemovesFormFiles(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("TMPDIR", dir)
	t.Setenv("TMP", dir)
	var b bytes.Buffer
	mw := multipart.NewWriter(&b)
	w, _ := mw.CreateFormFile("f", "f.bin")
	w.Write(make([]byte, maxFormMemory+1<<20))
	mw.Close()
	form := func(ctx *RequestCtx) error {
		f, err := ctx.MultipartForm()
		if err != nil {
			return err
		}
		r, err := f.File["f"][0].Open()
		if err != nil {
			return err
		}
		_, isFile := r.(*os.File)
		if r.Close(); !isFile {
			t.Error("the form is in memory")
		}
		return nil
	}
	ended := make(chan error, 1)
	proceed := make(chan struct{})
	handlers := map[string]RequestHandler{
		"/before": func(ctx *RequestCtx) {
			err := form(ctx)
			ctx.TimeoutError("late")
			ended <- err
		},
		"/after": func(ctx *RequestCtx) {
			ctx.TimeoutError("late")
			if err := form(ctx); !errors.Is(err, errFormTimedOut) {
				t.Errorf("a form was parsed after TimeoutError: %v", err)
			}
			ended <- nil
		},
		"/response": func(ctx *RequestCtx) {
			err := form(ctx)
			ctx.TimeoutErrorWithResponse(&Response{})
			ended <- err
		},
		"/handler": TimeoutHandler(func(ctx *RequestCtx) {
			ctx.SetUserValue("end", peers.CloserFunc(func() error { ended <- nil; return nil }))
			<-ctx.Done()
			<-proceed
			if err := form(ctx); err != nil { // the form belongs to the handler until it returns
				t.Error(err)
			}
		}, 10*time.Millisecond, "late"),
	}
	ts := startServer(t, &Server{MaxRequestBodySize: 64 << 20}, func(ctx *RequestCtx) { handlers[string(ctx.Path())](ctx) })
	for path := range handlers {
		c := ts.Dial()
		c.Send("POST " + path + " HTTP/1.1\r\nHost: h\r\nContent-Type: " + mw.FormDataContentType() + "\r\n")
		c.Send("Content-Length: " + strconv.Itoa(b.Len()) + "\r\n\r\n")
		c.Send(b.String())
		c.Answer("POST")
		if path == "/handler" {
			close(proceed)
		}
		if err := <-ended; err != nil {
			t.Errorf("%s: %v", path, err)
		}
		for deadline := time.Now().Add(time.Minute); ; time.Sleep(time.Millisecond) { // between two looks
			files, err := os.ReadDir(dir)
			if err != nil {
				t.Fatal(err)
			}
			if len(files) == 0 {
				break
			}
			if path != "/handler" || time.Now().After(deadline) { // for that path the user values are closed first
				t.Fatalf("%s: %v is left", path, files)
			}
		}
	}
}

var _ io.Closer = peers.CloserFunc(nil)
