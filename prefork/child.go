package prefork

import (
	"context"
	"net"
	"os"
	"os/signal"
	"runtime"
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
		go watchMaster(p.OnMasterDeath, ended)
	}
	if p.server == nil {
		return serve(ln) // a signal ends the process as it is set up to
	}
	stop := p.shutdownOnSignal()
	err = serve(ln)
	if told := stop(); told != nil {
		return *told
	}
	return err
}

// shutdownOnSignal has the first signal to end shut the server down. The function
// that it returns waits for a shutdown that has begun and returns its result, or
// nil if there was no signal.
func (p *Prefork) shutdownOnSignal() (stop func() *error) {
	signals := make(chan os.Signal, 1)
	notify(signals)
	quit, result := make(chan struct{}), make(chan *error, 1)
	go func() {
		select {
		case <-signals:
			ctx, cancel := context.WithTimeout(context.Background(), p.gracePeriod())
			defer cancel()
			err := p.server.ShutdownWithContext(ctx)
			result <- &err
		case <-quit:
			result <- nil
		}
	}()
	return func() *error {
		close(quit)
		told := <-result
		signal.Stop(signals)
		return told
	}
}

// notify asks for the signals that end a process, but for those that it was told
// to ignore.
func notify(c chan<- os.Signal) {
	for _, s := range []os.Signal{os.Interrupt, syscall.SIGTERM} {
		if !signal.Ignored(s) {
			signal.Notify(c, s)
		}
	}
}

// deathInterval is how often a child looks whether its master lives.
const deathInterval = 250 * time.Millisecond
