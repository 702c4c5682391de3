package h2

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log"
	"maps"
	"net"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/net/http2"

	"github.com/galehttp/gale"
	"github.com/galehttp/gale/tests/harness"
	"github.com/galehttp/gale/tests/harness/await"
	"github.com/galehttp/gale/tests/harness/gate"
	"github.com/galehttp/gale/tests/harness/peers"
)

// TestH2ClientChaos sends requests of all kinds to servers that restart, drain and reset at
// random. Each request is answered rightly or has an error, no POST runs twice, no call is
// stuck, and at the end nothing is left. GALE_SOAK=10m sets how long the test runs.
func TestH2ClientChaos(t *testing.T) {
	long := gate.Form(3000*time.Millisecond, 500*time.Millisecond)
	if v := os.Getenv("GALE_SOAK"); v != "" {
		d, err := time.ParseDuration(v)
		if err != nil {
			t.Fatal(err)
		}
		long = d
	}
	first := newH2Chaos(t)
	first.run(300 * time.Millisecond) // creates what stays for the whole process
	first.stop()
	before := peers.State()
	ch := newH2Chaos(t)
	ch.run(long)
	ch.stop()
	ch.report()
	for end := time.Now().Add(30 * time.Second); ; time.Sleep(50 * time.Millisecond) { // between two looks
		after := peers.State()
		if after.Goroutines <= before.Goroutines && after.Fds <= before.Fds && after.Heap <= before.Heap+8<<20 {
			return
		}
		if time.Now().After(end) {
			t.Errorf("before %+v, after %+v\n%s", before, after, peers.AllStacks())
			return
		}
	}
}

// h2Chaos are the servers, and what happened.
type h2Chaos struct {
	t       *testing.T
	servers []*chaosServerH2
	clear   *gale.Client
	secure  *gale.Client

	ids      atomic.Int64
	answered atomic.Int64
	mu       sync.Mutex
	posts    []byte // for each POST, 1 if it ran
	twice    []string
	failed   map[string]int
	events   map[string]int
}

// chaosServerH2 is a server that restarts. Clients know it by its name.
type chaosServerH2 struct {
	name  string
	tls   bool
	start func(ln net.Listener) (end func(graceful bool))

	mu    sync.Mutex
	ln    net.Listener // nil while it is down
	end   func(graceful bool)
	proxy *cutter
}

func newH2Chaos(t *testing.T) *h2Chaos {
	ch := &h2Chaos{t: t, failed: map[string]int{}, events: map[string]int{}}
	for _, way := range peers.Ways[harness.H2Way]() {
		name := "gale-" + strings.ReplaceAll(way.String(), ",", "-") + ".test"
		ch.servers = append(ch.servers, &chaosServerH2{name: name, tls: way.TLS, start: ch.gale(way)})
	}
	for _, secure := range []bool{false, true} {
		ch.servers = append(ch.servers,
			&chaosServerH2{name: fmt.Sprintf("go-%v.test", secure), tls: secure, start: ch.netHTTP(secure)},
			&chaosServerH2{name: fmt.Sprintf("raw-%v.test", secure), tls: secure, start: ch.raw(secure)})
	}
	for i, s := range ch.servers {
		s.up(ch)
		if i%2 == 0 {
			s.proxy = newCutter(t, s.addr)
		}
	}
	dial := func(addr string) (net.Conn, error) {
		host, _, _ := net.SplitHostPort(addr)
		s := ch.servers[slices.IndexFunc(ch.servers, func(s *chaosServerH2) bool { return s.name == host })]
		if s.proxy != nil {
			return net.Dial("tcp", s.proxy.ln.Addr().String())
		}
		addr = s.addr()
		if addr == "" {
			return nil, errors.New("the server is down")
		}
		return net.Dial("tcp", addr)
	}
	ch.clear = &gale.Client{HTTP2: gale.HTTP2Only, Dial: dial}
	ch.secure = &gale.Client{HTTP2: gale.HTTP2On, Dial: dial, TLSConfig: &tls.Config{InsecureSkipVerify: true}}
	for _, c := range []*gale.Client{ch.clear, ch.secure} {
		c.MaxIdleConnDuration = 100 * time.Millisecond
		c.MaxConnWaitTimeout = time.Minute
	}
	return ch
}

// ran notes that a request runs on a server.
func (ch *h2Chaos) ran(method, path, server string) {
	id, err := strconv.ParseInt(path[1:], 10, 64)
	if err != nil {
		ch.t.Errorf("a server got the path %q", path)
	}
	if method != "POST" {
		return
	}
	ch.mu.Lock()
	defer ch.mu.Unlock()
	for int64(len(ch.posts)) <= id {
		ch.posts = append(ch.posts, make([]byte, 4096)...)
	}
	if ch.posts[id] > 0 {
		ch.twice = append(ch.twice, fmt.Sprintf("%d on %s", id, server))
	}
	ch.posts[id] = 1
}

