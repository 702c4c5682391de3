package engine

import (
	"math/rand/v2"
	"testing"

	"github.com/galehttp/gale/tests/harness/gate"
)

// Connections and listeners leave the queue in the order in which they came, also if
// listeners are removed meanwhile.
func TestTurnsKeepTheirOrder(t *testing.T) {
	for range 50 {
		seed := gate.Rand.Uint64()
		rng := rand.New(rand.NewPCG(seed, 0))
		var q turns
		var want []turn
		listeners := 0
		for range 500 {
			switch kind := rng.IntN(10); {
			case kind < 4:
				c := new(eventConn)
				q.push(c)
				want = append(want, turn{c: c, ev: evTurn})
			case kind < 5:
				a := new(acceptor)
				q.pushListener(a)
				want = append(want, turn{a: a})
				listeners++
				if a.state != queued {
					t.Errorf("seed %d: a listener in the queue has state %d", seed, a.state)
				}
			case kind < 6 && listeners > 0:
				i := rng.IntN(len(want))
				for want[i].a == nil {
					i = (i + 1) % len(want)
				}
				q.remove(want[i].a)
				want = append(want[:i], want[i+1:]...)
				listeners--
			case len(want) > 0:
				if got := q.pop(); got != want[0] {
					t.Fatalf("seed %d: %+v left the queue, want %+v", seed, got, want[0])
				}
				if a := want[0].a; a != nil {
					listeners--
					if a.state != visited {
						t.Errorf("seed %d: a listener that left the queue has state %d", seed, a.state)
					}
				}
				want = want[1:]
			}
			if q.len() != len(want) || len(q.listeners) != listeners {
				t.Fatalf("seed %d: %d turns, %d of them of listeners; want %d and %d", seed, q.len(), len(q.listeners), len(want), listeners)
			}
		}
	}
}

// A queue of connections of any length takes no memory: when the engine stops, all idle
// connections are in it.
func TestTurnsOfConnectionsTakeNoMemory(t *testing.T) {
	conns := make([]eventConn, 1000)
	var q turns
	if n := testing.AllocsPerRun(5, func() {
		for i := range conns {
			q.push(&conns[i])
		}
		for range conns {
			q.pop()
		}
	}); n != 0 {
		t.Errorf("%g allocations for %d connections", n, len(conns))
	}
}
