package toy

import (
	"context"
	"sync"
	"sync/atomic"
	"time"
)

type counter[T any] struct {
	sync.Mutex
	last atomic.Pointer[T]
	n    int
}

func (c *counter[T]) note(v *T) {
	c.Lock()
	defer c.Unlock()
	c.n++
	c.last.Store(v)
}

// Forms has an operation in each form of the syntax, and returns 10.
func Forms() int {
	var c counter[int]
	var old int64
	words, done := make(chan int, 3), make(chan struct{})
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	go func() {
		defer close(done)
		for v := range words {
			c.note(&v)
		}
	}()
	words <- 1
	words <- 2
	close(words)
	<-done
	go c.note(new(int))
Loop:
	for {
		select {
		case <-ctx.Done():
			break Loop
		default:
			if l := sync.Locker(&c); c.TryLock() {
				if c.n == 3 && atomic.CompareAndSwapInt64(&old, 0, 3) {
					cancel()
				}
				l.Unlock()
			}
		}
	}
	var wg sync.WaitGroup
	wg.Go(func() { atomic.AddInt64(&old, 4) })
	wg.Wait()
	fired := make(chan int)
	timer := time.AfterFunc(0, func() { fired <- *c.last.Load() })
	defer timer.Stop()
	return c.n + int(old) + <-fired
}
