package gale

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/galehttp/gale/internal/head"
)

// brokenAnswers are responses that can't be read to their end. After each the server
// closes the connection, resets it, or sends nothing more.
var brokenAnswers = []struct {
	name, answer string
	end          brokenEnd
}{
	{"nothing", "", closes},
	{"closed in the version", "HTTP/1", closes},
	{"closed in the reason", "HTTP/1.1 200 O", closes},
	{"closed after the status line", "HTTP/1.1 200 OK\r\n", closes},
	{"closed in a name", brokenStart + "X-", closes},
	{"closed in a value", brokenStart + "X-A: b", closes},
	{"closed between fields", brokenStart + "X-A: b\r\n", closes},
	{"closed in the last line", brokenStart + "X-A: b\r\n\r", closes},
	{"reset in the head", brokenStart + "X-A: b\r\n", resets},
	{"silent in the head", brokenStart + "X-A: b\r\n", stalls},
	{"silent", "", stalls},
	{"head too long", brokenStart + "X-A: " + strings.Repeat("-", 4999) + "\r\nContent-Length: 2\r\n\r\nok", closes},
	{"line without colon", brokenStart + "bro ken\r\n\r\n", closes},
	{"broken byte", brokenStart + "X-A: \x00\r\n\r\n", closes},
	{"other version", "HTTP/2.0 200 OK\r\nX-A: b\r\n\r\n", closes},
	{"two framings", brokenStart + "Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\nok", closes},
	{"two lengths", brokenStart + "Content-Length: 2\r\nContent-Length: 2\r\n\r\nok", closes},
	{"too many interim responses", strings.Repeat("HTTP/1.1 103 Early Hints\r\nX-A: b\r\nContent-Type: a\r\n\r\n", 101), closes},
	{"closed after an interim response", "HTTP/1.1 103 Early Hints\r\nX-A: b\r\n\r\n" + brokenStart, closes},
	{"silent after an interim response", "HTTP/1.1 103 Early Hints\r\nX-A: b\r\n\r\n", stalls},
	{"body too long", brokenStart + "Content-Length: 5000\r\n\r\n", closes},
	{"body cut off", brokenStart + "Content-Length: 50\r\n\r\nX-A", closes},
	{"body silent", brokenStart + "Content-Length: 50\r\n\r\nX-A", stalls},
	{"body reset", brokenStart + "\r\nX-A", resets},
	{"chunk broken", brokenStart + "Transfer-Encoding: chunked\r\n\r\n3\r\nX-A\r\nx", closes},
	{"chunked body too long", brokenStart + "Transfer-Encoding: chunked\r\n\r\n3e8\r\n" + strings.Repeat("-", 1000), closes},
	{"trailer cut off", brokenStart + "Transfer-Encoding: chunked\r\nTrailer: X-A\r\n\r\n0\r\nX-A: b\r\n", closes},
	{"trailer broken", brokenStart + "Transfer-Encoding: chunked\r\nTrailer: X-A\r\n\r\n0\r\nX-A: b\r\nHost: c\r\n\r\n", closes},
}

const brokenStart = "HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8; a=b\r\nSet-Cookie: X-A=b\r\n"

type brokenEnd int

const (
	closes brokenEnd = iota
	resets
	stalls
)

// breakOff answers one request.
func breakOff(c net.Conn, br *bufio.Reader, answer string, end brokenEnd) {
	if (&Request{}).Read(br) != nil {
		return
	}
	_, _ = io.WriteString(c, answer)
	switch end {
	case closes:
		_ = c.(interface{ CloseWrite() error }).CloseWrite()
	case resets:
		_ = c.(*net.TCPConn).SetLinger(0)
		c.Close()
	}
	_, _ = io.Copy(io.Discard, br)
}

// usedResponse returns a response that was used for another request before.
func usedResponse() *Response {
	resp := &Response{KeepBodyBuffer: true}
	resp.Header.Set("X-Pad", "pppppppppp")
	resp.Header.Set("Set-Cookie", "sid=alice-secret-0123456789; HttpOnly")
	resp.Header.SetContentType("alice/secret")
	resp.SetBodyString(strings.Repeat("alice", 1000))
	return resp
}

