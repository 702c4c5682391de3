package server

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/galehttp/gale"
	"github.com/galehttp/gale/internal/engine"
	"github.com/galehttp/gale/tests/harness"
	"github.com/galehttp/gale/tests/harness/await"
	"github.com/galehttp/gale/tests/harness/gate"
	"github.com/galehttp/gale/tests/harness/peers"
)

// The handler gets what comes with the request, what comes in pieces and what comes in
// batches, in order, and nothing twice.
func TestUpgrade(t *testing.T) {
	harness.OnUpgradeWays(t, func(t *testing.T, way harness.UpgradeWay) {
		us := way.Serve(t, &gale.Server{}, harness.UpgradeLines)
		c := us.Connect("a\nb")
		c.WantText("hello\n<a>")
		for _, piece := range []string{"c", "d\n", "e\nf\ng\n", "\n"} {
			c.Send(piece)
		}
		c.WantText("<bcd><e><f><g><>")
		if n := us.S.Stats().UpgradedConnections; n != 1 {
			t.Errorf("%d are counted", n)
		}
		c.Send("x\nbye\n")
		c.WantText("<x>")
		c.WantClosed()
		c.Close()
		us.WantEnd("")
		// The end of the peer.
		c = us.Connect("")
		c.WantText("hello\n")
		c.Close()
		us.WantEnd("")
	})
}

// A handler that leaves input unread because its output is large gets that input again, and
// is called again when the output is written.
func TestUpgradeOutLimit(t *testing.T) {
	harness.OnUpgradeWays(t, func(t *testing.T, way harness.UpgradeWay) {
		us := way.Serve(t, &gale.Server{}, func() *harness.UpgradeFuncs {
			return &harness.UpgradeFuncs{OnReceived: func(c *gale.UpgradedConn, in []byte) (n int) {
				for n < len(in) && len(*c.Out()) <= gale.OutLimit {
					*c.Out() = append(*c.Out(), bytes.Repeat(in[n:n+1], 10_000)...)
					n++
				}
				return n
			}}
		})
		c := us.Connect("abcdefghijklmnopqrstuvwxyz")
		for b := byte('a'); b <= 'z'; b++ {
			c.WantText(string(bytes.Repeat([]byte{b}, 10_000)))
		}
	})
}

// ReadInto reads into the buffer of the handler what arrives, but not what has arrived.
func TestUpgradeReadInto(t *testing.T) {
	harness.OnUpgradeWays(t, func(t *testing.T, way harness.UpgradeWay) {
		const size = 1 << 20
		us := way.Serve(t, &gale.Server{}, func() *harness.UpgradeFuncs {
			var all []byte
			buf := make([]byte, 100_000)
			landed := 0
			return &harness.UpgradeFuncs{OnReceived: func(c *gale.UpgradedConn, in []byte) int {
				if n := c.Landed(); n > 0 {
					if len(in) > 0 {
						t.Errorf("%d bytes landed, and %d came", n, len(in))
					}
					all = append(all, buf[:n]...)
					landed += n
				}
				all = append(all, in...)
				if len(all) == size {
					if landed == 0 {
						t.Error("nothing was read into the buffer")
					}
					_, _ = c.Send(all)
					return len(in)
				}
				c.ReadInto(nil) // has no effect
				c.ReadInto(buf)
				return len(in)
			}}
		})
		c := us.Connect("x")
		sent := bytes.Repeat([]byte("0123456789abcdef"), size/16)
		go c.Write(sent[1:])
		sent[0] = 'x'
		c.WantText(string(sent))
	})
}

// No Wake is lost, whatever the connection does, and Wake doesn't wait for the handler. When
// the peer has ended its side, wake-ups and output go on.
func TestUpgradeWake(t *testing.T) {
	harness.OnUpgradeWays(t, func(t *testing.T, way harness.UpgradeWay) {
		const each, wakers = 500, 8
		var posted atomic.Int64
		ended := make(chan struct{})
		us := way.Serve(t, &gale.Server{}, func() *harness.UpgradeFuncs {
			seen := int64(0)
			return &harness.UpgradeFuncs{
				OnOpened: func(c *gale.UpgradedConn) {
					for range wakers {
						go func() {
							for range each {
								posted.Add(1)
								c.Wake()
							}
							<-ended
							posted.Add(1)
							c.Wake()
						}()
					}
				},
				OnReceived: func(c *gale.UpgradedConn, in []byte) int {
					for now := posted.Load(); seen < now; seen++ {
						*c.Out() = append(*c.Out(), '.')
					}
					*c.Out() = append(*c.Out(), in...)
					return len(in)
				},
				OnStalled: func(c *gale.UpgradedConn, why error) {
					if why == io.EOF {
						close(ended)
					}
				},
			}
		})
		c := us.Connect("")
		want := each * wakers
		go func() {
			for range 100 {
				_, _ = c.Write([]byte("x"))
			}
		}()
		got := 0
		for got < want+100 {
			if _, err := c.Br.ReadByte(); err != nil {
				t.Fatal(err)
			}
			got++
		}
		if err := c.Conn.(interface{ CloseWrite() error }).CloseWrite(); err != nil {
			t.Fatal(err)
		}
		c.WantText("........")
	})
}

