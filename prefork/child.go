package prefork

import (
	"context"
	"net"
	"os"
	"os/signal"
	"runtime"
	"runtime/debug"
	"syscall"
	"time"
)

// parent is the process that started this one. If it is another one later, the
// first has died.
var parent = os.Getppid()

// serveChild is the work of a child.
func (p *Prefork) serveChild(addr string, serve func(net.Listener) error) error {
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
		return serve(ln) // a signal ends the process as it is set up to
	}
	signals := make(chan os.Signal, 1)
	notify(signals)
	defer signal.Stop(signals)
	signaled := closeOn(signals, ln)
	err = serve(ln)
	if !signaled() {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), p.gracePeriod())
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

// closeOn has the first of signals close ln, so that serving it ends.
// The function that it returns is called when that has ended, and tells whether
// there was a signal.
//
// The server is shut down only then: a shutdown that comes before it begins to
// serve would be none.
func closeOn(signals <-chan os.Signal, ln net.Listener) (signaled func() bool) {
	quit, result := make(chan struct{}), make(chan bool, 1)
	go func() {
		select {
		case <-signals:
			ln.Close()
			result <- true
		case <-quit:
			result <- false
		}
	}()
	return func() bool {
		close(quit)
		return <-result
	}
}

// notify asks for the signals that end a process, except those that it was told to
// ignore.
func notify(c chan<- os.Signal) {
	for _, s := range []os.Signal{os.Interrupt, syscall.SIGTERM} {
		if !signal.Ignored(s) {
			signal.Notify(c, s)
		}
	}
}

// deathInterval is how often a child looks whether its master lives.
const deathInterval = 250 * time.Millisecond
