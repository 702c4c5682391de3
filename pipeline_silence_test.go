package gale

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// A caller that gives up never takes the response of another caller, and no other caller
// gets its response. Its request and response belong to it again at once.
func TestPipelineGivingUp(t *testing.T) {
	before := runtime.NumGoroutine()
	t.Run("", func(t *testing.T) {
		c := pipeServer(t, func(_ int, nc net.Conn, br *bufio.Reader) {
			for {
				method, path, body := pipeRequest(br)
				if method == "" {
					return
				}
				if rand.IntN(50) == 0 {
					time.Sleep(3 * time.Millisecond)
				}
				pipeAnswer(nc, "", method+" "+path+" "+body)
			}
		})
		c.MaxConns = 2
		var served, gone atomic.Int32
		var wg sync.WaitGroup
		for i := range 16 {
			wg.Go(func() {
				req, resp := &Request{}, &Response{}
				for n := range 100 {
					path := fmt.Sprintf("/%d/%d", i, n)
					req.SetRequestURI("http://example.org" + path)
					resp.ResetBody() // a call whose timeout has passed returns at once
					var err error
					if n%2 == 0 {
						err = c.DoTimeout(req, resp, time.Duration(rand.IntN(3000)+1)*time.Microsecond)
					} else {
						ctx, cancel := context.WithCancel(t.Context())
						timer := time.AfterFunc(time.Duration(rand.IntN(3000))*time.Microsecond, cancel)
						err = c.DoContext(ctx, req, resp)
						timer.Stop()
						cancel()
					}
					req.SetRequestURI("http://example.org/poison") // the request belongs to the test again
					switch {
					case err == nil:
						served.Add(1)
						if got, want := string(resp.Body()), "GET "+path+" "; got != want {
							t.Errorf("got %q, want %q", got, want)
						}
					case err == ErrTimeout || err == context.Canceled:
						gone.Add(1)
						if len(resp.Body()) > 0 {
							t.Errorf("got %q with an error", resp.Body())
						}
						resp.SetBodyString("poison")
					default:
						t.Errorf("%s: %v", path, err)
					}
				}
			})
		}
		wg.Wait()
		if served.Load() == 0 || gone.Load() == 0 {
			t.Logf("%d were served and %d gave up: that proves little", served.Load(), gone.Load())
		}
		wantPipe(t, pipeDo(c, "GET", "/still", ""), "GET /still ")
	})
	wantGoroutines(t, before)
}

// With a silent server a call ends at its timeout, the connection is closed, and the
// goroutines end.
func TestPipelineSilence(t *testing.T) {
	before := runtime.NumGoroutine()
	t.Run("", func(t *testing.T) {
		var silent atomic.Bool
		silent.Store(true)
		c := pipeServer(t, func(n int, nc net.Conn, br *bufio.Reader) {
			for {
				method, path, body := pipeRequest(br)
				if method == "" {
					return
				}
				if !silent.Load() {
					pipeAnswer(nc, "", method+" "+path+" "+body)
				}
			}
		})
		for range 50 {
			if err := c.DoTimeout(pipeReq("GET"), nil, time.Millisecond); err != ErrTimeout {
				t.Errorf("got %v, want ErrTimeout", err)
			}
			ctx, cancel := context.WithCancel(t.Context())
			time.AfterFunc(time.Millisecond, cancel)
			if err := c.DoContext(ctx, pipeReq("GET"), nil); err != context.Canceled {
				t.Errorf("got %v, want context.Canceled", err)
			}
		}
		silent.Store(false)
		wantPipe(t, pipeDo(c, "GET", "/back", ""), "GET /back ")

		slow := &PipelineClient{Addr: c.Addr, ReadTimeout: 20 * time.Millisecond, Logger: discardLog{}}
		silent.Store(true)
		var wg sync.WaitGroup
		for _, method := range []string{"GET", "POST", "GET"} {
			wg.Go(func() {
				if err := slow.Do(pipeReq(method), nil); err != ErrTimeout {
					t.Errorf("got %v, want ErrTimeout", err)
				}
			})
		}
		wg.Wait()
		silent.Store(false)
		withMoreTime(t, 20*time.Millisecond, func(limit time.Duration) error { // the limit is for each response
			patient := &PipelineClient{Addr: c.Addr, ReadTimeout: limit, Logger: discardLog{}}
			defer closePipes(patient)
			for range 3 {
				if got := pipeDo(patient, "GET", "/", ""); got != "GET / " {
					return errors.New(got)
				}
				time.Sleep(limit / 2)
			}
			return nil
		})
		await(t, "no request to be pending", func() bool { return c.PendingRequests()+slow.PendingRequests() == 0 })
		closePipes(c)
		closePipes(slow)
	})
	wantGoroutines(t, before)
}