// checkEmpty checks that after an error of Do resp is like a new response, for getters
// and setters.
func checkEmpty(t *testing.T, resp *Response) {
	t.Helper()
	if err := resp.Header.s.Check(); err != nil {
		t.Error(err)
	}
	fresh := &Response{}
	for _, r := range []*Response{resp, fresh} {
		r.Header.s.Implied |= head.NoDate
	}
	if got, want := resp.String(), fresh.String(); got != want || resp.StatusCode() != 200 || len(resp.Body()) != 0 || resp.BodyStream() != nil {
		t.Errorf("the response is %q, want %q", got, want)
	}
	var fields [2]string
	for i, r := range []*Response{resp, fresh} {
		r.Header.VisitAll(func(k, v []byte) { fields[i] += fmt.Sprintf("%s: %s\n", k, v) })
	}
	if fields[0] != fields[1] {
		t.Errorf("it has the fields %q", fields[0])
	}
	if h := &resp.Header; len(h.Peek("X-A"))+len(h.Peek("Set-Cookie"))+len(h.StatusMessage()) != 0 ||
		h.ContentLength() != fresh.Header.ContentLength() || h.ConnectionClose() || len(h.PeekTrailerKeys()) != 0 {
		t.Errorf("its header is %q", h)
	}
	var copied Response
	resp.CopyTo(&copied)
	for _, r := range []*Response{resp, &copied, fresh} {
		r.SetStatusCode(502)
		r.Header.Set("X-Pad", "new")
		r.Header.Set("Content-Language", "en")
		r.SetBodyString("bad gateway")
		if err := r.Header.s.Check(); err != nil {
			t.Error(err)
		}
	}
	if got, also, want := resp.String(), copied.String(), fresh.String(); got != want || also != want {
		t.Errorf("after setting it is %q, its copy %q, want %q", got, also, want)
	}
}

// A response that breaks off leaves nothing in the Response, neither of itself nor of an
// earlier one.
func TestClientBrokenResponseIsEmpty(t *testing.T) {
	for _, tc := range brokenAnswers {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			s := scripted(t, func(p *scriptConn, _ int) { breakOff(p.Conn, p.br, tc.answer, tc.end) })
			clients := map[string]*HostClient{"plain": {}, "traced": {Trace: &ClientTrace{}}, "expecting": {ExpectContinueTimeout: 10 * time.Millisecond}}
			for name, c := range clients {
				c.Addr, c.ReadBufferSize, c.ReadTimeout, c.MaxResponseBodySize = s.addr(), 4096, 100*time.Millisecond, 500
				c.MaxIdemponentCallAttempts = 1
				for _, method := range []string{"GET", "POST"} {
					req, resp := &Request{}, usedResponse()
					req.SetRequestURI(s.url())
					req.Header.SetMethod(method)
					if method == "POST" {
						req.SetBodyString("body")
					}
					if name == "expecting" {
						req.Header.Set("Expect", "100-continue")
					}
					if err := c.Do(req, resp); err == nil {
						t.Fatalf("%s, %s: no error", name, method)
					}
					checkEmpty(t, resp)
				}
				c.CloseIdleConnections()
			}
			pc := pipeServer(t, func(_ int, c net.Conn, br *bufio.Reader) { breakOff(c, br, tc.answer, tc.end) })
			pc.ReadBufferSize, pc.ReadTimeout, pc.MaxResponseBodySize = 4096, 100*time.Millisecond, 500
			req, resp := &Request{}, usedResponse()
			req.SetRequestURI("http://" + pc.Addr + "/")
			if err := pc.Do(req, resp); err == nil {
				t.Fatal("pipeline: no error")
			}
			checkEmpty(t, resp)
		})
	}
}

// The same holds if the caller's time is over, or no request was sent at all.
func TestClientGivenUpResponseIsEmpty(t *testing.T) {
	s := scripted(t, func(p *scriptConn, _ int) { breakOff(p.Conn, p.br, brokenStart+"X-A: b\r\n", stalls) })
	half := make(chan struct{})
	told := scripted(t, func(p *scriptConn, _ int) {
		_ = p.request()
		p.write(brokenStart + "X-A: b\r\n")
		half <- struct{}{}
		p.hold()
	})
	c, toldClient := &HostClient{Addr: s.addr()}, &HostClient{Addr: told.addr()}
	defer c.CloseIdleConnections()
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	for name, do := range map[string]func(req *Request, resp *Response) error{
		"timeout":  func(req *Request, resp *Response) error { return c.DoTimeout(req, resp, 50*time.Millisecond) },
		"no time":  func(req *Request, resp *Response) error { return c.DoTimeout(req, resp, 0) },
		"late":     func(req *Request, resp *Response) error { return c.DoDeadline(req, resp, time.Unix(1, 0)) },
		"ended":    func(req *Request, resp *Response) error { return c.DoContext(ended, req, resp) },
		"no host":  func(_ *Request, resp *Response) error { return (&Client{}).Do(&Request{}, resp) },
		"no time2": func(req *Request, resp *Response) error { return (&Client{}).DoTimeout(req, resp, 0) },
		"pipeline": func(req *Request, resp *Response) error {
			return (&PipelineClient{Addr: s.addr(), Logger: discardLog{}}).DoTimeout(req, resp, 0)
		},
		"dial": func(req *Request, resp *Response) error {
			return (&HostClient{Addr: "a", Dial: func(string) (net.Conn, error) { return nil, errors.New("no") }}).Do(req, resp)
		},
		"header timeout": func(req *Request, resp *Response) error {
			return (&HostClient{Addr: s.addr(), ResponseHeaderTimeout: 50 * time.Millisecond}).Do(req, resp)
		},
		"cancelled": func(req *Request, resp *Response) error {
			ctx, cancel := context.WithCancel(context.Background())
			go func() { <-half; cancel() }()
			return toldClient.DoContext(ctx, req, resp)
		},
	} {
		t.Run(name, func(t *testing.T) {
			req, resp := &Request{}, usedResponse()
			req.SetRequestURI(s.url())
			if err := do(req, resp); err == nil {
				t.Fatal("no error")
			}
			checkEmpty(t, resp)
		})
	}
}

