package engine

import (
	"net"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/galehttp/gale/internal/clock"
)

// Sessions that share, on a simulated system in a bubble. Work takes no time there; only
// naps of handlers do.

// sharer is a session whose Feed runs the handlers that wait, one after the other, and
// shares the connection meanwhile.
type sharer struct {
	c     Conn
	waker *Waker
	began clock.Tick // when the first message arrived

	mu     sync.Mutex
	jobs   []func(pass func()) // to run in Feed
	waited []time.Duration     // until each began
	lost   int
	closed bool
}

func (s *sharer) Open(c Conn, next *Next) { s.c, s.waker = c, c.Waker() }
func (s *sharer) Feed(w *Work, next *Next) {
	w.Consume(len(w.Unread()))
	for {
		s.mu.Lock()
		if len(s.jobs) == 0 {
			s.mu.Unlock()
			return
		}
		job := s.jobs[0]
		s.jobs = s.jobs[1:]
		s.waited = append(s.waited, time.Duration(clock.Ticks()-s.began))
		more := len(s.jobs) > 0
		s.mu.Unlock()
		sh := s.c.Share(w, more, 0)
		if job != nil {
			job(func() { s.c.PassOn(sh) })
		}
		var ok bool
		if w, ok = s.c.Unshare(sh); !ok {
			s.mu.Lock()
			s.lost++
			s.mu.Unlock()
			return
		}
	}
}
func (s *sharer) Stall(_ *Work, _ error, next *Next) { next.Op = Abort }
func (s *sharer) Hijacked(net.Conn)                  {}
func (s *sharer) Panicked(any)                       {}
func (s *sharer) Closed(error) {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
}

// add makes jobs arrive, and begins a new measurement of waits.
func (s *sharer) add(jobs ...func(pass func())) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.began = clock.Ticks()
	s.jobs = append(s.jobs, jobs...)
	s.waited = nil
}

// most returns how many jobs have begun, and how long one has waited at most.
func (s *sharer) most() (n int, most time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, d := range s.waited {
		most = max(most, d)
	}
	return len(s.waited), most
}

// nap is a handler that blocks, by the clock of the bubble.
func nap(d time.Duration) func(func()) { return func(func()) { time.Sleep(d) } }

// shareTest is a loop in a bubble with a connection.
type shareTest struct {
	*calmTest
	e     *Event
	sess  *sharer
	ended chan struct{}
}

func inShare(t *testing.T, maxRunning int, f func(c *shareTest)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		leaveThePast()
		c := &shareTest{sess: new(sharer), ended: make(chan struct{})}
		c.e = &Event{Loops: 1, MaxRunning: maxRunning, Panicked: func(r any) { t.Error(r) }}
		c.e.Ended = func(last Session, _ error) {
			if last == c.sess {
				close(c.ended)
			}
		}
		s := Simulate(t, []byte("m"))
		if err := c.e.Hold(); err != nil {
			t.Fatal(err)
		}
		c.calmTest = &calmTest{t: t, s: s, l: c.e.all()[0]}
		nc := s.Connect()
		if err := c.e.Adopt(nc); err != nil {
			t.Fatal(err)
		}
		c.e.Start(nc, nil, 0, c.sess)
		f(c)
		time.Sleep(10 * time.Second)
		c.e.EndNow()
		<-c.ended
		synctest.Wait()
		c.l.mu.Lock()
		if n := len(c.l.offers); n != 0 || c.l.passed != 0 || c.l.running != 0 {
			t.Errorf("%d offers are left, %d passed on, %d workers run", n, c.l.passed, c.l.running)
		}
		c.l.mu.Unlock()
		c.e.Unhold()
	})
}

// unrests makes the loop not calm.
func (c *shareTest) unrests() {
	c.l.mu.Lock()
	c.l.calm.disturb(clock.Ticks())
	c.l.mu.Unlock()
}

