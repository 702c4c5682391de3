package main

import (
	"bytes"
	"crypto/tls"
	"encoding/json"
	"errors"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/galehttp/gale"
	"github.com/galehttp/gale/internal/measure/figures"
	"github.com/galehttp/gale/internal/race"
)

// failure is a way in which a server fails, or doesn't.
type failure struct {
	name      string
	protocols string // "h1 h2 ws"
	set       func(s *failingServer)
	flags     string      // "-n 200" and the like; "" for a run of some time
	fails     bool        // the verdict is errors, with exit code 6
	text      string      // part of its text
	kinds     string      // the most frequent error is one of these; "" for any or none
	failed    int64       // how many attempts fail of those of -n; -1: it isn't known
	outage    expectation // for a second no good response comes
}

// expectation says whether something must be.
type expectation int

const (
	no expectation = iota
	yes
	maybe
)

// every returns a fault for each request whose number is a multiple of n.
func every(n int64, f fault) func(*failingServer) {
	return func(s *failingServer) {
		s.fault = func(number int64) fault {
			if number%n == 0 {
				return f
			}
			return fine
		}
	}
}

// after returns a fault for all requests but the first n.
func after(n int64, f fault) func(*failingServer) {
	return func(s *failingServer) {
		s.fault = func(number int64) fault {
			if number > n {
				return f
			}
			return fine
		}
	}
}

const allProtocols = "h1 h2 ws"

// failures are the rows. A number of answers and not a time says when a server fails, so that
// a slow machine changes nothing. The time of the others is long enough for an outage.
var failures = []failure{
	{"nothing", allProtocols, func(*failingServer) {}, "-n 200", false, "", "", 0, no},
	{"it dies", allProtocols, func(s *failingServer) { s.dies = 5 }, "", true, "The server stopped answering after", "connect", -1, yes},
	{"it dies and returns", allProtocols, func(s *failingServer) { s.dies, s.back = 5, 1300*time.Millisecond }, "", true, "The server stopped answering", "connect", -1, yes},
	{"it refuses connections from the start", "h1 h2", func(s *failingServer) { s.conn = func(n int64) bool { return n == 0 } }, "-n 30", true, "had a good response", "", -1, maybe},
	{"it resets connections from the fifth on", allProtocols, func(s *failingServer) {
		every(5, resetUnanswered)(s)
		s.conn = func(n int64) bool { return n < 5 }
	}, "", true, "The server stopped answering after", "", -1, yes},
	{"it hangs", allProtocols, after(5, silence), "", true, "waited for a response until the end", "", -1, yes},
	{"it hangs, and requests time out", allProtocols, after(5, silence), "-d 2500ms --timeout 200ms", true, "The most frequent error was timeout", "timeout", -1, yes},
	{"it takes no connections", allProtocols, func(s *failingServer) { s.deaf = 5 }, "", true, "The server stopped answering after", "", -1, yes},
	{"half of the answers are wrong", allProtocols, every(2, wrong), "-n 200", true, "100 of 200 requests had no good response (50 %). The most frequent error was", "status echo", 100, no},
	{"all answers but the first are wrong", "h1 h2", after(5, missing), "", true, "The server stopped answering after", "status", -1, yes},
	{"each has a wrong status", "h1 h2", every(1, missing), "-n 50", true, "None of 50 requests had a good response. The most frequent error was status, 50 times: status 404", "status", 50, no},
	{"2 % are resets", allProtocols, every(50, resetUnanswered), "-n 400", true, "8 of 400 requests had no good response (2 %).", "reset closed early", 8, no},
	{"2 % are resets of streams", "h2 ws", every(50, resetStream), "-n 400", true, "8 of 400 requests had no good response (2 %).", "reset closed early bad response", 8, no},
	{"1 % is wrong", allProtocols, every(100, wrong), "-n 400", false, "", "status echo", 4, no},
	{"0.5 % is resets", allProtocols, every(200, resetUnanswered), "-n 400", false, "", "reset closed early", 2, no},
	{"more than 1 % is wrong", allProtocols, every(79, wrong), "-n 400", true, "5 of 400 requests had no good response (1.2 %).", "status echo", 5, no},
	{"bodies are short", "h1 h2 ws", every(10, closeInside), "-n 200", true, "20 of 200 requests had no good response (10 %).", "closed early", 20, no},
	{"resets come within bodies", allProtocols, every(10, resetInside), "-n 200", true, "20 of 200 requests had no good response (10 %).", "reset closed early", 20, no},
	{"connections end before the answer", allProtocols, every(10, closeUnanswered), "-n 200", true, "20 of 200 requests had no good response (10 %).", "reset closed early", 20, no},
	{"answers are malformed", allProtocols, every(10, malformed), "-n 200", true, "20 of 200 requests had no good response (10 %). The most frequent error was bad response, 20 times", "bad response", 20, no},
	{"it switches protocols", "h1", every(10, protocolSwitched), "-n 200", true, "20 of 200 requests had no good response (10 %).", "bad response", 20, no},
	{"answers stop in the middle", allProtocols, every(10, silenceInside), "-n 40 --timeout 200ms", true, "The most frequent error was timeout", "timeout", -1, maybe},
	{"TLS alerts", allProtocols, func(s *failingServer) { s.config = alertingTLS(s, 10) }, "--requests-per-conn 3", true, "The most frequent error was tls", "tls", -1, yes},
	{"GOAWAY storms", "h2", after(5, refuseStream), "-n 50", true, "45 of 50 requests had no good response (90 %). The most frequent error was closed early, 45 times: the server refused the stream with GOAWAY", "closed early", 45, maybe},
	{"GOAWAY in good order", "h2", every(10, refuseStream), "-n 50", false, "", "", 0, no},
	{"requests are in flight at the end", allProtocols, func(s *failingServer) { s.takes = 40 * time.Millisecond }, "-d 700ms", false, "", "", 0, no},
	{"it accepts slowly", allProtocols, func(s *failingServer) { s.slow = 20 * time.Millisecond }, "-n 40 --requests-per-conn 2", false, "", "", 0, no},
	{"it pauses for a moment", allProtocols, func(s *failingServer) {
		s.stop, s.pause = 200*time.Millisecond, func(n int64) bool { return n%40 == 0 }
	}, "-n 100", false, "", "", 0, no},
	{"it pauses for more than a second", allProtocols, func(s *failingServer) {
		s.stop, s.pause = 1300*time.Millisecond, func(n int64) bool { return n == 5 }
	}, "", true, "The server stopped answering for", "", -1, yes},
	{"it refuses WebSockets", "ws", func(s *failingServer) {
		every(5, closeUnanswered)(s)
		s.upgrade = func(n int64) bool { return n < 6 }
	}, "", true, "The most frequent error was upgrade", "upgrade", -1, yes},
}

