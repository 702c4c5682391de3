package gale

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"golang.org/x/net/http2"
)

// h2NeverDone are servers that complete no request. The client sends it again only where
// that is safe, and only so often.
var h2NeverDone = []struct {
	name  string
	play  func(p *h2Actor)
	again bool // the server says that it has not processed the request
	code  http2.ErrCode
	conn  bool // the code is one of the connection
}{
	{"REFUSED_STREAM", h2ResetAll(http2.ErrCodeRefusedStream), true, http2.ErrCodeRefusedStream, false},
	{"CANCEL", h2ResetAll(http2.ErrCodeCancel), false, http2.ErrCodeCancel, false},
	{"NO_ERROR", h2ResetAll(http2.ErrCodeNo), false, http2.ErrCodeNo, false},
	{"INTERNAL_ERROR", h2ResetAll(http2.ErrCodeInternal), false, http2.ErrCodeInternal, false},
	{"ENHANCE_YOUR_CALM", h2ResetAll(http2.ErrCodeEnhanceYourCalm), false, http2.ErrCodeEnhanceYourCalm, false},
	{"HTTP_1_1_REQUIRED", h2ResetAll(http2.ErrCodeHTTP11Required), false, http2.ErrCodeHTTP11Required, false},
	{"an unknown code", h2ResetAll(1<<32 - 1), false, 1<<32 - 1, false},
	{"REFUSED_STREAM after an informational response", func(p *h2Actor) {
		p.greet()
		for r := p.asked(); r != nil; r = p.asked() {
			p.send(p.head(r.id, 0, ":status", "103"), h2Reset(r.id, http2.ErrCodeRefusedStream))
		}
	}, false, http2.ErrCodeRefusedStream, false},
	{"REFUSED_STREAM in the body", func(p *h2Actor) {
		p.greet()
		for r := p.asked(); r != nil; r = p.asked() {
			p.send(p.ok(r.id), h2Data(r.id, 0, "half"), h2Reset(r.id, http2.ErrCodeRefusedStream))
		}
	}, false, http2.ErrCodeRefusedStream, false},
	{"GOAWAY for each request", func(p *h2Actor) {
		p.greet()
		if p.asked() != nil {
			p.send(h2GoAway(0, http2.ErrCodeNo))
			p.hold()
		}
	}, true, http2.ErrCodeNo, true},
	{"GOAWAY with an error for each request", func(p *h2Actor) {
		p.greet()
		if p.asked() != nil {
			p.send(h2GoAway(0, http2.ErrCodeEnhanceYourCalm))
		}
	}, true, http2.ErrCodeEnhanceYourCalm, true},
	{"GOAWAY that includes the request", func(p *h2Actor) {
		p.greet()
		if r := p.asked(); r != nil {
			p.send(h2GoAway(r.id, http2.ErrCodeInternal))
		}
	}, false, http2.ErrCodeInternal, true},
	{"GOAWAY at once", func(p *h2Actor) {
		p.greet()
		p.send(h2GoAway(0, http2.ErrCodeNo))
		p.hold()
	}, true, http2.ErrCodeNo, true},
	{"no streams allowed, and then the end", func(p *h2Actor) { p.greet(3, 0); p.asked(); p.reset() }, true, 0, true},
}

func h2ResetAll(code http2.ErrCode) func(p *h2Actor) {
	return func(p *h2Actor) {
		p.greet()
		for r := p.asked(); r != nil; r = p.asked() {
			p.send(h2Reset(r.id, code))
		}
	}
}

