package engine_test

import (
	"crypto/tls"
	"io"
	"net"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/galehttp/gale/internal/clock"
	. "github.com/galehttp/gale/internal/engine"
	"github.com/galehttp/gale/internal/engine/enginetest"
	"github.com/galehttp/gale/tests/harness/await"
	"github.com/galehttp/gale/tests/harness/gate"
)

// Sessions that share their connections while handlers run, on every kind of connection.

// shareKinds are the kinds of connections, and also those of Block.Start, for which
// another goroutine may return.
var shareKinds = append(doorKinds[:len(doorKinds):len(doorKinds)], []struct {
	name   string
	half   bool
	socket bool
	serve  func(t *testing.T, sess Session) *served
}{
	{"start/tcp", true, true, func(t *testing.T, sess Session) *served { return startBlock(t, sess, tcpPair, false) }},
	{"start/tls", true, true, func(t *testing.T, sess Session) *served { return startBlock(t, sess, tcpPair, true) }},
	{"start/memory", false, false, func(t *testing.T, sess Session) *served { return startBlock(t, sess, memoryPair, false) }},
}...)

// startBlock is serveBlock for Start. It checks that exactly one goroutine reports the
// end.
func startBlock(t *testing.T, sess Session, pair func(t *testing.T) (server, client net.Conn), overTLS bool) *served {
	s := &served{t: t, ended: make(chan struct{}), panics: make(chan any, 10)}
	var over atomic.Bool
	end := func(last Session) {
		if over.Swap(true) {
			t.Error("two goroutines tell of the end")
			return
		}
		s.last = last
		close(s.ended)
	}
	job := func(f func() (Session, error)) {
		defer func() {
			if r := recover(); r != nil {
				s.panics <- r
			}
		}()
		if last, err := f(); err != ErrParked {
			end(last)
		}
	}
	e := &Block{Dispatch: func(p Parked) { go job(p.Resume) }, Unwound: end}
	s.stop, s.kill, s.closeAll, s.idle = e.Stop, e.EndNow, e.CloseAll, e.Idle
	epoch := e.Epoch()
	server, client := pair(t)
	s.connect(client, overTLS)
	go job(func() (Session, error) {
		if overTLS {
			tc := tls.Server(Pace(server), serverTLS())
			if err := tc.Handshake(); err != nil {
				t.Error(err)
			}
			server = tc
		}
		return e.Start(server, overTLS, epoch, sess)
	})
	return s
}

// onStreams runs f on each kind of connection, served by a session whose answers come
// from answer. At the end no call of the session may run.
func onStreams(t *testing.T, answer func(st *enginetest.Stream, p []byte) []byte, f func(t *testing.T, s *enginetest.Streams, c *served)) {
	for _, k := range shareKinds {
		t.Run(k.name, func(t *testing.T) {
			s := &enginetest.Streams{Answer: answer, Wrong: func(what string) { t.Error(what) }}
			c := k.serve(t, s)
			f(t, s, c)
			c.client.Close()
			c.wait()
			if n := s.Running(); n != 0 {
				t.Errorf("%d calls of the session run after its end", n)
			}
			if !s.IsClosed() {
				t.Error("the session was not closed")
			}
		})
	}
}

// lags returns p after a random time, most often at once.
func lags(st *enginetest.Stream, p []byte) []byte {
	switch gate.Rand.IntN(8) {
	case 0:
		time.Sleep(time.Duration(gate.Rand.IntN(2000)) * time.Microsecond) // a handler that blocks
	case 1:
		runtime.Gosched()
	}
	return p
}

// Frames that arrive in any pieces are answered, whatever their handlers do.
func TestShareSplit(t *testing.T) {
	wire, payloads := frames(6, 6)
	for _, k := range shareKinds {
		t.Run(k.name, func(t *testing.T) {
			for split := range wire {
				s := &enginetest.Streams{Answer: lags, Wrong: func(what string) { t.Error(what) }}
				c := k.serve(t, s)
				c.send(string(wire[:split]))
				if split%2 == 0 {
					time.Sleep(time.Duration(gate.Rand.IntN(500)) * time.Microsecond) // a client that pauses
				}
				c.send(string(wire[split:]))
				c.wantFrames(payloads)
				c.client.Close()
				c.wait()
			}
		})
	}
}

