package h2

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/net/http2"

	"github.com/galehttp/gale"
	"github.com/galehttp/gale/internal/race"
	"github.com/galehttp/gale/tests/harness"
	"github.com/galehttp/gale/tests/harness/gate"
	"github.com/galehttp/gale/tests/harness/peers"
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
func (l *h2Ledger) refuse(r *peers.H2Asked) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if gate.Rand.IntN(3) > 0 || l.refused[r.Method+r.Path] == 2 {
		return false
	}
	l.refused[r.Method+r.Path]++
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
func (l *h2Ledger) load(t *testing.T, c *gale.HostClient, total, workers int, each func(n int)) *h2Outcome {
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
				req, resp := gale.AcquireRequest(), gale.AcquireResponse()
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
				gale.ReleaseRequest(req)
				gale.ReleaseResponse(resp)
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
		t.Fatalf("%s doesn't end\n%s", what, peers.AllStacks())
	}
}

// goesAway serves some requests, sends GOAWAY with the last of them, and ignores those that
// the client has sent after it.
func (l *h2Ledger) goesAway(p *peers.H2Actor) {
	const most = 1<<31 - 1
	p.Greet(3, 1000)
	heads, after, last := 0, 5+gate.Rand.IntN(60), uint32(most)
	open := map[uint32]bool{}
	for {
		r, first := p.Part()
		if r == nil {
			return
		}
		if r.ID > last {
			if first {
				l.note("ignored")
			}
			continue
		}
		if first {
			open[r.ID] = true
			heads++
		}
		if heads == after && last == most {
			time.Sleep(time.Duration(gate.Rand.IntN(2000)) * time.Microsecond) // more requests come
			last = r.ID
			if gate.Rand.IntN(2) == 0 {
				p.Send(peers.H2GoAway(most, 0))
			}
			p.Send(peers.H2GoAway(last, 0))
			l.note("GOAWAY")
		}
		if r.Whole {
			l.run(r.Method, r.Path)
			p.AnswerAll(r)
			delete(open, r.ID)
		}
		if last != most && len(open) == 0 {
			p.Hold() // the client closes when it has all answers
			return
		}
	}
}

// refuses refuses some requests.
func (l *h2Ledger) refuses(p *peers.H2Actor) {
	p.Greet(3, 1000)
	for r, first := p.Part(); r != nil; r, first = p.Part() {
		if first && l.refuse(r) {
			delete(p.Bodies, r.ID)
			p.Send(peers.H2Reset(r.ID, http2.ErrCodeRefusedStream))
		} else if r.Whole {
			l.run(r.Method, r.Path)
			p.AnswerAll(r)
		}
	}
}

// limits allows few streams, and changes its mind.
func (l *h2Ledger) limits(p *peers.H2Actor) {
	p.Greet(3, 1)
	allowed, n := uint32(1), 0
	open := map[uint32]bool{}
	for r, first := p.Part(); r != nil; r, first = p.Part() {
		if first {
			open[r.ID] = true
			l.mu.Lock()
			l.events["most streams at a time"] = max(l.events["most streams at a time"], len(open))
			l.mu.Unlock()
		}
		if !r.Whole {
			continue
		}
		l.run(r.Method, r.Path)
		p.AnswerAll(r)
		delete(open, r.ID)
		if n++; n%20 == 0 {
			allowed = uint32(gate.Rand.IntN(4))
			p.Send(peers.H2Settings(3, allowed))
		}
		if allowed == 0 && len(open) == 0 {
			p.Send(peers.H2Settings(3, 1+uint32(gate.Rand.IntN(3))))
		}
	}
}

// loses serves some requests, runs one or two more, and breaks the connection off.
func (l *h2Ledger) loses(p *peers.H2Actor) {
	p.Greet(3, 1000)
	left := 5 + gate.Rand.IntN(100)
	for r := p.AskedWhole(); r != nil; r = p.AskedWhole() {
		l.run(r.Method, r.Path)
		if left--; left > 0 {
			p.AnswerAll(r)
			continue
		}
		if gate.Rand.IntN(2) == 0 {
			p.Send(p.Ok(r.ID), peers.H2Data(r.ID, 0, "half"))
		}
		if gate.Rand.IntN(2) == 0 {
			p.Reset()
		}
		l.note("lost")
		return
	}
}

