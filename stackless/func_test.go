package stackless

import (
	"runtime"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/galehttp/gale/tests/harness/await"
)

// All calls run, each with its argument, and return when they have run.
func TestFuncRuns(t *testing.T) {
	type job struct{ in, out int }
	double := NewFunc(func(ctx any) {
		j := ctx.(*job)
		j.out = 2 * j.in
	})
	var wg sync.WaitGroup
	for g := range 16 {
		wg.Go(func() {
			for i := range 500 {
				j := job{in: g*1000 + i}
				if !double(&j) {
					t.Error("refused, though few calls wait")
					return
				}
				if j.out != 2*j.in {
					t.Errorf("got %d for %d", j.out, j.in)
					return
				}
			}
		})
	}
	wg.Wait()
}

// No more calls run at a time than there are processors; beyond the queue, calls
// are refused at once and not run.
func TestFuncRefuses(t *testing.T) {
	release := make(chan struct{})
	var running, most, ran atomic.Int32
	f := NewFunc(func(any) {
		n := running.Add(1)
		for m := most.Load(); n > m && !most.CompareAndSwap(m, n); m = most.Load() {
		}
		<-release
		running.Add(-1)
		ran.Add(1)
	})
	procs := runtime.GOMAXPROCS(0)
	room := procs + procs*queuePerWorker
	var wg sync.WaitGroup
	var accepted, refused atomic.Int32
	for range room + 100 {
		wg.Go(func() {
			if f(nil) {
				accepted.Add(1)
			} else {
				refused.Add(1)
			}
		})
	}
	await.Until(t, "100 calls to be refused", func() bool { return refused.Load() >= 100 })
	close(release)
	wg.Wait()
	if int(most.Load()) > procs {
		t.Errorf("%d calls ran at a time, want at most %d", most.Load(), procs)
	}
	if ran.Load() != accepted.Load() {
		t.Errorf("%d calls ran, %d returned true", ran.Load(), accepted.Load())
	}
	if n := accepted.Load(); int(n) < procs*queuePerWorker || int(n) > room {
		t.Errorf("%d calls were accepted, want about %d", n, room)
	}
}

// A panic goes on in the caller with the same value, and the goroutine that ran
// the call goes on with the next one.
func TestFuncPanics(t *testing.T) {
	f := NewFunc(func(ctx any) {
		if ctx != nil {
			panic(ctx)
		}
	})
	for range 100 {
		func() {
			defer func() {
				if r := recover(); r != "why" {
					t.Errorf("recovered %v", r)
				}
			}()
			f("why")
			t.Error("the call returned")
		}()
		if !f(nil) {
			t.Error("refused after a panic")
		}
	}
}

// runtime.Goexit ends the goroutine of the caller, and calls go on running.
func TestFuncGoexit(t *testing.T) {
	f := NewFunc(func(ctx any) {
		if ctx != nil {
			runtime.Goexit()
		}
	})
	for range 20 {
		done := make(chan bool)
		go func() {
			exited := true
			defer func() { done <- exited }()
			f(1)
			exited = false
		}()
		if !<-done {
			t.Error("the caller went on")
		}
		if !f(nil) {
			t.Error("refused afterwards")
		}
	}
}