// alertingTLS returns a configuration that refuses handshakes after the first n.
func alertingTLS(s *failingServer, n int64) *tls.Config {
	next := "http/1.1"
	if s.protocol == "h2" {
		next = "h2"
	}
	config := &tls.Config{Certificates: []tls.Certificate{failingCertificate()}, NextProtos: []string{next}}
	config.GetConfigForClient = func(*tls.ClientHelloInfo) (*tls.Config, error) {
		if s.accepted.Load() > n {
			return nil, errors.New("no more handshakes")
		}
		return nil, nil
	}
	return config
}

var failingCertificate = sync.OnceValue(func() tls.Certificate {
	cert, key, err := gale.GenerateTestCertificate("127.0.0.1")
	if err != nil {
		panic(err)
	}
	pair, err := tls.X509KeyPair(cert, key)
	if err != nil {
		panic(err)
	}
	return pair
})

// loops are the flags of each loop. They leave most of a core to the others.
var loops = map[string]string{"closed": "-c 2 -t 1 --think 2ms", "open": "-c 4 -t 1 --rate 200"}

// measured is a row that was measured.
type measured struct {
	failure
	protocol, loop string
	code           int
	stdout, stderr bytes.Buffer
	err            error
	doc            figures.Run
}

// measure measures a failing server with the command, in a process of its own: each has threads
// that would be in the others' way.
func (m *measured) measure() {
	s := &failingServer{protocol: m.protocol}
	m.set(s)
	if m.err = s.listen(); m.err != nil {
		return
	}
	defer s.close()
	args := []string{"bench", "--json", "-"}
	args = append(args, strings.Fields(loops[m.loop]+" "+m.flags)...)
	if !strings.Contains(m.flags, "-n ") && !strings.Contains(m.flags, "-d ") {
		args = append(args, "-d", "2500ms")
	}
	scheme := "http"
	if m.protocol == "ws" {
		scheme = "ws"
	}
	if m.protocol == "h2" {
		args = append(args, "--http2")
	}
	if s.config != nil {
		scheme += "s"
		args = append(args, "--insecure")
	}
	cmd := exec.Command(galeBinary, append(args, scheme+"://"+s.address+"/")...)
	cmd.Stdout, cmd.Stderr = &m.stdout, &m.stderr
	err := cmd.Run()
	if cmd.ProcessState != nil {
		m.code = cmd.ProcessState.ExitCode()
	}
	if m.err = json.Unmarshal(m.stdout.Bytes(), &m.doc); m.err != nil {
		m.err = errors.Join(m.err, err)
	}
}

