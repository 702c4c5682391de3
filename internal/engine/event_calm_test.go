package engine

import (
	"math/rand/v2"
	"net"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/galehttp/gale/internal/clock"
	"github.com/galehttp/gale/tests/harness/gate"
)

// naps is a session whose handlers block: each message takes as long as nap says.
type naps struct {
	mu    sync.Mutex
	nap   time.Duration // of the next message
	sent  clock.Tick    // when the message arrived, 0 if none waits or is served
	waits *waits
}

// waits is how long the messages of all sessions have waited.
type waits struct {
	mu   sync.Mutex
	n    int
	most time.Duration
}

func (s *naps) Open(_ Conn, next *Next) { next.Idle = true }
func (s *naps) Feed(w *Work, next *Next) {
	w.Consume(len(w.Unread()))
	s.mu.Lock()
	waited, nap := time.Duration(clock.Ticks()-s.sent), s.nap
	s.mu.Unlock()
	s.waits.mu.Lock()
	s.waits.n++
	s.waits.most = max(s.waits.most, waited)
	s.waits.mu.Unlock()
	time.Sleep(nap) // the handler blocks, by the clock of the bubble
	s.mu.Lock()
	s.sent = 0
	s.mu.Unlock()
	next.Idle = true
}
func (s *naps) Stall(_ *Work, _ error, next *Next) { next.Op = Abort }
func (s *naps) Hijacked(net.Conn)                  {}
func (s *naps) Closed(error)                       {}
func (s *naps) Panicked(any)                       {}

// calmTest is a loop in a bubble with simulated connections. Work takes no time there;
// only naps do.
type calmTest struct {
	t     *testing.T
	s     *Simulation
	l     *loop
	conns []*naps
	waits waits
}

func inCalm(t *testing.T, conns int, f func(c *calmTest)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		leaveThePast()
		e := &Event{Loops: 1, Panicked: func(r any) { t.Error(r) }, Ended: func(Session, error) {}}
		s := Simulate(t, []byte("m"))
		if err := e.Hold(); err != nil {
			t.Fatal(err)
		}
		c := &calmTest{t: t, s: s, l: e.all()[0]}
		for range conns {
			nc := s.Connect()
			if err := e.Adopt(nc); err != nil {
				t.Fatal(err)
			}
			n := &naps{waits: &c.waits}
			c.conns = append(c.conns, n)
			e.Start(nc, nil, 0, n)
		}
		f(c)
		time.Sleep(time.Second)
		e.EndNow()
		synctest.Wait()
		if e.Len() != 0 {
			t.Errorf("%d connections left", e.Len())
		}
		e.Unhold()
	})
}

// send makes a message arrive at each of the connections. Its handler naps for nap.
// Connections that already have a message are left out.
func (c *calmTest) send(nap time.Duration, conns ...int) {
	to := conns[:0:0]
	for _, i := range conns {
		n := c.conns[i]
		n.mu.Lock()
		if n.sent == 0 {
			n.sent, n.nap = clock.Ticks(), nap
			to = append(to, i)
		}
		n.mu.Unlock()
	}
	c.s.Arrive(to)
}

// mostWaited returns how many messages were served since its last call, and how long one
// of them has waited at most.
func (w *waits) mostWaited() (n int, most time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	n, most = w.n, w.most
	w.n, w.most = 0, 0
	return n, most
}

// wantCalm checks whether the loop is calm, after all goroutines have come to rest.
func (c *calmTest) wantCalm(want bool, when string) {
	c.t.Helper()
	synctest.Wait()
	if is := c.l.calm.is.Load(); is != want {
		c.t.Errorf("%s the loop is calm: %v, want %v", when, is, want)
	}
}

func (c *calmTest) workers() int {
	c.l.mu.Lock()
	defer c.l.mu.Unlock()
	return c.l.workers
}

