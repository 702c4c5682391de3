package gale

import (
	"net"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"github.com/galehttp/gale/internal/clock"
	"github.com/galehttp/gale/internal/engine"
)

// workers are goroutines that serve accepted connections. When its connection has ended,
// a worker waits a while for another one: its stack already has the size that handlers
// need, and growing a new stack costs more than serving a small request. If connections
// are parked, only enoughIdle workers wait.
type workers struct {
	mu     sync.Mutex
	closed bool      // no jobs will come, because no listener is served
	idle   []*worker // the last to become idle is the first to get work
	timer  *time.Timer

	waiting atomic.Int32 // jobs that no worker has begun
}

// worker is a goroutine of workers.
type worker struct {
	jobs  chan job
	since clock.Tick // about when it became idle
}

// job is the work of a worker: to serve a connection of a listener that was admitted, or
// to continue with one that was parked or is shared.
type job struct {
	l      *listening
	nc     net.Conn
	ip     netip.Addr
	parked engine.Parked

	entered, returned bool // the engine, see serveJob
	staysCounted      bool // see serverSession.staysCounted
}

// workerIdle is how long a worker waits if Server.MaxIdleWorkerDuration is 0.
const workerIdle = 10 * time.Second

// do gives j to a worker. It returns the number of jobs that no worker has begun.
func (ws *workers) do(s *Server, j job) (waiting int32) {
	waiting = ws.waiting.Add(1)
	ws.mu.Lock()
	n := len(ws.idle)
	if n == 0 {
		ws.mu.Unlock()
		w := &worker{jobs: make(chan job, 1)}
		w.jobs <- j
		go ws.run(s, w)
		return waiting
	}
	w := ws.idle[n-1]
	ws.idle[n-1] = nil
	ws.idle = ws.idle[:n-1]
	ws.mu.Unlock()
	w.jobs <- j
	return waiting
}

func (ws *workers) run(s *Server, w *worker) {
	for j := range w.jobs {
		ws.waiting.Add(-1)
		parked := s.serveJob(j)
		if !ws.rest(s, w, parked) {
			return
		}
	}
}

// serveJob serves a connection until it ends or is parked, and reports whether it was
// parked. The connection is dismissed even if a handler ends the goroutine.
//
// When the engine has the connection, the engine reports its end: one goroutine returns
// an error other than ErrParked, or unwound is called.
func (s *Server) serveJob(j job) (parked bool) {
	defer func() {
		if !parked && !j.staysCounted && (!j.entered || j.returned) {
			s.dismiss(j.ip)
		}
	}()
	if j.parked == nil {
		parked = s.serveConn(&j) == engine.ErrParked
	} else {
		parked = s.resumeConn(&j) == engine.ErrParked
	}
	return parked
}

// unwound dismisses a connection whose goroutine was ended by runtime.Goexit. Its session
// isn't used again.
func (s *Server) unwound(last engine.Session) { s.dismissLast(last.(serverSession)) }

// dismissLast is dismiss for the last session of a connection that has ended.
func (s *Server) dismissLast(ss serverSession) {
	if !ss.staysCounted() {
		s.dismiss(ss.conn().addr())
	}
}

// resumeConn continues with a connection that was parked or is shared.
func (s *Server) resumeConn(j *job) (err error) {
	sc := j.parked.Session().(serverSession).conn()
	j.ip = sc.addr()
	passed := true
	defer s.shield(sc.nc, &err, &passed)
	j.entered = true
	last, err := j.parked.Resume()
	j.returned = true
	return j.doneWith(last, err)
}

// doneWith frees the last session of a connection of Block, unless the connection is
// parked, and returns the error that ended the connection.
func (j *job) doneWith(last engine.Session, err error) error {
	if err == engine.ErrParked {
		return err
	}
	ss := last.(serverSession)
	if cause := ss.conn().cause(); cause != nil {
		err = cause
	}
	j.staysCounted = ss.staysCounted()
	ss.free()
	return err
}

// enoughIdle is how many idle workers are enough for connections that continue after they
// were parked. Without this limit, each connection of a burst would leave an idle worker,
// with a stack of twice the size of the one on which the parked connection waits.
const enoughIdle = 256

// rest adds w to the idle workers. It returns false if w must end. parked says that the
// connection that w served was parked.
func (ws *workers) rest(s *Server, w *worker, parked bool) bool {
	d := s.MaxIdleWorkerDuration
	if d <= 0 {
		d = workerIdle
	}
	w.since = clock.Coarse()
	ws.mu.Lock()
	defer ws.mu.Unlock()
	if ws.closed || parked && len(ws.idle) >= enoughIdle {
		return false
	}
	ws.idle = append(ws.idle, w)
	if ws.timer == nil {
		ws.timer = time.AfterFunc(d, func() { ws.retire(d) })
	}
	return true
}

// open says whether workers may wait for connections. If not, those that wait end. It is
// called under run.mu.
func (ws *workers) open(open bool) {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	if ws.closed = !open; open {
		return
	}
	for _, w := range ws.idle {
		close(w.jobs)
	}
	clear(ws.idle)
	ws.idle = ws.idle[:0]
	if ws.timer != nil {
		ws.timer.Stop()
		ws.timer = nil
	}
}

// retire ends the workers that have been idle for d. If others are left, it schedules
// itself again.
func (ws *workers) retire(d time.Duration) {
	old := clock.Ticks() - clock.Tick(d)
	ws.mu.Lock()
	defer ws.mu.Unlock()
	n := 0
	for n < len(ws.idle) && ws.idle[n].since <= old {
		close(ws.idle[n].jobs)
		n++
	}
	ws.idle = append(ws.idle[:0], ws.idle[n:]...)
	clear(ws.idle[len(ws.idle):cap(ws.idle)])
	if ws.timer != nil {
		ws.timer.Stop()
		ws.timer = nil
	}
	if len(ws.idle) > 0 && d > 0 {
		ws.timer = time.AfterFunc(d/2+1, func() { ws.retire(d) })
	}
}
