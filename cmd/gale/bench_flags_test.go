package main

import (
	"bytes"
	"flag"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/galehttp/gale"
	"github.com/galehttp/gale/cmd/gale/internal/load"
)

// Each misuse is one line that says what to do, and exit code 2. No server is asked: the
// URL is one where nothing listens.
func TestBenchMisuse(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	data, broken := write("data.csv", "name\nann\n"), write("broken.csv", "a,b\n1\n")
	text := write("text", "not a certificate")
	certPEM, keyPEM, err := gale.GenerateTestCertificate("localhost")
	if err != nil {
		t.Fatal(err)
	}
	cert, key := write("cert.pem", string(certPEM)), write("key.pem", string(keyPEM))
	none := filepath.Join(dir, "none")
	const url, secure = "http://127.0.0.1:1/", "https://127.0.0.1:1/"
	for _, c := range []struct {
		name string
		args []string
		want string
	}{
		{"no URL", nil, "give a URL"},
		{"unknown flag", []string{url, "--users", "5"}, "there is no flag --users;"},
		{"flag of other tools", []string{url, "--concurrency", "5"}, "there is no flag --concurrency: use -c;"},
		{"value without a space", []string{url, "-c64"}, "there is no flag -c64: write -c 64;"},
		{"number", []string{url, "-c", "many"}, "want a whole number"},
		{"no connections", []string{url, "-c", "0"}, "-c must be at least 1"},
		{"too many connections", []string{url, "-c", "10000000"}, "-c can't be more than"},
		{"no requests", []string{url, "-n", "0"}, "-n must be"},
		{"no threads", []string{url, "-t", "0"}, "-t must be"},
		{"more threads than connections", []string{url, "-t", "5", "-c", "4"}, "each thread needs"},
		{"duration without a unit", []string{url, "-d", "10"}, "such as 10s"},
		{"no duration", []string{url, "-d", "0s"}, "-d can't be 0"},
		{"negative duration", []string{url, "-d", "-1s"}, "-d can't be negative"},
		{"longer than the clock", []string{url, "-d", "2562047h"}, "-d can't be more than 8760h"},
		{"timeout longer than the clock", []string{url, "--timeout", "2562047h"}, "--timeout can't be more than"},
		{"rate that takes forever", []string{url, "--rate", "1e-300", "-n", "5"}, "more than a year"},
		{"steps that take forever", []string{url, "--rate", "1x8000h,1x8000h"}, "more than a year"},
		{"negative warm-up", []string{url, "--warmup", "-1s"}, "--warmup"},
		{"negative timeout", []string{url, "--timeout", "-1s"}, "--timeout"},
		{"rate", []string{url, "--rate", "fast"}, "as in 5000"},
		{"negative rate", []string{url, "--rate", "-5"}, "as in 5000"},
		{"no rate", []string{url, "--rate", "0"}, "above 0"},
		{"infinite rate", []string{url, "--rate", "inf"}, "at most"},
		{"neither rate", []string{url, "--rate", "nan"}, "as in 5000"},
		{"half a ramp", []string{url, "--rate", "100:"}, "as in 5000"},
		{"step without a rate", []string{url, "--rate", "100,,200"}, "as in 5000"},
		{"some steps with a time", []string{url, "--rate", "100x1s,200"}, "each step"},
		{"step without time", []string{url, "--rate", "100x0s"}, "as in 5000"},
		{"steps with two times", []string{url, "--rate", "100x1s,200x1s", "-d", "5s"}, "leave -d out"},
		{"steps with a time and a number", []string{url, "--rate", "100x1s", "-n", "5"}, "leave -n out"},
		{"ramp with a number", []string{url, "--rate", "100:200", "-n", "5"}, "use -d instead of -n"},
		{"rate with both", []string{url, "--rate", "100", "-n", "5", "-d", "5s"}, "either -n or -d"},
		{"rate and think time", []string{url, "--rate", "100", "--think", "1ms"}, "--rate or --think"},
		{"pipeline without keep-alive", []string{url, "--pipeline", "2", "--no-keepalive"}, "--no-keepalive"},
		{"two limits of a connection", []string{url, "--requests-per-conn", "2", "--no-keepalive"}, "--no-keepalive"},
		{"pipeline of HTTP/2", []string{url, "--pipeline", "2", "--http2"}, "use --streams"},
		{"HTTP/2 without keep-alive", []string{url, "--no-keepalive", "--http2"}, "--requests-per-conn 1"},
		{"streams of HTTP/1.1", []string{url, "--streams", "2"}, "needs --http2"},
		{"method twice", []string{url, "-X", "PUT", "--method", "GET"}, "the same"},
		{"no method", []string{url, "-X", "GET /"}, "one word"},
		{"field", []string{url, "-H", "X-A"}, "'Name: value'"},
		{"two lines in a field", []string{url, "-H", "X-A: b\r\nX-C: d"}, "line breaks"},
		{"empty field", []string{url, "-H", ""}, "empty"},
		{"framing", []string{url, "-H", "Content-Length: 5"}, "length determines"},
		{"cookie", []string{url, "--cookie", "a"}, "name=value"},
		{"missing body", []string{url, "--body-file", none}, "there is no file"},
		{"two bodies", []string{url, "--body", "a", "--body-file", text}, "one of"},
		{"form and body", []string{url, "--body", "a", "--form", "a=b"}, "one of"},
		{"form without a value", []string{url, "--form", "a"}, "name=@path"},
		{"missing file of a form", []string{url, "--form", "a=@" + none}, "there is no file"},
		{"missing data", []string{url, "--data", none}, "there is no file"},
		{"unused data", []string{url, "--data", data}, "write {{name}}"},
		{"broken data", []string{url, "--data", broken}, "CSV"},
		{"order of no data", []string{url, "--data-order", "random"}, "needs --data"},
		{"unknown order", []string{url, "--data", data, "--data-order", "last"}, "turns or random"},
		{"unknown column", []string{url + "{{id}}", "--data", data}, "use one of name"},
		{"column without data", []string{url + "{{id}}"}, "--data"},
		{"broken template", []string{url + "{{name", "--data", data}, "without its }}"},
		{"expectation", []string{url, "--expect", "fast"}, "status=200"},
		{"expression", []string{url, "--expect", "body~("}, "regular expression"},
		{"WebSocket and HTTP", []string{url, "ws://127.0.0.1:1/"}, "one is a WebSocket"},
		{"WebSocket over HTTP/2", []string{"ws://127.0.0.1:1/", "--http2"}, "can't be measured"},
		{"WebSocket without keep-alive", []string{"wss://127.0.0.1:1/", "--no-keepalive"}, "--requests-per-conn"},
		{"method of a WebSocket", []string{"ws://127.0.0.1:1/", "-X", "POST"}, "GET"},
		{"form over a WebSocket", []string{"ws://127.0.0.1:1/", "--form", "a=b"}, "--body"},
		{"expectation of an echo", []string{"ws://127.0.0.1:1/", "--expect", "status=101"}, "comes back"},
		{"TLS flag for ws", []string{"ws://127.0.0.1:1/", "--insecure"}, "wss"},
		{"scheme", []string{"ftp://127.0.0.1:1/"}, "use an http, https, ws or wss URL"},
		{"port", []string{"http://127.0.0.1:99999/"}, "1 to 65535"},
		{"host", []string{"http:///path"}, "isn't a URL"},
		{"space in a URL", []string{url + "a b"}, "%20"},
		{"weight", []string{url + " weight=0"}, "whole number"},
		{"TLS flag without TLS", []string{url, "--insecure"}, "https"},
		{"certificate alone", []string{secure, "--cert", cert}, "needs --key"},
		{"key alone", []string{secure, "--key", key}, "needs --cert"},
		{"missing certificate", []string{secure, "--cert", none, "--key", key}, "there is no file"},
		{"bad certificate", []string{secure, "--cert", text, "--key", text}, "PEM"},
		{"bad CA", []string{secure, "--cacert", text}, "PEM"},
		{"insecure with a CA", []string{secure, "--insecure", "--cacert", cert}, "either"},
		{"TLS version", []string{secure, "--tls-min", "2"}, "use 1.0"},
		{"TLS versions", []string{secure, "--tls-min", "1.3", "--tls-max", "1.2"}, "--tls-min"},
		{"old TLS for HTTP/2", []string{secure, "--http2", "--tls-max", "1.1"}, "needs TLS 1.2"},
		{"no socket", []string{url, "--unix", none}, "there is no socket"},
		{"source", []string{url, "--source", "here"}, "127.0.0.0/28"},
		{"large network", []string{url, "--source", "10.0.0.0/8"}, "at most"},
		{"foreign source", []string{url, "--source", "192.0.2.1"}, "192.0.2.1"},
		{"source of another kind", []string{url, "--source", "::1"}, "--source"},
		{"socket and source", []string{url, "--unix", none, "--source", "127.0.0.1"}, "either"},
		{"two servers", []string{url, "--pid", "1", "--cmd", "server"}, "either"},
		{"process number", []string{url, "--pid", "0"}, "--pid must be"},
		{"empty command", []string{url, "--cmd", ""}, "--cmd can't be empty"},
		{"empty socket", []string{url, "--unix="}, "--unix can't be empty"},
		{"empty name of a file", []string{url, "--data", ""}, "--data can't be empty"},
		{"no command", []string{url, "--cmd", "A=b"}, "no command"},
		{"unknown command", []string{url, "--cmd", none}, "can't start"},
		{"open quote", []string{url, "--cmd", "a 'b"}, "quote"},
		{"two documents", []string{url, "--json", "-", "--csv", "-"}, "two files"},
		{"one file for two", []string{url, "--json", none, "--report", none}, "two files"},
		{"one file by two names", []string{url, "--json", "x.out", "--csv", "./x.out"}, "two files"},
		{"report on the standard output", []string{url, "--report", "-"}, "out.html"},
		{"no name of a file", []string{url, "--json", ""}, "name of a file"},
		{"result in no folder", []string{url, "--json", filepath.Join(none, "a.json")}, "make it first"},
		{"result in a folder", []string{url, "--json", dir}, "is a folder"},
		{"name", []string{url, "--name", "a\nb"}, "--name"},
		{"nothing listens", []string{url}, "nothing listens"},
		{"no such host", []string{"http://host.invalid/"}, "host.invalid"},
	} {
		t.Run(c.name, func(t *testing.T) {
			checkMisuse(t, append([]string{"bench"}, c.args...), c.want)
		})
	}
}

