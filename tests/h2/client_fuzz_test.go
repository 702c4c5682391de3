package h2

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/net/http2"

	"github.com/galehttp/gale"
	"github.com/galehttp/gale/internal/door"
	"github.com/galehttp/gale/internal/pool"
	"github.com/galehttp/gale/internal/race"
	"github.com/galehttp/gale/tests/harness"
	"github.com/galehttp/gale/tests/harness/await"
	"github.com/galehttp/gale/tests/harness/gate"
	"github.com/galehttp/gale/tests/harness/peers"
)

// h2ChaosServer answers each request with its path, its canary and its body, or does what
// servers do: it refuses, resets, goes away, waits, or is lost. A POST that it processes
// twice is an error, and so is a request with the canary of another one.
func h2ChaosServer(t *testing.T, acted *sync.Map) *peers.H2Peer {
	return peers.NewH2Peer(t, func(c *peers.H2PeerConn, _ int) {
		c.Hello(http2.Setting{ID: http2.SettingMaxConcurrentStreams, Val: 5}, http2.Setting{ID: http2.SettingInitialWindowSize, Val: 5000})
		type open struct{ method, path, canary, body string }
		streams := map[uint32]*open{}
		highest, last := uint32(0), uint32(1<<31-1) // processed; to be processed
		act := func(id uint32, s *open) {
			delete(streams, id)
			if id > last {
				return
			}
			dice := gate.Rand.IntN(100)
			if dice == 0 { // not processed
				_ = c.Fr.WriteRSTStream(id, http2.ErrCodeRefusedStream)
				return
			}
			if s.body != "" && s.body != strings.Repeat(s.canary, len(s.body)/len(s.canary)) {
				t.Errorf("the body of %s is %.100q", s.canary, s.body)
			}
			if n, _ := acted.LoadOrStore(s.path, new(atomic.Int32)); n.(*atomic.Int32).Add(1) > 1 && s.method == "POST" {
				t.Errorf("%s %s was processed twice", s.method, s.path)
			}
			highest = max(highest, id)
			switch {
			case dice == 1:
				_ = c.Fr.WriteRSTStream(id, http2.ErrCodeInternal)
				return
			case dice == 2:
				c.Close()
				return
			case dice == 3: // no answer
				return
			case dice == 4:
				last = highest
				_ = c.Fr.WriteGoAway(last, http2.ErrCodeNo, nil)
			case dice == 5:
				c.Head(id, "200", false, "x-canary", s.canary)
				_ = c.Fr.WriteRSTStream(id, http2.ErrCodeCancel)
				return
			case dice == 6:
				time.Sleep(time.Millisecond) // a slow server
			case dice < 20:
				c.Head(id, "103", false, "x-canary", s.canary)
			}
			c.Head(id, "200", false, "x-canary", s.canary)
			body := s.path + " " + s.body
			for len(body) > 3000 {
				c.Data(id, body[:3000], false)
				body = body[3000:]
			}
			if dice < 50 {
				c.Data(id, body, false)
				c.Trailers(id, "x-trailer", s.canary)
				return
			}
			c.Data(id, body, true)
		}
		for {
			switch f := c.Next().(type) {
			case nil:
				return
			case *http2.MetaHeadersFrame:
				s := &open{method: f.PseudoValue("method"), path: f.PseudoValue("path")}
				for _, x := range f.RegularFields() {
					if x.Name == "x-canary" {
						s.canary = x.Value
					}
				}
				if "/"+s.canary != s.path {
					t.Errorf("%s came with the canary of %s", s.path, s.canary)
				}
				if streams[f.StreamID] = s; f.StreamEnded() {
					act(f.StreamID, s)
				}
			case *http2.DataFrame:
				n := uint32(len(f.Data()))
				if s := streams[f.StreamID]; s != nil {
					if s.body += string(f.Data()); f.StreamEnded() {
						act(f.StreamID, s)
					} else if n > 0 {
						_ = c.Fr.WriteWindowUpdate(f.StreamID, n)
					}
				}
				if n > 0 {
					_ = c.Fr.WriteWindowUpdate(0, n)
				}
			case *http2.RSTStreamFrame:
				delete(streams, f.StreamID)
			}
		}
	})
}

