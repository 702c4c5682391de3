package ws

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"runtime"
	"strings"
	"testing"

	"github.com/galehttp/gale/internal/wsframe"
	"github.com/galehttp/gale/tests/harness/await"
)

// What clients send, whole and byte by byte, and what a Conn that echoes answers.
func TestConnFrames(t *testing.T) {
	join := func(frames ...[]byte) []byte { return bytes.Join(frames, nil) }
	tests := []struct {
		name string
		in   []byte
		op   wsframe.Opcode
		want string     // the message or pong that comes first, if op is set
		code StatusCode // of the close frame that comes then
	}{
		{"close", closing(StatusNormal, "bye"), 0, "", StatusNormal},
		{"close without a code", frame(wsframe.Close, true, ""), 0, "", StatusNoStatus},
		{"close with a code of applications", closing(4321, "x"), 0, "", 4321},
		{"close after a message", join(message("a"), closing(StatusGoingAway, "")), wsframe.Text, "a", StatusGoingAway},
		{"data after close", join(closing(StatusNormal, ""), message("a")), 0, "", StatusNormal},
		{"ping", join(frame(wsframe.Ping, true, "hi"), closing(StatusNormal, "")), wsframe.Pong, "hi", StatusNormal},
		{"fragments", join(frame(wsframe.Text, false, "a"), frame(wsframe.Continuation, false, ""), frame(wsframe.Continuation, true, "b"), closing(StatusNormal, "")), wsframe.Text, "ab", StatusNormal},
		{"unsolicited pong", join(frame(wsframe.Pong, true, "12345678"), message("a"), closing(StatusNormal, "")), wsframe.Text, "a", StatusNormal},
		{"close code 1005", frame(wsframe.Close, true, "\x03\xed"), 0, "", StatusProtocolError},
		{"close with one byte", frame(wsframe.Close, true, "\x03"), 0, "", StatusProtocolError},
		{"not masked", wsframe.AppendFrame(nil, wsframe.Text, true, false, []byte("a")), 0, "", StatusProtocolError},
		{"reserved opcode", frame(3, true, ""), 0, "", StatusProtocolError},
		{"reserved bit", []byte{0xc1, 0x80, 1, 2, 3, 4}, 0, "", StatusProtocolError},
		{"continuation of nothing", frame(wsframe.Continuation, true, "a"), 0, "", StatusProtocolError},
		{"message in a message", join(frame(wsframe.Text, false, "a"), message("b")), 0, "", StatusProtocolError},
		{"ping in fragments", frame(wsframe.Ping, false, "a"), 0, "", StatusProtocolError},
		{"not UTF-8", message("a\xff"), 0, "", StatusInvalidData},
		{"cut UTF-8", message("\xe4\xb8"), 0, "", StatusInvalidData},
		{"binary needn't be UTF-8", join(frame(wsframe.Binary, true, "\xff"), closing(StatusNormal, "")), wsframe.Binary, "\xff", StatusNormal},
		{"too big", largeHeader(1<<20 + 1), 0, "", StatusTooBig},
		{"2^62", largeHeader(1 << 62), 0, "", StatusTooBig},
		{"2^63", largeHeader(1 << 63), 0, "", StatusProtocolError},
		{"too big together", join(frame(wsframe.Binary, false, strings.Repeat("a", 1000)), continued(1<<20)), 0, "", StatusTooBig},
	}
	eachWay(t, func(t *testing.T, w way) {
		checkNoLeaks(t)
		s := serveConns(t, w, echoConn, nil)
		for _, tt := range tests {
			for _, drip := range []bool{false, true} {
				c := s.dial(t)
				if drip {
					go func() { // the server may close while it still comes
						for i := range tt.in {
							if _, err := c.nc.Write(tt.in[i : i+1]); err != nil {
								return
							}
						}
					}()
				} else {
					c.send(tt.in)
				}
				t.Log(tt.name, drip)
				if tt.op != 0 {
					c.want(tt.op, tt.want)
				}
				c.wantCloseFrame(tt.code)
				if err := c.wantEndSoon(); err != io.EOF && tt.name != "data after close" {
					t.Fatal("the connection ends with", err)
				}
			}
		}
	})
}