// A loop begins calm, and one goroutine does all the work as long as nothing blocks.
func TestCalmNeedsNoStandby(t *testing.T) {
	inCalm(t, 3, func(c *calmTest) {
		c.wantCalm(true, "in the beginning")
		for range 200 {
			c.send(0, 0, 1, 2)
			time.Sleep(700 * time.Microsecond)
		}
		c.wantCalm(true, "after short messages")
		if n := c.workers(); n != 1 {
			t.Errorf("%d goroutines served messages that take no time, want 1", n)
		}
		if n, _ := c.waits.mostWaited(); n != 600 {
			t.Errorf("%d messages were served, want 600", n)
		}
	})
}

// How long a handler may block before the loop isn't calm any more, and that the loop is
// calm again when no handler has blocked for a while.
func TestCalmEndsAndComesBack(t *testing.T) {
	for _, k := range []struct {
		nap  time.Duration
		calm bool
	}{
		{0, true}, {blocked / 2, true}, {guardAfter - time.Microsecond, true},
		{guardAfter + time.Microsecond, false}, {20 * time.Millisecond, false}, {3 * unrest, false},
	} {
		t.Run(k.nap.String(), func(t *testing.T) {
			inCalm(t, 2, func(c *calmTest) { c.endAndComeBack(k.nap, k.calm) })
		})
	}
}

func (c *calmTest) endAndComeBack(nap time.Duration, calm bool) {
	c.send(nap, 0)
	// All sleeps here are by the clock of the bubble.
	time.Sleep(guardAfter - time.Nanosecond)
	c.wantCalm(true, "before the guard looks")
	time.Sleep(time.Nanosecond) // and now it does
	c.wantCalm(calm, "when the guard has looked")
	noticed := clock.Ticks()
	// until waits by the clock of the bubble.
	until := func(d time.Duration) { time.Sleep(time.Duration(noticed.Add(d) - clock.Ticks())) }
	if calm {
		return
	}
	if n := c.workers(); n != 2 {
		c.t.Errorf("%d goroutines, want one more than the one that blocks", n)
	}
	for d := time.Millisecond; d < unrest-time.Millisecond; d += 5 * time.Millisecond {
		until(d)
		c.send(0, 1)
		c.wantCalm(false, "within a second")
	}
	until(unrest - time.Millisecond)
	c.send(blocked, 1)  // the loop stays so for one more second
	time.Sleep(blocked) // the handler has returned then
	synctest.Wait()
	noticed = clock.Ticks()
	until(unrest - time.Millisecond)
	c.send(blocked-time.Nanosecond, 1) // that is not blocking
	time.Sleep(blocked)                // the handler has returned then
	c.wantCalm(false, "within a second of the last that blocked")
	until(2 * unrest)
	c.wantCalm(false, "until something was served")
	c.send(0, 1)
	c.wantCalm(true, "a second after the last that blocked")
}

// If handlers block so long that the guard sees it, no event waits longer than the guard
// needs. The guard looks every guardAfter, and its second look after the beginning of a
// visit sees that the visit blocks.
func TestCalmLetsNobodyWait(t *testing.T) {
	for i := range uint64(20) {
		seed := i
		if i >= 5 {
			seed = gate.Rand.Uint64()
		}
		inCalm(t, 12, func(c *calmTest) {
			rng := rand.New(rand.NewPCG(seed, 1))
			unrests, was := 0, true
			for range 3000 {
				var to []int
				for range 1 + rng.IntN(3) {
					to = append(to, rng.IntN(len(c.conns)))
				}
				nap := time.Duration(0)
				if rng.IntN(100) == 0 {
					nap = 2*guardAfter + time.Duration(rng.Int64N(int64(50*time.Millisecond)))
				}
				c.send(nap, to...)
				switch rng.IntN(100) {
				case 0:
					time.Sleep(time.Duration(rng.Int64N(int64(3 * unrest)))) // calm again
				default:
					time.Sleep(time.Duration(rng.Int64N(int64(2 * guardAfter))))
				}
				is := c.l.calm.is.Load()
				if was && !is {
					unrests++
				}
				was = is
			}
			time.Sleep(time.Second)
			if _, most := c.waits.mostWaited(); most > 2*guardAfter {
				t.Errorf("seed %d: an event has waited for %v, want %v at most", seed, most, 2*guardAfter)
			}
			if unrests < 3 {
				t.Errorf("seed %d: the loop has lost its calm %d times; want more, or this test tells nothing", seed, unrests)
			}
		})
	}
}

