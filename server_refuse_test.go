package gale

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/galehttp/gale/internal/h1"
)

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
				withMoreTime(t, limit, func(limit time.Duration) error { return refuseHead(t, tc.in, tc.line, tc.err, secure, limit) })
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
	c := ts.dial()
	_, _ = io.WriteString(c, "POST /before HTTP/1.1\r\nHost: h\r\nX-Pad: ppppppppp\r\nCookie: sid=alice\r\nContent-Length: 5\r\n\r\nalice")
	if status, err := c.status(); status != 200 {
		return fmt.Errorf("the first response: %d, %v", status, err)
	}
	c.send(in)
	c.want("GET", 499, "new")
	if problem := <-seen; problem != "" {
		t.Error(problem)
	}
	c.Close()
	await(t, "a line in the log", func() bool { return ts.log.String() != "" })
	line = ", request line " + line + "\n"
	if log := ts.log.String(); strings.Contains(log, line) == secure || strings.Contains(log, "alice") || secure && strings.Contains(log, "secret") ||
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
		withMoreTime(t, limit, func(limit time.Duration) error { return refuseBody(t, tc.rest, tc.err, limit) })
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
	c := ts.dial()
	_, _ = io.WriteString(c, "POST /before HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\n\r\nalice")
	if status, err := c.status(); status != 200 {
		return fmt.Errorf("the first response: %d, %v", status, err)
	}
	c.send("POST /x HTTP/1.1\r\nHost: h\r\nX-A: b\r\n" + rest)
	c.want("POST", 499, "")
	if problem := <-seen; problem != "" {
		t.Errorf("%q: %s", rest, problem)
	}
	return nil
}

