package gale

import (
	"fmt"
	"math/rand/v2"
	"net/netip"
	"runtime"
	"testing"
	"time"

	"github.com/galehttp/gale/internal/clock"
	"github.com/galehttp/gale/internal/engine"
	"github.com/galehttp/gale/internal/race"
)

// simulate opens n connections to s on the event engine and a simulated system
// on which requests arrive.
func simulate(tb testing.TB, s *Server, n int) (sim *engine.Simulation, stop func()) {
	tb.Helper()
	s.event.Ended, s.event.Panicked = s.eventEnded, s.eventPanicked
	sim, release, err := engine.Simulate(&s.event, []byte("GET / HTTP/1.1\r\nHost: h\r\n\r\n"))
	if err != nil {
		tb.Fatal(err)
	}
	stopClock := clock.Start()
	l := &listening{fixed: s.fixed()}
	for range n {
		nc := sim.Connect()
		s.stats.open.Add(1)
		if err := s.event.Adopt(nc); err != nil {
			tb.Fatal(err)
		}
		s.startEvent(l, nc, nil, netip.Addr{})
	}
	return sim, func() {
		s.event.CloseAll()
		for s.event.Len() > 0 {
			time.Sleep(time.Millisecond)
		}
		release()
		stopClock()
	}
}

// heap returns the bytes of memory that are in use.
func heap() uint64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// askAll has a request arrive on each of the connections numbers and waits for the
// answers.
func askAll(sim *engine.Simulation, numbers []int) {
	want := sim.Written() + int64(len(numbers))
	sim.Arrive(numbers)
	for sim.Written() < want {
		runtime.Gosched()
	}
}

// What a connection weighs that waits for its next request; that of a million
// must fit 400 MB. What else is in memory differs from time to time: the least of some
// measurements counts.
func TestEventWeight(t *testing.T) {
	each := eventWeight(t)
	for range 4 {
		if each > 420 {
			each = min(each, eventWeight(t))
		}
	}
	if each > 420 && reuseContexts.Load() { // about 30 of them are the simulation's, and room to grow
		t.Errorf("%.0f bytes for each idle connection, want about 400", each)
	}
}

func eventWeight(t *testing.T) (each float64) {
	n := race.Fewer(100_000)
	s := &Server{IdleTimeout: time.Hour, ReadHeaderTimeout: -1, Handler: func(ctx *RequestCtx) {}}
	before := heap()
	sim, stop := simulate(t, s, n)
	defer stop()
	numbers := make([]int, 100)
	for i := 0; i < n; i += len(numbers) { // all at once would need more goroutines and buffers
		for k := range numbers {
			numbers[k] = i + k
		}
		askAll(sim, numbers)
	}
	for s.idleConns() < n {
		time.Sleep(time.Millisecond)
	}
	each = (float64(heap()) - float64(before)) / float64(n)
	t.Logf("%.0f bytes each", each)
	return each
}

// What a request costs beside the system, and how much of that depends on the
// number of connections; beside it a walk through as many records of the same
// size.
func BenchmarkEventRequest(b *testing.B) {
	for _, n := range []int{1_000, 100_000, 1_000_000} {
		b.Run(fmt.Sprint("conns=", n), func(b *testing.B) {
			before := heap()
			s := &Server{IdleTimeout: time.Hour, ReadHeaderTimeout: -1, Handler: func(ctx *RequestCtx) {}}
			sim, stop := simulate(b, s, n)
			defer stop()
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
