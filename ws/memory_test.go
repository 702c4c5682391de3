//go:build !race

package ws

import (
	"context"
	"fmt"
	"io"
	"net"
	"runtime"
	"testing"
	"time"

	"github.com/galehttp/gale"
	"github.com/galehttp/gale/internal/wsframe"
	"github.com/galehttp/gale/tests/harness/await"
)

// TestMemoryOfPartialMessages proves that what a WebSocket holds grows with what has arrived
// of a message, not with the length that its header declares: apart from some hundred bytes,
// at most 16 times as much.
func TestMemoryOfPartialMessages(t *testing.T) {
	const conns, rest = 200, 1200
	inputs := map[string][]byte{
		"header of a large frame": header(wsframe.Binary, true, 1<<20),
		"header of a small frame": header(wsframe.Binary, true, 2000),
		"header of a fragment":    header(wsframe.Text, false, 1<<20),
		"empty fragment":          frame(wsframe.Text, false, ""),
		"half a header":           header(wsframe.Binary, true, 1<<20)[:7],
		"header of a ping":        header(wsframe.Ping, true, 125),
		"fragment and header":     append(frame(wsframe.Text, false, "a"), header(wsframe.Continuation, true, 1<<19)...),
	}
	for _, n := range []int{1, 100, 1000, 5000} {
		inputs[fmt.Sprintf("%d bytes", n)] = append(header(wsframe.Binary, true, 1<<20), make([]byte, n)...)
	}
	kinds := map[string]gale.RequestHandler{
		"Socket": func(ctx *gale.RequestCtx) { _ = Serve(ctx, Base{}, nil) },
		"Conn": func(ctx *gale.RequestCtx) {
			_ = Accept(ctx, func(c *Conn) { _, _, _ = c.Read(context.Background()) }, nil)
		},
		"Reader": func(ctx *gale.RequestCtx) {
			_ = Accept(ctx, func(c *Conn) {
				if _, r, err := c.Reader(context.Background()); err == nil {
					_, _ = io.CopyBuffer(struct{ io.Writer }{io.Discard}, r, make([]byte, 100))
				}
			}, nil)
		},
	}
	for kind, handler := range kinds {
		for _, w := range []way{{gale.EngineEvent, false}, {gale.EngineBlock, false}} {
			t.Run(kind+" "+w.String(), func(t *testing.T) {
				s := serveRequests(t, w, handler)
				idle := 0
				measure := func(in []byte, limit int) (held int) {
					before := heapInUse()
					var all []net.Conn
					defer func() {
						for _, nc := range all {
							nc.Close()
						}
						await.Until(t, "all are closed", func() bool { return s.GetOpenConnectionsCount() == 0 })
					}()
					for range conns {
						nc := s.dial(t, "X-Own: x").nc
						_, _ = nc.Write(append(frame(wsframe.Ping, true, ""), in...))
						if _, err := io.ReadFull(nc, make([]byte, 2)); err != nil {
							t.Fatal(err)
						}
						all = append(all, nc)
					}
					for range 500 { // until all input was handled: nothing counts that
						if held = (heapInUse() - before) / conns; held <= limit {
							break
						}
						time.Sleep(10 * time.Millisecond) // between two looks
					}
					return held
				}
				for range 3 { // the first ones may give back what an earlier server held
					idle = max(idle, measure(nil, 1<<20))
				}
				for name, in := range inputs {
					limit := idle + rest + 16*len(in)
					if held := measure(in, limit); held > limit {
						t.Errorf("%s: %d bytes are held for %d", name, held-idle, len(in))
					} else {
						t.Logf("%s: %d bytes are held for %d", name, held-idle, len(in))
					}
				}
			})
		}
	}
}

// TestMemoryOfQueue proves that MaxQueue limits the memory that waiting messages hold,
// however short they are: at most twice as much, and some kilobytes.
func TestMemoryOfQueue(t *testing.T) {
	const most, rest = 256 << 10, 32 << 10
	takeover := &Compression{SendTakeover: true, ReceiveTakeover: true, Threshold: -1}
	client := func(t *testing.T, w way, z *Compression) *Conn {
		return serveConns(t, w, echoConn, &Options{Compression: z}).
			open(t, &DialOptions{MaxQueue: most, QueuePolicy: QueueDrop, Compression: z})
	}
	server := func(t *testing.T, w way, z *Compression) *Conn {
		opened, done := make(chan *Conn, 1), make(chan struct{})
		s := serveConns(t, w, func(c *Conn) {
			opened <- c
			<-done
		}, &Options{MaxQueue: most, QueuePolicy: QueueDrop, Compression: z})
		t.Cleanup(func() { close(done) })
		s.open(t, &DialOptions{Compression: z})
		return <-opened
	}
	for _, kind := range []struct {
		name string
		open func(t *testing.T, w way, z *Compression) *Conn
		z    *Compression
	}{
		{"server", server, nil},
		{"server, compressed", server, &Compression{Threshold: -1}},
		{"server, takeover", server, takeover},
		{"client", client, nil},
		{"client, takeover", client, takeover},
	} {
		eachEngine(t, func(t *testing.T, w way) {
			for _, n := range []int{0, 1, 50, 1000, 10_000} {
				c := kind.open(t, w, kind.z)
				if _, err := c.Writer(testContext(t), Text); err != nil { // what is published waits for its end
					t.Fatal(err)
				}
				var topics Topics
				if err := topics.Subscribe(c, "x"); err != nil {
					t.Fatal(err)
				}
				data := make([]byte, n)
				before, sent := heapInUse(), 0
				for ; sent < most; sent++ {
					if got, err := topics.Deliver("x", Binary, data); err != nil {
						t.Fatal(err)
					} else if got == 0 {
						break
					}
				}
				held := heapInUse() - before
				if held > 2*most+rest {
					t.Errorf("%s: %d messages of %d bytes hold %d bytes, MaxQueue is %d", kind.name, sent, n, held, most)
				}
				if sent < most/(2*n+1000) {
					t.Errorf("%s: only %d messages of %d bytes may wait, MaxQueue is %d", kind.name, sent, n, most)
				}
				runtime.KeepAlive(c)
			}
		})
	}
}

func heapInUse() int {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int(m.HeapAlloc)
}