func (c *shareTest) feed(jobs ...func(func())) {
	c.sess.add(jobs...)
	c.s.Arrive([]int{0})
}

// wantBegun checks that n handlers have begun, each after d at most.
func (c *shareTest) wantBegun(n int, d time.Duration) {
	c.t.Helper()
	synctest.Wait()
	if got, most := c.sess.most(); got != n || most > d {
		c.t.Errorf("%d handlers have begun, the last one after %v, want %d within %v", got, most, n, d)
	}
}

// Handlers that don't block need one goroutine, and the loop stays calm.
func TestShareNeedsNoStandby(t *testing.T) {
	inShare(t, 0, func(c *shareTest) {
		for range 100 {
			c.feed(nil, nil, nil)
			time.Sleep(guardAfter / 3)
			c.wantBegun(3, 0)
		}
		c.wantCalm(true, "after short handlers")
		if n := c.workers(); n != 1 || c.sess.lost != 0 {
			t.Errorf("%d goroutines, %d calls that lost the connection", n, c.sess.lost)
		}
		c.l.mu.Lock()
		defer c.l.mu.Unlock()
		if len(c.l.offers) != 0 {
			t.Error("the connection is offered after its visit")
		}
	})
}

// In a calm loop the first handler that blocks delays the others until the guard has seen
// it. After that, each one that blocks lets the next one begin at once.
func TestShareInCalm(t *testing.T) {
	inShare(t, 0, func(c *shareTest) {
		c.feed(nap(time.Second), nap(time.Second), nap(time.Second), nil)
		time.Sleep(2*guardAfter + 1)
		c.wantBegun(4, 2*guardAfter)
		c.wantCalm(false, "with handlers that block")
		c.feed(nap(time.Second), nap(time.Second), nil)
		c.wantBegun(3, 0)
	})
}

// The guard sees a blocked handler even if other connections are visited all the time.
func TestShareInCalmBesideOthers(t *testing.T) {
	inShare(t, 0, func(c *shareTest) {
		other := new(sharer)
		nc := c.s.Connect()
		if err := c.e.Adopt(nc); err != nil {
			t.Fatal(err)
		}
		c.e.Start(nc, nil, 0, other)
		c.l.mu.Lock()
		c.l.calm.visit = clock.Tick(time.Second) // so that a second goroutine polls
		c.l.mu.Unlock()
		c.feed(nap(time.Second), nil)
		for range 100 {
			other.add(nil)
			c.s.Arrive([]int{1})
			time.Sleep(guardAfter / 10)
		}
		c.wantBegun(2, 2*guardAfter)
	})
}

// Bytes and wake-ups that arrive while a handler blocks lead to a call of the session.
func TestShareIsFed(t *testing.T) {
	for _, calm := range []bool{true, false} {
		for _, how := range []string{"arrives", "woken"} {
			inShare(t, 0, func(c *shareTest) {
				if !calm {
					c.unrests()
				}
				c.feed(nap(time.Second))
				synctest.Wait()
				c.sess.add(nil)
				if how == "woken" {
					c.sess.waker.Wake()
				} else {
					c.s.Arrive([]int{0})
				}
				time.Sleep(2*guardAfter + 1)
				if d := 2 * guardAfter; calm {
					c.wantBegun(1, d)
				} else {
					c.wantBegun(1, 0)
				}
			})
		}
	}
}

// A handler that passes the connection on delays no other, and the loop stays calm. That
// also holds if only one handler may run, and it waits for something that arrives later.
func TestSharePassOn(t *testing.T) {
	for _, maxRunning := range []int{0, 1} {
		inShare(t, maxRunning, func(c *shareTest) {
			over := make(chan struct{})
			wait := func(pass func()) { pass(); <-over }
			c.feed(wait, wait, nil, wait)
			c.wantBegun(4, 0)
			c.feed(nil)
			c.wantBegun(1, 0)
			c.wantCalm(true, "with handlers that wait for others")
			c.feed(func(func()) { close(over) })
			c.wantBegun(1, 0)
			if synctest.Wait(); c.sess.lost != 3 {
				t.Errorf("%d calls lost the connection, want those that passed it on", c.sess.lost)
			}
		})
	}
}

