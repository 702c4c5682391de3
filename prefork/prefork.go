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
	// fasthttp's name, because programs and frameworks written for fasthttp set it.
	childVar = "FASTHTTP_PREFORK_CHILD"

	// masterVar is the environment variable that tells a child the process id of its master.
	masterVar = "GALE_PREFORK_MASTER"

	// defaultGracePeriod is how long children may take to end.
	defaultGracePeriod = 5 * time.Second
)

// defaultNetwork is the network of a Prefork that doesn't set one. The module
// compat/fasthttp sets it to fasthttp's, "tcp4", by name (go:linkname), when the program
// starts.
var defaultNetwork = "tcp"

// Errors of the ListenAndServe methods in the master.
var (
	// ErrOverRecovery: more children ended than RecoverThreshold allows.
	ErrOverRecovery = errors.New("prefork: exceeding the value of recoverthreshold")
	// ErrOnlyReuseportOnWindows: Windows can't pass listeners to children; set Reuseport.
	ErrOnlyReuseportOnWindows = errors.New("prefork: windows only supports reuseport = true")
	// ErrCommandProducerNilCmd: a CommandProducer returned neither a command nor
	// an error.
	ErrCommandProducerNilCmd = errors.New("prefork: commandproducer returned nil command")
	// ErrCommandProducerNotStarted: a CommandProducer returned a command
	// without having started it.
	ErrCommandProducerNotStarted = errors.New("prefork: commandproducer must return a started command")
)

// IsChild reports whether this process is a child, which the master starts with
// FASTHTTP_PREFORK_CHILD=1 in the environment. The variable has fasthttp's name, so programs
// still work that set it, or that read it before they serve.
//
// While a ListenAndServe method runs in a child, the variable isn't in the environment, so
// programs that the child starts then aren't children. IsChild stays true. So what may run
// then, such as a handler, must call IsChild and can't read the variable.
func IsChild() bool { return own.hidden() || os.Getenv(childVar) == "1" }

// Logger writes log lines. gale.Logger has the same methods.
type Logger interface {
	// Printf writes a line, formatted as by log.Printf.
	Printf(format string, args ...any)
}

// Prefork runs a server as several processes. New makes one. A zero Prefork with
// ServeFunc is ready for use too.
//
// Don't change fields after a ListenAndServe method was called, and don't call a method
// twice. All hooks except OnMasterDeath are called in the master.
type Prefork struct {
	// Logger receives the log of the master: which children ended, and why. If it is nil,
	// the log goes to standard error.
	Logger Logger

	// ServeFunc, ServeTLSFunc and ServeTLSEmbedFunc serve the connections of ln in a
	// child, for ListenAndServe, ListenAndServeTLS and ListenAndServeTLSEmbed. New sets
	// them to the methods of the server. If the one that is needed is nil, that method
	// returns an error in the child; fasthttp's panics.
	ServeFunc         func(ln net.Listener) error
	ServeTLSFunc      func(ln net.Listener, certFile, keyFile string) error
	ServeTLSEmbedFunc func(ln net.Listener, certData, keyData []byte) error

	// Network is "tcp4", "tcp6" or "tcp". If empty, it is "tcp" (in programs that import
	// the compat module, "tcp4"). With "tcp", an address without a host means IPv4 and
	// IPv6. An IPv4 address, such as 0.0.0.0, means IPv4 only.
	Network string

	// RecoverThreshold is how many children may end in total, for whatever reason, and
	// are replaced. When one more ends, the master stops with ErrOverRecovery. New sets
	// it to half of GOMAXPROCS, but at least to 1. 0 or negative means that no child may
	// end.
	RecoverThreshold int

	// RecoverInterval is how long the master waits before it replaces a child that ended.
	// If several end, their waits overlap. 0 or negative means no wait.
	RecoverInterval time.Duration

	// ShutdownGracePeriod is how long children may take to end after SIGTERM before they
	// are killed. If 0 or negative, it is 5 seconds. The DrainTime of the server given to
	// New is added. On Windows, which has no such signal, children are killed at once.
	ShutdownGracePeriod time.Duration

	// Reuseport makes each child open its own listener with SO_REUSEPORT instead of
	// sharing the master's. On Windows the port must then not be 0.
	Reuseport bool

	// OnMasterDeath, if set, is called in a child when its master has died without ending
	// the child, such as by SIGKILL. It is called within half a second, on its own
	// goroutine. Usually it is func() { os.Exit(1) }. Without it, children go on serving.
	OnMasterDeath func()

	// OnChildSpawn is called with the process id of each child that was started,
	// including those that replace others. If it returns an error, all children are ended
	// and ListenAndServe returns the error.
	//
	// It is called on the goroutine of the master, like OnMasterReady and OnChildRecover:
	// they must not block and must not call methods of the Prefork.
	OnChildSpawn func(pid int) error

	// OnMasterReady is called once, when the first children were started, with their
	// process ids. The slice is valid during the call. If it returns an error, all
	// children are ended and ListenAndServe returns the error.
	OnMasterReady func(childPIDs []int) error

	// OnChildRecover is called after OnChildSpawn when a new child has replaced one that
	// ended.
	OnChildRecover func(oldPID, newPID int)

	// CommandProducer, if set, starts a child: it returns a command whose
	// Start method was called, and must not wait for it. The master calls Wait. If Stdout or
	// Stderr isn't an *os.File, Wait waits until no process has the output open; so that this
	// ends, the master sets WaitDelay, unless it is set or the command has a context, to one
	// second, or half of the grace period if that is shorter.
	//
	// The child's environment must have FASTHTTP_PREFORK_CHILD=1. files must be the
	// command's ExtraFiles; they belong to the master. The list is empty with Reuseport
	// and a port other than 0. By default the running program is started again, with the
	// same arguments, environment, standard output and standard error.
	CommandProducer func(files []*os.File) (*exec.Cmd, error)

	server *gale.Server // of New: shut down on a signal
}

