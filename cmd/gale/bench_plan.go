package main

import (
	"crypto/tls"
	"errors"
	"io/fs"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/galehttp/gale/cmd/gale/internal/load"
	"github.com/galehttp/gale/cmd/gale/internal/requests"
	"github.com/galehttp/gale/internal/measure/figures"
)

// bench is a run of "gale bench" that can begin.
type bench struct {
	cfg     *benchConfig
	urls    []*benchURL // those of plan.Targets
	plan    *load.Plan
	command []string // to repeat it, without secrets
	local   bool     // the servers are on this machine
}

// newBench reads the files that the flags name and makes the plan. Nothing is sent yet.
func newBench(cfg *benchConfig, args []string) (*bench, error) {
	b := &bench{cfg: cfg, command: repeatCommand(args, cfg.urls), plan: &load.Plan{
		Connections: cfg.connections, Threads: cfg.threads,
		Count: int64(cfg.requests), Duration: cfg.duration, WarmUp: cfg.warmUp,
		Schedule: cfg.rate.schedule(cfg.duration, cfg.requests),
		Pipeline: cfg.pipeline, HTTP2: cfg.http2, Streams: cfg.streams,
		NoKeepAlive: cfg.noKeepAlive, RequestsPerConn: cfg.requestsPerConn, Think: cfg.think,
		Timeout: cfg.timeout, ConnectTimeout: cfg.connectTimeout,
	}}
	if len(b.plan.Schedule) > 0 && cfg.requests == 0 {
		b.plan.Duration = scheduleTime(b.plan.Schedule)
	}
	for _, step := range []func() error{b.parseURLs, b.makeTargets, b.checkFiles} {
		if err := step(); err != nil {
			return nil, err
		}
	}
	var err error
	if b.plan.Sources, err = cfg.sourceAddrs(); err != nil {
		return nil, err
	}
	if b.plan.Threads == 0 { // each needs a connection to each server
		b.plan.Threads = max(1, min(runtime.GOMAXPROCS(0), cfg.connections/b.servers()))
	}
	return b, nil
}

func (b *bench) parseURLs() error {
	anyTLS := false
	for _, text := range b.cfg.urls {
		u, err := parseBenchURL(text)
		if err != nil {
			return err
		}
		anyTLS = anyTLS || u.https
		b.urls = append(b.urls, u)
	}
	if err := b.checkWebSocket(); err != nil {
		return err
	}
	if anyTLS {
		return nil
	}
	for _, name := range tlsFlags {
		if b.cfg.given[name] {
			return usagef("%s needs an https or wss URL: %s is one without TLS", dashed(name), b.urls[0].text)
		}
	}
	return nil
}

// servers returns how many addresses the URLs lead to.
func (b *bench) servers() int {
	different := map[string]bool{}
	for _, u := range b.urls {
		key := u.address()
		if u.ws { // a connection belongs to one URL
			key = u.text
		}
		different[key] = true
	}
	return len(different)
}

// makeTargets makes the targets of the plan, whose addresses aren't resolved yet.
func (b *bench) makeTargets() error {
	cfg := b.cfg
	expect, err := requests.ParseExpectations(cfg.expect)
	if err != nil {
		return usagef("%v", err)
	}
	tlsConfig, err := cfg.tlsConfig()
	if err != nil {
		return err
	}
	var data *requests.Data
	if cfg.dataFile != "" {
		if data, err = requests.ReadData(cfg.dataFile, cfg.dataOrder == "random"); err != nil {
			return usagef("--data: %v", err)
		}
	}
	configs := map[string]*tls.Config{} // one for each name: URLs of a server share connections
	for _, u := range b.urls {
		source, err := cfg.source(u, data)
		if err != nil {
			return usagef("%v", err)
		}
		t := load.Target{
			URL: u.text, Network: "tcp", Address: u.address(), Weight: u.weight, Source: source,
			Expect: expect.Check, CollectBody: expect.Collect(),
		}
		if cfg.unix != "" {
			t.Network, t.Address = "unix", cfg.unix
		}
		if u.https {
			if configs[u.host] == nil {
				configs[u.host] = tlsConfig.Clone()
				configs[u.host].ServerName = u.host
			}
			t.TLS = configs[u.host]
		}
		b.plan.Targets = append(b.plan.Targets, t)
	}
	if data != nil && !data.Used() {
		return usagef("--data: nothing uses a value of %s: write {{%s}} in the URL, a field, a cookie or the body", cfg.dataFile, data.Column())
	}
	return nil
}

// source makes the requests for a URL.
func (cfg *benchConfig) source(u *benchURL, data *requests.Data) (*requests.Source, error) {
	fields := cfg.fields
	if u.auth != "" {
		fields = append(listFlag{"Authorization: " + u.auth}, fields...)
	}
	return requests.New(&requests.Spec{
		Method: cfg.method, Host: u.hostField(), Target: u.target, UserAgent: toolName(),
		Fields: fields, Cookies: cfg.cookies, Body: cfg.body, Data: data,
	})
}