// A head that is cut off is logged with its line, too, if all errors are logged.
func TestLogOfCutOffHead(t *testing.T) {
	for _, structured := range []bool{false, true} {
		var lines testLog
		s := &Server{Handler: echo, LogAllErrors: true}
		want := ": unexpected EOF, request line \"GET /cut HTTP/1.1\"\n"
		if structured {
			s.Slog = slog.New(slog.NewTextHandler(printed{&lines}, nil))
			want = ` error="unexpected EOF" request="\"GET /cut HTTP/1.1\""`
		} else {
			s.Logger = &lines
		}
		ln, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		served := make(chan error, 1)
		go func() { served <- s.Serve(ln) }()
		c, err := net.Dial("tcp", ln.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.WriteString(c, "GET /cut HTTP/1.1\r\nHost")
		c.Close()
		<-poll(func() bool { return strings.Contains(lines.String(), "EOF") })
		s.Close()
		<-served
		if log := lines.String(); !strings.Contains(log, want) || !strings.Contains(log, c.LocalAddr().String()) {
			t.Errorf("the log is %q", log)
		}
	}
}

// If ErrorHandler or ExpectHandler flushes, that is the only answer to a refused request,
// and it is complete. The connection closes after it.
func TestFlushOfRefusedRequests(t *testing.T) {
	const expect = "POST /x HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\nContent-Length: 5\r\n\r\n"
	flush := func(ctx *RequestCtx) {
		ctx.WriteString("no")
		_ = ctx.Flush()
	}
	withExpectHandler := func(status int) func(*Server) {
		return func(s *Server) {
			s.ExpectHandler = func(ctx *RequestCtx) int { flush(ctx); return status }
		}
	}
	withErrorHandler := func(s *Server) { s.ErrorHandler = func(ctx *RequestCtx, err error) { flush(ctx) } }
	for _, tc := range []struct {
		name, in string
		set      func(*Server)
	}{
		{"broken head", "POST /x HTTP/1.1\r\nHost: h\r\nX : y\r\n\r\n", withErrorHandler},
		{"broken body", "POST /x HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\nx\r\n", withErrorHandler},
		{"large body", "POST /x HTTP/1.1\r\nHost: h\r\nContent-Length: 11\r\n\r\n12345678901", withErrorHandler},
		{"expectation refused", expect, withExpectHandler(StatusExpectationFailed)},
		{"expectation met", expect, withExpectHandler(StatusContinue)},
	} {
		for _, stream := range []bool{false, true} {
			onEngines(t, func(t *testing.T, e Engine) {
				s := &Server{Engine: e, StreamRequestBody: stream && strings.HasPrefix(tc.name, "expect"), MaxRequestBodySize: 10}
				tc.set(s)
				c := startServer(t, s, echo).dial()
				c.send(tc.in + get("/next"))
				b, err := io.ReadAll(c)
				if _, body, _ := strings.Cut(string(b), "\r\n\r\n"); err != nil || body != "2\r\nno\r\n0\r\n\r\n" {
					t.Errorf("%s, stream %t: got %q, %v", tc.name, stream, b, err)
				}
			})
		}
	}
}

// A connection that ErrorHandler or ExpectHandler hijacks belongs to it: the server
// neither writes to it nor reads from it.
func TestHijackNowOfRefusedRequests(t *testing.T) {
	const head = "POST /x HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\nContent-Length: 5\r\n"
	take := func(ctx *RequestCtx) {
		c, err := ctx.HijackNow()
		if err != nil {
			return
		}
		go func() {
			defer c.Close()
			io.WriteString(c, "mine ")
			var b [5]byte
			n, _ := io.ReadFull(c, b[:])
			c.Write(b[:n])
		}()
	}
	for _, tc := range []struct {
		name, in string
		status   int
	}{
		{"met", head + "\r\n", StatusContinue},
		{"refused", head + "\r\n", StatusExpectationFailed},
		{"broken", head + "X : y\r\n\r\n", 0},
	} {
		for _, stream := range []bool{false, true} {
			onEngines(t, func(t *testing.T, e Engine) {
				s := &Server{Engine: e, StreamRequestBody: stream}
				if tc.status == 0 {
					s.ErrorHandler = func(ctx *RequestCtx, _ error) { take(ctx) }
				} else {
					s.ExpectHandler = func(ctx *RequestCtx) int { take(ctx); return tc.status }
				}
				c := startServer(t, s, echo).dial()
				c.send(tc.in)
				b := make([]byte, 5)
				_, err := io.ReadFull(c, b)
				c.send("hello")
				rest, _ := io.ReadAll(c)
				if got := string(append(b, rest...)); err != nil || tc.status != 0 && got != "mine hello" || !strings.HasPrefix(got, "mine ") {
					t.Errorf("%s, stream %t: got %q, %v", tc.name, stream, got, err)
				}
			})
		}
	}
}

// A head that could not be read leads to a *RequestError even if only empty lines have
// arrived.
func TestRequestErrorOfNothing(t *testing.T) {
	got := make(chan error, 1)
	s := &Server{ReadTimeout: 50 * time.Millisecond, ErrorHandler: func(ctx *RequestCtx, err error) { got <- err; ctx.SetStatusCode(ErrorStatus(err)) }}
	ts := startServer(t, s, echo)
	for _, in := range []string{"", "\r\n", strings.Repeat("\r\n", 10000)} {
		c := ts.dial()
		c.send(in)
		err := <-got
		if re := (*RequestError)(nil); !errors.As(err, &re) || re.RemoteAddr == nil {
			t.Errorf("%.10q: %T %v", in, err, err)
		}
		c.Close()
	}
}

// A HEAD that is refused gets no content (RFC 9110 section 9.3.2), whatever is wrong with
// it. Another request after a HEAD gets its content.
func TestRefusedHead(t *testing.T) {
	ts := startServer(t, &Server{ReadBufferSize: 4096, GetOnly: true}, echo)
	long := strings.Repeat("x", 20<<10)
	for _, tc := range []struct {
		method, rest string
		status       int
	}{
		{"HEAD", "/ HTTP/1.1\r\nHost: h\r\nX: " + long + "\r\n\r\n", 431},
		{"HEAD", "/" + long + " HTTP/1.1\r\nHost: h\r\n\r\n", 414},
		{"HEAD", "/ HTTP/1.1\r\nHost: h\r\nbad line\r\n\r\n", 400},
		{"HEAD", "/ HTTP/9.1\r\nHost: h\r\n\r\n", 505},
		{"HEAD", "/ HTTP/1.1\r\nHost: h\r\nExpect: more\r\n\r\n", 417},
		{"GET", "/ HTTP/1.1\r\nHost: h\r\nbad line\r\n\r\n", 400},
		{"HEADER", "/ HTTP/1.1\r\nHost: h\r\nbad line\r\n\r\n", 400},
	} {
		for _, before := range []string{"", "GET", "HEAD"} {
			c := ts.dial()
			if before != "" {
				c.send(before + " / HTTP/1.1\r\nHost: h\r\n\r\n\r\n")
				c.read(before)
			}
			c.send(tc.method + " " + tc.rest)
			b, err := io.ReadAll(c.br)
			head, body, _ := strings.Cut(string(b), "\r\n\r\n")
			if !strings.Contains(head, fmt.Sprint(" ", tc.status, " ")) || err != nil || (body == "") != (tc.method == "HEAD") || !strings.Contains(head, "Content-Length: ") {
				t.Errorf("%s %.30q after %.5q: %q, %v", tc.method, tc.rest, before, b, err)
			}
		}
	}
}