func (ch *h2Chaos) event(what string) {
	ch.mu.Lock()
	ch.events[what]++
	ch.mu.Unlock()
}

// gale makes a server of Gale that answers while the body still comes.
func (ch *h2Chaos) gale(way harness.H2Way) func(ln net.Listener) func(bool) {
	return func(ln net.Listener) func(bool) {
		s := &gale.Server{Engine: way.Engine, HTTP2: gale.HTTP2Config{H2C: true}, StreamRequestBody: true, Logger: peers.DiscardLog{}}
		if gate.Rand.IntN(2) == 0 {
			s.DrainTime = time.Duration(gate.Rand.IntN(50)) * time.Millisecond
		}
		if gate.Rand.IntN(3) == 0 {
			s.HTTP2.MaxStreams = 1 + gate.Rand.IntN(5)
		}
		if gate.Rand.IntN(3) == 0 {
			s.MaxRequestsPerConn = 1 + gate.Rand.IntN(100)
		}
		s.Handler = func(ctx *gale.RequestCtx) {
			method, path := string(ctx.Method()), string(ctx.Path())
			ch.ran(method, path, way.String())
			switch gate.Rand.IntN(50) {
			case 0:
				time.Sleep(time.Duration(gate.Rand.IntN(5)) * time.Millisecond) // a slow handler
			case 1:
				panic(gale.ErrAbortHandler)
			}
			prefix := strings.NewReader(method + " " + path + " ")
			if body := ctx.RequestBodyStream(); body != nil {
				ctx.SetBodyStream(io.MultiReader(prefix, body), -1)
				return
			}
			ctx.SetBodyStream(prefix, -1)
			if gate.Rand.IntN(2) == 0 {
				ctx.SetBodyString(method + " " + path + " ")
			}
		}
		if way.TLS {
			s.TLSConfig = peers.H2TestTLS(ch.t)
			s.TLSConfig.NextProtos = []string{"h2", "http/1.1"}
		}
		served := make(chan error, 1)
		go func() {
			if way.TLS {
				served <- s.ServeTLS(ln, "", "")
			} else {
				served <- s.Serve(ln)
			}
		}()
		harness.Serving(ch.t, s, 1)
		return func(graceful bool) {
			if graceful {
				ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
				if err := s.ShutdownWithContext(ctx); err != nil {
					ch.event("a shutdown of gale took 10 s")
				}
				cancel()
			}
			s.Close()
			<-served
		}
	}
}

// netHTTP makes a server of net/http.
func (ch *h2Chaos) netHTTP(secure bool) func(ln net.Listener) func(bool) {
	return func(ln net.Listener) func(bool) {
		p := new(http.Protocols)
		p.SetHTTP2(true)
		p.SetUnencryptedHTTP2(true)
		s := &http.Server{Protocols: p, ErrorLog: log.New(io.Discard, "", 0), Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			ch.ran(r.Method, r.URL.Path, fmt.Sprintf("net/http,tls=%v", secure))
			if gate.Rand.IntN(50) == 0 {
				panic(http.ErrAbortHandler)
			}
			fmt.Fprintf(w, "%s %s ", r.Method, r.URL.Path)
			buf := make([]byte, 4096)
			for {
				n, err := r.Body.Read(buf)
				_, _ = w.Write(buf[:n])
				if err == io.EOF {
					return
				}
				if err != nil {
					panic(http.ErrAbortHandler)
				}
				_ = http.NewResponseController(w).Flush()
			}
		})}
		if gate.Rand.IntN(3) == 0 {
			s.HTTP2 = &http.HTTP2Config{MaxConcurrentStreams: 1 + gate.Rand.IntN(5)}
		}
		served := make(chan error, 1)
		go func() {
			if secure {
				s.TLSConfig = peers.H2TestTLS(ch.t)
				served <- s.ServeTLS(ln, "", "")
			} else {
				served <- s.Serve(ln)
			}
		}()
		return func(graceful bool) {
			if graceful {
				ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
				if s.Shutdown(ctx) != nil {
					ch.event("a shutdown of net/http took 10 s")
				}
				cancel()
			}
			_ = s.Close()
			<-served
		}
	}
}

// raw makes a server that ends its connections in every way that there is.
func (ch *h2Chaos) raw(secure bool) func(ln net.Listener) func(bool) {
	return func(ln net.Listener) func(bool) {
		s := peers.NewH2Script(ch.t, ch.rawConn)
		if secure {
			s.TLS = peers.H2TestTLS(ch.t)
		}
		s.Ln = ln
		s.Wg.Go(func() {
			for {
				nc, err := ln.Accept()
				if err != nil {
					return
				}
				s.Serve(nc)
			}
		})
		return func(bool) { s.Stop() }
	}
}

