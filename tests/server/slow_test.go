package server

import (
	"bytes"
	"io"
	"net"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/galehttp/gale"
	"github.com/galehttp/gale/galeutil"
	"github.com/galehttp/gale/tests/harness"
	"github.com/galehttp/gale/tests/harness/await"
	"github.com/galehttp/gale/tests/harness/peers"
)

// A client that doesn't read is dropped after the write timeout, whether the body is in
// memory, a stream or a file.
func TestSlowReaderIsDropped(t *testing.T) {
	dir := t.TempDir()
	big := bytes.Repeat([]byte("x"), 64<<20)
	if err := os.WriteFile(filepath.Join(dir, "big.bin"), big, 0o600); err != nil {
		t.Fatal(err)
	}
	files := (&gale.FS{Root: dir}).NewRequestHandler()
	s := &gale.Server{WriteTimeout: 200 * time.Millisecond, Handler: func(ctx *gale.RequestCtx) {
		switch string(ctx.Path()) {
		case "/body":
			ctx.Response.SetBodyRaw(big)
		case "/stream":
			ctx.SetBodyStream(bytes.NewReader(big), -1)
		case "/flush":
			for range 64 {
				ctx.Write(big[:1<<20])
				if ctx.Flush() != nil {
					return
				}
			}
		default:
			files(ctx)
		}
	}}
	ts := harness.Start(t, s, nil)
	for i, path := range []string{"/body", "/stream", "/flush", "/big.bin"} {
		c := ts.Dial()
		c.Conn.(*net.TCPConn).SetReadBuffer(4 << 10)
		c.Send(peers.Get(path))
		await.Until(t, "the time-out of "+path, func() bool { return s.Stats().Timeouts == uint64(i+1) })
		peers.WaitClosed(t, s, path)
		c.Close()
	}
}

// The timeout for a head also works in a bubble.
func TestHeadTimeoutInBubble(t *testing.T) {
	for _, send := range []string{"GET / HT", ""} {
		synctest.Test(t, func(t *testing.T) {
			ln := galeutil.NewInmemoryListener()
			s := &gale.Server{ReadHeaderTimeout: 5 * time.Second, Handler: func(*gale.RequestCtx) {}}
			done := make(chan struct{})
			go func() { _ = s.Serve(ln); close(done) }()
			c, err := ln.Dial()
			if err != nil {
				t.Fatal(err)
			}
			_, _ = io.WriteString(c, send)
			begin := time.Now()
			_ = c.SetReadDeadline(begin.Add(time.Hour))
			b, err := io.ReadAll(c)
			if d := time.Since(begin); d < 5*time.Second || d > 10*time.Second {
				t.Errorf("%q: ended after %v with %q, %v", send, d, b, err)
			}
			c.Close()
			ln.Close()
			<-done
		})
	}
}
