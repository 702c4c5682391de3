package client

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/galehttp/gale"
	"github.com/galehttp/gale/internal/door"
	"github.com/galehttp/gale/tests/harness"
	"github.com/galehttp/gale/tests/harness/await"
	"github.com/galehttp/gale/tests/harness/gate"
	"github.com/galehttp/gale/tests/harness/peers"
)

// A caller that gives up never takes the response of another caller, and no other caller
// gets its response. Its request and response belong to it again at once.
func TestPipelineGivingUp(t *testing.T) {
	before := runtime.NumGoroutine()
	t.Run("", func(t *testing.T) {
		c := harness.PipeServer(t, func(_ int, nc net.Conn, br *bufio.Reader) {
			for {
				method, path, body := peers.PipeRequest(br)
				if method == "" {
					return
				}
				if gate.Rand.IntN(50) == 0 {
					time.Sleep(3 * time.Millisecond) // a slow server: callers give up meanwhile
				}
				peers.PipeAnswer(nc, "", method+" "+path+" "+body)
			}
		})
		c.MaxConns = 2
		var served, gone atomic.Int32
		var wg sync.WaitGroup
		for i := range 16 {
			wg.Go(func() {
				req, resp := &gale.Request{}, &gale.Response{}
				for n := range 100 {
					path := fmt.Sprintf("/%d/%d", i, n)
					req.SetRequestURI("http://example.org" + path)
					resp.ResetBody() // a call whose timeout has passed returns at once
					var err error
					if n%2 == 0 {
						err = c.DoTimeout(req, resp, time.Duration(gate.Rand.IntN(3000)+1)*time.Microsecond)
					} else {
						ctx, cancel := context.WithCancel(t.Context())
						timer := time.AfterFunc(time.Duration(gate.Rand.IntN(3000))*time.Microsecond, cancel)
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
					case err == gale.ErrTimeout || err == context.Canceled:
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
		peers.WantPipe(t, harness.PipeDo(c, "GET", "/still", ""), "GET /still ")
	})
	peers.WantGoroutines(t, before)
}

// After a request that was given up and isn't answered, later requests don't wait
// forever.
func TestPipelineStuck(t *testing.T) {
	var arrived atomic.Bool // a request that can't be answered; before, one may be given up unsent
	c := harness.PipeServer(t, func(n int, nc net.Conn, br *bufio.Reader) {
		if n == 1 {
			_, _ = br.Peek(1)
			arrived.Store(true)
			io.Copy(io.Discard, br)
			return
		}
		peers.PipeEcho(n, nc, br)
	})
	patient := make(chan string)
	first := make(chan error, 1)
	go func() {
		var err error = gale.ErrTimeout
		for err == gale.ErrTimeout && !arrived.Load() {
			err = c.DoTimeout(harness.PipeReq("GET"), nil, 20*time.Millisecond)
		}
		first <- err
	}()
	await.Until(t, "the first request", arrived.Load)
	go func() { patient <- harness.PipeDo(c, "GET", "/patient", "") }()
	// nil is of a later request, over the next connection: before it one was given up.
	if err := <-first; err != gale.ErrTimeout && err != nil {
		t.Errorf("got %v, want ErrTimeout or nil", err)
	}
	for got := ""; got == ""; { // the longer the timeout of the first one, the more give up before that is noticed
		if err := c.DoTimeout(harness.PipeReq("GET"), nil, 20*time.Millisecond); err != gale.ErrTimeout && err != nil {
			t.Errorf("got %v, want ErrTimeout", err)
		}
		select {
		case got = <-patient:
			peers.WantPipe(t, got, "GET /patient ")
		default:
		}
	}
}

// ReadTimeout counts from the time when a response became due, also if more requests are
// written after that.
func TestPipelineSilenceWhileWriting(t *testing.T) {
	c := harness.PipeServer(t, func(_ int, _ net.Conn, br *bufio.Reader) { io.Copy(io.Discard, br) })
	c.ReadTimeout = 50 * time.Millisecond
	first := make(chan error, 1)
	go func() { first <- c.Do(harness.PipeReq("POST"), nil) }()
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	defer wg.Wait()
	defer cancel()
	for end := time.Now().Add(30 * time.Second); time.Now().Before(end); {
		select {
		case err := <-first:
			if err != gale.ErrTimeout {
				t.Errorf("got %v, want ErrTimeout", err)
			}
			return
		case <-time.After(5 * time.Millisecond): // between two requests
			wg.Go(func() { c.DoContext(ctx, harness.PipeReq("GET"), nil) })
		}
	}
	t.Error("the server was waited for as long as requests were written")
}

// If a server doesn't read, the connection ends after WriteTimeout.
func TestPipelineWriteTimeout(t *testing.T) {
	peers.WithoutEngine(t)
	release := make(chan struct{})
	c := harness.PipeServer(t, func(n int, nc net.Conn, br *bufio.Reader) {
		if n == 1 {
			<-release
			return
		}
		peers.PipeEcho(n, nc, br)
	})
	defer close(release)
	c.WriteTimeout = 50 * time.Millisecond
	req := harness.PipeReq("POST")
	req.SetBody(make([]byte, 64<<20))
	err := c.Do(req, nil)
	if err != gale.ErrTimeout {
		t.Errorf("got %v, want ErrTimeout", err)
	}
	for range 20 { // on a busy machine even this may take too long
		if err = c.Do(harness.PipeReq("POST"), nil); err != gale.ErrTimeout {
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
	c := harness.PipeServer(t, func(n int, nc net.Conn, br *bufio.Reader) {
		peers.PipeEcho(n, nc, br)
		ended <- n
	})
	c.MaxIdleConnDuration = 5 * time.Millisecond
	for n := 1; n <= 3; n++ {
		peers.WantPipe(t, harness.PipeDo(c, "GET", "/", ""), "GET / ")
		if got := <-ended; got != n {
			t.Errorf("connection %d ended, want %d", got, n)
		}
	}
	peers.WantGoroutines(t, before+1) // the listener's
}

// With a silent server a call ends at its timeout, the connection is closed, and the
// goroutines end.
func TestPipelineSilence(t *testing.T) {
	before := runtime.NumGoroutine()
	t.Run("", func(t *testing.T) {
		var silent atomic.Bool
		silent.Store(true)
		c := harness.PipeServer(t, func(n int, nc net.Conn, br *bufio.Reader) {
			for {
				method, path, body := peers.PipeRequest(br)
				if method == "" {
					return
				}
				if !silent.Load() {
					peers.PipeAnswer(nc, "", method+" "+path+" "+body)
				}
			}
		})
		for range 50 {
			if err := c.DoTimeout(harness.PipeReq("GET"), nil, time.Millisecond); err != gale.ErrTimeout {
				t.Errorf("got %v, want ErrTimeout", err)
			}
			ctx, cancel := context.WithCancel(t.Context())
			time.AfterFunc(time.Millisecond, cancel)
			if err := c.DoContext(ctx, harness.PipeReq("GET"), nil); err != context.Canceled {
				t.Errorf("got %v, want context.Canceled", err)
			}
		}
		silent.Store(false)
		peers.WantPipe(t, harness.PipeDo(c, "GET", "/back", ""), "GET /back ")

		slow := &gale.PipelineClient{Addr: c.Addr, ReadTimeout: 20 * time.Millisecond, Logger: peers.DiscardLog{}}
		silent.Store(true)
		var wg sync.WaitGroup
		for _, method := range []string{"GET", "POST", "GET"} {
			wg.Go(func() {
				if err := slow.Do(harness.PipeReq(method), nil); err != gale.ErrTimeout {
					t.Errorf("got %v, want ErrTimeout", err)
				}
			})
		}
		wg.Wait()
		silent.Store(false)
		peers.WithMoreTime(t, 20*time.Millisecond, func(limit time.Duration) error { // the limit is for each response
			patient := &gale.PipelineClient{Addr: c.Addr, ReadTimeout: limit, Logger: peers.DiscardLog{}}
			defer door.ClosePipes(patient)
			for range 3 {
				if got := harness.PipeDo(patient, "GET", "/", ""); got != "GET / " {
					return errors.New(got)
				}
				time.Sleep(limit / 2) // three of these are longer than the limit of one response
			}
			return nil
		})
		await.Until(t, "no request to be pending", func() bool { return c.PendingRequests()+slow.PendingRequests() == 0 })
		door.ClosePipes(c)
		door.ClosePipes(slow)
	})
	peers.WantGoroutines(t, before)
}

// pipeInBubble runs a test in a bubble, with a client of a server that serve is. A write to a
// connection waits for its reader.
func pipeInBubble(t *testing.T, serve peers.PipeHandler, f func(t *testing.T, c *gale.PipelineClient)) {
	peers.EmptyPools()
	synctest.Test(t, func(t *testing.T) { // fails if a goroutine is left
		n := 0
		c := &gale.PipelineClient{Addr: "example.org", Logger: peers.DiscardLog{}, MaxIdleConnDuration: time.Hour}
		c.Dial = func(string) (net.Conn, error) {
			n++
			client, server := net.Pipe()
			go func(n int) {
				defer server.Close()
				serve(n, server, bufio.NewReader(server))
			}(n)
			return client, nil
		}
		f(t, c)
		door.ClosePipes(c)
		synctest.Wait()
	})
	peers.EmptyPools()
}

// ReadTimeout counts from the end of a write, also if the write took longer than it.
func TestPipelineSilenceAfterWrite(t *testing.T) {
	pipeInBubble(t, func(_ int, nc net.Conn, br *bufio.Reader) {
		time.Sleep(5 * time.Second) // a slow server, by the clock of the bubble
		_, _ = io.Copy(io.Discard, br)
	}, func(t *testing.T, c *gale.PipelineClient) {
		c.ReadTimeout = 2 * time.Second
		start := time.Now()
		if err := c.Do(harness.PipeReq("GET"), nil); err != gale.ErrTimeout {
			t.Errorf("got %v, want ErrTimeout", err)
		}
		if d := time.Since(start); d != 7*time.Second {
			t.Errorf("the call ended after %v, want 5 s for the write and 2 s for the response", d)
		}
	})
}

// A connection ends when no caller waits for its responses any longer, also if the last one
// that waited got its response.
func TestPipelineLastWaiterServed(t *testing.T) {
	pipeInBubble(t, func(_ int, nc net.Conn, br *bufio.Reader) {
		_, path, _ := peers.PipeRequest(br)
		_, _, _ = peers.PipeRequest(br)
		time.Sleep(time.Second) // a slow server, by the clock of the bubble
		peers.PipeAnswer(nc, "", path)
		_, _ = io.Copy(io.Discard, br)
	}, func(t *testing.T, c *gale.PipelineClient) {
		first := make(chan string, 1)
		go func() { first <- harness.PipeDo(c, "GET", "/first", "") }()
		synctest.Wait()
		ctx, cancel := context.WithCancel(t.Context())
		second := make(chan error, 1)
		go func() { second <- c.DoContext(ctx, harness.PipeReq("GET"), nil) }()
		synctest.Wait()
		cancel()
		if err := <-second; err != context.Canceled {
			t.Errorf("got %v, want context.Canceled", err)
		}
		peers.WantPipe(t, <-first, "/first")
		synctest.Wait()
		if n := c.PendingRequests(); n != 0 {
			t.Errorf("%d requests are pending that no caller waits for", n)
		}
	})
}

// goexitConn is a connection whose Close ends its goroutine.
type goexitConn struct{ net.Conn }

func (c goexitConn) Close() error {
	_ = c.Conn.Close()
	runtime.Goexit()
	return nil
}

// A Close that ends its goroutine keeps no caller waiting, whichever goroutine closes the
// connection.
func TestPipelineCloseGoexit(t *testing.T) {
	for name, serve := range map[string]peers.PipeHandler{
		"the reader": func(_ int, nc net.Conn, br *bufio.Reader) { peers.PipeRequest(br) },
		"the reader, after a response": func(_ int, nc net.Conn, br *bufio.Reader) {
			peers.PipeRequest(br)
			_, _ = io.WriteString(nc, "garbage\r\n\r\n")
		},
		"the writer": func(_ int, nc net.Conn, br *bufio.Reader) { _, _ = br.ReadByte() },
		"the timer":  func(_ int, nc net.Conn, br *bufio.Reader) { _, _ = io.Copy(io.Discard, br) },
	} {
		t.Run(name, func(t *testing.T) {
			pipeInBubble(t, serve, func(t *testing.T, c *gale.PipelineClient) {
				dial := c.Dial
				c.Dial = func(addr string) (net.Conn, error) {
					nc, err := dial(addr)
					return goexitConn{nc}, err
				}
				c.ReadTimeout = time.Second
				for range 3 {
					if err := c.DoTimeout(harness.PipeReq("POST"), nil, time.Minute); err == nil || err == gale.ErrTimeout && name != "the timer" {
						t.Errorf("got %v, want why the connection ended", err)
					}
				}
			})
		})
	}
}

// closeHookConn is a connection whose Close calls before, and then closes.
type closeHookConn struct {
	net.Conn
	before func()
}

func (c closeHookConn) Close() error {
	c.before()
	return c.Conn.Close()
}

// A Close that takes long, or that calls the client, keeps no call longer than its time limit.
func TestPipelineSlowClose(t *testing.T) {
	for name, before := range map[string]func(c *gale.PipelineClient){
		"sleeps": func(*gale.PipelineClient) { time.Sleep(time.Minute) }, // by the clock of the bubble
		"calls":  func(c *gale.PipelineClient) { _ = c.DoTimeout(harness.PipeReq("POST"), nil, 2*time.Second) },
	} {
		t.Run(name, func(t *testing.T) {
			pipeInBubble(t, func(_ int, nc net.Conn, br *bufio.Reader) { peers.PipeRequest(br) }, func(t *testing.T, c *gale.PipelineClient) {
				c.MaxConns = 1
				dial, dials := c.Dial, 0
				c.Dial = func(addr string) (net.Conn, error) {
					nc, err := dial(addr)
					if dials++; dials == 1 {
						nc = closeHookConn{nc, func() { before(c) }}
					}
					return nc, err
				}
				for range 3 {
					start := time.Now()
					_ = c.DoTimeout(harness.PipeReq("POST"), nil, time.Second)
					if d := time.Since(start); d > time.Second {
						t.Errorf("a call with a limit of 1 s took %v", d)
					}
				}
				time.Sleep(2 * time.Minute) // by the clock of the bubble: until the slow Close has ended
			})
		})
	}
}
