package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/galehttp/gale/cmd/gale/internal/requests"
)

// benchConfig holds the flags and arguments of "gale bench".
type benchConfig struct {
	urls []string // in the order of the command line, with their options

	connections     int
	requests        int
	duration        time.Duration
	threads         int // 0: chosen by the command
	pipeline        int
	noKeepAlive     bool
	requestsPerConn int
	think           time.Duration
	rate            rateFlag
	warmUp          time.Duration
	timeout         time.Duration
	connectTimeout  time.Duration

	method    string
	fields    listFlag
	cookies   listFlag
	body      requests.Body
	dataFile  string
	dataOrder orderFlag
	expect    listFlag

	http2        bool
	streams      int
	insecure     bool
	caCert       string
	cert, key    string
	tlsMin       tlsVersionFlag
	tlsMax       tlsVersionFlag
	noResumption bool
	unix         string
	sources      listFlag

	pid   int
	cmd   string
	goURL string

	name   string
	json   string
	csv    string
	report string
	quiet  bool

	given map[string]bool // the names of the flags that were given
}

// Defaults of "gale bench".
const (
	defaultConnections = 64
	defaultDuration    = 10 * time.Second
	defaultTimeout     = 10 * time.Second
)

// flagGroup is a part of the help text.
type flagGroup struct {
	title string
	flags string // their names, in order
}

// benchGroups has every flag once.
var benchGroups = []flagGroup{
	{"How much is sent", "c n d t rate warmup pipeline think no-keepalive requests-per-conn timeout connect-timeout"},
	{"What is sent", "X method H header cookie body body-file form url data data-order"},
	{"What is expected", "expect"},
	{"Over which connections", "http2 streams insecure cacert cert key tls-min tls-max no-resumption unix source"},
	{"The server's process", "pid cmd go"},
	{"Results", "q name json csv report"},
}

// flagSet returns the flags, bound to cfg.
func (cfg *benchConfig) flagSet() *flag.FlagSet {
	fs := flag.NewFlagSet("bench", flag.ContinueOnError)
	fs.SetOutput(io.Discard)
	cfg.loadFlags(fs)
	cfg.requestFlags(fs)
	cfg.connectionFlags(fs)
	cfg.serverFlags(fs)
	cfg.resultFlags(fs)
	return fs
}

// loadFlags say how much is sent.
func (cfg *benchConfig) loadFlags(fs *flag.FlagSet) {
	cfg.connections, cfg.timeout, cfg.connectTimeout = defaultConnections, defaultTimeout, defaultTimeout
	fs.Var((*count)(&cfg.connections), "c", "use this `number` of connections")
	fs.Var((*count)(&cfg.requests), "n", "send exactly this `number` of requests")
	fs.Var((*duration)(&cfg.duration), "d", "send requests for this `duration`; 10s if neither -n nor -d is given, and whichever ends first if both are")
	fs.Var((*count)(&cfg.threads), "t", "use this `number` of threads; by default one for each CPU that the command may use")
	fs.Var(&cfg.rate, "rate", "open loop: send at this `rate` per second, and count latency from the time at which a request should have been sent. 1000:10000 rises evenly, 1000,2000,4000 takes steps of equal length, 1000x10s,2000x20s gives them their own")
	fs.Var((*duration)(&cfg.warmUp), "warmup", "send requests for this `duration` before those that are counted")
	fs.Var((*count)(&cfg.pipeline), "pipeline", "have this `number` of requests in flight on each connection (HTTP/1.1 and WebSocket); 1 without it")
	fs.Var((*duration)(&cfg.think), "think", "wait for this `duration` after a response before the connection's next request")
	fs.BoolVar(&cfg.noKeepAlive, "no-keepalive", false, "use a connection for one request only, which says Connection: close")
	fs.Var((*count)(&cfg.requestsPerConn), "requests-per-conn", "close a connection after this `number` of requests and open another one")
	fs.Var((*duration)(&cfg.timeout), "timeout", "give a request up after this `duration`; 0s waits forever")
	fs.Var((*duration)(&cfg.connectTimeout), "connect-timeout", "give a connection up that isn't ready after this `duration`; 0s waits forever")
}