// A request is sent again only if the server has not processed it, and at most
// MaxIdemponentCallAttempts times.
func TestH2ClientResets(t *testing.T) {
	for _, x := range h2NeverDone {
		for _, method := range []string{"GET", "POST"} {
			t.Run(x.name+", "+method, func(t *testing.T) {
				check := settledH2(t)
				s := scriptedH2(t, false, x.play)
				c := s.client()
				c.MaxIdemponentCallAttempts = 3
				for n := int64(1); n <= 2; n++ {
					req, resp := &Request{}, usedResponse()
					req.SetRequestURI("http://a.test/")
					if method == "POST" {
						postBody(100)(req)
					}
					var err error
					within(t, "the call", func() { err = c.Do(req, resp) })
					if err == nil {
						t.Fatalf("no error, but %d", resp.StatusCode())
					}
					checkEmpty(t, resp)
					ofConn, code, known := h2ErrorOf(err)
					if x.code != 0 && (!known || code != uint32(x.code) || ofConn != x.conn) {
						t.Errorf("the error is %v, want the code %v", err, x.code)
					}
					most := n
					if x.again {
						most *= 3
					}
					if got := s.requests.Load(); got > most {
						t.Errorf("%d requests came for %d calls, want at most %d", got, n, most)
					} else if got < most && x.again && !x.conn {
						t.Errorf("%d requests came for %d calls, want %d", got, n, most)
					}
				}
				if n := s.accepted.Load(); n > 7 {
					t.Errorf("%d connections", n)
				}
				s.finish(c)
				s.stop()
				check()
			})
		}
	}
}

// A server that ends the connection at any byte of a response: the client gets an error,
// or the whole response.
func TestH2ClientCut(t *testing.T) {
	check := settledH2(t)
	response := func(p *h2Actor, id uint32) (whole string, frames []int) {
		for _, part := range []string{
			p.head(id, 0, ":status", "103", "link", "</a>"), p.ok(id, "x-a", "b"),
			h2Data(id, 0, "GET /cut"), h2Window(id, 10), h2Data(id, http2.FlagDataPadded, "\x03 \x00\x00\x00"),
			h2Wire(http2.FrameHeaders, h2End, id, p.fields("x-t", "1")), h2Wire(http2.FrameContinuation, 4, id, p.fields("x-u", "2")),
			h2GoAway(id, 0),
		} {
			whole += part
			frames = append(frames, len(whole))
		}
		return whole, frames
	}
	probe := newH2Script(t, nil)
	p := &h2Actor{s: probe}
	p.init()
	all, frames := response(p, 1)
	complete := frames[len(frames)-2]
	for _, resets := range []bool{false, true} {
		for n := range len(all) + 1 {
			s := scriptedH2(t, false, func(p *h2Actor) {
				p.greet()
				if r := p.askedWhole(); r != nil {
					b, _ := response(p, r.id)
					p.send(b[:n])
					if resets {
						p.reset()
					}
				}
			})
			c := s.client()
			within(t, fmt.Sprintf("a call that is cut after %d bytes", n), func() {
				req, resp := &Request{}, usedResponse()
				req.SetRequestURI("http://a.test/cut")
				err := c.Do(req, resp)
				switch {
				case err != nil && n >= complete && !resets: // a reset may drop bytes that were sent
					t.Errorf("after %d bytes, all that is needed: %v", n, err)
				case err == nil && n < complete:
					t.Errorf("no error after %d of %d bytes: %q", n, complete, resp.Body())
				case err == nil && (string(resp.Body()) != "GET /cut " || string(resp.Header.Peek("X-U")) != "2"):
					t.Errorf("got %q", resp)
				case err != nil:
					checkEmpty(t, resp)
				}
			})
			if m := s.requests.Load(); m != 1 {
				t.Errorf("cut after %d bytes: %d requests on new connections", n, m)
			}
			s.wantClosed(c)
			s.stop()
		}
	}
	check()
}

// Servers that end the connection before it is one.
func TestH2ClientCutGreeting(t *testing.T) {
	check := settledH2(t)
	greeting := h2Settings(3, 100, 4, 1<<20) + h2Window(0, 1<<20)
	for n := range len(greeting) + 1 {
		for _, early := range []bool{false, true} {
			s := scriptedH2(t, false, func(p *h2Actor) {
				if !early {
					p.preface()
				}
				p.send(greeting[:n])
			})
			c := s.client()
			within(t, "the call", func() {
				if body, err := h2Get(c, "/"); err == nil {
					t.Errorf("after %d bytes: no error, but %q", n, body)
				}
			})
			if m := s.accepted.Load(); m > DefaultMaxIdemponentCallAttempts {
				t.Errorf("after %d bytes: %d connections", n, m)
			}
			s.wantClosed(c)
			s.stop()
		}
	}
	check()
}