// A worker that retires while a handler blocks doesn't call a standby before the guard
// has looked. Otherwise the standby may begin another visit that blocks, and the guard
// takes that for progress of the loop.
func TestCalmRetires(t *testing.T) {
	inCalm(t, 4, func(c *calmTest) {
		c.send(2*guardAfter, 0, 1, 2) // that needs several workers
		time.Sleep(unrest)
		c.l.mu.Lock()
		resting := len(c.l.resting)
		c.l.retire.Reset(restFor) // now all of them will be old enough
		c.l.mu.Unlock()
		time.Sleep(restFor - guardAfter - guardAfter/2)
		c.wantCalm(false, "after handlers that blocked")
		c.send(0, 0)
		c.wantCalm(true, "after a short message")
		c.send(0, 0) // sets the guard
		synctest.Wait()
		c.waits.mostWaited()

		workers := c.workers()
		time.Sleep(guardAfter / 10)
		c.send(20*guardAfter, 0, 1)
		synctest.Wait()
		c.send(0, 3)
		time.Sleep(guardAfter + guardAfter/2)
		synctest.Wait()
		if gone := workers - c.workers(); resting < 3 || gone != resting-1 {
			t.Errorf("%d of %d goroutines that rested have retired, want all but one", gone, resting)
		}
		time.Sleep(unrest)
		if n, most := c.waits.mostWaited(); n != 3 || most > 2*guardAfter {
			t.Errorf("of %d messages, want 3, one has waited for %v, want %v at most", n, most, 2*guardAfter)
		}
	})
}

// Handlers that each end before the guard looks are noticed by the measured time of
// visits. After one or two measurements, another goroutine is called for the messages
// that would wait.
func TestCalmMeasuresVisits(t *testing.T) {
	inCalm(t, 2, func(c *calmTest) {
		const nap = guardAfter / 2
		for range 4 * measureEach {
			c.send(nap, 0)
			time.Sleep(2*nap + nap/4) // the guard looks between two visits, not as one begins
		}
		c.wantCalm(true, "after handlers that the guard doesn't see")
		c.waits.mostWaited()
		c.send(nap, 0, 1)
		time.Sleep(4 * nap)
		if n, most := c.waits.mostWaited(); n != 2 || most != 0 {
			t.Errorf("of %d messages, want 2, one has waited for %v while the other was served", n, most)
		}
	})
}

// For which measured times and batches another processor is worth calling.
func TestCalmAlone(t *testing.T) {
	synctest.Test(t, testCalmAlone) // so that no guard looks
}

func testCalmAlone(t *testing.T) {
	const us = clock.Tick(time.Microsecond)
	for _, k := range []struct {
		calm      bool
		batch, at int // at includes the event that was taken just now
		visit     clock.Tick
		want      bool
	}{
		{true, 1, 1, 0, true},
		{false, 1, 1, 0, false},
		{true, 256, 1, 0, true}, // nothing is measured yet
		{true, 1, 1, 50 * us, true},
		{true, 1, 1, 51 * us, false},
		{true, 5, 1, 10 * us, true},
		{true, 6, 1, 10 * us, false},
		{true, 6, 2, 10 * us, true},
	} {
		l := &loop{batch: make([]ready, k.batch), at: k.at}
		l.calm.is.Store(k.calm)
		l.calm.visit = k.visit
		if got := l.calm.alone(l); got != k.want {
			t.Errorf("%+v: alone: %v", k, got)
		}
		l.calm.stop()
		guarded := k.want || k.batch > 1
		if l.calm.guarded.Load() != guarded || l.calm.visits != 1 {
			t.Errorf("%+v: guarded: %v, counted: %d", k, l.calm.guarded.Load(), l.calm.visits)
		}
	}
}