// TestHTTP2ClientChaos lets callers do everything that callers may do, against a server that
// does everything that servers may do: no caller gets a byte of another one's response, no
// POST is processed twice, every call returns, and nothing is left.
func TestHTTP2ClientChaos(t *testing.T) {
	peers.WithoutEngine(t)
	peers.UsedAgain(t)
	before := runtime.NumGoroutine()
	t.Run("", func(t *testing.T) {
		var acted sync.Map
		p := h2ChaosServer(t, &acted)
		c := harness.PeerClient(p)
		c.MaxConns, c.MaxConnWaitTimeout = 3, time.Minute
		c.MaxIdemponentCallAttempts = 20
		var served, failed atomic.Int32
		var wg sync.WaitGroup
		for i := range 16 {
			wg.Go(func() {
				for n := range race.Fewer(200) {
					if err := chaosCall(t, c, p.Addr, fmt.Sprintf("u%dn%d.", i, n)); err != nil {
						failed.Add(1)
					} else {
						served.Add(1)
					}
				}
			})
		}
		wg.Wait()
		if served.Load() == 0 || failed.Load() == 0 {
			t.Errorf("%d served, %d failed", served.Load(), failed.Load())
		}
		await.Until(t, "all calls to end", func() bool { return c.PendingRequests() == 0 })
		c.CloseIdleConnections()
		await.Until(t, "all connections to end", func() bool { return c.ConnsCount() == 0 })
		if n := door.WaitingCalls(c); n != 0 {
			t.Errorf("%d calls wait", n)
		}
	})
	await.Gone(t, "goroutines", func() bool { return runtime.NumGoroutine() <= before+2 })
}

// chaosCall sends one request in a random way, and checks what comes back.
func chaosCall(t *testing.T, c *gale.HostClient, addr, canary string) (err error) {
	req, resp := gale.AcquireRequest(), gale.AcquireResponse()
	defer gale.ReleaseRequest(req)
	defer gale.ReleaseResponse(resp)
	req.SetRequestURI("http://" + addr + "/" + canary)
	req.Header.Set("X-Canary", canary)
	method := []string{"GET", "POST", "PUT"}[gate.Rand.IntN(3)]
	req.Header.SetMethod(method)
	body := ""
	if method != "GET" {
		body = strings.Repeat(canary, gate.Rand.IntN(3000))
		if req.SetBodyString(body); gate.Rand.IntN(3) == 0 {
			req.SetBodyStream(peers.H2PlainReader{R: strings.NewReader(body)}, -1)
		}
	}
	resp.StreamBody = gate.Rand.IntN(3) == 0
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	switch gate.Rand.IntN(4) {
	case 0:
		err = c.DoTimeout(req, resp, time.Duration(gate.Rand.IntN(5000)+1)*time.Microsecond)
	case 1:
		timer := time.AfterFunc(time.Duration(gate.Rand.IntN(5000))*time.Microsecond, cancel)
		defer timer.Stop()
		err = c.DoContext(ctx, req, resp)
	default:
		err = c.DoTimeout(req, resp, time.Second)
	}
	if err != nil {
		if len(resp.Body()) > 0 || len(resp.Header.Peek("X-Canary")) > 0 {
			t.Errorf("after %v a part of a response is left: %v", err, resp)
		}
		return err
	}
	var got []byte
	if r := resp.BodyStream(); r != nil {
		if gate.Rand.IntN(3) == 0 { // it isn't read
			return nil
		}
		if got, err = io.ReadAll(r); err != nil {
			return err
		}
	} else {
		got = resp.Body()
	}
	if want := "/" + canary + " " + body; string(got) != want || string(resp.Header.Peek("X-Canary")) != canary {
		t.Errorf("%s: %q, %.100q", canary, resp.Header.Peek("X-Canary"), got)
	}
	if s := string(resp.Header.Peek("X-Trailer")); s != "" && s != canary {
		t.Errorf("%s: the trailer is %q", canary, s)
	}
	return nil
}

