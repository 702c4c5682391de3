package gale

import (
	"crypto/tls"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/net/http2"

	"github.com/galehttp/gale/internal/race"
)

// Both sides count requests: a request that was safe to be sent again doesn't fail as long
// as there is a good server, and no POST runs twice.

// h2Ledger is what the servers of a test have done.
type h2Ledger struct {
	mu      sync.Mutex
	ran     map[string]int // how often requests ran, by method and path
	refused map[string]int
	events  map[string]int // how often servers did something else
}

func newH2Ledger() *h2Ledger {
	return &h2Ledger{ran: map[string]int{}, refused: map[string]int{}, events: map[string]int{}}
}

func (l *h2Ledger) run(method, path string) {
	l.mu.Lock()
	l.ran[method+path]++
	l.mu.Unlock()
}

// times returns how often a request ran.
func (l *h2Ledger) times(key string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.ran[key]
}

func (l *h2Ledger) note(event string) {
	l.mu.Lock()
	l.events[event]++
	l.mu.Unlock()
}

// refuse reports whether a request is refused: some are, at most twice each.
func (l *h2Ledger) refuse(r *h2Asked) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if rand.IntN(3) > 0 || l.refused[r.method+r.path] == 2 {
		return false
	}
	l.refused[r.method+r.path]++
	l.events["refused"]++
	return true
}

// h2Outcome are the results of the calls.
type h2Outcome struct {
	answered atomic.Int64
	mu       sync.Mutex
	failed   map[string]error // by method and path
}

