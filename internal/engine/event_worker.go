package engine

import "github.com/galehttp/gale/internal/clock"

// worker is a goroutine of a loop and what it works with. Its fields belong to that
// goroutine, except call, and busy and since, which are under loop.mu. Functions that end
// a connection outside of a visit make a worker of their own, without a goroutine.
type worker struct {
	l     *loop
	call  chan bool  // ends a rest: true to work, false to end; one value a rest
	c     *eventConn // that it visits; nil once that has ended or was given away
	busy  bool       // it counts as running; under loop.mu
	w     *Work      // its workspace, while no connection has it
	next  Next
	bytes int // read in this visit
	feeds int // calls of the session in this visit
	since clock.Tick

	sharer Sharer     // of the call of a session that runs; see event_share.go
	began  clock.Tick // the visit, or the last handler; 0 if the loop was calm then
	shared *eventConn // of the visit, if it was shared
	passed bool       // PassOn was called in this visit: it doesn't count as running
}

// newWorker returns a worker of l, which counts it. The caller holds loop.mu, or is alone.
func newWorker(l *loop) *worker {
	wk := &worker{l: l, call: make(chan bool, 1)}
	wk.sharer.wk = wk
	return wk
}

// take returns the workspace, or another one if a connection has it. The caller owns it
// until give.
func (wk *worker) take() *Work {
	w := wk.w
	if w == nil {
		w = getWork()
	}
	wk.w, w.by = nil, wk
	return w
}

// give takes a workspace back, one of another worker too. Slices of it aren't valid after
// that.
func (wk *worker) give(w *Work) {
	if wk.w != nil {
		putWork(w)
		return
	}
	w.reset()
	wk.w = w
}

// run serves connections until it is not needed any more. It is the worker's goroutine.
// A panic of user code ends that; ended then starts another one if none is left.
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
	wk.c = t.c
	t.c.visit(t.ev, wk)
	wk.c = nil
}

// ended cleans up after a goroutine. If user code ended it in the middle of a visit, by a
// panic or by runtime.Goexit, the connection ends too: wk.c says which it is. The worker
// owned it, unless it shared it and another one has it now: that one ends it after a panic,
// and goes on after runtime.Goexit. A listener was put into turns by its visit, and another
// worker goes on.
func (wk *worker) ended() {
	l, c := wk.l, wk.c
	r := recover()
	if r != nil {
		l.e.Panicked(r)
	}
	l.mu.Lock()
	l.workers--
	l.idles(wk)
	other := l.standby()                     // all the others may be resting
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
	c.end(ErrGoexit, &worker{l: l})
}

// start lets the worker run that standby chose; nil means none. It is called without
// loop.mu. since is 0 only before a worker has rested: then it has no goroutine yet.
func (wk *worker) start() {
	switch {
	case wk == nil:
	case wk.since == 0:
		go wk.run()
	default:
		wk.call <- true
	}
}
