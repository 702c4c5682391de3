package client

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/galehttp/gale"
	"github.com/galehttp/gale/galeutil"
	"github.com/galehttp/gale/internal/door"
	"github.com/galehttp/gale/tests/harness"
	"github.com/galehttp/gale/tests/harness/peers"
)

// slowRefusal is a server of HTTP/1.1 that answers the head of a request with a 401, and
// sends the second half of its body seconds later, or never.
func slowRefusal(t *testing.T, nc net.Conn, pause time.Duration) {
	defer nc.Close()
	br := bufio.NewReader(nc)
	if new(gale.RequestHeader).Read(br) != nil {
		return
	}
	io.WriteString(nc, "HTTP/1.1 401 Unauthorized\r\nContent-Length: 20\r\n\r\n0123456789")
	if pause > 0 {
		time.Sleep(pause) // a slow server, by the clock of the bubble
		io.WriteString(nc, "0123456789")
	}
	if n, _ := io.Copy(io.Discard, br); n > 0 {
		t.Errorf("the client sent %d bytes of the body", n)
	}
}

// slowRefusal2 is slowRefusal for HTTP/2.
func slowRefusal2(t *testing.T, p *peers.H2Actor, pause time.Duration) {
	p.Greet()
	r := p.Asked()
	if r == nil {
		return
	}
	p.Send(p.Head(r.ID, 0, ":status", "401", "content-length", "20"), peers.H2Data(r.ID, 0, "0123456789"))
	if pause > 0 {
		time.Sleep(pause) // a slow server, by the clock of the bubble
		p.Send(peers.H2Data(r.ID, peers.H2End, "0123456789"))
	}
	p.Hold()
	if len(r.Body) > 0 {
		t.Errorf("the client sent %d bytes of the body", len(r.Body))
	}
}

// earlyAnswer is what a server sends before it reads the body of a request.
type earlyAnswer struct {
	name    string
	expects bool
	length  int      // of the body "ab"
	early   []string // statuses
	told    []int    // the informational ones
}

// serve is the server of HTTP/1.1. It closes got when the first byte of the body has come.
func (a *earlyAnswer) serve(t *testing.T, nc net.Conn, got chan struct{}) {
	defer nc.Close()
	br := bufio.NewReader(nc)
	r, err := http.ReadRequest(br)
	if err != nil {
		return
	}
	head := "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n"
	for _, status := range a.early {
		if status == "200" {
			io.WriteString(nc, head)
			head = ""
		} else {
			io.WriteString(nc, "HTTP/1.1 "+status+" Early\r\n\r\n")
		}
	}
	first := make([]byte, 1)
	_, _ = io.ReadFull(r.Body, first)
	close(got)
	if rest, err := io.ReadAll(r.Body); string(first)+string(rest) != "ab" || err != nil {
		t.Errorf("the server got %q, %q, %v", first, rest, err)
	}
	io.WriteString(nc, head+"ok")
	_, _ = io.Copy(io.Discard, br)
}

// serve2 is serve for HTTP/2.
func (a *earlyAnswer) serve2(t *testing.T, p *peers.H2Actor, got chan struct{}) {
	p.Greet()
	r := p.Asked()
	if r == nil {
		return
	}
	head := p.Head(r.ID, 0, ":status", "200", "content-length", "2")
	for _, status := range a.early {
		if status == "200" {
			p.Send(head)
			head = ""
		} else {
			p.Send(p.Head(r.ID, 0, ":status", status))
		}
	}
	id, began := r.ID, false
	for r != nil && !r.Whole {
		if r, _ = p.Part(); r != nil && len(r.Body) > 0 && !began {
			began = true
			close(got)
		}
	}
	if r == nil || string(r.Body) != "ab" {
		t.Errorf("the server got %+v", r)
	}
	p.Send(head, peers.H2Data(id, peers.H2End, "ok"))
	p.Hold()
}

