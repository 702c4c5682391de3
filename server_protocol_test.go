package gale

import (
	"bytes"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/galehttp/gale/internal/engine"
	"github.com/galehttp/gale/internal/engine/enginetest"
	"github.com/galehttp/gale/tests/harness/await"
	"github.com/galehttp/gale/tests/harness/gate"
	"github.com/galehttp/gale/tests/harness/peers"
)

// Another protocol in addition to HTTP/1.1, by the interfaces that the server has for
// that: a toy that echoes frames.

// toySession is the toy protocol as a protocol of a Server.
type toySession struct {
	serverConn
	toy enginetest.Toy
}

func (ss *toySession) Open(c engine.Conn, next *engine.Next) {
	ss.begin(c)
	ss.toy.Open(c, next)
}
func (ss *toySession) Feed(w *engine.Work, next *engine.Next) { ss.toy.Feed(w, next) }
func (ss *toySession) Stall(w *engine.Work, why error, next *engine.Next) {
	ss.toy.Stall(w, why, next)
}
func (ss *toySession) Hijacked(c net.Conn) { c.Close() }
func (ss *toySession) Closed(err error)    { ss.end(err) }
func (ss *toySession) free()               {}

// toyPreface is how a client begins the toy protocol.
const toyPreface = "TOY * 1\n"

// addToy makes s speak the toy protocol. After a switch the toy session would take the
// preface for a frame of 0x544f bytes, so the first session drops it.
func addToy(s *Server, answer func([]byte) []byte) { addParting(s, answer, "") }

// addParting is addToy with a farewell.
func addParting(s *Server, answer func([]byte) []byte, farewell string) {
	s.protocols = append(s.protocols, protocol{alpn: "toy", preface: toyPreface, session: func() serverSession {
		return &prefacedToy{toySession: toySession{toy: enginetest.Toy{Answer: answer, Greeting: "hello", Farewell: farewell}}}
	}})
}

// prefacedToy is a toySession that removes the preface, if there is one.
type prefacedToy struct {
	toySession
	past bool
}

func (ss *prefacedToy) Feed(w *engine.Work, next *engine.Next) {
	if b := w.Unread(); !ss.past && len(b) > 0 {
		ss.past = true
		if bytes.HasPrefix(b, []byte(toyPreface)) {
			w.Consume(len(toyPreface))
		}
	}
	ss.toySession.Feed(w, next)
}

// anyOrder returns p after a random time, so that answers come in any order.
func anyOrder(p []byte) []byte {
	for range gate.Rand.IntN(20) {
		runtime.Gosched()
	}
	return p
}

// toyFrames returns n frames as bytes, and their payloads by number.
func toyFrames(n, size int) (wire []byte, payloads [][]byte) {
	for i := range n {
		p := bytes.Repeat([]byte{byte(i)}, gate.Rand.IntN(size))
		payloads = append(payloads, p)
		wire = enginetest.AppendFrame(wire, uint16(i), p)
	}
	return wire, payloads
}

// wantToy reads the greeting and an answer to each of the payloads.
func wantToy(t *testing.T, r io.Reader, payloads [][]byte) {
	t.Helper()
	hello := make([]byte, 5)
	if _, err := io.ReadFull(r, hello); err != nil || string(hello) != "hello" {
		t.Fatalf("got %q, %v, want the greeting", hello, err)
	}
	seen := make([]bool, len(payloads))
	for i := range payloads {
		id, p, err := enginetest.ReadFrame(r)
		if err != nil {
			t.Fatalf("after %d of %d answers: %v", i, len(payloads), err)
		}
		if int(id) >= len(seen) || seen[id] || !bytes.Equal(p, payloads[id]) {
			t.Fatalf("answer %d is %.20q; it came before: %v", id, p, seen[id])
		}
		seen[id] = true
	}
}

// onToyServers runs f for each engine and for each way to begin the toy protocol. dial
// returns a connection on which frames may be sent after opening was sent.
func onToyServers(t *testing.T, answer func([]byte) []byte, f func(t *testing.T, s *Server, dial func() net.Conn, opening string)) {
	onProtocol(t, func(s *Server) { addToy(s, answer) }, f)
}