// A wait for bytes ends by SetTimeout, as often as it passes, and the handler decides what
// comes of it.
func TestUpgradeTimeout(t *testing.T) {
	harness.OnUpgradeWays(t, func(t *testing.T, way harness.UpgradeWay) {
		idle := time.Nanosecond
		if way.H2 {
			idle = time.Minute // or the connection ends before it has a stream
		}
		us := way.Serve(t, &gale.Server{IdleTimeout: idle}, func() *harness.UpgradeFuncs {
			n := 0
			return &harness.UpgradeFuncs{
				OnOpened: func(c *gale.UpgradedConn) {
					c.SetWriteTimeout(time.Minute)
					c.SetTimeout(20 * time.Millisecond)
				},
				OnStalled: func(c *gale.UpgradedConn, why error) {
					if ne, ok := why.(net.Error); !ok || !ne.Timeout() {
						t.Errorf("Stalled got %v", why)
					}
					n++
					*c.Out() = append(*c.Out(), "ping"...)
					if n == 3 {
						c.Close()
					}
				},
			}
		})
		c := us.Connect("")
		c.WantText("pingpingping")
		c.WantClosed()
		c.Close()
		us.WantEnd("")
		if n := us.S.Stats().Timeouts; n > 0 {
			t.Errorf("%d timeouts are counted", n)
		}
	})
}

// A peer that reads nothing ends the connection by SetWriteTimeout.
func TestUpgradeWriteTimeout(t *testing.T) {
	harness.OnUpgradeWays(t, func(t *testing.T, way harness.UpgradeWay) {
		us := way.Serve(t, &gale.Server{}, func() *harness.UpgradeFuncs {
			return &harness.UpgradeFuncs{
				OnOpened: func(c *gale.UpgradedConn) {
					c.SetWriteTimeout(50 * time.Millisecond)
					if done, err := c.Send(make([]byte, 16<<20)); done {
						t.Errorf("Send of 16 MiB: %v, %v", done, err)
					}
				},
			}
		})
		us.Connect("")
		if err := <-us.Closed; !engine.IsTimeout(err) {
			t.Errorf("Closed got %v", err)
		}
	})
}

// Kill ends a connection that waits for bytes, for room to write, or for its handler.
func TestUpgradeKill(t *testing.T) {
	why := errors.New("killed")
	harness.OnUpgradeWays(t, func(t *testing.T, way harness.UpgradeWay) {
		conns := make(chan *gale.UpgradedConn, 1)
		us := way.Serve(t, &gale.Server{}, func() *harness.UpgradeFuncs {
			return &harness.UpgradeFuncs{
				OnOpened: func(c *gale.UpgradedConn) { conns <- c },
				OnReceived: func(c *gale.UpgradedConn, in []byte) int {
					switch string(in) {
					case "send":
						conns <- c
						_, _ = c.Send(make([]byte, 16<<20))
					case "out":
						*c.Out() = append(*c.Out(), make([]byte, 16<<20)...)
						conns <- c
					case "self":
						c.Kill(why)
						c.Kill(io.EOF)
					}
					return len(in)
				},
			}
		})
		us.Connect("")
		c := <-conns
		c.Kill(why)
		us.WantEnd(why.Error())
		c.Kill(io.EOF) // nothing happens
		c.Wake()
		for _, text := range []string{"send", "out"} {
			tc := us.Connect("")
			<-conns
			tc.Send(text)
			c := <-conns
			if _, err := tc.Br.Peek(1); err != nil { // it is being sent
				t.Fatal(err)
			}
			c.Kill(why)
			us.WantEnd(why.Error())
		}
		us.Connect("self")
		<-conns
		us.WantEnd(why.Error())
		us.Connect("")
		(<-conns).Kill(nil)
		us.WantEnd(net.ErrClosed.Error())
	})
}

