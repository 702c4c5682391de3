package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/galehttp/gale"
)

// serveConfig holds the flags and arguments of "gale serve".
type serveConfig struct {
	dir           string // absolute
	address       addressFlags
	unix          unixFlags
	open          bool
	qr            choiceFlag
	tlsCert       string
	tlsKey        string
	tlsSelfSigned bool
	fields        fieldsFlag
	index         indexFlag
	cache         time.Duration
	noListing     bool
	cleanURLs     bool
	spa           bool
	cors          corsFlag
	auth          authConfig
	hosts         hostsConfig
	compress      bool
	maxConns      int
	drain         time.Duration
	shutdownGrace time.Duration
	dotfiles      bool
	engine        gale.Engine
	log           logFlag
	upload        uploadConfig
	zip           bool
}

// flagSet returns the flags, bound to cfg. Their defaults are cfg's values.
func (cfg *serveConfig) flagSet() *flag.FlagSet {
	fs := flag.NewFlagSet("serve", flag.ContinueOnError)
	fs.SetOutput(io.Discard)
	cfg.listenFlags(fs)
	cfg.fileFlags(fs)
	cfg.accessFlags(fs)
	cfg.uploadFlags(fs)
	cfg.zipFlags(fs)
	cfg.logFlags(fs)
	cfg.lifeFlags(fs)
	return fs
}

// listenFlags are about the address, TLS and connections.
func (cfg *serveConfig) listenFlags(fs *flag.FlagSet) {
	cfg.address.flags(fs)
	cfg.unix.flags(fs)
	fs.BoolVar(&cfg.open, "open", false, "open the first URL in the browser")
	fs.Var(&cfg.qr, "qr", "show a QR code of the URL for a phone, or -qr=false for none; by default on a terminal")
	fs.TextVar(&cfg.engine, "engine", cfg.engine, "serve with this `engine`: auto, block (one goroutine per connection) or event (goroutines for requests only; Linux)")
	fs.Var((*count)(&cfg.maxConns), "max-conns", "serve at most `n` connections at a time; 0 means the library's default")
	fs.StringVar(&cfg.tlsCert, "tls-cert", "", "serve HTTPS with the certificate chain in this PEM `file`; needs -tls-key")
	fs.StringVar(&cfg.tlsKey, "tls-key", "", "the private key of -tls-cert, a PEM `file`")
	fs.BoolVar(&cfg.tlsSelfSigned, "tls-self-signed", false, "serve HTTPS with a certificate made for this run")
}

// fileFlags say which files are served, and how.
func (cfg *serveConfig) fileFlags(fs *flag.FlagSet) {
	fs.BoolVar(&cfg.compress, "compress", true, "compress files that get smaller (br, zstd, gzip), for clients that accept it")
	fs.BoolVar(&cfg.dotfiles, "dotfiles", false, "serve files and folders whose names begin with a dot")
	fs.BoolVar(&cfg.spa, "spa", false, "answer paths that don't exist with the index page of the folder, for single-page applications")
	fs.BoolVar(&cfg.cleanURLs, "clean-urls", false, "serve about.html as /about, and redirect /about.html there")
	fs.Var(&cfg.index, "index", "the `names` of index pages, separated by commas; may be given several times (default index.html)")
	fs.BoolVar(&cfg.noListing, "no-listing", false, "answer 403 for a folder without an index page")
	fs.Var((*duration)(&cfg.cache), "cache", "let clients use a file for this `duration` without asking whether it has changed")
	fs.Var(&cfg.fields, "header", "send this `field`, as in 'Name: value', with every answer; may be given several times")
}

// accessFlags say who may read.
func (cfg *serveConfig) accessFlags(fs *flag.FlagSet) {
	cfg.authFlags(fs)
	cfg.hosts.flags(fs)
	fs.Var(&cfg.cors, "cors", "let web pages of all origins read the files, or of one origin with -cors=`origin`")
}

// lifeFlags say how the command ends.
func (cfg *serveConfig) lifeFlags(fs *flag.FlagSet) {
	cfg.drain = time.Second
	fs.Var((*duration)(&cfg.drain), "drain", "keep serving for this `duration` after SIGTERM, and tell clients to close their connections")
	cfg.shutdownGrace = 10 * time.Second
	fs.Var((*duration)(&cfg.shutdownGrace), "shutdown-grace", "wait at most this `duration` for running requests when told to end")
}

// parseServeFlags reads args and checks everything that can be checked before
// a port is opened.
func parseServeFlags(args []string) (*serveConfig, error) {
	cfg := &serveConfig{log: logText}
	dirs, err := parseInterleaved(cfg.flagSet(), args)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return nil, errHelp
	case err != nil:
		why := strings.Replace(err.Error(), ": parse error", ": want true or false", 1) // only the flag types of package flag say so
		return nil, usagef("%s; see 'gale help serve'", why)
	case len(dirs) == 0:
		dirs = []string{"."}
	case len(dirs) > 1:
		return nil, usagef("give one folder, not %d: %q", len(dirs), dirs)
	}
	if cfg.dir, err = checkDir(dirs[0]); err != nil {
		return nil, err
	}
	if err = cfg.address.resolve(); err != nil {
		return nil, err
	}
	return cfg, cfg.check()
}