// checkMisuse runs a command that must fail with one line on the standard error.
func checkMisuse(t *testing.T, args []string, want string) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	if code := run(args, &stdout, &stderr); code != exitUsage {
		t.Errorf("exit code %d, want %d", code, exitUsage)
	}
	msg := stderr.String()
	if strings.Count(msg, "\n") != 1 || !strings.HasSuffix(msg, "\n") || !strings.HasPrefix(msg, "gale bench: ") {
		t.Errorf("not one line: %q", msg)
	}
	if !strings.Contains(msg, want) {
		t.Errorf("message %q doesn't name %q", msg, want)
	}
	if stdout.Len() > 0 {
		t.Errorf("something on the standard output: %q", stdout.String())
	}
}

// Every flag is in one group of the help text, and described.
func TestBenchHelp(t *testing.T) {
	var grouped []string
	for _, g := range benchGroups {
		grouped = append(grouped, strings.Fields(g.flags)...)
	}
	help := benchFlagsHelp()
	(&benchConfig{}).flagSet().VisitAll(func(f *flag.Flag) {
		if n := len(slices.DeleteFunc(slices.Clone(grouped), func(name string) bool { return name != f.Name })); n != 1 {
			t.Errorf("-%s is in %d groups", f.Name, n)
		}
		if !regexp.MustCompile(`(?m)^  (-., )?` + dashed(f.Name) + `[ ,\n]`).MatchString(help) {
			t.Errorf("-%s isn't described", f.Name)
		}
	})
	for line := range strings.SplitSeq(benchCommand.long+help, "\n") {
		if len(line) > 80 {
			t.Errorf("more than 80 columns: %q", line)
		}
	}
}

