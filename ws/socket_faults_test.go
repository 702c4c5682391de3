package ws

import (
	"bytes"
	"errors"
	"io"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/galehttp/gale"
	"github.com/galehttp/gale/internal/wsframe"
	"github.com/galehttp/gale/tests/harness/await"
)

// header returns the header of a client's frame with this declared length.
func header(op wsframe.Opcode, fin bool, length int64) []byte {
	return wsframe.AppendHeader(nil, wsframe.Header{Fin: fin, Op: op, Masked: true, Key: testKey, Length: length})
}

// Each fault of the peer gets the status code of RFC 6455, OnClose gets it, and the server
// goes on.
func TestSocketFaults(t *testing.T) {
	bad := func(first, second byte, rest ...byte) []byte { return append([]byte{first, second}, rest...) }
	many := func(n int, f []byte) []byte { return bytes.Repeat(f, n) }
	longText := strings.Repeat("x", 100_000)
	for _, test := range []struct {
		name string
		in   []byte
		code StatusCode
	}{
		{"not masked", wsframe.AppendFrame(nil, wsframe.Text, true, false, []byte("hello")), StatusProtocolError},
		{"not masked, empty", bad(0x81, 0), StatusProtocolError},
		{"ping not masked", bad(0x89, 0), StatusProtocolError},
		{"RSV1 without compression", bad(0xc1, 0x80, 1, 2, 3, 4), StatusProtocolError},
		{"RSV2", bad(0xa1, 0x80, 1, 2, 3, 4), StatusProtocolError},
		{"RSV3", bad(0x91, 0x80, 1, 2, 3, 4), StatusProtocolError},
		{"opcode 3", bad(0x83, 0x80, 1, 2, 3, 4), StatusProtocolError},
		{"opcode 11", bad(0x8b, 0x80, 1, 2, 3, 4), StatusProtocolError},
		{"continuation without a message", frame(0, true, "x"), StatusProtocolError},
		{"interleaved messages", append(frame(1, false, "a"), frame(1, true, "b")...), StatusProtocolError},
		{"interleaved types", append(frame(1, false, "a"), frame(2, false, "b")...), StatusProtocolError},
		{"fragmented ping", frame(9, false, "x"), StatusProtocolError},
		{"long ping", frame(9, true, longText[:126]), StatusProtocolError},
		{"long close", frame(8, true, longText[:126]), StatusProtocolError},
		{"length not minimal", bad(0x81, 0xfe, 0, 5, 1, 2, 3, 4), StatusProtocolError},
		{"length not minimal in 8 bytes", bad(0x81, 0xff, 0, 0, 0, 0, 0, 0, 1, 0, 1, 2, 3, 4), StatusProtocolError},
		{"length 2^63", bad(0x82, 0xff, 0x80, 0, 0, 0, 0, 0, 0, 0, 1, 2, 3, 4), StatusProtocolError},
		{"length 2^63-1", header(2, true, 1<<63-1), StatusTooBig},
		{"length 1 MiB + 1", header(2, true, 1<<20+1), StatusTooBig},
		{"second fragment too big", append(frame(2, false, "a"), header(0, true, 1<<20)...), StatusTooBig},
		{"bad text", message("\xff"), StatusInvalidData},
		{"surrogate", message("\xed\xa0\x80"), StatusInvalidData},
		{"text that ends in a character", message("\xc3"), StatusInvalidData},
		{"bad text in fragments", append(frame(1, false, "\xc3"), frame(0, true, "x")...), StatusInvalidData},
		{"bad text in a long frame", append(header(1, true, 200_000), wsframe.AppendMasked(nil, 1, true, false, testKey, []byte("\xff"))[6:]...), StatusInvalidData},
		{"bad text in a held frame", append(header(1, true, 2000), wsframe.AppendMasked(nil, 1, true, false, testKey, []byte("a\xff"))[6:]...), StatusInvalidData},
		{"close of one byte", frame(8, true, "x"), StatusProtocolError},
		{"close with 999", frame(8, true, "\x03\xe7"), StatusProtocolError},
		{"close with 1005", frame(8, true, "\x03\xed"), StatusProtocolError},
		{"close with 5000", frame(8, true, "\x13\x88"), StatusProtocolError},
		{"close with bad text", frame(8, true, "\x03\xe8\xff"), StatusInvalidData},
		{"flood of pings", many(1000, frame(9, true, "")), StatusPolicy},
		{"flood of pongs", many(1000, frame(10, true, "x")), StatusPolicy},
		{"flood of empty fragments", append(frame(2, false, ""), many(1000, frame(0, false, ""))...), StatusPolicy},
	} {
		t.Run(test.name, func(t *testing.T) {
			eachEngine(t, func(t *testing.T, w way) {
				e := newEvents()
				e.message = func(*Socket, MessageType, []byte) { t.Error("OnMessage was called") }
				o := &Options{}
				s := serveSockets(t, w, e, o)
				c := s.dial(t)
				// More follows, which must be ignored, and must not reset the connection.
				c.send(test.in, message("ignored"), message("ignored"))
				for {
					f, err := c.next()
					if err != nil {
						t.Fatal(err)
					}
					if f.Op == wsframe.Pong {
						continue
					}
					code, reason, err := wsframe.ParseClose(f.Payload)
					if f.Op != wsframe.Close || err != nil || StatusCode(code) != test.code || len(reason) == 0 {
						t.Fatalf("got frame %d, %d %q, want close %d", f.Op, code, reason, test.code)
					}
					break
				}
				c.wantEnd()
				e.wantClosed(t, &CloseError{Code: test.code, Local: true})
				await.Until(t, "it is closed", func() bool { return o.Stats().Open == 0 })
				if st := o.Stats(); (st.TooBig == 1) != (test.code == StatusTooBig) || (st.ControlClosed == 1) != (test.code == StatusPolicy) {
					t.Errorf("stats %+v", st)
				}
			})
		})
	}
}

