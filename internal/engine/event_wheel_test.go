package engine

import (
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/galehttp/gale/internal/clock"
	"github.com/galehttp/gale/tests/harness/await"
	"github.com/galehttp/gale/tests/harness/gate"
)

// wheelStep is how late timeouts may be.
const wheelStep = clock.Tick(1 << wheelShift)

// leaveThePast moves the clock of a bubble past the start of the process. Ticks are
// counted from that start, and a bubble begins in the year 2000.
func leaveThePast() {
	time.Sleep(-time.Duration(min(clock.Ticks(), 0)) + time.Hour) // by the clock of the bubble
}

// armed is a timer of wheelModel.
type armed struct {
	c     int
	due   clock.Tick
	since clock.Tick // when it was armed last
}

// wheelModel is a wheel, and a sorted list of the timers that must fire. Each timer of
// the list must fire once, not before it is due, and at most one step after that.
type wheelModel struct {
	t     *testing.T
	seed  uint64
	w     *wheel
	conns []*eventConn

	mu     sync.Mutex
	rng    *rand.Rand
	list   []armed // by due
	asleep bool    // the wheel's timer doesn't work: it may be late
	rearms int     // timers that were armed again as they fired
	fired  int
}

func newWheelModel(t *testing.T, seed uint64, conns int) *wheelModel {
	m := &wheelModel{t: t, seed: seed, rng: rand.New(rand.NewPCG(seed, 7))}
	for range conns {
		m.conns = append(m.conns, new(eventConn))
	}
	m.w = &wheel{fire: m.fire}
	return m
}

func (m *wheelModel) errorf(format string, args ...any) {
	m.t.Helper()
	m.t.Errorf("seed %d: "+format, append([]any{m.seed}, args...)...)
}

// forget takes c out of the list, under mu.
func (m *wheelModel) forget(c int) (was armed, ok bool) {
	i := slices.IndexFunc(m.list, func(a armed) bool { return a.c == c })
	if i < 0 {
		return armed{}, false
	}
	was = m.list[i]
	m.list = slices.Delete(m.list, i, i+1)
	return was, true
}

// arm arms c in the list and in the wheel, under mu.
func (m *wheelModel) arm(c int, due clock.Tick) {
	m.forget(c)
	if due != 0 {
		a := armed{c, due, clock.Ticks()}
		i, _ := slices.BinarySearchFunc(m.list, a, func(a, b armed) int { return int(a.due - b.due) })
		m.list = slices.Insert(m.list, i, a)
	}
	m.w.arm(m.conns[c], due)
}

func (m *wheelModel) fire(ec *eventConn) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.fired++
	c := slices.Index(m.conns, ec)
	a, ok := m.forget(c)
	now := clock.Ticks()
	switch late := now - max(a.due, a.since); {
	case !ok:
		m.errorf("connection %d fired, which nobody had armed or which had fired already", c)
	case now < a.due:
		m.errorf("connection %d fired %v before it was due", c, time.Duration(a.due-now))
	case late > wheelStep && !m.asleep:
		m.errorf("connection %d fired %v late, want a step of %v at most", c, time.Duration(late), time.Duration(wheelStep))
	}
	if m.rng.IntN(3) == 0 {
		m.rearms++
		m.arm(c, m.due())
	}
}

// due returns a random time: near now, within a turn of the wheel, or many turns away.
func (m *wheelModel) due() clock.Tick {
	d := clock.Tick(0)
	switch m.rng.IntN(5) {
	case 0:
		d = clock.Tick(m.rng.Int64N(int64(2*wheelStep))) - wheelStep // it may have passed
	case 1, 2:
		d = clock.Tick(m.rng.Int64N(int64(50 * wheelStep)))
	case 3:
		d = clock.Tick(m.rng.Int64N(int64(wheelSlots * wheelStep)))
	case 4:
		d = clock.Tick(m.rng.Int64N(int64(5 * wheelSlots * wheelStep)))
	}
	due := clock.Ticks() + d
	if m.rng.IntN(4) == 0 {
		due = due >> wheelShift << wheelShift // exactly at the beginning of a step
	}
	return due
}

