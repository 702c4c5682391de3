package main

import (
	"path/filepath"
	"strings"
	"time"
)

// maxConnections is the largest -c, maxTime the longest time of any kind.
const (
	maxConnections = 1 << 20
	maxTime        = 365 * 24 * time.Hour
)

// check finds flags that are wrong or contradict each other.
func (cfg *benchConfig) check() error {
	for _, check := range []func() error{
		cfg.checkNumbers, cfg.checkLoad, cfg.checkProtocol, cfg.checkRequests, cfg.checkServer, cfg.checkResults,
	} {
		if err := check(); err != nil {
			return err
		}
	}
	return nil
}

func (cfg *benchConfig) checkNumbers() error {
	for _, f := range []struct {
		name  string
		value int
	}{
		{"c", cfg.connections}, {"n", cfg.requests}, {"t", cfg.threads}, {"pipeline", cfg.pipeline},
		{"requests-per-conn", cfg.requestsPerConn}, {"streams", cfg.streams}, {"pid", cfg.pid},
	} {
		if cfg.given[f.name] && f.value < 1 {
			return usagef("%s must be at least 1", dashed(f.name))
		}
	}
	for _, f := range []struct {
		name  string
		value time.Duration
		zero  bool // 0 has a meaning
	}{
		{"d", cfg.duration, false}, {"warmup", cfg.warmUp, true}, {"think", cfg.think, true},
		{"timeout", cfg.timeout, true}, {"connect-timeout", cfg.connectTimeout, true},
	} {
		switch {
		case f.value < 0:
			return usagef("%s can't be negative", dashed(f.name))
		case f.value > maxTime:
			return usagef("%s can't be more than %.0fh, a year", dashed(f.name), maxTime.Hours())
		case cfg.given[f.name] && f.value == 0 && !f.zero:
			return usagef("%s can't be 0: give a duration such as 10s", dashed(f.name))
		}
	}
	return nil
}

func (cfg *benchConfig) checkLoad() error {
	open := len(cfg.rate.steps) > 0
	switch {
	case cfg.connections > maxConnections:
		return usagef("-c can't be more than %d", maxConnections)
	case cfg.threads > cfg.connections:
		return usagef("-t %d can't be more than -c %d: each thread needs a connection", cfg.threads, cfg.connections)
	case open && cfg.think > 0:
		return usagef("use either --rate or --think: in an open loop the schedule says when requests are sent")
	case cfg.rate.changes() && cfg.requests > 0:
		return usagef("use -d instead of -n with a --rate that changes: the rate and the time say how many requests there are")
	case cfg.rate.timed() && cfg.duration > 0:
		return usagef("leave -d out, or the durations in --rate: their sum is the duration of the run")
	case cfg.rate.timed() && cfg.requests > 0:
		return usagef("leave -n out, or the duration in --rate: the rate and the time say how many requests there are")
	case open && cfg.requests > 0 && cfg.duration > 0:
		return usagef("with --rate, use either -n or -d: each determines the other")
	case open && cfg.rate.longest(cfg.requests) > maxTime.Seconds():
		return usagef("--rate %s takes more than a year: raise the rate, or lower the number of requests or the durations", cfg.rate.text)
	case cfg.noKeepAlive && cfg.requestsPerConn > 1:
		return usagef("use either --no-keepalive, which sends one request on a connection, or --requests-per-conn")
	case cfg.noKeepAlive && cfg.pipeline > 1:
		return usagef("use either --no-keepalive, which sends one request on a connection, or --pipeline")
	}
	return nil
}

func (cfg *benchConfig) checkProtocol() error {
	switch {
	case cfg.http2 && cfg.pipeline > 0:
		return usagef("use --streams instead of --pipeline with --http2")
	case cfg.http2 && cfg.noKeepAlive:
		return usagef("use --requests-per-conn 1 instead of --no-keepalive with --http2, which has no Connection field")
	case !cfg.http2 && cfg.streams > 0:
		return usagef("--streams needs --http2; for HTTP/1.1 use --pipeline")
	case cfg.cert != "" && cfg.key == "":
		return usagef("--cert needs --key, the file with its private key")
	case cfg.cert == "" && cfg.key != "":
		return usagef("--key needs --cert, the file with the certificate")
	case cfg.insecure && cfg.caCert != "":
		return usagef("use either --insecure or --cacert")
	case cfg.tlsMin != 0 && cfg.tlsMax != 0 && cfg.tlsMin > cfg.tlsMax:
		return usagef("--tls-min can't be more than --tls-max")
	case cfg.http2 && cfg.tlsMax != 0 && cfg.tlsMax < tls12:
		return usagef("--http2 needs TLS 1.2: raise --tls-max")
	case cfg.unix != "" && len(cfg.sources) > 0:
		return usagef("use either --unix or --source: UNIX sockets have no addresses")
	}
	return nil
}

func (cfg *benchConfig) checkRequests() error {
	bodies := 0
	for _, name := range []string{"body", "body-file", "form"} {
		if cfg.given[name] {
			bodies++
		}
	}
	switch {
	case len(cfg.urls) == 0:
		return usagef("give a URL, such as http://127.0.0.1:8080/")
	case cfg.given["X"] && cfg.given["method"]:
		return usagef("-X and --method are the same: give one of them")
	case bodies > 1:
		return usagef("use one of --body, --body-file and --form")
	case cfg.dataOrder != "" && cfg.dataFile == "":
		return usagef("--data-order needs --data, the file with the rows")
	}
	return nil
}

func (cfg *benchConfig) checkServer() error {
	if cfg.pid > 0 && cfg.cmd != "" {
		return usagef("use either --pid for a server that is running or --cmd to start one")
	}
	return nil
}

func (cfg *benchConfig) checkResults() error {
	used := map[string]string{}
	for _, f := range []struct{ name, file string }{{"json", cfg.json}, {"csv", cfg.csv}, {"report", cfg.report}} {
		switch {
		case f.file == "" && cfg.given[f.name]:
			return usagef("%s needs the name of a file", dashed(f.name))
		case f.file == "":
		case f.file == "-" && f.name == "report":
			return usagef("--report needs the name of a file, such as out.html")
		case used[filepath.Clean(f.file)] != "":
			return usagef("%s and %s can't both write to %q: use two files", dashed(used[filepath.Clean(f.file)]), dashed(f.name), f.file)
		}
		used[filepath.Clean(f.file)] = f.name
	}
	if strings.ContainsFunc(cfg.name, isControl) {
		return usagef("--name can't have line breaks or other control characters")
	}
	return nil
}