// TestClientSendsWhileAnswered proves that a client sends each piece of a stream as soon as it has it;
// that it sends the body after a 100, and also if a response with 2xx begins in place of the 100; and
// that informational responses are told meanwhile.
func TestClientSendsWhileAnswered(t *testing.T) {
	peers.WithoutEngine(t)
	defer peers.EmptyPools()
	for _, a := range []earlyAnswer{
		{name: "fixed", length: 2},
		{name: "chunked", length: -1},
		{name: "early hints", length: 2, early: []string{"103"}, told: []int{103}},
		{name: "100", expects: true, length: 2, early: []string{"103", "100"}, told: []int{103, 100}},
		{name: "200", length: 2, early: []string{"200"}},
		{name: "200 for 100", expects: true, length: 2, early: []string{"200"}},
		{name: "200 for 100, chunked", expects: true, length: -1, early: []string{"103", "200"}, told: []int{103}},
	} {
		for _, mode := range []gale.HTTP2Mode{gale.HTTP2Off, gale.HTTP2Only} {
			t.Run(fmt.Sprintf("%s/%v", a.name, mode), func(t *testing.T) {
				peers.EmptyPools()
				synctest.Test(t, func(t *testing.T) {
					got := make(chan struct{})
					s := peers.NewH2Script(t, func(p *peers.H2Actor) { a.serve2(t, p, got) })
					c := harness.ScriptClient(s)
					if c.HTTP2 = mode; mode == gale.HTTP2Off {
						c.Dial = func(string) (net.Conn, error) {
							pipe := galeutil.NewPipeConns()
							go a.serve(t, pipe.Conn2(), got)
							return pipe.Conn1(), nil
						}
					}
					c.StreamResponseBody = true
					req, resp := &gale.Request{}, &gale.Response{}
					req.SetRequestURI("http://a.test/")
					req.Header.SetMethod("POST")
					if a.expects {
						req.Header.Set("Expect", "100-continue")
					}
					pr, pw := io.Pipe()
					defer pr.Close()
					go func() {
						io.WriteString(pw, "a")
						<-got
						io.WriteString(pw, "b")
						pw.Close()
					}()
					req.SetBodyStream(pr, a.length)
					var told []int
					ctx := context.WithValue(t.Context(), door.InterimKey{}, func(h *gale.ResponseHeader) {
						told = append(told, h.StatusCode())
					})
					ctx, cancel := context.WithTimeout(ctx, time.Minute)
					defer cancel()
					err := c.DoContext(ctx, req, resp)
					if body := resp.Body(); err != nil || resp.BodyError() != nil || string(body) != "ok" || !slices.Equal(told, a.told) {
						t.Errorf("%q, %v, %v, told %v, want %v", body, err, resp.BodyError(), told, a.told)
					}
					if n := c.PoolStats().Idle; n != 1 {
						t.Errorf("%d idle connections: a whole request went over one", n)
					}
					c.CloseIdleConnections()
					s.Stop()
				})
			})
		}
	}
}

// TestClientRefusalInsteadOfContinue proves that a final response in place of the 100 has
// the time limits of any other response: ExpectContinueTimeout doesn't limit its body, and
// a call whose response never ends is ended by its own limits.
func TestClientRefusalInsteadOfContinue(t *testing.T) {
	peers.WithoutEngine(t)
	defer peers.EmptyPools()
	const pause = 5 * time.Second // more than DefaultExpectContinueTimeout
	for _, tc := range []struct {
		name  string
		pause time.Duration // 0: the rest never comes
		set   func(c *gale.HostClient, req *gale.Request)
		ctx   bool
		want  error
	}{
		{name: "no limit", pause: pause},
		{name: "ResponseHeaderTimeout", pause: pause, set: func(c *gale.HostClient, _ *gale.Request) { c.ResponseHeaderTimeout = pause / 2 }},
		{name: "a longer ReadTimeout", pause: pause, set: func(c *gale.HostClient, _ *gale.Request) { c.ReadTimeout = 2 * pause }},
		{name: "a shorter ReadTimeout", pause: pause, set: func(c *gale.HostClient, _ *gale.Request) { c.ReadTimeout = pause / 2 }, want: gale.ErrTimeout},
		{name: "ReadTimeout", set: func(c *gale.HostClient, _ *gale.Request) { c.ReadTimeout = pause }, want: gale.ErrTimeout},
		{name: "SetTimeout", set: func(_ *gale.HostClient, req *gale.Request) { req.SetTimeout(pause) }, want: gale.ErrTimeout},
		{name: "context", ctx: true, want: context.DeadlineExceeded},
	} {
		for _, mode := range []gale.HTTP2Mode{gale.HTTP2Off, gale.HTTP2Only} {
			for _, streams := range []bool{false, true} {
				t.Run(fmt.Sprintf("%s/%v/streams=%t", tc.name, mode, streams), func(t *testing.T) {
					peers.EmptyPools()
					synctest.Test(t, func(t *testing.T) {
						s := peers.NewH2Script(t, func(p *peers.H2Actor) { slowRefusal2(t, p, tc.pause) })
						c := harness.ScriptClient(s)
						if c.HTTP2 = mode; mode == gale.HTTP2Off {
							c.Dial = func(string) (net.Conn, error) {
								pipe := galeutil.NewPipeConns()
								go slowRefusal(t, pipe.Conn2(), tc.pause)
								return pipe.Conn1(), nil
							}
						}
						c.StreamResponseBody = streams
						req, resp := &gale.Request{}, &gale.Response{}
						req.SetRequestURI("http://a.test/")
						req.Header.SetMethod("POST")
						req.Header.Set("Expect", "100-continue")
						req.SetBodyStream(strings.NewReader("never sent"), 10)
						if tc.set != nil {
							tc.set(c, req)
						}
						ctx, cancel := context.Background(), func() {}
						if tc.ctx {
							ctx, cancel = context.WithTimeout(ctx, pause)
						}
						defer cancel()
						err := c.DoContext(ctx, req, resp)
						body := resp.Body()
						if err == nil && streams {
							err = resp.BodyError()
						}
						if !errors.Is(err, tc.want) || err == nil && (resp.StatusCode() != 401 || string(body) != "01234567890123456789") {
							t.Errorf("%d %q, %v, want %v", resp.StatusCode(), body, err, tc.want)
						}
						_ = resp.CloseBodyStream()
						if mode == gale.HTTP2Off && c.ConnsCount() > 0 {
							t.Error("the connection is kept, although the body wasn't sent")
						}
						c.CloseIdleConnections()
						time.Sleep(2 * pause) // the server may be sleeping
						s.Stop()
					})
				})
			}
		}
	}
}