// What the flags say is in the plan.
func TestBenchPlan(t *testing.T) {
	second := time.Second
	for _, c := range []struct {
		name string
		args []string
		ok   func(p *load.Plan) bool
	}{
		{"defaults", nil, func(p *load.Plan) bool {
			return p.Connections == 64 && p.Duration == 10*second && p.Count == 0 && p.WarmUp == 0 &&
				p.Timeout == 10*second && p.ConnectTimeout == 10*second && len(p.Schedule) == 0 && p.Threads >= 1
		}},
		{"two dashes", []string{"--c", "7", "--n=100"}, func(p *load.Plan) bool {
			return p.Connections == 7 && p.Count == 100 && p.Duration == 0
		}},
		{"fewer requests than connections", []string{"-n", "3"}, func(p *load.Plan) bool {
			return p.Connections == 3 && p.Threads <= 3
		}},
		{"fewer requests than threads and servers", []string{"-n", "1", "-t", "3", "--url", "http://b/"}, func(p *load.Plan) bool {
			return p.Connections == 6 && p.Threads == 3 && p.Count == 1 // each thread needs one to each server
		}},
		{"both", []string{"-n", "3", "-d", "5s", "-c", "9", "-t", "2"}, func(p *load.Plan) bool {
			return p.Connections == 9 && p.Count == 3 && p.Duration == 5*second && p.Threads == 2
		}},
		{"closed loop", []string{"--pipeline", "8", "--think", "1ms", "--requests-per-conn", "10", "--warmup", "2s"}, func(p *load.Plan) bool {
			return p.Pipeline == 8 && p.Think == time.Millisecond && p.RequestsPerConn == 10 && p.WarmUp == 2*second
		}},
		{"no keep-alive", []string{"--no-keepalive", "--timeout", "0s"}, func(p *load.Plan) bool {
			return p.NoKeepAlive && p.Timeout == 0
		}},
		{"HTTP/2", []string{"--http2", "--streams", "5"}, func(p *load.Plan) bool { return p.HTTP2 && p.Streams == 5 }},
		{"rate", []string{"--rate", "500"}, schedule(10*second, load.Ramp{From: 500, To: 500, Time: 10 * second})},
		{"rate and number", []string{"--rate", "500", "-n", "250"}, schedule(0, load.Ramp{From: 500, To: 500, Time: second / 2})},
		{"ramp", []string{"--rate", "0:1e3", "-d", "4s"}, schedule(4*second, load.Ramp{From: 0, To: 1000, Time: 4 * second})},
		{"steps", []string{"--rate", "10,20,0.5", "-d", "3s"}, schedule(3*second,
			load.Ramp{From: 10, To: 10, Time: second}, load.Ramp{From: 20, To: 20, Time: second}, load.Ramp{From: .5, To: .5, Time: second})},
		{"steps with their times", []string{"--rate", "10x1s, 20:30x500ms"}, schedule(1500*time.Millisecond,
			load.Ramp{From: 10, To: 10, Time: second}, load.Ramp{From: 20, To: 30, Time: second / 2})},
		{"sources", []string{"--source", "127.0.0.0/30", "--source", "127.0.0.9"}, func(p *load.Plan) bool {
			return len(p.Sources) == 3 && p.Sources[0].String() == "127.0.0.1" && p.Sources[2].String() == "127.0.0.9"
		}},
		{"several URLs", []string{"--url", "https://b:9/x weight=3", "--url", "https://b:9/y"}, func(p *load.Plan) bool {
			return len(p.Targets) == 3 && p.Targets[1].Weight == 3 && p.Targets[2].Weight == 1 && p.Targets[1].TLS != nil &&
				p.Targets[1].TLS == p.Targets[2].TLS && p.Targets[1].TLS.ServerName == "b" && p.Targets[0].TLS == nil
		}},
		{"socket", []string{"--unix", "/s"}, func(p *load.Plan) bool {
			return p.Targets[0].Network == "unix" && p.Targets[0].Address == "/s"
		}},
		{"TLS", []string{"https://h/", "--insecure", "--tls-min", "1.3", "--no-resumption"}, func(p *load.Plan) bool {
			c := p.Targets[1].TLS
			return c.InsecureSkipVerify && c.MinVersion == 0x304 && c.ClientSessionCache == nil
		}},
		{"old TLS", []string{"https://h/", "--tls-max", "1.1"}, func(p *load.Plan) bool {
			c := p.Targets[1].TLS
			return c.MinVersion == 0x302 && c.MaxVersion == 0x302 && c.ClientSessionCache != nil
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			args := append([]string{"http://127.0.0.1:8080/"}, c.args...)
			cfg, err := parseBenchFlags(args)
			if err != nil {
				t.Fatal(err)
			}
			b, err := newBench(cfg, args)
			if err != nil {
				t.Fatal(err)
			}
			if !c.ok(b.plan) {
				t.Errorf("%+v", b.plan)
			}
		})
	}
}

