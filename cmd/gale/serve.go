package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"github.com/galehttp/gale"
)

var serveCommand = command{
	name:  "serve",
	short: "serve a folder",
	long: `usage: gale serve [flags] [DIR]

Serve answers GET and HEAD requests with the files in DIR. Without DIR it serves
the working directory. For a folder it sends its index.html or, without one, a
listing. It supports byte ranges, conditional requests and compression. Files
whose names begin with a dot are hidden, and symbolic links that lead out of DIR
aren't followed.

With -upload, PUT and POST requests store files in DIR. With -zip, the address
of a folder with ?zip sends an archive of it.

It prints the URLs to open to the standard output, and logs a line for each
request to the standard error. SIGTERM ends it: it keeps serving for the time of
-drain, and each answer tells its client not to use the connection again. Then
it waits for running requests and exits. An interrupt (Ctrl-C) does the same
without -drain. A second signal ends it at once.

Flags may come before or after DIR, with one dash or two. They are:

`,
	run:   runServe,
	flags: func() string { return serveFlagsHelp() },

	flagSet:  func() *flag.FlagSet { return (&serveConfig{log: "text"}).flagSet() },
	argument: folderValue,
}

// runServe serves until a signal ends it.
func runServe(args []string, stdout, stderr io.Writer) error {
	// From here on signals are handled: everything that is opened must be closed.
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, endSignals()...)
	defer signal.Stop(signals)
	cfg, err := parseServeFlags(args)
	if err != nil {
		return err
	}
	defer saveMemory()()
	log := cfg.openLog(stderr)
	defer log.close()
	logger := log.logger
	tls, err := cfg.loadTLS()
	if err != nil {
		return err
	}
	if err := cfg.auth.load(logger); err != nil {
		return err
	}
	ln, err := cfg.listen()
	if err != nil {
		return err
	}
	defer ln.Close()
	cfg.hosts.decide(cfg, ln.Addr())
	copies, err := cfg.makeCopiesDir()
	if err != nil {
		return err
	}
	defer copies.remove()

	s := cfg.newServer(copies.root, log)
	defer cfg.finishUploads()
	done := make(chan error, 1)
	go func() { done <- tls.serve(s, ln.Listener) }()
	if err := awaitServing(s, done); err != nil {
		return fmt.Errorf("serving ended: %w", err)
	}
	banner(stdout, cfg, ln, tls)
	if cfg.open {
		openBrowser(urls(ln.Addr(), tls.enabled())[0], logger)
	}
	go removeStale(os.TempDir())

	select {
	case err := <-done:
		return fmt.Errorf("serving ended: %w", err)
	case sig := <-signals:
		return shutdown(s, drainFor(sig, cfg.drain), cfg.shutdownGrace, signals, logger)
	}
}

// awaitServing waits until s serves. A shutdown before that would find nothing to drain,
// although clients can connect to the listener. done has the error if s can't serve.
func awaitServing(s *gale.Server, done <-chan error) error {
	for len(s.Stats().Listeners) == 0 {
		select {
		case err := <-done:
			return err
		case <-time.After(100 * time.Microsecond):
		}
	}
	return nil
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

// newServer returns the server for cfg, which logs its requests to log.
func (cfg *serveConfig) newServer(copies *os.Root, log *serveLog) *gale.Server {
	s := &gale.Server{
		Handler:      cfg.newHandler(copies, log.logger),
		BeforeSend:   log.requests(),
		Name:         "gale",
		Engine:       cfg.engine,
		Concurrency:  cfg.maxConns,
		DrainTime:    cfg.drain,
		IdleTimeout:  time.Minute,
		ReadTimeout:  time.Minute,
		WriteTimeout: time.Minute,
		Slog:         log.logger,
		// File requests need no bodies; up to this size they are read, to keep the
		// connection.
		MaxRequestBodySize: 1 << 20,
	}
	if cfg.upload.on {
		s.HeaderReceived = uploadRequest
	}
	return s
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
		return "", usagef("%q isn't a folder: serve the folder that it is in, %q", dir, filepath.Dir(dir))
	}
	f, err := os.Open(dir)
	if err != nil {
		return "", usagef("can't read the folder %q: check its permissions", dir)
	}
	_ = f.Close()
	return filepath.Abs(dir)
}
