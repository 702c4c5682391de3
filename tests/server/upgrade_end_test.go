package server

import (
	"context"
	"errors"
	"io"
	"sync"
	"testing"
	"time"

	"github.com/galehttp/gale"
	"github.com/galehttp/gale/tests/harness"
	"github.com/galehttp/gale/tests/harness/await"
	"github.com/galehttp/gale/tests/harness/peers"
)

// Shutdown tells the handlers, and waits until they have ended their connections. So does
// a drain, which tells them before the listeners are closed.
func TestUpgradeShutdown(t *testing.T) {
	harness.OnUpgradeWays(t, func(t *testing.T, way harness.UpgradeWay) {
		for _, drain := range []time.Duration{0, time.Hour} {
			var stay sync.Mutex
			stay.Lock()
			told := make(chan struct{}, 10)
			us := way.Serve(t, &gale.Server{DrainTime: drain}, func() *harness.UpgradeFuncs {
				var once sync.Once
				return &harness.UpgradeFuncs{OnReceived: func(c *gale.UpgradedConn, in []byte) int {
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
			a, b := us.Connect(""), us.Connect("more")
			ctx, cancel := context.WithCancel(context.Background())
			defer cancel()
			down := make(chan error, 1)
			go func() { down <- us.S.ShutdownWithContext(ctx) }()
			<-told
			<-told
			a.WantText("bye")
			b.WantText("bye")
			a.Send("ok")
			b.Close()
			us.WantEnd("") // of b
			if len(down) > 0 {
				t.Error("Shutdown has returned")
			}
			await.Until(t, "the count", func() bool { return us.S.Stats().UpgradedConnections == 1 })
			stay.Unlock()
			if drain > 0 {
				cancel() // ends the drain
				<-down
				continue
			}
			a.WantClosed()
			a.Close()
			if err := <-down; err != nil {
				t.Error(err)
			}
			us.WantEnd("")
		}
	})
}

// Close ends upgraded connections at once, even if their peers don't read.
func TestUpgradeServerClose(t *testing.T) {
	harness.OnUpgradeWays(t, func(t *testing.T, way harness.UpgradeWay) {
		us := way.Serve(t, &gale.Server{}, func() *harness.UpgradeFuncs {
			return &harness.UpgradeFuncs{
				OnReceived: func(c *gale.UpgradedConn, in []byte) int {
					_, _ = c.Send(make([]byte, 16<<20))
					return len(in)
				},
				OnStalled: func(c *gale.UpgradedConn, why error) {},
			}
		})
		us.Connect("")
		c := us.Connect("x")
		if _, err := c.Br.Peek(1); err != nil {
			t.Fatal(err)
		}
		us.S.Close()
		for range 2 {
			if err := <-us.Closed; err == nil {
				t.Error("Closed got no error")
			}
		}
	})
}

// A connection that is upgraded while the server stops is told so at once.
func TestUpgradeWhileStopping(t *testing.T) {
	harness.OnUpgradeWays(t, func(t *testing.T, way harness.UpgradeWay) {
		if way.H2 {
			t.Skip("a stream is opened in one step; see TestEndings")
		}
		s := &gale.Server{}
		var begun, down sync.WaitGroup
		begun.Add(1)
		us := way.Serve(t, s, func() *harness.UpgradeFuncs {
			begun.Done()
			down.Wait()
			return harness.UpgradeLines()
		})
		down.Add(1)
		c := us.DialTo()
		c.Send(peers.Get("/"))
		begun.Wait()
		done := make(chan error, 1)
		go func() { done <- s.Shutdown() }()
		await.Until(t, "the shutdown", s.Draining)
		down.Done()
		c.Answer("GET")
		c.WantText("hello\nstop")
		c.WantClosed()
		c.Close()
		if err := <-done; err != nil {
			t.Error(err)
		}
		us.WantEnd("")
	})
}

// A panic in a method is logged and ends the connection. Closed gets it.
func TestUpgradePanics(t *testing.T) {
	harness.OnUpgradeWays(t, func(t *testing.T, way harness.UpgradeWay) {
		for _, where := range []string{"opened", "received", "consumed", "stalled", "closed"} {
			is := func(method string) {
				if where == method {
					panic(errors.New("on purpose"))
				}
			}
			us := way.Serve(t, &gale.Server{}, func() *harness.UpgradeFuncs {
				return &harness.UpgradeFuncs{
					OnOpened: func(c *gale.UpgradedConn) { is("opened") },
					OnReceived: func(c *gale.UpgradedConn, in []byte) int {
						is("received")
						if where == "consumed" {
							return len(in) + 1
						}
						return len(in)
					},
					OnStalled: func(c *gale.UpgradedConn, why error) {
						is("stalled")
						c.Close()
					},
					OnClosed: func(c *gale.UpgradedConn, err error) { is("closed") },
				}
			})
			c := us.Connect("x")
			if where == "stalled" || where == "closed" {
				c.Close()
			}
			err := <-us.Closed
			if pe := (*gale.PanicError)(nil); where != "closed" && !errors.As(err, &pe) {
				t.Errorf("%s: Closed got %v", where, err)
			}
			await.Until(t, "the log", func() bool { return us.S.GetPanicsCount() == 1 })
			if us.Connect(""); us.S.GetPanicsCount() > 2 {
				t.Errorf("%s: %d panics", where, us.S.GetPanicsCount())
			}
		}
	})
}

// What an UpgradedConn tells of its connection stays true after the end.
func TestUpgradeAddrs(t *testing.T) {
	harness.OnUpgradeWays(t, func(t *testing.T, way harness.UpgradeWay) {
		got := make(chan *gale.UpgradedConn, 1)
		us := way.Serve(t, &gale.Server{}, func() *harness.UpgradeFuncs {
			return &harness.UpgradeFuncs{OnOpened: func(c *gale.UpgradedConn) { got <- c }}
		})
		tc := us.Connect("")
		c := <-got
		if c.LocalAddr().String() != us.Addr || c.RemoteAddr().String() != tc.LocalAddr().String() {
			t.Errorf("the addresses are %v and %v", c.LocalAddr(), c.RemoteAddr())
		}
		if st := c.TLS(); (st != nil) != way.IsTLS || st != nil && !st.HandshakeComplete {
			t.Errorf("the TLS state is %v", st)
		}
		if c.ID() == 0 || c.Opened().IsZero() || c.Stopping() {
			t.Error(c.ID(), c.Opened(), c.Stopping())
		}
		tc.Close()
		us.WantEnd("")
		c.Wake()
		c.Kill(io.EOF)
		if c.RemoteAddr().String() != tc.LocalAddr().String() {
			t.Errorf("the address at the end is %v", c.RemoteAddr())
		}
	})
}