func schedule(d time.Duration, want ...load.Ramp) func(*load.Plan) bool {
	return func(p *load.Plan) bool { return p.Duration == d && slices.Equal(p.Schedule, want) }
}

func TestBenchURL(t *testing.T) {
	for _, c := range []struct {
		text, url, address, host, target string
		weight                           int
	}{
		{"localhost:8080", "http://localhost:8080", "localhost:8080", "localhost:8080", "", 1},
		{":8080/a", "http://localhost:8080/a", "localhost:8080", "localhost:8080", "/a", 1},
		{"example.com/a?b=http://c", "http://example.com/a?b=http://c", "example.com:80", "example.com", "/a?b=http://c", 1},
		{"HTTPS://example.com", "https://example.com", "example.com:443", "example.com", "", 1},
		{"http://[::1]:81/", "http://[::1]:81/", "[::1]:81", "[::1]:81", "/", 1},
		{"http://[::1]", "http://[::1]", "[::1]:80", "[::1]", "", 1},
		{"http://ann:secret@h/x", "http://h/x", "h:80", "h", "/x", 1},
		{"http://h{{path|raw}} weight=7", "http://h{{path|raw}}", "h:80", "h", "{{path|raw}}", 7},
		{"h/{{a b}}?q={{ c }}&{{d weight=2", "http://h/{{a b}}?q={{ c }}&{{d", "h:80", "h", "/{{a b}}?q={{ c }}&{{d", 2},
		{"http://h?q", "http://h?q", "h:80", "h", "?q", 1},
	} {
		u, err := parseBenchURL(c.text)
		if err != nil {
			t.Errorf("%q: %v", c.text, err)
			continue
		}
		if u.text != c.url || u.address() != c.address || u.hostField() != c.host || u.target != c.target || u.weight != c.weight {
			t.Errorf("%q: %+v, address %s, Host %s", c.text, u, u.address(), u.hostField())
		}
		if strings.Contains(c.text, "ann:") != (u.auth == "Basic YW5uOnNlY3JldA==") {
			t.Errorf("%q: Authorization %q", c.text, u.auth)
		}
	}
}

