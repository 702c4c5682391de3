package h2

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/galehttp/gale"
	"github.com/galehttp/gale/tests/harness"
	"github.com/galehttp/gale/tests/harness/peers"
	"golang.org/x/net/http2"
)

// Servers that end the connection before it is one.
func TestH2ClientCutGreeting(t *testing.T) {
	check := peers.SettledH2(t)
	greeting := peers.H2Settings(3, 100, 4, 1<<20) + peers.H2Window(0, 1<<20)
	for n := range len(greeting) + 1 {
		for _, early := range []bool{false, true} {
			s := peers.ScriptedH2(t, false, func(p *peers.H2Actor) {
				if !early {
					p.Preface()
				}
				p.Send(greeting[:n])
			})
			c := harness.ScriptClient(s)
			peers.Within(t, "the call", func() {
				if body, err := harness.H2Get(c, "/"); err == nil {
					t.Errorf("after %d bytes: no error, but %q", n, body)
				}
			})
			if m := s.Accepted.Load(); m > gale.DefaultMaxIdemponentCallAttempts {
				t.Errorf("after %d bytes: %d connections", n, m)
			}
			s.WantClosed(c)
			s.Stop()
		}
	}
	check()
}

// Bombs in the heads of many streams take no more memory than the limit for all of them,
// and harm no other stream.
func TestH2ClientBombsOfManyStreams(t *testing.T) {
	check := peers.SettledH2(t)
	const streams = 200
	s := peers.ScriptedH2(t, false, func(p *peers.H2Actor) {
		p.Greet(3, 1000)
		value := strings.Repeat("b", 3900)
		first := true
		for r := p.AskedWhole(); r != nil; r = p.AskedWhole() {
			if r.Path != "/bomb" {
				p.Answer(r.ID, r.Answer())
				continue
			}
			block := p.Fields(":status", "200")
			if first {
				block += "\x40\x06x-bomb\x7f\xbd\x1d" + value // 3900 = 127 + 61 + 29*128
				first = false
			} else {
				block += "\xbe"
			}
			p.Send(peers.H2Wire(http2.FrameHeaders, 4, r.ID, block+strings.Repeat("\xbe", 14)))
		}
	})
	c := harness.ScriptClient(s)
	c.StreamResponseBody = true
	good := func() {
		req, resp := &gale.Request{}, &gale.Response{}
		req.SetRequestURI("http://a.test/good")
		if err := c.Do(req, resp); err != nil {
			t.Error(err)
		}
		resp.Reset()
	}
	peers.Within(t, "a good request", good)
	before := peers.Memory()
	var wg sync.WaitGroup
	var mu sync.Mutex
	var open []*gale.Response
	for range streams {
		wg.Go(func() {
			req, resp := &gale.Request{}, &gale.Response{}
			req.SetRequestURI("http://a.test/bomb")
			err := c.Do(req, resp)
			if err == nil {
				mu.Lock()
				open = append(open, resp)
				mu.Unlock()
			} else if _, code, known := harness.H2ErrorOf(err); !known || code != uint32(http2.ErrCodeEnhanceYourCalm) {
				t.Errorf("a bomb: %v", err)
			}
		})
	}
	peers.Within(t, "all calls", wg.Wait)
	if len(open) == 0 || len(open) == streams {
		t.Errorf("%d of %d heads were accepted: the test doesn't do what it should", len(open), streams)
	}
	peers.WantMemory(t, before, 12<<20) // 48 times 64 KiB, and what the program keeps of it
	peers.Within(t, "a good request", good)
	for _, resp := range open {
		resp.Reset()
	}
	peers.Within(t, "a good request", good)
	if n := s.Accepted.Load(); n != 1 {
		t.Errorf("%d connections", n)
	}
	c.CloseIdleConnections()
	s.WantClosed(c)
	s.Stop()
	check()
}