// requestFlags say what is sent, and what is expected.
func (cfg *benchConfig) requestFlags(fs *flag.FlagSet) {
	for _, name := range []string{"X", "method"} {
		fs.StringVar(&cfg.method, name, "", "the `method` of the requests; without it GET, or POST if there is a body")
	}
	for _, name := range []string{"H", "header"} {
		fs.Var(&cfg.fields, name, "send this header `field`, as in 'Name: value'; may be given several times. It replaces the one that is sent without it: Host, User-Agent or Accept. An empty value leaves that out")
	}
	fs.Var(&cfg.cookies, "cookie", "send this `cookie`, as in name=value; may be given several times")
	fs.StringVar(&cfg.body.Text, "body", "", "send this `text` as the body, or as the message over a WebSocket; 64 bytes of text without it")
	fs.StringVar(&cfg.body.File, "body-file", "", "send the content of this `file` as the body, or as the message over a WebSocket")
	fs.Var((*listFlag)(&cfg.body.Form), "form", "send a multipart form with this `field`, as in name=value or name=@path for a file; may be given several times")
	fs.Var((*listFlag)(&cfg.urls), "url", "also send requests to this `URL`; may be given several times. 'URL weight=3' gets three times as many as one without a weight")
	fs.StringVar(&cfg.dataFile, "data", "", "replace {{name}} in URLs, fields, cookies and bodies by the column of that name in this CSV `file`, whose first row has the names. Each request uses the next row")
	fs.Var(&cfg.dataOrder, "data-order", "take the rows of --data in this `order`: turns or random")
	fs.Var(&cfg.expect, "expect", "count responses as good only if this `condition` is true: status=200, status=2xx,304, body=TEXT, body~REGEX, header:Name=TEXT or header:Name~REGEX; may be given several times. Without one for the status, it must be 2xx or 3xx")
}

// connectionFlags say how connections are made.
func (cfg *benchConfig) connectionFlags(fs *flag.FlagSet) {
	fs.BoolVar(&cfg.http2, "http2", false, "use HTTP/2: by ALPN for https URLs, with prior knowledge for http URLs")
	fs.Var((*count)(&cfg.streams), "streams", "have this `number` of requests in flight on each connection (HTTP/2); 1 without it")
	fs.BoolVar(&cfg.insecure, "insecure", false, "accept any certificate of the server")
	fs.StringVar(&cfg.caCert, "cacert", "", "trust the certificates in this PEM `file` instead of the system's")
	fs.StringVar(&cfg.cert, "cert", "", "show the server the certificate in this PEM `file`; needs --key")
	fs.StringVar(&cfg.key, "key", "", "the private key of --cert, a PEM `file`")
	fs.Var(&cfg.tlsMin, "tls-min", "the lowest `version` of TLS: 1.0, 1.1, 1.2 or 1.3; without it 1.2")
	fs.Var(&cfg.tlsMax, "tls-max", "the highest `version` of TLS: 1.0, 1.1, 1.2 or 1.3; without it 1.3")
	fs.BoolVar(&cfg.noResumption, "no-resumption", false, "make a full TLS handshake for each connection")
	fs.StringVar(&cfg.unix, "unix", "", "connect to this UNIX `socket` instead of the host of the URL")
	fs.Var(&cfg.sources, "source", "connect from this local `address`, or from those of a network such as 127.0.0.0/28, in turns; may be given several times. A server's address can be reached from each with about 28,000 connections")
}

// serverFlags are about the process of the server.
func (cfg *benchConfig) serverFlags(fs *flag.FlagSet) {
	fs.Var((*count)(&cfg.pid), "pid", "watch the process with this `number`, the server: its CPU time, memory and threads")
	fs.StringVar(&cfg.cmd, "cmd", "", "start the server with this `command`, wait until it answers, watch it as with --pid, and end it afterwards. Quotes work as in a shell, NAME=value before the command sets the environment")
	fs.StringVar(&cfg.goURL, "go", "", "read goroutines and heap of a Go server from this `URL` of expvar or pprof, such as http://127.0.0.1:6060/debug/vars")
}

// resultFlags say where results go.
func (cfg *benchConfig) resultFlags(fs *flag.FlagSet) {
	fs.BoolVar(&cfg.quiet, "q", false, "print neither progress nor the table")
	fs.StringVar(&cfg.name, "name", "", "give the run this `name` in its results")
	fs.StringVar(&cfg.json, "json", "", "write all results to this `file` as JSON; - is the standard output, and everything else then goes to the standard error")
	fs.StringVar(&cfg.csv, "csv", "", "write the results over time to this `file` as CSV; - as with --json")
	fs.StringVar(&cfg.report, "report", "", "write a page with charts to this `file`, which a browser opens without a network")
}

// parseBenchFlags reads args. It checks what can be checked without reading a file.
func parseBenchFlags(args []string) (*benchConfig, error) {
	cfg := &benchConfig{given: map[string]bool{}}
	fs := cfg.flagSet()
	urls, err := parseInterleaved(fs, args)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return nil, errHelp
	case err != nil:
		if name, ok := strings.CutPrefix(err.Error(), "flag provided but not defined: -"); ok {
			return nil, noFlag(fs, args, name)
		}
		why := strings.Replace(err.Error(), ": parse error", ": want true or false", 1) // only the flag types of package flag say so
		return nil, usagef("%s; see 'gale help bench'", why)
	}
	cfg.urls = append(urls, cfg.urls...)
	fs.Visit(func(f *flag.Flag) { cfg.given[f.Name] = true })
	for _, name := range notEmpty {
		if cfg.given[name] && fs.Lookup(name).Value.String() == "" {
			return nil, usagef("%s can't be empty: give a value, or leave it out", dashed(name))
		}
	}
	if err := cfg.check(); err != nil {
		return nil, err
	}
	cfg.setDefaults()
	return cfg, nil
}

