package ws

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"testing"

	"github.com/galehttp/gale/internal/wsframe"
)

// Publishing never waits. What a peer doesn't read waits in the queue and arrives in order;
// a full queue does what the policy says.
func TestConnPublish(t *testing.T) {
	eachWay(t, func(t *testing.T, w way) {
		checkNoLeaks(t)
		for _, policy := range []QueuePolicy{QueueDrop, QueueClose} {
			o := &Options{MaxQueue: 1 << 20, QueuePolicy: policy}
			c, peer := connPair(t, w, o)
			pad := strings.Repeat(" ", 10_000)
			sent := 0
			for {
				p, _ := Prepare(Text, []byte(strconv.Itoa(sent)+pad))
				err := c.publish(p)
				if err == ErrQueueFull {
					break
				}
				if err != nil {
					t.Fatal("publish:", err)
				}
				if sent++; sent > 10_000 {
					t.Fatal("the queue has no limit")
				}
			}
			stats := o.Stats()
			if policy == QueueClose {
				if stats.QueueClosed != 1 {
					t.Fatal("QueueClosed:", stats.QueueClosed)
				}
				p, _ := Prepare(Text, nil)
				if err := c.publish(p); !errors.Is(err, ErrClosed) {
					t.Fatal("publish:", err)
				}
				for {
					f, err := peer.next()
					if err != nil {
						t.Fatal(err)
					}
					if f.Op == wsframe.Close {
						break
					}
				}
				_, _, err := c.Read(testContext(t))
				wantCloseError(t, err, StatusTryAgainLater, true)
				continue
			}
			if stats.Dropped != 1 {
				t.Fatal("Dropped:", stats.Dropped)
			}
			go func() { _ = c.Write(context.Background(), Text, []byte("last")) }()
			for i := range sent {
				peer.want(wsframe.Text, strconv.Itoa(i)+pad)
			}
			peer.want(wsframe.Text, "last")
		}
	})
}

// A message that is published while a Writer sends waits for its end; a ping doesn't.
func TestConnPublishWaitsForWriter(t *testing.T) {
	eachWay(t, func(t *testing.T, w way) {
		c, peer := connPair(t, w, nil)
		wr, err := c.Writer(testContext(t), Text)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = wr.Write([]byte("a"))
		p, _ := Prepare(Text, []byte("published"))
		if err := c.publish(p); err != nil {
			t.Fatal(err)
		}
		peer.send(frame(wsframe.Ping, true, "x"), message("m"))
		if _, _, err := c.Read(testContext(t)); err != nil {
			t.Fatal(err)
		}
		_, _ = wr.Write([]byte("b"))
		for _, want := range []string{"a", "x", "b"} {
			f, err := peer.next()
			if err != nil || string(f.Payload) != want {
				if f.First && len(f.Payload) == 0 { // the header has come alone
					continue
				}
				t.Fatalf("got %q, %v, want %q", f.Payload, err, want)
			}
		}
		if err := wr.Close(); err != nil {
			t.Fatal(err)
		}
		for {
			f, err := peer.next()
			if err != nil {
				t.Fatal(err)
			}
			if string(f.Payload) == "published" {
				break
			}
		}
	})
}