// A handler that blocks doesn't stop anything else: requests that wait already, requests
// that come later, and answers from before are all served.
func TestShareGoesOn(t *testing.T) {
	for _, passes := range []bool{false, true} {
		for _, at := range []int{0, 3, 9} {
			for _, k := range shareKinds {
				t.Run(k.name, func(t *testing.T) {
					release, begun := make(chan struct{}), make(chan struct{})
					s := &enginetest.Streams{Wrong: func(what string) { t.Error(what) }}
					s.Answer = func(st *enginetest.Stream, p []byte) []byte {
						if string(p) == "block" {
							close(begun)
							if passes {
								st.PassOn()
							}
							<-release
						}
						return p
					}
					c := k.serve(t, s)
					var wire []byte
					payloads := make([][]byte, 10)
					for i := range payloads {
						if payloads[i] = []byte{byte(i)}; i == at {
							payloads[i] = []byte("block")
						}
						wire = enginetest.AppendFrame(wire, uint16(i), payloads[i])
					}
					c.send(string(wire))
					got := map[uint16]bool{}
					for range 9 {
						id, _, err := enginetest.ReadFrame(c.client)
						if err != nil || got[id] || id == uint16(at) {
							t.Fatalf("got frame %d, %v; it came before: %v", id, err, got[id])
						}
						got[id] = true
					}
					<-begun // not before: who has the connection then may write, and a pipe has no buffer
					for i := range 5 {
						c.send(string(enginetest.AppendFrame(nil, uint16(100+i), []byte("later"))))
						if id, _, err := enginetest.ReadFrame(c.client); err != nil || id != uint16(100+i) {
							t.Fatalf("got frame %d, %v", id, err)
						}
					}
					close(release)
					if id, p, err := enginetest.ReadFrame(c.client); err != nil || id != uint16(at) || string(p) != "block" {
						t.Fatalf("got frame %d, %q, %v", id, p, err)
					}
					c.client.Close()
					c.wait()
				})
			}
		}
	}
}

// Many handlers wait for each other: all of them run at the same time.
func TestShareAllAtOnce(t *testing.T) {
	const n = 60
	for range 3 {
		var all sync.WaitGroup
		onStreams(t, func(_ *enginetest.Stream, p []byte) []byte {
			all.Done()
			all.Wait()
			return p
		}, func(t *testing.T, _ *enginetest.Streams, c *served) {
			all.Add(n)
			wire, payloads := frames(n, 100)
			c.send(string(wire))
			c.wantFrames(payloads)
			all = sync.WaitGroup{}
		})
	}
}

// The output of handlers that send in pieces keeps its order within a stream.
func TestShareSend(t *testing.T) {
	const n, pieces = 40, 5
	onStreams(t, func(st *enginetest.Stream, p []byte) []byte {
		for i := range byte(pieces) {
			lags(nil, nil)
			if err := st.Send([]byte{i}); err != nil {
				t.Errorf("Send: %v", err)
			}
		}
		return []byte{pieces}
	}, func(t *testing.T, _ *enginetest.Streams, c *served) {
		wire, _ := frames(n, 10)
		c.send(string(wire))
		next := make([]byte, n)
		for range n * (pieces + 1) {
			id, p, err := enginetest.ReadFrame(c.client)
			if err != nil || len(p) != 1 || p[0] != next[id] {
				t.Fatalf("stream %d: got %v, %v, want piece %d", id, p, err, next[id])
			}
			next[id]++
		}
	})
}

