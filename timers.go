package gale

import (
	"time"

	"github.com/galehttp/gale/internal/clock"
	"github.com/galehttp/gale/internal/pool"
)

var timerPool pool.Pool

// AcquireTimer returns a timer from a pool. It fires after timeout. Put it back with
// ReleaseTimer.
func AcquireTimer(timeout time.Duration) *time.Timer {
	if t, ok := timerPool.Get().(*time.Timer); ok {
		t.Reset(timeout)
		return t
	}
	return time.NewTimer(timeout)
}

// ReleaseTimer stops t, which came from AcquireTimer, and puts it back into the pool.
// Don't use t afterwards.
func ReleaseTimer(t *time.Timer) {
	t.Stop() // its channel holds nothing afterwards, as of Go 1.23
	timerPool.Put(t)
}

// CoarseTimeNow returns the current time, truncated to the second.
func CoarseTimeNow() time.Time { return clock.Now() }