// check compares the wheel with the list, while no timer is firing.
func (m *wheelModel) check() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.w.mu.Lock()
	defer m.w.mu.Unlock()
	if now := clock.Ticks(); len(m.list) > 0 && max(m.list[0].due, m.list[0].since)+wheelStep < now {
		m.errorf("connection %d was due %v ago and did not fire", m.list[0].c, time.Duration(now-m.list[0].due))
	}
	queued := 0
	for i, head := range m.w.slots {
		if full := m.w.full[i/64]>>(i%64)&1 != 0; full != (head != nil) {
			m.errorf("slot %d is marked as full: %v, and that is wrong", i, full)
		}
		for c := head; c != nil; {
			queued++
			if c.timer.queued.Load()%wheelSlots != int64(i) || c.timer.after.timer.before != c {
				m.errorf("a connection of slot %d is queued for %d, or its ring is broken", i, c.timer.queued.Load())
			}
			if c = c.timer.after; c == head {
				break
			}
		}
	}
	next := m.w.at + 1
	for queued > 0 && m.w.slots[next%wheelSlots] == nil {
		next++
	}
	if first := m.w.first(); first != next {
		m.errorf("the first step with something is %d, want %d", first, next)
	}
	if queued != m.w.n {
		m.errorf("%d connections are in slots, and n is %d", queued, m.w.n)
	}
	for _, a := range m.list {
		if c := m.conns[a.c]; c.timer.queued.Load() == 0 || c.timer.due.Load() != int64(a.due) {
			m.errorf("connection %d, which is to fire at %d, is queued for step %d and due at %d", a.c, a.due, c.timer.queued.Load(), c.timer.due.Load())
		}
	}
}

// sleep lets time pass while the wheel's timer doesn't fire, as on a suspended machine.
// Then the timer fires late.
func (m *wheelModel) sleep(d time.Duration) {
	m.w.mu.Lock()
	if m.w.timer == nil {
		m.w.mu.Unlock()
		return
	}
	was := m.w.timer.Stop()
	m.w.mu.Unlock()
	m.mu.Lock()
	m.asleep = true
	m.mu.Unlock()
	time.Sleep(d) // by the clock of the bubble
	m.mu.Lock()
	for range 3 { // before the wheel gets to run
		m.arm(m.rng.IntN(len(m.conns)), m.due())
	}
	m.mu.Unlock()
	if was {
		m.w.run()
	}
	synctest.Wait()
	m.mu.Lock()
	m.asleep = false
	m.mu.Unlock()
}

// step does one random operation.
func (m *wheelModel) step() {
	m.mu.Lock()
	c, kind, n := m.rng.IntN(len(m.conns)), m.rng.IntN(20), m.rng.Int64N(1000)
	due := m.due()
	switch {
	case kind < 9:
		m.arm(c, due)
	case kind < 10:
		m.arm(c, 0)
	case kind < 12:
		m.forget(c)
		m.w.remove(m.conns[c])
	}
	m.mu.Unlock()
	switch {
	case kind < 12:
	case kind < 17: // this and the other sleeps are by the clock of the bubble
		time.Sleep(time.Duration(n) * time.Duration(wheelStep) / 300)
	case kind < 18:
		time.Sleep(time.Duration(n) * time.Duration(wheelStep) / 20) // at most fifty steps
	case kind < 19 && n < 200:
		time.Sleep(time.Duration(n) * time.Duration(wheelStep) * 30) // six turns
	case n < 200:
		m.sleep(time.Duration(n) * time.Duration(wheelStep) * 30)
	}
}

