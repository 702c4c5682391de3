package gale

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
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

	// Ready, if it isn't nil, is called once, when all services listen, unless Run ends before. Run
	// waits until it returns.
	Ready func()

	// Stopping, if it isn't nil, is called once, before the servers are shut down. sig is the
	// signal that ends Run, or nil if a signal is not the reason. Run waits until it returns.
	Stopping func(sig os.Signal)
}

// ErrStopped is what Runner.Run returns if a signal broke the shutdown off.
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
// whatever began it, breaks everything off at once, unless it comes in the first 100 ms.
//
// Run also returns if the program itself has shut all servers down: it waits for their requests
// in the same way. If ctx has ended before, it serves nothing.
//
// Run returns the first error of a call of Serve. If there is none, it returns ErrStopped after
// such a signal, an error that wraps context.DeadlineExceeded if a server was broken off,
// and nil if all requests were answered. After one of these errors handlers may still run, and so
// may a call of Serve that doesn't return when its server is closed.
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
	e := &ending{soon: make(chan struct{}), now: make(chan struct{}), served: make(chan struct{}), over: make(chan struct{})}
	defer close(e.over)
	go e.watch(ctx, signals)
	run := startServices(services)
	whole := false
	defer func() {
		if !whole { // Ready or Stopping panicked
			run.close()
		}
	}()
	r.await(run, e)
	if r.Stopping != nil {
		r.Stopping(e.sig)
	}
	err := r.shutdown(run, e)
	whole = true
	return cmp.Or(run.err(), err)
}

func (r *Runner) signals() []os.Signal {
	if r.Signals == nil {
		return []os.Signal{os.Interrupt, syscall.SIGTERM}
	}
	return r.Signals
}

// ending says when a Run ends.
type ending struct {
	served chan struct{} // closed by Run when a service has failed, or all have ended
	over   chan struct{} // closed when Run returns
	soon   chan struct{} // closed when the servers must be shut down
	sig    os.Signal     // the reason of soon, or nil
	now    chan struct{} // closed after a second signal
}

// watch closes soon and now. Run may be in a function of the program meanwhile.
func (e *ending) watch(ctx context.Context, signals <-chan os.Signal) {
	select {
	case e.sig = <-signals:
	case <-ctx.Done():
	case <-e.served:
	case <-e.over:
		return
	}
	began := time.Now()
	close(e.soon)
	for {
		select {
		case <-signals:
			if time.Since(began) >= sameSignal {
				close(e.now)
				return
			}
		case <-e.over:
			return
		}
	}
}

// runServices are the services of a Run.
type runServices struct {
	services []*runService
	ends     chan *runService // those whose Serve has returned
	first    error            // the first error of a Serve that was taken from ends
}

// runService is a service of a Run.
type runService struct {
	Service
	listens int           // how many listeners the server has when all its services listen
	ended   chan struct{} // closed when Serve has returned
	err     error         // of Serve, set before ended is closed
}

// startServices calls Serve of each service, in goroutines.
func startServices(services []Service) *runServices {
	count := make(map[*Server]int)
	for _, v := range services {
		if v.Server == nil || v.Serve == nil {
			panic("gale: Runner.Run: a Service without Server or Serve: set both")
		}
		if count[v.Server] == 0 {
			count[v.Server] = v.Server.countListeners()
		}
		count[v.Server]++
	}
	run := &runServices{ends: make(chan *runService, len(services))}
	for _, v := range services {
		run.services = append(run.services, &runService{Service: v, listens: count[v.Server], ended: make(chan struct{})})
	}
	for _, v := range run.services {
		go v.serve(run.ends)
	}
	return run
}

func (v *runService) serve(ends chan<- *runService) {
	defer func() {
		close(v.ended)
		ends <- v
	}()
	v.err = errServeBroke
	v.Server.callCalmly("in Service.Serve", func() { v.err = v.Serve() })
}

func (v *runService) hasEnded() bool {
	select {
	case <-v.ended:
		return true
	default:
		return false
	}
}

// took notes what the Serve that has ended has returned.
func (run *runServices) took(v *runService) { run.first = cmp.Or(run.first, v.err) }

// err returns the first error of a Serve so far.
func (run *runServices) err() error {
	for {
		select {
		case v := <-run.ends:
			run.took(v)
		default:
			return run.first
		}
	}
}

// close closes all servers, also those that don't listen yet.
func (run *runServices) close() {
	for _, v := range run.services {
		v.close()
	}
}

func (v *runService) close() {
	early := v.Server.countListeners() == 0
	_ = v.Server.Close()
	if early && !v.hasEnded() {
		go func() {
			v.Server.awaitListeners(1, v.ended, nil)
			_ = v.Server.Close()
		}()
	}
}

// await calls Ready when all services listen, and waits for what ends a Run.
func (r *Runner) await(run *runServices, e *ending) {
	ready := make(chan struct{})
	go func() {
		defer close(ready)
		for _, v := range run.services {
			v.Server.awaitListeners(v.listens, v.ended, e.over)
		}
	}()
	left := len(run.services)
	for {
		select {
		case <-ready:
			ready = nil
			if r.Ready != nil && left == len(run.services) {
				r.Ready()
			}
		case v := <-run.ends:
			run.took(v)
			if left--; left == 0 || run.first != nil {
				close(e.served)
				<-e.soon
				return
			}
		case <-e.soon:
			return
		}
	}
}

// shutdown shuts all servers down, as Run says.
func (r *Runner) shutdown(run *runServices, e *ending) (first error) {
	results := make(chan error, len(run.services))
	for _, v := range run.services {
		go func() { results <- v.shutdown(r.ShutdownTimeout, !slices.Contains(r.NoDrain, e.sig)) }()
	}
	for range run.services {
		select {
		case err := <-results:
			first = cmp.Or(first, err)
		case <-e.now:
			run.close()
			return ErrStopped
		}
	}
	return first
}

// shutdown shuts the server down until Serve has returned: a shutdown that comes before Serve
// listens doesn't end it. timeout is Runner.ShutdownTimeout.
func (v *runService) shutdown(timeout time.Duration, drains bool) error {
	ctx, cancel := context.Background(), func() {}
	if timeout >= 0 {
		limit := cmp.Or(timeout, defaultShutdownTimeout)
		if drains {
			limit += max(v.Server.DrainTime, 0)
		}
		if limit < 0 {
			limit = math.MaxInt64
		}
		ctx, cancel = context.WithTimeout(ctx, limit)
	}
	defer cancel()
	for {
		if !drains {
			over, end := context.WithCancel(ctx)
			end()
			_ = v.Server.ShutdownWithContext(over) // ends the drain
		}
		err := v.Server.ShutdownWithContext(ctx)
		if err == nil {
			v.Server.awaitListeners(1, v.ended, ctx.Done())
			if v.hasEnded() {
				return nil
			}
			err = ctx.Err()
		}
		if err != nil {
			open := v.Server.GetOpenConnectionsCount()
			v.close()
			return fmt.Errorf("gale: the shutdown took too long, and broke %d connections off: %w", open, err)
		}
	}
}

// countListeners returns how many listeners s serves.
func (s *Server) countListeners() int {
	s.run.mu.Lock()
	defer s.run.mu.Unlock()
	return len(s.run.listeners)
}

// awaitListeners waits until s has n listeners, or until ended or over is closed.
func (s *Server) awaitListeners(n int, ended, over <-chan struct{}) {
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
		case <-over:
			return
		}
	}
}
