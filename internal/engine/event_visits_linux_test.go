package engine

import (
	"fmt"
	"net"
	"runtime"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/galehttp/gale/tests/harness/await"
	"github.com/galehttp/gale/tests/harness/gate"
)

// hall is a simulated system whose listeners get connections when a test says so. Each
// arrival has one edge only.
type hall struct {
	*Simulation

	hallMu sync.Mutex // guards doors, and the fields of each door that say so
	doors  map[uintptr]*door
}

// door is a call of Serve for a listener of a hall. Only the loop accepts its
// connections: Accept of the listener blocks. handle only counts them.
type door struct {
	t    *testing.T
	e    *Event
	hall *hall
	ln   asideListener
	a    *acceptor

	in      atomic.Int32 // calls of handle that run
	handled atomic.Int64
	handle  func() // if set, part of handle
	served  chan error

	// Under hallMu:
	waits int
	errs  []syscall.Errno // the errors that accept returns first
	empty func()          // if set, called once, when accept finds nothing; without locks
}

// asideListener is a listener from which only the loop accepts.
type asideListener struct {
	*net.TCPListener
	closed chan struct{}
}

func (l asideListener) Accept() (net.Conn, error) { <-l.closed; return nil, net.ErrClosed }
func (l asideListener) Close() error              { close(l.closed); return l.TCPListener.Close() }

func newHall(t *testing.T) *hall {
	h := &hall{Simulation: Simulate(t, nil), doors: make(map[uintptr]*door)}
	setSystem(t, func(*Event) (system, error) { return h, nil })
	return h
}

func (h *hall) accept(fd uintptr) (accepted, syscall.Errno) {
	h.hallMu.Lock()
	d := h.doors[fd]
	if len(d.errs) > 0 {
		errno := d.errs[0]
		d.errs = d.errs[1:]
		h.hallMu.Unlock()
		return accepted{fd: -1}, errno
	}
	if d.waits > 0 {
		d.waits--
		h.hallMu.Unlock()
		return accepted{fd: 1}, 0
	}
	empty := d.empty
	d.empty = nil
	h.hallMu.Unlock()
	if empty != nil {
		empty()
	}
	return accepted{fd: -1}, syscall.EAGAIN
}

// open lets e serve a listener of the hall.
func (h *hall) open(t *testing.T, e *Event, handle func()) *door {
	t.Helper()
	d := &door{t: t, e: e, hall: h, handle: handle, served: make(chan error, 1)}
	d.ln = asideListener{listen(t).(*net.TCPListener), make(chan struct{})}
	raw, err := d.ln.SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	h.hallMu.Lock()
	_ = raw.Control(func(fd uintptr) { h.doors[fd] = d })
	h.hallMu.Unlock()
	go func() { d.served <- e.Serve(d.ln, time.Minute, nil, d.handleConn, func(error) {}) }()
	await.Until(t, "Serve to begin", func() bool {
		e.acceptors.Range(func(k, _ any) bool {
			if k.(*acceptor).ln == net.Listener(d.ln) {
				d.a = k.(*acceptor)
			}
			return d.a == nil
		})
		return d.a != nil
	})
	return d
}

func (d *door) handleConn(net.Conn) {
	if n := d.in.Add(1); n != 1 {
		d.t.Errorf("%d workers visit a listener", n)
	}
	defer d.in.Add(-1)
	d.handled.Add(1)
	if d.handle != nil {
		d.handle()
	}
}

// arrive makes n connections wait, and reports them with one edge.
func (d *door) arrive(n int) {
	d.hall.hallMu.Lock()
	d.waits += n
	d.hall.hallMu.Unlock()
	d.hall.mu.Lock()
	d.hall.queue = append(d.hall.queue, ready{slot: listenerSlot, gen: d.a.number, ev: evIn})
	d.hall.mu.Unlock()
	d.hall.cond.Signal()
}

// awaits waits until n connections were handled.
func (d *door) awaits(n int64) {
	d.t.Helper()
	await.Until(d.t, fmt.Sprintf("%d connections", n), func() bool { return d.handled.Load() == n })
}

// is waits until the listener has the state s.
func (d *door) is(s acceptorState) {
	d.t.Helper()
	await.Until(d.t, fmt.Sprint("the state ", s), func() bool {
		d.a.l.mu.Lock()
		defer d.a.l.mu.Unlock()
		return d.a.state == s
	})
}

