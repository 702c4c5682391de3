package engine_test

import (
	"bytes"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/galehttp/gale/internal/clock"
	. "github.com/galehttp/gale/internal/engine"
)

// The buffer of ReadInto is filled in order, in whatever pieces bytes arrive. Bytes after
// it are neither lost nor repeated. Landed returns the count once.
func TestReadInto(t *testing.T) {
	const size, rounds = 30_000, 4
	text := make([]byte, size*rounds)
	for i := range text {
		text[i] = byte(i * 7 >> 3)
	}
	for seed := range uint64(4) {
		landed := 0
		onDoors(t, func(t *testing.T) Session {
			landed = 0
			var conn Conn
			got := make([]byte, 0, size)
			s := newStep(t, "the one that reads into its memory")
			s.open = func(c Conn, n *Next) { conn = c }
			s.feed = func(w *Work, n *Next) {
				if l := w.Landed(); l > 0 {
					landed += l
					got = got[:len(got)+l]
					if len(w.Unread()) > 0 {
						t.Error("bytes are unread beside those that landed")
					}
				}
				if w.Landed() != 0 {
					t.Error("Landed tells twice")
				}
				for {
					b := w.Unread()
					take := min(len(b), size-len(got))
					got = append(got, b[:take]...)
					w.Consume(take)
					if len(got) < size {
						break
					}
					w.Out = append(w.Out, got...)
					got = got[:0]
				}
				if len(got) > 0 {
					conn.ReadInto(got[len(got):min(len(got)+5_000, size)])
				}
			}
			return s
		}, func(t *testing.T, _ Session, c *served) {
			r := rand.New(rand.NewPCG(seed, 1))
			sent := make(chan struct{})
			go func() {
				defer close(sent)
				for b := text; len(b) > 0; {
					n := min(1+r.IntN(9_000), len(b))
					if _, err := c.client.Write(b[:n]); err != nil {
						t.Errorf("seed %d: %v", seed, err)
						return
					}
					b = b[n:]
				}
			}()
			c.want(string(text))
			<-sent
			if landed == 0 {
				t.Errorf("seed %d: nothing landed", seed)
			}
		})
	}
}

// The buffer belongs to the session again when Stall tells it that no more comes. Later
// reads go to the workspace.
func TestReadIntoEnds(t *testing.T) {
	onDoors(t, func(t *testing.T) Session {
		var conn Conn
		mine := []byte("untouched")
		s := newStep(t, "the one that gives up")
		s.open = func(c Conn, n *Next) { conn = c }
		s.feed = func(w *Work, n *Next) {
			if len(w.Unread()) == 0 { // woken
				w.Out = append(w.Out, "woken"...)
				return
			}
			if bytes.HasSuffix(w.Unread(), []byte("?")) {
				w.Out = append(w.Out, w.Unread()...)
				w.Out = append(w.Out, mine...)
				w.Consume(len(w.Unread()))
				return
			}
			w.Consume(len(w.Unread()))
			conn.ReadInto(mine)
			conn.Waker().Wake() // so Feed is called before anything arrives
		}
		return s
	}, func(t *testing.T, _ Session, c *served) {
		c.send("!")
		c.want("woken")
		c.send("is it?")
		c.want("is it?untouched")
	})
}

