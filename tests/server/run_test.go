package server_test

import (
	"context"
	"errors"
	"math"
	"net"
	"os"
	"os/signal"
	"runtime"
	"syscall"
	"testing"
	"time"

	"github.com/galehttp/gale"
	"github.com/galehttp/gale/tests/harness/await"
	"github.com/galehttp/gale/tests/harness/peers"
)

// ran is a call of Runner.Run with a server whose handler waits for release.
type ran struct {
	t       *testing.T
	s       *gale.Server
	addr    string
	ready   chan bool // Ready was called
	entered chan bool // the handler runs
	release chan bool // closed: handlers return
	answer  chan int  // the status, or 0
	result  chan error
}

// run serves s and more until the test has ended.
func run(t *testing.T, r *gale.Runner, s *gale.Server, more ...gale.Service) (*ran, context.CancelFunc) {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	peers.Check(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	t.Cleanup(cancel)
	handled := make(chan os.Signal, 1) // a signal after the end of Run must not end the process
	signal.Notify(handled, testSignal)
	t.Cleanup(func() { signal.Stop(handled) })
	v := &ran{
		t: t, s: s, addr: ln.Addr().String(), ready: make(chan bool), entered: make(chan bool, 1),
		release: make(chan bool), answer: make(chan int, 1), result: make(chan error, 1),
	}
	s.Handler = func(ctx *gale.RequestCtx) {
		v.entered <- true
		<-v.release
	}
	ready := r.Ready
	r.Ready = func() {
		close(v.ready)
		if ready != nil {
			ready()
		}
	}
	all := append([]gale.Service{{Server: s, Serve: func() error { return s.Serve(ln) }}}, more...)
	go func() { v.result <- r.Run(ctx, all...) }()
	return v, cancel
}

// ask sends a request, and returns when its handler runs.
func (v *ran) ask() {
	<-v.ready
	go func() {
		status, _, _ := gale.Get(nil, "http://"+v.addr+"/")
		v.answer <- status
	}()
	<-v.entered
}

// signal sends the process a signal.
func (v *ran) signal() {
	v.t.Helper()
	p, err := os.FindProcess(os.Getpid())
	peers.Check(v.t, err)
	peers.Check(v.t, p.Signal(testSignal))
}

// want checks what Run returns.
func (v *ran) want(want error) {
	v.t.Helper()
	if err := <-v.result; !errors.Is(err, want) {
		v.t.Errorf("Run returned %v, want %v", err, want)
	}
}

// wantAnswer checks the status of the request, 0 if there must be none.
func (v *ran) wantAnswer(want int) {
	v.t.Helper()
	if got := <-v.answer; got != want {
		v.t.Errorf("the request got %d, want %d", got, want)
	}
}

// testSignal does nothing to a process that handles it, and no other test sends it.
const testSignal = syscall.SIGHUP

// Run answers the requests that run, and returns nil, after each kind of end.
func TestRunEnds(t *testing.T) {
	for _, row := range []struct {
		name   string
		end    func(v *ran, cancel context.CancelFunc)
		system bool // the system has signals
	}{
		{"the context ends", func(_ *ran, cancel context.CancelFunc) { cancel() }, false},
		{"a signal", func(v *ran, _ context.CancelFunc) { v.signal() }, true},
		{"a signal, and the same again", func(v *ran, cancel context.CancelFunc) { v.signal(); v.signal(); cancel() }, true},
		{"the program's own Shutdown", func(v *ran, _ context.CancelFunc) { go v.s.Shutdown() }, false},
	} {
		t.Run(row.name, func(t *testing.T) {
			if row.system && runtime.GOOS == "windows" {
				t.Skip("a process can't send itself signals on Windows")
			}
			peers.OnEngines(t, func(t *testing.T, e gale.Engine) {
				stopping := make(chan bool)
				r := &gale.Runner{Signals: []os.Signal{testSignal}, Stopping: func(os.Signal) { close(stopping) }}
				v, cancel := run(t, r, &gale.Server{Engine: e})
				v.ask()
				row.end(v, cancel)
				<-stopping
				await.Until(t, "the end of the listener", func() bool { return len(v.s.Stats().Listeners) == 0 })
				close(v.release)
				v.wantAnswer(200)
				v.want(nil)
			})
		})
	}
}

// What counts is when a signal comes, also if Run is in Ready or Stopping then.
func TestRunSignalsInHooks(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("a process can't send itself signals on Windows")
	}
	t.Run("Stopping", func(t *testing.T) {
		stopping := make(chan bool)
		r := &gale.Runner{Signals: []os.Signal{testSignal}, Stopping: func(os.Signal) {
			close(stopping)
			time.Sleep(150 * time.Millisecond) // longer than signals mean the same
		}}
		v, _ := run(t, r, &gale.Server{})
		v.ask()
		v.signal()
		v.signal()
		<-stopping
		await.Until(t, "the end of the listener", func() bool { return len(v.s.Stats().Listeners) == 0 })
		close(v.release)
		v.wantAnswer(200)
		v.want(nil)
	})
	t.Run("Ready", func(t *testing.T) {
		hold := make(chan bool)
		r := &gale.Runner{Signals: []os.Signal{testSignal}, ShutdownTimeout: -1, Ready: func() { <-hold }}
		v, _ := run(t, r, &gale.Server{})
		defer close(v.release)
		v.ask()
		v.signal()
		time.Sleep(150 * time.Millisecond) // longer than signals mean the same
		v.signal()
		time.Sleep(time.Millisecond) // most likely it has come
		close(hold)
		v.want(gale.ErrStopped)
		v.wantAnswer(0)
	})
}

