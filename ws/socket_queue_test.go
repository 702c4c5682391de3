package ws

import (
	"bytes"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/galehttp/gale/internal/wsframe"
	"github.com/galehttp/gale/tests/harness/await"
)

// fill writes messages to a peer that doesn't read until Write fails, and returns the
// error.
func fill(t *testing.T, s *Socket, data []byte) error {
	for range 100_000 {
		if err := s.Write(Binary, data); err != nil {
			return err
		}
	}
	t.Fatal("the queue isn't limited")
	return nil
}

// stalled opens a WebSocket whose peer doesn't read.
func stalled(t *testing.T, w way, e *events, o *Options) (*Socket, *rawConn) {
	opened := make(chan *Socket, 1)
	e.open = func(s *Socket) { opened <- s }
	c := serveSockets(t, w, e, o).dial(t)
	return <-opened, c
}

// QueueClose ends a connection whose peer doesn't read.
func TestQueueClose(t *testing.T) {
	eachWay(t, func(t *testing.T, w way) {
		e, o := newEvents(), &Options{MaxQueue: 100_000, CloseTimeout: 50 * time.Millisecond}
		s, _ := stalled(t, w, e, o)
		if err := fill(t, s, make([]byte, 10_000)); err != ErrQueueFull {
			t.Error(err)
		}
		if err := s.Write(Text, nil); err != ErrClosed {
			t.Error("after it:", err)
		}
		e.wantClosed(t, &CloseError{Code: StatusTryAgainLater, Local: true})
		if st := o.Stats(); st.QueueClosed != 1 || st.Dropped != 0 {
			t.Errorf("stats %+v", st)
		}
	})
}

// A peer that reads gets the close frame, if only the queue was too small.
func TestQueueCloseFrame(t *testing.T) {
	eachWay(t, func(t *testing.T, w way) {
		e, o := newEvents(), &Options{MaxQueue: 1000}
		e.message = func(s *Socket, _ MessageType, _ []byte) {
			data := make([]byte, 400)
			for s.Write(Binary, data) == nil {
			}
		}
		c := serveSockets(t, w, e, o).dial(t)
		c.send(message("go"))
		c.want(2, string(make([]byte, 400)))
		c.want(2, string(make([]byte, 400)))
		c.wantCloseFrame(StatusTryAgainLater)
		c.send(closing(StatusTryAgainLater, ""))
		c.wantEnd()
		e.wantClosed(t, &CloseError{Code: StatusTryAgainLater, Local: true})
	})
}

// QueueDrop drops messages, and those that were accepted arrive whole and in order.
func TestQueueDrop(t *testing.T) {
	eachWay(t, func(t *testing.T, w way) {
		e, o := newEvents(), &Options{MaxQueue: 100_000, QueuePolicy: QueueDrop}
		s, c := stalled(t, w, e, o)
		sent, drops, most := 0, 0, 0
		message := func(i int) []byte { return bytes.Repeat([]byte{byte(i)}, 10_000+i%7) }
		for drops < 10 || most == 0 { // a queue that was full may be sent by now
			switch err := s.Write(Binary, message(sent)); err {
			case nil:
				sent++
			case ErrQueueFull:
				drops++
			default:
				t.Fatal(err)
			}
			most = max(most, s.Queued())
		}
		if most > 100_000 {
			t.Errorf("Queued %d", most)
		}
		for i := range sent {
			c.want(2, string(message(i)))
		}
		await.Until(t, "the queue is empty", func() bool { return s.Queued() == 0 })
		if err := s.Write(Text, []byte("again")); err != nil {
			t.Error(err)
		}
		c.want(1, "again")
		if n := o.Stats().Dropped; n != uint64(drops) {
			t.Errorf("%d dropped, counted %d", drops, n)
		}
	})
}

// QueueWait makes writers wait, and the end of the connection ends their wait.
func TestQueueWait(t *testing.T) {
	eachWay(t, func(t *testing.T, w way) {
		e, o := newEvents(), &Options{MaxQueue: 50_000, QueuePolicy: QueueWait}
		s, c := stalled(t, w, e, o)
		const writers, each = 4, 300
		var wg sync.WaitGroup
		for i := range writers {
			wg.Go(func() {
				for range each {
					if err := s.Write(Binary, bytes.Repeat([]byte{byte(i)}, 10_000)); err != nil {
						t.Error(err)
						return
					}
				}
			})
		}
		await.Until(t, "a writer waits", func() bool { return o.Stats().Waits > 0 })
		got := [writers]int{}
		for range writers * each {
			f, err := c.next()
			if err != nil {
				t.Fatal(err)
			}
			if len(f.Payload) != 10_000 || strings.Trim(string(f.Payload), string(f.Payload[:1])) != "" {
				t.Fatal("messages are mixed")
			}
			got[f.Payload[0]]++
		}
		wg.Wait()
		if got != [writers]int{each, each, each, each} {
			t.Error(got)
		}
		// Topics never wait.
		p, _ := Prepare(Binary, make([]byte, 10_000))
		await.Until(t, "it is full", func() bool {
			for range 100 {
				if errors.Is(s.publish(p), ErrQueueFull) {
					return true
				}
			}
			return false
		})
		// The end of the connection ends the wait.
		errs := make(chan error, writers)
		for range writers {
			go func() {
				for {
					if err := s.Write(Binary, make([]byte, 10_000)); err != nil {
						errs <- err
						return
					}
				}
			}()
		}
		c.tcp.SetLinger(0)
		c.tcp.Close()
		for range writers {
			select {
			case err := <-errs:
				if err != ErrClosed {
					t.Error(err)
				}
			case <-time.After(patience):
				t.Fatal("a writer waits forever")
			}
		}
	})
}

