package gale

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"syscall"
	"time"
)

// Run serves s on the TCP address addr, as ListenAndServe does, until ctx ends or the process
// gets SIGINT or SIGTERM. Then it shuts s down and returns. It is Runner.Run of the zero Runner
// with this one service; see there for the details and the errors.
func Run(ctx context.Context, s *Server, addr string) error {
	var r Runner
	return r.Run(ctx, Service{Server: s, Serve: func() error { return s.ListenAndServe(addr) }})
}

// A Service is a server and a way to serve it. A server with two addresses makes two services.
type Service struct {
	Server *Server

	// Serve calls one of the methods of Server that serve, such as ListenAndServeTLS, and
	// returns its error.
	Serve func() error
}

// A Runner serves until a context ends or a signal comes, and shuts down then. Its zero value
// is ready to use. A Runner may be used again, and by several goroutines, if its fields don't
// change meanwhile.
type Runner struct {
	// ShutdownTimeout is how long a shutdown may take beyond the server's DrainTime. 0 means ten
	// seconds, and a negative value that there is no limit.
	ShutdownTimeout time.Duration

	// Signals are the signals that end Run. Nil means SIGINT (os.Interrupt) and SIGTERM. A slice
	// that is empty but not nil means that no signal does.
	Signals []os.Signal

	// NoDrain are those of Signals after which servers don't drain, as if their DrainTime were 0:
	// for example os.Interrupt, which comes from a terminal. Nil means none.
	NoDrain []os.Signal

	// Ready, if it isn't nil, is called once, when all services listen. Run waits until it returns.
	Ready func()

	// Stopping, if it isn't nil, is called once, before the servers are shut down. sig is the
	// signal that ends Run, or nil if a signal is not the reason. Run waits until it returns.
	Stopping func(sig os.Signal)
}

// ErrStopped is what Runner.Run returns after a second signal.
var ErrStopped = errors.New("gale: a second signal came before all requests were answered")

// errServeBroke is the error of a Serve that doesn't return.
var errServeBroke = errors.New("gale: Service.Serve panicked, which is logged, or ended its goroutine")

const (
	defaultShutdownTimeout = 10 * time.Second

	// sameSignal is how long after the beginning of a shutdown a signal is not a second one.
	// Programs such as timeout send a signal to the process and to its group.
	sameSignal = 100 * time.Millisecond
)

// Run serves services until ctx ends, the process gets one of Signals, or a call of Serve returns
// an error. Then it calls Server.ShutdownWithContext for all servers, at the same time. Each
// drains for its DrainTime, and then has ShutdownTimeout to answer the requests that it has
// received. What is left is broken off by Server.Close. A signal that comes during the shutdown,
// but not in its first 100 ms, breaks everything off at once.
//
// Run also returns if the program itself has shut all servers down: it waits for their requests
// in the same way. If ctx has ended before, it serves nothing.
//
// Run returns the first error of a call of Serve. If there is none, it returns ErrStopped after
// a second signal, an error that wraps context.DeadlineExceeded if a server was broken off,
// and nil if all requests were answered. Handlers may still run after an error.
//
// Until Run returns, Signals have no other effect on the process.
func (r *Runner) Run(ctx context.Context, services ...Service) error {
	signals := make(chan os.Signal, 2)
	if names := r.signals(); len(names) > 0 {
		signal.Notify(signals, names...)
		defer signal.Stop(signals)
	}
	if ctx.Err() != nil || len(services) == 0 {
		return nil
	}
	all := startServices(services)
	whole := false
	defer func() {
		if !whole { // Ready or Stopping panicked
			closeServices(all)
		}
	}()
	sig, err := r.await(ctx, all, signals)
	began := time.Now()
	if r.Stopping != nil {
		r.Stopping(sig)
	}
	if shut := r.shutdown(all, sig, signals, began); err == nil {
		err = shut
	}
	whole = true
	return err
}

func (r *Runner) signals() []os.Signal {
	if r.Signals == nil {
		return []os.Signal{os.Interrupt, syscall.SIGTERM}
	}
	return r.Signals
}

// runService is a service of a Run.
type runService struct {
	Service
	listeners int           // how many services have the same server
	ended     chan struct{} // closed when Serve has returned
	err       error         // of Serve, set before ended is closed
}