// load sends requests with numbers, and checks the answers. GET and POST take turns. It
// calls each for each request, if it isn't nil.
func (l *h2Ledger) load(t *testing.T, c *HostClient, total, workers int, each func(n int)) *h2Outcome {
	res := &h2Outcome{failed: map[string]error{}}
	scheme := "http"
	if c.IsTLS {
		scheme = "https"
	}
	var next atomic.Int64
	var wg sync.WaitGroup
	for range workers {
		wg.Go(func() {
			for {
				n := int(next.Add(1))
				if n > total {
					return
				}
				if each != nil {
					each(n)
				}
				req, resp := AcquireRequest(), AcquireResponse()
				path := fmt.Sprintf("/%d", n)
				req.SetRequestURI(scheme + "://a.test" + path)
				method, body := "GET", ""
				if n%2 == 0 {
					method, body = "POST", fmt.Sprintf("%d,", n)
					if n%10 == 0 {
						body = strings.Repeat(body, 10_000) // several frames
					}
					req.SetBodyString(body)
				}
				req.Header.SetMethod(method)
				err := c.Do(req, resp)
				if err != nil {
					res.mu.Lock()
					res.failed[method+path] = err
					res.mu.Unlock()
				} else if want := method + " " + path + " " + body; string(resp.Body()) != want {
					t.Errorf("%s %s: got %d %.60q", method, path, resp.StatusCode(), resp.Body())
				} else {
					res.answered.Add(1)
				}
				ReleaseRequest(req)
				ReleaseResponse(resp)
			}
		})
	}
	withinMinutes(t, "the load", wg.Wait)
	if n := int(res.answered.Load()) + len(res.failed); n != total && !t.Failed() {
		t.Errorf("%d calls returned of %d", n, total)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for key, n := range l.ran {
		err := res.failed[key]
		if n > 1 && strings.HasPrefix(key, "POST") {
			t.Errorf("%s ran %d times; the call returned %v", key, n, err)
		}
	}
	for n := 1; n <= total; n++ {
		key := fmt.Sprintf("GET/%d", n)
		if n%2 == 0 {
			key = fmt.Sprintf("POST/%d", n)
		}
		if res.failed[key] == nil && l.ran[key] == 0 && !t.Failed() {
			t.Errorf("%s was answered, but didn't run", key)
		}
	}
	t.Logf("%d answered, %d failed; the servers: %v", res.answered.Load(), len(res.failed), l.events)
	return res
}

// withinMinutes is within with more time.
func withinMinutes(t *testing.T, what string, f func()) {
	t.Helper()
	done := make(chan struct{})
	go func() {
		defer close(done)
		f()
	}()
	select {
	case <-done:
	case <-time.After(5 * time.Minute):
		t.Fatalf("%s doesn't end\n%s", what, allStacks())
	}
}

// goesAway serves some requests, sends GOAWAY with the last of them, and ignores those that
// the client has sent after it.
func (l *h2Ledger) goesAway(p *h2Actor) {
	const most = 1<<31 - 1
	p.greet(3, 1000)
	heads, after, last := 0, 5+rand.IntN(60), uint32(most)
	open := map[uint32]bool{}
	for {
		r, first := p.part()
		if r == nil {
			return
		}
		if r.id > last {
			if first {
				l.note("ignored")
			}
			continue
		}
		if first {
			open[r.id] = true
			heads++
		}
		if heads == after && last == most {
			time.Sleep(time.Duration(rand.IntN(2000)) * time.Microsecond) // more requests come
			last = r.id
			if rand.IntN(2) == 0 {
				p.send(h2GoAway(most, 0))
			}
			p.send(h2GoAway(last, 0))
			l.note("GOAWAY")
		}
		if r.whole {
			l.run(r.method, r.path)
			p.answerAll(r)
			delete(open, r.id)
		}
		if last != most && len(open) == 0 {
			p.hold() // the client closes when it has all answers
			return
		}
	}
}

// answerAll sends a good answer of any length, without regard to the client's windows, which
// must be large.
func (p *h2Actor) answerAll(r *h2Asked) { p.answer(r.id, r.answer()) }

// refuses refuses some requests.
func (l *h2Ledger) refuses(p *h2Actor) {
	p.greet(3, 1000)
	for r, first := p.part(); r != nil; r, first = p.part() {
		if first && l.refuse(r) {
			delete(p.bodies, r.id)
			p.send(h2Reset(r.id, http2.ErrCodeRefusedStream))
		} else if r.whole {
			l.run(r.method, r.path)
			p.answerAll(r)
		}
	}
}

// limits allows few streams, and changes its mind.
func (l *h2Ledger) limits(p *h2Actor) {
	p.greet(3, 1)
	allowed, n := uint32(1), 0
	open := map[uint32]bool{}
	for r, first := p.part(); r != nil; r, first = p.part() {
		if first {
			open[r.id] = true
			l.mu.Lock()
			l.events["most streams at a time"] = max(l.events["most streams at a time"], len(open))
			l.mu.Unlock()
		}
		if !r.whole {
			continue
		}
		l.run(r.method, r.path)
		p.answerAll(r)
		delete(open, r.id)
		if n++; n%20 == 0 {
			allowed = uint32(rand.IntN(4))
			p.send(h2Settings(3, allowed))
		}
		if allowed == 0 && len(open) == 0 {
			p.send(h2Settings(3, 1+uint32(rand.IntN(3))))
		}
	}
}

// loses serves some requests, runs one or two more, and breaks the connection off.
func (l *h2Ledger) loses(p *h2Actor) {
	p.greet(3, 1000)
	left := 5 + rand.IntN(100)
	for r := p.askedWhole(); r != nil; r = p.askedWhole() {
		l.run(r.method, r.path)
		if left--; left > 0 {
			p.answerAll(r)
			continue
		}
		if rand.IntN(2) == 0 {
			p.send(p.ok(r.id), h2Data(r.id, 0, "half"))
		}
		if rand.IntN(2) == 0 {
			p.reset()
		}
		l.note("lost")
		return
	}
}

// TestH2ClientAgain proves that requests that a server has not processed are sent again, and
// no others.
func TestH2ClientAgain(t *testing.T) {
	withoutEngine(t)
	l := (*h2Ledger)(nil)
	for _, x := range []struct {
		name  string
		play  func(p *h2Actor)
		loses bool // not all requests are safe to be sent again
	}{
		{"GOAWAY", func(p *h2Actor) { l.goesAway(p) }, false},
		{"refused streams", func(p *h2Actor) { l.refuses(p) }, false},
		{"few streams", func(p *h2Actor) { l.limits(p) }, false},
		{"lost connections", func(p *h2Actor) { l.loses(p) }, true},
		{"all of it", func(p *h2Actor) {
			[]func(*h2Actor){l.goesAway, l.loses}[rand.IntN(2)](p)
		}, true},
	} {
		for _, secure := range []bool{false, true} {
			name := x.name
			if secure {
				name += ", TLS"
			}
			t.Run(name, func(t *testing.T) {
				check := settledH2(t)
				l = newH2Ledger()
				s := scriptedH2(t, secure, x.play)
				c := s.client()
				c.MaxConnWaitTimeout = time.Minute
				c.MaxIdemponentCallAttempts = 50 // with 5, several GOAWAYs in a row can use them up
				res := l.load(t, c, race.Fewer(2000), 16, nil)
				gets := 0
				for key, err := range res.failed {
					ran := l.times(key)
					method, _, _ := strings.Cut(key, "/")
					if method == "GET" {
						gets++
					}
					var sent *ErrRequestSent
					switch {
					case !x.loses:
						t.Errorf("%s failed, and ran %d times: %v", key, ran, err)
					case method == "POST" && ran == 0 && !errors.As(err, &sent):
						t.Errorf("%s was not sent again, and didn't run: %v", key, err)
					}
				}
				if gets > 0 {
					t.Logf("%d GETs failed", gets)
				}
				if x.loses && int(res.answered.Load()) < race.Fewer(2000)*3/4 {
					t.Errorf("only %d requests were answered", res.answered.Load())
				}
				s.finish(c)
				s.stop()
				check()
			})
		}
	}
}

// TestH2ClientAgainRolling proves that no request fails while servers replace each other, each
// with a shutdown after a drain. Without a drain, servers lose connections that they have not
// accepted yet, and requests may fail. No POST runs twice in either case.
func TestH2ClientAgainRolling(t *testing.T) {
	for _, way := range h2Ways {
		for _, drain := range []time.Duration{0, 50 * time.Millisecond} {
			t.Run(fmt.Sprintf("%v,drain=%v", way, drain), func(t *testing.T) {
				check := settledH2(t)
				l := newH2Ledger()
				fleet := &h2Fleet{t: t, way: way, s: func() *Server {
					return &Server{DrainTime: drain, Handler: func(ctx *RequestCtx) {
						l.run(string(ctx.Method()), string(ctx.Path()))
						if rand.IntN(10) == 0 {
							time.Sleep(time.Millisecond)
						}
						echo(ctx)
					}}
				}}
				fleet.roll()
				c := fleet.client()
				total := race.Fewer(2000)
				res := l.load(t, c, total, 16, func(n int) {
					if n%(total/10) == 0 {
						fleet.roll()
					}
				})
				for key, err := range res.failed {
					if drain > 0 {
						t.Errorf("%s failed, and ran %d times: %v", key, l.times(key), err)
					}
				}
				c.CloseIdleConnections()
				fleet.stop()
				check()
			})
		}
	}
}

// h2Fleet is a server that is replaced again and again. Clients find the newest one.
type h2Fleet struct {
	t   *testing.T
	way h2Way
	s   func() *Server

	mu   sync.Mutex
	addr string
	now  *Server
	wg   sync.WaitGroup
}

// roll starts a server, and then shuts the one before it down.
func (f *h2Fleet) roll() {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		f.t.Error(err)
		return
	}
	s := f.s()
	s.Engine, s.HTTP2.H2C, s.Logger = f.way.engine, true, discardLog{}
	f.wg.Go(func() {
		var err error
		if f.way.tls {
			s.TLSConfig = h2TestTLS(f.t)
			s.TLSConfig.NextProtos = []string{"h2", "http/1.1"}
			err = s.ServeTLS(ln, "", "")
		} else {
			err = s.Serve(ln)
		}
		if err != nil {
			f.t.Errorf("Serve: %v", err)
		}
	})
	serving(f.t, s, 1) // a shutdown before that wouldn't end it
	f.mu.Lock()
	old := f.now
	f.now, f.addr = s, ln.Addr().String()
	f.mu.Unlock()
	if old != nil {
		f.wg.Go(func() {
			if err := old.Shutdown(); err != nil {
				f.t.Errorf("Shutdown: %v", err)
			}
		})
	}
}

func (f *h2Fleet) dial(string) (net.Conn, error) {
	f.mu.Lock()
	addr := f.addr
	f.mu.Unlock()
	return net.Dial("tcp", addr)
}

func (f *h2Fleet) client() *HostClient {
	if f.way.tls {
		return &HostClient{Addr: "a.test:443", IsTLS: true, TLSConfig: &tls.Config{InsecureSkipVerify: true}, HTTP2: HTTP2On, Dial: f.dial}
	}
	return &HostClient{Addr: "a.test:80", HTTP2: HTTP2Only, Dial: f.dial}
}

func (f *h2Fleet) stop() {
	if err := f.now.Shutdown(); err != nil {
		f.t.Errorf("Shutdown: %v", err)
	}
	withinMinutes(f.t, "the shutdowns", f.wg.Wait)
}