// largeHeader returns the beginning of a message with this length.
func largeHeader(n uint64) []byte {
	return append(binary.BigEndian.AppendUint64([]byte{0x82, 0xff}, n), testKey[:]...)
}

func continued(n uint64) []byte {
	b := largeHeader(n)
	b[0] = 0x80
	return b
}

// Whatever ends the connection, the handler learns it and nothing is left.
func TestConnLost(t *testing.T) {
	ends := map[string]func(c *rawConn){
		"half-closed":            func(c *rawConn) { c.tcp.CloseWrite() },
		"closed":                 func(c *rawConn) { c.tcp.Close() },
		"reset":                  func(c *rawConn) { c.tcp.SetLinger(0); c.tcp.Close() },
		"reset in a frame":       func(c *rawConn) { c.send(message("abc")[:7]); c.tcp.SetLinger(0); c.tcp.Close() },
		"half-closed in a frame": func(c *rawConn) { c.send(largeHeader(1<<20), make([]byte, 9000)); c.tcp.CloseWrite() },
	}
	eachWay(t, func(t *testing.T, w way) {
		checkNoLeaks(t)
		errs := make(chan error, 1)
		s := serveConns(t, w, func(c *Conn) {
			_, _, err := c.Read(context.Background())
			_, _, again := c.Read(context.Background())
			if err != again {
				t.Errorf("Read returns %v and then %v", err, again)
			}
			if err := c.Write(context.Background(), Text, nil); !errors.Is(err, ErrClosed) || !errors.Is(err, again) {
				t.Errorf("Write returns %v after %v", err, again)
			}
			errs <- err
		}, nil)
		for name, end := range ends {
			c := s.dial(t)
			end(c)
			err := <-errs
			if CloseStatus(err) != StatusAbnormal {
				t.Errorf("%s: %v", name, err)
			}
			if strings.HasPrefix(name, "half") && !errors.Is(err, io.ErrUnexpectedEOF) {
				t.Errorf("%s: %v", name, err)
			}
		}
	})
}

// A peer that sends control frames or empty fragments without end is closed.
func TestConnFloods(t *testing.T) {
	floods := map[string][]byte{
		"pings":     frame(wsframe.Ping, true, "x"),
		"pongs":     frame(wsframe.Pong, true, "x"),
		"fragments": frame(wsframe.Continuation, false, ""),
	}
	eachEngine(t, func(t *testing.T, w way) {
		checkNoLeaks(t)
		o := &Options{MaxControl: 10}
		s := serveConns(t, w, echoConn, o)
		for name, f := range floods {
			c := s.dial(t)
			if name == "fragments" {
				c.send(frame(wsframe.Text, false, "a"))
			}
			go c.nc.Write(bytes.Repeat(f, 100))
			for {
				f, err := c.next()
				if err != nil {
					t.Fatal(name, err)
				}
				if f.Op == wsframe.Pong {
					continue
				}
				if code, _, _ := wsframe.ParseClose(f.Payload); f.Op != wsframe.Close || StatusCode(code) != StatusPolicy {
					t.Fatal(name, f.Op, code)
				}
				break
			}
			c.nc.Close()
		}
		await.Until(t, "they are counted", func() bool { return o.Stats().ControlClosed == 3 && o.Stats().Open == 0 })
	})
}

// A length that is only declared makes no memory.
func TestConnDeclared(t *testing.T) {
	eachEngine(t, func(t *testing.T, w way) {
		read := make(chan struct{})
		s := serveConns(t, w, func(c *Conn) {
			close(read)
			_, _, _ = c.Read(context.Background())
		}, &Options{MaxMessage: 1 << 40})
		c := s.dial(t)
		<-read
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		c.send(largeHeader(1<<39), make([]byte, 100))
		c.send(frame(wsframe.Continuation, true, "")[:0])
		c.tcp.CloseWrite()
		_ = c.wantEndSoon()
		runtime.ReadMemStats(&after)
		if n := after.TotalAlloc - before.TotalAlloc; n > 4<<20 {
			t.Fatalf("%d bytes allocated", n)
		}
	})
}

// wantEndSoon reads to the end of the connection.
func (c *rawConn) wantEndSoon() error {
	defer c.nc.Close()
	for {
		if _, err := c.next(); err != nil {
			return err
		}
	}
}
