package engine_test

import (
	"fmt"
	"math/rand/v2"
	"net"
	"runtime"
	"testing"
	"time"

	"github.com/galehttp/gale"
	"github.com/galehttp/gale/internal/engine"
	"github.com/galehttp/gale/internal/race"
	"github.com/galehttp/gale/tests/harness/await"
)

// The server on the event engine with more connections than a machine has descriptors.
// These tests are in the engine's package, because only its tests have the simulation.

// simulate returns a server on a simulated system with n connections, on which requests
// arrive.
func simulate(tb testing.TB, n int) (s *gale.Server, sim *engine.Simulation) {
	tb.Helper()
	return simulateWith(tb, n, "GET / HTTP/1.1\r\nHost: h\r\n\r\n", func(ctx *gale.RequestCtx) {})
}

// simulateWith is simulate with another request and handler.
func simulateWith(tb testing.TB, n int, request string, handler gale.RequestHandler) (s *gale.Server, sim *engine.Simulation) {
	tb.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	s = &gale.Server{
		Engine: gale.EngineEvent, EventLoops: 1,
		IdleTimeout: time.Hour, ReadHeaderTimeout: -1,
		Concurrency: n, // otherwise a new connection would evict one
		Handler:     handler,
	}
	sim = engine.Simulate(tb, []byte(request))
	served := make(chan error, 1)
	go func() { served <- s.Serve(ln) }()
	tb.Cleanup(func() {
		if err := s.Close(); err != nil {
			tb.Error(err)
		}
		<-served
		await.Gone(tb, "loops", func() bool { return s.Stats().Event.Loops == 0 })
	})
	sim.Accept(n)
	return s, sim
}

// heap returns the bytes of memory that are in use.
func heap() uint64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// askAll makes a request arrive on each connection in numbers and waits for the answers.
func askAll(sim *engine.Simulation, numbers []int) {
	want := sim.Written() + int64(len(numbers))
	sim.Arrive(numbers)
	for sim.Written() < want {
		runtime.Gosched()
	}
}

// mostWeight is the most memory, in bytes, that a connection may use. About 30 bytes of
// it are for the simulation and some reserve.
const mostWeight = 420

// How much memory a connection uses that waits for its next request: a million of them
// must fit into 400 MB.
func TestEventWeight(t *testing.T) {
	n := race.Fewer(100_000)
	before := heap()
	s, sim := simulate(t, n)
	numbers := make([]int, 100)
	for i := 0; i < n; i += len(numbers) { // all at once would need more goroutines and buffers
		for k := range numbers {
			numbers[k] = i + k
		}
		askAll(sim, numbers)
	}
	await.Until(t, "all connections to be idle", func() bool { return s.Stats().IdleConnections >= n })
	each := 0.0
	for range 50 { // memory of other tests and the workers goes away with time
		each = (float64(heap()) - float64(before)) / float64(n)
		if each <= mostWeight {
			break
		}
		time.Sleep(100 * time.Millisecond) // no state shows when the last of it is gone
	}
	t.Logf("%.0f bytes each", each)
	if each > mostWeight && !race.Enabled { // with the race detector no context is used again
		t.Errorf("%.0f bytes for each idle connection, want about 400", each)
	}
}

// What a request costs apart from system calls, and how much of that depends on the
// number of connections. For comparison, a walk through as many records of the same size.
func BenchmarkEventRequest(b *testing.B) {
	for _, n := range []int{1_000, 100_000, 1_000_000} {
		b.Run(fmt.Sprint("conns=", n), func(b *testing.B) {
			before := heap()
			_, sim := simulate(b, n)
			numbers := make([]int, 256)
			pick := func() {
				for i := range numbers {
					numbers[i] = rand.IntN(n/256)*256 + i
				}
			}
			for i := 0; i+len(numbers) <= n; i += len(numbers) {
				for k := range numbers {
					numbers[k] = i + k
				}
				askAll(sim, numbers)
			}
			each := float64(heap()-before) / float64(n)
			b.ResetTimer()
			for i := 0; i < b.N; i += len(numbers) {
				pick()
				askAll(sim, numbers)
			}
			b.StopTimer()
			b.ReportMetric(each, "B/conn")
		})
		b.Run(fmt.Sprint("walk=", n), func(b *testing.B) {
			type record [400]byte
			records := make([]*record, n)
			for i := range records {
				records[i] = new(record)
			}
			b.ResetTimer()
			for i := 0; i < b.N; i++ {
				r := records[rand.IntN(n)]
				for k := 0; k < len(r); k += 64 {
					r[k]++
				}
			}
		})
	}
}

// mostUpgradedWeight is the most memory, in bytes, that a connection may use whose protocol
// was switched, without what its handler keeps. About 30 bytes of it are for the simulation
// and some reserve.
const mostUpgradedWeight = 500

// echoOnce is a handler that answers everything that arrives with one byte.
type echoOnce struct{}

func (echoOnce) Opened(c *gale.UpgradedConn) { c.SetTimeout(time.Hour) }

func (echoOnce) Received(c *gale.UpgradedConn, in []byte) int {
	if c.Stopping() {
		c.Abort()
		return len(in)
	}
	*c.Out() = append(*c.Out(), 'x')
	return len(in)
}

func (echoOnce) Stalled(c *gale.UpgradedConn, why error) { c.Abort() }
func (echoOnce) Closed(c *gale.UpgradedConn, err error)  {}

// How much memory a connection uses that waits after an upgrade and one message.
func TestUpgradedWeight(t *testing.T) {
	n := race.Fewer(50_000)
	before := heap()
	s, sim := simulate(t, n)
	s.Handler = func(ctx *gale.RequestCtx) {
		ctx.SetStatusCode(gale.StatusSwitchingProtocols)
		ctx.Upgrade(echoOnce{})
	}
	numbers := make([]int, 100)
	for range 2 { // the request, and a message
		for i := 0; i < n; i += len(numbers) {
			for k := range numbers {
				numbers[k] = i + k
			}
			askAll(sim, numbers)
		}
	}
	if got := s.Stats().UpgradedConnections; got != n {
		t.Fatalf("%d connections, want %d", got, n)
	}
	each := 0.0
	for range 50 {
		each = (float64(heap()) - float64(before)) / float64(n)
		if each <= mostUpgradedWeight {
			break
		}
		time.Sleep(100 * time.Millisecond) // no state shows when the last of it is gone
	}
	t.Logf("%.0f bytes each", each)
	if each > mostUpgradedWeight && !race.Enabled {
		t.Errorf("%.0f bytes for each connection, want %d at most", each, mostUpgradedWeight)
	}
}
