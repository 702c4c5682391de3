package ws

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"testing/iotest"

	"github.com/galehttp/gale/internal/wsframe"
	"github.com/galehttp/gale/tests/harness/await"
)

// A stream returns each message whole, whatever the sizes of reads and fragments; what isn't
// read of one doesn't come again.
func TestConnReader(t *testing.T) {
	eachWay(t, func(t *testing.T, w way) {
		for _, z := range []*Compression{nil, {SendTakeover: true, ReceiveTakeover: true, Threshold: -1}} {
			conns, done := make(chan *Conn, 1), make(chan struct{})
			s := serveConns(t, w, func(c *Conn) { conns <- c; <-done }, &Options{Compression: z})
			client := s.open(t, &DialOptions{Compression: z})
			server := <-conns
			texts := []string{"", "a", strings.Repeat("b", 5000), strings.Repeat("0123456789", 10_000), strings.Repeat("é", 1000)}
			go func() {
				for i, text := range texts {
					for range 4 {
						_ = client.Write(context.Background(), Text, []byte(text))
					}
					w, err := client.Writer(context.Background(), Binary)
					if err != nil {
						t.Error("Writer:", err)
						return
					}
					for part := range strings.SplitAfterSeq(text, "9") {
						_, _ = io.WriteString(w, part)
						if i%2 == 0 {
							_ = client.Ping(testContext(t))
						}
					}
					_ = w.Close()
				}
			}()
			ctx := testContext(t)
			for _, text := range texts {
				for i, wrap := range []func(io.Reader) io.Reader{
					func(r io.Reader) io.Reader { return r },
					iotest.OneByteReader,
					func(r io.Reader) io.Reader { return io.LimitReader(r, 1) },
					nil, // reads nothing
					iotest.HalfReader,
				} {
					_, r, err := server.Reader(ctx)
					if err != nil {
						t.Fatal(err)
					}
					if wrap == nil {
						continue
					}
					data, err := io.ReadAll(wrap(r))
					if want := text; i != 2 && (err != nil || string(data) != want) {
						t.Fatalf("%d: got %d bytes, %v, want %d", i, len(data), err, len(want))
					}
				}
			}
			close(done)
		}
	})
}

// After a Reader, Read skips the rest of its message, also in the middle of a frame.
func TestConnReaderSkips(t *testing.T) {
	eachWay(t, func(t *testing.T, w way) {
		c, peer := connPair(t, w, nil)
		go peer.send(frame(wsframe.Binary, false, strings.Repeat("a", 100_000)), frame(wsframe.Continuation, true, "b"), message("next"))
		ctx := testContext(t)
		_, r, err := c.Reader(ctx)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.ReadFull(r, make([]byte, 5000)); err != nil {
			t.Fatal(err)
		}
		if _, data, err := c.Read(ctx); string(data) != "next" || err != nil {
			t.Fatalf("%.40q %v", data, err)
		}
		if _, err := r.Read(make([]byte, 1)); err != errNotCurrent {
			t.Fatal("Read of the old stream:", err)
		}
	})
}

// Messages of 8 goroutines don't mix, with those of a Writer and pings between them.
func TestConnWriters(t *testing.T) {
	eachWay(t, func(t *testing.T, w way) {
		checkNoLeaks(t)
		for _, z := range []*Compression{nil, {SendTakeover: true, ReceiveTakeover: true, Threshold: -1}} {
			s := serveConns(t, w, echoConn, &Options{Compression: z})
			c := s.open(t, &DialOptions{Compression: z})
			ctx := testContext(t)
			const each = 50
			var wg sync.WaitGroup
			for i := range 8 {
				wg.Go(func() {
					for n := range each {
						data := bytes.Repeat([]byte{byte('a' + i)}, 1+n*n*20)
						if n%10 == 5 {
							w, err := c.Writer(ctx, Binary)
							if err != nil {
								t.Error("Writer:", err)
								return
							}
							for part := range bytes.SplitAfterSeq(data[:100], []byte("a")) {
								_, _ = w.Write(part)
							}
							if err := w.Close(); err != nil {
								t.Error("Writer.Close:", err)
							}
							if _, err := w.Write(data); !errors.Is(err, ErrClosed) {
								t.Error("Write after Close:", err)
							}
							continue
						}
						if err := c.Write(ctx, Binary, data); err != nil {
							t.Error("Write:", err)
						}
					}
				})
			}
			wg.Go(func() {
				for range 20 {
					if err := c.Ping(ctx); err != nil {
						t.Error("Ping:", err)
					}
				}
			})
			for range 8 * each {
				_, data, err := c.Read(ctx)
				if err != nil {
					t.Fatal("Read:", err)
				}
				if len(data) > 0 && bytes.Count(data, data[:1]) != len(data) {
					t.Fatalf("a message of %d bytes is mixed: %.40q", len(data), data)
				}
			}
			wg.Wait()
			_ = c.Close(StatusNormal, "")
		}
	})
}

