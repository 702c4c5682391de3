package ws

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/galehttp/gale/internal/wsframe"
)

// deadlineOnly is a context that has a deadline and no channel.
type deadlineOnly struct {
	context.Context
	end time.Time
}

func (d deadlineOnly) Deadline() (time.Time, bool) { return d.end, true }

// connPair returns a Conn of a server and the client at the other end, which sends frames as
// the test says. Both end with the test.
func connPair(t testing.TB, w way, o *Options) (*Conn, *rawConn) {
	t.Helper()
	conns, done := make(chan *Conn, 1), make(chan struct{})
	s := serveConns(t, w, func(c *Conn) {
		conns <- c
		<-done
	}, o)
	t.Cleanup(func() { close(done) })
	raw := s.dial(t)
	return <-conns, raw
}

// A context that ends stops a call of Read, at each byte of a message, and the next call
// goes on with the message.
func TestConnReadResumes(t *testing.T) {
	eachWay(t, func(t *testing.T, w way) {
		c, peer := connPair(t, w, nil)
		in := append(frame(wsframe.Text, false, "abc"), frame(wsframe.Ping, true, "p")...)
		in = append(in, frame(wsframe.Continuation, true, "dé")...)
		ended, cancel := context.WithCancel(context.Background())
		cancel()
		for i, b := range in[:len(in)-1] {
			peer.send([]byte{b})
			var ctx context.Context = deadlineOnly{context.Background(), time.Now().Add(time.Millisecond)}
			want := context.DeadlineExceeded
			switch i % 3 {
			case 0:
				ctx, want = ended, context.Canceled
			case 1:
				ctx, cancel = context.WithTimeout(context.Background(), time.Millisecond)
				defer cancel()
			}
			if _, data, err := c.AppendRead(ctx, []byte("x")); err != want || string(data) != "x" {
				t.Fatalf("after byte %d: %q, %v, want %v", i, data, err, want)
			}
		}
		peer.send(in[len(in)-1:])
		typ, data, err := c.AppendRead(testContext(t), []byte("x"))
		if typ != Text || string(data) != "xabcdé" || err != nil {
			t.Fatalf("%v %q %v", typ, data, err)
		}
		peer.want(wsframe.Pong, "p")
	})
}

// The same with a large message, of which parts are read straight into its memory.
func TestConnLargeResumes(t *testing.T) {
	eachWay(t, func(t *testing.T, w way) {
		c, peer := connPair(t, w, nil)
		text := strings.Repeat("0123456789", 30_000)
		in := message(text)
		for len(in) > 0 {
			n := min(len(in), 100_000)
			go peer.nc.Write(in[:n])
			in = in[n:]
			ctx := testContext(t)
			if len(in) > 0 {
				var cancel context.CancelFunc
				ctx, cancel = context.WithTimeout(ctx, 5*time.Millisecond)
				defer cancel()
			}
			_, data, err := c.Read(ctx)
			switch {
			case len(in) > 0 && err != context.DeadlineExceeded:
				t.Fatal("Read:", err)
			case len(in) == 0 && (err != nil || string(data) != text):
				t.Fatalf("Read: %d bytes, %v", len(data), err)
			}
		}
	})
}

// A call of Read ends when its context does, while it waits, and when another call reads.
func TestConnReadCanceled(t *testing.T) {
	eachWay(t, func(t *testing.T, w way) {
		c, peer := connPair(t, w, nil)
		for range 3 {
			ctx, cancel := context.WithCancel(context.Background())
			errs := make(chan error, 2)
			for range 2 {
				go func() {
					_, _, err := c.Read(ctx)
					errs <- err
				}()
			}
			cancel()
			for range 2 {
				if err := <-errs; err != context.Canceled {
					t.Fatal("Read:", err)
				}
			}
			peer.send(message("a"))
			if _, data, err := c.Read(testContext(t)); string(data) != "a" || err != nil {
				t.Fatalf("%q %v", data, err)
			}
		}
	})
}

// With one context for many calls, calls allocate nothing for it, and all end with it.
func TestConnReadsOneContext(t *testing.T) {
	eachEngine(t, func(t *testing.T, w way) {
		c, peer := connPair(t, w, nil)
		ctx, cancel := context.WithCancel(context.Background())
		for range 10 {
			go peer.send(message("a"))
			if _, data, err := c.Read(ctx); string(data) != "a" || err != nil {
				t.Fatalf("%q %v", data, err)
			}
		}
		go cancel()
		if _, _, err := c.Read(ctx); err != context.Canceled {
			t.Fatal("Read:", err)
		}
		go peer.send(message("b"))
		if _, data, err := c.Read(testContext(t)); string(data) != "b" || err != nil {
			t.Fatalf("%q %v", data, err)
		}
	})
}

// stall begins a message that is so large that its write waits for peer, which doesn't
// read. It returns what ends the write.
func stall(t testing.TB, c *Conn, peer *rawConn) (cancel func(), result chan error) {
	ctx, cancel := context.WithCancel(context.Background())
	result = make(chan error, 1)
	go func() {
		result <- c.Write(ctx, Binary, make([]byte, 64<<20))
	}()
	if _, err := peer.r.Peek(1); err != nil {
		t.Fatal(err)
	}
	return cancel, result
}

// A context that ends while a message is sent in part closes the WebSocket; one that ends
// before that doesn't.
func TestConnWriteCanceled(t *testing.T) {
	eachWay(t, func(t *testing.T, w way) {
		c, peer := connPair(t, w, nil)
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		if err := c.Write(ctx, Text, []byte("a")); err != context.Canceled {
			t.Fatal("Write:", err)
		}
		stop, result := stall(t, c, peer)
		ctx, cancel = context.WithTimeout(context.Background(), time.Millisecond)
		defer cancel()
		if err := c.Write(ctx, Text, []byte("a")); err != context.DeadlineExceeded {
			t.Fatal("Write waiting for its turn:", err)
		}
		if c.why() != nil {
			t.Fatal(c.why())
		}
		stop()
		err := <-result
		if !errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), "in part") {
			t.Fatal("Write:", err)
		}
		if _, _, again := c.Read(testContext(t)); again != err {
			t.Fatalf("Read returns %v after %v", again, err)
		}
	})
}

// A peer that reads nothing is closed after WriteTimeout, also if only pings come from it.
func TestConnWriteTimeout(t *testing.T) {
	eachWay(t, func(t *testing.T, w way) {
		c, peer := connPair(t, w, &Options{WriteTimeout: 50 * time.Millisecond})
		_, result := stall(t, c, peer)
		if err := <-result; err != errWriteTimeout {
			t.Fatal("Write:", err)
		}
		if _, _, err := c.Read(testContext(t)); err != errWriteTimeout {
			t.Fatal("Read:", err)
		}
	})
}

// A peer that reads slowly isn't closed, although the whole takes longer than WriteTimeout.
func TestConnSlowReader(t *testing.T) {
	eachWay(t, func(t *testing.T, w way) {
		c, peer := connPair(t, w, &Options{WriteTimeout: time.Second})
		const size = 40 << 20
		begin := time.Now()
		result := make(chan error, 1)
		go func() { result <- c.Write(context.Background(), Binary, make([]byte, size)) }()
		for range 40 {
			if n, err := io.CopyN(io.Discard, peer.r, size/40); err != nil {
				t.Fatal(n, err)
			}
			time.Sleep(30 * time.Millisecond) // a slow reader
		}
		if err := <-result; err != nil {
			t.Fatalf("after %v: %v", time.Since(begin), err)
		}
	})
}
