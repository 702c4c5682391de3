package gale

import (
	"context"
	"errors"
	"io"
	"net"
	"slices"
	"sync"
	"testing"
	"time"
)

// Shutdown tells the handlers, and waits until they have ended their connections. So does
// a drain, which tells them before the listeners are closed.
func TestUpgradeShutdown(t *testing.T) {
	onUpgradeWays(t, func(t *testing.T, way upgradeWay) {
		for _, drain := range []time.Duration{0, time.Hour} {
			var stay sync.Mutex
			stay.Lock()
			told := make(chan struct{}, 10)
			us := way.serve(t, &Server{DrainTime: drain}, func() *upgradeFuncs {
				var once sync.Once
				return &upgradeFuncs{received: func(c *UpgradedConn, in []byte) int {
					if !c.Stopping() {
						return len(in)
					}
					once.Do(func() {
						told <- struct{}{}
						*c.Out() = append(*c.Out(), "bye"...)
					})
					if string(in) != "ok" {
						return len(in)
					}
					stay.Lock()
					defer stay.Unlock()
					c.Close()
					return len(in)
				}}
			})
			a, b := us.connect(""), us.connect("more")
			ctx, cancel := context.WithCancel(context.Background())
			defer cancel()
			down := make(chan error, 1)
			go func() { down <- us.s.ShutdownWithContext(ctx) }()
			<-told
			<-told
			a.wantText("bye")
			b.wantText("bye")
			a.send("ok")
			b.Close()
			us.wantEnd("") // of b
			if len(down) > 0 {
				t.Error("Shutdown has returned")
			}
			await(t, "the count", func() bool { return us.s.Stats().UpgradedConnections == 1 })
			stay.Unlock()
			if drain > 0 {
				cancel() // ends the drain
				<-down
				continue
			}
			a.wantClosed()
			a.Close()
			if err := <-down; err != nil {
				t.Error(err)
			}
			us.wantEnd("")
		}
	})
}

// Close ends upgraded connections at once, even if their peers don't read.
func TestUpgradeServerClose(t *testing.T) {
	onUpgradeWays(t, func(t *testing.T, way upgradeWay) {
		us := way.serve(t, &Server{}, func() *upgradeFuncs {
			return &upgradeFuncs{
				received: func(c *UpgradedConn, in []byte) int {
					_, _ = c.Send(make([]byte, 16<<20))
					return len(in)
				},
				stalled: func(c *UpgradedConn, why error) {},
			}
		})
		us.connect("")
		c := us.connect("x")
		if _, err := c.br.Peek(1); err != nil {
			t.Fatal(err)
		}
		us.s.Close()
		for range 2 {
			if err := <-us.closed; err == nil {
				t.Error("Closed got no error")
			}
		}
	})
}

// A connection that is upgraded while the server stops is told so at once.
func TestUpgradeWhileStopping(t *testing.T) {
	onUpgradeWays(t, func(t *testing.T, way upgradeWay) {
		if way.h2 {
			t.Skip("a stream is opened in one step; see TestTunnelShutdown")
		}
		s := &Server{}
		var begun, down sync.WaitGroup
		begun.Add(1)
		us := way.serve(t, s, func() *upgradeFuncs {
			begun.Done()
			down.Wait()
			return upgradeLines()
		})
		down.Add(1)
		c := us.dialTo()
		c.send(get("/"))
		begun.Wait()
		done := make(chan error, 1)
		go func() { done <- s.Shutdown() }()
		await(t, "the shutdown", s.Draining)
		down.Done()
		c.read("GET")
		c.wantText("hello\nstop")
		c.wantClosed()
		c.Close()
		if err := <-done; err != nil {
			t.Error(err)
		}
		us.wantEnd("")
	})
}

