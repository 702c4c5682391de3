package ws

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"

	"github.com/galehttp/gale"
	"github.com/galehttp/gale/internal/wsframe"
)

// deflateConn is a client that has negotiated compression.
type deflateConn struct {
	*rawConn
	out wsframe.Deflater
	in  wsframe.Inflater
	d   wsframe.Deflate
}

func (s *socketServer) dialDeflate(t testing.TB, o wsframe.DeflateOptions) *deflateConn {
	t.Helper()
	c := s.dial(t, "Sec-WebSocket-Extensions: "+string(o.AppendOffer(nil)))
	var value []byte
	for _, line := range strings.Split(c.head, "\r\n") {
		if name, v, ok := strings.Cut(line, ": "); ok && strings.EqualFold(name, "Sec-WebSocket-Extensions") {
			value = []byte(v)
		}
	}
	if value == nil {
		t.Fatal("no compression: ", c.head)
	}
	d, err := o.Accept([][]byte{value})
	if err != nil || !d.On {
		t.Fatalf("%s: %v", value, err)
	}
	return &deflateConn{rawConn: c, d: d, out: wsframe.NewDeflater(d, true, 1), in: wsframe.NewInflater(d, true)}
}

// message returns a compressed message.
func (c *deflateConn) message(op wsframe.Opcode, text string) []byte {
	return wsframe.AppendMasked(nil, op, true, true, testKey, c.out.Append(nil, []byte(text)))
}

// wantMessage reads a message and returns how long it was.
func (c *deflateConn) wantMessage(text string) (sent int, compressed bool) {
	c.t.Helper()
	f, err := c.next()
	if err != nil {
		c.t.Fatal(err)
	}
	got := f.Payload
	if f.Compressed {
		if got, err = c.in.Append(nil, f.Payload, 0); err != nil {
			c.t.Fatal(err)
		}
	}
	if string(got) != text {
		c.t.Fatalf("got %.80q (%d bytes), want %.80q (%d bytes)", got, len(got), text, len(text))
	}
	return len(f.Payload), f.Compressed
}

// Messages are compressed in both directions, with all kinds of parameters.
func TestSocketCompression(t *testing.T) {
	for _, test := range []struct {
		server Compression
		client wsframe.DeflateOptions
	}{
		{Compression{}, wsframe.DeflateOptions{}},
		{Compression{Level: 9}, wsframe.DeflateOptions{ServerTakeover: true, ClientTakeover: true}},
		{Compression{SendTakeover: true, ReceiveTakeover: true}, wsframe.DeflateOptions{ServerTakeover: true, ClientTakeover: true}},
		{Compression{SendTakeover: true, ReceiveTakeover: true, SendBits: 9, ReceiveBits: 10}, wsframe.DeflateOptions{ServerTakeover: true, ClientTakeover: true, ServerBits: 12, ClientBits: 11}},
		{Compression{SendTakeover: true}, wsframe.DeflateOptions{ServerTakeover: true, ClientTakeover: true}},
		{Compression{ReceiveTakeover: true, Threshold: -1}, wsframe.DeflateOptions{ServerTakeover: true, ClientTakeover: true}},
	} {
		t.Run(fmt.Sprintf("%+v", test), func(t *testing.T) {
			eachWay(t, func(t *testing.T, w way) {
				e := newEvents()
				e.open = func(s *Socket) {
					if !s.Compressed() {
						t.Error("Compressed is false")
					}
				}
				s := serveSockets(t, w, e, &Options{Compression: &test.server, MaxMessage: 2 << 20})
				c := s.dialDeflate(t, test.client)
				r := rand.New(rand.NewPCG(1, 2))
				for i := range 60 {
					text := strings.Repeat(fmt.Sprintf("message %d of the server, ", i%7), 1+r.IntN(1<<r.IntN(10)))
					c.send(c.message(wsframe.Text, text))
					sent, compressed := c.wantMessage(text)
					if !compressed && len(text) > 600 || compressed && sent > len(text) {
						t.Errorf("%d bytes sent as %d, compressed %t", len(text), sent, compressed)
					}
				}
				big := strings.Repeat("0123456789", 100_000)
				c.send(c.message(wsframe.Text, big), message("not compressed"))
				c.wantMessage(big)
				c.wantMessage("not compressed")
				// In fragments.
				z := c.out.Append(nil, []byte(big))
				c.send(wsframe.AppendMasked(nil, wsframe.Binary, false, true, testKey, z[:10]),
					frame(9, true, ""), frame(0, false, string(z[10:100])), frame(0, true, string(z[100:])))
				c.want(10, "")
				c.wantMessage(big)
				c.send(closing(StatusNormal, ""))
				c.wantClose(StatusNormal)
			})
		})
	}
}

// A connection whose client doesn't offer compression works without it.
func TestSocketNoOffer(t *testing.T) {
	s := serveSockets(t, way{gale.EngineEvent, false}, newEvents(), &Options{Compression: &Compression{Threshold: -1}})
	c := s.dial(t)
	c.send(message(strings.Repeat("x", 2000)))
	c.want(1, strings.Repeat("x", 2000))
}

