//go:build unix

package engine

import (
	"fmt"
	"math/rand/v2"
	"net"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/galehttp/gale/internal/clock"
	"github.com/galehttp/gale/tests/harness/gate"
)

// listed is the net.Conn of a blockConn in these tests. It records the calls. As a type of a
// program may, it calls the engine.
type listed struct {
	net.Conn
	id     int
	woken  func(id int)
	e      *Block
	closed int
	panics bool // in Close
}

func (l *listed) SetReadDeadline(at time.Time) error {
	if at.Equal(clock.LongAgo) {
		l.e.Len()
		l.woken(l.id)
	}
	return nil
}

func (l *listed) Close() error {
	l.closed++
	if l.panics {
		panic("no")
	}
	return nil
}

// listModel is a Block, and a slice with the connections that its list must have.
type listModel struct {
	t     *testing.T
	seed  uint64
	rng   *rand.Rand
	e     Block
	conns []*blockConn // the oldest first
	at    *blockConn   // where EvictIdle goes on, nil for the oldest
	woken []int
	ids   int
}

func (m *listModel) add() *blockConn {
	m.ids++
	nc := &listed{id: m.ids, e: &m.e, woken: func(id int) { m.woken = append(m.woken, id) }}
	c := &blockConn{e: &m.e, nc: nc, sess: &told{}, epoch: m.e.Epoch(), opened: clock.Coarse()}
	m.e.add(c)
	m.conns = append(m.conns, c)
	return c
}

func (m *listModel) remove(c *blockConn) {
	i := slices.Index(m.conns, c)
	m.conns = slices.Delete(m.conns, i, i+1)
	if m.at == c {
		m.at = nil
		if i < len(m.conns) {
			m.at = m.conns[i]
		}
	}
	m.e.remove(c)
}

// evict returns the connections that EvictIdle(n) must close, in order.
func (m *listModel) evict(n int) (ids []int) {
	i := max(slices.Index(m.conns, m.at), 0)
	for range min(64+n, len(m.conns)) {
		if i == len(m.conns) {
			i = 0
		}
		c := m.conns[i]
		i++
		young := !c.served.Load() && clock.Ticks()-c.opened <= clock.Tick(fresh)
		if c.state.Load() == idle && !young {
			ids = append(ids, c.nc.(*listed).id)
		}
		if len(ids) == n {
			break
		}
	}
	m.at = nil
	if i < len(m.conns) {
		m.at = m.conns[i]
	}
	return ids
}

func (m *listModel) check() {
	m.t.Helper()
	var got []*blockConn
	m.e.each(func(c *blockConn) { got = append(got, c) })
	if !slices.Equal(got, m.conns) || m.e.Len() != len(m.conns) {
		m.t.Fatalf("seed %d: the list has %d connections, Len is %d; want %d, the oldest first", m.seed, len(got), m.e.Len(), len(m.conns))
	}
	isIdle := 0
	for i, c := range got {
		if c.before.after != c || c.after.before != c {
			m.t.Fatalf("seed %d: the ring is broken at connection %d", m.seed, i)
		}
		if c.state.Load() == idle {
			isIdle++
		}
	}
	if n := m.e.Idle(); n != isIdle {
		m.t.Errorf("seed %d: Idle is %d, want %d", m.seed, n, isIdle)
	}
}

// Connections come and go. EvictIdle closes them in turn, but only those that are idle
// and not so new that their first request may be on its way.
func TestBlockListIsASlice(t *testing.T) {
	for i := range uint64(20) {
		seed := i
		if i >= 10 {
			seed = gate.Rand.Uint64()
		}
		synctest.Test(t, func(t *testing.T) {
			leaveThePast()
			m := &listModel{t: t, seed: seed, rng: rand.New(rand.NewPCG(seed, 1))}
			evicted, most := 0, []int{8, 60, 300}[seed%3] // some are more than EvictIdle looks at
			for range 2000 {
				kind := m.rng.IntN(10)
				if len(m.conns) == 0 || kind < 4 && len(m.conns) < most {
					m.add()
					continue
				}
				c := m.conns[m.rng.IntN(len(m.conns))]
				switch kind {
				case 4:
					m.remove(c)
				case 5, 6:
					c.state.CompareAndSwap(busy, idle)
				case 7:
					c.state.CompareAndSwap(idle, busy)
					c.served.Store(true)
				case 8:
					time.Sleep(time.Duration(m.rng.Int64N(int64(fresh) / 4)))
				case 9:
					n := 1 + m.rng.IntN(4)
					ids := m.evict(n)
					m.woken = nil
					if got := m.e.EvictIdle(n); got != len(ids) || !slices.Equal(m.woken, ids) {
						t.Fatalf("seed %d: EvictIdle(%d) of %d returned %d and woke %v, want %v", seed, n, len(m.conns), got, m.woken, ids)
					}
					evicted += len(ids)
				}
				m.check()
			}
			if evicted == 0 {
				t.Errorf("seed %d: none was evicted; this test tells nothing", seed)
			}
		})
	}
}

// What Stop does to a connection, by its state and its epoch.
func TestBlockStop(t *testing.T) {
	for _, k := range []struct {
		state, after int32
		woken        bool
	}{
		{busy, busy, false},       // it sees that it must end when it becomes idle
		{idle, closing, true},     //
		{closing, closing, false}, // it was woken by now
		{parting, parting, true},  // closeGracefully goes on for lingerStop
	} {
		for _, old := range []bool{true, false} {
			t.Run(fmt.Sprintf("state %d, old %v", k.state, old), func(t *testing.T) {
				m := &listModel{t: t}
				c := m.add()
				c.state.Store(k.state)
				if !old {
					c.epoch++
				}
				m.e.Stop()
				want, wakes := k.after, k.woken
				if !old { // of the epoch that begins
					want, wakes = k.state, false
				}
				if got := c.state.Load(); got != want || len(m.woken) > 0 != wakes {
					t.Errorf("its state is %d and it was woken %d times; want %d, woken: %v", got, len(m.woken), want, wakes)
				}
				if c.Stopping() != old || m.e.Epoch() != 1 {
					t.Errorf("it is to stop: %v, in epoch %d", c.Stopping(), m.e.Epoch())
				}
			})
		}
	}
}

// CloseAll closes each connection in any state, the socket below it first. It also closes
// those after one whose Close panics.
func TestBlockCloseAll(t *testing.T) {
	(&Block{}).CloseAll() // none
	m := &listModel{t: t}
	for _, state := range []int32{busy, idle, closing, parting} {
		m.add().state.Store(state)
	}
	m.conns[1].nc.(*listed).panics = true
	above := m.add()
	below := above.nc.(*listed)
	top := &layered{Conn: below}
	above.nc = top
	m.e.EndNow()
	for i, c := range m.conns[:4] {
		if n := c.nc.(*listed).closed; n != 1 || !c.killed.Load() {
			t.Errorf("connection %d was closed %d times, killed: %v; want once", i, n, c.killed.Load())
		}
	}
	if below.closed != 2 || top.closes.Load() != 1 {
		t.Errorf("a socket was closed %d times and what is on top of it %d times; want it to be closed itself, then with the other", below.closed, top.closes.Load())
	}
	for i, c := range m.conns {
		if n := len(c.sess.(*told).panics); n > 0 != (i == 1) {
			t.Errorf("session %d was told of %d panics", i, n)
		}
	}
	m.check() // each is removed when its goroutine ends
}