// Abort breaks the connection. Its peer sees that.
func TestUpgradeAbort(t *testing.T) {
	harness.OnUpgradeWays(t, func(t *testing.T, way harness.UpgradeWay) {
		us := way.Serve(t, &gale.Server{}, func() *harness.UpgradeFuncs {
			return &harness.UpgradeFuncs{OnReceived: func(c *gale.UpgradedConn, in []byte) int {
				c.Abort()
				return len(in)
			}}
		})
		c := us.Connect("x")
		if _, err := io.ReadAll(c.Br); err == nil {
			t.Error("the connection ended normally")
		}
		us.WantEnd("")
	})
}

// The state of an upgraded connection stays active until it is closed, and the limits
// count it.
func TestUpgradeIsCounted(t *testing.T) {
	for _, way := range harness.UpgradeWays[:4] {
		if !slices.Contains(peers.Engines[gale.Engine](), way.Engine) {
			continue
		}
		t.Run(way.Name, func(t *testing.T) {
			var mu sync.Mutex
			var states []gale.ConnState
			s := &gale.Server{MaxConnsPerIP: 1, ConnState: func(_ net.Conn, st gale.ConnState) {
				mu.Lock()
				defer mu.Unlock()
				states = append(states, st)
			}}
			us := way.Serve(t, s, harness.UpgradeLines)
			c := us.Connect("")
			c.WantText("hello\n")
			if st := s.Stats(); st.UpgradedConnections != 1 || st.OpenConnections != 1 || st.IdleConnections != 0 {
				t.Errorf("Stats: %+v", st)
			}
			if !way.IsTLS {
				us.Dial().Want("GET", 429, "The number of connections from your ip exceeds MaxConnsPerIP\n")
			}
			c.Send("bye\n")
			c.WantClosed()
			c.Close()
			us.WantEnd("")
			await.Until(t, "the end", func() bool { return s.GetOpenConnectionsCount() == 0 })
			us.Connect("").Close() // the limit is free again
			us.WantEnd("")
			await.Until(t, "the end", func() bool { return s.GetOpenConnectionsCount() == 0 })
			mu.Lock()
			defer mu.Unlock()
			one := []gale.ConnState{gale.StateNew, gale.StateActive, gale.StateClosed}
			if want := append(one, one...); !slices.Equal(states, want) && !slices.Equal(states, append([]gale.ConnState{gale.StateNew}, want...)) {
				t.Errorf("the states are %v", states)
			}
		})
	}
}

// Large output goes through Send to a reader that is slow, and the rest of the input waits
// for it. No byte is lost or out of order.
func TestUpgradeSend(t *testing.T) {
	size := gate.Form(10<<20, 3<<20)
	harness.OnUpgradeWays(t, func(t *testing.T, way harness.UpgradeWay) {
		us := way.Serve(t, &gale.Server{}, func() *harness.UpgradeFuncs {
			var keep []byte
			all := 0
			return &harness.UpgradeFuncs{OnReceived: func(c *gale.UpgradedConn, in []byte) int {
				keep = append(keep, in...)
				if all += len(in); len(keep) == 0 || len(keep) < size/4 && all < size {
					return len(in)
				}
				b := keep
				keep = nil
				*c.Out() = append(*c.Out(), "head"...)
				done, err := c.Send(b)
				clear(b) // it belongs to the handler again
				if err != nil {
					t.Error(err)
				}
				if !done {
					if _, err := c.Send(b); fmt.Sprint(err) != "gale: Send was called although output of an earlier call waits" {
						t.Errorf("another Send: %v", err)
					}
					return len(in)
				}
				*c.Out() = append(*c.Out(), "tail"...)
				_, _ = c.Send(nil) // sends Out
				return len(in)
			}}
		})
		c := us.Connect("")
		sent := make([]byte, size)
		for i := range sent {
			sent[i] = byte('0' + i/1000%10)
		}
		go c.Write(sent)
		var got []byte
		b := make([]byte, 50_000)
		for len(got) < size {
			n, err := c.Br.Read(b)
			if err != nil {
				t.Fatal(err)
			}
			for _, x := range b[:n] {
				if x >= '0' && x <= '9' { // not of "head" and "tail"
					got = append(got, x)
				}
			}
		}
		if !bytes.Equal(got, sent) {
			t.Error("other bytes came back")
		}
	})
}
