package gale

import (
	"bytes"
	"errors"
	"io"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"github.com/galehttp/gale/internal/engine"
)

// upgradeLines answers each line with "<line>" and ends after "bye".
func upgradeLines() *upgradeFuncs {
	return &upgradeFuncs{
		opened: func(c *UpgradedConn) { *c.Out() = append(*c.Out(), "hello\n"...) },
		received: func(c *UpgradedConn, in []byte) (n int) {
			out := c.Out()
			for {
				i := bytes.IndexByte(in[n:], '\n')
				if i < 0 {
					break
				}
				line := in[n : n+i]
				n += i + 1
				if string(line) == "bye" {
					c.Close()
					return n
				}
				*out = append(append(append(*out, '<'), line...), '>')
			}
			if c.Stopping() {
				*out = append(*out, "stop"...)
				c.Close()
			}
			return n
		},
	}
}

// The handler gets what comes with the request, what comes in pieces and what comes in
// batches, in order, and nothing twice.
func TestUpgrade(t *testing.T) {
	onUpgradeWays(t, func(t *testing.T, way upgradeWay) {
		us := way.serve(t, &Server{}, upgradeLines)
		c := us.connect("a\nb")
		c.wantText("hello\n<a>")
		for _, piece := range []string{"c", "d\n", "e\nf\ng\n", "\n"} {
			c.send(piece)
		}
		c.wantText("<bcd><e><f><g><>")
		if n := us.s.Stats().UpgradedConnections; n != 1 {
			t.Errorf("%d are counted", n)
		}
		c.send("x\nbye\n")
		c.wantText("<x>")
		c.wantClosed()
		c.Close()
		us.wantEnd("")
		// The end of the peer.
		c = us.connect("")
		c.wantText("hello\n")
		c.Close()
		us.wantEnd("")
	})
}

