package stackless

import (
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/galehttp/gale/internal/pool"
)

// queuePerWorker is how many calls may wait for each goroutine that runs them.
const queuePerWorker = 2048

// idleTime is how long a goroutine waits for the next call before it ends; up
// to twice that.
const idleTime = 5 * time.Second

// NewFunc returns a function that runs f on another goroutine, waits for it and
// returns true. f gets the argument of the call.
//
// At most as many calls run at a time as there are processors for Go code
// (runtime.GOMAXPROCS when the first call is made); the next ones wait for their
// turn. Where too many wait, 2048 for each processor, the function returns false
// at once and f isn't called: run it directly then, or refuse the work.
//
// It pays if f needs much stack, doesn't block, and is called from many
// goroutines. f must not call the function it was made into, directly or
// indirectly: with all turns taken it would wait for itself. A panic in f, as
// well as runtime.Goexit, continues in the caller.
//
// The function is safe for concurrent use, and a call doesn't allocate. The
// goroutines start when they are needed and end some seconds after the last call.
func NewFunc(f func(ctx any)) func(ctx any) bool {
	return (&workers{f: f}).do
}

// workers are the goroutines that run one function.
type workers struct {
	f       func(ctx any)
	once    sync.Once
	queue   chan *call
	limit   int32
	running atomic.Int32
}

// call is one call that waits or runs.
type call struct {
	ctx      any
	done     chan struct{} // gets a value when f has returned
	panicked any           // what f panicked with
	exited   bool          // f ended its goroutine
}

var calls = pool.Pool{New: func() any { return &call{done: make(chan struct{}, 1)} }}

func (w *workers) init() {
	n := runtime.GOMAXPROCS(0)
	w.limit = int32(n)
	w.queue = make(chan *call, n*queuePerWorker)
}

// do is the function that NewFunc returns.
func (w *workers) do(ctx any) bool {
	w.once.Do(w.init)
	c := calls.Get().(*call)
	c.ctx = ctx
	select {
	case w.queue <- c:
	default:
		c.free()
		return false
	}
	w.start()
	<-c.done
	panicked, exited := c.panicked, c.exited
	c.free()
	if exited {
		runtime.Goexit()
	}
	if panicked != nil {
		panic(panicked)
	}
	return true
}

func (c *call) free() {
	c.ctx, c.panicked, c.exited = nil, nil, false
	calls.Put(c)
}

// start starts a goroutine if there may be more of them.
func (w *workers) start() {
	for {
		n := w.running.Load()
		if n >= w.limit {
			return
		}
		if w.running.CompareAndSwap(n, n+1) {
			go w.work()
			return
		}
	}
}

// work runs calls until there were none for a while.
func (w *workers) work() {
	defer w.leave()
	idle := time.NewTimer(idleTime)
	defer idle.Stop()
	for busy := true; ; {
		select {
		case c := <-w.queue:
			w.run(c)
			busy = true
		case <-idle.C:
			if !busy {
				return
			}
			busy = false
			idle.Reset(idleTime)
		}
	}
}

// leave ends a goroutine. A call may have been queued by a goroutine that still
// counted on it.
func (w *workers) leave() {
	w.running.Add(-1)
	if len(w.queue) > 0 {
		w.start()
	}
}

// run runs one call and tells its caller.
func (w *workers) run(c *call) {
	returned := false
	defer func() {
		if !returned {
			c.panicked = recover()
			c.exited = c.panicked == nil
		}
		c.done <- struct{}{}
	}()
	w.f(c.ctx)
	returned = true
}
