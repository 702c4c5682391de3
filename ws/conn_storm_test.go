package ws

import (
	"bytes"
	"context"
	"io"
	"sync"
	"testing"
	"time"

	"github.com/galehttp/gale/tests/harness/await"
	"github.com/galehttp/gale/tests/harness/gate"
)

// disturb calls the methods of c in any order from several goroutines, with contexts that
// end soon.
func disturb(c *Conn, topics *Topics) {
	large := bytes.Repeat([]byte("abcdefgh"), 20_000)
	calls := []func(ctx context.Context){
		func(ctx context.Context) { _, _, _ = c.Read(ctx) },
		func(ctx context.Context) { _, _, _ = c.AppendRead(ctx, make([]byte, 0, 5000)) },
		func(ctx context.Context) {
			if _, r, err := c.Reader(ctx); err == nil {
				_, _ = io.CopyN(io.Discard, r, gate.Rand.Int64N(int64(len(large))))
			}
		},
		func(ctx context.Context) { _ = c.Ping(ctx) },
		func(ctx context.Context) { _ = c.Write(ctx, Binary, large[:gate.Rand.IntN(1000)]) },
		func(ctx context.Context) { _ = c.Write(ctx, Binary, large[:gate.Rand.IntN(len(large))]) },
		func(ctx context.Context) {
			if w, err := c.Writer(ctx, Binary); err == nil {
				_, _ = w.Write(large[:gate.Rand.IntN(len(large))])
				_ = w.Close()
			}
		},
		func(context.Context) { _ = topics.Publish("topic", Binary, large[:gate.Rand.IntN(1000)]) },
		func(context.Context) { _ = topics.Publish("topic", Binary, large[:gate.Rand.IntN(len(large))]) },
		func(context.Context) { _ = topics.Subscribe(c, "topic") },
		func(context.Context) {
			if gate.Rand.IntN(20) == 0 {
				_ = c.Close(StatusNormal, "")
			}
		},
		func(context.Context) {
			if gate.Rand.IntN(20) == 0 {
				_ = c.CloseNow()
			}
		},
	}
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for range 150 {
				ctx, cancel := context.WithTimeout(context.Background(), time.Duration(gate.Rand.Int64N(int64(2*time.Millisecond))))
				calls[gate.Rand.IntN(len(calls))](ctx)
				cancel()
			}
		})
	}
	wg.Wait()
}

// Conns whose methods are called in any order end, and nothing is left of them.
func TestConnStorm(t *testing.T) {
	for name, z := range map[string]*Compression{"plain": nil, "compressed": {SendTakeover: true, ReceiveTakeover: true}} {
		t.Run(name, func(t *testing.T) {
			eachWay(t, func(t *testing.T, w way) {
				checkNoLeaks(t)
				var topics Topics
				o := &Options{Compression: z, CloseTimeout: 200 * time.Millisecond, WriteTimeout: time.Second, PingInterval: time.Millisecond, MaxControl: -1}
				s := serveConns(t, w, func(c *Conn) { disturb(c, &topics) }, o)
				var wg sync.WaitGroup
				for range 6 {
					c := s.open(t, &DialOptions{Compression: z, CloseTimeout: o.CloseTimeout, WriteTimeout: time.Second, MaxControl: -1})
					wg.Go(func() {
						disturb(c, &topics)
						_ = c.CloseNow()
					})
				}
				wg.Wait()
				await.Until(t, "none is open", func() bool {
					return o.Stats().Open == 0 && s.Server.Stats().UpgradedConnections == 0 && topics.Members("topic") == 0
				})
			})
		})
	}
}
