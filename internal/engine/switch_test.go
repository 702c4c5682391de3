package engine_test

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/galehttp/gale/internal/clock"
	. "github.com/galehttp/gale/internal/engine"
)

// The new session gets the bytes that the old one has not consumed, in order and before
// others are read, in whatever pieces they arrive.
func TestSwitchHandsBytesOn(t *testing.T) {
	const text = "before|after the switch"
	for split := 0; split <= len(text); split++ {
		var next *step
		onDoors(t, func(t *testing.T) Session {
			next = echoStep(t, "the new session")
			return switching(t, next)
		}, func(t *testing.T, sess Session, c *served) {
			c.send(text[:split])
			if split > 0 { // the first piece was read
				c.want(strings.Replace(text[:split], "|", "", 1))
			}
			c.send(text[split:])
			c.want(strings.Replace(text[split:], "|", "", 1))
			c.client.Close()
			c.wait()
			sess.(*step).wantClosed(ErrSwitched)
			if err := <-next.closed; err == ErrSwitched {
				t.Error("the new session was closed as if it had been switched")
			}
			if c.last != next {
				t.Errorf("the last session is %v, want the new one", c.last)
			}
		})
	}
}

// The new session gets more bytes than a stash holds, and an end of stream that came with
// them.
func TestSwitchHandsMuchOn(t *testing.T) {
	big := strings.Repeat("0123456789abcdef", 1<<12)
	var next *step
	onDoors(t, func(t *testing.T) Session {
		next = newStep(t, "the new session")
		next.feed = func(w *Work, n *Next) {} // until everything has arrived
		next.stall = func(w *Work, why error, n *Next) {
			if why != io.EOF || string(w.Unread()) != big {
				t.Errorf("Stall got %v, with %d bytes, want %d", why, len(w.Unread()), len(big))
			}
			n.Op = Close
		}
		old := switching(t, next)
		feed := old.feed
		old.feed = func(w *Work, n *Next) {
			if b := w.Unread(); len(b) < len(big)/2 {
				return
			}
			feed(w, n)
		}
		return old
	}, func(t *testing.T, sess Session, c *served) {
		c.send("|" + big)
		if cw, ok := c.client.(interface{ CloseWrite() error }); ok {
			cw.CloseWrite()
		} else {
			c.client.Close()
		}
		c.wait()
		next.wantClosed(nil)
	})
}