// onProtocol is onToyServers for the protocol that add adds to a server.
func onProtocol(t *testing.T, add func(s *Server), f func(t *testing.T, s *Server, dial func() net.Conn, opening string)) {
	for _, way := range []string{"preface", "preface over TLS", "ALPN"} {
		t.Run(way, func(t *testing.T) {
			peers.OnEngines(t, func(t *testing.T, e Engine) {
				s := &Server{Engine: e, Handler: echo, MaxConnsPerIP: 100}
				add(s)
				var addr string
				if way == "preface" {
					addr = startServer(t, s, nil).Addr
				} else {
					addr = startTLS(t, s)
				}
				cfg := &tls.Config{InsecureSkipVerify: true}
				opening := toyPreface
				if way == "ALPN" {
					cfg.NextProtos, opening = []string{"toy", "http/1.1"}, ""
				}
				dials := uint64(0)
				f(t, s, func() net.Conn {
					c, err := net.Dial("tcp", addr)
					if err != nil {
						t.Fatal(err)
					}
					dials++
					t.Cleanup(func() { c.Close() })
					c.SetDeadline(time.Now().Add(time.Minute))
					if way != "preface" {
						c = tls.Client(c, cfg)
					}
					return c
				}, opening)
				await.Until(t, "all connections to be counted, and counted out", func() bool {
					st := s.Stats()
					return st.AcceptedConnections == dials && st.OpenConnections == 0
				})
				s.perIP.mu.Lock()
				defer s.perIP.mu.Unlock()
				if len(s.perIP.n) > 0 {
					t.Errorf("addresses still count connections: %v", s.perIP.n)
				}
			})
		})
	}
}

// In whatever pieces the beginning arrives, the toy protocol gets it.
func TestProtocolSplit(t *testing.T) {
	onToyServers(t, anyOrder, func(t *testing.T, s *Server, dial func() net.Conn, opening string) {
		wire, payloads := toyFrames(3, 5)
		wire = append([]byte(opening), wire...)
		for split := range wire {
			c := dial()
			c.Write(wire[:split])
			if split > 0 && split < len(opening) { // the server has read the piece
				await.Until(t, "the connection to be busy", func() bool { st := s.Stats(); return st.OpenConnections > 0 && st.IdleConnections == 0 })
			}
			c.Write(wire[split:])
			wantToy(t, c, payloads)
			c.Close()
		}
	})
}

// Many connections, frames and answers at the same time, in small pieces. Clients that
// end their side get the missing answers and the end of stream. Others reset the
// connection.
func TestProtocolStress(t *testing.T) {
	onToyServers(t, anyOrder, func(t *testing.T, _ *Server, dial func() net.Conn, opening string) {
		var wg sync.WaitGroup
		for i := range 16 {
			c := dial()
			wg.Go(func() {
				defer c.Close()
				wire, payloads := toyFrames(200, 200)
				wire = append([]byte(opening), wire...)
				if i%4 == 3 {
					c.Write(wire[:len(wire)/2])
					below := c
					if tc, ok := c.(*tls.Conn); ok {
						below = tc.NetConn()
					}
					below.(*net.TCPConn).SetLinger(0)
					below.Close()
					return
				}
				go func() {
					for piece := range slices.Chunk(wire, 1+i*100) {
						c.Write(piece)
					}
					c.(interface{ CloseWrite() error }).CloseWrite()
				}()
				wantToy(t, c, payloads)
				if _, err := c.Read(make([]byte, 1)); err != io.EOF {
					t.Errorf("got %v after all answers, want the end", err)
				}
			})
		}
		wg.Wait()
	})
}

// HTTP/1.1 still works, also for bytes that begin like the preface.
func TestProtocolBesideHTTP(t *testing.T) {
	peers.OnEngines(t, func(t *testing.T, e Engine) {
		s := &Server{Engine: e, Handler: echo}
		addToy(s, nil)
		ts := startServer(t, s, nil)
		for _, piece := range []int{1, 3, 100} {
			c := ts.Dial()
			for part := range slices.Chunk([]byte("TOY /x HTTP/1.1\r\nHost: h\r\n\r\n"+peers.Get("/y")), piece) {
				c.Send(string(part))
			}
			c.Want("TOY", 200, "TOY /x ")
			c.Want("GET", 200, "GET /y ")
			c.Send(toyPreface) // too late
			if a := c.Answer("GET"); a.StatusCode != 400 && a.StatusCode != 505 {
				t.Errorf("a preface after requests got %d", a.StatusCode)
			}
		}
	})
}

// Shutdown waits for the answers of running requests, and Close doesn't.
func TestProtocolShutdown(t *testing.T) {
	for _, how := range []string{"Shutdown", "Close"} {
		t.Run(how, func(t *testing.T) {
			begun := make(chan struct{}, 100)
			var mu sync.Mutex
			release := make(chan struct{})
			answer := func(p []byte) []byte {
				mu.Lock()
				r := release
				mu.Unlock()
				begun <- struct{}{}
				<-r
				return p
			}
			onToyServers(t, answer, func(t *testing.T, s *Server, dial func() net.Conn, opening string) {
				wire, payloads := toyFrames(10, 100)
				c := dial()
				c.Write(append([]byte(opening), wire...))
				for range payloads {
					<-begun
				}
				done := make(chan error, 1)
				if how == "Close" {
					s.Close()
				} else {
					go func() { done <- s.Shutdown() }()
					peers.AwaitShutdown(t, s)
				}
				mu.Lock()
				close(release)
				release = make(chan struct{})
				mu.Unlock()
				if how == "Close" {
					if _, err := io.ReadAll(c); err == nil && len(payloads) == 0 {
						t.Error("the connection ended in order")
					}
					return
				}
				wantToy(t, c, payloads)
				if err := <-done; err != nil {
					t.Error(err)
				}
			})
		})
	}
}

