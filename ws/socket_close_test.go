package ws

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/galehttp/gale"
	"github.com/galehttp/gale/internal/wsframe"
	"github.com/galehttp/gale/tests/harness/await"
)

// The peer's close frame is answered with the same code, and then the server ends the
// connection.
func TestSocketPeerCloses(t *testing.T) {
	eachWay(t, func(t *testing.T, w way) {
		e := newEvents()
		s := serveSockets(t, w, e, nil)
		for _, code := range []StatusCode{1000, 1001, 1002, 1003, 1007, 1008, 1009, 1010, 1011, 1012, 1013, 1014, 3000, 4999} {
			c := s.dial(t)
			c.send(closing(code, "why"), message("ignored"))
			c.wantClose(code)
			e.wantClosed(t, &CloseError{Code: code, Reason: "why"})
		}
		c := s.dial(t)
		c.send(frame(wsframe.Close, true, ""))
		c.want(wsframe.Close, "")
		c.wantEnd()
		e.wantClosed(t, &CloseError{Code: StatusNoStatus})
	})
}

// Close sends what was written before, then the close frame, and waits for the answer.
// Messages that arrive meanwhile are dropped.
func TestSocketClose(t *testing.T) {
	eachWay(t, func(t *testing.T, w way) {
		for _, inside := range []bool{true, false} {
			e, opened := newEvents(), make(chan *Socket, 1)
			do := func(s *Socket) {
				_ = s.WriteString(Text, "last")
				if err := s.Close(4000, strings.Repeat("ä", 100)); err != nil {
					t.Error(err)
				}
				if err := s.Close(StatusNormal, ""); err != ErrClosed {
					t.Error("second Close:", err)
				}
				for what, err := range map[string]error{"Write": s.WriteString(Text, "x"), "Ping": s.Ping(nil), "JSON": s.WriteJSON(1)} {
					if err != ErrClosed {
						t.Errorf("%s after Close: %v", what, err)
					}
				}
			}
			e.open = func(s *Socket) {
				if inside {
					do(s)
				}
				opened <- s
			}
			e.message = func(*Socket, MessageType, []byte) { t.Error("OnMessage was called") }
			c := serveSockets(t, w, e, nil).dial(t)
			if s := <-opened; !inside {
				do(s)
			}
			c.want(1, "last")
			c.wantCloseFrame(4000)
			c.send(message("late"), frame(9, true, "ping"), frame(1, false, strings.Repeat("x", 100_000)), frame(0, true, ""))
			select {
			case err := <-e.closed:
				t.Fatal("OnClose before the answer:", err)
			case <-time.After(5 * time.Millisecond): // a wrong Socket would most likely have called it by now
			}
			c.send(closing(4001, "other"))
			c.wantEnd()
			e.wantClosed(t, &CloseError{Code: 4000, Reason: strings.Repeat("ä", 61), Local: true})
		}
	})
}

// A code that must not be sent becomes StatusNormal.
func TestSocketCloseCodes(t *testing.T) {
	for _, test := range []struct{ code, want StatusCode }{
		{0, 1000}, {999, 1000}, {1005, 1000}, {1006, 1000}, {1015, 1000}, {2999, 1000}, {5000, 1000}, {1001, 1001}, {3000, 3000},
	} {
		e := newEvents()
		e.open = func(s *Socket) { s.Close(test.code, "") }
		c := serveSockets(t, way{gale.EngineEvent, false}, e, nil).dial(t)
		c.wantCloseFrame(test.want)
		c.send(closing(test.want, ""))
		c.wantEnd()
		e.wantClosed(t, &CloseError{Code: test.want, Local: true})
	}
}

// If the peer doesn't answer, CloseTimeout ends the connection, even if the peer sends.
func TestSocketCloseTimeout(t *testing.T) {
	eachWay(t, func(t *testing.T, w way) {
		for _, busy := range []bool{false, true} {
			e := newEvents()
			e.message = func(s *Socket, _ MessageType, _ []byte) { s.Close(StatusNormal, "bye") }
			c := serveSockets(t, w, e, &Options{CloseTimeout: 30 * time.Millisecond}).dial(t)
			c.send(message("close"))
			c.wantCloseFrame(StatusNormal)
			end := make(chan struct{})
			if busy {
				go func() {
					defer close(end)
					for {
						if _, err := c.nc.Write(message("more")); err != nil {
							return
						}
						time.Sleep(time.Millisecond) // a peer that goes on
					}
				}()
			} else {
				close(end)
			}
			e.wantClosed(t, &CloseError{Code: StatusNormal, Local: true})
			<-end
		}
	})
}

// Abort ends the connection without a close frame, from everywhere.
func TestSocketAbort(t *testing.T) {
	eachWay(t, func(t *testing.T, w way) {
		for _, where := range []string{"OnOpen", "OnMessage", "goroutine"} {
			e, opened := newEvents(), make(chan *Socket, 1)
			e.open = func(s *Socket) {
				if where == "OnOpen" {
					s.Abort()
				}
				opened <- s
			}
			e.message = func(s *Socket, _ MessageType, _ []byte) {
				s.Abort()
				if err := s.WriteString(Text, "x"); err != ErrClosed {
					t.Error("Write after Abort:", err)
				}
			}
			srv := serveSockets(t, w, e, nil)
			c := srv.connect(t)
			c.send([]byte(request()))
			s := <-opened
			switch where {
			case "OnMessage":
				c.send(message("abort"), message("abort"))
			case "goroutine":
				s.Abort()
				s.Abort()
			}
			e.wantClosed(t, ErrClosed)
			for {
				b := make([]byte, 1000)
				n, err := c.nc.Read(b)
				if err != nil {
					break
				}
				if strings.Contains(string(b[:n]), "\x88") {
					t.Error("a close frame was sent")
				}
			}
		}
	})
}