// TestH2ClientAgain proves that requests that a server has not processed are sent again, and
// no others.
func TestH2ClientAgain(t *testing.T) {
	peers.WithoutEngine(t)
	l := (*h2Ledger)(nil)
	for _, x := range []struct {
		name  string
		play  func(p *peers.H2Actor)
		loses bool // not all requests are safe to be sent again
	}{
		{"GOAWAY", func(p *peers.H2Actor) { l.goesAway(p) }, false},
		{"refused streams", func(p *peers.H2Actor) { l.refuses(p) }, false},
		{"few streams", func(p *peers.H2Actor) { l.limits(p) }, false},
		{"lost connections", func(p *peers.H2Actor) { l.loses(p) }, true},
		{"all of it", func(p *peers.H2Actor) {
			[]func(*peers.H2Actor){l.goesAway, l.loses}[gate.Rand.IntN(2)](p)
		}, true},
	} {
		for _, secure := range []bool{false, true} {
			name := x.name
			if secure {
				name += ", TLS"
			}
			t.Run(name, func(t *testing.T) {
				check := peers.SettledH2(t)
				l = newH2Ledger()
				s := peers.ScriptedH2(t, secure, x.play)
				c := harness.ScriptClient(s)
				c.MaxConnWaitTimeout = time.Minute
				c.MaxIdemponentCallAttempts = 50 // with 5, several GOAWAYs in a row can use them up
				res := l.load(t, c, race.Fewer(gate.Form(2000, 1000)), 16, nil)
				gets := 0
				for key, err := range res.failed {
					ran := l.times(key)
					method, _, _ := strings.Cut(key, "/")
					if method == "GET" {
						gets++
					}
					var sent *gale.ErrRequestSent
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
				if x.loses && int(res.answered.Load()) < race.Fewer(gate.Form(2000, 1000))*3/4 {
					t.Errorf("only %d requests were answered", res.answered.Load())
				}
				harness.FinishScript(s, c)
				s.Stop()
				check()
			})
		}
	}
}

// TestH2ClientAgainRolling proves that no request fails while servers replace each other, each
// with a shutdown after a drain. Without a drain, servers lose connections that they have not
// accepted yet, and requests may fail. No POST runs twice in either case.
func TestH2ClientAgainRolling(t *testing.T) {
	for _, way := range peers.Ways[harness.H2Way]() {
		for _, drain := range []time.Duration{0, 50 * time.Millisecond} {
			t.Run(fmt.Sprintf("%v,drain=%v", way, drain), func(t *testing.T) {
				check := peers.SettledH2(t)
				l := newH2Ledger()
				fleet := &h2Fleet{t: t, way: way, s: func() *gale.Server {
					return &gale.Server{DrainTime: drain, Handler: func(ctx *gale.RequestCtx) {
						l.run(string(ctx.Method()), string(ctx.Path()))
						if gate.Rand.IntN(10) == 0 {
							time.Sleep(time.Millisecond) // a slow handler
						}
						harness.Echo(ctx)
					}}
				}}
				fleet.roll()
				c := fleet.client()
				total := race.Fewer(gate.Form(2000, 1000))
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
	way harness.H2Way
	s   func() *gale.Server

	mu   sync.Mutex
	addr string
	now  *gale.Server
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
	s.Engine, s.HTTP2.H2C, s.Logger = f.way.Engine, true, peers.DiscardLog{}
	f.wg.Go(func() {
		var err error
		if f.way.TLS {
			s.TLSConfig = peers.H2TestTLS(f.t)
			s.TLSConfig.NextProtos = []string{"h2", "http/1.1"}
			err = s.ServeTLS(ln, "", "")
		} else {
			err = s.Serve(ln)
		}
		if err != nil {
			f.t.Errorf("Serve: %v", err)
		}
	})
	harness.Serving(f.t, s, 1) // a shutdown before that wouldn't end it
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

func (f *h2Fleet) client() *gale.HostClient {
	if f.way.TLS {
		return &gale.HostClient{Addr: "a.test:443", IsTLS: true, TLSConfig: &tls.Config{InsecureSkipVerify: true}, HTTP2: gale.HTTP2On, Dial: f.dial}
	}
	return &gale.HostClient{Addr: "a.test:80", HTTP2: gale.HTTP2Only, Dial: f.dial}
}

func (f *h2Fleet) stop() {
	if err := f.now.Shutdown(); err != nil {
		f.t.Errorf("Shutdown: %v", err)
	}
	withinMinutes(f.t, "the shutdowns", f.wg.Wait)
}
