package ws

import (
	"testing"
	"time"

	"github.com/galehttp/gale/internal/wsframe"
)

// A peer that answers pings stays, one that doesn't is closed.
func TestSocketPings(t *testing.T) {
	eachWay(t, func(t *testing.T, w way) {
		t.Parallel()
		e := newEvents()
		o := &Options{PingInterval: 10 * time.Millisecond, IdleTimeout: time.Second}
		c := serveSockets(t, w, e, o).dial(t)
		for range 5 {
			c.want(wsframe.Ping, "")
			c.send(frame(wsframe.Pong, true, ""))
		}
		c.send(message("hello"))
		for {
			f, err := c.next()
			if err != nil {
				t.Fatal(err)
			}
			if f.Op == wsframe.Text {
				break
			}
			c.send(frame(wsframe.Pong, true, ""))
		}
		// Without an answer there is at most one ping more.
		pings := 0
		for {
			f, err := c.next()
			if err != nil {
				t.Fatal(err)
			}
			if f.Op == wsframe.Close {
				break
			}
			pings++
		}
		if pings > 2 {
			t.Errorf("%d pings without an answer", pings)
		}
		e.wantClosed(t, &CloseError{Code: StatusGoingAway, Local: true})
		if n := o.Stats().IdleClosed; n != 1 {
			t.Errorf("IdleClosed %d", n)
		}
	})
}

// Without pings a silent peer is closed, although the program writes.
func TestSocketIdle(t *testing.T) {
	eachWay(t, func(t *testing.T, w way) {
		e, opened := newEvents(), make(chan *Socket, 1)
		e.open = func(s *Socket) { opened <- s }
		o := &Options{PingInterval: -1, IdleTimeout: 30 * time.Millisecond}
		c := serveSockets(t, w, e, o).dial(t)
		s := <-opened
		for s.WriteString(Text, "tick") == nil {
			time.Sleep(time.Millisecond) // the pace of the program
		}
		for {
			f, err := c.next()
			if err != nil {
				t.Fatal(err)
			}
			if f.Op == wsframe.Close {
				break
			}
		}
		c.wantEnd()
		e.wantClosed(t, &CloseError{Code: StatusGoingAway, Local: true})
	})
}

// Without a limit there are pings all the same, if they are asked for.
func TestSocketPingsWithoutLimit(t *testing.T) {
	eachEngine(t, func(t *testing.T, w way) {
		o := &Options{PingInterval: 5 * time.Millisecond, IdleTimeout: -1}
		c := serveSockets(t, w, newEvents(), o).dial(t)
		for range 5 {
			c.want(wsframe.Ping, "")
		}
	})
}

// MaxLifetime ends a WebSocket that is busy, and one that is idle.
func TestSocketLifetime(t *testing.T) {
	eachWay(t, func(t *testing.T, w way) {
		for _, busy := range []bool{false, true} {
			e := newEvents()
			o := &Options{MaxLifetime: 50 * time.Millisecond}
			c := serveSockets(t, w, e, o).dial(t)
			for {
				if busy {
					c.send(message("hello"))
				}
				f, err := c.next()
				if err != nil {
					t.Fatal(err)
				}
				if f.Op == wsframe.Close {
					break
				}
			}
			c.send(closing(StatusGoingAway, ""))
			c.wantEnd()
			e.wantClosed(t, &CloseError{Code: StatusGoingAway, Local: true})
			if n := o.Stats().LifetimeClosed; n != 1 {
				t.Errorf("LifetimeClosed %d", n)
			}
		}
	})
}

// A peer that sends control frames at a lower rate than MaxControl stays.
func TestSocketControlRate(t *testing.T) {
	eachEngine(t, func(t *testing.T, w way) {
		c := serveSockets(t, w, newEvents(), &Options{MaxControl: 5000}).dial(t)
		for range 5000 / 4 {
			c.send(frame(9, true, "a"), frame(10, true, "b"), frame(2, false, ""), frame(0, false, ""), frame(0, true, ""))
			c.want(10, "a")
			c.want(2, "")
		}
		c = serveSockets(t, w, newEvents(), &Options{MaxControl: -1}).dial(t)
		for range 100 {
			for range 100 {
				c.send(frame(9, true, "a"))
			}
			for range 100 {
				c.want(10, "a")
			}
		}
	})
}