// Broken and oversized compressed messages are refused.
func TestSocketCompressionFaults(t *testing.T) {
	text := strings.Repeat("hello ", 1000)
	for _, test := range []struct {
		name string
		in   func(c *deflateConn) []byte
		code StatusCode
	}{
		{"bomb", func(c *deflateConn) []byte { return c.message(2, strings.Repeat("x", 100_001)) }, StatusTooBig},
		{"many bombs", func(c *deflateConn) []byte { return c.message(2, strings.Repeat("x", 100<<20)) }, StatusTooBig},
		{"too long as sent", func(c *deflateConn) []byte { return append([]byte{0xc2}, header(2, true, 5001)[1:]...) }, StatusTooBig},
		{"too long, not compressed", func(c *deflateConn) []byte { return header(2, true, 100_001) }, StatusTooBig},
		{"garbage", func(c *deflateConn) []byte {
			return wsframe.AppendMasked(nil, 2, true, true, testKey, []byte("\xff\xff\xff"))
		}, StatusInvalidData},
		{"cut off", func(c *deflateConn) []byte {
			z := c.out.Append(nil, []byte(text))
			return wsframe.AppendMasked(nil, 2, true, true, testKey, z[:len(z)/2])
		}, StatusInvalidData},
		{"bad text", func(c *deflateConn) []byte { return c.message(1, text+"\xff") }, StatusInvalidData},
		{"RSV1 on a continuation", func(c *deflateConn) []byte {
			return append(frame(1, false, "a"), wsframe.AppendMasked(nil, 0, true, true, testKey, nil)...)
		}, StatusProtocolError},
		{"RSV1 on a ping", func(c *deflateConn) []byte { return wsframe.AppendMasked(nil, 9, true, true, testKey, nil) }, StatusProtocolError},
	} {
		t.Run(test.name, func(t *testing.T) {
			eachEngine(t, func(t *testing.T, w way) {
				e := newEvents()
				e.message = func(*Socket, MessageType, []byte) { t.Error("OnMessage was called") }
				o := &Options{Compression: &Compression{ReceiveTakeover: true}, MaxMessage: 100_000, MaxCompressed: 5000}
				if test.name == "many bombs" {
					o.MaxCompressed = 1 << 20
				}
				c := serveSockets(t, w, e, o).dialDeflate(t, wsframe.DeflateOptions{ClientTakeover: true})
				c.send(test.in(c))
				c.wantClose(test.code)
				e.wantClosed(t, &CloseError{Code: test.code, Local: true})
			})
		})
	}
}

// With takeover, goroutines that write at the same time don't mix up the window.
func TestSocketTakeoverConcurrently(t *testing.T) {
	eachEngine(t, func(t *testing.T, w way) {
		e := newEvents()
		o := &Options{Compression: &Compression{SendTakeover: true, Threshold: -1}, MaxQueue: 1 << 20, QueuePolicy: QueueDrop}
		opened := make(chan *Socket, 1)
		e.open = func(s *Socket) { opened <- s }
		c := serveSockets(t, w, e, o).dialDeflate(t, wsframe.DeflateOptions{ServerTakeover: true})
		s := <-opened
		var wg sync.WaitGroup
		for i := range 4 {
			p, _ := Prepare(Text, []byte(strings.Repeat("prepared ", 50)))
			wg.Go(func() {
				for k := range 100 {
					if k%2 == 0 {
						_ = s.WritePrepared(p)
						continue
					}
					_ = s.WriteString(Text, strings.Repeat(fmt.Sprint("written ", i), 50))
				}
			})
		}
		for range 400 {
			f, err := c.next()
			if err != nil {
				t.Fatal(err)
			}
			got, err := c.in.Append(nil, f.Payload, 0)
			if err != nil || len(got) != 450 {
				t.Fatalf("%q, %v", got, err)
			}
		}
		wg.Wait()
	})
}

// A message for many connections is built once, and compressed once for each set of
// parameters.
func TestPrepared(t *testing.T) {
	eachEngine(t, func(t *testing.T, w way) {
		e, opened := newEvents(), make(chan *Socket, 100)
		e.open = func(s *Socket) { opened <- s }
		o := &Options{Compression: &Compression{}}
		srv := serveSockets(t, w, e, o)
		var socks []*Socket
		var conns []*deflateConn
		for i := range 10 {
			conns = append(conns, srv.dialDeflate(t, wsframe.DeflateOptions{ServerBits: uint8(14 + i%2)}))
			socks = append(socks, <-opened)
		}
		plain := srv.dial(t)
		socks = append(socks, <-opened)
		text := strings.Repeat("news of the day, ", 100)
		p, err := Prepare(Text, []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		var wg sync.WaitGroup
		for _, s := range socks {
			wg.Go(func() {
				for range 3 {
					if err := s.WritePrepared(p); err != nil {
						t.Error(err)
					}
				}
			})
		}
		wg.Wait()
		for range 3 {
			for _, c := range conns {
				if _, compressed := c.wantMessage(text); !compressed {
					t.Error("not compressed")
				}
			}
			plain.want(1, text)
		}
		if n := p.compressed.Load(); n != 2 {
			t.Errorf("compressed %d times", n)
		}
	})
	if _, err := Prepare(3, nil); err != ErrMessageType {
		t.Error(err)
	}
}

// What can't become shorter is sent as it is.
func TestPreparedIncompressible(t *testing.T) {
	e, opened := newEvents(), make(chan *Socket, 1)
	e.open = func(s *Socket) { opened <- s }
	srv := serveSockets(t, way{gale.EngineEvent, false}, e, &Options{Compression: &Compression{}})
	c := srv.dialDeflate(t, wsframe.DeflateOptions{})
	s := <-opened
	noise := make([]byte, 2000)
	r := rand.New(rand.NewPCG(1, 2))
	for i := range noise {
		noise[i] = byte(r.Uint32())
	}
	p, _ := Prepare(Binary, noise)
	_ = s.WritePrepared(p)
	_ = s.Write(Binary, noise)
	c.want(2, string(noise))
	c.want(2, string(noise))
}
