package engine

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/galehttp/gale/internal/clock"
)

// What it costs to arm, fire or cancel a timer while n others are queued. For comparison,
// a walk through as many records in the same order shows the cost of memory alone.
// Connections are taken in groups that are next to each other in memory, like those that
// were accepted together.
func BenchmarkWheel(b *testing.B) {
	defer clock.Start()()
	const group, many = 16, 512
	for _, n := range []int{1_000, 100_000, 1_000_000} {
		conns := make([]*eventConn, n)
		for i := range conns {
			conns[i] = new(eventConn)
		}
		order := make([]int32, 1<<14) // of groups
		for i := range order {
			order[i] = int32(rand.IntN(n/group)) * group
		}
		at := func(i int) int { return int(order[i/group%len(order)]) + i%group }
		far := func(i int) clock.Tick { // within the turn of the wheel
			return clock.Ticks() + clock.Tick(time.Minute) + clock.Tick(time.Duration(i%10_000)*time.Microsecond)
		}
		fill := func(w *wheel) {
			for i, c := range conns {
				w.remove(c)
				w.arm(c, far(i))
			}
		}
		newWheel := func(b *testing.B) *wheel {
			w := &wheel{fire: func(*eventConn) {}}
			b.Cleanup(func() {
				for _, c := range conns {
					w.remove(c)
				}
				w.stop()
			})
			return w
		}
		b.Run(fmt.Sprint("move/n=", n), func(b *testing.B) { // as each request does
			w := newWheel(b)
			fill(w)
			b.ResetTimer()
			for i := range b.N {
				w.arm(conns[at(i)], far(i)+clock.Tick(time.Second))
			}
		})
		b.Run(fmt.Sprint("cancel+arm/n=", n), func(b *testing.B) {
			w := newWheel(b)
			fill(w)
			b.ResetTimer()
			for i := range b.N {
				c := conns[at(i)]
				w.remove(c)
				w.arm(c, far(i))
			}
		})
		b.Run(fmt.Sprint("fire/n=", n), func(b *testing.B) {
			w := newWheel(b)
			fired := 0
			w.fire = func(*eventConn) { fired++ }
			fill(w)
			b.ResetTimer()
			for i := 0; i < b.N; i += many {
				b.StopTimer()
				w.mu.Lock()
				w.at = int64(clock.Ticks())>>wheelShift - 2
				for k := range many { // as if they had been queued for now
					c := conns[at(i+k)]
					w.unlink(c)
					c.timer.due.Store(1)
					w.link(c, w.at+1)
				}
				w.mu.Unlock()
				b.StartTimer()
				w.run()
			}
			b.StopTimer()
			if fired == 0 {
				b.Fatal("no timer has fired")
			}
		})
		b.Run(fmt.Sprint("walk/n=", n), func(b *testing.B) {
			b.ResetTimer()
			for i := range b.N {
				conns[at(i)].timer.due.Add(1)
			}
			b.StopTimer()
			for _, c := range conns {
				c.timer.due.Store(0)
			}
		})
	}
}
