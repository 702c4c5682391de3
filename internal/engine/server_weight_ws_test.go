package engine_test

import (
	"runtime"
	"testing"
	"time"

	"github.com/galehttp/gale"
	"github.com/galehttp/gale/internal/race"
	"github.com/galehttp/gale/tests/harness/await"
	"github.com/galehttp/gale/ws"
)

// mostSocketWeight is the most memory, in bytes, that an idle WebSocket may use.
const mostSocketWeight = 700

// How much memory a WebSocket uses that waits, also when compression was negotiated, and
// what a round of pings costs.
func TestWebSocketWeight(t *testing.T) {
	n := race.Fewer(100_000)
	for _, compressed := range []bool{false, true} {
		request := "GET / HTTP/1.1\r\nHost: h\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n" +
			"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
		interval := 3 * time.Second
		o := &ws.Options{PingInterval: interval, IdleTimeout: -1}
		if compressed {
			request += "Sec-WebSocket-Extensions: permessage-deflate; client_max_window_bits\r\n"
			o.Compression = &ws.Compression{}
			o.PingInterval = time.Hour
		}
		t.Run(map[bool]string{false: "plain", true: "compressed"}[compressed], func(t *testing.T) {
			before := heap()
			_, sim := simulateWith(t, n, request+"\r\n", func(ctx *gale.RequestCtx) {
				if err := ws.Serve(ctx, ws.Base{}, o); err != nil {
					t.Error(err)
				}
			})
			start := time.Now()
			numbers := make([]int, 100)
			for i := 0; i < n; i += len(numbers) {
				for k := range numbers {
					numbers[k] = i + k
				}
				sim.Arrive(numbers)
				for int(o.Stats().Open) < i+len(numbers) {
					runtime.Gosched()
				}
			}
			opened := time.Since(start)
			each := 0.0
			for range 20 {
				if each = (float64(heap()) - float64(before)) / float64(n); each <= mostSocketWeight {
					break
				}
				time.Sleep(100 * time.Millisecond) // memory of the workers goes away with time
			}
			t.Logf("%.0f bytes each, opened in %v", each, opened)
			if each > mostSocketWeight && !race.Enabled {
				t.Errorf("%.0f bytes for each idle WebSocket", each)
			}
			if compressed {
				return
			}
			// Each WebSocket gets a ping in each interval.
			want := sim.Written() + int64(3*n)
			await.Until(t, "three pings for each WebSocket", func() bool { return sim.Written() >= want })
		})
	}
}