// rawConn serves some requests, and then fails in one of the ways that there are.
func (ch *h2Chaos) rawConn(p *peers.H2Actor) {
	settings := []uint32{}
	if gate.Rand.IntN(3) == 0 {
		settings = append(settings, 3, 1+uint32(gate.Rand.IntN(10)))
	}
	if gate.Rand.IntN(3) == 0 {
		settings = append(settings, 4, 1+uint32(gate.Rand.IntN(1<<17)))
	}
	p.Greet(settings...)
	left, last := 1+gate.Rand.IntN(200), uint32(1<<31-1)
	for r, first := p.Part(); r != nil; r, first = p.Part() {
		if first && gate.Rand.IntN(30) == 0 && r.ID <= last {
			ch.event("refused")
			delete(p.Bodies, r.ID)
			p.Send(peers.H2Reset(r.ID, http2.ErrCodeRefusedStream))
			continue
		}
		if !r.Whole || r.ID > last {
			continue
		}
		ch.ran(r.Method, r.Path, fmt.Sprintf("raw,tls=%v", p.S.TLS != nil))
		if len(r.Body) < 40_000 {
			p.Answer(r.ID, r.Answer())
		} else { // the client's window may be too small
			p.Send(peers.H2Reset(r.ID, http2.ErrCode(gate.Rand.IntN(7)))) // not REFUSED_STREAM: the request ran
			ch.event("reset")
		}
		if left--; left > 0 {
			continue
		}
		switch gate.Rand.IntN(7) {
		case 0:
			ch.event("closed")
			return
		case 1:
			ch.event("broken off")
			p.Reset()
			return
		case 2:
			ch.event("broke the rules")
			p.Send(peers.H2Settings(5, 0))
			p.Hold()
			return
		case 3:
			ch.event("failed")
			p.Send(peers.H2GoAway(r.ID, http2.ErrCode(gate.Rand.IntN(13))))
			return
		case 4:
			ch.event("half a frame")
			p.Send(peers.H2Data(r.ID, 0, strings.Repeat("x", 1000))[:500])
			return
		default:
			ch.event("GOAWAY")
			for id := range p.Bodies {
				if id > r.ID {
					delete(p.Bodies, id)
				}
			}
			last = r.ID
			p.Send(peers.H2GoAway(last, 0))
			if len(p.Bodies) > 0 {
				left = len(p.Bodies)
				continue
			}
			p.Hold()
			return
		}
	}
}

// addr returns where the server listens, or "" while it is down.
func (s *chaosServerH2) addr() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ln == nil {
		return ""
	}
	return s.ln.Addr().String()
}

func (s *chaosServerH2) up(ch *h2Chaos) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		ch.t.Error(err)
		return
	}
	end := s.start(ln)
	s.mu.Lock()
	s.ln, s.end = ln, end
	s.mu.Unlock()
}

// down ends the server. Without early, clients find it until it has ended.
func (s *chaosServerH2) down(graceful, early bool) {
	s.mu.Lock()
	end, ln := s.end, s.ln
	s.end = nil
	if early {
		s.ln = nil
	}
	s.mu.Unlock()
	if end != nil {
		end(graceful)
	}
	s.mu.Lock()
	if s.ln == ln {
		s.ln = nil
	}
	s.mu.Unlock()
}

// run lets clients send for a while.
func (ch *h2Chaos) run(long time.Duration) {
	end := time.Now().Add(long)
	var wg sync.WaitGroup
	wg.Go(func() {
		var restarts sync.WaitGroup
		for time.Now().Before(end) {
			time.Sleep(time.Duration(gate.Rand.IntN(60)) * time.Millisecond) // between two events
			s := ch.servers[gate.Rand.IntN(len(ch.servers))]
			if s.proxy != nil && gate.Rand.IntN(2) == 0 {
				ch.event("cut")
				s.proxy.cutSome(2)
				continue
			}
			if s.addr() == "" {
				continue
			}
			graceful, early := gate.Rand.IntN(3) > 0, gate.Rand.IntN(2) == 0
			ch.event(map[bool]string{true: "shut down", false: "closed at once"}[graceful])
			restarts.Go(func() {
				s.mu.Lock()
				ends := s.end != nil
				s.mu.Unlock()
				if !ends { // another restart is under way
					return
				}
				s.down(graceful, early)
				time.Sleep(time.Duration(gate.Rand.IntN(20)) * time.Millisecond) // calls find no server meanwhile
				s.up(ch)
			})
		}
		restarts.Wait()
	})
	for range 16 {
		wg.Go(func() {
			for time.Now().Before(end) && !ch.t.Failed() {
				ch.request()
			}
		})
	}
	wg.Wait()
}

