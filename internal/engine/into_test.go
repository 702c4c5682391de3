package engine_test

import (
	"bytes"
	"math/rand/v2"
	"testing"

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