// What takes too long is broken off, and Run says so.
func TestRunBreaksOff(t *testing.T) {
	t.Run("ShutdownTimeout", func(t *testing.T) {
		peers.OnEngines(t, func(t *testing.T, e gale.Engine) {
			v, cancel := run(t, &gale.Runner{ShutdownTimeout: time.Millisecond}, &gale.Server{Engine: e})
			defer close(v.release)
			v.ask()
			cancel()
			v.want(context.DeadlineExceeded)
			v.wantAnswer(0)
		})
	})
	t.Run("a second signal", func(t *testing.T) {
		if runtime.GOOS == "windows" {
			t.Skip("a process can't send itself signals on Windows")
		}
		peers.OnEngines(t, func(t *testing.T, e gale.Engine) {
			v, _ := run(t, &gale.Runner{ShutdownTimeout: -1, Signals: []os.Signal{testSignal}}, &gale.Server{Engine: e})
			defer close(v.release)
			v.ask()
			await.Until(t, "the end of Run", func() bool { // one in the first 100 ms means the same as the first
				if len(v.result) == 0 {
					v.signal()
				}
				return len(v.result) > 0
			})
			v.want(gale.ErrStopped)
			v.wantAnswer(0)
		})
	})
}

// stuckListener is a listener whose Accept doesn't return after Close.
type stuckListener struct{ net.Listener }

func (stuckListener) Accept() (net.Conn, error) { select {} }

// ShutdownTimeout also limits the wait for a Serve that doesn't listen yet, or doesn't end. One that
// listens after that is closed.
func TestRunServeIsStuck(t *testing.T) {
	for _, timeout := range []time.Duration{time.Millisecond, math.MaxInt64} {
		s, stuck := &gale.Server{Handler: func(*gale.RequestCtx) {}, DrainTime: time.Millisecond}, make(chan bool)
		served := make(chan error, 1)
		ctx, cancel := context.WithCancel(context.Background())
		result := make(chan error, 1)
		go func() {
			r := &gale.Runner{ShutdownTimeout: timeout, Stopping: func(os.Signal) {
				if timeout > time.Hour {
					close(stuck) // no limit that can be waited for: it must not have overflowed
				}
			}}
			result <- r.Run(ctx, gale.Service{Server: s, Serve: func() error {
				cancel()
				<-stuck
				err := s.ListenAndServe("127.0.0.1:0")
				served <- err
				return err
			}})
		}()
		if timeout > time.Hour {
			if err := <-result; err != nil {
				t.Errorf("%v: %v", timeout, err)
			}
		} else {
			if err := <-result; !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("%v: %v", timeout, err)
			}
			close(stuck)
		}
		if err := <-served; err != nil {
			t.Errorf("%v: Serve: %v", timeout, err)
		}
	}
	s := &gale.Server{Handler: func(*gale.RequestCtx) {}, Engine: gale.EngineBlock}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal("listening:", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	r := &gale.Runner{ShutdownTimeout: time.Millisecond, Ready: cancel}
	err = r.Run(ctx, gale.Service{Server: s, Serve: func() error { return s.Serve(stuckListener{ln}) }})
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("with a listener that hangs: %v", err)
	}
}

