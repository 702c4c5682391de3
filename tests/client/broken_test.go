package client

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/galehttp/gale"
	"github.com/galehttp/gale/internal/door"
	"github.com/galehttp/gale/internal/head"
	"github.com/galehttp/gale/tests/harness"
	"github.com/galehttp/gale/tests/harness/peers"
)

// Settings of the caller in a Response stay, also after the HEAD of another caller.
func TestClientErrorKeepsSettings(t *testing.T) {
	s := peers.StartScript(t, func(p *peers.ScriptConn, _ int) { harness.BreakOff(p.Conn, p.Br, peers.BrokenStart, peers.Closes) })
	c := &gale.HostClient{Addr: s.Addr(), MaxIdemponentCallAttempts: 1, DisableHeaderNamesNormalizing: true}
	for _, method := range []string{"GET", "HEAD"} {
		for _, skip := range []bool{false, true} {
			req, resp := &gale.Request{}, &gale.Response{SkipBody: skip, StreamBody: true, KeepBodyBuffer: true}
			req.SetRequestURI(s.URL())
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
	for _, tc := range peers.BrokenAnswers {
		t.Run(tc.Name, func(t *testing.T) {
			up := peers.StartScript(t, func(p *peers.ScriptConn, _ int) { harness.BreakOff(p.Conn, p.Br, tc.Answer, tc.End) })
			c := &gale.HostClient{Addr: up.Addr(), ReadBufferSize: 4096, ReadTimeout: 50 * time.Millisecond, MaxResponseBodySize: 500, MaxIdemponentCallAttempts: 1}
			ts := harness.Start(t, &gale.Server{Name: "s"}, func(ctx *gale.RequestCtx) {
				if string(ctx.Path()) == "/login" {
					harness.UsedResponse().CopyTo(&ctx.Response)
					return
				}
				if err := c.Do(&ctx.Request, &ctx.Response); err != nil {
					ctx.SetStatusCode(502)
					ctx.SetBodyString("bad gateway")
				}
			})
			conn := ts.Dial()
			conn.Send(peers.Get("/login"))
			conn.Answer("GET")
			conn.Send(peers.Get("/proxied"))
			a := conn.Want("GET", 502, "bad gateway")
			a.Header.Del("Date")
			if got := fmt.Sprint(a.Header); got != "map[Content-Length:[11] Content-Type:[text/plain; charset=utf-8] Server:[s]]" {
				t.Errorf("the header is %s", got)
			}
		})
	}
}

// A response that breaks off leaves nothing in the Response, neither of itself nor of an
// earlier one.
func TestClientBrokenResponseIsEmpty(t *testing.T) {
	for _, tc := range peers.BrokenAnswers {
		t.Run(tc.Name, func(t *testing.T) {
			t.Parallel()
			s := peers.StartScript(t, func(p *peers.ScriptConn, _ int) { harness.BreakOff(p.Conn, p.Br, tc.Answer, tc.End) })
			clients := map[string]*gale.HostClient{"plain": {}, "traced": {Trace: &gale.ClientTrace{}}, "expecting": {ExpectContinueTimeout: 10 * time.Millisecond}}
			for name, c := range clients {
				c.Addr, c.ReadBufferSize, c.ReadTimeout, c.MaxResponseBodySize = s.Addr(), 4096, 100*time.Millisecond, 500
				c.MaxIdemponentCallAttempts = 1
				for _, method := range []string{"GET", "POST"} {
					req, resp := &gale.Request{}, harness.UsedResponse()
					req.SetRequestURI(s.URL())
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
					harness.CheckEmpty(t, resp)
				}
				c.CloseIdleConnections()
			}
			pc := harness.PipeServer(t, func(_ int, c net.Conn, br *bufio.Reader) { harness.BreakOff(c, br, tc.Answer, tc.End) })
			pc.ReadBufferSize, pc.ReadTimeout, pc.MaxResponseBodySize = 4096, 100*time.Millisecond, 500
			req, resp := &gale.Request{}, harness.UsedResponse()
			req.SetRequestURI("http://" + pc.Addr + "/")
			if err := pc.Do(req, resp); err == nil {
				t.Fatal("pipeline: no error")
			}
			harness.CheckEmpty(t, resp)
		})
	}
}

// The same holds if the caller's time is over, or no request was sent at all.
func TestClientGivenUpResponseIsEmpty(t *testing.T) {
	s := peers.StartScript(t, func(p *peers.ScriptConn, _ int) {
		harness.BreakOff(p.Conn, p.Br, peers.BrokenStart+"X-A: b\r\n", peers.Stalls)
	})
	half := make(chan struct{})
	told := peers.StartScript(t, func(p *peers.ScriptConn, _ int) {
		_ = p.Request()
		p.Say(peers.BrokenStart + "X-A: b\r\n")
		half <- struct{}{}
		p.Hold()
	})
	c, toldClient := &gale.HostClient{Addr: s.Addr()}, &gale.HostClient{Addr: told.Addr()}
	defer c.CloseIdleConnections()
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	for name, do := range map[string]func(req *gale.Request, resp *gale.Response) error{
		"timeout":  func(req *gale.Request, resp *gale.Response) error { return c.DoTimeout(req, resp, 50*time.Millisecond) },
		"no time":  func(req *gale.Request, resp *gale.Response) error { return c.DoTimeout(req, resp, 0) },
		"late":     func(req *gale.Request, resp *gale.Response) error { return c.DoDeadline(req, resp, time.Unix(1, 0)) },
		"ended":    func(req *gale.Request, resp *gale.Response) error { return c.DoContext(ended, req, resp) },
		"no host":  func(_ *gale.Request, resp *gale.Response) error { return (&gale.Client{}).Do(&gale.Request{}, resp) },
		"no time2": func(req *gale.Request, resp *gale.Response) error { return (&gale.Client{}).DoTimeout(req, resp, 0) },
		"pipeline": func(req *gale.Request, resp *gale.Response) error {
			return (&gale.PipelineClient{Addr: s.Addr(), Logger: peers.DiscardLog{}}).DoTimeout(req, resp, 0)
		},
		"dial": func(req *gale.Request, resp *gale.Response) error {
			return (&gale.HostClient{Addr: "a", Dial: func(string) (net.Conn, error) { return nil, errors.New("no") }}).Do(req, resp)
		},
		"header timeout": func(req *gale.Request, resp *gale.Response) error {
			return (&gale.HostClient{Addr: s.Addr(), ResponseHeaderTimeout: 50 * time.Millisecond}).Do(req, resp)
		},
		"cancelled": func(req *gale.Request, resp *gale.Response) error {
			ctx, cancel := context.WithCancel(context.Background())
			go func() { <-half; cancel() }()
			return toldClient.DoContext(ctx, req, resp)
		},
	} {
		t.Run(name, func(t *testing.T) {
			req, resp := &gale.Request{}, harness.UsedResponse()
			req.SetRequestURI(s.URL())
			if err := do(req, resp); err == nil {
				t.Fatal("no error")
			}
			harness.CheckEmpty(t, resp)
		})
	}
}

// A message that is read with Read is also complete or empty, except that a streamed body
// may break off.
func TestReadBrokenResponse(t *testing.T) {
	for _, tc := range peers.BrokenAnswers {
		t.Run(tc.Name, func(t *testing.T) {
			resp := harness.UsedResponse()
			err := resp.ReadLimitBody(bufio.NewReaderSize(strings.NewReader(tc.Answer), 4096), 500)
			if tc.Name == "body reset" { // the body ends with the connection
				if err != nil {
					t.Error(err)
				}
				return
			}
			if err == nil {
				t.Fatal("no error")
			}
			if tc.Name == "two framings" || strings.Contains(tc.Name, "body") || strings.Contains(tc.Name, "chunk") || strings.Contains(tc.Name, "trailer") {
				if err := door.HeadIn(&resp.Header).(*head.Response).Check(); err != nil || string(resp.Header.ContentType()) != "text/html; charset=utf-8; a=b" ||
					resp.Header.Peek("X-A") != nil || strings.Contains(resp.String(), "alice") {
					t.Errorf("%v; the response is %q", err, resp)
				}
				return
			}
			harness.CheckEmpty(t, resp)
		})
	}
}
