package prefork

import (
	"errors"
	"fmt"
	"log"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"runtime"
	"time"

	"github.com/galehttp/gale"
	"github.com/galehttp/gale/internal/sockopt"
)

const (
	// childVar is the environment variable that makes a process a child. It has
	// the name that programs and frameworks made for fasthttp set.
	childVar = "FASTHTTP_PREFORK_CHILD"

	// defaultGracePeriod is how long children may take to end.
	defaultGracePeriod = 5 * time.Second
)

// defaultNetwork is that of a Prefork that names none. The module compat/fasthttp
// sets it to fasthttp's, "tcp4", by its name, when the program starts.
var defaultNetwork = "tcp"

// Errors of the ListenAndServe methods in the master.
var (
	// ErrOverRecovery: more children ended than RecoverThreshold allows.
	ErrOverRecovery = errors.New("prefork: exceeding the value of recoverthreshold")
	// ErrOnlyReuseportOnWindows: Windows can't hand listeners down; set
	// Reuseport.
	ErrOnlyReuseportOnWindows = errors.New("prefork: windows only supports reuseport = true")
	// ErrCommandProducerNilCmd: a CommandProducer returned neither a command nor
	// an error.
	ErrCommandProducerNilCmd = errors.New("prefork: commandproducer returned nil command")
	// ErrCommandProducerNotStarted: a CommandProducer returned a command
	// without having started it.
	ErrCommandProducerNotStarted = errors.New("prefork: commandproducer must return a started command")
)

// IsChild reports whether this process is a child: whether the environment says
// FASTHTTP_PREFORK_CHILD=1. The variable has fasthttp's name, so that programs
// that set or read it go on working.
func IsChild() bool { return os.Getenv(childVar) == "1" }

// Logger writes a line of log. gale.Logger has the same methods.
type Logger interface {
	// Printf has the meaning of log.Printf.
	Printf(format string, args ...any)
}

// Prefork says how a server is run as several processes. New makes one; a zero
// Prefork with ServeFunc is ready for use as well.
//
// Fields must not change once a ListenAndServe method was called, and no method
// may be called twice. All hooks are called in the master but OnMasterDeath.
type Prefork struct {
	// Logger takes what the master has to tell: children that ended, and why.
	// By default it goes to the standard error.
	Logger Logger

	// ServeFunc, ServeTLSFunc and ServeTLSEmbedFunc serve the connections of
	// ln in a child, each for the ListenAndServe method of its name. New sets
	// them to the methods of the server. Without the one that is needed a
	// child's ListenAndServe returns an error, where fasthttp's panics.
	ServeFunc         func(ln net.Listener) error
	ServeTLSFunc      func(ln net.Listener, certFile, keyFile string) error
	ServeTLSEmbedFunc func(ln net.Listener, certData, keyData []byte) error

	// Network is "tcp4", "tcp6" or "tcp"; "tcp" if empty, which listens on IPv4 and
	// IPv6 where the address names no host (under fasthttp's name "tcp4"). An address
	// of IPv4, such as 0.0.0.0, is listened on alone.
	Network string

	// RecoverThreshold is how many children may end in all, whatever the
	// reason, and are replaced. When one more ends the master gives up with
	// ErrOverRecovery. New sets it to half of GOMAXPROCS, but at least to 1;
	// 0 and less mean that no child may end.
	RecoverThreshold int

	// RecoverInterval is how long to wait before a child that ended is
	// replaced. Children wait side by side. 0 and less mean no wait.
	RecoverInterval time.Duration

	// ShutdownGracePeriod is how long children may take to end after SIGTERM
	// before they are killed, 5 seconds if 0 or less, and the DrainTime of the server
	// of New more. On Windows, which has no such signal, they are killed at once.
	ShutdownGracePeriod time.Duration

	// Reuseport has each child open a listener of its own with SO_REUSEPORT
	// instead of sharing that of the master. The port must not be 0.
	Reuseport bool

	// OnMasterDeath, if set, is called in a child once its master is gone
	// without having ended it, as after SIGKILL: within half a second, from a
	// goroutine of its own. func() { os.Exit(1) } is the usual one. Without it
	// children go on serving.
	OnMasterDeath func()

	// OnChildSpawn is called with the process id of each child that was
	// started, also of those that replace others. An error ends all: children
	// are ended and ListenAndServe returns it.
	//
	// As the next two it is called by the goroutine of the master: it must
	// neither block nor call methods of the Prefork.
	OnChildSpawn func(pid int) error

	// OnMasterReady is called once, when the first children were started,
	// with their process ids, which are valid during the call. An error ends
	// all, as that of OnChildSpawn.
	OnMasterReady func(childPIDs []int) error

	// OnChildRecover is called when a child that ended was replaced, after
	// OnChildSpawn.
	OnChildRecover func(oldPID, newPID int)

	// CommandProducer, if set, starts a child: it returns a command whose
	// Start method was called, and must not wait for it.
	//
	// The child's environment must have FASTHTTP_PREFORK_CHILD=1. files go
	// into ExtraFiles and belong to the master; the list is empty with
	// Reuseport and a port other than 0. By default the program that runs is started
	// again, with the same arguments, environment, standard output and standard error.
	CommandProducer func(files []*os.File) (*exec.Cmd, error)

	server *gale.Server // of New: shut down on a signal
}