// A panic in a method is logged and ends the connection. Closed gets it.
func TestUpgradePanics(t *testing.T) {
	onUpgradeWays(t, func(t *testing.T, way upgradeWay) {
		for _, where := range []string{"opened", "received", "consumed", "stalled", "closed"} {
			is := func(method string) {
				if where == method {
					panic(errors.New("on purpose"))
				}
			}
			us := way.serve(t, &Server{}, func() *upgradeFuncs {
				return &upgradeFuncs{
					opened: func(c *UpgradedConn) { is("opened") },
					received: func(c *UpgradedConn, in []byte) int {
						is("received")
						if where == "consumed" {
							return len(in) + 1
						}
						return len(in)
					},
					stalled: func(c *UpgradedConn, why error) {
						is("stalled")
						c.Close()
					},
					closed: func(c *UpgradedConn, err error) { is("closed") },
				}
			})
			c := us.connect("x")
			if where == "stalled" || where == "closed" {
				c.Close()
			}
			err := <-us.closed
			if pe := (*PanicError)(nil); where != "closed" && !errors.As(err, &pe) {
				t.Errorf("%s: Closed got %v", where, err)
			}
			await(t, "the log", func() bool { return us.s.GetPanicsCount() == 1 })
			if us.connect(""); us.s.GetPanicsCount() > 2 {
				t.Errorf("%s: %d panics", where, us.s.GetPanicsCount())
			}
		}
	})
}

// The state of an upgraded connection stays active until it is closed, and the limits
// count it.
func TestUpgradeIsCounted(t *testing.T) {
	for _, way := range upgradeWays[:4] {
		if !slices.Contains(testEngines, way.engine) {
			continue
		}
		t.Run(way.name, func(t *testing.T) {
			var mu sync.Mutex
			var states []ConnState
			s := &Server{MaxConnsPerIP: 1, ConnState: func(_ net.Conn, st ConnState) {
				mu.Lock()
				defer mu.Unlock()
				states = append(states, st)
			}}
			us := way.serve(t, s, upgradeLines)
			c := us.connect("")
			c.wantText("hello\n")
			if st := s.Stats(); st.UpgradedConnections != 1 || st.OpenConnections != 1 || st.IdleConnections != 0 {
				t.Errorf("Stats: %+v", st)
			}
			if !way.isTLS {
				us.dial().want("GET", 429, refusedIP[len(refusedIP)-61:])
			}
			c.send("bye\n")
			c.wantClosed()
			c.Close()
			us.wantEnd("")
			await(t, "the end", func() bool { return s.GetOpenConnectionsCount() == 0 })
			us.connect("").Close() // the limit is free again
			us.wantEnd("")
			await(t, "the end", func() bool { return s.GetOpenConnectionsCount() == 0 })
			mu.Lock()
			defer mu.Unlock()
			one := []ConnState{StateNew, StateActive, StateClosed}
			if want := append(one, one...); !slices.Equal(states, want) && !slices.Equal(states, append([]ConnState{StateNew}, want...)) {
				t.Errorf("the states are %v", states)
			}
		})
	}
}

// What an UpgradedConn tells of its connection stays true after the end.
func TestUpgradeAddrs(t *testing.T) {
	onUpgradeWays(t, func(t *testing.T, way upgradeWay) {
		got := make(chan *UpgradedConn, 1)
		us := way.serve(t, &Server{}, func() *upgradeFuncs {
			return &upgradeFuncs{opened: func(c *UpgradedConn) { got <- c }}
		})
		tc := us.connect("")
		c := <-got
		if c.LocalAddr().String() != us.addr || c.RemoteAddr().String() != tc.LocalAddr().String() {
			t.Errorf("the addresses are %v and %v", c.LocalAddr(), c.RemoteAddr())
		}
		if st := c.TLS(); (st != nil) != way.isTLS || st != nil && !st.HandshakeComplete {
			t.Errorf("the TLS state is %v", st)
		}
		if c.ID() == 0 || c.Opened().IsZero() || c.Stopping() {
			t.Error(c.ID(), c.Opened(), c.Stopping())
		}
		tc.Close()
		us.wantEnd("")
		c.Wake()
		c.Kill(io.EOF)
		if c.RemoteAddr().String() != tc.LocalAddr().String() {
			t.Errorf("the address at the end is %v", c.RemoteAddr())
		}
	})
}