// A malformed answer on one stream doesn't harm the others.
func TestH2ClientNeighbours(t *testing.T) {
	check := peers.SettledH2(t)
	s := peers.ScriptedH2(t, false, func(p *peers.H2Actor) {
		p.Greet()
		for r := p.AskedWhole(); r != nil; r = p.AskedWhole() {
			switch r.Path {
			case "/upper":
				p.Send(p.Head(r.ID, 0, ":status", "200", "X-Upper", "v"))
			case "/length":
				p.Send(p.Ok(r.ID, "content-length", "1"), peers.H2Data(r.ID, 0, "xy"))
			case "/early":
				p.Send(peers.H2Data(r.ID, 0, "x"))
			case "/reset":
				p.Send(peers.H2Reset(r.ID, http2.ErrCodeInternal))
			case "/interims":
				p.Send(strings.Repeat(p.Head(r.ID, 0, ":status", "103"), 101))
			default:
				p.Answer(r.ID, r.Answer())
			}
		}
	})
	c := harness.ScriptClient(s)
	var wg sync.WaitGroup
	for range 4 {
		for _, path := range []string{"/upper", "/length", "/early", "/reset", "/interims", "/a", "/b"} {
			wg.Go(func() {
				good := len(path) == 2
				for range 25 {
					body, err := harness.H2Get(c, path)
					if good && (err != nil || body != "GET "+path+" ") {
						t.Errorf("%s: %q, %v", path, body, err)
					}
					if !good && (err == nil || errors.Is(err, gale.ErrTimeout)) {
						t.Errorf("%s: %q, %v", path, body, err)
					}
				}
			})
		}
	}
	peers.Within(t, "all calls", wg.Wait)
	if n := s.Accepted.Load(); n != 1 {
		t.Errorf("%v", s)
	}
	harness.FinishScript(s, c)
	s.Stop()
	check()
}

// postBody makes a request a POST with a body of n bytes.
func postBody(n int) func(req *gale.Request) {
	return func(req *gale.Request) {
		req.Header.SetMethod("POST")
		req.SetBodyString(strings.Repeat("b", n))
	}
}

// h2NeverDone are servers that complete no request. The client sends it again only where
// that is safe, and only so often.
var h2NeverDone = []struct {
	name  string
	play  func(p *peers.H2Actor)
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
	{"REFUSED_STREAM after an informational response", func(p *peers.H2Actor) {
		p.Greet()
		for r := p.Asked(); r != nil; r = p.Asked() {
			p.Send(p.Head(r.ID, 0, ":status", "103"), peers.H2Reset(r.ID, http2.ErrCodeRefusedStream))
		}
	}, false, http2.ErrCodeRefusedStream, false},
	{"REFUSED_STREAM in the body", func(p *peers.H2Actor) {
		p.Greet()
		for r := p.Asked(); r != nil; r = p.Asked() {
			p.Send(p.Ok(r.ID), peers.H2Data(r.ID, 0, "half"), peers.H2Reset(r.ID, http2.ErrCodeRefusedStream))
		}
	}, false, http2.ErrCodeRefusedStream, false},
	{"GOAWAY for each request", func(p *peers.H2Actor) {
		p.Greet()
		if p.Asked() != nil {
			p.Send(peers.H2GoAway(0, http2.ErrCodeNo))
			p.Hold()
		}
	}, true, http2.ErrCodeNo, true},
	{"GOAWAY with an error for each request", func(p *peers.H2Actor) {
		p.Greet()
		if p.Asked() != nil {
			p.Send(peers.H2GoAway(0, http2.ErrCodeEnhanceYourCalm))
		}
	}, true, http2.ErrCodeEnhanceYourCalm, true},
	{"GOAWAY that includes the request", func(p *peers.H2Actor) {
		p.Greet()
		if r := p.Asked(); r != nil {
			p.Send(peers.H2GoAway(r.ID, http2.ErrCodeInternal))
		}
	}, false, http2.ErrCodeInternal, true},
	{"GOAWAY at once", func(p *peers.H2Actor) {
		p.Greet()
		p.Send(peers.H2GoAway(0, http2.ErrCodeNo))
		p.Hold()
	}, true, http2.ErrCodeNo, true},
	{"no streams allowed, and then the end", func(p *peers.H2Actor) { p.Greet(3, 0); p.Asked(); p.Reset() }, true, 0, true},
}