// Settings of the caller in a Response stay, also after the HEAD of another caller.
func TestClientErrorKeepsSettings(t *testing.T) {
	s := scripted(t, func(p *scriptConn, _ int) { breakOff(p.Conn, p.br, brokenStart, closes) })
	c := &HostClient{Addr: s.addr(), MaxIdemponentCallAttempts: 1, DisableHeaderNamesNormalizing: true}
	for _, method := range []string{"GET", "HEAD"} {
		for _, skip := range []bool{false, true} {
			req, resp := &Request{}, &Response{SkipBody: skip, StreamBody: true, KeepBodyBuffer: true}
			req.SetRequestURI(s.url())
			req.Header.SetMethod(method)
			if err := c.Do(req, resp); err == nil {
				t.Fatal("no error")
			}
			if resp.SkipBody != skip || !resp.StreamBody || !resp.KeepBodyBuffer || !resp.Header.EnableNormalizing() {
				t.Errorf("%s, %v: SkipBody %v, StreamBody %v", method, skip, resp.SkipBody, resp.StreamBody)
			}
		}
	}
}

// A proxy that answers 502 when its server breaks off sends only the 502.
func TestProxyAnswersForBrokenResponse(t *testing.T) {
	for _, tc := range brokenAnswers {
		t.Run(tc.name, func(t *testing.T) {
			up := scripted(t, func(p *scriptConn, _ int) { breakOff(p.Conn, p.br, tc.answer, tc.end) })
			c := &HostClient{Addr: up.addr(), ReadBufferSize: 4096, ReadTimeout: 50 * time.Millisecond, MaxResponseBodySize: 500, MaxIdemponentCallAttempts: 1}
			ts := startServer(t, &Server{Name: "s"}, func(ctx *RequestCtx) {
				if string(ctx.Path()) == "/login" {
					usedResponse().CopyTo(&ctx.Response)
					return
				}
				if err := c.Do(&ctx.Request, &ctx.Response); err != nil {
					ctx.SetStatusCode(502)
					ctx.SetBodyString("bad gateway")
				}
			})
			conn := ts.dial()
			conn.send(get("/login"))
			conn.read("GET")
			conn.send(get("/proxied"))
			a := conn.want("GET", 502, "bad gateway")
			a.Header.Del("Date")
			if got := fmt.Sprint(a.Header); got != "map[Content-Length:[11] Content-Type:[text/plain; charset=utf-8] Server:[s]]" {
				t.Errorf("the header is %s", got)
			}
		})
	}
}

// A message that is read with Read is also complete or empty, except that a streamed body
// may break off.
func TestReadBrokenResponse(t *testing.T) {
	for _, tc := range brokenAnswers {
		t.Run(tc.name, func(t *testing.T) {
			resp := usedResponse()
			err := resp.ReadLimitBody(bufio.NewReaderSize(strings.NewReader(tc.answer), 4096), 500)
			if tc.name == "body reset" { // the body ends with the connection
				if err != nil {
					t.Error(err)
				}
				return
			}
			if err == nil {
				t.Fatal("no error")
			}
			if tc.name == "two framings" || strings.Contains(tc.name, "body") || strings.Contains(tc.name, "chunk") || strings.Contains(tc.name, "trailer") {
				if err := resp.Header.s.Check(); err != nil || string(resp.Header.ContentType()) != "text/html; charset=utf-8; a=b" ||
					resp.Header.Peek("X-A") != nil || strings.Contains(resp.String(), "alice") {
					t.Errorf("%v; the response is %q", err, resp)
				}
				return
			}
			checkEmpty(t, resp)
		})
	}
}
