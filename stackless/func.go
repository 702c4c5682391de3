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

// idleTime is how long a goroutine waits for the next call before it ends. It may take up
// to twice that long.
const idleTime = 5 * time.Second

// NewFunc returns a function that calls f with its argument on another goroutine, waits
// until f has returned, and returns true.
//
// At most runtime.GOMAXPROCS calls (its value at the first call) run at a time; others
// wait for their turn. If too many wait, 2048 for each processor, the function returns
// false at once and f isn't called. The caller can then call f directly, or refuse the
// work.
//
// Use it if f needs a large stack, doesn't block, and is called from many goroutines. f
// must not call the returned function, directly or indirectly: when all goroutines are
// busy, it would wait for itself. If f panics or calls runtime.Goexit, that continues in
// the caller.
//
// The returned function is safe for concurrent use, and a call doesn't allocate. The
// goroutines start when they are needed and end 5 to 10 seconds after the last call.
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
	done     chan struct{} // receives a value when f has returned
	panicked any           // the value of f's panic
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

// work runs calls until none has come for idleTime.
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

// leave ends a goroutine. A caller that still counted on it may have queued a call in the
// meantime; then leave starts another goroutine.
func (w *workers) leave() {
	w.running.Add(-1)
	if len(w.queue) > 0 {
		w.start()
	}
}

// run runs one call and wakes its caller.
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