// Large output goes through Send to a reader that is slow, and the rest of the input waits
// for it. No byte is lost or out of order.
func TestUpgradeSend(t *testing.T) {
	onUpgradeWays(t, func(t *testing.T, way upgradeWay) {
		const size = 10 << 20
		us := way.serve(t, &Server{}, func() *upgradeFuncs {
			var keep []byte
			all := 0
			return &upgradeFuncs{received: func(c *UpgradedConn, in []byte) int {
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
					if _, err := c.Send(b); err != errSendLeft {
						t.Errorf("another Send: %v", err)
					}
					return len(in)
				}
				*c.Out() = append(*c.Out(), "tail"...)
				_, _ = c.Send(nil) // sends Out
				return len(in)
			}}
		})
		c := us.connect("")
		sent := make([]byte, size)
		for i := range sent {
			sent[i] = byte('0' + i/1000%10)
		}
		go c.Write(sent)
		var got []byte
		b := make([]byte, 50_000)
		for len(got) < size {
			n, err := c.br.Read(b)
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

// A handler that leaves input unread because its output is large gets that input again, and
// is called again when the output is written.
func TestUpgradeOutLimit(t *testing.T) {
	onUpgradeWays(t, func(t *testing.T, way upgradeWay) {
		us := way.serve(t, &Server{}, func() *upgradeFuncs {
			return &upgradeFuncs{received: func(c *UpgradedConn, in []byte) (n int) {
				for n < len(in) && len(*c.Out()) <= OutLimit {
					*c.Out() = append(*c.Out(), bytes.Repeat(in[n:n+1], 10_000)...)
					n++
				}
				return n
			}}
		})
		c := us.connect("abcdefghijklmnopqrstuvwxyz")
		for b := byte('a'); b <= 'z'; b++ {
			c.wantText(string(bytes.Repeat([]byte{b}, 10_000)))
		}
	})
}

// ReadInto reads into the buffer of the handler what arrives, but not what has arrived.
func TestUpgradeReadInto(t *testing.T) {
	onUpgradeWays(t, func(t *testing.T, way upgradeWay) {
		const size = 1 << 20
		us := way.serve(t, &Server{}, func() *upgradeFuncs {
			var all []byte
			buf := make([]byte, 100_000)
			landed := 0
			return &upgradeFuncs{received: func(c *UpgradedConn, in []byte) int {
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
		c := us.connect("x")
		sent := bytes.Repeat([]byte("0123456789abcdef"), size/16)
		go c.Write(sent[1:])
		sent[0] = 'x'
		c.wantText(string(sent))
	})
}

// No Wake is lost, whatever the connection does, and Wake doesn't wait for the handler. When
// the peer has ended its side, wake-ups and output go on.
func TestUpgradeWake(t *testing.T) {
	onUpgradeWays(t, func(t *testing.T, way upgradeWay) {
		const each, wakers = 500, 8
		var posted atomic.Int64
		ended := make(chan struct{})
		us := way.serve(t, &Server{}, func() *upgradeFuncs {
			seen := int64(0)
			return &upgradeFuncs{
				opened: func(c *UpgradedConn) {
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
				received: func(c *UpgradedConn, in []byte) int {
					for now := posted.Load(); seen < now; seen++ {
						*c.Out() = append(*c.Out(), '.')
					}
					*c.Out() = append(*c.Out(), in...)
					return len(in)
				},
				stalled: func(c *UpgradedConn, why error) {
					if why == io.EOF {
						close(ended)
					}
				},
			}
		})
		c := us.connect("")
		want := each * wakers
		go func() {
			for range 100 {
				_, _ = c.Write([]byte("x"))
			}
		}()
		got := 0
		for got < want+100 {
			if _, err := c.br.ReadByte(); err != nil {
				t.Fatal(err)
			}
			got++
		}
		if err := c.Conn.(interface{ CloseWrite() error }).CloseWrite(); err != nil {
			t.Fatal(err)
		}
		c.wantText("........")
	})
}

// A wait for bytes ends by SetTimeout, as often as it passes, and the handler decides what
// comes of it.
func TestUpgradeTimeout(t *testing.T) {
	onUpgradeWays(t, func(t *testing.T, way upgradeWay) {
		idle := time.Nanosecond
		if way.h2 {
			idle = time.Minute // or the connection ends before it has a stream
		}
		us := way.serve(t, &Server{IdleTimeout: idle}, func() *upgradeFuncs {
			n := 0
			return &upgradeFuncs{
				opened: func(c *UpgradedConn) {
					c.SetWriteTimeout(time.Minute)
					c.SetTimeout(20 * time.Millisecond)
				},
				stalled: func(c *UpgradedConn, why error) {
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
		c := us.connect("")
		c.wantText("pingpingping")
		c.wantClosed()
		c.Close()
		us.wantEnd("")
		if n := us.s.Stats().Timeouts; n > 0 {
			t.Errorf("%d timeouts are counted", n)
		}
	})
}

// A peer that reads nothing ends the connection by SetWriteTimeout.
func TestUpgradeWriteTimeout(t *testing.T) {
	onUpgradeWays(t, func(t *testing.T, way upgradeWay) {
		us := way.serve(t, &Server{}, func() *upgradeFuncs {
			return &upgradeFuncs{
				opened: func(c *UpgradedConn) {
					c.SetWriteTimeout(50 * time.Millisecond)
					if done, err := c.Send(make([]byte, 16<<20)); done {
						t.Errorf("Send of 16 MiB: %v, %v", done, err)
					}
				},
			}
		})
		us.connect("")
		if err := <-us.closed; !engine.IsTimeout(err) {
			t.Errorf("Closed got %v", err)
		}
	})
}

// Kill ends a connection that waits for bytes, for room to write, or for its handler.
func TestUpgradeKill(t *testing.T) {
	why := errors.New("killed")
	onUpgradeWays(t, func(t *testing.T, way upgradeWay) {
		conns := make(chan *UpgradedConn, 1)
		us := way.serve(t, &Server{}, func() *upgradeFuncs {
			return &upgradeFuncs{
				opened: func(c *UpgradedConn) { conns <- c },
				received: func(c *UpgradedConn, in []byte) int {
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
		us.connect("")
		c := <-conns
		c.Kill(why)
		us.wantEnd(why.Error())
		c.Kill(io.EOF) // nothing happens
		c.Wake()
		for _, text := range []string{"send", "out"} {
			tc := us.connect("")
			<-conns
			tc.send(text)
			c := <-conns
			if _, err := tc.br.Peek(1); err != nil { // it is being sent
				t.Fatal(err)
			}
			c.Kill(why)
			us.wantEnd(why.Error())
		}
		us.connect("self")
		<-conns
		us.wantEnd(why.Error())
		us.connect("")
		(<-conns).Kill(nil)
		us.wantEnd(net.ErrClosed.Error())
	})
}

// Abort breaks the connection. Its peer sees that.
func TestUpgradeAbort(t *testing.T) {
	onUpgradeWays(t, func(t *testing.T, way upgradeWay) {
		us := way.serve(t, &Server{}, func() *upgradeFuncs {
			return &upgradeFuncs{received: func(c *UpgradedConn, in []byte) int {
				c.Abort()
				return len(in)
			}}
		})
		c := us.connect("x")
		if _, err := io.ReadAll(c.br); err == nil {
			t.Error("the connection ended normally")
		}
		us.wantEnd("")
	})
}