// notEmpty are flags whose value was forgotten if it is empty, as that of a variable of a
// shell. Those for results have messages of their own.
var notEmpty = []string{"X", "method", "data", "cacert", "cert", "key", "unix", "cmd", "go"}

// otherNames are flags that other programs have, with ours.
var otherNames = map[string]string{
	"concurrency": "c", "connections": "c", "conns": "c", "requests": "n", "duration": "d", "z": "d", "threads": "t",
	"R": "rate", "m": "X", "data-file": "body-file", "insecure-skip-verify": "insecure", "disable-keepalive": "no-keepalive",
	"h2": "http2",
}

// noFlag returns the error for a flag that doesn't exist.
func noFlag(fs *flag.FlagSet, args []string, name string) error {
	given := dashed(name)
	for _, arg := range args {
		if text, _, _ := strings.Cut(arg, "="); strings.TrimLeft(text, "-") == name {
			given = text
			break
		}
	}
	hint := ""
	if other := otherNames[name]; other != "" {
		hint = ": use " + dashed(other)
	} else if fs.Lookup(name[:1]) != nil && strings.IndexAny(name, "0123456789") == 1 {
		hint = fmt.Sprintf(": write -%s %s", name[:1], name[1:])
	}
	return usagef("there is no flag %s%s; see 'gale help bench'", given, hint)
}

// setDefaults sets what was not given and depends on what was.
func (cfg *benchConfig) setDefaults() {
	if cfg.requests == 0 && cfg.duration == 0 && !cfg.rate.timed() {
		cfg.duration = defaultDuration
	}
	if !cfg.given["c"] && cfg.requests > 0 {
		cfg.connections = max(min(cfg.connections, cfg.requests), max(cfg.threads, 1)*len(cfg.urls))
	}
	if cfg.method == "" {
		cfg.method = "GET"
		if cfg.body.Given() {
			cfg.method = "POST"
		}
	}
}

// listFlag holds the values of a flag that may be given several times.
type listFlag []string

func (f *listFlag) String() string { return "" }

func (f *listFlag) Set(s string) error {
	if s == "" {
		return errors.New("it can't be empty")
	}
	*f = append(*f, s)
	return nil
}

// orderFlag says which row is next.
type orderFlag string

func (f *orderFlag) String() string { return string(*f) }

func (f *orderFlag) Set(s string) error {
	if s != "turns" && s != "random" {
		return errors.New("use turns or random")
	}
	*f = orderFlag(s)
	return nil
}

// benchFlagsHelp describes the flags, in groups.
func benchFlagsHelp() string {
	var b strings.Builder
	fs := (&benchConfig{}).flagSet()
	for _, g := range benchGroups {
		fmt.Fprintf(&b, "%s:\n\n", g.title)
		for name := range strings.FieldsSeq(g.flags) {
			describeFlag(&b, fs.Lookup(name))
		}
		b.WriteByte('\n')
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// sameFlags are flags that are described with another one, which has the same meaning.
var sameFlags = map[string]string{"X": "method", "H": "header"}

func describeFlag(b *strings.Builder, f *flag.Flag) {
	for _, long := range sameFlags {
		if f.Name == long {
			return
		}
	}
	value, usage := flag.UnquoteUsage(f)
	b.WriteString("  " + dashed(f.Name))
	if long := sameFlags[f.Name]; long != "" {
		b.WriteString(", " + dashed(long))
	}
	if value != "" {
		b.WriteString(" " + value)
	}
	b.WriteByte('\n')
	if f.DefValue != "" && f.DefValue != "false" && f.DefValue != "0" && f.DefValue != "0s" {
		usage += fmt.Sprintf(" (default %s)", f.DefValue)
	}
	wrap(b, usage, "        ", 79)
}

// dashed returns the flag as texts show it: -c, --rate.
func dashed(name string) string {
	if len(name) == 1 {
		return "-" + name
	}
	return "--" + name
}

// wrap writes text in lines of at most width characters, each after the indentation.
func wrap(b *strings.Builder, text, indent string, width int) {
	line := indent
	for word := range strings.FieldsSeq(text) {
		if line != indent && len(line)+1+len(word) > width {
			b.WriteString(line + "\n")
			line = indent
		}
		if line != indent {
			line += " "
		}
		line += word
	}
	b.WriteString(line + "\n")
}