// The command in a result has no secrets.
func TestRepeatCommand(t *testing.T) {
	got := repeatCommand([]string{"-c", "5", "http://ann:pw@h/a@b", "-H", "authorization: pw", "--header=X-API-Key: pw", "-H", "X-A: b=c",
		"--cookie", "id=pw", "-cookie=id=pw", "--url", "https://pw@h/ weight=3", "--expect=body=ok",
		"ann:pw@h/a@b", "--url=ann:pw@h", "--http2", "pw@h:1?a", "--name", "ann@h",
		"ann:pw@h/?u=http://a", "--url=ann:pw@h/l?u=https://a", "--url", "ann:pw@h/?u=http://a weight=3", "http://ann:pw@h/?u=http://bob:pw@h",
		"h/?u=http://bob:pw@h#http://pw@h", "-H", "Referer: http://bob:pw@h/", "-d", "u=http://bob:pw@h", "WSS://ann:pw@h", "http://[::1]:1/"},
		[]string{"ann:pw@h/a@b", "ann:pw@h", "pw@h:1?a", "ann:pw@h/?u=http://a", "ann:pw@h/l?u=https://a", "ann:pw@h/?u=http://a weight=3",
			"http://ann:pw@h/?u=http://bob:pw@h", "h/?u=http://bob:pw@h#http://pw@h", "WSS://ann:pw@h", "http://[::1]:1/"})
	want := []string{"gale", "bench", "-c", "5", "http://***@h/a@b", "-H", "authorization: ***", "--header=X-API-Key: ***", "-H", "X-A: b=c",
		"--cookie", "id=***", "-cookie=id=***", "--url", "https://***@h/ weight=3", "--expect=body=ok",
		"***@h/a@b", "--url=***@h", "--http2", "***@h:1?a", "--name", "ann@h",
		"***@h/?u=http://a", "--url=***@h/l?u=https://a", "--url", "***@h/?u=http://a weight=3", "http://***@h/?u=http://***@h",
		"h/?u=http://***@h#http://***@h", "-H", "Referer: http://***@h/", "-d", "u=http://***@h", "WSS://***@h", "http://[::1]:1/"}
	if !slices.Equal(got, want) {
		t.Errorf("%q, want\n%q", got, want)
	}
}