func h2ResetAll(code http2.ErrCode) func(p *peers.H2Actor) {
	return func(p *peers.H2Actor) {
		p.Greet()
		for r := p.Asked(); r != nil; r = p.Asked() {
			p.Send(peers.H2Reset(r.ID, code))
		}
	}
}

// A request is sent again only if the server has not processed it, and at most
// MaxIdemponentCallAttempts times.
func TestH2ClientResets(t *testing.T) {
	for _, x := range h2NeverDone {
		for _, method := range []string{"GET", "POST"} {
			t.Run(x.name+", "+method, func(t *testing.T) {
				check := peers.SettledH2(t)
				s := peers.ScriptedH2(t, false, x.play)
				c := harness.ScriptClient(s)
				c.MaxIdemponentCallAttempts = 3
				for n := int64(1); n <= 2; n++ {
					req, resp := &gale.Request{}, harness.UsedResponse()
					req.SetRequestURI("http://a.test/")
					if method == "POST" {
						postBody(100)(req)
					}
					var err error
					peers.Within(t, "the call", func() { err = c.Do(req, resp) })
					if err == nil {
						t.Fatalf("no error, but %d", resp.StatusCode())
					}
					harness.CheckEmpty(t, resp)
					ofConn, code, known := harness.H2ErrorOf(err)
					if x.code != 0 && (!known || code != uint32(x.code) || ofConn != x.conn) {
						t.Errorf("the error is %v, want the code %v", err, x.code)
					}
					most := n
					if x.again {
						most *= 3
					}
					if got := s.Requests.Load(); got > most {
						t.Errorf("%d requests came for %d calls, want at most %d", got, n, most)
					} else if got < most && x.again && !x.conn {
						t.Errorf("%d requests came for %d calls, want %d", got, n, most)
					}
				}
				if n := s.Accepted.Load(); n > 7 {
					t.Errorf("%d connections", n)
				}
				harness.FinishScript(s, c)
				s.Stop()
				check()
			})
		}
	}
}

// A server that ends the connection at any byte of a response: the client gets an error,
// or the whole response.
func TestH2ClientCut(t *testing.T) {
	check := peers.SettledH2(t)
	response := func(p *peers.H2Actor, id uint32) (whole string, frames []int) {
		for _, part := range []string{
			p.Head(id, 0, ":status", "103", "link", "</a>"), p.Ok(id, "x-a", "b"),
			peers.H2Data(id, 0, "GET /cut"), peers.H2Window(id, 10), peers.H2Data(id, http2.FlagDataPadded, "\x03 \x00\x00\x00"),
			peers.H2Wire(http2.FrameHeaders, peers.H2End, id, p.Fields("x-t", "1")), peers.H2Wire(http2.FrameContinuation, 4, id, p.Fields("x-u", "2")),
			peers.H2GoAway(id, 0),
		} {
			whole += part
			frames = append(frames, len(whole))
		}
		return whole, frames
	}
	probe := peers.NewH2Script(t, nil)
	p := &peers.H2Actor{S: probe}
	p.Init()
	all, frames := response(p, 1)
	complete := frames[len(frames)-2]
	for _, resets := range []bool{false, true} {
		for n := range len(all) + 1 {
			s := peers.ScriptedH2(t, false, func(p *peers.H2Actor) {
				p.Greet()
				if r := p.AskedWhole(); r != nil {
					b, _ := response(p, r.ID)
					p.Send(b[:n])
					if resets {
						p.Reset()
					}
				}
			})
			c := harness.ScriptClient(s)
			peers.Within(t, fmt.Sprintf("a call that is cut after %d bytes", n), func() {
				req, resp := &gale.Request{}, harness.UsedResponse()
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
					harness.CheckEmpty(t, resp)
				}
			})
			if m := s.Requests.Load(); m != 1 {
				t.Errorf("cut after %d bytes: %d requests on new connections", n, m)
			}
			s.WantClosed(c)
			s.Stop()
		}
	}
	check()
}
