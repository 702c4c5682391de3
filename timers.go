package gale

import (
	"time"

	"github.com/galehttp/gale/internal/clock"
	"github.com/galehttp/gale/internal/pool"
)

var timerPool pool.Pool

// AcquireTimer returns a timer from a pool that fires after timeout. Give it
// back with ReleaseTimer.
func AcquireTimer(timeout time.Duration) *time.Timer {
	if t, ok := timerPool.Get().(*time.Timer); ok {
		t.Reset(timeout)
		return t
	}
	return time.NewTimer(timeout)
}

// ReleaseTimer stops t, which came from AcquireTimer, and puts it back into the
// pool. t must not be used afterwards.
func ReleaseTimer(t *time.Timer) {
	t.Stop() // since Go 1.23 its channel is empty afterwards
	timerPool.Put(t)
}

// CoarseTimeNow returns the current time, truncated to the second.
func CoarseTimeNow() time.Time { return clock.Now() }