// Nothing that may be read by others has the password of a URL: neither the text of results nor an
// error.
func TestURLPassword(t *testing.T) {
	for text, want := range map[string]string{ // "": an error
		"ann:pw@h/":                      "http://h/",
		"https://ann:pw@h/?u=http://a":   "https://h/?u=http://a",
		"ann:pw@h/?u=http://a":           "http://h/?u=http://a",
		"http://h/?u=http://bob:pw@h":    "http://h/?u=http://***@h",
		"ann:pw@h/ a":                    "",
		"ann:pw@h/ weight=x":             "",
		"ftp://ann:pw@h/":                "",
		"http://ann:p/pw@h":              "",
		"http://ann:pw@":                 "",
		"ann:pw://pw@h":                  "",
		"http://ann:pw@h:x":              "",
		"http://ann:pw@h:99999":          "",
		"http://ann:pw@\u00e9":           "",
		"http://ann:pw@h weight=9999999": "",
	} {
		u, err := parseBenchURL(text)
		switch {
		case (err == nil) != (want != ""):
			t.Errorf("%q: %v", text, err)
		case err != nil && strings.Contains(err.Error(), "pw"):
			t.Errorf("%q: the error is %v", text, err)
		case err == nil && u.text != want:
			t.Errorf("%q is %q, want %q", text, u.text, want)
		}
	}
}

func TestSplitWords(t *testing.T) {
	for _, c := range []struct {
		text string
		want []string
	}{
		{"", nil},
		{" a  b\tc ", []string{"a", "b", "c"}},
		{`a 'b "c' "d 'e" f\ g`, []string{"a", `b "c`, `d 'e`, "f g"}},
		{`a '' "" x'y'z`, []string{"a", "", "", "xyz"}},
		{`'a\b' "c\"d"`, []string{`a\b`, `c"d`}},
	} {
		got, err := splitWords(c.text)
		if err != nil || !slices.Equal(got, c.want) {
			t.Errorf("%q: %q, %v", c.text, got, err)
		}
	}
	for _, text := range []string{"'a", `"a`, `a\`} {
		if _, err := splitWords(text); err == nil {
			t.Errorf("%q: no error", text)
		}
	}
}

func TestIsLocal(t *testing.T) {
	for address, want := range map[string]bool{"127.0.0.1:1": true, "127.8.8.8:1": true, "[::1]:1": true, "192.0.2.7:1": false} {
		addr, err := net.ResolveTCPAddr("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		if isLocal(addr) != want {
			t.Errorf("%s: %v", address, !want)
		}
	}
	if !isLocal(&net.UnixAddr{Name: "s"}) {
		t.Error("a UNIX socket isn't local")
	}
}