// The output of the old session is written before that of the new one, even if it is more
// than a socket takes, with a file after it. The new session may send before it gets any
// bytes.
func TestSwitchKeepsOrder(t *testing.T) {
	out, file := strings.Repeat("out", 1<<20), strings.Repeat("file", 1<<18)
	name := filepath.Join(t.TempDir(), "f")
	if err := os.WriteFile(name, []byte(file), 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	onDoors(t, func(t *testing.T) Session {
		next := newStep(t, "the new session")
		next.open = func(_ Conn, n *Next) { n.Op = Flush }
		next.feed = func(w *Work, n *Next) {
			w.Out = append(w.Out, "hello "...)
			w.Out = append(w.Out, w.Unread()...)
			w.Consume(len(w.Unread()))
		}
		old := newStep(t, "the old session")
		old.feed = func(w *Work, n *Next) {
			w.Consume(1)
			w.Out = append(w.Out, out...)
			n.Op, n.Session, n.File = Switch, next, &File{F: f, N: int64(len(file))}
		}
		return old
	}, func(t *testing.T, sess Session, c *served) {
		c.send("x")
		c.want(out + file + "hello ")
		sess.(*step).wantClosed(ErrSwitched)
		c.send("y")
		c.want("hello y")
	})
}

// Any method that has a Next may switch, and several switches may follow each other.
func TestSwitchFromEverywhere(t *testing.T) {
	t.Run("Open", func(t *testing.T) {
		chain := make([]*step, 20)
		onDoors(t, func(t *testing.T) Session {
			var next Session = echoStep(t, "the last session")
			for i := range chain {
				chain[i] = newStep(t, "a session on the way")
				to := next
				chain[i].open = func(_ Conn, n *Next) { n.Op, n.Session = Switch, to }
				next = chain[i]
			}
			return next
		}, func(t *testing.T, _ Session, c *served) {
			c.send("abc")
			c.want("abc")
			for _, s := range chain {
				s.wantClosed(ErrSwitched)
			}
		})
	})
	t.Run("Stall at a deadline", func(t *testing.T) {
		onDoors(t, func(t *testing.T) Session {
			next := newStep(t, "the new session")
			next.open = func(_ Conn, n *Next) { n.Op = Flush }
			next.feed = func(w *Work, n *Next) { w.Out = append(w.Out, "late"...) }
			old := newStep(t, "the old session")
			old.open = func(_ Conn, n *Next) { n.Deadline = clock.Ticks().Add(20 * time.Millisecond) }
			old.stall = func(w *Work, why error, n *Next) {
				if !IsTimeout(why) {
					t.Errorf("Stall got %v", why)
				}
				n.Op, n.Session = Switch, next
			}
			return old
		}, func(t *testing.T, sess Session, c *served) {
			c.shake()
			c.want("late")
			sess.(*step).wantClosed(ErrSwitched)
		})
	})
	t.Run("Stall at the end", func(t *testing.T) {
		for _, k := range doorKinds {
			if !k.half {
				continue
			}
			t.Run(k.name, func(t *testing.T) {
				next := newStep(t, "the new session")
				next.stall = func(w *Work, why error, n *Next) {
					if why != io.EOF { // each session is told of it
						t.Errorf("Stall got %v", why)
					}
					w.Out = append(w.Out, "bye"...)
					n.Op = Close
				}
				old := newStep(t, "the old session")
				old.stall = func(w *Work, why error, n *Next) { n.Op, n.Session = Switch, next }
				c := k.serve(t, old)
				c.send("x")
				c.closeWrite()
				c.want("bye")
				c.wait()
				old.wantClosed(ErrSwitched)
				next.wantClosed(nil)
			})
		}
	})
}

// If the output of the old session can't be written, it gets the error, and no method of
// the new one is called.
func TestSwitchAfterBrokenWrite(t *testing.T) {
	var next *step
	onDoors(t, func(t *testing.T) Session {
		next = newStep(t, "the new session")
		old := newStep(t, "the old session")
		old.feed = func(w *Work, n *Next) {
			w.Consume(1)
			old.c.InterruptWrites()
			w.Out = append(w.Out, "never sent"...)
			n.Op, n.Session = Switch, next
		}
		return old
	}, func(t *testing.T, sess Session, c *served) {
		c.send("x")
		c.wait()
		if err := <-sess.(*step).closed; err == nil || err == ErrSwitched {
			t.Errorf("the old session was closed with %v", err)
		}
		next.wantUntouched()
		if c.last != sess {
			t.Errorf("the last session is %v, want the old one", c.last)
		}
	})
}

// A panic of either session ends the connection; each that was opened is closed once.
func TestSwitchPanics(t *testing.T) {
	for _, where := range []string{"old Closed", "new Open", "new Feed"} {
		t.Run(where, func(t *testing.T) {
			var next *step
			onDoors(t, func(t *testing.T) Session {
				next = newStep(t, "the new session")
				old := switching(t, next)
				switch where {
				case "old Closed":
					old.ends = func(error) { panic(where) }
				case "new Open":
					next.open = func(Conn, *Next) { panic(where) }
				default:
					next.feed = func(*Work, *Next) { panic(where) }
				}
				return old
			}, func(t *testing.T, sess Session, c *served) {
				c.send("|x")
				c.wait()
				if r := <-c.panics; r != where {
					t.Errorf("got the panic %v", r)
				}
				sess.(*step).wantClosed(ErrSwitched)
				if where == "old Closed" {
					next.wantUntouched()
				} else {
					next.wantClosed(ErrGoexit)
				}
				if _, err := c.client.Read(make([]byte, 1)); err == nil {
					t.Error("the connection is open")
				}
			})
		})
	}
}

// Write timeouts and watches belong to the old session, and end with it.
func TestSwitchEndsWhatTheOldSessionSet(t *testing.T) {
	for _, k := range doorKinds {
		if !k.half {
			continue
		}
		t.Run(k.name, func(t *testing.T) {
			next := echoStep(t, "the new session")
			next.stall = func(w *Work, why error, n *Next) { n.Op = Close }
			old := newStep(t, "the old session")
			old.feed = func(w *Work, n *Next) {
				w.Consume(1)
				old.c.SetWriteTimeout(time.Nanosecond, time.Nanosecond)
				old.c.SetWriteDeadline(clock.Ticks() + 1)
				old.c.Watch(func(bool) { t.Error("a watch outlives its session") })
				n.Op, n.Session = Switch, next
			}
			c := k.serve(t, old)
			c.send("x")
			old.wantClosed(ErrSwitched)
			c.send("y")
			c.want("y") // although the deadline of the old session has passed
			c.closeWrite()
			c.wait()
			next.wantClosed(nil)
		})
	}
}

// A parked connection is switched after it is resumed.
func TestSwitchOfParked(t *testing.T) {
	server, client := tcpPair(t)
	defer client.Close()
	next := echoStep(t, "the new session")
	old := switching(t, next)
	old.open = func(_ Conn, n *Next) { n.Idle = true }
	resumed := make(chan Parked, 1)
	e := &Block{Dispatch: func(p Parked) { resumed <- p }}
	if last, err := e.Start(server, false, e.Epoch(), old); err != ErrParked || last != Session(old) {
		t.Fatalf("got %v, %v, want the old session, parked", last, err)
	}
	io.WriteString(client, "|x")
	p := <-resumed
	if last, err := p.Resume(); err != ErrParked || last != Session(next) || p.Session() != Session(next) {
		t.Fatalf("got %v, %v, want the new session, parked", last, err)
	}
	client.Close()
	if last, err := (<-resumed).Resume(); last != Session(next) || err != nil {
		t.Errorf("got %v, %v", last, err)
	}
	old.wantClosed(ErrSwitched)
	next.wantClosed(nil)
}

// If a shutdown comes while connections are switched, none stays open, and each session
// is closed once.
func TestSwitchWhileStopping(t *testing.T) {
	for range 4 {
		onDoors(t, func(t *testing.T) Session {
			return switching(t, switching(t, echoStep(t, "the last session")))
		}, func(t *testing.T, sess Session, c *served) {
			c.shake()
			go c.stop()
			go io.Copy(io.Discard, c.client)
			io.WriteString(c.client, "|a|b") // it may be closed by now
			c.wait()
		})
	}
}

// A Wake for the old session that comes during the switch has no effect: the new session
// is fed when bytes arrive, not before.
func TestSwitchDropsWake(t *testing.T) {
	onDoors(t, func(t *testing.T) Session {
		next := echoStep(t, "the new session")
		old := switching(t, next)
		var conn Conn
		old.open = func(c Conn, n *Next) { conn = c }
		feed := old.feed
		old.feed = func(w *Work, n *Next) {
			feed(w, n)
			conn.Waker().Wake()
		}
		return old
	}, func(t *testing.T, sess Session, c *served) {
		c.send("a|b")
		c.want("ab")
		c.send("c")
		c.want("c")
		sess.(*step).wantClosed(ErrSwitched)
	})
}
