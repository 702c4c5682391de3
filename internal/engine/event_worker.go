package engine

import "github.com/galehttp/gale/internal/clock"

// worker is a goroutine of a loop with its state. Its fields belong to that goroutine,
// except call, busy and since, which are under loop.mu, and old, which retireSome sets
// before it sends to call. Functions that end a connection outside of a visit make a
// worker without a goroutine.
type worker struct {
	l     *loop
	call  chan bool  // ends a rest: true to work, false to end; one value for each rest
	c     *eventConn // the one it visits; nil once that has ended or was given away
	busy  bool       // it is counted in loop.running; under loop.mu
	old   bool       // retireSome has ended its rest, and counts it no more
	w     *Work      // its workspace, unless a connection has it
	next  Next
	bytes int // read in this visit
	feeds int // calls of the session in this visit
	since clock.Tick

	sharer Sharer     // of the call of the session that runs; see event_share.go
	began  clock.Tick // when the visit or its last handler began; 0 if the loop was calm then
	shared *eventConn // the connection of the visit, if it was shared
	passed bool       // PassOn was called in this visit: it doesn't count as running
}

// newWorker returns a worker of l. The caller has counted it in l.workers. The caller
// holds loop.mu, or no other goroutine knows l.
func newWorker(l *loop) *worker {
	wk := &worker{l: l, call: make(chan bool, 1)}
	wk.sharer.wk = wk
	return wk
}

// take returns the worker's workspace, or another one if a connection has it. The caller
// owns it until give.
func (wk *worker) take() *Work {
	w := wk.w
	if w == nil {
		w = getWork()
	}
	wk.w, w.by = nil, wk
	return w
}

// give takes a workspace back, even that of another worker. Slices of it aren't valid
// after that.
func (wk *worker) give(w *Work) {
	if wk.w != nil {
		putWork(w)
		return
	}
	w.reset()
	wk.w = w
}

// run serves connections until the worker is not needed any more. It is the worker's
// goroutine. A panic of user code ends the goroutine; ended then starts another one if
// none is left.
func (wk *worker) run() {
	defer wk.ended()
	wk.l.begin()
	for {
		t := wk.l.nextTurn(wk)
		if t.none() {
			return
		}
		if wk.l.calm.is.Load() {
			wk.began = 0
			wk.visit(t)
		} else {
			wk.began = clock.Ticks()
			wk.visit(t)
			wk.l.took(clock.Ticks(), wk.began)
		}
	}
}

// visit makes the visit of a turn.
func (wk *worker) visit(t turn) {
	if t.a != nil {
		t.a.visit()
		return
	}
	wk.c, wk.next.Reset = t.c, false // see ended
	t.c.visit(t.ev, wk)
	wk.c = nil
}

// ended cleans up after a goroutine. If user code ended it in the middle of a visit, by a
// panic or by runtime.Goexit, the connection wk.c ends too. The worker owned it, unless
// it had shared it and another worker has it now. That worker ends the connection after a
// panic, and goes on with it after runtime.Goexit. If the visit was to a listener, the
// visit has put it into turns, and another worker goes on. A worker that retires has
// rested and takes nothing from the loop, so it calls no standby: in a calm loop, only
// the guard decides when a visit takes long.
func (wk *worker) ended() {
	l, c := wk.l, wk.c
	if wk.old {
		if wk.w != nil {
			putWork(wk.w)
		}
		return
	}
	r := recover()
	if r != nil {
		l.e.Panicked(r)
	}
	l.mu.Lock()
	l.workers--
	l.idles(wk)
	other := l.standby()                     // all other workers may be resting
	missed := l.polling && l.turns.len() > 0 // running was at its bound, or a listener's visit ended
	last := l.ending && l.workers == 0
	l.mu.Unlock()
	if last {
		defer l.sys.shut()
	}
	if missed {
		l.sys.wake()
	}
	other.start()
	if c == nil {
		if wk.w != nil {
			putWork(wk.w)
		}
		return
	}
	defer func() {
		if r := recover(); r != nil {
			l.e.Panicked(r)
		}
	}()
	if wk.sharer.state != keeps && !c.regain(wk) {
		wk.sharer.state = keeps
		if r != nil {
			c.kill()
		}
		c.back()
		return
	}
	c.wants.reset = wk.next.Reset
	c.end(ErrGoexit, &worker{l: l})
}

// start lets the worker that standby has chosen run. wk may be nil. It is called without
// loop.mu. since is 0 only if the worker has never rested: then it has no goroutine yet.
func (wk *worker) start() {
	switch {
	case wk == nil:
	case wk.since == 0:
		go wk.run()
	default:
		wk.call <- true
	}
}