// parseInterleaved parses flags that may come before and after the arguments,
// which it returns.
func parseInterleaved(fs *flag.FlagSet, args []string) (rest []string, err error) {
	for len(args) > 0 {
		if err := fs.Parse(args); err != nil {
			return nil, err
		}
		if n := len(args) - fs.NArg(); n > 0 && args[n-1] == "--" {
			return append(rest, fs.Args()...), nil
		}
		args = fs.Args()
		if len(args) > 0 {
			rest, args = append(rest, args[0]), args[1:]
		}
	}
	return rest, nil
}

// check finds settings that contradict each other or the folder.
func (cfg *serveConfig) check() error {
	switch {
	case cfg.tlsSelfSigned && (cfg.tlsCert != "" || cfg.tlsKey != ""):
		return usagef("use either -tls-self-signed or -tls-cert and -tls-key")
	case cfg.tlsCert == "" && cfg.tlsKey != "":
		return usagef("-tls-key needs -tls-cert, the file with the certificate")
	case cfg.tlsCert != "" && cfg.tlsKey == "":
		return usagef("-tls-cert needs -tls-key, the file with its private key")
	case cfg.maxConns < 0:
		return usagef("-max-conns can't be negative")
	case cfg.drain < 0:
		return usagef("-drain can't be negative")
	case cfg.shutdownGrace < 0:
		return usagef("-shutdown-grace can't be negative")
	}
	if err := cfg.auth.check(); err != nil {
		return err
	}
	if err := cfg.checkListening(); err != nil {
		return err
	}
	if err := cfg.checkUpload(); err != nil {
		return err
	}
	return cfg.checkFolder()
}

// checkFolder finds settings that contradict the folder.
func (cfg *serveConfig) checkFolder() error {
	switch {
	case cfg.cache < 0:
		return usagef("-cache can't be negative")
	case cfg.cache%time.Second != 0:
		return usagef("-cache counts whole seconds")
	case !cfg.spa:
		return nil
	}
	for _, name := range cfg.index.names() {
		if info, err := os.Stat(filepath.Join(cfg.dir, name)); err == nil && info.Mode().IsRegular() {
			return nil
		}
	}
	return usagef("-spa needs the file %q: build the application first, or leave -spa out", filepath.Join(cfg.dir, cfg.index.names()[0]))
}

// serveFlagsHelp describes the flags.
func serveFlagsHelp() string {
	var b strings.Builder
	cfg := &serveConfig{log: logText}
	cfg.flagSet().VisitAll(func(f *flag.Flag) {
		name, usage := flag.UnquoteUsage(f)
		fmt.Fprintf(&b, "\t-%s", f.Name)
		switch _, optional := f.Value.(*corsFlag); {
		case optional:
			fmt.Fprintf(&b, "[=%s]", name)
		case name != "":
			fmt.Fprintf(&b, " %s", name)
		}
		fmt.Fprintf(&b, "\n\t\t%s", usage)
		if f.DefValue != "" && f.DefValue != "false" && f.DefValue != "0" {
			fmt.Fprintf(&b, " (default %s)", f.DefValue)
		}
		b.WriteByte('\n')
	})
	return b.String()
}

// corsFlag is the origin that may read the files; "*" means all. It can be given
// without a value.
type corsFlag string

func (f *corsFlag) String() string   { return string(*f) }
func (f *corsFlag) IsBoolFlag() bool { return true }

func (f *corsFlag) Set(s string) error {
	switch {
	case s == "true":
		s = "*"
	case s == "false":
		s = ""
	case s == "*":
	case !strings.Contains(s, "://") || strings.ContainsAny(s, " \t\r\n,;") || strings.HasSuffix(s, "/"):
		return errors.New("write an origin as in https://example.com")
	}
	*f = corsFlag(s)
	return nil
}

// choiceFlag is true, false, or unset.
type choiceFlag string

func (f *choiceFlag) String() string   { return string(*f) }
func (f *choiceFlag) IsBoolFlag() bool { return true }

func (f *choiceFlag) Set(s string) error {
	b, err := strconv.ParseBool(s)
	if err != nil {
		return errors.New("want true or false")
	}
	*f = choiceFlag(strconv.FormatBool(b))
	return nil
}

// or returns the choice, or def if it is unset.
func (f choiceFlag) or(def bool) bool {
	if f == "" {
		return def
	}
	return f == "true"
}

// indexFlag holds the names of index pages.
type indexFlag []string

func (f *indexFlag) String() string { return "" }

func (f *indexFlag) Set(s string) error {
	for name := range strings.SplitSeq(s, ",") {
		name = strings.TrimSpace(name)
		if name == "" || name == "." || name == ".." || strings.ContainsAny(name, "/\\\x00") {
			return errors.New("want names of files without a folder, such as index.html,index.htm")
		}
		*f = append(*f, name)
	}
	return nil
}

// names returns the names, or the default.
func (f indexFlag) names() []string {
	if len(f) == 0 {
		return []string{"index.html"}
	}
	return f
}

// duration is a flag like the one of package flag, but its error says what to
// write.
type duration time.Duration

func (d *duration) String() string { return time.Duration(*d).String() }

func (d *duration) Set(s string) error {
	v, err := time.ParseDuration(s)
	if err != nil {
		return errors.New("want a number with a unit, such as 10s or 1m30s")
	}
	*d = duration(v)
	return nil
}

// count is a number of things, given in decimal.
type count int

func (c *count) String() string { return strconv.Itoa(int(*c)) }

func (c *count) Set(s string) error {
	n, err := strconv.Atoi(s)
	if err != nil {
		return errors.New("want a whole number, such as 1000")
	}
	*c = count(n)
	return nil
}