// ends closes the listener and waits for Serve.
func (d *door) ends() {
	d.t.Helper()
	d.ln.Close()
	await.Until(d.t, "Serve to return", func() bool {
		d.e.LookAtListeners()
		return len(d.served) == 1
	})
}

// One edge stands for all connections that wait: a listener is visited again until accept
// finds none.
func TestEventAcceptsAllOfAnEdge(t *testing.T) {
	for _, n := range []int{1, acceptBatch - 1, acceptBatch, acceptBatch + 1, 5*acceptBatch + 3} {
		d := newHall(t).open(t, newAcceptEvent(t), nil)
		d.arrive(n)
		d.awaits(int64(n))
		d.is(unvisited)
		d.ends()
	}
}

// A connection that arrives just after accept has found none is not forgotten, although
// its edge comes while the listener is visited.
func TestEventAcceptsWhatArrivesDuringAVisit(t *testing.T) {
	d := newHall(t).open(t, newAcceptEvent(t), nil)
	d.hall.hallMu.Lock()
	d.empty = func() {
		d.arrive(1)
		d.is(knocked)
	}
	d.hall.hallMu.Unlock()
	d.arrive(1)
	d.awaits(2)
	d.is(unvisited)
	d.ends()
}

// After an error a listener is visited again, without another edge.
func TestEventAcceptsAfterErrors(t *testing.T) {
	for name, errs := range map[string][]syscall.Errno{
		"aborted": {syscall.ECONNABORTED, syscall.ECONNABORTED},
		"full":    {syscall.EMFILE, syscall.ENFILE},
		"unknown": {syscall.EINVAL},
	} {
		t.Run(name, func(t *testing.T) {
			d := newHall(t).open(t, newAcceptEvent(t), nil)
			d.hall.hallMu.Lock()
			d.errs = errs
			d.hall.hallMu.Unlock()
			d.arrive(3)
			d.awaits(3)
			d.ends()
		})
	}
}

// More aborted connections than one visit accepts don't keep a worker busy forever: the
// connections after them are accepted, and Serve ends.
func TestEventAcceptsAfterManyAborted(t *testing.T) {
	d := newHall(t).open(t, newAcceptEvent(t), nil)
	d.hall.hallMu.Lock()
	for range 3 * acceptBatch {
		d.errs = append(d.errs, syscall.ECONNABORTED)
	}
	d.hall.hallMu.Unlock()
	d.arrive(1)
	d.awaits(1)
	d.ends()
}

// If a hook of the program ends the goroutine that accepts, another goroutine accepts the
// connections that wait.
func TestEventAcceptsAfterPanic(t *testing.T) {
	for name, end := range map[string]func(){"panic": func() { panic("hook") }, "Goexit": runtime.Goexit} {
		for i := range 4 {
			t.Run(name, func(t *testing.T) {
				maxRunning, polled := i/2, i%2 != 0
				e := newAcceptEvent(t)
				e.MaxRunning = maxRunning
				var panics atomic.Int32
				e.Panicked = func(any) { panics.Add(1) }
				n := 0
				d := newHall(t).open(t, e, func() {
					if n++; n > 3 {
						return
					}
					l := e.all()[0]
					for waits := polled; waits; { // until another goroutine polls
						l.mu.Lock()
						waits = !l.polling
						l.mu.Unlock()
						runtime.Gosched()
					}
					end()
				})
				d.arrive(10)
				d.awaits(10)
				d.ends()
				if got := panics.Load(); name == "panic" && got != 3 {
					t.Errorf("told of %d panics, want 3", got)
				}
			})
		}
	}
}

// Serve doesn't return while a visit runs.
func TestEventServeWaitsForVisit(t *testing.T) {
	for _, knocks := range []bool{false, true} {
		in, out := make(chan struct{}), make(chan struct{})
		d := newHall(t).open(t, newAcceptEvent(t), func() { in <- struct{}{}; <-out })
		d.arrive(2)
		<-in
		if knocks {
			d.arrive(1)
			d.is(knocked)
		}
		d.ln.Close()
		d.e.LookAtListeners()
		d.is(left)
		select {
		case <-d.served:
			t.Fatal("Serve returned while a connection was handled")
		case <-time.After(20 * time.Millisecond): // a wrong Serve would have returned by now
		}
		close(out)
		<-d.served
		if n := d.handled.Load(); n != 1 || d.in.Load() != 0 {
			t.Errorf("%d connections were handled, want the first alone: the listener was closed", n)
		}
		d.is(left)
	}
}

