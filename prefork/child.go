package prefork

import (
	"context"
	"net"
	"os"
	"os/signal"
	"runtime"
	"runtime/debug"
	"strconv"
	"sync"
	"syscall"
	"time"
)

// parent is the process that started this one. If os.Getppid returns another one, the first has died.
var parent = masterID()

// masterID returns the process id of the master. The master itself says it: it may have died before
// this process can ask the system. A CommandProducer need not say it.
func masterID() int {
	if pid, err := strconv.Atoi(os.Getenv(masterVar)); err == nil && IsChild() {
		return pid
	}
	return os.Getppid()
}

// environment is what the environment of this process says of prefork. While the process serves
// as a child it is kept here, so that the programs that it starts don't get it.
type environment struct {
	mu     sync.Mutex
	users  int // calls of serveChild
	values map[string]string
}

var own environment

// hidden reports whether the process serves as a child.
func (e *environment) hidden() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.users > 0
}

// hide takes the variables out of the environment until show is called as often.
func (e *environment) hide() {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.users++; e.users > 1 {
		return
	}
	e.values = make(map[string]string)
	for _, name := range []string{childVar, masterVar} {
		if v, ok := os.LookupEnv(name); ok {
			e.values[name] = v
			_ = os.Unsetenv(name)
		}
	}
}

func (e *environment) show() {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.users--; e.users > 0 {
		return
	}
	for name, v := range e.values {
		_ = os.Setenv(name, v)
	}
}

// serveChild is ListenAndServe in a child.
func (p *Prefork) serveChild(addr string, serve func(net.Listener) error) error {
	own.hide()
	defer own.show()
	runtime.GOMAXPROCS(1)
	ln, err := p.childListener(addr)
	if err != nil {
		return err
	}
	ended := make(chan struct{})
	defer close(ended)
	if p.OnMasterDeath != nil {
		go watchMaster(p.masterDied, ended)
	}
	if p.server == nil {
		return serve(ln) // a signal has the effect that the program has set up
	}
	signals := make(chan os.Signal, 1)
	notify(signals)
	defer signal.Stop(signals)
	signaled := p.closeOn(signals, ln)
	err = serve(ln)
	until := signaled()
	if until.IsZero() {
		return err
	}
	return p.shutdown(until)
}

func (p *Prefork) shutdown(until time.Time) error {
	ctx, cancel := context.WithDeadline(context.Background(), until)
	defer cancel()
	return p.server.ShutdownWithContext(ctx)
}

// masterDied calls OnMasterDeath. If that panics, the child goes on.
func (p *Prefork) masterDied() {
	defer func() {
		if r := recover(); r != nil {
			p.logf("prefork: OnMasterDeath panicked: %v\n%s", r, debug.Stack())
		}
	}()
	p.OnMasterDeath()
}

// closeOn closes ln at the first of signals, so that serving it ends. With a DrainTime
// the server closes ln after that time. The caller calls the returned function when
// serving has ended. The function returns the time by which the server must end, or the
// zero time if there was no signal.
//
// The caller must then shut the server down, again if closeOn did so: a shutdown before
// the server began to serve has no effect.
func (p *Prefork) closeOn(signals <-chan os.Signal, ln net.Listener) (signaled func() (until time.Time)) {
	quit, result := make(chan struct{}), make(chan time.Time, 1)
	go func() {
		select {
		case <-signals:
			until := time.Now().Add(p.gracePeriod())
			if p.server.DrainTime > 0 {
				_ = p.shutdown(until)
			}
			ln.Close()
			result <- until
		case <-quit:
			result <- time.Time{}
		}
	}()
	return func() time.Time {
		close(quit)
		return <-result
	}
}

// notify asks for the signals that end a process, except those that the process ignores.
func notify(c chan<- os.Signal) {
	for _, s := range []os.Signal{os.Interrupt, syscall.SIGTERM} {
		if !signal.Ignored(s) {
			signal.Notify(c, s)
		}
	}
}

// deathInterval is how often a child checks whether its master lives.
const deathInterval = 250 * time.Millisecond