// FuzzH2Client gives a client any bytes as what a server sends to three requests. Every call
// returns, no response has bytes of another use of the memory, and no connection is left.
// With greet, the server first sends SETTINGS and waits until all requests have come.
func FuzzH2Client(f *testing.F) {
	p := &peers.H2Actor{S: peers.NewH2Script(f, nil)}
	add := func(greet bool, parts func() []string) {
		p.Init()
		f.Add([]byte(strings.Join(parts(), "")), greet, false)
		p.Init()
		f.Add([]byte(strings.Join(parts(), "")), greet, true)
	}
	add(true, func() []string {
		return []string{p.Ok(1), peers.H2Data(1, peers.H2End, "one"), p.Ok(3), peers.H2Data(3, peers.H2End, "three"), p.Head(5, peers.H2End, ":status", "204")}
	})
	add(true, func() []string {
		return []string{p.Head(5, 0, ":status", "103", "link", "</a>"), p.Ok(3, "content-length", "5"), peers.H2Data(3, 0, "th"), p.Ok(5, "x-a", "b"),
			peers.H2Window(0, 100), peers.H2Data(5, http2.FlagDataPadded, "\x02five\x00\x00"), peers.H2Data(3, peers.H2End, "ree"), p.Head(5, peers.H2End, "x-t", "1"), peers.H2GoAway(5, 0), p.Head(1, peers.H2End, ":status", "304")}
	})
	add(true, func() []string {
		return []string{peers.H2Reset(1, http2.ErrCodeRefusedStream), peers.H2Reset(3, http2.ErrCodeCancel), peers.H2GoAway(3, 0)}
	})
	add(true, func() []string {
		return []string{peers.H2Wire(1, 0, 1, p.Fields(":status", "200")), peers.H2Wire(9, 4, 1, p.Fields("x", "y")), peers.H2Data(1, 0, ""), peers.H2Settings(1, 0, 4, 0, 3, 1), peers.H2Wire(6, 0, 0, "12345678"), peers.H2Data(1, peers.H2End, "x")}
	})
	add(false, func() []string {
		return []string{peers.H2Settings(3, 1, 4, 10), p.Ok(1), peers.H2Data(1, peers.H2End, "one"), p.Ok(3), peers.H2Data(3, peers.H2End, "three")}
	})
	add(false, func() []string { return []string{"HTTP/1.1 400 Bad Request\r\n\r\n"} })
	add(false, func() []string { return []string{peers.H2Settings(5, 0)} })

	const secret = "SECRET-OF-ANOTHER-USER-"
	f.Fuzz(func(t *testing.T, in []byte, greet, stream bool) {
		for n := pool.MinSize; n <= 1<<16; n *= 2 {
			b := pool.Get(n)
			b.B = append(b.B[:0], bytes.Repeat([]byte(secret), n/len(secret))...)
			pool.Put(b)
		}
		all := make(chan struct{})
		var once sync.Once
		s := peers.NewH2Script(t, nil)
		s.Play = func(p *peers.H2Actor) {
			if !p.Preface() {
				return
			}
			if greet {
				p.Send(peers.H2Settings())
			}
			gone := make(chan struct{})
			go func() {
				defer close(gone)
				for p.Asked() != nil {
					if s.Requests.Load() >= 3 {
						once.Do(func() { close(all) })
					}
				}
			}()
			if greet {
				select {
				case <-all:
				case <-gone:
				}
			}
			p.Send(string(in))
			p.Close()
			<-gone
		}
		c := harness.ScriptClient(s)
		c.MaxResponseBodySize = 1 << 20
		c.StreamResponseBody = stream
		c.MaxIdemponentCallAttempts = 2
		var wg sync.WaitGroup
		for _, method := range []string{"GET", "HEAD", "POST"} {
			wg.Go(func() {
				req, resp := &gale.Request{}, &gale.Response{}
				req.SetRequestURI("http://a.test/")
				req.Header.SetMethod(method)
				if method == "POST" {
					req.SetBodyString(strings.Repeat("b", 100))
				}
				err := c.Do(req, resp)
				got := resp.Header.String()
				if err == nil && resp.IsBodyStream() {
					b, _ := io.ReadAll(resp.BodyStream())
					got += string(b)
				} else {
					got += string(resp.Body())
				}
				got += fmt.Sprint(err, resp.Header.PeekTrailerKeys())
				if strings.Contains(got, "ANOTHER") && !bytes.Contains(in, []byte("ANOTHER")) {
					t.Errorf("a response to %s has bytes of another use: %q", method, got)
				}
				if err != nil {
					harness.CheckEmpty(t, resp)
				}
				if method == "HEAD" && err == nil && len(resp.Body()) > 0 {
					t.Errorf("a response to HEAD has a body")
				}
				resp.Reset()
			})
		}
		peers.Within(t, "all calls", wg.Wait)
		c.CloseIdleConnections()
		s.WantClosed(c)
		s.Stop()
	})
}