// New returns a Prefork for s. Don't use s in any other way. The Prefork logs to the
// Logger or Slog of s and serves with its methods. When a signal ends the process, s is
// shut down gracefully.
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
// In the master it starts the children and blocks until a signal ends it (then it returns
// nil), too many children have ended (ErrOverRecovery), a child can't be started, or a
// hook returns an error. When it returns, all children have ended; those that didn't end
// in time were killed. In a child it blocks as ServeFunc does.
func (p *Prefork) ListenAndServe(addr string) error {
	return p.run(addr, "ServeFunc", p.ServeFunc != nil, func(ln net.Listener) error {
		return p.ServeFunc(ln)
	})
}

// ListenAndServeTLS is ListenAndServe for HTTPS. The PEM files certFile and certKey have
// the certificate and its key.
//
// Note the order: the key comes before the certificate, as in fasthttp, and unlike in
// gale.Server.ListenAndServeTLS.
func (p *Prefork) ListenAndServeTLS(addr, certKey, certFile string) error {
	return p.run(addr, "ServeTLSFunc", p.ServeTLSFunc != nil, func(ln net.Listener) error {
		return p.ServeTLSFunc(ln, certFile, certKey)
	})
}

// ListenAndServeTLSEmbed is ListenAndServe for HTTPS. certData and keyData are the
// certificate and the key in PEM form.
func (p *Prefork) ListenAndServeTLSEmbed(addr string, certData, keyData []byte) error {
	return p.run(addr, "ServeTLSEmbedFunc", p.ServeTLSEmbedFunc != nil, func(ln net.Listener) error {
		return p.ServeTLSEmbedFunc(ln, certData, keyData)
	})
}

// run runs the master or a child. field is the name of the field that serve calls; isSet
// says whether the field is not nil.
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

// gracePeriod is how long children may take to end, including DrainTime.
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
	defer func() { _ = recover() }() // a log that panics must not end the master, which has children
	p.Logger.Printf(format, args...)
}

// slogLogger writes lines as records.
type slogLogger struct{ to *slog.Logger }

func (l slogLogger) Printf(format string, args ...any) { l.to.Info(fmt.Sprintf(format, args...)) }