// QueueWait in a callback sends while the callback runs, and other goroutines may write at
// the same time.
func TestQueueWaitInCallback(t *testing.T) {
	eachWay(t, func(t *testing.T, w way) {
		e, o := newEvents(), &Options{MaxQueue: 50_000, QueuePolicy: QueueWait}
		e.message = func(s *Socket, _ MessageType, _ []byte) {
			var wg sync.WaitGroup
			for range 3 {
				wg.Go(func() {
					for range 100 {
						if err := s.Write(Binary, bytes.Repeat([]byte{1}, 9_000)); err != nil {
							t.Error(err)
						}
					}
				})
			}
			for range 100 {
				if err := s.Write(Binary, bytes.Repeat([]byte{2}, 9_000)); err != nil {
					t.Error(err)
				}
			}
			go func() {
				wg.Wait()
				_ = s.WriteString(Text, "end")
			}()
		}
		c := serveSockets(t, w, e, o).dial(t)
		c.send(message("go"))
		for range 400 {
			f, err := c.next()
			if err != nil || len(f.Payload) != 9_000 {
				t.Fatal(err, len(f.Payload))
			}
		}
		c.want(1, "end")
	})
}

// Many goroutines write while messages are echoed. Nothing is lost or mixed.
func TestSocketConcurrentWrites(t *testing.T) {
	eachWay(t, func(t *testing.T, w way) {
		e, o := newEvents(), &Options{MaxQueue: 64 << 20, MaxControl: -1}
		s, c := stalled(t, w, e, o)
		const writers, each = 8, 200
		sizes := []int{1, 100, 5_000, 20_000}
		var wg sync.WaitGroup
		for i := range writers {
			p, _ := Prepare(Binary, bytes.Repeat([]byte{byte(i)}, 3000))
			wg.Go(func() {
				for k := range each {
					var err error
					switch k % 5 {
					case 4:
						err = s.WritePrepared(p)
					default:
						err = s.Write(Binary, bytes.Repeat([]byte{byte(i)}, sizes[k%4]))
					}
					if err != nil {
						t.Error(err)
						return
					}
				}
			})
		}
		go func() {
			for range each {
				if _, err := c.nc.Write(append(message(strings.Repeat("e", 30_000)), frame(9, true, "p")...)); err != nil {
					return
				}
			}
		}()
		counts := [writers]int{}
		echoes, pongs := 0, 0
		for range writers*each + 2*each {
			f, err := c.next()
			if err != nil {
				t.Fatal(err)
			}
			switch f.Op {
			case wsframe.Text:
				echoes++
				if len(f.Payload) != 30_000 {
					t.Fatal("bad echo")
				}
			case wsframe.Pong:
				pongs++
			default:
				if strings.Trim(string(f.Payload), string(f.Payload[:1])) != "" {
					t.Fatal("messages are mixed")
				}
				counts[f.Payload[0]]++
			}
		}
		wg.Wait()
		if echoes != each || pongs != each || counts != [writers]int{each, each, each, each, each, each, each, each} {
			t.Error(echoes, pongs, counts)
		}
	})
}

// Echoes of large messages to a slow reader arrive whole.
func TestSocketSlowReader(t *testing.T) {
	eachWay(t, func(t *testing.T, w way) {
		c := serveSockets(t, w, newEvents(), nil).dial(t)
		sizes := []int{500_000, 20_000, 10, 70_000, 1 << 20}
		go func() {
			for i := range 10 {
				if _, err := c.nc.Write(message(strings.Repeat(string(rune('a'+i%26)), sizes[i%5]))); err != nil {
					return
				}
			}
			c.nc.Write(closing(StatusNormal, ""))
		}()
		for i := range 10 {
			if i%5 == 0 {
				time.Sleep(time.Millisecond) // a slow reader
			}
			c.want(1, strings.Repeat(string(rune('a'+i%26)), sizes[i%5]))
		}
		c.wantClose(StatusNormal)
	})
}
