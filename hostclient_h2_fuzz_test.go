package gale

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"

	"golang.org/x/net/http2"

	"github.com/galehttp/gale/internal/pool"
)

// FuzzH2Client gives a client any bytes as what a server sends to three requests. Every call
// returns, no response has bytes of another use of the memory, and no connection is left.
// With greet, the server first sends SETTINGS and waits until all requests have come.
func FuzzH2Client(f *testing.F) {
	p := &h2Actor{s: newH2Script(f, nil)}
	add := func(greet bool, parts func() []string) {
		p.init()
		f.Add([]byte(strings.Join(parts(), "")), greet, false)
		p.init()
		f.Add([]byte(strings.Join(parts(), "")), greet, true)
	}
	add(true, func() []string {
		return []string{p.ok(1), h2Data(1, h2End, "one"), p.ok(3), h2Data(3, h2End, "three"), p.head(5, h2End, ":status", "204")}
	})
	add(true, func() []string {
		return []string{p.head(5, 0, ":status", "103", "link", "</a>"), p.ok(3, "content-length", "5"), h2Data(3, 0, "th"), p.ok(5, "x-a", "b"),
			h2Window(0, 100), h2Data(5, http2.FlagDataPadded, "\x02five\x00\x00"), h2Data(3, h2End, "ree"), p.head(5, h2End, "x-t", "1"), h2GoAway(5, 0), p.head(1, h2End, ":status", "304")}
	})
	add(true, func() []string {
		return []string{h2Reset(1, http2.ErrCodeRefusedStream), h2Reset(3, http2.ErrCodeCancel), h2GoAway(3, 0)}
	})
	add(true, func() []string {
		return []string{h2Wire(1, 0, 1, p.fields(":status", "200")), h2Wire(9, 4, 1, p.fields("x", "y")), h2Data(1, 0, ""), h2Settings(1, 0, 4, 0, 3, 1), h2Wire(6, 0, 0, "12345678"), h2Data(1, h2End, "x")}
	})
	add(false, func() []string {
		return []string{h2Settings(3, 1, 4, 10), p.ok(1), h2Data(1, h2End, "one"), p.ok(3), h2Data(3, h2End, "three")}
	})
	add(false, func() []string { return []string{"HTTP/1.1 400 Bad Request\r\n\r\n"} })
	add(false, func() []string { return []string{h2Settings(5, 0)} })

	const secret = "SECRET-OF-ANOTHER-USER-"
	f.Fuzz(func(t *testing.T, in []byte, greet, stream bool) {
		for n := pool.MinSize; n <= 1<<16; n *= 2 {
			b := pool.Get(n)
			b.B = append(b.B[:0], bytes.Repeat([]byte(secret), n/len(secret))...)
			pool.Put(b)
		}
		all := make(chan struct{})
		var once sync.Once
		s := newH2Script(t, nil)
		s.play = func(p *h2Actor) {
			if !p.preface() {
				return
			}
			if greet {
				p.send(h2Settings())
			}
			gone := make(chan struct{})
			go func() {
				defer close(gone)
				for p.asked() != nil {
					if s.requests.Load() >= 3 {
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
			p.send(string(in))
			p.Close()
			<-gone
		}
		c := s.client()
		c.MaxResponseBodySize = 1 << 20
		c.StreamResponseBody = stream
		c.MaxIdemponentCallAttempts = 2
		var wg sync.WaitGroup
		for _, method := range []string{"GET", "HEAD", "POST"} {
			wg.Go(func() {
				req, resp := &Request{}, &Response{}
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
					checkEmpty(t, resp)
				}
				if method == "HEAD" && err == nil && len(resp.bodyBytes()) > 0 {
					t.Errorf("a response to HEAD has a body")
				}
				resp.Reset()
			})
		}
		within(t, "all calls", wg.Wait)
		c.CloseIdleConnections()
		s.wantClosed(c)
		s.stop()
	})
}
