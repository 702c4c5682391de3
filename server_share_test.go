package gale

import (
	"bytes"
	"io"
	"math/rand/v2"
	"net"
	"runtime"
	"testing"
	"time"

	"github.com/galehttp/gale/internal/engine"
	"github.com/galehttp/gale/internal/engine/enginetest"
)

// A protocol whose sessions share their connections while handlers run.

// streamsSession is enginetest.Streams as a protocol of a Server.
type streamsSession struct {
	serverConn
	enginetest.Streams
	past  bool
	freed bool
}

func (ss *streamsSession) Open(c engine.Conn, next *engine.Next) {
	ss.begin(c)
	ss.Streams.Open(c, next)
}

func (ss *streamsSession) Feed(w *engine.Work, next *engine.Next) {
	if b := w.Unread(); !ss.past && len(b) > 0 {
		ss.past = true
		if bytes.HasPrefix(b, []byte(toyPreface)) {
			w.Consume(len(toyPreface))
		}
	}
	ss.Streams.Feed(w, next)
}

func (ss *streamsSession) Panicked(r any) { ss.serverConn.Panicked(r) }

func (ss *streamsSession) Closed(err error) {
	ss.Streams.Closed(err)
	ss.end(err)
}

func (ss *streamsSession) free() {
	if ss.Running() != 0 || ss.freed {
		ss.Wrong("the session was given back while calls of it run, or twice")
	}
	ss.freed = true
}

// onShareServers is onToyServers for sessions that share, without a greeting. With
// unwinds they don't recover panics of handlers.
func onShareServers(t *testing.T, unwinds bool, answer func(st *enginetest.Stream, p []byte) []byte, f func(t *testing.T, s *Server, dial func() net.Conn, opening string)) {
	onProtocol(t, func(s *Server) {
		s.protocols = append(s.protocols, protocol{alpn: "toy", preface: toyPreface, session: func() serverSession {
			ss := new(streamsSession)
			ss.Answer, ss.Panics, ss.Wrong = answer, unwinds, func(what string) { t.Error(what) }
			return ss
		}})
	}, f)
}

// Whichever goroutines serve a connection, its end is counted once, and its session is
// given back only when no call of it runs.
func TestShareOnServers(t *testing.T) {
	onShareServers(t, false, func(st *enginetest.Stream, p []byte) []byte {
		switch rand.IntN(6) {
		case 0:
			time.Sleep(time.Duration(rand.IntN(1000)) * time.Microsecond)
		case 1:
			st.PassOn()
		case 2:
			runtime.Gosched()
		}
		return p
	}, func(t *testing.T, _ *Server, dial func() net.Conn, opening string) {
		for i := range 5 {
			c := dial()
			wire, payloads := toyFrames(100, 50)
			c.Write(append([]byte(opening), wire...))
			if i == 4 { // the client leaves in the middle
				c.Close()
				break
			}
			seen := make([]bool, len(payloads))
			for range payloads {
				id, p, err := enginetest.ReadFrame(c)
				if err != nil || seen[id] || !bytes.Equal(p, payloads[id]) {
					t.Fatalf("answer %d is %.20q, %v; it came before: %v", id, p, err, seen[id])
				}
				seen[id] = true
			}
			if i%2 == 0 {
				time.Sleep(150 * time.Millisecond) // the connection is parked
				c.Write(enginetest.AppendFrame(nil, 0, []byte("x")))
				if _, p, err := enginetest.ReadFrame(c); err != nil || string(p) != "x" {
					t.Fatalf("got %q, %v after a rest", p, err)
				}
			}
			c.Close()
		}
	})
}

// Goroutines of a connection may end in the middle, by a panic, which ends the
// connection, or by runtime.Goexit. The end of the connection is still counted once.
func TestShareUnwindsOnServers(t *testing.T) {
	for _, how := range []string{"panic", "goexit"} {
		begun, release := make(chan struct{}, 10), make(chan chan struct{}, 10)
		onShareServers(t, true, func(_ *enginetest.Stream, p []byte) []byte {
			if string(p) != "end" {
				return p
			}
			r := make(chan struct{})
			release <- r
			begun <- struct{}{}
			<-r
			if how == "panic" {
				panic("handler")
			}
			runtime.Goexit()
			return nil
		}, func(t *testing.T, s *Server, dial func() net.Conn, opening string) {
			for n := range 4 {
				c := dial()
				c.Write([]byte(opening))
				for range n {
					c.Write(enginetest.AppendFrame(nil, 1, []byte("end")))
					<-begun
				}
				c.Write(enginetest.AppendFrame(nil, 2, []byte("x")))
				if _, p, err := enginetest.ReadFrame(c); err != nil || string(p) != "x" {
					t.Fatalf("got %q, %v", p, err)
				}
				for range n {
					close(<-release)
				}
				if how == "goexit" {
					c.Write(enginetest.AppendFrame(nil, 3, []byte("y")))
					if _, p, err := enginetest.ReadFrame(c); err != nil || string(p) != "y" {
						t.Fatalf("got %q, %v", p, err)
					}
				} else if n > 0 {
					if _, err := io.ReadAll(c); err != nil {
						t.Logf("%v", err) // a reset, or the end
					}
				}
				c.Close()
				await(t, "the connection to be counted out", func() bool { return s.Stats().OpenConnections == 0 })
			}
		})
	}
}