// toolName is the name and version of the generator, and its User-Agent.
func toolName() string { return "gale-bench/" + version() }

// checkFiles finds results that can't be written, before a long run.
func (b *bench) checkFiles() error {
	for _, f := range []struct{ flag, file string }{{"--json", b.cfg.json}, {"--csv", b.cfg.csv}, {"--report", b.cfg.report}} {
		if f.file == "" || f.file == "-" {
			continue
		}
		dir := filepath.Dir(f.file)
		info, err := os.Stat(dir)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return usagef("%s: there is no folder %q: make it first", f.flag, dir)
		case err != nil || !info.IsDir():
			return usagef("%s: can't write to %q: use another folder", f.flag, dir)
		}
		if info, err := os.Stat(f.file); err == nil && info.IsDir() {
			return usagef("%s: %q is a folder: give a file", f.flag, f.file)
		}
		if err := canWrite(f.file); err != nil {
			return usagef("%s: can't write %q: %v: use another folder", f.flag, f.file, err)
		}
	}
	return nil
}

// settings returns what a reader of the figures must know.
func (b *bench) settings() figures.Settings {
	cfg, p := b.cfg, b.plan
	s := figures.Settings{
		Protocol: "HTTP/1.1", Local: b.local, Connections: p.Connections, Threads: p.Threads,
		Pipeline: max(p.Pipeline, 1), Streams: max(p.Streams, 1),
		KeepAlive: !p.NoKeepAlive, RequestsPerConn: p.RequestsPerConn, ThinkNS: int64(p.Think),
		Rate: cfg.rate.text, Count: p.Count, DurationNS: int64(p.Duration), WarmUpNS: int64(p.WarmUp), TimeoutNS: int64(p.Timeout),
		Expectations: cfg.expect,
	}
	switch {
	case p.HTTP2:
		s.Protocol = "HTTP/2"
	case p.WebSocket:
		s.Protocol = "WebSocket"
	}
	for i := range p.Targets {
		s.TLS = s.TLS || p.Targets[i].TLS != nil
	}
	return s
}

// isLocal reports whether an address belongs to this machine.
func isLocal(addr net.Addr) bool {
	tcp, ok := addr.(*net.TCPAddr)
	if !ok {
		return true // a UNIX socket
	}
	ip := tcp.AddrPort().Addr().Unmap()
	if ip.IsLoopback() {
		return true
	}
	own, err := net.InterfaceAddrs()
	if err != nil {
		return false
	}
	for _, a := range own {
		if prefix, err := netip.ParsePrefix(a.String()); err == nil && prefix.Addr().Unmap().WithZone("") == ip.WithZone("") {
			return true
		}
	}
	return false
}

// secretFields are the fields whose values are secrets.
var secretFields = []string{"authorization", "proxy-authorization", "cookie", "x-api-key"}

// repeatCommand returns the command line without passwords, tokens and cookies, because
// results are sent to others. urls are the arguments that are URLs.
func repeatCommand(args, urls []string) []string {
	command := []string{"gale", "bench"}
	for i, arg := range args {
		flag := ""
		if i > 0 && !strings.Contains(args[i-1], "=") {
			flag = strings.TrimLeft(args[i-1], "-")
		}
		command = append(command, hideSecrets(flag, arg, urls))
	}
	return command
}

// hideSecrets replaces the secrets of an argument, which may be the value of a flag, or a
// flag with its value.
func hideSecrets(flag, arg string, urls []string) string {
	if name, value, ok := strings.Cut(arg, "="); ok && strings.HasPrefix(arg, "-") && !strings.Contains(name, " ") {
		return name + "=" + hideSecrets(strings.TrimLeft(name, "-"), value, urls)
	}
	switch flag {
	case "cookie":
		name, _, _ := strings.Cut(arg, "=")
		return name + "=***"
	case "H", "header":
		name, _, _ := strings.Cut(arg, ":")
		for _, secret := range secretFields {
			if strings.EqualFold(name, secret) {
				return name + ": ***"
			}
		}
	}
	return hidePassword(arg, slices.Contains(urls, arg))
}

// hidePassword replaces the users and passwords of all URLs in s, also of those in a query. isURL says
// that s is one, perhaps without a scheme.
func hidePassword(s string, isURL bool) string {
	var b strings.Builder
	scheme, rest := "", s
	if isURL {
		scheme, rest = cutScheme(s)
	}
	b.WriteString(scheme)
	for begins := isURL; ; begins = true { // whether rest begins with an authority
		if begins {
			rest = hideUser(rest)
		}
		i := strings.Index(rest, "://")
		if i < 0 {
			b.WriteString(rest)
			return b.String()
		}
		i += len("://")
		b.WriteString(rest[:i])
		rest = rest[i:]
	}
}

// hideUser replaces the user of s, which begins with the authority of a URL.
func hideUser(s string) string {
	end := strings.IndexAny(s, "/?# ")
	if end < 0 {
		end = len(s)
	}
	at := strings.LastIndexByte(s[:end], '@')
	if at < 0 {
		return s
	}
	return "***@" + s[at+1:]
}