// request sends a request, and checks what comes of it.
func (ch *h2Chaos) request() {
	s := ch.servers[gate.Rand.IntN(len(ch.servers))]
	c, scheme := ch.clear, "http"
	if s.tls {
		c, scheme = ch.secure, "https"
	}
	method, path := []string{"GET", "POST", "POST", "PUT"}[gate.Rand.IntN(4)], fmt.Sprintf("/%d", ch.ids.Add(1))
	req, resp := gale.AcquireRequest(), gale.AcquireResponse()
	defer gale.ReleaseRequest(req)
	defer gale.ReleaseResponse(resp)
	req.SetRequestURI(scheme + "://" + s.name + path)
	req.Header.SetMethod(method)
	body := []byte(nil)
	if method != "GET" {
		size := gate.Rand.IntN(20_000)
		if gate.Rand.IntN(20) == 0 {
			size = gate.Rand.IntN(500_000)
		}
		body = bytes.Repeat([]byte(path), size/len(path)+1)
		switch gate.Rand.IntN(4) {
		case 0:
			req.SetBodyStream(bytes.NewReader(body), -1)
		case 1:
			req.SetBodyStream(bytes.NewReader(body), len(body))
		default:
			req.SetBody(body)
		}
	}
	resp.StreamBody = gate.Rand.IntN(2) == 0
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	const patience = time.Minute
	limit, gaveUp := patience, false
	switch gate.Rand.IntN(10) {
	case 0:
		limit = time.Duration(1+gate.Rand.IntN(5000)) * time.Microsecond
	case 1:
		gaveUp = true
		defer time.AfterFunc(time.Duration(gate.Rand.IntN(5000))*time.Microsecond, cancel).Stop()
	}
	req.SetTimeout(limit)
	from := time.Now()
	err := c.DoContext(ctx, req, resp)
	got, whole := []byte(nil), true
	switch stream := resp.BodyStream(); {
	case err != nil:
	case stream == nil:
		got = resp.Body()
	case gate.Rand.IntN(4) == 0:
		whole = false
		got = make([]byte, gate.Rand.IntN(20_000))
		n, _ := io.ReadFull(stream, got)
		got = got[:n]
	default:
		got, err = io.ReadAll(stream)
	}
	_ = resp.CloseBodyStream()
	took := time.Since(from)
	want := append([]byte(method+" "+path+" "), body...)
	switch {
	case took > limit+20*time.Second, errors.Is(err, gale.ErrTimeout) && limit == patience:
		ch.t.Errorf("%s %s to %s: stuck for %v: %v", method, path, s.name, took, err)
	case errors.Is(err, context.Canceled) && !gaveUp:
		ch.t.Errorf("%s %s to %s: %v, but the context goes on", method, path, s.name, err)
	case err != nil:
		ch.fail(err)
	case resp.StatusCode() != 200:
		ch.fail(fmt.Errorf("status %d", resp.StatusCode()))
	case whole && !bytes.Equal(got, want), !bytes.HasPrefix(want, got):
		ch.t.Errorf("%s %s to %s: got %d bytes, %.60q, want %d", method, path, s.name, len(got), got, len(want))
	default:
		ch.answered.Add(1)
	}
}

// fail counts an error by its text without numbers.
func (ch *h2Chaos) fail(err error) {
	text := strings.Map(func(r rune) rune {
		if r >= '0' && r <= '9' {
			return '#'
		}
		return r
	}, err.Error())
	for strings.Contains(text, "##") {
		text = strings.ReplaceAll(text, "##", "#")
	}
	ch.mu.Lock()
	ch.failed[text]++
	ch.mu.Unlock()
}

func (ch *h2Chaos) stop() {
	ch.clear.CloseIdleConnections()
	ch.secure.CloseIdleConnections()
	for _, s := range ch.servers {
		if s.proxy != nil {
			s.proxy.stop()
		}
		s.down(false, false)
	}
	for _, c := range []*gale.Client{ch.clear, ch.secure} {
		c.CloseIdleConnections()
		await.Until(ch.t, "the client to have no connections", func() bool { return c.ConnsCount() == 0 })
	}
}

// report checks the sums.
func (ch *h2Chaos) report() {
	ch.mu.Lock()
	defer ch.mu.Unlock()
	if len(ch.twice) > 0 {
		ch.t.Errorf("%d POSTs ran twice: %.500q", len(ch.twice), ch.twice)
	}
	total, failed := ch.ids.Load(), 0
	for _, n := range ch.failed {
		failed += n
	}
	ch.t.Logf("%d requests, %d answered, %d failed; %v", total, ch.answered.Load(), failed, ch.events)
	for _, text := range slices.Sorted(maps.Keys(ch.failed)) {
		ch.t.Logf("%7d %.200s", ch.failed[text], text)
	}
	if ch.answered.Load() < total/10 { // the events have times, so a slow machine answers fewer
		ch.t.Errorf("too few answers: the test doesn't do what it should")
	}
}
