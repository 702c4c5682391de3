package engine_test

import (
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"runtime"
	"testing"

	. "github.com/galehttp/gale/internal/engine"
	"github.com/galehttp/gale/internal/engine/enginetest"
	"github.com/galehttp/gale/tests/harness/gate"
)

// Tests of the toy protocol, which uses only the interfaces of the engine: a session
// switches to it, and its answers come from other goroutines.

// toToy returns a session that switches to s after it has got "toy\n".
func toToy(t *testing.T, s *enginetest.Toy) *step {
	old := newStep(t, "the session before")
	old.feed = func(w *Work, next *Next) {
		if b := w.Unread(); len(b) < 4 {
			return
		} else if string(b[:4]) != "toy\n" {
			t.Errorf("got %q", b)
		}
		w.Consume(4)
		next.Op, next.Session = Switch, s
	}
	return old
}

// frames returns n frames of random sizes as bytes, and their payloads by number.
func frames(n, size int) (wire []byte, payloads [][]byte) {
	rng := rand.New(rand.NewPCG(1, 2))
	for i := range n {
		p := bytes.Repeat([]byte{byte(i)}, rng.IntN(size))
		payloads = append(payloads, p)
		wire = enginetest.AppendFrame(wire, uint16(i), p)
	}
	return wire, payloads
}

// wantFrames reads an answer to each of the payloads, in any order.
func (s *served) wantFrames(payloads [][]byte) {
	s.t.Helper()
	seen := make([]bool, len(payloads))
	for i := range payloads {
		id, p, err := enginetest.ReadFrame(s.client)
		if err != nil {
			s.t.Fatalf("after %d of %d answers: %v", i, len(payloads), err)
		}
		if int(id) >= len(seen) || seen[id] || !bytes.Equal(p, payloads[id]) {
			s.t.Fatalf("answer %d is %.20q; it came before: %v", id, p, seen[id])
		}
		seen[id] = true
	}
}

// slowly returns p after a random time, so that answers come in any order.
func slowly(p []byte) []byte {
	for range gate.Rand.IntN(20) {
		runtime.Gosched()
	}
	return p
}

func TestToySplit(t *testing.T) {
	wire, payloads := frames(4, 6)
	wire = append([]byte("toy\n"), wire...)
	for _, k := range doorKinds {
		t.Run(k.name, func(t *testing.T) {
			for split := range wire {
				c := k.serve(t, toToy(t, &enginetest.Toy{Answer: slowly, Greeting: "hi"}))
				c.send(string(wire[:split]))
				if split >= 4 {
					c.want("hi") // so the first piece was read by itself
				}
				c.send(string(wire[split:]))
				if split < 4 {
					c.want("hi")
				}
				c.wantFrames(payloads)
				c.client.Close()
				c.wait()
			}
		})
	}
}

// A session may begin by sending, before anything has come.
func TestToyGreets(t *testing.T) {
	wire, payloads := frames(4, 6)
	for range 10 {
		onDoors(t, func(*testing.T) Session {
			return &enginetest.Toy{Greeting: "hi"}
		}, func(t *testing.T, _ Session, c *served) {
			c.send(string(wire)) // it may arrive together with the end of a handshake
			c.want("hi")
			c.wantFrames(payloads)
		})
	}
}

// Every byte in a write of its own, many frames, and large frames, all at the same time.
// Then the client ends its side and still gets the missing answers.
func TestToyStress(t *testing.T) {
	for _, c := range []struct{ n, size, piece int }{{20, 10, 1}, {1000, 100, 700}, {100, 60_000, 5000}} {
		wire, payloads := frames(c.n, c.size)
		wire = append([]byte("toy\n"), wire...)
		for _, k := range doorKinds {
			t.Run(fmt.Sprintf("%d of %d/%s", c.n, c.size, k.name), func(t *testing.T) {
				s := k.serve(t, toToy(t, &enginetest.Toy{Answer: slowly}))
				s.shake()
				go func() {
					for b := wire; len(b) > 0; {
						n := min(c.piece, len(b))
						if _, err := s.client.Write(b[:n]); err != nil {
							t.Errorf("sending: %v", err)
						}
						b = b[n:]
					}
					if k.half {
						s.closeWrite()
					}
				}()
				s.wantFrames(payloads)
				if k.half {
					if _, err := s.client.Read(make([]byte, 1)); err != io.EOF {
						t.Errorf("got %v after all answers, want the end", err)
					}
				}
				s.client.Close()
				s.wait()
			})
		}
	}
}

// A shutdown waits for the answers of running requests, and closes after them.
func TestToyStop(t *testing.T) {
	for _, k := range doorKinds {
		t.Run(k.name, func(t *testing.T) {
			release, begun := make(chan struct{}), make(chan struct{}, 10)
			c := k.serve(t, toToy(t, &enginetest.Toy{Answer: func(p []byte) []byte { begun <- struct{}{}; <-release; return p }}))
			wire, payloads := frames(10, 100)
			c.send("toy\n" + string(wire))
			for range payloads {
				<-begun
			}
			c.stop()
			close(release)
			c.wantFrames(payloads)
			c.wait()
		})
	}
}

// After the client has reset the connection, or the server has closed all connections,
// later answers have no effect.
func TestToyReset(t *testing.T) {
	for _, who := range []string{"client", "server"} {
		for _, k := range doorKinds {
			t.Run(who+"/"+k.name, func(t *testing.T) {
				release, begun, done := make(chan struct{}), make(chan struct{}, 10), make(chan struct{}, 10)
				c := k.serve(t, toToy(t, &enginetest.Toy{Answer: func(p []byte) []byte {
					defer func() { done <- struct{}{} }()
					begun <- struct{}{}
					<-release
					return p
				}}))
				wire, payloads := frames(10, 100)
				c.send("toy\n" + string(wire))
				for range payloads {
					<-begun
				}
				if who == "server" {
					c.kill()
				} else {
					if tc, ok := c.raw.(*net.TCPConn); ok {
						tc.SetLinger(0)
					}
					c.raw.Close()
				}
				if k.socket {
					c.wait()
				}
				close(release)
				for range payloads {
					<-done
				}
				c.wait()
			})
		}
	}
}
