package ws

import (
	"context"
	"net"
	"testing"
	"time"

	"github.com/galehttp/gale/internal/clock"
	"github.com/galehttp/gale/internal/wsframe"
	"github.com/galehttp/gale/tests/harness/await"
)

// renewingConn tells when the call that reads sets its deadline anew.
type renewingConn struct {
	net.Conn
	renewed chan struct{}
}

func (c renewingConn) SetReadDeadline(d time.Time) error {
	err := c.Conn.SetReadDeadline(d)
	if d != clock.LongAgo {
		c.renewed <- struct{}{}
	}
	return err
}

// A call of Read that waits isn't ended by other calls, however many give up beside it.
func TestConnReadOutlastsOthers(t *testing.T) {
	near, far := net.Pipe()
	nc := renewingConn{near, make(chan struct{}, 1)}
	c := connOver(t, nc, &Options{PingInterval: -1, IdleTimeout: -1})
	type message struct {
		data []byte
		err  error
	}
	read, ctx := make(chan message, 1), testContext(t)
	go func() {
		_, data, err := c.Read(ctx)
		read <- message{data, err}
	}()
	await.Until(t, "a call reads", func() bool {
		if c.reading.tryLock() {
			c.reading.unlock()
			return false
		}
		return true
	})
	for n := range maxStrays + 2 {
		ctx, cancel := context.WithCancel(context.Background())
		gaveUp := make(chan error, 1)
		go func() {
			_, _, err := c.Read(ctx)
			gaveUp <- err
		}()
		select {
		case <-nc.renewed:
		case m := <-read:
			t.Fatalf("Read has ended beside %d others: %v", n, m.err)
		}
		cancel()
		if err := <-gaveUp; err != context.Canceled {
			t.Fatalf("Read with a context that ended: %v", err)
		}
	}
	go far.Write(frame(wsframe.Text, true, "a"))
	if m := <-read; string(m.data) != "a" || m.err != nil {
		t.Errorf("Read: %q, %v", m.data, m.err)
	}
}