// Each byte of a conversation on its own, and at each split in two.
func TestSocketDrip(t *testing.T) {
	eachEngine(t, func(t *testing.T, w way) {
		e := newEvents()
		s := serveSockets(t, w, e, nil)
		var in []byte
		for _, f := range [][]byte{
			message("one"), frame(1, false, "t"), frame(9, true, "ping"), frame(0, false, ""), frame(0, true, "wo"),
			frame(2, true, strings.Repeat("3", 300)), message("ä\u20ac\U0001F600"), closing(StatusGoingAway, "end"),
		} {
			in = append(in, f...)
		}
		check := func(c *rawConn) {
			t.Helper()
			c.want(1, "one")
			c.want(10, "ping")
			c.want(1, "two")
			c.want(2, strings.Repeat("3", 300))
			c.want(1, "ä\u20ac\U0001F600")
			c.wantClose(StatusGoingAway)
			e.wantClosed(t, &CloseError{Code: StatusGoingAway, Reason: "end"})
		}
		c := s.dial(t)
		for i := range in {
			c.write(in[i : i+1])
		}
		check(c)
		for i := 1; i < len(in); i += 7 {
			c := s.dial(t)
			c.write(in[:i])
			runtime.Gosched()
			c.write(in[i:])
			check(c)
		}
	})
}

