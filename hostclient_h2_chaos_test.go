package gale

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/galehttp/gale/internal/race"
	"golang.org/x/net/http2"
)

// h2ChaosServer answers each request with its path, its canary and its body, or does what
// servers do: it refuses, resets, goes away, waits, or is lost. A POST that it processes
// twice is an error, and so is a request with the canary of another one.
func h2ChaosServer(t *testing.T, acted *sync.Map) *h2Peer {
	return newH2Peer(t, func(c *h2PeerConn, _ int) {
		c.hello(http2.Setting{ID: http2.SettingMaxConcurrentStreams, Val: 5}, http2.Setting{ID: http2.SettingInitialWindowSize, Val: 5000})
		type open struct{ method, path, canary, body string }
		streams := map[uint32]*open{}
		highest, last := uint32(0), uint32(1<<31-1) // processed; to be processed
		act := func(id uint32, s *open) {
			delete(streams, id)
			if id > last {
				return
			}
			dice := rand.IntN(100)
			if dice == 0 { // not processed
				_ = c.fr.WriteRSTStream(id, http2.ErrCodeRefusedStream)
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
				_ = c.fr.WriteRSTStream(id, http2.ErrCodeInternal)
				return
			case dice == 2:
				c.Close()
				return
			case dice == 3: // no answer
				return
			case dice == 4:
				last = highest
				_ = c.fr.WriteGoAway(last, http2.ErrCodeNo, nil)
			case dice == 5:
				c.head(id, "200", false, "x-canary", s.canary)
				_ = c.fr.WriteRSTStream(id, http2.ErrCodeCancel)
				return
			case dice == 6:
				time.Sleep(time.Millisecond)
			case dice < 20:
				c.head(id, "103", false, "x-canary", s.canary)
			}
			c.head(id, "200", false, "x-canary", s.canary)
			body := s.path + " " + s.body
			for len(body) > 3000 {
				c.data(id, body[:3000], false)
				body = body[3000:]
			}
			if dice < 50 {
				c.data(id, body, false)
				c.trailers(id, "x-trailer", s.canary)
				return
			}
			c.data(id, body, true)
		}
		for {
			switch f := c.next().(type) {
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
						_ = c.fr.WriteWindowUpdate(f.StreamID, n)
					}
				}
				if n > 0 {
					_ = c.fr.WriteWindowUpdate(0, n)
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
	withoutEngine(t)
	usedAgain(t)
	before := runtime.NumGoroutine()
	t.Run("", func(t *testing.T) {
		var acted sync.Map
		p := h2ChaosServer(t, &acted)
		c := p.client()
		c.MaxConns, c.MaxConnWaitTimeout = 3, time.Minute
		c.MaxIdemponentCallAttempts = 20
		var served, failed atomic.Int32
		var wg sync.WaitGroup
		for i := range 16 {
			wg.Go(func() {
				for n := range race.Fewer(200) {
					if err := chaosCall(t, c, p.addr, fmt.Sprintf("u%dn%d.", i, n)); err != nil {
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
		await(t, "all calls to end", func() bool { return c.PendingRequests() == 0 })
		c.CloseIdleConnections()
		await(t, "all connections to end", func() bool { return c.ConnsCount() == 0 })
		if n := c.h2.waiting.Load(); n != 0 {
			t.Errorf("%d calls wait", n)
		}
	})
	await(t, "all goroutines to end", func() bool { return runtime.NumGoroutine() <= before+2 })
}

// chaosCall sends one request in a random way, and checks what comes back.
func chaosCall(t *testing.T, c *HostClient, addr, canary string) (err error) {
	req, resp := AcquireRequest(), AcquireResponse()
	defer ReleaseRequest(req)
	defer ReleaseResponse(resp)
	req.SetRequestURI("http://" + addr + "/" + canary)
	req.Header.Set("X-Canary", canary)
	method := []string{"GET", "POST", "PUT"}[rand.IntN(3)]
	req.Header.SetMethod(method)
	body := ""
	if method != "GET" {
		body = strings.Repeat(canary, rand.IntN(3000))
		if req.SetBodyString(body); rand.IntN(3) == 0 {
			req.SetBodyStream(h2PlainReader{strings.NewReader(body)}, -1)
		}
	}
	resp.StreamBody = rand.IntN(3) == 0
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	switch rand.IntN(4) {
	case 0:
		err = c.DoTimeout(req, resp, time.Duration(rand.IntN(5000)+1)*time.Microsecond)
	case 1:
		timer := time.AfterFunc(time.Duration(rand.IntN(5000))*time.Microsecond, cancel)
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
		if rand.IntN(3) == 0 { // it isn't read
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
