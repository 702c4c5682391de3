package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"github.com/galehttp/gale"
	"github.com/galehttp/gale/internal/sockopt"
)

var serveCommand = command{
	name:  "serve",
	short: "serve a folder",
	long: `usage: gale serve [flags] DIR

Serve answers GET and HEAD requests with the files in DIR. For a folder it sends
its index.html or, without one, a listing. It supports byte ranges, conditional
requests and compression. Files whose names begin with a dot are hidden, and
symbolic links that lead out of DIR aren't followed.

It prints the URLs to open to the standard output, and logs a line for each
request to the standard error. SIGTERM ends it: it keeps serving for the time of
-drain, and each answer tells its client not to use the connection again. Then
it waits for running requests and exits. An interrupt (Ctrl-C) does the same
without -drain. A second signal ends it at once.

Flags may come before or after DIR, with one dash or two. They are:

`,
	run:   runServe,
	flags: func() string { return serveFlagsHelp() },
}

// runServe serves until a signal ends it.
func runServe(args []string, stdout, stderr io.Writer) error {
	cfg, err := parseServeFlags(args)
	if err != nil {
		return err
	}
	logger := cfg.newLogger(stderr)
	// From here on signals are handled: everything that is opened must be closed.
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, endSignals()...)
	defer signal.Stop(signals)
	tls, err := cfg.loadTLS()
	if err != nil {
		return err
	}
	ln, err := listen(cfg.addr)
	if err != nil {
		return err
	}
	defer ln.Close()
	compressDir, remove, err := cfg.compressDir()
	if err != nil {
		return err
	}
	defer remove()

	s := cfg.newServer(compressDir, logger)
	done := make(chan error, 1)
	go func() { done <- tls.serve(s, ln) }()
	banner(stdout, cfg, ln.Addr(), tls)

	select {
	case err := <-done:
		return fmt.Errorf("serving ended: %w", err)
	case sig := <-signals:
		return shutdown(s, drainFor(sig, cfg.drain), cfg.shutdownGrace, signals, logger)
	}
}

// drainFor returns how long to drain after sig: d for SIGTERM, and 0 for others, such as
// an interrupt from a terminal.
func drainFor(sig os.Signal, d time.Duration) time.Duration {
	if sig != syscall.SIGTERM {
		return 0
	}
	return d
}

// endSignals are the signals that end the process. A hangup signal that is ignored,
// as under nohup, stays ignored.
func endSignals() []os.Signal {
	sigs := []os.Signal{os.Interrupt, syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) {
		sigs = append(sigs, syscall.SIGHUP)
	}
	return sigs
}

// errStopped is the error after a second signal.
var errStopped = errors.New("stopped before all requests were answered")

// shutdown drains, then waits for running requests, at most for grace. The next
// signal ends the wait.
func shutdown(s *gale.Server, drain, grace time.Duration, signals <-chan os.Signal, logger *slog.Logger) error {
	logger.Info("shutting down", "connections", s.GetOpenConnectionsCount(), "drain", drain.String(), "grace", grace.String())
	ctx, cancel := context.WithTimeout(context.Background(), drain+grace)
	defer cancel()
	done := make(chan error, 1)
	go func() {
		if drain == 0 {
			now, cancel := context.WithCancel(ctx)
			cancel()
			_ = s.ShutdownWithContext(now) // ends the drain
		}
		done <- s.ShutdownWithContext(ctx)
	}()
	select {
	case err := <-done:
		if !errors.Is(err, context.DeadlineExceeded) {
			return err
		}
		logger.Warn("connections cut", "connections", s.GetOpenConnectionsCount(), "grace", grace.String())
		return s.Close()
	case <-signals:
		_ = s.Close()
		return errStopped
	}
}

// newServer returns the server for cfg.
func (cfg *serveConfig) newServer(compressDir string, logger *slog.Logger) *gale.Server {
	return &gale.Server{
		Handler:      cfg.newHandler(compressDir, logger),
		Name:         "gale",
		Engine:       cfg.engine,
		Concurrency:  cfg.maxConns,
		DrainTime:    cfg.drain,
		IdleTimeout:  time.Minute,
		ReadTimeout:  time.Minute,
		WriteTimeout: time.Minute,
		Slog:         logger,
		// File requests need no bodies; up to this size they are read, to keep the
		// connection.
		MaxRequestBodySize: 1 << 20,
	}
}

// listen listens on addr. If it can't, the error says what to do.
func listen(addr string) (net.Listener, error) {
	ln, err := net.Listen(sockopt.NetworkFor("tcp", addr), addr)
	switch {
	case err == nil:
		return ln, nil
	case errors.Is(err, syscall.EADDRINUSE):
		return nil, usagef("%s is in use: stop the program that listens there, or choose another port with -addr", addr)
	case errors.Is(err, syscall.EACCES):
		return nil, usagef("no permission to listen on %s: choose a port from 1024 up with -addr", addr)
	case errors.Is(err, syscall.EADDRNOTAVAIL):
		return nil, usagef("%s isn't an address of this machine: choose another with -addr", addr)
	}
	return nil, usagef("can't listen on %q: %v; write -addr as host:port or :port", addr, err)
}

// compressDir makes a folder for compressed copies, which remove removes. They must
// not be written into the served folder.
func (cfg *serveConfig) compressDir() (dir string, remove func(), err error) {
	if !cfg.compress {
		return "", func() {}, nil
	}
	dir, err = os.MkdirTemp("", "gale-serve-")
	if err != nil {
		return "", nil, usagef("can't make a folder for compressed files: %v; set TMPDIR to a writable folder, or use -compress=false", err)
	}
	return dir, func() { _ = os.RemoveAll(dir) }, nil
}

// checkDir returns the absolute path of the folder to serve.
func checkDir(dir string) (string, error) {
	info, err := os.Stat(dir)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return "", usagef("there is no folder %q: check the spelling", dir)
	case errors.Is(err, os.ErrPermission):
		return "", usagef("no permission to read %q", dir)
	case err != nil:
		return "", usagef("can't serve %q: %v", dir, err)
	case !info.IsDir():
		return "", usagef("%q isn't a folder: name the folder that it is in", dir)
	}
	f, err := os.Open(dir)
	if err != nil {
		return "", usagef("can't read the folder %q: check its permissions", dir)
	}
	_ = f.Close()
	return filepath.Abs(dir)
}