// TestBenchFailures measures servers that fail in the same way over each protocol and with each
// loop. The verdict, the exit code, the shares and the live line must be alike: failures are
// never the server's speed, and few of them leave the verdict alone.
func TestBenchFailures(t *testing.T) {
	var rows []*measured
	for i, f := range failures {
		for k, protocol := range strings.Fields(f.protocols) {
			for j, loop := range []string{"closed", "open"} {
				if race.Enabled && (i+j+k)%8 > 0 { // the rules don't depend on it
					continue
				}
				rows = append(rows, &measured{failure: f, protocol: protocol, loop: loop})
			}
		}
	}
	const together = 16 // most rows wait most of the time
	var all sync.WaitGroup
	free := make(chan struct{}, together)
	for _, m := range rows {
		free <- struct{}{}
		all.Go(func() {
			defer func() { <-free }()
			m.measure()
		})
	}
	all.Wait()
	for _, m := range rows {
		t.Run(m.name+"/"+m.protocol+"/"+m.loop, m.check)
	}
}

// check compares a row with what it must show.
func (m *measured) check(t *testing.T) {
	if m.err != nil {
		t.Fatalf("exit code %d, %v: %s", m.code, m.err, m.stderr.String())
	}
	v, q := m.doc.Verdict, m.doc.Requests
	defer func() {
		if t.Failed() {
			t.Logf("%q: %s\n%q\n%+v, outages %+v, errors %+v\n%s", v.Limit, v.Text, v.Warnings, q, m.doc.Outages, m.doc.Errors, m.stderr.String())
		}
	}()
	if m.code != v.ExitCode() || m.fails != (m.code == 6) || m.fails != (v.Limit == figures.LimitErrors) {
		t.Errorf("exit code %d", m.code)
	}
	if m.fails && (!strings.Contains(v.Text, m.text) || regexp.MustCompile(`was the limit|oo noisy|\(-c\)|too slowly|not held`).MatchString(v.Text)) {
		t.Errorf("the text doesn't have %q, or it has a word about speed", m.text)
	}
	if m.kinds != "" && (len(m.doc.Errors) == 0 || !strings.Contains(m.kinds, m.doc.Errors[0].Kind)) {
		t.Errorf("no error of %q is the most frequent one", m.kinds)
	}
	if n := m.doc.Outages; m.outage == no && n.Count > 0 || m.outage == yes && n.Seconds < 1 {
		t.Errorf("%d outages", m.doc.Outages.Count)
	}
	m.checkShares(t)
	m.checkLines(t)
}

// checkShares checks what the document counts.
func (m *measured) checkShares(t *testing.T) {
	q := m.doc.Requests
	if m.failed >= 0 && q.Failures() != m.failed {
		t.Errorf("%d failures, want %d", q.Failures(), m.failed)
	}
	if m.failed > 0 && !m.fails && !slices.ContainsFunc(m.doc.Verdict.Warnings, func(w string) bool { return strings.Contains(w, "had no good response") }) {
		t.Error("the failures are not reported")
	}
	var unconnected, bad, handshakes int64
	for _, in := range m.doc.Intervals {
		unconnected, bad = unconnected+in.NotConnected, bad+in.Bad
	}
	if unconnected != q.NotConnected || bad != q.Unexpected+q.Failed {
		t.Errorf("the intervals have %d attempts to connect and %d requests that failed", unconnected, bad)
	}
	for _, e := range m.doc.Errors {
		if e.Kind == "connect" || e.Kind == "tls" || e.Kind == "upgrade" {
			handshakes += e.Count
		}
	}
	if slices.Contains([]string{"connect", "tls", "upgrade"}, m.kinds) && (q.NotConnected == 0 || q.NotConnected != m.doc.Errors[0].Count) {
		t.Errorf("%d attempts to connect failed, and the errors are %+v", q.NotConnected, m.doc.Errors)
	}
	if q.NotConnected > handshakes || m.doc.Targets[0].Requests != q || m.doc.Steps != nil && m.doc.Steps[0].Requests != q {
		t.Errorf("%d attempts to connect with an error; the URL has %+v, the steps %+v", handshakes, m.doc.Targets[0].Requests, m.doc.Steps)
	}
}

// liveLine is a line of the progress: the rate, and what comes after p99.
var liveLine = regexp.MustCompile(`(?m)^\S+ m?s of .*  (\S+)/s  p99 \S+( \S+)?  (.*)$`)

// checkLines checks what was shown during the run.
func (m *measured) checkLines(t *testing.T) {
	told := false
	for _, line := range liveLine.FindAllStringSubmatch(m.stderr.String(), -1) {
		told = told || strings.Contains(line[3], "no good response for")
		if m.outage == yes && line[1] == "0" && strings.Contains(line[3], "errors 0") {
			t.Errorf("a second without a good response: %q", line[0])
		}
	}
	if m.outage != maybe && told != (m.outage == yes) && strings.Contains(m.stderr.String(), " s of 2.50 s") {
		t.Errorf("the progress says that no good response came: %t", told)
	}
}