// The error of a Serve counts more than that of a shutdown, also if it comes during that.
func TestRunServeErrorWins(t *testing.T) {
	broken := errors.New("broken")
	other := &gale.Server{Handler: func(*gale.RequestCtx) {}, DrainTime: time.Hour}
	timedOut := make(chan bool)
	v, cancel := run(t, &gale.Runner{ShutdownTimeout: time.Millisecond}, &gale.Server{}, gale.Service{Server: other, Serve: func() error {
		ln, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return err
		}
		go other.Serve(ln)
		<-timedOut
		other.Close()
		return broken
	}})
	defer close(v.release)
	v.ask()
	cancel()
	v.wantAnswer(0) // broken off
	close(timedOut)
	v.want(broken)
}

// A service that fails ends the others, and its error is the result.
func TestRunServeFails(t *testing.T) {
	broken := errors.New("broken")
	fail := make(chan bool)
	other := &gale.Server{Handler: func(*gale.RequestCtx) {}}
	v, _ := run(t, &gale.Runner{}, &gale.Server{}, gale.Service{Server: other, Serve: func() error {
		ln, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return err
		}
		go other.Serve(ln)
		<-fail
		return broken
	}})
	v.ask()
	close(fail)
	await.Until(t, "the end of the listener", func() bool { return len(v.s.Stats().Listeners) == 0 })
	close(v.release)
	v.wantAnswer(200)
	v.want(broken)

	if err := gale.Run(context.Background(), &gale.Server{}, "127.0.0.1:0"); err == nil {
		t.Error("no error for a server without a handler")
	}
}

// A panic of Serve is an error. One of Ready or Stopping is the caller's, and closes the server.
func TestRunPanics(t *testing.T) {
	quiet := &gale.Server{Logger: &peers.Log{}}
	err := (&gale.Runner{}).Run(context.Background(), gale.Service{Server: quiet, Serve: func() error { panic("on purpose") }})
	if err == nil || quiet.GetPanicsCount() != 1 {
		t.Errorf("Run returned %v, and %d panics are counted", err, quiet.GetPanicsCount())
	}
	s := &gale.Server{Handler: func(*gale.RequestCtx) {}}
	served := make(chan error, 1)
	serve := func() error {
		err := s.ListenAndServe("127.0.0.1:0")
		served <- err
		return err
	}
	func() {
		defer func() {
			if recover() == nil {
				t.Error("the panic of Ready was swallowed")
			}
		}()
		_ = (&gale.Runner{Ready: func() { panic("on purpose") }}).Run(context.Background(), gale.Service{Server: s, Serve: serve})
	}()
	if err := <-served; err != nil {
		t.Error("Serve:", err)
	}
}

// A service that begins to listen only after the shutdown began is ended, too. If the context
// has ended before, Serve isn't called.
func TestRunServesLate(t *testing.T) {
	stopping := make(chan bool)
	late := &gale.Server{Handler: func(*gale.RequestCtx) {}}
	r := &gale.Runner{Stopping: func(os.Signal) { close(stopping) }}
	ctx, cancel := context.WithCancel(context.Background())
	result := make(chan error, 1)
	go func() {
		result <- r.Run(ctx, gale.Service{Server: late, Serve: func() error {
			cancel()
			<-stopping
			time.Sleep(time.Millisecond) // most likely Shutdown has looked
			return late.ListenAndServe("127.0.0.1:0")
		}})
	}()
	if err := <-result; err != nil {
		t.Error("Run:", err)
	}
	if err := r.Run(ctx, gale.Service{Server: late, Serve: func() error { panic("served") }}); err != nil {
		t.Error("Run after the end of its context:", err)
	}
}

// Servers drain for DrainTime, except after a signal of NoDrain.
func TestRunDrains(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("a process can't send itself signals on Windows")
	}
	for _, drains := range []bool{true, false} {
		peers.OnEngines(t, func(t *testing.T, e gale.Engine) {
			r := &gale.Runner{Signals: []os.Signal{testSignal}}
			if !drains {
				r.NoDrain = r.Signals
			}
			v, _ := run(t, r, &gale.Server{Engine: e, DrainTime: time.Hour})
			close(v.release)
			v.ask()
			v.wantAnswer(200)
			v.signal()
			if drains {
				await.Until(t, "the drain", v.s.Draining)
				v.ask() // it still serves
				v.wantAnswer(200)
				v.s.Close()
			}
			v.want(nil)
		})
	}
}
