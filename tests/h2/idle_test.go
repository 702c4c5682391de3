package h2

import (
	"net"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/net/http2"

	"github.com/galehttp/gale"
	"github.com/galehttp/gale/galeutil"
	"github.com/galehttp/gale/tests/harness"
	"github.com/galehttp/gale/tests/harness/peers"
)

// byteReads is a connection that counts the reads of a single byte.
type byteReads struct {
	net.Conn
	n *atomic.Int64
}

func (c byteReads) Read(p []byte) (int, error) {
	if len(p) == 1 {
		c.n.Add(1)
	}
	return c.Conn.Read(p)
}

type byteReadsListener struct {
	net.Listener
	n atomic.Int64
}

func (ln *byteReadsListener) Accept() (net.Conn, error) {
	c, err := ln.Listener.Accept()
	return byteReads{c, &ln.n}, err
}

// TestH2ReadsByteOnce proves that a connection of the block engine that holds no buffer
// while it is idle, such as one of TLS, reads only the first byte of a frame by itself,
// not every byte.
func TestH2ReadsByteOnce(t *testing.T) {
	inner := galeutil.NewInmemoryListener()
	ln := &byteReadsListener{Listener: inner}
	s := &gale.Server{Engine: gale.EngineBlock, ReduceMemoryUsage: true, HTTP2: gale.HTTP2Config{H2C: true}, Handler: func(*gale.RequestCtx) {}}
	served := make(chan error, 1)
	go func() { served <- s.Serve(ln) }()
	defer func() { s.Close(); ln.Close(); <-served }()
	nc, err := inner.Dial()
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	nc.SetDeadline(time.Now().Add(time.Minute))
	c := peers.NewH2Conn(t, nc)
	c.WantAlive()
	c.Sync()
	before := ln.n.Load()
	const frames = 20
	for range frames {
		c.Sync()
		c.Check(c.Fr.WriteSettings(http2.Setting{ID: http2.SettingInitialWindowSize, Val: 1 << 20}))
		c.Await(0, "ack")
		c.WantAlive()
	}
	if n := ln.n.Load() - before; n > 4*frames {
		t.Errorf("%d reads of a byte for %d frames", n, 3*frames)
	}
}

// TestH2HalfFrames proves that a frame that has arrived in part doesn't keep a connection
// open, whether it belongs to a request or not.
func TestH2HalfFrames(t *testing.T) {
	t.Parallel()
	for _, way := range peers.Ways[harness.H2Way]() {
		t.Run(way.String(), func(t *testing.T) {
			t.Parallel()
			hs := way.Start(t, &gale.Server{ReadHeaderTimeout: 50 * time.Millisecond, Handler: func(*gale.RequestCtx) {}})
			for _, half := range []string{
				"\x00", "\x00\x00\x08\x06\x00\x00\x00\x00\x00ping", "\x00\x00\x05\x77\x00\x00\x00\x00\x01four", "\x00\x00\x0c\x04\x00\x00\x00\x00\x00sixsix",
				"\x00\x00\x05\x01\x05\x00\x00\x00\x03", "\x00\x00\x05\x01\x05\x00\x00\x00\x03\x82",
				"\x00\x00\x01\x01\x01\x00\x00\x00\x03\x82", "\x00\x00\x01\x01\x01\x00\x00\x00\x03\x82\x00\x00\x00\x09",
			} {
				c := hs.DialH2()
				c.WantAlive()
				_, err := c.Write([]byte(half))
				c.Check(err)
				if f := c.Await(0, "goaway"); f.Code != uint32(http2.ErrCodeEnhanceYourCalm) {
					t.Errorf("after %q: %v", half, f)
				}
				c.Await(0, "eof")
			}
			// Nor does the first frame, and waiting for it takes no buffer.
			nc := hs.DialRaw()
			_, err := nc.Write([]byte(http2.ClientPreface + "\x00\x00\x06\x04\x00"))
			c := &peers.H2Conn{Conn: nc, T: t, Fr: http2.NewFramer(nc, nc)}
			c.Check(err)
			if f := c.Await(0, "goaway"); f.Code != uint32(http2.ErrCodeSettingsTimeout) {
				t.Errorf("after half a first frame: %v", f)
			}
		})
	}
}
