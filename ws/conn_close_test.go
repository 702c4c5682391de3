package ws

import (
	"context"
	"errors"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/galehttp/gale/internal/wsframe"
	"github.com/galehttp/gale/tests/harness/await"
)

// The closing handshake, begun by each side, with calls of all kinds that run meanwhile: all
// end with the same error.
func TestConnClose(t *testing.T) {
	eachWay(t, func(t *testing.T, w way) {
		checkNoLeaks(t)
		for _, byServer := range []bool{true, false} {
			conns, done := make(chan *Conn, 1), make(chan struct{})
			s := serveConns(t, w, func(c *Conn) { conns <- c; <-done }, nil)
			client := s.open(t, nil)
			server := <-conns
			var wg sync.WaitGroup
			for _, c := range []*Conn{server, client} {
				for _, call := range []func() error{
					func() error { _, _, err := c.Read(context.Background()); return err },
					func() error { _, _, err := c.Reader(context.Background()); return err },
				} {
					wg.Go(func() { wantCloseError(t, call(), 4000, (c == server) == byServer) })
				}
			}
			first, second := server, client
			if !byServer {
				first, second = client, server
			}
			if err := first.Close(4000, "reason"); err != nil {
				t.Error("Close:", err)
			}
			wg.Wait()
			for _, c := range []*Conn{first, second} {
				if err := c.Close(StatusNormal, ""); err != nil {
					t.Error("Close after the end:", err)
				}
				err := c.Write(context.Background(), Text, nil)
				wantCloseError(t, err, 4000, c == first)
				if !errors.Is(err, ErrClosed) {
					t.Error("Write:", err)
				}
				wantCloseError(t, c.Ping(context.Background()), 4000, c == first)
				if _, err := c.Writer(context.Background(), Text); !errors.Is(err, ErrClosed) {
					t.Error("Writer:", err)
				}
			}
			close(done)
		}
	})
}

// A peer that doesn't answer the close frame, or sends messages first.
func TestConnCloseUnanswered(t *testing.T) {
	eachWay(t, func(t *testing.T, w way) {
		checkNoLeaks(t)
		c, peer := connPair(t, w, &Options{CloseTimeout: 50 * time.Millisecond})
		if err := c.Close(StatusNormal, ""); err != errCloseTimeout || !errors.As(err, new(net.Error)) {
			t.Fatal("Close:", err)
		}
		peer.wantCloseFrame(StatusNormal)
		_, _, err := c.Read(context.Background())
		wantCloseError(t, err, StatusNormal, true)

		c, peer = connPair(t, w, nil)
		go func() {
			peer.send(message("dropped"), frame(wsframe.Text, false, "dro"))
			peer.wantCloseFrame(4001)
			peer.send(frame(wsframe.Continuation, true, "pped"), frame(wsframe.Ping, true, ""), closing(4001, ""))
		}()
		if err := c.Close(4001, strings.Repeat("é", 100)); err != nil {
			t.Fatal("Close:", err)
		}
		_, _, err = c.Read(context.Background())
		wantCloseError(t, err, 4001, true)
	})
}

// Close and CloseNow end calls that write to a peer that doesn't read.
func TestConnCloseStalled(t *testing.T) {
	eachWay(t, func(t *testing.T, w way) {
		checkNoLeaks(t)
		c, peer := connPair(t, w, &Options{CloseTimeout: 20 * time.Millisecond})
		_, result := stall(t, c, peer)
		if err := c.Close(StatusNormal, ""); err != errCloseTimeout {
			t.Error("Close:", err)
		}
		wantCloseError(t, <-result, StatusNormal, true)

		c, peer = connPair(t, w, nil)
		_, result = stall(t, c, peer)
		if err := c.CloseNow(); err != nil {
			t.Error("CloseNow:", err)
		}
		if err := <-result; !errors.Is(err, ErrClosed) {
			t.Error("Write:", err)
		}
		if _, _, err := c.Read(context.Background()); err != ErrClosed {
			t.Error("Read:", err)
		}
	})
}

// A peer that closes while this side sends to it, and doesn't read.
func TestConnPeerClosesStalled(t *testing.T) {
	eachEngine(t, func(t *testing.T, w way) {
		checkNoLeaks(t)
		c, peer := connPair(t, w, &Options{CloseTimeout: 20 * time.Millisecond})
		_, result := stall(t, c, peer)
		peer.send(closing(4002, ""))
		_, _, err := c.Read(context.Background())
		wantCloseError(t, err, 4002, false)
		wantCloseError(t, <-result, 4002, false)
	})
}

