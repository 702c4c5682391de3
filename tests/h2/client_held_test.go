package h2

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/http2"

	"github.com/galehttp/gale"
	"github.com/galehttp/gale/internal/h2"
	"github.com/galehttp/gale/tests/harness"
	"github.com/galehttp/gale/tests/harness/peers"
)

// TestH2ResponsesHeld proves that what a server may send of responses that are collected is
// bounded for the connection: the first window of each, what all windows may grow by, and the
// rest of one response. When one has ended, the next one goes on.
func TestH2ResponsesHeld(t *testing.T) {
	const (
		streams = 40
		length  = 2 << 20 // of a response
		most    = streams*h2.DefaultStreamWindow + h2.DefaultConnWindow + length
	)
	for _, known := range []bool{true, false} {
		t.Run(fmt.Sprintf("length known %v", known), func(t *testing.T) {
			held := make(chan int, 1)
			peer := peers.NewH2Peer(t, func(c *peers.H2PeerConn, _ int) {
				c.Hello()
				s := h2Fill{c: c, window: map[uint32]int{0: 65535}, left: map[uint32]int{}}
				for len(s.left) < streams {
					if id := s.read(); id != 0 {
						s.left[id] = length
						if known {
							c.Head(id, "200", false, "content-length", fmt.Sprint(length))
						} else {
							c.Head(id, "200", false)
						}
					}
				}
				sent := s.sendAll(1) // and keeps the last byte of each
				held <- sent
				for len(s.left) > 0 {
					s.sendAll(0)
				}
				c.Hold()
			})
			c := harness.PeerClient(peer)
			c.MaxConns = 1
			ended := make(chan error, streams)
			for range streams {
				go func() {
					resp := &gale.Response{}
					req := &gale.Request{}
					req.SetRequestURI("http://a/")
					err := c.DoTimeout(req, resp, time.Minute)
					if err == nil && len(resp.Body()) != length {
						err = fmt.Errorf("%d bytes", len(resp.Body()))
					}
					ended <- err
				}()
			}
			if n := <-held; n > most {
				t.Errorf("the server could send %d bytes, want at most %d", n, most)
			}
			for range streams {
				if err := <-ended; err != nil {
					t.Error(err)
				}
			}
		})
	}
}

// h2Fill sends responses as far as the client lets it.
type h2Fill struct {
	c      *peers.H2PeerConn
	window map[uint32]int // by stream, 0 for the connection
	left   map[uint32]int // by stream: what was not sent
	acks   int
}

// read reads a frame. It returns the stream of a new request, or 0.
func (s *h2Fill) read() uint32 {
	switch f := s.c.Next().(type) {
	case nil: // the client has gone
		runtime.Goexit()
	case *http2.MetaHeadersFrame:
		s.window[f.StreamID] = h2.DefaultStreamWindow
		return f.StreamID
	case *http2.WindowUpdateFrame:
		s.window[f.StreamID] += int(f.Increment)
	case *http2.PingFrame:
		s.acks++
	}
	return 0
}

// sendAll sends until the client gives no more room, and keeps so many bytes of each response. It
// returns how many bytes it has sent.
func (s *h2Fill) sendAll(keep int) (sent int) {
	for more := true; more; {
		more = false
		for id, left := range s.left {
			n := min(left-keep, s.window[id], s.window[0], 16<<10)
			if n <= 0 {
				continue
			}
			s.c.Data(id, strings.Repeat("x", n), n == left)
			s.window[id] -= n
			s.window[0] -= n
			if s.left[id] -= n; s.left[id] == 0 {
				delete(s.left, id)
			}
			sent += n
			more = true
		}
		acks := s.acks
		_ = s.c.Fr.WritePing(false, [8]byte{})
		for s.acks == acks {
			s.read()
		}
	}
	return sent
}
