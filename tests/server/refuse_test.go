package server

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/galehttp/gale"
	"github.com/galehttp/gale/tests/harness"
	"github.com/galehttp/gale/tests/harness/peers"
)

// A head that is cut off is logged with its line, too, if all errors are logged.
func TestLogOfCutOffHead(t *testing.T) {
	for _, structured := range []bool{false, true} {
		var lines peers.Log
		s := &gale.Server{Handler: harness.Echo, LogAllErrors: true}
		want := ": unexpected EOF, request line \"GET /cut HTTP/1.1\"\n"
		if structured {
			s.Slog = slog.New(slog.NewTextHandler(peers.Printed{Log: &lines}, nil))
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
		<-peers.Poll(func() bool { return strings.Contains(lines.String(), "EOF") })
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
	flush := func(ctx *gale.RequestCtx) {
		ctx.WriteString("no")
		_ = ctx.Flush()
	}
	withExpectHandler := func(status int) func(*gale.Server) {
		return func(s *gale.Server) {
			s.ExpectHandler = func(ctx *gale.RequestCtx) int { flush(ctx); return status }
		}
	}
	withErrorHandler := func(s *gale.Server) { s.ErrorHandler = func(ctx *gale.RequestCtx, err error) { flush(ctx) } }
	for _, tc := range []struct {
		name, in string
		set      func(*gale.Server)
	}{
		{"broken head", "POST /x HTTP/1.1\r\nHost: h\r\nX : y\r\n\r\n", withErrorHandler},
		{"broken body", "POST /x HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\nx\r\n", withErrorHandler},
		{"large body", "POST /x HTTP/1.1\r\nHost: h\r\nContent-Length: 11\r\n\r\n12345678901", withErrorHandler},
		{"expectation refused", expect, withExpectHandler(gale.StatusExpectationFailed)},
		{"expectation met", expect, withExpectHandler(gale.StatusContinue)},
	} {
		for _, stream := range []bool{false, true} {
			peers.OnEngines(t, func(t *testing.T, e gale.Engine) {
				s := &gale.Server{Engine: e, StreamRequestBody: stream && strings.HasPrefix(tc.name, "expect"), MaxRequestBodySize: 10}
				tc.set(s)
				c := harness.Start(t, s, harness.Echo).Dial()
				c.Send(tc.in + peers.Get("/next"))
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
	take := func(ctx *gale.RequestCtx) {
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
		{"met", head + "\r\n", gale.StatusContinue},
		{"refused", head + "\r\n", gale.StatusExpectationFailed},
		{"broken", head + "X : y\r\n\r\n", 0},
	} {
		for _, stream := range []bool{false, true} {
			peers.OnEngines(t, func(t *testing.T, e gale.Engine) {
				s := &gale.Server{Engine: e, StreamRequestBody: stream}
				if tc.status == 0 {
					s.ErrorHandler = func(ctx *gale.RequestCtx, _ error) { take(ctx) }
				} else {
					s.ExpectHandler = func(ctx *gale.RequestCtx) int { take(ctx); return tc.status }
				}
				c := harness.Start(t, s, harness.Echo).Dial()
				c.Send(tc.in)
				b := make([]byte, 5)
				_, err := io.ReadFull(c, b)
				c.Send("hello")
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
	s := &gale.Server{ReadTimeout: 50 * time.Millisecond, ErrorHandler: func(ctx *gale.RequestCtx, err error) { got <- err; ctx.SetStatusCode(gale.ErrorStatus(err)) }}
	ts := harness.Start(t, s, harness.Echo)
	for _, in := range []string{"", "\r\n", strings.Repeat("\r\n", 10000)} {
		c := ts.Dial()
		c.Send(in)
		err := <-got
		if re := (*gale.RequestError)(nil); !errors.As(err, &re) || re.RemoteAddr == nil {
			t.Errorf("%.10q: %T %v", in, err, err)
		}
		c.Close()
	}
}

// A HEAD that is refused gets no content (RFC 9110 section 9.3.2), whatever is wrong with
// it. Another request after a HEAD gets its content.
func TestRefusedHead(t *testing.T) {
	ts := harness.Start(t, &gale.Server{ReadBufferSize: 4096, GetOnly: true}, harness.Echo)
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
			c := ts.Dial()
			if before != "" {
				c.Send(before + " / HTTP/1.1\r\nHost: h\r\n\r\n\r\n")
				c.Answer(before)
			}
			c.Send(tc.method + " " + tc.rest)
			b, err := io.ReadAll(c.Br)
			head, body, _ := strings.Cut(string(b), "\r\n\r\n")
			if !strings.Contains(head, fmt.Sprint(" ", tc.status, " ")) || err != nil || (body == "") != (tc.method == "HEAD") || !strings.Contains(head, "Content-Length: ") {
				t.Errorf("%s %.30q after %.5q: %q, %v", tc.method, tc.rest, before, b, err)
			}
		}
	}
}

// A refused request gets a response with content although its body looks like a request for the head
// only (RFC 9110 section 9.3.2).
func TestRefusedBodyLooksLikeHead(t *testing.T) {
	peers.OnEngines(t, func(t *testing.T, e gale.Engine) {
		ts := harness.Start(t, &gale.Server{Engine: e, GetOnly: true}, harness.Echo)
		c := ts.Dial()
		c.Send("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 9\r\n\r\nHEAD text")
		c.Want("POST", 400, "Only GET and HEAD are allowed")
		c.WantClosed()
	})
}