// Ping without another call that reads: messages that arrive meanwhile aren't lost, those
// that are too many wait in the connection.
func TestConnPingHolds(t *testing.T) {
	eachWay(t, func(t *testing.T, w way) {
		checkNoLeaks(t)
		c, peer := connPair(t, w, &Options{MaxMessage: 1000})
		ctx := testContext(t)
		// The messages come before the pong.
		pong := make(chan error, 1)
		go func() { pong <- c.Ping(ctx) }()
		f, err := peer.next()
		if err != nil || f.Op != wsframe.Ping {
			t.Fatal(f.Op, err)
		}
		peer.send(message("a"), frame(wsframe.Text, false, "b"), frame(wsframe.Pong, true, string(f.Payload)))
		if err := <-pong; err != nil {
			t.Fatal("Ping:", err)
		}
		peer.send(frame(wsframe.Continuation, true, "c"), message("d"))
		for _, want := range []string{"a", "bc", "d"} {
			if _, data, err := c.Read(ctx); string(data) != want || err != nil {
				t.Fatalf("got %q, %v, want %q", data, err, want)
			}
		}

		// Too many messages: the pong waits for a call that reads.
		go func() { pong <- c.Ping(ctx) }()
		f, err = peer.next()
		if err != nil {
			t.Fatal(err)
		}
		big := strings.Repeat("x", 600)
		peer.send(message(big), message(big), message(big), frame(wsframe.Pong, true, string(f.Payload)))
		await.Until(t, "the messages are held", func() bool {
			if !c.reading.tryLock() {
				return false
			}
			defer c.reading.unlock()
			return c.heldFull()
		})
		for range 2 {
			if _, data, err := c.Read(ctx); string(data) != big || err != nil {
				t.Fatal(len(data), err)
			}
		}
		if err := <-pong; err != nil { // there is room for the third message and the pong
			t.Fatal("Ping:", err)
		}
		if _, data, err := c.Read(ctx); string(data) != big || err != nil {
			t.Fatal(len(data), err)
		}
	})
}

// A call of Read takes over from a Ping that reads, and a Ping goes on when Read ends.
func TestConnPingAndRead(t *testing.T) {
	eachWay(t, func(t *testing.T, w way) {
		checkNoLeaks(t)
		c, peer := connPair(t, w, nil)
		ctx := testContext(t)
		pong := make(chan error, 3)
		for range 3 {
			go func() { pong <- c.Ping(ctx) }()
		}
		var last string
		for range 3 {
			f, err := peer.next()
			if err != nil || f.Op != wsframe.Ping {
				t.Fatal(f.Op, err)
			}
			last = max(last, string(f.Payload))
		}
		peer.send(message("a"))
		if _, data, err := c.Read(ctx); string(data) != "a" || err != nil {
			t.Fatalf("%q %v", data, err)
		}
		peer.send(frame(wsframe.Pong, true, last)) // the answer to the last ping stands for all
		for range 3 {
			if err := <-pong; err != nil {
				t.Fatal("Ping:", err)
			}
		}
		short, cancel := context.WithCancel(ctx)
		go func() { pong <- c.Ping(short) }()
		if f, err := peer.next(); err != nil || f.Op != wsframe.Ping {
			t.Fatal(f.Op, err)
		}
		cancel()
		if err := <-pong; err != context.Canceled {
			t.Fatal("Ping:", err)
		}
		go func() { pong <- c.Ping(ctx) }()
		if f, err := peer.next(); err != nil || f.Op != wsframe.Ping {
			t.Fatal(f.Op, err)
		}
		peer.send(closing(4005, ""))
		wantCloseError(t, <-pong, 4005, false)
	})
}

// JSON and prepared messages.
func TestConnMessages(t *testing.T) {
	eachWay(t, func(t *testing.T, w way) {
		for _, z := range []*Compression{nil, {}, {SendTakeover: true, ReceiveTakeover: true, Threshold: -1}} {
			s := serveConns(t, w, echoConn, &Options{Compression: z})
			c := s.open(t, &DialOptions{Compression: z})
			ctx := testContext(t)
			in, out := map[string]int{"a": 1}, map[string]int{}
			if err := c.WriteJSON(ctx, in); err != nil {
				t.Fatal(err)
			}
			if err := c.ReadJSON(ctx, &out); err != nil || fmt.Sprint(in) != fmt.Sprint(out) {
				t.Fatal(out, err)
			}
			for _, text := range []string{"", "short", strings.Repeat("long ", 1000)} {
				p, err := Prepare(Text, []byte(text))
				if err != nil {
					t.Fatal(err)
				}
				if err := c.WritePrepared(ctx, p); err != nil {
					t.Fatal(err)
				}
				if _, data, err := c.Read(ctx); string(data) != text || err != nil {
					t.Fatalf("%.40q %v", data, err)
				}
				if err := c.publish(p); err != nil {
					t.Fatal(err)
				}
				if _, data, err := c.Read(ctx); string(data) != text || err != nil {
					t.Fatalf("%.40q %v", data, err)
				}
			}
			if err := c.Write(ctx, 3, nil); err != ErrMessageType {
				t.Fatal(err)
			}
		}
	})
}