// Many frames, some of them large, with short and long answers, wake-ups and pieces at
// the same time.
func TestShareStress(t *testing.T) {
	for _, k := range []struct{ n, size, piece, most int }{{3000, 30, 700, 0}, {3000, 30, 100_000, 10}, {60, 60_000, 5000, 0}} {
		wire, payloads := frames(k.n, k.size)
		onStreams(t, func(st *enginetest.Stream, p []byte) []byte {
			if gate.Rand.IntN(20) == 0 {
				st.PassOn()
			}
			return lags(st, p)
		}, func(t *testing.T, s *enginetest.Streams, c *served) {
			c.shake()
			go func() {
				for b := wire; len(b) > 0; {
					n := min(k.piece, len(b))
					if _, err := c.client.Write(b[:n]); err != nil {
						t.Errorf("sending: %v", err)
						return
					}
					b = b[n:]
				}
			}()
			c.wantFrames(payloads)
			t.Logf("%d of %d were lost", s.Lost.Load(), k.n)
		})
	}
}

// The peer ends its side: what it has sent is answered first.
func TestShareHalfClose(t *testing.T) {
	for _, k := range shareKinds {
		if !k.half {
			continue
		}
		t.Run(k.name, func(t *testing.T) {
			for range 20 {
				s := &enginetest.Streams{Answer: lags, Wrong: func(what string) { t.Error(what) }}
				c := k.serve(t, s)
				wire, payloads := frames(20, 50)
				c.send(string(wire))
				c.closeWrite()
				c.wantFrames(payloads)
				if _, err := c.client.Read(make([]byte, 1)); err != io.EOF {
					t.Errorf("got %v after all answers, want the end", err)
				}
				c.wait()
			}
		})
	}
}

// The connection ends while handlers run: by the peer, a timeout, or CloseAll. The
// session is closed without waiting for them, and its end is reported when the last one
// has returned.
func TestShareEndsUnderHandlers(t *testing.T) {
	for _, who := range []string{"peer", "kill", "deadline"} {
		for _, n := range []int{1, 5} {
			for _, k := range shareKinds {
				if !k.socket && who == "peer" {
					continue // there is no reset
				}
				t.Run(who+"/"+k.name, func(t *testing.T) {
					release, begun := make(chan struct{}), make(chan struct{}, n)
					s := &enginetest.Streams{Wrong: func(what string) { t.Error(what) }}
					s.Answer = func(st *enginetest.Stream, p []byte) []byte {
						begun <- struct{}{}
						<-release
						st.Send([]byte("too late"))
						return p
					}
					if who == "deadline" {
						s.Deadline = func(next *Next) { next.Deadline = clock.Ticks().Add(50 * time.Millisecond) }
					}
					c := k.serve(t, s)
					wire, _ := frames(n, 10)
					c.send(string(wire))
					for range n {
						<-begun
					}
					switch who {
					case "kill":
						c.kill()
					case "peer":
						if tc, ok := c.raw.(*net.TCPConn); ok {
							tc.SetLinger(0)
						}
						c.raw.Close()
					}
					await.Until(t, "the session to be closed", s.IsClosed)
					select {
					case <-c.ended:
						t.Error("the engine has done with the connection, and handlers run")
					case <-time.After(2 * time.Millisecond): // a wrong engine would have reported the end by now
					}
					close(release)
					c.wait()
					if n := s.Running(); n != 0 {
						t.Errorf("%d calls of the session run", n)
					}
				})
			}
		}
	}
}

// A shutdown waits for the answers of running requests, and closes after them.
func TestShareStop(t *testing.T) {
	release, begun := make(chan struct{}), make(chan struct{}, 10)
	onStreams(t, func(_ *enginetest.Stream, p []byte) []byte {
		begun <- struct{}{}
		<-release
		return p
	}, func(t *testing.T, _ *enginetest.Streams, c *served) {
		wire, payloads := frames(10, 100)
		c.send(string(wire))
		for range payloads {
			<-begun
		}
		c.stop()
		close(release)
		c.wantFrames(payloads)
		c.wait()
		release = make(chan struct{})
	})
}

// If a handler panics, the session sends an answer and goes on.
func TestSharePanics(t *testing.T) {
	onStreams(t, func(st *enginetest.Stream, p []byte) []byte {
		lags(st, p)
		panic("handler")
	}, func(t *testing.T, _ *enginetest.Streams, c *served) {
		wire, _ := frames(50, 10)
		payloads := make([][]byte, 50)
		for i := range payloads {
			payloads[i] = []byte("panic")
		}
		c.send(string(wire))
		c.wantFrames(payloads)
	})
}

