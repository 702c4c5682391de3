package engine_test

import (
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/galehttp/gale/internal/clock"
	. "github.com/galehttp/gale/internal/engine"
	"github.com/galehttp/gale/tests/harness/await"
)

// waking returns a session that echoes what comes, and a function out. The session sends
// the texts that out gets; out wakes it by its Waker.
func waking(t *testing.T) (s *step, out func(text string)) {
	s = newStep(t, "the session")
	var mu sync.Mutex
	var k *Waker
	ready := make(chan struct{})
	var todo []byte
	s.open = func(c Conn, _ *Next) {
		k = c.Waker()
		if k != c.Waker() {
			t.Error("a session has two Wakers")
		}
		close(ready)
	}
	s.feed = func(w *Work, next *Next) {
		w.Out = append(w.Out, w.Unread()...)
		w.Consume(len(w.Unread()))
		mu.Lock()
		defer mu.Unlock()
		w.Out = append(w.Out, todo...)
		todo = todo[:0]
	}
	return s, func(text string) {
		<-ready
		mu.Lock()
		todo = append(todo, text...)
		mu.Unlock()
		k.Wake()
	}
}

// A Wake from another goroutine leads to a Feed in every kind of wait: without a deadline
// or with one, idle or not.
func TestWake(t *testing.T) {
	for _, wait := range []Next{{}, {Idle: true}, {Deadline: clock.Ticks().Add(time.Hour)}, {Idle: true, Deadline: clock.Ticks().Add(time.Hour)}} {
		t.Run(fmt.Sprintf("%+v", wait), func(t *testing.T) {
			var out func(string)
			onDoors(t, func(t *testing.T) Session {
				s, o := waking(t)
				out = o
				feed := s.feed
				s.feed = func(w *Work, next *Next) { feed(w, next); *next = wait }
				return s
			}, func(t *testing.T, _ Session, c *served) {
				c.shake()
				for range 50 {
					out("woken")
					c.want("woken")
					c.send("fed")
					c.want("fed")
				}
			})
		})
	}
}

// stuckConn is a connection with a type of the program. The SetReadDeadline that
// interrupts a read blocks.
type stuckConn struct {
	net.Conn
	reading, began, release chan struct{}
	read, interrupt         sync.Once
}

func (c *stuckConn) Read(b []byte) (int, error) {
	c.read.Do(func() { close(c.reading) })
	return c.Conn.Read(b)
}

func (c *stuckConn) SetReadDeadline(t time.Time) error {
	if !t.IsZero() && t.Before(time.Now()) {
		c.interrupt.Do(func() { close(c.began) })
		<-c.release
	}
	return c.Conn.SetReadDeadline(t)
}

// Wake doesn't wait for a method of a connection with a type of the program.
func TestWakeDoesNotWait(t *testing.T) {
	conn := &stuckConn{reading: make(chan struct{}), began: make(chan struct{}), release: make(chan struct{})}
	s, out := waking(t)
	c := serveBlock(t, s, func(t *testing.T) (server, client net.Conn) {
		server, client = pipePair(t)
		conn.Conn = server
		return conn, client
	}, false)
	<-conn.reading // before, a wake-up would interrupt nothing
	out("w")       // returns
	<-conn.began
	out("again")
	close(conn.release)
	c.want("wagain")
	c.client.Close()
	c.wait()
}

// Many goroutines wake a session while bytes arrive: no wake-up is lost, no byte, and
// no deadline.
func TestWakeFromManyGoroutines(t *testing.T) {
	const goroutines, each = 8, 200
	var out func(string)
	onDoors(t, func(t *testing.T) Session {
		s, o := waking(t)
		out = o
		feed := s.feed
		s.feed = func(w *Work, next *Next) { feed(w, next); next.Deadline = clock.Ticks().Add(time.Minute) }
		s.stall = func(_ *Work, why error, next *Next) {
			if why != io.EOF && IsTimeout(why) {
				t.Errorf("Stall got %v, for which there was no reason", why)
			}
			next.Op = Close
		}
		return s
	}, func(t *testing.T, _ Session, c *served) {
		for range goroutines {
			go func() {
				for range each {
					out("w")
				}
			}()
		}
		go func() {
			for range each {
				io.WriteString(c.client, "b")
			}
		}()
		b := make([]byte, (goroutines+1)*each)
		if n, err := io.ReadFull(c.client, b); err != nil {
			t.Fatalf("got %d of %d bytes, and %v", n, len(b), err)
		}
	})
}

