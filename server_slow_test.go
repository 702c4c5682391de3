package gale

import (
	"bytes"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// A client that doesn't read is dropped when the write time-out is over, be the
// body in memory, a stream or a file.
func TestSlowReaderIsDropped(t *testing.T) {
	dir := t.TempDir()
	big := bytes.Repeat([]byte("x"), 64<<20)
	if err := os.WriteFile(filepath.Join(dir, "big.bin"), big, 0o600); err != nil {
		t.Fatal(err)
	}
	files := (&FS{Root: dir}).NewRequestHandler()
	s := &Server{WriteTimeout: 200 * time.Millisecond, Handler: func(ctx *RequestCtx) {
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
	ts := startServer(t, s, nil)
	for _, path := range []string{"/body", "/stream", "/flush", "/big.bin"} {
		c := ts.dial()
		c.Conn.(*net.TCPConn).SetReadBuffer(4 << 10)
		c.send(get(path))
		for end := time.Now().Add(15 * time.Second); s.GetOpenConnectionsCount() > 0; time.Sleep(5 * time.Millisecond) {
			if time.Now().After(end) {
				t.Fatalf("%s: the connection is still held", path)
			}
		}
		c.Close()
	}
}
