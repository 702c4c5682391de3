package message

import (
	"testing"
	"time"

	"github.com/galehttp/gale"
)

// TestTimerForgets proves that a timer from a pool fires only after its new timeout, even
// if no one received its last value.
func TestTimerForgets(t *testing.T) {
	for range 100 {
		gale.ReleaseTimer(gale.AcquireTimer(0))
		timer := gale.AcquireTimer(time.Hour)
		select {
		case <-timer.C:
			t.Fatal("a timer of an hour fires at once")
		default:
		}
		gale.ReleaseTimer(timer)
	}
}