// What a handler does decides how the WebSocket ends.
func TestConnHandlerEnds(t *testing.T) {
	eachWay(t, func(t *testing.T, w way) {
		checkNoLeaks(t)
		o := &Options{}
		s := serveConns(t, w, func(c *Conn) {
			_, data, _ := c.Read(context.Background())
			switch string(data) {
			case "panic":
				panic("of a test")
			case "close":
				_ = c.Close(4003, "")
			case "now":
				_ = c.CloseNow()
			}
		}, o)
		for text, code := range map[string]StatusCode{"return": StatusNormal, "panic": StatusInternalError, "close": 4003, "now": 0} {
			c := s.dial(t)
			c.send(message(text))
			if code == 0 {
				_ = c.wantEndSoon()
				continue
			}
			c.wantCloseFrame(code)
			c.send(closing(code, ""))
			c.wantEnd()
		}
		await.Until(t, "all are counted", func() bool { return o.Stats().Open == 0 && o.Stats().Panics == 1 })
		await.Until(t, "the panic is logged", func() bool { return strings.Contains(s.logs.String(), "of a test") })
	})
}

// When the server shuts down, the peer gets StatusGoingAway, also if the handler doesn't
// read, and Shutdown waits for the handler.
func TestConnShutdown(t *testing.T) {
	eachWay(t, func(t *testing.T, w way) {
		checkNoLeaks(t)
		for _, reads := range []bool{true, false} {
			result, goOn := make(chan error, 1), make(chan struct{})
			s := serveConns(t, w, func(c *Conn) {
				if !reads {
					<-goOn
				}
				_, _, err := c.Read(context.Background())
				result <- err
			}, nil)
			c := s.dial(t)
			down := make(chan error, 1)
			go func() { down <- s.ShutdownWithContext(testContext(t)) }()
			c.wantCloseFrame(StatusGoingAway)
			c.send(closing(StatusGoingAway, ""))
			c.wantEnd()
			select {
			case err := <-down:
				if !reads {
					t.Error("Shutdown doesn't wait:", err)
				}
				down <- err
			default:
			}
			close(goOn)
			wantCloseError(t, <-result, StatusGoingAway, true)
			if err := <-down; err != nil {
				t.Error("Shutdown:", err)
			}
		}
	})
}

// A Conn that has been open for MaxLifetime is closed, whether it reads or not; one whose
// peer is silent is pinged and closed.
func TestConnTimes(t *testing.T) {
	eachWay(t, func(t *testing.T, w way) {
		checkNoLeaks(t)
		o := &Options{MaxLifetime: 30 * time.Millisecond}
		c, peer := connPair(t, w, o)
		peer.wantCloseFrame(StatusGoingAway)
		peer.send(closing(StatusGoingAway, ""))
		peer.wantEnd()
		_, _, err := c.Read(context.Background())
		wantCloseError(t, err, StatusGoingAway, true)

		o = &Options{PingInterval: 10 * time.Millisecond, IdleTimeout: -1}
		c, peer = connPair(t, w, o)
		ctx, cancel := context.WithCancel(context.Background())
		result := make(chan error, 1)
		go func() {
			_, _, err := c.Read(ctx)
			result <- err
		}()
		for range 5 {
			f, err := peer.next()
			if err != nil || f.Op != wsframe.Ping {
				t.Fatal(f.Op, err)
			}
			peer.send(frame(wsframe.Pong, true, string(f.Payload)))
		}
		cancel()
		if err := <-result; err != context.Canceled {
			t.Fatal("Read:", err)
		}

		o = &Options{PingInterval: 10 * time.Millisecond, IdleTimeout: 50 * time.Millisecond}
		c, peer = connPair(t, w, o)
		if _, _, err := c.Read(context.Background()); err != errConnIdle {
			t.Fatal("Read:", err)
		}
		if f, err := peer.next(); err != nil || f.Op != wsframe.Ping {
			t.Fatal(f.Op, err)
		}
		if n := o.Stats().IdleClosed; n != 1 {
			t.Fatal("IdleClosed:", n)
		}
	})
}