// A deadline stays in effect although the session is woken before it.
func TestWakeKeepsDeadlines(t *testing.T) {
	var out func(string)
	onDoors(t, func(t *testing.T) Session {
		s, o := waking(t)
		out = o
		var due clock.Tick
		feed := s.feed
		s.feed = func(w *Work, next *Next) {
			feed(w, next)
			if due == 0 {
				due = clock.Ticks().Add(50 * time.Millisecond)
			}
			next.Deadline = due
		}
		s.stall = func(w *Work, why error, next *Next) {
			if !IsTimeout(why) || clock.Ticks() < due {
				t.Errorf("Stall got %v, before its time: %v", why, clock.Ticks() < due)
			}
			w.Out = append(w.Out, "late"...)
			next.Op = Close
		}
		return s
	}, func(t *testing.T, _ Session, c *served) {
		c.shake()
		for range 3 {
			out("x")
		}
		b, err := io.ReadAll(c.client)
		if err != nil || string(b) != "xxxlate" {
			t.Errorf("got %q, %v", b, err)
		}
	})
}

// A wake-up in Open, in Feed and in Closed.
func TestWakeFromWithin(t *testing.T) {
	onDoors(t, func(t *testing.T) Session {
		s := newStep(t, "the session")
		s.open = func(c Conn, _ *Next) { c.Waker().Wake() }
		n := 0
		s.feed = func(w *Work, next *Next) {
			if n++; n < 200 {
				s.c.Waker().Wake()
			} else if n == 200 {
				w.Out = append(w.Out, "200"...)
			}
		}
		k := (*Waker)(nil)
		s.stall = func(_ *Work, _ error, next *Next) { k = s.c.Waker(); next.Op = Close }
		s.ends = func(error) {
			if k != nil {
				k.Wake()
			}
		}
		return s
	}, func(t *testing.T, sess Session, c *served) {
		c.shake()
		c.want("200")
		if n := sess.(*step).fed(); n != 200 {
			t.Errorf("the session was fed %d times, want 200", n)
		}
	})
}

// A session that is woken all the time still reads what arrives.
func TestWakeDoesNotStarveReads(t *testing.T) {
	onDoors(t, func(t *testing.T) Session {
		s := newStep(t, "the session")
		s.open = func(c Conn, _ *Next) { c.Waker().Wake() }
		s.feed = func(w *Work, next *Next) {
			w.Out = append(w.Out, w.Unread()...)
			w.Consume(len(w.Unread()))
			s.c.Waker().Wake()
		}
		return s
	}, func(t *testing.T, _ Session, c *served) {
		for range 3 {
			c.send("x")
			c.want("x")
		}
	})
}

// A wake-up doesn't interrupt Fill. It leads to a Feed later.
func TestWakeDuringFill(t *testing.T) {
	onDoors(t, func(t *testing.T) Session {
		s := newStep(t, "the session")
		s.feed = func(w *Work, next *Next) {
			if len(w.Unread()) == 0 {
				w.Out = append(w.Out, "woken"...)
				return
			}
			k := s.c.Waker()
			k.Wake()
			w.Out = append(w.Out, "more"...)
			if err := s.c.Flush(w); err != nil {
				t.Errorf("Flush: %v", err)
			}
			for len(w.Unread()) < 2 {
				if err := s.c.Fill(w, clock.Ticks().Add(20*time.Second)); err != nil {
					t.Errorf("Fill: %v", err)
				}
			}
			w.Out = append(w.Out, w.Unread()...)
			w.Consume(2)
		}
		return s
	}, func(t *testing.T, _ Session, c *served) {
		c.send("a")
		c.want("more")
		c.send("b")
		c.want("abwoken")
	})
}

// A session whose peer has ended its side goes on serving wake-ups, until the deadline or
// the engine ends it.
func TestWakeAfterTheEnd(t *testing.T) {
	for _, end := range []string{"close", "deadline", "stop", "kill"} {
		for _, k := range doorKinds {
			if !k.half {
				continue
			}
			t.Run(end+"/"+k.name, func(t *testing.T) {
				s, out := waking(t)
				feed, ended, said := s.feed, false, make(chan struct{})
				s.feed = func(w *Work, next *Next) {
					feed(w, next)
					if string(w.Out) == "close" {
						next.Op = Close
					}
					next.Idle = end == "stop"
				}
				s.stall = func(w *Work, why error, next *Next) {
					switch {
					case !ended && why == io.EOF:
						ended = true
						close(said)
						next.Idle = end == "stop"
						if end == "deadline" {
							next.Deadline = clock.Ticks().Add(20 * time.Millisecond)
						}
					case ended && end == "deadline" && IsTimeout(why), end == "kill":
						next.Op = Close
					default:
						t.Errorf("Stall got %v, ended: %v", why, ended)
						next.Op = Abort
					}
				}
				c := k.serve(t, s)
				c.send("x")
				c.want("x")
				c.closeWrite()
				<-said
				switch end {
				case "close":
					for range 20 {
						out("woken")
						c.want("woken")
					}
					out("close")
					c.want("close")
				case "stop":
					c.stop()
				case "kill":
					c.kill()
				}
				c.wait()
			})
		}
	}
}

