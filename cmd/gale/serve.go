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

Serve answers GET and HEAD requests with the files in DIR. A folder is answered
with its index.html or, without one, with a list of what is in it. Ranges,
conditional requests and compression are understood. Files whose names begin
with a dot are hidden, and symbolic links that lead out of DIR aren't followed.

It writes the addresses to open to the standard output and a line for each
request to the standard error. SIGTERM ends it: it serves on for the time of
-drain, while each answer tells its client not to use the connection again,
and ends once the requests under way are answered. An interrupt (Ctrl-C)
does so without -drain. A second signal ends it at once.

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
	// Signals are ours from here on: what is opened now must be closed.
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

// drainFor returns how long to drain because of sig: not for a person at a terminal.
func drainFor(sig os.Signal, d time.Duration) time.Duration {
	if sig != syscall.SIGTERM {
		return 0
	}
	return d
}

// endSignals are the signals that end the process. A hang-up that is ignored,
// as under nohup, stays ignored.
func endSignals() []os.Signal {
	sigs := []os.Signal{os.Interrupt, syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) {
		sigs = append(sigs, syscall.SIGHUP)
	}
	return sigs
}

// errStopped is for a second signal.
var errStopped = errors.New("stopped before all requests were answered")

// shutdown drains, and waits for running requests, at most for grace and until the
// next signal.
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

// newServer returns the server that cfg asks for.
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
		// Files take no bodies; this much is read to keep the connection.
		MaxRequestBodySize: 1 << 20,
	}
}

// listen opens addr and tells what to do where it can't.
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

// compressDir makes a folder for compressed copies, which remove removes: they
// don't belong into a folder that is only served.
func (cfg *serveConfig) compressDir() (dir string, remove func(), err error) {
	if !cfg.compress {
		return "", func() {}, nil
	}
	dir, err = os.MkdirTemp("", "gale-serve-")
	if err != nil {
		return "", nil, usagef("no place for compressed files: %v; set TMPDIR to a folder that can be written, or use -compress=false", err)
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