// Serve returns at once even if its listener waits for its turn because all workers are
// busy.
func TestEventServeEndsWhileWorkersAreBusy(t *testing.T) {
	e := newAcceptEvent(t)
	e.MaxRunning = 1
	in, out := make(chan struct{}), make(chan struct{})
	h := newHall(t)
	busy := h.open(t, e, func() { in <- struct{}{}; <-out })
	d := h.open(t, e, nil)
	busy.arrive(1)
	<-in
	d.arrive(1)
	d.is(queued)
	d.ends()
	close(out)
	busy.awaits(1)
	busy.is(unvisited)
	busy.ends()
	if n := d.handled.Load(); n != 0 {
		t.Errorf("%d connections of a listener that was closed were handled", n)
	}
	d.is(left) // it was not visited
}

// Several listeners that always have more take turns.
func TestEventListenersTakeTurns(t *testing.T) {
	const visits = 20
	e := newAcceptEvent(t)
	e.MaxRunning = 1
	h := newHall(t)
	var mu sync.Mutex
	var order []*door
	var doors []*door
	ready := make(chan struct{})
	for i := range 3 {
		d := h.open(t, e, nil)
		doors = append(doors, d)
		d.handle = func() {
			<-ready
			mu.Lock()
			order = append(order, doors[i])
			mu.Unlock()
		}
	}
	for _, d := range doors {
		d.arrive(visits * acceptBatch)
	}
	doors[1].is(queued)
	doors[2].is(queued)
	close(ready)
	for _, d := range doors {
		d.awaits(visits * acceptBatch)
		d.is(unvisited)
	}
	for i, d := range order {
		if want := order[i%(3*acceptBatch)]; d != want {
			t.Fatalf("connection %d is not of the listener whose turn it is", i)
		}
	}
	for _, d := range doors {
		d.ends()
	}
}

// While connections arrive, fail and wait at the same time, no edge is lost, and no two
// workers visit a listener at once. Nothing is handled after Serve has returned.
func TestEventAcceptRace(t *testing.T) {
	const each, arrivals = 3, 300
	for _, maxRunning := range []int{0, 1, 2} {
		h := newHall(t)
		e := newAcceptEvent(t)
		e.MaxRunning, e.Loops = maxRunning, 1
		var doors []*door
		for range 3 {
			d := h.open(t, e, func() { runtime.Gosched() })
			doors = append(doors, d)
		}
		var posters sync.WaitGroup
		var sent [3]atomic.Int64
		for i, d := range doors {
			for range each {
				posters.Go(func() {
					for k := range arrivals {
						switch n := gate.Rand.IntN(40); {
						case n == 0:
							h.hallMu.Lock()
							d.errs = append(d.errs, syscall.ECONNABORTED)
							h.hallMu.Unlock()
						case k == arrivals/2: // once, since each later pause would be longer
							h.hallMu.Lock()
							d.errs = append(d.errs, syscall.EMFILE)
							h.hallMu.Unlock()
						case n < 10:
							runtime.Gosched()
						default:
							sent[i].Add(int64(n))
							d.arrive(n)
						}
					}
				})
			}
		}
		posters.Wait()
		for i, d := range doors {
			d.arrive(0) // an error may have come after the last edge
			d.awaits(sent[i].Load())
		}
		for _, d := range doors { // connections go on arriving
			over := make(chan struct{})
			posters.Go(func() {
				for {
					select {
					case <-over:
						return
					default:
						d.arrive(1)
						runtime.Gosched()
					}
				}
			})
			d.ends()
			n := d.handled.Load()
			if d.in.Load() != 0 {
				t.Error("a connection is handled, and Serve has returned")
			}
			for range 100 {
				runtime.Gosched()
			}
			if now := d.handled.Load(); now != n {
				t.Errorf("%d connections were handled after Serve had returned", now-n)
			}
			close(over)
		}
		posters.Wait()
		await.Gone(t, "loops", func() bool { return e.all() == nil })
	}
}