// A panic that the session doesn't recover ends the connection, even while handlers run,
// whether the goroutine has the connection or has lost it, and also if another goroutine
// panics too. Goexit ends it at most if the goroutine has the connection.
func TestShareUnwinds(t *testing.T) {
	for _, how := range []string{"panic", "goexit"} {
		for _, when := range []string{"kept", "lost", "passed", "two"} {
			for _, k := range shareKinds {
				t.Run(how+"/"+when+"/"+k.name, func(t *testing.T) {
					release, begun := make(chan struct{}), make(chan struct{}, 4)
					s := &enginetest.Streams{Panics: true, Wrong: func(what string) { t.Error(what) }}
					s.Answer = func(st *enginetest.Stream, p []byte) []byte {
						switch p[0] {
						case 'w':
							begun <- struct{}{}
							if when == "passed" {
								st.PassOn()
							}
							<-release
							fallthrough
						case 'x':
							if how == "panic" {
								panic("handler")
							}
							runtime.Goexit()
						}
						return p
					}
					c := k.serve(t, s)
					frame := func(p string) { c.send(string(enginetest.AppendFrame(nil, 1, []byte(p)))) }
					switch when {
					case "kept":
						frame("x")
					case "lost", "passed":
						frame("w")
						<-begun
						frame("a")
						c.want("\x00\x01\x00\x01a") // another goroutine answers
						close(release)
					case "two":
						frame("w")
						<-begun
						frame("w")
						<-begun
						frame("a")
						c.want("\x00\x01\x00\x01a")
						close(release)
					}
					if how == "goexit" {
						await.Until(t, "the calls of the session to end", func() bool { return s.Running() == 0 })
						if when != "kept" { // which another goroutine may have taken over, too
							frame("b")
							c.want("\x00\x01\x00\x01b")
							select {
							case <-c.ended:
								t.Error("the engine told of the end")
							default:
							}
						}
						c.client.Close()
					}
					c.wait()
					await.Until(t, "the session to be closed", s.IsClosed)
				})
			}
		}
	}
}

// Handlers that compute, and don't block, run in parallel if there are processors: each
// of two waits until the other one has begun, without giving up its own processor.
func TestShareComputes(t *testing.T) {
	var begun *atomic.Int32
	onStreams(t, func(_ *enginetest.Stream, p []byte) []byte {
		begun.Add(1)
		for begun.Load() < 2 {
		}
		return p
	}, func(t *testing.T, _ *enginetest.Streams, c *served) {
		begun = new(atomic.Int32)
		wire, payloads := frames(2, 10)
		c.send(string(wire))
		c.wantFrames(payloads)
	})
}

// A panic of Closed is reported on whatever goroutine it runs, and so is the end of the
// connection.
func TestSharePanicInClosed(t *testing.T) {
	for _, shares := range []bool{false, true} {
		for _, k := range shareKinds {
			t.Run(k.name, func(t *testing.T) {
				s := &closePanics{Streams: enginetest.Streams{Wrong: func(what string) { t.Error(what) }}}
				release, begun := make(chan struct{}), make(chan struct{})
				s.Answer = func(_ *enginetest.Stream, p []byte) []byte {
					if shares {
						close(begun)
						<-release
					}
					return p
				}
				c := k.serve(t, s)
				c.send(string(enginetest.AppendFrame(nil, 1, []byte("x"))))
				if shares {
					<-begun
				} else {
					c.want("\x00\x01\x00\x01x")
				}
				c.kill()
				await.Until(t, "the session to be closed", s.IsClosed)
				close(release)
				c.wait()
				if r := <-c.panics; r != "closed" {
					t.Errorf("got the panic %v", r)
				}
			})
		}
	}
}

type closePanics struct{ enginetest.Streams }

func (s *closePanics) Closed(err error) {
	s.Streams.Closed(err)
	panic("closed")
}