// startServices calls Serve of each service, in goroutines.
func startServices(services []Service) []*runService {
	count := make(map[*Server]int)
	for _, v := range services {
		if v.Server == nil || v.Serve == nil {
			panic("gale: Runner.Run: a Service without Server or Serve: set both")
		}
		count[v.Server]++
	}
	all := make([]*runService, len(services))
	for i, v := range services {
		all[i] = &runService{Service: v, listeners: count[v.Server], ended: make(chan struct{})}
		go all[i].serve()
	}
	return all
}

func (v *runService) serve() {
	defer close(v.ended)
	v.err = errServeBroke
	v.Server.callCalmly("in Service.Serve", func() { v.err = v.Serve() })
}

// await calls Ready when all services listen, and waits for what ends a Run. It returns the
// signal, if that is what came, or the error of Serve.
func (r *Runner) await(ctx context.Context, all []*runService, signals <-chan os.Signal) (os.Signal, error) {
	ends := make(chan *runService, len(all))
	ready := make(chan struct{})
	go func() {
		for _, v := range all {
			v.Server.awaitListeners(v.listeners, v.ended)
		}
		close(ready)
	}()
	for _, v := range all {
		go func() {
			<-v.ended
			ends <- v
		}()
	}
	for left := len(all); left > 0; {
		select {
		case <-ready:
			ready = nil
			if r.Ready != nil && left == len(all) {
				r.Ready()
			}
		case v := <-ends:
			if v.err != nil {
				return nil, v.err
			}
			left--
		case sig := <-signals:
			return sig, nil
		case <-ctx.Done():
			return nil, nil
		}
	}
	return nil, nil
}

// shutdown shuts all servers down, as Run says. It began because of sig, unless that is nil.
func (r *Runner) shutdown(all []*runService, sig os.Signal, signals <-chan os.Signal, began time.Time) (first error) {
	now, cut := context.WithCancel(context.Background())
	defer cut()
	results := make(chan error, len(all))
	for _, v := range all {
		go func() { results <- v.shutdown(now, r.ShutdownTimeout, !slices.Contains(r.NoDrain, sig)) }()
	}
	for left := len(all); left > 0; {
		select {
		case err := <-results:
			if first == nil {
				first = err
			}
			left--
		case <-signals:
			if time.Since(began) < sameSignal {
				continue
			}
			closeServices(all)
			return ErrStopped
		}
	}
	return first
}

func closeServices(all []*runService) {
	for _, v := range all {
		_ = v.Server.Close()
	}
}

// shutdown shuts the server down until Serve has returned: a shutdown that comes before Serve
// listens doesn't end it. timeout is Runner.ShutdownTimeout. The end of now breaks off what is
// left.
func (v *runService) shutdown(now context.Context, timeout time.Duration, drains bool) (err error) {
	limit := cmp.Or(timeout, defaultShutdownTimeout)
	if drains {
		limit += max(v.Server.DrainTime, 0)
	}
	ctx, cancel := now, context.CancelFunc(func() {})
	if timeout >= 0 {
		ctx, cancel = context.WithTimeout(now, limit)
	}
	defer cancel()
	for {
		if !drains {
			over, end := context.WithCancel(now)
			end()
			_ = v.Server.ShutdownWithContext(over) // ends the drain
		}
		if late := v.Server.ShutdownWithContext(ctx); late != nil {
			err = fmt.Errorf("gale: the shutdown broke %d connections off: %w", v.Server.GetOpenConnectionsCount(), late)
			_ = v.Server.Close()
		}
		v.Server.awaitListeners(1, v.ended)
		select {
		case <-v.ended:
			return cmp.Or(v.err, err)
		default:
		}
	}
}

// awaitListeners waits until s has n listeners, or until ended is closed.
func (s *Server) awaitListeners(n int, ended <-chan struct{}) {
	for {
		s.run.mu.Lock()
		if len(s.run.listeners) >= n {
			s.run.mu.Unlock()
			return
		}
		if s.run.begun == nil {
			s.run.begun = make(chan struct{})
		}
		begun := s.run.begun
		s.run.mu.Unlock()
		select {
		case <-begun:
		case <-ended:
			return
		}
	}
}