// After a request that was given up and isn't answered, later requests don't wait
// forever.
func TestPipelineStuck(t *testing.T) {
	c := pipeServer(t, func(n int, nc net.Conn, br *bufio.Reader) {
		if n == 1 {
			io.Copy(io.Discard, br)
			return
		}
		pipeEcho(n, nc, br)
	})
	patient := make(chan string)
	first := make(chan error, 1)
	go func() { first <- c.DoTimeout(pipeReq("GET"), nil, 20*time.Millisecond) }()
	for c.PendingRequests() == 0 && len(first) == 0 {
		runtime.Gosched()
	}
	go func() { patient <- pipeDo(c, "GET", "/patient", "") }()
	if err := <-first; err != ErrTimeout {
		t.Errorf("got %v, want ErrTimeout", err)
	}
	for got := ""; got == ""; { // the longer the timeout of the first one, the more give up before that is noticed
		if err := c.DoTimeout(pipeReq("GET"), nil, 20*time.Millisecond); err != ErrTimeout && err != nil {
			t.Errorf("got %v, want ErrTimeout", err)
		}
		select {
		case got = <-patient:
			wantPipe(t, got, "GET /patient ")
		default:
		}
	}
}

// ReadTimeout counts from the time when a response became due, also if more requests are
// written after that.
func TestPipelineSilenceWhileWriting(t *testing.T) {
	c := pipeServer(t, func(_ int, _ net.Conn, br *bufio.Reader) { io.Copy(io.Discard, br) })
	c.ReadTimeout = 50 * time.Millisecond
	first := make(chan error, 1)
	go func() { first <- c.Do(pipeReq("POST"), nil) }()
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	defer wg.Wait()
	defer cancel()
	for end := time.Now().Add(30 * time.Second); time.Now().Before(end); {
		select {
		case err := <-first:
			if err != ErrTimeout {
				t.Errorf("got %v, want ErrTimeout", err)
			}
			return
		case <-time.After(5 * time.Millisecond):
			wg.Go(func() { c.DoContext(ctx, pipeReq("GET"), nil) })
		}
	}
	t.Error("the server was waited for as long as requests were written")
}

// If a server doesn't read, the connection ends after WriteTimeout.
func TestPipelineWriteTimeout(t *testing.T) {
	withoutEngine(t)
	release := make(chan struct{})
	c := pipeServer(t, func(n int, nc net.Conn, br *bufio.Reader) {
		if n == 1 {
			<-release
			return
		}
		pipeEcho(n, nc, br)
	})
	defer close(release)
	c.WriteTimeout = 50 * time.Millisecond
	req := pipeReq("POST")
	req.SetBody(make([]byte, 64<<20))
	err := c.Do(req, nil)
	if err != ErrTimeout {
		t.Errorf("got %v, want ErrTimeout", err)
	}
	for range 20 { // on a busy machine even this may take too long
		if err = c.Do(pipeReq("POST"), nil); err != ErrTimeout {
			break
		}
	}
	if err != nil {
		t.Errorf("the next call: %v", err)
	}
}

// A connection that is idle is closed, and its goroutines end.
func TestPipelineIdle(t *testing.T) {
	before := runtime.NumGoroutine()
	ended := make(chan int, 1)
	c := pipeServer(t, func(n int, nc net.Conn, br *bufio.Reader) {
		pipeEcho(n, nc, br)
		ended <- n
	})
	c.MaxIdleConnDuration = 5 * time.Millisecond
	for n := 1; n <= 3; n++ {
		wantPipe(t, pipeDo(c, "GET", "/", ""), "GET / ")
		if got := <-ended; got != n {
			t.Errorf("connection %d ended, want %d", got, n)
		}
	}
	wantGoroutines(t, before+1) // the listener's
}