// A panic of a callback is logged, closes with 1011, and OnClose is called once.
func TestSocketPanics(t *testing.T) {
	eachWay(t, func(t *testing.T, w way) {
		for _, where := range []string{"OnOpen", "OnMessage", "OnPing", "OnPong", "OnClose", "large message", "compressed message"} {
			h := &panics{where: where, events: newEvents()}
			o := &Options{Compression: &Compression{Threshold: -1}}
			s := serveSockets(t, w, h, o)
			c := s.dial(t, "Sec-WebSocket-Extensions: permessage-deflate")
			code := StatusInternalError
			switch where {
			case "OnMessage":
				c.send(message("one"), message("two"))
			case "OnPing":
				c.send(frame(9, true, "one"), frame(9, true, "two"))
				c.want(10, "one")
			case "OnPong":
				c.send(frame(10, true, "one"), frame(9, true, "two"))
			case "OnClose":
				code = StatusNormal
				c.send(closing(code, ""))
			case "large message":
				c.send(message(strings.Repeat("x", 100_000)))
			case "compressed message":
				d := wsframe.NewDeflater(wsframe.Deflate{ServerNoTakeover: true, ClientNoTakeover: true}, true, 1)
				c.send(wsframe.AppendMasked(nil, wsframe.Text, true, true, testKey, d.Append(nil, []byte(strings.Repeat("hello ", 100)))))
			}
			c.wantCloseFrame(code)
			c.wantEnd()
			local := code == StatusInternalError
			h.wantClosed(t, &CloseError{Code: code, Local: local})
			await.Until(t, "it is logged", func() bool { return strings.Contains(s.logs.String(), "callback panicked") })
			if n := o.Stats().Panics; local && n != 1 {
				t.Errorf("%s: %d panics", where, n)
			}
			await.Until(t, "it is closed", func() bool { return o.Stats().Open == 0 && s.Stats().UpgradedConnections == 0 })
			// The server goes on.
			c = s.dial(t)
			c.nc.Close()
		}
	})
}

// panics is a Handler of which one method panics.
type panics struct {
	*events
	where string
}

func (h *panics) at(where string) {
	if h.where == where {
		panic("callback panicked")
	}
}

func (h *panics) OnOpen(*Socket) { h.at("OnOpen") }
func (h *panics) OnMessage(_ *Socket, _ MessageType, data []byte) {
	h.at("OnMessage")
	if len(data) > 500 {
		panic("callback panicked")
	}
}
func (h *panics) OnPing(*Socket, []byte) { h.at("OnPing") }
func (h *panics) OnPong(*Socket, []byte) { h.at("OnPong") }
func (h *panics) OnClose(s *Socket, err error) {
	h.events.OnClose(s, err)
	h.at("OnClose")
}

// Shutdown closes all WebSockets with StatusGoingAway and waits for the handshakes.
func TestSocketShutdown(t *testing.T) {
	eachWay(t, func(t *testing.T, w way) {
		e := newEvents()
		s := serveSockets(t, w, e, nil)
		var conns []*rawConn
		for range 5 {
			c := s.dial(t)
			c.send(message("hello"))
			c.want(1, "hello")
			conns = append(conns, c)
		}
		conns[4].send(message("partial")[:3])
		done := make(chan error, 1)
		go func() { done <- s.Shutdown() }()
		for _, c := range conns {
			c.wantCloseFrame(StatusGoingAway)
		}
		select {
		case err := <-done:
			t.Fatal("Shutdown didn't wait:", err)
		case <-time.After(5 * time.Millisecond): // a wrong Shutdown would most likely have returned by now
		}
		for _, c := range conns {
			if c == conns[4] {
				c.send(message("partial")[3:])
			}
			c.send(closing(StatusGoingAway, ""))
			c.wantEnd()
			e.wantClosed(t, &CloseError{Code: StatusGoingAway, Local: true})
		}
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}

// Shutdown ends in spite of a peer that doesn't answer.
func TestSocketShutdownTimeout(t *testing.T) {
	eachEngine(t, func(t *testing.T, w way) {
		e := newEvents()
		s := serveSockets(t, w, e, &Options{CloseTimeout: 20 * time.Millisecond})
		s.dial(t)
		if err := s.Shutdown(); err != nil {
			t.Error(err)
		}
		e.wantClosed(t, &CloseError{Code: StatusGoingAway, Local: true})
	})
}

// Server.Close breaks WebSockets.
func TestSocketServerClose(t *testing.T) {
	eachWay(t, func(t *testing.T, w way) {
		e := newEvents()
		s := serveSockets(t, w, e, nil)
		c := s.dial(t)
		c.send(message("hello"))
		c.want(1, "hello")
		s.Close()
		select {
		case err := <-e.closed:
			if err == nil {
				t.Error("OnClose got nil")
			}
		case <-time.After(patience):
			t.Fatal("OnClose isn't called")
		}
	})
}

func TestCloseStatus(t *testing.T) {
	for _, test := range []struct {
		err  error
		want StatusCode
	}{
		{nil, 0}, {errors.New("x"), StatusAbnormal}, {ErrClosed, StatusAbnormal},
		{&CloseError{Code: 4000}, 4000}, {errors.Join(errors.New("x"), &CloseError{Code: 1000}), 1000},
	} {
		if got := CloseStatus(test.err); got != test.want {
			t.Errorf("CloseStatus(%v) = %d, want %d", test.err, got, test.want)
		}
	}
}