// FillInto fills its buffer in order, in whatever pieces bytes arrive, and never writes
// beyond it. Unread bytes come first. Bytes after the buffer are neither lost nor
// repeated.
func TestFillInto(t *testing.T) {
	const size, rounds = 30_000, 4
	text := make([]byte, size*rounds)
	for i := range text {
		text[i] = byte(i * 7 >> 3)
	}
	for seed := range uint64(4) {
		landed := 0
		onDoors(t, func(t *testing.T) Session {
			landed = 0
			s := newStep(t, "the one that fills its memory")
			s.feed = func(w *Work, n *Next) {
				if len(w.Unread()) == 0 {
					return
				}
				mine := make([]byte, size+100)
				for got := 0; got < size; {
					unread := len(w.Unread())
					got += copy(mine[got:size], w.Unread())
					w.Consume(min(unread, got))
					if got == size {
						break
					}
					k, err := s.c.FillInto(w, mine[got:min(got+5_000, size)], clock.Ticks().Add(20*time.Second))
					if err != nil {
						t.Error(err)
						n.Op = Abort
						return
					}
					if k > 0 && len(w.Unread()) > 0 || k == 0 && len(w.Unread()) == 0 || k > 5_000 {
						t.Errorf("%d bytes landed, and %d are unread", k, len(w.Unread()))
					}
					if w.Landed() != 0 {
						t.Error("Landed tells again what FillInto has returned")
					}
					landed += k
					got += k
				}
				if !bytes.Equal(mine[size:], make([]byte, 100)) {
					t.Error("bytes were written after the end of the buffer")
				}
				w.Out = append(w.Out, mine[:size]...)
				n.Op = Flush
			}
			return s
		}, func(t *testing.T, _ Session, c *served) {
			r := rand.New(rand.NewPCG(seed, 1))
			sent := make(chan struct{})
			go func() {
				defer close(sent)
				for b := text; len(b) > 0; {
					n := min(1+r.IntN(9_000), len(b))
					if _, err := c.client.Write(b[:n]); err != nil {
						t.Errorf("seed %d: %v", seed, err)
						return
					}
					b = b[n:]
				}
			}()
			c.want(string(text))
			<-sent
			if landed == 0 {
				t.Errorf("seed %d: nothing landed", seed)
			}
		})
	}
}

// If bytes are unread, FillInto adds to them and leaves its buffer alone. A FillInto that
// fails leaves it alone too, and so do the reads after it, although ReadInto was called
// before.
func TestFillIntoLeavesBuffer(t *testing.T) {
	for _, interrupts := range []bool{false, true} {
		onDoors(t, func(t *testing.T) Session {
			mine := []byte("untouched")
			s := newStep(t, "the one that fails")
			s.feed = func(w *Work, n *Next) {
				if string(w.Unread()) != "ab" {
					w.Out = append(append(w.Out, w.Unread()...), mine...)
					w.Consume(len(w.Unread()))
					return
				}
				w.Consume(1)
				s.c.ReadInto(mine)
				w.Out = append(w.Out, "1"...)
				s.c.Flush(w)
				if k, err := s.c.FillInto(w, mine, clock.Ticks().Add(20*time.Second)); k != 0 || err != nil || string(w.Unread()) != "bc" {
					t.Errorf("with an unread byte: %d, %v, %q is unread", k, err, w.Unread())
				}
				w.Consume(len(w.Unread()))
				due := clock.Ticks().Add(time.Millisecond)
				if interrupts {
					due = 0
					go s.c.Interrupt()
				}
				if k, err := s.c.FillInto(w, mine, due); k != 0 || !IsTimeout(err) {
					t.Errorf("got %d, %v; want a timeout", k, err)
				}
				w.Out = append(append(w.Out, "2"...), mine...)
				if interrupts {
					n.Op = Close
				}
			}
			return s
		}, func(t *testing.T, _ Session, c *served) {
			c.send("ab")
			c.want("1")
			c.send("c")
			c.want("2untouched")
			if !interrupts {
				c.send("3")
				c.want("3untouched")
			}
		})
	}
}

// The end of the stream is an error of FillInto, and its buffer stays as it is.
func TestFillIntoEnds(t *testing.T) {
	onDoors(t, func(t *testing.T) Session {
		s := newStep(t, "the one that is left")
		s.feed = func(w *Work, n *Next) {
			w.Consume(len(w.Unread()))
			w.Out = append(w.Out, "go"...)
			s.c.Flush(w)
			mine := make([]byte, 100)
			k, err := s.c.FillInto(w, mine, clock.Ticks().Add(20*time.Second))
			if k != 0 || err == nil || IsTimeout(err) || len(w.Unread()) > 0 {
				t.Errorf("got %d, %v, %d unread; want the end", k, err, len(w.Unread()))
			}
			n.Op = Close
		}
		return s
	}, func(t *testing.T, _ Session, c *served) {
		c.send("x")
		c.want("go")
	})
}