// For random sequences of arming, moving and removing timers, and random times between
// them, the wheel does the same as a sorted list of timers.
func TestWheelIsASortedList(t *testing.T) {
	for i := range uint64(20) {
		seed := i
		if i >= 10 {
			seed = gate.Rand.Uint64()
		}
		synctest.Test(t, func(t *testing.T) {
			leaveThePast()
			m := newWheelModel(t, seed, 1+int(seed%24))
			for i := range 2000 {
				m.step()
				synctest.Wait()
				if i%8 == 0 {
					m.check()
				}
				if t.Failed() {
					t.FailNow()
				}
			}
			m.mu.Lock()
			m.rng = rand.New(onlyOnes{}) // nothing is armed again
			m.mu.Unlock()
			for more := true; more; {
				time.Sleep(time.Minute)
				m.mu.Lock()
				more = len(m.list) > 0 && !t.Failed()
				m.mu.Unlock()
				synctest.Wait()
				m.check()
			}
			time.Sleep(time.Minute) // those that were armed for never are dropped
			if m.w.n != 0 {
				m.errorf("%d connections are queued, and none is armed", m.w.n)
			}
			if m.fired == 0 || m.rearms == 0 {
				m.errorf("%d timers fired, %d of them were armed again; want some of both", m.fired, m.rearms)
			}
			m.w.stop()
		})
	}
}

// onlyOnes is a source of large numbers.
type onlyOnes struct{}

func (onlyOnes) Uint64() uint64 { return 1<<64 - 1 }

// A connection whose due moves with each request costs the wheel one look per turn, and
// one look when its last due has come.
func TestWheelLeavesBusyConnectionsAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		leaveThePast()
		var fired []clock.Tick
		w := &wheel{fire: func(*eventConn) { fired = append(fired, clock.Ticks()) }}
		c := new(eventConn)
		looks, queued := 0, int64(0)
		var due clock.Tick
		for range 1000 { // a request every 10 ms, due 12 s later
			due = clock.Ticks().Add(12 * time.Second)
			w.arm(c, due)
			if q := c.timer.queued.Load(); q != queued {
				looks, queued = looks+1, q
				if at := clock.Tick(q << wheelShift); at < due || at > due+wheelStep {
					t.Errorf("due at %d, it is queued for %d: a look too early is one for nothing", due, at)
				}
			}
			time.Sleep(10 * time.Millisecond)
		}
		if looks != 1 {
			t.Errorf("in 10 s it was queued %d times, want once: the turn takes 17 s", looks)
		}
		time.Sleep(2 * time.Minute)
		synctest.Wait()
		if len(fired) != 1 || fired[0] < due || fired[0] > due+wheelStep {
			t.Errorf("due at %d, it fired at %d; want once, within a step", due, fired)
		}
		w.stop()
	})
}

// A stopped wheel doesn't fire any more.
func TestWheelStop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		leaveThePast()
		w := &wheel{fire: func(*eventConn) { t.Error("it fired") }}
		w.stop() // although nothing was armed
		w.arm(new(eventConn), clock.Ticks().Add(time.Second))
		w.stop()
		time.Sleep(time.Minute)
	})
}

// Owners change the due of their connections while the wheel looks at them. A connection
// that is armed stays queued until it is due, and then fires.
func TestWheelWithOwners(t *testing.T) {
	const owners, each, rounds = 4, 300, 4
	fired := make(map[*eventConn]*atomic.Int64)
	conns := make([]eventConn, owners*each)
	for i := range conns {
		fired[&conns[i]] = new(atomic.Int64)
	}
	w := &wheel{fire: func(c *eventConn) { fired[c].Store(int64(clock.Ticks())) }}
	defer w.stop()
	for round := range rounds {
		var wg sync.WaitGroup
		for i := range owners {
			mine := conns[i*each : (i+1)*each]
			wg.Go(func() {
				for end := clock.Ticks() + 4*wheelStep; clock.Ticks() < end; {
					due := clock.Ticks() + wheelStep
					for i := range mine {
						w.arm(&mine[i], 0)
						w.arm(&mine[i], due)
					}
					w.mu.Lock()
					for i := range mine {
						if c := &mine[i]; c.timer.queued.Load() == 0 && clock.Ticks() < due {
							t.Errorf("round %d: connection %d is not queued, and is due in %v", round, i, time.Duration(due-clock.Ticks()))
							end = 0
							break
						}
					}
					w.mu.Unlock()
				}
			})
		}
		wg.Wait()
		for i := range conns {
			c := &conns[i]
			await.Until(t, "the last due of a connection", func() bool { return fired[c].Load() >= c.timer.due.Load() })
		}
	}
}