// New returns a Prefork for s, which must not be used otherwise. It takes Logger,
// or Slog, and the Serve methods from s. s is shut down gracefully when the
// process is told to end.
func New(s *gale.Server) *Prefork {
	p := &Prefork{
		Network:           defaultNetwork,
		RecoverThreshold:  max(1, runtime.GOMAXPROCS(0)/2),
		ServeFunc:         s.Serve,
		ServeTLSFunc:      s.ServeTLS,
		ServeTLSEmbedFunc: s.ServeTLSEmbed,
		server:            s,
	}
	switch {
	case s.Logger != nil:
		p.Logger = s.Logger
	case s.Slog != nil:
		p.Logger = slogLogger{s.Slog}
	}
	return p
}

// ListenAndServe serves HTTP on the TCP address addr ("host:port").
//
// In the master it starts the children and blocks until a signal ends it (it
// returns nil then), until too many children ended (ErrOverRecovery), or until a
// child can't be started or a hook fails. All children have ended when it
// returns, if need be by force. In a child it blocks as ServeFunc does.
func (p *Prefork) ListenAndServe(addr string) error {
	return p.run(addr, "ServeFunc", p.ServeFunc != nil, func(ln net.Listener) error {
		return p.ServeFunc(ln)
	})
}

// ListenAndServeTLS serves HTTPS, with the certificate and the key in the PEM
// files certFile and keyFile, and is otherwise as ListenAndServe.
//
// The key comes before the certificate, as in fasthttp, and unlike in
// gale.Server.ListenAndServeTLS.
func (p *Prefork) ListenAndServeTLS(addr, certKey, certFile string) error {
	return p.run(addr, "ServeTLSFunc", p.ServeTLSFunc != nil, func(ln net.Listener) error {
		return p.ServeTLSFunc(ln, certFile, certKey)
	})
}

// ListenAndServeTLSEmbed serves HTTPS, with the certificate and the key in PEM
// form, and is otherwise as ListenAndServe.
func (p *Prefork) ListenAndServeTLSEmbed(addr string, certData, keyData []byte) error {
	return p.run(addr, "ServeTLSEmbedFunc", p.ServeTLSEmbedFunc != nil, func(ln net.Listener) error {
		return p.ServeTLSEmbedFunc(ln, certData, keyData)
	})
}

// run is what the process does, according to what it is. field is the field that
// serve calls, isSet whether there is a function in it.
func (p *Prefork) run(addr, field string, isSet bool, serve func(net.Listener) error) error {
	switch {
	case !IsChild():
		return p.supervise(addr)
	case !isSet:
		return fmt.Errorf("prefork: Prefork.%s is nil: set it, or make the Prefork with New", field)
	}
	return p.serveChild(addr, serve)
}

// network returns the network to listen on addr with.
func (p *Prefork) network(addr string) string {
	network := p.Network
	if network == "" {
		network = defaultNetwork
	}
	return sockopt.NetworkFor(network, addr)
}

// gracePeriod is how long children may take to end, with the time for draining.
func (p *Prefork) gracePeriod() time.Duration {
	grace := p.ShutdownGracePeriod
	if grace <= 0 {
		grace = defaultGracePeriod
	}
	if p.server != nil && p.server.DrainTime > 0 {
		grace += p.server.DrainTime
	}
	return grace
}

func (p *Prefork) logf(format string, args ...any) {
	if p.Logger == nil {
		log.New(os.Stderr, "", log.LstdFlags).Printf(format, args...)
		return
	}
	defer func() { _ = recover() }() // the children must not be left alone for a log
	p.Logger.Printf(format, args...)
}

// slogLogger makes lines into records.
type slogLogger struct{ to *slog.Logger }

func (l slogLogger) Printf(format string, args ...any) { l.to.Info(fmt.Sprintf(format, args...)) }