// A handler whose connection was taken over before it passes it on doesn't count as running
// from then on either: others get the places that MaxRunning has.
func TestSharePassOnLate(t *testing.T) {
	inShare(t, 2, func(c *shareTest) {
		c.unrests()
		over := make(chan struct{})
		wait := func(pass func()) { pass(); <-over }
		late := func(pass func()) {
			time.Sleep(time.Millisecond) // of the bubble: another worker takes the connection over
			wait(pass)
		}
		c.feed(late, wait)
		time.Sleep(2 * time.Millisecond)
		c.wantBegun(2, 0)
		for i := range 2 {
			other := new(sharer)
			nc := c.s.Connect()
			if err := c.e.Adopt(nc); err != nil {
				t.Fatal("adopting a connection:", err)
			}
			c.e.Start(nc, nil, 0, other)
			other.add(nap(time.Second))
			c.s.Arrive([]int{1 + i})
			synctest.Wait()
			if n, _ := other.most(); n != 1 {
				t.Errorf("handler %d of 2 that may run has not begun", i+1)
			}
		}
		close(over)
	})
}

// The session of a connection that is closed while handlers run is closed at once. The
// connection ends when the last handler has returned.
func TestShareEndsWithTheLast(t *testing.T) {
	inShare(t, 0, func(c *shareTest) {
		c.feed(nap(time.Second), nap(2*time.Second), nap(3*time.Second))
		time.Sleep(3 * guardAfter)
		c.e.EndNow()
		time.Sleep(3 * guardAfter)
		synctest.Wait()
		c.sess.mu.Lock()
		if !c.sess.closed {
			t.Error("the session was not closed")
		}
		c.sess.mu.Unlock()
		time.Sleep(2900 * time.Millisecond)
		synctest.Wait()
		if len(c.ended) != 0 || c.e.Len() != 1 {
			t.Error("the connection was counted out, and a handler runs")
		}
		time.Sleep(100*time.Millisecond + 3*guardAfter)
		<-c.ended
		if n := c.e.Len(); n != 0 {
			t.Errorf("%d connections are left", n)
		}
	})
}

// Two calls of the session that share the connection see the same word. A call that takes
// the connection from the other one gives it to a third worker.
func TestShareTakesFromNobodyElse(t *testing.T) {
	inShare(t, 0, func(c *shareTest) {
		ec := c.l.slots[0].c
		wk, other := newWorker(c.l), newWorker(c.l)
		if !ec.post(evIn) {
			t.Fatal("the connection has an owner")
		}
		share := func(wk *worker) {
			w := ec.work(wk)
			w.by = wk
			ec.Share(w, false, 0)
		}
		share(wk)
		if !ec.unshare() {
			t.Fatal("it isn't shared")
		}
		ec.set(isTaken)
		ec.tookOver()
		share(other)
		if ec.regain(wk) {
			t.Error("a call has a connection that was taken from it")
		}
		if !ec.unshare() { // as if the other call came after takeovers was loaded
			t.Fatal("it isn't shared")
		}
		if ec.confirm(&wk.sharer) {
			t.Error("a call has the connection that another one shares")
		}
		synctest.Wait() // a worker visits it
		if ec.regain(other) {
			t.Error("a call has a connection that was taken from it")
		}
		if n := ec.more.Load().takeovers.Load(); n != 2 {
			t.Errorf("it was taken over %d times, want 2", n)
		}
		c.l.mu.Lock()
		c.l.idles(wk)
		c.l.idles(other)
		c.l.mu.Unlock()
		ec.back()
		ec.back()
	})
}
