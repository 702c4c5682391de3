package bench

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/galehttp/gale"
	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

// cannedHTTP2 is a connection to a server of HTTP/2 that costs nothing: each request without
// a body is answered at once, within Write.
type cannedHTTP2 struct {
	mu     sync.Mutex
	more   sync.Cond
	out    []byte // what Read returns next
	taken  int    // of out
	closed bool

	preface int    // bytes of it that are still to come
	in      []byte // a frame that has come in part
}

// cannedHTTP2Answer is the field block of answers, without use of the table.
var cannedHTTP2Answer = func() []byte {
	var b bytes.Buffer
	enc := hpack.NewEncoder(&b)
	enc.SetMaxDynamicTableSize(0)
	for _, f := range []field{{":status", "200"}, {"server", "bench"}, {"date", "Thu, 01 Jan 1970 00:00:00 GMT"}, {"content-type", contentType}, {"content-length", fmt.Sprint(len(bodyBytes))}} {
		_ = enc.WriteField(hpack.HeaderField{Name: f.name, Value: f.value})
	}
	return b.Bytes()
}()

func newCannedHTTP2() *cannedHTTP2 {
	c := &cannedHTTP2{preface: len(http2.ClientPreface)}
	c.more.L = &c.mu
	c.frame(byte(http2.FrameSettings), 0, 0, []byte{0, 3, 0, 0, 1, 0}) // 256 streams
	return c
}

func (c *cannedHTTP2) frame(typ, flags byte, stream uint32, payload []byte) {
	n := len(payload)
	c.out = append(c.out, byte(n>>16), byte(n>>8), byte(n), typ, flags)
	c.out = append(binary.BigEndian.AppendUint32(c.out, stream), payload...)
}

func (c *cannedHTTP2) Write(p []byte) (int, error) {
	total := len(p)
	c.mu.Lock()
	defer c.mu.Unlock()
	n := min(len(p), c.preface)
	c.preface -= n
	p = p[n:]
	for len(p) > 0 {
		if len(c.in) > 0 {
			c.in = append(c.in, p...)
			p, c.in = c.in, c.in[:0]
		}
		length := 0
		if len(p) >= frameHead {
			length = int(p[0])<<16 | int(p[1])<<8 | int(p[2])
		}
		if len(p) < frameHead+length {
			c.in = append(c.in, p...)
			break
		}
		c.answer(http2.FrameType(p[3]), http2.Flags(p[4]), binary.BigEndian.Uint32(p[5:]))
		p = p[frameHead+length:]
	}
	if c.taken < len(c.out) {
		c.more.Signal()
	}
	return total, nil
}

func (c *cannedHTTP2) answer(typ http2.FrameType, flags http2.Flags, stream uint32) {
	switch {
	case typ == http2.FrameSettings && flags == 0:
		c.frame(byte(http2.FrameSettings), byte(http2.FlagSettingsAck), 0, nil)
	case typ == http2.FrameHeaders:
		c.frame(byte(http2.FrameHeaders), byte(http2.FlagHeadersEndHeaders), stream, cannedHTTP2Answer)
		c.frame(byte(http2.FrameData), byte(http2.FlagDataEndStream), stream, bodyBytes)
	}
}

func (c *cannedHTTP2) Read(p []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for c.taken == len(c.out) {
		if c.closed {
			return 0, io.EOF
		}
		c.more.Wait()
	}
	n := copy(p, c.out[c.taken:])
	if c.taken += n; c.taken == len(c.out) {
		c.out, c.taken = c.out[:0], 0
	}
	return n, nil
}

func (c *cannedHTTP2) Close() error {
	c.mu.Lock()
	c.closed = true
	c.mu.Unlock()
	c.more.Broadcast()
	return nil
}

func (c *cannedHTTP2) LocalAddr() net.Addr              { return clientAddr }
func (c *cannedHTTP2) RemoteAddr() net.Addr             { return serverAddr }
func (c *cannedHTTP2) SetDeadline(time.Time) error      { return nil }
func (c *cannedHTTP2) SetReadDeadline(time.Time) error  { return nil }
func (c *cannedHTTP2) SetWriteDeadline(time.Time) error { return nil }

// http2ClientImpls make a function that does one request over HTTP/2. dial is nil for TCP.
var http2ClientImpls = []struct {
	name string
	make func(addr string, dial func() (net.Conn, error)) (do func() error, idle func())
}{
	{"gale", galeHTTP2Client}, {"nethttp", netHTTP2Client},
}

func galeHTTP2Client(addr string, dial func() (net.Conn, error)) (func() error, func()) {
	return galeRequests(&gale.HostClient{Addr: addr, HTTP2: gale.HTTP2Only}, dial)
}

func netHTTP2Client(addr string, dial func() (net.Conn, error)) (func() error, func()) {
	t := &http.Transport{DisableCompression: true, Protocols: new(http.Protocols)}
	t.Protocols.SetUnencryptedHTTP2(true)
	return nethttpRequests(t, addr, dial)
}

// BenchmarkHTTP2Client measures a client whose server and network cost nothing, with so many
// requests side by side on one connection. An operation is one request. cpu-ns/op is what the
// whole process computes for it.
func BenchmarkHTTP2Client(b *testing.B) {
	benchHTTP2Client(b, func(*testing.B) (string, func() (net.Conn, error)) {
		return "example.com:80", func() (net.Conn, error) { return newCannedHTTP2(), nil }
	})
}

// BenchmarkHTTP2ClientTCP is BenchmarkHTTP2Client over the network of this machine, with the
// same server within a TCP connection.
func BenchmarkHTTP2ClientTCP(b *testing.B) {
	benchHTTP2Client(b, func(b *testing.B) (string, func() (net.Conn, error)) {
		ln, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			b.Fatal(err)
		}
		b.Cleanup(func() { ln.Close() })
		go func() {
			for {
				nc, err := ln.Accept()
				if err != nil {
					return
				}
				go serveCannedHTTP2(nc)
			}
		}()
		return ln.Addr().String(), nil
	})
}

// serveCannedHTTP2 answers requests, all those of a read with one write.
func serveCannedHTTP2(nc net.Conn) {
	defer nc.Close()
	c, in, out := newCannedHTTP2(), make([]byte, 64<<10), make([]byte, 256<<10)
	for {
		n, err := nc.Read(in)
		if err != nil {
			return
		}
		_, _ = c.Write(in[:n])
		for c.taken < len(c.out) {
			n, _ := c.Read(out)
			if _, err := nc.Write(out[:n]); err != nil {
				return
			}
		}
	}
}

func benchHTTP2Client(b *testing.B, server func(*testing.B) (string, func() (net.Conn, error))) {
	for _, side := range []int{1, 10, 100} {
		for _, impl := range http2ClientImpls {
			b.Run(fmt.Sprintf("side=%d/impl=%s", side, impl.name), func(b *testing.B) {
				addr, dial := server(b)
				do, idle := impl.make(addr, dial)
				defer idle()
				if err := do(); err != nil {
					b.Fatal(err)
				}
				b.ResetTimer()
				before := cpuTime()
				runClients(b, side, do)
				b.ReportMetric(float64(cpuTime()-before)/float64(b.N), "cpu-ns/op")
			})
		}
	}
}