// Bombs in the heads of many streams take no more memory than the limit for all of them,
// and harm no other stream.
func TestH2ClientBombsOfManyStreams(t *testing.T) {
	check := settledH2(t)
	const streams = 200
	s := scriptedH2(t, false, func(p *h2Actor) {
		p.greet(3, 1000)
		value := strings.Repeat("b", 3900)
		first := true
		for r := p.askedWhole(); r != nil; r = p.askedWhole() {
			if r.path != "/bomb" {
				p.answer(r.id, r.answer())
				continue
			}
			block := p.fields(":status", "200")
			if first {
				block += "\x40\x06x-bomb\x7f\xbd\x1d" + value // 3900 = 127 + 61 + 29*128
				first = false
			} else {
				block += "\xbe"
			}
			p.send(h2Wire(http2.FrameHeaders, 4, r.id, block+strings.Repeat("\xbe", 14)))
		}
	})
	c := s.client()
	c.StreamResponseBody = true
	good := func() {
		req, resp := &Request{}, &Response{}
		req.SetRequestURI("http://a.test/good")
		if err := c.Do(req, resp); err != nil {
			t.Error(err)
		}
		resp.Reset()
	}
	within(t, "a good request", good)
	before := memory()
	var wg sync.WaitGroup
	var mu sync.Mutex
	var open []*Response
	for range streams {
		wg.Go(func() {
			req, resp := &Request{}, &Response{}
			req.SetRequestURI("http://a.test/bomb")
			err := c.Do(req, resp)
			if err == nil {
				mu.Lock()
				open = append(open, resp)
				mu.Unlock()
			} else if _, code, known := h2ErrorOf(err); !known || code != uint32(http2.ErrCodeEnhanceYourCalm) {
				t.Errorf("a bomb: %v", err)
			}
		})
	}
	within(t, "all calls", wg.Wait)
	if len(open) == 0 || len(open) == streams {
		t.Errorf("%d of %d heads were accepted: the test doesn't do what it should", len(open), streams)
	}
	wantMemory(t, before, 12<<20) // 48 times 64 KiB, and what the program keeps of it
	within(t, "a good request", good)
	for _, resp := range open {
		resp.Reset()
	}
	within(t, "a good request", good)
	if n := s.accepted.Load(); n != 1 {
		t.Errorf("%d connections", n)
	}
	c.CloseIdleConnections()
	s.wantClosed(c)
	s.stop()
	check()
}

// A malformed answer on one stream doesn't harm the others.
func TestH2ClientNeighbours(t *testing.T) {
	check := settledH2(t)
	s := scriptedH2(t, false, func(p *h2Actor) {
		p.greet()
		for r := p.askedWhole(); r != nil; r = p.askedWhole() {
			switch r.path {
			case "/upper":
				p.send(p.head(r.id, 0, ":status", "200", "X-Upper", "v"))
			case "/length":
				p.send(p.ok(r.id, "content-length", "1"), h2Data(r.id, 0, "xy"))
			case "/early":
				p.send(h2Data(r.id, 0, "x"))
			case "/reset":
				p.send(h2Reset(r.id, http2.ErrCodeInternal))
			case "/interims":
				p.send(strings.Repeat(p.head(r.id, 0, ":status", "103"), 101))
			default:
				p.answer(r.id, r.answer())
			}
		}
	})
	c := s.client()
	var wg sync.WaitGroup
	for range 4 {
		for _, path := range []string{"/upper", "/length", "/early", "/reset", "/interims", "/a", "/b"} {
			wg.Go(func() {
				good := len(path) == 2
				for range 25 {
					body, err := h2Get(c, path)
					if good && (err != nil || body != "GET "+path+" ") {
						t.Errorf("%s: %q, %v", path, body, err)
					}
					if !good && (err == nil || errors.Is(err, ErrTimeout)) {
						t.Errorf("%s: %q, %v", path, body, err)
					}
				}
			})
		}
	}
	within(t, "all calls", wg.Wait)
	if n := s.accepted.Load(); n != 1 {
		t.Errorf("%v", s)
	}
	s.finish(c)
	s.stop()
	check()
}