// A connection that ends without a close frame is reported, wherever that happens, and
// nothing of it is left.
func TestSocketBreaks(t *testing.T) {
	long := strings.Repeat("x", 300_000)
	eachWay(t, func(t *testing.T, w way) {
		for _, test := range []struct {
			name string
			in   []byte
		}{
			{"between messages", nil},
			{"in a header", message("hello")[:1]},
			{"in a small message", message("hello")[:8]},
			{"in a large message", message(long)[:200_000]},
			{"between fragments", frame(1, false, "hello")},
			{"in a second fragment", append(frame(1, false, "hello"), frame(0, true, long)[:100_000]...)},
			{"in a message of a compressed connection", append([]byte{0xc1}, message(long)[1:50_000]...)},
		} {
			for _, reset := range []bool{false, true} {
				e := newEvents()
				e.message = func(*Socket, MessageType, []byte) { t.Error("OnMessage was called") }
				opened := make(chan *Socket, 1)
				e.open = func(s *Socket) { opened <- s }
				o := &Options{Compression: &Compression{}}
				c := serveSockets(t, w, e, o).dial(t, "Sec-WebSocket-Extensions: permessage-deflate")
				c.send(test.in)
				s := <-opened
				if reset {
					c.tcp.SetLinger(0)
					c.tcp.Close()
				} else {
					c.tcp.CloseWrite()
				}
				var err error
				select {
				case err = <-e.closed:
				case <-time.After(patience):
					t.Fatalf("%s: OnClose isn't called", test.name)
				}
				if ce := (*CloseError)(nil); err == nil || errors.As(err, &ce) || CloseStatus(err) != StatusAbnormal {
					t.Errorf("%s, reset %t: %v", test.name, reset, err)
				}
				if !reset && !w.tls && !errors.Is(err, io.ErrUnexpectedEOF) {
					t.Errorf("%s: %v", test.name, err)
				}
				if err := s.Write(Text, []byte("x")); err != ErrClosed {
					t.Errorf("Write after the end: %v", err)
				}
				if err := s.Close(StatusNormal, ""); err != ErrClosed {
					t.Errorf("Close after the end: %v", err)
				}
				if n := s.Queued(); n != 0 {
					t.Errorf("Queued after the end: %d", n)
				}
				s.Abort()
				await.Until(t, "it isn't open", func() bool { return o.Stats().Open == 0 })
				if s.q != nil || s.in != nil || s.z != nil {
					t.Error("buffers are left")
				}
			}
		}
	})
}

// A message that broke off leaves nothing for the next connection.
func TestSocketNothingLeaks(t *testing.T) {
	eachEngine(t, func(t *testing.T, w way) {
		e := newEvents()
		s := serveSockets(t, w, e, &Options{Compression: &Compression{Threshold: -1}})
		secret := strings.Repeat("secret! ", 4000)
		for range 20 {
			c := s.dial(t)
			c.send(frame(1, false, secret), message(secret)[:9000])
			c.wantClose(StatusProtocolError)
			<-e.closed
			c = s.dial(t, "Sec-WebSocket-Extensions: permessage-deflate")
			c.send(append([]byte{0xc1}, message(secret)[1:]...)) // not compressed
			c.wantClose(StatusInvalidData)
			<-e.closed
			c = s.dial(t)
			c.send(frame(1, false, "a"), frame(0, true, "b"), frame(2, true, secret[:20]))
			c.want(1, "ab")
			c.want(2, secret[:20])
			c.send(closing(StatusNormal, ""))
			c.wantClose(StatusNormal)
			<-e.closed
		}
	})
}

// Many connections end in many ways, and no goroutine or connection is left.
func TestSocketNothingIsLeft(t *testing.T) {
	before := runtime.NumGoroutine()
	eachWay(t, func(t *testing.T, w way) {
		e := newEvents()
		o := &Options{}
		s := serveSockets(t, w, e, o)
		for i := range 50 {
			c := s.dial(t)
			c.send(message("hello"))
			c.want(1, "hello")
			switch i % 4 {
			case 0:
				c.send(closing(StatusNormal, ""))
			case 1:
				c.send(message("x")[:3])
			case 2:
				c.send(frame(9, false, ""))
			case 3:
				c.tcp.SetLinger(0)
			}
			c.nc.Close()
		}
		await.Until(t, "all are closed", func() bool { return o.Stats().Open == 0 && s.Stats().UpgradedConnections == 0 })
		if n := len(e.closed); n != 50 {
			t.Errorf("OnClose was called %d times", n)
		}
		if err := s.Shutdown(); err != nil {
			t.Error(err)
		}
	})
	await.Gone(t, "goroutines", func() bool { return runtime.NumGoroutine() <= before+5 })
}

// 2^63 bytes are refused by the header alone: nothing is allocated for them.
func TestSocketDeclaredLength(t *testing.T) {
	s := serveSockets(t, way{gale.EngineEvent, false}, newEvents(), &Options{MaxMessage: -1})
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for range 20 {
		c := s.dial(t)
		c.send(header(2, true, 1<<40), []byte("a little"))
		c.send(frame(9, true, ""))
		defer c.nc.Close()
	}
	c := s.dial(t)
	c.send(message("hello"))
	c.want(1, "hello")
	runtime.ReadMemStats(&after)
	if n := after.TotalAlloc - before.TotalAlloc; n > 10<<20 {
		t.Errorf("%d bytes were allocated", n)
	}
}