// The guard stays set while connections are visited, and through a short rest of a busy
// loop. As long as it is set, the scheduler need not be told of looks for events.
func TestCalmGuardStays(t *testing.T) {
	inCalm(t, 3, func(c *calmTest) {
		wantGuarded := func(want bool, when string) {
			t.Helper()
			synctest.Wait()
			if is := c.l.calm.guarded.Load(); is != want {
				t.Errorf("%s the guard is set: %v, want %v", when, is, want)
			}
		}
		wantGuarded(false, "in the beginning")
		c.send(0, 0)
		wantGuarded(true, "after a visit")
		time.Sleep(guardAfter + 1)
		wantGuarded(false, "after one visit and a rest")
		for range 3 {
			for range 10 * busyVisits {
				c.send(0, 0, 1, 2)
				time.Sleep(guardAfter / busyVisits)
				wantGuarded(true, "of a busy loop")
			}
			time.Sleep(guardFar)
			wantGuarded(true, "in a rest of a busy loop")
		}
		time.Sleep(2*guardAfter + 1)
		wantGuarded(false, "after a long rest")
		c.wantCalm(true, "after short messages")
	})
}

// After a rest of a busy loop, a handler that blocks doesn't delay others for longer than
// otherwise.
func TestCalmGuardAfterRest(t *testing.T) {
	inCalm(t, 2, func(c *calmTest) {
		for range 10 * busyVisits {
			c.send(0, 0, 1)
			time.Sleep(guardAfter / busyVisits)
		}
		time.Sleep(2 * guardAfter)
		synctest.Wait()
		if !c.l.calm.far {
			t.Fatal("the loop doesn't rest as after much work")
		}
		c.waits.mostWaited()
		c.send(time.Second, 0)
		synctest.Wait()
		c.send(0, 1)
		time.Sleep(2*guardAfter + 1)
		if _, most := c.waits.mostWaited(); most > 2*guardAfter {
			t.Errorf("a message waited for %v, want no more than %v", most, 2*guardAfter)
		}
		time.Sleep(time.Second)
		if n, _ := c.waits.mostWaited(); n != 0 {
			t.Errorf("%d messages were served late", n)
		}
	})
}

// calm.visit follows the measured time of visits, and one of measureEach batches is
// measured.
func TestCalmEndBatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		leaveThePast()
		var m calm
		for i := 1; i <= 5*measureEach; i++ {
			if got := m.endBatch(3); got != (i%measureEach == 0) {
				t.Errorf("batch %d is one to measure: %v", i, got)
			}
		}
		if m.visit != 0 {
			t.Errorf("a visit takes %v, and none was measured", m.visit)
		}
		const long = 100 * time.Microsecond
		for i := range 60 {
			m.began = clock.Ticks()
			time.Sleep(4 * long)
			m.endBatch(4)
			if i == 0 && m.visit != clock.Tick(long/4) {
				t.Errorf("the first measure of %v makes it %v, want a quarter", long, time.Duration(m.visit))
			}
			if m.began != 0 {
				t.Error("the batch would be measured again")
			}
		}
		if d := clock.Tick(long) - m.visit; d < 0 || d > 10 {
			t.Errorf("after many visits of %v it is %v", long, time.Duration(m.visit))
		}
		m.began = clock.Ticks()
		time.Sleep(time.Hour)
		if was := m.visit; m.endBatch(0) || m.visit != was {
			t.Errorf("a batch of nothing changed it from %v to %v", was, m.visit)
		}
	})
}
