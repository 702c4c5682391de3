package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
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
	early := make(chan os.Signal, 1)
	signal.Notify(early, endSignals()...)
	defer signal.Stop(early)
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
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	runner := &gale.Runner{
		ShutdownTimeout: max(cfg.shutdownGrace, 1), // 0 is the default of Runner
		Signals:         endSignals(),
		NoDrain:         []os.Signal{os.Interrupt, syscall.SIGHUP},
		Ready: func() {
			banner(stdout, cfg, ln, tls)
			if cfg.open {
				openBrowser(urls(ln.Addr(), tls.enabled())[0], logger)
			}
			go removeStale(os.TempDir())
			if len(early) > 0 {
				cancel()
			}
		},
		Stopping: func(sig os.Signal) {
			logger.Info("shutting down", "connections", s.GetOpenConnectionsCount(), "signal", fmt.Sprint(sig),
				"drain", cfg.drain.String(), "grace", cfg.shutdownGrace.String())
		},
	}
	err = runner.Run(ctx, gale.Service{Server: s, Serve: func() error { return tls.serve(s, ln.Listener) }})
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		logger.Warn("requests cut", "error", err, "grace", cfg.shutdownGrace.String())
		return nil
	case err == nil, errors.Is(err, gale.ErrStopped):
		return err
	}
	return fmt.Errorf("serving ended: %w", err)
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
