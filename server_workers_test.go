package gale

import (
	"testing"
	"time"
)

// After a burst of connections that are all parked, only a few goroutines wait for more
// connections. Goroutines whose connections have ended all wait.
func TestWorkersAfterBurst(t *testing.T) {
	s := &Server{MaxIdleWorkerDuration: time.Hour}
	var ws workers
	rest := func(parked bool) bool {
		return ws.rest(s, &worker{jobs: make(chan job, 1)}, parked)
	}
	for i := range enoughIdle {
		if !rest(true) {
			t.Fatalf("worker %d of a connection that was parked did not wait", i)
		}
	}
	if rest(true) {
		t.Errorf("worker %d of a connection that was parked waits", enoughIdle)
	}
	if !rest(false) {
		t.Error("the worker of a connection that has ended did not wait")
	}
	ws.open(false)
	if n := len(ws.idle); n != 0 {
		t.Errorf("%d workers wait when no connection will come", n)
	}
	if rest(true) || rest(false) {
		t.Error("a worker waits when no connection will come")
	}
}