// Each state of a connection is reported once, whatever protocols it spoke.
func TestProtocolStates(t *testing.T) {
	var mu sync.Mutex
	var states []ConnState
	for _, e := range peers.Engines[Engine]() {
		t.Run(e.String(), func(t *testing.T) {
			states = nil
			s := &Server{Engine: e, Handler: echo, ConnState: func(_ net.Conn, st ConnState) {
				mu.Lock()
				states = append(states, st)
				mu.Unlock()
			}}
			addToy(s, nil)
			ts := startServer(t, s, nil)
			c := ts.Dial()
			wire, payloads := toyFrames(2, 5)
			c.Send(toyPreface + string(wire))
			wantToy(t, c, payloads)
			c.Close()
			await.Until(t, "the connection to end", func() bool { return s.Stats().OpenConnections == 0 })
			mu.Lock()
			defer mu.Unlock()
			if got, want := fmt.Sprint(states), fmt.Sprint([]ConnState{StateNew, StateActive, StateClosed}); got != want {
				t.Errorf("got %s, want %s", got, want)
			}
		})
	}
}

// A session that has a Waker is fed when the server drains or shuts down, even if its
// peer sends nothing: while it is idle, waits for an answer, or has half a frame. It may
// go on serving until the drain has ended.
func TestProtocolHearsOfShutdown(t *testing.T) {
	const drainMark, heldMark = 0xffff, 7
	farewell := string(enginetest.AppendFrame(nil, drainMark, []byte("bye")))
	for _, drain := range []time.Duration{time.Hour, 0} {
		for _, way := range []string{"preface", "ALPN"} {
			t.Run(fmt.Sprintf("%s, %v", way, drain), func(t *testing.T) {
				peers.OnEngines(t, func(t *testing.T, e Engine) {
					hold := make(chan struct{})
					s := &Server{Engine: e, Handler: echo, DrainTime: drain}
					addParting(s, func(p []byte) []byte {
						if string(p) == "held" {
							<-hold
						}
						return p
					}, farewell)
					addr, opening := "", ""
					if way == "preface" {
						addr, opening = startServer(t, s, nil).Addr, toyPreface
					} else {
						addr = startTLS(t, s)
					}
					dial := func() net.Conn {
						c, err := net.Dial("tcp", addr)
						if err != nil {
							t.Fatal(err)
						}
						t.Cleanup(func() { c.Close() })
						c.SetDeadline(time.Now().Add(time.Minute))
						if way == "ALPN" {
							c = tls.Client(c, &tls.Config{InsecureSkipVerify: true, NextProtos: []string{"toy"}})
						}
						io.WriteString(c, opening)
						c.Write(enginetest.AppendFrame(nil, 0, []byte("a")))
						wantToy(t, c, [][]byte{[]byte("a")})
						return c
					}
					frame := func(c net.Conn, id int, payload string) {
						t.Helper()
						if got, p, err := enginetest.ReadFrame(c); err != nil || int(got) != id || string(p) != payload {
							t.Fatalf("got %d, %q, %v; want %d, %q", got, p, err, id, payload)
						}
					}
					busy, half := dial(), dial()
					busy.Write(enginetest.AppendFrame(nil, heldMark, []byte("held")))
					half.Write([]byte{0, 1})
					conns := []net.Conn{busy, half}
					var idle net.Conn
					if drain > 0 { // without a drain it is just closed
						idle = dial()
						conns = append(conns, idle)
					}
					await.Until(t, "the connections to be busy", func() bool {
						st := s.Stats()
						return st.OpenConnections == len(conns) && st.IdleConnections == len(conns)-2
					})
					ended := make(chan error, 1)
					go func() { ended <- s.Shutdown() }()
					for _, c := range conns {
						frame(c, drainMark, "bye")
					}
					if idle != nil {
						idle.Write(enginetest.AppendFrame(nil, 1, []byte("b")))
						frame(idle, 1, "b")
					}
					half.Write([]byte{0, 2, 'c'})
					frame(half, 2, "c")
					close(hold)
					frame(busy, heldMark, "held")
					if drain > 0 {
						s.Close()
					}
					if err := <-ended; err != nil {
						t.Error(err)
					}
				})
			})
		}
	}
}

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
		switch gate.Rand.IntN(6) {
		case 0:
			time.Sleep(time.Duration(gate.Rand.IntN(1000)) * time.Microsecond) // a slow answer: others overtake it
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
				await.Until(t, "the connection to be counted out", func() bool { return s.Stats().OpenConnections == 0 })
			}
		})
	}
}