// A wake-up comes before a shutdown: the session is fed, and may answer.
func TestWakeBeforeStop(t *testing.T) {
	var out func(string)
	onDoors(t, func(t *testing.T) Session {
		s, o := waking(t)
		out = o
		feed := s.feed
		s.feed = func(w *Work, next *Next) { feed(w, next); next.Idle = true }
		return s
	}, func(t *testing.T, _ Session, c *served) {
		c.send("x")
		c.want("x")
		out("last words")
		c.stop()
		c.want("last words")
		c.wait()
	})
}

// A wake-up comes before a shutdown also if Wake has begun, and has not interrupted the wait yet:
// later calls of Wake rely on it, and return at once.
func TestBegunWakeBeforeStop(t *testing.T) {
	var out func(string)
	var k *Waker
	onDoors(t, func(t *testing.T) Session {
		s, o := waking(t)
		out = o
		open, feed := s.open, s.feed
		s.open = func(c Conn, next *Next) { open(c, next); k = c.Waker() }
		s.feed = func(w *Work, next *Next) { feed(w, next); next.Idle = true }
		return s
	}, func(t *testing.T, _ Session, c *served) {
		c.send("x")
		c.want("x")
		await.Until(t, "the wait", func() bool { return c.idle() == 1 && (k.Waits() || strings.Contains(t.Name(), "/event/")) })
		k.BeginWake()
		out("last words")
		c.stop()
		c.want("last words")
		c.wait()
	})
}

// Wake has no effect after the session has ended or was switched. It wakes neither the
// next session of the connection nor another connection that uses the same memory.
func TestWakeOfTheGone(t *testing.T) {
	var wakers []*Waker
	for _, k := range doorKinds {
		t.Run(k.name, func(t *testing.T) {
			for range 3 {
				next := echoStep(t, "the new session")
				old := switching(t, next)
				old.open = func(c Conn, _ *Next) { wakers = append(wakers, c.Waker()) }
				c := k.serve(t, old)
				c.send("|")
				old.wantClosed(ErrSwitched)
				c.send("a")
				c.want("a")
				before := next.fed()
				for _, k := range wakers {
					k.Wake()
				}
				c.send("b")
				c.want("b")
				if n := next.fed() - before; n != 1 {
					t.Errorf("the new session was fed %d times for one byte", n)
				}
				c.client.Close()
				c.wait()
			}
		})
	}
	for _, k := range wakers {
		k.Wake()
	}
}

// A parked connection is woken and resumed.
func TestWakeParked(t *testing.T) {
	server, client := tcpPair(t)
	defer client.Close()
	s, out := waking(t)
	feed := s.feed
	s.feed = func(w *Work, next *Next) { feed(w, next); next.Idle = true }
	open := s.open
	s.open = func(c Conn, next *Next) { open(c, next); next.Idle = true }
	resumed := make(chan Parked, 1)
	e := &Block{Dispatch: func(p Parked) { resumed <- p }}
	_, err := e.Start(server, false, e.Epoch(), s)
	for range 3 {
		if err != ErrParked {
			t.Fatalf("got %v, want ErrParked", err)
		}
		out("woken")
		_, err = (<-resumed).Resume()
		b := make([]byte, 5)
		if _, err := io.ReadFull(client, b); err != nil || string(b) != "woken" {
			t.Errorf("read %q, %v", b, err)
		}
	}
	e.Stop()
	if _, err := (<-resumed).Resume(); err != nil {
		t.Errorf("got %v", err)
	}
	s.wantClosed(nil)
}

// If the peer doesn't read, wake-ups wait until earlier output is written.
func TestWakeWhileOutputWaits(t *testing.T) {
	const size = 8 << 20
	var out func(string)
	onDoors(t, func(t *testing.T) Session {
		s, o := waking(t)
		out = o
		feed := s.feed
		s.feed = func(w *Work, next *Next) {
			if string(w.Unread()) == "x" {
				w.Out = append(w.Out, make([]byte, size)...)
			}
			feed(w, next)
		}
		return s
	}, func(t *testing.T, _ Session, c *served) {
		c.send("x")
		b := make([]byte, 1)
		if _, err := io.ReadFull(c.client, b); err != nil {
			t.Fatal(err)
		}
		for range 10 {
			out("woken")
		}
		if _, err := io.CopyN(io.Discard, c.client, size-1); err != nil {
			t.Fatal(err)
		}
		c.want("x")
		for range 10 {
			c.want("woken")
		}
	})
}
